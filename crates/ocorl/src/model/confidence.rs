//! The confidence scale β and the calibration of confidence bands μ ± β σ.
//!
//! β multiplies the posterior standard deviation σ, so that |f − μ| ≤ β σ holds at a chosen confidence. This module computes β from
//! a constant, from the information gain, or from held-out predictions, and measures how often bands contain held-out values. How
//! the planner uses β is not decided here.

use super::ModelError;

/// How the confidence scale β of the bands μ ± β σ is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Confidence {
    /// One value for all outputs and episodes; the paper's experiments use 1.
    Constant(f64),
    /// The theoretical form with the information gain γ of the data so far, simultaneously for dₓ outputs:
    ///
    /// ```text
    /// β = B + √(2 (γ + ln(dₓ/δ)))
    /// ```
    ///
    /// [Chow17, theorem 2; with the model's noise variance as regularisation, Fie21, theorem 1]. β never decreases.
    InformationGain {
        /// δ: probability that the bands fail at some point.
        delta: f64,
        /// B: a bound on the norm of f in the reproducing kernel Hilbert space, in standardised units.
        norm: f64,
    },
    /// The smallest β ≥ 1 for which bands of the nominal level contain that share of the leave-one-out measurements.
    ///
    /// β is never below 1: the hyper-parameters were learned from all measurements, so leave-one-out residuals are too small, and
    /// where noise dominates σ they do not determine β at all. Bands narrowed on such evidence fail away from the data
    /// (`tests/it/calibration.rs`).
    Calibrated {
        /// Nominal level of the bands, e.g. 0.95.
        level: f64,
    },
}

impl Default for Confidence {
    fn default() -> Self {
        Confidence::Constant(1.0)
    }
}

/// A measured value and the model's prediction made without it, in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOutPrediction {
    /// The measured value.
    pub measured: f64,
    /// The predicted mean μ.
    pub mean: f64,
    /// The predicted standard deviation σ of f, without noise.
    pub std: f64,
    /// The standard deviation of the measurement noise.
    pub noise_std: f64,
}

/// Smallest number of held-out measurements from which β is calibrated; fewer determine the tails too poorly.
const MIN_HELD_OUT: usize = 8;

/// Calibration scales by at most this factor up or down, so that few data cannot make the bands arbitrarily wide or narrow.
const LARGEST_SCALE: f64 = 10.0;

impl Confidence {
    pub(super) fn validate(&self) -> Result<(), ModelError> {
        let fraction = "it must lie between 0 and 1";
        let (what, value, fine, need) = match *self {
            Confidence::Constant(b) => {
                ("confidence", b, b >= 0.0 && b.is_finite(), "it must be zero or positive, and finite")
            }
            Confidence::InformationGain { delta, norm } if delta > 0.0 && delta < 1.0 => (
                "confidence.norm",
                norm,
                norm >= 0.0 && norm.is_finite(),
                "it must be zero or positive, and finite",
            ),
            Confidence::InformationGain { delta, .. } => ("confidence.delta", delta, false, fraction),
            Confidence::Calibrated { level } => {
                ("confidence.level", level, level > 0.0 && level < 1.0, fraction)
            }
        };
        if fine { Ok(()) } else { Err(ModelError::Setting { what, value: value.to_string(), need }) }
    }

    /// Computes β of one of `outputs` outputs. `held_out` supplies held-out predictions and is called only for
    /// [`Self::Calibrated`].
    pub(super) fn scale(
        &self,
        gain: f64,
        outputs: usize,
        held_out: impl FnOnce() -> Vec<HeldOutPrediction>,
    ) -> f64 {
        match *self {
            Confidence::Constant(beta) => beta,
            Confidence::InformationGain { delta, norm } => {
                norm + (2.0 * (gain + (outputs as f64 / delta).ln())).sqrt()
            }
            Confidence::Calibrated { level } => calibrated_scale(&held_out(), level).max(1.0),
        }
    }
}

/// The smallest β for which |measured − μ| ≤ q √(β² σ² + noise²) holds for the share `level` of the values, q being the normal
/// quantile of that level. The rank is rounded up as in conformal prediction, so that small samples give wider bands. Returns 1 for
/// fewer than eight values.
pub fn calibrated_scale(held_out: &[HeldOutPrediction], level: f64) -> f64 {
    if held_out.len() < MIN_HELD_OUT {
        return 1.0;
    }
    let q = normal_quantile(0.5 + 0.5 * level);
    let mut needed: Vec<f64> = held_out
        .iter()
        .map(|j| {
            let excess = ((j.measured - j.mean) / q).powi(2) - j.noise_std.powi(2);
            if excess <= 0.0 { 0.0 } else { (excess / (j.std * j.std).max(f64::MIN_POSITIVE)).sqrt() }
        })
        .collect();
    needed.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    let rank = ((needed.len() + 1) as f64 * level).ceil() as usize;
    let beta = needed[rank.clamp(1, needed.len()) - 1];
    if beta.is_nan() { 1.0 } else { beta.clamp(1.0 / LARGEST_SCALE, LARGEST_SCALE) }
}

