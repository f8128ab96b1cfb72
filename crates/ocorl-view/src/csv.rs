//! The numbers behind a figure as one CSV table.

use crate::figure::Figure;
use crate::mark::{Mark, Shape};
use ocorl_study::tidy::quoted;

/// One data point of a mark and the name of its part. Horizontal and vertical rules have one coordinate only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    name: &'static str,
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
    /// Value that determines the colour of the point, if it has one.
    pub(crate) value: Option<f64>,
}

impl Row {
    fn new(name: &'static str, x: impl Into<Option<f64>>, y: impl Into<Option<f64>>) -> Self {
        Self { name, x: x.into(), y: y.into(), value: None }
    }

    /// Whether every number of the row is finite, so that it can be drawn on a linear axis.
    pub(crate) fn is_finite(&self) -> bool {
        [self.x, self.y, self.value].into_iter().flatten().all(f64::is_finite)
    }
}

fn pairs(name: &'static str, x: &[f64], y: &[f64]) -> Vec<Row> {
    x.iter().zip(y).map(|(&x, &y)| Row::new(name, x, y)).collect()
}

fn valued(name: &'static str, x: &[f64], y: &[f64], value: &[f64]) -> Vec<Row> {
    let value = value.iter().map(|&value| Some(value));
    pairs(name, x, y).into_iter().zip(value).map(|(row, value)| Row { value, ..row }).collect()
}

impl Mark {
    /// All data points of the mark, in the order in which they were given.
    pub(crate) fn rows(&self) -> Vec<Row> {
        match &self.shape {
            Shape::Line { x, y } => pairs("line", x, y),
            Shape::Step { x, y } => {
                let mut rows = pairs("step", x, y);
                // The end of the last piece is a row of its own; otherwise the table would lose the final time.
                if let (Some(&end), Some(&last)) = (x.get(y.len()), y.last()) {
                    rows.push(Row::new("step", end, last));
                }
                rows
            }
            Shape::Points { x, y, .. } => pairs("points", x, y),
            Shape::Band { x, lower, upper } => {
                [pairs("band lower", x, lower), pairs("band upper", x, upper)].concat()
            }
            Shape::ColoredLine { x, y, value } => valued("colored line", x, y, value),
            Shape::ColoredPoints { x, y, value, .. } => valued("colored points", x, y, value),
            Shape::Heat { x_edges, y_edges, values } => {
                let middles = |edges: &[f64]| -> Vec<f64> {
                    edges.windows(2).map(|pair| 0.5 * pair[0] + 0.5 * pair[1]).collect()
                };
                let (x, y) = (middles(x_edges), middles(y_edges));
                let rows = values.chunks(x.len().max(1)).zip(&y);
                rows.flat_map(|(row, &y)| valued("heat", &x, &vec![y; x.len()], row)).collect()
            }
            Shape::Arrows { x, y, dx, dy } => [pairs("arrow at", x, y), pairs("arrow by", dx, dy)].concat(),
            Shape::IntervalY { x, low, high } => {
                [pairs("interval low", x, low), pairs("interval high", x, high)].concat()
            }
            Shape::IntervalX { y, low, high } => {
                [pairs("interval low", low, y), pairs("interval high", high, y)].concat()
            }
            Shape::Note { x, y, .. } => vec![Row::new("note", *x, *y)],
            Shape::Horizontal { y } => vec![Row::new("horizontal", None, *y)],
            Shape::Vertical { x } => vec![Row::new("vertical", *x, None)],
        }
    }

    /// The points that the axes must include.
    pub(crate) fn places(&self) -> Vec<Row> {
        match &self.shape {
            Shape::Heat { x_edges, y_edges, .. } => {
                let x = x_edges.iter().map(|&x| Row::new("heat", x, None));
                x.chain(y_edges.iter().map(|&y| Row::new("heat", None, y))).collect()
            }
            Shape::Arrows { x, y, .. } => pairs("arrow at", x, y),
            _ => self.rows(),
        }
    }
}

impl Figure {
    /// All data as one tidy table with the columns `panel,series,mark,x,y`, and `value` if any mark is coloured by a value.
    ///
    /// A panel without a title is named by its number. A mark without a label has an empty series. A rule has an empty coordinate.
    /// A cell of a heat map is listed at its centre. The series of a note is its text. Numbers are written so that they read back
    /// as the same bits.
    pub fn csv(&self) -> String {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
        let colored = |mark: &Mark| {
            matches!(mark.shape, Shape::ColoredLine { .. } | Shape::ColoredPoints { .. } | Shape::Heat { .. })
        };
        let with_values = self.panels.iter().flat_map(|panel| &panel.marks).any(colored);
        let mut table = String::from(if with_values {
            "panel,series,mark,x,y,value\n"
        } else {
            "panel,series,mark,x,y\n"
        });
        for (index, panel) in self.panels.iter().enumerate() {
            let title = if panel.title.is_empty() { (index + 1).to_string() } else { quoted(&panel.title) };
            for mark in &panel.marks {
                let series = match &mark.shape {
                    Shape::Note { text, .. } => quoted(text),
                    _ => mark.label.as_deref().map_or(String::new(), quoted),
                };
                let row = |row: Row| {
                    let value = if with_values { format!(",{}", number(row.value)) } else { String::new() };
                    format!("{title},{series},{},{},{}{value}\n", row.name, number(row.x), number(row.y))
                };
                table.extend(mark.rows().into_iter().map(row));
            }
        }
        table
    }
}
