//! Formats Markdown paragraphs, lists and the numbers in them.

use std::fmt::Write;

/// Maximum number of characters per line.
const WIDTH: usize = 120;

/// A paragraph, wrapped at blanks.
pub(crate) fn paragraph(text: &str) -> String {
    broken(text, "", "")
}

/// A list item, wrapped at blanks.
pub(crate) fn bullet(text: &str) -> String {
    broken(text, "- ", "  ")
}

/// Wraps `text`; the first line begins with `first`, the others with `rest`.
fn broken(text: &str, first: &str, rest: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            // At the beginning of a line this token would start a list or a heading.
            Some(last) if is_marker(word) => {
                let _ = write!(last, " {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    let (mut out, mut room) = (String::new(), 0);
    for word in words {
        let length = word.chars().count();
        if out.is_empty() {
            out = format!("{first}{word}");
            room = WIDTH.saturating_sub(out.chars().count());
        } else if length < room {
            let _ = write!(out, " {word}");
            room -= length + 1;
        } else {
            let _ = write!(out, "\n{rest}{word}");
            room = WIDTH.saturating_sub(rest.chars().count() + length);
        }
    }
    out + "\n"
}

/// Whether Markdown reads a line that begins with this token as a list item or a heading.
fn is_marker(word: &str) -> bool {
    let numbered = word.strip_suffix(['.', ')']).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    numbered || matches!(word, "-" | "+" | "*") || word.chars().all(|c| c == '#' || c == '=')
}

/// Formats three significant digits, in scientific notation for very large or small values.
pub(crate) fn three_digits(value: f64) -> String {
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
pub(crate) fn percent(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    if value.is_finite() { format!("{sign}{} %", three_digits(value)) } else { "–".into() }
}

/// Joins items as "a, b and c".
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_none_begins_a_list() {
        let text = "least on 1. An adaptive strategy + 0.3 % # of ".repeat(40);
        let lines = bullet(&text);
        assert!(lines.lines().all(|line| line.chars().count() <= WIDTH), "{lines}");
        assert!(lines.lines().count() > 10 && lines.lines().skip(1).all(|line| line.starts_with("  ")));
        let begin = |line: &str| line.split_whitespace().next().is_some_and(is_marker);
        assert!(!lines.lines().skip(1).any(begin), "{lines}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&lines)[1..], words(&text), "no word is lost");
        assert_eq!(paragraph(&"x".repeat(WIDTH)), "x".repeat(WIDTH) + "\n");
        assert_eq!(paragraph(&format!("{} a", "x".repeat(WIDTH - 2))).lines().count(), 1);
        assert_eq!(paragraph(&format!("{} a", "x".repeat(WIDTH - 1))).lines().count(), 2);
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers =
            [0.0, 0.0046, 0.00214, 9.996, 312.4, 19_420.0, 8.161e5, -2.5, f64::NAN].map(three_digits);
        assert_eq!(numbers, ["0", "0.00460", "0.00214", "10.0", "312", "19400", "8.16e5", "-2.50", "–"]);
        assert_eq!([0.5, -0.5, 0.0].map(percent), ["+0.500 %", "-0.500 %", "0 %"]);
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
