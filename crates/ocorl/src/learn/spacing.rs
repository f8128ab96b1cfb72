//! How often the analysis measures: Δₙ and mₙ of an episode, from what is known before it. The schedule is made from this, and the judge
//! reports this: they cannot disagree.

use super::settings::SelectSettings;
use crate::linalg::{Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plan::Plan;
use crate::system::{Dims, Task};
use crate::theory::{self, Lipschitz};

/// Δₙ and mₙ = ⌈T/Δₙ⌉, and the constants they follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spacing {
    /// L_f, L_π and L_σ: the largest slopes at the nodes of the plan, or the constants of `select.lipschitz`. L_c is zero: Δₙ does not
    /// depend on it.
    pub(super) lipschitz: Lipschitz,
    /// Largest β of the outputs.
    pub(super) beta: f64,
    /// Δₙ: infinite if σ is flat, zero if a slope is not a finite number.
    pub(super) interval: f64,
    /// mₙ; the largest number there is if Δₙ is zero.
    pub(super) count: usize,
}

impl Spacing {
    /// Of the episode that follows `plan` with what `model` knows. Only the gains of the task's own controls count, with and without
    /// hallucinated controls behind them: those are the ones of the policy that is executed.
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

    /// Of constants that are known, for an episode that lasts `horizon`.
    pub(super) fn from_constants(beta: f64, lipschitz: Lipschitz, horizon: f64) -> Self {
        let known = [lipschitz.dynamics, lipschitz.policy, lipschitz.std, beta].iter().all(|l| l.is_finite());
        let interval = if known { theory::interval(beta, &lipschitz) } else { 0.0 };
        let count = if interval > 0.0 { theory::measurement_count(horizon, interval) } else { usize::MAX };
        Spacing { lipschitz, beta, interval, count }
    }

    /// Γₙ(Δₙ); zero if σ is flat, or a slope is not a finite number.
    pub(super) fn growth(&self) -> f64 {
        if self.interval > 0.0 && self.interval.is_finite() {
            theory::growth(self.beta, &self.lipschitz, self.interval)
        } else {
            0.0
        }
    }
}

/// The largest slopes at the nodes of `plan`.
fn slopes(model: &dyn StatisticalModel, dims: Dims, plan: &Plan, posterior: &mut Posterior) -> Lipschitz {
    let nodes = plan.states.iter().zip(plan.controls.iter());
    let points: Vec<f64> = nodes.flat_map(|(x, u)| x.iter().chain(&u[..dims.control])).copied().collect();
    model.posterior(Points::new(&points, dims.point()), Query::All, posterior);
    Lipschitz::estimate(posterior, &plan.gains, dims.control, &Quadratization::default())
}
