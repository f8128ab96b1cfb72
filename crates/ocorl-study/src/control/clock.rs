//! Time that passes: on a machine, or as a test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A clock that never goes back.
pub trait Clock {
    /// Time since a moment of its own choice.
    fn now(&self) -> Duration;
}

/// The machine's.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic(Instant);

impl Monotonic {
    /// Begins at zero.
    pub fn start() -> Self {
        Monotonic(Instant::now())
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// One that stands still until it is moved. Copies are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Virtual {
    now: Arc<AtomicU64>,
    work: Arc<AtomicU64>,
}

impl Virtual {
    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.now.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// A solver says how long it would have taken; see [`Simulated`](super::Simulated).
    pub fn work(&self, time: Duration) {
        self.work.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// What solvers said since this was asked last.
    pub(super) fn take_work(&self) -> Duration {
        Duration::from_nanos(self.work.swap(0, Ordering::Relaxed))
    }
}

impl Clock for Virtual {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

/// Up to five hundred years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
