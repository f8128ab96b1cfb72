//! Splits the text of an expression into tokens.

use super::{Cause, ExpressionError};
use std::ops::Range;

/// A token: number, name, operator or parenthesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Sign(char),
    /// `<`, `<=`, `>` or `>=`.
    Compare(&'static str),
    End,
}

/// Reads tokens one by one; every byte is inspected a bounded number of times.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Number of tokens read so far.
    pub(super) count: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, count: 0 }
    }

    /// The next token and its byte range.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Range<usize>), ExpressionError> {
        self.count += 1;
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start..start)) };
        let (token, length) = match first {
            '0'..='9' | '.' => number(rest).map_err(|(length, cause)| {
                self.at = start + length;
                ExpressionError::new(start..start + length, cause)
            })?,
            c if is_letter(c) => {
                let name = &rest[..prefix(rest, |c| is_letter(c) || c.is_ascii_digit())];
                (Token::Name(name), name.len())
            }
            '<' if rest.starts_with("<=") => (Token::Compare("<="), 2),
            '>' if rest.starts_with(">=") => (Token::Compare(">="), 2),
            '<' => (Token::Compare("<"), 1),
            '>' => (Token::Compare(">"), 1),
            '*' if rest.starts_with("**") => {
                let expected = "one '*', or '^' for a power,";
                let cause = Cause::Unexpected { found: "'**'".into(), expected };
                return Err(ExpressionError::new(start..start + 2, cause));
            }
            '+' | '-' | '*' | '/' | '^' | '(' | ')' | ',' => (Token::Sign(first), 1),
            other => {
                let span = start..start + other.len_utf8();
                return Err(ExpressionError::new(span, Cause::UnknownSign(other)));
            }
        };
        self.at = start + length;
        Ok((token, start..self.at))
    }
}

/// Whether a name may start with this character.
pub(super) fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Length in bytes of the longest prefix of `text` whose characters all satisfy `fit`.
fn prefix(text: &str, fit: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fit(c)).unwrap_or(text.len())
}

/// Parses a number: digits, a point, digits, an exponent.
fn number(text: &str) -> Result<(Token<'_>, usize), (usize, Cause)> {
    let digit = |c: char| c.is_ascii_digit();
    let mut length = prefix(text, digit);
    if text[length..].starts_with('.') {
        length += 1 + prefix(&text[length + 1..], digit);
    }
    let exponent = &text[length..];
    if exponent.starts_with(['e', 'E']) {
        let sign = usize::from(exponent[1..].starts_with(['+', '-']));
        let digits = prefix(&exponent[1 + sign..], digit);
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    // "2x" and "1.2.3" are rejected as malformed numbers.
    let tail = prefix(&text[length..], |c| is_letter(c) || c == '.' || c.is_ascii_digit());
    let written = &text[..length + tail];
    match written.parse::<f64>() {
        Ok(value) if tail == 0 && value.is_finite() => Ok((Token::Number(value), length)),
        _ => Err((written.len(), Cause::Number(short(written)))),
    }
}

/// A long word, truncated for a message.
pub(super) fn short(word: &str) -> String {
    const MOST: usize = 40;
    match word.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.into(),
    }
}
