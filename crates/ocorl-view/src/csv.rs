//! The numbers behind a figure.

use crate::figure::{Figure, Mark, Shape};

/// One number pair of a mark, with the name of what it belongs to. Rules have one coordinate only.
pub(crate) type Row = (&'static str, Option<f64>, Option<f64>);

impl Mark {
    /// All number pairs, in the order given.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let zip = |name, x: &[f64], y: &[f64]| -> Vec<Row> {
            x.iter().zip(y).map(|(&x, &y)| (name, Some(x), Some(y))).collect()
        };
        match &self.shape {
            Shape::Line { x, y } => zip("line", x, y),
            Shape::Step { x, y } => {
                let mut rows = zip("step", x, y);
                // The end of the last piece is a knot of its own, else the table would lose the final time.
                if let (Some(&end), Some(&last)) = (x.get(y.len()), y.last()) {
                    rows.push(("step", Some(end), Some(last)));
                }
                rows
            }
            Shape::Points { x, y, .. } => zip("points", x, y),
            Shape::Band { x, lower, upper } => {
                [zip("band lower", x, lower), zip("band upper", x, upper)].concat()
            }
            Shape::Horizontal { y } => vec![("horizontal", None, Some(*y))],
            Shape::Vertical { x } => vec![("vertical", Some(*x), None)],
        }
    }
}

impl Figure {
    /// All data as one tidy table with the columns `panel,series,mark,x,y`.
    ///
    /// A panel without a title is called by its number, a mark without a label has an empty series, a rule has an
    /// empty coordinate. Numbers are written so that they read back as the same bits.
    pub fn csv(&self) -> String {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
        let mut table = String::from("panel,series,mark,x,y\n");
        for (index, panel) in self.panels.iter().enumerate() {
            let title = if panel.title.is_empty() { (index + 1).to_string() } else { quoted(&panel.title) };
            for mark in &panel.marks {
                let series = mark.label.as_deref().map_or(String::new(), quoted);
                let row = |(name, x, y)| format!("{title},{series},{name},{},{}\n", number(x), number(y));
                table.extend(mark.rows().into_iter().map(row));
            }
        }
        table
    }
}

/// RFC 4180: quoted where it must be, quotes doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
