//! The learner of a study, made again from its events.

use super::event::{Created, Event, Row, Status};
use super::history::EpisodeHistory;
use super::{Study, StudyError};
use crate::plan_file::{Learning, PlanFile};
use crate::system::System;
use ocorl::event::Observer;
use ocorl::learn::{LearnError, Learner, Proposal};
use ocorl::linalg::Blocks;
use ocorl::measurements::Measurements;
use ocorl::plant::{Executed, Reading};
use ocorl::random::Stream;
use ocorl::simulate::{Outcome, Trajectory};

/// A learner that knows nothing yet.
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

/// The learner that made a plan.
pub fn learner_of(system: &System, learning: &Learning) -> Result<Learner, LearnError> {
    let mut learner = fresh(system, &learning.settings, learning.seed)?;
    learner.recall(learning.memory.clone())?;
    Ok(learner)
}

/// The runs of a plan as the learner that made it would make them: its policies, its schedules. None if the plan does not say who made it.
pub fn legs(system: &System, plan: &PlanFile) -> Result<Option<Proposal>, LearnError> {
    plan.learner
        .as_ref()
        .map(|learning| learner_of(system, learning).map(|learner| learner.proposal()))
        .transpose()
}

impl Study {
    /// What has been learned, made again from the events if need be: from what was written down with the last proposal, or, if something that
    /// was learned from before it has changed since, from the beginning.
    pub fn learner(&mut self) -> Result<&mut Learner, StudyError> {
        if self.learner.is_none() {
            let learner = match self.since_last_proposal()? {
                Some(learner) => learner,
                None => self.learned_anew(&mut ())?,
            };
            self.learner = Some(learner);
        }
        Ok(self.learner.as_mut().expect("it was just made"))
    }

    fn since_last_proposal(&self) -> Result<Option<Learner>, StudyError> {
        let history = self.history();
        let Some(last) = history.episodes.last().filter(|_| !history.rewritten) else { return Ok(None) };
        let Some(learning) = &last.plan.learner else { return Ok(None) };
        if last.closed.is_some() && !learning.memory.complete {
            return Ok(None);
        }
        let mut learner = learner_of(self.system(), learning)?;
        if last.closed.is_some() {
            learner.observe(&executed_of(last), &mut ());
        }
        Ok(Some(learner))
    }

    /// Everything once more, in order.
    pub fn learned_anew(&self, observer: &mut dyn Observer) -> Result<Learner, StudyError> {
        let history = self.history();
        let mut learner = new_learner(self.system(), self.created())?;
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
                learner.recall_plans(&learning.memory)?;
            }
            if episode.closed.is_some() {
                learner.observe(&executed_of(episode), observer);
            } else if let Some(learning) = &episode.plan.learner {
                // Pending: it follows what was proposed.
                learner.recall(learning.memory.clone())?;
            }
        }
        import(&mut learner, usize::MAX, observer)?;
        Ok(learner)
    }

    /// What no episode gave, as data.
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

    /// A learner that knows nothing yet.
    pub fn new_learner(&self) -> Result<Learner, StudyError> {
        Ok(new_learner(self.system(), self.created())?)
    }

    /// Takes over a learner that has gone through all episodes that are over, in order.
    pub(crate) fn adopt(&mut self, learner: Learner) {
        self.learner = self.history.pending().is_none().then_some(learner);
    }

    /// Lets somebody watch what is learned from what `act` tells.
    pub fn watched_by<T>(&mut self, observer: &mut dyn Observer, act: impl FnOnce(&mut Study) -> T) -> T {
        // Learning waits until `act` has told everything, and is done here, where it can be watched.
        self.deferred = Some(Vec::new());
        let done = act(self);
        for episode in self.deferred.take().unwrap_or_default() {
            if let Some(learner) = &mut self.learner {
                learner.observe(&executed_of(&self.history.episodes[episode]), observer);
            }
        }
        done
    }

    /// Lets the learner, if there is one, know what has happened.
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

/// What an episode gave, leg after leg; nothing if it is not learned from.
pub fn executed_of(episode: &EpisodeHistory) -> Vec<Executed> {
    let leg = |start: usize| {
        let end = episode.ends().rev().find(|end| end.start == start);
        let failed = episode.closed.as_ref().filter(|closed| closed.status == Status::Failed);
        let outcome = match end.and_then(|end| end.outcome.as_deref()).or(failed.map(|c| c.outcome.as_str()))
        {
            None | Some("completed") => Outcome::Completed,
            Some(other) => Outcome::Reported { what: other.into() },
        };
        let mine = episode.rows.iter().filter(|row| row.start == start && episode.is_used());
        Executed {
            outcome,
            cost: end.and_then(|end| end.cost).unwrap_or(f64::NAN),
            readings: mine.map(reading).collect(),
            synchronizations: Vec::new(),
            trajectory: applied(episode, start),
            jumps: Trajectory::default(),
        }
    };
    episode.plan.legs.iter().map(|table| leg(table.start)).collect()
}

/// The controls of a leg as they were told; its states are not known.
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
