//! A sweep on disk: every finished cell is an event of a [`Store`], written atomically. A sweep interrupted at any time can be resumed.
//!
//! | file | holds |
//! |---|---|
//! | `sweep.db` | the results of all finished cells, also of other grids that were run in the same folder |
//! | `sweep.lock` | the process that writes at present |
//! | `grid.json` | the grid that was run last, for observers |
//! | `timings.csv` | run times of the cells on this machine |
//! | `about.toml` | command, version, date, machine, processor time |
//! | `results.csv`, `results.json`, `episodes.csv` | all results, in the order of the grid |
//!
//! The database is authoritative; the other files are written from it at the end, for users and for [`Results::load`]. Its events are
//! `created` (the version of the program) and `cell` (the result of a cell as JSON, the same bytes on every machine; of several events for
//! one cell the last counts). The tables `cells` and `timings` are provided for SQL queries. Events contain no times, so that a sweep run
//! twice on one thread has equal checksum chains. On several threads cells may finish in another order; then the chains differ, and
//! `results.csv` does not.

mod old;
mod reading;
mod tables;

pub use reading::{Reading, ReadingError};
pub use tables::FORM;

use crate::cell::{Cell, CellResult};
use crate::files::{remove_leftovers, write_atomically};
use crate::grid::Grid;
use crate::results::Results;
use crate::store::{Access, Record, Store, StoreError};
use crate::threads::{self, Jobs, Timing, Update, Work};
use crate::tidy::Tidy;
use old::Old;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tables::{CELL, CREATED, Created, Event};

/// Results that end within this time after a transaction are stored together in the next one.
const TOGETHER: Duration = Duration::from_millis(50);

/// Reason why a sweep cannot continue. Finished cells are safe on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file system reported an error.
    #[error("cannot write '{}': {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// Error of the database: damaged, in use, or not writable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A finished cell was produced by another version of the program.
    #[error("a cell in '{}' was made by version {theirs}, this is {ours}: {cell}", path.display())]
    OtherVersion {
        /// Path of the database.
        path: PathBuf,
        /// Description of the cell.
        cell: String,
        /// Version that produced the cell.
        theirs: String,
        /// Version of this program.
        ours: &'static str,
    },
}

/// The results of a study with their origin.
pub struct Studied {
    /// Results of the cells.
    pub results: Results,
    /// Origin of the results (command, date, machine); `None` if it was not recorded.
    pub about: Option<About>,
    /// Run times of the cells, by cell id.
    pub timings: BTreeMap<String, Timing>,
}

/// Origin of the results of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Command line.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Date on which the last cell finished.
    pub date: String,
    /// Processor and number of cores.
    pub machine: String,
    /// Processor seconds of all cells together.
    pub cpu_seconds: f64,
}

impl About {
    /// Reads the file that [`Sweep::describe`] wrote into `folder`; `None` if there is none.
    pub fn load(folder: &Path) -> Option<Self> {
        toml::from_str(&fs::read_to_string(folder.join("about.toml")).ok()?).ok()
    }
}

/// A sweep with the results of its finished cells.
#[derive(Debug)]
pub struct Sweep {
    store: Store,
    grid: Grid,
    cells: Vec<Cell>,
    results: Vec<Option<CellResult>>,
    timings: BTreeMap<String, Timing>,
    /// Unreadable cell files from the format before the database; their cells will be run again.
    pub damaged: Vec<PathBuf>,
}

impl Sweep {
    /// Opens the sweep of `grid` in `folder`, which is created if it does not exist, and loads the finished cells.
    pub fn open(folder: &Path, grid: &Grid) -> Result<Self, SweepError> {
        let mut ended = HashMap::new();
        // Creation is tried first: it replaces an incomplete database left by a process that died.
        let mut store = match Store::create(folder, FORM) {
            Err(StoreError::Exists { .. }) => {
                Store::open(folder, FORM, Access::Write, |record| take(&record, &mut ended))?
            }
            made => made?,
        };
        remove_leftovers(folder);
        let damaged = if store.head().0 == 0 { begin(&mut store, &mut ended)? } else { Vec::new() };
        let timings = tables::timings(store.connection())
            .map_err(|error| StoreError::sqlite(FORM.name, store.file(), &error, store.head().0))?;
        let cells = grid.cells();
        let of = |cell: &Cell| ended.get(&cell.id()).filter(|result| result.cell == *cell).cloned();
        let results: Vec<Option<CellResult>> = cells.iter().map(of).collect();
        let ours = env!("CARGO_PKG_VERSION");
        if let Some(other) = results.iter().flatten().find(|result| result.version != ours) {
            let (path, cell) = (store.file().into(), other.cell.to_string());
            return Err(SweepError::OtherVersion { path, cell, theirs: other.version.clone(), ours });
        }
        Ok(Sweep { store, grid: grid.clone(), cells, results, timings, damaged })
    }

