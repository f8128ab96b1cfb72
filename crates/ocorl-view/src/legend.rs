//! Legends: what the marks of each label look like.

use crate::colormap;
use crate::ink::{arrow, glyph, group, interval_x, interval_y, marker_looks, stroke};
use crate::mark::{Mark, Shape};
use crate::theme::Theme;
use crate::words::{SMALL, fit, text, width};

/// Height of a line, width of a sample.
const LINE: f64 = 18.0;
const SWATCH: f64 = 26.0;

/// A line of a legend: the label, and what its marks look like.
pub(crate) type Entry<'a> = (&'a str, Vec<String>);

/// One entry for each label, in the order in which they first appear.
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

/// A level line in all colours of the map.
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

/// Entries in as many lines as they need within `room`, and the height of these.
pub(crate) fn legend(entries: &[Entry<'_>], theme: &Theme, room: f64) -> (String, f64) {
    let (mut drawn, mut x, mut line) = (String::new(), 0.0, 0.0);
    let (indent, apart) = (SWATCH + 6.0, 14.0);
    for (label, samples) in entries {
        let label = fit(label, SMALL, room - indent);
        let wide = indent + width(&label, SMALL);
        if x > 0.0 && x + wide > room {
            (x, line) = (0.0, line + LINE);
        }
        let words = text(indent, 4.0, SMALL, &format!("fill=\"{}\"", theme.ink), &label);
        drawn += &group("entry", x, line + 0.5 * LINE, &(samples.concat() + &words));
        x += wide + apart;
    }
    (drawn, if entries.is_empty() { 0.0 } else { line + LINE })
}
