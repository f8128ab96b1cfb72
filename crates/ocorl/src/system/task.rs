//! What we want of a system, and nothing about how it moves.

use super::{Cost, Dims};
use std::sync::Arc;

/// The name of a state or control and its unit (empty if it has none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Lower-case, unique within its system.
    pub name: String,
    /// SI symbol; empty for a pure number.
    pub unit: String,
}

impl Quantity {
    /// Names with units, in the order of the vector.
    pub fn list<const N: usize>(names: [(&str, &str); N]) -> Vec<Quantity> {
        names.map(|(name, unit)| Quantity { name: name.into(), unit: unit.into() }).into()
    }
}

/// An interval for each coordinate; infinite ends mean no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
}

impl Bounds {
    /// No limit on any of `dim` coordinates.
    pub fn none(dim: usize) -> Self {
        Bounds { lower: vec![f64::NEG_INFINITY; dim], upper: vec![f64::INFINITY; dim] }
    }

    /// |xᵢ| ≤ `limits[i]`.
    pub fn symmetric(limits: impl AsRef<[f64]>) -> Self {
        let upper = limits.as_ref().to_vec();
        Bounds { lower: upper.iter().map(|l| -l).collect(), upper }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.lower.len()
    }

    /// True if at least one end is finite.
    pub fn is_limiting(&self) -> bool {
        self.lower.iter().chain(&self.upper).any(|b| b.is_finite())
    }

    /// Moves `values` into the bounds.
    #[inline]
    pub fn clamp(&self, values: &mut [f64]) {
        for ((v, lower), upper) in values.iter_mut().zip(&self.lower).zip(&self.upper) {
            *v = v.max(*lower).min(*upper);
        }
    }

    /// The first coordinate of `values` that lies outside (or is NaN).
    pub fn violated_by(&self, values: &[f64]) -> Option<usize> {
        (0..self.dim()).find(|&i| !(values[i] >= self.lower[i] && values[i] <= self.upper[i]))
    }
}

/// A control task: from `initial_state`, over [0, `horizon`], at least `cost`.
#[derive(Clone)]
pub struct Task {
    /// What each state is.
    pub states: Vec<Quantity>,
    /// What each control is.
    pub controls: Vec<Quantity>,
    /// x(0)
    pub initial_state: Vec<f64>,
    /// T in seconds (or the system's own unit of time).
    pub horizon: f64,
    /// c and c_T.
    pub cost: Arc<dyn Cost>,
    /// States that are angles: x and x + 2π are the same place.
    pub angles: Vec<usize>,
    /// Where controls must stay.
    pub control_bounds: Bounds,
    /// An episode ends when a state leaves these.
    pub state_bounds: Bounds,
    /// The control to apply when there is no better knowledge.
    pub safe_control: Vec<f64>,
    /// Standard deviation of the noise of a measured derivative, for each state, in its unit per second.
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

/// Why a [`Task`] cannot be worked on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The horizon is not a positive finite number.
    #[error("the horizon must be a positive, finite time, not {0}")]
    Horizon(f64),
    /// A list has the wrong length.
    #[error("{what} has {found} entries, the system has {expected}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it needs.
        expected: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} '{name}' is {value}; it must be finite")]
    NotFinite {
        /// Which list.
        what: &'static str,
        /// Which entry.
        name: String,
        /// The number.
        value: f64,
    },
    /// A lower limit above its upper limit, or a limit that is NaN.
    #[error("the limits of '{name}' are empty: [{lower}, {upper}]")]
    EmptyLimits {
        /// Which quantity.
        name: String,
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
    },
    /// The start (or the safe control) violates the limits.
    #[error("{what} '{name}' = {value} lies outside its limits [{lower}, {upper}]")]
    OutsideLimits {
        /// Which vector.
        what: &'static str,
        /// Which quantity.
        name: String,
        /// Its value.
        value: f64,
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
    },
}

impl Task {
    /// Dimensions of x and u.
    pub fn dims(&self) -> Dims {
        Dims { state: self.states.len(), control: self.controls.len() }
    }

    /// Seconds, unless nothing of the system has a unit: then its time has none either.
    pub fn time_unit(&self) -> &'static str {
        let mut quantities = self.states.iter().chain(&self.controls);
        if quantities.all(|q| q.unit.is_empty()) { "" } else { "s" }
    }

    /// Checks every number; call it once, before anything is computed.
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
            ("the cost (states)", self.cost.dims().state, state),
            ("the cost (controls)", self.cost.dims().control, control),
        ] {
            if found != expected {
                return Err(TaskError::Length { what, found, expected });
            }
        }
        within("initial state", &self.states, &self.initial_state, &self.state_bounds)?;
        within("safe control", &self.controls, &self.safe_control, &self.control_bounds)?;
        finite("noise of", &self.states, &self.noise_std)
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
