//! Estimation of the trajectory between measured states.
//!
//! The first estimate is a smooth curve in time through the states. With a model of f the trajectory is estimated from
//!
//! ```text
//! ẋ = μ(x, u(t)) + e,   e ~ N(0, σ²) constant between measurements,   yᵢ = x(tᵢ) + εᵢ,   x(0) known
//! ```
//!
//! The model error e distributes over an interval what the model's prediction misses at its end; noisy states are corrected within
//! their noise. Linearised about the present trajectory X̂, at the nodes of Gauss–Legendre quadrature in each interval (collocation
//! of order 2Q),
//!
//! ```text
//! X_q = x + Δ Σ_r a_qr (μ_r + J_r (X_r − X̂_r)) + c_q Δ e,   x⁺ = x + Δ Σ_r b_r (μ_r + J_r (X_r − X̂_r)) + Δ e
//! ```
//!
//! x⁺ = F x + G e + d and the measured states define a Kalman smoother over the run: exact for the linearised problem, and one
//! Gauss–Newton step for the nonlinear one. O(M (Q dₓ)³) for M intervals, in addition to one batch evaluation of the model at all
//! nodes.

use super::dense::Matrix;
use super::quadrature::Rule;
use super::record::Record;
use super::smoothing::Smoother;
use crate::linalg::Linearization;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The model's predictions at the nodes.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    /// The mean μ and its Jacobians.
    pub(super) mean: &'a Linearization,
    /// The standard deviations σ: dₓ numbers for each node.
    pub(super) std: &'a [f64],
    /// Index of the path's first node in the batch.
    pub(super) first: usize,
    /// For each state the factor by which σ underestimates model errors on new runs.
    pub(super) variance_inflation: &'a [f64],
}

/// The result of one refinement step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The largest change of a node, as a fraction of the range of its state.
    pub(super) change: f64,
    /// Mean of (e/σ)² over the intervals, for each state: the squared model error relative to the model's own variance.
    pub(super) normalized_squared_error: Vec<f64>,
}

/// The estimated trajectory between two measured states.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) rule: Arc<Rule>,
    pub(super) width: f64,
    /// States x at the nodes, one after the other.
    pub(super) states: Vec<f64>,
    /// Controls u at the nodes, from polynomials with the same integrals.
    pub(super) controls: Vec<f64>,
    /// Standard deviation of the average of f that is due to the uncertain trajectory, for each state.
    pub(super) path_std: Vec<f64>,
    /// True if the trajectory is known well enough to learn from it.
    pub(super) usable: bool,
    /// True if an angle turns so far in this interval that its trajectory cannot be known well enough.
    large_turn: bool,
}

/// The estimated trajectory of one run.
#[derive(Clone, Debug)]
pub struct Path {
    pub(super) intervals: Vec<Interval>,
    /// The smallest and the largest value of each state in the first estimate, a reference for later ones.
    range: Vec<(f64, f64)>,
}

/// Number of nodes of an interval that covers the whole horizon; shorter intervals have a proportional number plus two.
const NODES: f64 = 30.0;

/// Largest number of nodes of an interval.
const MOST_NODES: usize = 24;

/// Lower limit of the model error e, as a fraction of the mean derivatives of the run.
const MIN_MODEL_ERROR: f64 = 1e-3;

/// A trajectory that still changes by more than this fraction of the range of a state is not used for learning.
const MAX_CHANGE: f64 = 0.1;

/// An estimate that leaves the range of the first one by more than this multiple of its width is rejected. The multiple is large,
/// because a smooth curve in time misses a short impulse between two measurements.
const FAR: f64 = 10.0;

/// If an angle turns by more than this between two measurements, its values in between, and so the average of its sine, are
/// unreliable.
const FAR_TURN: f64 = std::f64::consts::FRAC_PI_2;

