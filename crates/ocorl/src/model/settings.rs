//! What a Gaussian process is to be.

use super::ModelError;
use super::confidence::Confidence;
use super::kernels::{Kernel, Rbf, Reference, Scale};
use super::mean::Mean;
use super::training::TrainingSettings;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the noise of measurements is taken to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// As stated with each measurement.
    Stated,
    /// As stated, times a factor for each output that is learned.
    Learned,
    /// As the paper's authors' program has it: the stated standard deviation, in units of the output's spread, where its square belongs.
    Reference,
}

/// Whether outputs have kernel parameters of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengthscales {
    /// Each output its own.
    PerOutput,
    /// All the same: fewer numbers to learn from few data.
    Shared,
}

/// What the model is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The covariance function of standardised coordinates.
    pub kernel: Arc<dyn Kernel>,
    /// What is believed before any data.
    pub mean: Mean,
    /// What the noise is.
    pub noise: Noise,
    /// Whether outputs share kernel parameters.
    pub lengthscales: Lengthscales,
    /// How hyper-parameters are found.
    pub training: TrainingSettings,
    /// How β is chosen.
    pub confidence: Confidence,
    /// With more distinct inputs than this, inducing points take over: time grows with n³, memory with n².
    pub exact_limit: usize,
    /// How many inducing points then.
    pub inducing_points: usize,
    /// Added to standard deviations when data are standardised: zero, except in the reference.
    pub scale_offset: f64,
    /// Random features of a function sample.
    pub features: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            kernel: Arc::new(Scale(Box::new(Rbf))),
            mean: Mean::Zero,
            noise: Noise::Stated,
            lengthscales: Lengthscales::PerOutput,
            training: TrainingSettings::default(),
            confidence: Confidence::default(),
            exact_limit: 2000,
            inducing_points: 1000,
            scale_offset: 0.0,
            features: 1024,
        }
    }
}

impl Settings {
    /// The model of the paper's authors' program: no ½ in the kernel, unit signal variance, the noise's standard deviation on the
    /// diagonal, no priors.
    pub fn reference() -> Self {
        Settings {
            kernel: Arc::new(Reference),
            noise: Noise::Reference,
            scale_offset: 1e-6,
            training: TrainingSettings { priors: false, ..TrainingSettings::default() },
            ..Settings::default()
        }
    }

    pub(super) fn validate(&self) -> Result<(), ModelError> {
        let need = "it must be at least 1";
        for (what, value) in [
            ("exact_limit", self.exact_limit),
            ("inducing_points", self.inducing_points),
            ("features", self.features),
            ("training.max_evaluations", self.training.max_evaluations),
            ("training.first_part", self.training.first_part),
        ] {
            if value == 0 {
                return Err(ModelError::Setting { what, value: value.to_string(), need });
            }
        }
        let need = "it must be zero or positive, and finite";
        for (what, value) in [
            ("scale_offset", self.scale_offset),
            ("training.gradient_tolerance", self.training.gradient_tolerance),
            ("training.gain_tolerance", self.training.gain_tolerance),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ModelError::Setting { what, value: value.to_string(), need });
            }
        }
        self.confidence.validate()
    }
}

/// Hyper-parameters of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// Logarithms of the kernel's parameters.
    pub kernel: Vec<f64>,
    /// Logarithm of the factor on stated noise variances.
    pub noise: f64,
}
