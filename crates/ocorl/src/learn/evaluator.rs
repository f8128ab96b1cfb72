//! Evaluation of episodes: regret, coverage and the quantities of the paper's analysis. The evaluator has access to the true system and
//! takes the output of the [episode loop](super::EpisodeLoop). It does not influence the learner.

use super::analysis::{Along, Analysis, Theory};
use super::discrete_analysis::{DiscreteAnalysis, DiscreteTheory};
use super::episode_loop::EpisodeRun;
use super::learner::{PlannedRollout, Proposal};
use super::settings::{Settings, Time};
use crate::linalg::{Blocks, Points};
use crate::measurements::Measurements;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::RolloutResult;
use crate::select::PredictedUncertainty;
use crate::simulate::Outcome;
use crate::system::{Dims, Dynamics, Task};
use crate::theory;
use serde::Serialize;

/// Evaluation of one episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Number of the episode, counted from 0.
    pub episode: usize,
    /// Cost C(πₙ, f*) on the true system, mean over the initial states.
    pub cost: f64,
    /// Regret rₙ = C(πₙ, f*) − C(π*, f*).
    pub regret: f64,
    /// Cumulative regret R = Σ rₙ over all episodes so far.
    pub cumulative_regret: f64,
    /// Cost of the plan on the planning problem for which it was made.
    pub planned_cost: Option<f64>,
    /// Cost of the best plan on the mean model.
    pub mean_cost: Option<f64>,
    /// Number of measurements after the episode.
    pub measurements: usize,
    /// Measurement times of the episode.
    pub measurement_times: Vec<f64>,
    /// Times at which the state was read for synchronisation and not used for learning.
    pub synchronizations: Vec<f64>,
    /// Number of reads of the system in this episode: measurements and synchronisations.
    pub reads: usize,
    /// Confidence scale βₙ of each output, of the model with which the episode was planned.
    pub confidence_scale: Vec<f64>,
    /// Information gain of the episode's measurements, summed over the outputs, in nats.
    pub information_gain: f64,
    /// Information gain summed over all episodes so far, in nats.
    pub total_information_gain: f64,
    /// Relative model uncertainty along the executed trajectory: root mean square of σⱼ divided by that of fⱼ, mean over the outputs. This
    /// field, both coverages and `theory` are `None` before the first training, and in discrete time, where the model is not of ẋ.
    pub uncertainty: Option<f64>,
    /// Fraction of the executed trajectory with |fⱼ − μⱼ| ≤ β σⱼ, over all outputs; `information-gain` guarantees it with probability 1 −
    /// δ.
    pub coverage: Option<f64>,
    /// Fraction of the executed trajectory with |fⱼ − μⱼ| ≤ 1.96 β σⱼ, over all outputs; the nominal value of `calibrated` is 0.95.
    pub coverage_95: Option<f64>,
    /// Reason for which the episode ended.
    pub outcome: Outcome,
    /// Quantities of the continuous-time analysis; `None` before the first training and in discrete time.
    pub theory: Option<Theory>,
    /// Quantities of the discrete-time analysis; `None` before the first training and in continuous time.
    pub discrete_theory: Option<DiscreteTheory>,
}

/// A completed episode with its evaluation.
#[derive(Clone, Debug)]
pub struct Episode {
    /// Evaluation of the episode.
    pub record: Record,
    /// Plan from each initial state; `None` where there was none.
    pub plans: Vec<Option<PlannedRollout>>,
    /// Result of each rollout.
    pub executed: Vec<RolloutResult>,
    /// Predicted uncertainty of each interval of each rollout, where measurement times were chosen online.
    pub foreseen: Vec<Vec<PredictedUncertainty>>,
}

impl Episode {
    /// Combines a completed episode with its record.
    pub fn new(run: EpisodeRun, record: Record) -> Self {
        let EpisodeRun { proposal: Proposal { rollouts, plans, .. }, results: executed, .. } = run;
        let foreseen =
            rollouts.iter().map(|rollout| rollout.schedule.predicted_uncertainty().to_vec()).collect();
        Episode { record, plans, executed, foreseen }
    }
}

/// Quantities averaged along the executed trajectories.
#[derive(Clone, Copy)]
struct Found {
    uncertainty: f64,
    coverage: f64,
    coverage_95: f64,
    theory: Theory,
}

