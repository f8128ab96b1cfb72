//! Reads TOML with strict keys and keeps the position of every value for errors.

use crate::user_error::{Place, UserError, nearest};
use ocorl_expression::{Cause, ExpressionError, FUNCTIONS, Formulas, Scope};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// TOML text and the name of its file.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn place(&self, at: usize) -> Place {
        Place::at(self.file, self.text, Some(at))
    }

    /// An error at the key `path`, located at byte `at`.
    pub(super) fn error(&self, at: usize, path: &str, what: impl Into<String>) -> UserError {
        let located = UserError::new(what).detail("file", self.place(at).to_string());
        if path.is_empty() { located } else { located.detail("key", path) }
    }

    /// Parses the document.
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'a>>, UserError> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let cause = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            self.error(at, "", format!("'{}' is not TOML", self.file)).detail("cause", cause)
        })
    }
}

/// A table whose keys are all known.
#[derive(Clone)]
pub(super) struct Section<'a> {
    source: Source<'a>,
    path: String,
    at: usize,
    /// Entries in the order of the file.
    entries: Vec<Entry<'a>>,
}

/// A key with its value.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    source: Source<'a>,
    pub(super) name: &'a str,
    pub(super) path: String,
    /// Byte offset of the key.
    pub(super) at: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    /// All entries of a table, with any keys.
    pub(super) fn any(source: Source<'a>, path: &str, at: usize, table: &'a DeTable<'a>) -> Self {
        let entry = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a std::borrow::Cow<'a, str> = key.get_ref();
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            Entry { source, name, path, at: key.span().start, value }
        };
        let mut entries: Vec<Entry<'a>> = table.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.at);
        Section { source, path: path.into(), at, entries }
    }

    /// Rejects keys other than `known`. `elsewhere` lists other sections with their keys, for a hint.
    pub(super) fn only(self, known: &[&str], elsewhere: &[(&str, &[&str])]) -> Result<Self, UserError> {
        let Some(entry) = self.entries.iter().find(|entry| !known.contains(&entry.name)) else {
            return Ok(self);
        };
        let what = match self.path.as_str() {
            "" => format!("no section '{}'", shortened(entry.name)),
            path => format!("no key '{}' in [{path}]", shortened(entry.name)),
        };
        let belongs = elsewhere.iter().find(|(_, keys)| keys.contains(&entry.name));
        let located = entry.source.error(entry.at, &shortened(&entry.path), what);
        Err(located.hint(match (nearest(entry.name, known.iter().copied()), belongs) {
            (Some(meant), Some((section, _))) => {
                format!("did you mean '{meant}'? or it belongs in [{section}]")
            }
            (None, Some((section, _))) => format!("it belongs in [{section}]"),
            (Some(meant), None) => format!("did you mean '{meant}'?"),
            (None, None) => format!("there are: {}", known.join(", ")),
        }))
    }

    pub(super) fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.name == key)
    }

    /// A required key.
    pub(super) fn need(&self, key: &str, form: &str) -> Result<&Entry<'a>, UserError> {
        self.get(key).ok_or_else(|| {
            self.source
                .error(self.at, &format!("{}.{key}", self.path), format!("[{}] has no '{key}'", self.path))
                .hint(format!("as in: {form}"))
        })
    }

    /// An error about the section as a whole.
    pub(super) fn error(&self, what: impl Into<String>) -> UserError {
        self.source.error(self.at, &self.path, what)
    }
}

impl<'a> Entry<'a> {
    pub(super) fn error(&self, what: impl Into<String>) -> UserError {
        self.source.error(self.at, &shortened(&self.path), what)
    }

    /// An error at byte `at` within the value.
    pub(super) fn error_at(&self, at: usize, what: impl Into<String>) -> UserError {
        self.source.error(at, &shortened(&self.path), what)
    }

    /// An error at byte `start` within a text value.
    pub(super) fn error_in(&self, start: usize, what: impl Into<String>) -> UserError {
        self.error_at(self.inside(self.value, start), what)
    }

    /// File offset of byte `start` of a text value. With escapes the text differs from the file; then the start of the value is returned.
    fn inside(&self, value: &Spanned<DeValue<'a>>, start: usize) -> usize {
        let span = value.span();
        let raw = self.source.text.get(span.clone()).unwrap_or_default();
        span.start + value.get_ref().as_str().and_then(|text| raw.find(text)).map_or(0, |skip| skip + start)
    }

