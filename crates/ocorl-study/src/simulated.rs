//! A study of a simulated system: the episode loop over a [`StudyJournal`] with a simulated plant, and an evaluator that knows the true
//! system. A study interrupted at any time can be resumed.

use crate::episode_model::{self, Stage};
use crate::planned_episodes::PlannedEpisodes;
use crate::study::{Study, StudyError, StudyJournal};
use crate::study_loop::{StudyLoop, traced};
use crate::trace::{Health, Trace};
use crate::user_error::{Hint, UserError};
use ocorl::event::Observer;
use ocorl::learn::{Episode, EpisodeLoop, Evaluator};
use ocorl::plant::SimulatedPlant;
use ocorl::random::Stream;
use ocorl::system::KnownSystem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A study with a simulated plant and an evaluator.
pub struct Simulated {
    episodes: StudyLoop<Study, SimulatedPlant>,
    evaluator: Evaluator,
}

impl Simulated {
    /// Resumes `study`, whose system must have equations; `optimum` is the cost of the optimum (known dynamics).
    pub fn new(study: Study, optimum: f64) -> Result<Self, StudyError> {
        let system = study.system();
        let Some(truth) = &system.truth else {
            return Err(UserError::new(format!("the equations of '{}' are not known", system.name)).into());
        };
        if !study.history().imports.is_empty() {
            let message = "the study also contains imported measurements, which cannot be simulated";
            return Err(UserError::new(message).hint(Hint::RunByHand).into());
        }
        let settings = study.created().settings.clone();
        let evaluator = Evaluator::new(system.task.clone(), truth.dynamics(), settings, optimum)
            .with_best_known(!truth.is_as_published());
        let plant = plant(&study, truth);
        let journal = StudyJournal::replaying(study, SOURCE)?;
        Ok(Simulated { episodes: StudyLoop::new(journal, plant), evaluator })
    }

    /// Cancels a running rollout when `cancel` becomes true.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Arc<AtomicBool>) -> Self {
        self.episodes.plant_mut().cancel_by(cancel.clone());
        self
    }

    /// The underlying study.
    pub fn study(&self) -> &Study {
        self.episodes.study()
    }

    /// The next episode: the replay of a completed one, or a new one. `None` after the last, or if it was cancelled: then nothing is
    /// recorded and the episode stays pending.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<Episode>, StudyError> {
        let Some((run, trace)) = self.episodes.next_episode(observer)? else { return Ok(None) };
        let episode = self.evaluator.evaluate(run);
        if let Some(mut trace) = trace {
            let record = &episode.record;
            self.episodes.cost(record.cost);
            (trace.information_gain, trace.uncertainty) = (Some(record.information_gain), record.uncertainty);
            // The trace is optional: figures only show less without it.
            let _ = trace.write(self.study().store().folder());
        }
        Ok(Some(episode))
    }
}

/// Source of measurements, as recorded in the study.
pub const SOURCE: &str = "simulation";

/// The simulated plant of `study`, with its measurement noise.
fn plant(study: &Study, truth: &KnownSystem) -> SimulatedPlant {
    let (task, created) = (&study.system().task, study.created());
    SimulatedPlant::new(task.clone(), truth.dynamics(), Stream::root(created.seed))
        .with_state_noise(created.settings.states.noise_std(task.states.len()))
}

/// Time after which a replay is given up. A controller with a degenerate model may take a very small step after the other.
const PATIENCE: Duration = Duration::from_secs(60);

/// The trace of an episode of `study`, as far as `known`, completed: a simulated episode is run again as it was planned, and the models
/// around it are rebuilt from the checkpoints in the plans. `None` if nothing is missing or nothing can be added. Durations cannot be
/// reconstructed.
pub fn retrace(study: &Study, episode: usize, known: Option<&Trace>) -> Result<Option<Trace>, StudyError> {
    let Some(over) = study.history().episodes.get(episode) else { return Ok(None) };
    let mut trace = known.cloned().unwrap_or(Trace { episode, ..Trace::default() });
    if trace.paths.is_empty()
        && let Some(again) = run_again(study, episode, PATIENCE)?
    {
        (trace.paths, trace.control) = (again.paths, again.control.or(trace.control));
    }
    if over.plan.learner.is_some()
        && trace.model.as_ref().is_none_or(|model| model.stage < Stage::of(study, episode))
    {
        // Stored even if it is empty, so that it is not computed again.
        trace.model = Some(episode_model::rebuilt(study, &trace)?);
    }
    Ok((known != Some(&trace)).then_some(trace))
}

/// Completes the stored traces of the last two episodes of `study`, after one of them was planned or recorded. Errors are ignored:
/// figures only show less without traces.
pub fn keep_traces(study: &Study) {
    let folder = study.store().folder();
    let last = study.history().episodes.len();
    for episode in last.saturating_sub(2)..last {
        let known = Trace::read(folder, episode);
        if let Ok(Some(trace)) = retrace(study, episode, known.as_ref()) {
            let _ = trace.write(folder);
        }
    }
}

/// A simulated episode, run again as it was planned; `None` if it was not simulated, if its plan carries no learner, or if the replay
/// takes longer than `patience`.
pub fn run_again(study: &Study, episode: usize, patience: Duration) -> Result<Option<Trace>, StudyError> {
    let (history, system) = (study.history(), study.system());
    let (Some(over), Some(truth)) = (history.episodes.get(episode), &system.truth) else { return Ok(None) };
    if over.told.is_empty() || over.told.iter().any(|told| told.source != SOURCE) {
        return Ok(None);
    }
    let Some(journal) = PlannedEpisodes::as_planned(system, &over.plan)? else { return Ok(None) };
    let stop = Arc::new(AtomicBool::new(patience.is_zero()));
    let mut plant = plant(study, truth);
    plant.cancel_by(stop.clone());
    // The sender is dropped at the end of the replay, which ends the thread.
    let (_replaying, ended) = channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let Ok(run) = EpisodeLoop { journal, plant }.next_episode(&mut ());
    let health = || Health::new(study.created().settings.track.period);
    Ok(run.map(|run| traced(&run, &system.task.control_bounds, health())))
}
