//! A deep ensemble \[Lak17\]: several small networks whose average is μ and whose spread, recalibrated on held-out data, is σ.
//!
//! ```text
//! μ_j(z) = (1/P) Σ_m f_mj(z),   σ_j²(z) = α_j² ((1/P) Σ_m (f_mj(z) − μ_j(z))² + ε²)
//! ∂σ_j/∂z = α_j² (1/P) Σ_m (f_mj − μ_j) ∂f_mj/∂z / σ_j
//! ```
//!
//! | symbol | code | |
//! |---|---|---|
//! | P, f_m | [`EnsembleSettings::members`], `member.rs` | a trained network plus a fixed random one (the prior function) |
//! | α_j | [`Ensemble::recalibration`] | determined from held-out measurements, `recalibration.rs` |
//! | ε | `LEAST_SPREAD` | keeps ∂σ/∂z finite where all members agree |
//!
//! Training: each member minimises the weighted mean square error on the data with its own noise sample (`adam.rs`); its output
//! layer is then solved for exactly by ridge regression. A share of the rows is held out first and used to determine α; training
//! then continues with all rows. Apart from the regression the cost of training does not depend on the number of rows:
//!
//! ```text
//! members · 1.5 · steps · min(batch, rows) forward and backward passes, and O(members · rows · hidden²)
//! ```
//!
//! Inputs and outputs are standardised and angles enter as sine and cosine, as for the Gaussian process. With few data a Gaussian
//! process predicts better; `docs/ensemble.md` compares both on the same data. An ensemble defines no information gain and no prior
//! model.

mod adam;
mod covariance_columns;
mod draw;
mod lanes;
mod member;
mod network;
mod recalibration;
mod rows;
mod settings;

pub use settings::EnsembleSettings;

use self::covariance_columns::Columns;
use self::draw::Draw;
use self::lanes::padded;
use self::member::{CHUNK, Member, Search, Shapes, shuffle};
use self::rows::TrainingRows;
use super::checkpoint::Checkpoint;
use super::confidence::{Confidence, HeldOutPrediction};
use super::covariance_columns::CovarianceColumns;
use super::mean::{FittedMean, Mean};
use super::notes::{Coordinate, Note};
use super::space::{Scaling, Space};
use super::state::residuals;
use super::training::{Fit, Status, TrainingReport};
use super::{ModelError, Posterior, Query, StatisticalModel};
use crate::linalg::{Blocks, Dims, Points, Pool};
use crate::measurements::{MeasurementError, Measurements};
use crate::random::{Rng, Stream};
use crate::system::{Dynamics, Task};
use rayon::prelude::*;
use std::sync::Arc;

/// Number of hidden units of a prior function.
const PRIOR_UNITS: usize = 48;

/// ε: the smallest spread of the members, in units of the output's standard deviation in the data.
const LEAST_SPREAD: f64 = 1e-4;

/// All quantities that are computed from the data and by training.
#[derive(Clone)]
struct State {
    space: Space,
    /// Shift and scale that standardise the outputs.
    scaling: Scaling,
    mean: FittedMean,
    members: Vec<Member>,
    /// The recalibration factors α_j.
    factors: Vec<f64>,
}

/// A deep ensemble model of a vector field.
///
/// ```
/// use ocorl::linalg::{Dims, Points};
/// use ocorl::measurements::Measurements;
/// use ocorl::model::{Confidence, Ensemble, EnsembleSettings, Mean, Posterior, Query, StatisticalModel};
/// use ocorl::random::Stream;
///
/// let dims = Dims { state: 1, control: 1 };
/// let mut data = Measurements::new(dims);
/// for i in 0..60 {
///     let (x, u) = (0.05 * f64::from(i), (0.7 * f64::from(i)).sin());
///     data.push(0.1 * f64::from(i), &[x], &[u], &[u - x.sin()], &[0.01])?;
/// }
/// let mut model = Ensemble::new(dims, &[], EnsembleSettings::default(), Mean::Zero, Confidence::default())?;
/// model.update(&data)?;
/// model.train(Stream::root(0))?;
/// let mut at = Posterior::default();
/// model.posterior(Points::single(&[1.5, 0.5]), Query::All, &mut at);
/// assert!((at.mean.value.at(0)[0] - (0.5 - 1.5_f64.sin())).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Ensemble {
    settings: EnsembleSettings,
    prior: Mean,
    confidence: Confidence,
    data: Measurements,
    state: Arc<State>,
    confidence_scale: Vec<f64>,
    /// The random stream of the last training; `None` before the first.
    trained: Option<Stream>,
    /// Number of rows from which α was determined; 0 if there were too few, and α is 1.
    held_out: usize,
}

