//! Formats costs, differences and fractions for display.

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

/// Formats three significant digits, in scientific notation for very large or small values.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        a if !a.is_finite() => "–".into(),
        0.0 => "0".into(),
        a if (1e-4..1e5).contains(&a) => {
            // The number of decimals follows from the rounded value: 9.996 is 10.0.
            let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 6")]
            let decimals = (2.0 - rounded.abs().log10().floor()).max(0.0) as usize;
            format!("{rounded:.decimals$}")
        }
        _ => format!("{value:.2e}"),
    }
}

/// Formats a fraction of the optimum in percent, with its sign.
pub fn percent(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    if value.is_finite() { format!("{sign}{} %", three_digits(value)) } else { "–".into() }
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

    #[test]
    fn numbers_have_three_digits() {
        let numbers =
            [0.0, 0.0046, 0.00214, 9.996, 312.4, 19_420.0, 8.161e5, -2.5, f64::NAN].map(three_digits);
        assert_eq!(numbers, ["0", "0.00460", "0.00214", "10.0", "312", "19400", "8.16e5", "-2.50", "–"]);
        assert_eq!([0.5, -0.5, 0.0].map(percent), ["+0.500 %", "-0.500 %", "0 %"]);
    }
}
