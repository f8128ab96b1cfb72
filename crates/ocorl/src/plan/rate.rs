//! Rate limits in the planner: how much a control may change from one interval to the next.
//!
//! ```text
//! |u_k − u_{k−1}| ≤ r (t_k − t_{k−1}),   |u_0 − u_before| ≤ r · since
//! ```
//!
//! The limit couples neighbouring intervals, so the backward pass propagates the value function of (x, w), where w is the control of the
//! previous interval. In terms of the control itself, rather than its increment, w enters the problem of an interval only through its box:
//!
//! ```text
//! min over u of l(x, u) + V'(F(x, u), u)   with   lower ≤ u ≤ upper,   w − r h ≤ u ≤ w + r h
//! ```
//!
//! The recursion is therefore that of [`riccati`](super::riccati) for the next state (F(x, u), u), with the box of the nominal trajectory.
//! A control at its rate limit moves with w (unit gain on w), and the free controls respond to it; all other gains on w are zero. The
//! forward passes apply the limit exactly, relative to the control that they have just computed for the previous interval.

use super::Problem;
use super::riccati::{Expansion, ExpectedDecrease, Interval, Solution, shift_diagonal, stages};
use super::rollout::Rollout;
use crate::linalg::small::{Shape, axpy, dot, solve};
use crate::system::{Dims, RateLimit};

/// Limit on the rate of change of the controls of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConstraint<'a> {
    /// Largest change of each control per unit of time; infinite where there is no limit.
    pub max_rate: &'a [f64],
    /// Control that was applied before the first interval.
    pub before: &'a [f64],
    /// Time that the first control has had to move away from `before`.
    pub since: f64,
}

impl<'a> RateConstraint<'a> {
    /// Creates the constraint of a run that begins with `before` and sets its first control within one control period.
    pub fn new(limit: &'a RateLimit, before: &'a [f64]) -> Self {
        RateConstraint { max_rate: &limit.max_rate, before, since: limit.period }
    }

    /// Returns the largest change of control `r` from interval `k − 1` to interval `k`.
    fn room(&self, times: &[f64], k: usize, r: usize) -> f64 {
        self.max_rate[r] * if k == 0 { self.since } else { times[k] - times[k - 1] }
    }

    /// Returns the control before interval `k` of a plan with the given controls.
    pub(super) fn before<'b>(&self, controls: &'b [f64], k: usize) -> &'b [f64]
    where
        'a: 'b,
    {
        let n = self.max_rate.len();
        if k == 0 { self.before } else { &controls[(k - 1) * n..k * n] }
    }

    /// Clamps the control of interval `k` to the rate limit around `before`, the control of the previous interval.
    pub(super) fn clamp(&self, times: &[f64], k: usize, before: &[f64], control: &mut [f64]) {
        for (r, (u, before)) in control.iter_mut().zip(before).enumerate() {
            let room = self.room(times, k, r);
            *u = u.max(before - room).min(before + room);
        }
    }

    /// Clamps all controls of a plan to the rate limit and the control bounds, in order of time.
    pub(super) fn clamp_all(&self, problem: &Problem<'_>, controls: &mut [f64]) {
        let n = self.max_rate.len();
        for k in 0..problem.intervals() {
            let (done, rest) = controls.split_at_mut(k * n);
            let before = if k == 0 { self.before } else { &done[(k - 1) * n..] };
            self.clamp(problem.times, k, before, &mut rest[..n]);
            problem.control_bounds.clamp(&mut rest[..n]);
        }
    }
}

/// Scratch memory of a backward pass with rate limits. X = (x, w) is the augmented state and N its dimension.
#[derive(Clone, Debug, Default)]
pub(super) struct RateWork {
    /// Gradient V_X and Hessian V_XX of the value function.
    v_x: Vec<f64>,
    v_xx: Vec<f64>,
    /// Adjoint variables of (x, w), and those of the previous node.
    adjoint: Vec<f64>,
    adjoint_before: Vec<f64>,
    /// ∂(F(x, u), u)/∂(x, u), stored by rows.
    next: Vec<f64>,
    /// V_XX times ∂(F(x, u), u)/∂(x, u).
    product: Vec<f64>,
    /// Gradient Q_z and Hessian Q_zz of the Q-function.
    q_z: Vec<f64>,
    q_zz: Vec<f64>,
    q_uu: Vec<f64>,
    regularized: Vec<f64>,
    /// Lower and upper limit of u − ū.
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// True for each control that is held at its rate limit.
    tied: Vec<bool>,
    /// Gains K with respect to (x, w), stored by rows, and Q_uu K + Q_uX.
    gains: Vec<f64>,
    residual: Vec<f64>,
    right: Vec<f64>,
}

