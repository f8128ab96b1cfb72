//! Statistical models of the unknown vector field f, learned from noisy measurements of ẋ = f(x, u).
//!
//! A model maps points z = (x, u) to a posterior mean μ(z) and a posterior standard deviation σ(z) for each component of f, and
//! supplies the factor β with which |f − μ| ≤ β σ holds at the chosen confidence.
//!
//! | paper | code | shape |
//! |---|---|---|
//! | μₙ(z), σₙ(z) | [`Posterior::mean`], [`Posterior::std`] | dₓ at each point, with Jacobians dₓ × (dₓ + dᵤ) |
//! | βₙ(δ) | [`StatisticalModel::confidence_scale`] | dₓ |
//! | kₙ(z, z′) | [`StatisticalModel::covariance`] | one P × P matrix for each output, P points |
//! | kₙ(·, z′) | [`StatisticalModel::covariance_columns`] | one column of such a matrix at a time, P entries |
//! | f ~ GP(μₙ, kₙ) | [`StatisticalModel::sample`] | one sampled function, as [`Dynamics`] |
//! | D₁:ₙ | [`Measurements`] | n rows (z, ẏ, noise) |
//!
//! [`GaussianProcess`] is the paper's model. Its outputs are independent; it standardises inputs and outputs internally and embeds
//! angles as (sin, cos), so its interface uses physical units only. [`Ensemble`] is an ensemble of neural networks, for data sets
//! that are too large for a Gaussian process. Other models implement [`StatisticalModel`];
//! [`check::statistical_model`](crate::check::statistical_model) tests such an implementation.
//!
//! σ is the epistemic uncertainty of f; measurement noise is not included in it.
//!
//! Deliberately left out: planning, trajectories and time. Models know points z and derivatives only. Correlations between the
//! outputs of f are not modelled.

mod at_interval;
mod checkpoint;
mod compressed;
mod conditioning;
pub mod confidence;
mod covariance_columns;
mod draw;
mod ensemble;
mod evidence;
mod features;
mod forgetting;
mod gaussian_process;
mod inputs;
pub mod kernels;
mod kinematics;
mod likelihood;
mod mean;
mod minimize;
mod noise;
mod notes;
mod parametric;
mod pivoted;
mod posterior;
mod settings;
mod space;
mod state;
mod targets;
mod training;
mod weight_space;

pub use at_interval::AtInterval;
pub use checkpoint::Checkpoint;
pub use confidence::{CalibrationPoint, Confidence, HeldOutPrediction, calibration_curve};
pub use covariance_columns::CovarianceColumns;
pub use ensemble::{Ensemble, EnsembleSettings};
pub use features::Feature;
pub use gaussian_process::GaussianProcess;
pub use mean::{Mean, Physics};
pub use notes::{Coordinate, Note};
pub use parametric::Parametric;
pub use settings::{Hyperparameters, Lengthscales, Noise, Settings};
pub use space::Part;
pub use training::{Fit, Status, TrainingReport, TrainingSettings};
pub use weight_space::{WeightScratch, WeightSpace};

pub use crate::linalg::Pool;
use crate::linalg::{Blocks, Dims, Linearization, Points};
use crate::measurements::{MeasurementError, Measurements};
use crate::random::{Rng, Stream};
use crate::system::Dynamics;

/// The parts of the posterior that a caller requests. With n measurements a mean costs O(n) per point, because it does not need the
/// Cholesky factor; a standard deviation costs O(n²) per point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// The mean μ.
    Mean,
    /// The mean μ and its Jacobian ∂μ/∂z.
    MeanJacobian,
    /// The mean μ and the standard deviation σ.
    MeanStd,
    /// The mean μ, the standard deviation σ, and the Jacobians of both.
    All,
}

impl Query {
    /// True if the request includes the standard deviation σ.
    pub fn std(self) -> bool {
        matches!(self, Query::MeanStd | Query::All)
    }

    /// True if the request includes Jacobians.
    pub fn jacobian(self) -> bool {
        matches!(self, Query::MeanJacobian | Query::All)
    }
}

/// Posterior mean and standard deviation at a batch of points, in physical units. Parts that the [`Query`] does not request are
/// left empty. Reuse one value for many calls: after the first call of a given size no memory is allocated.
#[derive(Clone, Debug, Default)]
pub struct Posterior {
    /// The means μ(zᵢ) and their Jacobians.
    pub mean: Linearization,
    /// The standard deviations σ(zᵢ) and their Jacobians.
    pub std: Linearization,
    /// Scratch memory of the model that computes the posterior.
    pub scratch: Pool,
}

impl Posterior {
    /// Sets the sizes of all parts that `query` requests to `count` points.
    pub fn resize(&mut self, dims: Dims, count: usize, query: Query) {
        let (outputs, inputs) = (dims.state, dims.point());
        let with = |wanted: bool| if wanted { count } else { 0 };
        self.mean.value.resize(outputs, count);
        self.mean.jacobian.resize(outputs * inputs, with(query.jacobian()));
        self.std.value.resize(outputs, with(query.std()));
        self.std.jacobian.resize(outputs * inputs, with(query == Query::All));
    }
}

