//! The [episode loop](EpisodeLoop) over a study, observed while it runs: `live.json` reports progress, and the observations of each episode
//! become its [`Trace`].

use crate::episode_model::of_study;
use crate::live::{LiveReporter, ReportingObserver, WatchedPlant};
use crate::study::{Study, StudyError, StudyJournal};
use crate::trace::{Health, Trace, saturated, thinned};
use ocorl::event::Observer;
use ocorl::learn::{EpisodeLoop, EpisodeRun};
use ocorl::plant::Plant;
use ocorl::system::Bounds;
use std::borrow::BorrowMut;
use std::sync::{Arc, PoisonError};

/// Executes the episodes of a study (`Study` or `&mut Study`) on a plant.
pub struct StudyLoop<S, P> {
    episodes: EpisodeLoop<StudyJournal<S>, WatchedPlant<P>>,
    reporter: Arc<LiveReporter>,
}

impl<S: BorrowMut<Study>, P: Plant> StudyLoop<S, P> {
    /// Resumes the study of `journal`.
    pub fn new(journal: StudyJournal<S>, plant: P) -> Self {
        let study = journal.study();
        let (task, period) = (&study.system().task, study.created().settings.track.period);
        let reporter = Arc::new(LiveReporter::begin(study.store().folder(), task.horizon));
        let plant = WatchedPlant::new(plant, reporter.clone(), task.controls.len(), period);
        StudyLoop { episodes: EpisodeLoop { journal, plant }, reporter }
    }

    /// The underlying study.
    pub fn study(&self) -> &Study {
        self.episodes.journal.study()
    }

    /// The plant that executes the rollouts.
    pub fn plant_mut(&mut self) -> &mut P {
        &mut self.episodes.plant.plant
    }

    /// Reports the cost of the last episode.
    pub fn cost(&self, cost: f64) {
        self.reporter.cost(cost);
    }

    /// Executes the next episode and returns its trace, which is `None` for a replayed episode. Returns `None` after the last episode, and
    /// if a rollout was cancelled.
    pub fn next_episode(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<(EpisodeRun, Option<Trace>)>, StudyError> {
        let EpisodeLoop { journal, plant } = &mut self.episodes;
        plant.watching = !journal.is_replaying();
        if !plant.watching {
            return Ok(self.episodes.next_episode(observer)?.map(|run| (run, None)));
        }
        let observer = &mut ReportingObserver { reporter: &self.reporter, observer };
        let Some(run) = self.episodes.next_episode(observer)? else { return Ok(None) };
        let EpisodeLoop { journal, plant } = &mut self.episodes;
        let seen = plant.seen();
        let health = seen.health.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let study = journal.study();
        let mut trace = Trace {
            planning_seconds: journal.planning_seconds,
            running_seconds: Some(seen.seconds),
            learning_seconds: journal.learning_seconds,
            ..traced(&run, &study.system().task.control_bounds, health)
        };
        if let Some(before) = &run.before {
            let rollouts = run.proposal.rollouts.iter();
            let online: Vec<_> = rollouts.map(|rollout| rollout.schedule.predicted_uncertainty()).collect();
            trace.model = Some(of_study(study, &trace, &online, before.as_ref(), run.after.as_deref()));
        }
        Ok(Some((run, Some(trace))))
    }
}

/// Trace of an episode: trajectories of its rollouts and controller performance.
pub(crate) fn traced(run: &EpisodeRun, bounds: &Bounds, health: Health) -> Trace {
    let is_seen = run.results.iter().any(|result| !result.trajectory.states.is_empty());
    let seen = run.results.iter().filter(|_| is_seen);
    let mut level_counts = [0; 4];
    let each = run.proposal.rollouts.iter().filter_map(|rollout| rollout.policy.level_counts());
    each.for_each(|rollout| (0..4).for_each(|i| level_counts[i] += rollout[i]));
    let control = (level_counts != [0; 4]).then(|| {
        let saturated = saturated(&run.results, bounds);
        Health { level_counts, saturated, ..health }
    });
    Trace {
        episode: run.proposal.episode,
        paths: seen.map(|result| thinned(&result.trajectory)).collect(),
        control,
        ..Trace::default()
    }
}
