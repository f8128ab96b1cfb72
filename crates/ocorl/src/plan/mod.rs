//! Open-loop planning: trajectory optimisation, with the time-varying feedback gains around the optimal trajectory.
//!
//! | symbol | code | shape |
//! |---|---|---|
//! | t₀ < t₁ < … < t_N | `times` | N + 1 |
//! | x_k, u_k | `states`, `controls` | dₓ × (N + 1), dᵤ × N; u_k is held on [t_k, t_{k+1}) |
//! | K_k | `gains` | gradients ∇ₓuⱼ one after the other, dₓ × dᵤ |
//! | J | `cost` | Σ ∫ c dt + c_T |
//!
//! [`Ilqr`] minimises J over any [`Dynamics`](crate::system::Dynamics) and [`Cost`]. The [`Transcription`] defines how ẋ = f is integrated
//! between the nodes. The planner does not distinguish true dynamics from a learned model.
//!
//! [`best_of`] and [`plan_within_limits`] also hold the states within limits, and satisfy general constraints g(t, x, u) ≤ 0
//! ([`PathConstraints`]).
//!
//! Left out on purpose: a single search is local, so global optimality is not guaranteed (several starts, [`best_of`], reduce the risk).

mod box_qp;
mod ilqr;
mod limits;
mod portfolio;
mod rate;
mod riccati;
mod rollout;
mod sampling;
mod sensitivity;
mod shooting;
mod stages;
mod starts;
mod tightened;
mod transcription;
mod variations;

pub use ilqr::{ForwardPass, Ilqr, Settings, Summary};
pub use limits::{PathConstraints, plan_within_limits};
pub use portfolio::{
    Attempt, Effort, Origin, Raced, SearchAround, SearchKind, SearchOfKind, race, same_basin,
};
pub use rate::RateConstraint;
pub use sampling::sampled_starts;
pub use stages::{RoughToFine, Search, in_stages};
pub use starts::{Start, best_of, better, each_of};
pub use tightened::tightened_starts;
pub use transcription::{Quadrature, Transcription};
pub use variations::{neighbours, variations};

use crate::simulate::Trajectory;
use crate::system::{Bounds, Cost, Dims, Task};
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// An optimal control problem on a time grid: minimise the cost over trajectories from a given initial state, within limits.
///
/// ```
/// use ocorl::prelude::*;
///
/// // A double integrator from 1 to 0 with |u| ≤ 1.
/// let mut f = NumericJacobian::new(Dims { state: 2, control: 1 }, |x, u, dx| dx.copy_from_slice(&[x[1], u[0]]));
/// let problem = Problem {
///     cost: &QuadraticCost::new([1.0, 1.0], [0.1]),
///     initial_state: &[1.0, 0.0],
///     times: &uniform_grid(5.0, 50),
///     control_bounds: &Bounds::symmetric([1.0]),
///     state_bounds: None,
///     constraints: PathConstraints::default(),
///     rate_limit: None,
///     transcription: Transcription::default(),
/// };
/// let plan = Ilqr::default().plan(&mut f, &problem, Start::constant(&[0.0], 50).guess())?;
/// assert!(plan.controls.at(0)[0] == -1.0 && plan.states.at(50)[0].abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Running cost c(t, x, u) and terminal cost c_T(x).
    pub cost: &'a dyn Cost,
    /// Initial state x₀ = x(t₀).
    pub initial_state: &'a [f64],
    /// Node times, strictly increasing, at least two; they need not be equally spaced.
    pub times: &'a [f64],
    /// Lower and upper limit of each control.
    pub control_bounds: &'a Bounds,
    /// Limit on how fast the controls may change; `None` for no limit.
    pub rate_limit: Option<RateConstraint<'a>>,
    /// Limits of the states. [`Ilqr`] rejects trajectories that leave them; [`plan_within_limits`] also searches along them.
    pub state_bounds: Option<&'a Bounds>,
    /// General constraints, and margins of these and of the state limits. Only [`plan_within_limits`] treats them.
    pub constraints: PathConstraints<'a>,
    /// Numerical integration of dynamics and cost between two nodes.
    pub transcription: Transcription,
}

/// Initial guess of a trajectory search.
#[derive(Clone, Copy, Debug)]
pub struct Guess<'a> {
    /// Controls u_k, one column for each interval.
    pub controls: &'a [f64],
    /// States x_k, one column for each node. If given, they need not satisfy the dynamics: the gaps between the intervals close
    /// during the search (multiple shooting).
    pub states: Option<&'a [f64]>,
}

