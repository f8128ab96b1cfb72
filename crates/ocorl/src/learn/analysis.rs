//! The paper's analysis of an episode in continuous time, computed while learning runs: constants, complexity and its bounds, the distance
//! lemma, the maximum information gain. Nothing of it reaches the learner.

use super::learner::Intention;
use super::settings::{Observed, Settings, Strategy};
use super::spacing::Spacing;
use crate::linalg::{Blocks, Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::Executed;
use crate::system::Task;
use crate::theory::{self, ComplexityBound, Lipschitz};
use crate::track::Reference;
use serde::Serialize;

/// Quantities of the paper's analysis, with slopes along the executed trajectory for Lipschitz constants. Bounds that may be beyond all
/// numbers are natural logarithms, and named so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Default)]
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
    /// Which bound on I_N belongs to the strategy: `oracle`, `equidistant` or `adaptive`. None if the paper has none for it, and for
    /// `receding-horizon` once an episode had fewer than mₙ intervals.
    pub complexity_bound_of: Option<&'static str>,
    /// That bound, summed over the episodes so far like I_N.
    pub complexity_bound: Option<f64>,
    /// γₙ, as much as n measurements along all executed trajectories so far can tell, n being as many as were taken: what the greedy rule
    /// finds on at most 400 candidates, all outputs together, in nats. At least 1 − 1/e of the greatest there. None if the
    /// model does not know its prior.
    pub maximum_information_gain: Option<f64>,
    /// ln of 18 s̄ T dₓ γ, the paper's last bound on I_N for the adaptive strategy, with that γₙ for γ.
    pub log_information_bound: Option<f64>,
    /// maxₜ ‖x̂ₙ(t) − xₙ(t)‖, planned and executed state: the left side of the distance lemma.
    pub distance: Option<f64>,
    /// ln of the lemma's right side at the time of the largest distance.
    pub log_distance_bound: Option<f64>,
    /// The least of ln(right side) − ln(left side) over all times; negative where the lemma does not hold with these constants.
    pub distance_margin: Option<f64>,
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

/// A leg as it was run, at the moments that are judged.
pub(super) struct Along<'a> {
    pub(super) leg: &'a Executed,
    pub(super) plan: Option<&'a Intention>,
    pub(super) times: &'a [f64],
    pub(super) points: Points<'a>,
    /// Both Jacobians at the points, by the model before the episode.
    pub(super) posterior: &'a Posterior,
}

/// Sums over the episodes, and what they need of the past.
pub(super) struct Analysis {
    task: Task,
    settings: Settings,
    noise_variance: Vec<f64>,
    planned_episodes: usize,
    total_complexity: f64,
    /// None once an episode did not fulfil what the bound supposes.
    total_bound: Option<f64>,
    /// Points of executed trajectories, to choose from for γₙ.
    candidates: Vec<f64>,
    /// Measurements so far.
    measured: usize,
    scratch: Posterior,
}

/// One episode on the way to its [`Theory`].
struct Sums {
    slopes: Lipschitz,
    spacing: Option<Spacing>,
    complexity: f64,
    integrated: f64,
    bound: Option<f64>,
    distance: Option<Distance>,
}

/// Both sides of the distance lemma.
#[derive(Clone, Copy)]
struct Distance {
    largest: f64,
    log_bound: f64,
    margin: f64,
}

/// Every so many-th judged moment is a candidate for γₙ.
const CANDIDATE_STRIDE: usize = 4;

/// Candidates at most; beyond, every second one is dropped.
const CANDIDATES: usize = 400;

impl Analysis {
    pub(super) fn new(task: Task, settings: Settings) -> Self {
        let noise = match settings.measured {
            Observed::Derivatives => task.noise_std.clone(),
            Observed::States => settings.derivative_noise(&task),
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

    /// Counts an episode that nothing was known before.
    pub(super) fn count(&mut self, executed: &[Executed]) {
        self.measured += executed.iter().map(|leg| leg.readings.len()).sum::<usize>();
    }

    /// An episode that was planned with `model`, from all of its legs.
    pub(super) fn episode(&mut self, model: &dyn StatisticalModel, legs: &[Along<'_>]) -> Theory {
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
        for along in legs {
            self.leg(model, along, &mut sums);
        }
        self.total_complexity += sums.complexity;
        self.total_bound = self.total_bound.zip(sums.bound).map(|(all, new)| all + new);
        let gain = self.maximum_gain(model);
        self.theory(model, &sums, gain)
    }

    fn leg(&mut self, model: &dyn StatisticalModel, along: &Along<'_>, sums: &mut Sums) {
        let &Along { leg, plan, times, points, posterior } = along;
        self.measured += leg.readings.len();
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

    /// The bound that the strategy has, if the paper has one.
    fn bound_of(&self) -> Option<ComplexityBound> {
        match self.settings.strategy {
            Strategy::Oracle => Some(ComplexityBound::Oracle),
            Strategy::Equidistant | Strategy::EquidistantGrowing => Some(ComplexityBound::Equidistant),
            Strategy::RecedingHorizon => Some(ComplexityBound::Adaptive),
            Strategy::MaxDeterminant | Strategy::MaxKernelDistance | Strategy::UncertaintyTrigger => None,
        }
    }

    /// What a leg contributes to it; none if it does not fulfil what the bound supposes.
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
            .leg
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

    /// γₙ and the greatest prior variance of each output.
    fn maximum_gain(&mut self, model: &dyn StatisticalModel) -> Option<(Vec<f64>, Vec<f64>)> {
        let dim = self.task.dims().point();
        while self.candidates.len() > CANDIDATES * dim {
            let kept = self.candidates.chunks_exact(dim).step_by(2).flatten().copied().collect();
            self.candidates = kept;
        }
        let prior = model.prior()?;
        let mut joint = prior.joint(Points::new(&self.candidates, dim));
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

    /// ln of 18 T Σⱼ s̄ⱼ γⱼ: the paper's 18 s̄ T dₓ γ where each output has a kernel and a noise of its own.
    fn information_bound(&self, gain: &[f64], prior: &[f64]) -> Option<f64> {
        let each = gain.iter().zip(prior).zip(&self.noise_variance).map(|((gain, prior), noise)| {
            // As in the gain itself: a measurement without noise would tell infinitely much.
            let noise = noise.max(1e-12 * prior).max(f64::MIN_POSITIVE);
            theory::log_complexity_bound(*prior, noise, self.task.horizon, 1, *gain)
        });
        finite(Some(theory::log_sum(each)))
    }
}

impl Distance {
    /// The one of two legs whose distance is larger, with the lesser margin.
    fn or(self, other: Distance) -> Distance {
        let margin = self.margin.min(other.margin);
        let larger = if other.largest > self.largest { other } else { self };
        Distance { margin, ..larger }
    }
}

/// Both sides of the distance lemma along a leg. x̂ₙ is the plan: fₙ under πₙ from the same initial state.
fn distance(
    task: &Task,
    plan: &Intention,
    along: &Along<'_>,
    beta: f64,
    slopes: &Lipschitz,
) -> Option<Distance> {
    let reference = Reference::with_slopes(plan.plan.clone(), plan.slopes.clone(), &task.angles);
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
        // At the beginning both sides are zero, and so is what nothing is unknown about.
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
