//! Runs sweeps from the command line: selection of cells, progress output, summary, failures.

mod ray;
mod screen;

use crate::GlobalArgs;
use crate::checks::{between, writable_folder};
use crate::errors::Failure;
use crate::machine;
use crate::signals::Signals;
use crate::table::{Align, Table};
use crate::terminal::{self, json, say};
use ocorl_study::cell::{Cell, CellRunner};
use ocorl_study::estimate::{duration, remaining};
use ocorl_study::grid::Grid;
use ocorl_study::results::{Group, Results};
use ocorl_study::run::numbers::{cost, difference, percent_more};
use ocorl_study::statistics::{mean, sample_std};
use ocorl_study::sweep::Sweep;
use ocorl_study::threads::{Jobs, Work};
use ray::{Driver, Where};
use screen::Screen;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Largest number of simultaneous cells; memory grows with it.
const MOST_JOBS: usize = 256;

/// Options that every command with a sweep accepts.
#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// Number of simultaneous cells; results do not depend on it [default: number of processors]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    pub(crate) jobs: Option<usize>,
    /// Where to run cells: threads, ray, or ray:ADDRESS [default: threads]
    #[arg(long, value_name = "WHERE", default_value = "threads", hide_default_value = true)]
    on: Where,
    /// Time limit of a cell in seconds [default: none]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    budget: Option<f64>,
    /// Run failed cells again
    #[arg(long)]
    again: bool,
    /// Print what would be run, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with code 1 if a cell failed
    #[arg(long)]
    strict: bool,
}

/// Options that select cells of a built-in grid.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Selection {
    /// Only these systems, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    systems: Vec<String>,
    /// Number of seeds, from 0 on
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seeds: Option<u64>,
    /// Change one setting of every cell, for example episodes=10
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Folder of the sweep [default: sweeps/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) sweep_out: Option<PathBuf>,
}

impl Selection {
    /// Restricts `grid` to the selection.
    pub(crate) fn apply(&self, grid: &mut Grid) -> Result<(), Failure> {
        if !self.systems.is_empty() {
            grid.systems.clone_from(&self.systems);
        }
        if let Some(seeds) = self.seeds {
            grid.seeds = (0..seeds).collect();
        }
        for (path, text) in &self.set {
            grid.set.insert(path.clone(), ocorl_study::config::value(text));
        }
        Ok(grid.check()?)
    }

    /// Cells of one system with the settings `set`; options of the command line override them.
    pub(crate) fn cells(&self, system: &str, set: &[(&str, &str)], seeds: u64) -> Result<Vec<Cell>, Failure> {
        let set = set.iter().map(|(path, text)| ((*path).to_owned(), ocorl_study::config::value(text)));
        let mut grid = Grid {
            title: String::new(),
            systems: vec![system.into()],
            files: BTreeMap::default(),
            settings: vec!["default".into()],
            seeds: (0..seeds).collect(),
            budget: None,
            set: set.collect(),
            vary: BTreeMap::default(),
            variants: Vec::new(),
        };
        self.apply(&mut grid)?;
        Ok(grid.cells())
    }
}

/// Parses PATH=VALUE.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("it must be PATH=VALUE, as in plan.intervals=100")?;
    Ok((path.trim().into(), value.trim().into()))
}

/// Result of a sweep command.
pub(crate) enum Swept {
    /// All cells have finished or failed.
    Done(Results),
    /// Only the plan was requested (`--dry-run`).
    Planned(Planned),
}

/// Number of cells and estimated time of a sweep that was not run.
#[derive(Clone, Copy, serde::Serialize)]
pub(crate) struct Planned {
    cells: usize,
    to_run: usize,
    seconds: f64,
}

impl Planned {
    /// The plan as one line of text, or as JSON.
    pub(crate) fn answer(self, global: GlobalArgs) -> String {
        if global.json { json(&self) } else { self.summary_line() }
    }

    /// The plan as one line of text.
    pub(crate) fn summary_line(self) -> String {
        let Planned { cells, to_run, seconds } = self;
        let plural = if cells == 1 { "" } else { "s" };
        let time = if to_run > 0 { format!(", about {}", duration(seconds)) } else { String::new() };
        format!("{cells} cell{plural}, {} already done, {to_run} to run{time}\n", cells - to_run)
    }
}