impl Path {
    /// Estimates a smooth curve in time for each state; `angles` are the indices of angles, `horizon` is the time that [`NODES`]
    /// refers to.
    pub(super) fn through(record: &Record, noise_std: &[f64], angles: &[usize], horizon: f64) -> Self {
        let (nx, n) = (record.states.size(), record.times.len());
        let curves: Vec<Option<Smoother>> = (0..nx).map(|j| curve(record, j, noise_std[j])).collect();
        let mut rules: BTreeMap<usize, Arc<Rule>> = BTreeMap::new();
        let mut controls = vec![0.0; record.controls.size()];
        let mut interval = |i: usize| {
            let (from, width) = (record.times[i], record.times[i + 1] - record.times[i]);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small positive number"
            )]
            let count = (2 + (NODES * width / horizon).ceil() as usize).min(MOST_NODES);
            let turn = |&a: &usize| (record.states.at(i + 1)[a] - record.states.at(i)[a]).abs();
            let large_turn = angles.iter().map(turn).any(|turn| turn > FAR_TURN);
            let rule = rules.entry(count).or_insert_with(|| Arc::new(Rule::new(count))).clone();
            let mut states = Vec::with_capacity(count * nx);
            for c in &rule.nodes {
                for (j, curve) in curves.iter().enumerate() {
                    // Linear interpolation if the smoother could not be fitted.
                    let (a, b) = (record.states.at(i)[j], record.states.at(i + 1)[j]);
                    states.push(curve.as_ref().map_or(a + c * (b - a), |s| s.at(from + c * width).value));
                }
            }
            let controls = rule.project(controls.len(), |tau, out| {
                record.controls.at(from + tau * width, &mut controls);
                out.copy_from_slice(&controls);
            });
            Interval {
                rule,
                width,
                states,
                controls,
                path_std: vec![0.0; nx],
                usable: !large_turn,
                large_turn,
            }
        };
        let intervals: Vec<Interval> = (0..n - 1).map(&mut interval).collect();
        let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); nx];
        for x in intervals.iter().flat_map(|i| i.states.chunks_exact(nx)).chain(record.states.iter()) {
            for (r, x) in range.iter_mut().zip(x) {
                *r = (r.0.min(*x), r.1.max(*x));
            }
        }
        Path { intervals, range }
    }

    /// Sets state `state` of the first estimate at all nodes.
    pub(super) fn fill(&mut self, record: &Record, state: usize, value: impl Fn(f64) -> f64) {
        let (nx, range) = (record.states.size(), &mut self.range[state]);
        *range = record
            .states
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |r, x| (r.0.min(x[state]), r.1.max(x[state])));
        for (interval, from) in self.intervals.iter_mut().zip(&record.times) {
            for (c, x) in interval.rule.nodes.iter().zip(interval.states.chunks_exact_mut(nx)) {
                x[state] = value(from + c * interval.width);
                *range = (range.0.min(x[state]), range.1.max(x[state]));
            }
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.intervals.iter().map(|i| i.rule.len()).sum()
    }

    /// True if no state was measured.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Appends z = (x, u) at all nodes to `out`.
    pub(super) fn add_points(&self, nx: usize, out: &mut Vec<f64>) {
        for interval in &self.intervals {
            interval.add_points(nx, out);
        }
    }

    /// Takes one step towards the most probable trajectory given the model and the measured states. From the first interval on in
    /// which the estimate is rejected, the trajectory is kept and marked as not usable. `None` if that is the first interval.
    pub(super) fn refine(&mut self, record: &Record, noise_std: &[f64], field: Field<'_>) -> Option<Step> {
        let (mut count, mut step) = (self.intervals.len(), None);
        while count > 0 && step.is_none() {
            match self.step(record, noise_std, field, count) {
                Ok(done) => step = Some(done),
                Err(bad) => count = bad,
            }
        }
        for interval in &mut self.intervals[count..] {
            interval.usable = false;
        }
        step
    }

    /// Refines the first `count` intervals. Fails with the index of the first interval in which the estimate is rejected.
    fn step(
        &mut self,
        record: &Record,
        noise_std: &[f64],
        field: Field<'_>,
        count: usize,
    ) -> Result<Step, usize> {
        let nx = noise_std.len();
        let least = min_model_error(record);
        let mut maps = Vec::with_capacity(count);
        let mut first = field.first;
        for (i, interval) in self.intervals[..count].iter().enumerate() {
            maps.push(Map::of(interval, Field { first, ..field }, &least).ok_or(i)?);
            first += interval.rule.len();
        }
        let states = smooth(record, noise_std, &maps).ok_or(count - 1)?;
        let mut fresh = Vec::with_capacity(maps.len());
        for (map, at) in maps.iter().zip(&states) {
            fresh.push(map.nodes.times(at).plus(1.0, &map.offsets).numbers);
        }
        let inside = |x: &[f64]| {
            x.iter().zip(&self.range).all(|(x, (low, high))| {
                let margin = FAR * (high - low);
                *x >= low - margin && *x <= high + margin
            })
        };
        if let Some(bad) = fresh.iter().position(|x| !x.chunks_exact(nx).all(inside)) {
            return Err(bad);
        }
        let mut normalized_squared_error = vec![0.0; nx];
        for (map, at) in maps.iter().zip(&states) {
            for (j, sum) in normalized_squared_error.iter_mut().enumerate() {
                *sum +=
                    at.get(nx + j, 0).powi(2) / map.square[j].max(least[j] * least[j]) / maps.len() as f64;
            }
        }
        let mut change = 0.0_f64;
        for ((interval, fresh), map) in self.intervals.iter_mut().zip(fresh).zip(&maps) {
            // The uncertainty of a node is at least its last change.
            let mut moved = vec![0.0; nx];
            for (k, (new, old)) in fresh.iter().zip(&interval.states).enumerate() {
                let (low, high) = self.range[k % nx];
                change = change.max((new - old).abs() / (high - low).max(f64::MIN_POSITIVE));
                moved[k % nx] += interval.rule.weights[k / nx] * (new - old).powi(2);
            }
            let part = |(m, (low, high)): (&f64, &(f64, f64))| m.sqrt() / (high - low).max(f64::MIN_POSITIVE);
            interval.usable = moved.iter().zip(&self.range).map(part).all(|part| part <= MAX_CHANGE)
                && !interval.large_turn;
            interval.states = fresh;
            interval.path_std = map.path_std(&moved);
        }
        Ok(Step { change, normalized_squared_error })
    }
}

