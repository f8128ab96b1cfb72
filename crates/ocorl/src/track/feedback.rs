//! Policies that need no solver: a plan held, and a plan with its gains.

use super::Reference;
use super::ladder::{Ladder, LadderSettings};
use crate::linalg::small::dot;
use crate::simulate::{Policy, PolicyError};

/// Open loop: the plan's control on each interval, the safe control after its end.
#[derive(Clone, Debug)]
pub struct Hold {
    times: Vec<f64>,
    controls: crate::linalg::Blocks,
    ladder: Ladder,
    held: Vec<f64>,
}

impl Hold {
    /// Holds `plan`'s controls.
    pub fn new(plan: &crate::plan::Plan, settings: LadderSettings) -> Self {
        let ladder = Ladder::new(settings);
        let held = ladder.safe_control().to_vec();
        Hold { times: plan.times.clone(), controls: plan.controls.clone(), ladder, held }
    }
}

impl Policy for Hold {
    fn prepare(&mut self, time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        let next = self.times.partition_point(|&t| t <= time);
        if next < self.times.len() {
            self.held.copy_from_slice(self.controls.at(next.max(1) - 1));
        } else {
            self.held.copy_from_slice(self.ladder.safe_control());
        }
        self.ladder.guard(time, &mut self.held);
        Ok(self.times.get(next).copied().unwrap_or(f64::INFINITY))
    }

    fn control(&mut self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.held);
    }
}

/// Time-varying feedback: u = u_k + K_k (x − x̄(t)), continuous in the state, limited.
///
/// Nothing is solved online; a table of the plan's nodes is all it needs. After the plan's end it gives the safe control.
/// It acts continuously, so a rate limit does not apply.
#[derive(Clone, Debug)]
pub struct Feedback {
    reference: Reference,
    ladder: Ladder,
    interval: Option<usize>,
    planned: Vec<f64>,
    state: Vec<f64>,
}

impl Feedback {
    /// Follows `reference` with the gains of its plan.
    pub fn new(reference: Reference, settings: LadderSettings) -> Self {
        let n = reference.plan.dims().state;
        let zeros = vec![0.0; n];
        Feedback {
            reference,
            ladder: Ladder::new(settings),
            interval: None,
            planned: zeros.clone(),
            state: zeros,
        }
    }
}

impl Policy for Feedback {
    fn prepare(&mut self, time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        let times = &self.reference.plan.times;
        let next = times.partition_point(|&t| t <= time);
        self.interval = (next < times.len()).then(|| next.max(1) - 1);
        Ok(times.get(next).copied().unwrap_or(f64::INFINITY))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        match self.interval {
            Some(k) => {
                self.reference.state(time, &mut self.planned);
                self.state.copy_from_slice(state);
                self.reference.unwrap_angles(&self.planned, &mut self.state);
                apply_gains(&self.reference.plan, k, &self.planned, &self.state, out);
            }
            None => out.copy_from_slice(self.ladder.safe_control()),
        }
        self.ladder.limit(out);
    }
}

/// u_k + K_k (x − x̄).
pub(super) fn apply_gains(
    plan: &crate::plan::Plan,
    k: usize,
    planned: &[f64],
    state: &[f64],
    out: &mut [f64],
) {
    follow(plan.controls.at(k), plan.gains.at(k), planned, state, out);
}

/// u + K (x − x̄), the gains as gradients ∇ₓuⱼ.
pub(super) fn follow(control: &[f64], gains: &[f64], planned: &[f64], state: &[f64], out: &mut [f64]) {
    let nx = planned.len();
    for (r, u) in out.iter_mut().enumerate() {
        let row = &gains[r * nx..(r + 1) * nx];
        *u = control[r] + dot(row, state) - dot(row, planned);
    }
}
