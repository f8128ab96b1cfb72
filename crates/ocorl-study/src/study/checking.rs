//! Consistency checks of a study: derived tables against events, measurements against the model; recovery of a damaged study.

use super::event::{Event, Row};
use super::{FORM, Study, StudyError, tables};
use crate::store::{Store, salvage};
use crate::user_error::UserError;
use ocorl::learn::Time;
use ocorl::linalg::Points;
use ocorl::model::{Posterior, Query};
use rusqlite::Connection;
use std::path::Path;

/// Count of measurements far from the prediction of the model that planned them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strange {
    /// Number of measurements more than six standard deviations away.
    pub far: usize,
    /// Number of measurements checked.
    pub of: usize,
}

impl Strange {
    /// A warning, if too many measurements are far away.
    pub fn warning(&self) -> Option<String> {
        let (far, of) = (self.far, self.of);
        let text = || format!("{far} of {of} points have a residual above 6 σ; are the units right?");
        (far > 0).then(text)
    }
}

/// Residual in standard deviations above which a measurement counts as far.
pub const FAR: f64 = 6.0;

/// Derived tables, and the query that lists each.
const DERIVED: [(&str, &str); 2] = [
    ("episodes", "SELECT * FROM episodes ORDER BY episode"),
    ("measurements", "SELECT * FROM measurements ORDER BY seq, number"),
];

impl Study {
    /// Compares the measurements of an episode with the model it was planned with; `None` if there was no model, or the plan does not carry
    /// it.
    pub fn strange(&self, episode: usize) -> Result<Option<Strange>, StudyError> {
        let Some(known) = self.history().episodes.get(episode) else { return Ok(None) };
        let residuals = self.residuals(episode, &known.rows)?;
        Ok(residuals.map(|residuals| {
            let checked = || residuals.iter().flatten();
            Strange { far: checked().filter(|residual| **residual > FAR).count(), of: checked().count() }
        }))
    }

    /// Largest distance of each measurement from the prediction of the model that planned the episode, over the states, in standard
    /// deviations of model and noise; `None` for a measurement without derivative. `None` altogether if there was no model, or the plan
    /// does not carry it.
    pub fn residuals(&self, episode: usize, rows: &[Row]) -> Result<Option<Vec<Option<f64>>>, StudyError> {
        let Some(known) = self.history().episodes.get(episode) else { return Ok(None) };
        let Some(learning) = known.plan.learner.as_ref().filter(|l| l.memory.model.is_some()) else {
            return Ok(None);
        };
        if learning.settings.time != Time::Continuous {
            return Ok(None);
        }
        let learner = super::learner_of(self.system(), learning)?;
        let (model, noise) = (learner.model(), &self.system().task.noise_std);
        let (beta, mut posterior) = (model.confidence_scale(), Posterior::default());
        let mut residual = |row: &Row| {
            let x_dot = row.x_dot.as_ref()?;
            let point = [row.x.as_slice(), &row.u].concat();
            model.posterior(Points::single(&point), Query::MeanStd, &mut posterior);
            let (mean, std) = (posterior.mean.value.at(0), posterior.std.value.at(0));
            let each = (0..x_dot.len())
                .map(|j| (x_dot[j] - mean[j]).abs() / (beta[j].max(1.0) * std[j]).hypot(noise[j]));
            each.reduce(f64::max)
        };
        Ok(Some(rows.iter().map(&mut residual).collect()))
    }

    /// Names of derived tables whose contents disagree with the events. Events and tables are read in one transaction.
    pub fn stale_tables(&self) -> Result<Vec<&'static str>, StudyError> {
        Ok(self.store().snapshot(|connection| {
            let other = Connection::open_in_memory()?;
            other.execute_batch(FORM.tables)?;
            let transaction = other.unchecked_transaction()?;
            let events = written(connection)?;
            events.iter().try_for_each(|(seq, event)| tables::follow(&transaction, *seq, event))?;
            transaction.commit()?;
            let mut stale = Vec::new();
            for (name, sql) in DERIVED {
                if listed(connection, sql)? != listed(&other, sql)? {
                    stale.push(name);
                }
            }
            Ok(stale)
        })?)
    }

    /// Rebuilds the derived tables from the events.
    pub fn rebuild(&mut self) -> Result<(), StudyError> {
        self.store.rebuild(|transaction| {
            let events = written(transaction)?;
            for (name, _) in DERIVED {
                transaction.execute(&format!("DELETE FROM {name}"), [])?;
            }
            events.iter().try_for_each(|(seq, event)| tables::follow(transaction, *seq, event))
        })?;
        Ok(())
    }

    /// Copies every valid record of the study in `folder` to a new study in `out`; `folder` is not modified. Returns the number of records.
    pub fn salvage(folder: &Path, out: &Path) -> Result<u64, StudyError> {
        let mut events = Vec::new();
        for record in salvage(folder, FORM)? {
            // Records after the first unreadable one are not trusted.
            let Ok(event) = Event::read(&record.kind, &record.payload) else { break };
            events.push(event);
        }
        if events.is_empty() {
            return Err(UserError::new(format!(
                "no record of the study in '{}' is intact",
                folder.display()
            ))
            .detail("note", "nothing was saved")
            .hint("restore a copy of the folder; the measurement files can be recorded in a new study")
            .into());
        }
        let mut store = Store::create(out, FORM)?;
        for (i, event) in events.iter().enumerate() {
            let view = match event {
                Event::Created(created) if i == 0 => tables::named_view(
                    &crate::system::System::restore(&created.system, created.file.as_deref())?.task,
                ),
                _ => String::new(),
            };
            store.append(std::slice::from_ref(event), |transaction, seq| {
                transaction.execute_batch(&view)?;
                tables::follow(transaction, seq, event)
            })?;
        }
        Ok(store.head().0)
    }
}

/// All events with their sequence numbers, read from disk.
fn written(connection: &Connection) -> rusqlite::Result<Vec<(u64, Event)>> {
    let mut statement = connection.prepare("SELECT seq, kind, payload FROM events ORDER BY seq")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut events = Vec::new();
    for row in rows {
        let (seq, kind, payload) = row?;
        // All events were readable when the study was opened.
        if let Ok(event) = Event::read(&kind, &payload) {
            events.push((seq.cast_unsigned(), event));
        }
    }
    Ok(events)
}

/// All rows of a query as text.
fn listed(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let cells: rusqlite::Result<Vec<_>> =
            (0..columns).map(|i| row.get::<_, rusqlite::types::Value>(i)).collect();
        Ok(format!("{:?}", cells?))
    })?;
    rows.collect()
}
