//! The control task of a system, without its dynamics.

use super::{Backup, Constraints, Cost, Dims, Extent};
use crate::linalg::Points;
use std::sync::Arc;

/// Name and unit of a state or control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name in lower case, unique within its system.
    pub name: String,
    /// SI symbol of the unit; empty for a dimensionless quantity.
    pub unit: String,
}

impl Quantity {
    /// Creates quantities from names and units, in the order of the vector.
    pub fn list<const N: usize>(names: [(&str, &str); N]) -> Vec<Quantity> {
        names.map(|(name, unit)| Quantity { name: name.into(), unit: unit.into() }).into()
    }
}

/// An interval for each coordinate; an infinite end means no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Lower limits.
    pub lower: Vec<f64>,
    /// Upper limits.
    pub upper: Vec<f64>,
}

impl Bounds {
    /// Creates bounds without a limit on any of `dim` coordinates.
    pub fn none(dim: usize) -> Self {
        Bounds { lower: vec![f64::NEG_INFINITY; dim], upper: vec![f64::INFINITY; dim] }
    }

    /// Creates the bounds |xᵢ| ≤ `limits[i]`.
    pub fn symmetric(limits: impl AsRef<[f64]>) -> Self {
        let upper = limits.as_ref().to_vec();
        Bounds { lower: upper.iter().map(|l| -l).collect(), upper }
    }

    /// Returns the number of coordinates.
    pub fn dim(&self) -> usize {
        self.lower.len()
    }

    /// Returns whether at least one limit is finite.
    pub fn is_limiting(&self) -> bool {
        self.lower.iter().chain(&self.upper).any(|b| b.is_finite())
    }

    /// Clamps `values` to the bounds.
    #[inline]
    pub fn clamp(&self, values: &mut [f64]) {
        for ((v, lower), upper) in values.iter_mut().zip(&self.lower).zip(&self.upper) {
            *v = v.max(*lower).min(*upper);
        }
    }

    /// Returns the first coordinate of `values` that is outside the bounds or NaN; `None` if all are inside.
    pub fn violated_by(&self, values: &[f64]) -> Option<usize> {
        (0..self.dim()).find(|&i| !(values[i] >= self.lower[i] && values[i] <= self.upper[i]))
    }
}

/// Limit on the rate of change of the controls. A controller sets the control once per period, and from one period to the next each control
/// changes by at most its rate times the elapsed time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// Largest change of each control per unit of time; infinite where there is no limit.
    pub max_rate: Vec<f64>,
    /// Control period: time between two settings of the control.
    pub period: f64,
}

/// A control task: minimise `cost` over [0, `horizon`] from `initial_state`.
///
/// ```
/// use ocorl::prelude::*;
///
/// let task = Task {
///     states: Quantity::list([("temperature", "K")]),
///     controls: Quantity::list([("power", "W")]),
///     initial_state: vec![293.0],
///     horizon: 60.0,
///     cost: std::sync::Arc::new(QuadraticCost::new([1.0], [0.01]).state_target([310.0])),
///     angles: vec![],
///     control_bounds: Bounds { lower: vec![0.0], upper: vec![100.0] },
///     state_bounds: Bounds::none(1),
///     safe_control: vec![0.0],
///     rate_limit: None,
///     backup: None,
///     constraints: None,
///     noise_std: vec![0.1],
/// };
/// task.validate()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Task {
    /// Name and unit of each state.
    pub states: Vec<Quantity>,
    /// Name and unit of each control.
    pub controls: Vec<Quantity>,
    /// Initial state x(0).
    pub initial_state: Vec<f64>,
    /// Horizon T in seconds (or the system's own unit of time).
    pub horizon: f64,
    /// Running cost c and terminal cost c_T.
    pub cost: Arc<dyn Cost>,
    /// Indices of the states that are angles: x and x + 2π are equivalent.
    pub angles: Vec<usize>,
    /// Limits of the controls.
    pub control_bounds: Bounds,
    /// Limits of the states; an episode ends when a state leaves them.
    pub state_bounds: Bounds,
    /// Control that is applied when no better one is available.
    pub safe_control: Vec<f64>,
    /// Rate limit of the controls; `None` for no limit. A run begins with the safe control applied.
    pub rate_limit: Option<RateLimit>,
    /// Controller that replaces the plan where it must not be followed; `None` for the safe control.
    pub backup: Option<Backup>,
    /// General constraints that every plan satisfies; `None` for none.
    pub constraints: Option<Arc<dyn Constraints>>,
    /// Standard deviation of the noise of a measured derivative, for each state, in its unit per unit of time.
    pub noise_std: Vec<f64>,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("states", &self.states)
            .field("controls", &self.controls)
            .field("initial_state", &self.initial_state)
            .field("horizon", &self.horizon)
            .finish_non_exhaustive()
    }
}

