//! Reports: a description of a document, and one page that shows it.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the description: sections of blocks |
//! | `html`, `style` | the page: one file, nothing fetched, no script; its looks on screens, phones and paper |
//! | `numerals` | numbers as a report writes them |
//! | `sweep`, `sweep_figures`, `progress`, `table1` | the report of a sweep, its figures, learning progress and the paper's table in it |
//! | `study` | the report of a study |
//!
//! Who describes a report ([`sweep()`], [`study()`]) knows nothing of the page, and the page nothing of what it shows: names and reasons
//! that others wrote are text there, whatever they hold. A [`Document`] is JSON too (`report.json`), with the numbers behind all figures.

mod html;
mod numerals;
mod progress;
mod study;
mod style;
mod sweep;
mod sweep_figures;
mod table1;

pub use html::{MOST_BYTES, html};
pub use numerals::{amount, cost, percent, plus_minus};
pub use study::{of_view, study};
pub use sweep::sweep;

use crate::figure::Figure;
use ocorl_study::files::write_atomically;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// One line below it; may be empty.
    pub subtitle: String,
    /// In this order; the contents list names them.
    pub sections: Vec<Section>,
}

/// A part of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Section {
    /// Its name in the page's address; letters, digits and hyphens.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What is to be seen, in a sentence or two; may be empty.
    pub about: String,
    /// What is shown.
    pub blocks: Vec<Block>,
}

/// Something to be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// A plot. Its title and subtitle become the caption; its panels stand in a grid that follows the width of the screen.
    Figure {
        /// What there is to see in it; may be empty.
        about: String,
        /// The plot.
        figure: Figure,
    },
    /// Rows and columns.
    Table(Table),
    /// Large numbers, each with what it is to be compared with.
    Numbers {
        /// From left to right.
        numbers: Vec<Number>,
    },
    /// A paragraph.
    Text {
        /// Its words.
        text: String,
    },
    /// Names with values: settings, versions.
    Facts {
        /// Name, value.
        facts: Vec<(String, String)>,
    },
    /// What is to be read letter by letter: files, commands.
    Code {
        /// Line breaks count.
        text: String,
    },
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Titles above several columns: how many, title. Empty, or as many columns as there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<(usize, String)>,
    /// Heads of the columns.
    pub columns: Vec<Column>,
    /// Each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// Below the table; may be empty.
    pub note: String,
    /// Whether it is long: then it scrolls in a box of its own, except on paper.
    pub long: bool,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// Whether it holds numbers, which lean to the right.
    pub numbers: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How it is meant.
    #[serde(skip_serializing_if = "Mood::is_plain")]
    pub mood: Mood,
}

/// How something is meant. Words or signs say the same: colour is never alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mood {
    /// As it is.
    #[default]
    Plain,
    /// The best of its kind.
    Best,
    /// As it should be.
    Good,
    /// Worth a look.
    Bad,
    /// Less important.
    Quiet,
}

impl Mood {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    fn is_plain(&self) -> bool {
        *self == Mood::Plain
    }
}

/// A number that sums up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Number {
    /// What it is.
    pub what: String,
    /// As it is to be read, with its unit.
    pub value: String,
    /// "± 0.02"; may be empty.
    pub spread: String,
    /// A quiet line below: which variant, how many seeds; may be empty.
    pub note: String,
    /// What it is to be compared with.
    pub compare: Vec<Comparison>,
}

/// Beside what a number is to be seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// With what: best continuous, best hold, paper.
    pub with: String,
    /// That value, as it is to be read.
    pub value: String,
    /// How much more the number is than this, in percent, if that says something.
    pub percent: Option<f64>,
}

impl Block {
    /// A plot without further words.
    pub fn figure(figure: Figure) -> Self {
        Block::Figure { about: String::new(), figure }
    }

    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into() }
    }
}

impl Table {
    /// A table without rows. Titles that begin with `#` are of columns with numbers.
    pub fn new(columns: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('#') {
            Some(title) => Column { title: title.into(), numbers: true },
            None => Column { title: (*title).into(), numbers: false },
        };
        Table { columns: columns.iter().map(column).collect(), ..Table::default() }
    }

    /// One row more.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        let (cells_len, columns) = (cells.len(), self.columns.len());
        assert_eq!(cells_len, columns, "{cells_len} cells for {columns} columns");
        self.rows.push(cells);
    }
}

impl Cell {
    /// A cell that is meant in this way.
    pub fn new(text: impl Into<String>, mood: Mood) -> Self {
        Cell { text: text.into(), mood }
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Cell { text: text.into(), mood: Mood::Plain }
    }
}

impl Section {
    /// A section without blocks.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Section { id, title: title.into(), ..Section::default() }
    }

    /// What is to be seen in it.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Section { about: about.into(), ..self }
    }

    /// One block more.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}

impl Document {
    /// As JSON, with the numbers behind all figures; what is not finite is `null`.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Writes the page to `path` and the JSON beside it, under the same name; each is there whole, or as it was. Returns where the JSON is.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<PathBuf> {
        let beside = path.with_extension("json");
        write_atomically(&beside, self.json().as_bytes())?;
        write_atomically(path, html(self).as_bytes())?;
        Ok(beside)
    }
}
