//! A figure as SVG: the page and its legends. Panels are drawn in `plot`.
//!
//! Our own writer, after a look at plotters 0.3: there, coordinates are whole pixels; every dash is an element of
//! its own (eight curves in four panels: 368 elements, 145 KB); curves that leave the range are bent along the frame
//! instead of cut; and the legend stands on the data. What we would have shared is little: the ticks (`scale`).
//!
//! The picture uses the fonts of the system, holds neither style sheet nor ids (so that many fit into one HTML page)
//! and scales by its `viewBox`. Widths of text are estimated, with room for the wider of the common fonts.

use crate::figure::{Figure, Mark, Shape};
use crate::ink::{self, INK, QUIET, SMALL, TEXT, escape, fit, group, num, stroke, text, width};
use crate::plot::{Frame, Plot};

const WIDTH: f64 = 900.0;
const MARGIN: f64 = 18.0;
/// Between panels side by side.
const GAP: f64 = 22.0;
/// Right of each panel: half of its last tick label stands there.
const OVERHANG: f64 = 10.0;
/// Sizes of the figure's and the panels' titles.
const TITLE: f64 = 17.0;
const HEADING: f64 = 13.0;
/// How much wider bold text runs.
const BOLD: f64 = 1.1;
/// Of the legend: height of a line, width of a sample.
const LINE: f64 = 18.0;
const SWATCH: f64 = 26.0;

/// Draws the figure. The text is complete: write it to a file, or put it into a page as it is.
pub fn svg(figure: &Figure) -> String {
    let page = Page::new(figure);
    let room = page.width - 2.0 * MARGIN;
    let (mut body, mut top) = (String::new(), MARGIN);
    let bold = format!("font-weight=\"600\" fill=\"{INK}\"");
    let quiet = format!("fill=\"{QUIET}\"");
    for (line, size, style) in [(&figure.title, TITLE, bold), (&figure.subtitle, TEXT, quiet)] {
        if !line.is_empty() {
            body += &text(MARGIN, top + size + 3.0, size, &style, &fit(line, BOLD * size, room));
            top += size + 6.0;
        }
    }
    if let Some(shared) = &page.shared_legend {
        let (drawn, height) = legend(shared, room);
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
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        fonts = ink::FONTS,
        title = escape(&figure.title),
        width = num(page.width),
        height = num(top + MARGIN - 6.0),
    )
}

/// All panels have the same size, so that their axes line up.
struct Page<'a> {
    plots: Vec<Plot<'a>>,
    columns: usize,
    width: f64,
    frame: Frame,
    /// The legend of all panels, if they have the same.
    shared_legend: Option<Vec<Entry<'a>>>,
}

impl<'a> Page<'a> {
    fn new(figure: &'a Figure) -> Self {
        let columns = figure.columns.clamp(1, figure.panels.len().max(1));
        let cell = |width: f64| (width - 2.0 * MARGIN + GAP) / columns as f64 - GAP;
        let tallest = if figure.panels.len() > 1 { 240.0 } else { 380.0 };
        let height = (0.5 * cell(WIDTH)).clamp(140.0, tallest);
        let plots: Vec<_> = figure.panels.iter().map(|panel| Plot::new(panel, height)).collect();
        let gutter = plots.iter().map(Plot::gutter).fold(0.0, f64::max);
        // With many columns the page becomes wider, not the panels too narrow.
        let least = gutter + 150.0 + OVERHANG + GAP;
        let width = WIDTH.max(2.0 * MARGIN - GAP + columns as f64 * least);
        let frame = Frame { width: cell(width) - gutter - OVERHANG, height, gutter };

        let mut legends = figure.panels.iter().map(|panel| entries(&panel.marks));
        let shared_legend = legends.next().filter(|first| {
            figure.panels.len() > 1 && !first.is_empty() && legends.all(|other| other == *first)
        });
        Self { plots, columns, width, frame, shared_legend }
    }

    /// Panels side by side below `top`, and the height they take.
    fn row(&self, row: &[Plot<'_>], top: f64) -> (String, f64) {
        let own_legend = |plot: &Plot<'_>| match self.shared_legend {
            Some(_) => (String::new(), 0.0),
            None => legend(&entries(&plot.panel.marks), self.frame.width),
        };
        let legends: Vec<_> = row.iter().map(own_legend).collect();
        let legend_height = legends.iter().map(|(_, height)| *height).fold(0.0, f64::max);
        let titled = row.iter().any(|plot| !plot.panel.title.is_empty());
        let labelled = row.iter().any(|plot| !plot.panel.x.text().is_empty());
        let above = 14.0 + legend_height + if titled { HEADING + 7.0 } else { 0.0 };
        let below = if labelled { 40.0 } else { 24.0 };

        let bold = format!("font-weight=\"600\" fill=\"{INK}\"");
        let stride = self.frame.gutter + self.frame.width + OVERHANG + GAP;
        let draw = |(index, (plot, (legend, height))): (usize, (&Plot<'_>, &(String, f64)))| {
            // Title and legend stand close to their axes, also where a neighbour's legend is taller.
            let title = fit(&plot.panel.title, BOLD * HEADING, self.frame.width);
            let content = [
                text(0.0, -height - 8.0, HEADING, &bold, &title),
                group("legend", 0.0, -height - 5.0, legend),
                plot.draw(&self.frame),
            ];
            group("panel", MARGIN + self.frame.gutter + index as f64 * stride, top + above, &content.concat())
        };
        (row.iter().zip(&legends).enumerate().map(draw).collect(), above + self.frame.height + below)
    }
}

/// A line of a legend: the label, and what its marks look like.
type Entry<'a> = (&'a str, Vec<String>);

/// One entry for each label, in the order in which they first appear.
fn entries(marks: &[Mark]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for mark in marks {
        let Some(label) = mark.label.as_deref() else { continue };
        let sample = match mark.shape {
            Shape::Band { .. } => format!("M0 -5H{SWATCH}V5H0Z"),
            Shape::Points { marker, .. } => ink::glyph(marker, 0.5 * SWATCH, 0.0),
            _ => format!("M1 0H{}", SWATCH - 1.0),
        };
        let sample = stroke(mark, "sample", &sample);
        match entries.iter_mut().find(|(known, _)| *known == label) {
            Some((_, samples)) if samples.contains(&sample) => {}
            Some((_, samples)) => samples.push(sample),
            None => entries.push((label, vec![sample])),
        }
    }
    entries
}

/// Entries in as many lines as they need within `room`, and the height of these.
fn legend(entries: &[Entry<'_>], room: f64) -> (String, f64) {
    let (mut drawn, mut x, mut line) = (String::new(), 0.0, 0.0);
    let (indent, apart) = (SWATCH + 6.0, 14.0);
    for (label, samples) in entries {
        let label = fit(label, SMALL, room - indent);
        let wide = indent + width(&label, SMALL);
        if x > 0.0 && x + wide > room {
            (x, line) = (0.0, line + LINE);
        }
        let words = text(indent, 4.0, SMALL, &format!("fill=\"{INK}\""), &label);
        drawn += &group("entry", x, line + 0.5 * LINE, &(samples.concat() + &words));
        x += wide + apart;
    }
    (drawn, if entries.is_empty() { 0.0 } else { line + LINE })
}
