//! Marks: the shapes drawn over the axes, each with its colour, dash and label.

use crate::gaps;
use serde::{Deserialize, Serialize};

/// A shape with its colour, dash and label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mark {
    /// The shape and its data.
    #[serde(flatten)]
    pub shape: Shape,
    /// Name of the series in the legend and in the CSV table.
    #[serde(default)]
    pub label: Option<String>,
    /// Colour of the mark.
    #[serde(default)]
    pub color: Color,
    /// Dash pattern of its lines.
    #[serde(default)]
    pub dash: Dash,
    /// Share of the background mixed into the colour: 0 is the full colour, 1 is invisible.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tint: f64,
    /// Whether the legend omits the mark; the CSV table keeps its label.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The shape of a mark and its data. If lists differ in length, the surplus is ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are coordinates")]
pub enum Shape {
    /// Straight lines from point to point.
    Line {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
    },
    /// A piecewise constant curve: `y[i]` holds from `x[i]` to `x[i + 1]`. A last `x` without a `y` ends the last piece.
    Step {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
    },
    /// One marker per point.
    Points {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
        marker: Marker,
    },
    /// The area between two curves.
    Band {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        lower: Vec<f64>,
        #[serde(with = "gaps::list")]
        upper: Vec<f64>,
    },
    /// A line coloured by a value at each point.
    ColoredLine {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
        #[serde(with = "gaps::list")]
        value: Vec<f64>,
    },
    /// Markers coloured by a value at each point.
    ColoredPoints {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
        #[serde(with = "gaps::list")]
        value: Vec<f64>,
        marker: Marker,
    },
    /// A heat map, row by row: `values[j * (x_edges.len() - 1) + i]` fills the cell between `x_edges[i]` and `x_edges[i + 1]`,
    /// `y_edges[j]` and `y_edges[j + 1]`.
    Heat {
        #[serde(with = "gaps::list")]
        x_edges: Vec<f64>,
        #[serde(with = "gaps::list")]
        y_edges: Vec<f64>,
        #[serde(with = "gaps::list")]
        values: Vec<f64>,
    },
    /// Arrows centred at (x, y), in the direction in which (dx, dy) moves a point in this panel.
    ///
    /// Their lengths are relative to the longest arrow of the panel. That arrow has the length s √(width · height) of the panel,
    /// with s = 0.9/√n for n arrows, but at least 0.02 and at most 0.12. On a heat map arrows are outlined.
    Arrows {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
        #[serde(with = "gaps::list")]
        dx: Vec<f64>,
        #[serde(with = "gaps::list")]
        dy: Vec<f64>,
    },
    /// Vertical error bars.
    IntervalY {
        #[serde(with = "gaps::list")]
        x: Vec<f64>,
        #[serde(with = "gaps::list")]
        low: Vec<f64>,
        #[serde(with = "gaps::list")]
        high: Vec<f64>,
    },
    /// Horizontal error bars.
    IntervalX {
        #[serde(with = "gaps::list")]
        y: Vec<f64>,
        #[serde(with = "gaps::list")]
        low: Vec<f64>,
        #[serde(with = "gaps::list")]
        high: Vec<f64>,
    },
    /// A short text beside a point.
    Note {
        #[serde(with = "gaps::one")]
        x: f64,
        #[serde(with = "gaps::one")]
        y: f64,
        text: String,
    },
    /// A horizontal rule across the whole panel.
    Horizontal {
        #[serde(with = "gaps::one")]
        y: f64,
    },
    /// A vertical rule across the whole panel.
    Vertical {
        #[serde(with = "gaps::one")]
        x: f64,
    },
}

impl Mark {
    /// Straight lines from point to point.
    pub fn line(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        let (x, y) = (x.into(), y.into());
        assert_eq!(x.len(), y.len(), "a line of {} x and {} y", x.len(), y.len());
        Shape::Line { x, y }.into()
    }

    /// A piecewise constant curve: `y[i]` from `x[i]` to `x[i + 1]`. `x` has as many entries as `y`, or one more to end the last
    /// piece.
    pub fn step(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        let (x, y) = (x.into(), y.into());
        let fits = x.len() == y.len() || x.len() == y.len() + 1;
        assert!(fits, "a step line of {} x and {} y", x.len(), y.len());
        Shape::Step { x, y }.into()
    }

    /// One marker per point.
    pub fn points(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>, marker: Marker) -> Self {
        let (x, y) = (x.into(), y.into());
        assert_eq!(x.len(), y.len(), "points of {} x and {} y", x.len(), y.len());
        Shape::Points { x, y, marker }.into()
    }

    /// The area between `lower` and `upper`.
    pub fn band(x: impl Into<Vec<f64>>, lower: impl Into<Vec<f64>>, upper: impl Into<Vec<f64>>) -> Self {
        let [x, lower, upper] =
            equally_long("a band of x, lower and upper", [x.into(), lower.into(), upper.into()]);
        Shape::Band { x, lower, upper }.into()
    }

    /// A line coloured by `value` at each point; [`Panel::color`](crate::Panel::color) names the value.
    pub fn colored_line(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>, value: impl Into<Vec<f64>>) -> Self {
        let [x, y, value] =
            equally_long("a coloured line of x, y and values", [x.into(), y.into(), value.into()]);
        Shape::ColoredLine { x, y, value }.into()
    }