impl Ensemble {
    /// Creates a model without data. `angles` lists the coordinates of (x, u) that are angles. Returns an error for a β from the
    /// information gain, which an ensemble does not define.
    pub fn new(
        dims: Dims,
        angles: &[usize],
        settings: EnsembleSettings,
        prior: Mean,
        confidence: Confidence,
    ) -> Result<Self, ModelError> {
        settings.validate()?;
        confidence.validate()?;
        if let Confidence::InformationGain { .. } = confidence {
            let need = "an ensemble has no information gain; use constant or calibrated";
            return Err(ModelError::Setting { what: "confidence", value: "information-gain".into(), need });
        }
        if let Some(&angle) = angles.iter().find(|&&a| a >= dims.point()) {
            let need = "an angle must be the index of a coordinate of (x, u)";
            return Err(ModelError::Setting { what: "angle", value: angle.to_string(), need });
        }
        if let Some(found) = prior.physics_dims().filter(|found| *found != dims) {
            let need = "the physics must have the task's dimensions";
            return Err(ModelError::Setting { what: "prior mean", value: format!("{found:?}"), need });
        }
        let space = Space::new(dims, angles);
        let shapes = Shapes::new(space.dim(), dims.state, &settings);
        let state = State {
            mean: FittedMean::fit(&prior, &Measurements::new(dims)),
            scaling: Scaling::identity(dims.state),
            members: Member::all(shapes, &settings, Stream::root(0).child("ensemble")),
            factors: vec![1.0; dims.state],
            space,
        };
        let beta = confidence.scale(0.0, dims.state, Vec::new);
        Ok(Ensemble {
            settings,
            prior,
            confidence,
            data: Measurements::new(dims),
            state: Arc::new(state),
            confidence_scale: vec![beta; dims.state],
            trained: None,
            held_out: 0,
        })
    }

    /// Creates a model without data with the dimensions and angles of a task, a prior mean of zero and β = 1.
    pub fn for_task(task: &Task, settings: EnsembleSettings) -> Result<Self, ModelError> {
        Ensemble::new(task.dims(), &task.angles, settings, Mean::Zero, Confidence::default())
    }

    /// The settings that the model was created with.
    pub fn settings(&self) -> &EnsembleSettings {
        &self.settings
    }

    /// All measurements that the model holds.
    pub fn data(&self) -> &Measurements {
        &self.data
    }

    /// α_j: the factor on the spread of the members for each output; 1 if too few measurements could be held out.
    pub fn recalibration(&self) -> &[f64] {
        &self.state.factors
    }

    /// Number of rows that the last training held out to determine [`recalibration`](Self::recalibration); 0 if there were too few.
    pub fn held_out(&self) -> usize {
        self.held_out
    }

    /// Fits prior mean and standardisation to `data` and keeps everything else.
    fn standardized(&self, data: &Measurements) -> Result<State, ModelError> {
        let mut state = State::clone(&self.state);
        if data.is_empty() {
            return Ok(state);
        }
        state.space.standardize(data.nodes(), 0.0);
        state.mean = FittedMean::fit(&self.prior, data);
        state.scaling = Scaling::of(residuals(&state.mean, data)?.points(), 0.0);
        // An output that is constant in the data has no measurable spread; its magnitude or its noise replaces it.
        for &j in &state.scaling.flat {
            let noise = data.noise_std().iter().map(|s| s[j]).fold(0.0, f64::max);
            let size = state.scaling.shift[j].abs().max(noise);
            state.scaling.scale[j] = if size > 0.0 { size } else { 1.0 };
        }
        Ok(state)
    }

