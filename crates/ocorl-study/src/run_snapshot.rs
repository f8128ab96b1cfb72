//! One run in detail: the model before each episode, and the episode itself. Figures of trajectories and models are made from it; sweeps
//! keep only numbers.

use crate::planned_episodes::{PlannedEpisodes, by_gains};
use crate::study::{EpisodeHistory, Study, StudyError, executed_of, learner_of};
use crate::system::System;
use crate::trace::Trace;
use ocorl::learn::{Episode, EpisodeLoop, LearnError, PlannedRollout, Record, Settings, Trial};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{
    CalibrationPoint, HeldOutPrediction, Posterior, Query, StatisticalModel, calibration_curve,
};
use ocorl::plan::uniform_grid;
use ocorl::plant::{Reading, RecordedPlant, RolloutResult};
use ocorl::random::Stream;
use ocorl::simulate::{Experiment, Simulator, Trajectory};
use ocorl::system::{KnownSystem, Task};
use ocorl::track::{FallbackSettings, Feedback, Reference, rate_limited};
use std::collections::BTreeMap;
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

impl From<&System> for Subject {
    fn from(system: &System) -> Self {
        let title = system.truth.as_ref().map_or(system.name.clone(), |truth| truth.title.to_string());
        Subject { title, task: system.task.clone(), truth: system.truth.clone() }
    }
}

/// An episode together with the model before it.
pub struct Snapshot {
    /// Plan, trajectories and measurements of the episode.
    pub episode: Episode,
    /// The model used for planning; `None` in episode 0.
    pub before: Option<Arc<dyn StatisticalModel>>,
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
        let mut snapshots = Vec::new();
        while let Ok(Some(run)) = episodes.next_episode(&mut ()) {
            let before = run.before.clone();
            let episode = evaluator.evaluate(run);
            watch(&episode);
            snapshots.push(Snapshot { episode, before });
        }
        let model = episodes.journal.model().clone();
        Ok(RunSnapshot { subject: benchmark.into(), settings: settings.clone(), seed, snapshots, model })
    }

    /// Snapshot of a study: all episodes with their recorded trajectories (`traces`, by number), and for the episodes in `looked` also the
    /// model before them. Nothing is learned, and the plant only replays recorded data. `None` if no plan carries a model.
    pub fn of_study(
        study: &Study,
        traces: &BTreeMap<usize, Trace>,
        looked: &[usize],
    ) -> Result<Option<Self>, StudyError> {
        let (system, created) = (study.system(), study.created());
        let (mut journal, mut plant) = (PlannedEpisodes::default(), RecordedPlant::default());
        for history in &study.history().episodes {
            let number = history.episode;
            let paths = traces.get(&number).map_or(&[][..], |trace| &trace.paths);
            for (i, (result, table)) in executed_of(history).into_iter().zip(&history.plan.legs).enumerate() {
                let known = paths.get(i).map(|path| seen(path, &system.task));
                let trajectory = known.unwrap_or_else(|| result.trajectory.clone());
                plant.record(number, table.start, RolloutResult { trajectory, ..result });
            }
            let learning = history.plan.learner.as_ref().filter(|_| looked.contains(&number));
            let learner = learning.map(|learning| learner_of(system, learning)).transpose()?;
            journal.push(by_gains(system, &history.plan)?, learner);
        }
        let (mut episodes, mut snapshots, mut model) = (EpisodeLoop { journal, plant }, Vec::new(), None);
        while let Ok(Some(run)) = episodes.next_episode(&mut ()) {
            let before = run.before.clone();
            model = run.after.clone().or(model);
            let record = record(&study.history().episodes[run.proposal.episode], &run.results);
            snapshots.push(Snapshot { episode: Episode::new(run, record), before });
        }
        let (settings, seed) = (created.settings.clone(), created.seed);
        Ok(model.map(|model| RunSnapshot { subject: system.into(), settings, seed, snapshots, model }))
    }

    /// All measurements taken before episode `before`.
    pub fn readings(&self, before: usize) -> impl Iterator<Item = &Reading> {
        let early = self.snapshots.iter().filter(move |s| s.episode.record.episode < before);
        early.flat_map(|s| s.episode.executed.iter().flat_map(|leg| &leg.readings))
    }

    /// Model slice: prediction of ẋⱼ along a line through `through` = (x, u), on which coordinate `coordinate` takes the values `at`.
    pub fn slice(
        &self,
        model: &dyn StatisticalModel,
        through: &[f64],
        coordinate: usize,
        output: usize,
        at: &[f64],
    ) -> Slice {
        let mut points = Vec::with_capacity(at.len() * through.len());
        for value in at {
            let start = points.len();
            points.extend_from_slice(through);
            points[start + coordinate] = *value;
        }
        let points = Points::new(&points, through.len());
        let mut posterior = Posterior::default();
        model.posterior(points, Query::MeanStd, &mut posterior);
        let truth = self.subject.truth.as_ref().map(|benchmark| {
            let mut truth = Blocks::zeros(self.subject.task.states.len(), at.len());
            benchmark.dynamics().derivative(points, truth.as_mut_slice());
            truth.iter().map(|f| f[output]).collect()
        });
        let beta = model.confidence_scale()[output];
        Slice {
            mean: posterior.mean.value.iter().map(|m| m[output]).collect(),
            half_width: posterior.std.value.iter().map(|s| beta * s[output]).collect(),
            truth,
        }
    }

    /// Calibration of each output: how often new measurements lay within the confidence bands of the model that had not seen them, from
    /// episode `from` on, over all `portraits` of one system.
    pub fn calibration(portraits: &[RunSnapshot], from: usize, levels: &[f64]) -> Vec<Vec<CalibrationPoint>> {
        let Some(first) = portraits.first() else { return Vec::new() };
        let noise = &first.subject.task.noise_std;
        let judged: Vec<Vec<HeldOutPrediction>> = portraits
            .iter()
            .flat_map(|p| &p.snapshots)
            .filter(|s| s.episode.record.episode >= from)
            .flat_map(|s| s.judged(noise))
            .fold(vec![Vec::new(); noise.len()], |mut all, (output, judged)| {
                all[output].push(judged);
                all
            });
        judged.iter().map(|judged| calibration_curve(judged, 1.0, levels)).collect()
    }
}

