//! What somebody wrote that cannot be used: what, where, why, and what to do.

use std::fmt;

/// A mistake in settings, in a grid, in a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong, in one line.
    pub message: String,
    /// Labelled lines below it: file, cause, ...
    pub details: Vec<(&'static str, String)>,
    /// What to do now.
    pub hint: Option<String>,
}

impl Mistake {
    /// Says what is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Mistake { message: message.into(), details: Vec::new(), hint: None }
    }

    /// A labelled line.
    #[must_use]
    pub fn detail(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.details.push((label, text.into()));
        self
    }

    /// What to do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Hints at the name that was meant, if one is near, and at the command that lists them.
    #[must_use]
    pub fn suggest<'a>(self, name: &str, known: impl Iterator<Item = &'a str>, list: &str) -> Self {
        match nearest(name, known) {
            Some(meant) => self.hint(format!("did you mean '{meant}'? see: {list}")),
            None => self.hint(format!("see: {list}")),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.details.iter().try_for_each(|(label, text)| write!(f, "; {label}: {text}"))
    }
}

impl std::error::Error for Mistake {}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub file: String,
    /// Line and column, from 1.
    pub at: Option<(usize, usize)>,
}

impl Place {
    /// At an offset of `text`, which stands in `file`.
    pub fn at(file: &str, text: &str, offset: Option<usize>) -> Self {
        Place { file: file.into(), at: offset.map(|offset| position(text, offset)) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{}, line {line}, column {column}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Line and column of an offset, from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}

/// The known name that `name` was probably meant to be.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let name = plain(name);
    let length = name.chars().count();
    if length == 0 {
        return None;
    }
    // The beginning of a name is as good as a name with one slip.
    let distance = |candidate: &str| {
        let edits = strsim::damerau_levenshtein(&name, &plain(candidate));
        if length >= 3 && plain(candidate).starts_with(&name) { edits.min(1) } else { edits }
    };
    known
        .map(|k| (distance(k), k))
        .filter(|(edits, _)| *edits <= 1 + length / 4)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] =
        ["pendulum", "furuta-pendulum", "cart-pole", "cartpole", "quadrotor-2d", "quadrotor-3d", "bicycle"];

    #[test]
    fn typing_slips_find_the_name_that_was_meant() {
        for (typed, meant) in [
            ("pendulm", "pendulum"),
            ("pednulum", "pendulum"),
            ("Pendulum", "pendulum"),
            ("furuta pendulum", "furuta-pendulum"),
            ("furuta", "furuta-pendulum"),
            ("cart_pole", "cart-pole"),
            ("quadrotor3d", "quadrotor-3d"),
            ("bycicle", "bicycle"),
        ] {
            assert_eq!(nearest(typed, NAMES.into_iter()), Some(meant), "{typed}");
        }
    }

    #[test]
    fn other_words_find_nothing() {
        for typed in ["", "x", "rocket", "inverted-double-pendulum-on-a-cart"] {
            assert_eq!(nearest(typed, NAMES.into_iter()), None, "{typed}");
        }
    }
}
