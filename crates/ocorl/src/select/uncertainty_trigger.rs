//! Measurements whenever enough uncertainty has been passed through.

use super::{Candidates, Purpose, Request, Schedule};
use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use std::sync::Arc;

/// Measures when W(t) = ∫₀ᵗ ‖σ(z)/s‖ ds reaches (i − ½)/M of what was expected of the whole episode, i = 1 … M.
///
/// What is passed through is looked at whenever the control changes. An episode that turns out less uncertain than expected is measured
/// less often than M times.
pub struct UncertaintyTrigger {
    model: Arc<dyn StatisticalModel>,
    noise_std: Vec<f64>,
    count: usize,
    /// W(T) as expected.
    expected: f64,
    passed: f64,
    taken: usize,
    last: Option<(f64, f64)>,
    posterior: Posterior,
    point: Vec<f64>,
}

impl UncertaintyTrigger {
    /// At most `count` measurements; `candidates` is where the episode is expected to lead.
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
            passed: 0.0,
            taken: 0,
            last: None,
            posterior: Posterior::default(),
            point: Vec::new(),
        };
        for (i, &time) in candidates.times.iter().enumerate() {
            trigger.pass(time, candidates.points().at(i));
        }
        trigger.expected = std::mem::take(&mut trigger.passed);
        trigger.last = None;
        trigger
    }

    /// Adds what was passed through since last time (trapezoidal rule).
    fn pass(&mut self, time: f64, point: &[f64]) {
        self.model.posterior(Points::single(point), Query::MeanStd, &mut self.posterior);
        let each = self.posterior.std.value.at(0).iter().zip(&self.noise_std);
        let square: f64 = each.map(|(s, n)| if *n > 0.0 { (s / n) * (s / n) } else { s * s }).sum();
        let now = square.sqrt();
        if let Some((before, then)) = self.last {
            self.passed += 0.5 * (now + then) * (time - before);
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
        self.pass(time, &point);
        self.point = point;
        let due = self.expected * (self.taken as f64 + 0.5) / self.count as f64;
        (self.taken < self.count && self.passed >= due).then(|| {
            self.taken += 1;
            Request { time, purpose: Purpose::Learn }
        })
    }
}
