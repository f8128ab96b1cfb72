//! What plots show of the model before and after an episode. It is computed once, when the episode ends, and stored with the
//! episode's [`Trace`], so that a report or a page needs no model.

use crate::field::Field;
use crate::study::{Study, StudyError, executed_of, learner_of};
use crate::trace::{Trace, thinned};
use ocorl::learn::PlannedRollout;
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{Posterior, Query, StatisticalModel};
use ocorl::plan::uniform_grid;
use ocorl::plant::Reading;
use ocorl::random::Stream;
use ocorl::select::PredictedUncertainty;
use ocorl::simulate::{Experiment, Simulator, Trajectory};
use ocorl::system::{KnownSystem, Task};
use ocorl::track::{FallbackSettings, Feedback, Reference, rate_limited};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of functions drawn for a prediction, and number of times at which their trajectories are kept.
const DRAWS: usize = 6;
const LOOKS: usize = 51;
/// Number of points of a model slice, and largest number of slices that are kept.
const SLICE_POINTS: usize = 61;
const MOST_SLICES: usize = 12;
/// How far slices extend beyond the data, as a share of their range.
const BEYOND: f64 = 0.25;
/// A measurement is shown beside a slice if it is no farther from it than this share of the data range, in every other coordinate.
const NEAR: f64 = 0.1;

/// The model around one episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeModel {
    /// What was known when this was computed.
    pub stage: Stage,
    /// For each rollout: trajectories of the plan's feedback under functions drawn from the model before the episode.
    pub predicted: Vec<Prediction>,
    /// For each rollout: uncertainty along the predicted trajectory.
    pub planned: Vec<Profile>,
    /// For each rollout: uncertainty along the stored executed trajectory.
    pub executed: Vec<Profile>,
    /// For each measurement, ordered by rollout and time: the prediction made without it.
    pub measured: Vec<Foretold>,
    /// The lines along which the derivatives change most, the most influential first.
    pub slices: Vec<Slice>,
    /// The vector field before the episode, if the system has two states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
}

/// What is known of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Only its plan.
    #[default]
    Planned,
    /// Its measurements too.
    Measured,
    /// The model that has learned from them too.
    Learned,
}

impl Stage {
    /// What a study knows of an episode.
    pub fn of(study: &Study, episode: usize) -> Self {
        let episodes = &study.history().episodes;
        if episodes.get(episode).is_none_or(|episode| episode.closed.is_none()) {
            Stage::Planned
        } else if episodes.get(episode + 1).is_some_and(|next| next.plan.learner.is_some()) {
            Stage::Learned
        } else {
            Stage::Measured
        }
    }
}

/// Trajectories that the model considers possible.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prediction {
    /// Times of the states.
    pub times: Vec<f64>,
    /// For each drawn function one state per time.
    pub draws: Vec<Vec<Vec<f64>>>,
}

impl Prediction {
    /// Least and greatest value of state `i` at each time.
    pub fn band(&self, i: usize) -> (Vec<f64>, Vec<f64>) {
        let at = |k: usize| range(self.draws.iter().map(|draw| draw[k][i]));
        (0..self.times.len()).map(at).unzip()
    }
}

/// Model uncertainty ‖σ‖ along a trajectory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Times.
    pub times: Vec<f64>,
    /// ‖σ‖ of the model before the episode.
    pub before: Vec<f64>,
    /// ‖σ‖ of the model that has learned from the episode; empty if there is none yet.
    pub after: Vec<f64>,
    /// Information that one measurement would give, ½ Σⱼ ln(1 + σⱼ²/noiseⱼ²), in nats.
    pub information: Vec<f64>,
    /// Times at which the state was measured and the profile predicted anew, if measurement times were chosen online.
    pub restarts: Vec<f64>,
}

/// A measurement and the prediction made without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Foretold {
    /// Rollout, time of the measurement.
    pub start: usize,
    /// Time of the measurement.
    pub t: f64,
    /// Measured derivative; empty if only the state was measured.
    pub measured: Vec<f64>,
    /// Predicted mean of each output.
    pub mean: Vec<f64>,
    /// Predicted standard deviation βσ of each output.
    pub std: Vec<f64>,
    /// ‖σ‖ before and after learning from the episode.
    pub sigma: (f64, Option<f64>),
}

