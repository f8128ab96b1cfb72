//! The list, kept for a moment: a thousand who ask at once are answered by one look.

use crate::fault::Fault;
use crate::{Shared, reading};
use axum::body::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long it is kept, if nothing is known to have happened.
const KEPT: Duration = Duration::from_millis(250);

/// The last list.
#[derive(Default)]
pub(crate) struct Listed {
    last: Mutex<Last>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Last {
    made: Option<(Instant, Bytes)>,
    /// How often it was forgotten.
    forgotten: u64,
}

impl Listed {
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self) -> Option<Bytes> {
        let last = self.last();
        last.made.as_ref().filter(|(at, _)| at.elapsed() < KEPT).map(|(_, bytes)| bytes.clone())
    }

    /// Something happened.
    pub(crate) fn forget(&self) {
        let mut last = self.last();
        last.made = None;
        last.forgotten += 1;
    }

    /// The list as it is now, or was a moment ago.
    pub(crate) async fn get(&self, shared: &Arc<Shared>) -> Result<Bytes, Fault> {
        if let Some(bytes) = self.fresh() {
            return Ok(bytes);
        }
        let _turn = self.turn.lock().await;
        // Who waited for another finds it made.
        if let Some(bytes) = self.fresh() {
            return Ok(bytes);
        }
        let (forgotten, theirs) = (self.last().forgotten, shared.clone());
        let bytes = Bytes::from(shared.look(move |_| reading::list(&theirs)).await?);
        let mut last = self.last();
        if last.forgotten == forgotten {
            last.made = Some((Instant::now(), bytes.clone()));
        }
        Ok(bytes)
    }
}
