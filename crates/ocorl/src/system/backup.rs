//! Backup controller: a law that the user trusts, for the level `safe`.

use crate::linalg::small::dot;
use serde::{Deserialize, Serialize};

/// Backup controller u = u_b + K (x − x_b). With K = 0 it is a safe input.
///
/// The level [`Safe`](crate::track::FallbackLevel::Safe) applies it while the state is known, and the constant safe control otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// State x_b at which the control is u_b.
    pub state: Vec<f64>,
    /// Control u_b.
    pub control: Vec<f64>,
    /// Gains K, one row of length dₓ for each control.
    pub gains: Vec<Vec<f64>>,
}

impl Backup {
    /// Evaluates the law, without limits. Each sum is in the order of the states, bit by bit as in the exported C code.
    pub fn control(&self, state: &[f64], out: &mut [f64]) {
        for ((u, own), row) in out.iter_mut().zip(&self.control).zip(&self.gains) {
            *u = own + dot(row, state) - dot(row, &self.state);
        }
    }

    /// Returns what is wrong with the law for a system of `states` states and `controls` controls; `None` if it is sound.
    pub fn error(&self, states: usize, controls: usize) -> Option<String> {
        let rows = self.gains.len() == controls && self.gains.iter().all(|row| row.len() == states);
        if self.state.len() != states || self.control.len() != controls || !rows {
            return Some(format!(
                "the backup controller needs {states} states, {controls} controls and a gain for each pair"
            ));
        }
        let mut numbers = self.state.iter().chain(&self.control).chain(self.gains.iter().flatten());
        numbers.any(|v| !v.is_finite()).then(|| "a number of the backup controller is not finite".into())
    }
}
