//! Open-loop planning: the trajectory of least cost, with the feedback gains around it.
//!
//! | symbol | code | shape |
//! |---|---|---|
//! | t₀ < t₁ < … < t_N | `times` | N + 1 |
//! | x_k, u_k | `states`, `controls` | dₓ × (N + 1), dᵤ × N; u_k is held on [t_k, t_{k+1}) |
//! | K_k | `gains` | gradients ∇ₓuⱼ one after the other, dₓ × dᵤ |
//! | J | `cost` | Σ ∫ c dt + c_T |
//!
//! [`Ilqr`] minimises J over any [`Dynamics`](crate::system::Dynamics) and [`Cost`]; how ẋ = f becomes steps is
//! the [`Transcription`]. The planner does not know whether f is the truth or a model.

mod box_qp;
mod ilqr;
mod riccati;
mod rollout;
mod sensitivity;
mod shooting;
mod stages;
mod starts;
mod transcription;

pub use ilqr::{ForwardPass, Ilqr, Settings, Summary};
pub use stages::{RoughToFine, Search, in_stages};
pub use starts::{Start, best_of, better};
pub use transcription::{Quadrature, Transcription};

use crate::linalg::Blocks;
use crate::system::{Bounds, Cost, Dims, Task};

/// What is to be minimised.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// c and c_T.
    pub cost: &'a dyn Cost,
    /// x₀
    pub initial_state: &'a [f64],
    /// Node times, strictly increasing, at least two; need not be equally spaced.
    pub times: &'a [f64],
    /// Limits of each control.
    pub control_bounds: &'a Bounds,
    /// A trajectory that leaves these costs infinity. The search steps back from them and does not look for the best way along
    /// them: they keep a plan where its dynamics mean something, they are not constraints of the task.
    pub state_bounds: Option<&'a Bounds>,
    /// How the interval between two nodes is integrated.
    pub transcription: Transcription,
}

/// Where the search begins.
#[derive(Clone, Copy, Debug)]
pub struct Guess<'a> {
    /// u_k, one column for each interval.
    pub controls: &'a [f64],
    /// x_k, one column for each node. If given, the states need not fit the dynamics: the gaps between them close
    /// during the search (multiple shooting).
    pub states: Option<&'a [f64]>,
}

/// How a search ended. Not converging is not an error: the plan is verified in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The gradient, or the decrease still to be expected, is below its tolerance.
    Converged,
    /// No step decreases the cost any more, at any regularisation.
    Stalled,
    /// The iterations are used up.
    IterationLimit,
}

/// One iteration of a search, for plots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// J after it.
    pub cost: f64,
    /// Euclidean norm of dJ/du before it, limited directions left out.
    pub gradient_norm: f64,
    /// Accepted step length (zero: none was).
    pub step: f64,
    /// Relative regularisation of its backward pass.
    pub regularization: f64,
    /// Largest gap between the states and the dynamics after it.
    pub gap: f64,
}

/// A trajectory of (locally) least cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Node times.
    pub times: Vec<f64>,
    /// x_k
    pub states: Blocks,
    /// u_k
    pub controls: Blocks,
    /// K_k as gradients: block k holds ∇ₓu₁, ∇ₓu₂, … so that u = u_k + K_k (x − x_k).
    pub gains: Blocks,
    /// J, as the plan's own rollout gives it.
    pub cost: f64,
    /// How the search ended.
    pub outcome: Outcome,
    /// Norm of dJ/du at the last linearisation.
    pub gradient_norm: f64,
    /// Every iteration in order.
    pub trace: Vec<Iteration>,
}

impl Plan {
    /// Dimensions of x and u.
    pub fn dims(&self) -> Dims {
        Dims { state: self.states.size(), control: self.controls.size() }
    }

    /// Its controls as a start on another grid, averaged over the intervals there.
    pub fn resampled(&self, times: &[f64]) -> Start {
        let mut start = Start::constant(&vec![0.0; self.dims().control], times.len() - 1);
        for (k, t) in times.windows(2).enumerate() {
            let (first, last) = (self.interval(t[0]), self.interval(t[1] - 1e-9 * (t[1] - t[0])));
            let out = start.controls.at_mut(k);
            for j in first..=last {
                let overlap = self.times[j + 1].min(t[1]) - self.times[j].max(t[0]);
                for (out, u) in out.iter_mut().zip(self.controls.at(j)) {
                    *out += u * overlap / (t[1] - t[0]);
                }
            }
        }
        start
    }

