//! Recalibration of the ensemble: one factor on σ for each output, such that confidence bands contain their nominal share of the
//! held-out measurements.
//!
//! ```text
//! α_j = argmin over α of  Σ_p (p̂(α, p) − p)²,   p̂(α, p) = share of held-out i with |ẏ_i − μ_i| ≤ q_p √(α² σ_i² + s_i²)
//! ```
//!
//! q_p is the normal quantile of a central band of level p, s_i the standard deviation of the measurement noise. The method follows
//! \[Kul18\] with one factor instead of a map of levels, like the paper's authors' program.

use super::super::confidence::{HeldOutPrediction, calibration_curve};

/// Levels at which nominal and observed coverage are compared.
const LEVELS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// `CANDIDATES` factors are tried, from 1/`LARGEST` to `LARGEST` at equal ratios.
const LARGEST: f64 = 10.0;
const CANDIDATES: i32 = 121;

/// Smallest number of held-out measurements that recalibration needs; with fewer σ is not scaled.
pub(super) const LEAST_HELD_OUT: usize = 8;

/// The factor α of one output; the largest one if several are equally good, 1 with fewer than [`LEAST_HELD_OUT`] values.
pub(super) fn factor(held_out: &[HeldOutPrediction]) -> f64 {
    if held_out.len() < LEAST_HELD_OUT {
        return 1.0;
    }
    let mut best = (f64::INFINITY, 1.0);
    for i in 0..CANDIDATES {
        let exponent = 1.0 - 2.0 * f64::from(i) / f64::from(CANDIDATES - 1);
        let alpha = LARGEST.powf(exponent);
        let curve = calibration_curve(held_out, alpha, &LEVELS);
        let loss: f64 = curve.iter().map(|point| (point.observed - point.level).powi(2)).sum();
        // Factors decrease, so the first of equally good ones is the largest.
        if loss < best.0 {
            best = (loss, alpha);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn predictions(count: usize, too_small: f64) -> Vec<HeldOutPrediction> {
        let mut rng = Stream::root(5).rng();
        let mut one = || {
            let (std, noise_std) = (rng.uniform(0.1, 2.0), rng.uniform(0.0, 0.1));
            let measured = too_small * std * rng.normal() + noise_std * rng.normal();
            HeldOutPrediction { measured, mean: 0.0, std, noise_std }
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn the_factor_by_which_sigma_is_wrong_is_found() {
        for wrong in [0.3, 1.0, 4.0] {
            let alpha = factor(&predictions(4000, wrong));
            assert!((alpha / wrong).ln().abs() < 0.06, "{alpha} for {wrong}");
        }
    }

    #[test]
    fn few_values_change_nothing_and_extreme_ones_only_to_the_limits() {
        assert_eq!(factor(&predictions(7, 4.0)), 1.0);
        assert_eq!(factor(&predictions(100, 1e6)), LARGEST);
        // Only the noise is left: all small factors are equally good, and the largest of them is taken.
        let none: Vec<HeldOutPrediction> =
            predictions(500, 0.0).iter().map(|j| HeldOutPrediction { std: 0.0, ..*j }).collect();
        assert_eq!(factor(&none), LARGEST);
    }
}
