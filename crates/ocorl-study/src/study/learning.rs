//! Restores the learner of a study from its events.

use super::event::{Created, Event, Row, Status};
use super::history::EpisodeHistory;
use super::{Study, StudyError};
use crate::plan_file::Learning;
use crate::system::System;
use ocorl::event::Observer;
use ocorl::learn::{LearnError, Learner};
use ocorl::linalg::Blocks;
use ocorl::measurements::Measurements;
use ocorl::plant::{Reading, RolloutResult};
use ocorl::random::Stream;
use ocorl::simulate::{Outcome, Trajectory};

/// A learner without data.
pub(super) fn new_learner(system: &System, created: &Created) -> Result<Learner, LearnError> {
    fresh(system, &created.settings, created.seed)
}

fn fresh(system: &System, settings: &ocorl::learn::Settings, seed: u64) -> Result<Learner, LearnError> {
    let (task, first) = (system.task.clone(), system.first_control.clone());
    Learner::with_prior(
        task,
        first,
        settings.clone(),
        Stream::root(seed).child("learner"),
        system.prior_mean(),
    )
}

/// Restores the learner that made a plan.
pub fn learner_of(system: &System, learning: &Learning) -> Result<Learner, LearnError> {
    let mut learner = fresh(system, &learning.settings, learning.seed)?;
    learner.restore(learning.memory.clone())?;
    Ok(learner)
}

impl Study {
    /// The learner with all recorded data. It is restored from the checkpoint of the last proposal or, if data that were learned from
    /// before it have changed since, rebuilt from the first event.
    pub fn learner(&mut self) -> Result<&mut Learner, StudyError> {
        self.learner_observed(&mut ())
    }

