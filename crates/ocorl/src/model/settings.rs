//! Settings and hyper-parameters of a Gaussian process.

use super::ModelError;
use super::confidence::Confidence;
use super::kernels::{Kernel, Rbf, Reference, Scale};
use super::mean::Mean;
use super::training::TrainingSettings;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the model obtains the variance of the measurement noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Noise {
    /// The noise is the one stated with each measurement.
    Stated,
    /// The stated variances are multiplied by a factor that is learned for each output.
    Learned,
    /// The convention of the paper's authors' program: the stated standard deviation, in units of the output's standard deviation,
    /// is used in place of the variance.
    Reference,
}

/// Whether outputs have separate kernel parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lengthscales {
    /// Each output has its own kernel parameters.
    PerOutput,
    /// All outputs share one set of kernel parameters, which leaves fewer numbers to learn from few data.
    Shared,
}

/// Settings of a Gaussian process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The covariance function of the standardised coordinates.
    pub kernel: Arc<dyn Kernel>,
    /// The prior mean of f.
    pub mean: Mean,
    /// How the noise variance is obtained.
    pub noise: Noise,
    /// Whether outputs share kernel parameters.
    pub lengthscales: Lengthscales,
    /// Settings of the hyper-parameter search.
    pub training: TrainingSettings,
    /// How the confidence scale β is chosen.
    pub confidence: Confidence,
    /// Number of distinct inputs above which the exact model is replaced by an inducing-point approximation. The exact model takes
    /// O(n³) time and O(n²) memory.
    pub exact_limit: usize,
    /// Number of inducing points of that approximation.
    pub inducing_points: usize,
    /// A constant added to standard deviations when data are standardised: zero, except in the reference settings.
    pub scale_offset: f64,
    /// Number of random features of a sampled function.
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
    /// The model of the paper's authors' program: no factor ½ in the squared-exponential kernel, unit signal variance, the standard
    /// deviation of the noise on the diagonal, no priors on the hyper-parameters.
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
    /// Natural logarithms of the kernel's parameters.
    pub kernel: Vec<f64>,
    /// Natural logarithm of the factor on the stated noise variances.
    pub noise: f64,
}
