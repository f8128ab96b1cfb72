//! Lays out a figure as SVG: page, titles, panels in a grid. Single panels are drawn in `plot`.
//!
//! This crate writes SVG itself instead of using plotters 0.3. There, coordinates are whole pixels; every dash is an element of
//! its own (eight curves in four panels: 368 elements, 145 KB); curves that leave the range are bent along the frame instead of
//! clipped; and the legend covers the data. Only the tick positions (`scale`) could have been shared.
//!
//! The SVG uses system fonts, contains neither style sheet nor ids (so that several fit into one HTML page), and scales by its
//! `viewBox`. Text widths are estimated, with a margin for the wider of the common fonts.

use crate::axes::XLabels;
use crate::figure::{Figure, Panel};
use crate::ink::{group, num};
use crate::legend::{Entry, entries, legend};
use crate::plot::{Frame, Plot};
use crate::text::{FONTS, TEXT, escape, fit, text};
use crate::theme::Theme;

/// Width of a figure in SVG units, if no other is asked for.
pub const WIDTH: f64 = 900.0;
const MARGIN: f64 = 18.0;
/// Horizontal gap between panels, in SVG units.
const GAP: f64 = 22.0;
/// Space right of each panel for half of its last tick label, in SVG units.
const OVERHANG: f64 = 10.0;
/// Font sizes of the figure title and the panel titles.
const TITLE: f64 = 17.0;
const HEADING: f64 = 13.0;
/// Width of bold text relative to normal text.
const BOLD: f64 = 1.1;

/// Draws the figure. The text is a complete SVG document: write it to a file, or embed it in a page.
pub fn svg(figure: &Figure) -> String {
    svg_themed(figure, &Theme::LIGHT)
}

/// Draws the figure in the colours of `theme`.
pub fn svg_themed(figure: &Figure, theme: &Theme) -> String {
    drawn(figure, theme, WIDTH, &figure.title)
}

/// Every panel as a picture of its own, so that narrow screens show them below each other at a legible size; and the number of columns
/// of that size on a wide one.
pub fn pictures(figure: &Figure, theme: &Theme) -> (usize, Vec<String>) {
    let columns = figure.columns.clamp(1, 3);
    // Width in the units of the picture's text at which the text has its nominal size.
    let width = [760.0, 470.0, 360.0][columns - 1];
    let picture = |panel: &Panel| {
        let alone = Figure { height: figure.height, ..Figure::new("").panel(panel.clone()) };
        let names = [&figure.title, &panel.title].into_iter().filter(|name| !name.is_empty());
        drawn(&alone, theme, width, &names.map(String::as_str).collect::<Vec<_>>().join(": "))
    };
    (columns, figure.panels.iter().map(picture).collect())
}

/// Draws the figure about `width` units wide; `name` is its accessible name for screen readers.
pub fn drawn(figure: &Figure, theme: &Theme, width: f64, name: &str) -> String {
    let page = Page::new(figure, theme, width);
    let room = page.width - 2.0 * MARGIN;
    let (mut body, mut top) = (String::new(), MARGIN);
    let bold = format!("font-weight=\"600\" fill=\"{}\"", theme.ink);
    let quiet = format!("fill=\"{}\"", theme.quiet);
    for (line, size, style) in [(&figure.title, TITLE, bold), (&figure.subtitle, TEXT, quiet)] {
        if !line.is_empty() {
            body += &text(MARGIN, top + size + 3.0, size, &style, &fit(line, BOLD * size, room));
            top += size + 6.0;
        }
    }
    if let Some(shared) = &page.shared_legend {
        let (drawn, height) = legend(shared, theme, room);
        body += &group("legend", MARGIN, top + 4.0, &drawn);
        top += height + 4.0;
    }
    for row in page.plots.chunks(page.columns) {
        let (drawn, height) = page.row(row, top);
        body += &drawn;
        top += height;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"{fonts}\">\n<title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{background}\"/>\n{body}</svg>\n",
        fonts = FONTS,
        background = theme.background,
        title = escape(name),
        width = num(page.width),
        height = num(top + MARGIN - 6.0),
    )
}