    /// All cells, in the order of the grid.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Result of the cell with this index, if it has finished.
    pub fn result(&self, index: usize) -> Option<&CellResult> {
        self.results[index].as_ref()
    }

    /// Run time of a finished cell on this machine, if known.
    pub fn timing(&self, index: usize) -> Option<Timing> {
        self.timings.get(&self.cells[index].id()).copied()
    }

    /// Indices of the cells that remain to be run, ordered by seed, so that an interrupted sweep covers all settings. With `again`, failed
    /// cells are included.
    pub fn todo(&self, again: bool) -> Vec<usize> {
        let open = |index: &usize| match &self.results[*index] {
            None => true,
            Some(result) => again && result.failure.is_some(),
        };
        let mut todo: Vec<usize> = (0..self.cells.len()).filter(open).collect();
        todo.sort_by_key(|&index| self.cells[index].seed);
        todo
    }

    /// Prepares the folder: writes the grid for observers and for external workers.
    pub fn begins(&self) -> Result<(), SweepError> {
        let folder = self.store.folder();
        let left = self.grid.leave_in(folder);
        left.map_err(|source| SweepError::File { path: folder.join("grid.json"), source })
    }

    /// Runs the cells with indices `todo` and stores the results as they arrive: results that follow each other within `TOGETHER` in
    /// one transaction, because every transaction waits for the disk. `watch` receives every update, results after they are stored.
    /// Returns whether all cells were run.
    pub fn run(
        &mut self,
        todo: &[usize],
        jobs: &Jobs,
        work: &Arc<dyn Work>,
        watch: &mut dyn FnMut(&Sweep, &Update),
    ) -> Result<bool, SweepError> {
        self.begins()?;
        let (cells, mut waiting, mut stored) = (self.cells.clone(), Vec::new(), None::<Instant>);
        let mut flush = |sweep: &mut Sweep, waiting: &mut Vec<Update>| {
            let ended = waiting.iter().filter_map(|update| match update {
                Update::Ended(index, result, timing) => Some((*index, &**result, *timing)),
                _ => None,
            });
            sweep.keep_all(&ended.collect::<Vec<_>>())?;
            waiting.drain(..).for_each(|update| watch(sweep, &update));
            Ok::<(), SweepError>(())
        };
        let all = threads::run(&cells, todo, jobs, work, &mut |update| {
            waiting.push(update);
            if stored.is_none_or(|stored| stored.elapsed() >= TOGETHER) {
                flush(self, &mut waiting)?;
                stored = Some(Instant::now());
            }
            Ok::<(), SweepError>(())
        })?;
        flush(self, &mut waiting)?;
        Ok(all)
    }

    /// Stores the result of the cell with this index; when this returns, it is on disk.
    pub fn keep(&mut self, index: usize, result: &CellResult, timing: Timing) -> Result<(), SweepError> {
        self.keep_all(&[(index, result, timing)])
    }

    /// Stores the results of several cells in one transaction.
    fn keep_all(&mut self, ended: &[(usize, &CellResult, Timing)]) -> Result<(), SweepError> {
        if ended.is_empty() {
            return Ok(());
        }
        let written: Vec<(String, CellResult)> =
            ended.iter().map(|(_, result, _)| result.written()).collect::<Result<_, _>>()?;
        let events: Vec<Event<'_>> = written.iter().map(|(text, result)| Event::Cell(text, result)).collect();
        let ids: Vec<String> = ended.iter().map(|(index, ..)| self.cells[*index].id()).collect();
        self.store.append(&events, |transaction, first| {
            for ((((_, result), id), (.., timing)), seq) in written.iter().zip(&ids).zip(ended).zip(first..) {
                tables::put_cell(transaction, seq, id, result)?;
                tables::put_timing(transaction, id, *timing)?;
            }
            Ok(())
        })?;
        for (((index, _, timing), id), (_, result)) in ended.iter().zip(ids).zip(written) {
            self.timings.insert(id, *timing);
            self.results[*index] = Some(result);
        }
        Ok(())
    }

