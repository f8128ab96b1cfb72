//! Quantities of the paper's continuous-time analysis, computed along with learning: Lipschitz constants, model complexity and its bounds,
//! the distance lemma, the maximum information gain. The learner has no access to them.

use super::learner::PlannedRollout;
use super::settings::{Settings, Strategy};
use super::spacing::Spacing;
use crate::linalg::{Blocks, Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::{MeasurementKind, RolloutResult};
use crate::system::Task;
use crate::theory::{self, ComplexityBound, Lipschitz};
use crate::track::Reference;
use serde::Serialize;

/// Quantities of the paper's analysis of an episode. Slopes along the executed trajectory serve as Lipschitz constants. Bounds that may
/// exceed the range of floating-point numbers are natural logarithms, and their names begin with `log`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Default)]
#[non_exhaustive]
pub struct Theory {
    /// Lipschitz constant L_f of the posterior mean μ.
    pub lipschitz_dynamics: f64,
    /// Lipschitz constant L_π of the policy, from the plan's gains.
    pub lipschitz_policy: f64,
    /// Lipschitz constant L_σ of the posterior standard deviation.
    pub lipschitz_std: f64,
    /// Lipschitz constant L_c of the running cost.
    pub lipschitz_cost: f64,
    /// Model complexity of the episode, ∫‖σₙ₋₁(zₙ(t))‖² dt along the executed trajectory.
    pub complexity: f64,
    /// Total model complexity I_N: the sum over all episodes so far.
    pub total_complexity: f64,
    /// Name of the bound on I_N that applies to the strategy: `oracle`, `equidistant` or `adaptive`. `None` if the paper has no bound for
    /// it, and for `receding-horizon` after an episode with fewer than mₙ intervals.
    pub complexity_bound_of: Option<&'static str>,
    /// Value of that bound, summed over all episodes so far like I_N.
    pub complexity_bound: Option<f64>,
    /// Maximum information gain γₙ: the largest gain of n measurements along all executed trajectories so far, where n is the number of
    /// measurements taken. It is the value of the greedy rule on at most 400 candidates, summed over the outputs, in nats, and thus at
    /// least 1 − 1/e of the maximum over the candidates. `None` if the model does not provide its prior.
    pub maximum_information_gain: Option<f64>,
    /// Natural logarithm of 18 s̄ T dₓ γ, the paper's last bound on I_N for the adaptive strategy, with γ = γₙ.
    pub log_information_bound: Option<f64>,
    /// Left side of the distance lemma: maxₜ ‖x̂ₙ(t) − xₙ(t)‖ between planned and executed state.
    pub distance: Option<f64>,
    /// Natural logarithm of the lemma's right side at the time of the largest distance.
    pub log_distance_bound: Option<f64>,
    /// Minimum of ln(right side) − ln(left side) over all times; negative where the lemma does not hold with these constants.
    pub distance_margin: Option<f64>,
    /// L_f from which Δₙ is computed. Like L_π and L_σ of Δₙ it must be known before the episode. It is therefore the largest slope along
    /// the plan (or the value in `select.lipschitz`), not along the executed trajectory.
    pub interval_lipschitz_dynamics: f64,
    /// L_π from which Δₙ is computed, the largest slope along the plan.
    pub interval_lipschitz_policy: f64,
    /// L_σ from which Δₙ is computed, the largest slope along the plan.
    pub interval_lipschitz_std: f64,
    /// Measurement interval Δₙ of `receding-horizon`; `None` if σ is constant.
    pub interval: Option<f64>,
    /// Growth factor Γₙ(Δₙ) of the uncertainty over one measurement interval.
    pub growth: f64,
    /// Number of measurements mₙ = ⌈T/Δₙ⌉ that the analysis requires, independent of the number taken. With several initial states it is
    /// the maximum over them; zero if a slope is not finite.
    pub measurement_count: usize,
    /// Natural logarithm of the bound on the regret rₙ of the episode.
    pub log_regret_bound: f64,
    /// Natural logarithm of Proposition 1's bound on the cumulative regret R_N.
    pub log_cumulative_regret_bound: f64,
}

/// An executed rollout at the times at which it is evaluated.
pub(super) struct Along<'a> {
    pub(super) rollout: &'a RolloutResult,
    pub(super) plan: Option<&'a PlannedRollout>,
    pub(super) times: &'a [f64],
    pub(super) points: Points<'a>,
    /// Posterior at the points, with the Jacobians of μ and σ, of the model before the episode.
    pub(super) posterior: &'a Posterior,
}

