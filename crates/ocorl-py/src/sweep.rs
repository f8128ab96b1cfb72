//! The Python classes `Grid` and `Sweep` and the function `run_cell`: cells as JSON, results as the bytes that a sweep stores.

use crate::errors::{Answer, Failure, Trouble, guard, internal};
use crate::values::maybe_whole;
use crate::work::{self, How, lock};
use ocorl_study::cell::{Cell, CellResult, CellRunner};
use ocorl_study::clock::today;
use ocorl_study::grid::Grid as Cells;
use ocorl_study::studies::{self as shipped, STUDIES};
use ocorl_study::sweep::Sweep as Kept;
use ocorl_study::threads::{self, Jobs, Timing, Update, Work};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Maximum number of concurrent cells; memory grows with them.
const MOST_JOBS: usize = 256;

/// The cell runner of this process, which caches the reference costs of each system.
fn cell_runner() -> Arc<dyn Work> {
    static SHARED: OnceLock<Arc<CellRunner>> = OnceLock::new();
    SHARED.get_or_init(Arc::default).clone()
}

fn parsed<T: DeserializeOwned>(text: &str, what: &str) -> Answer<T> {
    let wrong = |error: serde_json::Error| {
        Failure::invalid(format!("this is not {what}")).detail("cause", error.to_string())
    };
    Ok(serde_json::from_str(text).map_err(wrong)?)
}

fn budget(seconds: Option<f64>) -> Answer<Option<Duration>> {
    let wrong =
        |s: f64| Failure::invalid(format!("'budget' is {s}; it must be a positive number of seconds"));
    let each = seconds.map(|s| {
        Duration::try_from_secs_f64(s).ok().filter(|budget| !budget.is_zero()).ok_or_else(|| wrong(s))
    });
    Ok(each.transpose()?)
}

/// Runs one cell given as JSON: returns its result as JSON, its processor time and its wall-clock time in seconds.
#[pyfunction]
#[pyo3(signature = (cell, *, budget=None))]
pub(crate) fn run_cell(py: Python<'_>, cell: &str, budget: Option<f64>) -> PyResult<(String, f64, f64)> {
    guard(py, "run_cell", || timed(py, cell, budget))
}

fn timed(py: Python<'_>, cell: &str, seconds: Option<f64>) -> Answer<(String, f64, f64)> {
    let cell: Cell = parsed(cell, "a cell")?;
    let budget = budget(seconds)?;
    work::brief(py, || cell.prepare().map(|_| ()))??;
    work::quietly(py, How::light("run_cell"), move |context| {
        let jobs = Jobs { count: 1, budget, cancel: context.cancel.clone() };
        let mut ended: Option<(CellResult, Timing)> = None;
        let _ = threads::run(&[cell], &[0], &jobs, &cell_runner(), &mut |update| {
            if let Update::Ended(_, result, timing) = update {
                ended = Some((*result, timing));
            }
            Ok::<(), ()>(())
        });
        let Some((result, timing)) = ended else { return Err(cancelled()) };
        Ok((result.written()?.0, timing.cpu, timing.wall))
    })
}

/// Error for a cell whose caller is gone.
fn cancelled() -> Trouble {
    Failure::invalid("cancelled").into()
}

/// The set of cells of a sweep.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Grid {
    inner: Cells,
}

#[pymethods]
impl Grid {
    /// Parses the text of a grid; `file` is its name in errors.
    #[new]
    #[pyo3(signature = (text, file="grid.toml"))]
    fn new(py: Python<'_>, text: &str, file: &str) -> PyResult<Self> {
        guard(py, "Grid", || Ok(Grid { inner: work::brief(py, || Cells::parse(text, file))?? }))
    }

    /// A grid shipped with the program.
    #[staticmethod]
    fn study(py: Python<'_>, name: &str) -> PyResult<Self> {
        guard(py, "Grid.study", || Ok(Grid { inner: work::brief(py, || shipped::grid(name))?? }))
    }

