//! A study of a simulated system: the episode loop over a [`StudyJournal`] with a simulated plant, and an evaluator that knows the true
//! system. A study interrupted at any time can be resumed.

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
use std::sync::atomic::AtomicBool;

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
        let evaluator = Evaluator::new(system.task.clone(), truth.dynamics(), settings, optimum);
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
const SOURCE: &str = "simulation";

/// The simulated plant of `study`, with its measurement noise.
fn plant(study: &Study, truth: &KnownSystem) -> SimulatedPlant {
    let (task, created) = (&study.system().task, study.created());
    SimulatedPlant::new(task.clone(), truth.dynamics(), Stream::root(created.seed))
        .with_state_noise(created.settings.states.noise_std(task.states.len()))
}

/// Trace of an episode of `study`, reconstructed by replaying it as it was planned. `None` if the episode was not simulated or its plan
/// carries no learner. Durations cannot be reconstructed.
pub fn retrace(study: &Study, episode: usize) -> Result<Option<Trace>, StudyError> {
    let (history, system) = (study.history(), study.system());
    let (Some(over), Some(truth)) = (history.episodes.get(episode), &system.truth) else { return Ok(None) };
    if over.told.is_empty() || over.told.iter().any(|told| told.source != SOURCE) {
        return Ok(None);
    }
    let Some(journal) = PlannedEpisodes::as_planned(system, &over.plan)? else { return Ok(None) };
    let Ok(run) = EpisodeLoop { journal, plant: plant(study, truth) }.next_episode(&mut ());
    let health = || Health::new(study.created().settings.track.period);
    Ok(run.map(|run| traced(&run, &system.task.control_bounds, health())))
}
