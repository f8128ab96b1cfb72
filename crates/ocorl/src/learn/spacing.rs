//! Measurement interval Δₙ and number of measurements mₙ of an episode, from quantities known before it. The schedule and the evaluator
//! both use this module, so they cannot disagree.

use super::settings::SelectSettings;
use crate::linalg::{Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plan::Plan;
use crate::system::{Dims, Task};
use crate::theory::{self, Lipschitz};

/// Δₙ and mₙ = ⌈T/Δₙ⌉, with the constants from which they are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spacing {
    /// L_f, L_π and L_σ: the largest slopes at the nodes of the plan, or the constants of `select.lipschitz`. L_c is zero, because Δₙ does
    /// not depend on it.
    pub(super) lipschitz: Lipschitz,
    /// Largest β over the outputs.
    pub(super) beta: f64,
    /// Interval Δₙ; infinite if σ is constant, zero if a slope is not finite.
    pub(super) interval: f64,
    /// Number of measurements mₙ; `usize::MAX` if Δₙ is zero.
    pub(super) count: usize,
}

impl Spacing {
    /// Computes the spacing of the episode that follows `plan`, with the posterior of `model`. Only the gains of the task's own controls
    /// count, because the executed policy has no hallucinated controls.
    pub(super) fn of(
        model: &dyn StatisticalModel,
        task: &Task,
        select: &SelectSettings,
        plan: &Plan,
        posterior: &mut Posterior,
    ) -> Self {
        let lipschitz = match select.lipschitz {
            Some([dynamics, policy, std]) => Lipschitz { dynamics, policy, std, cost: 0.0 },
            None => slopes(model, task.dims(), plan, posterior),
        };
        let beta = model.confidence_scale().iter().fold(0.0_f64, |m, b| m.max(*b));
        Spacing::from_constants(beta, lipschitz, task.horizon)
    }

    /// Computes the spacing from known constants, for an episode of length `horizon`.
    pub(super) fn from_constants(beta: f64, lipschitz: Lipschitz, horizon: f64) -> Self {
        let known = [lipschitz.dynamics, lipschitz.policy, lipschitz.std, beta].iter().all(|l| l.is_finite());
        let interval = if known { theory::interval(beta, &lipschitz) } else { 0.0 };
        let count = if interval > 0.0 { theory::measurement_count(horizon, interval) } else { usize::MAX };
        Spacing { lipschitz, beta, interval, count }
    }

    /// Returns Γₙ(Δₙ); zero if σ is constant or a slope is not finite.
    pub(super) fn growth(&self) -> f64 {
        if self.interval > 0.0 && self.interval.is_finite() {
            theory::growth(self.beta, &self.lipschitz, self.interval)
        } else {
            0.0
        }
    }
}

/// Computes the largest slopes at the nodes of `plan`.
fn slopes(model: &dyn StatisticalModel, dims: Dims, plan: &Plan, posterior: &mut Posterior) -> Lipschitz {
    let nodes = plan.states.iter().zip(plan.controls.iter());
    let points: Vec<f64> = nodes.flat_map(|(x, u)| x.iter().chain(&u[..dims.control])).copied().collect();
    model.posterior(Points::new(&points, dims.point()), Query::All, posterior);
    Lipschitz::estimate(posterior, &plan.gains, dims.control, &Quadratization::default())
}
