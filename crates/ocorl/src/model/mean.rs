//! What is believed of f before any data: the mean of the Gaussian process.

use super::pool::Pool;
use crate::linalg::small::axpy;
use crate::linalg::{Blocks, Cholesky, Dims, Linearization, Points};
use crate::system::Dynamics;
use std::sync::{Arc, Mutex, PoisonError};

/// A prior mean m(z) in physical units; the model learns what is left, ẏ − m(z).
#[derive(Clone, Default)]
pub enum Mean {
    /// m = 0: nothing is known. (The average of the data is taken away by standardisation.)
    #[default]
    Zero,
    /// m(z) = A z + b with A, b by least squares from all data whenever the model is trained.
    Linear,
    /// Known physics: only what they miss is learned.
    Physics(Physics),
}

impl std::fmt::Debug for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mean::Zero => "Zero",
            Mean::Linear => "Linear",
            Mean::Physics(_) => "Physics",
        })
    }
}

/// The user's own dynamics, shared by everyone who evaluates the model. They are locked for each batch: an evaluator may have
/// scratch memory of its own.
#[derive(Clone)]
pub struct Physics(Arc<Mutex<Shared>>);

struct Shared {
    dynamics: Box<dyn Dynamics>,
    linear: Linearization,
}

impl Physics {
    /// Takes over the dynamics.
    pub fn new(dynamics: Box<dyn Dynamics>) -> Self {
        Physics(Arc::new(Mutex::new(Shared { dynamics, linear: Linearization::default() })))
    }

    pub(super) fn dims(&self) -> Dims {
        self.with(|shared| shared.dynamics.dims())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        // A panic of the user's code leaves only scratch memory behind.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A mean with its coefficients.
#[derive(Clone)]
pub(super) enum FittedMean {
    Zero,
    /// Row after row: the slopes of output j, then its constant.
    Linear(Vec<f64>),
    Physics(Physics),
}

impl FittedMean {
    /// Fits what is to be fitted.
    pub(super) fn fit(mean: &Mean, points: Points<'_>, derivatives: &Blocks) -> Self {
        match mean {
            Mean::Zero => FittedMean::Zero,
            Mean::Linear => FittedMean::Linear(least_squares(points, derivatives)),
            Mean::Physics(physics) => FittedMean::Physics(physics.clone()),
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
                physics.with(|shared| shared.dynamics.derivative(z, &mut values));
                axpy(1.0, &values, out);
                pool.give(values);
            }
        }
    }

    /// Adds m and ∂m/∂z.
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
            FittedMean::Physics(physics) => physics.with(|shared| {
                shared.dynamics.linearize(z, &mut shared.linear);
                axpy(1.0, shared.linear.value.as_slice(), out.value.as_mut_slice());
                axpy(1.0, shared.linear.jacobian.as_slice(), out.jacobian.as_mut_slice());
            }),
        }
    }
}

/// Coefficients of the regression of each output on (z, 1), by normal equations in standardised coordinates with a ridge of 1e-9:
/// coordinates that do not vary get no slope, and fewer points than coordinates are no obstacle.
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
