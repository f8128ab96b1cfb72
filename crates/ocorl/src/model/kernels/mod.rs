//! Covariance functions k(x, z), one file each.
//!
//! A [`Kernel`] is a form with named parameters; given their values it becomes a [`Covariance`], which can be evaluated. Both are
//! what a sum, a product and a scaling are made of, so composite kernels need no code of their own anywhere else.
//!
//! | symbol | code | |
//! |---|---|---|
//! | θ | `log_parameters` | natural logarithms: lengthscales, variances, periods are positive |
//! | ℓ_d | lengthscale of coordinate d | every kernel has one for each coordinate (ARD) |
//! | k(xᵢ, z) | [`Covariance::values`] | one point against all data: a loop along contiguous memory |
//! | Σᵢ wᵢ ∂k(xᵢ, z)/∂z | [`Covariance::input_gradient`] | all that Jacobians of mean and variance need |
//! | Σᵢ wᵢ ∂k(xᵢ, z)/∂θ | [`Covariance::parameter_gradient`] | all that the gradient of the likelihood needs |
//!
//! A new kernel is one file: a type with `impl Kernel` and its evaluation. If it depends on the scaled distance alone, a
//! `stationary::Profile` of twenty lines is enough.

mod combine;
mod constant;
mod expression;
mod linear;
mod matern;
mod periodic;
mod rbf;
mod reference;
mod stationary;

pub use combine::{Product, Scale, Sum};
pub use constant::Constant;
pub use expression::{KernelError, KernelExpression, KernelName};
pub use linear::Linear;
pub use matern::{Matern32, Matern52};
pub use periodic::Periodic;
pub use rbf::Rbf;
pub use reference::Reference;

use super::features::Feature;
use super::pool::Pool;
use crate::linalg::RowsRef;
use crate::random::Rng;

/// A parameter of a kernel, in natural logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is, e.g. `lengthscale`.
    pub name: &'static str,
    /// The coordinate that it belongs to, if any.
    pub coordinate: Option<usize>,
    /// ln of the values training starts from: a plain function under the stated noise, and a lively one under little noise. From the first
    /// alone, few data are all too easily explained as noise.
    pub starts: [f64; 2],
    /// ln of the least and the greatest value.
    pub bounds: (f64, f64),
    /// Mean and standard deviation of ln of the value, before any data.
    pub prior: (f64, f64),
}

impl Parameter {
    /// A lengthscale for each of `dim` standardised coordinates.
    ///
    /// The prior ln ℓ ~ N(√2 + ½ ln dim, 3) \[Hva24\] says that a function of many coordinates changes little along each; it is weak
    /// (a factor of 5 is one standard deviation), and keeps lengthscales finite that the data do not determine.
    pub fn lengthscales(dim: usize) -> impl Iterator<Item = Parameter> {
        let prior = (std::f64::consts::SQRT_2 + 0.5 * (dim.max(1) as f64).ln(), 3_f64.sqrt());
        (0..dim).map(move |d| Parameter {
            name: "lengthscale",
            coordinate: Some(d),
            starts: [0.0, 2_f64.ln()],
            bounds: (1e-2_f64.ln(), 1e4_f64.ln()),
            prior,
        })
    }

    /// A variance of standardised outputs: one, give or take a factor of 20 as one standard deviation.
    pub fn variance(name: &'static str) -> Parameter {
        Parameter {
            name,
            coordinate: None,
            starts: [0.0, 10_f64.ln()],
            bounds: (1e-3_f64.ln(), 1e6_f64.ln()),
            prior: (0.0, 3.0),
        }
    }
}

/// A form of covariance function. Parameters are given as natural logarithms, in the order of [`parameters`](Self::parameters).
pub trait Kernel: std::fmt::Debug + Send + Sync {
    /// The parameters for points of `dim` coordinates.
    fn parameters(&self, dim: usize) -> Vec<Parameter>;

    /// The covariance function with these parameters.
    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance>;
}

impl dyn Kernel + '_ {
    /// How many parameters there are for points of `dim` coordinates.
    pub fn count(&self, dim: usize) -> usize {
        self.parameters(dim).len()
    }
}

/// One point against many data points xᵢ, stored in rows.
#[derive(Clone, Copy, Debug)]
pub struct Against<'a> {
    /// The data points.
    pub x: RowsRef<'a>,
    /// The point.
    pub z: &'a [f64],
}

/// A covariance function with its parameters. Derivatives come as weighted sums over the data, which is all that anybody needs of them.
pub trait Covariance: std::fmt::Debug + Send + Sync {
    /// k(xᵢ, z) into `out[i]`.
    fn values(&self, pair: Against<'_>, out: &mut [f64], pool: &mut Pool);

    /// Adds Σᵢ wᵢ ∂k(xᵢ, z)/∂z to `out`. `k` are the [`values`](Self::values), which most kernels need again.
    fn input_gradient(&self, pair: Against<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool);

    /// Adds Σᵢ wᵢ ∂k(xᵢ, z)/∂θ to `out`, θ the logarithms of the parameters.
    fn parameter_gradient(&self, pair: Against<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool);

    /// k(z, z).
    fn diagonal(&self, z: &[f64]) -> f64;

    /// Adds `weight` · d k(z, z)/dz to `out`; nothing for a stationary kernel.
    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]);

    /// A random function φ with E[φ(x) φ(z)] = k(x, z).
    fn feature(&self, rng: &mut Rng) -> Feature;

    /// Functions φ whose sum of φ(x) φ(z) is k(x, z) exactly, if finitely many suffice.
    fn finite_features(&self) -> Option<Vec<Feature>> {
        None
    }

    /// About `count` functions φ whose sum of φ(x) φ(z) is k(x, z) on average, or exactly where few suffice.
    fn features(&self, count: usize, rng: &mut Rng) -> Vec<Feature> {
        let share = (1.0 / count as f64).sqrt();
        (0..count).map(|_| self.feature(rng).scaled(share)).collect()
    }
}
