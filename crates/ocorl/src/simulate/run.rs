//! The result of a closed-loop run.

use super::{Method, PolicyError, Trajectory};
use crate::linalg::Blocks;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;

/// The outcome of a run; every run has exactly one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The horizon was reached.
    Completed,
    /// A state grew beyond the divergence threshold.
    Diverged {
        /// Time at which the threshold was exceeded.
        time: f64,
    },
    /// A state left its bounds.
    LimitHit {
        /// Index of the state.
        state: usize,
        /// Time of the violation, to the accuracy of the dense output.
        time: f64,
    },
    /// The controller stopped the run because a state left the tube of the plan.
    LeftTube {
        /// Index of the state.
        state: usize,
        /// Time of the measured state.
        time: f64,
    },
    /// The error tolerance requires steps below the smallest permitted one.
    StepTooSmall {
        /// Time at which the step became too small.
        time: f64,
    },
    /// The largest number of steps was reached.
    TooManySteps {
        /// Time that was reached.
        time: f64,
    },
    /// The dynamics, the cost or the control returned a value that is not finite.
    NonFinite {
        /// Time at which this happened.
        time: f64,
    },
    /// The run was cancelled by the caller.
    Cancelled {
        /// Time that was reached.
        time: f64,
    },
    /// The outcome was reported by the operator or the external plant.
    Reported {
        /// The reported text.
        what: String,
    },
    /// The plant reported no outcome; the run counts as completed.
    NotReported,
    /// The policy could not continue.
    ControllerGaveUp {
        /// Time at which the policy stopped.
        time: f64,
        /// The error of the policy.
        error: PolicyError,
    },
}

impl Outcome {
    /// The outcome of a run whose policy fails at `time`.
    pub(crate) fn of_error(time: f64, error: PolicyError) -> Self {
        match error {
            PolicyError::LimitCrossed { state, time } => Outcome::LimitHit { state, time },
            PolicyError::LeftTube { state, time } => Outcome::LeftTube { state, time },
            error => Outcome::ControllerGaveUp { time, error },
        }
    }
}

impl From<&str> for Outcome {
    /// What a file or a plant says of the end of a run: `completed`, or any other words.
    fn from(words: &str) -> Self {
        match words {
            "completed" => Outcome::Completed,
            other => Outcome::Reported { what: other.into() },
        }
    }
}

/// As its words: `completed`, or why it ended early.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From its words; those of an early end are kept as [`Outcome::Reported`].
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.as_str().into())
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Completed => write!(f, "completed"),
            Outcome::Diverged { time } => write!(f, "diverged at t = {time:.6}"),
            Outcome::LimitHit { state, time } => write!(f, "state {state} left its limits at t = {time:.6}"),
            Outcome::LeftTube { state, time } => {
                write!(f, "state {state} left the tube of the plan at t = {time:.6}")
            }
            Outcome::StepTooSmall { time } => write!(f, "step too small at t = {time:.6}"),
            Outcome::TooManySteps { time } => write!(f, "too many steps, at t = {time:.6}"),
            Outcome::NonFinite { time } => write!(f, "not finite at t = {time:.6}"),
            Outcome::Cancelled { time } => write!(f, "cancelled at t = {time:.6}"),
            Outcome::Reported { what } => f.write_str(what),
            Outcome::NotReported => write!(f, "not reported"),
            Outcome::ControllerGaveUp { time, error } => {
                write!(f, "controller gave up at t = {time:.6}: {error}")
            }
        }
    }
}

/// A closed-loop run with dense output in time. It dereferences to its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The outcome of the run.
    pub outcome: Outcome,
    /// The accepted steps, including the start, with the accumulated cost ∫ c dt. At a discontinuity the control is the one after it, at
    /// the end of the run the one before it.
    pub steps: Trajectory,
    /// Terminal cost c_T at the end; zero if the run did not complete.
    pub terminal_cost: f64,
    /// Cost assigned to the remaining time of a run that stopped early: its last cost rate times the remaining time.
    pub stop_cost: f64,
    /// Number of evaluations of the dynamics.
    pub evaluations: usize,
    /// State, control and cost at the sample times of the experiment. Unlike `steps`, the samples contain the control
    /// that acted at the sample time.
    pub samples: Trajectory,
    /// The discontinuities of the control, each recorded twice: with the control before it, then with the one after it. Empty
    /// unless requested.
    pub jumps: Trajectory,
    /// The method that integrated the end of the run.
    pub method: Method,
    /// Coefficients of the dense output of state and cost, one block for each step.
    pub(super) dense: Blocks,
}

impl Deref for Run {
    type Target = Trajectory;

    fn deref(&self) -> &Trajectory {
        &self.steps
    }
}

impl Run {
    /// The cost C(π, f): the sum of running, terminal and stop cost; always finite.
    pub fn cost(&self) -> f64 {
        self.running_cost() + self.terminal_cost + self.stop_cost
    }

    /// The running cost ∫ c dt up to the end of the run.
    pub fn running_cost(&self) -> f64 {
        self.costs.last().copied().unwrap_or(0.0)
    }

    /// True if the horizon was reached.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// The last state of the run.
    pub fn final_state(&self) -> &[f64] {
        self.states.at(self.states.len() - 1)
    }

    /// Evaluates x(t) by the dense output; `time` is limited to the run.
    pub fn state_at(&self, time: f64, out: &mut [f64]) {
        let k = self.interval(time);
        if self.len() == 1 || self.dense.is_empty() {
            return out.copy_from_slice(self.states.at(k));
        }
        let (from, to) = (self.times[k], self.times[k + 1]);
        super::dormand_prince::interpolate(self.dense.at(k), time.clamp(from, to) - from, out);
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn an_outcome_is_its_words_in_files() {
        let completed = serde_json::to_string(&Outcome::Completed).unwrap();
        assert_eq!(completed, "\"completed\"");
        assert_eq!(serde_json::from_str::<Outcome>(&completed).unwrap(), Outcome::Completed);
        // Of an early end only the words are kept; they are written again as they were.
        let early = serde_json::to_string(&Outcome::LimitHit { state: 1, time: 0.5 }).unwrap();
        let read: Outcome = serde_json::from_str(&early).unwrap();
        assert!(matches!(read, Outcome::Reported { .. }), "{read:?}");
        assert_eq!(serde_json::to_string(&read).unwrap(), early);
    }
}
