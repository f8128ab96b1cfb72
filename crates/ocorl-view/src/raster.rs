//! Draws an SVG of ours on a surface: in pixels here, on a page in `pdf`.
//!
//! Only what `svg` writes is understood: `svg`, `g`, `path`, `rect`, `text`, `tspan` and `title`, with the attributes that are used there.
//! Anything else is an error, so that a new kind of mark cannot be missing in pictures unnoticed. General SVG needs a library four
//! times as large as the rest of `ocorl-view` (resvg with its fonts).

use crate::font::{BOLD, Font, REGULAR};
use std::rc::Rc;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect, Stroke,
    StrokeDash, Transform,
};

/// The distance of the control points of a cubic curve that is nearly a quarter of the unit circle.
const QUARTER: f32 = 0.552_285;

/// What elements inherit.
#[derive(Clone)]
struct State {
    place: Transform,
    fill: Option<Color>,
    stroke: Option<Color>,
    width: f32,
    cap: LineCap,
    join: LineJoin,
    dash: Vec<f32>,
    /// Of one element; not inherited.
    opacity: f32,
    crisp: bool,
    anchor: Anchor,
    size: f32,
    font: Font,
    /// What lies outside is cut.
    window: Option<Rc<Path>>,
}

#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// Text as it is collected: each piece with its outline and its place after what went before.
#[derive(Default)]
struct Words {
    pieces: Vec<(Path, f32, f32)>,
    length: f32,
    lowered: f32,
}

/// How a path is painted.
pub(crate) struct Look<'a> {
    /// The colour with its opacity.
    pub(crate) color: Color,
    /// From the coordinates of the path to those of the surface.
    pub(crate) place: Transform,
    /// What lies outside is cut; in the coordinates of the surface.
    pub(crate) window: Option<&'a Path>,
    /// Whether edges are sharp.
    crisp: bool,
}

/// Something that can be painted on.
pub(crate) trait Surface {
    /// Fills a path.
    fn fill(&mut self, path: &Path, look: &Look<'_>);

    /// Strokes a path with dashes of these lengths; solid if there are none.
    fn stroke(&mut self, path: &Path, look: &Look<'_>, stroke: &Stroke, dash: &[f32]);

    /// Fills and strokes a path as one sheet of this opacity, which lets through what is below. Surfaces without sheets paint both.
    fn sheet(&mut self, opacity: f32, paint: &mut dyn FnMut(&mut dyn Surface, f32))
    where
        Self: Sized,
    {
        paint(self, opacity);
    }
}

impl Surface for Pixmap {
    fn fill(&mut self, path: &Path, look: &Look<'_>) {
        let mask = mask(look.window, self);
        self.fill_path(path, &look.paint(), FillRule::Winding, look.place, mask.as_ref());
    }

    fn stroke(&mut self, path: &Path, look: &Look<'_>, stroke: &Stroke, dash: &[f32]) {
        let mask = mask(look.window, self);
        let stroke = Stroke { dash: StrokeDash::new(dash.to_vec(), 0.0), ..stroke.clone() };
        self.stroke_path(path, &look.paint(), &stroke, look.place, mask.as_ref());
    }

    fn sheet(&mut self, opacity: f32, paint: &mut dyn FnMut(&mut dyn Surface, f32)) {
        let Some(mut sheet) = Pixmap::new(self.width(), self.height()) else { return };
        paint(&mut sheet, 1.0);
        let how = PixmapPaint { opacity, ..PixmapPaint::default() };
        self.draw_pixmap(0, 0, sheet.as_ref(), &how, Transform::identity(), None);
    }
}

impl Look<'_> {
    fn paint(&self) -> Paint<'static> {
        let mut paint = Paint { anti_alias: !self.crisp, ..Paint::default() };
        paint.set_color(self.color);
        paint
    }
}

/// The pixels inside a window.
fn mask(window: Option<&Path>, pixels: &Pixmap) -> Option<Mask> {
    let window = window?;
    let mut mask = Mask::new(pixels.width(), pixels.height())?;
    mask.fill_path(window, FillRule::Winding, true, Transform::identity());
    Some(mask)
}

/// The width and height that an SVG of ours states in its `viewBox`.
pub(crate) fn size(svg: &str) -> Option<[f64; 2]> {
    let (_, rest) = svg.split_once("viewBox=\"0 0 ")?;
    let (width, height) = rest.split_once('"')?.0.split_once(' ')?;
    Some([width.parse().ok()?, height.parse().ok()?])
}

