//! How things are written in SVG: colours, lines, markers, words, numbers.

use crate::figure::{Color, Dash, Mark, Marker, Shape};

/// Okabe and Ito's colours, safe for colour-blind readers; without their yellow, which vanishes on white.
const PALETTE: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"];
pub(crate) const MUTED: &str = "#7a7f85";
pub(crate) const INK: &str = "#22262a";
pub(crate) const QUIET: &str = "#555b61";
pub(crate) const GRID: &str = "#e3e6e9";
pub(crate) const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// Sizes of text: labels of axes; ticks and legend.
pub(crate) const TEXT: f64 = 12.0;
pub(crate) const SMALL: f64 = 11.0;

/// `path` in the looks of `mark`; nothing for an empty path.
pub(crate) fn stroke(mark: &Mark, class: &str, path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let color = match mark.color {
        Color::Series(index) => PALETTE[index % PALETTE.len()],
        Color::Muted => MUTED,
    };
    let dash = match mark.dash {
        Dash::Solid => "",
        Dash::Dashed => " stroke-dasharray=\"7 4\"",
        Dash::Dotted => " stroke-dasharray=\"0.1 4\"",
    };
    let rule = matches!(mark.shape, Shape::Horizontal { .. } | Shape::Vertical { .. });
    let thick = if rule { "1.4" } else { "1.8" };
    let looks = match &mark.shape {
        Shape::Band { .. } => {
            format!("fill=\"{color}\" stroke=\"{color}\" stroke-width=\"0.5\" opacity=\"0.22\"")
        }
        Shape::Points { marker: Marker::Cross | Marker::Plus, .. } => {
            format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"")
        }
        Shape::Points { marker: Marker::Ring, .. } => {
            format!("fill=\"#ffffff\" stroke=\"{color}\" stroke-width=\"1.8\"")
        }
        Shape::Points { .. } => format!("fill=\"{color}\" stroke=\"#ffffff\" stroke-width=\"0.8\""),
        _ => format!(
            "fill=\"none\" stroke=\"{color}\" stroke-width=\"{thick}\" stroke-linejoin=\"round\" \
             stroke-linecap=\"{}\"{dash}",
            if mark.dash == Dash::Dashed { "butt" } else { "round" }
        ),
    };
    format!("<path class=\"{class}\" {looks} d=\"{path}\"/>\n")
}

/// A marker around a point.
pub(crate) fn glyph(marker: Marker, x: f64, y: f64) -> String {
    let corners = |corners: &[(f64, f64)]| {
        polyline(&corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>()) + "Z"
    };
    match marker {
        Marker::Circle | Marker::Ring => {
            format!("M{} {}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", num(x - 4.0), num(y))
        }
        Marker::Square => corners(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        Marker::Diamond => corners(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        Marker::Triangle => corners(&[(0.0, -4.8), (4.6, 3.4), (-4.6, 3.4)]),
        Marker::Cross => format!("M{} {}l7 7m0 -7l-7 7", num(x - 3.5), num(y - 3.5)),
        Marker::Plus => format!("M{} {}h9m-4.5 -4.5v9", num(x - 4.5), num(y)),
    }
}

/// The stretches between gaps.
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

/// Path data through the points; a point alone becomes a dot. Points that would print alike are written once.
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

/// Words at a place.
pub(crate) fn text(x: f64, y: f64, size: f64, style: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { text_element(x, y, size, style, &escape(content)) }
}

/// A tick label, in which `^` starts a superscript.
pub(crate) fn number(x: f64, y: f64, style: &str, label: &str) -> String {
    let content = match label.split_once('^') {
        Some((base, power)) => format!("{base}<tspan dy=\"-4\" font-size=\"8\">{power}</tspan>"),
        None => label.to_owned(),
    };
    text_element(x, y, SMALL, style, &content)
}

fn text_element(x: f64, y: f64, size: f64, style: &str, content: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" font-size=\"{size}\" {style}>{content}</text>\n", num(x), num(y))
}

/// Things drawn around the origin, moved to (x, y).
pub(crate) fn group(class: &str, x: f64, y: f64, content: &str) -> String {
    let place = format!("translate({} {})", num(x), num(y));
    format!("<g class=\"{class}\" transform=\"{place}\">\n{content}</g>\n")
}

/// As much of the text as `room` holds.
pub(crate) fn fit(content: &str, size: f64, room: f64) -> String {
    if width(content, size) <= room {
        return content.to_owned();
    }
    let mut left = room - width("…", size);
    let kept = content.chars().take_while(|&c| {
        left -= advance(c) * size;
        left >= 0.0
    });
    kept.collect::<String>().trim_end().to_owned() + "…"
}

pub(crate) fn width(content: &str, size: f64) -> f64 {
    content.chars().map(advance).sum::<f64>() * size
}

/// An estimate, for the wider ones of the common fonts.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | ' ' => 0.34,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        c if c.is_uppercase() => 0.72,
        c if u32::from(c) >= 0x2e80 => 1.0, // East Asian scripts, pictographs
        _ => 0.62,
    }
}

/// XML text: markup escaped, line breaks as spaces, characters XML cannot hold replaced.
pub(crate) fn escape(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    for c in content.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate, to a hundredth.
pub(crate) fn num(v: f64) -> String {
    ((v * 100.0).round() / 100.0 + 0.0).to_string()
}
