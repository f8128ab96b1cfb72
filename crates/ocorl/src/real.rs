//! Number types in which equations are evaluated: plain `f64`, several points at once ([`Lanes`]), and values with derivatives
//! ([`Dual`](crate::dual::Dual)).
//!
//! A system writes its equations once, generic over [`Real`]; the same code gives the value at one point, at four points at a time,
//! and the exact Jacobian. The elementary functions of hot loops are implemented here, so that every platform computes the same
//! bits: [`sin_cos`] and [`exp`] have errors of at most 2 ulp (tested); the other functions are those of the standard library.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number type in which a vector field can be evaluated.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The constant `value`.
    fn constant(value: f64) -> Self;
    /// Sine and cosine together, because most dynamics need both.
    fn sin_cos(self) -> (Self, Self);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Inverse tangent.
    fn atan(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Selects `yes` where `self > 0`, and `no` elsewhere.
    fn if_positive(self, yes: Self, no: Self) -> Self;

    /// Sine.
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin_cos().0
    }
    /// Cosine.
    #[inline(always)]
    fn cos(self) -> Self {
        self.sin_cos().1
    }
    /// `self²`.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    /// Limits `self` to [`low`, `high`]; the derivative outside is zero.
    #[inline(always)]
    fn clip(self, low: f64, high: f64) -> Self {
        let below = (self - low).if_positive(self, Self::constant(low));
        (below - high).if_positive(Self::constant(high), below)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn constant(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn sin_cos(self) -> (f64, f64) {
        sin_cos(self)
    }
    #[inline(always)]
    fn ln(self) -> f64 {
        f64::ln(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn atan(self) -> f64 {
        f64::atan(self)
    }
    #[inline(always)]
    fn tanh(self) -> f64 {
        f64::tanh(self)
    }
    #[inline(always)]
    fn if_positive(self, yes: f64, no: f64) -> f64 {
        if self > 0.0 { yes } else { no }
    }
}

/// Number of points in a [`Lanes`]: one register of the most common vector extension.
pub const LANES: usize = 4;

/// One quantity at [`LANES`] points; each operation acts on all of them.
///
/// Each lane is computed with `f64` arithmetic, so a batch gives the same bits as its points one by one. The lanes are written out, because
/// `map` and `from_fn` of arrays are calls in builds without link-time optimisation, and calls lose the vector instructions of the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes(pub [f64; LANES]);

impl Lanes {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Lanes {
        let [a, b, c, d] = self.0;
        Lanes([f(a), f(b), f(c), f(d)])
    }
    #[inline(always)]
    fn zip(self, other: Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
        let ([a, b, c, d], [e, g, h, i]) = (self.0, other.0);
        Lanes([f(a, e), f(b, g), f(c, h), f(d, i)])
    }
    #[inline(always)]
    fn unzip([a, b, c, d]: [(f64, f64); LANES]) -> (Lanes, Lanes) {
        (Lanes([a.0, b.0, c.0, d.0]), Lanes([a.1, b.1, c.1, d.1]))
    }
}

macro_rules! lanes_operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl $trait for Lanes {
            type Output = Lanes;
            #[inline(always)]
            fn $method(self, other: Lanes) -> Lanes {
                self.zip(other, |a, b| a $op b)
            }
        }
        impl $trait<f64> for Lanes {
            type Output = Lanes;
            #[inline(always)]
            fn $method(self, other: f64) -> Lanes {
                self.map(|a| a $op other)
            }
        }
    };
}
lanes_operator!(Add, add, +);
lanes_operator!(Sub, sub, -);
lanes_operator!(Mul, mul, *);
lanes_operator!(Div, div, /);

impl Neg for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn neg(self) -> Lanes {
        self.map(|a| -a)
    }
}

