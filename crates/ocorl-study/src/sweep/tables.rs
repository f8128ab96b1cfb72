//! Schema of a sweep's database: its events and the derived tables.

use crate::cell::CellResult;
use crate::store::{Entry, Form, StoreError, encoded, encoded_column};
use crate::threads::Timing;
use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of a sweep's database.
pub const FORM: Form = Form { name: "sweep", version: 1, tables: TABLES, migrations: &[] };

/// Kind of the first event.
pub(super) const CREATED: &str = "created";
/// Kind of an event whose payload is the result of a cell; of several events for one cell the last counts.
pub(super) const CELL: &str = "cell";

/// An event of a sweep.
pub(super) enum Event<'a> {
    /// The first event.
    Created(Created),
    /// The result of a cell, with its text.
    Cell(&'a str, &'a CellResult),
}

impl Entry for Event<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Event::Created(_) => CREATED,
            Event::Cell(..) => CELL,
        }
    }

    fn payload(&self) -> Result<String, StoreError> {
        match self {
            Event::Created(created) => encoded("the beginning of the sweep", created),
            Event::Cell(text, _) => Ok((*text).to_owned()),
        }
    }

    fn is_read_from(&self, payload: &str) -> Result<bool, String> {
        match self {
            Event::Created(created) => serde_json::from_str::<Created>(payload).map(|read| read == *created),
            Event::Cell(_, result) => {
                serde_json::from_str::<CellResult>(payload).map(|read| read == **result)
            }
        }
        .map_err(|error| error.to_string())
    }
}

/// The first event.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Created {
    /// Version of the program.
    pub(super) version: String,
}

/// Run times are not part of a result and of no event; otherwise equal sweeps would have different checksum chains.
const TABLES: &str = "
CREATE TABLE cells (
    id         TEXT PRIMARY KEY,
    system     TEXT NOT NULL,
    settings   TEXT NOT NULL,
    changed    TEXT NOT NULL,
    seed       INTEGER NOT NULL,
    status     TEXT NOT NULL,
    failure    TEXT,
    final_cost REAL,
    version    TEXT NOT NULL,
    seq        INTEGER NOT NULL
) STRICT;
CREATE TABLE timings (
    id           TEXT PRIMARY KEY,
    cpu_seconds  REAL NOT NULL,
    wall_seconds REAL NOT NULL
) STRICT;
";

/// Updates the derived tables for the event `seq`, which records `result` for the cell `id`.
pub(super) fn put_cell(
    transaction: &Transaction<'_>,
    seq: u64,
    id: &str,
    result: &CellResult,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO cells
               (id, system, settings, changed, seed, status, failure, final_cost, version, seq)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let cell = &result.cell;
    transaction.prepare_cached(sql)?.execute(params![
        id,
        cell.system,
        cell.settings,
        encoded_column(&cell.set)?,
        cell.seed.cast_signed(),
        if result.failure.is_none() { "done" } else { "failed" },
        result.failure,
        result.final_cost(),
        result.version,
        seq.cast_signed()
    ])?;
    Ok(())
}

/// Stores the run time of the cell `id`.
pub(super) fn put_timing(transaction: &Transaction<'_>, id: &str, timing: Timing) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO timings (id, cpu_seconds, wall_seconds) VALUES (?1, ?2, ?3)";
    transaction.prepare_cached(sql)?.execute(params![id, timing.cpu, timing.wall])?;
    Ok(())
}

/// Run times of all cells.
pub(super) fn timings(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Timing>> {
    let mut statement = connection.prepare("SELECT id, cpu_seconds, wall_seconds FROM timings")?;
    let rows =
        statement.query_map([], |row| Ok((row.get(0)?, Timing { cpu: row.get(1)?, wall: row.get(2)? })))?;
    rows.collect()
}
