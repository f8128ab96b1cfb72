//! What follows from the events of a study: which episodes there are, what is pending, what is learned from.

use super::event::{Closed, Created, End, Event, Imported, Row, Status, Told};
use crate::plan_file::PlanFile;
use std::sync::Arc;

/// A study as its events tell it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// How it began; none only while a study is being made.
    pub created: Option<Box<Created>>,
    /// All episodes, in order.
    pub episodes: Vec<EpisodeHistory>,
    /// What was imported, and before which episode.
    pub imports: Vec<(usize, Imported)>,
    /// What somebody wrote down.
    pub notes: Vec<String>,
    /// Events since the last proposal that change what was learned from before it.
    pub rewritten: bool,
}

/// One episode as far as it went.
#[derive(Clone, Debug)]
pub struct EpisodeHistory {
    /// Its number.
    pub episode: usize,
    /// What was asked.
    pub plan: Arc<PlanFile>,
    /// What was measured, in order of start and time.
    pub rows: Vec<Row>,
    /// What was said of its end.
    pub told: Vec<Told>,
    /// Why it failed or is not learned from.
    pub reason: Option<String>,
    /// Its end.
    pub closed: Option<Closed>,
}

impl EpisodeHistory {
    /// Takes in more measurements.
    pub(super) fn add(&mut self, told: Told) {
        self.rows.extend(told.rows.iter().cloned());
        sort(&mut self.rows);
        self.told.push(told);
    }

    /// Takes in measurements that stand for all that was told before.
    pub(super) fn replace(&mut self, told: Told) {
        self.rows.clone_from(&told.rows);
        self.told = vec![told];
    }

    /// What was said of the ends of its runs.
    pub(super) fn ends(&self) -> impl DoubleEndedIterator<Item = &End> {
        self.told.iter().flat_map(|told| &told.ends)
    }

    /// Whether all of this was said of the ends of its runs before.
    pub(super) fn has_said(&self, ends: &[End]) -> bool {
        ends.iter().all(|end| self.ends().any(|other| other == end))
    }

    /// Whether its measurements are learned from.
    pub fn is_used(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.status != Status::Discarded)
    }
}

impl History {
    /// Takes in the next event.
    pub(super) fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Created(created) => {
                if self.created.replace(created).is_some() {
                    return Err("a study begins only once".into());
                }
            }
            Event::Proposed(proposed) => {
                if proposed.episode != self.episodes.len() || self.pending().is_some() {
                    return Err(format!("episode {} is not the next", proposed.episode));
                }
                self.rewritten = false;
                self.episodes.push(EpisodeHistory {
                    episode: proposed.episode,
                    plan: Arc::new(proposed.plan),
                    rows: Vec::new(),
                    told: Vec::new(),
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

    /// The episode that was asked for and is not over.
    pub fn pending(&self) -> Option<&EpisodeHistory> {
        self.episodes.last().filter(|e| e.closed.is_none())
    }

    /// Number of the episode that is asked for next (or pending).
    pub fn next(&self) -> usize {
        self.episodes.len() - usize::from(self.pending().is_some())
    }

    /// Measurements that are learned from.
    pub fn measurements(&self) -> usize {
        let told: usize = self.episodes.iter().filter(|e| e.is_used()).map(|e| e.rows.len()).sum();
        told + self.imports.iter().map(|(_, i)| i.rows.len()).sum::<usize>()
    }
}

/// In order of start and time.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
}
