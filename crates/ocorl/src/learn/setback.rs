//! Planning after runs that ended early.
//!
//! A run that leaves its limits or diverges shows that the model is wrong in a relevant region. After k ≥ 1 such runs in sequence from the
//! same initial state, the next proposal differs from the failed one in four respects:
//!
//! - It stays near the data: the plan is made on the mean model and minimises ∫ c + λₖ ‖σ/s‖ dt + c_T, with s the noise and
//!   λₖ = 2ᵏ⁻¹ C/∫ ‖σ/s‖ dt along the best plan on the mean model, which has cost C. The penalty of the uncertainty along that plan thus
//!   equals the cost of the task, and doubles after each further failure.
//! - Half of its measurements are before the time that the last run reached, so that a second failure at the same time gives information.
//! - It stays away from the limits of the states by 2ᵏ times the usual margin.
//! - If no plan is found, the control of the first episode is applied at 2⁻ᵏ of its distance from the safe control. The failed plan is
//!   never applied again.
//!
//! A completed run resets k to zero.

use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plan::Plan;
use crate::plant::RolloutResult;
use crate::select::interior;
use crate::simulate::Outcome;
use crate::system::Task;
use serde::{Deserialize, Serialize};

/// Record of the runs from one initial state that ended early since the last completed one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setback {
    /// Number k of such runs in sequence.
    pub failures: usize,
    /// Time of the last measurement in the most recent of them.
    pub reached: f64,
    /// Penalty weight λₖ of the plan that follows; zero until that plan is made.
    pub weight: f64,
}

impl Setback {
    /// Updates the record after a run over `horizon`; `None` if it completed. The time reached is that of its last measurement, which is
    /// available on hardware as well as in simulation. Without a measurement it is half of the time reached before.
    pub(super) fn after(before: Option<Setback>, executed: &RolloutResult, horizon: f64) -> Option<Setback> {
        match &executed.outcome {
            Outcome::Completed | Outcome::NotReported => return None,
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

    /// Returns the factor 2⁻ᵏ on the excitation.
    pub(super) fn damping(&self) -> f64 {
        0.5_f64.powi(i32::try_from(self.failures).unwrap_or(i32::MAX))
    }

    /// Computes λₖ from the best plan on the mean model.
    pub(super) fn penalty_weight(&self, model: &dyn StatisticalModel, task: &Task, mean: &Plan) -> f64 {
        // Of the controls only those of the task are applied.
        let nu = task.controls.len();
        let nodes: Vec<f64> = (0..mean.controls.len())
            .flat_map(|k| [mean.states.at(k), &mean.controls.at(k)[..nu]].concat())
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

/// Returns how many of `count` measurements are before the time that the last run reached.
pub(super) fn early(setback: Option<Setback>, count: usize) -> usize {
    setback.map_or(0, |_| count.div_ceil(2))
}

/// Returns the times of the measurements before the time that the last run reached.
pub(super) fn early_times(setback: Option<Setback>, count: usize) -> Vec<f64> {
    setback.map_or(Vec::new(), |s| interior(s.reached, early(setback, count)))
}

/// Part of the width of the state limits by which a plan on a learned model stays away from them. The executed trajectory differs from the
/// plan by the error of the model and of the tracker, and an episode ends where a state leaves its limits.
const LIMIT_MARGIN: f64 = 0.005;

/// Returns the margin after the runs that ended early: doubled by each, a quarter of the width at most.
pub(super) fn limit_margin(setback: Option<Setback>) -> f64 {
    setback.map_or(LIMIT_MARGIN, |setback| (LIMIT_MARGIN / setback.damping()).min(0.25))
}
