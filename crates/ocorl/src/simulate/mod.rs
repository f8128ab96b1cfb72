//! Running a system: integrators, policies, and closed-loop runs that end with one typed outcome each.
//!
//! | symbol | code | |
//! |---|---|---|
//! | u = π(t, x) | [`Policy`] | what a run needs of a controller |
//! | x(t), u(t), C(π, f) | [`Run`] | dense in time, the running cost integrated as one more state |
//!
//! Fixed-step methods for planning grids are in [`Integrator`]; a run uses an adaptive method with dense output
//! ([`Simulator`]). Nothing here knows how a policy was made.

mod closed_loop;
mod dormand_prince;
mod integrator;
mod run;
mod trajectory;

pub use closed_loop::{Experiment, Simulator, Tolerance};
pub use integrator::{Integrator, Tableau};
pub use run::{Outcome, Run};
pub use trajectory::Trajectory;

/// A closed-loop law u = π(t, x).
///
/// It acts in pieces: [`prepare`](Self::prepare) fixes the law from now until a time of its choice (and may plan
/// anew for that), [`control`](Self::control) evaluates it. Runs stop exactly at the end of each piece, so a control may
/// jump there without harm to the integration.
pub trait Policy {
    /// Fixes the law from `time` on, at `state`, and returns until when it holds (infinity: for good).
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError>;

    /// The control at a time of the prepared piece; both of its ends belong to it.
    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]);

    /// How often each rung of its [ladder](crate::track::Ladder) was used, if it has one: fresh, shifted, planned, safe.
    fn rungs(&self) -> Option<[usize; 4]> {
        None
    }
}

/// Why a policy cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Too many fallbacks in a row.
    #[error("the controller fell back {fallbacks} times in a row at t = {time}: {reason}")]
    GaveUp {
        /// When it gave up.
        time: f64,
        /// How often it fell back before.
        fallbacks: usize,
        /// The last failure.
        reason: String,
    },
    /// The policy's own failure.
    #[error("{0}")]
    Failed(String),
}

/// A law that is a function of time and state alone.
pub struct Law<F>(pub F);

impl<F: FnMut(f64, &[f64], &mut [f64])> Policy for Law<F> {
    fn prepare(&mut self, _time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        Ok(f64::INFINITY)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        (self.0)(time, state, out);
    }
}
