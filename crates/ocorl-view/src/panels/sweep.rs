//! The view of a sweep: systems by variants, with the state and result of every cell.

use super::Exhibit;
use crate::figure::Figure;
use crate::plots::{self, naming};
use ocorl::learn::Strategy;
use ocorl::system::Benchmark;
use ocorl_study::cell::{Cell, CellResult};
use ocorl_study::results::Group;
use ocorl_study::statistics::{mean, sample_std};
use ocorl_study::sweep::{Reading, ReadingError};
use ocorl_study::table1::published;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A sweep, read without blocking a writing process.
#[derive(Clone, Debug, Serialize)]
pub struct SweepView {
    /// Identifier that distinguishes several sweeps on one page; empty until the page assigns one.
    pub id: String,
    /// Name of the folder.
    pub name: String,
    /// Whether a process is running the sweep.
    pub status: Status,
    /// Number of cells that have finished or failed.
    pub cells: usize,
    /// Number of all cells.
    pub of: usize,
    /// Names of the variants.
    pub columns: Vec<String>,
    /// One row per system.
    pub rows: Vec<Row>,
    /// Plots of the finished cells.
    pub exhibits: Vec<Exhibit>,
    /// Title of the grid; may be empty.
    #[serde(skip)]
    pub title: String,
    /// Number of the last event; views with equal numbers are equal.
    #[serde(skip)]
    pub head: u64,
}

/// State of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A process is running cells.
    Running,
    /// Cells are missing, and no process is running them.
    Idle,
    /// Every cell has finished or failed.
    Done,
}

/// The cells of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Identifier of the system.
    pub system: String,
    /// Title of the system.
    pub title: String,
    /// Optimal cost with known dynamics, if it has been computed.
    pub best: Option<f64>,
    /// Cost of the optimal zero-order hold, if it has been computed.
    pub held: Option<f64>,
    /// One entry per variant of this system.
    pub cells: Vec<VariantView>,
}

/// The cells of one system and variant.
#[derive(Clone, Debug, Serialize)]
pub struct VariantView {
    /// Name of the variant, one of the columns.
    pub variant: String,
    /// Settings that the cells start from: `default` or `reference`.
    pub settings: String,
    /// Settings that the cells change, by path, as `--set` takes them.
    pub set: BTreeMap<String, String>,
    /// One entry per seed.
    pub seeds: Vec<SeedView>,
    /// Mean final cost of the finished cells.
    pub mean: Option<f64>,
    /// Sample standard deviation of these costs.
    pub std: Option<f64>,
    /// Value that the paper prints for this cell, if it has one.
    pub paper: Option<String>,
}

/// One cell: a system, a variant, a seed.
#[derive(Clone, Debug, Serialize)]
pub struct SeedView {
    /// Seed of the run.
    pub seed: u64,
    /// State of the cell.
    pub state: State,
    /// Final cost of a finished cell.
    pub cost: Option<f64>,
    /// Cost of each episode.
    pub costs: Vec<f64>,
    /// Final cost above the optimum, in percent of the optimum.
    pub percent: Option<f64>,
    /// Reason of a failure.
    pub reason: Option<String>,
}

/// State of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Finished, with a result.
    Done,
    /// Failed, without a result.
    Failed,
    /// Not run yet.
    Waiting,
}