/// One point of a calibration curve.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CalibrationPoint {
    /// Nominal level of the band.
    pub level: f64,
    /// Observed share of values inside the band.
    pub observed: f64,
    /// Half-width of the interval that contains the observed share with probability 0.95 if the bands are calibrated.
    pub margin: f64,
}

/// The observed coverage of bands of the given nominal levels around held-out predictions; `beta` scales σ.
pub fn calibration_curve(held_out: &[HeldOutPrediction], beta: f64, levels: &[f64]) -> Vec<CalibrationPoint> {
    let count = held_out.len().max(1) as f64;
    let point = |&level: &f64| {
        let q = normal_quantile(0.5 + 0.5 * level);
        let inside =
            |j: &&HeldOutPrediction| (j.measured - j.mean).abs() <= q * (beta * j.std).hypot(j.noise_std);
        let observed = held_out.iter().filter(inside).count() as f64 / count;
        CalibrationPoint { level, observed, margin: 1.96 * (level * (1.0 - level) / count).sqrt() }
    };
    levels.iter().map(point).collect()
}

/// The quantile of the standard normal distribution: the x with Φ(x) = `p`, by bisection of [`normal_cdf`] on [−40, 40].
pub fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The standard normal distribution function Φ(x), by its series for |x| < 4 and by the continued fraction of the tail beyond
/// [Abr64, 26.2.10 and 26.2.14].
pub fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    if x.abs() < 4.0 {
        let (mut term, mut sum) = (x, x);
        let mut k = 1.0;
        while term.abs() > 1e-18 * sum.abs() {
            k += 2.0;
            term *= x * x / k;
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let tail = (1..=60).rev().fold(x.abs(), |fraction, k| x.abs() + f64::from(k) / fraction);
    if x > 0.0 { 1.0 - density / tail } else { density / tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn the_normal_distribution_has_its_tabulated_values() {
        // Values of [Abr64, table 26.1] and their quantiles.
        for (x, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (2.0, 0.977_249_868_051_821),
            (-3.0, 0.001_349_898_031_630_095),
        ] {
            assert!((normal_cdf(x) - p).abs() < 1e-14, "Φ({x}) = {}", normal_cdf(x));
        }
        assert!((normal_cdf(-6.0) / 9.865_876_450_376_98e-10 - 1.0).abs() < 1e-12);
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        // The series and the continued fraction agree where they meet.
        assert!((normal_cdf(4.0 - 1e-12) - normal_cdf(4.0)).abs() < 1e-15);
    }

    fn predictions(count: usize, too_small: f64) -> Vec<HeldOutPrediction> {
        let mut rng = Stream::root(5).rng();
        let mut one = || {
            let (std, noise_std) = (rng.uniform(0.1, 2.0), rng.uniform(0.0, 0.3));
            let measured = too_small * std * rng.normal() + noise_std * rng.normal();
            HeldOutPrediction { measured, mean: 0.0, std, noise_std }
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn calibration_finds_the_factor_by_which_sigma_is_wrong() {
        for factor in [0.4, 1.0, 3.0] {
            let beta = calibrated_scale(&predictions(20_000, factor), 0.95);
            assert!((beta / factor - 1.0).abs() < 0.05, "β = {beta} for {factor}");
        }
    }

    #[test]
    fn calibrated_bands_hold_their_share() {
        let sample = predictions(5_000, 2.0);
        let beta = calibrated_scale(&sample, 0.9);
        let curve = calibration_curve(&sample, beta, &[0.5, 0.9, 0.99]);
        for point in curve {
            assert!((point.observed - point.level).abs() < 2.0 * point.margin, "{point:?}");
        }
    }

    #[test]
    fn few_or_extreme_values_keep_the_scale_within_its_limits() {
        assert_eq!(calibrated_scale(&predictions(5, 100.0), 0.95), 1.0);
        assert_eq!(calibrated_scale(&predictions(100, 1e9), 0.95), LARGEST_SCALE);
        assert_eq!(calibrated_scale(&predictions(100, 0.0), 0.95), 1.0 / LARGEST_SCALE);
    }

    #[test]
    fn calibration_widens_bands_and_never_narrows_them() {
        let confidence = Confidence::Calibrated { level: 0.95 };
        assert_eq!(confidence.scale(0.0, 1, || predictions(1_000, 0.4)), 1.0);
        assert!((confidence.scale(0.0, 1, || predictions(20_000, 3.0)) - 3.0).abs() < 0.15);
    }

    #[test]
    fn the_theorys_scale_has_its_form() {
        let confidence = Confidence::InformationGain { delta: 0.1, norm: 1.0 };
        let beta = confidence.scale(3.0, 2, Vec::new);
        assert!((beta - (1.0 + (2.0 * (3.0 + 20_f64.ln())).sqrt())).abs() < 1e-15);
        for bad in [
            Confidence::Constant(-1.0),
            Confidence::Constant(f64::NAN),
            Confidence::InformationGain { delta: 0.0, norm: 1.0 },
            Confidence::InformationGain { delta: 0.1, norm: f64::INFINITY },
            Confidence::Calibrated { level: 1.0 },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}
