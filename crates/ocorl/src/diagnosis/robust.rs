//! Robust statistics: median and median absolute deviation.

/// Factor that makes the median absolute deviation of a normal sample its standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// The median; 0 for no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Median and robust standard deviation of a sample.
pub(crate) fn location_scale(values: &[f64]) -> (f64, f64) {
    let center = median(values.iter().copied());
    (center, NORMAL * median(values.iter().map(|v| (v - center).abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_move_neither_location_nor_scale() {
        let mut values: Vec<f64> = (0..101).map(|i| f64::from(i) - 50.0).collect();
        let (center, scale) = location_scale(&values);
        assert_eq!((center, scale), (0.0, 25.0 * NORMAL));
        for value in &mut values[..20] {
            *value *= 1e6;
        }
        let (shifted, wider) = location_scale(&values);
        assert!(shifted.abs() < 15.0 && wider < 2.0 * scale);
        assert_eq!(location_scale(&[]), (0.0, 0.0));
        assert_eq!(median([3.0, 1.0, 2.0, 10.0]), 2.5);
    }
}
