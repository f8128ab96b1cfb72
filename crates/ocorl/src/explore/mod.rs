//! Exploration: the planning problem of an episode while f is unknown.
//!
//! | method | ẋ = | cost | objective |
//! |---|---|---|---|
//! | [`Optimistic`](Exploration::Optimistic), the paper's | μ(x, u) + β σ(x, u) ⊙ η, η ∈ \[−1, 1\]^dₓ | c | best plausible f |
//! | [`Mean`](Exploration::Mean) | μ(x, u) | c | posterior mean |
//! | [`Thompson`](Exploration::Thompson) | f̃(x, u), one draw from the posterior | c | one plausible f |
//! | [`Bonus`](Exploration::Bonus) | μ(x, u) | c − λ ‖σ/s‖ | cost and uncertainty |
//! | [`Information`](Exploration::Information) | μ(x, u) | −½ Σ ln(1 + σⱼ²/sⱼ²) + 0.1 c | information gain |
//! | [`WeightSpace`](Exploration::WeightSpace), linear kernels only | μ(x, u) + β ψ(x, u)ᵀ w, ‖wⱼ‖ ≤ 1 constant | c | best plausible f |
//! | [`EpsilonGreedy`](Exploration::EpsilonGreedy) | μ(x, u) | c | posterior mean; occasional random controls |
//! | [`Boltzmann`](Exploration::Boltzmann) | μ(x, u) | c | posterior mean; controls with probability ∝ exp(−Q/T) |
//!
//! η and w are chosen together with u: η at every time, w once for the whole episode.
//! The last two are baselines: they dither the control while the plan is followed ([`Dithered`](crate::track::Dithered)). s is the standard
//! deviation of the measurement noise. Each method turns a model into [`Dynamics`] and a [`Cost`]; the planner does not depend on the
//! method.

mod cost;
mod dynamics;
mod excitation;
mod weights;

pub use cost::{AugmentedCost, BonusCost, Reward};
pub use dynamics::{MeanModel, Optimistic};
pub use excitation::{MultiSine, excitation};
pub use weights::{HeldControls, WeightedModel};

use crate::model::{StatisticalModel, WeightSpace};
use crate::random::Stream;
use crate::system::{Bounds, Cost, Dynamics, Task};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Exploration method: turns a model into the planning problem of an episode.
///
/// [`BuiltIn`] implements those that settings can name. A function implements the trait too:
///
/// ```
/// use ocorl::explore::MeanModel;
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// // Plan on the mean model, with half of the torque.
/// let learner = Learner::builder(pendulum.task.clone())
///     .explore(|model: &std::sync::Arc<dyn StatisticalModel>, task: &Task, _: Stream| {
///         let (model, bounds) = (model.clone(), Bounds::symmetric([0.5 * task.control_bounds.upper[0]]));
///         let mean = move || Box::new(MeanModel::new(model.clone())) as Box<dyn Dynamics>;
///         PlanningProblem::new(task, mean, task.cost.clone(), bounds)
///     })
///     .build()?;
/// # let _ = learner;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Explore: Send + Sync {
    /// Returns the planning problem of an episode. Equal arguments must give equal problems; all random draws must come from `stream`.
    fn planning_problem(
        &self,
        model: &Arc<dyn StatisticalModel>,
        task: &Task,
        stream: Stream,
    ) -> PlanningProblem;

    /// Returns whether the problem is that of the mean model with the task's cost; its plan then needs no second search.
    fn plans_on_the_mean(&self) -> bool {
        false
    }
}

impl<F> Explore for F
where
    F: Fn(&Arc<dyn StatisticalModel>, &Task, Stream) -> PlanningProblem + Send + Sync,
{
    fn planning_problem(
        &self,
        model: &Arc<dyn StatisticalModel>,
        task: &Task,
        stream: Stream,
    ) -> PlanningProblem {
        self(model, task, stream)
    }
}

/// An [`Exploration`] method with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltIn {
    /// Exploration method.
    pub exploration: Exploration,
    /// Weight λ of [`Exploration::Bonus`].
    pub bonus_weight: f64,
}

impl Explore for BuiltIn {
    fn planning_problem(
        &self,
        model: &Arc<dyn StatisticalModel>,
        task: &Task,
        stream: Stream,
    ) -> PlanningProblem {
        self.exploration.planning_problem(model, task, self.bonus_weight, stream)
    }

    fn plans_on_the_mean(&self) -> bool {
        self.exploration.plans_on_the_mean()
    }
}