    /// Does the same as [`learner`](Self::learner); `observer` receives the events of the learning that this needs.
    pub(super) fn learner_observed(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<&mut Learner, StudyError> {
        if self.learner.is_none() {
            let learner = match self.since_last_proposal(observer)? {
                Some(learner) => learner,
                None => self.learned_anew(observer)?,
            };
            self.learner = Some(learner);
        }
        Ok(self.learner.as_mut().expect("it was just made"))
    }

    fn since_last_proposal(&self, observer: &mut dyn Observer) -> Result<Option<Learner>, StudyError> {
        let history = self.history();
        let Some(last) = history.episodes.last().filter(|_| !history.rewritten) else { return Ok(None) };
        let Some(learning) = &last.plan.learner else { return Ok(None) };
        if last.closed.is_some() && !learning.memory.complete {
            return Ok(None);
        }
        let mut learner = learner_of(self.system(), learning)?;
        learner.trust(history.trusted());
        if last.closed.is_some() {
            learner.observe(&executed_of(last), observer);
        }
        Ok(Some(learner))
    }

    /// A learner rebuilt from all events in order.
    pub fn learned_anew(&self, observer: &mut dyn Observer) -> Result<Learner, StudyError> {
        let history = self.history();
        let mut learner = new_learner(self.system(), self.created())?;
        learner.trust(history.trusted());
        let mut imports = history.imports.iter().enumerate().peekable();
        let mut import = |learner: &mut Learner, before: usize, observer: &mut dyn Observer| {
            while let Some((number, (_, imported))) = imports.next_if(|(_, (at, _))| *at <= before) {
                let data = self.measurements(&imported.rows)?;
                learner.import(&data, number, observer)?;
            }
            Ok::<(), StudyError>(())
        };
        for episode in &history.episodes {
            import(&mut learner, episode.episode, observer)?;
            if let Some(learning) = &episode.plan.learner {
                learner.restore_plans(&learning.memory)?;
            }
            if episode.closed.is_some() {
                learner.observe(&executed_of(episode), observer);
            } else if let Some(learning) = &episode.plan.learner {
                // The episode is pending: continue from the checkpoint of its proposal.
                learner.restore(learning.memory.clone())?;
            }
        }
        import(&mut learner, usize::MAX, observer)?;
        Ok(learner)
    }

    /// Imported rows as measurements for the model.
    fn measurements(&self, rows: &[Row]) -> Result<Measurements, StudyError> {
        let task = &self.system().task;
        let mut data = Measurements::new(self.created().settings.model_dims(task));
        for row in rows {
            let Row { t, x, x_dot, .. } = row;
            let derivative = x_dot.as_deref().unwrap_or_default();
            data.push(*t, x, &reading(row).inputs(), derivative, &task.noise_std)
                .map_err(|error| StudyError::Model(error.into()))?;
        }
        Ok(data)
    }

    /// A learner without data.
    pub fn new_learner(&self) -> Result<Learner, StudyError> {
        Ok(new_learner(self.system(), self.created())?)
    }

    /// Takes over a learner that has processed all completed episodes in order, if none is pending.
    pub(crate) fn adopt(&mut self, learner: Learner) {
        self.learner = Some(learner);
    }

    /// Runs `act` and lets `observer` receive the events of the learning it causes.
    pub fn watched_by<T>(&mut self, observer: &mut dyn Observer, act: impl FnOnce(&mut Study) -> T) -> T {
        // Learning is deferred until `act` has recorded everything, and is then done here with the observer.
        self.deferred = Some(Vec::new());
        let done = act(self);
        for episode in self.deferred.take().unwrap_or_default() {
            if let Some(learner) = &mut self.learner {
                learner.observe(&executed_of(&self.history.episodes[episode]), observer);
            }
        }
        // What was recorded is safe; a diagnosis that cannot be recorded now is recorded with the next proposal.
        let _ = self.diagnose();
        done
    }

    /// Records the learner's diagnosis of the data, if it differs from the recorded one.
    pub(super) fn diagnose(&mut self) -> Result<(), StudyError> {
        let due = self.history.pending().is_none() && !self.history.episodes.is_empty();
        if !due || self.deferred.is_some() {
            return Ok(());
        }
        let diagnosis = self.learner()?.diagnosis().clone();
        if diagnosis == self.history.diagnosis { Ok(()) } else { self.keep(&[Event::Diagnosed(diagnosis)]) }
    }

    /// Updates the learner, if it is loaded, with new events.
    pub(super) fn learn_from(&mut self, events: &[Event]) {
        if self.history.rewritten {
            self.learner = None;
            return;
        }
        for event in events {
            let Event::Closed(closed) = event else { continue };
            if let Some(deferred) = &mut self.deferred {
                deferred.push(closed.episode);
            } else if let Some(learner) = &mut self.learner {
                learner.observe(&executed_of(&self.history.episodes[closed.episode]), &mut ());
            }
        }
    }
}

/// Results of all rollouts of an episode; empty if it is excluded from learning.
pub fn executed_of(episode: &EpisodeHistory) -> Vec<RolloutResult> {
    let used = episode.is_used();
    episode.plan.rollouts.iter().map(|table| rollout_result(episode, table.start, used)).collect()
}

/// Result of the rollout from initial state `start`; without its readings unless they are `used`.
pub(super) fn rollout_result(episode: &EpisodeHistory, start: usize, used: bool) -> RolloutResult {
    let end = episode.ends().rev().find(|end| end.start == start);
    let failed = episode.closed.as_ref().filter(|closed| closed.status == Status::Failed);
    let reported = end.and_then(|end| end.outcome.as_deref()).or(failed.map(|c| c.outcome.as_str()));
    let outcome = reported.map_or(Outcome::Completed, Outcome::from);
    let mine = episode.rows.iter().filter(|row| row.start == start && used && !episode.is_excluded(row));
    let cost = end.and_then(|end| end.cost).unwrap_or(f64::NAN);
    let trajectory = applied(episode, start);
    RolloutResult { trajectory, ..RolloutResult::measured(mine.map(reading).collect(), outcome, cost) }
}

/// The recorded controls of a rollout; its states are not known.
fn applied(episode: &EpisodeHistory, start: usize) -> Trajectory {
    let mut trajectory = Trajectory::default();
    for control in episode.told.iter().flat_map(|told| &told.controls).filter(|c| c.start == start) {
        if trajectory.times.is_empty() {
            trajectory.controls = Blocks::zeros(control.u.len(), 0);
        }
        trajectory.times.push(control.t);
        trajectory.controls.push(&control.u);
    }
    trajectory
}

fn reading(row: &Row) -> Reading {
    Reading {
        time: row.t,
        state: row.x.clone(),
        control: row.u.clone(),
        derivative: row.x_dot.clone(),
        interval: row.interval,
    }
}