/// A model slice: the model along a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Posterior mean μ.
    pub mean: Vec<f64>,
    /// Half-width β σ of the confidence band.
    pub half_width: Vec<f64>,
    /// True dynamics f*, if known.
    pub truth: Option<Vec<f64>>,
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

    /// Held-out predictions of the new measurements, each with the index of its output.
    fn judged(&self, noise: &[f64]) -> Vec<(usize, HeldOutPrediction)> {
        let Some(model) = &self.before else { return Vec::new() };
        let all = self.episode.executed.iter().flat_map(|leg| &leg.readings);
        let (readings, measured): (Vec<&Reading>, Vec<&Vec<f64>>) =
            all.filter_map(|r| Some((r, r.derivative.as_ref()?))).unzip();
        let points: Vec<f64> =
            readings.iter().flat_map(|r| r.state.iter().chain(&r.control)).copied().collect();
        let mut posterior = Posterior::default();
        model.posterior(Points::new(&points, model.dims().point()), Query::MeanStd, &mut posterior);
        let beta = model.confidence_scale();
        let judge = |i: usize, j: usize| HeldOutPrediction {
            measured: measured[i][j],
            mean: posterior.mean.value.at(i)[j],
            std: beta[j] * posterior.std.value.at(i)[j],
            noise_std: noise[j],
        };
        (0..readings.len())
            .flat_map(|i| (0..noise.len()).map(move |j| (i, j)))
            .map(|(i, j)| (j, judge(i, j)))
            .collect()
    }
}

