//! What must be in a study: a plain account of what was acknowledged, kept beside the real one and compared with it after every step.

use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::{History, Row, Status};
use std::sync::Arc;

/// The account of one episode.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub(super) plan: Arc<PlanFile>,
    /// The recorded rows: index of the requested time, and version of the run.
    pub(super) rows: Vec<(usize, usize)>,
    pub(super) status: Option<Status>,
    pub(super) reason: Option<String>,
    /// Versions of the run whose end was reported.
    pub(super) version: usize,
}

/// The account of a study.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub(super) episodes: Vec<Episode>,
    /// Numbers of the imported logs.
    pub(super) imports: Vec<usize>,
    pub(super) notes: Vec<String>,
}

impl Account {
    pub(super) fn pending(&self) -> Option<usize> {
        self.episodes.iter().position(|episode| episode.status.is_none())
    }

    /// The difference between the account and a study, if there is one. `row` gives the row with an index and a version of an episode.
    pub(super) fn differs(
        &self,
        history: &History,
        row: impl Fn(&PlanFile, usize, usize) -> Row,
        log: impl Fn(usize) -> Vec<Row>,
    ) -> Option<String> {
        if history.episodes.len() != self.episodes.len() {
            return Some(format!("{} episodes instead of {}", history.episodes.len(), self.episodes.len()));
        }
        if history.notes != self.notes {
            return Some(format!("the notes are {:?} instead of {:?}", history.notes, self.notes));
        }
        for (i, (is, must)) in history.episodes.iter().zip(&self.episodes).enumerate() {
            let status = is.closed.as_ref().map(|closed| closed.status);
            if status != must.status {
                return Some(format!("episode {i} is {status:?} instead of {:?}", must.status));
            }
            if is.plan != must.plan {
                return Some(format!("the plan of episode {i} is another one"));
            }
            if is.reason != must.reason {
                return Some(format!(
                    "the reason of episode {i} is {:?} instead of {:?}",
                    is.reason, must.reason
                ));
            }
            let mut rows: Vec<Row> =
                must.rows.iter().map(|(at, version)| row(&must.plan, *at, *version)).collect();
            rows.sort_by(|a, b| a.t.total_cmp(&b.t));
            if !same(&is.rows, &rows) {
                return Some(format!("the rows of episode {i} are {:?} instead of {rows:?}", is.rows));
            }
        }
        let imported: Vec<Row> = history.imports.iter().flat_map(|(_, one)| one.rows.clone()).collect();
        let logs: Vec<Row> = self.imports.iter().flat_map(|number| log(*number)).collect();
        (!same(&imported, &logs)).then(|| format!("imported are {imported:?} instead of {logs:?}"))
    }
}

/// Whether the rows have the same times and values to the bit.
fn same(a: &[Row], b: &[Row]) -> bool {
    let bits = |row: &Row| {
        let numbers = [row.t].into_iter().chain(row.x.iter().copied()).chain(row.u.iter().copied());
        let all = numbers.chain(row.x_dot.iter().flatten().copied()).map(f64::to_bits);
        all.collect::<Vec<u64>>()
    };
    a.iter().map(bits).eq(b.iter().map(bits))
}