impl Interval {
    /// Appends z = (x, u) at its nodes to `out`.
    pub(super) fn add_points(&self, nx: usize, out: &mut Vec<f64>) {
        let nu = self.controls.len() / self.rule.len();
        for q in 0..self.rule.len() {
            out.extend_from_slice(&self.states[q * nx..(q + 1) * nx]);
            out.extend_from_slice(&self.controls[q * nu..(q + 1) * nu]);
        }
    }
}

/// A smooth curve in time through the measured values of a state; its first value is known. `None` if it cannot be fitted.
pub(super) fn curve(record: &Record, state: usize, noise_std: f64) -> Option<Smoother> {
    let y: Vec<f64> = record.states.iter().map(|x| x[state]).collect();
    let noise: Vec<f64> = (0..y.len()).map(|i| if i == 0 { 0.0 } else { noise_std }).collect();
    Smoother::fit(&record.times, &y, &noise)
}

/// Lower limit of the model error for each state: a fraction of the root mean square of the measured mean derivatives.
fn min_model_error(record: &Record) -> Vec<f64> {
    let (nx, n) = (record.states.size(), record.len());
    let rate = |i: usize, j: usize| {
        (record.states.at(i + 1)[j] - record.states.at(i)[j]) / (record.times[i + 1] - record.times[i])
    };
    let mean = |j: usize| ((0..n).map(|i| rate(i, j).powi(2)).sum::<f64>() / n as f64).sqrt();
    (0..nx).map(|j| (MIN_MODEL_ERROR * mean(j)).max(1e-12)).collect()
}

/// The linearised dynamics of one interval: x⁺ and all X_q as affine functions of (x, e).
struct Map {
    /// The transition matrix [F G].
    transition: Matrix,
    /// The offset d.
    offset: Matrix,
    /// X as a function of (x, e): Q dₓ × 2 dₓ.
    nodes: Matrix,
    offsets: Matrix,
    /// The variances of the model error e.
    error_variance: Vec<f64>,
    /// The mean of σ² over the interval.
    square: Vec<f64>,
    /// The mean of ∂μ/∂x over the interval.
    slope: Matrix,
    width: f64,
}

