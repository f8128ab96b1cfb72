//! The adaptive receding-horizon strategy of the paper, decided online \[Tre23, Section 4.2\].

use super::{Candidates, Hallucination, PredictedUncertainty, Purpose, Request, Schedule, greatest};
use crate::model::{Posterior, Query, StatisticalModel};
use std::sync::Arc;

/// Number of prediction steps in an interval.
const STEPS: usize = 20;

/// A schedule that divides [0, T] into equal intervals. At the beginning of each it requests the state, predicts the trajectory to
/// the end of the interval with fₙ, and requests one measurement where ‖σ‖ is largest along the prediction.
///
/// ```
/// use ocorl::explore::MeanModel;
/// use ocorl::prelude::*;
/// use ocorl::select::{Hallucination, RecedingHorizon};
///
/// let task = Benchmark::find("pendulum")?.task;
/// let learner = Learner::builder(task).schedule(|plan| {
///     // Followed on the mean of the model; `Exploration::Optimistic` has its own dynamics for this.
///     let (mean, bounds) = (Box::new(MeanModel::new(plan.model.clone())), plan.task.control_bounds.clone());
///     let expected = Hallucination::new(plan.reference.clone(), mean, bounds, plan.task.controls.len());
///     Box::new(RecedingHorizon::new(expected, plan.model.clone(), plan.task.horizon, plan.measurements))
/// });
/// assert!(learner.build().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RecedingHorizon {
    hallucination: Hallucination,
    model: Arc<dyn StatisticalModel>,
    horizon: f64,
    intervals: usize,
    /// Index of the next interval to be predicted.
    current: usize,
    /// Time of the measurement in the present interval, if it has not been taken yet.
    pending: Option<f64>,
    posterior: Posterior,
    predicted: Vec<PredictedUncertainty>,
}

impl RecedingHorizon {
    /// Divides [0, `horizon`] into `intervals` intervals, with one measurement in each.
    pub fn new(
        hallucination: Hallucination,
        model: Arc<dyn StatisticalModel>,
        horizon: f64,
        intervals: usize,
    ) -> Self {
        RecedingHorizon {
            hallucination,
            model,
            horizon,
            intervals,
            current: 0,
            pending: None,
            posterior: Posterior::default(),
            predicted: Vec::new(),
        }
    }

    /// The time at which ‖σ‖ is largest among the candidates.
    fn most_uncertain(&mut self, candidates: Candidates) -> Option<f64> {
        self.model.posterior(candidates.points(), Query::MeanStd, &mut self.posterior);
        let norms = self.posterior.std.value.iter().map(|s| s.iter().map(|s| s * s).sum::<f64>().sqrt());
        let uncertainty: Vec<f64> = norms.collect();
        let best = greatest(uncertainty.iter().copied(), &vec![false; uncertainty.len()])?;
        let time = candidates.times[best];
        self.predicted.push(PredictedUncertainty { times: candidates.times, uncertainty });
        Some(time)
    }
}

impl Schedule for RecedingHorizon {
    fn next(&mut self, time: f64, state: &[f64], _control: &[f64]) -> Option<Request> {
        let now = time + 1e-12 * (1.0 + time.abs());
        if let Some(due) = self.pending {
            if due <= now {
                self.pending = None;
            }
            return Some(Request { time: due, purpose: Purpose::Learn });
        }
        if self.current == self.intervals {
            return None;
        }
        let border = |k: usize| self.horizon * k as f64 / self.intervals as f64;
        let (begin, end) = (border(self.current), border(self.current + 1));
        if begin <= now {
            self.current += 1;
            if time < end {
                let candidates = self.hallucination.from(time, state, end, STEPS);
                self.pending = self.most_uncertain(candidates);
            }
        }
        Some(Request { time: begin, purpose: Purpose::Synchronize })
    }

    fn predicted_uncertainty(&self) -> &[PredictedUncertainty] {
        &self.predicted
    }
}