    /// Replaces all measurements by `data`: output layers are solved for again, hidden layers and α are kept.
    fn take(&mut self, data: Measurements) -> Result<(), ModelError> {
        let mut state =
            if self.trained.is_none() { self.standardized(&data)? } else { State::clone(&self.state) };
        if !data.is_empty() {
            let rows = state.rows(&data)?;
            let all: Vec<usize> = (0..rows.len()).collect();
            state.members.par_iter_mut().for_each(|member| {
                let targets = member.targets(&rows);
                member.solve_output(&rows, &targets, &all);
            });
        }
        (self.data, self.state) = (data, Arc::new(state));
        Ok(())
    }

    /// Splits the row indices into held-out rows and training rows; no row is held out if there would be too few.
    fn split(&self, count: usize, stream: Stream) -> (Vec<usize>, Vec<usize>) {
        let mut order: Vec<usize> = (0..count).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let held = (self.settings.held_out * count as f64) as usize;
        if held < recalibration::LEAST_HELD_OUT {
            return (Vec::new(), order);
        }
        let mut rng = stream.child("held-out").rng();
        shuffle(&mut order, |n| rng.below(n));
        let mut kept = order.split_off(held);
        order.sort_unstable();
        kept.sort_unstable();
        (order, kept)
    }
}

/// Compares the measured values of the rows `which` with mean and spread of the members, in standardised units, row by row.
fn compare_with_data(members: &[Member], rows: &TrainingRows, which: &[usize]) -> Vec<HeldOutPrediction> {
    let each: Vec<Vec<f64>> = members.par_iter().map(|member| member.predict(rows, which)).collect();
    let count = members.len() as f64;
    let prediction = |e: usize| {
        let of = which[e / rows.outputs] * rows.outputs + e % rows.outputs;
        let mean = each.iter().map(|f| f[e]).sum::<f64>() / count;
        let variance = each.iter().map(|f| (f[e] - mean).powi(2)).sum::<f64>() / count;
        let std = (variance + LEAST_SPREAD * LEAST_SPREAD).sqrt();
        HeldOutPrediction { measured: rows.targets[of], mean, std, noise_std: rows.noise[of] }
    };
    (0..which.len() * rows.outputs).map(prediction).collect()
}

impl State {
    fn outputs(&self) -> usize {
        self.scaling.shift.len()
    }

    fn rows(&self, data: &Measurements) -> Result<TrainingRows, ModelError> {
        let residuals = residuals(&self.mean, data)?;
        Ok(TrainingRows::new(data, residuals.as_slice(), &self.space, &self.scaling))
    }

    /// Evaluates f_m of all members at the points of `range`, standardised and without prior mean. Values are indexed
    /// \[member\]\[output\] \[stored point\], gradients (if requested) \[member\]\[output\]\[input\]\[stored point\].
    fn evaluate(
        &self,
        z: Points<'_>,
        range: std::ops::Range<usize>,
        jacobian: bool,
        pool: &mut Pool,
    ) -> (Vec<f64>, Vec<f64>) {
        let (inputs, outputs, stored) = (self.space.dim(), self.outputs(), padded(range.len()));
        let (values, gradients) = (outputs * stored, if jacobian { outputs * inputs * stored } else { 0 });
        let mut all = pool.take(values * self.members.len());
        let mut slopes = pool.take(gradients * self.members.len());
        let (mut e, mut mapped) = (pool.take(inputs * stored), pool.take(inputs));
        e.fill(0.0);
        for (p, i) in range.enumerate() {
            self.space.map(z.at(i), &mut mapped);
            for (d, value) in mapped.iter().enumerate() {
                e[d * stored + p] = *value;
            }
        }
        for (m, member) in self.members.iter().enumerate() {
            let slopes = &mut slopes[m * gradients..(m + 1) * gradients];
            member.evaluate(&e, stored, &mut all[m * values..(m + 1) * values], slopes, pool);
        }
        pool.give(mapped);
        pool.give(e);
        (all, slopes)
    }