/// Reason for which a [`Task`] is inconsistent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The horizon is not a positive finite number.
    #[error("the horizon must be a positive, finite time, not {0}")]
    Horizon(f64),
    /// A list has the wrong length.
    #[error("{what} has {found} entries, the system has {expected}")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// Length of the list.
        found: usize,
        /// Length that the system needs.
        expected: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} '{name}' is {value}; it must be finite")]
    NotFinite {
        /// Name of the list.
        what: &'static str,
        /// Name of the entry.
        name: String,
        /// Value of the entry.
        value: f64,
    },
    /// A lower limit exceeds its upper limit, or a limit is NaN.
    #[error("the limits of '{name}' are empty: [{lower}, {upper}]")]
    EmptyLimits {
        /// Name of the quantity.
        name: String,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A rate limit, or its period, is not positive.
    #[error("the rate limit of '{name}' is {value}; it must be positive")]
    RateLimit {
        /// Name of the control, or the period.
        name: String,
        /// Value of the rate limit or of the period.
        value: f64,
    },
    /// The backup controller is inconsistent.
    #[error("{0}")]
    Backup(String),
    /// The initial state or the safe control violates the limits.
    #[error("{what} '{name}' = {value} lies outside its limits [{lower}, {upper}]")]
    OutsideLimits {
        /// Name of the vector.
        what: &'static str,
        /// Name of the quantity.
        name: String,
        /// Value of the quantity.
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// The initial state violates a constraint.
    #[error(
        "the initial state violates the constraint '{name}' by {by:.3e}; begin elsewhere, or relax the constraint"
    )]
    Violated {
        /// Name of the constraint.
        name: String,
        /// Value of g, which must not be positive.
        by: f64,
    },
}

impl Task {
    /// Returns the dimensions of x and u.
    pub fn dims(&self) -> Dims {
        Dims { state: self.states.len(), control: self.controls.len() }
    }

    /// Returns the unit of time: seconds, or none if no quantity of the system has a unit.
    pub fn time_unit(&self) -> &'static str {
        let mut quantities = self.states.iter().chain(&self.controls);
        if quantities.all(|q| q.unit.is_empty()) { "" } else { "s" }
    }

    /// Checks every value; call it once before any computation.
    pub fn validate(&self) -> Result<(), TaskError> {
        if !(self.horizon > 0.0 && self.horizon.is_finite()) {
            return Err(TaskError::Horizon(self.horizon));
        }
        let Dims { state, control } = self.dims();
        for (what, found, expected) in [
            ("the initial state", self.initial_state.len(), state),
            ("the list of state limits", self.state_bounds.dim(), state),
            ("the list of noise levels", self.noise_std.len(), state),
            ("the list of control limits", self.control_bounds.dim(), control),
            ("the safe control", self.safe_control.len(), control),
            ("the rate limit", self.rate_limit.as_ref().map_or(control, |r| r.max_rate.len()), control),
            ("the cost (states)", self.cost.dims().state, state),
            ("the cost (controls)", self.cost.dims().control, control),
            ("the constraints (states)", self.constraints.as_ref().map_or(state, |g| g.dims().state), state),
            (
                "the constraints (controls)",
                self.constraints.as_ref().map_or(control, |g| g.dims().control),
                control,
            ),
        ] {
            if found != expected {
                return Err(TaskError::Length { what, found, expected });
            }
        }
        if let Some(limit) = &self.rate_limit {
            limit.validate(&self.controls)?;
        }
        if let Some(cause) = self.backup.as_ref().and_then(|backup| backup.error(state, control)) {
            return Err(TaskError::Backup(cause));
        }
        within("initial state", &self.states, &self.initial_state, &self.state_bounds)?;
        within("safe control", &self.controls, &self.safe_control, &self.control_bounds)?;
        finite("noise of", &self.states, &self.noise_std)?;
        self.validate_constraints()
    }

    /// Checks the constraints of the state alone at the initial state.
    fn validate_constraints(&self) -> Result<(), TaskError> {
        let Some(constraints) = &self.constraints else { return Ok(()) };
        let point = [self.initial_state.as_slice(), &self.safe_control].concat();
        let mut g = vec![0.0; constraints.list().len()];
        constraints.values(&[0.0], Points::single(&point), &mut g);
        for (constraint, g) in constraints.list().iter().zip(g) {
            let by = if constraint.equality { g.abs() } else { g };
            if constraint.extent == Extent::Always && !(by <= AT_START * constraint.scale) {
                return Err(TaskError::Violated { name: constraint.name.clone(), by });
            }
        }
        Ok(())
    }
}

/// Violation of a constraint at the initial state, in units of its scale, that counts as rounding.
const AT_START: f64 = 1e-9;

impl RateLimit {
    fn validate(&self, controls: &[Quantity]) -> Result<(), TaskError> {
        let named = controls.iter().map(|c| c.name.as_str()).zip(&self.max_rate);
        if let Some((name, value)) = named.into_iter().find(|(_, rate)| !(**rate > 0.0)) {
            return Err(TaskError::RateLimit { name: name.into(), value: *value });
        }
        if !(self.period > 0.0 && self.period.is_finite()) {
            return Err(TaskError::RateLimit { name: "period".into(), value: self.period });
        }
        Ok(())
    }
}

fn finite(what: &'static str, quantities: &[Quantity], values: &[f64]) -> Result<(), TaskError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(TaskError::NotFinite { what, name: quantities[i].name.clone(), value: values[i] }),
        None => Ok(()),
    }
}

fn within(
    what: &'static str,
    quantities: &[Quantity],
    values: &[f64],
    bounds: &Bounds,
) -> Result<(), TaskError> {
    finite(what, quantities, values)?;
    for (i, quantity) in quantities.iter().enumerate() {
        let (lower, upper) = (bounds.lower[i], bounds.upper[i]);
        let name = quantity.name.clone();
        if lower.is_nan() || upper.is_nan() || lower > upper {
            return Err(TaskError::EmptyLimits { name, lower, upper });
        }
        if values[i] < lower || values[i] > upper {
            return Err(TaskError::OutsideLimits { what, name, value: values[i], lower, upper });
        }
    }
    Ok(())
}