    fn timing_table(&self) -> Tidy {
        Tidy::default()
            .text("cell", self.timings.keys().map(|id| Some(id.as_str())))
            .number("cpu_seconds", self.timings.values().map(|t| Some(t.cpu)))
            .number("wall_seconds", self.timings.values().map(|t| Some(t.wall)))
    }

    fn write(&self, name: &str, contents: &str) -> Result<(), SweepError> {
        let path = self.store.folder().join(name);
        write_atomically(&path, contents.as_bytes()).map_err(|source| SweepError::File { path, source })
    }

    /// Finished results, in the order of the grid.
    pub fn results(&self) -> Results {
        Results { cells: self.results.iter().flatten().cloned().collect() }
    }

    /// Writes the origin of the results to `about.toml`.
    pub fn describe(&self, command: &str, date: &str, machine: &str) -> Result<(), SweepError> {
        let times = self.cells.iter().filter_map(|cell| self.timings.get(&cell.id()));
        let about = About {
            command: command.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            date: date.into(),
            machine: machine.into(),
            cpu_seconds: times.map(|t| t.cpu).sum::<f64>().round(),
        };
        let text = toml::to_string(&about).map_err(|error| SweepError::File {
            path: self.store.folder().join("about.toml"),
            source: io::Error::other(error),
        })?;
        self.write("about.toml", &text)
    }

    /// Writes the summary files.
    pub fn save(&self) -> Result<Results, SweepError> {
        if !self.timings.is_empty() {
            self.write("timings.csv", &self.timing_table().csv())?;
        }
        let (results, folder) = (self.results(), self.store.folder());
        let saved = results.save(folder);
        saved.map_err(|source| SweepError::File { path: folder.join("results.csv"), source })?;
        Ok(results)
    }
}

/// Applies an event; of several events for one cell the last counts.
fn take(record: &Record, ended: &mut HashMap<String, CellResult>) -> Result<(), String> {
    match record.kind.as_str() {
        CREATED => serde_json::from_str::<Created>(&record.payload).map(|_| ()),
        CELL => serde_json::from_str::<CellResult>(&record.payload).map(|result| {
            ended.insert(result.cell.id(), result);
        }),
        other => return Err(format!("unknown kind of event '{other}'")),
    }
    .map_err(|error| error.to_string())
}

/// Writes the first events of a database: its version, and results from cell files of the earlier format. Returns the files that cannot be
/// read.
fn begin(store: &mut Store, ended: &mut HashMap<String, CellResult>) -> Result<Vec<PathBuf>, StoreError> {
    let (old, timings) = (Old::read(store.folder()), timings(store.folder()));
    let created = Created { version: env!("CARGO_PKG_VERSION").into() };
    let mut events = vec![Event::Created(created)];
    events.extend(old.cells.iter().map(|(text, result)| Event::Cell(text, result)));
    store.append(&events, |transaction, first| {
        for ((_, result), seq) in old.cells.iter().zip(first + 1..) {
            tables::put_cell(transaction, seq, &result.cell.id(), result)?;
        }
        timings.iter().try_for_each(|(id, timing)| tables::put_timing(transaction, id, *timing))
    })?;
    ended.extend(old.cells.into_iter().map(|(_, result)| (result.cell.id(), result)));
    Ok(old.damaged)
}

