//! Colour themes of figures.

/// Colours of a page and of its series, as SVG colours. The colour map of values is the same in all themes.
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
    /// Background of the page.
    pub background: &'static str,
    /// Titles and axis titles.
    pub ink: &'static str,
    /// Tick labels and frames.
    pub quiet: &'static str,
    /// Marks behind the data: limits, baselines.
    pub muted: &'static str,
    /// Grid lines.
    pub grid: &'static str,
    /// Series colours by index.
    pub series: [&'static str; 7],
}

impl Theme {
    /// The theme for paper and light pages. Series use the palette of Okabe and Ito, which colour-blind readers can distinguish;
    /// its yellow is left out because it vanishes on white.
    pub const LIGHT: Self = Self {
        background: "#ffffff",
        ink: "#22262a",
        quiet: "#555b61",
        muted: "#7a7f85",
        grid: "#e3e6e9",
        series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"],
    };

    /// The theme for pages that set the colours themselves, as the variables of [`Theme::variables`].
    pub const PAGE: Self = Self {
        background: "var(--plot-background)",
        ink: "var(--plot-ink)",
        quiet: "var(--plot-quiet)",
        muted: "var(--plot-muted)",
        grid: "var(--plot-grid)",
        series: [
            "var(--series-0)",
            "var(--series-1)",
            "var(--series-2)",
            "var(--series-3)",
            "var(--series-4)",
            "var(--series-5)",
            "var(--series-6)",
        ],
    };

    /// The theme for dark pages: the same hues in the same order, lighter; the last series is white instead of black.
    pub const DARK: Self = Self {
        background: "#16191c",
        ink: "#e8eaec",
        quiet: "#a9b0b7",
        muted: "#878e95",
        grid: "#2c3136",
        series: ["#3d9be0", "#f0762b", "#2dbd92", "#dd90bb", "#f2b134", "#8fd0f5", "#eceef0"],
    };
}

impl Theme {
    /// The colours as CSS variables, for pages with figures in [`Theme::PAGE`].
    pub fn variables(&self) -> String {
        let roles = Self::PAGE.roles().into_iter().zip(self.roles());
        let name = |variable: &str| variable.trim_start_matches("var(").trim_end_matches(')').to_owned();
        let set = |(variable, color): (&str, &str)| format!("{}:{color};", name(variable));
        roles.map(set).collect::<Vec<_>>().concat()
    }

    fn roles(&self) -> Vec<&'static str> {
        [self.background, self.ink, self.quiet, self.muted, self.grid]
            .into_iter()
            .chain(self.series)
            .collect()
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self::LIGHT
    }
}
