//! Measurement files in CSV or JSON. A file is read completely or rejected with the position of the error.
//!
//! Columns: `t`, the names of the states, the names of the controls, and optionally the derivatives (`<state>_dot`, all or none), `start`
//! (index of the initial state), `episode`, `asked_t` and `used` (0: the row is skipped). A row with a control and blank states gives the
//! control that was applied from that time on; a model that learns from states alone needs many of them. A state that the rig does not
//! measure has an empty cell.

mod csv;
mod json;
pub mod recording;
mod spline;

use crate::files::read_text;
use crate::study::{Applied, End, Row};
use crate::user_error::UserError;
use std::collections::HashMap;
use std::path::Path;

/// Names of the quantities in a measurement file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Names of the states, in order.
    pub states: Vec<String>,
    /// Names of the controls, in order.
    pub controls: Vec<String>,
}

impl Columns {
    /// The names of a task's states and controls.
    pub fn of(task: &ocorl::system::Task) -> Self {
        let names = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.name.clone()).collect();
        Columns { states: names(&task.states), controls: names(&task.controls) }
    }

    /// A state or control whose column would be called like another column; `None` if all columns differ.
    pub fn clash(&self) -> Option<Clash> {
        let mut taken: HashMap<String, String> =
            OWN.iter().map(|(name, means)| ((*name).to_owned(), (*means).to_owned())).collect();
        let named = self
            .states
            .iter()
            .map(|name| (name, "state"))
            .chain(self.controls.iter().map(|name| (name, "control")));
        let plain = named.map(|(name, what)| (name, name.clone(), format!("the {what} '{name}'")));
        let dots = self
            .states
            .iter()
            .map(|name| (name, format!("{name}_dot"), format!("the derivative of '{name}'")));
        for (name, column, means) in plain.chain(dots) {
            if let Some(other) = taken.insert(column.clone(), means.clone()) {
                return Some(Clash { name: name.clone(), column, means, other });
            }
        }
        None
    }
}

/// Two quantities that would have the same column in a file of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Name of the state or control.
    pub name: String,
    /// Name of the column.
    pub column: String,
    /// What the column would hold.
    pub means: String,
    /// What else it would hold.
    pub other: String,
}

impl Clash {
    /// The clash as an error.
    pub fn error(&self) -> UserError {
        let Clash { column, means, other, .. } = self;
        UserError::new(format!(
            "two columns of measurements would be called '{column}': {means}, and {other}"
        ))
        .hint("give the state or control another name")
    }
}

/// Columns with a reserved meaning, and that meaning.
const OWN: [(&str, &str); 6] = [
    ("t", "the time"),
    ("start", "the index of the initial state"),
    ("episode", "the number of the episode"),
    ("asked_t", "the requested time"),
    ("used", "whether a row counts"),
    ("interval", "the duration of a transition"),
];

/// Contents of a measurement file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Measurements, in the order of the file.
    pub rows: Vec<Row>,
    /// Controls applied during the run.
    pub controls: Vec<Applied>,
    /// Reported ends of the rollouts.
    pub ends: Vec<End>,
    /// The episode that the file states it belongs to.
    pub episode: Option<usize>,
    /// Warnings about unusual contents.
    pub notes: Vec<String>,
}

/// Maximum size of a measurement file in bytes.
const LARGEST: u64 = 1 << 28;

impl Measured {
    /// Reads a file: JSON if its name ends in `.json`, CSV otherwise.
    pub fn load(path: &Path, columns: &Columns) -> Result<Self, UserError> {
        let name = path.display().to_string();
        let unreadable = |cause: String| {
            UserError::new(format!("cannot read '{name}'"))
                .detail("cause", cause)
                .detail("note", "nothing was stored")
        };
        let text = read_text(path, LARGEST).map_err(unreadable)?;
        Measured::parse(&text, &name, columns)
    }

    /// Parses the text of a file called `name`.
    pub fn parse(text: &str, name: &str, columns: &Columns) -> Result<Self, UserError> {
        let json = Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
            || text.trim_start().starts_with('{');
        let read = if json { json::read(text, name, columns) } else { csv::read(text, name, columns) };
        read.map_err(|error| error.detail("note", "nothing was stored"))
    }

    /// The measurements as CSV; numbers are written in their shortest exact form.
    pub fn csv(&self, columns: &Columns) -> String {
        csv::write(self, columns)
    }
}

/// Checks that a number is finite.
fn finite(value: f64, what: &str) -> Result<f64, String> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(format!("'{what}' is {value}; every number must be finite"))
    }
}
