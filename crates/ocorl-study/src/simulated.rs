//! A study of a simulated system: asked, run, told, and judged by somebody who knows the truth. Stopped at any moment, it goes on where it
//! was: the episodes that are over are run once more from their plans (nothing is planned anew) and must give what was told of them.

use crate::measured::Measured;
use crate::mistake::Mistake;
use crate::study::{Applied, End, EpisodeHistory, Row, Study, StudyError, Telling, executed_of};
use ocorl::event::Observer;
use ocorl::learn::{Episode, Judge, Learner, Proposal};
use ocorl::model::StatisticalModel;
use ocorl::plant::{Executed, Plant, Reading, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A study, a simulated plant, and a judge.
pub struct Simulated {
    study: Study,
    plant: SimulatedPlant,
    judge: Judge,
    /// Goes through the episodes that are over; none when it has caught up.
    behind: Option<Learner>,
    next: usize,
}

impl Simulated {
    /// Goes on with `study`, whose system must have equations; `optimum` is what the best control costs.
    pub fn new(study: Study, optimum: f64) -> Result<Self, StudyError> {
        let system = study.system();
        let Some(truth) = &system.truth else {
            return Err(Mistake::new(format!("nobody knows the equations of '{}'", system.name)).into());
        };
        if !study.history().imports.is_empty() {
            let message = "the study learns from old logs too, which no simulation gave";
            return Err(Mistake::new(message)
                .hint("go on with: ocorl study ask, ocorl rig, ocorl study tell")
                .into());
        }
        let (task, stream) = (system.task.clone(), Stream::root(study.created().seed));
        let behind = study.history().next() > 0;
        Ok(Simulated {
            plant: SimulatedPlant::new(task.clone(), truth.dynamics(), stream)
                .with_state_noise(study.created().settings.states.noise_std(task.states.len())),
            judge: Judge::new(task, truth.dynamics(), optimum),
            behind: if behind { Some(study.new_learner()?) } else { None },
            next: 0,
            study,
        })
    }

    /// A run that is under way ends when this becomes true.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.plant = self.plant.cancelled_by(cancel);
        self
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The next episode: one that is over, run once more, or a new one. None after the last, or if the run was cancelled: then nothing was
    /// told, and it stays pending.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<Episode>, StudyError> {
        if self.next >= self.study.episodes() {
            return Ok(None);
        }
        match self.behind.take() {
            Some(learner) => self.again(learner, observer),
            None => self.new_episode(observer),
        }
    }

    fn new_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<Episode>, StudyError> {
        let Some(mut proposal) = self.study.proposal(observer)? else { return Ok(None) };
        let before = known(self.study.learner()?);
        let executed: Vec<Executed> = proposal.legs.iter_mut().map(|leg| self.plant.run(leg)).collect();
        if executed.iter().any(|leg| matches!(leg.outcome, Outcome::Cancelled { .. })) {
            return Ok(None);
        }
        self.study.watched_by(observer, |study| {
            let told = measured(&executed);
            if told.rows.is_empty() {
                return study.fail(Some(proposal.episode), "nothing was measured").map(|_| ());
            }
            study.tell(Some(proposal.episode), told, "simulation", Telling::Whole).map(|_| ())
        })?;
        self.next += 1;
        let learner = self.study.learner()?;
        let (after, count) = (learner.model().clone(), learner.data().len());
        Ok(Some(self.judged(proposal, executed, before.as_deref(), after.as_ref(), count)))
    }

    /// An episode that is over.
    fn again(
        &mut self,
        mut learner: Learner,
        observer: &mut dyn Observer,
    ) -> Result<Option<Episode>, StudyError> {
        let over = self.study.history().episodes[self.next].clone();
        let before = known(&learner);
        let mut proposal = match &over.plan.learner {
            Some(learning) => {
                learner.recall_plans(&learning.memory)?;
                learner.proposal()
            }
            None => learner.propose(observer),
        };
        let executed: Vec<Executed> = proposal.legs.iter_mut().map(|leg| self.plant.run(leg)).collect();
        if executed.iter().any(|leg| matches!(leg.outcome, Outcome::Cancelled { .. })) {
            return Ok(None);
        }
        self.same(&over, &executed)?;
        learner.observe(&executed_of(&over), observer);
        self.next += 1;
        let (after, count) = (learner.model().clone(), learner.data().len());
        if self.next < self.study.history().next() {
            self.behind = Some(learner);
        } else {
            self.study.adopt(learner);
        }
        Ok(Some(self.judged(proposal, executed, before.as_deref(), after.as_ref(), count)))
    }

    /// What is run once more must give what was told.
    fn same(&self, over: &EpisodeHistory, executed: &[Executed]) -> Result<(), StudyError> {
        let rows = |rows: &[Row]| {
            rows.iter().map(|r| (r.start, r.t, r.x.clone(), r.x_dot.clone())).collect::<Vec<_>>()
        };
        let mut told = measured(executed);
        told.rows.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
        if rows(&told.rows) == rows(&over.rows) {
            return Ok(());
        }
        let (theirs, ours) = (&self.study.created().version, env!("CARGO_PKG_VERSION"));
        Err(Mistake::new(format!("episode {} run once more does not give what was told of it", over.episode))
            .detail(
                "cause",
                format!("another version made the study ({theirs}, this is {ours}), or another processor"),
            )
            .hint("go on where it was made, or give another folder with --out")
            .into())
    }

    fn judged(
        &mut self,
        proposal: Proposal,
        executed: Vec<Executed>,
        before: Option<&dyn StatisticalModel>,
        after: &dyn StatisticalModel,
        measurements: usize,
    ) -> Episode {
        let record = self.judge.judge(&proposal, &executed, before, after, measurements);
        let foreseen = proposal.legs.iter().map(|leg| leg.schedule.foreseen().to_vec()).collect();
        Episode { record, plans: proposal.plans, executed, foreseen }
    }
}

/// The model, if something is known.
fn known(learner: &Learner) -> Option<Arc<dyn StatisticalModel>> {
    (!learner.data().is_empty()).then(|| learner.model().clone())
}

/// A reading, as it is told.
pub(crate) fn row(start: usize, reading: &Reading) -> Row {
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

/// What was applied along the way, if that matters: only where states are all that was measured.
pub(crate) fn controls(start: usize, leg: &Executed) -> Vec<Applied> {
    let states = leg.readings.iter().any(|reading| reading.derivative.is_none());
    let path = &leg.trajectory;
    let each = path.times.iter().zip(path.controls.iter()).filter(|_| states);
    each.map(|(t, u)| Applied { start, t: *t, u: u.to_vec() }).collect()
}

/// What the legs gave, as it is told: what is not a number cannot be.
fn measured(executed: &[Executed]) -> Measured {
    let mut measured = Measured::default();
    for (start, leg) in executed.iter().enumerate() {
        measured.ends.push(End { start, cost: Some(leg.cost), outcome: Some(leg.outcome.to_string()) });
        measured.controls.extend(controls(start, leg));
        let finite = |r: &&Reading| {
            r.state.iter().chain(&r.control).chain(r.derivative.iter().flatten()).all(|v| v.is_finite())
        };
        measured.rows.extend(leg.readings.iter().filter(finite).map(|reading| row(start, reading)));
    }
    measured
}