impl RateWork {
    fn resize(&mut self, dims: Dims) {
        let (m, nz, n) = (dims.control, dims.point(), dims.point());
        for (v, size) in [
            (&mut self.v_x, n),
            (&mut self.v_xx, n * n),
            (&mut self.adjoint, n),
            (&mut self.adjoint_before, n),
            (&mut self.next, n * nz),
            (&mut self.product, n * nz),
            (&mut self.q_z, nz),
            (&mut self.q_zz, nz * nz),
            (&mut self.q_uu, m * m),
            (&mut self.regularized, m * m),
            (&mut self.lower, m),
            (&mut self.upper, m),
            (&mut self.gains, m * n),
            (&mut self.residual, m * n),
            (&mut self.right, m * n),
        ] {
            v.clear();
            v.resize(size, 0.0);
        }
        self.tied.clear();
        self.tied.resize(m, false);
    }
}

/// A control is at an end e of the box of u − ū if |e| is at most this fraction of 1 + |e|.
const AT_LIMIT: f64 = 1e-12;

/// Backward recursion with rate limits. Returns `None` if Q̃_uu is not positive definite at some interval.
#[expect(
    clippy::too_many_arguments,
    reason = "the backward pass of one caller, with everything it reads and writes"
)]
pub(super) fn backward(
    dims: Dims,
    problem: &Problem<'_>,
    rates: &RateConstraint<'_>,
    around: &Rollout,
    expansion: &Expansion,
    regularization: f64,
    gaps: bool,
    out: &mut Solution,
) -> Option<ExpectedDecrease> {
    let mut work = std::mem::take(&mut out.rates);
    work.resize(dims);
    let mut expected = ExpectedDecrease { linear: 0.0, quadratic: 0.0, gradient_norm: 0.0, penalty: 0.0 };
    let (nx, n) = (dims.state, dims.point());
    work.v_x[..nx].copy_from_slice(&expansion.terminal_gradient);
    work.adjoint[..nx].copy_from_slice(&expansion.terminal_gradient);
    for i in 0..nx {
        work.v_xx[i * n..i * n + nx].copy_from_slice(&expansion.terminal_hessian[i * nx..(i + 1) * nx]);
    }
    let solved = (0..problem.intervals()).rev().all(|k| {
        if gaps {
            work.keep_value(dims, out.values.at_mut(k));
            work.move_by_gap(dims, around.gaps.at(k));
            expected.penalty = work.v_x[..nx].iter().fold(expected.penalty, |m, v| m.max(v.abs()));
        }
        let stages = stages(dims, problem, expansion, k);
        if stages.weights.len() > 1 {
            out.composed.compose(dims, &stages);
        }
        let interval = Interval::new(dims, &stages, &out.composed);
        work.expand(dims, &interval);
        work.bound(problem, rates, around, k);
        work.regularize(dims, regularization);
        let (q_u, nu) = (&work.q_z[nx..], dims.control);
        if !out.limited.box_qp.solve(&work.regularized, q_u, &work.lower, &work.upper) {
            return false;
        }
        out.feedforward.at_mut(k).copy_from_slice(&out.limited.box_qp.solution);
        work.respond(dims, problem, rates, around, k, &out.limited.box_qp);
        expected.gradient_norm += work.adjoint_step(dims, &interval);
        work.update(dims, out.feedforward.at(k), &mut expected);
        for r in 0..nu {
            let row = &work.gains[r * n..(r + 1) * n];
            out.gains.at_mut(k)[r * nx..(r + 1) * nx].copy_from_slice(&row[..nx]);
            out.rate_gains.at_mut(k)[r * nu..(r + 1) * nu].copy_from_slice(&row[nx..]);
        }
        true
    });
    out.rates = work;
    expected.gradient_norm = expected.gradient_norm.sqrt();
    let finite = expected.linear.is_finite() && expected.gradient_norm.is_finite();
    (solved && finite).then_some(expected)
}

