//! Runs that ended early, and what is planned after one.
//!
//! A run that leaves its limits or diverges shows that the model is wrong where it matters. After k ≥ 1 such runs in a row from the same initial
//! state the next proposal differs from the one that failed in three ways:
//!
//! - It stays near what was measured: the plan is made on the mean model and minimises ∫ c + λₖ ‖σ/s‖ dt + c_T, with s the noise and
//!   λₖ = 2ᵏ⁻¹ C/∫ ‖σ/s‖ dt along the best plan on the mean model, which costs C. The uncertainty along that plan is charged as much as the task
//!   itself, and twice as much after each further failure.
//! - Half of its measurements lie in the time that the last run reached, so that a second failure at the same time teaches something.
//! - If no plan is found, the control of the first episode is applied at 2⁻ᵏ of its distance from the safe control. The plan that failed is
//!   never applied again.
//!
//! A run that completes ends this.

use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plan::Plan;
use crate::plant::Executed;
use crate::select::interior;
use crate::simulate::Outcome;
use crate::system::Task;
use serde::{Deserialize, Serialize};

/// Runs from one initial state that ended early, since the last that completed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setback {
    /// k: how many in a row.
    pub failures: usize,
    /// The time of the last measurement in the last of them.
    pub reached: f64,
    /// λₖ of the plan that follows; zero until it is made.
    pub weight: f64,
}

impl Setback {
    /// After a run over `horizon`: none if it completed. The time it reached is that of its last measurement, which is known on hardware as
    /// well as in simulation; without a measurement it is taken as half of what was reached before.
    pub(super) fn after(before: Option<Setback>, executed: &Executed, horizon: f64) -> Option<Setback> {
        match &executed.outcome {
            Outcome::Completed => return None,
            Outcome::Cancelled { .. } => return before,
            _ => (),
        }
        let measured = executed.readings.iter().map(|r| r.time).filter(|t| t.is_finite()).fold(0.0, f64::max);
        let before_that = before.map_or(0.25 * horizon, |before| before.reached);
        Some(Setback {
            failures: before.map_or(0, |before| before.failures) + 1,
            reached: if measured > 0.0 { measured } else { 0.5 * before_that },
            weight: 0.0,
        })
    }

    /// 2⁻ᵏ
    pub(super) fn damping(&self) -> f64 {
        0.5_f64.powi(i32::try_from(self.failures).unwrap_or(i32::MAX))
    }

    /// λₖ, given the best plan on the mean model.
    pub(super) fn penalty_weight(&self, model: &dyn StatisticalModel, task: &Task, mean: &Plan) -> f64 {
        let nodes: Vec<f64> = (0..mean.controls.len())
            .flat_map(|k| [mean.states.at(k), mean.controls.at(k)].concat())
            .collect();
        let mut posterior = Posterior::default();
        model.posterior(Points::new(&nodes, task.dims().point()), Query::MeanStd, &mut posterior);
        let norm = |std: &[f64]| {
            let squares =
                std.iter().zip(&task.noise_std).map(|(std, s)| if *s > 0.0 { std / s } else { *std });
            squares.map(|v| v * v).sum::<f64>().sqrt()
        };
        let widths = mean.times.windows(2).map(|t| t[1] - t[0]);
        let unknown: f64 =
            posterior.std.value.iter().map(norm).zip(widths).map(|(norm, width)| norm * width).sum();
        let weight = mean.cost.abs() / (unknown * 2.0 * self.damping());
        if weight.is_finite() { weight } else { 0.0 }
    }
}

/// How many of `count` measurements lie in the time that the last run reached.
pub(super) fn early(setback: Option<Setback>, count: usize) -> usize {
    setback.map_or(0, |_| count.div_ceil(2))
}

/// The times of those measurements.
pub(super) fn early_times(setback: Option<Setback>, count: usize) -> Vec<f64> {
    setback.map_or(Vec::new(), |s| interior(s.reached, early(setback, count)))
}
