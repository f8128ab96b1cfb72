//! The state of a Gaussian process: its data in standardised coordinates, and one factor for each output.
//!
//! Data enter in three steps: the standardisation and the prior mean are fitted (`standardized`), equal inputs are merged (`regroup`), and
//! each output is conditioned on its targets (`conditioned`). New data at new inputs extend the factors instead (`append`). The factors
//! themselves are in `conditioning`.

use super::ModelError;
use super::compressed::Compressed;
use super::conditioning::{Conditioning, LARGEST_JITTER, cross, diagonal, gram, select_inducing};
use super::inputs::{Averages, Inputs};
use super::kernels::Covariance;
use super::mean::FittedMean;
use super::settings::{Hyperparameters, Noise, Settings};
use super::space::{Scaling, Space};
use super::targets::{Distinct, Targets};
use crate::linalg::small::axpy;
use crate::linalg::{Blocks, Points, Pool, Rows};
use crate::measurements::{Average, Measurements};
use crate::random::Rng;
use rayon::prelude::*;
use std::sync::Arc;

/// One output, conditioned on the data.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) hyper: Hyperparameters,
    pub(super) covariance: Arc<dyn Covariance>,
    pub(super) targets: Targets,
    pub(super) conditioned: Conditioning,
    /// Replaces `conditioned` in predictions.
    pub(super) compressed: Option<Arc<Compressed>>,
}

impl Output {
    /// The points whose kernels the predictions are made of.
    pub(super) fn basis<'a>(&'a self, inputs: &'a Inputs) -> &'a Rows {
        self.compressed.as_ref().map_or_else(|| self.conditioned.basis(inputs), |c| c.points())
    }

    /// The weights of the mean.
    pub(super) fn weights(&self) -> &[f64] {
        self.compressed.as_ref().map_or_else(|| self.conditioned.weights(), |c| c.weights())
    }

    /// Computes kᵀ A k for each column of `k`, and A k into `weights` if given; k are covariances with the points of the basis.
    pub(super) fn reduce(&self, k: &[f64], weights: Option<&mut [f64]>, out: &mut [f64], pool: &mut Pool) {
        match &self.compressed {
            Some(compressed) => compressed.reduce(k, weights, out, pool),
            None => self.conditioned.reduce(k, weights, out, pool),
        }
    }

    /// Length of the columns that [`whiten`](Self::whiten) computes.
    pub(super) fn rank(&self) -> usize {
        self.compressed.as_ref().map_or_else(|| self.conditioned.rank(), |c| c.points().len())
    }

    /// Computes vectors with kᵀ A k′ = vᵀv′ for the `columns` columns k of `block`; see [`Conditioning::whiten`].
    pub(super) fn whiten(&self, block: &[f64], columns: usize, out: &mut [f64], second: &mut Vec<f64>) {
        match &self.compressed {
            Some(compressed) => compressed.whiten(block, columns, out),
            None => self.conditioned.whiten(block, columns, out, second),
        }
    }

    /// Computes the P × P posterior covariance matrix of the points z (kernel coordinates).
    pub(super) fn covariances(&self, inputs: &Inputs, z: Points<'_>, out: &mut [f64]) {
        let (count, mut pool) = (z.len(), Pool::default());
        gram(&*self.covariance, &Rows::from_points(z), &mut pool, |j, column| {
            out[j * count + j..(j + 1) * count].copy_from_slice(column);
        });
        let k = cross(&*self.covariance, self.basis(inputs), z, &mut pool);
        match &self.compressed {
            Some(compressed) => compressed.subtract_products(&k, count, out),
            None => self.conditioned.subtract_products(k, count, out),
        }
        for j in 0..count {
            for i in 0..j {
                out[j * count + i] = out[i * count + j];
            }
        }
    }

    /// Weights of the basis for a sample of the posterior, given a sample of the prior at the data (or the inducing points).
    pub(super) fn path_weights(&self, inputs: &Inputs, prior: &[f64], rng: &mut Rng) -> Vec<f64> {
        let weights = self.conditioned.path_weights(&self.targets.y, prior, rng);
        match &self.compressed {
            Some(compressed) => compressed.project(&*self.covariance, inputs, &weights),
            None => weights,
        }
    }
}

