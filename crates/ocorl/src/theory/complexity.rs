//! Bounds on the model complexity I_N for each measurement strategy that the paper analyses.   \[Tre23, Section 4\]
//!
//! ```text
//! I_N = Σₙ ∫₀ᵀ‖σₙ₋₁(zₙ(t))‖² dt
//!
//! oracle        I_N ≤   Σₙ T maxₜ ‖σₙ₋₁(zₙ(t))‖²
//! equidistant   I_N ≤   Σₙ T/mₙ Σᵢ (‖σₙ₋₁(zₙ(tₙᵢ))‖² + T L_σ²/mₙ)
//! adaptive      I_N ≤ 9 Σₙ T/mₙ Σᵢ ‖σₙ₋₁(zₙ(tₙᵢ))‖²
//! ```
//!
//! Each function is the contribution of one episode. L_σ² is the Lipschitz constant of t ↦ ‖σₙ₋₁(zₙ(t))‖². The first bound holds
//! for any strategy; the second needs one measurement in each of mₙ equal parts of \[0, T\]; the third needs parts no longer than Δₙ, with the
//! measurement where the hallucinated ‖σ‖ is largest: then hallucinated and true ‖σ‖ differ by at most a half either way, and
//! 9 = ((1 + ½)/(1 − ½))².

use crate::linalg::Blocks;

/// A bound on I_N by the strategy it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexityBound {
    /// T maxₜ ‖σ‖²: measured where the executed trajectory was least known.
    Oracle,
    /// At equal distances.
    Equidistant,
    /// Receding horizon, with intervals of length Δₙ.
    Adaptive,
}

impl ComplexityBound {
    /// As it is written down.
    pub fn name(self) -> &'static str {
        match self {
            ComplexityBound::Oracle => "oracle",
            ComplexityBound::Equidistant => "equidistant",
            ComplexityBound::Adaptive => "adaptive",
        }
    }
}

/// ‖σ‖² of each block of standard deviations.
pub fn squared_norms(std: &Blocks) -> Vec<f64> {
    std.iter().map(|s| s.iter().map(|s| s * s).sum()).collect()
}

/// T maxₜ ‖σ(z(t))‖², `squares` being ‖σ‖² along the trajectory; zero without any.
pub fn oracle_bound(horizon: f64, squares: &[f64]) -> f64 {
    horizon * squares.iter().copied().fold(0.0, f64::max)
}

/// T/m Σᵢ (‖σ(z(tᵢ))‖² + T L_σ²/m), `measured` being ‖σ‖² where it was measured and `slope` L_σ²; infinite without measurements.
pub fn equidistant_bound(horizon: f64, measured: &[f64], slope: f64) -> f64 {
    if measured.is_empty() {
        return f64::INFINITY;
    }
    let m = measured.len() as f64;
    horizon / m * measured.iter().map(|square| square + horizon * slope / m).sum::<f64>()
}

/// 9 T/m Σᵢ ‖σ(z(tᵢ))‖², `measured` being ‖σ‖² where it was measured; infinite without measurements.
pub fn adaptive_bound(horizon: f64, measured: &[f64]) -> f64 {
    if measured.is_empty() {
        return f64::INFINITY;
    }
    9.0 * horizon / measured.len() as f64 * measured.iter().sum::<f64>()
}

/// The largest slope between neighbouring samples: what they say of the Lipschitz constant of t ↦ v(t). Samples at one time have none.
pub fn largest_slope(times: &[f64], values: &[f64]) -> f64 {
    assert_eq!(times.len(), values.len(), "{} times for {} values", times.len(), values.len());
    let slope = |i: usize| (values[i] - values[i - 1]).abs() / (times[i] - times[i - 1]);
    (1..times.len()).filter(|&i| times[i] > times[i - 1]).map(slope).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_their_formulas() {
        // ‖σ‖² = 1, 4, 9 at three measurements, T = 6, L = 0.5: 2 (14 + 3 · 6 · 0.5/3) and 9 · 2 · 14.
        let squares = squared_norms(&Blocks::from_vec(vec![1.0, 0.0, 0.0, 2.0, 3.0, 0.0], 2));
        assert_eq!(squares, [1.0, 4.0, 9.0]);
        assert_eq!(oracle_bound(6.0, &squares), 54.0);
        assert_eq!(equidistant_bound(6.0, &squares, 0.5), 34.0);
        assert_eq!(adaptive_bound(6.0, &squares), 252.0);
        assert_eq!((oracle_bound(6.0, &[]), adaptive_bound(6.0, &[])), (0.0, f64::INFINITY));
        assert_eq!(equidistant_bound(6.0, &[], 0.5), f64::INFINITY);
    }

    #[test]
    fn the_equidistant_and_the_oracle_bound_hold_for_any_function() {
        // ‖σ(t)‖² = 1 + sin(9 t), measured at m points from 0 to T, both included: one in each m-th of [0, T].
        let horizon = 2.0_f64;
        let square = |t: f64| 1.0 + (9.0 * t).sin();
        let integral = horizon + (1.0 - (9.0 * horizon).cos()) / 9.0;
        let times: Vec<f64> = (0..=1000).map(|i| horizon * f64::from(i) / 1000.0).collect();
        let values: Vec<f64> = times.iter().map(|t| square(*t)).collect();
        let slope = largest_slope(&times, &values);
        assert!((slope - 9.0).abs() < 1e-3, "{slope}");
        for m in 2..50 {
            let measured: Vec<f64> =
                (0..m).map(|i| square(horizon * f64::from(i) / f64::from(m - 1))).collect();
            assert!(equidistant_bound(horizon, &measured, slope) >= integral, "m = {m}");
        }
        assert!(oracle_bound(horizon, &values) >= integral);
        assert_eq!(largest_slope(&[0.0, 0.0, 1.0], &[0.0, 5.0, 7.0]), 2.0);
    }
}