impl Real for Lanes {
    #[inline(always)]
    fn constant(value: f64) -> Lanes {
        Lanes([value; LANES])
    }
    #[inline(always)]
    fn sin_cos(self) -> (Lanes, Lanes) {
        if self.0.iter().all(|x| x.abs() <= REDUCTION_LIMIT) {
            let (shifted, sin, cos) = reduced(self);
            let pair = |i: usize| in_quadrant(shifted.0[i], sin.0[i], cos.0[i]);
            Lanes::unzip([pair(0), pair(1), pair(2), pair(3)])
        } else {
            let [a, b, c, d] = self.0;
            Lanes::unzip([sin_cos(a), sin_cos(b), sin_cos(c), sin_cos(d)])
        }
    }
    #[inline(always)]
    fn ln(self) -> Lanes {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn sqrt(self) -> Lanes {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn atan(self) -> Lanes {
        self.map(f64::atan)
    }
    #[inline(always)]
    fn tanh(self) -> Lanes {
        self.map(f64::tanh)
    }
    #[inline(always)]
    fn if_positive(self, yes: Lanes, no: Lanes) -> Lanes {
        let choose = |i: usize| if self.0[i] > 0.0 { yes.0[i] } else { no.0[i] };
        Lanes([choose(0), choose(1), choose(2), choose(3)])
    }
}

/// Largest |x| for which [`sin_cos`] reduces the argument itself: the products n·`HALF_PI[0]` and n·`HALF_PI[1]` are exact for n <
/// 2²⁰.
const REDUCTION_LIMIT: f64 = 1e5;

/// π/2 split into three parts of 33, 33 and 53 bits.
const HALF_PI: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// Adding and subtracting 1.5·2⁵² rounds to the nearest integer and leaves its low bits in the mantissa.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Taylor coefficients of (sin r − r)/r³ and (cos r − 1 + r²/2)/r⁴ in r²; on |r| ≤ π/4 the first neglected term is
/// below 2⁻⁶³ of the result.
const SIN_TAYLOR: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];
const COS_TAYLOR: [f64; 8] = [
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 6_402_373_705_728_000.0,
];

/// Computes sin x and cos x, with the same bits on every platform for |x| ≤ 10⁵. The standard library is used beyond that and for
/// NaN.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    if x.abs() <= REDUCTION_LIMIT {
        let (shifted, sin, cos) = reduced(x);
        in_quadrant(shifted, sin, cos)
    } else {
        x.sin_cos()
    }
}

/// Reduces x = n π/2 + r, |r| ≤ π/4. Returns n (in the low bits of the first number), sin r and cos r.
#[inline(always)]
fn reduced<R: Real>(x: R) -> (R, R, R) {
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    let r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    let square = r * r;
    let sin = r + r * square * polynomial(&SIN_TAYLOR, square);
    let half = square * 0.5;
    let top = -(half - 1.0);
    // 1 − r²/2 is rounded; (1 − top) − r²/2 is exactly the rounding error.
    let lost = -(top - 1.0) - half;
    let cos = top + (lost + square * square * polynomial(&COS_TAYLOR, square));
    (shifted, sin, cos)
}

/// Computes sin x and cos x from those of r, selected by the two lowest bits of n.
#[inline(always)]
fn in_quadrant(shifted: f64, sin: f64, cos: f64) -> (f64, f64) {
    let quadrant = shifted.to_bits();
    // All ones if n is odd: sine and cosine are then exchanged. Bit operations avoid a branch, so that lanes can be vectorised.
    let odd = (quadrant & 1).wrapping_neg();
    let (s, c) = (sin.to_bits(), cos.to_bits());
    let swap = (s ^ c) & odd;
    let flip_sin = (quadrant & 2) << 62;
    let flip_cos = ((quadrant + 1) & 2) << 62;
    (f64::from_bits(s ^ swap ^ flip_sin), f64::from_bits(c ^ swap ^ flip_cos))
}

/// ln 2 split into two parts: k·`LN_2[0]` is exact for |k| < 2²¹.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// Coefficients of degree 2 to 11 of the polynomial with the smallest relative error from eʳ on |r| ≤ ln 2 / 2 (Remez; 3.1e-18).
const EXP_MINIMAX: [f64; 10] = [
    0.500_000_000_000_001_8,
    0.166_666_666_666_661_7,
    0.041_666_666_666_492_63,
    0.008_333_333_333_559_451,
    0.001_388_888_895_126_120_4,
    0.000_198_412_694_324_344_38,
    2.480_148_648_128_35e-5,
    2.755_762_265_202_448_7e-6,
    2.763_230_822_445_254_3e-7,
    2.499_429_334_573_046_3e-8,
];