impl Foretold {
    /// Largest distance of the measurement from the prediction over the outputs, in standard deviations of model and noise.
    pub fn residual(&self, noise_std: &[f64]) -> Option<f64> {
        let each = self.measured.iter().zip(&self.mean).zip(self.std.iter().zip(noise_std));
        let far = each.map(|((y, mean), (std, noise))| (y - mean).abs() / std.hypot(*noise));
        far.reduce(f64::max).filter(|far| far.is_finite())
    }
}

/// The model of one derivative along a line through a measured point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slice {
    /// Index of the derivative.
    pub output: usize,
    /// Index of the coordinate of (x, u) that varies.
    pub coordinate: usize,
    /// How much the derivative changes along the line, in units of its spread over the data.
    pub influence: f64,
    /// Values of the coordinate.
    pub at: Vec<f64>,
    /// Posterior mean μ.
    pub mean: Vec<f64>,
    /// Half-width βσ of the confidence band.
    pub half_width: Vec<f64>,
    /// The true derivative, if known.
    pub truth: Vec<f64>,
    /// Measurements near the line: coordinate and derivative.
    pub near: Vec<(f64, f64)>,
}

/// The episode whose model is described.
pub struct Subject<'a> {
    /// The task.
    pub task: &'a Task,
    /// The true system, if known.
    pub truth: Option<&'a KnownSystem>,
    /// Random stream of the drawn functions.
    pub stream: Stream,
    /// Plan of each rollout.
    pub plans: &'a [Option<PlannedRollout>],
    /// Stored trajectory of each rollout; may be empty.
    pub paths: &'a [Trajectory],
    /// Measurements of each rollout.
    pub readings: &'a [&'a [Reading]],
    /// Uncertainty predicted online, for each rollout.
    pub online: &'a [&'a [PredictedUncertainty]],
    /// All measurements from which the model before the episode has learned.
    pub earlier: &'a [Reading],
}

impl EpisodeModel {
    /// Evaluates the models before and after an episode. Empty if the model is not one of ẋ = f(x, u).
    pub fn new(
        subject: &Subject<'_>,
        before: &dyn StatisticalModel,
        after: Option<&dyn StatisticalModel>,
    ) -> Self {
        let Subject { task, truth, stream, plans, paths, readings, online, earlier } = *subject;
        if before.dims() != task.dims() {
            return EpisodeModel::default();
        }
        let after = after.filter(|after| after.dims() == task.dims());
        let profile = |times: Vec<f64>, points: &[f64]| profile(task, before, after, times, points);
        let states: Vec<&[f64]> = earlier.iter().map(|reading| reading.state.as_slice()).collect();
        let mut model = EpisodeModel {
            slices: slices(task, truth, before, earlier),
            field: Field::new(task, truth, before, &states),
            ..EpisodeModel::default()
        };
        for (i, plan) in plans.iter().enumerate() {
            let prediction = plan.as_ref().and_then(|plan| predicted(before, task, plan, stream.index(i)));
            model.predicted.push(prediction.unwrap_or_default());
            let restarts = online.get(i).copied().unwrap_or_default();
            model.planned.push(match plan {
                _ if !restarts.is_empty() => Profile {
                    times: restarts.iter().flat_map(|interval| interval.times.clone()).collect(),
                    before: restarts.iter().flat_map(|interval| interval.uncertainty.clone()).collect(),
                    restarts: restarts
                        .iter()
                        .filter_map(|interval| interval.times.first().copied())
                        .collect(),
                    ..Profile::default()
                },
                Some(plan) => {
                    let nodes = plan.plan.states.iter().zip(plan.plan.controls.iter());
                    let points: Vec<f64> = nodes.flat_map(|(x, u)| x.iter().chain(u)).copied().collect();
                    let times = &plan.plan.times;
                    profile(times[..times.len().min(plan.plan.controls.len())].to_vec(), &points)
                }
                None => Profile::default(),
            });
        }
        for path in paths {
            let fits = path.dims() == task.dims();
            let points = if fits { path.points() } else { Vec::new() };
            model.executed.push(if fits { profile(path.times.clone(), &points) } else { Profile::default() });
        }
        for (start, readings) in readings.iter().enumerate() {
            model.measured.extend(readings.iter().map(|reading| foretold(start, reading, before, after)));
        }
        model
    }
}

/// ‖σ‖ of `model` at points (x, u).
pub fn uncertainty(model: &dyn StatisticalModel, points: Points<'_>) -> Vec<f64> {
    posterior(model, points).std.value.iter().map(norm).collect()
}

fn posterior(model: &dyn StatisticalModel, points: Points<'_>) -> Posterior {
    let mut posterior = Posterior::default();
    model.posterior(points, Query::MeanStd, &mut posterior);
    posterior
}