impl Map {
    fn of(interval: &Interval, field: Field<'_>, least: &[f64]) -> Option<Map> {
        let (rule, width, nx) = (&interval.rule, interval.width, least.len());
        let count = rule.len();
        let dim = field.mean.jacobian.size() / nx;
        let slope = |r: usize, j: usize, k: usize| field.mean.jacobian.at(field.first + r)[j * dim + k];
        // The constant term μ_r − J_r X̂_r.
        let rest = |r: usize, j: usize| {
            let known: f64 = (0..nx).map(|k| slope(r, j, k) * interval.states[r * nx + k]).sum();
            field.mean.value.at(field.first + r)[j] - known
        };
        let mut matrix = Matrix::diagonal(&vec![1.0; count * nx]);
        let mut right = Matrix::zeros(count * nx, 2 * nx + 1);
        for q in 0..count {
            for j in 0..nx {
                let row = q * nx + j;
                *right.at(row, j) = 1.0;
                *right.at(row, nx + j) = rule.nodes[q] * width;
                for r in 0..count {
                    let a = width * rule.cumulative[q * count + r];
                    *right.at(row, 2 * nx) += a * rest(r, j);
                    for k in 0..nx {
                        *matrix.at(row, r * nx + k) -= a * slope(r, j, k);
                    }
                }
            }
        }
        let solved = matrix.solve(right)?;
        let mut end = Matrix::zeros(nx, 2 * nx + 1);
        for j in 0..nx {
            *end.at(j, j) += 1.0;
            *end.at(j, nx + j) += width;
            for r in 0..count {
                let b = width * rule.weights[r];
                *end.at(j, 2 * nx) += b * rest(r, j);
                for k in 0..nx {
                    for column in 0..=2 * nx {
                        *end.at(j, column) += b * slope(r, j, k) * solved.get(r * nx + k, column);
                    }
                }
            }
        }
        let std = |r: usize, j: usize| field.std[(field.first + r) * nx + j];
        let mean_square = |j: usize| (0..count).map(|r| rule.weights[r] * std(r, j).powi(2)).sum::<f64>();
        let square: Vec<f64> = (0..nx).map(mean_square).collect();
        let variance = |j: usize| (field.variance_inflation[j].powi(2) * square[j]).max(least[j] * least[j]);
        let mut average = Matrix::zeros(nx, nx);
        for (j, k) in (0..nx).flat_map(|j| (0..nx).map(move |k| (j, k))) {
            *average.at(j, k) = (0..count).map(|r| rule.weights[r] * slope(r, j, k)).sum();
        }
        Some(Map {
            transition: end.block(0..nx, 0..2 * nx),
            offset: end.block(0..nx, 2 * nx..2 * nx + 1),
            nodes: solved.block(0..count * nx, 0..2 * nx),
            offsets: solved.block(0..count * nx, 2 * nx..2 * nx + 1),
            error_variance: (0..nx).map(variance).collect(),
            square,
            slope: average,
            width,
        })
    }

    /// Standard deviation of the average of f because e is not exactly constant, which displaces the trajectory by Δ/[`DEVIATION`]
    /// times e, and because nodes have `moved` in the last step (mean squares).
    fn path_std(&self, moved: &[f64]) -> Vec<f64> {
        let nx = moved.len();
        let off = |k: usize| self.error_variance[k] * (self.width / DEVIATION).powi(2) + moved[k];
        (0..nx).map(|j| (0..nx).map(|k| self.slope.get(j, k).powi(2) * off(k)).sum::<f64>().sqrt()).collect()
    }
}

/// The trajectory between two known states deviates by Δ/`DEVIATION` times σ on average.
const DEVIATION: f64 = 8.0;

