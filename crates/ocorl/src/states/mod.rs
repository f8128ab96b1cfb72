//! Learning the dynamics from measured states x instead of measured derivatives ẋ.
//!
//! | method | data that the model is conditioned on |
//! |---|---|
//! | `increments` | averages of f along the trajectory between two measured states, (x(t′) − x(t))/(t′ − t) = ⟨f⟩ + ε; exact except for the unknown trajectory in between |
//! | `smoothing` | derivatives of a Gaussian process in time fitted to the states of a run, with its posterior standard deviation as noise |
//! | `local-polynomial` | derivatives of a parabola fitted to the five nearest states, with its standard deviation as noise |
//!
//! The initial state x(0) and the commanded controls u(t) are known; between two measurements the state is estimated.
//!
//! | file | responsibility |
//! |---|---|
//! | `record` | measured states and commanded controls of one run |
//! | `smoothing`, `local_polynomial` | derivative estimates from states |
//! | `quadrature` | Gauss–Legendre quadrature, with integrals up to each node |
//! | `path` | estimate of the trajectory between measured states: first a smooth curve in time, then a Kalman smoother with the model |
//! | `outputs` | weighted averages of f where velocities are not measured |
//! | `increments` | averages along the estimated trajectory; alternates between trajectory estimation and model training |
//!
//! States that are not measured must be velocities of measured ones. Left out: other hidden states, and delays.

mod dense;
mod increments;
mod local_polynomial;
mod outputs;
mod path;
mod quadrature;
mod record;
mod smoothing;

pub use increments::StateDataset;
pub use local_polynomial::local_derivative;
pub use path::Path;
pub use record::{Controls, Record};
pub use smoothing::{Smoothed, Smoother};

use crate::linalg::Dims;
use crate::measurements::{MeasurementError, Measurements};
use serde::{Deserialize, Serialize};

/// How f is learned from measured states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// From averages of f along the trajectory between measured states.
    #[default]
    Increments,
    /// From derivatives of a Gaussian process in time.
    Smoothing,
    /// From derivatives of local parabolas.
    LocalPolynomial,
}

/// Settings for learning from measured states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StateSettings {
    /// How f is learned from the states.
    pub method: Method,
    /// Standard deviation of the measurement noise of the states, in units of `scale`.
    pub noise: f64,
    /// A scale for each state, for instance its typical variation; empty for the state's own unit.
    pub scale: Vec<f64>,
    /// Whether the sensor returns angles modulo 2π. They must then turn by less than π between two measurements.
    pub wrapped: bool,
    /// Number of alternations between trajectory estimation and model training after each episode.
    pub rounds: usize,
    /// Spacing of `equidistant` measurements: 0 equal in time, 1 equal in the distance that the plan covers in state and control,
    /// values between interpolate.
    pub motion: f64,
    /// States that are not measured but are velocities of measured states: pairs of the index of the velocity and that of its position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub velocities: Vec<[usize; 2]>,
}

impl Default for StateSettings {
    fn default() -> Self {
        StateSettings {
            method: Method::default(),
            noise: 1e-3,
            scale: Vec::new(),
            wrapped: false,
            rounds: 2,
            motion: 0.7,
            velocities: Vec::new(),
        }
    }
}

impl StateSettings {
    /// Standard deviation of the noise of each of `count` states, in the state's own unit; infinite for a state that is not measured.
    pub fn noise_std(&self, count: usize) -> Vec<f64> {
        let noise = |j: usize| self.noise * self.scale.get(j).copied().unwrap_or(1.0);
        (0..count).map(|j| if self.is_measured(j) { noise(j) } else { f64::INFINITY }).collect()
    }

    /// Whether a state is measured.
    pub fn is_measured(&self, state: usize) -> bool {
        self.velocities.iter().all(|[velocity, _]| *velocity != state)
    }
}

/// Estimates derivatives at the measured times of a run, each with the standard deviation of the estimate as its noise. Times
/// without a finite estimate are left out.
pub fn derivatives(
    record: &Record,
    noise_std: &[f64],
    method: Method,
    dims: Dims,
) -> Result<Measurements, MeasurementError> {
    let (n, mut data) = (record.times.len(), Measurements::new(dims));
    let mut states = record.states.clone();
    let (mut slopes, mut stds) = (vec![vec![0.0; dims.state]; n], vec![vec![0.0; dims.state]; n]);
    for j in 0..dims.state {
        let y: Vec<f64> = record.states.iter().map(|x| x[j]).collect();
        let noise: Vec<f64> = (0..n).map(|i| if i == 0 { 0.0 } else { noise_std[j] }).collect();
        let smoother = (method != Method::LocalPolynomial).then(|| Smoother::fit(&record.times, &y, &noise));
        for i in 1..n {
            let estimate = match smoother.as_ref().map(Option::as_ref) {
                Some(Some(smoother)) => {
                    let at = smoother.at(record.times[i]);
                    states.at_mut(i)[j] = at.value;
                    Some((at.derivative, at.derivative_std))
                }
                _ => local_derivative(&record.times, &y, &noise, record.times[i]),
            };
            (slopes[i][j], stds[i][j]) = estimate.unwrap_or((0.0, f64::INFINITY));
        }
    }
    let mut control = vec![0.0; dims.control];
    for i in 1..n {
        if stds[i].iter().all(|s| s.is_finite()) {
            record.controls.at(record.times[i], &mut control);
            data.push(record.times[i], states.at(i), &control, &slopes[i], &stds[i])?;
        }
    }
    Ok(data)
}