impl SweepView {
    /// Reads the sweep in `folder`: finished, stopped, or running in another process.
    pub fn open(folder: &Path) -> Result<Self, ReadingError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self::new(&Reading::open(folder)?, &name))
    }

    /// The view of a sweep that has been read.
    pub fn new(reading: &Reading, name: &str) -> Self {
        let (cells, of) =
            (reading.cells.iter().filter(|(_, result)| result.is_some()).count(), reading.cells.len());
        let status = match reading.running {
            true => Status::Running,
            false if cells == of => Status::Done,
            false => Status::Idle,
        };
        let mut columns: Vec<String> = Vec::new();
        let mut rows: Vec<(Row, Vec<Vec<Entry<'_>>>)> = Vec::new();
        for (cell, result) in &reading.cells {
            let variant = variant(cell);
            let column = columns.iter().position(|name| *name == variant).unwrap_or_else(|| {
                columns.push(variant);
                columns.len() - 1
            });
            let row = rows.iter().position(|(row, _)| row.system == cell.system).unwrap_or_else(|| {
                rows.push((empty_row(&cell.system), Vec::new()));
                rows.len() - 1
            });
            let entries = &mut rows[row].1;
            entries.resize_with(entries.len().max(column + 1), Vec::new);
            entries[column].push((cell, result.as_ref()));
        }
        let finished = |(row, entries): (Row, Vec<Vec<Entry<'_>>>)| filled(row, &entries, &columns);
        let rows = rows.into_iter().map(finished).collect();
        let exhibits = exhibits(reading);
        let (title, head) = (reading.title.clone(), reading.head);
        SweepView {
            id: String::new(),
            name: name.into(),
            status,
            cells,
            of,
            columns,
            rows,
            exhibits,
            title,
            head,
        }
    }
}

/// A cell and its result, if it has one.
type Entry<'a> = (&'a Cell, Option<&'a CellResult>);

/// Name of a cell's variant: the strategy alone if no other setting is changed, as the paper names its columns.
fn variant(cell: &Cell) -> String {
    match (cell.set.get("strategy"), cell.set.len(), cell.settings.as_str()) {
        (Some(strategy), 1, "default") => strategy.as_str().unwrap_or_default().into(),
        _ => cell.variant(),
    }
}

fn empty_row(system: &str) -> Row {
    Row { system: system.into(), title: naming::title(system), best: None, held: None, cells: Vec::new() }
}

fn filled(row: Row, entries: &[Vec<Entry<'_>>], columns: &[String]) -> Row {
    let known = entries.iter().flatten().find_map(|(_, result)| result.as_ref()?.known);
    let there = entries.iter().zip(columns).filter(|(entries, _)| !entries.is_empty());
    let cells = there.map(|(entries, name)| variant_view(entries, name)).collect();
    Row { best: known.map(|k| k.continuous), held: known.map(|k| k.held), cells, ..row }
}

fn variant_view(entries: &[Entry<'_>], name: &str) -> VariantView {
    let costs: Vec<f64> = entries.iter().filter_map(|(_, result)| result.as_ref()?.final_cost()).collect();
    let some = |value: f64| (!costs.is_empty()).then_some(value);
    let paper = entries.first().and_then(|(cell, _)| {
        let plain = cell.settings == "default" && cell.set.len() == 1;
        let word = cell.set.get("strategy").filter(|_| plain)?.as_str()?;
        let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.name() == word)?;
        let printed = published(Benchmark::find(&cell.system).ok()?.published()?, strategy)?;
        Some(format!("{:.2} ± {:.2}", printed.mean, printed.std))
    });
    let seeds = entries.iter().map(|(cell, result)| seed_view(cell, *result)).collect();
    let set = entries.first().map(|(cell, _)| &cell.set).into_iter().flatten();
    VariantView {
        variant: name.into(),
        settings: entries.first().map_or(String::new(), |(cell, _)| cell.settings.clone()),
        set: set.map(|(path, value)| (path.clone(), value.to_string())).collect(),
        seeds,
        mean: some(mean(&costs)),
        std: some(sample_std(&costs)),
        paper,
    }
}

fn seed_view(cell: &Cell, result: Option<&CellResult>) -> SeedView {
    let cost = result.and_then(CellResult::final_cost);
    let state = match result {
        None => State::Waiting,
        Some(result) if result.failure.is_some() => State::Failed,
        Some(_) => State::Done,
    };
    let percent = cost.zip(result.and_then(|r| r.known)).map(|(cost, known)| known.percent_above(cost));
    let costs =
        result.map_or(Vec::new(), |result| result.episodes.iter().map(|episode| episode.cost).collect());
    SeedView { seed: cell.seed, state, cost, costs, percent, reason: result.and_then(|r| r.failure.clone()) }
}

fn exhibits(reading: &Reading) -> Vec<Exhibit> {
    let results = reading.studied().results;
    let known = results.groups().iter().any(|group: &Group<'_>| !group.gaps().is_empty());
    if !known {
        return Vec::new();
    }
    let drawn = [
        ("gaps", plots::gaps(&results)),
        ("cost", plots::strategies(&results)),
        ("regret", plots::regret(&results)),
    ];
    let exhibit = |(id, figure): (&'static str, Figure)| {
        let (title, about) = (figure.title.clone(), figure.subtitle.clone());
        Exhibit::new(id, &title, &about, figure)
    };
    drawn.into_iter().map(exhibit).collect()
}