    fn wrong(&self, value: &Spanned<DeValue<'a>>, need: &str) -> UserError {
        let found = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let what = format!("'{}' must be {need}, not {found}", shortened(self.name));
        self.source.error(value.span().start, &shortened(&self.path), what)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    pub(super) fn text(&self) -> Result<&'a str, UserError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong(self.value, "a text in quotes")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, UserError> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong(self.value, "true or false")),
        }
    }

    /// A number, which may be infinite.
    pub(super) fn number(&self) -> Result<f64, UserError> {
        self.number_in(self.value)
    }

    /// A finite number.
    pub(super) fn finite(&self) -> Result<f64, UserError> {
        self.finite_in(self.value)
    }

    fn finite_in(&self, value: &Spanned<DeValue<'a>>) -> Result<f64, UserError> {
        let number = self.number_in(value)?;
        if number.is_finite() {
            return Ok(number);
        }
        let what = format!("'{}' is {number}; it must be finite", shortened(self.name));
        Err(self.source.error(value.span().start, &shortened(&self.path), what))
    }

    fn number_in(&self, value: &Spanned<DeValue<'a>>) -> Result<f64, UserError> {
        let written = match value.get_ref() {
            DeValue::Integer(whole) => {
                i128::from_str_radix(whole.as_str(), whole.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::String(text) => {
                let formulas = Formulas::new(Scope::new());
                let parsed = formulas.parse(text);
                let parsed = parsed.map_err(|error| self.expression_error(value, &error, &formulas))?;
                formulas.constant(&parsed, &[])
            }
            _ => None,
        };
        match written {
            Some(number) if !number.is_nan() => Ok(number),
            _ => Err(self.wrong(value, "a number")),
        }
    }

    /// A list of finite numbers of any length.
    pub(super) fn numbers(&self) -> Result<Vec<f64>, UserError> {
        self.list("a list of numbers")?.iter().map(|value| self.finite_in(value)).collect()
    }

    /// A pair of limits [low, high].
    pub(super) fn limits(&self) -> Result<[f64; 2], UserError> {
        let need = "its limits [low, high]";
        let [low, high] = self.list(need)? else { return Err(self.wrong_length(need)) };
        let (low, high) = (self.number_in(low)?, self.number_in(high)?);
        if low < high {
            return Ok([low, high]);
        }
        Err(self
            .error(format!("the limits of '{}' are empty: [{low}, {high}]", self.name))
            .hint("the first must be below the second; no limit is -inf or inf"))
    }

    fn wrong_length(&self, need: &str) -> UserError {
        self.source.error(
            self.value.span().start,
            &shortened(&self.path),
            format!("'{}' must be {need}", shortened(self.name)),
        )
    }

    /// A list of texts with their positions.
    pub(super) fn texts(&self) -> Result<Vec<(&'a str, usize)>, UserError> {
        let one = |value: &'a Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::String(text) => Ok((&**text, value.span().start)),
            _ => Err(self.wrong(value, "a list of names in quotes")),
        };
        self.list("a list of names in quotes")?.iter().map(one).collect()
    }

    fn list(&self, need: &str) -> Result<&'a [Spanned<DeValue<'a>>], UserError> {
        match self.value.get_ref() {
            DeValue::Array(list) => Ok(list),
            _ => Err(self.wrong(self.value, need)),
        }
    }

    /// A table with any keys.
    pub(super) fn section(&self) -> Result<Section<'a>, UserError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Section::any(self.source, &self.path, self.at, table)),
            _ => Err(self.wrong(self.value, &format!("a section [{}]", self.path))),
        }
    }

    /// A table by name: for each of `names` its number, or `None`.
    pub(super) fn by_name(&self, names: &[&str]) -> Result<Vec<Option<f64>>, UserError> {
        let section = match self.value.get_ref() {
            DeValue::Table(table) => Section::any(self.source, &self.path, self.at, table),
            _ => return Err(self.wrong(self.value, &format!("a table, as in {{ {} = 1.0 }}", names[0]))),
        };
        let section = section.only(names, &[])?;
        names.iter().map(|name| section.get(name).map(Entry::finite).transpose()).collect()
    }

    /// Parses an expression, or returns an error with its position.
    pub(super) fn parsed<T>(
        &self,
        formulas: &Formulas,
        parse: impl FnOnce(&Formulas, &str) -> Result<T, ExpressionError>,
    ) -> Result<T, UserError> {
        let text = match self.value.get_ref() {
            DeValue::String(text) => text.to_string(),
            // A plain number is also an expression.
            DeValue::Integer(_) | DeValue::Float(_) => format!("{:?}", self.finite()?),
            _ => return Err(self.wrong(self.value, "an expression in quotes")),
        };
        parse(formulas, &text).map_err(|error| self.expression_error(self.value, &error, formulas))
    }

    fn expression_error(
        &self,
        value: &Spanned<DeValue<'a>>,
        error: &ExpressionError,
        formulas: &Formulas,
    ) -> UserError {
        let at = self.inside(value, error.span.start);
        let what = format!("the expression for '{}' cannot be read", shortened(self.name));
        let located = self.source.error(at, &shortened(&self.path), what).detail("cause", error.to_string());
        let names = formulas.scope().names();
        let functions = FUNCTIONS.map(|(name, _)| name);
        match &error.cause {
            Cause::UnknownName(name) => match nearest(name, names.iter().copied().chain(functions)) {
                Some(meant) => located.hint(format!("did you mean '{meant}'?")),
                None => located.hint(format!("there are: {}", names.join(", "))),
            },
            Cause::UnknownFunction(name) => match nearest(name, functions.into_iter()) {
                Some(meant) => located.hint(format!("did you mean '{meant}'?")),
                None => located.hint(format!("there are: {}", functions.join(", "))),
            },
            Cause::And => located.hint("as in: \"level > 3 or level < 0\""),
            _ => located,
        }
    }
}

/// A long word, truncated for a message.
pub(crate) fn shortened(word: &str) -> String {
    match word.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.into(),
    }
}
