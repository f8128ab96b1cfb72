//! A figure in pixels: its SVG, drawn by resvg.
//!
//! The font is embedded (`fonts/`), so pictures are the same on all machines, also where there is no font at all.

use crate::figure::Figure;
use crate::svg::svg_themed;
use crate::theme::Theme;
use crate::write_atomically;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Pixels per unit of the SVG in [`write_png`]: sharp on today's screens, and about 250 dots per inch across a page.
pub const PNG_SCALE: f64 = 2.0;

/// The largest width and height; a picture of this size takes 1 GB.
const LARGEST: f64 = 16_384.0;

const FAMILY: &str = "Ocorl Sans";
const REGULAR: &[u8] = include_bytes!("../fonts/OcorlSans.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/OcorlSans-Bold.ttf");

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// Nothing would be left, or too much.
    #[error(
        "{scale} pixels per unit make a picture of {width} × {height} pixels; \
         each must be between 1 and {LARGEST}: choose another scale"
    )]
    Size {
        /// As asked for.
        scale: f64,
        /// In pixels.
        width: f64,
        /// In pixels.
        height: f64,
    },
    /// The drawing is not one that resvg can read: more than a million elements, perhaps.
    #[error("the picture cannot be drawn in pixels: {0}; write it as SVG instead")]
    Drawing(#[from] usvg::Error),
    /// The pixels could not be packed.
    #[error("the pixels cannot be written as PNG: {0}")]
    Packing(String),
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// The figure as PNG, `scale` pixels per unit of its SVG: [`PNG_SCALE`] is a good choice. Equal figures give equal
/// bytes.
///
/// # Errors
///
/// [`PngError::Size`] for scales that make nothing or too much of the picture.
pub fn png(figure: &Figure, scale: f64) -> Result<Vec<u8>, PngError> {
    png_themed(figure, &Theme::LIGHT, scale)
}

/// As [`png()`], in other colours.
///
/// # Errors
///
/// As [`png()`].
pub fn png_themed(figure: &Figure, theme: &Theme, scale: f64) -> Result<Vec<u8>, PngError> {
    let options = usvg::Options { fontdb: Arc::new(fonts()), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(&svg_themed(figure, theme), &options)?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|side| (f64::from(side) * scale).round());
    let mut pixels = pixmap(width, height).ok_or(PngError::Size { scale, width, height })?;
    #[expect(clippy::cast_possible_truncation, reason = "single precision is what resvg computes in")]
    let enlarge = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, enlarge, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Packing(error.to_string()))
}

/// Draws `figure` into the PNG file at `path` at [`PNG_SCALE`], as [`write_atomically`] does.
///
/// # Errors
///
/// As [`png()`], and what the file system says.
pub fn write_png(figure: &Figure, path: impl AsRef<Path>) -> Result<(), PngError> {
    Ok(write_atomically(path, &png(figure, PNG_SCALE)?)?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared with the limits first")]
fn pixmap(width: f64, height: f64) -> Option<Pixmap> {
    let fits = [width, height].iter().all(|side| (1.0..=LARGEST).contains(side));
    if fits { Pixmap::new(width as u32, height as u32) } else { None }
}

fn fonts() -> fontdb::Database {
    let mut fonts = fontdb::Database::new();
    for font in [REGULAR, BOLD] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family(FAMILY);
    fonts
}
