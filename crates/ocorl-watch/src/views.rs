//! Caches of open studies and of answers computed from them. Nothing is computed twice while a study is unchanged. Answers are drawn
//! from what is stored; no model is computed. Requests for one study wait for each other, and at most two studies are read at a time, so
//! that a slow one delays no other, and a learning process on the same machine keeps its cores.

use crate::fault::Fault;
use crate::index::{Entry, Index};
use crate::peek::Stamp;
use axum::body::Bytes;
use axum::http::StatusCode;
use ocorl_view::panels::StudyView;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Number of studies kept open.
const MOST_STUDIES: usize = 8;
/// Bytes of cached answers per study.
const MOST_BYTES: usize = 8 << 20;

/// Computations at a time: one slow study leaves room for the others.
const AT_ONCE: usize = 2;
/// Time after which a request is answered with an error.
const LIMIT: Duration = Duration::from_secs(20);

/// The cache of open studies.
pub(crate) struct Views {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    clock: AtomicU64,
    /// Computations at a time.
    work: Semaphore,
}

#[derive(Default)]
struct Slot {
    used: AtomicU64,
    answers: Mutex<Answers>,
    open: tokio::sync::Mutex<Open>,
}

/// Answers computed from a study with this stamp.
#[derive(Default)]
struct Answers {
    stamp: Stamp,
    bytes: usize,
    made: HashMap<String, Bytes>,
}

/// An open study with this stamp.
#[derive(Default)]
struct Open {
    stamp: Stamp,
    view: Option<Arc<Mutex<StudyView>>>,
}

impl Views {
    pub(crate) fn new() -> Self {
        Views { slots: Mutex::default(), clock: AtomicU64::new(0), work: Semaphore::new(AT_ONCE) }
    }

    /// The cache slot of a study; the least recently used one is evicted.
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

    /// The answer that `make` computes from the study, or the cached one with the name `what`.
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
        // A request that waited finds the answer made by another one.
        if let Some(made) = slot.made(view.stamp, &what) {
            return Ok(made);
        }
        let made =
            self.run(move || make(&view.view.lock().unwrap_or_else(PoisonError::into_inner))).await??;
        let made = Bytes::from(made);
        slot.keep(view.stamp, what, &made);
        Ok(made)
    }

    /// The study in its present state.
    pub(crate) async fn view(
        &self,
        index: &Arc<Index>,
        entry: &Arc<Entry>,
    ) -> Result<Arc<Mutex<StudyView>>, Fault> {
        let slot = self.slot(&entry.id);
        Ok(self.open(&slot, index, entry).await?.view)
    }

    /// Forgets what is cached of a study, after files beside its database have changed.
    pub(crate) fn forget(&self, id: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    async fn open(&self, slot: &Slot, index: &Arc<Index>, entry: &Arc<Entry>) -> Result<Viewed, Fault> {
        let mut open = slot.open.lock().await;
        // Taken before the study is read: a change in between is seen next time.
        let stamp = Stamp::of(&entry.file());
        if let Some(view) = open.view.clone().filter(|_| open.stamp == stamp) {
            return Ok(Viewed { stamp, view });
        }
        let (index, entry, settled) = (index.clone(), entry.clone(), stamp.settled());
        let view = self
            .run(move || {
                if !index.holds(&entry.folder) {
                    return Err(Fault::missing("this study no longer exists"));
                }
                Ok(StudyView::open(&entry.folder)?)
            })
            .await??;
        let view = Arc::new(Mutex::new(view));
        // A file modified just now may change again without a change of its stamp.
        let stamp = if settled { stamp } else { Stamp::default() };
        (open.stamp, open.view) = (stamp, Some(view.clone()));
        Ok(Viewed { stamp, view })
    }

    /// Runs CPU-bound work away from the event streams.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let _turn = self.work.acquire().await;
        let done = tokio::time::timeout(LIMIT, tokio::task::spawn_blocking(work)).await;
        done.map_err(|_| {
            Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("reading this study took longer than {} s", LIMIT.as_secs()),
            )
            .hint("check it with: ocorl study check STUDY")
        })?
        .map_err(|_| broken())
    }
}

/// An open study with its stamp.
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

/// The error for a panic in a computation.
pub(crate) fn broken() -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be computed")
        .detail("cause", "an internal error of ocorl")
}
