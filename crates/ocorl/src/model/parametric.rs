//! Physics with unknown parameters θ as a prior mean: at each training θ is estimated from all data.
//!
//! ```text
//! min_q Σ_ij ρ((yᵢⱼ − m_j(zᵢ; θ))²/s_j²) + Σ_k (q_k/w)²,   θ_k = θ̄_k + |θ̄_k| q_k,   ρ(r) = 2 (√(1 + r) − 1)
//! ```
//!
//! θ̄ are the declared values. ρ is quadratic for small residuals and linear for large ones, so rows that the physics do not describe (dry
//! friction at rest, outliers) count less. s_j is the typical residual of output j with the declared values, at least its noise. The second
//! term keeps parameters that the data do not determine near their declared values; w = 0.5 allows about ±50 %. A parameter declared as 0
//! is measured in its own unit. Solved by the method of Levenberg and Marquardt with weights; O(N p) evaluations of m and O(N p²) per step.

use super::mean::{FittedMean, Mean, Physics};
use super::state::residuals;
use crate::linalg::{Cholesky, Dims};
use crate::measurements::Measurements;
use crate::system::{Build, Dynamics};

/// Standard deviation of a parameter, relative to its declared value.
const WIDTH: f64 = 0.5;
/// Step of the differences that replace derivatives with respect to q.
const STEP: f64 = 1e-4;
/// Largest number of accepted and rejected steps.
const STEPS: usize = 40;
/// The search ends when a step gains less than this fraction of the objective.
const GAIN: f64 = 1e-8;

/// Physics some of whose parameters are estimated from the data.
///
/// ```
/// use ocorl::model::{Mean, Parametric};
/// use ocorl::system::Benchmark;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let values: Vec<f64> = pendulum.parameters.iter().map(|p| p.value).collect();
/// let mean: Mean = Parametric::new(pendulum.build.clone(), values, vec![0]).mean();
/// # let _ = mean;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Parametric {
    pub(super) build: Build,
    pub(super) declared: Vec<f64>,
    pub(super) unknown: Vec<usize>,
}

impl Parametric {
    /// `build` creates the dynamics from the values of all parameters; `unknown` are the indices of those that are estimated.
    ///
    /// # Panics
    ///
    /// If an index is not that of a parameter.
    pub fn new(build: Build, declared: Vec<f64>, unknown: Vec<usize>) -> Self {
        let count = declared.len();
        assert!(unknown.iter().all(|&k| k < count), "{unknown:?} are not all indices of {count} parameters");
        Parametric { build, declared, unknown }
    }

    /// The dynamics with the declared values.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        (self.build)(&self.declared)
    }

    /// The prior mean; known physics if no parameter is unknown.
    pub fn mean(self) -> Mean {
        if self.unknown.is_empty() { Mean::Physics(self.physics(&[])) } else { Mean::Parametric(self) }
    }

    pub(super) fn dims(&self) -> Dims {
        self.dynamics().dims()
    }

    /// All parameters for the unknowns q.
    fn values(&self, q: &[f64]) -> Vec<f64> {
        let mut values = self.declared.clone();
        for (&k, q) in self.unknown.iter().zip(q) {
            let size = if values[k] == 0.0 { 1.0 } else { values[k].abs() };
            values[k] += size * q;
        }
        values
    }

    fn physics(&self, q: &[f64]) -> Physics {
        let (build, values) = (self.build.clone(), self.values(q));
        let estimated = self.unknown.iter().map(|&k| (k, values[k])).collect();
        Physics::new(move || build(&values)).with_estimated(estimated)
    }

    /// The physics with the parameters that explain `data` best.
    pub(super) fn fit(&self, data: &Measurements) -> Physics {
        let mut problem = Problem { parametric: self, data, scale: Vec::new() };
        let mut q = vec![0.0; self.unknown.len()];
        let Some(mut now) = problem.residuals(&q).filter(|r| !r.is_empty()) else { return self.physics(&q) };
        problem.scale = problem.typical(&now);
        let (mut value, mut damping) = (problem.objective(&now, &q), 1e-3);
        for _ in 0..STEPS {
            let Some(step) = problem.step(&now, &q, damping) else { break };
            let next: Vec<f64> = q.iter().zip(&step).map(|(q, s)| q + s).collect();
            let better = problem.residuals(&next).and_then(|r| {
                let at = problem.objective(&r, &next);
                (at < value).then_some((at, r))
            });
            match better {
                Some((at, residuals)) => {
                    let gain = (value - at) / value.max(f64::MIN_POSITIVE);
                    (value, now, q) = (at, residuals, next);
                    damping = (0.2 * damping).max(1e-9);
                    if gain < GAIN {
                        break;
                    }
                }
                None if damping > 1e6 => break,
                None => damping *= 10.0,
            }
        }
        self.physics(&q)
    }
}

struct Problem<'a> {
    parametric: &'a Parametric,
    data: &'a Measurements,
    /// s_j; infinite for an output without noise that the physics explain exactly.
    scale: Vec<f64>,
}