    /// The cells, each as JSON.
    #[getter]
    fn cells(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "Grid.cells", || self.inner.cells().iter().map(written).collect())
    }

    /// Short descriptions of the cells.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "Grid.names", || Ok(self.inner.cells().iter().map(ToString::to_string).collect()))
    }

    /// Time budget of a cell in seconds.
    #[getter]
    fn budget(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        guard(py, "Grid.budget", || Ok(self.inner.budget))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Grid.__repr__", || Ok(format!("Grid({} cells)", self.inner.cells().len())))
    }
}

/// Names of the grids shipped with the program.
#[pyfunction]
pub(crate) fn studies(py: Python<'_>) -> PyResult<Vec<&'static str>> {
    guard(py, "studies", || Ok(STUDIES.iter().map(|(name, _)| *name).collect()))
}

fn written(cell: &Cell) -> Answer<String> {
    Ok(serde_json::to_string(cell).map_err(|error| internal("Grid.cells", &error.to_string()))?)
}

/// A sweep in a folder.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Sweep {
    /// The open sweep; `None` after it is closed.
    inner: Arc<Mutex<Option<Kept>>>,
    folder: PathBuf,
    /// Process that opened the sweep: its database connection must not be used in another process.
    process: u32,
}

/// A forked process must not use the parent's connection and leaves it open.
impl Drop for Sweep {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.inner.clone());
        }
    }
}

/// Error for a closed sweep.
fn closed() -> Failure {
    Failure::new("StudyError", "the sweep is closed").hint("open it again")
}

impl Sweep {
    fn open(py: Python<'_>, folder: PathBuf, grid: Cells) -> Answer<Self> {
        std::fs::create_dir_all(&folder).map_err(|error| Failure::disk(&folder, &error))?;
        work::settle(py, &folder)?;
        let how = How { folder: Some(folder.clone()), ..How::light("Sweep") };
        let at = folder.clone();
        let kept = work::quietly(py, how, move |_| Ok(Kept::open(&at, &grid)?))?;
        Ok(Sweep { inner: Arc::new(Mutex::new(Some(kept))), folder, process: std::process::id() })
    }

    /// Runs an operation on the sweep on another thread, because the sweep may be busy with another call.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        place: &'static str,
        act: impl FnOnce(&mut Kept) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.here()?;
        let inner = self.inner.clone();
        let how = How { folder: Some(self.folder.clone()), ..How::light(place) };
        work::quietly(py, how, move |context| {
            let mut kept = lock(&inner);
            if context.is_cancelled() {
                return Err(cancelled());
            }
            act(kept.as_mut().ok_or_else(closed)?)
        })
    }

    /// Checks that this is the process that opened the sweep.
    fn here(&self) -> Answer<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let message = "this sweep was opened by another process";
        Err(Failure::new("StudyError", message).hint("after a fork, open it again").into())
    }
}

