//! Read-only view of a sweep: while it runs, after it was interrupted, or from its summary files alone.

use super::{About, FORM, Studied, SweepError, tables, take, timings};
use crate::cell::{Cell, CellResult};
use crate::grid::Grid;
use crate::results::Results;
use crate::store::{Access, Store, StoreError};
use crate::threads::Timing;
use crate::user_error::UserError;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// All cells of a sweep and their results so far.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Title of the grid; may be empty.
    pub title: String,
    /// Cells in the order of the grid; without a grid, in the order in which they finished.
    pub cells: Vec<(Cell, Option<CellResult>)>,
    /// Run times of the cells, by cell id.
    pub timings: BTreeMap<String, Timing>,
    /// Origin of the results, if recorded.
    pub about: Option<About>,
    /// Whether a process is writing to the sweep.
    pub running: bool,
    /// Number of the last event; 0 without a database.
    pub head: u64,
}

/// Reason why a sweep cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadingError {
    /// Error of its database.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// Error of its summary files, or there are none.
    #[error(transparent)]
    Files(#[from] UserError),
}

impl Reading {
    /// Whether `folder` contains a sweep.
    pub fn is_in(folder: &Path) -> bool {
        ["sweep.db", "results.csv", "results.json"].iter().any(|name| folder.join(name).is_file())
    }

    /// Opens the sweep in `folder` read-only: from its database if there is one, else from the summary files.
    pub fn open(folder: &Path) -> Result<Self, ReadingError> {
        let mut ended = Vec::new();
        let opened = Store::open(folder, FORM, Access::Read, |record| {
            let mut one = HashMap::new();
            take(&record, &mut one)?;
            ended.extend(one.into_values());
            Ok(())
        });
        let (timings, head) = match opened {
            Ok(store) => {
                let timings = tables::timings(store.connection()).map_err(|error| {
                    SweepError::from(StoreError::sqlite(FORM.name, store.file(), &error, store.head().0))
                })?;
                (timings, store.head().0)
            }
            Err(StoreError::Missing { .. }) if Reading::is_in(folder) => {
                if folder.join("results.csv").is_file() || Grid::left_in(folder).is_none() {
                    ended = Results::load(folder)?.cells;
                }
                (timings(folder), 0)
            }
            Err(error) => return Err(SweepError::from(error).into()),
        };
        let (title, cells) = arranged(Grid::left_in(folder).as_ref(), ended);
        let running = Store::writer(folder, FORM).is_some();
        Ok(Reading { title, cells, timings, about: About::load(folder), running, head })
    }

    /// The finished cells as a study for reports.
    pub fn studied(&self) -> Studied {
        let cells = self.cells.iter().filter_map(|(_, result)| result.clone()).collect();
        let (about, timings) = (self.about.clone(), self.timings.clone());
        Studied { results: Results { cells }, about, timings }
    }
}

/// Results in the order of the grid, with `None` for cells that have not finished. Of several results for one cell the last counts.
fn arranged(grid: Option<&Grid>, ended: Vec<CellResult>) -> (String, Vec<(Cell, Option<CellResult>)>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut cells: Vec<(Cell, Option<CellResult>)> = Vec::new();
    let title = grid.map(|grid| grid.title.clone()).unwrap_or_default();
    for cell in grid.iter().flat_map(|grid| grid.cells()) {
        places.insert(cell.id(), cells.len());
        cells.push((cell, None));
    }
    for result in ended {
        match places.get(&result.cell.id()) {
            Some(&place) => cells[place].1 = Some(result),
            // The cell belongs to another grid that was run in the same folder.
            None if grid.is_some() => {}
            None => {
                places.insert(result.cell.id(), cells.len());
                cells.push((result.cell.clone(), Some(result)));
            }
        }
    }
    (title, cells)
}
