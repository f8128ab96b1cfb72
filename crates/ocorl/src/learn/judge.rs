//! What an episode was worth: regret, coverage and the quantities of the paper's analysis, by somebody who knows the truth and only looks on.

use super::analysis::{Along, Analysis, Theory};
use super::discrete_analysis::{DiscreteAnalysis, DiscreteTheory};
use super::learner::Proposal;
use super::settings::{Settings, Time};
use crate::linalg::{Blocks, Points};
use crate::measurements::Measurements;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::Executed;
use crate::system::{Dims, Dynamics, Task};
use crate::theory;
use serde::Serialize;

/// One episode in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Its number, from 0.
    pub episode: usize,
    /// C(πₙ, f*), mean over the initial states.
    pub cost: f64,
    /// rₙ = C(πₙ, f*) − C(π*, f*)
    pub regret: f64,
    /// R = Σ r so far.
    pub cumulative_regret: f64,
    /// What the plan cost in the imagination it was made for.
    pub planned_cost: Option<f64>,
    /// What the best plan on the mean model cost there.
    pub mean_cost: Option<f64>,
    /// Measurements known after it.
    pub measurements: usize,
    /// When it was measured.
    pub measurement_times: Vec<f64>,
    /// Times at which the state was read without learning from it.
    pub synchronizations: Vec<f64>,
    /// All reads of the system in this episode: measurements, and looks at the state alone.
    pub reads: usize,
    /// βₙ for each output, of the model the episode was planned with.
    pub confidence_scale: Vec<f64>,
    /// What its measurements told, all outputs together, in nats.
    pub information_gain: f64,
    /// The same, summed over the episodes so far.
    pub total_information_gain: f64,
    /// How little of ẋ was known along the executed trajectory: root mean square of σⱼ over that of fⱼ, mean over the outputs. None before
    /// anything is known; it, coverage and the analysis also in discrete time, where ẋ is not what is learned.
    pub uncertainty: Option<f64>,
    /// Share of the executed trajectory on which |fⱼ − μⱼ| ≤ β σⱼ, all outputs together: what `information-gain` promises for 1 − δ.
    pub coverage: Option<f64>,
    /// The same for |fⱼ − μⱼ| ≤ 1.96 β σⱼ: what `calibrated` promises for 0.95.
    pub coverage_95: Option<f64>,
    /// How it ended.
    pub outcome: String,
    /// The analysis in numbers; none before anything is known.
    pub theory: Option<Theory>,
    /// The analysis in discrete time; none in continuous time, and before anything is known.
    pub discrete_theory: Option<DiscreteTheory>,
}

/// What was found along executed trajectories.
#[derive(Clone, Copy)]
struct Found {
    uncertainty: f64,
    coverage: f64,
    coverage_95: f64,
    theory: Theory,
}

/// 95 % of a normal distribution lie within this many standard deviations.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Looks on and judges.
pub struct Judge {
    task: Task,
    truth: Box<dyn Dynamics>,
    optimum: f64,
    cumulative_regret: f64,
    total_gain: f64,
    analysis: Analysis,
    /// In discrete time.
    discrete: Option<DiscreteAnalysis>,
}

/// Every so many-th recorded moment is judged.
const STRIDE: usize = 5;

impl Judge {
    /// With the true dynamics, what the learner was told, and the cost of the best control (mean over the initial states).
    pub fn new(task: Task, truth: Box<dyn Dynamics>, settings: Settings, optimum: f64) -> Self {
        let discrete = (settings.time == Time::Discrete).then(DiscreteAnalysis::default);
        Judge {
            analysis: Analysis::new(task.clone(), settings),
            task,
            truth,
            optimum,
            cumulative_regret: 0.0,
            total_gain: 0.0,
            discrete,
        }
    }

