//! Files of measurements: CSV as every laboratory has it, or JSON. Read whole or refused, every number with its place.
//!
//! Columns: `t`, the names of the states, the names of the controls, and optionally the derivatives (`<state>_dot`, all or none), `start`
//! (number of the initial state), `episode`, `asked_t` and `used` (0: the row is skipped). A row with a control and blank states says what was
//! applied from then on; whoever learns from states alone wants many of them.

mod csv;
mod json;

use crate::mistake::Mistake;
use crate::study::{Applied, End, Row};
use std::path::Path;

/// What the names in a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Of the states, in order.
    pub states: Vec<String>,
    /// Of the controls, in order.
    pub controls: Vec<String>,
}

impl Columns {
    /// Of a task.
    pub fn of(task: &ocorl::system::Task) -> Self {
        let names = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.name.clone()).collect();
        Columns { states: names(&task.states), controls: names(&task.controls) }
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its measurements, in the order of the file.
    pub rows: Vec<Row>,
    /// Controls along the way.
    pub controls: Vec<Applied>,
    /// What it says of the ends of the runs.
    pub ends: Vec<End>,
    /// The episode it says it belongs to.
    pub episode: Option<usize>,
    /// What was unusual about it.
    pub notes: Vec<String>,
}

/// More than this is no file of measurements.
const LARGEST: u64 = 1 << 30;

impl Measured {
    /// Reads a file; what ends in `.json` is JSON, everything else CSV.
    pub fn load(path: &Path, columns: &Columns) -> Result<Self, Mistake> {
        let name = path.display().to_string();
        let unreadable = |cause: String| {
            Mistake::new(format!("cannot read '{name}'"))
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

    /// Reads a text that is called `name`.
    pub fn parse(text: &str, name: &str, columns: &Columns) -> Result<Self, Mistake> {
        let json = Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
            || text.trim_start().starts_with('{');
        let read = if json { json::read(text, name, columns) } else { csv::read(text, name, columns) };
        read.map_err(|mistake| mistake.detail("note", "nothing was stored"))
    }

    /// As CSV, numbers in their shortest exact form.
    pub fn csv(&self, columns: &Columns) -> String {
        csv::write(self, columns)
    }
}

/// A number that must be finite.
fn finite(value: f64, what: &str) -> Result<f64, String> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(format!("'{what}' is {value}; every number must be finite"))
    }
}
