//! The episode loop: ask a journal for the next episode, run its rollouts on a plant, and tell the journal the results.
//!
//! ```text
//! Journal::ask ──► Proposal ──► Plant::run, once for each rollout ──► RolloutResult ──► Journal::tell
//! ```
//!
//! A [`Journal`] determines the next episode and stores its results. A [`Learner`] is a journal in memory; `ocorl-study` has one that
//! writes to disk and replays completed rollouts from there. The loop has no access to the true system and does not evaluate: an
//! [`Evaluator`](super::Evaluator) takes each [`EpisodeRun`] that the loop returns.

use super::learner::{Learner, Proposal};
use crate::event::Observer;
use crate::model::StatisticalModel;
use crate::plant::{Plant, Rollout, RolloutResult};
use crate::simulate::Outcome;
use std::convert::Infallible;
use std::sync::Arc;

/// Source of proposals and store of results.
pub trait Journal {
    /// Error of `ask`, `record` and `tell`.
    type Error;

    /// Returns the next episode, and the pending one again until its results are recorded. `None` if there are no more episodes.
    fn ask(&mut self, observer: &mut dyn Observer) -> Result<Option<Proposal>, Self::Error>;

    /// Returns the result of a rollout of the pending episode if it was [recorded](Self::record) before; it is then not run again.
    fn recorded(&self, _rollout: &Rollout) -> Option<RolloutResult> {
        None
    }

    /// Stores the result of one rollout before the next one begins.
    fn record(&mut self, _rollout: &Rollout, _result: &RolloutResult) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends the pending episode with the results of its rollouts, in their order, and learns from them.
    fn tell(&mut self, results: &[RolloutResult], observer: &mut dyn Observer) -> Result<(), Self::Error>;

    /// Returns the learner that made the last proposal; `None` if the journal does not learn.
    fn learner(&self) -> Option<&Learner>;
}

/// The learner is its own journal in memory; it proposes as many episodes as its settings specify.
impl Journal for Learner {
    type Error = Infallible;

    fn ask(&mut self, observer: &mut dyn Observer) -> Result<Option<Proposal>, Infallible> {
        Ok((self.episode() < self.settings().episodes).then(|| self.propose(observer)))
    }

    fn tell(&mut self, results: &[RolloutResult], observer: &mut dyn Observer) -> Result<(), Infallible> {
        self.observe(results, observer);
        Ok(())
    }

    fn learner(&self) -> Option<&Learner> {
        Some(self)
    }
}

/// A completed episode.
pub struct EpisodeRun {
    /// Proposal of the episode; its schedules and policies have been used.
    pub proposal: Proposal,
    /// Result of each rollout.
    pub results: Vec<RolloutResult>,
    /// Model with which the episode was planned; `None` before the first training.
    pub before: Option<Arc<dyn StatisticalModel>>,
    /// Model that has learned from the episode; `None` if the journal does not learn.
    pub after: Option<Arc<dyn StatisticalModel>>,
    /// Number of measurements from which that model has learned.
    pub measurements: usize,
}

/// Runs the episodes of a journal on a plant.
///
/// ```
/// use ocorl::learn::{EpisodeLoop, Learner, Settings};
/// use ocorl::plant::SimulatedPlant;
/// use ocorl::random::Stream;
/// use ocorl::system::Benchmark;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let (task, first, stream) = (pendulum.task.clone(), pendulum.first_control.clone(), Stream::root(0));
/// let settings = Settings { episodes: 2, ..Settings::for_system(&pendulum) };
/// let journal = Learner::new(task.clone(), first, settings, stream)?;
/// let plant = SimulatedPlant::new(task, pendulum.dynamics(), stream);
/// let mut episodes = EpisodeLoop { journal, plant };
/// while let Some(episode) = episodes.next_episode(&mut ())? {
///     assert!(episode.results[0].cost > 0.0);
/// }
/// assert_eq!(episodes.journal.episode(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EpisodeLoop<J, P> {
    /// Source of proposals and store of results.
    pub journal: J,
    /// Plant on which the rollouts are run.
    pub plant: P,
}

impl<J: Journal, P: Plant> EpisodeLoop<J, P> {
    /// Asks for the next episode, runs it and records the results with `tell`. Returns `None` after the last episode and if a rollout was
    /// cancelled. A cancelled episode is not recorded and stays pending.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<EpisodeRun>, J::Error> {
        let Some(mut proposal) = self.journal.ask(observer)? else { return Ok(None) };
        let known = self.journal.learner().filter(|learner| !learner.data().is_empty());
        let before = known.map(|learner| learner.model().clone());
        let mut results = Vec::with_capacity(proposal.rollouts.len());
        for rollout in &mut proposal.rollouts {
            if let Some(result) = self.journal.recorded(rollout) {
                results.push(result);
                continue;
            }
            let result = self.plant.run(rollout);
            if matches!(result.outcome, Outcome::Cancelled { .. }) {
                return Ok(None);
            }
            self.journal.record(rollout, &result)?;
            results.push(result);
        }
        self.journal.tell(&results, observer)?;
        let learner = self.journal.learner();
        let measurements = learner.map_or(0, |learner| learner.data().len());
        let after = learner.map(|learner| learner.model().clone());
        Ok(Some(EpisodeRun { proposal, results, before, after, measurements }))
    }
}