    /// Computes μ and σ for one part of a batch; `mean` already holds the prior mean.
    fn chunk(
        &self,
        z: Points<'_>,
        range: std::ops::Range<usize>,
        query: Query,
        out: &mut Posterior,
        pool: &mut Pool,
    ) {
        let (inputs, outputs, stored, n) = (self.space.dim(), self.outputs(), padded(range.len()), z.dim());
        let (values, slopes) = self.evaluate(z, range.clone(), query.jacobian(), pool);
        let (mut of_mean, mut of_std) = (pool.take(inputs), pool.take(inputs));
        let count = self.members.len() as f64;
        for (p, i) in range.enumerate() {
            for j in 0..outputs {
                let (shift, scale, alpha) = (self.scaling.shift[j], self.scaling.scale[j], self.factors[j]);
                let f = || values[j * stored + p..].iter().step_by(outputs * stored);
                let mean = f().sum::<f64>() / count;
                out.mean.value.at_mut(i)[j] += shift + scale * mean;
                let variance = f().map(|f| (f - mean) * (f - mean)).sum::<f64>() / count;
                let spread = (variance + LEAST_SPREAD * LEAST_SPREAD).sqrt();
                if query.std() {
                    out.std.value.at_mut(i)[j] = alpha * scale * spread;
                }
                if !query.jacobian() {
                    continue;
                }
                for d in 0..inputs {
                    let first = (j * inputs + d) * stored + p;
                    let slope = || slopes[first..].iter().step_by(outputs * inputs * stored);
                    of_mean[d] = slope().sum::<f64>() / count;
                    of_std[d] = slope().zip(f()).map(|(g, f)| (f - mean) * g).sum::<f64>() / count / spread;
                }
                let row = j * n..(j + 1) * n;
                let jacobian = &mut out.mean.jacobian.at_mut(i)[row.clone()];
                self.space.add_pull_back(z.at(i), &of_mean, scale, jacobian);
                if query.std() {
                    let jacobian = &mut out.std.jacobian.at_mut(i)[row];
                    self.space.add_pull_back(z.at(i), &of_std, alpha * scale, jacobian);
                }
            }
        }
        pool.give(of_std);
        pool.give(of_mean);
        pool.give(slopes);
        pool.give(values);
    }
}

/// The ranges of `count` points that are processed together.
fn chunks(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).step_by(CHUNK).map(move |first| first..count.min(first + CHUNK))
}

impl StatisticalModel for Ensemble {
    fn dims(&self) -> Dims {
        self.data.dims()
    }

