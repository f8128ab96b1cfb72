//! Holds of unequal length for a planner of time-invariant dynamics: the time becomes a state.
//!
//! The transition model g(x, u, τ) has the hold length τ as its last control. On a grid of unequal holds τ is not free: it is the length of
//! the hold that begins at time t. The planner therefore uses the state (x, t) and no τ:
//!
//! ```text
//! ẋ = g(x, u, τ(t), …),   ṫ = 1,   τ(t) = t_{k+1} − t_k for t_k ≤ t < t_{k+1}
//! ```
//!
//! One Euler step over a hold is then the discrete model, and advances t from node to node. τ(t) is constant on a hold, so its derivative
//! and the gain on t are zero. The resulting plan is converted back: without t, and with τ_k among its controls.
//!
//! A point (x, t, u, rest) of the planner corresponds to the point (x, u, τ(t), rest) of the model: the same dimension, in another order.

use crate::linalg::{Blocks, Linearization, Points, Quadratization};
use crate::plan::{Plan, Start};
use crate::simulate::Trajectory;
use crate::system::{Bounds, Cost, Dims, Dynamics};
use std::sync::Arc;

/// Lengths of the holds between given times; τ follows the first `position` controls of the model.
#[derive(Clone)]
pub(super) struct Clock {
    times: Arc<[f64]>,
    position: usize,
}

/// Rounding error of the time state, as a fraction of the horizon.
const ROUNDING: f64 = 1e-9;

impl Clock {
    pub(super) fn new(times: &[f64], position: usize) -> Self {
        Clock { times: times.into(), position }
    }

    /// Returns the length τ of the hold that begins at `time`.
    fn length(&self, time: f64) -> f64 {
        let last = self.times.len() - 1;
        let late = time + ROUNDING * self.times[last];
        let k = self.times.partition_point(|&t| t <= late).clamp(1, last) - 1;
        self.times[k + 1] - self.times[k]
    }

    /// Converts a point of the planner to a point of the model in place; `nx` is the dimension of x.
    fn to_model(&self, nx: usize, z: &mut [f64]) {
        let tau = self.length(z[nx]);
        let moved = &mut z[nx..=nx + self.position];
        moved.rotate_left(1);
        moved[self.position] = tau;
    }

    /// Converts all points of the planner to points of the model.
    fn points(&self, nx: usize, z: Points<'_>, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(z.as_slice());
        for z in out.chunks_exact_mut(z.dim()) {
            self.to_model(nx, z);
        }
    }

    /// Converts a gradient with respect to the model's point to one with respect to the planner's point in place.
    fn to_planner(&self, nx: usize, gradient: &mut [f64]) {
        let moved = &mut gradient[nx..=nx + self.position];
        moved[self.position] = 0.0;
        moved.rotate_right(1);
    }

    /// Converts a start of the model's problem to one of the planner's problem.
    pub(super) fn start(&self, start: &Start) -> Start {
        let states = start.states.as_ref().map(|states| {
            let each = states.iter().zip(self.times.iter()).flat_map(|(x, t)| x.iter().chain([t]));
            Blocks::from_vec(each.copied().collect(), states.size() + 1)
        });
        Start { controls: self.without(&start.controls), states }
    }

    /// Returns the controls without τ.
    pub(super) fn without(&self, controls: &Blocks) -> Blocks {
        let kept = |u: &[f64]| [&u[..self.position], &u[self.position + 1..]].concat();
        Blocks::from_vec(controls.iter().flat_map(kept).collect(), controls.size() - 1)
    }

    /// Returns the initial state (x, t) of the planner.
    pub(super) fn initial_state(&self, x: &[f64]) -> Vec<f64> {
        [x, &self.times[..1]].concat()
    }

    pub(super) fn state_bounds(bounds: &Bounds) -> Bounds {
        let mut bounds = bounds.clone();
        bounds.lower.push(f64::NEG_INFINITY);
        bounds.upper.push(f64::INFINITY);
        bounds
    }

    pub(super) fn control_bounds(&self, bounds: &Bounds) -> Bounds {
        let mut bounds = bounds.clone();
        bounds.lower.remove(self.position);
        bounds.upper.remove(self.position);
        bounds
    }

