//! Renders a figure in pixels: `raster` draws its SVG.
//!
//! The font is embedded (`fonts/`), so images are identical on all machines, also where no font is installed.

use crate::figure::Figure;
use crate::raster;
use crate::svg::svg_themed;
use crate::theme::Theme;
use crate::write_atomically;
use std::io;
use std::path::Path;
use tiny_skia::{Pixmap, Transform};

/// Pixels per SVG unit in [`write_png`]: sharp on high-density screens, and about 250 dots per inch across a page.
pub const PNG_SCALE: f64 = 2.0;

/// Largest width and height in pixels; an image of this size takes 1 GB of memory.
const LARGEST: f64 = 16_384.0;

/// Why a figure could not be rendered as PNG.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The image would be smaller than one pixel or larger than the limit.
    #[error(
        "{scale} pixels per unit make a picture of {width} × {height} pixels; \
         each must be between 1 and {LARGEST}: choose another scale"
    )]
    Size {
        /// Requested pixels per SVG unit.
        scale: f64,
        /// Resulting width in pixels.
        width: f64,
        /// Resulting height in pixels.
        height: f64,
    },
    /// The drawing contains something that `raster` cannot draw.
    #[error("the picture cannot be drawn in pixels: {0} is not understood; write it as SVG instead")]
    Drawing(String),
    /// The pixels could not be encoded.
    #[error("the pixels cannot be written as PNG: {0}")]
    Packing(String),
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Renders the figure as PNG with `scale` pixels per SVG unit; [`PNG_SCALE`] is a good choice. Equal figures give equal bytes.
///
/// # Errors
///
/// [`PngError::Size`] if `scale` makes the image empty or too large.
pub fn png(figure: &Figure, scale: f64) -> Result<Vec<u8>, PngError> {
    png_themed(figure, &Theme::LIGHT, scale)
}

/// Renders the figure as PNG like [`png()`], in the colours of `theme`.
///
/// # Errors
///
/// The errors of [`png()`].
pub fn png_themed(figure: &Figure, theme: &Theme, scale: f64) -> Result<Vec<u8>, PngError> {
    let drawing = svg_themed(figure, theme);
    let stated = raster::size(&drawing).ok_or_else(|| PngError::Drawing("its size".into()))?;
    let [width, height] = stated.map(|side| (side * scale).round());
    let mut pixels = pixmap(width, height).ok_or(PngError::Size { scale, width, height })?;
    #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for pixels")]
    raster::draw(&drawing, Transform::from_scale(scale as f32, scale as f32), &mut pixels)
        .map_err(PngError::Drawing)?;
    pixels.encode_png().map_err(|error| PngError::Packing(error.to_string()))
}

/// Renders `figure` into the PNG file at `path` at [`PNG_SCALE`], atomically as [`write_atomically`] does.
///
/// # Errors
///
/// The errors of [`png()`], and errors of the file system.
pub fn write_png(figure: &Figure, path: impl AsRef<Path>) -> Result<(), PngError> {
    Ok(write_atomically(path, &png(figure, PNG_SCALE)?)?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared with the limits first")]
fn pixmap(width: f64, height: f64) -> Option<Pixmap> {
    let fits = [width, height].iter().all(|side| (1.0..=LARGEST).contains(side));
    if fits { Pixmap::new(width as u32, height as u32) } else { None }
}