/// Reason for which a search ended. A search that has not converged is not an error: in each case the plan satisfies the dynamics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Outcome {
    /// The gradient norm or the expected decrease is below its tolerance.
    #[default]
    Converged,
    /// No step decreases the cost at any regularisation.
    Stalled,
    /// The maximum number of iterations was reached.
    IterationLimit,
}

impl Outcome {
    /// Returns the name used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Converged => "converged",
            Outcome::Stalled => "stalled",
            Outcome::IterationLimit => "iteration-limit",
        }
    }
}

/// Record of one iteration of a search, for convergence plots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Iteration {
    /// Cost J after the iteration.
    pub cost: f64,
    /// Euclidean norm of dJ/du before the iteration, without directions that are blocked by a limit.
    pub gradient_norm: f64,
    /// Accepted step length; zero if no step was accepted.
    pub step: f64,
    /// Relative regularisation μ of the backward pass.
    pub regularization: f64,
    /// Largest absolute gap between the states and the dynamics after the iteration.
    pub gap: f64,
}

/// A locally optimal trajectory with feedback gains, and the record of its search. It dereferences to its [`Trajectory`].
///
/// Serialisation includes the trajectory and its cost, and omits the record of the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Node times t_k, states x_k, controls u_k and gains K_k.
    #[serde(flatten)]
    pub trajectory: Trajectory,
    /// Cost J of the plan's own rollout.
    pub cost: f64,
    /// Reason for which the search ended.
    #[serde(skip)]
    pub outcome: Outcome,
    /// Euclidean norm of dJ/du at the last linearisation.
    #[serde(skip)]
    pub gradient_norm: f64,
    /// Record of every iteration, in order.
    #[serde(skip)]
    pub trace: Vec<Iteration>,
    /// Record of the portfolio of searches behind the plan; empty if there was only one search.
    #[serde(skip)]
    pub attempts: Vec<Attempt>,
}

impl Deref for Plan {
    type Target = Trajectory;

    fn deref(&self) -> &Trajectory {
        &self.trajectory
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut Trajectory {
        &mut self.trajectory
    }
}

impl Plan {
    /// Creates a plan from a given trajectory and its cost, without a record of a search (read from a file, for example).
    pub fn given(trajectory: Trajectory, cost: f64) -> Self {
        Plan { trajectory, cost, ..Plan::default() }
    }

    /// Returns the controls as a start on another time grid: each new control is the mean over its interval.
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
}

/// Reason for which a planning problem has no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The time grid has fewer than two nodes.
    #[error(
        "a plan needs at least one interval, but the time grid has {nodes} nodes; give at least two node times"
    )]
    NoIntervals {
        /// Number of nodes of the grid.
        nodes: usize,
    },
    /// The node times are not strictly increasing, or are not finite.
    #[error("node times must increase and be finite: t[{index}] = {before}, t[{}] = {after}", index + 1)]
    Times {
        /// Index of the first node of the faulty pair.
        index: usize,
        /// Time of the first node.
        before: f64,
        /// Time of the second node.
        after: f64,
    },
    /// A vector of the problem or of the guess has the wrong length.
    #[error("{what} has {found} entries; this problem needs {expected}")]
    Length {
        /// Name of the vector.
        what: &'static str,
        /// Length of the vector.
        found: usize,
        /// Length that the problem needs.
        expected: usize,
    },
    /// An entry of the problem or of the guess is NaN or infinite.
    #[error("{what} has the value {value} at position {index}; it must be finite")]
    NotFinite {
        /// Name of the vector.
        what: &'static str,
        /// Index of the entry.
        index: usize,
        /// Value of the entry.
        value: f64,
    },
    /// The lower limit of a control exceeds its upper limit.
    #[error("control {index} has no admissible value: its limits are [{lower}, {upper}]")]
    EmptyLimits {
        /// Index of the control.
        index: usize,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A rate limit, or the time available for the first change, is not positive.
    #[error("rate limit {index} is {value}; it must be positive")]
    RateLimit {
        /// Index of the control; the number of controls if the time available for the first change is at fault.
        index: usize,
        /// Value of the limit.
        value: f64,
    },
    /// The planner found no trajectory within the limits of the states.
    #[error(
        "no trajectory within the limits of the states was found: state {state} is outside by {by:.3e} at t = {time}; \
         widen the limit of this state or the limits of the controls, or begin elsewhere"
    )]
    OutsideLimits {
        /// Index of the state that is farthest outside.
        state: usize,
        /// Time at which it is outside.
        time: f64,
        /// Distance from the limit, in the unit of the state.
        by: f64,
    },
    /// The planner found no trajectory that satisfies the constraints.
    #[error(
        "no trajectory that satisfies the constraint '{constraint}' was found: it is violated by {by:.3e} at t = {time}; \
         relax this constraint or the limits of the controls, allow more time, or begin elsewhere"
    )]
    Violated {
        /// Name of the constraint that is violated most.
        constraint: String,
        /// Time at which it is violated.
        time: f64,
        /// Value of g, which must not be positive.
        by: f64,
    },
    /// The transcription has no integration step.
    #[error("the transcription has 0 integration steps per interval; it needs at least one")]
    NoSubsteps,
    /// The rollout of the guess is not finite, and no other trajectory was found.
    #[error(
        "no trajectory of finite cost was found: the guess leaves the domain of the dynamics or of the cost \
         at t = {time}; start from other controls or from a shorter step"
    )]
    NoFinitePlan {
        /// Time at which the rollout of the guess stopped being finite.
        time: f64,
    },
}

