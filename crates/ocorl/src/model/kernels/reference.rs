//! The kernel of the paper's authors' program: k(x, z) = exp(−s), without the factor ½. Its lengthscales are √2 times those of
//! [`Rbf`](super::Rbf).

use super::stationary::Profile;
use crate::random::Rng;
use crate::real::exp;

/// The kernel k = exp(−s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference;

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
