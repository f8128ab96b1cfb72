//! A plan as a function of time.

use super::feedback::apply_gains;
use crate::linalg::{Blocks, Points};
use crate::plan::Plan;
use crate::system::{Dims, Dynamics};

/// Reference x̄(t), ū(t) of a plan: piecewise constant controls, and cubic Hermite interpolation of the states.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Plan that defines the reference.
    pub plan: Plan,
    /// Indices of the states that are angles.
    angles: Vec<usize>,
    /// Derivatives f(x_k, u_k) and f(x_{k+1}, u_k) of each interval.
    slopes: Blocks,
}

impl Reference {
    /// Creates the reference of a plan with slopes from `dynamics`, the model on which the plan was made.
    pub fn new(plan: Plan, dynamics: &mut dyn Dynamics, angles: &[usize]) -> Self {
        let dims = plan.dims();
        let mut points = Vec::with_capacity(2 * plan.controls.len() * dims.point());
        for k in 0..plan.controls.len() {
            for node in [k, k + 1] {
                points.extend_from_slice(plan.states.at(node));
                points.extend_from_slice(plan.controls.at(k));
            }
        }
        let mut slopes = Blocks::zeros(2 * dims.state, plan.controls.len());
        dynamics.derivative(Points::new(&points, dims.point()), slopes.as_mut_slice());
        Reference { plan, angles: angles.to_vec(), slopes }
    }

    /// Creates the reference from known slopes: f at the start and at the end of each interval, one after another.
    pub fn with_slopes(plan: Plan, slopes: Blocks, angles: &[usize]) -> Self {
        let shape = (2 * plan.dims().state, plan.controls.len());
        assert_eq!((slopes.size(), slopes.len()), shape, "slopes of a plan of that shape");
        Reference { plan, angles: angles.to_vec(), slopes }
    }

    /// Returns the derivatives f(x_k, u_k) and f(x_{k+1}, u_k) of each interval.
    pub fn slopes(&self) -> &Blocks {
        &self.slopes
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

    /// Returns the last time of the plan.
    pub fn end(&self) -> f64 {
        self.plan.times[self.plan.times.len() - 1]
    }

    /// Evaluates x̄(t); constant beyond the plan's ends.
    pub fn state(&self, time: f64, out: &mut [f64]) {
        let k = self.plan.interval(time);
        let (t0, t1) = (self.plan.times[k], self.plan.times[k + 1]);
        let h = t1 - t0;
        let s = ((time - t0) / h).clamp(0.0, 1.0);
        let (x0, x1) = (self.plan.states.at(k), self.plan.states.at(k + 1));
        let (f0, f1) = self.slopes.at(k).split_at(x0.len());
        let (a, b) = ((1.0 - s) * (1.0 - s), s * s);
        for (i, out) in out.iter_mut().enumerate() {
            *out = a * ((1.0 + 2.0 * s) * x0[i] + s * h * f0[i])
                + b * ((3.0 - 2.0 * s) * x1[i] - (1.0 - s) * h * f1[i]);
        }
    }

    /// Returns ū(t); constant beyond the plan's ends.
    pub fn control(&self, time: f64) -> &[f64] {
        self.plan.controls.at(self.plan.interval(time))
    }

    /// Computes the plan with its gains, u_k + K_k (x − x̄(t)).
    pub fn follow(&self, time: f64, state: &[f64], out: &mut [f64]) {
        let (mut planned, mut unwrapped) = (vec![0.0; state.len()], state.to_vec());
        self.state(time, &mut planned);
        self.unwrap_angles(&planned, &mut unwrapped);
        apply_gains(&self.plan, self.plan.interval(time), &planned, &unwrapped, out);
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
