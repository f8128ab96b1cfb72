//! A sweep on disk: every finished cell is one file, there whole or not at all. Stopped at any moment, it goes on where it was.
//!
//! | file | holds |
//! |---|---|
//! | `cells/<system>-<seed>-<hash>.json` | the result of one cell: the same bytes wherever it ran |
//! | `timings.csv` | what each cell took here |
//! | `about.toml` | command, version, date, machine, processor time |
//! | `results.csv`, `results.json`, `episodes.csv` | all of it, in the order of the grid, written at the end |

use crate::cell::{Cell, CellResult};
use crate::files::{remove_leftovers, write_atomically};
use crate::grid::Grid;
use crate::results::Results;
use crate::threads::{self, Jobs, Timing, Update, Work};
use crate::tidy::Tidy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a sweep cannot go on. What is finished is safe on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file system refuses.
    #[error("cannot write '{}': {source}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Another program works in the same folder.
    #[error("the sweep in '{}' is in use by another program", folder.display())]
    InUse {
        /// Where.
        folder: PathBuf,
    },
    /// A finished cell is another version's.
    #[error("'{}' was made by version {theirs}, this is {ours}", path.display())]
    OtherVersion {
        /// The cell's file.
        path: PathBuf,
        /// Who made it.
        theirs: String,
        /// Who we are.
        ours: &'static str,
    },
}

/// Who made the results of a sweep, when and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// What was typed.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Day on which the last cell ended.
    pub date: String,
    /// Processor and number of cores.
    pub machine: String,
    /// Seconds of one processor for all cells together.
    pub cpu_seconds: f64,
}

impl About {
    /// Reads what [`Sweep::describe`] wrote into `folder`; none if nobody did.
    pub fn load(folder: &Path) -> Option<Self> {
        toml::from_str(&fs::read_to_string(folder.join("about.toml")).ok()?).ok()
    }
}

/// A sweep, and what of it is finished.
#[derive(Debug)]
pub struct Sweep {
    folder: PathBuf,
    cells: Vec<Cell>,
    results: Vec<Option<CellResult>>,
    timings: BTreeMap<String, Timing>,
    /// Files of cells that could not be read; their cells will be run again.
    pub damaged: Vec<PathBuf>,
    /// Held as long as the sweep is open; the system lets go of it when the program ends, however it ends.
    _lock: File,
}

impl Sweep {
    /// Opens the sweep of `grid` in `folder`, which is made if it is not there, and looks what is finished.
    pub fn open(folder: &Path, grid: &Grid) -> Result<Self, SweepError> {
        let inside = folder.join("cells");
        fs::create_dir_all(&inside).map_err(|source| SweepError::File { path: inside.clone(), source })?;
        let lock = lock(folder)?;
        remove_leftovers(folder);
        remove_leftovers(&inside);
        let cells = grid.cells();
        let (mut results, mut damaged) = (Vec::with_capacity(cells.len()), Vec::new());
        for cell in &cells {
            let path = inside.join(cell.id() + ".json");
            results.push(match finished(cell, &path) {
                Finished::Not => None,
                Finished::Yes(result) if result.version != env!("CARGO_PKG_VERSION") => {
                    let (theirs, ours) = (result.version, env!("CARGO_PKG_VERSION"));
                    return Err(SweepError::OtherVersion { path, theirs, ours });
                }
                Finished::Yes(result) => Some(*result),
                Finished::Damaged => {
                    damaged.push(path);
                    None
                }
            });
        }
        let timings = timings(folder);
        Ok(Sweep { folder: folder.into(), cells, results, timings, damaged, _lock: lock })
    }

    /// All cells, in the order of the grid.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// What became of the cell at a place, if it has ended.
    pub fn result(&self, index: usize) -> Option<&CellResult> {
        self.results[index].as_ref()
    }

    /// What each finished cell took on this machine, where that is known.
    pub fn timing(&self, index: usize) -> Option<Timing> {
        self.timings.get(&self.cells[index].id()).copied()
    }

