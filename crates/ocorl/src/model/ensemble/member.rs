//! One member of the ensemble: the sum of a trained network and a fixed random network, the prior function.
//!
//! ```text
//! f_m(e) = g(e; θ_m) + κ p_m(e),   p_m = Σ_h v_mh tanh(w_h·e + b_h),   Σ_m v_m = 0
//! ```
//!
//! The w, b and v are random and never trained; all members share w and b. Because the v_m sum to zero, the prior functions do not
//! change the mean μ; they only determine the spread of the members.
//!
//! Training fits the sum to the data for every p_m. Away from the data nothing aligns the members, so their spread grows to that of
//! the prior functions, κ times the standard deviation of the data \[Osb18\].

use super::adam::{Adam, rate_at};
use super::lanes::padded;
use super::network::Shape;
use super::rows::TrainingRows;
use super::{EnsembleSettings, PRIOR_UNITS};
use crate::linalg::small::axpy;
use crate::linalg::{Cholesky, Pool};
use crate::random::Stream;

/// Number of points of a batch that are evaluated together.
pub(super) const CHUNK: usize = 32;

/// Standard deviations of the weights of the prior function, in units of 1/√inputs, and of the initial weights of the trained
/// network.
const PRIOR_GAIN: f64 = 1.5;
const GAIN: f64 = 1.2;

/// λ: the weight decay of Adam.
const DECAY: f64 = 0.01;

/// τ: the prior standard deviation of the output weights in the ridge regression.
const OUTPUT_STD: f64 = 1.0;

/// The sizes of the two networks of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shapes {
    pub(super) trained: Shape,
    pub(super) prior: Shape,
}

impl Shapes {
    pub(super) fn new(inputs: usize, outputs: usize, settings: &EnsembleSettings) -> Self {
        let EnsembleSettings { hidden, layers, .. } = *settings;
        Shapes {
            trained: Shape { inputs, hidden, layers, outputs },
            prior: Shape { inputs, hidden: PRIOR_UNITS, layers: 1, outputs },
        }
    }

    /// Count of the scratch numbers that [`Member::evaluate`] needs for `count` points.
    fn memory(&self, count: usize) -> usize {
        self.trained.memory(count).max(self.prior.memory(count))
    }

    fn deltas(&self, count: usize) -> usize {
        2 * count * self.trained.hidden.max(self.prior.hidden)
    }
}

/// A trained network and its prior function.
#[derive(Clone, Debug)]
pub(super) struct Member {
    shapes: Shapes,
    /// The trained parameters θ_m.
    trained: Vec<f64>,
    /// The parameters of κ p_m.
    prior: Vec<f64>,
    /// The random stream of this member's noise sample.
    stream: Stream,
}

impl Member {
    /// Creates all members with random networks. Before training f_m = κ p_m, whose mean over the members is zero.
    pub(super) fn all(shapes: Shapes, settings: &EnsembleSettings, stream: Stream) -> Vec<Member> {
        let (columns, units) = (shapes.prior.features(), shapes.prior.hidden);
        let shared = shapes.prior.random(PRIOR_GAIN, &mut stream.child("prior").rng());
        let count = settings.members as f64;
        // tanh of these sums has a mean square of 0.6; centring reduces the variance by 1/P.
        let std = settings.prior / (0.6 * units as f64 * (1.0 - 1.0 / count)).sqrt();
        let draws = |m: usize| {
            let mut rng = stream.child("prior").index(m).rng();
            (0..shapes.prior.outputs * units).map(|_| std * rng.normal()).collect()
        };
        let weights: Vec<Vec<f64>> = (0..settings.members).map(draws).collect();
        let member = |m: usize| {
            let mut prior = shared.clone();
            let rows = shapes.prior.output_layer(&mut prior).0.chunks_exact_mut(columns);
            for (j, row) in rows.enumerate() {
                for (h, v) in row[..units].iter_mut().enumerate() {
                    let at = j * units + h;
                    *v = weights[m][at] - weights.iter().map(|w| w[at]).sum::<f64>() / count;
                }
            }
            let stream = stream.child("member").index(m);
            let trained = shapes.trained.random(GAIN, &mut stream.child("weights").rng());
            Member { shapes, trained, prior, stream }
        };
        (0..settings.members).map(member).collect()
    }

