//! Studies that were looked at lately, and answers made of them: nothing is computed twice while a study stays the same, and never more than
//! one thing at once, so that whoever learns beside us is not held up.

use crate::fault::Fault;
use crate::index::{Entry, Index};
use crate::peek::Stamp;
use axum::body::Bytes;
use ocorl_view::panels::StudyView;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Studies that are kept open.
const MOST_STUDIES: usize = 8;
/// Bytes of answers kept of each.
const MOST_BYTES: usize = 8 << 20;

/// Studies that were looked at lately.
pub(crate) struct Views {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    clock: AtomicU64,
    /// One thing at a time.
    work: Semaphore,
}

#[derive(Default)]
struct Slot {
    used: AtomicU64,
    answers: Mutex<Answers>,
    open: tokio::sync::Mutex<Open>,
}

/// Answers made of a study as it was at a stamp.
#[derive(Default)]
struct Answers {
    stamp: Stamp,
    bytes: usize,
    made: HashMap<String, Bytes>,
}

/// A study as it was at a stamp.
#[derive(Default)]
struct Open {
    stamp: Stamp,
    view: Option<Arc<Mutex<StudyView>>>,
}

impl Views {
    pub(crate) fn new() -> Self {
        Views { slots: Mutex::default(), clock: AtomicU64::new(0), work: Semaphore::new(1) }
    }

    /// The slot of a study; the one used longest ago makes room.
    fn slot(&self, id: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(id) && slots.len() >= MOST_STUDIES {
            let oldest = slots.iter().min_by_key(|(_, slot)| slot.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                slots.remove(&oldest);
            }
        }
        let slot = slots.entry(id.into()).or_default().clone();
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        slot
    }

    /// What `make` makes of the study, or made of it before under the name `what`.
    pub(crate) async fn answer(
        &self,
        index: &Arc<Index>,
        entry: &Arc<Entry>,
        what: String,
        make: impl FnOnce(&StudyView) -> Result<Vec<u8>, Fault> + Send + 'static,
    ) -> Result<Bytes, Fault> {
        let (slot, file) = (self.slot(&entry.id), entry.file());
        if let Some(made) = slot.made(Stamp::of(&file), &what) {
            return Ok(made);
        }
        let view = self.open(&slot, index, entry).await?;
        // Whoever waited for the same finds it made.
        if let Some(made) = slot.made(view.stamp, &what) {
            return Ok(made);
        }
        let made =
            self.run(move || make(&view.view.lock().unwrap_or_else(PoisonError::into_inner))).await??;
        let made = Bytes::from(made);
        slot.keep(view.stamp, what, &made);
        Ok(made)
    }

    /// The study as it is now.
    pub(crate) async fn view(
        &self,
        index: &Arc<Index>,
        entry: &Arc<Entry>,
    ) -> Result<Arc<Mutex<StudyView>>, Fault> {
        let slot = self.slot(&entry.id);
        Ok(self.open(&slot, index, entry).await?.view)
    }

    async fn open(&self, slot: &Slot, index: &Arc<Index>, entry: &Arc<Entry>) -> Result<Viewed, Fault> {
        let mut open = slot.open.lock().await;
        // Before the study is read: a change in between is seen the next time.
        let stamp = Stamp::of(&entry.file());
        if let Some(view) = open.view.clone().filter(|_| open.stamp == stamp) {
            return Ok(Viewed { stamp, view });
        }
        let (index, entry, settled) = (index.clone(), entry.clone(), stamp.settled());
        let view = self
            .run(move || {
                if !index.holds(&entry.folder) {
                    return Err(Fault::missing("there is no such study any more"));
                }
                Ok(StudyView::open(&entry.folder)?)
            })
            .await??;
        let view = Arc::new(Mutex::new(view));
        // One that was written just now may have been written again since, which the stamp would not tell.
        let stamp = if settled { stamp } else { Stamp::default() };
        (open.stamp, open.view) = (stamp, Some(view.clone()));
        Ok(Viewed { stamp, view })
    }

    /// Does work of the processor away from the streams.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let _turn = self.work.acquire().await;
        tokio::task::spawn_blocking(work).await.map_err(|_| broken())
    }
}

/// A study as it was at a stamp.
struct Viewed {
    stamp: Stamp,
    view: Arc<Mutex<StudyView>>,
}

impl Slot {
    fn made(&self, stamp: Stamp, what: &str) -> Option<Bytes> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_there() && answers.stamp == stamp { answers.made.get(what).cloned() } else { None }
    }

    fn keep(&self, stamp: Stamp, what: String, made: &Bytes) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.stamp != stamp || answers.bytes + made.len() > MOST_BYTES {
            *answers = Answers { stamp, ..Answers::default() };
        }
        if made.len() <= MOST_BYTES {
            answers.bytes += made.len();
            answers.made.insert(what, made.clone());
        }
    }
}

/// Somebody's code panicked.
pub(crate) fn broken() -> Fault {
    Fault::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be made")
        .detail("cause", "a fault in ocorl")
}