impl<'a> Problem<'a> {
    /// Builds the planning problem of `task` from its initial state on the grid `times`, with one Runge–Kutta step per interval. If the
    /// task limits the rate of its controls, the first control is limited relative to the safe control.
    pub fn of(task: &'a Task, times: &'a [f64]) -> Self {
        Problem {
            cost: task.cost.as_ref(),
            initial_state: &task.initial_state,
            times,
            control_bounds: &task.control_bounds,
            rate_limit: task.rate_limit.as_ref().map(|limit| RateConstraint::new(limit, &task.safe_control)),
            state_bounds: None,
            constraints: PathConstraints { constraints: task.constraints.as_deref(), margins: None },
            transcription: Transcription::default(),
        }
    }
}

impl Problem<'_> {
    /// Returns the number of intervals N.
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
        let rates = self.rate_limit;
        let of_rates = |count: fn(&RateConstraint<'_>) -> usize| rates.as_ref().map_or(dims.control, count);
        for (what, found, expected) in [
            ("the initial state", self.initial_state.len(), dims.state),
            ("the lower control limit", self.control_bounds.lower.len(), dims.control),
            ("the upper control limit", self.control_bounds.upper.len(), dims.control),
            ("the rate limit", of_rates(|rates| rates.max_rate.len()), dims.control),
            ("the control before the first interval", of_rates(|rates| rates.before.len()), dims.control),
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
            ("the control before the first interval", rates.map_or(&[][..], |rates| rates.before)),
        ] {
            if let Some(index) = values.iter().position(|v| !v.is_finite()) {
                return Err(PlanError::NotFinite { what, index, value: values[index] });
            }
        }
        if let Some(rates) = rates {
            let all = || rates.max_rate.iter().chain([&rates.since]);
            if let Some(index) = all().position(|rate| !(*rate > 0.0)) {
                let value = all().nth(index).copied().unwrap_or(f64::NAN);
                return Err(PlanError::RateLimit { index, value });
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

/// Returns `intervals + 1` equally spaced times from 0 to `horizon`.
pub fn uniform_grid(horizon: f64, intervals: usize) -> Vec<f64> {
    (0..=intervals).map(|k| horizon * k as f64 / intervals as f64).collect()
}

/// Returns the times from 0 to `horizon` of a grid for a plant that holds each control for `hold`: equal multiples of it, at most
/// `intervals` of them, of which the last may be shorter. With `hold` = 0 it is [`uniform_grid`].
///
/// ```
/// assert_eq!(ocorl::plan::held_grid(10.0, 2.5, 100), [0.0, 2.5, 5.0, 7.5, 10.0]);
/// assert_eq!(ocorl::plan::held_grid(10.0, 2.5, 3), [0.0, 5.0, 10.0]);
/// assert_eq!(ocorl::plan::held_grid(10.0, 4.0, 100), [0.0, 4.0, 8.0, 10.0]);
/// ```
pub fn held_grid(horizon: f64, hold: f64, intervals: usize) -> Vec<f64> {
    let holds = if hold > 0.0 { (horizon / hold * (1.0 - 1e-9)).ceil() } else { 0.0 };
    if holds < 1.0 {
        return uniform_grid(horizon, intervals);
    }
    let length = (holds / intervals as f64).ceil() * hold;
    let nodes = (0..=intervals).map(|k| length * k as f64);
    nodes.take_while(|t| *t < horizon * (1.0 - 1e-9)).chain([horizon]).collect()
}
