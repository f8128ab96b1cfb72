//! The outlines of the embedded font, from its TrueType tables.
//!
//! The files are ours (`fonts/`), so only what they hold is read: characters of the basic plane (`cmap` format 4), quadratic outlines,
//! simple and composed. There is no kerning. A combining mark is centred over its letter, raised where that is higher than an x.

use tiny_skia::{Path, PathBuilder, Transform};

/// The font of a weight.
#[derive(Clone, Copy)]
pub(crate) struct Font {
    data: &'static [u8],
}

pub(crate) const REGULAR: Font = Font { data: include_bytes!("../fonts/OcorlSans.ttf") };
pub(crate) const BOLD: Font = Font { data: include_bytes!("../fonts/OcorlSans-Bold.ttf") };

/// Composed glyphs refer to others; this deep at most.
const DEEPEST: u8 = 4;

/// A corner of an outline.
#[derive(Clone, Copy)]
struct Corner {
    x: f32,
    y: f32,
    /// Whether the outline passes through it; between two corners that it does not pass through, it passes through the middle.
    on: bool,
}

/// Extent of an outline, in units of the font.
#[derive(Clone, Copy)]
struct Extent {
    left: f32,
    right: f32,
    top: f32,
}

impl Font {
    /// The outline of a line of text that begins at the origin, and its length, at this size. Upwards is negative.
    pub(crate) fn line(self, text: &str, size: f32) -> (Option<Path>, f32) {
        let scale = size / f32::from(self.table(*b"head").and_then(|head| unsigned(head, 18)).unwrap_or(1));
        let (mut pen, mut outline) = (0.0, PathBuilder::new());
        // The letter that marks stand on, and where it is.
        let mut letter: Option<(f32, Extent)> = None;
        for c in text.chars() {
            let glyph = self.glyph(c);
            let extent = self.extent(glyph);
            let mut place = (pen, 0.0);
            if let ('\u{300}'..='\u{36f}', Some((at, below)), Some(mark)) = (c, letter, extent) {
                let x_height = self.extent(self.glyph('x')).map_or(0.0, |x| x.top);
                place.0 = at + 0.5 * (below.left + below.right) - 0.5 * (mark.left + mark.right);
                place.1 = (below.top - x_height).max(0.0);
            } else {
                letter = extent.map(|extent| (pen, extent));
                pen += self.advance(glyph);
            }
            let move_there = Transform::from_row(scale, 0.0, 0.0, -scale, place.0 * scale, -place.1 * scale);
            self.draw(glyph, move_there, DEEPEST, &mut outline);
        }
        (outline.finish(), pen * scale)
    }

    fn table(self, tag: [u8; 4]) -> Option<&'static [u8]> {
        let count = usize::from(unsigned(self.data, 4)?);
        let entries = self.data.get(12..12 + 16 * count)?.chunks_exact(16);
        let entry = entries.into_iter().find(|entry| entry.starts_with(&tag))?;
        let (offset, length) = (long(entry, 8)?, long(entry, 12)?);
        self.data.get(offset..offset + length)
    }

    /// The number of a character's glyph; 0, a box, for those that are not in the font.
    fn glyph(self, c: char) -> u16 {
        let find = |code: u16| {
            let cmap = self.table(*b"cmap")?;
            let subtables =
                (0..usize::from(unsigned(cmap, 2)?)).filter_map(|i| cmap.get(long(cmap, 8 + 8 * i)?..));
            let map = subtables.into_iter().find(|map| unsigned(map, 0) == Some(4))?;
            // Segments of codes: their ends, (a gap,) starts, differences, and offsets into a list of glyphs.
            let twice = usize::from(unsigned(map, 6)?);
            let segment =
                (0..twice / 2).find(|s| unsigned(map, 14 + 2 * s).is_some_and(|end| end >= code))?;
            let row = |k: usize| 14 + k * twice + 2 * segment;
            let start = unsigned(map, row(1) + 2).filter(|start| *start <= code)?;
            let (delta, offset) = (unsigned(map, row(2) + 2)?, usize::from(unsigned(map, row(3) + 2)?));
            if offset == 0 {
                return Some(code.wrapping_add(delta));
            }
            let glyph = unsigned(map, row(3) + 2 + offset + 2 * usize::from(code - start))?;
            Some(if glyph == 0 { 0 } else { glyph.wrapping_add(delta) })
        };
        u16::try_from(u32::from(c)).ok().and_then(find).unwrap_or(0)
    }

    /// How far the next glyph is, in units of the font.
    fn advance(self, glyph: u16) -> f32 {
        let find = || {
            let wide = unsigned(self.table(*b"hhea")?, 34)?;
            unsigned(self.table(*b"hmtx")?, 4 * usize::from(glyph.min(wide.saturating_sub(1))))
        };
        find().map_or(0.0, f32::from)
    }

    /// The description of a glyph; none for blanks.
    fn description(self, glyph: u16) -> Option<&'static [u8]> {
        let (loca, glyph) = (self.table(*b"loca")?, usize::from(glyph));
        let place = |index: usize| match unsigned(self.table(*b"head")?, 50)? {
            0 => unsigned(loca, 2 * index).map(|half| 2 * usize::from(half)),
            _ => long(loca, 4 * index),
        };
        self.table(*b"glyf")?.get(place(glyph)?..place(glyph + 1)?).filter(|found| !found.is_empty())
    }

    fn extent(self, glyph: u16) -> Option<Extent> {
        let about = self.description(glyph)?;
        Some(Extent { left: signed(about, 2)?, right: signed(about, 6)?, top: signed(about, 8)? })
    }

    /// Adds a glyph to the outline.
    fn draw(self, glyph: u16, place: Transform, depth: u8, outline: &mut PathBuilder) {
        let Some(about) = self.description(glyph) else { return };
        match signed(about, 0) {
            Some(contours) if contours >= 0.0 => {
                for contour in contours_of(about).unwrap_or_default() {
                    closed(&contour, place, outline);
                }
            }
            _ if depth > 0 => {
                let mut at = 10;
                while let Some((part, moved, next)) = component(about, at) {
                    self.draw(part, place.pre_concat(moved), depth - 1, outline);
                    let Some(next) = next else { break };
                    at = next;
                }
            }
            _ => {}
        }
    }
}

