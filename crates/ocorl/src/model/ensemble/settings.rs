//! Settings of a deep ensemble.

use crate::model::ModelError;
use serde::{Deserialize, Serialize};

/// Architecture and training settings of an ensemble of networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleSettings {
    /// P: number of networks whose mean and spread are μ and σ. The cost of training and evaluation is proportional to it. The
    /// paper's authors' program uses 5.
    pub members: usize,
    /// Number of units of each hidden layer.
    pub hidden: usize,
    /// Number of hidden layers.
    pub layers: usize,
    /// Number of Adam steps for each member; half as many follow if rows were held out.
    pub steps: usize,
    /// Number of rows in each step; all rows if there are fewer.
    pub batch: usize,
    /// Initial step size of Adam; it decreases to a hundredth.
    pub rate: f64,
    /// κ: the standard deviation of the fixed random prior functions, in units of the outputs' standard deviation. They set the
    /// spread of the members away from the data.
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
    /// Rejects invalid values, and sizes that would need excessive time or memory.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
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
