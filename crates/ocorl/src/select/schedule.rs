//! Schedules: what is asked for while an episode runs.

use crate::simulate::Trajectory;

/// Why the system is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To learn from the measured derivative.
    Learn,
    /// To know the state; nothing is learned from it.
    Synchronize,
}

/// A measurement to be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When; now or later.
    pub time: f64,
    /// What for.
    pub purpose: Purpose,
}

/// What was expected of an interval before it was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreseen {
    /// Times of the hallucinated trajectory.
    pub times: Vec<f64>,
    /// ‖σ‖ there.
    pub uncertainty: Vec<f64>,
}

/// Decides when to measure.
pub trait Schedule: Send {
    /// The next measurement, given that the system is at `state` under `control` at `time`.
    ///
    /// Asked at the beginning, whenever the control changes, and after each measurement. A request for the present (or the past) counts
    /// as taken: the caller measures and asks again. A later one may still change until it is due.
    fn next(&mut self, time: f64, state: &[f64], control: &[f64]) -> Option<Request>;

    /// Numbers of the moments to measure at, chosen when the whole run is known: only who simulates can ask for that.
    fn afterwards(&mut self, _executed: &Trajectory) -> Vec<usize> {
        Vec::new()
    }

    /// What was expected of each interval that was decided online, for whoever wants to see why.
    fn foreseen(&self) -> &[Foreseen] {
        &[]
    }

    /// The times as far as they are known in advance.
    fn known(&self) -> &[f64] {
        &[]
    }
}

/// Measurements at fixed times.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    times: Vec<f64>,
    taken: usize,
}

impl Times {
    /// At these times, in any order.
    pub fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Times { times, taken: 0 }
    }
}

impl Schedule for Times {
    fn next(&mut self, time: f64, _state: &[f64], _control: &[f64]) -> Option<Request> {
        let due = *self.times.get(self.taken)?;
        if due <= time + 1e-12 * (1.0 + time.abs()) {
            self.taken += 1;
        }
        Some(Request { time: due, purpose: Purpose::Learn })
    }

    fn known(&self) -> &[f64] {
        &self.times
    }
}
