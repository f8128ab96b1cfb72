//! Checkpoints of the learner: the data stored with a proposal, from which another process restores the learner bit by bit.
//!
//! Task, settings and seed are not part of a checkpoint; the caller stores them. Hidden path estimates of measured states are left out.

use super::learner::{LearnError, Learner};
use super::{Screening, Setback, Trust};
use crate::linalg::Blocks;
use crate::measurements::Measurements;
use crate::model;
use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// State of a learner after it has proposed an episode, without task, settings and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Number of the proposed episode.
    pub episode: usize,
    /// Measurements from which the model has learned.
    pub data: Measurements,
    /// State of the model; `None` before the first training.
    pub model: Option<model::Checkpoint>,
    /// Last plan from each initial state, hallucinated controls included.
    pub plans: Vec<Option<Plan>>,
    /// Distinct basins that the searches found from each initial state; empty if none are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub basins: Vec<Vec<Plan>>,
    /// Source of the control of each rollout.
    pub followed: Vec<PlanSource>,
    /// Early terminations for each initial state; empty if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setbacks: Vec<Option<Setback>>,
    /// Quality of the data; absent if nothing is known about it.
    #[serde(default)]
    pub screening: Screening,
    /// Trust in the predictions from each initial state; empty if no plan had a tube.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trust: Vec<Trust>,
    /// Tube of the last plan from each initial state; empty if no plan has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tubes: Vec<Option<Blocks>>,
    /// Whether learning can continue from it. False for measured states, because the estimated trajectories between them are not stored.
    pub complete: bool,
}

/// Source of the control that a rollout applies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanSource {
    /// The excitation control of the first episode.
    Excitation,
    /// The last plan from the rollout's initial state.
    Plan {
        /// Cost of the best plan on the mean model; `None` if no plan was found and the previous one is followed again.
        mean_cost: Option<f64>,
    },
}

/// Returns the plan as it is stored: without the record of its search.
fn written(plan: &Plan) -> Plan {
    Plan::given(plan.trajectory.clone(), plan.cost)
}

impl Learner {
    /// Returns the checkpoint of the last proposal. `None` before the first one, and if the model cannot be restored from its data; the
    /// caller must then replay all observations in the same order.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let model =
            if self.data.is_empty() { None } else { Some(self.model.checkpoint().filter(|_| self.fresh)?) };
        Some(Checkpoint {
            episode: self.episode,
            data: self.data.clone(),
            model,
            plans: self.last.iter().map(|p| p.as_ref().map(written)).collect(),
            basins: if self.basins.iter().any(|basins| !basins.is_empty()) {
                self.basins.iter().map(|basins| basins.iter().map(written).collect()).collect()
            } else {
                Vec::new()
            },
            followed: self.followed.clone()?,
            setbacks: if self.setbacks.iter().any(Option::is_some) {
                self.setbacks.clone()
            } else {
                Vec::new()
            },
            screening: self.screening.clone(),
            trust: if self.trust.iter().any(|trust| *trust != Trust::default()) {
                self.trust.clone()
            } else {
                Vec::new()
            },
            tubes: if self.tubes.iter().any(Option::is_some) { self.tubes.clone() } else { Vec::new() },
            complete: !self.states.has_records(),
        })
    }

    /// Restores the plans of an episode that another process proposed, before this learner observes its results.
    pub fn restore_plans(&mut self, checkpoint: &Checkpoint) -> Result<(), LearnError> {
        self.last = self.plans(checkpoint.plans.clone())?;
        self.basins = self.all_basins(&checkpoint.basins)?;
        self.followed = Some(checkpoint.followed.clone());
        self.setbacks = self.all_setbacks(&checkpoint.setbacks);
        self.restore_trust(&checkpoint.trust, &checkpoint.tubes)
    }

    /// Restores trust and tubes from their stored form, and checks them.
    fn restore_trust(&mut self, trust: &[Trust], tubes: &[Option<Blocks>]) -> Result<(), LearnError> {
        let nx = self.task().states.len();
        for (start, trust) in self.trust.iter_mut().zip(trust) {
            *start = *trust;
        }
        self.tubes.fill(None);
        for (start, tube) in tubes.iter().enumerate().take(self.starts.len()) {
            let nodes = self.last[start].as_ref().map_or(0, |plan| plan.times.len());
            let sound = |tube: &Blocks| {
                tube.size() == nx && tube.len() == nodes && tube.iter().flatten().all(|r| *r >= 0.0)
            };
            if !tube.iter().all(sound) {
                return Err(LearnError::Checkpoint("one of its tubes does not fit its plan"));
            }
            self.tubes[start].clone_from(tube);
        }
        Ok(())
    }

    /// Returns one entry for each initial state from the stored list, which is empty if no run ended early.
    fn all_setbacks(&self, stored: &[Option<Setback>]) -> Vec<Option<Setback>> {
        (0..self.starts.len()).map(|start| stored.get(start).copied().flatten()).collect()
    }

    /// Returns one list for each initial state from the stored basins, and checks them.
    fn all_basins(&self, stored: &[Vec<Plan>]) -> Result<Vec<Vec<Plan>>, LearnError> {
        let dims = self.task().dims();
        let sound = |plan: &Plan| plan.is_sound_plan(dims.state) && plan.controls.size() == dims.control;
        if !stored.iter().flatten().all(sound) {
            return Err(LearnError::Checkpoint("one of its basins does not have the dimensions of the task"));
        }
        Ok((0..self.starts.len()).map(|start| stored.get(start).cloned().unwrap_or_default()).collect())
    }

    /// Restores plans from their stored form, and checks them.
    fn plans(&self, plans: Vec<Option<Plan>>) -> Result<Vec<Option<Plan>>, LearnError> {
        let dims = self.task().dims();
        if plans.len() != self.starts.len() {
            return Err(LearnError::Checkpoint(
                "its number of initial states differs from that of the settings",
            ));
        }
        let wrong = LearnError::Checkpoint("one of its plans does not have the dimensions of the task");
        let sound = |plan: &Plan| plan.is_sound_plan(dims.state) && plan.controls.size() >= dims.control;
        if plans.iter().flatten().all(sound) { Ok(plans) } else { Err(wrong) }
    }

    /// Restores the learner that made a proposal. `self` must be new, with the same task, settings and stream.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), LearnError> {
        let Checkpoint {
            episode,
            data,
            model,
            plans,
            basins,
            followed,
            setbacks,
            screening,
            trust,
            tubes,
            complete: _,
        } = checkpoint;
        if !data.is_sound() || data.dims() != self.data.dims() || !screening.is_sound(data.dims()) {
            return Err(LearnError::Checkpoint(
                "its data do not have the dimensions of this system, or are damaged",
            ));
        }
        if followed.len() != self.starts.len() {
            return Err(LearnError::Checkpoint(
                "its number of initial states differs from that of the settings",
            ));
        }
        let last = self.plans(plans)?;
        self.basins = self.all_basins(&basins)?;
        if let Some(stored) = &model {
            let mut again = self.model.fork();
            again.restore(&data, stored)?;
            self.set_model(again);
        }
        (self.episode, self.data, self.last, self.followed) = (episode, data, last, Some(followed));
        self.setbacks = self.all_setbacks(&setbacks);
        self.screening = screening;
        self.restore_trust(&trust, &tubes)?;
        self.fresh = true;
        Ok(())
    }
}
