//! Schedules: state machines that request measurements while an episode runs.

use crate::simulate::Trajectory;

/// The purpose of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// To learn from the measured derivative.
    Learn,
    /// To read the state, for a prediction; the model is not updated with it.
    Synchronize,
}

/// A request for a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The time of the measurement, at present or later.
    pub time: f64,
    /// The purpose of the measurement.
    pub purpose: Purpose,
}

/// The uncertainty predicted for one interval before it was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictedUncertainty {
    /// Times of the predicted (hallucinated) trajectory.
    pub times: Vec<f64>,
    /// ‖σ‖ at these times.
    pub uncertainty: Vec<f64>,
}

/// A rule that decides when to measure.
pub trait Schedule: Send {
    /// The next measurement, given that the system is at `state` under `control` at `time`.
    ///
    /// The caller asks at the beginning, at each control update, and after each measurement. A request for the present (or the
    /// past) is served at once: the caller measures and asks again. A later request may still change until it is due.
    fn next(&mut self, time: f64, state: &[f64], control: &[f64]) -> Option<Request>;

    /// Indices of the samples to be measured, selected after the run; only a simulated plant can serve them.
    fn afterwards(&mut self, _executed: &Trajectory) -> Vec<usize> {
        Vec::new()
    }

    /// The predicted uncertainty of each interval that was decided online, for display and analysis.
    fn predicted_uncertainty(&self) -> &[PredictedUncertainty] {
        &[]
    }

    /// The measurement times that are known before the episode.
    fn known(&self) -> &[f64] {
        &[]
    }
}

/// A schedule of fixed times.
///
/// ```
/// use ocorl::select::{Schedule, Times};
///
/// let mut schedule = Times::new(vec![2.0, 1.0]);
/// assert_eq!(schedule.next(0.0, &[], &[]).unwrap().time, 1.0);
/// assert_eq!(schedule.next(1.0, &[], &[]).unwrap().time, 1.0); // now: counts as taken
/// assert_eq!(schedule.next(1.0, &[], &[]).unwrap().time, 2.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    times: Vec<f64>,
    taken: usize,
}

impl Times {
    /// Takes measurement times in any order.
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