    /// Inserts `value(k)` at the position of τ in block k.
    pub(super) fn with(&self, blocks: &Blocks, value: impl Fn(usize) -> f64) -> Blocks {
        let mut out = Vec::with_capacity(blocks.as_slice().len() + blocks.len());
        for (k, u) in blocks.iter().enumerate() {
            out.extend_from_slice(&u[..self.position]);
            out.push(value(k));
            out.extend_from_slice(&u[self.position..]);
        }
        Blocks::from_vec(out, blocks.size() + 1)
    }

    /// Converts a plan of the planner to one of the model.
    pub(super) fn plan(&self, plan: Plan) -> Plan {
        let nx = plan.states.size() - 1;
        let states = Blocks::from_vec(plan.states.iter().flat_map(|x| &x[..nx]).copied().collect(), nx);
        let controls = self.with(&plan.controls, |k| self.times[k + 1] - self.times[k]);
        let mut gains = Vec::with_capacity(plan.controls.len() * controls.size() * nx);
        for block in plan.gains.iter() {
            for (r, row) in block.chunks_exact(nx + 1).enumerate() {
                if r == self.position {
                    gains.extend(std::iter::repeat_n(0.0, nx));
                }
                gains.extend_from_slice(&row[..nx]);
            }
            if block.len() == self.position * (nx + 1) {
                gains.extend(std::iter::repeat_n(0.0, nx));
            }
        }
        let gains = Blocks::from_vec(gains, controls.size() * nx);
        Plan { trajectory: Trajectory { states, controls, gains, ..plan.trajectory }, ..plan }
    }
}

/// Dynamics of (x, t) under (u, …), without τ.
pub(super) struct ClockedDynamics {
    clock: Clock,
    inner: Box<dyn Dynamics>,
    points: Vec<f64>,
    values: Vec<f64>,
    linear: Linearization,
}

impl ClockedDynamics {
    pub(super) fn new(clock: Clock, inner: Box<dyn Dynamics>) -> Self {
        let (points, values) = (Vec::new(), Vec::new());
        ClockedDynamics { clock, inner, points, values, linear: Linearization::default() }
    }
}

fn with_clock(inner: Dims) -> Dims {
    Dims { state: inner.state + 1, control: inner.control - 1 }
}