#[pymethods]
impl Sweep {
    /// Opens the sweep of a grid in a folder, which is created if it does not exist.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, grid: &Grid) -> PyResult<Self> {
        guard(py, "Sweep", || Sweep::open(py, folder, grid.inner.clone()))
    }

    #[getter]
    fn folder(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Sweep.folder", || Ok(self.folder.display().to_string()))
    }

    /// Indices of the cells that remain to be run.
    #[pyo3(signature = (again=false))]
    fn todo(&self, py: Python<'_>, again: bool) -> PyResult<Vec<usize>> {
        guard(py, "Sweep.todo", || self.with(py, "Sweep.todo", move |kept| Ok(kept.todo(again))))
    }

    /// Prepares the folder for external workers: writes the grid for observers.
    fn begins(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, "Sweep.begins", || self.with(py, "Sweep.begins", |kept| Ok(kept.begins()?)))
    }

    /// The result of a cell as JSON; `None` if it has not finished.
    fn result(&self, py: Python<'_>, index: usize) -> PyResult<Option<String>> {
        guard(py, "Sweep.result", || {
            self.with(py, "Sweep.result", move |kept| {
                place(kept, index)?;
                Ok(kept.result(index).map(CellResult::written).transpose()?.map(|(text, _)| text))
            })
        })
    }

    /// Stores the result of a cell; when this returns, it is on disk.
    #[pyo3(signature = (index, result, cpu=0.0, wall=0.0))]
    fn keep(&self, py: Python<'_>, index: usize, result: &str, cpu: f64, wall: f64) -> PyResult<()> {
        guard(py, "Sweep.keep", || {
            let result: CellResult = parsed(result, "the result of a cell")?;
            self.with(py, "Sweep.keep", move |kept| {
                fits(kept, index, &result)?;
                Ok(kept.keep(index, &result, Timing { cpu, wall })?)
            })
        })
    }

    /// Runs cells on threads and stores each result as it arrives; `hear(kind, index, contents)` receives the updates. Returns whether all
    /// cells were run.
    #[pyo3(signature = (todo, *, jobs=None, budget=None, hear=None))]
    fn run(
        &self,
        py: Python<'_>,
        todo: Vec<usize>,
        #[pyo3(from_py_with = maybe_whole)] jobs: Option<usize>,
        budget: Option<f64>,
        hear: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        guard(py, "Sweep.run", || {
            let budget = self::budget(budget)?;
            let count = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
            if !(1..=MOST_JOBS).contains(&count) {
                let message = format!("'jobs' must be between 1 and {MOST_JOBS}, not {count}");
                return Err(Failure::invalid(message).into());
            }
            self.here()?;
            let inner = self.inner.clone();
            let how = How { folder: Some(self.folder.clone()), ..How::light("Sweep.run") };
            let job = move |context: &work::JobContext<(&'static str, usize, String)>| {
                let mut kept = lock(&inner);
                if context.is_cancelled() {
                    return Ok(false);
                }
                let kept = kept.as_mut().ok_or_else(closed)?;
                todo.iter().try_for_each(|index| place(kept, *index))?;
                let jobs = Jobs { count, budget, cancel: context.cancel.clone() };
                let all = kept.run(&todo, &jobs, &cell_runner(), &mut |_, update| match update {
                    Update::Began(index) => context.tell(("began", *index, String::new())),
                    Update::Episode(index, row) => {
                        if let Ok(text) = serde_json::to_string(row) {
                            context.tell(("episode", *index, text));
                        }
                    }
                    Update::Ended(index, result, _) => {
                        // The result was stored before, so it can be serialized.
                        if let Ok((text, _)) = result.written() {
                            context.tell(("ended", *index, text));
                        }
                    }
                    Update::Tick => {}
                });
                Ok(all?)
            };
            work::run(py, how, job, |py, message| match &hear {
                Some(hear) => hear.call1(py, message).map(|_| ()),
                None => Ok(()),
            })
        })
    }

    /// Writes the summary files and the origin of the results.
    fn save(&self, py: Python<'_>, command: String, machine: String) -> PyResult<()> {
        guard(py, "Sweep.save", || {
            self.with(py, "Sweep.save", move |kept| {
                kept.save()?;
                Ok(kept.describe(&command, &today(), &machine)?)
            })
        })
    }

    /// Closes the sweep and releases its folder. Closing twice has no further effect.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, "Sweep.close", || {
            if self.process != std::process::id() {
                return Ok(());
            }
            work::close(py, "Sweep.close", &self.folder, &self.inner)
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Sweep.__repr__", || Ok(format!("Sweep('{}')", self.folder.display())))
    }
}

/// Checks that a result belongs to the cell with this index and was produced by this version.
fn fits(kept: &Kept, index: usize, result: &CellResult) -> Answer<()> {
    place(kept, index)?;
    let ours = env!("CARGO_PKG_VERSION");
    if result.version != ours {
        let message = format!("the result is of version {}, this is {ours}", result.version);
        return Err(Failure::invalid(message).hint("install the same version everywhere").into());
    }
    if kept.cells()[index] != result.cell {
        return Err(Failure::invalid(format!("the result is of another cell: {}", result.cell)).into());
    }
    Ok(())
}

/// Checks that a cell with this index exists.
fn place(kept: &Kept, index: usize) -> Answer<()> {
    let count = kept.cells().len();
    if index < count {
        return Ok(());
    }
    Err(Failure::invalid(format!("there is no cell {index}; the grid has {count}")).into())
}
