//! Descriptive statistics.

/// Arithmetic mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample standard deviation (n − 1), as in the paper's table; 0 for a single value.
pub fn sample_std(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Quantile `p` with linear interpolation, NumPy's default; NaN for an empty slice.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a length")]
    let low = place.floor() as usize;
    let (a, b) = (sorted[low], sorted[(low + 1).min(last)]);
    let t = place - low as f64;
    // Avoids NaN if the next value is infinite.
    if t <= 0.0 {
        return a;
    }
    // As NumPy does, interpolate from the nearer end: exact at both.
    if t < 0.5 { a + (b - a) * t } else { b - (b - a) * (1.0 - t) }
}

/// Median.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// α of the power law R_n ≈ c n^α that fits best (least squares of ln R over ln n). Below 1 regret grows sublinearly. Points that are not
/// positive have no logarithm and are left out; `None` with fewer than three.
pub fn growth_exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(n, r)| *n > 0.0 && *r > 0.0).map(|(n, r)| (n.ln(), r.ln())).collect();
    if logs.len() < 3 {
        return None;
    }
    let count = logs.len() as f64;
    let (mx, my) =
        (logs.iter().map(|p| p.0).sum::<f64>() / count, logs.iter().map(|p| p.1).sum::<f64>() / count);
    let xx: f64 = logs.iter().map(|p| (p.0 - mx) * (p.0 - mx)).sum();
    let xy: f64 = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    (xx > 0.0).then(|| xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        // numpy.quantile([3.2, 0.1, 7.7, 4.0, 1.5, 2.25], [0, .2, .5, .8, 1]), NumPy 2.4
        let values = [3.2, 0.1, 7.7, 4.0, 1.5, 2.25];
        for (p, expected) in [(0.0, 0.1), (0.2, 1.5), (0.5, 2.725), (0.8, 4.0), (1.0, 7.7)] {
            assert!((quantile(&values, p) - expected).abs() < 1e-12, "{p}");
        }
        // numpy.quantile([3.2, 0.1, 7.7, 4.0], [.2, .8])
        assert!((quantile(&values[..4], 0.2) - 1.96).abs() < 1e-12);
        assert!((quantile(&values[..4], 0.8) - 5.48).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(median(&[4.0]), 4.0);
        assert_eq!(median(&[4.0, f64::INFINITY, 2.0]), 4.0);
    }

    #[test]
    fn mean_and_spread_of_known_lists() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert!((sample_std(&[1.0, 2.0, 6.0]) - 7.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(sample_std(&[5.0]), 0.0);
    }

    #[test]
    fn a_power_law_gives_its_exponent() {
        let law: Vec<(f64, f64)> = (1..20).map(|n| (f64::from(n), 3.0 * f64::from(n).powf(0.4))).collect();
        assert!((growth_exponent(&law).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(growth_exponent(&[(1.0, 1.0), (2.0, -1.0), (3.0, 0.0)]), None);
    }
}