impl Problem<'_> {
    /// yᵢⱼ − m_j(zᵢ), row by row; `None` if one is not finite.
    fn residuals(&self, q: &[f64]) -> Option<Vec<f64>> {
        let mean = FittedMean::Physics(self.parametric.physics(q));
        residuals(&mean, self.data).ok().map(|r| r.as_slice().to_vec())
    }

    /// For each output 1.5 times the median magnitude of its residuals, at least its median noise.
    fn typical(&self, now: &[f64]) -> Vec<f64> {
        let outputs = self.data.dims().state;
        let middle = |mut v: Vec<f64>| {
            v.sort_by(f64::total_cmp);
            v[v.len() / 2]
        };
        let scale = |j: usize| {
            let noise = middle(self.data.noise_std().iter().map(|s| s[j]).collect());
            let residual = middle(now.iter().skip(j).step_by(outputs).map(|r| r.abs()).collect());
            let scale = noise.max(1.5 * residual);
            if scale > 0.0 { scale } else { f64::INFINITY }
        };
        (0..outputs).map(scale).collect()
    }

    fn objective(&self, now: &[f64], q: &[f64]) -> f64 {
        let each = now.iter().zip(self.scale.iter().cycle()).map(|(r, s)| (r / s).powi(2));
        let data: f64 = each.map(|square| 2.0 * ((1.0 + square).sqrt() - 1.0)).sum();
        data + q.iter().map(|q| (q / WIDTH).powi(2)).sum::<f64>()
    }

    /// The Levenberg–Marquardt step from q, whose residuals are `now`.
    fn step(&self, now: &[f64], q: &[f64], damping: f64) -> Option<Vec<f64>> {
        let p = q.len();
        let mut columns = Vec::with_capacity(p);
        for k in 0..p {
            let at = |h: f64| {
                let mut moved = q.to_vec();
                moved[k] += h;
                self.residuals(&moved)
            };
            let (up, down) = (at(STEP)?, at(-STEP)?);
            columns.push(up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * STEP)).collect::<Vec<f64>>());
        }
        // ρ′ is the weight of a squared residual.
        let weight = |(r, s): (&f64, &f64)| 1.0 / (s * s * (1.0 + (r / s).powi(2)).sqrt());
        let weights: Vec<f64> = now.iter().zip(self.scale.iter().cycle()).map(weight).collect();
        let dot =
            |a: &[f64], b: &[f64]| a.iter().zip(b).zip(&weights).map(|((a, b), w)| w * a * b).sum::<f64>();
        let mut matrix = vec![0.0; p * p];
        let mut step = vec![0.0; p];
        for a in 0..p {
            for b in a..p {
                matrix[a * p + b] = dot(&columns[a], &columns[b]);
            }
            matrix[a * p + a] = (matrix[a * p + a] + WIDTH.powi(-2)) * (1.0 + damping);
            step[a] = -dot(&columns[a], now) - q[a] / (WIDTH * WIDTH);
        }
        let factor = Cholesky::new(&matrix, p).ok()?;
        factor.solve_lower(&mut step, 1);
        factor.solve_transposed(&mut step, 1);
        step.iter().all(|s| s.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Points;
    use crate::random::Stream;
    use crate::system::Benchmark;

    /// Derivatives of a cart pole with a heavier pole at random points; a share of the rows is wrong.
    fn data(wrong: f64) -> (Parametric, Vec<f64>, Measurements) {
        let mut cart = Benchmark::find("cart-pole").unwrap();
        let declared: Vec<f64> = cart.parameters.iter().map(|p| p.value).collect();
        let all: Vec<usize> = (0..declared.len()).collect();
        let parametric = Parametric::new(cart.build.clone(), declared, all);
        for (p, factor) in cart.parameters.iter_mut().zip([1.3, 0.8, 1.1, 1.2]) {
            p.value *= factor;
        }
        let truth: Vec<f64> = cart.parameters.iter().map(|p| p.value).collect();
        let (mut f, dims, mut rng) = (cart.dynamics(), cart.task.dims(), Stream::root(3).rng());
        let mut data = Measurements::new(dims);
        for i in 0..200 {
            let z: Vec<f64> = (0..dims.point()).map(|_| rng.uniform(-2.0, 2.0)).collect();
            let mut slope = vec![0.0; dims.state];
            f.derivative(Points::single(&z), &mut slope);
            let off = if rng.unit() < wrong { 100.0 } else { 0.0 };
            for s in &mut slope {
                *s += off + 0.01 * rng.normal();
            }
            let (x, u) = z.split_at(dims.state);
            data.push(f64::from(i), x, u, &slope, &vec![0.01; dims.state]).unwrap();
        }
        (parametric, truth, data)
    }

    #[test]
    fn parameters_are_found_from_derivatives_also_with_wrong_rows() {
        for wrong in [0.0, 0.1] {
            let (parametric, truth, data) = data(wrong);
            let physics = parametric.fit(&data);
            let mut f = physics.dynamics();
            let mut reference = (parametric.build)(&truth);
            let (mut a, mut b, dims) = (vec![0.0; 4], vec![0.0; 4], data.dims());
            for i in 0..20 {
                let z = Points::new(data.points().at(i), dims.point());
                f.derivative(z, &mut a);
                reference.derivative(z, &mut b);
                let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                // The robust loss bends an estimate by the wrong rows by less than a few of their noise.
                assert!(off < 0.02 + 2.0 * wrong, "share {wrong}: {off} at row {i}");
            }
        }
    }

    #[test]
    fn without_data_the_declared_values_are_kept() {
        let (parametric, _, data) = data(0.0);
        let physics = parametric.fit(&Measurements::new(data.dims()));
        assert!(physics.estimated().iter().all(|&(k, value)| value == parametric.declared[k]));
    }
}
