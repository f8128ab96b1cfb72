//! Number formats of a report, with a true minus sign.

/// A cost with four decimals, or in scientific notation where these are not useful; "–" for a value that is not finite.
pub fn cost(value: f64) -> String {
    match value.abs() {
        a if !a.is_finite() => "–".into(),
        a if a == 0.0 || (1e-2..1e5).contains(&a) => minus(&format!("{value:.4}")),
        _ => power(value),
    }
}

/// Mean and standard deviation.
pub fn plus_minus(mean: f64, std: f64) -> String {
    if mean.is_finite() { format!("{} ± {}", cost(mean), amount(std)) } else { "–".into() }
}

/// A magnitude beside a cost: with the decimals of a cost while it is small, with fewer the larger it is.
pub fn amount(value: f64) -> String {
    match value.abs() {
        a if !a.is_finite() => "–".into(),
        a if a < 10.0 => minus(&format!("{value:.4}")),
        a if a < 1e3 => minus(&format!("{value:.2}")),
        a if a < 1e6 => minus(&format!("{value:.0}")),
        _ => power(value),
    }
}

/// A number with this many significant digits at most, without trailing zeros; whole numbers keep all of their digits.
pub fn brief(value: f64, digits: usize) -> String {
    match value.abs() {
        a if !a.is_finite() => "–".into(),
        a if a != 0.0 && !(1e-4..1e6).contains(&a) => power(value),
        a => {
            // Digits before the point, or minus the zeros behind it.
            let size = (0..16).find(|size| a < 10_f64.powi(size - 5)).unwrap_or(15) - 5;
            let decimals = usize::try_from(i32::try_from(digits).unwrap_or(0) - size).unwrap_or(0);
            let text = format!("{value:.decimals$}");
            let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            minus(if short == "-0" { "0" } else { short })
        }
    }
}

/// A percentage with its sign and as many decimals as are significant; "–" for a value that is not finite.
pub fn percent(value: f64) -> String {
    match value.abs() {
        a if !a.is_finite() => "–".into(),
        a if a < 5e-4 => "±0 %".into(),
        a if a < 0.1 => minus(&format!("{value:+.3} %")),
        a if a < 100.0 => minus(&format!("{value:+.2} %")),
        a if a < 1e6 => minus(&format!("{value:+.0} %")),
        _ => format!("{}{} %", if value > 0.0 { "+" } else { "" }, power(value)),
    }
}

/// Scientific notation: 1.2 × 10⁸.
fn power(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised = |c: char| match c {
        '-' => '⁻',
        digit => digit.to_digit(10).and_then(|d| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(d as usize)).unwrap_or(digit),
    };
    format!("{} × 10{}", minus(digits), exponent.chars().map(raised).collect::<String>())
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_can_be_read() {
        let costs = [20.16044, 0.0, -3.5, 1.5e-7, 1.5e9, f64::NAN, f64::INFINITY].map(cost);
        assert_eq!(costs, ["20.1604", "0.0000", "−3.5000", "1.50 × 10⁻⁷", "1.50 × 10⁹", "–", "–"]);
        let shares = [0.0001, 0.0123, -0.0123, 1.234, -45.678, 1234.0, 4.2e8, f64::NAN].map(percent);
        let expected =
            ["±0 %", "+0.012 %", "−0.012 %", "+1.23 %", "−45.68 %", "+1234 %", "+4.20 × 10⁸ %", "–"];
        assert_eq!(shares, expected);
        let sizes = [0.00312, 19.2432, 6120.0679, 59156.92, 1.36e7].map(amount);
        assert_eq!(sizes, ["0.0031", "19.24", "6120", "59157", "1.36 × 10⁷"]);
        assert_eq!(plus_minus(20.2, 0.001), "20.2000 ± 0.0010");
        assert_eq!(plus_minus(f64::NAN, 0.0), "–");
        let few =
            [2.8341, 0.005_23, -100.0, 40.26, 0.999_99, 0.0, -1e-9, f64::NAN].map(|value| brief(value, 2));
        assert_eq!(few, ["2.8", "0.0052", "−100", "40", "1", "0", "−1.00 × 10⁻⁹", "–"]);
    }
}
