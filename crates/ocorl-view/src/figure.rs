//! What a plot says: figures of panels, panels of marks over two axes.
//!
//! In JSON a value that is not finite is `null` (a gap, as plotting pages expect it) and reads back as NaN.

use crate::gaps;
use crate::mark::Mark;
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
    /// Whether panels are nearly as high as wide, for many curves in each; else about half as high.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tall: bool,
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

    /// Panels nearly as high as wide, for many curves in each.
    #[must_use]
    pub fn tall(self) -> Self {
        Self { tall: true, ..self }
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
    /// What the colours of marks mean that are coloured by a value: name, unit, scale and range of the colour bar.
    /// All such marks of the panel share it; without one there is no bar.
    #[serde(default, skip_serializing_if = "Axis::is_plain")]
    pub color: Axis,
    /// Drawn in this order, but heat maps and bands below, points and notes above the others. Marks with equal
    /// labels share one entry of the legend.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel without marks.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, color: Axis::default(), marks: Vec::new() }
    }

    /// Names the colour bar.
    #[must_use]
    pub fn color(self, color: Axis) -> Self {
        Self { color, ..self }
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
    #[serde(with = "gaps::range")]
    pub range: Option<(f64, f64)>,
    /// Labels only whole numbers, whatever the data and the range.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Words for the values 0, 1, 2, …; with words the scale is linear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

impl Axis {
    /// A linear axis that shows all data.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), ..Self::default() }
    }

    /// Words at the values 0, 1, 2, …: from left to right, or from top to bottom.
    pub fn categories(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { categories: words.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Names the quantity.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Labels only whole numbers: episodes, counts.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
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

    fn is_plain(&self) -> bool {
        *self == Self::default()
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
