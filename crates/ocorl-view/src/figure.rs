//! The description of a plot: a figure holds panels, a panel holds marks over two axes. Nothing here draws.
//!
//! In JSON a value that is not finite is `null` (plotting libraries draw it as a gap) and reads back as NaN.

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
///     .mark(Mark::horizontal(20.16).label("optimum (known dynamics)").muted().dashed());
/// let picture = svg(&Figure::new("Pendulum").panel(cost));
/// assert!(picture.starts_with("<svg"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Figure {
    /// Title above all panels; may be empty.
    pub title: String,
    /// Second, less prominent line below the title; may be empty.
    pub subtitle: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Number of panels per row; 0 counts as 1.
    pub columns: usize,
    /// Whether panels are nearly as tall as wide, for many curves in each; otherwise about half as tall.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tall: bool,
    /// Height of the panels in SVG units; `None` to follow from their width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
}

impl Figure {
    /// A figure without panels, with one column.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), columns: 1, ..Self::default() }
    }

    /// Sets the line below the title.
    #[must_use]
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// Sets the number of panels per row.
    #[must_use]
    pub fn columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// Makes panels nearly as tall as wide, for many curves in each.
    #[must_use]
    pub fn tall(self) -> Self {
        Self { tall: true, ..self }
    }

    /// Sets the height of the panels in SVG units.
    #[must_use]
    pub fn height(self, height: f64) -> Self {
        Self { height: Some(height), ..self }
    }

    /// Appends a panel.
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
    /// Title above the panel; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The colour bar for marks that are coloured by a value: name, unit, scale and range. All such marks of the panel share it;
    /// without such a mark no bar is drawn.
    #[serde(default, skip_serializing_if = "Axis::is_plain")]
    pub color: Axis,
    /// The marks. Heat maps and bands are drawn first, points and notes last, all others in this order between them. Marks with
    /// equal labels share one legend entry.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel without marks.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, color: Axis::default(), marks: Vec::new() }
    }

    /// Sets the title and the scale of the colour bar.
    #[must_use]
    pub fn color(self, color: Axis) -> Self {
        Self { color, ..self }
    }

    /// Appends a mark.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

/// One axis. Its title is written as "label \[unit\]".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Axis {
    /// Name of the quantity; may be empty.
    pub label: String,
    /// Unit of the quantity; empty if it has none.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range to show. An end that is not finite, or that the scale cannot show, is taken from the data; `None` takes both ends
    /// from the data.
    #[serde(with = "gaps::range")]
    pub range: Option<(f64, f64)>,
    /// Whether only whole numbers get tick labels, whatever the data and the range.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// What the axis shows, for pages that link their plots: `t`, `x0`, `u1`, `episode`; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shows: String,
    /// Category names for the values 0, 1, 2, …; an axis with categories is linear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

impl Axis {
    /// A linear axis that shows all data.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), ..Self::default() }
    }

    /// An axis with category names at the values 0, 1, 2, …: from left to right, or from top to bottom.
    pub fn categories(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { categories: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the name of the quantity.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Names what the axis shows, for pages that link their plots.
    #[must_use]
    pub fn shows(self, shows: impl Into<String>) -> Self {
        Self { shows: shows.into(), ..self }
    }

    /// Puts tick labels at whole numbers only: for episodes and counts.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Makes the axis logarithmic; values that are not positive leave gaps.
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

    /// The title of the axis: "label \[unit\]", or only the part that is set.
    pub fn text(&self) -> String {
        match (self.label.is_empty(), self.unit.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => format!("[{}]", self.unit),
            (false, false) => format!("{} [{}]", self.label, self.unit),
        }
    }
}

/// How values map to positions on an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Positions are proportional to values.
    #[default]
    Linear,
    /// Positions are proportional to the logarithm of values.
    Log,
}
