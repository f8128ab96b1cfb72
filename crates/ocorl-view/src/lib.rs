//! Pictures: one description of a plot, drawn wherever it is needed.
//!
//! A [`Figure`] is data and marks, nothing else. The same value is drawn as SVG ([`svg()`]), written as JSON (serde)
//! for a page that draws it alive, and given out as a table ([`Figure::csv`]). Who draws a figure needs to know
//! nothing of how its numbers were learned, and who describes one nothing of pixels.
//!
//! | module | holds |
//! |---|---|
//! | `figure` | the description: figure, panels, axes, marks |
//! | `csv` | the numbers behind a figure, tidy |
//! | `scale` | from values to places on an axis; ticks and their labels |
//! | `ink` | the house style: colours, lines, markers, words as SVG |
//! | `plot` | one panel: grid, axes, marks |
//! | `svg` | the page: titles, legends, panels in a grid |
//!
//! Any data can be drawn: values that are not finite (or not positive, on a log axis) leave gaps, and a panel
//! without data says so. Only the constructors of [`Mark`] panic, when lengths do not fit. Equal figures give equal
//! bytes.

mod csv;
mod figure;
mod ink;
mod plot;
mod scale;
mod svg;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use figure::{Axis, Color, Dash, Figure, Mark, Marker, Panel, Scale, Shape};
pub use svg::svg;

/// Draws `figure` into the file at `path`, as [`write_atomically`] does.
///
/// # Errors
///
/// What the file system says.
pub fn write_svg(figure: &Figure, path: impl AsRef<Path>) -> io::Result<()> {
    write_atomically(path, svg(figure).as_bytes())
}

/// Writes a file whole or not at all: to a temporary file in the same folder first, then renamed over `path`.
///
/// # Errors
///
/// What the file system says; then nothing is left behind, and what stood at `path` still stands there.
pub fn write_atomically(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    let (mut file, temporary) = create_beside(path)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    drop(file); // some systems do not rename an open file
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary); // the first error is the one to report
    })
}

/// A new file in the folder of `path`, under a name nobody uses.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display())));
    };
    let mut attempt = 0_u32;
    loop {
        let name = format!(".{}.{}-{attempt}.tmp", name.to_string_lossy(), std::process::id());
        let temporary = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            opened => return opened.map(|file| (file, temporary)),
        }
    }
}