    /// Markers coloured by `value`; [`Panel::color`](crate::Panel::color) names the value.
    pub fn colored_points(
        x: impl Into<Vec<f64>>,
        y: impl Into<Vec<f64>>,
        value: impl Into<Vec<f64>>,
        marker: Marker,
    ) -> Self {
        let [x, y, value] =
            equally_long("coloured points of x, y and values", [x.into(), y.into(), value.into()]);
        Shape::ColoredPoints { x, y, value, marker }.into()
    }

    /// A heat map with cells between the edges; `values` row by row, the first row between the first two `y_edges`.
    pub fn heat(
        x_edges: impl Into<Vec<f64>>,
        y_edges: impl Into<Vec<f64>>,
        values: impl Into<Vec<f64>>,
    ) -> Self {
        let (x_edges, y_edges, values) = (x_edges.into(), y_edges.into(), values.into());
        let (columns, rows) = (x_edges.len().saturating_sub(1), y_edges.len().saturating_sub(1));
        assert_eq!(values.len(), columns * rows, "a heat map of {columns} × {rows} cells");
        Shape::Heat { x_edges, y_edges, values }.into()
    }

    /// Arrows centred at (x, y) along (dx, dy); the longest has a fixed share of the panel, see [`Shape::Arrows`].
    pub fn arrows(
        x: impl Into<Vec<f64>>,
        y: impl Into<Vec<f64>>,
        dx: impl Into<Vec<f64>>,
        dy: impl Into<Vec<f64>>,
    ) -> Self {
        let (x, y, dx, dy) = (x.into(), y.into(), dx.into(), dy.into());
        let lengths = [x.len(), y.len(), dx.len(), dy.len()];
        assert_eq!(lengths, [x.len(); 4], "arrows of {lengths:?} x, y, dx and dy");
        Shape::Arrows { x, y, dx, dy }.into()
    }

    /// Vertical error bars from `low` to `high` at `x`.
    pub fn interval_y(x: impl Into<Vec<f64>>, low: impl Into<Vec<f64>>, high: impl Into<Vec<f64>>) -> Self {
        let [x, low, high] =
            equally_long("intervals of x, low and high", [x.into(), low.into(), high.into()]);
        Shape::IntervalY { x, low, high }.into()
    }

    /// Horizontal error bars from `low` to `high` at height `y`.
    pub fn interval_x(y: impl Into<Vec<f64>>, low: impl Into<Vec<f64>>, high: impl Into<Vec<f64>>) -> Self {
        let [y, low, high] =
            equally_long("intervals of y, low and high", [y.into(), low.into(), high.into()]);
        Shape::IntervalX { y, low, high }.into()
    }

    /// A short text beside a point, on the side where it fits; in the colour of text unless a series is set.
    pub fn note(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self::from(Shape::Note { x, y, text: text.into() }).muted()
    }

    /// A horizontal rule at height `y`.
    pub fn horizontal(y: f64) -> Self {
        Shape::Horizontal { y }.into()
    }

    /// A vertical rule at `x`.
    pub fn vertical(x: f64) -> Self {
        Shape::Vertical { x }.into()
    }

    /// Sets the name of the series.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets the colour of the `index`-th series.
    #[must_use]
    pub fn series(self, index: usize) -> Self {
        Self { color: Color::Series(index), ..self }
    }

    /// Makes the mark grey: for limits, baselines and references.
    #[must_use]
    pub fn muted(self) -> Self {
        Self { color: Color::Muted, ..self }
    }

    /// Makes its lines dashed.
    #[must_use]
    pub fn dashed(self) -> Self {
        Self { dash: Dash::Dashed, ..self }
    }

    /// Makes its lines dotted.
    #[must_use]
    pub fn dotted(self) -> Self {
        Self { dash: Dash::Dotted, ..self }
    }

    /// Makes the mark paler: mixes the share `share` of the background into its colour.
    #[must_use]
    pub fn tinted(self, share: f64) -> Self {
        Self { tint: share.clamp(0.0, 1.0), ..self }
    }

    /// Omits the mark from the legend.
    #[must_use]
    pub fn unlisted(self) -> Self {
        Self { unlisted: true, ..self }
    }
}

impl From<Shape> for Mark {
    fn from(shape: Shape) -> Self {
        Self {
            shape,
            label: None,
            color: Color::default(),
            dash: Dash::default(),
            tint: 0.0,
            unlisted: false,
        }
    }
}

/// Returns the lists if all have the same length, else panics; `what` names them in the message.
fn equally_long<const N: usize>(what: &str, lists: [Vec<f64>; N]) -> [Vec<f64>; N] {
    let lengths = lists.each_ref().map(Vec::len);
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{what}, of lengths {lengths:?}");
    lists
}

/// A colour by its role; the theme decides which colour it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Color {
    /// Colour of the series with this index. Indices beyond the palette reuse its colours with other dashes.
    Series(usize),
    /// Grey, for what stands behind the data.
    Muted,
}

impl Default for Color {
    fn default() -> Self {
        Self::Series(0)
    }
}

/// Dash pattern of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum Dash {
    #[default]
    Solid,
    Dashed,
    Dotted,
}

/// Shape of a point. Series differ in marker or dash too, never in colour alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum Marker {
    #[default]
    Circle,
    Ring,
    Square,
    Diamond,
    Triangle,
    Cross,
    Plus,
    /// A short vertical stroke, for raster plots of times.
    Bar,
    /// A filled circle of half the size.
    Dot,
}
