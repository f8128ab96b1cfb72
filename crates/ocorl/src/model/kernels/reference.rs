//! The kernel of the paper's authors' program: k(x, z) = exp(−s), without the ½. Lengthscales are √2 times those of
//! [`Rbf`](super::Rbf).

use super::stationary::{Profile, Stationary};
use super::{Covariance, Kernel, Parameter};
use crate::random::Rng;
use crate::real::exp;

/// k = exp(−s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference;

impl Kernel for Reference {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        Parameter::lengthscales(dim).collect()
    }

    fn bind(&self, log_parameters: &[f64], _dim: usize) -> Box<dyn Covariance> {
        Stationary::<Reference>::boxed(log_parameters)
    }
}

impl Profile for Reference {
    const SLOPE_OF_DISTANCE: bool = false;

    #[inline(always)]
    fn value(s: f64) -> f64 {
        exp(-s)
    }

    #[inline(always)]
    fn slope(_s: f64, k: f64) -> f64 {
        -k
    }

    fn frequency(_rng: &mut Rng) -> f64 {
        std::f64::consts::SQRT_2
    }
}
