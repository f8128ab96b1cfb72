//! The colours of a page.

/// The colours of a page and of its series, as SVG writes colours. Values coloured by the colour map look the same in
/// all themes.
///
/// ```
/// use ocorl_view::{Figure, Theme, svg, svg_themed};
///
/// let figure = Figure::new("Pendulum");
/// assert_eq!(svg(&figure), svg_themed(&figure, &Theme::LIGHT));
/// assert!(svg_themed(&figure, &Theme::DARK).contains(Theme::DARK.background));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theme {
    /// The page.
    pub background: &'static str,
    /// Titles and names of axes.
    pub ink: &'static str,
    /// Numbers at ticks, frames.
    pub quiet: &'static str,
    /// Marks behind the data: limits, baselines.
    pub muted: &'static str,
    /// The lines of the grid.
    pub grid: &'static str,
    /// Series by their index.
    pub series: [&'static str; 7],
}

impl Theme {
    /// For paper. The series have Okabe and Ito's colours, safe for colour-blind readers; without their yellow, which
    /// vanishes on white.
    pub const LIGHT: Self = Self {
        background: "#ffffff",
        ink: "#22262a",
        quiet: "#555b61",
        muted: "#7a7f85",
        grid: "#e3e6e9",
        series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"],
    };

    /// For dark pages: the same hues in the same order, lighter; the last series is white for black.
    pub const DARK: Self = Self {
        background: "#16191c",
        ink: "#e8eaec",
        quiet: "#a9b0b7",
        muted: "#878e95",
        grid: "#2c3136",
        series: ["#3d9be0", "#f0762b", "#2dbd92", "#dd90bb", "#f2b134", "#8fd0f5", "#eceef0"],
    };
}

impl Default for Theme {
    fn default() -> Self {
        Self::LIGHT
    }
}
