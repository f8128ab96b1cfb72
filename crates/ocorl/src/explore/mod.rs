//! Exploration: what to plan for while f is not known.
//!
//! | way | ẋ = | cost | sees |
//! |---|---|---|---|
//! | [`Optimistic`](Exploration::Optimistic), the paper's | μ(x, u) + β σ(x, u) ⊙ η, η ∈ \[−1, 1\]^dₓ chosen with u | c | the best plausible f |
//! | [`Mean`](Exploration::Mean) | μ(x, u) | c | the most likely f |
//! | [`Thompson`](Exploration::Thompson) | f̃(x, u), one draw from the posterior | c | one plausible f |
//! | [`Bonus`](Exploration::Bonus) | μ(x, u) | c − λ ‖σ/s‖ | a trade of cost for knowledge |
//! | [`Information`](Exploration::Information) | μ(x, u) | −½ Σ ln(1 + σⱼ²/sⱼ²), on a leash | knowledge only |
//! | [`WeightSpace`](Exploration::WeightSpace), linear kernels only | μ(x, u) + β ψ(x, u)ᵀ w, ‖wⱼ‖ ≤ 1 constant, chosen with u | c | the best plausible f that is one function |
//! | [`EpsilonGreedy`](Exploration::EpsilonGreedy) | μ(x, u) | c | the most likely f; now and then any control instead of the planned one |
//! | [`Boltzmann`](Exploration::Boltzmann) | μ(x, u) | c | the most likely f; controls with probability ∝ exp(−Q/T) |
//!
//! The last two are baselines: they dither the control while the plan is followed ([`Dithered`](crate::track::Dithered)).
//! s is the noise of a measurement. Each turns a model into [`Dynamics`] and a [`Cost`]; the planner solves them like any other.

mod cost;
mod dynamics;
mod weights;

pub use cost::{Reward, Rewarded, Widened};
pub use dynamics::{MeanModel, Optimistic};
pub use weights::{HeldControls, WeightedModel};

use crate::model::{StatisticalModel, WeightSpace};
use crate::random::Stream;
use crate::system::{Bounds, Cost, Dynamics, Task};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What to plan for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Exploration {
    /// The least cost over all f that are plausible.
    #[default]
    Optimistic,
    /// The least cost if f were the mean.
    Mean,
    /// The least cost if f were one draw from the posterior, another in each episode.
    Thompson,
    /// The least cost less λ times the uncertainty (in standard deviations of the noise).
    Bonus,
    /// The greatest information.
    #[serde(rename = "explore")]
    Information,
    /// The least cost over all f with plausible weights; only for kernels of finitely many features.
    WeightSpace,
    /// The least cost if f were the mean; a period of the policy has a random control with probability ε.
    EpsilonGreedy,
    /// The least cost if f were the mean; controls are drawn around it, the rarer the more they cost.
    Boltzmann,
}

impl Exploration {
    /// All ways, in the order of the table above.
    pub const ALL: [Exploration; 8] = [
        Exploration::Optimistic,
        Exploration::Mean,
        Exploration::Thompson,
        Exploration::Bonus,
        Exploration::Information,
        Exploration::WeightSpace,
        Exploration::EpsilonGreedy,
        Exploration::Boltzmann,
    ];

    /// As typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Exploration::Optimistic => "optimistic",
            Exploration::Mean => "mean",
            Exploration::Thompson => "thompson",
            Exploration::Bonus => "bonus",
            Exploration::Information => "explore",
            Exploration::WeightSpace => "weight-space",
            Exploration::EpsilonGreedy => "epsilon-greedy",
            Exploration::Boltzmann => "boltzmann",
        }
    }

    /// Whether its plan is the best on the mean model.
    pub fn plans_on_the_mean(self) -> bool {
        matches!(self, Exploration::Mean | Exploration::EpsilonGreedy | Exploration::Boltzmann)
    }

    /// Poses the problem of an episode. [`WeightSpace`](Self::WeightSpace) on a model without weights is the problem on its mean: ask
    /// [`StatisticalModel::weight_space`] before. `weight` is λ of [`Bonus`](Self::Bonus); `stream` draws the function of
    /// [`Thompson`](Self::Thompson).
    pub fn imagine(
        self,
        model: &Arc<dyn StatisticalModel>,
        task: &Task,
        weight: f64,
        stream: Stream,
    ) -> Imagined {
        let dims = task.dims();
        let cost = task.cost.clone();
        let plain = Imagined {
            source: Source::Mean(model.clone()),
            cost: cost.clone(),
            bounds: task.control_bounds.clone(),
        };
        let reward = |reward, leash| {
            Arc::new(Rewarded::new(cost.clone(), model.clone(), &task.noise_std, reward, leash))
        };
        match self {
            Exploration::Mean | Exploration::EpsilonGreedy | Exploration::Boltzmann => plain,
            Exploration::Thompson => Imagined { source: Source::Sample(model.clone(), stream), ..plain },
            Exploration::Bonus => Imagined { cost: reward(Reward::Uncertainty(weight), 1.0), ..plain },
            Exploration::Information => Imagined { cost: reward(Reward::Information, LEASH), ..plain },
            Exploration::WeightSpace => {
                let Some(space) = model.weight_space().map(Arc::new) else { return plain };
                let (mut bounds, count) = (task.control_bounds.clone(), space.len());
                bounds.lower.extend(vec![-1.0; count]);
                bounds.upper.extend(vec![1.0; count]);
                Imagined {
                    source: Source::Weights(model.clone(), space),
                    cost: Arc::new(Widened::new(cost, count, 0.0)),
                    bounds,
                }
            }
            Exploration::Optimistic => {
                let mut bounds = task.control_bounds.clone();
                bounds.lower.extend(vec![-1.0; dims.state]);
                bounds.upper.extend(vec![1.0; dims.state]);
                Imagined {
                    source: Source::Optimistic(model.clone()),
                    cost: Arc::new(Widened::new(cost, dims.state, EFFORT)),
                    bounds,
                }
            }
        }
    }
}