/// Sums over the episodes and the data of past episodes that they need.
pub(super) struct Analysis {
    task: Task,
    settings: Settings,
    noise_variance: Vec<f64>,
    planned_episodes: usize,
    total_complexity: f64,
    /// Sum of the complexity bounds; `None` after an episode that violates the assumptions of the bound.
    total_bound: Option<f64>,
    /// Points of executed trajectories from which the greedy rule for γₙ chooses.
    candidates: Vec<f64>,
    /// Number of measurements so far.
    measured: usize,
    scratch: Posterior,
}

/// Partial sums of one episode, from which its [`Theory`] is computed.
struct Sums {
    slopes: Lipschitz,
    spacing: Option<Spacing>,
    complexity: f64,
    integrated: f64,
    bound: Option<f64>,
    distance: Option<Distance>,
}

/// Left and right side of the distance lemma.
#[derive(Clone, Copy)]
struct Distance {
    largest: f64,
    log_bound: f64,
    margin: f64,
}

/// One in this many evaluated times is a candidate for γₙ.
const CANDIDATE_STRIDE: usize = 4;

/// Maximum number of candidates; beyond it every second one is dropped.
const CANDIDATES: usize = 400;

impl Analysis {
    pub(super) fn new(task: Task, settings: Settings) -> Self {
        let noise = match settings.measured {
            MeasurementKind::States => settings.derivative_noise(&task),
            MeasurementKind::Derivatives | MeasurementKind::Transitions => task.noise_std.clone(),
        };
        Analysis {
            noise_variance: noise.iter().map(|s| s * s).collect(),
            task,
            settings,
            planned_episodes: 0,
            total_complexity: 0.0,
            total_bound: Some(0.0),
            candidates: Vec::new(),
            measured: 0,
            scratch: Posterior::default(),
        }
    }

    /// Counts the measurements of an episode that was run before any model was trained.
    pub(super) fn count(&mut self, executed: &[RolloutResult]) {
        self.measured += executed.iter().map(|rollout| rollout.readings.len()).sum::<usize>();
    }

