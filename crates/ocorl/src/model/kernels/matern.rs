//! Matérn kernels: functions that are once (ν = 3/2) or twice (ν = 5/2) differentiable, for dynamics that are less smooth than
//! [`Rbf`](super::Rbf) assumes.
//!
//! With r = √s the scaled distance [Ras06, eq. 4.17]:
//!
//! ```text
//! ν = 3/2:  k = (1 + √3 r) exp(−√3 r),              dk/ds = −(3/2) exp(−√3 r)
//! ν = 5/2:  k = (1 + √5 r + (5/3) s) exp(−√5 r),    dk/ds = −(5/6) (1 + √5 r) exp(−√5 r)
//! ```
//!
//! The spectral density is that of a Student t variable with 2ν degrees of freedom.

use super::stationary::Profile;
use crate::random::Rng;
use crate::real::exp;

const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_5: f64 = 2.236_067_977_499_79;

/// Squared distances are limited to this value, at which the kernel is zero; an infinite distance would give ∞ · 0.
const FAR: f64 = 1e6;

/// Limits s to `FAR`. NaN stays NaN, which `f64::min` would not ensure.
#[inline(always)]
fn near(s: f64) -> f64 {
    if s > FAR { FAR } else { s }
}

/// The Matérn kernel with ν = 3/2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matern32;

/// The Matérn kernel with ν = 5/2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matern52;

impl Profile for Matern32 {
    const SLOPE_OF_DISTANCE: bool = true;

    #[inline(always)]
    fn value(s: f64) -> f64 {
        let r = SQRT_3 * near(s).sqrt();
        (1.0 + r) * exp(-r)
    }

    #[inline(always)]
    fn slope(s: f64, _k: f64) -> f64 {
        -1.5 * exp(-SQRT_3 * s.sqrt())
    }

    fn frequency(rng: &mut Rng) -> f64 {
        student::<3>(rng)
    }
}

impl Profile for Matern52 {
    const SLOPE_OF_DISTANCE: bool = true;

    #[inline(always)]
    fn value(s: f64) -> f64 {
        let s = near(s);
        let r = SQRT_5 * s.sqrt();
        (1.0 + r + (5.0 / 3.0) * s) * exp(-r)
    }

    #[inline(always)]
    fn slope(s: f64, _k: f64) -> f64 {
        let r = SQRT_5 * near(s).sqrt();
        (-5.0 / 6.0) * (1.0 + r) * exp(-r)
    }

    fn frequency(rng: &mut Rng) -> f64 {
        student::<5>(rng)
    }
}

/// The factor 1/√(χ²/N) that turns a normal variable into a Student t variable; χ² has N degrees of freedom.
fn student<const N: u8>(rng: &mut Rng) -> f64 {
    let chi: f64 = (0..N).map(|_| rng.normal().powi(2)).sum();
    (f64::from(N) / chi).sqrt()
}
