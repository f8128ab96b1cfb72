//! Formats costs and differences for display.

/// Formats a cost with four decimals, or in scientific notation for very large or small values.
pub fn cost(value: f64) -> String {
    if value == 0.0 || (1e-2..1e6).contains(&value.abs()) {
        format!("{value:.4}")
    } else {
        format!("{value:.4e}")
    }
}

/// Formats a cost difference with four decimals; a rounded zero has no sign.
pub fn difference(value: f64) -> String {
    match value.abs() {
        ..5e-5 => "0.0000".into(),
        5e-5..1e6 => format!("{value:.4}"),
        _ => format!("{value:.4e}"),
    }
}

/// Formats how much `value` exceeds `of`, in percent.
pub fn percent_more(value: f64, of: f64) -> String {
    let percent = 100.0 * (value / of - 1.0);
    // A rounded zero has no sign.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    if percent.abs() < 1000.0 { format!("{percent:+.2} %") } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_can_be_read() {
        assert_eq!(cost(20.573_31), "20.5733");
        assert_eq!(cost(0.0), "0.0000");
        assert_eq!(cost(1.5e-7), "1.5000e-7");
        assert_eq!(cost(1.5e9), "1.5000e9");
        assert_eq!([-4e-5, 3e-3, -1e9].map(difference), ["0.0000", "0.0030", "-1.0000e9"]);
        assert_eq!(percent_more(34.72, 34.63), "+0.26 %");
        assert_eq!(percent_more(1.0, 1.000_001), "+0.00 %");
        assert_eq!(percent_more(1.0, 0.0), "-");
    }
}
