//! What measuring costs, and what there is to spend. Prices are in the unit of the task's cost.

use serde::{Deserialize, Serialize};

/// What measuring costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Of one measurement.
    pub measurement: f64,
    /// Of one episode, beside its measurements.
    pub episode: f64,
    /// What may be spent in all; none: no end.
    pub budget: Option<f64>,
}

impl Prices {
    /// What so much costs.
    pub fn of(&self, episodes: usize, measurements: usize) -> f64 {
        self.episode * episodes as f64 + self.measurement * measurements as f64
    }

    /// What is wrong with them, if something is.
    pub fn mistake(&self) -> Option<String> {
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
