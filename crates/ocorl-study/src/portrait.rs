//! One run looked at closely: what was believed before each episode, and what was then done. Figures of trajectories and models are made
//! from it; a sweep keeps only numbers.

use crate::plan_file::LegTable;
use crate::study::{EpisodeHistory, Study, executed_of, learner_of};
use crate::system::System;
use crate::trace::{Trace, Way};
use ocorl::learn::{Episode, Intention, LearnError, Record, Settings, Trial};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{CalibrationPoint, Judged, Posterior, Query, StatisticalModel, calibration_curve};
use ocorl::plan::uniform_grid;
use ocorl::plant::{Executed, Reading};
use ocorl::random::Stream;
use ocorl::simulate::{Experiment, Simulator, Trajectory};
use ocorl::system::{Benchmark, Task};
use ocorl::track::{Feedback, LadderSettings, Reference};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A run with everything that is known of it.
pub struct Portrait {
    /// Of what.
    pub subject: Subject,
    /// How it was learned.
    pub settings: Settings,
    /// Seed of everything random.
    pub seed: u64,
    /// Every episode, in order.
    pub snapshots: Vec<Snapshot>,
    /// What is believed after the last.
    pub model: Arc<dyn StatisticalModel>,
}

/// What is learned.
pub struct Subject {
    /// Its name in a title.
    pub title: String,
    /// What is wanted of it.
    pub task: Task,
    /// Its equations, if somebody knows them.
    pub truth: Option<Benchmark>,
}

impl From<&Benchmark> for Subject {
    fn from(b: &Benchmark) -> Self {
        Subject { title: b.title.to_string(), task: b.task.clone(), truth: Some(b.clone()) }
    }
}

impl From<&System> for Subject {
    fn from(system: &System) -> Self {
        let title = system.truth.as_ref().map_or(system.name.clone(), |truth| truth.title.to_string());
        Subject { title, task: system.task.clone(), truth: system.truth.clone() }
    }
}

/// An episode, and what was believed before it.
pub struct Snapshot {
    /// What was planned, done and measured.
    pub episode: Episode,
    /// The model it was planned with; none in episode 0.
    pub before: Option<Arc<dyn StatisticalModel>>,
}

impl Portrait {
    /// Learns from nothing to the last episode; `watch` hears of every one.
    pub fn learn(
        benchmark: &Benchmark,
        settings: &Settings,
        seed: u64,
        watch: &mut dyn FnMut(&Episode),
    ) -> Result<Self, LearnError> {
        let mut trial = Trial::new(benchmark, settings.clone(), seed, 0.0)?;
        let mut snapshots = Vec::new();
        loop {
            let before = (!trial.learner().data().is_empty()).then(|| trial.learner().model().clone());
            let Some(episode) = trial.next_episode(&mut ()) else { break };
            watch(&episode);
            snapshots.push(Snapshot { episode, before });
        }
        let model = trial.learner().model().clone();
        Ok(Portrait { subject: benchmark.into(), settings: settings.clone(), seed, snapshots, model })
    }

    /// A study as far as it went: every episode with what was seen of it (`traces`, by number), and for those of `looked` also what was believed
    /// before them. Nothing is learned and nothing is run. None if no plan says what was believed.
    pub fn of_study(
        study: &Study,
        traces: &BTreeMap<usize, Trace>,
        looked: &[usize],
    ) -> Result<Option<Self>, LearnError> {
        let (system, created) = (study.system(), study.created());
        let (mut snapshots, mut model) = (Vec::new(), None);
        for history in &study.history().episodes {
            let number = history.episode;
            let mut executed = executed_of(history);
            for (leg, way) in executed.iter_mut().zip(traces.get(&number).iter().flat_map(|t| &t.paths)) {
                leg.trajectory = trajectory(way, &system.task);
            }
            let learning = history.plan.learner.as_ref().filter(|_| looked.contains(&number));
            let learner = learning.map(|learning| learner_of(system, learning)).transpose()?;
            let known = learner.as_ref().filter(|l| !l.data().is_empty()).map(|l| l.model().clone());
            let plans = history.plan.legs.iter().map(LegTable::intention).collect();
            model = learner.map(|l| l.model().clone()).or(model);
            let record = record(history, &executed);
            let episode = Episode { record, plans, executed, foreseen: Vec::new() };
            snapshots.push(Snapshot { episode, before: known });
        }
        let (settings, seed) = (created.settings.clone(), created.seed);
        Ok(model.map(|model| Portrait { subject: system.into(), settings, seed, snapshots, model }))
    }

    /// All measurements before episode `episode`.
    pub fn readings(&self, before: usize) -> impl Iterator<Item = &Reading> {
        let early = self.snapshots.iter().filter(move |s| s.episode.record.episode < before);
        early.flat_map(|s| s.episode.executed.iter().flat_map(|leg| &leg.readings))
    }