/// Two-sided 95 % quantile of the standard normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Evaluates episodes with access to the true system.
pub struct Evaluator {
    task: Task,
    truth: Box<dyn Dynamics>,
    optimum: f64,
    /// Whether no other program has confirmed the optimum.
    best_known: bool,
    cumulative_regret: f64,
    total_gain: f64,
    analysis: Analysis,
    /// Discrete-time analysis; `None` in continuous time.
    discrete: Option<DiscreteAnalysis>,
}

/// One in this many recorded times is evaluated.
const STRIDE: usize = 5;

impl Evaluator {
    /// Creates an evaluator from the true dynamics, the learner's task and settings, and the optimal cost (mean over the initial states).
    pub fn new(task: Task, truth: Box<dyn Dynamics>, settings: Settings, optimum: f64) -> Self {
        let discrete = (settings.time == Time::Discrete).then(DiscreteAnalysis::default);
        Evaluator {
            analysis: Analysis::new(task.clone(), settings),
            task,
            truth,
            optimum,
            best_known: false,
            cumulative_regret: 0.0,
            total_gain: 0.0,
            discrete,
        }
    }

    /// Declares that the optimal cost is only the best known: a cheaper episode that completes replaces it, so that no regret is negative.
    #[must_use]
    pub fn with_best_known(self, best_known: bool) -> Self {
        Evaluator { best_known, ..self }
    }

    /// Evaluates the next episode.
    pub fn evaluate(&mut self, run: EpisodeRun) -> Episode {
        let record = self.record(&run);
        Episode::new(run, record)
    }

    fn record(&mut self, run: &EpisodeRun) -> Record {
        let EpisodeRun { proposal, results: executed, measurements, .. } = run;
        let (before, after) = (run.before.as_deref(), run.after.as_deref());
        let cost = executed.iter().map(|e| e.cost).sum::<f64>() / executed.len().max(1) as f64;
        let early = executed.iter().map(|e| &e.outcome).find(|outcome| **outcome != Outcome::Completed);
        if self.best_known && early.is_none() && cost < self.optimum {
            self.optimum = cost;
        }
        let regret = cost - self.optimum;
        self.cumulative_regret += regret;
        let information_gain = self.gain(executed, before, after);
        self.total_gain += information_gain;
        let discrete_theory = self
            .discrete
            .as_mut()
            .zip(before)
            .and_then(|(analysis, model)| analysis.episode(&self.task, &proposal.plans, executed, model));
        let along = before.and_then(|model| self.along(proposal, executed, model));
        if before.is_none() {
            self.analysis.count(executed);
        }
        let readings = executed.iter().flat_map(|e| &e.readings);
        let reads = executed.iter().map(|e| e.readings.len() + e.synchronizations.len()).sum();
        Record {
            episode: proposal.episode,
            cost,
            regret,
            cumulative_regret: self.cumulative_regret,
            planned_cost: proposal.planned_cost(),
            mean_cost: proposal.mean_cost(),
            measurements: *measurements,
            measurement_times: readings.map(|r| r.time).collect(),
            synchronizations: executed.iter().flat_map(|e| e.synchronizations.clone()).collect(),
            reads,
            confidence_scale: before.map_or(Vec::new(), |m| m.confidence_scale().to_vec()),
            information_gain,
            total_information_gain: self.total_gain,
            uncertainty: along.map(|a| a.uncertainty),
            coverage: along.map(|a| a.coverage),
            coverage_95: along.map(|a| a.coverage_95),
            outcome: early.cloned().unwrap_or(Outcome::Completed),
            theory: along.map(|a| a.theory),
            discrete_theory,
        }
    }

