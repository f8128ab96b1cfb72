//! Prior means m(z) of the Gaussian process: zero, a fitted affine function, or the user's physics.

use super::parametric::Parametric;
use crate::linalg::small::axpy;
use crate::linalg::{Blocks, Cholesky, Dims, Linearization, Points, Pool, ScratchPool};
use crate::measurements::Measurements;
use crate::system::Dynamics;
use std::sync::Arc;

/// A prior mean m(z) in physical units; the model learns the residual ẏ − m(z).
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Mean {
    /// m = 0. (Standardisation subtracts the average of the data.)
    #[default]
    Zero,
    /// m(z) = A z + b, with A and b fitted to all data by least squares at each training.
    Linear,
    /// Known physics; the model learns only the difference between them and the measurements.
    Physics(Physics),
    /// Physics with unknown parameters, which are estimated from all data at each training.
    Parametric(Parametric),
}

impl Mean {
    /// The dimensions of the physics; `None` if there are none.
    pub(super) fn physics_dims(&self) -> Option<Dims> {
        match self {
            Mean::Zero | Mean::Linear => None,
            Mean::Physics(physics) => Some(physics.dims),
            Mean::Parametric(physics) => Some(physics.dims()),
        }
    }
}

impl std::fmt::Debug for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mean::Zero => "Zero",
            Mean::Linear => "Linear",
            Mean::Physics(_) => "Physics",
            Mean::Parametric(_) => "Parametric",
        })
    }
}

/// Known physics, as many copies of them as threads evaluate the model at once: dynamics have working memory of their own, and threads
/// that plan from several starts must not wait for each other.
///
/// ```
/// use ocorl::model::{Mean, Physics};
/// use ocorl::system::Benchmark;
///
/// let mut light = Benchmark::find("pendulum")?;
/// light.set_parameter("gravity", 9.0)?;
/// let prior = Mean::Physics(Physics::new(move || light.dynamics()));
/// # let _ = prior;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Physics {
    make: Arc<dyn Fn() -> Box<dyn Dynamics> + Send + Sync>,
    dims: Dims,
    copies: Arc<ScratchPool<Evaluator>>,
    /// Index and value of each parameter that was estimated.
    estimated: Vec<(usize, f64)>,
}

/// One copy of the dynamics, with memory for their Jacobians.
struct Evaluator {
    dynamics: Box<dyn Dynamics>,
    linear: Linearization,
}

impl Evaluator {
    fn new(dynamics: Box<dyn Dynamics>) -> Self {
        Evaluator { dynamics, linear: Linearization::default() }
    }
}

impl Physics {
    /// `make` makes a copy of the dynamics; every copy must be the same function.
    pub fn new(make: impl Fn() -> Box<dyn Dynamics> + Send + Sync + 'static) -> Self {
        let first = make();
        let dims = first.dims();
        let copies = Arc::new(ScratchPool::with_first(Evaluator::new(first)));
        Physics { make: Arc::new(make), dims, copies, estimated: Vec::new() }
    }

    pub(super) fn with_estimated(mut self, estimated: Vec<(usize, f64)>) -> Self {
        self.estimated = estimated;
        self
    }

    /// Index and value of each parameter that was estimated from data; empty for known physics.
    pub fn estimated(&self) -> &[(usize, f64)] {
        &self.estimated
    }

    /// A copy of the dynamics.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        (self.make)()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Evaluator) -> T) -> T {
        self.copies.with(|| Evaluator::new((self.make)()), act)
    }
}

/// A prior mean with its fitted coefficients.
#[derive(Clone)]
pub(super) enum FittedMean {
    Zero,
    /// Coefficients row by row: the slopes of output j, then its constant.
    Linear(Vec<f64>),
    Physics(Physics),
}

