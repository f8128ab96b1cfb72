//! Tables of typed columns and their export to CSV, JSON and Parquet.

mod parquet;

use serde_json::{Map, Value, json};

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, without blanks.
    pub name: String,
    /// Values, one per row.
    pub values: Values,
}

/// Values of a column; a missing value is `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text.
    Text(Vec<Option<String>>),
    /// Integers.
    Count(Vec<Option<i64>>),
    /// Floating-point numbers.
    Number(Vec<Option<f64>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Count(values) => values.len(),
            Values::Number(values) => values.len(),
        }
    }

    /// A value as text that reads back as the same value; empty if it is missing.
    fn text(&self, row: usize) -> String {
        match self {
            Values::Text(values) => values[row].clone().unwrap_or_default(),
            Values::Count(values) => values[row].map_or(String::new(), |n| n.to_string()),
            Values::Number(values) => {
                values[row].filter(|v| v.is_finite()).map_or(String::new(), |v| format!("{v:?}"))
            }
        }
    }

    fn json(&self, row: usize) -> Value {
        match self {
            Values::Text(values) => json!(values[row]),
            Values::Count(values) => json!(values[row]),
            Values::Number(values) => json!(values[row]),
        }
    }
}

/// A table of columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tidy {
    /// Columns from left to right.
    pub columns: Vec<Column>,
}

impl Tidy {
    /// Appends a text column.
    #[must_use]
    pub fn text<S: Into<String>>(self, name: &str, values: impl IntoIterator<Item = Option<S>>) -> Self {
        self.column(name, Values::Text(values.into_iter().map(|v| v.map(Into::into)).collect()))
    }

    /// Appends an integer column.
    #[must_use]
    pub fn count(self, name: &str, values: impl IntoIterator<Item = Option<usize>>) -> Self {
        let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.column(name, Values::Count(values.into_iter().map(|v| v.map(whole)).collect()))
    }

    /// Appends a column of floating-point numbers.
    #[must_use]
    pub fn number(self, name: &str, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        self.column(name, Values::Number(values.into_iter().collect()))
    }

    fn column(mut self, name: &str, values: Values) -> Self {
        if let Some(first) = self.columns.first() {
            let rows = first.values.len();
            assert_eq!(values.len(), rows, "column '{name}' has {} of {rows} rows", values.len());
        }
        self.columns.push(Column { name: name.into(), values });
        self
    }

    /// Number of rows, without the header.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The table as CSV with a header.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            out += &cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",");
            out.push('\n');
        };
        line(&mut self.columns.iter().map(|column| column.name.clone()));
        for row in 0..self.rows() {
            line(&mut self.columns.iter().map(|column| column.values.text(row)));
        }
        out
    }

    /// The table as a JSON list with one object per row.
    pub fn json(&self) -> String {
        let object = |row: usize| {
            let entries = self.columns.iter().map(|column| (column.name.clone(), column.values.json(row)));
            Value::Object(entries.collect::<Map<_, _>>())
        };
        let rows: Vec<String> = (0..self.rows()).map(|row| object(row).to_string()).collect();
        format!("[\n{}\n]\n", rows.join(",\n"))
    }
}

/// A CSV cell as RFC 4180 requires it: quoted only where necessary, with quotes doubled.
pub fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be_and_numbers_keep_their_bits() {
        let table = Tidy::default()
            .text("word", [Some("plain"), Some("a, \"b\""), None])
            .count("n", [Some(3), None, Some(0)])
            .number("x", [Some(0.1 + 0.2), Some(f64::NAN), Some(1e-300)]);
        assert_eq!(table.csv(), "word,n,x\nplain,3,0.30000000000000004\n\"a, \"\"b\"\"\",,\n,0,1e-300\n");
        let parsed: Vec<Value> = serde_json::from_str(&table.json()).unwrap();
        assert_eq!(parsed.len(), 3);
        assert_eq!(parsed[1]["word"], "a, \"b\"");
        assert_eq!(parsed[1]["x"], Value::Null);
    }
}