/// Predicted range of the states over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Times of the prediction.
    pub times: Vec<f64>,
    /// Lower end of the range of each state at each time.
    pub low: Vec<Vec<f64>>,
    /// Upper end of the range of each state at each time.
    pub high: Vec<Vec<f64>>,
}

/// Number of functions drawn for a prediction, and number of times at which they are evaluated.
const DRAWS: usize = 8;
const LOOKS: usize = 101;

/// Predicted range of the states when a plan is followed by its gains: the range over some functions drawn from the model. `None` if the
/// model does not describe f, or if a drawn function diverges.
pub fn predicted(
    model: &dyn StatisticalModel,
    task: &Task,
    intention: &PlannedRollout,
    stream: Stream,
) -> Option<Prediction> {
    if model.dims() != task.dims() {
        return None;
    }
    let mut range: Option<Prediction> = None;
    for draw in 0..DRAWS {
        let mut f = model.sample(&mut stream.index(draw).rng());
        let reference =
            Reference::with_slopes(intention.plan.clone(), intention.slopes.clone(), &task.angles);
        let fallback = FallbackSettings::of(task);
        let mut policy = rate_limited(Box::new(Feedback::new(reference, &fallback)), &fallback, None);
        let initial_state = intention.plan.states.at(0);
        let experiment = Experiment {
            initial_state,
            cost: None,
            state_bounds: None,
            sample_times: &uniform_grid(task.horizon, LOOKS - 1),
            ..Experiment::of(task)
        };
        // Bands are drawn at least a pixel wide, so a coarse simulation suffices.
        let run =
            Simulator { dense: true, ..Simulator::new(1e-4) }.run(f.as_mut(), policy.as_mut(), &experiment);
        let rows: Vec<Vec<f64>> = run.samples.states.iter().map(<[f64]>::to_vec).collect();
        if !run.is_completed() || rows.len() != LOOKS {
            return None;
        }
        match &mut range {
            None => range = Some(Prediction { times: run.samples.times, low: rows.clone(), high: rows }),
            Some(range) => {
                for (i, x) in rows.iter().enumerate() {
                    for (j, x) in x.iter().enumerate() {
                        range.low[i][j] = range.low[i][j].min(*x);
                        range.high[i][j] = range.high[i][j].max(*x);
                    }
                }
            }
        }
    }
    range
}

/// Record of an episode from the data of its study.
fn record(history: &EpisodeHistory, executed: &[RolloutResult]) -> Record {
    let closed = history.closed.as_ref();
    Record {
        episode: history.episode,
        cost: closed.and_then(|c| c.cost).unwrap_or(f64::NAN),
        regret: f64::NAN,
        cumulative_regret: f64::NAN,
        planned_cost: history.plan.planned_cost(),
        mean_cost: history.plan.mean_cost(),
        measurements: history.rows.len(),
        measurement_times: executed.iter().flat_map(|leg| &leg.readings).map(|r| r.time).collect(),
        synchronizations: Vec::new(),
        reads: executed.iter().map(|leg| leg.readings.len()).sum(),
        confidence_scale: Vec::new(),
        information_gain: f64::NAN,
        total_information_gain: f64::NAN,
        uncertainty: None,
        coverage: None,
        coverage_95: None,
        outcome: closed.map_or("", |c| &c.outcome).into(),
        theory: None,
        discrete_theory: None,
    }
}

/// A recorded trajectory, if it matches this task; its cost is not known.
fn seen(path: &Trajectory, task: &Task) -> Trajectory {
    if path.dims() != task.dims() {
        return Trajectory::default();
    }
    Trajectory { costs: vec![f64::NAN; path.len()], ..path.clone() }
}

/// ‖σ‖ of `model` at points (x, u).
pub fn uncertainty(model: &dyn StatisticalModel, points: Points<'_>) -> Vec<f64> {
    let mut posterior = Posterior::default();
    model.posterior(points, Query::MeanStd, &mut posterior);
    posterior.std.value.iter().map(|s| s.iter().map(|s| s * s).sum::<f64>().sqrt()).collect()
}
