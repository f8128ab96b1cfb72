//! Covariance functions k(x, z), one file each.
//!
//! A [`Kernel`] is a family of covariance functions with named parameters. With values for the parameters it becomes a
//! [`Covariance`], which can be evaluated. Sums, products and scalings of kernels implement the same traits, so composite kernels
//! need no special code.
//!
//! | symbol | code | |
//! |---|---|---|
//! | θ | `log_parameters` | natural logarithms of lengthscales, variances and periods, which are positive |
//! | ℓ_d | lengthscale of coordinate d | each kernel has one for each coordinate (ARD) |
//! | k(xᵢ, z) | [`Covariance::values`] | one point with all data: a loop over contiguous memory |
//! | Σᵢ wᵢ ∂k(xᵢ, z)/∂z | [`Covariance::input_gradient`] | used for the Jacobians of mean and variance |
//! | Σᵢ wᵢ ∂k(xᵢ, z)/∂θ | [`Covariance::parameter_gradient`] | used for the gradient of the likelihood |
//!
//! A new kernel is one file: a type that implements [`Kernel`], and its evaluation. A kernel of the scaled distance alone needs
//! only a `stationary::Profile` of twenty lines.
//!
//! Deliberately left out: standardisation and angles (done in `model::space` before a kernel is evaluated) and noise.

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
use crate::linalg::{Pool, RowsRef};
use crate::random::Rng;

/// A parameter of a kernel; all values are natural logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name of the parameter, e.g. `lengthscale`.
    pub name: &'static str,
    /// The input coordinate that the parameter refers to, if any.
    pub coordinate: Option<usize>,
    /// Two starting values of training: a smooth function with the stated noise, and a rapidly varying function with little noise.
    /// The first start alone often explains few data as pure noise.
    pub starts: [f64; 2],
    /// The lower and the upper bound.
    pub bounds: (f64, f64),
    /// Mean and standard deviation of the normal prior.
    pub prior: (f64, f64),
}

impl Parameter {
    /// The lengthscales of `dim` standardised coordinates.
    ///
    /// The prior is ln ℓ ~ N(√2 + ½ ln dim, 3) \[Hva24\]: the more coordinates a function has, the less it varies along each. It is
    /// weak (one standard deviation is a factor of 5), and it keeps lengthscales finite that the data do not determine.
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

    /// A variance of standardised outputs, with a prior centred at one; one standard deviation is a factor of 20.
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

/// A family of covariance functions. Parameters are natural logarithms in the order of [`parameters`](Self::parameters).
pub trait Kernel: std::fmt::Debug + Send + Sync {
    /// The parameters for points of `dim` coordinates.
    fn parameters(&self, dim: usize) -> Vec<Parameter>;

    /// The covariance function with the given parameter values.
    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance>;
}

impl dyn Kernel + '_ {
    /// Number of parameters for points of `dim` coordinates.
    pub fn count(&self, dim: usize) -> usize {
        self.parameters(dim).len()
    }
}

/// The inputs of a cross-covariance k(xᵢ, z): one point z and many data points xᵢ, which are stored by coordinates.
#[derive(Clone, Copy, Debug)]
pub struct CrossInputs<'a> {
    /// The data points xᵢ.
    pub x: RowsRef<'a>,
    /// The point z.
    pub z: &'a [f64],
}

/// A covariance function with fixed parameters. Derivatives are computed as weighted sums over the data, the only form that callers
/// need.
pub trait Covariance: std::fmt::Debug + Send + Sync {
    /// Computes k(xᵢ, z) into `out[i]`.
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], pool: &mut Pool);

    /// Adds Σᵢ wᵢ ∂k(xᵢ, z)/∂z to `out`. `k` holds the [`values`](Self::values), which most kernels reuse.
    fn input_gradient(&self, pair: CrossInputs<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool);

    /// Adds Σᵢ wᵢ ∂k(xᵢ, z)/∂θ to `out`, where θ are the logarithms of the parameters.
    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    );

    /// The prior variance k(z, z).
    fn diagonal(&self, z: &[f64]) -> f64;

    /// Adds `weight` · d k(z, z)/dz to `out`; zero for a stationary kernel.
    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]);

    /// Samples a random function φ with E[φ(x) φ(z)] = k(x, z).
    fn feature(&self, rng: &mut Rng) -> Feature;

    /// Functions φ with Σ φ(x) φ(z) = k(x, z) exactly; `None` if infinitely many would be needed.
    fn finite_features(&self) -> Option<Vec<Feature>> {
        None
    }

    /// About `count` functions φ with Σ φ(x) φ(z) = k(x, z) in expectation, or exactly if few functions suffice.
    fn features(&self, count: usize, rng: &mut Rng) -> Vec<Feature> {
        let share = (1.0 / count as f64).sqrt();
        (0..count).map(|_| self.feature(rng).scaled(share)).collect()
    }
}