fn norm(sigma: &[f64]) -> f64 {
    brief(sigma.iter().map(|s| s * s).sum::<f64>().sqrt())
}

/// Rounded to six significant digits: enough to draw, and half the size in a file. Values that are not finite become 0.
fn brief(value: f64) -> f64 {
    if value.is_finite() { format!("{value:.5e}").parse().unwrap_or(value) } else { 0.0 }
}

pub(crate) fn briefly(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    values.into_iter().map(brief).collect()
}

/// Least and greatest of the values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn profile(
    task: &Task,
    before: &dyn StatisticalModel,
    after: Option<&dyn StatisticalModel>,
    times: Vec<f64>,
    points: &[f64],
) -> Profile {
    if times.is_empty() {
        return Profile::default();
    }
    let points = Points::new(points, task.dims().point());
    let found = posterior(before, points);
    let gain = |sigma: &[f64]| {
        let each = sigma.iter().zip(&task.noise_std).map(|(s, noise)| (s / noise).powi(2).ln_1p());
        brief(0.5 * each.sum::<f64>())
    };
    Profile {
        before: found.std.value.iter().map(norm).collect(),
        after: after.map_or(Vec::new(), |after| uncertainty(after, points)),
        information: found.std.value.iter().map(gain).collect(),
        restarts: Vec::new(),
        times,
    }
}

fn foretold(
    start: usize,
    reading: &Reading,
    before: &dyn StatisticalModel,
    after: Option<&dyn StatisticalModel>,
) -> Foretold {
    let point = [reading.state.as_slice(), &reading.control].concat();
    let found = posterior(before, Points::single(&point));
    let (mean, std, beta) = (found.mean.value.at(0), found.std.value.at(0), before.confidence_scale());
    let after = after.and_then(|after| uncertainty(after, Points::single(&point)).first().copied());
    Foretold {
        start,
        t: reading.time,
        measured: reading.derivative.clone().unwrap_or_default(),
        mean: briefly(mean.iter().copied()),
        std: briefly(std.iter().zip(beta).map(|(s, b)| s * b)),
        sigma: (norm(std), after),
    }
}

/// Trajectories when a plan is followed by its gains under functions drawn from the model; `None` if one of them diverges.
fn predicted(
    model: &dyn StatisticalModel,
    task: &Task,
    planned: &PlannedRollout,
    stream: Stream,
) -> Option<Prediction> {
    let times = uniform_grid(task.horizon, LOOKS - 1);
    let mut draws = Vec::new();
    for draw in 0..DRAWS {
        let mut f = model.sample(&mut stream.index(draw).rng());
        let reference = Reference::with_slopes(planned.plan.clone(), &task.angles);
        let fallback = FallbackSettings::of(task);
        let mut policy = rate_limited(Box::new(Feedback::new(reference, &fallback)), &fallback, None);
        let experiment = Experiment {
            initial_state: planned.plan.states.at(0),
            cost: None,
            state_bounds: None,
            sample_times: &times,
            ..Experiment::of(task)
        };
        // Bands are drawn at least a pixel wide, so a coarse simulation suffices.
        let run =
            Simulator { dense: true, ..Simulator::new(1e-3) }.run(f.as_mut(), policy.as_mut(), &experiment);
        let rows: Vec<Vec<f64>> = run.samples.states.iter().map(|x| briefly(x.iter().copied())).collect();
        if !run.is_completed() || rows.len() != LOOKS {
            return None;
        }
        draws.push(rows);
    }
    Some(Prediction { times, draws })
}

