//! A benchmark learned in simulation, from the first episode to the last, in memory.

use super::episode_loop::EpisodeLoop;
use super::evaluator::{Episode, Evaluator};
use super::learner::{LearnError, Learner};
use super::settings::Settings;
use crate::event::Observer;
use crate::measurements::Measurements;
use crate::model::{Mean, ModelError, Parametric};
use crate::plant::SimulatedPlant;
use crate::random::Stream;
use crate::system::KnownSystem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The [episode loop](EpisodeLoop) of a learner and a simulated plant, with an evaluator that has access to the true system.
///
/// ```
/// use ocorl::learn::{Settings, Trial};
/// use ocorl::system::Benchmark;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let settings = Settings { episodes: 3, ..Settings::for_system(&pendulum) };
/// let mut trial = Trial::new(&pendulum, settings, 0, 20.16)?;
/// let mut costs = Vec::new();
/// while let Some(episode) = trial.next_episode(&mut ()) {
///     costs.push(episode.record.cost);
/// }
/// assert_eq!(costs.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trial {
    episodes: EpisodeLoop<Learner, SimulatedPlant>,
    evaluator: Evaluator,
}

impl Trial {
    /// Creates a trial of `benchmark` with optimal cost `optimum`; all random numbers are derived from `seed`.
    pub fn new(
        benchmark: &KnownSystem,
        settings: Settings,
        seed: u64,
        optimum: f64,
    ) -> Result<Self, LearnError> {
        let (stream, task) = (Stream::root(seed), benchmark.task.clone());
        let first = benchmark.first_control.clone();
        let values: Vec<f64> = benchmark.parameters.iter().map(|p| p.value).collect();
        let prior = benchmark
            .prior
            .clone()
            .map_or(Mean::Zero, |build| Parametric::new(build, values, benchmark.unknown.clone()).mean());
        let noise = settings.states.noise_std(task.states.len());
        let learner =
            Learner::with_prior(task.clone(), first, settings.clone(), stream.child("learner"), prior)?;
        let plant = SimulatedPlant::new(task.clone(), benchmark.dynamics(), stream).with_state_noise(noise);
        Ok(Trial {
            episodes: EpisodeLoop { journal: learner, plant },
            evaluator: Evaluator::new(task, benchmark.dynamics(), settings, optimum)
                .with_best_known(!benchmark.is_as_published()),
        })
    }

    /// Sets a flag that cancels the trial: a running rollout ends when it becomes true.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.episodes.plant.cancel_by(cancel);
        self
    }

    /// Returns the learner in its current state.
    pub fn learner(&self) -> &Learner {
        &self.episodes.journal
    }

    /// Learns from measurements of other origin. If it does so before the first episode, that one is planned on them.
    pub fn import(&mut self, data: &Measurements, observer: &mut dyn Observer) -> Result<(), LearnError> {
        let learner = &mut self.episodes.journal;
        if data.dims() != learner.data().dims() {
            let need = "they must be those of the task";
            let value = format!("{:?}", data.dims());
            return Err(ModelError::Setting { what: "dimensions of the measurements", value, need }.into());
        }
        Ok(learner.import(data, 0, observer)?)
    }

    /// Runs and evaluates the next episode; `None` after the last one and if the trial was cancelled.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Option<Episode> {
        let Ok(run) = self.episodes.next_episode(observer);
        run.map(|run| self.evaluator.evaluate(run))
    }

    /// Returns the loop and the evaluator, for access to the models before and after each episode.
    pub fn into_parts(self) -> (EpisodeLoop<Learner, SimulatedPlant>, Evaluator) {
        (self.episodes, self.evaluator)
    }
}
