//! Plots and reports: one description of a plot, drawn as SVG or PNG, serialized as JSON, exported as CSV.
//!
//! A [`Figure`] holds data and marks, nothing else. The same value is drawn as SVG ([`svg()`]) or PNG ([`png()`]), serialized
//! (serde) for the live page, and exported as a table ([`Figure::csv`]). The drawing modules do not know how the numbers were
//! computed, and the modules that describe figures (in [`plots`]) do not know about pixels.
//!
//! | module | responsibility |
//! |---|---|
//! | `figure`, `mark` | the description: figure, panels, axes; marks |
//! | `gaps` | JSON of numbers that may not be finite |
//! | `csv` | the numbers behind a figure as one tidy table |
//! | `theme`, `colormap` | colours of pages and series; colours of values |
//! | `scale` | from values to positions on an axis; ticks and their labels |
//! | `ink`, `text` | SVG of lines and markers; SVG of text, and estimates of its width |
//! | `shapes` | draws marks inside the axes |
//! | `scene` | draws systems to scale: the stage on which trajectories move, strobe pictures |
//! | `axes` | draws grid, ticks, titles and colour bar around the axes |
//! | `plot` | draws one panel |
//! | `legend` | draws legends |
//! | `svg` | lays out the page: titles, panels in a grid |
//! | `png`, `pdf`, `raster`, `font` | render the SVG in pixels or on a page, with an embedded font |
//! | [`plots`] | describes the figures of the paper and further ones, from results |
//! | [`panels`] | describes the plots, tables and summary of one study, for the report and the live page |
//! | [`report`] | documents of figures, tables and text, written as one HTML file |
//!
//! Not here: computing results (`ocorl-study`), serving the live page (`ocorl-watch`), file formats other than SVG, PNG, CSV, JSON
//! and HTML.
//!
//! Any data can be drawn: values that are not finite (or not positive, on a logarithmic axis) leave gaps, and a panel without data
//! says so. Only the constructors of [`Mark`] panic, when lists have unequal lengths. Equal figures give equal bytes.

mod axes;
mod colormap;
mod csv;
mod figure;
mod font;
mod gaps;
mod ink;
mod legend;
mod mark;
pub mod panels;
mod pdf;
mod plot;
pub mod plots;
mod png;
mod raster;
pub mod report;
mod scale;
mod scene;
mod shapes;
mod svg;
mod text;
mod theme;

use std::io;
use std::path::Path;

pub use figure::{Axis, Figure, Panel, Scale};
pub use mark::{Color, Dash, Mark, Marker, Shape};
pub use ocorl_study::files::write_atomically;
pub use pdf::pdf;
pub use png::{PNG_SCALE, PngError, png, png_themed, write_png};
pub use scene::{Moving, Stage, views as natural_views};
pub use svg::{WIDTH, drawn, pictures, svg, svg_themed};
pub use theme::Theme;

/// Draws `figure` as SVG into the file at `path`, atomically as [`write_atomically`] does.
///
/// # Errors
///
/// An error of the file system.
pub fn write_svg(figure: &Figure, path: impl AsRef<Path>) -> io::Result<()> {
    write_atomically(path, svg(figure).as_bytes())
}

/// The code of `README.md`, compiled and run by the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
