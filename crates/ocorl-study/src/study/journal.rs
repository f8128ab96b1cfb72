//! A study as the journal of an [episode loop](ocorl::learn::EpisodeLoop): plans and measurements are recorded on disk, and completed
//! episodes are replayed from there.

use super::event::{Applied, End, Row};
use super::history::EpisodeHistory;
use super::learning::{executed_of, rollout_result};
use super::{Study, StudyError, Telling};
use crate::measured::Measured;
use crate::plan_file::PlanFile;
use crate::run::text_report::ending;
use crate::user_error::UserError;
use ocorl::event::Observer;
use ocorl::learn::{Journal, Learner, Proposal};
use ocorl::plant::{Reading, Rollout, RolloutResult};
use ocorl::simulate::Outcome;
use ocorl::states::StateSettings;
use ocorl::system::Quantity;
use std::borrow::BorrowMut;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The plan of the episode in progress, shared between a journal and a plant that executes `plan.json`.
#[derive(Clone, Debug, Default)]
pub struct PendingPlan(Arc<Mutex<Option<Arc<PlanFile>>>>);

impl PendingPlan {
    /// The plan; `None` before the first episode.
    pub fn get(&self) -> Option<Arc<PlanFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, plan: Option<Arc<PlanFile>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}

/// Adapter that makes a study (`Study` or `&mut Study`) a journal.
pub struct StudyJournal<S> {
    study: S,
    /// Source of measurements, as recorded in the study.
    source: &'static str,
    /// Whether the plant is deterministic: then completed episodes are replayed, and each episode is recorded as a whole.
    repeatable: bool,
    /// Number of the next episode.
    next: usize,
    /// Learner that replays completed episodes; `None` when all have been replayed.
    replay: Option<Learner>,
    /// Learner after the last replayed episode, until the pending episode, whose plan carries its own learner, continues.
    replayed: Option<Learner>,
    plan: PendingPlan,
    /// Seconds spent on planning the last episode; `None` if it was pending or replayed.
    pub(crate) planning_seconds: Option<f64>,
    /// Seconds spent on learning from the last episode; `None` if it was replayed.
    pub(crate) learning_seconds: Option<f64>,
}

impl<S: BorrowMut<Study>> StudyJournal<S> {
    /// Journal for a deterministic plant. Completed episodes come first: they are replayed from their plans (without planning again) and
    /// must reproduce the recorded measurements.
    pub fn replaying(study: S, source: &'static str) -> Result<Self, StudyError> {
        let over = study.borrow().history().next();
        let replay = if over > 0 { Some(study.borrow().new_learner()?) } else { None };
        Ok(StudyJournal { repeatable: true, next: 0, replay, ..StudyJournal::recording(study, source) })
    }

    /// Journal for a plant that cannot be replayed. Completed episodes are skipped, and the measurements of one rollout are on disk before
    /// the next begins.
    pub fn recording(study: S, source: &'static str) -> Self {
        StudyJournal {
            next: study.borrow().history().next(),
            study,
            source,
            repeatable: false,
            replay: None,
            replayed: None,
            plan: PendingPlan::default(),
            planning_seconds: None,
            learning_seconds: None,
        }
    }

    /// The underlying study.
    pub fn study(&self) -> &Study {
        self.study.borrow()
    }

    /// Whether the next episode is completed already and will be replayed.
    pub fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// The plan of the episode in progress, for a plant that executes `plan.json`.
    pub fn pending_plan(&self) -> PendingPlan {
        self.plan.clone()
    }

    /// A completed episode as it was proposed.
    fn ask_again(
        &mut self,
        mut learner: Learner,
        observer: &mut dyn Observer,
    ) -> Result<Proposal, StudyError> {
        let over = &self.study.borrow().history().episodes[self.next];
        let proposal = match &over.plan.learner {
            Some(learning) => {
                learner.restore_plans(&learning.memory)?;
                learner.proposal()
            }
            None => learner.propose(observer),
        };
        self.replay = Some(learner);
        Ok(proposal)
    }

    /// Handles the results of a replayed episode; the recorded measurements are learned from.
    fn tell_again(
        &mut self,
        mut learner: Learner,
        results: &[RolloutResult],
        observer: &mut dyn Observer,
    ) -> Result<(), StudyError> {
        let study = self.study.borrow_mut();
        let over = &study.history().episodes[self.next];
        same(study, over, results)?;
        learner.observe(&executed_of(over), observer);
        self.next += 1;
        if self.next < study.history().next() {
            self.replay = Some(learner);
        } else if study.history().pending().is_some() {
            self.replayed = Some(learner);
        } else {
            study.adopt(learner);
        }
        Ok(())
    }

    /// Whether the rollout from initial state `start` of the pending episode is on disk already.
    fn is_recorded(&self, start: usize) -> bool {
        let pending = self.study.borrow().history().pending().filter(|_| !self.repeatable);
        pending.is_some_and(|pending| pending.rows.iter().any(|row| row.start == start))
    }
}

impl<S: BorrowMut<Study>> Journal for StudyJournal<S> {
    type Error = StudyError;