/// Exploration method by its name in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Exploration {
    /// Minimal cost over all plausible f.
    #[default]
    Optimistic,
    /// Minimal cost on the posterior mean.
    Mean,
    /// Minimal cost on one draw from the posterior, a new one in each episode (Thompson sampling).
    Thompson,
    /// Minimal cost minus λ times the uncertainty (in noise standard deviations).
    Bonus,
    /// Maximal information gain.
    #[serde(rename = "explore")]
    Information,
    /// Minimal cost over all f with plausible constant weights; only for kernels with finitely many features.
    WeightSpace,
    /// Minimal cost on the posterior mean; with probability ε a period of the policy has a random control.
    EpsilonGreedy,
    /// Minimal cost on the posterior mean; controls are drawn around the plan with probability ∝ exp(−Q/T).
    Boltzmann,
}

impl Exploration {
    /// All methods, in the order of the table in the module documentation.
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

    /// Returns the name used on the command line and in files.
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

    /// Returns whether its plan is the best plan on the mean model.
    pub fn plans_on_the_mean(self) -> bool {
        matches!(self, Exploration::Mean | Exploration::EpsilonGreedy | Exploration::Boltzmann)
    }

    /// Returns the planning problem of an episode. [`WeightSpace`](Self::WeightSpace) on a model without weights is the problem on its
    /// mean; check [`StatisticalModel::weight_space`] first. `weight` is λ of [`Bonus`](Self::Bonus); `stream` draws the function of
    /// [`Thompson`](Self::Thompson).
    ///
    /// ```
    /// use ocorl::{model, prelude::*};
    /// use std::sync::Arc;
    ///
    /// let task = Benchmark::find("pendulum")?.task;
    /// let model: Arc<dyn StatisticalModel> = Arc::new(GaussianProcess::for_task(&task, model::Settings::default())?);
    /// let problem = Exploration::Optimistic.planning_problem(&model, &task, 0.0, Stream::root(0));
    /// // The torque, and η for both states.
    /// assert_eq!(problem.dynamics().dims(), Dims { state: 2, control: 1 + 2 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planning_problem(
        self,
        model: &Arc<dyn StatisticalModel>,
        task: &Task,
        weight: f64,
        stream: Stream,
    ) -> PlanningProblem {
        let dims = task.dims();
        let cost = task.cost.clone();
        let plain = PlanningProblem {
            source: Source::Mean(model.clone()),
            cost: cost.clone(),
            bounds: task.control_bounds.clone(),
        };
        let reward = |reward, leash| {
            Arc::new(BonusCost::new(cost.clone(), model.clone(), &task.noise_std, reward, leash))
        };
        match self {
            Exploration::Mean | Exploration::EpsilonGreedy | Exploration::Boltzmann => plain,
            Exploration::Thompson => {
                PlanningProblem { source: Source::Sample(model.clone(), stream), ..plain }
            }
            Exploration::Bonus => PlanningProblem { cost: reward(Reward::Uncertainty(weight), 1.0), ..plain },
            Exploration::Information => {
                PlanningProblem { cost: reward(Reward::Information, TASK_COST_WEIGHT), ..plain }
            }
            Exploration::WeightSpace => {
                let Some(space) = model.weight_space().map(Arc::new) else { return plain };
                let (mut bounds, count) = (task.control_bounds.clone(), space.len());
                bounds.lower.extend(vec![-1.0; count]);
                bounds.upper.extend(vec![1.0; count]);
                PlanningProblem {
                    source: Source::Weights(model.clone(), space),
                    cost: Arc::new(AugmentedCost::new(cost, count, 0.0)),
                    bounds,
                }
            }
            Exploration::Optimistic => {
                let mut bounds = task.control_bounds.clone();
                bounds.lower.extend(vec![-1.0; dims.state]);
                bounds.upper.extend(vec![1.0; dims.state]);
                PlanningProblem {
                    source: Source::Optimistic(model.clone()),
                    cost: Arc::new(AugmentedCost::new(cost, dims.state, EFFORT)),
                    bounds,
                }
            }
        }
    }
}

/// Fraction of the task's cost that keeps pure exploration near the task, and bounded.
const TASK_COST_WEIGHT: f64 = 0.1;

/// Penalty of ‖η‖² per unit of time, as a fraction of the rate of the task's cost ([`PlanningProblem::with_cost_rate`]). It makes η zero
/// where η has no effect on the cost, and the planner's problem strictly convex in η.
const EFFORT: f64 = 1e-6;

