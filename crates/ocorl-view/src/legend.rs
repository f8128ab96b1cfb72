//! Draws legends: a sample of the marks of each label, with the label.

use crate::colormap;
use crate::ink::{arrow, glyph, group, interval_x, interval_y, marker_looks, stroke};
use crate::mark::{Mark, Shape};
use crate::text::{SMALL, fit, text, width};
use crate::theme::Theme;

/// Height of a legend line and width of a sample, in SVG units.
const LINE: f64 = 18.0;
const SWATCH: f64 = 26.0;

/// One legend entry: the label, and a drawn sample of each of its marks.
pub(crate) type Entry<'a> = (&'a str, Vec<String>);

/// One entry per label, in the order in which labels first appear.
pub(crate) fn entries<'a>(marks: &'a [Mark], theme: &Theme) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for mark in marks.iter().filter(|mark| !mark.unlisted && !matches!(mark.shape, Shape::Note { .. })) {
        let Some(label) = mark.label.as_deref() else { continue };
        let sample = sample(mark, theme);
        match entries.iter_mut().find(|(known, _)| *known == label) {
            Some((_, samples)) if samples.contains(&sample) => {}
            Some((_, samples)) => samples.push(sample),
            None => entries.push((label, vec![sample])),
        }
    }
    entries
}

fn sample(mark: &Mark, theme: &Theme) -> String {
    let middle = 0.5 * SWATCH;
    let path = match mark.shape {
        Shape::ColoredLine { .. } => return shades(3.0),
        Shape::Heat { .. } => return shades(10.0),
        Shape::ColoredPoints { marker, .. } => {
            let color = colormap::color(colormap::level(0.5));
            let looks = marker_looks(theme, marker, &color, theme.quiet);
            return format!("<path class=\"sample\" {looks} d=\"{}\"/>\n", glyph(marker, middle, 0.0));
        }
        Shape::Band { .. } => format!("M0 -5H{SWATCH}V5H0Z"),
        Shape::Points { marker, .. } => glyph(marker, middle, 0.0),
        Shape::IntervalY { .. } => interval_y(middle, -7.0, 7.0),
        Shape::IntervalX { .. } => interval_x(0.0, middle - 10.0, middle + 10.0),
        Shape::Arrows { .. } => arrow(middle, 0.0, SWATCH - 6.0, 0.0),
        _ => format!("M1 0H{}", SWATCH - 1.0),
    };
    stroke(theme, mark, "sample", &path)
}

/// A horizontal line in all colours of the colour map, as the sample of marks coloured by a value.
fn shades(thick: f64) -> String {
    let pieces: u8 = 13;
    let piece = |index: u8| {
        let color = colormap::color(colormap::level(f64::from(index) / f64::from(pieces - 1)));
        let (from, to) = (2 * index, 2 * (index + 1));
        format!("<path stroke=\"{color}\" d=\"M{from} 0H{to}\"/>\n")
    };
    let drawn: String = (0..pieces).map(piece).collect();
    format!("<g class=\"sample\" shape-rendering=\"crispEdges\" stroke-width=\"{thick}\">\n{drawn}</g>\n")
}

/// Draws the entries in as many lines as they need within the width `room`; returns the drawing and its height.
pub(crate) fn legend(entries: &[Entry<'_>], theme: &Theme, room: f64) -> (String, f64) {
    let (mut drawn, mut x, mut line) = (String::new(), 0.0, 0.0);
    let (indent, apart) = (SWATCH + 6.0, 14.0);
    for (label, samples) in entries {
        let label = fit(label, SMALL, room - indent);
        let wide = indent + width(&label, SMALL);
        if x > 0.0 && x + wide > room {
            (x, line) = (0.0, line + LINE);
        }
        let name = text(indent, 4.0, SMALL, &format!("fill=\"{}\"", theme.ink), &label);
        drawn += &group("entry", x, line + 0.5 * LINE, &(samples.concat() + &name));
        x += wide + apart;
    }
    (drawn, if entries.is_empty() { 0.0 } else { line + LINE })
}