/// Share of the task's own cost that keeps pure exploration near the task, and bounded.
const LEASH: f64 = 0.1;

/// Price of ‖η‖² for a unit of time, in parts of the rate of the task's cost ([`Imagined::with_cost_rate`]): where η makes no difference to the
/// cost it is zero, and the planner's problem has a curvature.
const EFFORT: f64 = 1e-6;

/// A problem for the planner: dynamics that a model imagines, a cost, and limits of all controls.
#[derive(Clone)]
pub struct Imagined {
    source: Source,
    /// What is minimised.
    pub cost: Arc<dyn Cost>,
    /// Limits of the controls; the first dᵤ are the task's.
    pub bounds: Bounds,
}

#[derive(Clone)]
enum Source {
    Mean(Arc<dyn StatisticalModel>),
    Optimistic(Arc<dyn StatisticalModel>),
    Sample(Arc<dyn StatisticalModel>, Stream),
    /// With controls (u, w).
    Weights(Arc<dyn StatisticalModel>, Arc<WeightSpace>),
    /// At one w.
    AtWeights(Arc<dyn StatisticalModel>, Arc<WeightSpace>, Vec<f64>),
}

impl Imagined {
    /// The plan that stays near what was measured: the mean model, and a penalty of `weight` for each unit of ‖σ/s‖ and of time.
    pub fn near_data(model: &Arc<dyn StatisticalModel>, task: &Task, weight: f64) -> Self {
        let penalty = Reward::Uncertainty(-weight);
        Imagined {
            source: Source::Mean(model.clone()),
            cost: Arc::new(Rewarded::new(task.cost.clone(), model.clone(), &task.noise_std, penalty, 1.0)),
            bounds: task.control_bounds.clone(),
        }
    }

    /// With the price of η for a task whose cost grows by `rate` per unit of time, so that plans do not depend on the unit of cost.
    #[must_use]
    pub fn with_cost_rate(mut self, task: &Task, rate: f64) -> Self {
        if matches!(self.source, Source::Optimistic(_)) && rate > 0.0 && rate.is_finite() {
            self.cost = Arc::new(Widened::new(task.cost.clone(), task.states.len(), EFFORT * rate));
        }
        self
    }

    /// The dynamics, as often as they are needed; always the same function.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        match &self.source {
            Source::Mean(model) => Box::new(MeanModel::new(model.clone())),
            Source::Optimistic(model) => Box::new(Optimistic::new(model.clone())),
            Source::Sample(model, stream) => model.sample(&mut stream.rng()),
            Source::Weights(model, space) => Box::new(WeightedModel::new(model.clone(), space.clone())),
            Source::AtWeights(model, space, weights) => {
                let weighted = Box::new(WeightedModel::new(model.clone(), space.clone()));
                Box::new(HeldControls::new(weighted, weights.clone()))
            }
        }
    }

    /// Controls that only the imagination has: dimension of η.
    pub fn hallucinated_controls(&self) -> usize {
        match &self.source {
            Source::Optimistic(model) => model.dims().state,
            Source::Weights(_, space) => space.len(),
            Source::Mean(_) | Source::Sample(..) | Source::AtWeights(..) => 0,
        }
    }

    /// Number of constant weights of each output, if it is one f that is chosen: the last controls, all together.
    pub fn weights(&self) -> Option<Vec<usize>> {
        match &self.source {
            Source::Weights(_, space) => Some(space.counts()),
            _ => None,
        }
    }

    /// The problem with these weights held, controls u alone; cost and limits are those of `mean`, the problem on the mean.
    #[must_use]
    pub fn with_weights(&self, weights: &[f64], mean: &Imagined) -> Imagined {
        match &self.source {
            Source::Weights(model, space) => Imagined {
                source: Source::AtWeights(model.clone(), space.clone(), weights.to_vec()),
                ..mean.clone()
            },
            _ => mean.clone(),
        }
    }
}