/// Draws `svg` onto a surface, placed by `place`. The error names what is not understood.
pub(crate) fn draw<S: Surface>(svg: &str, place: Transform, pixels: &mut S) -> Result<(), String> {
    let mut stack = vec![State {
        place,
        fill: Some(Color::BLACK),
        stroke: None,
        width: 1.0,
        cap: LineCap::Butt,
        join: LineJoin::Miter,
        dash: Vec::new(),
        opacity: 1.0,
        crisp: false,
        anchor: Anchor::Start,
        size: 12.0,
        font: REGULAR,
        window: None,
    }];
    let mut words = Words::default();
    let mut inside_title = false;
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, next) = after.split_once('>').ok_or("a tag without an end")?;
        rest = next;
        let outer = stack.last().ok_or("a tag after the last one")?;
        if !inside_title {
            words.add(outer, before);
        }
        if let Some(name) = tag.strip_prefix('/') {
            match name {
                "title" => inside_title = false,
                "text" => {
                    words.draw(outer, pixels);
                    stack.pop();
                }
                _ => drop(stack.pop()),
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let attributes = parsed(attributes)?;
        let state = outer.within(&attributes)?;
        let number = |name: &str| find(&attributes, name).map_or(Ok(0.0), number);
        match name {
            "title" => inside_title = true,
            "path" => state.paint(path(find(&attributes, "d").unwrap_or(""))?, pixels),
            "rect" => state
                .paint(rectangle(number("x")?, number("y")?, number("width")?, number("height")?), pixels),
            "text" => {
                words = Words::default();
                let mut state = state;
                state.place = state.place.pre_translate(number("x")?, number("y")?);
                stack.push(state);
                continue;
            }
            "tspan" => words.lowered += number("dy")?,
            "svg" | "g" => {}
            other => return Err(format!("the element '{other}'")),
        }
        if !empty && name != "title" {
            let mut state = state;
            if name == "svg" && find(&attributes, "viewBox").is_none() {
                let window = rectangle(0.0, 0.0, number("width")?, number("height")?);
                state.window = window.and_then(|path| path.transform(state.place)).map(Rc::new);
            }
            stack.push(state);
        }
    }
    Ok(())
}

impl State {
    /// That of an element inside.
    fn within(&self, attributes: &[(&str, &str)]) -> Result<Self, String> {
        let mut inner = State { opacity: 1.0, ..self.clone() };
        for &(name, value) in attributes {
            match name {
                "transform" => inner.place = inner.place.pre_concat(transform(value)?),
                "fill" => inner.fill = color(value)?,
                "stroke" => inner.stroke = color(value)?,
                "stroke-width" => inner.width = number(value)?,
                "stroke-linecap" if value == "round" => inner.cap = LineCap::Round,
                "stroke-linecap" => inner.cap = LineCap::Butt,
                "stroke-linejoin" => inner.join = LineJoin::Round,
                "stroke-dasharray" => {
                    let lengths: Result<Vec<f32>, String> = value.split(' ').map(number).collect();
                    inner.dash = lengths?;
                }
                "opacity" => inner.opacity = number(value)?,
                "shape-rendering" => inner.crisp = value == "crispEdges",
                "font-size" => inner.size = number(value)?,
                "font-weight" => inner.font = BOLD,
                "text-anchor" => {
                    inner.anchor = match value {
                        "middle" => Anchor::Middle,
                        "end" => Anchor::End,
                        _ => Anchor::Start,
                    }
                }
                // The geometry, which elements read themselves; then what is not for the eye, or the reader's choice of font.
                // Text is always painted with its stroke first.
                "x" | "y" | "dy" | "width" | "height" | "d" | "viewBox" | "paint-order" | "class"
                | "role" | "xmlns" | "font-family" => {}
                // For pages that link their plots.
                name if name.starts_with("data-") => {}
                other => return Err(format!("the attribute '{other}'")),
            }
        }
        Ok(inner)
    }

    /// Fills and strokes a path, in this order.
    fn paint<S: Surface>(&self, path: Option<Path>, pixels: &mut S) {
        let Some(path) = path else { return };
        if self.opacity < 1.0 && self.fill.is_some() && self.stroke.is_some() {
            pixels.sheet(self.opacity, &mut |sheet, opacity| {
                let same = State { opacity, ..self.clone() };
                same.fill(&path, sheet);
                same.stroke(&path, sheet);
            });
        } else {
            self.fill(&path, pixels);
            self.stroke(&path, pixels);
        }
    }

    fn fill(&self, path: &Path, pixels: &mut dyn Surface) {
        if let Some(color) = self.fill {
            pixels.fill(path, &self.look(color));
        }
    }

    fn stroke(&self, path: &Path, pixels: &mut dyn Surface) {
        if let Some(color) = self.stroke {
            let (line_cap, line_join) = (self.cap, self.join);
            let stroke = Stroke { width: self.width, line_cap, line_join, ..Stroke::default() };
            pixels.stroke(path, &self.look(color), &stroke, &self.dash);
        }
    }

