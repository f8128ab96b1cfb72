//! What an ensemble is to be.

use crate::model::ModelError;
use serde::{Deserialize, Serialize};

/// What an ensemble of networks is, and how much it may cost to train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleSettings {
    /// P: networks whose mean and spread are μ and σ; training and evaluation cost in proportion to it. The authors' program has 5.
    pub members: usize,
    /// Units of each hidden layer.
    pub hidden: usize,
    /// Hidden layers.
    pub layers: usize,
    /// Steps of Adam for each member; half as many again follow when rows were held out.
    pub steps: usize,
    /// Rows of each step; all, if there are no more.
    pub batch: usize,
    /// Step size of Adam at the beginning; it falls to a hundredth.
    pub rate: f64,
    /// κ: the spread of the fixed random functions that members differ by away from the data, in units of the outputs' spread.
    pub prior: f64,
    /// The share of the rows that is held out to recalibrate σ.
    pub held_out: f64,
}

impl Default for EnsembleSettings {
    fn default() -> Self {
        EnsembleSettings {
            members: 6,
            hidden: 32,
            layers: 2,
            steps: 1500,
            batch: 128,
            rate: 0.01,
            prior: 1.0,
            held_out: 0.2,
        }
    }
}

impl EnsembleSettings {
    /// Refuses what makes no sense, and counts that time or memory could not bear.
    pub(super) fn validate(&self) -> Result<(), ModelError> {
        for (what, value, range, need) in [
            ("ensemble.members", self.members, 2..=100, "it must be between 2 and 100"),
            ("ensemble.hidden", self.hidden, 1..=512, "it must be between 1 and 512"),
            ("ensemble.layers", self.layers, 1..=8, "it must be between 1 and 8"),
            ("ensemble.steps", self.steps, 1..=1_000_000, "it must be between 1 and 1000000"),
            ("ensemble.batch", self.batch, 1..=65_536, "it must be between 1 and 65536"),
        ] {
            if !range.contains(&value) {
                return Err(ModelError::Setting { what, value: value.to_string(), need });
            }
        }
        for (what, value, fine, need) in [
            (
                "ensemble.rate",
                self.rate,
                self.rate > 0.0 && self.rate <= 1.0,
                "it must be above 0 and at most 1",
            ),
            (
                "ensemble.prior",
                self.prior,
                self.prior >= 0.0 && self.prior <= 100.0,
                "it must be between 0 and 100",
            ),
            (
                "ensemble.held_out",
                self.held_out,
                (0.0..=0.5).contains(&self.held_out),
                "it must be between 0 (never recalibrate) and 0.5",
            ),
        ] {
            if !fine {
                return Err(ModelError::Setting { what, value: value.to_string(), need });
            }
        }
        Ok(())
    }
}
