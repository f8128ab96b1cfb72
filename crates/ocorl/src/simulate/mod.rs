//! Simulation: integrators, the policy interface, and closed-loop runs that end with one typed outcome each.
//!
//! | symbol | code | |
//! |---|---|---|
//! | u = π(t, x) | [`Policy`] | the interface that a run needs of a controller |
//! | x(t), u(t), C(π, f) | [`Run`] | dense in time; the running cost is integrated as an additional state |
//!
//! [`Integrator`] has methods with a fixed step for planning grids; [`Simulator`] integrates runs adaptively with dense output,
//! also stiff ones. How
//! a policy is computed, and measurement noise, are not part of this module.

mod closed_loop;
mod dormand_prince;
mod integrator;
mod rosenbrock;
mod run;
mod trajectory;

pub use closed_loop::{Experiment, Method, Simulator, Tolerance};
pub use integrator::{Integrator, Tableau};
pub use run::{Outcome, Run};
pub use trajectory::Trajectory;

/// A feedback law u = π(t, x).
///
/// The law is piecewise: [`prepare`](Self::prepare) fixes it from the present until a time of its choice (and may replan for that),
/// [`control`](Self::control) evaluates it. The simulator stops exactly at the end of each piece, so that a discontinuous control
/// does not reduce the accuracy.
pub trait Policy {
    /// Fixes the law from `time` on, at `state`, and returns the time until which it holds (infinity: for the rest of the run).
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError>;

    /// Evaluates the control at a time of the prepared piece, both ends included.
    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]);

    /// How often each [fallback level](crate::track::FallbackLevel) was used: fresh, shifted, planned, safe. `None` without a fallback
    /// guard.
    fn level_counts(&self) -> Option<[usize; 4]> {
        None
    }

    /// The control that the law asks for at `time` and `state`, before it is sampled and its rate limited: for a table of the law.
    fn requested(&mut self, time: f64, state: &[f64], out: &mut [f64]) -> Result<(), PolicyError> {
        self.prepare(time, state)?;
        self.control(time, state, out);
        Ok(())
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        (**self).prepare(time, state)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        (**self).control(time, state, out);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        (**self).level_counts()
    }

    fn requested(&mut self, time: f64, state: &[f64], out: &mut [f64]) -> Result<(), PolicyError> {
        (**self).requested(time, state, out)
    }
}

/// The reasons why a policy cannot continue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The controller used a fallback too many times in succession.
    #[error("the controller used its fallback {fallbacks} times in succession at t = {time}: {reason}")]
    GaveUp {
        /// Time at which the controller stopped.
        time: f64,
        /// Number of fallbacks in succession.
        fallbacks: usize,
        /// Description of the last failure.
        reason: String,
    },
    /// A measurement schedule keeps asking for a measurement at the same time.
    #[error(
        "the measurement schedule asked for {requests} measurements at t = {time}; \
         after a measurement, `Schedule::next` must return a later time or `None`"
    )]
    ScheduleStuck {
        /// Time of the measurements.
        time: f64,
        /// Number of measurements at this time.
        requests: usize,
    },
    /// A state left its limits; the controller does not follow the plan any more.
    #[error("state {state} left its limits at t = {time}")]
    LimitCrossed {
        /// Index of the state.
        state: usize,
        /// Time of the measured state.
        time: f64,
    },
    /// A state left the tube of the plan; the controller does not follow the plan any more.
    #[error("state {state} left the tube of the plan at t = {time}")]
    LeftTube {
        /// Index of the state.
        state: usize,
        /// Time of the measured state.
        time: f64,
    },
    /// A failure described by the policy itself.
    #[error("{0}")]
    Failed(String),
}

/// A policy given as a function of time and state.
pub struct Law<F>(pub F);

impl<F: FnMut(f64, &[f64], &mut [f64])> Policy for Law<F> {
    fn prepare(&mut self, _time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        Ok(f64::INFINITY)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        (self.0)(time, state, out);
    }
}