    /// Judges an episode. `before` is the model it was planned with (none in episode 0), `after` the one that has learned from it.
    pub fn judge(
        &mut self,
        proposal: &Proposal,
        executed: &[Executed],
        before: Option<&dyn StatisticalModel>,
        after: &dyn StatisticalModel,
        measurements: usize,
    ) -> Record {
        let cost = executed.iter().map(|e| e.cost).sum::<f64>() / executed.len().max(1) as f64;
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
        let ends: Vec<String> = executed.iter().map(|e| e.outcome.to_string()).collect();
        Record {
            episode: proposal.episode,
            cost,
            regret,
            cumulative_regret: self.cumulative_regret,
            planned_cost: proposal.planned_cost(),
            mean_cost: proposal.mean_cost(),
            measurements,
            measurement_times: readings.map(|r| r.time).collect(),
            synchronizations: executed.iter().flat_map(|e| e.synchronizations.clone()).collect(),
            reads,
            confidence_scale: before.map_or(Vec::new(), |m| m.confidence_scale().to_vec()),
            information_gain,
            total_information_gain: self.total_gain,
            uncertainty: along.map(|a| a.uncertainty),
            coverage: along.map(|a| a.coverage),
            coverage_95: along.map(|a| a.coverage_95),
            outcome: ends.iter().find(|e| *e != "completed").unwrap_or(&ends[0]).clone(),
            theory: along.map(|a| a.theory),
            discrete_theory,
        }
    }

    /// I(Dₙ; f | D₁:ₙ₋₁), summed over the outputs; before anything is known, what the first training makes of it.
    fn gain(
        &self,
        executed: &[Executed],
        before: Option<&dyn StatisticalModel>,
        after: &dyn StatisticalModel,
    ) -> f64 {
        let Some(model) = before else { return after.information_gain().iter().sum() };
        let mut new = Measurements::new(model.dims());
        for r in executed.iter().flat_map(|e| &e.readings) {
            let Some(derivative) = &r.derivative else {
                // States are seen anew with every model: what all tell now beside what they told before.
                let each = after.information_gain().into_iter().zip(model.information_gain());
                return each.map(|(after, before)| after - before).sum::<f64>().max(0.0);
            };
            // What the learner refuses tells nothing.
            let _ = new.push(r.time, &r.state, &r.inputs(), derivative, &self.task.noise_std);
        }
        if new.is_empty() {
            return 0.0;
        }
        let mut covariance = Blocks::default();
        model.covariance(new.points(), &mut covariance);
        theory::information_gain_of(&covariance, new.noise_std()).iter().sum()
    }

    /// Uncertainty, coverage and theory along the executed trajectories; nothing in discrete time, where the model is not of f.
    fn along(
        &mut self,
        proposal: &Proposal,
        executed: &[Executed],
        model: &dyn StatisticalModel,
    ) -> Option<Found> {
        let dims = self.task.dims();
        if model.dims() != dims {
            return None;
        }
        let (mut squares, mut true_squares) = (vec![0.0; dims.state], vec![0.0; dims.state]);
        let (mut covered, mut covered_95, mut looked) = (0_u32, 0_u32, 0_u32);
        let beta = model.confidence_scale();
        let moments: Vec<Moments> = executed.iter().map(|leg| Moments::of(leg, dims, model)).collect();
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
        let legs: Vec<Along<'_>> = moments
            .iter()
            .zip(executed.iter().zip(&proposal.plans))
            .filter(|(moments, _)| !moments.times.is_empty())
            .map(|(moments, (leg, plan))| Along {
                leg,
                plan: plan.as_ref(),
                times: &moments.times,
                points: Points::new(&moments.points, dims.point()),
                posterior: &moments.posterior,
            })
            .collect();
        let theory = self.analysis.episode(model, &legs);
        Some(Found { uncertainty, coverage: share(covered), coverage_95: share(covered_95), theory })
    }
}

/// The moments of a leg that are judged: those that are finite numbers.
struct Moments {
    times: Vec<f64>,
    points: Vec<f64>,
    /// With both Jacobians.
    posterior: Posterior,
}

impl Moments {
    fn of(leg: &Executed, dims: Dims, model: &dyn StatisticalModel) -> Self {
        let (mut times, mut points, mut posterior) = (Vec::new(), Vec::new(), Posterior::default());
        let all = leg.trajectory.points();
        for (i, z) in all.chunks_exact(dims.point()).enumerate().step_by(STRIDE) {
            if z.iter().all(|v| v.is_finite()) {
                times.push(leg.trajectory.times[i]);
                points.extend_from_slice(z);
            }
        }
        if !times.is_empty() {
            model.posterior(Points::new(&points, dims.point()), Query::All, &mut posterior);
        }
        Moments { times, points, posterior }
    }
}
