//! A study of a simulated system: asked, run, told, and judged by somebody who knows the truth. Stopped at any moment, it goes on where it
//! was: the episodes that are over are run once more from their plans (nothing is planned anew) and must give what was told of them.

use crate::live::{Heard, Teller, Watched};
use crate::measured::Measured;
use crate::mistake::Mistake;
use crate::study::{Applied, End, EpisodeHistory, Row, Study, StudyError, Telling, executed_of, legs};
use crate::trace::{Health, Trace, Way, saturated};
use ocorl::event::Observer;
use ocorl::learn::{Episode, Judge, Learner, Proposal};
use ocorl::model::StatisticalModel;
use ocorl::plant::{Executed, Plant, Reading, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl::system::Benchmark;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A study, a simulated plant, and a judge.
pub struct Simulated {
    study: Study,
    plant: SimulatedPlant,
    judge: Judge,
    /// Goes through the episodes that are over; none when it has caught up.
    behind: Option<Learner>,
    next: usize,
    teller: Arc<Teller>,
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
        let (plant, task) = (plant(&study, truth), system.task.clone());
        let behind = study.history().next() > 0;
        Ok(Simulated {
            plant,
            teller: Arc::new(Teller::begin(study.store().folder(), task.horizon)),
            judge: Judge::new(task, truth.dynamics(), study.created().settings.clone(), optimum),
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
        let teller = self.teller.clone();
        let observer = &mut Heard { teller: &teller, observer };
        let (begin, pending) = (Instant::now(), self.study.history().pending().is_some());
        let Some(mut proposal) = self.study.proposal(observer)? else { return Ok(None) };
        let mut trace = Trace { episode: proposal.episode, ..Trace::default() };
        trace.planning_seconds = (!pending).then(|| begin.elapsed().as_secs_f64());
        let before = known(self.study.learner()?);
        let Some(executed) = self.watched(&mut proposal, &mut trace) else { return Ok(None) };
        let begin = Instant::now();
        self.study.watched_by(observer, |study| {
            let told = measured(&executed);
            if told.rows.is_empty() {
                return study.fail(Some(proposal.episode), "nothing was measured").map(|_| ());
            }
            study.tell(Some(proposal.episode), told, SOURCE, Telling::Whole).map(|_| ())
        })?;
        trace.learning_seconds = Some(begin.elapsed().as_secs_f64());
        self.next += 1;
        let learner = self.study.learner()?;
        let (after, count) = (learner.model().clone(), learner.data().len());
        let episode = self.judged(proposal, executed, before.as_deref(), after.as_ref(), count);
        let record = &episode.record;
        teller.cost(record.cost);
        (trace.information_gain, trace.uncertainty) = (Some(record.information_gain), record.uncertainty);
        // Pictures can do without it.
        let _ = trace.write(self.study.store().folder());
        Ok(Some(episode))
    }

    /// Runs all legs for everybody to see; none if that was cancelled.
    fn watched(&mut self, proposal: &mut Proposal, trace: &mut Trace) -> Option<Vec<Executed>> {
        let controls = self.study.system().task.controls.len();
        let health = Arc::new(Mutex::new(Health::new(self.study.created().settings.track.period)));
        let begin = Instant::now();
        proposal.legs = std::mem::take(&mut proposal.legs)
            .into_iter()
            .map(|leg| Watched::leg(leg, controls, &self.teller, &health))
            .collect();
        let executed = run(&mut self.plant, proposal)?;
        trace.running_seconds = Some(begin.elapsed().as_secs_f64());
        let health = health.lock().unwrap_or_else(PoisonError::into_inner).clone();
        see(trace, &self.study, proposal, &executed, health);
        Some(executed)
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
        let Some(executed) = run(&mut self.plant, &mut proposal) else { return Ok(None) };
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
        let cause = if theirs == ours {
            "other equations than then, or another processor".into()
        } else {
            format!("another version made the study ({theirs}, this is {ours})")
        };
        Err(Mistake::new(format!("episode {} run once more does not give what was told of it", over.episode))
            .detail("cause", cause)
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

/// Who tells what a simulation measured.
const SOURCE: &str = "simulation";

/// What is to be controlled, as `study` says: with its noise.
fn plant(study: &Study, truth: &Benchmark) -> SimulatedPlant {
    let (task, created) = (&study.system().task, study.created());
    SimulatedPlant::new(task.clone(), truth.dynamics(), Stream::root(created.seed))
        .with_state_noise(created.settings.states.noise_std(task.states.len()))
}

/// Runs all legs; none if that was cancelled.
fn run(plant: &mut SimulatedPlant, proposal: &mut Proposal) -> Option<Vec<Executed>> {
    let executed: Vec<Executed> = proposal.legs.iter_mut().map(|leg| plant.run(leg)).collect();
    let cancelled = |leg: &Executed| matches!(leg.outcome, Outcome::Cancelled { .. });
    (!executed.iter().any(cancelled)).then_some(executed)
}

/// Notes what is to be seen of some runs.
fn see(trace: &mut Trace, study: &Study, proposal: &Proposal, executed: &[Executed], health: Health) {
    trace.paths = executed.iter().map(|leg| Way::of(&leg.trajectory)).collect();
    let mut rungs = [0; 4];
    let each = proposal.legs.iter().filter_map(|leg| leg.policy.rungs());
    each.for_each(|leg| (0..4).for_each(|i| rungs[i] += leg[i]));
    if rungs != [0; 4] {
        let saturated = saturated(executed, &study.system().task.control_bounds);
        trace.control = Some(Health { rungs, saturated, ..health });
    }
}

/// What was to be seen of an episode of `study`, by running it once more as it was planned. None of what no simulation gave, or whose plan does
/// not say who made it. How long things took is not known any more.
pub fn retrace(study: &Study, episode: usize) -> Result<Option<Trace>, StudyError> {
    let (history, system) = (study.history(), study.system());
    let (Some(over), Some(truth)) = (history.episodes.get(episode), &system.truth) else { return Ok(None) };
    if over.told.is_empty() || over.told.iter().any(|told| told.source != SOURCE) {
        return Ok(None);
    }
    let Some(mut proposal) = legs(system, &over.plan)? else { return Ok(None) };
    let Some(executed) = run(&mut plant(study, truth), &mut proposal) else { return Ok(None) };
    let mut trace = Trace { episode, ..Trace::default() };
    see(&mut trace, study, &proposal, &executed, Health::new(study.created().settings.track.period));
    Ok(Some(trace))
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
    let path = leg.applied();
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