    /// Places of the cells that are still to be run, first seeds first, so that an early stop leaves a little of everything. With `again` also
    /// those that failed.
    pub fn todo(&self, again: bool) -> Vec<usize> {
        let open = |index: &usize| match &self.results[*index] {
            None => true,
            Some(result) => again && result.failure.is_some(),
        };
        let mut todo: Vec<usize> = (0..self.cells.len()).filter(open).collect();
        todo.sort_by_key(|&index| self.cells[index].seed);
        todo
    }

    /// Runs the cells at the places `todo` and keeps each as it ends; `watch` sees everything after it is safe. Returns whether all were run.
    pub fn run(
        &mut self,
        todo: &[usize],
        jobs: &Jobs,
        work: &Arc<dyn Work>,
        watch: &mut dyn FnMut(&Sweep, &Update),
    ) -> Result<bool, SweepError> {
        let cells = self.cells.clone();
        threads::run(&cells, todo, jobs, work, &mut |update| {
            if let Update::Ended(index, result, timing) = &update {
                self.keep(*index, result, *timing)?;
            }
            watch(self, &update);
            Ok(())
        })
    }

    /// Keeps the result of a cell. The time first: a cell that has a result has been counted.
    fn keep(&mut self, index: usize, result: &CellResult, timing: Timing) -> Result<(), SweepError> {
        let id = self.cells[index].id();
        self.timings.insert(id.clone(), timing);
        self.write("timings.csv", &self.timing_table().csv())?;
        let text = serde_json::to_string(result).unwrap_or_default() + "\n";
        self.write(&format!("cells/{id}.json"), &text)?;
        self.results[index] = Some(result.clone());
        Ok(())
    }

    fn timing_table(&self) -> Tidy {
        Tidy::default()
            .text("cell", self.timings.keys().map(|id| Some(id.as_str())))
            .number("cpu_seconds", self.timings.values().map(|t| Some(t.cpu)))
            .number("wall_seconds", self.timings.values().map(|t| Some(t.wall)))
    }

    fn write(&self, name: &str, contents: &str) -> Result<(), SweepError> {
        let path = self.folder.join(name);
        write_atomically(&path, contents.as_bytes()).map_err(|source| SweepError::File { path, source })
    }

    /// What is finished, in the order of the grid.
    pub fn results(&self) -> Results {
        Results { cells: self.results.iter().flatten().cloned().collect() }
    }

    /// Writes down where the results come from: `about.toml`.
    pub fn describe(&self, command: &str, date: &str, machine: &str) -> Result<(), SweepError> {
        let times = self.cells.iter().filter_map(|cell| self.timings.get(&cell.id()));
        let about = About {
            command: command.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            date: date.into(),
            machine: machine.into(),
            cpu_seconds: times.map(|t| t.cpu).sum::<f64>().round(),
        };
        self.write("about.toml", &toml::to_string(&about).unwrap_or_default())
    }

    /// Writes the files that sum up.
    pub fn save(&self) -> Result<Results, SweepError> {
        let results = self.results();
        let saved = results.save(&self.folder);
        saved.map_err(|source| SweepError::File { path: self.folder.join("results.csv"), source })?;
        Ok(results)
    }
}

/// What a cell's file says.
enum Finished {
    Not,
    Yes(Box<CellResult>),
    Damaged,
}

fn finished(cell: &Cell, path: &Path) -> Finished {
    let Ok(text) = fs::read_to_string(path) else { return Finished::Not };
    match serde_json::from_str::<CellResult>(&text) {
        Ok(result) if result.cell == *cell => Finished::Yes(Box::new(result)),
        _ => Finished::Damaged,
    }
}

/// What each cell of the sweep in `folder` took, by its id. Times that cannot be read are not known.
pub fn timings(folder: &Path) -> BTreeMap<String, Timing> {
    let Ok(mut reader) = csv::Reader::from_path(folder.join("timings.csv")) else { return BTreeMap::new() };
    let rows = reader.deserialize::<(String, f64, f64)>();
    rows.filter_map(Result::ok).map(|(id, cpu, wall)| (id, Timing { cpu, wall })).collect()
}

/// Nobody else works here.
fn lock(folder: &Path) -> Result<File, SweepError> {
    let path = folder.join(".lock");
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|source| SweepError::File { path: path.clone(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SweepError::InUse { folder: folder.into() }),
        Err(TryLockError::Error(source)) => Err(SweepError::File { path, source }),
    }
}
