//! Policies without an online solver: a plan applied in open loop, and a plan with its feedback gains.

use super::Reference;
use super::guard::{FallbackGuard, FallbackSettings};
use crate::linalg::small::dot;
use crate::simulate::{Policy, PolicyError, Trajectory};

/// Open-loop policy: the plan's control on each interval, and the safe control after its end. It applies no rate limit; see
/// [`rate_limited`](super::rate_limited).
#[derive(Clone, Debug)]
pub struct Hold {
    times: Vec<f64>,
    controls: crate::linalg::Blocks,
    guard: FallbackGuard,
    held: Vec<f64>,
}

impl Hold {
    /// Creates a policy that holds the controls of `plan`.
    pub fn new(plan: &crate::plan::Plan, settings: &FallbackSettings) -> Self {
        let guard = FallbackGuard::new(settings);
        let held = guard.safe_control().to_vec();
        Hold { times: plan.times.clone(), controls: plan.controls.clone(), guard, held }
    }
}

impl Policy for Hold {
    fn prepare(&mut self, time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        let next = self.times.partition_point(|&t| t <= time);
        if next < self.times.len() {
            self.held.copy_from_slice(self.controls.at(next.max(1) - 1));
        } else {
            self.held.copy_from_slice(self.guard.safe_control());
        }
        self.guard.limit(&mut self.held);
        Ok(self.times.get(next).copied().unwrap_or(f64::INFINITY))
    }

    fn control(&mut self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.held);
    }
}

/// Time-varying linear feedback: u = u_k + K_k (x − x̄(t)), continuous in the state and clamped to the limits.
///
/// It solves no problem online and needs only a table of the plan's nodes. After the plan's end it returns the safe control.
/// It acts in continuous time, so it applies no rate limit; see [`rate_limited`](super::rate_limited).
#[derive(Clone, Debug)]
pub struct Feedback {
    reference: Reference,
    guard: FallbackGuard,
    interval: Option<usize>,
    planned: Vec<f64>,
    state: Vec<f64>,
}

impl Feedback {
    /// Creates a policy that follows `reference` with the gains of its plan.
    pub fn new(reference: Reference, settings: &FallbackSettings) -> Self {
        let n = reference.dims().state;
        let zeros = vec![0.0; n];
        Feedback {
            reference,
            guard: FallbackGuard::new(settings),
            interval: None,
            planned: zeros.clone(),
            state: zeros,
        }
    }
}

impl Policy for Feedback {
    fn prepare(&mut self, time: f64, _state: &[f64]) -> Result<f64, PolicyError> {
        let times = &self.reference.times;
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
                follow(&self.reference, k, &self.planned, &self.state, out);
            }
            None => out.copy_from_slice(self.guard.safe_control()),
        }
        self.guard.limit(out);
    }
}

/// Computes u_k + K_k x − K_k x̄ of interval `k`, each sum in the order of the states, bit by bit as the exported C code does.
pub(super) fn follow(plan: &Trajectory, k: usize, planned: &[f64], state: &[f64], out: &mut [f64]) {
    let nx = planned.len();
    let (control, gains) = (plan.controls.at(k), plan.gains.at(k));
    for (r, u) in out.iter_mut().enumerate() {
        let row = &gains[r * nx..(r + 1) * nx];
        *u = control[r] + dot(row, state) - dot(row, planned);
    }
}
