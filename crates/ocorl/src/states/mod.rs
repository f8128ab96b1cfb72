//! Learning from measured states alone: most rigs measure x, not ẋ.
//!
//! | method | what the model is conditioned on |
//! |---|---|
//! | `increments` | averages of f along the way between two measured states, (x(t′) − x(t))/(t′ − t) = ⟨f⟩ + ε: exact but for the way itself |
//! | `smoothing` | derivatives of a Gaussian process in time through the states of a run, with its own standard deviation as noise |
//! | `local-polynomial` | derivatives of a parabola through the five nearest states, with its standard deviation as noise |
//!
//! x(0) is known, and so are the controls, which are our own; between two measurements the state is not.
//!
//! | file | holds |
//! |---|---|
//! | `record` | what one run told |
//! | `smoothing`, `local_polynomial` | derivatives from states |
//! | `quadrature` | Gauss's rule, with integrals up to each node |
//! | `path` | the way between measured states: smooth in time at first, then as the model would go |
//! | `increments` | averages along the way; way and model in turn |

mod dense;
mod increments;
mod local_polynomial;
mod path;
mod quadrature;
mod record;
mod smoothing;

pub use increments::Memory;
pub use local_polynomial::local_derivative;
pub use path::Path;
pub use record::{Controls, Record};
pub use smoothing::{Smoothed, Smoother};

use crate::linalg::Dims;
use crate::measurements::{MeasurementError, Measurements};
use serde::{Deserialize, Serialize};

/// How f is learned from states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// From averages along the way.
    #[default]
    Increments,
    /// From derivatives of a Gaussian process in time.
    Smoothing,
    /// From derivatives of local parabolas.
    LocalPolynomial,
}

/// What is known of measured states, and what is made of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StateSettings {
    /// How f is learned from them.
    pub method: Method,
    /// Standard deviation of their noise, in units of `scale`.
    pub noise: f64,
    /// A unit for each state, for instance how much it varies; empty: the state's own unit.
    pub scale: Vec<f64>,
    /// Whether angles come without whole turns; then they must turn by less than half a turn between two measurements.
    pub wrapped: bool,
    /// How often the way between states and the model are found in turn, after each episode.
    pub rounds: usize,
    /// When to measure with `equidistant`: 0 by the clock, 1 by how far the plan moves in state and control, or something of both.
    pub motion: f64,
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
        }
    }
}

impl StateSettings {
    /// Standard deviation of the noise of each of `count` states, in its unit.
    pub fn noise_std(&self, count: usize) -> Vec<f64> {
        (0..count).map(|j| self.noise * self.scale.get(j).copied().unwrap_or(1.0)).collect()
    }
}

/// Derivatives at the measured times of a run, each with the standard deviation of its estimate as noise.
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