    /// Information gain I(Dₙ; f | D₁:ₙ₋₁), summed over the outputs. Before the first training it is that of the model trained on Dₙ.
    fn gain(
        &self,
        executed: &[RolloutResult],
        before: Option<&dyn StatisticalModel>,
        after: Option<&dyn StatisticalModel>,
    ) -> f64 {
        let gain_after = after.map_or(Vec::new(), StatisticalModel::information_gain);
        let Some(model) = before else { return gain_after.iter().sum() };
        let mut new = Measurements::new(model.dims());
        for r in executed.iter().flat_map(|e| &e.readings) {
            let Some(derivative) = &r.derivative else {
                // With measured states every model re-estimates the data; the gain is the difference of the totals.
                let each = gain_after.iter().zip(model.information_gain());
                return each.map(|(after, before)| after - before).sum::<f64>().max(0.0);
            };
            // A measurement that the data set rejects has no information.
            let _ = new.push(r.time, &r.state, &r.inputs(), derivative, &self.task.noise_std);
        }
        if new.is_empty() {
            return 0.0;
        }
        let mut covariance = Blocks::default();
        model.covariance(new.points(), &mut covariance);
        theory::information_gain_of(&covariance, new.noise_std()).iter().sum()
    }

    /// Computes uncertainty, coverage and theory along the executed trajectories; `None` in discrete time, where the model is not of f.
    fn along(
        &mut self,
        proposal: &Proposal,
        executed: &[RolloutResult],
        model: &dyn StatisticalModel,
    ) -> Option<Found> {
        let dims = self.task.dims();
        if model.dims() != dims {
            return None;
        }
        let (mut squares, mut true_squares) = (vec![0.0; dims.state], vec![0.0; dims.state]);
        let (mut covered, mut covered_95, mut looked) = (0_u32, 0_u32, 0_u32);
        let beta = model.confidence_scale();
        let moments: Vec<Moments> =
            executed.iter().map(|rollout| Moments::of(rollout, dims, model)).collect();
        for Moments { points, posterior, .. } in moments.iter().filter(|m| !m.times.is_empty()) {
            let z = Points::new(points, dims.point());
            let mut truth = Blocks::zeros(dims.state, z.len());
            self.truth.derivative(z, truth.as_mut_slice());
            for i in 0..z.len() {
                for j in 0..dims.state {
                    let (f, mean) = (truth.at(i)[j], posterior.mean.value.at(i)[j]);
                    let std = posterior.std.value.at(i)[j];
                    squares[j] += std * std;
                    true_squares[j] += f * f;
                    looked += 1;
                    covered += u32::from((f - mean).abs() <= beta[j] * std);
                    covered_95 += u32::from((f - mean).abs() <= NORMAL_95 * beta[j] * std);
                }
            }
        }
        if looked == 0 {
            return None;
        }
        let ratio = |(s, t): (&f64, &f64)| if *t > 0.0 { (s / t).sqrt() } else { 0.0 };
        let uncertainty = squares.iter().zip(&true_squares).map(ratio).sum::<f64>() / dims.state as f64;
        let share = |count: u32| f64::from(count) / f64::from(looked);
        let rollouts: Vec<Along<'_>> = moments
            .iter()
            .zip(executed.iter().zip(&proposal.plans))
            .filter(|(moments, _)| !moments.times.is_empty())
            .map(|(moments, (rollout, plan))| Along {
                rollout,
                plan: plan.as_ref(),
                times: &moments.times,
                points: Points::new(&moments.points, dims.point()),
                posterior: &moments.posterior,
            })
            .collect();
        let theory = self.analysis.episode(model, &rollouts);
        Some(Found { uncertainty, coverage: share(covered), coverage_95: share(covered_95), theory })
    }
}

/// The times of a rollout at which it is evaluated, restricted to finite values.
struct Moments {
    times: Vec<f64>,
    points: Vec<f64>,
    /// Posterior at these times, with the Jacobians of μ and σ.
    posterior: Posterior,
}

impl Moments {
    fn of(rollout: &RolloutResult, dims: Dims, model: &dyn StatisticalModel) -> Self {
        let (mut times, mut points, mut posterior) = (Vec::new(), Vec::new(), Posterior::default());
        let all = rollout.trajectory.points();
        for (i, z) in all.chunks_exact(dims.point()).enumerate().step_by(STRIDE) {
            if z.iter().all(|v| v.is_finite()) {
                times.push(rollout.trajectory.times[i]);
                points.extend_from_slice(z);
            }
        }
        if !times.is_empty() {
            model.posterior(Points::new(&points, dims.point()), Query::All, &mut posterior);
        }
        Moments { times, points, posterior }
    }
}