impl RateWork {
    /// Stores V_x, V_xx and V_xw of the node after an interval, for a trajectory with gaps.
    fn keep_value(&self, dims: Dims, out: &mut [f64]) {
        let (nx, nu, n) = (dims.state, dims.control, dims.point());
        let (v_x, rest) = out.split_at_mut(nx);
        let (v_xx, v_xw) = rest.split_at_mut(nx * nx);
        v_x.copy_from_slice(&self.v_x[..nx]);
        for i in 0..nx {
            let row = &self.v_xx[i * n..(i + 1) * n];
            v_xx[i * nx..(i + 1) * nx].copy_from_slice(&row[..nx]);
            v_xw[i * nu..(i + 1) * nu].copy_from_slice(&row[nx..]);
        }
    }

    /// Shifts the gradient of the value function by a gap d: V_X ← V_X + V_XX (d, 0).
    fn move_by_gap(&mut self, dims: Dims, gap: &[f64]) {
        let n = dims.point();
        for (i, v) in self.v_x.iter_mut().enumerate() {
            *v += dot(&self.v_xx[i * n..i * n + dims.state], gap);
        }
    }

    /// Computes Q_z = ∇l + Aᵀ V_X and Q_zz = ∇²l + Aᵀ V_XX A with A = ∂(F, u)/∂(x, u).
    fn expand(&mut self, dims: Dims, interval: &Interval<'_>) {
        let (nx, nz) = (dims.nx(), dims.nz());
        self.next.fill(0.0);
        for i in 0..nx {
            let row = &mut self.next[i * nz..(i + 1) * nz];
            axpy(interval.scale, &interval.jacobian[i * nz..(i + 1) * nz], row);
            row[i] += interval.unit;
        }
        for r in nx..nz {
            self.next[r * nz + r] = 1.0;
        }
        self.product.fill(0.0);
        for i in 0..nz {
            for j in 0..nz {
                let v = self.v_xx[i * nz + j];
                if v != 0.0 {
                    axpy(v, &self.next[j * nz..(j + 1) * nz], &mut self.product[i * nz..(i + 1) * nz]);
                }
            }
        }
        for (q, l) in self.q_z.iter_mut().zip(interval.gradient) {
            *q = interval.weight * l;
        }
        for (q, l) in self.q_zz.iter_mut().zip(interval.hessian) {
            *q = interval.weight * l;
        }
        for i in 0..nz {
            axpy(self.v_x[i], &self.next[i * nz..(i + 1) * nz], &mut self.q_z);
            for a in 0..nz {
                let weight = self.next[i * nz + a];
                if weight != 0.0 {
                    axpy(weight, &self.product[i * nz..(i + 1) * nz], &mut self.q_zz[a * nz..(a + 1) * nz]);
                }
            }
        }
    }

    /// Computes the limits of u − ū at interval `k`, relative to the nominal control of the previous interval.
    fn bound(&mut self, problem: &Problem<'_>, rates: &RateConstraint<'_>, around: &Rollout, k: usize) {
        let (controls, bounds) = (around.controls.at(k), problem.control_bounds);
        let before = rates.before(around.controls.as_slice(), k);
        for r in 0..controls.len() {
            let room = rates.room(problem.times, k, r);
            self.lower[r] = bounds.lower[r].max(before[r] - room) - controls[r];
            self.upper[r] = bounds.upper[r].min(before[r] + room) - controls[r];
        }
    }

    /// Computes Q_uu and its regularised form Q̃_uu.
    fn regularize(&mut self, dims: Dims, regularization: f64) {
        let (nx, nu, nz) = (dims.state, dims.control, dims.point());
        for r in 0..nu {
            let row = &self.q_zz[(nx + r) * nz + nx..(nx + r + 1) * nz];
            self.q_uu[r * nu..(r + 1) * nu].copy_from_slice(row);
        }
        self.regularized.copy_from_slice(&self.q_uu);
        shift_diagonal(nu, regularization, &mut self.regularized);
    }

