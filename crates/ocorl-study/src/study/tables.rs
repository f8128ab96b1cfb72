//! Derived tables of a study's database, for SQL queries and for figures.

use super::event::{Event, Row, Selected, Status};
use crate::store::{Form, encoded_column};
use ocorl::system::Task;
use rusqlite::{Transaction, params};
use std::fmt::Write;

/// Schema of a study's database.
pub const FORM: Form = Form { name: "study", version: 2, tables: TABLES, migrations: &[WEIGHTS] };

/// From version 1 to 2: measurements have a weight.
const WEIGHTS: &str = "ALTER TABLE measurements ADD COLUMN weight REAL NOT NULL DEFAULT 1";

const TABLES: &str = "
CREATE TABLE episodes (
    episode      INTEGER PRIMARY KEY,
    status       TEXT NOT NULL,
    planned_cost REAL,
    mean_cost    REAL,
    cost         REAL,
    cost_from    TEXT,
    outcome      TEXT,
    asked        INTEGER NOT NULL,
    measured     INTEGER NOT NULL,
    reason       TEXT,
    proposed_seq INTEGER NOT NULL,
    closed_seq   INTEGER
) STRICT;
CREATE TABLE measurements (
    episode  INTEGER,
    start    INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    t        REAL NOT NULL,
    asked_t  REAL,
    x        TEXT NOT NULL,
    u        TEXT NOT NULL,
    x_dot    TEXT,
    duration REAL,
    used     INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    weight   REAL NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX measurements_by_episode ON measurements (episode, start, t);
";

/// A view of the measurements with the names of the states and controls as columns.
pub(super) fn named_view(task: &Task) -> String {
    let mut columns = String::from("episode, start, t");
    let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for (vector, quantities, suffix) in
        [("x", &task.states, ""), ("u", &task.controls, ""), ("x_dot", &task.states, "_dot")]
    {
        for (i, quantity) in quantities.iter().enumerate() {
            let name = quote(&format!("{}{suffix}", quantity.name));
            let _ = write!(columns, ",\n    json_extract({vector}, '$[{i}]') AS {name}");
        }
    }
    format!("CREATE VIEW data AS SELECT {columns},\n    asked_t, used, weight\nFROM measurements;")
}

/// Updates the derived tables for the event with number `seq`.
pub(super) fn follow(transaction: &Transaction<'_>, seq: u64, event: &Event) -> rusqlite::Result<()> {
    let seq = seq.cast_signed();
    match event {
        Event::Proposed(proposed) => {
            let (planned, mean) = (proposed.plan.planned_cost(), proposed.plan.mean_cost());
            let asked = proposed.plan.asked();
            let sql = "INSERT INTO episodes (episode, status, planned_cost, mean_cost, asked, measured, proposed_seq)
                       VALUES (?1, 'pending', ?2, ?3, ?4, 0, ?5)";
            transaction.prepare_cached(sql)?.execute(params![
                count(proposed.episode),
                planned,
                mean,
                count(asked),
                seq
            ])?;
        }
        Event::Told(told) => rows(transaction, Some(told.episode), &told.rows, seq)?,
        Event::Corrected(told) => {
            let sql = "DELETE FROM measurements WHERE episode = ?1";
            transaction.prepare_cached(sql)?.execute([count(told.episode)])?;
            rows(transaction, Some(told.episode), &told.rows, seq)?;
        }
        Event::Imported(imported) => rows(transaction, None, &imported.rows, seq)?,
        Event::Failed(marked) | Event::Discarded(marked) => {
            let sql = "UPDATE episodes SET reason = ?2 WHERE episode = ?1";
            transaction.prepare_cached(sql)?.execute(params![count(marked.episode), marked.reason])?;
        }
        Event::Closed(closed) => {
            let sql =
                "UPDATE episodes SET status = ?2, cost = ?3, cost_from = ?4, outcome = ?5, measured = ?6,
                       closed_seq = ?7 WHERE episode = ?1";
            transaction.prepare_cached(sql)?.execute(params![
                count(closed.episode),
                closed.status.name(),
                closed.cost,
                closed.cost_from.name(),
                closed.outcome,
                count(closed.measured),
                seq
            ])?;
            let sql = "UPDATE measurements SET used = ?2 WHERE episode = ?1";
            let used = closed.status != Status::Discarded;
            transaction.prepare_cached(sql)?.execute(params![count(closed.episode), used])?;
        }
        Event::Excluded(selected) => used(transaction, selected, false)?,
        Event::Included(selected) => used(transaction, selected, true)?,
        Event::Diagnosed(diagnosis) => {
            transaction.prepare_cached("UPDATE measurements SET weight = 1 WHERE weight <> 1")?.execute([])?;
            let sql = "UPDATE measurements SET weight = ?4 WHERE episode = ?1 AND start = ?2 AND t = ?3";
            let mut statement = transaction.prepare_cached(sql)?;
            for v in diagnosis.set_aside.iter().chain(&diagnosis.reduced) {
                statement.execute(params![count(v.episode), count(v.start), v.time, v.weight])?;
            }
        }
        Event::Created(_) | Event::Note(_) => {}
    }
    Ok(())
}

/// Sets whether rows of an episode are used.
fn used(transaction: &Transaction<'_>, selected: &Selected, used: bool) -> rusqlite::Result<()> {
    let sql = "UPDATE measurements SET used = ?4 WHERE episode = ?1 AND start = ?2 AND t = ?3";
    let mut statement = transaction.prepare_cached(sql)?;
    for &(start, t) in &selected.rows {
        statement.execute(params![count(selected.episode), count(start), t, used])?;
    }
    Ok(())
}

fn rows(
    transaction: &Transaction<'_>,
    episode: Option<usize>,
    rows: &[Row],
    seq: i64,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO measurements (episode, start, number, t, asked_t, x, u, x_dot, duration, used, seq)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10)";
    let mut statement = transaction.prepare_cached(sql)?;
    for (number, row) in rows.iter().enumerate() {
        statement.execute(params![
            episode.map(count),
            count(row.start),
            count(number),
            row.t,
            row.asked_t,
            encoded_column(&row.x)?,
            encoded_column(&row.u)?,
            row.x_dot.as_ref().map(encoded_column).transpose()?,
            row.interval,
            seq
        ])?;
    }
    Ok(())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
