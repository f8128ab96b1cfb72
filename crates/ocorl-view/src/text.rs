//! Text in SVG, and estimates of its width.

use crate::ink::num;

/// Fonts of the SVG, in order of preference. The PNG renderer has none of them and uses its embedded font for `sans-serif`.
pub(crate) const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// Font sizes: axis titles; tick labels and legend.
pub(crate) const TEXT: f64 = 12.0;
pub(crate) const SMALL: f64 = 11.0;

/// An SVG text element at a position.
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

/// Estimated width of a tick label.
pub(crate) fn number_width(label: &str) -> f64 {
    let (base, power) = label.split_once('^').unwrap_or((label, ""));
    width(base, SMALL) + width(power, 8.0)
}

fn text_element(x: f64, y: f64, size: f64, style: &str, content: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" font-size=\"{size}\" {style}>{content}</text>\n", num(x), num(y))
}

/// Cuts the text, with an ellipsis, to the width `room`.
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

/// Estimated width of the text.
pub(crate) fn width(content: &str, size: f64) -> f64 {
    content.chars().map(advance).sum::<f64>() * size
}

/// Estimated width of a character relative to the font size, for the wider of the common fonts. (DejaVu Sans, the widest of them,
/// is up to 3 % wider in digits and a third in signs like −; the margins around text allow for that.)
fn advance(c: char) -> f64 {
    match c {
        '\u{300}'..='\u{36f}' => 0.0, // combining
        '…' => 1.0,
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | ' ' => 0.34,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        c if c.is_uppercase() => 0.72,
        c if u32::from(c) >= 0x2e80 => 1.0, // East Asian scripts, pictographs
        _ => 0.62,
    }
}

/// Escapes text for XML: markup is escaped, line breaks become spaces, characters that XML cannot hold are replaced.
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

/// The text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