/// Computes eˣ with an error of at most 2 ulp; zero below −708 and infinite above 709. The code has no branch, so loops over many
/// numbers can be vectorised. Fused multiply-adds round identically everywhere, so the bits are the same on every platform.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Not `clamp`: these comparisons are single instructions and pass NaN through.
    let limited = if x > 709.0 { 709.0 } else { x };
    let limited = if limited < -708.0 { -708.0 } else { limited };
    let shifted = limited.mul_add(std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-LN_2[1], k.mul_add(-LN_2[0], limited));
    let mut p = EXP_MINIMAX[9];
    for c in EXP_MINIMAX[..9].iter().rev() {
        p = p.mul_add(r, *c);
    }
    let fraction = (p * r).mul_add(r, r) + 1.0;
    // The low bits of the mantissa of `shifted` hold k; the bits above are shifted out.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let value = fraction * power;
    let value = if x < -708.0 { 0.0 } else { value };
    if x > 709.0 { f64::INFINITY } else { value }
}

/// Computes Σ cᵢ xⁱ by Estrin's scheme (pairs of pairs). It has a third of the latency of Horner's rule, which dominates the time
/// of a sequential rollout.
#[inline(always)]
fn polynomial<R: Real>(c: &[f64; 8], x: R) -> R {
    let x2 = x * x;
    let x4 = x2 * x2;
    let low = (x * c[1] + c[0]) + (x * c[3] + c[2]) * x2;
    let high = (x * c[5] + c[4]) + (x * c[7] + c[6]) * x2;
    low + high * x4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units in the last place of `expected`, with an absolute floor far below any value in use.
    fn ulps(actual: f64, expected: f64) -> f64 {
        let ulp = f64::from_bits(expected.abs().to_bits() + 1) - expected.abs();
        (actual - expected).abs() / ulp.max(1e-290)
    }

    #[test]
    fn sine_and_cosine_agree_with_the_standard_library_to_two_ulp() {
        let mut worst: f64 = 0.0;
        for i in 0..400_000_u32 {
            let t = f64::from(i) / 400_000.0 * 2.0 - 1.0;
            // Half of the points lie within ±8, half in the whole range of the argument reduction.
            let x = if i % 2 == 0 { 8.0 * t } else { t.powi(3) * REDUCTION_LIMIT };
            let (s, c) = sin_cos(x);
            worst = worst.max(ulps(s, x.sin())).max(ulps(c, x.cos()));
        }
        assert!(worst <= 2.0, "worst error {worst} ulp");
    }

    #[test]
    fn sine_near_multiples_of_pi_keeps_its_relative_accuracy() {
        for k in -2000..=2000 {
            let x = f64::from(k) * std::f64::consts::PI;
            let (s, _) = sin_cos(x);
            assert!(
                ulps(s, x.sin()) <= 2.0 || (s == 0.0 && x == 0.0),
                "sin({x}) = {s}, expected {}",
                x.sin()
            );
        }
    }

    #[test]
    fn exponential_agrees_with_the_standard_library_to_two_ulp() {
        let mut worst: f64 = 0.0;
        for i in 0..400_000_u32 {
            let t = f64::from(i) / 400_000.0 * 2.0 - 1.0;
            let x = if i % 2 == 0 { 8.0 * t } else { 708.0 * t };
            worst = worst.max(ulps(exp(x), x.exp()));
        }
        assert!(worst <= 2.0, "worst error {worst} ulp");
        assert_eq!([exp(0.0), exp(-0.0), exp(-1e300), exp(f64::NEG_INFINITY)], [1.0, 1.0, 0.0, 0.0]);
        assert_eq!([exp(710.0), exp(f64::INFINITY)], [f64::INFINITY; 2]);
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn lanes_give_the_bits_of_single_numbers() {
        let x = Lanes([0.3, -2.7, 1e7, f64::NAN]);
        let (s, c) = x.sin_cos();
        for i in 0..LANES {
            let (si, ci) = sin_cos(x.0[i]);
            assert_eq!(s.0[i].to_bits(), si.to_bits());
            assert_eq!(c.0[i].to_bits(), ci.to_bits());
        }
    }

    #[test]
    fn clip_holds_both_limits() {
        assert_eq!([-2.0, -1.0, 0.5, 1.0, 3.0].map(|x: f64| x.clip(-1.0, 1.0)), [-1.0, -1.0, 0.5, 1.0, 1.0]);
    }
}