/// The layout of a page. All panels have the same size, so that their axes line up.
struct Page<'a> {
    theme: &'a Theme,
    plots: Vec<Plot<'a>>,
    columns: usize,
    width: f64,
    frame: Frame,
    /// Space right of each panel, for half a tick label or a colour bar.
    right: f64,
    /// The legend of all panels, if every panel has the same one.
    shared_legend: Option<Vec<Entry<'a>>>,
}

impl<'a> Page<'a> {
    fn new(figure: &'a Figure, theme: &'a Theme, wanted: f64) -> Self {
        let columns = figure.columns.clamp(1, figure.panels.len().max(1));
        let cell = |width: f64| (width - 2.0 * MARGIN + GAP) / columns as f64 - GAP;
        let tallest = if figure.panels.len() > 1 { 240.0 } else { 380.0 };
        let share = if figure.tall { 0.8 } else { 0.5 };
        let height = figure.height.unwrap_or_else(|| (share * cell(wanted)).clamp(140.0, tallest));
        let plots: Vec<_> = figure.panels.iter().map(|panel| Plot::new(panel, theme, height)).collect();
        let gutter = plots.iter().map(Plot::gutter).fold(0.0, f64::max);
        let right = plots.iter().map(Plot::bar_room).fold(OVERHANG, f64::max);
        // With many columns the page becomes wider; panels keep a minimum width.
        let least = gutter + 150.0 + right + GAP;
        let width = wanted.max(2.0 * MARGIN - GAP + columns as f64 * least);
        let frame = Frame { width: cell(width) - gutter - right, height, gutter };

        let mut legends = figure.panels.iter().map(|panel| entries(&panel.marks, theme));
        let shared_legend = legends.next().filter(|first| {
            figure.panels.len() > 1 && !first.is_empty() && legends.all(|other| other == *first)
        });
        Self { theme, plots, columns, width, frame, right, shared_legend }
    }

    /// Draws one row of panels below `top`; returns the drawing and its height.
    fn row(&self, row: &[Plot<'_>], top: f64) -> (String, f64) {
        let own_legend = |plot: &Plot<'_>| match self.shared_legend {
            Some(_) => (String::new(), 0.0),
            None => legend(&entries(&plot.panel.marks, self.theme), self.theme, self.frame.width),
        };
        let legends: Vec<_> = row.iter().map(own_legend).collect();
        let legend_height = legends.iter().map(|(_, height)| *height).fold(0.0, f64::max);
        let titled = row.iter().any(|plot| !plot.panel.title.is_empty());
        let labelled = row.iter().any(|plot| !plot.panel.x.text().is_empty());
        let above = 14.0 + legend_height + if titled { HEADING + 7.0 } else { 0.0 };
        let x_labels: Vec<_> = row.iter().map(|plot| XLabels::new(plot, &self.frame)).collect();
        let extra = x_labels.iter().map(|labels| labels.extra).fold(0.0, f64::max);
        let below = extra + if labelled { 40.0 } else { 24.0 };

        let bold = format!("font-weight=\"600\" fill=\"{}\"", self.theme.ink);
        let stride = self.frame.gutter + self.frame.width + self.right + GAP;
        let draw = |index: usize| {
            let (plot, (legend, height)) = (&row[index], &legends[index]);
            // Title and legend stand close to their own axes, also where a neighbour's legend is taller.
            let title = fit(&plot.panel.title, BOLD * HEADING, self.frame.width);
            let content = [
                text(0.0, -height - 8.0, HEADING, &bold, &title),
                group("legend", 0.0, -height - 5.0, legend),
                plot.draw(&self.frame, &x_labels[index]),
            ];
            let (x, size) = (MARGIN + self.frame.gutter + index as f64 * stride, &self.frame);
            let drawn = group("panel", x, top + above, &content.concat());
            match plot.axes() {
                axes if axes.is_empty() => drawn,
                axes => {
                    let about = format!("{axes} data-size=\"{} {}\">", num(size.width), num(size.height));
                    drawn.replacen('>', &about, 1)
                }
            }
        };
        ((0..row.len()).map(draw).collect(), above + self.frame.height + below)
    }
}
