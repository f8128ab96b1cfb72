//! What is known of f: a statistical model of the vector field, learned from measured derivatives.
//!
//! | paper | code | shape |
//! |---|---|---|
//! | μₙ(z), σₙ(z) | [`Posterior::mean`], [`Posterior::std`] | dₓ at each point, with Jacobians dₓ × (dₓ + dᵤ) |
//! | βₙ(δ) | [`StatisticalModel::confidence_scale`] | dₓ |
//! | kₙ(z, z′) | [`StatisticalModel::covariance`] | one matrix for each output |
//! | kₙ(·, z′) | [`StatisticalModel::joint`] | the same, a column at a time |
//! | f ~ GP(μₙ, kₙ) | [`StatisticalModel::sample`] | one consistent function, as [`Dynamics`] |
//! | D₁:ₙ | [`Measurements`] | |
//!
//! [`GaussianProcess`] is the paper's model: outputs are independent, inputs and outputs are standardised inside, angles enter as
//! sine and cosine; whoever calls it sees physical units only. [`Ensemble`] is an ensemble of networks, for more rows than a Gaussian
//! process takes. Any other model enters by [`StatisticalModel`] and is checked by
//! [`check::statistical_model`](crate::check::statistical_model). Nothing here knows that anyone plans.
//!
//! σ is what is not known of f (epistemic); the noise of measurements is not in it.

mod at_interval;
mod conditioning;
pub mod confidence;
mod draw;
mod ensemble;
mod features;
mod forgetting;
mod gaussian_process;
mod inputs;
mod joint;
pub mod kernels;
mod likelihood;
mod mean;
mod memory;
mod minimize;
mod noise;
mod notes;
mod pool;
mod posterior;
mod settings;
mod space;
mod targets;
mod training;
mod weight_space;

pub use at_interval::AtInterval;
pub use confidence::{CalibrationPoint, Confidence, Judged, calibration_curve};
pub use ensemble::{Ensemble, EnsembleSettings};
pub use features::Feature;
pub use gaussian_process::GaussianProcess;
pub use joint::Joint;
pub use mean::{Mean, Physics};
pub use memory::Memory;
pub use notes::{Coordinate, Note};
pub use pool::Pool;
pub use settings::{Hyperparameters, Lengthscales, Noise, Settings};
pub use space::Part;
pub use training::{Fit, Status, TrainingReport, TrainingSettings};
pub use weight_space::{WeightScratch, WeightSpace};

use crate::linalg::{Blocks, Dims, Linearization, Points};
use crate::measurements::{MeasurementError, Measurements};
use crate::random::{Rng, Stream};
use crate::system::Dynamics;

/// How much of the posterior to compute. A mean never touches the factor, so it costs O(n) a point; a standard deviation costs
/// O(n²).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// μ
    Mean,
    /// μ and ∂μ/∂z
    MeanJacobian,
    /// μ and σ
    MeanStd,
    /// μ, σ and both Jacobians
    All,
}

impl Query {
    /// Whether σ is wanted.
    pub fn std(self) -> bool {
        matches!(self, Query::MeanStd | Query::All)
    }

    /// Whether Jacobians are wanted.
    pub fn jacobian(self) -> bool {
        matches!(self, Query::MeanJacobian | Query::All)
    }
}

/// μ and σ at a batch of points, in physical units. What a [`Query`] leaves out is left empty. Reuse it: after the first call of a
/// size nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct Posterior {
    /// μ(zᵢ) and its gradients.
    pub mean: Linearization,
    /// σ(zᵢ) and its gradients.
    pub std: Linearization,
    /// Memory of whoever computes.
    pub scratch: Pool,
}

impl Posterior {
    /// Makes room for `count` points.
    pub fn resize(&mut self, dims: Dims, count: usize, query: Query) {
        let (outputs, inputs) = (dims.state, dims.point());
        let with = |wanted: bool| if wanted { count } else { 0 };
        self.mean.value.resize(outputs, count);
        self.mean.jacobian.resize(outputs * inputs, with(query.jacobian()));
        self.std.value.resize(outputs, with(query.std()));
        self.std.jacobian.resize(outputs * inputs, with(query == Query::All));
    }
}

