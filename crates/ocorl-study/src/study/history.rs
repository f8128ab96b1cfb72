//! State of a study, folded from its events: episodes, the pending episode, data used for learning.

use super::event::{Closed, Created, End, Event, Imported, Row, Selected, Status, Told};
use crate::plan_file::PlanFile;
use ocorl::learn::{Diagnosis, TrustedRow};
use std::sync::Arc;

/// The folded events of a study.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The creation event; `None` only while a study is being created.
    pub created: Option<Box<Created>>,
    /// All episodes, in order.
    pub episodes: Vec<EpisodeHistory>,
    /// Imported measurements, each with the number of the episode before which they were imported.
    pub imports: Vec<(usize, Imported)>,
    /// Notes of the user.
    pub notes: Vec<String>,
    /// What is wrong with the data, after the last episode.
    pub diagnosis: Diagnosis,
    /// Whether events since the last proposal changed data that were learned from before it.
    pub rewritten: bool,
}

/// The recorded state of one episode.
#[derive(Clone, Debug)]
pub struct EpisodeHistory {
    /// Number of the episode.
    pub episode: usize,
    /// Plan of the episode.
    pub plan: Arc<PlanFile>,
    /// Measurements, ordered by initial state and time.
    pub rows: Vec<Row>,
    /// The recording events of the episode.
    pub told: Vec<Told>,
    /// Rows that the user excluded from learning: initial state and time.
    pub excluded: Vec<(usize, f64)>,
    /// Rows that the user wants to be learned from, whatever the model says about them.
    pub included: Vec<(usize, f64)>,
    /// Reason why it failed or was excluded from learning.
    pub reason: Option<String>,
    /// The closing event; `None` while the episode is pending.
    pub closed: Option<Closed>,
}

impl EpisodeHistory {
    /// Adds measurements.
    pub(super) fn add(&mut self, told: Told) {
        self.rows.extend(told.rows.iter().cloned());
        sort(&mut self.rows);
        self.told.push(told);
    }

    /// Replaces all measurements recorded before.
    pub(super) fn replace(&mut self, told: Told) {
        self.rows.clone_from(&told.rows);
        self.told = vec![told];
        self.excluded.clear();
        self.included.clear();
    }

    /// Whether the user excluded this row from learning.
    pub fn is_excluded(&self, row: &Row) -> bool {
        self.excluded.contains(&(row.start, row.t))
    }

    /// Excludes or includes rows.
    fn select(&mut self, selected: Selected, included: bool) {
        let kept = |list: &mut Vec<(usize, f64)>| list.retain(|row| !selected.rows.contains(row));
        kept(&mut self.excluded);
        kept(&mut self.included);
        if included { self.included.extend(selected.rows) } else { self.excluded.extend(selected.rows) }
    }

    /// Reported ends of its rollouts.
    pub(super) fn ends(&self) -> impl DoubleEndedIterator<Item = &End> {
        self.told.iter().flat_map(|told| &told.ends)
    }

    /// Whether all of `ends` have been reported before.
    pub(super) fn has_said(&self, ends: &[End]) -> bool {
        ends.iter().all(|end| self.ends().any(|other| other == end))
    }

    /// Whether the measurements are used for learning.
    pub fn is_used(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.status != Status::Discarded)
    }
}

impl History {
    /// Checks that `event` can be the next one.
    pub(super) fn accepts(&self, event: &Event) -> Result<(), String> {
        let known = |episode: usize| match self.episodes.get(episode) {
            Some(_) => Ok(()),
            None => Err(format!("there is no episode {episode}")),
        };
        match event {
            Event::Created(_) if self.created.is_some() => Err("a study begins only once".into()),
            Event::Proposed(proposed)
                if proposed.episode != self.episodes.len() || self.pending().is_some() =>
            {
                Err(format!("episode {} is not the next", proposed.episode))
            }
            Event::Told(told) | Event::Corrected(told) => known(told.episode),
            Event::Failed(marked) | Event::Discarded(marked) => known(marked.episode),
            Event::Closed(closed) => known(closed.episode),
            Event::Excluded(selected) | Event::Included(selected) => known(selected.episode),
            Event::Diagnosed(_)
            | Event::Created(_)
            | Event::Proposed(_)
            | Event::Imported(_)
            | Event::Note(_) => Ok(()),
        }
    }

    /// Applies the next event.
    pub(super) fn take(&mut self, event: Event) -> Result<(), String> {
        self.accepts(&event)?;
        match event {
            Event::Created(created) => self.created = Some(created),
            Event::Proposed(proposed) => {
                self.rewritten = false;
                self.episodes.push(EpisodeHistory {
                    episode: proposed.episode,
                    plan: Arc::new(proposed.plan),
                    rows: Vec::new(),
                    told: Vec::new(),
                    excluded: Vec::new(),
                    included: Vec::new(),
                    reason: None,
                    closed: None,
                });
            }
            Event::Told(told) => {
                self.episode_mut(told.episode)?.add(told);
            }
            Event::Corrected(told) => {
                let pending = self.pending().is_some_and(|p| p.episode == told.episode);
                self.episode_mut(told.episode)?.replace(told);
                self.rewritten |= !pending;
            }
            Event::Imported(imported) => {
                self.rewritten = true;
                self.imports.push((self.next(), imported));
            }
            Event::Failed(marked) | Event::Discarded(marked) => {
                let pending = self.pending().is_some_and(|p| p.episode == marked.episode);
                self.episode_mut(marked.episode)?.reason = Some(marked.reason);
                self.rewritten |= !pending;
            }
            Event::Excluded(selected) => {
                self.rewritten = true;
                self.episode_mut(selected.episode)?.select(selected, false);
            }
            Event::Included(selected) => {
                self.rewritten = true;
                self.episode_mut(selected.episode)?.select(selected, true);
            }
            Event::Diagnosed(diagnosis) => self.diagnosis = diagnosis,
            Event::Closed(closed) => {
                let episode = self.episode_mut(closed.episode)?;
                episode.closed = Some(closed);
            }
            Event::Note(text) => self.notes.push(text),
        }
        Ok(())
    }

    fn episode_mut(&mut self, episode: usize) -> Result<&mut EpisodeHistory, String> {
        self.episodes.get_mut(episode).ok_or_else(|| format!("there is no episode {episode}"))
    }

    /// The pending episode: planned and not closed.
    pub fn pending(&self) -> Option<&EpisodeHistory> {
        self.episodes.last().filter(|e| e.closed.is_none())
    }

    /// Number of the pending episode, or of the next one to be planned.
    pub fn next(&self) -> usize {
        self.episodes.len() - usize::from(self.pending().is_some())
    }

    /// Number of measurements used for learning.
    pub fn measurements(&self) -> usize {
        let used = self.episodes.iter().filter(|e| e.is_used());
        let told: usize = used.map(|e| e.rows.len() - e.excluded.len()).sum();
        told + self.imports.iter().map(|(_, i)| i.rows.len()).sum::<usize>()
    }
}

impl History {
    /// The rows that the user wants to be learned from.
    pub(super) fn trusted(&self) -> Vec<TrustedRow> {
        let each = |e: &EpisodeHistory| {
            let episode = e.episode;
            e.included.iter().map(move |&(start, time)| (episode, start, time)).collect::<Vec<_>>()
        };
        self.episodes.iter().flat_map(each).collect()
    }
}

/// Sorts measurements by initial state and time.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
}
