//! Time sources of the controller: the monotonic clock of the machine, or a virtual clock for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A clock that never runs backwards.
pub trait Clock {
    /// Time elapsed since an arbitrary fixed origin.
    fn now(&self) -> Duration;
}

/// The monotonic clock of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic(Instant);

impl Monotonic {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Monotonic(Instant::now())
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that advances only when told to. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct Virtual {
    now: Arc<AtomicU64>,
    work: Arc<AtomicU64>,
}

impl Virtual {
    /// Advances the clock.
    pub fn advance(&self, time: Duration) {
        self.now.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Records the computation time a simulated solver would have needed; see [`Simulated`](super::Simulated).
    pub fn work(&self, time: Duration) {
        self.work.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Computation time recorded since the last call; resets it.
    pub(super) fn take_work(&self) -> Duration {
        Duration::from_nanos(self.work.swap(0, Ordering::Relaxed))
    }
}

impl Clock for Virtual {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

/// A duration in nanoseconds, saturated after about five hundred years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