/// All quantities that are computed from the data and the hyper-parameters.
#[derive(Clone)]
pub(super) struct State {
    pub(super) space: Space,
    /// Shift and scale that standardise the outputs.
    pub(super) scaling: Scaling,
    pub(super) mean: FittedMean,
    /// For each measurement the index of its distinct input.
    pub(super) groups: Vec<usize>,
    distinct: Distinct,
    /// The distinct inputs in the kernel's coordinates.
    pub(super) inputs: Inputs,
    pub(super) outputs: Vec<Output>,
}

impl State {
    /// A state without data and factors.
    pub(super) fn new(space: Space, scaling: Scaling, mean: FittedMean) -> State {
        let inputs = Inputs::new(space.dim());
        State {
            space,
            scaling,
            mean,
            groups: Vec::new(),
            distinct: Distinct::default(),
            inputs,
            outputs: Vec::new(),
        }
    }

    /// A copy of the standardisation and the prior mean, without data and factors.
    pub(super) fn frame(&self) -> State {
        State::new(self.space.clone(), self.scaling.clone(), self.mean.clone())
    }

    /// Determines the distinct inputs of `data` and maps them to the kernel's coordinates.
    pub(super) fn regroup(&mut self, data: &Measurements) {
        let dim = self.space.dim();
        (self.distinct, self.inputs, self.groups) =
            (Distinct::default(), Inputs::new(dim), Vec::with_capacity(data.len()));
        if data.is_empty() {
            return;
        }
        let (mut columns, mut mapped) = (Vec::new(), vec![0.0; dim]);
        let mut averages = (!data.is_pointwise()).then(Averages::default);
        for i in 0..data.len() {
            let Average { nodes, weights, .. } = data.average(i);
            let (group, new) = self.distinct.group(nodes.as_slice());
            // Equal points are merged. Equal averages are not, because their noise may be correlated with that of other rows.
            let (group, new) =
                if new || nodes.len() == 1 { (group, new) } else { (self.distinct.next(), true) };
            self.groups.push(group);
            if new {
                for q in 0..nodes.len() {
                    self.space.map(nodes.at(q), &mut mapped);
                    columns.extend_from_slice(&mapped);
                }
                if let Some(averages) = &mut averages {
                    averages.push(weights);
                }
            }
        }
        self.inputs = Inputs::of(Points::new(&columns, dim), averages);
    }

    /// Fits the standardisation and the prior mean to `data`; the result is not yet conditioned.
    pub(super) fn standardized(&self, settings: &Settings, data: &Measurements) -> Result<State, ModelError> {
        let mut state = self.frame();
        if data.is_empty() {
            return Ok(state);
        }
        let offset = settings.scale_offset;
        state.space.standardize(data.nodes(), offset);
        state.mean = FittedMean::fit(&settings.mean, data);
        let residuals = residuals(&state.mean, data)?;
        state.scaling = Scaling::of(residuals.points(), offset);
        // An output that is constant in the data has no measurable spread; its magnitude or its noise replaces it.
        for &j in &state.scaling.flat {
            let noise = data.noise_std().iter().map(|s| s[j]).fold(0.0, f64::max);
            let size = state.scaling.shift[j].abs().max(noise);
            state.scaling.scale[j] = if size > 0.0 { size } else { 1.0 };
        }
        Ok(state)
    }

    /// The standardised targets of all outputs; measurements in the same group are merged.
    pub(super) fn targets(
        &self,
        settings: &Settings,
        data: &Measurements,
        noise_inflation: &[f64],
    ) -> Result<Vec<Targets>, ModelError> {
        let residuals = residuals(&self.mean, data)?;
        let reference = settings.noise == Noise::Reference;
        Ok((0..data.dims().state)
            .map(|j| {
                let (shift, scale) = (self.scaling.shift[j], self.scaling.scale[j]);
                let each = (0..data.len()).map(|i| {
                    let std = data.noise_std().at(i)[j] / scale;
                    let variance = if reference { std } else { std * std };
                    (self.groups[i], (residuals.at(i)[j] - shift) / scale, variance * noise_inflation[i])
                });
                let links = (1..data.len()).filter_map(|i| {
                    let correlation = data.average(i).correlation.get(j).filter(|r| **r != 0.0)?;
                    Some((self.groups[i], self.groups[i - 1], *correlation))
                });
                let merged = Targets::merge(self.inputs.len(), each);
                if data.is_pointwise() { merged } else { merged.linked(links) }
            })
            .collect())
    }

