//! Formats Markdown paragraphs and lists.

use std::fmt::Write;

/// Maximum number of characters per line.
const WIDTH: usize = 120;

/// A paragraph, wrapped at blanks.
pub(super) fn paragraph(text: &str) -> String {
    broken(text, "", "")
}

/// A list item, wrapped at blanks.
pub(super) fn bullet(text: &str) -> String {
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

/// Joins items as "a, b and c".
pub(super) fn listed(words: &[String]) -> String {
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
    fn items_are_joined() {
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
