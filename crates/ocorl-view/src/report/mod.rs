//! Reports: the description of a document, and the HTML file that shows it.
//!
//! | file | responsibility |
//! |---|---|
//! | `mod` | the description: sections of blocks |
//! | `html`, `style` | the HTML file and its style sheet for screens, phones and paper |
//! | `numerals` | number formats of a report |
//! | `sweep`, `sweep_figures`, `progress`, `table1` | the report of a sweep: its text and tables, its figures, learning progress, the paper's table |
//! | `study` | the report of a study |
//!
//! The functions that describe a report ([`sweep()`], [`study()`]) do not write HTML, and the HTML writer does not know what it
//! shows: names and reasons from outside are always treated as text. A [`Document`] is also written as JSON (`report.json`), with
//! the numbers behind all figures.

mod html;
mod numerals;
mod progress;
mod study;
mod style;
mod sweep;
mod sweep_figures;
mod table1;

pub use html::{MOST_BYTES, html};
pub use numerals::{amount, brief, cost, percent, plus_minus};
pub use study::{of_view, study};
pub use sweep::sweep;

use crate::figure::Figure;
use crate::panels::Verdict;
use ocorl_study::files::write_atomically;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// A report: title and sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    /// Title of the report.
    pub title: String,
    /// One line below the title; may be empty.
    pub subtitle: String,
    /// Sections in the order of the table of contents.
    pub sections: Vec<Section>,
}

/// A section of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Section {
    /// Identifier in the page's address: letters, digits and hyphens.
    pub id: &'static str,
    /// Heading of the section.
    pub title: String,
    /// What the section shows, in a sentence or two; may be empty.
    pub about: String,
    /// Content of the section.
    pub blocks: Vec<Block>,
    /// Whether the section is closed at first, and not printed: appendices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub folded: bool,
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// A plot. Its title and subtitle become the caption; its panels are laid out in a grid that follows the width of the screen.
    Figure {
        /// What the plot shows; may be empty.
        about: String,
        /// The plot.
        figure: Figure,
    },
    /// A table.
    Table(Table),
    /// Headline numbers, each with its reference values.
    Numbers {
        /// The numbers, from left to right.
        numbers: Vec<Number>,
    },
    /// The result in one sentence.
    Verdict(Verdict),
    /// Pictures side by side, each with a caption.
    Filmstrip {
        /// Captions and SVG drawings.
        pictures: Vec<Picture>,
    },
    /// A paragraph.
    Text {
        /// Text of the paragraph.
        text: String,
    },
    /// Names with values: settings, versions.
    Facts {
        /// Pairs of name and value.
        facts: Vec<(String, String)>,
    },
    /// Preformatted text: files, commands.
    Code {
        /// The text; line breaks are kept.
        text: String,
    },
}

/// A drawing with its caption.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// The caption.
    pub caption: String,
    /// The drawing as SVG, made by this crate.
    #[serde(skip)]
    pub svg: String,
}

/// A table of rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Headings above several columns, as (number of columns, heading). Empty, or the numbers add up to all columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<(usize, String)>,
    /// Column headings.
    pub columns: Vec<Column>,
    /// Rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// Note below the table; may be empty.
    pub note: String,
    /// Whether the table is long: it then scrolls in a box of its own, except on paper.
    pub long: bool,
}

/// The heading of a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// Text of the heading.
    pub title: String,
    /// Whether the column holds numbers, which are aligned to the right.
    pub numbers: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Text of the cell.
    pub text: String,
    /// Emphasis of the cell.
    #[serde(rename = "mood", skip_serializing_if = "Emphasis::is_plain")]
    pub emphasis: Emphasis,
}

/// Emphasis of a text. The text always carries the meaning too; colour is never the only sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Emphasis {
    /// No emphasis.
    #[default]
    Plain,
    /// The best of its group.
    Best,
    /// As desired.
    Good,
    /// Needs attention.
    Bad,
    /// Less important.
    Quiet,
}

impl Emphasis {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
    fn is_plain(&self) -> bool {
        *self == Emphasis::Plain
    }
}

/// A headline number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Number {
    /// Name of the number.
    pub what: String,
    /// Formatted value with its unit.
    pub value: String,
    /// Spread, for example "± 0.02"; may be empty.
    pub spread: String,
    /// A less prominent line below, such as variant and number of seeds; may be empty.
    pub note: String,
    /// Reference values.
    pub compare: Vec<Comparison>,
}

/// A reference value of a headline number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the reference: optimum, optimal zero-order hold, paper.
    pub with: String,
    /// Formatted value of the reference.
    pub value: String,
    /// How far the number is above the reference, in percent of the reference, where that is meaningful.
    pub percent: Option<f64>,
}

impl Block {
    /// A plot without a further caption.
    pub fn figure(figure: Figure) -> Self {
        Block::Figure { about: String::new(), figure }
    }

    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into() }
    }
}

impl Table {
    /// A table without rows. A heading that begins with `#` marks a column of numbers.
    pub fn new(columns: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('#') {
            Some(title) => Column { title: title.into(), numbers: true },
            None => Column { title: (*title).into(), numbers: false },
        };
        Table { columns: columns.iter().map(column).collect(), ..Table::default() }
    }

    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        let (cells_len, columns) = (cells.len(), self.columns.len());
        assert_eq!(cells_len, columns, "{cells_len} cells for {columns} columns");
        self.rows.push(cells);
    }
}

impl Cell {
    /// A cell with this emphasis.
    pub fn new(text: impl Into<String>, emphasis: Emphasis) -> Self {
        Cell { text: text.into(), emphasis }
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Cell { text: text.into(), emphasis: Emphasis::Plain }
    }
}

impl Section {
    /// A section without content.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Section { id, title: title.into(), ..Section::default() }
    }

    /// Sets what the section shows.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Section { about: about.into(), ..self }
    }

    /// Closes the section at first, and leaves it out of prints.
    #[must_use]
    pub fn folded(self) -> Self {
        Section { folded: true, ..self }
    }

    /// Appends a block.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}

impl Document {
    /// The document as JSON, with the numbers behind all figures; values that are not finite are `null`.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Writes the HTML file to `path` and the JSON beside it, each atomically. Returns the path of the JSON file.
    ///
    /// # Errors
    ///
    /// An error of the file system.
    pub fn write(&self, path: &Path) -> io::Result<PathBuf> {
        let beside = path.with_extension("json");
        write_atomically(&beside, self.json().as_bytes())?;
        write_atomically(path, html(self).as_bytes())?;
        Ok(beside)
    }
}
