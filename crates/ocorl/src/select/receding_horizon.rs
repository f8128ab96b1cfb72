//! The theory's adaptive strategy, online.   \[Tre23, Section 4.2\]

use super::{Candidates, Foreseen, Hallucination, Purpose, Request, Schedule, greatest};
use crate::model::{Posterior, Query, StatisticalModel};
use std::sync::Arc;

/// Steps in which an interval is hallucinated.
const STEPS: usize = 20;

/// [0, T] in equal intervals; at the beginning of each the state is read, fₙ is followed from there to the interval's end, and the system
/// is measured where ‖σ‖ is largest on the way.
pub struct RecedingHorizon {
    hallucination: Hallucination,
    model: Arc<dyn StatisticalModel>,
    horizon: f64,
    intervals: usize,
    /// The interval that is next to be looked at.
    current: usize,
    /// The measurement of the present interval, if it is still to be taken.
    pending: Option<f64>,
    posterior: Posterior,
    foreseen: Vec<Foreseen>,
}

impl RecedingHorizon {
    /// `intervals` of [0, `horizon`], one measurement in each.
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
            foreseen: Vec::new(),
        }
    }

    /// Where ‖σ‖ is largest.
    fn most_uncertain(&mut self, candidates: Candidates) -> Option<f64> {
        self.model.posterior(candidates.points(), Query::MeanStd, &mut self.posterior);
        let norms = self.posterior.std.value.iter().map(|s| s.iter().map(|s| s * s).sum::<f64>().sqrt());
        let uncertainty: Vec<f64> = norms.collect();
        let best = greatest(uncertainty.iter().copied(), &vec![false; uncertainty.len()])?;
        let time = candidates.times[best];
        self.foreseen.push(Foreseen { times: candidates.times, uncertainty });
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

    fn foreseen(&self) -> &[Foreseen] {
        &self.foreseen
    }
}
