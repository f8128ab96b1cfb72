//! Measurements triggered by accumulated uncertainty.

use super::{Candidates, Purpose, Request, Schedule};
use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use std::sync::Arc;

/// A schedule that measures when the accumulated uncertainty W(t) = ∫₀ᵗ ‖σ(z)/s‖ ds reaches (i − ½)/M of its prediction for the
/// whole episode, i = 1 … M; s is the noise standard deviation.
///
/// W is updated at each control update by the trapezoidal rule. An episode that is less uncertain than predicted has fewer than M
/// measurements.
///
/// ```
/// use ocorl::prelude::*;
/// use ocorl::select::{Candidates, UncertaintyTrigger};
///
/// let task = Benchmark::find("pendulum")?.task;
/// let learner = Learner::builder(task).schedule(|plan| {
///     // The nodes of the plan are where the episode is expected to lead.
///     let plan_nodes = &plan.reference.plan;
///     let n = plan_nodes.controls.len();
///     let points = (0..n).flat_map(|k| [plan_nodes.states.at(k), plan_nodes.controls.at(k)].concat()).collect();
///     let expected = Candidates::new(plan_nodes.times[..n].to_vec(), points, plan.task.dims().point());
///     Box::new(UncertaintyTrigger::new(plan.model.clone(), &plan.task.noise_std, &expected, plan.measurements))
/// });
/// assert!(learner.build().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UncertaintyTrigger {
    model: Arc<dyn StatisticalModel>,
    noise_std: Vec<f64>,
    count: usize,
    /// The predicted value of W(T).
    expected: f64,
    accumulated: f64,
    taken: usize,
    last: Option<(f64, f64)>,
    posterior: Posterior,
    point: Vec<f64>,
}

impl UncertaintyTrigger {
    /// Measures at most `count` times; `candidates` is the predicted trajectory of the episode.
    pub fn new(
        model: Arc<dyn StatisticalModel>,
        noise_std: &[f64],
        candidates: &Candidates,
        count: usize,
    ) -> Self {
        let mut trigger = UncertaintyTrigger {
            model,
            noise_std: noise_std.to_vec(),
            count,
            expected: 0.0,
            accumulated: 0.0,
            taken: 0,
            last: None,
            posterior: Posterior::default(),
            point: Vec::new(),
        };
        for (i, &time) in candidates.times.iter().enumerate() {
            trigger.accumulate(time, candidates.points().at(i));
        }
        trigger.expected = std::mem::take(&mut trigger.accumulated);
        trigger.last = None;
        trigger
    }

    /// Adds the uncertainty since the last call to W (trapezoidal rule).
    fn accumulate(&mut self, time: f64, point: &[f64]) {
        self.model.posterior(Points::single(point), Query::MeanStd, &mut self.posterior);
        let each = self.posterior.std.value.at(0).iter().zip(&self.noise_std);
        let square: f64 = each.map(|(s, n)| if *n > 0.0 { (s / n) * (s / n) } else { s * s }).sum();
        let now = square.sqrt();
        if let Some((before, then)) = self.last {
            self.accumulated += 0.5 * (now + then) * (time - before);
        }
        self.last = Some((time, now));
    }
}

impl Schedule for UncertaintyTrigger {
    fn next(&mut self, time: f64, state: &[f64], control: &[f64]) -> Option<Request> {
        let mut point = std::mem::take(&mut self.point);
        point.clear();
        point.extend_from_slice(state);
        point.extend_from_slice(control);
        self.accumulate(time, &point);
        self.point = point;
        let due = self.expected * (self.taken as f64 + 0.5) / self.count as f64;
        (self.taken < self.count && self.accumulated >= due).then(|| {
            self.taken += 1;
            Request { time, purpose: Purpose::Learn }
        })
    }
}