impl Dynamics for ClockedDynamics {
    fn dims(&self) -> Dims {
        with_clock(self.inner.dims())
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let nx = self.inner.dims().state;
        self.clock.points(nx, z, &mut self.points);
        self.values.resize(nx * z.len(), 0.0);
        self.inner.derivative(Points::new(&self.points, z.dim()), &mut self.values);
        for (out, value) in out.chunks_exact_mut(nx + 1).zip(self.values.chunks_exact(nx)) {
            out[..nx].copy_from_slice(value);
            out[nx] = 1.0;
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let (nx, dim) = (self.inner.dims().state, z.dim());
        self.clock.points(nx, z, &mut self.points);
        self.inner.linearize(Points::new(&self.points, dim), &mut self.linear);
        out.resize(nx + 1, dim, z.len());
        out.jacobian.as_mut_slice().fill(0.0);
        for i in 0..z.len() {
            let value = out.value.at_mut(i);
            value[..nx].copy_from_slice(self.linear.value.at(i));
            value[nx] = 1.0;
            let rows = &mut out.jacobian.at_mut(i)[..nx * dim];
            rows.copy_from_slice(self.linear.jacobian.at(i));
            for row in rows.chunks_exact_mut(dim) {
                self.clock.to_planner(nx, row);
            }
        }
    }
}

/// A cost of (x, u, τ, …) as a cost of (x, t, u, …).
pub(super) struct ClockedCost {
    clock: Clock,
    inner: Arc<dyn Cost>,
}

impl ClockedCost {
    pub(super) fn new(clock: Clock, inner: Arc<dyn Cost>) -> Self {
        ClockedCost { clock, inner }
    }
}

impl Cost for ClockedCost {
    fn dims(&self) -> Dims {
        with_clock(self.inner.dims())
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        let mut points = Vec::new();
        self.clock.points(self.inner.dims().state, z, &mut points);
        self.inner.running(times, Points::new(&points, z.dim()), out);
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        let (nx, dim) = (self.inner.dims().state, z.dim());
        let mut points = Vec::new();
        self.clock.points(nx, z, &mut points);
        self.inner.quadratize(times, Points::new(&points, dim), out);
        for i in 0..z.len() {
            self.clock.to_planner(nx, out.gradient.at_mut(i));
        }
        for i in 0..out.hessian.len() {
            let hessian = out.hessian.at_mut(i);
            for row in hessian.chunks_exact_mut(dim) {
                self.clock.to_planner(nx, row);
            }
            // Reorder the rows in the same manner.
            let moved = &mut hessian[nx * dim..(nx + self.clock.position + 1) * dim];
            moved[self.clock.position * dim..].fill(0.0);
            moved.rotate_right(dim);
        }
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        self.inner.terminal(time, &state[..state.len() - 1])
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let nx = state.len() - 1;
        let mut inner = vec![0.0; nx * nx];
        gradient[nx] = 0.0;
        let value = self.inner.quadratize_terminal(time, &state[..nx], &mut gradient[..nx], &mut inner);
        hessian.fill(0.0);
        for (row, from) in hessian.chunks_exact_mut(nx + 1).zip(inner.chunks_exact(nx)) {
            row[..nx].copy_from_slice(from);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::explore::AugmentedCost;
    use crate::random::Stream;
    use crate::system::QuadraticCost;

    const TIMES: [f64; 4] = [0.0, 0.2, 1.0, 3.0];

    fn clock() -> Clock {
        Clock::new(&TIMES, 1)
    }

    #[test]
    fn a_clock_knows_the_hold_that_begins_in_spite_of_rounding() {
        for (time, tau) in [(0.0, 0.2), (0.1, 0.2), (0.2 - 1e-12, 0.8), (0.2, 0.8), (1.0, 2.0), (3.0, 2.0)] {
            assert!((clock().length(time) - tau).abs() < 1e-12, "{time}");
        }
    }

    #[test]
    fn points_go_to_the_model_and_gradients_come_back() {
        // (x, t, u, η) with one component each corresponds to (x, u, τ, η) of the model.
        let mut z = [7.0, 0.5, 8.0, 9.0];
        clock().to_model(1, &mut z);
        assert_eq!(z, [7.0, 8.0, 0.8, 9.0]);
        let mut gradient = [1.0, 2.0, 3.0, 4.0];
        clock().to_planner(1, &mut gradient);
        assert_eq!(gradient, [1.0, 0.0, 2.0, 4.0]);
    }

    #[test]
    fn a_plan_comes_back_without_the_clock_and_with_the_lengths() {
        let trajectory = Trajectory {
            times: TIMES.to_vec(),
            states: Blocks::from_vec(vec![1.0, 0.0, 2.0, 0.2, 3.0, 1.0, 4.0, 3.0], 2),
            controls: Blocks::from_vec(vec![5.0, 6.0, 7.0], 1),
            gains: Blocks::from_vec(vec![8.0, 0.0, 9.0, 0.0, 10.0, 0.0], 2),
            ..Trajectory::default()
        };
        let plan = Plan::given(trajectory, 1.0);
        let start = Start { controls: plan.controls.clone(), states: None };
        let found = clock().plan(plan).trajectory;
        assert_eq!(found.states.as_slice(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found.controls.as_slice(), [5.0, 0.2, 6.0, 0.8, 7.0, 2.0]);
        assert_eq!(found.gains.as_slice(), [8.0, 0.0, 9.0, 0.0, 10.0, 0.0]);
        let again = clock().start(&Start { controls: found.controls, states: Some(found.states) });
        assert_eq!(again.controls, start.controls);
        assert_eq!(again.states.unwrap().at(2), [3.0, 1.0]);
    }

    #[test]
    fn a_cost_with_a_clock_keeps_the_contract_of_a_cost() {
        let inner = QuadraticCost::new([1.0, 2.0], [0.5]).terminal_weights([3.0, 1.0]);
        let widened = Arc::new(AugmentedCost::new(Arc::new(inner), 1, 0.0));
        let cost = ClockedCost::new(clock(), widened);
        assert_eq!(cost.dims(), Dims { state: 3, control: 1 });
        check::cost(&cost, 1.0, &mut Stream::root(0).rng()).unwrap();
    }
}
