//! One run in detail: the model before each episode, and the episode itself. Figures of trajectories and models are made from it; sweeps
//! keep only numbers.

use crate::episode_model::{self, EpisodeModel, uncertainty};
use crate::trace::thinned;
use ocorl::learn::{Episode, LearnError, Settings, Trial};
use ocorl::linalg::Points;
use ocorl::model::StatisticalModel;
use ocorl::plant::Reading;
use ocorl::random::Stream;
use ocorl::simulate::Trajectory;
use ocorl::system::{KnownSystem, Task};
use std::sync::Arc;

/// A run with all data that figures need.
pub struct RunSnapshot {
    /// System and task of the run.
    pub subject: Subject,
    /// Settings of the run.
    pub settings: Settings,
    /// Root seed of all random streams.
    pub seed: u64,
    /// All episodes, in order.
    pub snapshots: Vec<Snapshot>,
    /// The model after the last episode.
    pub model: Arc<dyn StatisticalModel>,
}

/// System and task of a run.
pub struct Subject {
    /// Name of the system in a title.
    pub title: String,
    /// The task.
    pub task: Task,
    /// The true dynamics, if known.
    pub truth: Option<KnownSystem>,
}

impl From<&KnownSystem> for Subject {
    fn from(b: &KnownSystem) -> Self {
        Subject { title: b.title.to_string(), task: b.task.clone(), truth: Some(b.clone()) }
    }
}

/// An episode together with the model before it.
pub struct Snapshot {
    /// Plan, trajectories and measurements of the episode.
    pub episode: Episode,
    /// The model used for planning; `None` in episode 0.
    pub before: Option<Arc<dyn StatisticalModel>>,
    /// What plots show of the models before and after the episode.
    pub model: EpisodeModel,
}

impl RunSnapshot {
    /// Runs all episodes from an empty model; `watch` is called after each.
    pub fn learn(
        benchmark: &KnownSystem,
        settings: &Settings,
        seed: u64,
        watch: &mut dyn FnMut(&Episode),
    ) -> Result<Self, LearnError> {
        let (mut episodes, mut evaluator) = Trial::new(benchmark, settings.clone(), seed, 0.0)?.into_parts();
        let (mut snapshots, mut earlier) = (Vec::new(), Vec::new());
        while let Ok(Some(run)) = episodes.next_episode(&mut ()) {
            let (before, after) = (run.before.clone(), run.after.clone());
            let episode = evaluator.evaluate(run);
            watch(&episode);
            let model = before.as_ref().map_or(EpisodeModel::default(), |before| {
                let paths: Vec<_> = episode.executed.iter().map(|run| thinned(&run.trajectory)).collect();
                let readings: Vec<_> = episode.executed.iter().map(|run| run.readings.as_slice()).collect();
                let online: Vec<_> = episode.foreseen.iter().map(Vec::as_slice).collect();
                let subject = episode_model::Subject {
                    task: &benchmark.task,
                    truth: Some(benchmark),
                    stream: Stream::root(seed).child("prediction").index(episode.record.episode),
                    plans: &episode.plans,
                    paths: &paths,
                    readings: &readings,
                    online: &online,
                    earlier: &earlier,
                };
                EpisodeModel::new(&subject, before.as_ref(), after.as_deref())
            });
            earlier.extend(episode.executed.iter().flat_map(|run| run.readings.iter().cloned()));
            snapshots.push(Snapshot { episode, before, model });
        }
        let model = episodes.journal.model().clone();
        Ok(RunSnapshot { subject: benchmark.into(), settings: settings.clone(), seed, snapshots, model })
    }

    /// All measurements taken before episode `before`.
    pub fn readings(&self, before: usize) -> impl Iterator<Item = &Reading> {
        let early = self.snapshots.iter().filter(move |s| s.episode.record.episode < before);
        early.flat_map(|s| s.episode.executed.iter().flat_map(|rollout| &rollout.readings))
    }
}

impl Snapshot {
    /// ‖σ‖ of the model before the episode at points (x, u); empty in episode 0.
    pub fn uncertainty(&self, points: Points<'_>) -> Vec<f64> {
        let Some(model) = &self.before else { return Vec::new() };
        uncertainty(model.as_ref(), points)
    }

    /// Model uncertainty ‖σ‖ along a trajectory; empty in episode 0 and if the trajectory was not recorded.
    pub fn uncertainty_along(&self, path: &Trajectory) -> Vec<f64> {
        if path.states.is_empty() {
            return Vec::new();
        }
        self.uncertainty(Points::new(&path.points(), path.states.size() + path.controls.size()))
    }
}
