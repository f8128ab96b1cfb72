//! SVG fragments for lines, markers and numbers. Text is in `text`.

use crate::mark::{Color, Dash, Mark, Marker, Shape};
use crate::theme::Theme;

/// An SVG path with the colour, dash and width of `mark`; an empty string for an empty path.
pub(crate) fn stroke(theme: &Theme, mark: &Mark, class: &str, path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let (color, round) = match mark.color {
        Color::Series(index) => (theme.series[index % theme.series.len()], index / theme.series.len()),
        Color::Muted => (theme.muted, 0),
    };
    let color = &mixed(color, theme.background, mark.tint);
    let looks = match &mark.shape {
        Shape::Band { .. } => {
            format!("fill=\"{color}\" stroke=\"{color}\" stroke-width=\"0.5\" opacity=\"0.22\"")
        }
        Shape::Points { marker, .. } => marker_looks(theme, *marker, color, theme.background),
        shape => {
            let thick = match shape {
                Shape::Line { .. } | Shape::Step { .. } => "1.8",
                Shape::Arrows { .. } => "1.2",
                _ => "1.4",
            };
            // Series beyond the palette reuse its colours; their dashes tell them apart.
            let dash = match (mark.dash, round) {
                (Dash::Dashed, _) => " stroke-dasharray=\"7 4\"",
                (Dash::Dotted, _) => " stroke-dasharray=\"0.1 4\"",
                (Dash::Solid, 0) => "",
                (Dash::Solid, 1) => " stroke-dasharray=\"10 4 1 4\"",
                (Dash::Solid, _) => " stroke-dasharray=\"10 4 1 4 1 4\"",
            };
            let cap = if mark.dash == Dash::Dashed { "butt" } else { "round" };
            format!(
                "fill=\"none\" stroke=\"{color}\" stroke-width=\"{thick}\" stroke-linejoin=\"round\" \
                 stroke-linecap=\"{cap}\"{dash}"
            )
        }
    };
    format!("<path class=\"{class}\" {looks} d=\"{path}\"/>\n")
}

/// Mixes the share `share` of `other` into `color`. Other notations than `#rrggbb` are left to the browser to mix.
fn mixed(color: &str, other: &str, share: f64) -> String {
    let parts = |text: &str| {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some([part(0)?, part(2)?, part(4)?])
    };
    match (parts(color), parts(other)) {
        (Some(a), Some(b)) if share > 0.0 => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two bytes")]
            let mix = |i: usize| ((1.0 - share) * f64::from(a[i]) + share * f64::from(b[i])).round() as u8;
            format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
        }
        _ if share > 0.0 && color.starts_with("var(") => {
            format!("color-mix(in srgb, {color}, {other} {}%)", num(100.0 * share))
        }
        _ => color.to_owned(),
    }
}

/// SVG attributes of a marker in `color`, outlined by a thin line in `edge`.
pub(crate) fn marker_looks(theme: &Theme, marker: Marker, color: &str, edge: &str) -> String {
    match marker {
        Marker::Cross | Marker::Plus => format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\""),
        Marker::Bar => format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.4\""),
        Marker::Ring => {
            format!("fill=\"{}\" stroke=\"{color}\" stroke-width=\"1.8\"", theme.background)
        }
        Marker::Dot => format!("fill=\"{color}\""),
        _ => format!("fill=\"{color}\" stroke=\"{edge}\" stroke-width=\"0.8\""),
    }
}

/// Path data of a marker centred at a point.
pub(crate) fn glyph(marker: Marker, x: f64, y: f64) -> String {
    let corners = |corners: &[(f64, f64)]| {
        polyline(&corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>()) + "Z"
    };
    match marker {
        Marker::Circle | Marker::Ring => {
            format!("M{} {}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", num(x - 4.0), num(y))
        }
        Marker::Dot => format!("M{} {}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0Z", num(x - 2.0), num(y)),
        Marker::Square => corners(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        Marker::Diamond => corners(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        Marker::Triangle => corners(&[(0.0, -4.8), (4.6, 3.4), (-4.6, 3.4)]),
        Marker::Cross => format!("M{} {}l7 7m0 -7l-7 7", num(x - 3.5), num(y - 3.5)),
        Marker::Plus => format!("M{} {}h9m-4.5 -4.5v9", num(x - 4.5), num(y)),
        Marker::Bar => format!("M{} {}v9", num(x), num(y - 4.5)),
    }
}

/// Path data of an arrow centred at (x, y) that spans (dx, dy); a dot if the arrow is too short to see.
pub(crate) fn arrow(x: f64, y: f64, dx: f64, dy: f64) -> String {
    let length = dx.hypot(dy);
    let (tail, tip) = ((x - 0.5 * dx, y - 0.5 * dy), (x + 0.5 * dx, y + 0.5 * dy));
    if length < 1.0 {
        return polyline(&[(x, y)]);
    }
    let head = (0.45 * length).min(5.0) / length;
    let barb = |side: f64| (tip.0 - head * (dx - side * 0.6 * dy), tip.1 - head * (dy + side * 0.6 * dx));
    polyline(&[tail, tip]) + &polyline(&[barb(1.0), tip, barb(-1.0)])
}

/// Path data of a vertical error bar; `low` and `high` in any order.
pub(crate) fn interval_y(x: f64, low: f64, high: f64) -> String {
    let left = num(x - 3.0);
    format!("M{} {}V{}M{left} {}h6M{left} {}h6", num(x), num(low), num(high), num(low), num(high))
}

/// Path data of a horizontal error bar.
pub(crate) fn interval_x(y: f64, low: f64, high: f64) -> String {
    let top = num(y - 3.0);
    format!("M{} {}H{}M{} {top}v6M{} {top}v6", num(low), num(y), num(high), num(low), num(high))
}

/// Splits a sequence at its gaps (`None`) into runs of consecutive items.
pub(crate) fn runs<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for item in items {
        match (item, runs.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Path data through the points. A single point becomes a dot; consecutive points with equal printed coordinates are written once.
pub(crate) fn polyline(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    let mut last = String::new();
    for &(x, y) in points {
        let place = format!("{} {}", num(x), num(y));
        if place != last {
            out += if last.is_empty() { "M" } else { "L" };
            out += &place;
            last = place;
        }
    }
    if out.contains('L') { out } else { out + "h0" }
}

/// An SVG group whose content is drawn around the origin and moved to (x, y).
pub(crate) fn group(class: &str, x: f64, y: f64, content: &str) -> String {
    let place = format!("translate({} {})", num(x), num(y));
    format!("<g class=\"{class}\" transform=\"{place}\">\n{content}</g>\n")
}

/// A coordinate, rounded to a hundredth.
pub(crate) fn num(v: f64) -> String {
    ((v * 100.0).round() / 100.0 + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tint_lies_between_the_colour_and_the_background() {
        assert_eq!(mixed("#0072b2", "#ffffff", 0.0), "#0072b2");
        assert_eq!(mixed("#0072b2", "#ffffff", 1.0), "#ffffff");
        assert_eq!(mixed("#000000", "#ff8000", 0.5), "#804000");
        assert_eq!(mixed("teal", "#ffffff", 0.5), "teal");
    }
}
