//! A plan as a function of time.

use super::feedback::follow;
use crate::linalg::Blocks;
use crate::plan::Plan;
use crate::system::{Dims, Dynamics};
use std::ops::Deref;

/// Reference x̄(t), ū(t) of a plan: piecewise constant controls, and cubic Hermite interpolation of the states. It dereferences to its
/// [`Plan`], which has the slopes.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Plan that defines the reference.
    pub plan: Plan,
    /// Indices of the states that are angles.
    angles: Vec<usize>,
}

impl Deref for Reference {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl Reference {
    /// Creates the reference of a plan with slopes from `dynamics`, the model on which the plan was made.
    pub fn new(mut plan: Plan, dynamics: &mut dyn Dynamics, angles: &[usize]) -> Self {
        plan.slopes = plan.slopes_by(dynamics);
        Reference { plan, angles: angles.to_vec() }
    }

    /// Creates the reference of a plan that has slopes.
    pub fn with_slopes(plan: Plan, angles: &[usize]) -> Self {
        let shape = (2 * plan.dims().state, plan.controls.len());
        assert_eq!((plan.slopes.size(), plan.slopes.len()), shape, "slopes of a plan of that shape");
        Reference { plan, angles: angles.to_vec() }
    }

    /// Keeps the first `count` controls and drops the hallucinated ones.
    #[must_use]
    pub fn with_controls(mut self, count: usize) -> Self {
        let Dims { state, control } = self.plan.dims();
        let keep = |blocks: &Blocks, size: usize| {
            Blocks::from_vec(blocks.iter().flat_map(|b| &b[..size]).copied().collect(), size)
        };
        if count < control {
            self.plan.controls = keep(&self.plan.controls, count);
            self.plan.gains = keep(&self.plan.gains, count * state);
        }
        self
    }

    /// Computes the plan with its gains, u_k + K_k (x − x̄(t)).
    pub fn follow(&self, time: f64, state: &[f64], out: &mut [f64]) {
        let (mut planned, mut unwrapped) = (vec![0.0; state.len()], state.to_vec());
        self.state(time, &mut planned);
        self.unwrap_angles(&planned, &mut unwrapped);
        follow(self, self.interval(time), &planned, &unwrapped, out);
    }

    /// Shifts the angles of `state` by multiples of 2π to the value nearest to `near`, so that a sensor that wraps at ±π does
    /// not cause a deviation of 2π.
    pub fn unwrap_angles(&self, near: &[f64], state: &mut [f64]) {
        for &a in &self.angles {
            let turns = ((near[a] - state[a]) / std::f64::consts::TAU).round();
            if turns != 0.0 && turns.is_finite() {
                state[a] += turns * std::f64::consts::TAU;
            }
        }
    }
}
