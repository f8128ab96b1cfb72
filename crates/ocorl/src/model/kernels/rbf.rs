//! The squared-exponential kernel k(x, z) = exp(−½ s), s = Σ_d (x_d − z_d)²/ℓ_d²: infinitely differentiable functions. The paper
//! uses it.

use super::stationary::Profile;
use crate::random::Rng;
use crate::real::exp;

/// The squared-exponential kernel k = exp(−½ s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rbf;

impl Profile for Rbf {
    const SLOPE_OF_DISTANCE: bool = false;

    #[inline(always)]
    fn value(s: f64) -> f64 {
        exp(-0.5 * s)
    }

    #[inline(always)]
    fn slope(_s: f64, k: f64) -> f64 {
        -0.5 * k
    }

    fn frequency(_rng: &mut Rng) -> f64 {
        1.0
    }
}