    /// Solves for the output layers again with all data; hidden layers, standardisation and α are kept from the last training.
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        if new.dims() != self.dims() {
            return Err(MeasurementError::OtherSystem { found: new.dims(), expected: self.dims() }.into());
        }
        if new.is_empty() {
            return Ok(());
        }
        let mut data = self.data.clone();
        data.append(new)?;
        self.take(data)
    }

    fn replace(&mut self, all: &Measurements) -> Result<(), ModelError> {
        if all.dims() != self.dims() {
            return Err(MeasurementError::OtherSystem { found: all.dims(), expected: self.dims() }.into());
        }
        self.take(all.clone())
    }

    /// Trains all members from new random weights; the result depends on data, settings and stream only.
    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        if self.data.is_empty() {
            return Err(ModelError::NoData);
        }
        let EnsembleSettings { steps, batch, rate, .. } = self.settings;
        let mut state = self.standardized(&self.data)?;
        let outputs = state.outputs();
        let shapes = Shapes::new(state.space.dim(), outputs, &self.settings);
        state.members = Member::all(shapes, &self.settings, stream);
        let rows = state.rows(&self.data)?;
        let (held, kept) = self.split(rows.len(), stream);
        let fit = |members: &mut [Member], which: &[usize], search: Search| {
            members.par_iter_mut().for_each(|member| {
                let targets = member.targets(&rows);
                member.descend(&rows, &targets, which, search);
                member.solve_output(&rows, &targets, which);
            });
        };
        fit(&mut state.members, &kept, Search { name: "first", steps, batch, rate });
        let mut spent = steps;
        let mut held_out_predictions = Vec::new();
        if !held.is_empty() {
            held_out_predictions = compare_with_data(&state.members, &rows, &held);
            let all: Vec<usize> = (0..rows.len()).collect();
            let search = Search { name: "second", steps: steps.div_ceil(2), batch, rate: 0.25 * rate };
            fit(&mut state.members, &all, search);
            spent += search.steps;
        }
        let of = |j: usize| held_out_predictions.iter().skip(j).step_by(outputs).copied().collect::<Vec<_>>();
        state.factors = (0..outputs).map(|j| recalibration::factor(&of(j))).collect();
        let beta = |j: usize| {
            let scaled =
                || of(j).iter().map(|v| HeldOutPrediction { std: state.factors[j] * v.std, ..*v }).collect();
            self.confidence.scale(0.0, outputs, scaled)
        };
        self.confidence_scale = (0..outputs).map(beta).collect();
        let all: Vec<usize> = (0..rows.len()).collect();
        let fitted = compare_with_data(&state.members, &rows, &all);
        let likelihood = |(e, v): (usize, &HeldOutPrediction)| {
            let variance = (state.factors[e % outputs] * v.std).hypot(v.noise_std).powi(2);
            -0.5 * ((v.measured - v.mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln())
        };
        let fit = Fit {
            // Adam takes all its steps: it has no convergence test.
            status: Status::Budget,
            evaluations: spent * self.settings.members,
            last_evaluations: spent * self.settings.members,
            log_likelihood: fitted.iter().enumerate().map(likelihood).sum(),
            at_bounds: Vec::new(),
        };
        (self.state, self.trained, self.held_out) = (Arc::new(state), Some(stream), held.len());
        Ok(TrainingReport { fits: vec![fit] })
    }

    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        let dims = self.dims();
        assert_eq!(z.dim(), dims.point(), "points have {} rows, the model needs {}", z.dim(), dims.point());
        out.resize(dims, z.len(), query);
        out.mean.value.as_mut_slice().fill(0.0);
        out.mean.jacobian.as_mut_slice().fill(0.0);
        out.std.jacobian.as_mut_slice().fill(0.0);
        let mut pool = std::mem::take(&mut out.scratch);
        if query.jacobian() {
            self.state.mean.add_linearization(z, &mut out.mean, &mut pool);
        } else {
            self.state.mean.add_values(z, out.mean.value.as_mut_slice(), &mut pool);
        }
        for range in chunks(z.len()) {
            self.state.chunk(z, range, query, out, &mut pool);
        }
        out.scratch = pool;
    }

    /// The covariance of the members, of rank P at most: α² s² ((1/P) Σ_m (f_m(z) − μ(z)) (f_m(z′) − μ(z′)) + ε²).
    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        let (count, mut columns) = (z.len(), Columns::new(&self.state, z));
        out.resize(count * count, self.dims().state);
        for j in 0..self.dims().state {
            for (i, column) in out.at_mut(j).chunks_exact_mut(count.max(1)).enumerate() {
                columns.column(j, i, column);
            }
        }
    }

    fn covariance_columns(&self, z: Points<'_>) -> Box<dyn CovarianceColumns + '_> {
        assert_eq!(z.dim(), self.dims().point(), "points of {} numbers", z.dim());
        Box::new(Columns::new(&self.state, z))
    }

    fn confidence_scale(&self) -> &[f64] {
        &self.confidence_scale
    }

    /// Samples one member; its deviation from the mean is scaled by α.
    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        Box::new(Draw::new(&self.state, rng))
    }

    /// The checkpoint is the random stream of the last training, which together with the data determines the networks.
    fn checkpoint(&self) -> Option<Checkpoint> {
        self.trained.map(|stream| Checkpoint {
            hyperparameters: Vec::new(),
            accumulated_gain: Vec::new(),
            confidence_scale: self.confidence_scale.clone(),
            ensemble: Some(stream),
        })
    }

    /// Trains again with the same data and stream.
    fn restore(&mut self, data: &Measurements, checkpoint: &Checkpoint) -> Result<(), ModelError> {
        let stream = checkpoint.ensemble.filter(|_| data.dims() == self.dims() && !data.is_empty());
        let Some(stream) = stream else {
            let need = "it must come from an ensemble with the same dimensions";
            return Err(ModelError::Setting { what: "checkpoint", value: "from another model".into(), need });
        };
        self.data = data.clone();
        self.train(stream).map(|_| ())
    }

    fn fork(&self) -> Box<dyn StatisticalModel> {
        Box::new(self.clone())
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.data.len() > 1 {
            let flat = self.state.space.scaling.flat.iter().map(|&e| {
                let (index, part) = self.state.space.origin(e);
                Note::FlatInput { coordinate: Coordinate { index, part } }
            });
            notes.extend(flat);
            notes.extend(self.state.scaling.flat.iter().map(|&output| Note::FlatOutput { output }));
        }
        if self.trained.is_some() && self.held_out == 0 {
            notes.push(Note::NotRecalibrated { rows: self.data.len() });
        }
        notes
    }
}