/// A problem for the planner: dynamics derived from a model, a cost, and limits of all controls.
#[derive(Clone)]
pub struct PlanningProblem {
    source: Source,
    /// Cost that the planner minimises.
    pub cost: Arc<dyn Cost>,
    /// Limits of the controls; the first dᵤ are those of the task.
    pub bounds: Bounds,
}

#[derive(Clone)]
enum Source {
    Mean(Arc<dyn StatisticalModel>),
    Optimistic(Arc<dyn StatisticalModel>),
    Sample(Arc<dyn StatisticalModel>, Stream),
    /// Weight-space dynamics with controls (u, w).
    Weights(Arc<dyn StatisticalModel>, Arc<WeightSpace>),
    /// Weight-space dynamics at one constant w.
    AtWeights(Arc<dyn StatisticalModel>, Arc<WeightSpace>, Vec<f64>),
    /// The caller's own dynamics, with their number of hallucinated controls.
    Own(Arc<dyn Fn() -> Box<dyn Dynamics> + Send + Sync>, usize),
}

impl PlanningProblem {
    /// Creates the caller's own problem for `task`: minimise `cost` on the dynamics that `make` creates, the same function at every call.
    ///
    /// Controls of the dynamics beyond those of the task are hallucinated: the planner chooses them within `bounds`, and they are not
    /// applied to the plant. At zero they should leave the dynamics near the mean of the model, where the search begins.
    pub fn new(
        task: &Task,
        make: impl Fn() -> Box<dyn Dynamics> + Send + Sync + 'static,
        cost: Arc<dyn Cost>,
        bounds: Bounds,
    ) -> Self {
        let (dims, own) = (make().dims(), task.dims());
        assert!(
            dims.state == own.state && dims.control >= own.control,
            "dynamics of {dims:?} for a task of {own:?}"
        );
        assert_eq!(cost.dims(), dims, "cost and dynamics of a planning problem differ in their dimensions");
        assert_eq!(bounds.dim(), dims.control, "limits for {} of {} controls", bounds.dim(), dims.control);
        PlanningProblem { source: Source::Own(Arc::new(make), dims.control - own.control), cost, bounds }
    }

    /// Creates the problem that keeps a plan near the data: the mean model, with a penalty of `weight` · ‖σ/s‖ per unit of time.
    pub fn near_data(model: &Arc<dyn StatisticalModel>, task: &Task, weight: f64) -> Self {
        let penalty = Reward::Uncertainty(-weight);
        PlanningProblem {
            source: Source::Mean(model.clone()),
            cost: Arc::new(BonusCost::new(task.cost.clone(), model.clone(), &task.noise_std, penalty, 1.0)),
            bounds: task.control_bounds.clone(),
        }
    }

    /// Sets the penalty of η for a task whose cost grows by `rate` per unit of time, so that plans do not depend on the unit of cost.
    #[must_use]
    pub fn with_cost_rate(mut self, task: &Task, rate: f64) -> Self {
        if matches!(self.source, Source::Optimistic(_)) && rate > 0.0 && rate.is_finite() {
            self.cost = Arc::new(AugmentedCost::new(task.cost.clone(), task.states.len(), EFFORT * rate));
        }
        self
    }

    /// Creates a copy of the dynamics; every copy is the same function.
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
            Source::Own(make, _) => make(),
        }
    }

    /// Returns the number of hallucinated controls, the dimension of η.
    pub fn hallucinated_controls(&self) -> usize {
        match &self.source {
            Source::Optimistic(model) => model.dims().state,
            Source::Weights(_, space) => space.len(),
            Source::Own(_, hallucinated) => *hallucinated,
            Source::Mean(_) | Source::Sample(..) | Source::AtWeights(..) => 0,
        }
    }

    /// Returns the number of constant weights of each output, which are the last controls; `None` if the problem has no weights.
    pub fn weights(&self) -> Option<Vec<usize>> {
        match &self.source {
            Source::Weights(_, space) => Some(space.counts()),
            _ => None,
        }
    }

    /// Returns the problem with constant weights and controls u alone; cost and limits are those of `mean`, the problem on the mean model.
    #[must_use]
    pub fn with_weights(&self, weights: &[f64], mean: &PlanningProblem) -> PlanningProblem {
        match &self.source {
            Source::Weights(model, space) => PlanningProblem {
                source: Source::AtWeights(model.clone(), space.clone(), weights.to_vec()),
                ..mean.clone()
            },
            _ => mean.clone(),
        }
    }
}