impl Options {
    fn jobs(&self) -> Result<usize, Failure> {
        self.jobs.map_or(Ok(()), |jobs| between("--jobs", jobs, MOST_JOBS))?;
        Ok(self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)))
    }

    fn budget(&self, grid: &Grid) -> Result<Option<Duration>, Failure> {
        let seconds = self.budget.or(grid.budget);
        let bad = |seconds: f64| {
            Failure::usage(format!("--budget must be a positive number of seconds, not {seconds}"))
        };
        seconds
            .map(|s| Duration::try_from_secs_f64(s).ok().filter(|d| !d.is_zero()).ok_or_else(|| bad(s)))
            .transpose()
    }

    /// The failure of a command with `--strict` whose sweep has failed cells.
    pub(crate) fn verdict(&self, results: &Results) -> Option<Failure> {
        let failed = results.cells.iter().filter(|cell| cell.failure.is_some()).count();
        (self.strict && failed > 0)
            .then(|| Failure::badly(format!("{failed} of {} cells failed", results.cells.len())))
    }

    /// Runs the unfinished cells of `grid` in `folder`, with progress output.
    pub(crate) fn sweep(&self, grid: &Grid, folder: &Path, global: GlobalArgs) -> Result<Swept, Failure> {
        let (count, budget) = (self.jobs()?, self.budget(grid)?);
        let grid = &Grid { budget: budget.map(|budget| budget.as_secs_f64()), ..grid.clone() };
        if self.dry_run && !folder.exists() {
            let cells = grid.cells();
            let todo: Vec<usize> = (0..cells.len()).collect();
            let seconds = remaining(&cells, |_| None, &todo, count);
            return Ok(Swept::Planned(Planned { cells: cells.len(), to_run: todo.len(), seconds }));
        }
        writable_folder(folder)?;
        let mut sweep = Sweep::open(folder, grid)?;
        let todo = sweep.todo(self.again);
        let seconds = remaining(sweep.cells(), |index| sweep.timing(index), &todo, count);
        let planned = Planned { cells: sweep.cells().len(), to_run: todo.len(), seconds };
        if self.dry_run {
            return Ok(Swept::Planned(planned));
        }
        if !global.quiet {
            // With Ray the driver prints this itself.
            if self.on == Where::Threads || todo.is_empty() {
                say(&planned.summary_line());
            }
            for path in &sweep.damaged {
                say(&format!("warning: '{}' cannot be read; its cell is run again\n", path.display()));
            }
        }
        let signals = Signals::catch()?;
        let all = match &self.on {
            Where::Ray(address) if !todo.is_empty() => {
                sweep.begins()?;
                // Released, because the driver opens the folder now.
                drop(sweep);
                let (address, quiet) = (address.as_deref(), global.quiet);
                Driver { address, jobs: self.jobs, again: self.again, quiet }.run(folder, &signals)?;
                sweep = Sweep::open(folder, grid)?;
                sweep.todo(false).is_empty()
            }
            _ => {
                let jobs = Jobs { count, budget, cancel: signals.cancel.clone() };
                watched(&mut sweep, &todo, &jobs, global)?
            }
        };
        let results = sweep.save()?;
        if !todo.is_empty() {
            sweep.describe(&machine::command_line(), &ocorl_study::clock::today(), &machine::processor())?;
        }
        match signals.caught() {
            Some(signal) if !all => {
                let (done, all) = (results.cells.len(), sweep.cells().len());
                Err(Failure::interrupted(signal, format!("interrupted after {done} of {all} cells"))
                    .detail("saved", folder.display().to_string())
                    .hint("run the same command again to continue"))
            }
            _ => Ok(Swept::Done(results)),
        }
    }
}

/// Runs the cells with the indices `todo`, with progress output; returns whether all were run.
fn watched(sweep: &mut Sweep, todo: &[usize], jobs: &Jobs, global: GlobalArgs) -> Result<bool, Failure> {
    let mut screen = Screen::new(sweep, todo, jobs.count, global);
    let work: Arc<dyn Work> = Arc::new(CellRunner::default());
    // A panic becomes a failed cell with its reason; the default message would disturb the progress output.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let ended = sweep.run(todo, jobs, &work, &mut |sweep, update| screen.update(sweep, update));
    std::panic::set_hook(hook);
    screen.end();
    Ok(ended?)
}

/// Default folder of a sweep.
pub(crate) fn folder(out: Option<&PathBuf>, name: &str) -> PathBuf {
    out.cloned().unwrap_or_else(|| PathBuf::from("sweeps").join(name))
}

/// Final costs by group, then the failed cells.
pub(crate) fn summary(results: &Results) -> String {
    let mut table =
        Table::new([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["system", "variant", "seeds", "final cost", "above optimum", "diverged"]);
    for group in results.groups() {
        let costs = group.final_costs();
        let above = group.known().filter(|_| !costs.is_empty());
        table.row([
            group.cell.system.clone(),
            group.cell.variant(),
            costs.len().to_string(),
            if costs.is_empty() { "-".into() } else { spread(&costs) },
            above.map_or("-".into(), |known| percent_more(mean(&costs), known.continuous)),
            diverged(&group),
        ]);
    }
    let mut text = table.text(terminal::width());
    let failed: Vec<_> = results.cells.iter().filter(|cell| cell.failure.is_some()).collect();
    if !failed.is_empty() {
        let _ = write!(text, "\n{} of {} cells failed:\n", failed.len(), results.cells.len());
    }
    for cell in failed {
        let _ = writeln!(text, "  {}: {}", cell.cell, cell.failure.as_deref().unwrap_or_default());
    }
    text
}

/// Mean ± sample standard deviation.
fn spread(costs: &[f64]) -> String {
    format!("{} +- {}", cost(mean(costs)), difference(sample_std(costs)))
}

fn diverged(group: &Group<'_>) -> String {
    match group.cells.iter().filter(|cell| cell.diverged()).count() {
        0 => "-".into(),
        n => n.to_string(),
    }
}