    /// Evaluates f_m at `count` stored points (rows of `e`), one row for each output. Unless `gradients` is empty it also computes
    /// ∂f_m/∂e: for each output one row for each input.
    pub(super) fn evaluate(
        &self,
        e: &[f64],
        count: usize,
        values: &mut [f64],
        gradients: &mut [f64],
        pool: &mut Pool,
    ) {
        let Shapes { trained, prior } = self.shapes;
        let mut memory = pool.take(self.shapes.memory(count));
        let mut delta = pool.take(self.shapes.deltas(count));
        let mut part = pool.take(values.len().max(trained.inputs * count));
        for (shape, parameters, first) in [(trained, &self.trained, true), (prior, &self.prior, false)] {
            let memory = &mut memory[..shape.memory(count)];
            shape.forward(parameters, e, count, memory);
            let size = values.len();
            shape.values(parameters, memory, count, &mut part[..size]);
            put(first, &part[..size], values);
            let size = shape.inputs * count;
            for (j, gradient) in gradients.chunks_exact_mut(size).enumerate() {
                shape.input_gradient(parameters, memory, count, j, &mut delta, &mut part[..size]);
                put(first, &part[..size], gradient);
            }
        }
        pool.give(part);
        pool.give(delta);
        pool.give(memory);
    }

    /// Predicts f_m for the given rows of the data, averaged over their nodes, row by row.
    pub(super) fn predict(&self, data: &TrainingRows, rows: &[usize]) -> Vec<f64> {
        let mut out = vec![0.0; rows.len() * data.outputs];
        self.over_rows(data, rows, |i, weight, values| axpy(weight, values, &mut out[i..i + values.len()]));
        out
    }

    /// Calls `take` for each node of the given rows with the index of the row's first output, the node's weight, and f_m at the
    /// node.
    fn over_rows(&self, data: &TrainingRows, rows: &[usize], mut take: impl FnMut(usize, f64, &[f64])) {
        let (mut e, mut values, mut pool) = (Vec::new(), Vec::new(), Pool::default());
        let mut at = vec![0.0; data.outputs];
        for (k, chunk) in rows.chunks(CHUNK).enumerate() {
            let nodes = data.gather(chunk, &mut e);
            let count = padded(nodes);
            values.resize(data.outputs * count, 0.0);
            self.evaluate(&e, count, &mut values, &mut [], &mut pool);
            let mut p = 0;
            for (i, &row) in chunk.iter().enumerate() {
                for weight in data.weights(row) {
                    at.iter_mut().enumerate().for_each(|(j, at)| *at = values[j * count + p]);
                    take((k * CHUNK + i) * data.outputs, *weight, &at);
                    p += 1;
                }
            }
        }
    }

    /// The training targets of this member's network: the data plus a noise sample, less κ p_m.
    pub(super) fn targets(&self, data: &TrainingRows) -> Vec<f64> {
        let rows: Vec<usize> = (0..data.len()).collect();
        let blank = Member { trained: vec![0.0; self.trained.len()], ..self.clone() };
        let prior = blank.predict(data, &rows);
        // Sampled row by row, so that later rows do not change the samples of earlier ones.
        let mut rng = self.stream.child("noise").rng();
        let measured = data.targets.iter().zip(&data.noise);
        measured.zip(prior).map(|((y, noise), prior)| y + noise * rng.normal() - prior).collect()
    }

    /// Minimises the weighted mean square of f_m − y over `rows` by `steps` steps of Adam with batches of `batch` rows.
    ///
    /// Cost: `steps` · min(`batch`, rows) evaluations of the network and its gradient, independent of the number of rows.
    pub(super) fn descend(&mut self, data: &TrainingRows, targets: &[f64], rows: &[usize], search: Search) {
        let (shape, outputs) = (self.shapes.trained, data.outputs);
        let mut order = rows.to_vec();
        let (mut rng, mut next) = (self.stream.child("order").child(search.name).rng(), order.len());
        let size = search.batch.min(rows.len());
        let mut adam = Adam::new(shape.parameters(), DECAY);
        let mut gradient = vec![0.0; shape.parameters()];
        let (mut e, mut memory, mut delta) = (Vec::new(), Vec::new(), Vec::new());
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        for step in 0..search.steps {
            if next + size > order.len() {
                if size < order.len() {
                    shuffle(&mut order, |n| rng.below(n));
                }
                next = 0;
            }
            let batch = &order[next..next + size];
            next += size;
            let whole = step > 0 && size == order.len();
            // A batch with the same rows as in the previous step is reused.
            let nodes = if whole { data.nodes_of(batch) } else { data.gather(batch, &mut e) };
            let count = padded(nodes);
            memory.resize(shape.memory(count), 0.0);
            delta.resize(self.shapes.deltas(count), 0.0);
            values.resize(outputs * count, 0.0);
            errors.resize(outputs * count, 0.0);
            shape.forward(&self.trained, &e, count, &mut memory);
            shape.values(&self.trained, &memory, count, &mut values);
            data.errors(batch, targets, count, &values, &mut errors);
            shape.parameter_gradient(&self.trained, &memory, count, &errors, &mut delta, &mut gradient);
            adam.step(rate_at(search.rate, step, search.steps), &gradient, &mut self.trained);
        }
    }

