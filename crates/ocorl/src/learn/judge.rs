//! What an episode was worth: regret, coverage and the quantities of the paper's analysis, by somebody who knows the truth and only looks on.

use super::learner::Proposal;
use super::settings::Settings;
use super::spacing::Spacing;
use crate::linalg::{Blocks, Points, Quadratization};
use crate::measurements::Measurements;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::Executed;
use crate::system::{Dynamics, Task};
use crate::theory::{self, Lipschitz};
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
}

/// Quantities of the paper's analysis, with slopes along the executed trajectory for Lipschitz constants. Bounds are natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Theory {
    /// L_f, of μ.
    pub lipschitz_dynamics: f64,
    /// L_π, of the plan's gains.
    pub lipschitz_policy: f64,
    /// L_σ
    pub lipschitz_std: f64,
    /// L_c
    pub lipschitz_cost: f64,
    /// ∫‖σₙ₋₁(zₙ(t))‖² dt
    pub complexity: f64,
    /// I_N: the same summed over the episodes so far.
    pub total_complexity: f64,
    /// L_f that Δₙ follows from: like L_π and L_σ of Δₙ it must be known before the episode, so it is the largest slope along the plan
    /// (or what `select.lipschitz` says), not along the executed trajectory.
    pub interval_lipschitz_dynamics: f64,
    /// L_π of Δₙ.
    pub interval_lipschitz_policy: f64,
    /// L_σ of Δₙ.
    pub interval_lipschitz_std: f64,
    /// Δₙ, by which `receding-horizon` measures; none if σ is flat.
    pub interval: Option<f64>,
    /// Γₙ(Δₙ)
    pub growth: f64,
    /// mₙ = ⌈T/Δₙ⌉: what the analysis asks for, whatever was done. Of several initial states, for the one that asks for most; zero if a
    /// slope is not a finite number.
    pub measurement_count: usize,
    /// ln of the bound on rₙ.
    pub log_regret_bound: f64,
    /// ln of Proposition 1's bound on R_N.
    pub log_cumulative_regret_bound: f64,
}

/// What was found along executed trajectories.
#[derive(Clone, Copy)]
struct Along {
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
    settings: Settings,
    optimum: f64,
    cumulative_regret: f64,
    total_gain: f64,
    total_complexity: f64,
    planned_episodes: usize,
    posterior: Posterior,
}

/// Every so many-th recorded moment is judged.
const STRIDE: usize = 5;