/// Run times of the cells of the sweep in `folder`, by cell id. Unreadable entries are skipped.
pub fn timings(folder: &Path) -> BTreeMap<String, Timing> {
    let Ok(mut reader) = csv::Reader::from_path(folder.join("timings.csv")) else { return BTreeMap::new() };
    let rows = reader.deserialize::<(String, f64, f64)>().filter_map(Result::ok);
    let known = rows.filter(|(_, cpu, wall)| cpu.is_finite() && wall.is_finite());
    known.map(|(id, cpu, wall)| (id, Timing { cpu, wall })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::EpisodeRow;
    use std::sync::atomic::AtomicBool;

    /// A worker that returns a given result immediately.
    struct Pretend<F>(F);

    impl<F: Fn(&Cell) -> CellResult + Send + Sync + 'static> Work for Pretend<F> {
        fn run(&self, cell: &Cell, _: &Arc<AtomicBool>, _: &mut dyn FnMut(&EpisodeRow)) -> CellResult {
            self.0(cell)
        }
    }

    fn grid(seeds: usize) -> Grid {
        Grid::parse(&format!("systems = \"pendulum\"\nseeds = {seeds}\n"), "").unwrap()
    }

    /// A result whose only episode has this cost.
    fn with_cost(cell: &Cell, cost: f64) -> CellResult {
        let row = serde_json::json!({
            "episode": 0, "cost": 0.0, "regret": 0.0, "measured": 3, "synchronized": 0,
            "information_gain": 0.1, "outcome": "completed",
        });
        let row: EpisodeRow = serde_json::from_value(row).unwrap();
        let episodes = vec![EpisodeRow { cost, ..row }];
        CellResult { failure: None, episodes, ..CellResult::failed(cell, "") }
    }

    fn good(cell: &Cell) -> CellResult {
        with_cost(cell, 0.1 + cell.seed as f64)
    }

    /// Runs the remaining cells one at a time.
    fn run(
        sweep: &mut Sweep,
        again: bool,
        work: impl Fn(&Cell) -> CellResult + Send + Sync + 'static,
    ) -> usize {
        let jobs = Jobs { count: 1, budget: None, cancel: Arc::default() };
        let todo = sweep.todo(again);
        let work: Arc<dyn Work> = Arc::new(Pretend(work));
        assert!(sweep.run(&todo, &jobs, &work, &mut |_, _| ()).unwrap());
        sweep.save().unwrap();
        todo.len()
    }

    /// All events and the last checksum.
    fn events(folder: &Path) -> (Vec<Record>, String) {
        let mut records = Vec::new();
        let store = Store::open(folder, FORM, Access::Read, |record| {
            records.push(record);
            Ok(())
        });
        let checksum = store.unwrap().head().1.to_owned();
        (records, checksum)
    }

    #[test]
    fn run_twice_on_one_thread_the_chains_are_equal_whatever_it_took() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let slow = |cell: &Cell| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            good(cell)
        };
        assert_eq!(run(&mut Sweep::open(&one, &grid(4)).unwrap(), false, good), 4);
        assert_eq!(run(&mut Sweep::open(&two, &grid(4)).unwrap(), false, slow), 4);
        assert_eq!(events(&one), events(&two));
        let csv = |folder: &Path| fs::read(folder.join("results.csv")).unwrap();
        assert_eq!(csv(&one), csv(&two));
        assert_eq!(timings(&two).len(), 4);
        assert!(timings(&two).values().all(|timing| timing.wall >= 0.02));
        // Another grid in the same folder reuses shared cells, and the results of the first grid are kept.
        assert_eq!(run(&mut Sweep::open(&one, &grid(6)).unwrap(), false, good), 2);
        let sweep = Sweep::open(&one, &grid(5)).unwrap();
        assert!(sweep.todo(true).is_empty());
        assert_eq!(sweep.results().cells.len(), 5);
        assert!((0..5).all(|index| sweep.timing(index).is_some()));
        let sql = "SELECT count(*) FROM cells JOIN timings USING (id) WHERE status = 'done'";
        let rows: i64 = sweep.store.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 6);
    }

    #[test]
    fn of_a_cell_that_is_run_again_the_later_result_counts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Sweep::open(folder.path(), &grid(3)).unwrap();
        let shaky = |cell: &Cell| match cell.seed {
            1 => CellResult::failed(cell, "it rained"),
            _ => good(cell),
        };
        run(&mut open(), false, shaky);
        assert!(open().todo(false).is_empty());
        assert_eq!(open().todo(true), [1]);
        assert_eq!(run(&mut open(), true, good), 1);
        let sweep = open();
        assert!(sweep.todo(true).is_empty());
        assert_eq!(sweep.result(1), Some(&good(&sweep.cells()[1])));
        assert_eq!(events(folder.path()).0.len(), 1 + 3 + 1);
        let sql = "SELECT status, failure, final_cost, seq FROM cells WHERE seed = 1";
        let row: (String, Option<String>, f64, i64) = sweep
            .store
            .connection()
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap();
        assert_eq!(row, ("done".into(), None, 1.1, 5));
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_failed_cell_and_not_a_database_nobody_can_open() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Sweep::open(folder.path(), &grid(2)).unwrap();
        run(&mut open(), false, |cell| with_cost(cell, if cell.seed == 0 { f64::NAN } else { 1.0 }));
        let failure = open().result(0).unwrap().failure.clone();
        assert_eq!(failure.as_deref(), Some("a number in its result is not finite"));
        assert_eq!(open().todo(true), [0]);
    }

    #[test]
    fn folders_with_a_file_a_cell_are_read_once_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("cells");
        fs::create_dir(&inside).unwrap();
        let cells = grid(5).cells();
        let mut texts = BTreeMap::new();
        for cell in &cells[1..] {
            let text = serde_json::to_string(&good(cell)).unwrap();
            fs::write(inside.join(cell.id() + ".json"), text.clone() + "\n").unwrap();
            texts.insert(cell.id(), text);
        }
        let broken = inside.join(cells[2].id() + ".json");
        fs::write(&broken, &texts.remove(&cells[2].id()).unwrap()[..40]).unwrap();
        let times = format!("cell,cpu_seconds,wall_seconds\n{},1.5,2.25\nodd,NaN,inf\n", cells[1].id());
        fs::write(folder.path().join("timings.csv"), times).unwrap();
        // A process died while creating the database.
        fs::write(folder.path().join("sweep.db"), "").unwrap();

        let sweep = Sweep::open(folder.path(), &grid(4)).unwrap();
        assert_eq!(sweep.todo(true), [0, 2]);
        assert_eq!(sweep.damaged, [broken]);
        assert_eq!(sweep.result(3), Some(&good(&cells[3])));
        assert_eq!(sweep.timing(1), Some(Timing { cpu: 1.5, wall: 2.25 }));
        drop(sweep);
        let (records, _) = events(folder.path());
        let mut expected: Vec<&str> = texts.values().map(String::as_str).collect();
        expected.insert(0, concat!("{\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}"));
        assert_eq!(records.iter().map(|record| record.payload.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 4);

        // From now on the database is authoritative, also for the cell of another grid.
        fs::remove_dir_all(&inside).unwrap();
        let mut sweep = Sweep::open(folder.path(), &grid(5)).unwrap();
        assert!(sweep.damaged.is_empty());
        assert_eq!(run(&mut sweep, false, good), 2);
        assert_eq!(sweep.results().cells, cells.iter().map(good).collect::<Vec<_>>());
    }

    #[test]
    fn results_of_another_version_are_not_mixed_in() {
        let folder = tempfile::tempdir().unwrap();
        let other = |cell: &Cell| CellResult { version: "0.0.1".into(), ..good(cell) };
        run(&mut Sweep::open(folder.path(), &grid(2)).unwrap(), false, other);
        let error = Sweep::open(folder.path(), &grid(1)).unwrap_err();
        assert!(matches!(&error, SweepError::OtherVersion { theirs, .. } if theirs == "0.0.1"), "{error}");
    }

    #[test]
    fn what_was_changed_is_refused_with_its_record() {
        let folder = tempfile::tempdir().unwrap();
        run(&mut Sweep::open(folder.path(), &grid(3)).unwrap(), false, good);
        let file = folder.path().join("sweep.db");
        let connection = rusqlite::Connection::open(&file).unwrap();
        let sql = "DROP TRIGGER events_are_never_changed;
                   UPDATE events SET payload = replace(payload, '1.1', '1.0') WHERE seq = 3";
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let before = fs::read(&file).unwrap();
        let error = Sweep::open(folder.path(), &grid(3)).unwrap_err();
        let SweepError::Store(StoreError::Damaged { what: "sweep", file: named, record, good: 2 }) = &error
        else {
            panic!("{error:?}")
        };
        assert_eq!(*named, file);
        assert!(record.starts_with("3: its checksum is "), "{record}");
        assert_eq!(fs::read(&file).unwrap(), before);
    }

    #[test]
    fn a_second_one_is_told_who_is_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let first = Sweep::open(folder.path(), &grid(1)).unwrap();
        let error = Sweep::open(folder.path(), &grid(1)).unwrap_err();
        let SweepError::Store(StoreError::InUse { holder: Some(holder), .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(holder.pid, std::process::id());
        drop(first);
        Sweep::open(folder.path(), &grid(1)).unwrap();
    }
}
