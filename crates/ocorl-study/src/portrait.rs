//! One run looked at closely: what was believed before each episode, and what was then done. Figures of trajectories and models are made
//! from it; a sweep keeps only numbers.

use ocorl::learn::{Episode, LearnError, Settings, Trial};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{CalibrationPoint, Judged, Posterior, Query, StatisticalModel, calibration_curve};
use ocorl::plant::Reading;
use ocorl::system::Benchmark;
use std::sync::Arc;

/// A run with everything that is known of it.
pub struct Portrait {
    /// The system.
    pub benchmark: Benchmark,
    /// How it was learned.
    pub settings: Settings,
    /// Seed of everything random.
    pub seed: u64,
    /// Every episode, in order.
    pub snapshots: Vec<Snapshot>,
    /// What is believed after the last.
    pub model: Arc<dyn StatisticalModel>,
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
        Ok(Portrait { benchmark: benchmark.clone(), settings: settings.clone(), seed, snapshots, model })
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
        let (mut posterior, outputs) = (Posterior::default(), self.benchmark.dims().state);
        model.posterior(points, Query::MeanStd, &mut posterior);
        let mut truth = Blocks::zeros(outputs, at.len());
        self.benchmark.dynamics().derivative(points, truth.as_mut_slice());
        let beta = model.confidence_scale()[output];
        Slice {
            mean: posterior.mean.value.iter().map(|m| m[output]).collect(),
            half_width: posterior.std.value.iter().map(|s| beta * s[output]).collect(),
            truth: truth.iter().map(|f| f[output]).collect(),
        }
    }

    /// For each output: how often new measurements lay in the bands of the model that had not seen them, from episode `from` on, over all
    /// `portraits` of one system.
    pub fn calibration(portraits: &[Portrait], from: usize, levels: &[f64]) -> Vec<Vec<CalibrationPoint>> {
        let Some(first) = portraits.first() else { return Vec::new() };
        let noise = &first.benchmark.task.noise_std;
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
    /// f*
    pub truth: Vec<f64>,
}

impl Snapshot {
    /// ‖σ‖ of the model before the episode at points (x, u); empty in episode 0.
    pub fn uncertainty(&self, points: Points<'_>) -> Vec<f64> {
        let Some(model) = &self.before else { return Vec::new() };
        uncertainty(model.as_ref(), points)
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

/// ‖σ‖ of `model` at points (x, u).
pub fn uncertainty(model: &dyn StatisticalModel, points: Points<'_>) -> Vec<f64> {
    let mut posterior = Posterior::default();
    model.posterior(points, Query::MeanStd, &mut posterior);
    posterior.std.value.iter().map(|s| s.iter().map(|s| s * s).sum::<f64>().sqrt()).collect()
}
