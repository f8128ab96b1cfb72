//! How far to trust σ: the scale β of confidence bands, and whether bands hold what they promise.

use super::ModelError;

/// How β is chosen: f is believed to lie within μ ± β σ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confidence {
    /// The same for all outputs and episodes; 1 is the practice of the paper's experiments.
    Constant(f64),
    /// The theory's form with the information gain γ of the data so far, for dₓ outputs at once:
    ///
    /// ```text
    /// β = B + √(2 (γ + ln(dₓ/δ)))
    /// ```
    ///
    /// [Chow17, theorem 2; with the model's noise variance as regularisation, Fie21, theorem 1], never falling.
    InformationGain {
        /// Probability that the bands fail somewhere.
        delta: f64,
        /// B: a bound on the norm of f in the kernel's space, in standardised units.
        norm: f64,
    },
    /// The least β ≥ 1 for which bands of this nominal level hold that share of left-out measurements.
    ///
    /// Never below one: what is left out has had its part in the hyper-parameters, so it flatters the model, and where noise drowns
    /// σ any β will do. Bands narrowed on such evidence fail where it matters, away from the data (`tests/calibration.rs`).
    Calibrated {
        /// Nominal level, e.g. 0.95.
        level: f64,
    },
}

impl Default for Confidence {
    fn default() -> Self {
        Confidence::Constant(1.0)
    }
}

/// A measured value beside a prediction that was made without it, in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// What was measured.
    pub measured: f64,
    /// μ
    pub mean: f64,
    /// σ of f
    pub std: f64,
    /// Standard deviation of the measurement's noise.
    pub noise_std: f64,
}

/// Fewer left-out measurements than this say too little about tails.
const LEAST_JUDGED: usize = 8;

/// Calibration never scales by more than this factor either way: few data must not switch confidence off.
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

    /// β of one of `outputs` outputs.
    pub(super) fn scale(&self, gain: f64, outputs: usize, judged: impl FnOnce() -> Vec<Judged>) -> f64 {
        match *self {
            Confidence::Constant(beta) => beta,
            Confidence::InformationGain { delta, norm } => {
                norm + (2.0 * (gain + (outputs as f64 / delta).ln())).sqrt()
            }
            Confidence::Calibrated { level } => calibrated_scale(&judged(), level).max(1.0),
        }
    }
}

/// The least β with which |measured − μ| ≤ q √(β² σ² + noise²) holds for the share `level` of the values, q the normal quantile of that
/// level. One with too few of them; rounded up to the next value, as conformal prediction does, so that small samples err to the safe side.
pub fn calibrated_scale(judged: &[Judged], level: f64) -> f64 {
    if judged.len() < LEAST_JUDGED {
        return 1.0;
    }
    let q = normal_quantile(0.5 + 0.5 * level);
    let mut needed: Vec<f64> = judged
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
pub struct CalibrationPoint {
    /// Nominal level of the band.
    pub level: f64,
    /// Share of values inside it.
    pub observed: f64,
    /// Half-width of the range in which the share would lie 19 times out of 20 by chance alone.
    pub margin: f64,
}

/// How often measured values lie in bands of the given levels around predictions that have not seen them; `beta` scales σ.
pub fn calibration_curve(judged: &[Judged], beta: f64, levels: &[f64]) -> Vec<CalibrationPoint> {
    let count = judged.len().max(1) as f64;
    let point = |&level: &f64| {
        let q = normal_quantile(0.5 + 0.5 * level);
        let inside = |j: &&Judged| (j.measured - j.mean).abs() <= q * (beta * j.std).hypot(j.noise_std);
        let observed = judged.iter().filter(inside).count() as f64 / count;
        CalibrationPoint { level, observed, margin: 1.96 * (level * (1.0 - level) / count).sqrt() }
    };
    levels.iter().map(point).collect()
}

/// The x below which a standard normal variable lies with probability `p`: bisection on [`normal_cdf`].
pub fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Φ(x), by the series near zero and the continued fraction of the tail beyond [Abr64, 26.2.10 and 26.2.14].
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
        // [Abr64, table 26.1] and its quantiles.
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
        // Series and continued fraction meet.
        assert!((normal_cdf(4.0 - 1e-12) - normal_cdf(4.0)).abs() < 1e-15);
    }

    fn judged(count: usize, too_small: f64) -> Vec<Judged> {
        let mut rng = Stream::root(5).rng();
        let mut one = || {
            let (std, noise_std) = (rng.uniform(0.1, 2.0), rng.uniform(0.0, 0.3));
            let measured = too_small * std * rng.normal() + noise_std * rng.normal();
            Judged { measured, mean: 0.0, std, noise_std }
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn calibration_finds_the_factor_by_which_sigma_is_wrong() {
        for factor in [0.4, 1.0, 3.0] {
            let beta = calibrated_scale(&judged(20_000, factor), 0.95);
            assert!((beta / factor - 1.0).abs() < 0.05, "β = {beta} for {factor}");
        }
    }

    #[test]
    fn calibrated_bands_hold_their_share() {
        let sample = judged(5_000, 2.0);
        let beta = calibrated_scale(&sample, 0.9);
        let curve = calibration_curve(&sample, beta, &[0.5, 0.9, 0.99]);
        for point in curve {
            assert!((point.observed - point.level).abs() < 2.0 * point.margin, "{point:?}");
        }
    }

    #[test]
    fn few_or_hopeless_values_do_not_switch_confidence_off() {
        assert_eq!(calibrated_scale(&judged(5, 100.0), 0.95), 1.0);
        assert_eq!(calibrated_scale(&judged(100, 1e9), 0.95), LARGEST_SCALE);
        assert_eq!(calibrated_scale(&judged(100, 0.0), 0.95), 1.0 / LARGEST_SCALE);
    }

    #[test]
    fn calibration_widens_bands_and_never_narrows_them() {
        let confidence = Confidence::Calibrated { level: 0.95 };
        assert_eq!(confidence.scale(0.0, 1, || judged(1_000, 0.4)), 1.0);
        assert!((confidence.scale(0.0, 1, || judged(20_000, 3.0)) - 3.0).abs() < 0.15);
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
