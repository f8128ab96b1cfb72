//! A benchmark learned in simulation, from nothing to the last episode.

use super::judge::{Judge, Record};
use super::learner::{Intention, LearnError, Learner};
use super::settings::Settings;
use crate::event::Observer;
use crate::model::{Mean, Physics};
use crate::plant::{Executed, Plant, SimulatedPlant};
use crate::random::Stream;
use crate::select::Foreseen;
use crate::system::Benchmark;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One episode with all that is known of it.
#[derive(Clone, Debug)]
pub struct Episode {
    /// In numbers.
    pub record: Record,
    /// What was to be done from each initial state.
    pub plans: Vec<Option<Intention>>,
    /// What was done.
    pub executed: Vec<Executed>,
    /// What was expected of each interval of each leg, where times were decided online.
    pub foreseen: Vec<Vec<Foreseen>>,
}

/// A learner, a simulated plant, and a judge who knows the truth.
///
/// ```
/// use ocorl::learn::{Settings, Trial};
/// use ocorl::system::Benchmark;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let settings = Settings { episodes: 3, ..Settings::for_benchmark(&pendulum) };
/// let mut trial = Trial::new(&pendulum, settings, 0, 20.16)?;
/// let mut costs = Vec::new();
/// while let Some(episode) = trial.next_episode(&mut ()) {
///     costs.push(episode.record.cost);
/// }
/// assert_eq!(costs.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trial {
    learner: Learner,
    plant: SimulatedPlant,
    judge: Judge,
    episodes: usize,
}

impl Trial {
    /// Of `benchmark`, whose best control costs `optimum`; everything random is drawn below `seed`.
    pub fn new(
        benchmark: &Benchmark,
        settings: Settings,
        seed: u64,
        optimum: f64,
    ) -> Result<Self, LearnError> {
        let (stream, task, episodes) = (Stream::root(seed), benchmark.task.clone(), settings.episodes);
        let first = benchmark.first_control.clone();
        let prior = benchmark.prior_dynamics().map_or(Mean::Zero, |known| Mean::Physics(Physics::new(known)));
        let noise = settings.states.noise_std(task.states.len());
        Ok(Trial {
            learner: Learner::with_prior(
                task.clone(),
                first,
                settings.clone(),
                stream.child("learner"),
                prior,
            )?,
            plant: SimulatedPlant::new(task.clone(), benchmark.dynamics(), stream).with_state_noise(noise),
            judge: Judge::new(task, benchmark.dynamics(), settings, optimum),
            episodes,
        })
    }

    /// A run that is under way ends when this becomes true.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.plant = self.plant.cancelled_by(cancel);
        self
    }

    /// What has been learned so far.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Proposes, runs and observes the next episode; `None` after the last.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Option<Episode> {
        if self.learner.episode() >= self.episodes {
            return None;
        }
        let before = (!self.learner.data().is_empty()).then(|| self.learner.model().clone());
        let mut proposal = self.learner.propose(observer);
        let executed: Vec<Executed> = proposal.legs.iter_mut().map(|leg| self.plant.run(leg)).collect();
        self.learner.observe(&executed, observer);
        let (after, measurements) = (self.learner.model().as_ref(), self.learner.data().len());
        let record = self.judge.judge(&proposal, &executed, before.as_deref(), after, measurements);
        let foreseen = proposal.legs.iter().map(|leg| leg.schedule.foreseen().to_vec()).collect();
        Some(Episode { record, plans: proposal.plans, executed, foreseen })
    }
}