/// Model slices through the measured point in the middle of the data: those along which the derivatives change most.
fn slices(
    task: &Task,
    truth: Option<&KnownSystem>,
    model: &dyn StatisticalModel,
    data: &[Reading],
) -> Vec<Slice> {
    let data: Vec<(Vec<f64>, &[f64])> = data
        .iter()
        .filter_map(|r| Some(([r.state.as_slice(), &r.control].concat(), r.derivative.as_deref()?)))
        .collect();
    let Some((through, _)) = data.get(data.len() / 2) else { return Vec::new() };
    let ranges: Vec<(f64, f64)> = (0..through.len()).map(|k| range(data.iter().map(|(z, _)| z[k]))).collect();
    let spreads: Vec<f64> = (0..task.states.len())
        .map(|j| range(data.iter().map(|(_, y)| y[j])))
        .zip(&task.noise_std)
        .map(|((low, high), noise)| (high - low).max(*noise))
        .collect();
    let mut all = Vec::new();
    for (coordinate, (low, high)) in ranges.iter().enumerate() {
        let margin = BEYOND * (high - low);
        let at = uniform_grid(1.0, SLICE_POINTS - 1);
        let at: Vec<f64> = at.iter().map(|s| low - margin + s * (high - low + 2.0 * margin)).collect();
        let mut points = Vec::with_capacity(at.len() * through.len());
        for value in &at {
            let start = points.len();
            points.extend_from_slice(through);
            points[start + coordinate] = *value;
        }
        let points = Points::new(&points, through.len());
        let found = posterior(model, points);
        let truth = truth.map(|known| {
            let mut truth = Blocks::zeros(task.states.len(), at.len());
            known.dynamics().derivative(points, truth.as_mut_slice());
            truth
        });
        let near = |z: &[f64]| {
            let far = |k: usize| (z[k] - through[k]).abs() > NEAR * (ranges[k].1 - ranges[k].0);
            !(0..z.len()).any(|k| k != coordinate && far(k))
        };
        for (output, spread) in spreads.iter().enumerate() {
            let mean = briefly(found.mean.value.iter().map(|m| m[output]));
            let (least, greatest) = range(mean.iter().copied());
            let beta = model.confidence_scale()[output];
            all.push(Slice {
                output,
                coordinate,
                influence: brief((greatest - least) / spread),
                half_width: briefly(found.std.value.iter().map(|s| beta * s[output])),
                truth: truth.as_ref().map_or(Vec::new(), |f| briefly(f.iter().map(|f| f[output]))),
                near: data.iter().filter(|(z, _)| near(z)).map(|(z, y)| (z[coordinate], y[output])).collect(),
                mean,
                at: briefly(at.iter().copied()),
            });
        }
    }
    all.sort_by(|a, b| b.influence.total_cmp(&a.influence));
    all.truncate(MOST_SLICES);
    all
}

/// The model around a completed or pending episode of a study, which supplies plans and measurements.
pub(crate) fn of_study(
    study: &Study,
    trace: &Trace,
    online: &[&[PredictedUncertainty]],
    before: &dyn StatisticalModel,
    after: Option<&dyn StatisticalModel>,
) -> EpisodeModel {
    let (episodes, system) = (&study.history().episodes, study.system());
    let Some(episode) = episodes.get(trace.episode) else { return EpisodeModel::default() };
    let plans: Vec<_> =
        episode.plan.rollouts.iter().map(crate::plan_file::RolloutTable::planned_rollout).collect();
    let results = executed_of(episode);
    let readings: Vec<&[Reading]> = results.iter().map(|result| result.readings.as_slice()).collect();
    let past = episodes[..trace.episode].iter().flat_map(executed_of);
    let earlier: Vec<Reading> = past.flat_map(|result| result.readings).collect();
    // Rollouts whose trajectory was not recorded continuously are known at their measurements.
    let measured: Vec<Trajectory> = results.iter().map(|result| thinned(&result.trajectory)).collect();
    let subject = Subject {
        task: &system.task,
        truth: system.truth.as_ref(),
        stream: Stream::root(study.created().seed).child("prediction").index(trace.episode),
        plans: &plans,
        paths: if trace.paths.is_empty() { &measured } else { &trace.paths },
        readings: &readings,
        online,
        earlier: &earlier,
    };
    let stage =
        if after.is_some() { Stage::Learned } else { Stage::of(study, trace.episode).min(Stage::Measured) };
    EpisodeModel { stage, ..EpisodeModel::new(&subject, before, after) }
}

/// Rebuilds the stored model of an episode from the checkpoints in its plan and the next one; empty if nothing was learned before.
pub(crate) fn rebuilt(study: &Study, trace: &Trace) -> Result<EpisodeModel, StudyError> {
    let model = |number: usize| -> Result<Option<Arc<dyn StatisticalModel>>, StudyError> {
        let plan = study.history().episodes.get(number).map(|episode| episode.plan.clone());
        let Some(learning) = plan.as_ref().and_then(|plan| plan.learner.as_ref()) else { return Ok(None) };
        let learner = learner_of(study.system(), learning)?;
        Ok((!learner.data().is_empty()).then(|| learner.model().clone()))
    };
    let Some(before) = model(trace.episode)? else {
        return Ok(EpisodeModel { stage: Stage::Learned, ..EpisodeModel::default() });
    };
    let after = model(trace.episode + 1)?;
    Ok(of_study(study, trace, &[], before.as_ref(), after.as_deref()))
}