/// Estimates (x, e) at the beginning of each interval given all measured states: a Kalman filter forwards, the Rauch–Tung–Striebel
/// smoother backwards [Rau65]. `None` if a covariance is singular.
fn smooth(record: &Record, noise_std: &[f64], maps: &[Map]) -> Option<Vec<Matrix>> {
    let nx = noise_std.len();
    let noise: Vec<f64> = noise_std.iter().map(|s| s * s).collect();
    let mut mean = Matrix::column(record.states.at(0).to_vec());
    let mut covariance = Matrix::zeros(nx, nx);
    // For each interval: (x, e) before its end is measured, the covariance with x⁺, the covariance of x⁺, and the predicted x⁺.
    let mut steps = Vec::with_capacity(maps.len());
    for (i, map) in maps.iter().enumerate() {
        let stacked = Matrix::column(mean.numbers.iter().copied().chain(vec![0.0; nx]).collect());
        let mut spread = Matrix::zeros(2 * nx, 2 * nx);
        for j in 0..nx {
            for k in 0..nx {
                *spread.at(j, k) = covariance.get(j, k);
            }
            *spread.at(nx + j, nx + j) = map.error_variance[j];
        }
        let predicted = map.transition.times(&stacked).plus(1.0, &map.offset);
        let across = spread.times(&map.transition.transposed());
        let ahead = map.transition.times(&across);
        // The Kalman gain K = P (P + R)⁻¹, both symmetric.
        let gain = ahead.clone().plus(1.0, &Matrix::diagonal(&noise)).solve(ahead.clone())?.transposed();
        let innovation = Matrix::column(record.states.at(i + 1).to_vec()).plus(-1.0, &predicted);
        mean = predicted.clone().plus(1.0, &gain.times(&innovation));
        covariance = ahead.clone().plus(-1.0, &gain.times(&ahead));
        for j in 0..nx {
            for k in 0..j {
                let both = 0.5 * (covariance.get(j, k) + covariance.get(k, j));
                (*covariance.at(j, k), *covariance.at(k, j)) = (both, both);
            }
        }
        steps.push((stacked, across, ahead, predicted));
    }
    let mut after = mean;
    let mut out = Vec::with_capacity(maps.len());
    for (stacked, across, ahead, predicted) in steps.into_iter().rev() {
        let correction = ahead.solve(after.plus(-1.0, &predicted))?;
        let stacked = stacked.plus(1.0, &across.times(&correction));
        after = stacked.block(0..nx, 0..1);
        out.push(stacked);
    }
    out.reverse();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Blocks;
    use crate::random::Stream;
    use crate::states::Controls;

    /// Simulates x″ = −sin x + u with u = cos t / 2, by small steps of order 4.
    fn swing(until: f64) -> [f64; 2] {
        let f = |t: f64, x: [f64; 2]| [x[1], -x[0].sin() + 0.5 * t.cos()];
        let (steps, mut x) = (2000, [1.0, 0.0]);
        let h = until / f64::from(steps);
        for i in 0..steps {
            let t = h * f64::from(i);
            let move_by = |x: [f64; 2], h: f64, k: [f64; 2]| [x[0] + h * k[0], x[1] + h * k[1]];
            let k1 = f(t, x);
            let k2 = f(t + 0.5 * h, move_by(x, 0.5 * h, k1));
            let k3 = f(t + 0.5 * h, move_by(x, 0.5 * h, k2));
            let k4 = f(t + h, move_by(x, h, k3));
            for j in 0..2 {
                x[j] += h / 6.0 * (k1[j] + 2.0 * (k2[j] + k3[j]) + k4[j]);
            }
        }
        x
    }

    fn record(noise: f64) -> Record {
        let mut rng = Stream::root(4).rng();
        let times: Vec<f64> = (0..=10).map(f64::from).collect();
        let mut states = Blocks::zeros(2, 0);
        for (i, t) in times.iter().enumerate() {
            let x = swing(*t);
            let noise = if i == 0 { 0.0 } else { noise };
            states.push(&[x[0] + noise * rng.normal(), x[1] + noise * rng.normal()]);
        }
        let fine: Vec<f64> = (0..=10_000).map(|i| 1e-3 * f64::from(i)).collect();
        let values = fine.iter().map(|t| 0.5 * t.cos()).collect();
        Record { times, states, controls: Controls::new(fine, Blocks::from_vec(values, 1)) }
    }

    /// Refines with the true f. Returns the largest changes and the root mean square errors of the nodes.
    fn refined(noise: f64, steps: usize) -> (Vec<f64>, f64, f64) {
        let (record, noise_std) = (record(noise), [noise; 2]);
        let mut path = Path::through(&record, &noise_std, &[], 10.0);
        let off = |path: &Path| {
            let (mut sum, mut count) = (0.0, 0.0);
            for (i, interval) in path.intervals.iter().enumerate() {
                for (q, c) in interval.rule.nodes.iter().enumerate() {
                    let x = swing(record.times[i] + c * interval.width);
                    sum += (0..2).map(|j| (interval.states[2 * q + j] - x[j]).powi(2)).sum::<f64>();
                    count += 2.0;
                }
            }
            (sum / count).sqrt()
        };
        let before = off(&path);
        let mut changes = Vec::new();
        for _ in 0..steps {
            let mut points = Vec::new();
            path.add_points(2, &mut points);
            let mut mean = Linearization::default();
            mean.resize(2, 3, path.len());
            for (i, z) in points.chunks_exact(3).enumerate() {
                mean.value.at_mut(i).copy_from_slice(&[z[1], -z[0].sin() + z[2]]);
                mean.jacobian.at_mut(i).copy_from_slice(&[0.0, 1.0, 0.0, -z[0].cos(), 0.0, 1.0]);
            }
            let std = vec![1e-3; 2 * path.len()];
            let field = Field { mean: &mean, std: &std, first: 0, variance_inflation: &[1.0; 2] };
            changes.push(path.refine(&record, &noise_std, field).unwrap().change);
        }
        (changes, before, off(&path))
    }

    #[test]
    fn with_the_true_dynamics_the_true_trajectory_is_recovered() {
        let (changes, before, after) = refined(1e-6, 5);
        assert!(before > 1e-3, "a curve in time is off by {before}");
        assert!(changes[4] < 1e-6 && changes[1] < 0.2 * changes[0], "{changes:?}");
        // The remaining error is that of five nodes in an interval of one second: 2e-5.
        assert!(after < 1e-4 && after < 0.1 * before, "{after}");
    }

    #[test]
    fn noise_of_states_is_smoothed_away() {
        let (_, _, after) = refined(0.05, 5);
        assert!(after < 0.6 * 0.05, "{after}");
    }
}