    /// Evaluates the analysis of an episode that was planned with `model`, from all of its rollouts.
    pub(super) fn episode(&mut self, model: &dyn StatisticalModel, rollouts: &[Along<'_>]) -> Theory {
        self.planned_episodes += 1;
        let still = Lipschitz { dynamics: 0.0, policy: 0.0, std: 0.0, cost: 0.0 };
        let mut sums = Sums {
            slopes: still,
            spacing: None,
            complexity: 0.0,
            integrated: 0.0,
            bound: Some(0.0),
            distance: None,
        };
        for along in rollouts {
            self.rollout(model, along, &mut sums);
        }
        self.total_complexity += sums.complexity;
        self.total_bound = self.total_bound.zip(sums.bound).map(|(all, new)| all + new);
        let gain = self.maximum_gain(model);
        self.theory(model, &sums, gain)
    }

    fn rollout(&mut self, model: &dyn StatisticalModel, along: &Along<'_>, sums: &mut Sums) {
        let &Along { rollout, plan, times, points, posterior } = along;
        self.measured += rollout.readings.len();
        sums.complexity += theory::complexity(times, &posterior.std.value);
        sums.integrated += theory::integrated_std(times, &posterior.std.value);
        let mut cost = Quadratization::default();
        self.task.cost.quadratize(times, points, &mut cost);
        let none = Blocks::default();
        let gains = plan.map_or(&none, |p| &p.plan.gains);
        let slopes = Lipschitz::estimate(posterior, gains, self.task.controls.len(), &cost);
        sums.slopes = Lipschitz {
            dynamics: sums.slopes.dynamics.max(slopes.dynamics),
            policy: sums.slopes.policy.max(slopes.policy),
            std: sums.slopes.std.max(slopes.std),
            cost: sums.slopes.cost.max(slopes.cost),
        };
        if let Some(plan) = plan {
            let new = Spacing::of(model, &self.task, &self.settings.select, &plan.plan, &mut self.scratch);
            sums.spacing = Some(sums.spacing.filter(|s| s.count >= new.count).unwrap_or(new));
            let beta = largest(model.confidence_scale());
            let new = distance(&self.task, plan, along, beta, &slopes);
            sums.distance = [sums.distance, new].into_iter().flatten().reduce(Distance::or);
        }
        let new = self.bound(model, along, sums.spacing);
        sums.bound = sums.bound.zip(new).map(|(all, new)| all + new);
        for i in (0..points.len()).step_by(CANDIDATE_STRIDE) {
            self.candidates.extend_from_slice(points.at(i));
        }
    }

    /// Returns the complexity bound of the strategy, if the paper has one.
    fn bound_of(&self) -> Option<ComplexityBound> {
        match self.settings.strategy {
            Strategy::Oracle => Some(ComplexityBound::Oracle),
            Strategy::Equidistant | Strategy::EquidistantGrowing => Some(ComplexityBound::Equidistant),
            Strategy::RecedingHorizon => Some(ComplexityBound::Adaptive),
            Strategy::MaxDeterminant | Strategy::MaxKernelDistance | Strategy::UncertaintyTrigger => None,
        }
    }

    /// Returns the contribution of a rollout to the bound; `None` if the rollout violates the assumptions of the bound.
    fn bound(
        &mut self,
        model: &dyn StatisticalModel,
        along: &Along<'_>,
        spacing: Option<Spacing>,
    ) -> Option<f64> {
        let bound = self.bound_of()?;
        let (horizon, squares) = (self.task.horizon, theory::squared_norms(&along.posterior.std.value));
        if bound == ComplexityBound::Oracle {
            return Some(theory::oracle_bound(horizon, &squares));
        }
        let at: Vec<f64> = along
            .rollout
            .readings
            .iter()
            .filter(|r| r.state.iter().chain(&r.control).all(|v| v.is_finite()))
            .flat_map(|r| r.state.iter().chain(&r.control))
            .copied()
            .collect();
        model.posterior(Points::new(&at, self.task.dims().point()), Query::MeanStd, &mut self.scratch);
        let measured = theory::squared_norms(&self.scratch.std.value);
        if bound == ComplexityBound::Equidistant {
            let slope = theory::largest_slope(along.times, &squares);
            return Some(theory::equidistant_bound(horizon, &measured, slope)).filter(|b| b.is_finite());
        }
        let enough = spacing.is_some_and(|s| measured.len() >= s.count);
        enough.then(|| theory::adaptive_bound(horizon, &measured))
    }

    /// Returns γₙ and the greatest prior variance of each output.
    fn maximum_gain(&mut self, model: &dyn StatisticalModel) -> Option<(Vec<f64>, Vec<f64>)> {
        let dim = self.task.dims().point();
        while self.candidates.len() > CANDIDATES * dim {
            let kept = self.candidates.chunks_exact(dim).step_by(2).flatten().copied().collect();
            self.candidates = kept;
        }
        let prior = model.prior()?;
        let mut joint = prior.covariance_columns(Points::new(&self.candidates, dim));
        let gain =
            theory::greedy_maximum_information_gain(joint.as_mut(), &self.noise_variance, self.measured);
        let variance = (0..joint.outputs()).map(|j| largest(joint.variance(j))).collect();
        Some((gain, variance))
    }

    fn theory(
        &self,
        model: &dyn StatisticalModel,
        sums: &Sums,
        gain: Option<(Vec<f64>, Vec<f64>)>,
    ) -> Theory {
        let (beta, horizon, slopes) = (largest(model.confidence_scale()), self.task.horizon, &sums.slopes);
        let spacing = sums.spacing.unwrap_or_else(|| Spacing::from_constants(beta, *slopes, horizon));
        let bound = self.bound_of().map(ComplexityBound::name).zip(self.total_bound);
        let distance = sums.distance;
        Theory {
            lipschitz_dynamics: slopes.dynamics,
            lipschitz_policy: slopes.policy,
            lipschitz_std: slopes.std,
            lipschitz_cost: slopes.cost,
            complexity: sums.complexity,
            total_complexity: self.total_complexity,
            complexity_bound_of: bound.map(|(name, _)| name),
            complexity_bound: bound.map(|(_, value)| value),
            maximum_information_gain: gain.as_ref().map(|(gain, _)| gain.iter().sum()),
            log_information_bound: gain.and_then(|(gain, prior)| self.information_bound(&gain, &prior)),
            distance: distance.map(|d| d.largest),
            log_distance_bound: finite(distance.map(|d| d.log_bound)),
            distance_margin: finite(distance.map(|d| d.margin)),
            interval_lipschitz_dynamics: spacing.lipschitz.dynamics,
            interval_lipschitz_policy: spacing.lipschitz.policy,
            interval_lipschitz_std: spacing.lipschitz.std,
            interval: (spacing.interval > 0.0 && spacing.interval.is_finite()).then_some(spacing.interval),
            growth: spacing.growth(),
            measurement_count: if spacing.interval > 0.0 { spacing.count } else { 0 },
            log_regret_bound: theory::log_instantaneous_bound(beta, slopes, horizon, sums.integrated),
            log_cumulative_regret_bound: theory::log_regret_bound(
                beta,
                slopes,
                horizon,
                self.planned_episodes,
                self.total_complexity,
            ),
        }
    }

    /// Returns ln of 18 T Σⱼ s̄ⱼ γⱼ: the paper's 18 s̄ T dₓ γ with a kernel and a noise for each output.
    fn information_bound(&self, gain: &[f64], prior: &[f64]) -> Option<f64> {
        let each = gain.iter().zip(prior).zip(&self.noise_variance).map(|((gain, prior), noise)| {
            // As in the gain itself: a measurement without noise would have infinite information.
            let noise = noise.max(1e-12 * prior).max(f64::MIN_POSITIVE);
            theory::log_complexity_bound(*prior, noise, self.task.horizon, 1, *gain)
        });
        finite(Some(theory::log_sum(each)))
    }
}

impl Distance {
    /// Combines two rollouts: the larger distance with its bound, and the smaller margin.
    fn or(self, other: Distance) -> Distance {
        let margin = self.margin.min(other.margin);
        let larger = if other.largest > self.largest { other } else { self };
        Distance { margin, ..larger }
    }
}

/// Evaluates both sides of the distance lemma along a rollout. x̂ₙ is the plan: fₙ under πₙ from the same initial state.
fn distance(
    task: &Task,
    plan: &PlannedRollout,
    along: &Along<'_>,
    beta: f64,
    slopes: &Lipschitz,
) -> Option<Distance> {
    let reference = Reference::with_slopes(plan.plan.clone(), &task.angles);
    let (std, nx) = (&along.posterior.std.value, task.states.len());
    let norm = |i: usize| std.at(i).iter().map(|s| s * s).sum::<f64>().sqrt();
    let (mut planned, mut integrated) = (vec![0.0; nx], 0.0);
    let mut found: Option<Distance> = None;
    for (i, &time) in along.times.iter().enumerate() {
        if i > 0 {
            integrated += 0.5 * (time - along.times[i - 1]) * (norm(i - 1) + norm(i));
        }
        reference.state(time, &mut planned);
        let mut state = along.points.at(i)[..nx].to_vec();
        reference.unwrap_angles(&planned, &mut state);
        let apart = state.iter().zip(&planned).map(|(x, p)| (x - p) * (x - p)).sum::<f64>().sqrt();
        // At the initial time both sides are zero, as they are wherever the model has no uncertainty.
        if integrated == 0.0 || apart == 0.0 {
            continue;
        }
        let log_bound = theory::log_distance_bound(beta, slopes, time, integrated);
        let new = Distance { largest: apart, log_bound, margin: log_bound - apart.ln() };
        found = Some(found.map_or(new, |old| old.or(new)));
    }
    found
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0_f64, |m, v| m.max(*v))
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}
