//! The item of a study or sweep in the list.

use crate::index::{Card, Entry, Kind, Seen};
use ocorl_study::grid::Grid;
use ocorl_study::store::Store;
use ocorl_study::sweep;
use serde::Serialize;

/// One item of the list.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Item {
    Study(Box<StudyItem>),
    Sweep(SweepItem),
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct StudyItem {
    id: String,
    kind: Kind,
    name: String,
    title: Option<String>,
    system: Option<String>,
    strategy: Option<String>,
    seed: Option<u64>,
    episodes: Option<usize>,
    of: Option<usize>,
    measurements: Option<usize>,
    last_cost: Option<f64>,
    best_cost: Option<f64>,
    costs: Vec<Option<f64>>,
    percent: Option<f64>,
    aborted: usize,
    status: &'static str,
    pending: Option<usize>,
    updated: Option<String>,
    error: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SweepItem {
    id: String,
    kind: Kind,
    name: String,
    title: String,
    cells: Option<usize>,
    of: Option<usize>,
    status: &'static str,
    updated: Option<String>,
    error: Option<String>,
}

impl Item {
    /// Time of the last update.
    pub(crate) fn updated(&self) -> Option<&str> {
        match self {
            Item::Study(item) => item.updated.as_deref(),
            Item::Sweep(item) => item.updated.as_deref(),
        }
    }
}

/// The item of `entry`, whose database was read as `card`; `None` if the database is empty.
pub(crate) fn item(entry: &Entry, card: Card) -> Option<Item> {
    let (id, kind, name) = (entry.id.clone(), entry.kind, entry.name.clone());
    match card.seen {
        Seen::Nothing => None,
        Seen::Study(head, facts) => {
            let status = match () {
                () if entry.is_running() => "running",
                () if facts.pending.is_some() => "waiting",
                () if facts.over => "done",
                () => "idle",
            };
            Some(Item::Study(Box::new(StudyItem {
                id,
                kind,
                name,
                title: Some(facts.title),
                system: Some(facts.system),
                strategy: Some(facts.strategy),
                seed: Some(facts.seed),
                episodes: Some(facts.episodes),
                of: Some(facts.of),
                measurements: Some(facts.measurements),
                last_cost: facts.last_cost,
                best_cost: facts.best_cost,
                costs: facts.costs,
                percent: facts.percent,
                aborted: facts.aborted,
                status,
                pending: facts.pending,
                updated: Some(head.at),
                error: None,
            })))
        }
        Seen::Sweep(head, cells) => {
            let of = Grid::left_in(&entry.folder).map(|grid| grid.cells().len());
            let status = match () {
                () if Store::writer(&entry.folder, sweep::FORM).is_some() => "running",
                () if of.is_none_or(|of| cells >= of) => "done",
                () => "idle",
            };
            let title = format!("Sweep {}", name.rsplit('/').next().unwrap_or(&name));
            let (cells, updated) = (Some(cells), Some(head.at));
            Some(Item::Sweep(SweepItem { id, kind, name, title, cells, of, status, updated, error: None }))
        }
        Seen::Damaged(error) => Some(damaged(entry, error)),
    }
}

fn damaged(entry: &Entry, error: String) -> Item {
    let (id, kind, name, status) = (entry.id.clone(), entry.kind, entry.name.clone(), "damaged");
    let error = Some(error);
    match kind {
        Kind::Sweep => {
            let title = format!("Sweep {name}");
            let (cells, of, updated) = (None, None, None);
            Item::Sweep(SweepItem { id, kind, name, title, cells, of, status, updated, error })
        }
        Kind::Study => Item::Study(Box::new(StudyItem {
            id,
            kind,
            name,
            title: None,
            system: None,
            strategy: None,
            seed: None,
            episodes: None,
            of: None,
            measurements: None,
            last_cost: None,
            best_cost: None,
            costs: Vec::new(),
            percent: None,
            aborted: 0,
            status,
            pending: None,
            updated: None,
            error,
        })),
    }
}