    fn ask(&mut self, observer: &mut dyn Observer) -> Result<Option<Proposal>, StudyError> {
        (self.planning_seconds, self.learning_seconds) = (None, None);
        self.replayed = None;
        if self.repeatable && self.next >= self.study.borrow().episodes() {
            return Ok(None);
        }
        if let Some(learner) = self.replay.take() {
            return self.ask_again(learner, observer).map(Some);
        }
        let study = self.study.borrow_mut();
        let (begin, pending) = (Instant::now(), study.history().pending().is_some());
        let proposal = study.proposal(observer)?;
        self.planning_seconds = (!pending).then(|| begin.elapsed().as_secs_f64());
        self.plan.set(study.history().pending().map(|pending| pending.plan.clone()));
        Ok(proposal)
    }

    fn recorded(&self, rollout: &Rollout) -> Option<RolloutResult> {
        let pending = self.study.borrow().history().pending().filter(|_| self.is_recorded(rollout.start))?;
        Some(rollout_result(pending, rollout.start, true))
    }

    fn record(&mut self, rollout: &Rollout, result: &RolloutResult) -> Result<(), StudyError> {
        let study = self.study.borrow_mut();
        let rollouts = study.history().pending().map_or(0, |pending| pending.plan.rollouts.len());
        // The last rollout is recorded together with the end of the episode.
        if self.repeatable || result.readings.is_empty() || rollout.start + 1 >= rollouts {
            return Ok(());
        }
        let measured = Measured::of(&study.system().task.states, [(rollout.start, result)]);
        study.tell(Some(rollout.episode), measured, self.source, Telling::More).map(|_| ())
    }

    fn tell(&mut self, results: &[RolloutResult], observer: &mut dyn Observer) -> Result<(), StudyError> {
        if let Some(learner) = self.replay.take() {
            return self.tell_again(learner, results, observer);
        }
        let new = results.iter().enumerate().filter(|(start, _)| !self.is_recorded(*start));
        let mut told = Measured::of(&self.study.borrow().system().task.states, new);
        told.keep_finite(&self.study.borrow().created().settings.states);
        let begin = Instant::now();
        let (next, source) = (self.next, self.source);
        self.study.borrow_mut().watched_by(observer, |study| {
            if !told.rows.is_empty() {
                return study.tell(Some(next), told, source, Telling::Whole).map(|_| ());
            }
            let pending = study.history().pending();
            let empty = pending.is_none_or(|pending| pending.rows.is_empty());
            let reason = if empty { "nothing was measured" } else { "the last run measured nothing" };
            study.fail(Some(next), reason).map(|_| ())
        })?;
        self.learning_seconds = Some(begin.elapsed().as_secs_f64());
        self.next += 1;
        Ok(())
    }

    fn learner(&self) -> Option<&Learner> {
        self.replay.as_ref().or(self.replayed.as_ref()).or(self.study.borrow().learner.as_ref())
    }
}

/// Checks that a replay reproduces the recorded measurements.
fn same(study: &Study, over: &EpisodeHistory, results: &[RolloutResult]) -> Result<(), StudyError> {
    let rows =
        |rows: &[Row]| rows.iter().map(|r| (r.start, r.t, r.x.clone(), r.x_dot.clone())).collect::<Vec<_>>();
    let mut told = Measured::of(&study.system().task.states, results.iter().enumerate());
    told.keep_finite(&study.created().settings.states);
    told.rows.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
    if rows(&told.rows) == rows(&over.rows) {
        return Ok(());
    }
    let (theirs, ours) = (&study.created().version, env!("CARGO_PKG_VERSION"));
    let cause = if theirs == ours {
        "other equations than then, or another processor".into()
    } else {
        format!("another version made the study ({theirs}, this is {ours})")
    };
    Err(UserError::new(format!(
        "replaying episode {} does not reproduce the recorded measurements",
        over.episode
    ))
    .detail("cause", cause)
    .hint(crate::user_error::Hint::ChooseAnotherFolder)
    .into())
}

impl Measured {
    /// Measurements of rollouts, each with the index of its initial state; `states` names the states in the outcomes.
    pub fn of<'a>(
        states: &[Quantity],
        results: impl IntoIterator<Item = (usize, &'a RolloutResult)>,
    ) -> Self {
        let mut measured = Measured::default();
        for (start, result) in results {
            let cost = result.cost.is_finite().then_some(result.cost);
            let outcome = (result.outcome != Outcome::NotReported).then(|| ending(states, &result.outcome));
            if cost.is_some() || outcome.is_some() {
                measured.ends.push(End { start, cost, outcome });
            }
            measured.controls.extend(controls(start, result));
            measured.rows.extend(result.readings.iter().map(|reading| row(start, reading)));
        }
        measured
    }

    /// Removes measurements with numbers that are not finite, which cannot be recorded.
    fn keep_finite(&mut self, settings: &StateSettings) {
        super::telling::without_unmeasured(settings, &mut self.rows);
        self.rows.retain(|row| {
            row.x.iter().chain(&row.u).chain(row.x_dot.iter().flatten()).all(|value| value.is_finite())
        });
    }
}

/// Converts a reading to a measurement row.
fn row(start: usize, reading: &Reading) -> Row {
    Row {
        start,
        t: reading.time,
        x: reading.state.clone(),
        u: reading.control.clone(),
        x_dot: reading.derivative.clone(),
        asked_t: None,
        interval: reading.interval,
    }
}

/// The applied controls, if they are needed: only where states alone were measured.
fn controls(start: usize, result: &RolloutResult) -> Vec<Applied> {
    let states = result.readings.iter().any(|reading| reading.derivative.is_none());
    let path = result.applied();
    let each = path.times.iter().zip(path.controls.iter()).filter(|_| states);
    each.map(|(t, u)| Applied { start, t: *t, u: u.to_vec() }).collect()
}
