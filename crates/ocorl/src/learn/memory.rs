//! The learner made again: what is written down with a proposal, so that another process can run it, and learn on from it, to the last bit.

use super::Setback;
use super::learner::{LearnError, Learner};
use crate::linalg::Blocks;
use crate::measurements::Measurements;
use crate::model;
use crate::plan::{Outcome, Plan};
use serde::{Deserialize, Serialize};

/// All that a learner knows when it has proposed an episode, beside task, settings and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Number of the proposed episode.
    pub episode: usize,
    /// What was learned from.
    pub data: Measurements,
    /// What was learned; none before anything was.
    pub model: Option<model::Memory>,
    /// The last plan from each initial state, hallucinated controls included.
    pub plans: Vec<Option<RememberedPlan>>,
    /// What each leg follows.
    pub followed: Vec<Followed>,
    /// The runs that ended early, for each initial state; empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setbacks: Vec<Option<Setback>>,
    /// Whether it is enough to learn on from; what is learned from states alone is not: the ways between them are not in it.
    pub complete: bool,
}

/// What a leg follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Followed {
    /// The control of the first episode.
    Excitation,
    /// The last plan from its initial state.
    Plan {
        /// What the best plan on the mean model costs; NaN (null) if there was none.
        #[serde(deserialize_with = "number_or_null")]
        mean_cost: f64,
    },
}

fn number_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// A plan without the story of its search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberedPlan {
    /// Node times.
    pub times: Vec<f64>,
    /// x_k
    pub states: Blocks,
    /// u_k
    pub controls: Blocks,
    /// K_k
    pub gains: Blocks,
    /// J
    pub cost: f64,
}

impl RememberedPlan {
    fn of(plan: &Plan) -> Self {
        RememberedPlan {
            times: plan.times.clone(),
            states: plan.states.clone(),
            controls: plan.controls.clone(),
            gains: plan.gains.clone(),
            cost: plan.cost,
        }
    }

    fn plan(self, states: usize, least: usize) -> Option<Plan> {
        let RememberedPlan { times, states: x, controls, gains, cost } = self;
        let n = controls.len();
        let sound = n >= 1
            && times.len() == n + 1
            && (x.size(), x.len()) == (states, n + 1)
            && controls.size() >= least
            && (gains.size(), gains.len()) == (states * controls.size(), n)
            && times.windows(2).all(|t| t[1] > t[0]);
        sound.then(|| Plan {
            times,
            states: x,
            controls,
            gains,
            cost,
            outcome: Outcome::Converged,
            gradient_norm: 0.0,
            trace: Vec::new(),
        })
    }
}

impl Learner {
    /// What to write down with the last proposal. None before the first, or if the model cannot be made again from its data: then it must be
    /// told everything once more, in the same order.
    pub fn memory(&self) -> Option<Memory> {
        let model =
            if self.data.is_empty() { None } else { Some(self.model.memory().filter(|_| self.fresh)?) };
        Some(Memory {
            episode: self.episode,
            data: self.data.clone(),
            model,
            plans: self.last.iter().map(|p| p.as_ref().map(RememberedPlan::of)).collect(),
            followed: self.followed.clone()?,
            setbacks: if self.setbacks.iter().any(Option::is_some) {
                self.setbacks.clone()
            } else {
                Vec::new()
            },
            complete: !self.states.is_used(),
        })
    }

    /// Takes over the plans of an episode that somebody else proposed, before it observes what that gave.
    pub fn recall_plans(&mut self, memory: &Memory) -> Result<(), LearnError> {
        self.last = self.plans(memory.plans.clone())?;
        self.followed = Some(memory.followed.clone());
        self.setbacks = self.all_setbacks(&memory.setbacks);
        Ok(())
    }

    /// One for each initial state.
    fn all_setbacks(&self, stored: &[Option<Setback>]) -> Vec<Option<Setback>> {
        (0..self.starts.len()).map(|start| stored.get(start).copied().flatten()).collect()
    }

    /// Plans as they were before they were written down.
    fn plans(&self, plans: Vec<Option<RememberedPlan>>) -> Result<Vec<Option<Plan>>, LearnError> {
        let dims = self.task().dims();
        if plans.len() != self.starts.len() {
            return Err(LearnError::Memory("it has another number of initial states"));
        }
        let wrong = LearnError::Memory("a plan in it has the wrong shape");
        let one = |plan: RememberedPlan| plan.plan(dims.state, dims.control).ok_or(wrong.clone());
        plans.into_iter().map(|plan| plan.map(one).transpose()).collect()
    }

    /// Becomes the learner that made a proposal; `self` must be new, with the same task, settings and stream.
    pub fn recall(&mut self, memory: Memory) -> Result<(), LearnError> {
        let Memory { episode, data, model, plans, followed, setbacks, complete: _ } = memory;
        if !data.is_sound() || data.dims() != self.data.dims() {
            return Err(LearnError::Memory("its data are not of this system"));
        }
        if followed.len() != self.starts.len() {
            return Err(LearnError::Memory("it has another number of initial states"));
        }
        let last = self.plans(plans)?;
        if let Some(memory) = &model {
            let mut again = self.model.fork();
            again.recall(&data, memory)?;
            self.model = again.into();
        }
        (self.episode, self.data, self.last, self.followed) = (episode, data, last, Some(followed));
        self.setbacks = self.all_setbacks(&setbacks);
        self.fresh = true;
        Ok(())
    }
}
