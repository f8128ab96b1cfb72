//! Bounds on the model complexity I_N for the measurement strategies that the paper analyses \[Tre23, Section 4\].
//!
//! ```text
//! I_N = Σₙ ∫₀ᵀ‖σₙ₋₁(zₙ(t))‖² dt
//!
//! oracle        I_N ≤   Σₙ T maxₜ ‖σₙ₋₁(zₙ(t))‖²
//! equidistant   I_N ≤   Σₙ T/mₙ Σᵢ (‖σₙ₋₁(zₙ(tₙᵢ))‖² + T L_σ²/mₙ)
//! adaptive      I_N ≤ 9 Σₙ T/mₙ Σᵢ ‖σₙ₋₁(zₙ(tₙᵢ))‖²
//! ```
//!
//! Each function returns the contribution of one episode. L_σ² is the Lipschitz constant of t ↦ ‖σₙ₋₁(zₙ(t))‖². The first bound
//! holds for every strategy. The second requires one measurement in each of mₙ equal parts of \[0, T\]. The third requires parts no
//! longer than Δₙ, each with a measurement where the hallucinated ‖σ‖ is largest; then hallucinated and true ‖σ‖ differ by at most
//! one half in either direction, and 9 = ((1 + ½)/(1 − ½))².

use crate::linalg::Blocks;

/// The measurement strategy that a bound on I_N assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexityBound {
    /// T maxₜ ‖σ‖²: a measurement where ‖σ‖ was largest along the executed trajectory.
    Oracle,
    /// Measurements at equal distances in time.
    Equidistant,
    /// Receding-horizon measurements, in intervals of length Δₙ.
    Adaptive,
}

impl ComplexityBound {
    /// The name in files and tables.
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

/// The bound T maxₜ ‖σ(z(t))‖²; `squares` holds ‖σ‖² along the trajectory. Zero if it is empty.
pub fn oracle_bound(horizon: f64, squares: &[f64]) -> f64 {
    horizon * squares.iter().copied().fold(0.0, f64::max)
}

/// The bound T/m Σᵢ (‖σ(z(tᵢ))‖² + T L_σ²/m); `measured` holds ‖σ‖² at the measurements, `slope` is L_σ². Infinite without
/// measurements.
pub fn equidistant_bound(horizon: f64, measured: &[f64], slope: f64) -> f64 {
    if measured.is_empty() {
        return f64::INFINITY;
    }
    let m = measured.len() as f64;
    horizon / m * measured.iter().map(|square| square + horizon * slope / m).sum::<f64>()
}

/// The bound 9 T/m Σᵢ ‖σ(z(tᵢ))‖²; `measured` holds ‖σ‖² at the measurements. Infinite without measurements.
pub fn adaptive_bound(horizon: f64, measured: &[f64]) -> f64 {
    if measured.is_empty() {
        return f64::INFINITY;
    }
    9.0 * horizon / measured.len() as f64 * measured.iter().sum::<f64>()
}

/// The largest slope between neighbouring samples of t ↦ v(t), a lower bound on its Lipschitz constant. Samples at equal times are
/// skipped.
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