    /// Index of the interval that contains `time`, held to the first and the last.
    pub fn interval(&self, time: f64) -> usize {
        self.times.partition_point(|&t| t <= time).clamp(1, self.times.len() - 1) - 1
    }
}

/// Why there is no plan at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Fewer than two nodes.
    #[error("a plan needs at least one interval, this grid has {nodes} nodes")]
    NoIntervals {
        /// How many nodes there are.
        nodes: usize,
    },
    /// The grid does not increase, or is not finite.
    #[error("node times must increase and be finite: t[{index}] = {before}, t[{}] = {after}", index + 1)]
    Times {
        /// Index of the first of the two.
        index: usize,
        /// Its time.
        before: f64,
        /// The next time.
        after: f64,
    },
    /// A vector has the wrong length.
    #[error("{what} has {found} numbers, {expected} are needed")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it needs.
        expected: usize,
    },
    /// A number of the problem or the guess is NaN or infinite.
    #[error("{what} has the value {value} at position {index}; it must be finite")]
    NotFinite {
        /// Which vector.
        what: &'static str,
        /// Where.
        index: usize,
        /// The number.
        value: f64,
    },
    /// A lower control limit above its upper one.
    #[error("the limits of control {index} are empty: [{lower}, {upper}]")]
    EmptyLimits {
        /// Which control.
        index: usize,
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
    },
    /// No sub-steps.
    #[error("an interval needs at least one integration step")]
    NoSubsteps,
    /// The start's trajectory is not finite, and no other was found.
    #[error(
        "no trajectory of finite cost was found: the guess leaves the domain of the dynamics or of the cost \
         at t = {time}; start from other controls or from a shorter step"
    )]
    NoFinitePlan {
        /// Where the guess's rollout stopped being finite.
        time: f64,
    },
}

impl<'a> Problem<'a> {
    /// `task` from its start on the grid `times`, one Runge–Kutta step an interval.
    pub fn of(task: &'a Task, times: &'a [f64]) -> Self {
        Problem {
            cost: task.cost.as_ref(),
            initial_state: &task.initial_state,
            times,
            control_bounds: &task.control_bounds,
            state_bounds: None,
            transcription: Transcription::default(),
        }
    }
}

impl Problem<'_> {
    /// N
    pub fn intervals(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    fn validate(&self, dims: Dims, guess: &Guess<'_>) -> Result<(), PlanError> {
        let nodes = self.times.len();
        if nodes < 2 {
            return Err(PlanError::NoIntervals { nodes });
        }
        if self.transcription.substeps == 0 {
            return Err(PlanError::NoSubsteps);
        }
        if let Some(index) = self.times.windows(2).position(|t| !(t[1] > t[0] && (t[1] - t[0]).is_finite())) {
            let (before, after) = (self.times[index], self.times[index + 1]);
            return Err(PlanError::Times { index, before, after });
        }
        let states = guess.states.unwrap_or(&[]);
        for (what, found, expected) in [
            ("the initial state", self.initial_state.len(), dims.state),
            ("the lower control limit", self.control_bounds.lower.len(), dims.control),
            ("the upper control limit", self.control_bounds.upper.len(), dims.control),
            ("the state of the cost", self.cost.dims().state, dims.state),
            ("the control of the cost", self.cost.dims().control, dims.control),
            ("the guess of the controls", guess.controls.len(), dims.control * (nodes - 1)),
            ("the guess of the states", states.len(), if states.is_empty() { 0 } else { dims.state * nodes }),
        ] {
            if found != expected {
                return Err(PlanError::Length { what, found, expected });
            }
        }
        for (what, values) in [
            ("the initial state", self.initial_state),
            ("the guess of the controls", guess.controls),
            ("the guess of the states", states),
        ] {
            if let Some(index) = values.iter().position(|v| !v.is_finite()) {
                return Err(PlanError::NotFinite { what, index, value: values[index] });
            }
        }
        for index in 0..dims.control {
            let (lower, upper) = (self.control_bounds.lower[index], self.control_bounds.upper[index]);
            if !(lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY) {
                return Err(PlanError::EmptyLimits { index, lower, upper });
            }
        }
        Ok(())
    }
}

/// `intervals + 1` equally spaced times from 0 to `horizon`.
pub fn uniform_grid(horizon: f64, intervals: usize) -> Vec<f64> {
    (0..=intervals).map(|k| horizon * k as f64 / intervals as f64).collect()
}
