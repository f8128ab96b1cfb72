//! A Gaussian process model of a vector field: one independent process for each output, with an interface in physical units.
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | z = (x, u) | [`Points`] | input in physical units, dₓ + dᵤ coordinates |
//! | e(z) | [`Space`] | input of the kernel: angles as (sin, cos), standardised |
//! | ẏ | [`Measurements`] | measured derivative, dₓ outputs |
//! | m(z) | [`FittedMean`] | prior mean in physical units |
//! | (ẏ − m − shift)/s | [`Targets`](super::targets::Targets) | standardised residual that the kernel explains |
//!
//! This file holds the model and its interface; what follows from the data is in `state`, and conditioning, prediction, training and sampling
//! are in `conditioning`, `posterior`, `training` and `draw`. Correlations between outputs are not modelled.

use super::checkpoint::Checkpoint;
use super::confidence::{Confidence, HeldOutPrediction};
use super::covariance_columns::CovarianceColumns;
use super::draw::Draw;
use super::kernels::Parameter;
use super::likelihood::Likelihood;
use super::mean::FittedMean;
use super::notes::{Coordinate, Note};
use super::posterior::{CHUNK, Chunk};
use super::settings::{Hyperparameters, Lengthscales, Noise, Settings};
use super::space::{Scaling, Space};
use super::state::{Output, State};
use super::training::{self, Group, TrainingReport};
use super::weight_space::WeightSpace;
use super::{ModelError, Posterior, Query, StatisticalModel};
use crate::linalg::{Blocks, Dims, Points};
use crate::measurements::{MeasurementError, Measurements};
use crate::random::{Rng, Stream};
use crate::system::{Dynamics, Task};
use rayon::prelude::*;

/// A Gaussian process model of a vector field.
///
/// ```
/// use ocorl::linalg::{Dims, Points};
/// use ocorl::measurements::Measurements;
/// use ocorl::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
/// use ocorl::random::Stream;
///
/// let dims = Dims { state: 1, control: 1 };
/// let mut data = Measurements::new(dims);
/// for i in 0..30 {
///     let (x, u) = (0.1 * f64::from(i), (0.7 * f64::from(i)).sin());
///     data.push(0.1 * f64::from(i), &[x], &[u], &[u - x.sin()], &[0.01])?;
/// }
/// let mut model = GaussianProcess::new(dims, &[], Settings::default())?;
/// model.update(&data)?;
/// model.train(Stream::root(0))?;
/// let mut at = Posterior::default();
/// model.posterior(Points::single(&[1.5, 0.5]), Query::All, &mut at);
/// assert!((at.mean.value.at(0)[0] - (0.5 - 1.5_f64.sin())).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GaussianProcess {
    pub(super) settings: Settings,
    pub(super) data: Measurements,
    /// Factor by which the noise variance of each measurement is inflated to reduce its influence; 1 unless it was down-weighted.
    pub(super) noise_inflation: Vec<f64>,
    pub(super) state: State,
    pub(super) confidence_scale: Vec<f64>,
    pub(super) accumulated_gain: Vec<f64>,
    /// True after the first training of the hyper-parameters.
    pub(super) trained: bool,
}

/// Largest magnitude of a hyper-parameter, a logarithm. Products of a few larger ones overflow: the model would answer with an infinite
/// standard deviation.
const LARGEST_LOG: f64 = 100.0;

impl GaussianProcess {
    /// Creates a model without data. `angles` lists the coordinates of (x, u) that are angles.
    pub fn new(dims: Dims, angles: &[usize], settings: Settings) -> Result<Self, ModelError> {
        settings.validate()?;
        if let Some(&angle) = angles.iter().find(|&&a| a >= dims.point()) {
            let need = "an angle must be the index of a coordinate of (x, u)";
            return Err(ModelError::Setting { what: "angle", value: angle.to_string(), need });
        }
        if let Some(found) = settings.mean.physics_dims().filter(|found| *found != dims) {
            let need = "the physics must have the task's dimensions";
            return Err(ModelError::Setting { what: "prior mean", value: format!("{found:?}"), need });
        }
        let space = Space::new(dims, angles);
        let parameters = settings.kernel.parameters(space.dim());
        let hyper = Hyperparameters { kernel: parameters.iter().map(|p| p.starts[0]).collect(), noise: 0.0 };
        let data = Measurements::new(dims);
        let mean = FittedMean::fit(&settings.mean, &data);
        let state = State::new(space, Scaling::identity(dims.state), mean);
        let mut model = GaussianProcess {
            state: state.conditioned(&settings, &data, &[], &vec![hyper; dims.state])?,
            settings,
            data,
            noise_inflation: Vec::new(),
            confidence_scale: Vec::new(),
            accumulated_gain: vec![0.0; dims.state],
            trained: false,
        };
        model.refresh_confidence();
        Ok(model)
    }

