//! A short-lived cache of the list: many simultaneous requests cost one search.

use crate::fault::Fault;
use crate::{Shared, reading};
use axum::body::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the list is reused if no change is known.
const KEPT: Duration = Duration::from_millis(250);

/// The cached list.
#[derive(Default)]
pub(crate) struct Listed {
    last: Mutex<Last>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Last {
    made: Option<(Instant, Bytes)>,
    /// Number of invalidations so far.
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

    /// Invalidates the cache.
    pub(crate) fn forget(&self) {
        let mut last = self.last();
        last.made = None;
        last.forgotten += 1;
    }

    /// The list, at most [`KEPT`] old.
    pub(crate) async fn get(&self, shared: &Arc<Shared>) -> Result<Bytes, Fault> {
        if let Some(bytes) = self.fresh() {
            return Ok(bytes);
        }
        let _turn = self.turn.lock().await;
        // A request that waited finds the list made by another one.
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