    /// Solves for the output layer by ridge regression on the last hidden layer and the inputs; all other weights stay fixed.
    ///
    /// ```text
    /// v_j = argmin Σ_i ω_ij (φ_iᵀ v − y_ij)² + ‖v‖²/(τ² κ_j),   φ_i = (h_L, e, 1) averaged over the nodes of row i
    /// ```
    ///
    /// κ_j ω_ij = 1/noise² of the measurement. O(rows · features²).
    pub(super) fn solve_output(&mut self, data: &TrainingRows, targets: &[f64], rows: &[usize]) {
        let (shape, outputs) = (self.shapes.trained, data.outputs);
        let width = shape.features() + 1;
        let mut sums: Vec<NormalEquations> =
            data.weight_groups().into_iter().map(|group| NormalEquations::new(group, width)).collect();
        let (mut e, mut memory, mut phi) = (Vec::new(), Vec::new(), vec![0.0; width]);
        for chunk in rows.chunks(CHUNK) {
            let count = padded(data.gather(chunk, &mut e));
            memory.resize(shape.memory(count), 0.0);
            shape.forward(&self.trained, &e, count, &mut memory);
            let (seen, mut p) = (shape.seen(&memory, count), 0);
            for &row in chunk {
                phi.fill(0.0);
                for weight in data.weights(row) {
                    for (phi, unit) in phi.iter_mut().zip(seen.chunks_exact(count)) {
                        *phi += weight * unit[p];
                    }
                    phi[width - 1] += weight;
                    p += 1;
                }
                let (y, omega) = (&targets[row * outputs..][..outputs], data.loss_weights(row));
                for sum in &mut sums {
                    sum.add(&phi, omega, y);
                }
            }
        }
        let (weights, bias) = shape.output_layer(&mut self.trained);
        for sum in sums {
            for (k, &j) in sum.outputs.iter().enumerate() {
                if let Some(solution) = sum.solve(k, 1.0 / (OUTPUT_STD * OUTPUT_STD * data.precision[j])) {
                    weights[j * (width - 1)..(j + 1) * (width - 1)].copy_from_slice(&solution[..width - 1]);
                    bias[j] = solution[width - 1];
                }
            }
        }
    }
}

/// Assigns `to` ← `from` if `first`, and adds `to` ← `to` + `from` otherwise.
fn put(first: bool, from: &[f64], to: &mut [f64]) {
    if first {
        to.copy_from_slice(from);
    } else {
        axpy(1.0, from, to);
    }
}

/// Shuffles the order uniformly (Fisher and Yates).
pub(super) fn shuffle(order: &mut [usize], mut below: impl FnMut(usize) -> usize) {
    for i in (1..order.len()).rev() {
        order.swap(i, below(i + 1));
    }
}

/// The settings of one optimisation with Adam.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// The name of its random stream.
    pub(super) name: &'static str,
    pub(super) steps: usize,
    pub(super) batch: usize,
    pub(super) rate: f64,
}

/// The normal equations Σ ω φ φᵀ and Σ ω φ y of outputs that have equal weights ω.
struct NormalEquations {
    outputs: Vec<usize>,
    width: usize,
    /// Σ ω φ φᵀ, column-major; only the lower triangle is used.
    gram: Vec<f64>,
    /// One right-hand side Σ ω φ y for each output.
    right: Vec<f64>,
}

impl NormalEquations {
    fn new(outputs: Vec<usize>, width: usize) -> Self {
        let right = vec![0.0; width * outputs.len()];
        NormalEquations { outputs, width, gram: vec![0.0; width * width], right }
    }

    fn add(&mut self, phi: &[f64], omega: &[f64], y: &[f64]) {
        let omega = omega[self.outputs[0]];
        for (c, column) in self.gram.chunks_exact_mut(self.width).enumerate() {
            axpy(omega * phi[c], &phi[c..], &mut column[c..]);
        }
        for (&j, right) in self.outputs.iter().zip(self.right.chunks_exact_mut(self.width)) {
            axpy(omega * y[j], phi, right);
        }
    }

    /// Solves (Σ ω φ φᵀ + `ridge` I)⁻¹ Σ ω φ y for output `k`; `None` if the matrix is not positive definite.
    fn solve(&self, k: usize, ridge: f64) -> Option<Vec<f64>> {
        let mut matrix = self.gram.clone();
        for i in 0..self.width {
            matrix[i * self.width + i] += ridge;
            for c in 0..i {
                matrix[i * self.width + c] = matrix[c * self.width + i];
            }
        }
        let factor = Cholesky::new(&matrix, self.width).ok()?;
        let mut v = self.right[k * self.width..(k + 1) * self.width].to_vec();
        factor.solve_lower(&mut v, 1);
        factor.solve_transposed(&mut v, 1);
        Some(v)
    }
}
