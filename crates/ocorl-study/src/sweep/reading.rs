//! A sweep as somebody sees it who only looks: while it runs, after it was stopped, or of which only the files that sum up are there.

use super::{About, FORM, SweepError, tables, take, timings};
use crate::cell::{Cell, CellResult};
use crate::grid::Grid;
use crate::mistake::Mistake;
use crate::report::Studied;
use crate::results::Results;
use crate::store::{Access, Store, StoreError};
use crate::threads::Timing;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// All cells of a sweep, and what became of them so far.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What the grid is called; may be empty.
    pub title: String,
    /// In the order of the grid; without one, in the order in which they ended.
    pub cells: Vec<(Cell, Option<CellResult>)>,
    /// What the cells took, by their ids.
    pub timings: BTreeMap<String, Timing>,
    /// Who made them, if somebody wrote it down.
    pub about: Option<About>,
    /// Whether somebody is at work there.
    pub running: bool,
    /// Number of the last event; 0 without a database.
    pub head: u64,
}

/// Why a sweep cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadingError {
    /// Its database.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// Its files, or that there are none.
    #[error(transparent)]
    Files(#[from] Mistake),
}

impl Reading {
    /// Whether there is something to read in `folder`.
    pub fn is_in(folder: &Path) -> bool {
        ["sweep.db", "results.csv", "results.json"].iter().any(|name| folder.join(name).is_file())
    }

    /// Looks at the sweep in `folder` and changes nothing: at its database if there is one, else at the files that sum up.
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

    /// What has ended.
    pub fn studied(&self) -> Studied {
        let cells = self.cells.iter().filter_map(|(_, result)| result.clone()).collect();
        let (about, timings) = (self.about.clone(), self.timings.clone());
        Studied { results: Results { cells }, about, timings }
    }
}

/// The results in the order of the grid, with gaps for what is still to come. Of a cell that was run again the later result counts.
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
            // Of another grid that was run in the same folder.
            None if grid.is_some() => {}
            None => {
                places.insert(result.cell.id(), cells.len());
                cells.push((result.cell.clone(), Some(result)));
            }
        }
    }
    (title, cells)
}