/// The reasons why a model cannot be built, updated or trained. After an error the model is in the state it had before the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The measurements are invalid.
    #[error(transparent)]
    Measurement(#[from] MeasurementError),
    /// A setting has an invalid value.
    #[error("invalid model setting: {what} is {value}; {need}")]
    Setting {
        /// The name of the setting.
        what: &'static str,
        /// The invalid value.
        value: String,
        /// The condition that a valid value satisfies.
        need: &'static str,
    },
    /// Training was requested before any measurement was added.
    #[error("the model has no measurements; add measurements before training")]
    NoData,
    /// The prior mean is not finite at a measured point.
    #[error(
        "the prior mean of output {output} is {value} at measurement {index}; the prior physics are not defined there"
    )]
    PriorMean {
        /// Index of the measurement, from 0.
        index: usize,
        /// Index of the output.
        output: usize,
        /// Value of the prior mean at that measurement.
        value: f64,
    },
    /// The Cholesky factorisation of the covariance matrix failed with every jitter that was tried.
    #[error(
        "the covariance matrix of output {output} cannot be factorised (n = {points}, jitter tried up to {jitter:e})\n  \
         cause   inputs {first} and {second} are {distance:.1e} apart (standardised) and the noise there is {noise:.1e} of the \
         spread of the output; the matrix has a condition number of up to {condition:.0e}\n  \
         help    state a larger noise for these measurements, or leave one of the two out"
    )]
    NotPositiveDefinite {
        /// Index of the output.
        output: usize,
        /// Number of distinct inputs.
        points: usize,
        /// The largest jitter that was tried, relative to the mean diagonal.
        jitter: f64,
        /// The smaller index of the two closest measurements.
        first: usize,
        /// The larger index of the two closest measurements.
        second: usize,
        /// The distance of the two closest inputs in standardised coordinates.
        distance: f64,
        /// The smaller noise standard deviation of the two measurements, in units of the output's standard deviation.
        noise: f64,
        /// An upper bound on the condition number of the covariance matrix.
        condition: f64,
    },
}

/// A statistical model, the triplet (μₙ, σₙ, βₙ) of the paper. Planning only reads it, and threads share it.
pub trait StatisticalModel: Send + Sync {
    /// The dimensions of the state x and the control u.
    fn dims(&self) -> Dims;

    /// Adds new measurements and conditions the model on them. Hyper-parameters keep their values.
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError>;

    /// Replaces all measurements by `all`, for example after the states have been re-estimated. Hyper-parameters keep their values.
    /// The default implementation returns an error; such a model can be used only with derivatives that never change.
    fn replace(&mut self, all: &Measurements) -> Result<(), ModelError> {
        let need = "this model cannot replace its data; use smoothing or local-polynomial";
        let value = format!("increments, {} of them", all.len());
        Err(ModelError::Setting { what: "method for measured states", value, need })
    }

    /// Learns the hyper-parameters from all measurements. Equal streams give equal models at any number of threads.
    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError>;

    /// Computes μ and σ at a batch of points.
    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior);

    /// Computes the posterior covariances between all pairs of points. Block j is the symmetric P × P matrix of output j,
    /// column-major.
    fn covariance(&self, z: Points<'_>, out: &mut Blocks);

    /// Gives the columns of the posterior covariance matrices on demand, for algorithms that need few columns of many points. The
    /// default implementation computes the whole matrices with [`covariance`](Self::covariance): P² numbers for each output.
    fn covariance_columns(&self, z: Points<'_>) -> Box<dyn CovarianceColumns + '_> {
        let mut matrices = Blocks::default();
        self.covariance(z, &mut matrices);
        Box::new(covariance_columns::DenseColumns::new(matrices, self.dims().state, z.len()))
    }

    /// The confidence scale βₙ of each output: |f − μ| ≤ β σ holds at the confidence level of the settings.
    fn confidence_scale(&self) -> &[f64];

    /// Samples one function from the posterior. The function returns the same value whenever it is evaluated at the same point.
    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics>;

    /// The posterior as a linear model with uncertain weights of finitely many features; `None` if the kernel needs infinitely
    /// many.
    fn weight_space(&self) -> Option<WeightSpace> {
        None
    }

    /// The information gain I(y; f) of all data under the present hyper-parameters, for each output, in nats; empty if the model
    /// does not define it.
    fn information_gain(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The prior of this model: the same hyper-parameters without data. `None` if the model does not define it.
    fn prior(&self) -> Option<Box<dyn StatisticalModel>> {
        None
    }

    /// The learned parameters that, together with the data, suffice to restore this model. Valid directly after training; `None` if
    /// the model cannot be restored.
    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }

    /// Restores the model bit for bit from all its data and a checkpoint.
    fn restore(&mut self, _data: &Measurements, _checkpoint: &Checkpoint) -> Result<(), ModelError> {
        let need = "this model does not support checkpoints";
        Err(ModelError::Setting { what: "checkpoint", value: "present".into(), need })
    }

    /// A copy of the model whose predictions (posterior and samples) cost less, for planning and control. Their errors are far below σ;
    /// everything else is as in this model, and an update makes the copy exact again. `None` if there is no such copy.
    fn compressed(&self) -> Option<Box<dyn StatisticalModel>> {
        None
    }

    /// Copies the model, so that the copy can be updated while other threads still plan with this one.
    fn fork(&self) -> Box<dyn StatisticalModel>;

    /// Remarks for the user about the data and the numerics, for example constant inputs or added jitter.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }

    /// This model as a Gaussian process, whose evidence compares hypotheses about the data; `None` if it is another model.
    fn as_gaussian_process(&self) -> Option<&GaussianProcess> {
        None
    }
}