impl Judge {
    /// With the true dynamics, what the learner was told, and the cost of the best control (mean over the initial states).
    pub fn new(task: Task, truth: Box<dyn Dynamics>, settings: Settings, optimum: f64) -> Self {
        Judge {
            task,
            truth,
            settings,
            optimum,
            cumulative_regret: 0.0,
            total_gain: 0.0,
            total_complexity: 0.0,
            planned_episodes: 0,
            posterior: Posterior::default(),
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
        let along = before.and_then(|model| {
            self.planned_episodes += 1;
            self.along(proposal, executed, model)
        });
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
    ) -> Option<Along> {
        let dims = self.task.dims();
        if model.dims() != dims {
            return None;
        }
        let (mut times, mut points, mut complexity, mut integrated) = (Vec::new(), Vec::new(), 0.0, 0.0);
        let (mut squares, mut true_squares) = (vec![0.0; dims.state], vec![0.0; dims.state]);
        let (mut covered, mut covered_95, mut looked) = (0_u32, 0_u32, 0_u32);
        let mut steepest = Lipschitz { dynamics: 0.0, policy: 0.0, std: 0.0, cost: 0.0 };
        let mut closest: Option<Spacing> = None;
        let beta = model.confidence_scale();
        for (leg, plan) in executed.iter().zip(&proposal.plans) {
            times.clear();
            points.clear();
            let all = leg.trajectory.points();
            for (i, z) in all.chunks_exact(dims.point()).enumerate().step_by(STRIDE) {
                if z.iter().all(|v| v.is_finite()) {
                    times.push(leg.trajectory.times[i]);
                    points.extend_from_slice(z);
                }
            }
            let z = Points::new(&points, dims.point());
            if z.is_empty() {
                continue;
            }
            model.posterior(z, Query::All, &mut self.posterior);
            let mut truth = Blocks::zeros(dims.state, z.len());
            self.truth.derivative(z, truth.as_mut_slice());
            for i in 0..z.len() {
                for j in 0..dims.state {
                    let (f, mean) = (truth.at(i)[j], self.posterior.mean.value.at(i)[j]);
                    let std = self.posterior.std.value.at(i)[j];
                    squares[j] += std * std;
                    true_squares[j] += f * f;
                    looked += 1;
                    covered += u32::from((f - mean).abs() <= beta[j] * std);
                    covered_95 += u32::from((f - mean).abs() <= NORMAL_95 * beta[j] * std);
                }
            }
            complexity += theory::complexity(&times, &self.posterior.std.value);
            integrated += theory::integrated_std(&times, &self.posterior.std.value);
            let mut cost = Quadratization::default();
            self.task.cost.quadratize(&times, z, &mut cost);
            let none = Blocks::default();
            let gains = plan.as_ref().map_or(&none, |p| &p.plan.gains);
            let slopes = Lipschitz::estimate(&self.posterior, gains, dims.control, &cost);
            steepest = Lipschitz {
                dynamics: steepest.dynamics.max(slopes.dynamics),
                policy: steepest.policy.max(slopes.policy),
                std: steepest.std.max(slopes.std),
                cost: steepest.cost.max(slopes.cost),
            };
            if let Some(plan) = plan {
                let select = &self.settings.select;
                let new = Spacing::of(model, &self.task, select, &plan.plan, &mut self.posterior);
                closest = Some(closest.filter(|c| c.count >= new.count).unwrap_or(new));
            }
        }
        if looked == 0 {
            return None;
        }
        let ratio = |(s, t): (&f64, &f64)| if *t > 0.0 { (s / t).sqrt() } else { 0.0 };
        let uncertainty = squares.iter().zip(&true_squares).map(ratio).sum::<f64>() / dims.state as f64;
        let share = |count: u32| f64::from(count) / f64::from(looked);
        self.total_complexity += complexity;
        let theory = self.theory(&steepest, closest, beta, complexity, integrated);
        Some(Along { uncertainty, coverage: share(covered), coverage_95: share(covered_95), theory })
    }

    /// `slopes` are those along the executed trajectories; Δₙ is that of the schedule, or follows from the same slopes if nothing was
    /// planned.
    fn theory(
        &self,
        slopes: &Lipschitz,
        spacing: Option<Spacing>,
        beta: &[f64],
        complexity: f64,
        integrated: f64,
    ) -> Theory {
        let (beta, horizon) = (beta.iter().fold(0.0_f64, |m, b| m.max(*b)), self.task.horizon);
        let spacing = spacing.unwrap_or_else(|| Spacing::from_constants(beta, *slopes, horizon));
        Theory {
            lipschitz_dynamics: slopes.dynamics,
            lipschitz_policy: slopes.policy,
            lipschitz_std: slopes.std,
            lipschitz_cost: slopes.cost,
            complexity,
            total_complexity: self.total_complexity,
            interval_lipschitz_dynamics: spacing.lipschitz.dynamics,
            interval_lipschitz_policy: spacing.lipschitz.policy,
            interval_lipschitz_std: spacing.lipschitz.std,
            interval: (spacing.interval > 0.0 && spacing.interval.is_finite()).then_some(spacing.interval),
            growth: spacing.growth(),
            measurement_count: if spacing.interval > 0.0 { spacing.count } else { 0 },
            log_regret_bound: theory::log_instantaneous_bound(beta, slopes, horizon, integrated),
            log_cumulative_regret_bound: theory::log_regret_bound(
                beta,
                slopes,
                horizon,
                self.planned_episodes,
                self.total_complexity,
            ),
        }
    }
}
