//! What must be in a study: a plain account of what was acknowledged, kept beside the real one and compared with it after every step.

use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::{History, Row, Status, Telling};
use std::sync::Arc;

/// A file of the rig: the episode that was run, and the version of the run.
pub(super) type File = (usize, usize);

/// A row of a file, with the index of the time at which the plan of that episode requests it.
pub(super) type FileRow = (File, usize);

/// The account of one episode.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub(super) plan: Arc<PlanFile>,
    /// The recorded rows, which may be from the file of another episode.
    pub(super) rows: Vec<FileRow>,
    pub(super) status: Option<Status>,
    pub(super) reason: Option<String>,
    /// The files whose reported end was recorded.
    pub(super) ends: Vec<File>,
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

    /// The account after the next episode of the study was planned, if it has one.
    pub(super) fn planned(&self, history: &History) -> Self {
        let mut after = self.clone();
        if let Some(new) = history.episodes.get(self.episodes.len()) {
            let plan = new.plan.clone();
            after.episodes.push(Episode { plan, rows: vec![], status: None, reason: None, ends: vec![] });
        }
        after
    }

    /// The time of a row, to the bit.
    fn time(&self, ((episode, _), at): FileRow) -> u64 {
        self.episodes[episode].plan.rollouts[0].measure_at[at].to_bits()
    }

    /// Whether at least half of the rows were recorded for another episode than `target`.
    fn is_of_another(&self, target: usize, rows: &[FileRow]) -> bool {
        let others = self.episodes.iter().enumerate().filter(|(i, _)| *i != target);
        let found = |known: &Episode| rows.iter().filter(|row| known.rows.contains(row)).count();
        others.into_iter().any(|(_, known)| 2 * found(known) >= rows.len())
    }

    /// Records rows of a file for an episode. `stated`: the episode was named. Returns whether that is accepted; if not, nothing changes.
    pub(super) fn tell(
        &mut self,
        target: usize,
        stated: bool,
        file: File,
        rows: &[usize],
        how: Telling,
    ) -> bool {
        let told: Vec<FileRow> = rows.iter().map(|at| (file, *at)).collect();
        let known = &self.episodes[target];
        let correct = how == Telling::Correct;
        if !correct && known.status == Some(Status::Discarded) || !stated && self.is_of_another(target, &told)
        {
            return false;
        }
        let other =
            |row: &&FileRow| known.rows.iter().any(|k| k != *row && self.time(*k) == self.time(**row));
        let is_known = |row: &&FileRow| known.rows.contains(row);
        if !correct && told.iter().any(|row| !is_known(&row) && other(&row)) {
            return false;
        }
        let new: Vec<FileRow> = told.iter().filter(|row| !is_known(row)).copied().collect();
        if known.status.is_some() && !correct {
            // The episode is over: what was recorded before is no news, anything else is refused.
            return new.is_empty() && known.ends.contains(&file);
        }
        let known = &mut self.episodes[target];
        if correct {
            (known.rows, known.ends) = (told, vec![file]);
        } else {
            known.rows.extend(new);
            known.ends.push(file);
        }
        if how != Telling::More || known.status.is_some() {
            let asked = known.plan.rollouts[0].measure_at.len();
            known.status = Some(if known.rows.len() < asked { Status::Partial } else { Status::Complete });
        }
        true
    }

    /// The difference between the account and a study, if there is one. `row` gives a row of the file of an episode.
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
            let told = |((episode, version), at): &FileRow| row(&self.episodes[*episode].plan, *at, *version);
            let mut rows: Vec<Row> = must.rows.iter().map(told).collect();
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