    /// Conditions all outputs on the data, in the standardised coordinates of this state.
    pub(super) fn conditioned(
        mut self,
        settings: &Settings,
        data: &Measurements,
        noise_inflation: &[f64],
        hyper: &[Hyperparameters],
    ) -> Result<State, ModelError> {
        self.regroup(data);
        let targets = self.targets(settings, data, noise_inflation)?;
        let inputs = &self.inputs;
        let many = inputs.len() > settings.exact_limit;
        let outputs: Result<Vec<Output>, usize> = hyper
            .par_iter()
            .zip(targets)
            .enumerate()
            .map(|(j, (hyper, targets))| {
                let covariance: Arc<dyn Covariance> =
                    settings.kernel.bind(&hyper.kernel, inputs.dim()).into();
                let chosen = many.then(|| select_inducing(&*covariance, &inputs.x, settings.inducing_points));
                let factor = hyper.noise.exp();
                let conditioned =
                    Conditioning::new(&*covariance, inputs, &targets, factor, chosen.as_deref()).ok_or(j)?;
                Ok(Output { hyper: hyper.clone(), covariance, targets, conditioned, compressed: None })
            })
            .collect();
        match outputs {
            Ok(outputs) => {
                self.outputs = outputs;
                Ok(self)
            }
            Err(output) => {
                let covariance = settings.kernel.bind(&hyper[output].kernel, inputs.dim());
                Err(not_positive_definite(&*covariance, &self, data, output))
            }
        }
    }

    /// A copy whose predictions are compressed; `None` if no output can be compressed.
    pub(super) fn compressed(&self) -> Option<State> {
        let inputs = &self.inputs;
        let each = self.outputs.par_iter().map(|o| match &o.conditioned {
            Conditioning::Exact(exact) => Compressed::new(&*o.covariance, inputs, exact, &o.targets.y),
            Conditioning::Inducing(_) => None,
        });
        let each: Vec<Option<Compressed>> = each.collect();
        if each.iter().all(Option::is_none) {
            return None;
        }
        let mut state = self.clone();
        for (output, compressed) in state.outputs.iter_mut().zip(each) {
            output.compressed = compressed.map(Arc::new);
        }
        Some(state)
    }

    /// Extends all Cholesky factors by the last measurements of `data`. Returns false and changes nothing if one of them cannot be
    /// extended.
    pub(super) fn append(
        &mut self,
        settings: &Settings,
        data: &Measurements,
        noise_inflation: &[f64],
    ) -> Result<bool, ModelError> {
        let (known, limit) = (self.groups.len(), settings.exact_limit);
        if self.inputs.len() + data.len() - known > limit || known == 0 || !data.is_pointwise() {
            return Ok(false);
        }
        let (new, before, dim) = (known..data.len(), self.inputs.len(), self.space.dim());
        if new.clone().any(|i| !self.distinct.group(data.points().at(i)).1) {
            self.distinct.truncate(before);
            return Ok(false);
        }
        let mut columns = vec![0.0; dim * new.len()];
        for (i, out) in new.clone().zip(columns.chunks_exact_mut(dim)) {
            self.space.map(data.points().at(i), out);
        }
        self.inputs.x.append(Points::new(&columns, dim));
        self.groups.extend((0..new.len()).map(|i| before + i));
        let undo = |state: &mut State| {
            state.inputs.x.retain(|i| i < before);
            state.groups.truncate(known);
            state.distinct.truncate(before);
        };
        let targets = match self.targets(settings, data, noise_inflation) {
            Ok(targets) => targets,
            Err(error) => {
                undo(self);
                return Err(error);
            }
        };
        let State { inputs, outputs, .. } = self;
        let x = &inputs.x;
        let grown: Vec<bool> = outputs
            .par_iter_mut()
            .zip(&targets)
            .map(|(o, targets)| o.conditioned.append(&*o.covariance, x, targets, o.hyper.noise.exp()))
            .collect();
        if grown.iter().all(|grown| *grown) {
            for (output, targets) in outputs.iter_mut().zip(targets) {
                output.targets = targets;
                output.compressed = None;
            }
            return Ok(true);
        }
        for (output, _) in outputs.iter_mut().zip(grown).filter(|(_, grown)| *grown) {
            output.conditioned.truncate(before);
        }
        undo(self);
        Ok(false)
    }
}

