//! Words and numbers in SVG, and how much room they take.

use crate::ink::num;

/// What readers have. A PNG has none of these and takes its own for `sans-serif`.
pub(crate) const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// Sizes of text: labels of axes; ticks and legend.
pub(crate) const TEXT: f64 = 12.0;
pub(crate) const SMALL: f64 = 11.0;

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

/// How wide a tick label runs.
pub(crate) fn number_width(label: &str) -> f64 {
    let (base, power) = label.split_once('^').unwrap_or((label, ""));
    width(base, SMALL) + width(power, 8.0)
}

fn text_element(x: f64, y: f64, size: f64, style: &str, content: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" font-size=\"{size}\" {style}>{content}</text>\n", num(x), num(y))
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

/// How wide the text runs.
pub(crate) fn width(content: &str, size: f64) -> f64 {
    content.chars().map(advance).sum::<f64>() * size
}

/// An estimate, for the wider ones of the common fonts. (DejaVu Sans, the widest of them, is up to 3 % wider in digits
/// and a third in signs like −; the room left around words allows for that.)
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

/// With a capital at the beginning.
pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
