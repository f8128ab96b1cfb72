//! Prices of episodes and measurements, and the total budget, in the unit of the task's cost.

use serde::{Deserialize, Serialize};

/// Prices of experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Price of one measurement.
    pub measurement: f64,
    /// Price of one episode without its measurements.
    pub episode: f64,
    /// Total budget; `None` means unlimited.
    pub budget: Option<f64>,
}

impl Prices {
    /// Total price of the given numbers of episodes and measurements.
    pub fn of(&self, episodes: usize, measurements: usize) -> f64 {
        self.episode * episodes as f64 + self.measurement * measurements as f64
    }

    /// Description of an invalid price; `None` if all are valid.
    pub fn error(&self) -> Option<String> {
        let each = [
            ("measurement", Some(self.measurement)),
            ("episode", Some(self.episode)),
            ("budget", self.budget),
        ];
        let wrong =
            each.into_iter().find(|(_, price)| price.is_some_and(|p| !(p >= 0.0 && p.is_finite())))?;
        Some(format!(
            "the price '{}' is {}; it must be zero or positive, and finite",
            wrong.0,
            wrong.1.unwrap_or(0.0)
        ))
    }
}