/// The contours of a simple glyph.
fn contours_of(about: &[u8]) -> Option<Vec<Vec<Corner>>> {
    let count = usize::from(unsigned(about, 0)?);
    let ends: Option<Vec<usize>> =
        (0..count).map(|i| unsigned(about, 10 + 2 * i).map(|end| usize::from(end) + 1)).collect();
    let (ends, instructions) = (ends?, usize::from(unsigned(about, 10 + 2 * count)?));
    let total = ends.last().copied().unwrap_or(0);
    let mut at = 12 + 2 * count + instructions;
    let mut flags = Vec::with_capacity(total);
    while flags.len() < total {
        let flag = *about.get(at)?;
        at += 1;
        flags.push(flag);
        if flag & 8 != 0 {
            let again = usize::from(*about.get(at)?);
            at += 1;
            flags.extend(std::iter::repeat_n(flag, again.min(total - flags.len())));
        }
    }
    // Differences of a coordinate: one byte with its sign in the flag, or the same again, or two bytes.
    let mut coordinates = |short: u8, same: u8| -> Option<Vec<f32>> {
        let mut value = 0.0;
        let mut next = |flag: &u8| {
            match (flag & short != 0, flag & same != 0) {
                (true, positive) => {
                    let step = f32::from(*about.get(at)?);
                    at += 1;
                    value += if positive { step } else { -step };
                }
                (false, true) => {}
                (false, false) => {
                    value += signed(about, at)?;
                    at += 2;
                }
            }
            Some(value)
        };
        flags.iter().map(&mut next).collect()
    };
    let (x, y) = (coordinates(2, 16)?, coordinates(4, 32)?);
    let corner = |i: usize| Corner { x: x[i], y: y[i], on: flags[i] & 1 != 0 };
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Some(starts.zip(&ends).map(|(start, &end)| (start..end).map(corner).collect()).collect())
}

/// A contour of quadratic curves.
fn closed(corners: &[Corner], place: Transform, outline: &mut PathBuilder) {
    let (Some(&first), Some(&last)) = (corners.first(), corners.last()) else { return };
    let middle = |a: Corner, b: Corner| Corner { x: 0.5 * (a.x + b.x), y: 0.5 * (a.y + b.y), on: true };
    let put = |corner: Corner| {
        let mut point = tiny_skia::Point::from_xy(corner.x, corner.y);
        place.map_point(&mut point);
        (point.x, point.y)
    };
    let begin = match (first.on, last.on) {
        (true, _) => first,
        (false, true) => last,
        (false, false) => middle(first, last),
    };
    let (x, y) = put(begin);
    outline.move_to(x, y);
    let mut bend: Option<Corner> = None;
    for corner in corners.iter().copied().chain([begin]) {
        let to = match (bend, corner.on) {
            (Some(control), false) => middle(control, corner),
            (None, false) => {
                bend = Some(corner);
                continue;
            }
            (_, true) => corner,
        };
        let (x, y) = put(to);
        match bend {
            Some(control) => {
                let (a, b) = put(control);
                outline.quad_to(a, b, x, y);
            }
            None => outline.line_to(x, y),
        }
        bend = (!corner.on).then_some(corner);
    }
    outline.close();
}

/// A part of a composed glyph: which glyph, where, and the place of the next part.
fn component(about: &[u8], at: usize) -> Option<(u16, Transform, Option<usize>)> {
    let (flags, part) = (unsigned(about, at)?, unsigned(about, at + 2)?);
    let byte = |at: usize| about.get(at).map(|byte| f32::from(byte.cast_signed()));
    let fraction = |at: usize| signed(about, at).map(|value| value / 16384.0);
    let (words, mut next) = (flags & 1 != 0, at + if flags & 1 != 0 { 8 } else { 6 });
    let (dx, dy) = match (flags & 2 != 0, words) {
        (true, true) => (signed(about, at + 4)?, signed(about, at + 6)?),
        (true, false) => (byte(at + 4)?, byte(at + 5)?),
        // Corners that are laid on each other: none of our glyphs.
        (false, _) => (0.0, 0.0),
    };
    let [mut a, mut b, mut c, mut d] = [1.0, 0.0, 0.0, 1.0];
    if flags & 8 != 0 {
        (a, d, next) = (fraction(next)?, fraction(next)?, next + 2);
    } else if flags & 0x40 != 0 {
        (a, d, next) = (fraction(next)?, fraction(next + 2)?, next + 4);
    } else if flags & 0x80 != 0 {
        (a, b, c, d, next) =
            (fraction(next)?, fraction(next + 2)?, fraction(next + 4)?, fraction(next + 6)?, next + 8);
    }
    Some((part, Transform::from_row(a, b, c, d, dx, dy), (flags & 0x20 != 0).then_some(next)))
}

fn unsigned(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
}

fn signed(data: &[u8], at: usize) -> Option<f32> {
    unsigned(data, at).map(|value| f32::from(value.cast_signed()))
}

fn long(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}