/// Builds the error that names the two closest inputs.
fn not_positive_definite(
    covariance: &dyn Covariance,
    state: &State,
    data: &Measurements,
    output: usize,
) -> ModelError {
    let (n, x) = (state.inputs.x.len(), state.inputs.x.view());
    // The first measurement at each input.
    let measurement = |node: usize| {
        let row = |a: &Averages| (0..a.len()).find(|&row| a.of(row).contains(&node)).unwrap_or(0);
        let group = state.inputs.averages.as_ref().map_or(node, |a| row(a));
        state.groups.iter().position(|&g| g == group).unwrap_or(0)
    };
    let distance =
        |i: usize, j: usize| (0..x.dim()).map(|d| (x.row(d)[i] - x.row(d)[j]).powi(2)).sum::<f64>();
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (j, i)));
    // Two nodes of one average do not count as two measurements.
    let apart = pairs.filter(|&(i, j)| state.inputs.averages.is_none() || measurement(i) != measurement(j));
    let closest = apart.map(|(i, j)| (distance(i, j), i, j));
    let (square, i, j) =
        closest.fold((f64::INFINITY, 0, 0), |best, this| if this.0 < best.0 { this } else { best });
    let (first, second) = (measurement(i), measurement(j));
    let noise = |i: usize| data.noise_std().at(i)[output] / state.scaling.scale[output];
    // The largest eigenvalue is at most the trace, the smallest is at least the smallest noise variance.
    let trace: f64 = diagonal(covariance, &state.inputs.x).iter().sum();
    let least = (0..data.len()).map(noise).fold(f64::INFINITY, f64::min);
    ModelError::NotPositiveDefinite {
        output,
        points: state.inputs.len(),
        jitter: LARGEST_JITTER,
        first: first.min(second),
        second: first.max(second),
        distance: square.sqrt(),
        noise: noise(first).min(noise(second)),
        condition: trace / (least * least),
    }
}

/// The residuals ẏ − m(z) of all measurements; for averages y − Σ w m(z).
pub(super) fn residuals(mean: &FittedMean, data: &Measurements) -> Result<Blocks, ModelError> {
    let outputs = data.dims().state;
    let mut prior = vec![0.0; outputs * data.nodes().len()];
    if data.is_empty() {
        return Ok(Blocks::zeros(outputs, 0));
    }
    mean.add_values(data.nodes(), &mut prior, &mut Pool::default());
    if !data.is_pointwise() {
        prior = averaged(&prior, data);
    }
    if let Some(bad) = prior.iter().position(|m| !m.is_finite()) {
        let (index, output) = (bad / outputs, bad % outputs);
        return Err(ModelError::PriorMean { index, output, value: prior[bad] });
    }
    let measured = data.derivatives().as_slice().iter();
    Ok(Blocks::from_vec(measured.zip(&prior).map(|(y, m)| y - m).collect(), outputs))
}

/// Averages vectors that are given at the nodes over the nodes of each row.
fn averaged(at_nodes: &[f64], data: &Measurements) -> Vec<f64> {
    let outputs = data.dims().state;
    let (mut rows, mut nodes) = (vec![0.0; outputs * data.len()], at_nodes.chunks_exact(outputs));
    for (i, row) in rows.chunks_exact_mut(outputs).enumerate() {
        for (w, value) in data.average(i).weights.iter().zip(&mut nodes) {
            axpy(*w, value, row);
        }
    }
    rows
}
