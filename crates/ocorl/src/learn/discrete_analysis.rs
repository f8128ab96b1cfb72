//! Quantities of the paper's discrete-time appendix, computed along with learning if `time = "discrete"`.
//!
//! The model learns g with x_{k+1} = h(x_k, u_k) = x_k + τ g(x_k, u_k, τ), so
//!
//! ```text
//! ∂h/∂z = (I, 0) + τ ∂g/∂z,   σ_h = τ σ_g,   L_σ = τ max ‖∂σ_g/∂z‖,   L_c = τ max ‖∇c‖
//! ```
//!
//! at the K holds of the executed episode, z = (x, u) without τ.

use super::learner::PlannedRollout;
use crate::linalg::{Blocks, Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::{Reading, RolloutResult};
use crate::system::{Dims, Task};
use crate::theory::{DiscreteLipschitz, largest_gain_norm, largest_gradient_norm, spectral_norm};
use serde::Serialize;

/// Quantities of the discrete-time appendix. Slopes along the executed trajectory serve as Lipschitz constants. σ is that of h. Bounds are
/// natural logarithms; a bound is `None` where the model has no uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Default)]
#[non_exhaustive]
pub struct DiscreteTheory {
    /// Number of holds K of the episode.
    pub steps: usize,
    /// Lipschitz constant L_h of the step map h.
    pub lipschitz_step: f64,
    /// Lipschitz constant L_π of the policy, from the plan's gains.
    pub lipschitz_policy: f64,
    /// Lipschitz constant L_σ of the posterior standard deviation of h.
    pub lipschitz_std: f64,
    /// Lipschitz constant L_c of the cost of a hold.
    pub lipschitz_cost: f64,
    /// Closed-loop constant L_h′ = L_h (1 + L_π).
    pub closed_loop_step: f64,
    /// Closed-loop constant L_σ′ = L_σ (1 + L_π).
    pub closed_loop_std: f64,
    /// Closed-loop constant L_c′ = L_c (1 + L_π).
    pub closed_loop_cost: f64,
    /// Model complexity of the episode, Σ_k ‖σₙ₋₁(zₙₖ)‖².
    pub complexity: f64,
    /// Total model complexity: the sum over all episodes so far.
    pub total_complexity: f64,
    /// Largest distance max_k ‖x̂_k − x_k‖ between planned and executed state.
    pub distance: Option<f64>,
    /// Natural logarithm of the lemma's bound on the largest distance.
    pub log_distance_bound: Option<f64>,
    /// Natural logarithm of the sharper bound in the lemma's proof, at the step of the largest distance.
    pub log_sharp_distance_bound: Option<f64>,
    /// Natural logarithm of the bound on the regret rₙ of the episode.
    pub log_regret_bound: Option<f64>,
    /// Natural logarithm of the bound on the cumulative regret R_N, with this episode's K and constants.
    pub log_cumulative_regret_bound: Option<f64>,
}

/// Sums over the episodes.
#[derive(Default)]
pub(super) struct DiscreteAnalysis {
    planned_episodes: usize,
    total_complexity: f64,
    posterior: Posterior,
}

/// Quantities of one rollout.
struct Rollout {
    lipschitz: DiscreteLipschitz,
    /// Uncertainty ‖σ(z_k)‖ at each hold.
    std: Vec<f64>,
    /// Largest distance between planned and executed state, and its step.
    distance: Option<(f64, usize)>,
}

impl DiscreteAnalysis {
    /// Evaluates the analysis of an episode that was planned with `model`, whose last control is τ. `None` if there is no measurement.
    pub(super) fn episode(
        &mut self,
        task: &Task,
        plans: &[Option<PlannedRollout>],
        executed: &[RolloutResult],
        model: &dyn StatisticalModel,
    ) -> Option<DiscreteTheory> {
        self.planned_episodes += 1;
        let rollouts: Vec<Rollout> = executed
            .iter()
            .zip(plans)
            .filter_map(|(rollout, plan)| self.rollout(task, plan.as_ref(), rollout, model))
            .collect();
        let lipschitz =
            rollouts.iter().map(|rollout| rollout.lipschitz).reduce(|a, b| DiscreteLipschitz {
                step: a.step.max(b.step),
                policy: a.policy.max(b.policy),
                std: a.std.max(b.std),
                cost: a.cost.max(b.cost),
            })?;
        let complexity = rollouts.iter().flat_map(|rollout| &rollout.std).map(|s| s * s).sum::<f64>();
        self.total_complexity += complexity;
        let beta = model.confidence_scale().iter().fold(0.0_f64, |m, b| m.max(*b));
        let steps = rollouts.iter().map(|rollout| rollout.std.len()).max().unwrap_or_default();
        let far = rollouts.iter().filter_map(|rollout| Some((rollout, rollout.distance?)));
        let far = far.reduce(|a, b| if b.1.0 > a.1.0 { b } else { a });
        let sum = |rollout: &Rollout| rollout.std.iter().sum::<f64>();
        let finite = |log: f64| log.is_finite().then_some(log);
        let [closed_loop_step, closed_loop_std, closed_loop_cost] = lipschitz.closed_loop();
        // The cost of an episode is the mean over its rollouts, and so is its regret.
        let mean = rollouts.iter().map(sum).sum::<f64>() / rollouts.len() as f64;
        Some(DiscreteTheory {
            steps,
            lipschitz_step: lipschitz.step,
            lipschitz_policy: lipschitz.policy,
            lipschitz_std: lipschitz.std,
            lipschitz_cost: lipschitz.cost,
            closed_loop_step,
            closed_loop_std,
            closed_loop_cost,
            complexity,
            total_complexity: self.total_complexity,
            distance: far.map(|(_, (distance, _))| distance),
            log_distance_bound: far.and_then(|(rollout, (_, k))| {
                finite(lipschitz.log_distance_bound(beta, steps, rollout.std[..k].iter().sum()))
            }),
            log_sharp_distance_bound: far.and_then(|(rollout, (_, k))| {
                finite(lipschitz.log_sharp_distance_bound(beta, &rollout.std[..k]))
            }),
            log_regret_bound: finite(lipschitz.log_instantaneous_bound(beta, steps, mean)),
            log_cumulative_regret_bound: finite(lipschitz.log_regret_bound(
                beta,
                steps,
                self.planned_episodes,
                self.total_complexity,
            )),
        })
    }

    fn rollout(
        &mut self,
        task: &Task,
        plan: Option<&PlannedRollout>,
        rollout: &RolloutResult,
        model: &dyn StatisticalModel,
    ) -> Option<Rollout> {
        let dims = task.dims();
        let whole = |r: &&Reading| r.state.iter().chain(&r.control).all(|v| v.is_finite());
        let holds: Vec<&Reading> = rollout.readings.iter().take_while(whole).collect();
        let interval = holds.first()?.interval?;
        let inputs: Vec<f64> = holds.iter().flat_map(|r| r.state.iter().copied().chain(r.inputs())).collect();
        model.posterior(Points::new(&inputs, model.dims().point()), Query::All, &mut self.posterior);
        let points: Vec<f64> = holds.iter().flat_map(|r| r.state.iter().chain(&r.control)).copied().collect();
        let times: Vec<f64> = holds.iter().map(|r| r.time).collect();
        let mut cost = Quadratization::default();
        task.cost.quadratize(&times, Points::new(&points, dims.point()), &mut cost);
        let (mean, std) = (&self.posterior.mean, &self.posterior.std);
        let slope = |jacobians: &Blocks, identity: f64| {
            jacobians.iter().map(|j| step_slope(j, dims, interval, identity)).fold(0.0, f64::max)
        };
        let lipschitz = DiscreteLipschitz {
            step: slope(&mean.jacobian, 1.0),
            policy: plan.map_or(0.0, |p| largest_gain_norm(&p.plan.gains, dims.control, dims.state)),
            std: slope(&std.jacobian, 0.0),
            cost: interval * largest_gradient_norm(&cost),
        };
        let norm = |s: &[f64]| interval * s.iter().map(|s| s * s).sum::<f64>().sqrt();
        let std = std.value.iter().map(norm).collect();
        Some(Rollout {
            lipschitz,
            std,
            distance: plan.and_then(|plan| distance(task, plan, &holds, rollout)),
        })
    }
}

/// Computes ‖(`identity` I, 0) + τ ∂g/∂(x, u)‖₂ from the gradients of g with respect to (x, u, τ).
fn step_slope(jacobian: &[f64], dims: Dims, interval: f64, identity: f64) -> f64 {
    let inputs = jacobian.len() / dims.state;
    let rows = jacobian.chunks_exact(inputs).enumerate().flat_map(|(j, gradient)| {
        let own = move |i: usize| if i == j { identity } else { 0.0 };
        gradient[..dims.point()].iter().enumerate().map(move |(i, d)| own(i) + interval * d)
    });
    spectral_norm(&rows.collect::<Vec<_>>(), dims.state)
}

/// Returns the largest ‖x̂_k − x_k‖ over k = 1, …, K, and its k. x_K is the final state if the run lasted to its horizon. Differences of
/// angles are taken modulo 2π.
fn distance(
    task: &Task,
    plan: &PlannedRollout,
    holds: &[&Reading],
    rollout: &RolloutResult,
) -> Option<(f64, usize)> {
    let ended = holds.len() == plan.plan.controls.len();
    let last = rollout.trajectory.states.iter().last().filter(|_| ended);
    let states = holds.iter().map(|r| r.state.as_slice()).chain(last);
    let each = states.zip(plan.plan.states.iter()).enumerate().skip(1).map(|(k, (x, planned))| {
        let apart = |i: usize| {
            let off = x[i] - planned[i];
            let turn = std::f64::consts::TAU;
            if task.angles.contains(&i) { off - turn * (off / turn).round() } else { off }
        };
        ((0..x.len()).map(|i| apart(i) * apart(i)).sum::<f64>().sqrt(), k)
    });
    each.filter(|(apart, _)| apart.is_finite()).reduce(|a, b| if b.0 > a.0 { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_step_leaves_out_the_length_of_the_hold() {
        // g = (x₁, −3 x₀ + 2 u) with ∂g/∂τ = 100: h = (x₀ + τ x₁, x₁ − 3τ x₀ + 2τ u), τ = 0.1.
        let jacobian = [0.0, 1.0, 0.0, 100.0, -3.0, 0.0, 2.0, 100.0];
        let expected = spectral_norm(&[1.0, 0.1, 0.0, -0.3, 1.0, 0.2], 2);
        let dims = Dims { state: 2, control: 1 };
        assert!((step_slope(&jacobian, dims, 0.1, 1.0) - expected).abs() < 1e-15);
        let without = spectral_norm(&[0.0, 0.1, 0.0, -0.3, 0.0, 0.2], 2);
        assert!((step_slope(&jacobian, dims, 0.1, 0.0) - without).abs() < 1e-15);
    }
}
