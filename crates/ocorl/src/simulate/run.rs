//! What a closed-loop run leaves behind.

use super::{PolicyError, Trajectory};
use crate::linalg::Blocks;

/// How a run ended: exactly one of these, for every run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The horizon was reached.
    Completed,
    /// A state grew beyond the divergence threshold.
    Diverged {
        /// When.
        time: f64,
    },
    /// A state left its limits.
    LimitHit {
        /// Index of the state.
        state: usize,
        /// When, to the accuracy of the dense output.
        time: f64,
    },
    /// The error tolerance asks for steps below the smallest.
    StepTooSmall {
        /// When.
        time: f64,
    },
    /// The budget of steps is used up.
    TooManySteps {
        /// When.
        time: f64,
    },
    /// The dynamics, the cost or the control are not finite.
    NonFinite {
        /// When.
        time: f64,
    },
    /// Somebody asked to stop.
    Cancelled {
        /// When.
        time: f64,
    },
    /// Whoever ran it says so.
    Reported {
        /// What.
        what: String,
    },
    /// The policy could not go on.
    ControllerGaveUp {
        /// When.
        time: f64,
        /// Why.
        error: PolicyError,
    },
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Completed => write!(f, "completed"),
            Outcome::Diverged { time } => write!(f, "diverged at t = {time:.6}"),
            Outcome::LimitHit { state, time } => write!(f, "state {state} left its limits at t = {time:.6}"),
            Outcome::StepTooSmall { time } => write!(f, "step too small at t = {time:.6}"),
            Outcome::TooManySteps { time } => write!(f, "too many steps, at t = {time:.6}"),
            Outcome::NonFinite { time } => write!(f, "not finite at t = {time:.6}"),
            Outcome::Cancelled { time } => write!(f, "cancelled at t = {time:.6}"),
            Outcome::Reported { what } => f.write_str(what),
            Outcome::ControllerGaveUp { time, error } => {
                write!(f, "controller gave up at t = {time:.6}: {error}")
            }
        }
    }
}

/// A closed-loop run, dense in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// Times of the accepted steps, the start included.
    pub times: Vec<f64>,
    /// x at those times.
    pub states: Blocks,
    /// u at those times: at a jump the value after it, at the end the value before it.
    pub controls: Blocks,
    /// ∫ c dt up to those times.
    pub costs: Vec<f64>,
    /// c_T at the end; zero if the run did not complete.
    pub terminal_cost: f64,
    /// What a run that was stopped is charged for the rest: its last cost rate times the time that was left.
    pub stop_cost: f64,
    /// Evaluations of the dynamics.
    pub evaluations: usize,
    /// What was recorded at the sample times of the experiment. Unlike `controls`, which has one control for each integration step, it has
    /// the control that acted at the very time.
    pub samples: Trajectory,
    /// The jumps of the control, each twice: with the control before it, then with the one after it. Recorded if the experiment wants it.
    pub jumps: Trajectory,
    /// Coefficients of the dense output of state and cost, one block for each step.
    pub(super) dense: Blocks,
}

impl Run {
    /// C(π, f): running, terminal and stop cost together; always finite.
    pub fn cost(&self) -> f64 {
        self.running_cost() + self.terminal_cost + self.stop_cost
    }

    /// ∫ c dt as far as the run went.
    pub fn running_cost(&self) -> f64 {
        self.costs.last().copied().unwrap_or(0.0)
    }

    /// True if the horizon was reached.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// The last time.
    pub fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }

    /// The last state.
    pub fn final_state(&self) -> &[f64] {
        self.states.at(self.states.len() - 1)
    }

    /// x(t) from the dense output, held to the run's ends.
    pub fn state_at(&self, time: f64, out: &mut [f64]) {
        let last = self.times.len() - 1;
        let k = self.times.partition_point(|&t| t <= time).clamp(1, last.max(1)) - 1;
        if last == 0 || self.dense.is_empty() {
            out.copy_from_slice(self.states.at(k.min(last)));
            return;
        }
        let (from, to) = (self.times[k], self.times[k + 1]);
        super::dormand_prince::interpolate(self.dense.at(k), time.clamp(from, to) - from, out);
    }
}