impl FittedMean {
    /// Fits the coefficients, if the mean has any.
    pub(super) fn fit(mean: &Mean, data: &Measurements) -> Self {
        match mean {
            Mean::Zero => FittedMean::Zero,
            Mean::Linear => FittedMean::Linear(least_squares(data.points(), data.derivatives())),
            Mean::Physics(physics) => FittedMean::Physics(physics.clone()),
            Mean::Parametric(physics) => FittedMean::Physics(physics.fit(data)),
        }
    }

    /// Adds m(zᵢ) to block i of `out` (d numbers each).
    pub(super) fn add_values(&self, z: Points<'_>, out: &mut [f64], pool: &mut Pool) {
        match self {
            FittedMean::Zero => {}
            FittedMean::Linear(coefficients) => {
                let n = z.dim();
                let outputs = coefficients.len() / (n + 1);
                for (i, out) in out.chunks_exact_mut(outputs).enumerate() {
                    for (out, row) in out.iter_mut().zip(coefficients.chunks_exact(n + 1)) {
                        *out += row[n] + row[..n].iter().zip(z.at(i)).map(|(a, z)| a * z).sum::<f64>();
                    }
                }
            }
            FittedMean::Physics(physics) => {
                let mut values = pool.take(out.len());
                physics.with(|copy| copy.dynamics.derivative(z, &mut values));
                axpy(1.0, &values, out);
                pool.give(values);
            }
        }
    }

    /// Adds m and ∂m/∂z to `out`.
    pub(super) fn add_linearization(&self, z: Points<'_>, out: &mut Linearization, pool: &mut Pool) {
        match self {
            FittedMean::Zero => {}
            FittedMean::Linear(coefficients) => {
                self.add_values(z, out.value.as_mut_slice(), pool);
                let n = z.dim();
                for i in 0..z.len() {
                    let gradients = out.jacobian.at_mut(i).chunks_exact_mut(n);
                    for (gradient, row) in gradients.zip(coefficients.chunks_exact(n + 1)) {
                        axpy(1.0, &row[..n], gradient);
                    }
                }
            }
            FittedMean::Physics(physics) => physics.with(|Evaluator { dynamics, linear }| {
                dynamics.linearize(z, linear);
                axpy(1.0, linear.value.as_slice(), out.value.as_mut_slice());
                axpy(1.0, linear.jacobian.as_slice(), out.jacobian.as_mut_slice());
            }),
        }
    }
}

/// Coefficients of the linear regression of each output on (z, 1), from the normal equations in standardised coordinates with a
/// ridge of 1e-9. The ridge gives constant coordinates a slope of zero and keeps the equations solvable with fewer points than
/// coordinates.
fn least_squares(points: Points<'_>, derivatives: &Blocks) -> Vec<f64> {
    const RIDGE: f64 = 1e-9;
    let (n, count, outputs) = (points.dim(), points.len(), derivatives.size());
    let scaling = super::space::Scaling::of(points, 0.0);
    let standard = |i: usize, d: usize| (points.at(i)[d] - scaling.shift[d]) / scaling.scale[d];
    let entry = |a: usize, b: usize| (0..count).map(|i| standard(i, a) * standard(i, b)).sum::<f64>();
    let matrix = (0..n * n).map(|e| entry(e % n, e / n) + f64::from(e % n == e / n) * RIDGE * count as f64);
    let mut coefficients = vec![0.0; outputs * (n + 1)];
    let Ok(factor) = Cholesky::new(&matrix.collect::<Vec<_>>(), n) else { return coefficients };
    for (j, row) in coefficients.chunks_exact_mut(n + 1).enumerate() {
        let average = (0..count).map(|i| derivatives.at(i)[j] / count as f64).sum::<f64>();
        for d in 0..n {
            row[d] = (0..count).map(|i| standard(i, d) * (derivatives.at(i)[j] - average)).sum();
        }
        factor.solve_lower(&mut row[..n], 1);
        factor.solve_transposed(&mut row[..n], 1);
        row[n] = average;
        for d in 0..n {
            row[d] /= scaling.scale[d];
            row[n] -= row[d] * scaling.shift[d];
        }
    }
    coefficients
}