    fn look(&self, mut color: Color) -> Look<'_> {
        color.apply_opacity(self.opacity);
        Look { color, place: self.place, window: self.window.as_deref(), crisp: self.crisp }
    }
}

impl Words {
    /// Text between tags, at the end of the line.
    fn add(&mut self, state: &State, text: &str) {
        let text = unescaped(text);
        let text = if self.pieces.is_empty() { text.trim_start() } else { &text };
        // Line breaks between elements are no words.
        let text: Vec<&str> = text.split(' ').filter(|word| !word.trim().is_empty()).collect();
        if text.is_empty() {
            return;
        }
        let (outline, length) = state.font.line(&text.join(" "), state.size);
        self.pieces.extend(outline.map(|outline| (outline, self.length, self.lowered)));
        self.length += length;
    }

    /// Draws the line where its anchor says, edge first: letters stand on the edges of others.
    fn draw(&mut self, state: &State, pixels: &mut dyn Surface) {
        let begin = match state.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * self.length,
            Anchor::End => -self.length,
        };
        let placed = |(path, x, y): &(Path, f32, f32)| {
            path.clone().transform(Transform::from_translate(begin + x, *y))
        };
        let paths: Vec<Path> = self.pieces.iter().filter_map(placed).collect();
        for path in &paths {
            state.stroke(path, pixels);
        }
        for path in &paths {
            state.fill(path, pixels);
        }
        *self = Words::default();
    }
}

/// The attributes of a tag: `name="value"`, with blanks between.
fn parsed(mut text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(found);
        }
        let (name, rest) =
            text.split_once("=\"").ok_or_else(|| format!("an attribute without a value in '{text}'"))?;
        let (value, rest) =
            rest.split_once('"').ok_or_else(|| format!("the value of '{name}' without an end"))?;
        found.push((name, value));
        text = rest;
    }
}

fn find<'a>(attributes: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn number(text: &str) -> Result<f32, String> {
    text.parse().map_err(|_| format!("the number '{text}'"))
}

/// `#rrggbb`, or none.
fn color(text: &str) -> Result<Option<Color>, String> {
    if text == "none" {
        return Ok(None);
    }
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii());
    let part = |at: usize| digits.and_then(|digits| u8::from_str_radix(&digits[at..at + 2], 16).ok());
    match (part(0), part(2), part(4)) {
        (Some(red), Some(green), Some(blue)) => Ok(Some(Color::from_rgba8(red, green, blue, 255))),
        _ => Err(format!("the colour '{text}'")),
    }
}

/// `translate(x y)`, `rotate(degrees)` or `rotate(degrees x y)`.
fn transform(text: &str) -> Result<Transform, String> {
    let unknown = || format!("the transform '{text}'");
    let (name, numbers) = text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(unknown)?;
    let numbers: Result<Vec<f32>, String> = numbers.split(' ').map(number).collect();
    match (name, numbers?.as_slice()) {
        ("translate", &[x, y]) => Ok(Transform::from_translate(x, y)),
        ("rotate", &[degrees]) => Ok(Transform::from_rotate(degrees)),
        ("rotate", &[degrees, x, y]) => Ok(Transform::from_rotate_at(degrees, x, y)),
        _ => Err(unknown()),
    }
}

fn rectangle(x: f32, y: f32, width: f32, height: f32) -> Option<Path> {
    Rect::from_xywh(x, y, width, height).map(PathBuilder::from_rect)
}

/// Path data with the commands M, m, L, l, H, h, V, v, Z, and `a` for half circles.
fn path(data: &str) -> Result<Option<Path>, String> {
    let mut out = PathBuilder::new();
    // Where the pen is, and where the contour began.
    let ((mut x, mut y), mut begin) = ((0.0_f32, 0.0_f32), (0.0, 0.0));
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let after = &rest[command.len_utf8()..];
        let end = after.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(after.len());
        let numbers: Result<Vec<f32>, String> = after[..end].split_whitespace().map(number).collect();
        rest = &after[end..];
        match (command, numbers?.as_slice()) {
            ('M' | 'L', &[to_x, to_y]) => (x, y) = (to_x, to_y),
            ('m' | 'l', &[dx, dy]) => (x, y) = (x + dx, y + dy),
            ('H', &[to]) => x = to,
            ('h', &[by]) => x += by,
            ('V', &[to]) => y = to,
            ('v', &[by]) => y += by,
            ('Z', &[]) => {
                out.close();
                (x, y) = begin;
                continue;
            }
            ('a', &[radius, _, _, _, _, dx, dy]) if dy == 0.0 && (dx.abs() - 2.0 * radius).abs() < 1e-3 => {
                half_circle(&mut out, x, y, 0.5 * dx);
                x += dx;
                continue;
            }
            _ => return Err(format!("the path command '{command}{}'", &after[..end])),
        }
        if matches!(command, 'M' | 'm') {
            begin = (x, y);
            out.move_to(x, y);
        } else {
            out.line_to(x, y);
        }
    }
    Ok(out.finish())
}

