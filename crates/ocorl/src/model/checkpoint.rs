//! Checkpoints: the learned parameters that, together with the data, restore a model bit for bit.

use super::ModelError;
use super::gaussian_process::GaussianProcess;
use super::settings::Hyperparameters;
use crate::measurements::Measurements;
use crate::random::Stream;
use serde::{Deserialize, Serialize};

/// The parameters of a trained model that cannot be computed from its data alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Hyper-parameters of each output.
    pub hyperparameters: Vec<Hyperparameters>,
    /// Accumulated information gain of all updates for each output, each computed with the hyper-parameters in force at that
    /// update.
    pub accumulated_gain: Vec<f64>,
    /// Confidence scale βₙ of each output.
    pub confidence_scale: Vec<f64>,
    /// For an ensemble: the random stream of its last training, which together with the data determines its networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<Stream>,
}

impl GaussianProcess {
    /// The checkpoint of this model; `None` before the first training, or if some measurements are down-weighted.
    pub(super) fn trained_parameters(&self) -> Option<Checkpoint> {
        let unweighted = self.noise_inflation.iter().all(|f| *f == 1.0);
        (self.trained && unweighted).then(|| Checkpoint {
            hyperparameters: self.hyper(),
            accumulated_gain: self.accumulated_gain.clone(),
            confidence_scale: self.confidence_scale.clone(),
            ensemble: None,
        })
    }

    /// Restores the state after training: standardisation and conditioning are computed from all data, hyper-parameters are taken
    /// from the checkpoint.
    pub(super) fn restore(&mut self, data: &Measurements, checkpoint: &Checkpoint) -> Result<(), ModelError> {
        let outputs = self.data.dims().state;
        let count = self.settings.kernel.parameters(self.state.space.dim()).len();
        let right = data.dims() == self.data.dims()
            && checkpoint.hyperparameters.len() == outputs
            && checkpoint.accumulated_gain.len() == outputs
            && checkpoint.confidence_scale.len() == outputs
            && checkpoint.hyperparameters.iter().all(|h| h.kernel.len() == count && h.noise.is_finite())
            && checkpoint.hyperparameters.iter().flat_map(|h| &h.kernel).all(|p| p.is_finite());
        if !right {
            let need = "it must come from a model with the same kernel and dimensions";
            return Err(ModelError::Setting { what: "checkpoint", value: "from another model".into(), need });
        }
        let noise_inflation = vec![1.0; data.len()];
        let state = self.state.standardized(&self.settings, data)?;
        self.state =
            state.conditioned(&self.settings, data, &noise_inflation, &checkpoint.hyperparameters)?;
        (self.data, self.noise_inflation, self.trained) = (data.clone(), noise_inflation, true);
        self.accumulated_gain.clone_from(&checkpoint.accumulated_gain);
        self.confidence_scale.clone_from(&checkpoint.confidence_scale);
        Ok(())
    }
}