    /// Creates a model without data with the dimensions and angles of a task.
    pub fn for_task(task: &Task, settings: Settings) -> Result<Self, ModelError> {
        GaussianProcess::new(task.dims(), &task.angles, settings)
    }

    /// The settings that the model was created with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Index and value of each parameter of the prior mean that was estimated at the last training.
    pub fn estimated_parameters(&self) -> &[(usize, f64)] {
        match &self.state.mean {
            FittedMean::Physics(physics) => physics.estimated(),
            FittedMean::Zero | FittedMean::Linear(_) => &[],
        }
    }

    /// All measurements that the model is conditioned on.
    pub fn data(&self) -> &Measurements {
        &self.data
    }

    /// Number of distinct inputs among the measurements; each average over nodes counts as one.
    pub fn distinct_inputs(&self) -> usize {
        self.state.inputs.len()
    }

    /// The parameters of the kernel, each with the input coordinate that it refers to.
    pub fn parameters(&self) -> Vec<(Parameter, Option<Coordinate>)> {
        let parameters = self.settings.kernel.parameters(self.state.space.dim());
        let with_coordinate = |p: Parameter| {
            let coordinate = p.coordinate.map(|e| self.coordinate(e));
            (p, coordinate)
        };
        parameters.into_iter().map(with_coordinate).collect()
    }

    fn coordinate(&self, embedded: usize) -> Coordinate {
        let (index, part) = self.state.space.origin(embedded);
        Coordinate { index, part }
    }

    /// Mean and standard deviation of each coordinate of the kernel in the data, in which its lengthscales are measured. An angle has two
    /// coordinates, its sine and cosine.
    pub fn input_scaling(&self) -> (&[f64], &[f64]) {
        let scaling = &self.state.space.scaling;
        (&scaling.shift, &scaling.scale)
    }

    /// Mean and standard deviation of each output in the data, less the prior mean, in which the signal variances are measured.
    pub fn output_scaling(&self) -> (&[f64], &[f64]) {
        (&self.state.scaling.shift, &self.state.scaling.scale)
    }

    /// The hyper-parameters of an output. Lengthscales are in units of the standard deviation of the data.
    pub fn hyperparameters(&self, output: usize) -> &Hyperparameters {
        &self.state.outputs[output].hyper
    }

    /// Sets the hyper-parameters, one set for each output, instead of learning them.
    pub fn set_hyperparameters(&mut self, hyper: &[Hyperparameters]) -> Result<(), ModelError> {
        let count = self.settings.kernel.parameters(self.state.space.dim()).len();
        let need =
            "one set for each output is required, with a logarithm between -100 and 100 for each parameter";
        let wrong = |value: String| ModelError::Setting { what: "hyperparameters", value, need };
        if hyper.len() != self.data.dims().state {
            return Err(wrong(format!("for {} outputs", hyper.len())));
        }
        if let Some(bad) = hyper.iter().find(|h| {
            h.kernel.len() != count || !h.kernel.iter().chain([&h.noise]).all(|v| v.abs() <= LARGEST_LOG)
        }) {
            return Err(wrong(format!("{bad:?}")));
        }
        let frame = self.state.frame();
        self.state = frame.conditioned(&self.settings, &self.data, &self.noise_inflation, hyper)?;
        self.refresh_confidence();
        Ok(())
    }

    /// The log marginal likelihood ln p(y) of an output's data in standardised units, and its gradient with respect to the kernel's
    /// log-parameters and, as the last entry, the logarithm of the noise factor. `None` if the covariance matrix cannot be
    /// factorised.
    pub fn log_likelihood(&self, output: usize) -> Option<(f64, Vec<f64>)> {
        let state = &self.state;
        let Output { hyper, targets, .. } = &state.outputs[output];
        let mut gradient = vec![0.0; hyper.kernel.len() + 1];
        let mut likelihood = Likelihood::new(&*self.settings.kernel, &state.inputs, targets);
        let value = likelihood.evaluate(&hyper.kernel, hyper.noise, &mut gradient)?;
        Some((value + targets.log_constant(), gradient))
    }

