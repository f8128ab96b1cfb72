//! Pictures: one description of a plot, drawn wherever it is needed.
//!
//! A [`Figure`] is data and marks, nothing else. The same value is drawn as SVG ([`svg()`]) or PNG ([`png()`]), written
//! as JSON (serde) for a page that draws it alive, and given out as a table ([`Figure::csv`]). Who draws a figure needs to know
//! nothing of how its numbers were learned, and who describes one (in [`plots`]) nothing of pixels.
//!
//! | module | holds |
//! |---|---|
//! | `figure`, `mark` | the description: figure, panels, axes; marks |
//! | `gaps` | numbers in JSON |
//! | `csv` | the numbers behind a figure, tidy |
//! | `theme`, `colormap` | colours: of pages and series; of values |
//! | `scale` | from values to places on an axis; ticks and their labels |
//! | `ink`, `words` | the house style: lines and markers; text and its width |
//! | `shapes` | marks inside the axes |
//! | `axes` | grid, ticks, names, colour bar around them |
//! | `plot` | one panel of these |
//! | `legend` | legends |
//! | `svg` | the page: titles, panels in a grid |
//! | [`panels`] | what there is to see of a study, for report and page |
//! | [`plots`] | what the plots of the paper show, and ours |
//! | `png` | the page in pixels, with a font of its own |
//! | [`report`] | documents of figures, tables and words, as one page |
//!
//! Any data can be drawn: values that are not finite (or not positive, on a log axis) leave gaps, and a panel
//! without data says so. Only the constructors of [`Mark`] panic, when lengths do not fit. Equal figures give equal
//! bytes.

mod axes;
mod colormap;
mod csv;
mod figure;
mod gaps;
mod ink;
mod legend;
mod mark;
pub mod panels;
mod plot;
pub mod plots;
mod png;
pub mod report;
mod scale;
mod shapes;
mod svg;
mod theme;
mod words;

use std::io;
use std::path::Path;

pub use figure::{Axis, Figure, Panel, Scale};
pub use mark::{Color, Dash, Mark, Marker, Shape};
pub use ocorl_study::files::write_atomically;
pub use png::{PNG_SCALE, PngError, png, png_themed, write_png};
pub use svg::{svg, svg_themed};
pub use theme::Theme;

/// Draws `figure` into the file at `path`, as [`write_atomically`] does.
///
/// # Errors
///
/// What the file system says.
pub fn write_svg(figure: &Figure, path: impl AsRef<Path>) -> io::Result<()> {
    write_atomically(path, svg(figure).as_bytes())
}
