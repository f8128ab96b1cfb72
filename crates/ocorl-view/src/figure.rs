//! What a plot says: figures of panels, panels of marks over two axes.
//!
//! In JSON a value that is not finite is `null` (a gap, as plotting pages expect it) and reads back as NaN.

use serde::{Deserialize, Serialize};

/// Panels in a grid, under one title.
///
/// ```
/// use ocorl_view::{Axis, Figure, Mark, Panel, svg};
///
/// let episodes = [1.0, 2.0, 3.0];
/// let cost = Panel::new("Cost", Axis::new("episode", ""), Axis::new("cost", "").log())
///     .mark(Mark::line(episodes, [310.0, 42.0, 20.3]).label("max determinant"))
///     .mark(Mark::horizontal(20.16).label("best continuous").muted().dashed());
/// let picture = svg(&Figure::new("Pendulum").panel(cost));
/// assert!(picture.starts_with("<svg"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Figure {
    /// Above everything; may be empty.
    pub title: String,
    /// A second, quieter line; may be empty.
    pub subtitle: String,
    /// Row by row.
    pub panels: Vec<Panel>,
    /// Panels beside each other; 0 counts as 1.
    pub columns: usize,
}

impl Figure {
    /// A figure without panels, one column wide.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), columns: 1, ..Self::default() }
    }

    /// The line below the title.
    #[must_use]
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// How many panels stand beside each other.
    #[must_use]
    pub fn columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// One panel more.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }
}

/// Marks over one pair of axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Panel {
    /// Above the panel; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Drawn in this order, but bands below and points above the others. Marks with equal labels share one entry of
    /// the legend.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel without marks.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, marks: Vec::new() }
    }

    /// One mark more.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

/// One axis, written as "label \[unit\]".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Axis {
    /// The quantity; may be empty.
    pub label: String,
    /// Its unit; empty if it has none.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// What to show. An end that is not finite (or cannot be on the scale) is taken from the data, as are both
    /// ends of `None`.
    #[serde(with = "range")]
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis that shows all data.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), ..Self::default() }
    }

    /// Logarithmic; values that are not positive leave gaps.
    #[must_use]
    pub fn log(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// Shows `low` to `high`; an infinite end is taken from the data.
    #[must_use]
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// "label \[unit\]", or what there is of it.
    pub fn text(&self) -> String {
        match (self.label.is_empty(), self.unit.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => format!("[{}]", self.unit),
            (false, false) => format!("{} [{}]", self.label, self.unit),
        }
    }
}

/// How values become places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences are equally far.
    #[default]
    Linear,
    /// Equal ratios are equally far.
    Log,
}

/// A shape with its looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mark {
    /// What is drawn.
    #[serde(flatten)]
    pub shape: Shape,
    /// The series it belongs to, for legend and table.
    #[serde(default)]
    pub label: Option<String>,
    /// In which colour.
    #[serde(default)]
    pub color: Color,
    /// How its lines are dashed.
    #[serde(default)]
    pub dash: Dash,
}

/// What a mark draws. Where lists differ in length the shorter counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are coordinates")]
pub enum Shape {
    /// Straight lines from point to point.
    Line {
        #[serde(with = "gaps")]
        x: Vec<f64>,
        #[serde(with = "gaps")]
        y: Vec<f64>,
    },
    /// Piecewise constant: `y[i]` holds from `x[i]` to `x[i + 1]`. A last `x` without a `y` ends the last piece.
    Step {
        #[serde(with = "gaps")]
        x: Vec<f64>,
        #[serde(with = "gaps")]
        y: Vec<f64>,
    },
    /// One marker a point.
    Points {
        #[serde(with = "gaps")]
        x: Vec<f64>,
        #[serde(with = "gaps")]
        y: Vec<f64>,
        marker: Marker,
    },
    /// The area between two curves.
    Band {
        #[serde(with = "gaps")]
        x: Vec<f64>,
        #[serde(with = "gaps")]
        lower: Vec<f64>,
        #[serde(with = "gaps")]
        upper: Vec<f64>,
    },
    /// A rule across the whole panel.
    Horizontal {
        #[serde(with = "gap")]
        y: f64,
    },
    /// A rule from bottom to top.
    Vertical {
        #[serde(with = "gap")]
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

    /// `y[i]` from `x[i]` to `x[i + 1]`; `x` has as many entries as `y`, or one more to end the last piece.
    pub fn step(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        let (x, y) = (x.into(), y.into());
        let fits = x.len() == y.len() || x.len() == y.len() + 1;
        assert!(fits, "a step line of {} x and {} y", x.len(), y.len());
        Shape::Step { x, y }.into()
    }

    /// One marker a point.
    pub fn points(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>, marker: Marker) -> Self {
        let (x, y) = (x.into(), y.into());
        assert_eq!(x.len(), y.len(), "points of {} x and {} y", x.len(), y.len());
        Shape::Points { x, y, marker }.into()
    }

    /// The area between `lower` and `upper`.
    pub fn band(x: impl Into<Vec<f64>>, lower: impl Into<Vec<f64>>, upper: impl Into<Vec<f64>>) -> Self {
        let (x, lower, upper) = (x.into(), lower.into(), upper.into());
        let fits = x.len() == lower.len() && x.len() == upper.len();
        assert!(fits, "a band of {} x, {} lower and {} upper", x.len(), lower.len(), upper.len());
        Shape::Band { x, lower, upper }.into()
    }

    /// A rule at height `y`.
    pub fn horizontal(y: f64) -> Self {
        Shape::Horizontal { y }.into()
    }

    /// A rule at `x`.
    pub fn vertical(x: f64) -> Self {
        Shape::Vertical { x }.into()
    }

    /// Names the series.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The colour of the `index`-th series.
    #[must_use]
    pub fn series(self, index: usize) -> Self {
        Self { color: Color::Series(index), ..self }
    }

    /// Grey: limits, baselines, what was expected.
    #[must_use]
    pub fn muted(self) -> Self {
        Self { color: Color::Muted, ..self }
    }

    /// With dashes.
    #[must_use]
    pub fn dashed(self) -> Self {
        Self { dash: Dash::Dashed, ..self }
    }

    /// With dots.
    #[must_use]
    pub fn dotted(self) -> Self {
        Self { dash: Dash::Dotted, ..self }
    }
}

impl From<Shape> for Mark {
    fn from(shape: Shape) -> Self {
        Self { shape, label: None, color: Color::default(), dash: Dash::default() }
    }
}

/// A colour by its role; the palette belongs to whoever draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Color {
    /// Of the series with this index; indices beyond the palette start over.
    Series(usize),
    /// For what stands behind the data.
    Muted,
}

impl Default for Color {
    fn default() -> Self {
        Self::Series(0)
    }
}

/// How a line is dashed.
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

/// The form of a point. Forms, not colours alone, tell series apart.
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
}

/// One number, `null` in JSON where it is not finite.
mod gap {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn some(value: f64) -> Option<f64> {
        value.is_finite().then_some(value)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// A list of numbers, `null` in JSON where they are not finite.
mod gaps {
    use super::gap::some;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|&value| some(value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

/// A range, `null` in JSON for an end that is taken from the data.
mod range {
    use super::gap::some;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(range: &Option<(f64, f64)>, to: S) -> Result<S::Ok, S::Error> {
        range.map(|(low, high)| (some(low), some(high))).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(f64, f64)>, D::Error> {
        let range = Option::<(Option<f64>, Option<f64>)>::deserialize(from)?;
        Ok(range.map(|(low, high)| (low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN))))
    }
}