    /// Remarks for the user about the data and the numerics.
    pub fn notes(&self) -> Vec<Note> {
        let (state, mut notes) = (&self.state, Vec::new());
        if self.data.len() > 1 {
            let flat = state.space.scaling.flat.iter().map(|&e| self.coordinate(e));
            notes.extend(flat.map(|coordinate| Note::FlatInput { coordinate }));
            notes.extend(state.scaling.flat.iter().map(|&output| Note::FlatOutput { output }));
        }
        for (output, o) in state.outputs.iter().enumerate() {
            if o.conditioned.jitter() > 0.0 {
                notes.push(Note::Jitter { output, relative: o.conditioned.jitter() });
            }
        }
        if state.inputs.len() > self.settings.exact_limit {
            let points = state.outputs.iter().map(|o| o.conditioned.rank()).max().unwrap_or_default();
            notes.push(Note::Inducing { points, of: state.inputs.len() });
        }
        notes
    }

    /// A copy whose predictions need fewer points than there are data, with the errors that
    /// [`compression_errors`](Self::compression_errors) bounds. `None` if no output can be compressed: with few data, with data that are
    /// not similar to each other, through inducing points, and with correlated noise.
    pub fn compressed(&self) -> Option<GaussianProcess> {
        let state = self.state.compressed()?;
        Some(GaussianProcess { state, ..self.clone() })
    }

    /// Bounds on the errors that the compression of an output causes at every point z: |σ² − σ̂²| ≤ the first number times σ̂², and
    /// |μ − μ̂| ≤ the second number times σ̂. Both are zero for an output that is not compressed.
    pub fn compression_errors(&self, output: usize) -> (f64, f64) {
        self.state.outputs[output].compressed.as_ref().map_or((0.0, 0.0), |c| c.errors())
    }

    /// Number of points from which the predictions of an output are computed.
    pub fn basis_points(&self, output: usize) -> usize {
        self.state.outputs[output].basis(&self.state.inputs).len()
    }

    /// The information gain I(y; f) of all data under the present hyper-parameters, for each output, in nats.
    pub fn information_gain(&self) -> Vec<f64> {
        self.state.outputs.iter().map(|o| o.conditioned.information_gain()).collect()
    }

    /// The sum Σ I(Dₙ; f | D₁:ₙ₋₁) of the information gains of all updates, each computed with the hyper-parameters in force at
    /// that update. Data from before the first training count with the hyper-parameters that this training found.
    pub fn accumulated_information_gain(&self) -> &[f64] {
        &self.accumulated_gain
    }

    /// Leave-one-out predictions of an output in physical units: for each distinct input the measured value less the prior mean,
    /// and the prediction of the model without that measurement. Empty if the model uses inducing points.
    pub fn leave_one_out(&self, output: usize) -> Vec<HeldOutPrediction> {
        let (shift, scale) = self.output_scale(output);
        let own = &self.state.outputs[output];
        let Some(left_out) = own.conditioned.leave_one_out() else { return Vec::new() };
        let each = left_out.iter().zip(&own.targets.y);
        each.map(|(l, y)| HeldOutPrediction {
            measured: shift + scale * y,
            mean: shift + scale * (y - l.residual),
            std: scale * l.variance.sqrt(),
            noise_std: scale * l.noise.sqrt(),
        })
        .collect()
    }

    pub(super) fn hyper(&self) -> Vec<Hyperparameters> {
        self.state.outputs.iter().map(|o| o.hyper.clone()).collect()
    }

    pub(super) fn output_scale(&self, output: usize) -> (f64, f64) {
        (self.state.scaling.shift[output], self.state.scaling.scale[output])
    }

