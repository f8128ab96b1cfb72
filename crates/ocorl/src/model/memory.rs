//! A model made again from what was written down of it.

use super::ModelError;
use super::gaussian_process::GaussianProcess;
use super::settings::Hyperparameters;
use crate::measurements::Measurements;
use crate::random::Stream;
use serde::{Deserialize, Serialize};

/// What a trained model knows beside its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Of each output.
    pub hyperparameters: Vec<Hyperparameters>,
    /// What all updates told, each under the hyper-parameters of its time.
    pub accumulated_gain: Vec<f64>,
    /// βₙ of each output.
    pub confidence_scale: Vec<f64>,
    /// Of an ensemble: the random stream of its last training, which with the data gives its networks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<Stream>,
}

impl GaussianProcess {
    /// None before the first training, or if some data count less than others.
    pub(super) fn remember(&self) -> Option<Memory> {
        let plain = self.forgotten.iter().all(|f| *f == 1.0);
        (self.trained && plain).then(|| Memory {
            hyperparameters: self.hyper(),
            accumulated_gain: self.accumulated_gain.clone(),
            confidence_scale: self.confidence_scale.clone(),
            ensemble: None,
        })
    }

    /// As training leaves it: standardised and conditioned anew on all data.
    pub(super) fn make_again(&mut self, data: &Measurements, memory: &Memory) -> Result<(), ModelError> {
        let outputs = self.data.dims().state;
        let count = self.settings.kernel.parameters(self.state.space.dim()).len();
        let right = data.dims() == self.data.dims()
            && memory.hyperparameters.len() == outputs
            && memory.accumulated_gain.len() == outputs
            && memory.confidence_scale.len() == outputs
            && memory.hyperparameters.iter().all(|h| h.kernel.len() == count && h.noise.is_finite())
            && memory.hyperparameters.iter().flat_map(|h| &h.kernel).all(|p| p.is_finite());
        if !right {
            let need = "it must be of a model with the same kernel and dimensions";
            return Err(ModelError::Setting { what: "memory", value: "another model's".into(), need });
        }
        let forgotten = vec![1.0; data.len()];
        let state = self.standardized(data)?;
        self.state = self.condition(data, &forgotten, state, &memory.hyperparameters)?;
        (self.data, self.forgotten, self.trained) = (data.clone(), forgotten, true);
        self.accumulated_gain.clone_from(&memory.accumulated_gain);
        self.confidence_scale.clone_from(&memory.confidence_scale);
        Ok(())
    }
}