/// From (x, y) to (x + 2r, y), below for positive r and above for negative: two of them make a circle.
fn half_circle(out: &mut PathBuilder, x: f32, y: f32, r: f32) {
    let k = QUARTER * r;
    out.cubic_to(x, y + k, x + r - k, y + r, x + r, y + r);
    out.cubic_to(x + r + k, y + r, x + 2.0 * r, y + k, x + 2.0 * r, y);
}

/// What `words::escape` escaped.
fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for (written, meant) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
        if text.contains(written) {
            text = text.replace(written, meant);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(body: &str) -> Result<Pixmap, String> {
        let svg = format!(
            "<svg viewBox=\"0 0 40 40\"><rect width=\"40\" height=\"40\" fill=\"#ffffff\"/>{body}</svg>"
        );
        let mut pixels = Pixmap::new(40, 40).unwrap();
        draw(&svg, Transform::identity(), &mut pixels).map(|()| pixels)
    }

    fn at(pixels: &Pixmap, x: u32, y: u32) -> [u8; 3] {
        let pixel = pixels.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    const WHITE: [u8; 3] = [255; 3];

    #[test]
    fn a_circle_of_two_arcs_is_round() {
        let pixels =
            drawn("<path fill=\"#000000\" d=\"M10 20a10 10 0 1 0 20 0a10 10 0 1 0 -20 0Z\"/>").unwrap();
        let inked = pixels.pixels().iter().map(|p| 1.0 - f64::from(p.red()) / 255.0).sum::<f64>();
        // The anti-aliasing of tiny-skia is not exact: measured, this circle has 312.24 of 314.16 pixels of ink.
        assert!((inked - std::f64::consts::PI * 100.0).abs() < 3.0, "{inked}");
        assert_eq!(at(&pixels, 20, 11), [0; 3]);
        assert_eq!(at(&pixels, 20, 28), [0; 3]);
        assert_eq!(at(&pixels, 12, 12), WHITE);
    }

    #[test]
    fn groups_move_windows_cut_and_sheets_let_through() {
        let pixels = drawn(
            "<g transform=\"translate(5 5)\"><svg width=\"10\" height=\"10\">\
             <path fill=\"#ff0000\" d=\"M0 0H30V30H0Z\"/></svg></g>\
             <path fill=\"#0000ff\" stroke=\"#0000ff\" stroke-width=\"4\" opacity=\"0.5\" d=\"M25 25H35V35H25Z\"/>",
        )
        .unwrap();
        assert_eq!(at(&pixels, 10, 10), [255, 0, 0]);
        assert_eq!(at(&pixels, 16, 10), WHITE);
        assert_eq!(at(&pixels, 3, 10), WHITE);
        // Where the edge lies on the area it is not darker.
        let inside = at(&pixels, 30, 30);
        assert!(inside[0].abs_diff(128) < 2 && inside[2] == 255, "{inside:?}");
        assert_eq!(at(&pixels, 26, 30), inside);
        assert_eq!(at(&pixels, 24, 30), inside);
    }

    #[test]
    fn words_stand_where_their_anchor_says() {
        let extent = |anchor: &str| {
            let text = format!("<text x=\"20\" y=\"30\" font-size=\"12\" text-anchor=\"{anchor}\">H</text>");
            let pixels = drawn(&text).unwrap();
            let inked =
                pixels.pixels().iter().enumerate().filter(|(_, p)| p.red() < 128).map(|(i, _)| i % 40);
            (inked.clone().min().unwrap(), inked.max().unwrap())
        };
        // An H of 12 units is 9 wide, with 1.2 to spare on each side.
        let [start, middle, end] = ["start", "middle", "end"].map(extent);
        assert!((21..23).contains(&start.0) && (26..29).contains(&start.1), "{start:?}");
        assert!(middle.0.abs_diff(40 - middle.1) <= 2, "{middle:?}");
        assert!((18..20).contains(&end.1) && end.0 > 10, "{end:?}");
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (body, what) in [
            ("<circle r=\"3\"/>", "the attribute 'r'"),
            ("<ellipse/>", "the element 'ellipse'"),
            ("<path fill=\"red\"/>", "the colour 'red'"),
            ("<path d=\"M0 0C1 2 3 4 5 6\"/>", "the path command 'C1 2 3 4 5 6'"),
            ("<path d=\"M0 0a3 3 0 1 0 3 3\"/>", "the path command 'a3 3 0 1 0 3 3'"),
            ("<g transform=\"scale(2)\">", "the transform 'scale(2)'"),
            ("<path stroke-width=\"x\"/>", "the number 'x'"),
        ] {
            assert_eq!(drawn(body).unwrap_err(), what);
        }
    }
}