    pub(super) fn refresh_confidence(&mut self) {
        let outputs = self.data.dims().state;
        let scale = |(j, gain): (usize, &f64)| {
            self.settings.confidence.scale(*gain, outputs, || self.leave_one_out(j))
        };
        let fresh: Vec<f64> = self.accumulated_gain.iter().enumerate().map(scale).collect();
        // The theory requires a non-decreasing β while data arrive; a calibrated β follows the data.
        self.confidence_scale = match self.settings.confidence {
            Confidence::InformationGain { .. } if !self.confidence_scale.is_empty() => {
                fresh.iter().zip(&self.confidence_scale).map(|(a, b)| a.max(*b)).collect()
            }
            _ => fresh,
        };
    }
}

impl StatisticalModel for GaussianProcess {
    fn dims(&self) -> Dims {
        self.data.dims()
    }

    /// Extends the factors by the m new points, O(n²m). The first update also fixes the standardisation until the model is trained.
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        if new.dims() != self.dims() {
            return Err(MeasurementError::OtherSystem { found: new.dims(), expected: self.dims() }.into());
        }
        if new.is_empty() {
            return Ok(());
        }
        let known = self.state.inputs.len();
        let mut data = self.data.clone();
        data.append(new)?;
        let mut noise_inflation = self.noise_inflation.clone();
        noise_inflation.resize(data.len(), 1.0);
        let gained: Vec<f64> = if self.state.append(&self.settings, &data, &noise_inflation)? {
            self.state.outputs.iter().map(|o| o.conditioned.information_gain_from(known)).collect()
        } else {
            let before = self.information_gain();
            let fresh = if self.data.is_empty() {
                self.state.standardized(&self.settings, &data)?
            } else {
                self.state.frame()
            };
            self.state = fresh.conditioned(&self.settings, &data, &noise_inflation, &self.hyper())?;
            self.information_gain()
                .iter()
                .zip(before)
                .map(|(after, before)| (after - before).max(0.0))
                .collect()
        };
        (self.data, self.noise_inflation) = (data, noise_inflation);
        for (sum, gained) in self.accumulated_gain.iter_mut().zip(gained) {
            *sum += gained;
        }
        self.refresh_confidence();
        Ok(())
    }

    /// Conditions on `all` from scratch. An increase of the information gain is added to the accumulated gain.
    fn replace(&mut self, all: &Measurements) -> Result<(), ModelError> {
        if all.dims() != self.dims() {
            return Err(MeasurementError::OtherSystem { found: all.dims(), expected: self.dims() }.into());
        }
        let noise_inflation = vec![1.0; all.len()];
        let (before, hyper) = (self.information_gain(), self.hyper());
        let fresh = self.state.standardized(&self.settings, all)?;
        self.state = fresh.conditioned(&self.settings, all, &noise_inflation, &hyper)?;
        (self.data, self.noise_inflation) = (all.clone(), noise_inflation);
        let gained = self.information_gain();
        for ((sum, after), before) in self.accumulated_gain.iter_mut().zip(gained).zip(before) {
            *sum += (after - before).max(0.0);
        }
        self.refresh_confidence();
        Ok(())
    }

    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        if self.data.is_empty() {
            return Err(ModelError::NoData);
        }
        let mut state = self.state.standardized(&self.settings, &self.data)?;
        state.regroup(&self.data);
        let targets = state.targets(&self.settings, &self.data, &self.noise_inflation)?;
        let hyper = self.hyper();
        let all: Vec<usize> = (0..targets.len()).collect();
        let sets: Vec<&[usize]> = match self.settings.lengthscales {
            Lengthscales::PerOutput => all.chunks(1).collect(),
            Lengthscales::Shared => vec![&all],
        };
        let found: Vec<(Vec<f64>, training::Fit)> = sets
            .par_iter()
            .map(|set| {
                let noise = set.iter().map(|&j| hyper[j].noise);
                let group = Group {
                    kernel: &*self.settings.kernel,
                    inputs: &state.inputs,
                    targets: set.iter().map(|&j| &targets[j]).collect(),
                    previous: hyper[set[0]].kernel.iter().copied().chain(noise).collect(),
                    learn_noise: self.settings.noise == Noise::Learned,
                    limit: self.settings.exact_limit,
                };
                training::train(&group, &self.settings.training, stream.child("output").index(set[0]))
            })
            .collect();
        let count = hyper[0].kernel.len();
        let mut trained = hyper;
        for (set, (point, _)) in sets.iter().zip(&found) {
            for (k, &j) in set.iter().enumerate() {
                trained[j] = Hyperparameters { kernel: point[..count].to_vec(), noise: point[count + k] };
            }
        }
        self.state = state.conditioned(&self.settings, &self.data, &self.noise_inflation, &trained)?;
        if !self.trained {
            // Data from before this training had been weighted with untrained hyper-parameters.
            self.accumulated_gain = self.information_gain();
            self.confidence_scale.clear();
            self.trained = true;
        }
        self.refresh_confidence();
        Ok(TrainingReport { fits: found.into_iter().map(|(_, fit)| fit).collect() })
    }

    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        let dims = self.dims();
        assert_eq!(z.dim(), dims.point(), "points have {} rows, the model needs {}", z.dim(), dims.point());
        out.resize(dims, z.len(), query);
        let Posterior { mean, std, scratch } = out;
        mean.value.as_mut_slice().fill(0.0);
        mean.jacobian.as_mut_slice().fill(0.0);
        let mut pool = std::mem::take(scratch);
        if query.jacobian() {
            self.state.mean.add_linearization(z, mean, &mut pool);
        } else {
            self.state.mean.add_values(z, mean.value.as_mut_slice(), &mut pool);
        }
        let mut start = 0;
        while start < z.len() {
            let count = CHUNK.min(z.len() - start);
            let range = start * z.dim()..(start + count) * z.dim();
            let chunk = Chunk { z: Points::new(&z.as_slice()[range], z.dim()), start, query };
            self.chunk(chunk, mean, std, &mut pool);
            start += count;
        }
        *scratch = pool;
    }

    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        let (dim, count) = (self.state.space.dim(), z.len());
        out.resize(count * count, self.dims().state);
        if z.is_empty() {
            return;
        }
        let mut mapped = vec![0.0; dim * count];
        for (i, out) in mapped.chunks_exact_mut(dim).enumerate() {
            self.state.space.map(z.at(i), out);
        }
        for (j, output) in self.state.outputs.iter().enumerate() {
            let block = out.at_mut(j);
            output.covariances(&self.state.inputs, Points::new(&mapped, dim), block);
            let scale = self.output_scale(j).1;
            for entry in block.iter_mut() {
                *entry *= scale * scale;
            }
        }
    }

    fn covariance_columns(&self, z: Points<'_>) -> Box<dyn CovarianceColumns + '_> {
        assert_eq!(z.dim(), self.dims().point(), "points of {} numbers", z.dim());
        self.columns(z)
    }

    fn confidence_scale(&self) -> &[f64] {
        &self.confidence_scale
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        self.trained_parameters()
    }

    fn restore(&mut self, data: &Measurements, checkpoint: &Checkpoint) -> Result<(), ModelError> {
        self.restore(data, checkpoint)
    }

    fn compressed(&self) -> Option<Box<dyn StatisticalModel>> {
        Some(Box::new(GaussianProcess::compressed(self)?))
    }

    fn fork(&self) -> Box<dyn StatisticalModel> {
        Box::new(self.clone())
    }

    fn notes(&self) -> Vec<Note> {
        GaussianProcess::notes(self)
    }

    fn as_gaussian_process(&self) -> Option<&GaussianProcess> {
        Some(self)
    }

    fn weight_space(&self) -> Option<WeightSpace> {
        self.weights()
    }

    fn information_gain(&self) -> Vec<f64> {
        GaussianProcess::information_gain(self)
    }

    /// The prior keeps the hyper-parameters and the standardisation that were learned from the data.
    fn prior(&self) -> Option<Box<dyn StatisticalModel>> {
        let empty = Measurements::new(self.dims());
        let state = self.state.frame().conditioned(&self.settings, &empty, &[], &self.hyper()).ok()?;
        Some(Box::new(GaussianProcess {
            settings: self.settings.clone(),
            data: empty,
            noise_inflation: Vec::new(),
            state,
            confidence_scale: self.confidence_scale.clone(),
            accumulated_gain: vec![0.0; self.dims().state],
            trained: self.trained,
        }))
    }

    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        let state = &self.state;
        let mut draw = Draw::new(self.dims(), state.space.clone(), state.mean.clone());
        for (j, output) in state.outputs.iter().enumerate() {
            draw.push(output, &state.inputs, self.output_scale(j), self.settings.features, rng);
        }
        Box::new(draw)
    }
}