/// Why a model cannot be built, updated or trained. The model is as it was before the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Data that cannot be used.
    #[error(transparent)]
    Measurement(#[from] MeasurementError),
    /// A setting that makes no sense.
    #[error("the model's {what} is {value}; {need}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        need: &'static str,
    },
    /// There is nothing to train on.
    #[error("the model has no measurements yet; tell it some before training")]
    NoData,
    /// The prior mean is not finite where something was measured.
    #[error(
        "the prior mean of output {output} is {value} at measurement {index}; the physics given as prior do not hold there"
    )]
    PriorMean {
        /// Number of the measurement, from 0.
        index: usize,
        /// Which output.
        output: usize,
        /// The mean there.
        value: f64,
    },
    /// The covariance matrix has no Cholesky factor, whatever was tried.
    #[error(
        "the covariance matrix of output {output} cannot be factorised (n = {points}, jitter tried up to {jitter:e})\n  \
         cause   inputs {first} and {second} are {distance:.1e} apart (standardised) and the noise there is {noise:.1e} of the \
         spread of the output; the matrix has a condition number of up to {condition:.0e}\n  \
         help    state a larger noise for these measurements, or leave one of the two out"
    )]
    NotPositiveDefinite {
        /// Which output.
        output: usize,
        /// Distinct inputs.
        points: usize,
        /// The largest jitter tried, relative to the diagonal.
        jitter: f64,
        /// Of the two closest inputs: number of the first.
        first: usize,
        /// Number of the second.
        second: usize,
        /// Their distance, in lengthscales.
        distance: f64,
        /// The smaller standard deviation of noise at the two, in units of the output's spread.
        noise: f64,
        /// What the ratio of the matrix's largest to its smallest eigenvalue may be.
        condition: f64,
    },
}

/// The triplet (μₙ, σₙ, βₙ): immutable while planning, shared between threads.
pub trait StatisticalModel: Send + Sync {
    /// Dimensions of x and u.
    fn dims(&self) -> Dims;

    /// Takes in new measurements; what was learned about the model's own parameters stays as it is.
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError>;

    /// Takes these measurements instead of all it has: the same ones, seen anew. The model's own parameters stay as they are. A model that
    /// cannot refuses, and learns from derivatives only.
    fn replace(&mut self, all: &Measurements) -> Result<(), ModelError> {
        let need = "this model keeps what it has seen; use smoothing or local-polynomial";
        let value = format!("increments, {} of them", all.len());
        Err(ModelError::Setting { what: "method for measured states", value, need })
    }

    /// Learns the model's own parameters anew from all measurements. Equal streams give equal models, at any number of threads.
    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError>;

    /// μ and σ at a batch of points.
    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior);

    /// Posterior covariances between all pairs of points: block j is the matrix of output j, column-major, symmetric.
    fn covariance(&self, z: Points<'_>, out: &mut Blocks);

    /// The same covariances a column at a time, for whoever needs few columns of many points. Unless a model has something better, they
    /// come from [`covariance`](Self::covariance), with its memory: P² numbers for each output.
    fn joint(&self, z: Points<'_>) -> Box<dyn Joint + '_> {
        let mut matrices = Blocks::default();
        self.covariance(z, &mut matrices);
        Box::new(joint::Whole::new(matrices, self.dims().state, z.len()))
    }

    /// βₙ for each output: |f − μ| ≤ β σ is believed to hold.
    fn confidence_scale(&self) -> &[f64];

    /// One function drawn from the posterior: consistent, the same wherever and however often it is evaluated.
    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics>;

    /// The posterior as uncertain weights of finitely many features, if it is one.
    fn weight_space(&self) -> Option<WeightSpace> {
        None
    }

    /// I(y; f) of all data under the present parameters, for each output, in nats; empty if the model cannot tell.
    fn information_gain(&self) -> Vec<f64> {
        Vec::new()
    }

    /// What it would believe without its data: the same parameters, nothing measured. None if the model cannot tell.
    fn prior(&self) -> Option<Box<dyn StatisticalModel>> {
        None
    }

    /// What it has learned beside the data, if both together are enough to make it again; asked for right after training.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Makes it again, to the last bit: all data, and what was learned from them.
    fn recall(&mut self, _data: &Measurements, _memory: &Memory) -> Result<(), ModelError> {
        let need = "this model does not remember";
        Err(ModelError::Setting { what: "memory", value: "given".into(), need })
    }

    /// A copy that can learn on while others still plan with this one.
    fn fork(&self) -> Box<dyn StatisticalModel>;

    /// What a person should know about the data and the arithmetic.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}
