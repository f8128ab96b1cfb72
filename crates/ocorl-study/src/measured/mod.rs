//! Measurement files in CSV or JSON. A file is read completely or rejected with the position of the error.
//!
//! Columns: `t`, the names of the states, the names of the controls, and optionally the derivatives (`<state>_dot`, all or none), `start`
//! (index of the initial state), `episode`, `asked_t` and `used` (0: the row is skipped). A row with a control and blank states gives the
//! control that was applied from that time on; a model that learns from states alone needs many of them.

mod csv;
mod json;

use crate::study::{Applied, End, Row};
use crate::user_error::UserError;
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
}

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
const LARGEST: u64 = 1 << 30;

impl Measured {
    /// Reads a file: JSON if its name ends in `.json`, CSV otherwise.
    pub fn load(path: &Path, columns: &Columns) -> Result<Self, UserError> {
        let name = path.display().to_string();
        let unreadable = |cause: String| {
            UserError::new(format!("cannot read '{name}'"))
                .detail("cause", cause)
                .detail("note", "nothing was stored")
        };
        let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if size > LARGEST {
            return Err(unreadable(format!("it has {size} bytes; more than {LARGEST} are not read")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
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