    /// Computes the gains K on x and w. Free controls respond to both; a control at its rate limit moves with w.
    fn respond(
        &mut self,
        dims: Dims,
        problem: &Problem<'_>,
        rates: &RateConstraint<'_>,
        around: &Rollout,
        k: usize,
        box_qp: &super::box_qp::BoxQp,
    ) {
        let (nx, nu, n) = (dims.state, dims.control, dims.point());
        let before = rates.before(around.controls.as_slice(), k);
        for r in 0..nu {
            let (room, bounds) = (rates.room(problem.times, k, r), problem.control_bounds);
            let at_lower = box_qp.solution[r] <= self.lower[r];
            let inside = if at_lower {
                before[r] - room >= bounds.lower[r]
            } else {
                before[r] + room <= bounds.upper[r]
            };
            self.tied[r] = !box_qp.free[r] && inside;
        }
        self.gains.fill(0.0);
        let count = box_qp.free_count();
        let free = || (0..nu).filter(|&r| box_qp.free[r]).enumerate();
        for (slot, r) in free() {
            let right = &mut self.right[slot * n..(slot + 1) * n];
            right.fill(0.0);
            axpy(-1.0, &self.q_zz[(nx + r) * n..(nx + r) * n + nx], &mut right[..nx]);
            for c in (0..nu).filter(|&c| self.tied[c]) {
                right[nx + c] = -self.regularized[r * nu + c];
            }
        }
        solve(count, &box_qp.factor[..count * count], n, &mut self.right[..count * n]);
        for (slot, r) in free() {
            self.gains[r * n..(r + 1) * n].copy_from_slice(&self.right[slot * n..(slot + 1) * n]);
        }
        for r in (0..nu).filter(|&r| self.tied[r]) {
            self.gains[r * n + nx + r] = 1.0;
        }
    }

    /// Propagates the adjoint to the previous node and returns the squared norm of dJ/du over the directions that no limit blocks. The
    /// gradient of a control at its rate limit is added to that of the previous control, which determines this limit.
    fn adjoint_step(&mut self, dims: Dims, interval: &Interval<'_>) -> f64 {
        let (nx, nz) = (dims.state, dims.point());
        for (g, l) in self.adjoint_before.iter_mut().zip(interval.gradient) {
            *g = interval.weight * l;
        }
        for i in 0..nz {
            axpy(self.adjoint[i], &self.next[i * nz..(i + 1) * nz], &mut self.adjoint_before);
        }
        let mut norm = 0.0;
        for r in 0..dims.control {
            let g = self.adjoint_before[nx + r];
            let near = |end: f64| end.abs() <= AT_LIMIT * (1.0 + end.abs());
            let blocked = (g > 0.0 && near(self.lower[r])) || (g < 0.0 && near(self.upper[r]));
            norm += if blocked { 0.0 } else { g * g };
            self.adjoint_before[nx + r] = if blocked && self.tied[r] { g } else { 0.0 };
        }
        std::mem::swap(&mut self.adjoint, &mut self.adjoint_before);
        norm
    }

    /// Computes V_X and V_XX of this node and adds the contribution of this interval to the expected decrease.
    fn update(&mut self, dims: Dims, k: &[f64], expected: &mut ExpectedDecrease) {
        let (nx, nu, n) = (dims.state, dims.control, dims.point());
        self.v_x.fill(0.0);
        self.v_x[..nx].copy_from_slice(&self.q_z[..nx]);
        self.v_xx.fill(0.0);
        for i in 0..nx {
            self.v_xx[i * n..i * n + nx].copy_from_slice(&self.q_zz[i * n..i * n + nx]);
        }
        self.residual.fill(0.0);
        for r in 0..nu {
            let row = &self.q_uu[r * nu..(r + 1) * nu];
            let (q_u, q_ux) = (self.q_z[nx + r], &self.q_zz[(nx + r) * n..(nx + r) * n + nx]);
            let curvature = dot(row, k);
            expected.linear += k[r] * q_u;
            expected.quadratic += k[r] * curvature;
            let residual = &mut self.residual[r * n..(r + 1) * n];
            residual[..nx].copy_from_slice(q_ux);
            for (c, weight) in row.iter().enumerate() {
                axpy(*weight, &self.gains[c * n..(c + 1) * n], residual);
            }
            let gains = &self.gains[r * n..(r + 1) * n];
            axpy(curvature + q_u, gains, &mut self.v_x);
            axpy(k[r], q_ux, &mut self.v_x[..nx]);
            for i in 0..n {
                axpy(gains[i], residual, &mut self.v_xx[i * n..(i + 1) * n]);
            }
            for (i, q) in q_ux.iter().enumerate() {
                axpy(*q, gains, &mut self.v_xx[i * n..(i + 1) * n]);
            }
        }
    }
}