    /// What `model` says of ẋⱼ along a line through `through` = (x, u): coordinate `coordinate` takes the values `at`.
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

    /// For each output: how often new measurements lay in the bands of the model that had not seen them, from episode `from` on, over all
    /// `portraits` of one system.
    pub fn calibration(portraits: &[Portrait], from: usize, levels: &[f64]) -> Vec<Vec<CalibrationPoint>> {
        let Some(first) = portraits.first() else { return Vec::new() };
        let noise = &first.subject.task.noise_std;
        let judged: Vec<Vec<Judged>> = portraits
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

/// The model along a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// μ
    pub mean: Vec<f64>,
    /// β σ
    pub half_width: Vec<f64>,
    /// f*, if somebody knows it.
    pub truth: Option<Vec<f64>>,
}

impl Snapshot {
    /// ‖σ‖ of the model before the episode at points (x, u); empty in episode 0.
    pub fn uncertainty(&self, points: Points<'_>) -> Vec<f64> {
        let Some(model) = &self.before else { return Vec::new() };
        uncertainty(model.as_ref(), points)
    }

    /// The same along a trajectory; empty also if nobody saw where it went.
    pub fn uncertainty_along(&self, path: &Trajectory) -> Vec<f64> {
        if path.states.is_empty() {
            return Vec::new();
        }
        self.uncertainty(Points::new(&path.points(), path.states.size() + path.controls.size()))
    }

    /// New measurements beside what was expected of them: output, judgement.
    fn judged(&self, noise: &[f64]) -> Vec<(usize, Judged)> {
        let Some(model) = &self.before else { return Vec::new() };
        let all = self.episode.executed.iter().flat_map(|leg| &leg.readings);
        let (readings, measured): (Vec<&Reading>, Vec<&Vec<f64>>) =
            all.filter_map(|r| Some((r, r.derivative.as_ref()?))).unzip();
        let points: Vec<f64> =
            readings.iter().flat_map(|r| r.state.iter().chain(&r.control)).copied().collect();
        let mut posterior = Posterior::default();
        model.posterior(Points::new(&points, model.dims().point()), Query::MeanStd, &mut posterior);
        let beta = model.confidence_scale();
        let judge = |i: usize, j: usize| Judged {
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

/// Between which values the states are expected at some times.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Times.
    pub times: Vec<f64>,
    /// The least of each state at each time.
    pub low: Vec<Vec<f64>>,
    /// The greatest.
    pub high: Vec<Vec<f64>>,
}

/// Functions that are drawn for a prediction, and moments at which they are looked at.
const DRAWS: usize = 8;
const LOOKS: usize = 101;

/// Where a plan, followed by its gains, leads by what is believed: the range over some functions drawn from the model. None of a model that is
/// not of f, or if a drawn function leads nowhere.
pub fn predicted(
    model: &dyn StatisticalModel,
    task: &Task,
    intention: &Intention,
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
        let mut policy = Feedback::new(reference, LadderSettings::of(task));
        let initial_state = intention.plan.states.at(0);
        let experiment = Experiment {
            initial_state,
            cost: None,
            state_bounds: None,
            sample_times: &uniform_grid(task.horizon, LOOKS - 1),
            ..Experiment::of(task)
        };
        // Bands are drawn a pixel wide or more.
        let run = Simulator { dense: true, ..Simulator::new(1e-4) }.run(f.as_mut(), &mut policy, &experiment);
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

/// What an episode came to, as far as its study knows.
fn record(history: &EpisodeHistory, executed: &[Executed]) -> Record {
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
        outcome: closed.map_or(String::new(), |c| c.outcome.clone()),
        theory: None,
        discrete_theory: None,
    }
}

/// A way as a trajectory; what it cost is not known.
fn trajectory(way: &Way, task: &Task) -> Trajectory {
    let flat = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect::<Vec<f64>>();
    let dims = task.dims();
    let sound = way.x.len() == way.t.len()
        && way.u.len() == way.t.len()
        && way.x.iter().all(|x| x.len() == dims.state)
        && way.u.iter().all(|u| u.len() == dims.control);
    if !sound {
        return Trajectory::default();
    }
    Trajectory {
        times: way.t.clone(),
        states: Blocks::from_vec(flat(&way.x), dims.state),
        controls: Blocks::from_vec(flat(&way.u), dims.control),
        costs: vec![f64::NAN; way.t.len()],
    }
}

/// ‖σ‖ of `model` at points (x, u).
pub fn uncertainty(model: &dyn StatisticalModel, points: Points<'_>) -> Vec<f64> {
    let mut posterior = Posterior::default();
    model.posterior(points, Query::MeanStd, &mut posterior);
    posterior.std.value.iter().map(|s| s.iter().map(|s| s * s).sum::<f64>().sqrt()).collect()
}
