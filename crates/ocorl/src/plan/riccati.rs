//! Backward pass: gains and value function of the linear-quadratic problem around a trajectory.
//!
//! With the interval models x⁺ = F(z), l(z), z = (x, u), and the value function V of the node after the interval,
//!
//! ```text
//! Q_z = ∇l + F_zᵀ (V_x + V_xx d)          Q_zz = ∇²l + F_zᵀ V_xx F_z          (d: gap of the interval)
//! k = −Q̃_uu⁻¹ Q_u,   K = −Q̃_uu⁻¹ Q_ux,   Q̃_uu = Q_uu + μ max diag(Q_uu) I
//! V_x  = Q_x  + Kᵀ Q_uu k + Kᵀ Q_u + Q_xu k
//! V_xx = Q_xx + Kᵀ Q_uu K + Kᵀ Q_ux + Q_xu K
//! ```
//!
//! The recursion is that of [Li04], with the value update of [Tas12], which stays correct under regularisation, and under control limits
//! the box-constrained step of [Tas14]. The adjoint recursion λ ← l_x + F_xᵀ λ runs along with it; l_u + F_uᵀ λ is the exact gradient
//! dJ/du. The cost is O(N (dₓ + dᵤ)² dₓ). The pass fails where Q̃_uu is not positive definite; the caller then raises μ.
//!
//! V_xx is deliberately not symmetrised at each node: the update is [I K]ᵀ Q_zz [I K], so a rounding asymmetry E propagates as
//! (F_x + F_u K)ᵀ E (F_x + F_u K), which grows no faster than V_xx itself.

use super::box_qp::BoxQp;
use super::rate::RateWork;
use super::rollout::Rollout;
use super::transcription::{IntervalModel, Stages};
use super::{Problem, Transcription};
use crate::linalg::small::{Block, Combination, Kernel, Shape, dot, factorize, solve};
use crate::linalg::{Blocks, Linearization, Pool, Quadratization};
use crate::system::{Bounds, Dims};

/// Second-order expansion of the planning problem along a trajectory.
#[derive(Clone, Debug, Default)]
pub(super) struct Expansion {
    /// Values and Jacobians of f at every stage point.
    pub(super) dynamics: Linearization,
    /// Values, gradients and Hessians of c at every stage point.
    pub(super) cost: Quadratization,
    /// Gradient ∇c_T at the final state.
    pub(super) terminal_gradient: Vec<f64>,
    /// Hessian ∇²c_T at the final state.
    pub(super) terminal_hessian: Vec<f64>,
    /// Quadrature weights of the stages of an interval, as fractions of its length.
    pub(super) fractions: Vec<f64>,
}

/// Policy of the last backward pass, with the value function that it leaves for trajectories with gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Solution {
    /// Feedforward terms k_k.
    pub(super) feedforward: Blocks,
    /// Feedback gains K_k, stored as gradients ∇ₓuⱼ.
    pub(super) gains: Blocks,
    /// V_x and V_xx of the node after each interval, followed by V_xw with rate limits; stored only if there are gaps.
    pub(super) values: Blocks,
    pub(super) composed: IntervalModel,
    pub(super) limited: LimitedStep,
    /// Gains of each control on the control of the previous interval; used only with rate limits.
    pub(super) rate_gains: Blocks,
    pub(super) rates: RateWork,
}

/// Change of J that the linear-quadratic model predicts for a step of the backward pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedDecrease {
    /// Σ kᵀ Q_u; the model changes J by `linear·α + ½ quadratic·α²` for a step of length α.
    pub(super) linear: f64,
    /// Σ kᵀ Q_uu k, the second-order coefficient of the predicted change.
    pub(super) quadratic: f64,
    /// ‖dJ/du‖ without the directions that a limit blocks.
    pub(super) gradient_norm: f64,
    /// Largest |V_x|, a bound on the multipliers of the gaps; the merit function uses a multiple of it as its penalty weight.
    pub(super) penalty: f64,
}

impl ExpectedDecrease {
    /// Returns the predicted decrease of J for a step of length `step`.
    pub(super) fn decrease(&self, step: f64) -> f64 {
        -step * (self.linear + 0.5 * step * self.quadratic)
    }
}

/// Scratch memory of the box-constrained step.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitedStep {
    pub(super) box_qp: BoxQp,
    lower: Vec<f64>,
    upper: Vec<f64>,
    free_gains: Vec<f64>,
}

impl Solution {
    pub(super) fn resize(&mut self, dims: Dims, problem: &Problem<'_>) {
        let (nx, nu, intervals) = (dims.state, dims.control, problem.intervals());
        let rated = usize::from(problem.rate_limit.is_some());
        let transcription: &Transcription = &problem.transcription;
        self.feedforward.resize(nu, intervals);
        self.gains.resize(nx * nu, intervals);
        self.values.resize(nx + nx * nx + rated * nx * nu, intervals);
        self.rate_gains.resize(nu * nu, rated * intervals);
        self.composed.resize(nx, nx + nu, transcription.integrator.tableau().b.len());
        self.limited.box_qp.resize(nu);
        self.limited.lower.resize(nu, 0.0);
        self.limited.upper.resize(nu, 0.0);
        self.limited.free_gains.resize(nu * nx, 0.0);
    }
}

/// Quadratic model Q of the cost-to-go around one interval, by blocks.
struct Model<S: Shape> {
    q_x: S::X,
    q_u: S::U,
    q_xx: S::XX,
    q_xu: S::XU,
    q_uu: S::UU,
    /// Product V_xx F_x; `w_u` is V_xx F_u.
    w_x: S::XX,
    w_u: S::UX,
}

/// Linear-quadratic model of one interval: F_z = `unit` · [I 0] + `scale` · `jacobian`; ∇l and ∇²l are `weight` times the stored ones.
///
/// Sums run over the arrays as the batch evaluations returned them; `unit`, `scale` and `weight` are applied to the results.
#[derive(Clone, Copy)]
pub(super) struct Interval<'a> {
    /// Gradients ∇F_i, one after another.
    pub(super) jacobian: &'a [f64],
    pub(super) unit: f64,
    pub(super) scale: f64,
    pub(super) gradient: &'a [f64],
    pub(super) hessian: &'a [f64],
    pub(super) weight: f64,
}

impl<'a> Interval<'a> {
    /// Builds the model of an interval. With one stage (Euler) F = x + h f and l = h c; with more, it is the composed model.
    #[inline(always)]
    pub(super) fn new<S: Shape>(shape: S, stages: &Stages<'a>, composed: &'a IntervalModel) -> Self {
        let (nx, nz) = (shape.nx(), shape.nz());
        let (single, h) = (stages.weights.len() == 1, stages.length);
        let (jacobian, gradient, hessian) = if single {
            (stages.jacobian, stages.gradient, stages.hessian(0))
        } else {
            (&*composed.jacobian, &*composed.gradient, &*composed.hessian)
        };
        Interval {
            jacobian: &jacobian[..nx * nz],
            unit: if single { 1.0 } else { 0.0 },
            scale: if single { h } else { 1.0 },
            gradient: &gradient[..nz],
            hessian: &hessian[..nz * nz],
            weight: if single { h * stages.weights[0] } else { 1.0 },
        }
    }

    /// Writes F_z z into `next` and returns ∇l · z.
    #[inline(always)]
    pub(super) fn push_forward<S: Shape>(&self, shape: S, z: &[f64], next: &mut [f64]) -> f64 {
        let nz = shape.nz();
        for (i, gradient) in self.jacobian.chunks_exact(nz).enumerate() {
            next[i] = self.unit * z[i] + self.scale * dot(gradient, z);
        }
        self.weight * dot(self.gradient, z)
    }

    /// Writes F_xᵀ p + l_x into `x` and F_uᵀ p + l_u into `u`, for a covector p of the next state.
    #[inline(always)]
    pub(super) fn pull_back<S: Shape>(&self, shape: S, p: &[f64], x: &mut [f64], u: &mut [f64]) {
        let (nx, nz) = (shape.nx(), shape.nz());
        let Interval { jacobian, unit, scale, gradient, weight, .. } = *self;
        terms(nx, p, 1, jacobian, nz).assign(x, |i, s| scale.mul_add(s, weight * gradient[i] + unit * p[i]));
        terms(nx, p, 1, &jacobian[nx..], nz).assign(u, |r, s| scale.mul_add(s, weight * gradient[nx + r]));
    }
}

impl Interval<'_> {
    /// Writes Q̃_uu = l_uu + F_uᵀ V_xx F_u + μ max diag · I into `out`, column-major.
    pub(super) fn control_curvature(&self, dims: Dims, v_xx: &[f64], regularization: f64, out: &mut [f64]) {
        let (nx, nu, nz) = (dims.state, dims.control, dims.point());
        let slope = |i: usize, r: usize| self.scale * self.jacobian[i * nz + nx + r];
        for r in 0..nu {
            for s in 0..nu {
                let mut sum = self.weight * self.hessian[(nx + r) * nz + nx + s];
                for i in 0..nx {
                    for j in 0..nx {
                        sum += slope(i, r) * v_xx[i * nx + j] * slope(j, s);
                    }
                }
                out[r * nu + s] = sum;
            }
        }
        shift_diagonal(nu, regularization, out);
    }
}

/// Adds μ max diag(A) to the diagonal of A.
#[inline(always)]
pub(super) fn shift_diagonal(n: usize, regularization: f64, a: &mut [f64]) {
    if regularization > 0.0 {
        let largest = (0..n).fold(0.0_f64, |m, r| m.max(a[r * n + r].abs()));
        let shift = regularization * if largest > 0.0 { largest } else { 1.0 };
        for r in 0..n {
            a[r * n + r] += shift;
        }
    }
}

/// Value function V of the node after an interval, and the adjoint λ at that node.
struct Value<S: Shape> {
    v_x: S::X,
    v_xx: S::XX,
    adjoint: S::X,
}

/// Inputs of the backward recursion. It yields `None` if Q̃_uu is not positive definite at some interval; the caller then regularises more.
pub(super) struct Backward<'a, 'p> {
    pub(super) problem: &'a Problem<'p>,
    pub(super) around: &'a Rollout,
    pub(super) expansion: &'a Expansion,
    /// Relative regularisation μ.
    pub(super) regularization: f64,
    /// Whether the trajectory has gaps.
    pub(super) gaps: bool,
    /// Scratch memory for shapes that are known only at run time.
    pub(super) pool: &'a mut Pool,
    pub(super) out: &'a mut Solution,
}

/// Scratch memory that the recursion carries from node to node.
struct Work<S: Shape> {
    model: Model<S>,
    value: Value<S>,
    /// Q̃_uu, overwritten by its Cholesky factor.
    factors: S::UU,
    k: S::U,
    gains: S::XU,
}

impl<S: Shape> Work<S> {
    #[inline(always)]
    fn take(shape: S, expansion: &Expansion, pool: &mut Pool) -> Self {
        let (nx, nu) = (shape.nx(), shape.nu());
        Work {
            model: Model::take(shape, pool),
            value: Value::take(shape, expansion, pool),
            factors: S::UU::take(nu * nu, pool),
            k: S::U::take(nu, pool),
            gains: S::XU::take(nx * nu, pool),
        }
    }

    #[inline(always)]
    fn give(self, pool: &mut Pool) {
        let Work { model, value, factors, k, gains } = self;
        gains.give(pool);
        k.give(pool);
        factors.give(pool);
        value.give(pool);
        model.give(pool);
    }
}

impl Kernel for Backward<'_, '_> {
    type Output = Option<ExpectedDecrease>;

    #[inline(always)]
    fn run<S: Shape>(mut self, shape: S) -> Option<ExpectedDecrease> {
        let mut work = Work::take(shape, self.expansion, self.pool);
        let expected = self.recursion(shape, &mut work);
        work.give(self.pool);
        expected
    }
}

impl Backward<'_, '_> {
    /// Runs the recursion from the last node to the first.
    #[inline(always)]
    fn recursion<S: Shape>(&mut self, shape: S, work: &mut Work<S>) -> Option<ExpectedDecrease> {
        let Backward { problem, around, expansion, regularization, gaps, ref mut pool, ref mut out } = *self;
        let (nx, nu) = (shape.nx(), shape.nu());
        let Solution { feedforward, gains, values, composed, limited, .. } = &mut **out;
        let Work { model, value, factors, k: k_k, gains: k_gains } = work;
        let limits = problem.control_bounds.is_limiting().then_some(problem.control_bounds);
        let mut expected = ExpectedDecrease { linear: 0.0, quadratic: 0.0, gradient_norm: 0.0, penalty: 0.0 };
        for k in (0..problem.intervals()).rev() {
            let stages = stages(shape, problem, expansion, k);
            if stages.weights.len() > 1 {
                composed.compose(shape, &stages);
            }
            let interval = Interval::new(shape, &stages, composed);
            if gaps {
                let (v_x, v_xx) = values.at_mut(k).split_at_mut(nx);
                v_x.copy_from_slice(value.v_x.get());
                v_xx.copy_from_slice(value.v_xx.get());
                let moved = terms(nx, around.gaps.at(k), 1, value.v_xx.get(), nx);
                let mut before = S::X::take(nx, pool);
                before.get_mut().copy_from_slice(value.v_x.get());
                moved.assign(value.v_x.get_mut(), |i, s| before.get()[i] + s);
                before.give(pool);
                expected.penalty = value.v_x.get().iter().fold(expected.penalty, |m, v| m.max(v.abs()));
            }
            model.expand(shape, value, &interval);
            let controls = &around.controls.at(k)[..nu];
            model.regularized(shape, regularization, factors.get_mut());
            let solved = match limits {
                None => model.free_step(shape, factors.get_mut(), k_k.get_mut(), k_gains.get_mut()),
                Some(bounds) => {
                    let h = factors.get();
                    model.limited_step(shape, h, limited, bounds, controls, k_k.get_mut(), k_gains.get_mut())
                }
            };
            if !solved {
                return None;
            }
            expected.gradient_norm += value.adjoint_step(shape, &interval, limits, controls, pool);
            value.update(shape, model, k_k.get(), k_gains.get(), &mut expected, pool);
            feedforward.at_mut(k).copy_from_slice(k_k.get());
            gains.at_mut(k).copy_from_slice(k_gains.get());
        }
        expected.gradient_norm = expected.gradient_norm.sqrt();
        let finite = expected.linear.is_finite() && expected.gradient_norm.is_finite();
        finite.then_some(expected)
    }
}

/// Returns the part of the batch evaluations that belongs to interval `k`.
#[inline(always)]
pub(super) fn stages<'a, S: Shape>(
    shape: S,
    problem: &Problem<'_>,
    e: &'a Expansion,
    k: usize,
) -> Stages<'a> {
    let (nx, nz, count) = (shape.nx(), shape.nz(), e.fractions.len());
    let (from, to) = (k * count, (k + 1) * count);
    Stages {
        tableau: problem.transcription.integrator.tableau(),
        substeps: problem.transcription.substeps,
        length: problem.times[k + 1] - problem.times[k],
        weights: &e.fractions,
        jacobian: &e.dynamics.jacobian.as_slice()[from * nx * nz..to * nx * nz],
        gradient: &e.cost.gradient.as_slice()[from * nz..to * nz],
        cost: &e.cost,
        first: from,
    }
}

impl<S: Shape> Model<S> {
    #[inline(always)]
    fn take(shape: S, pool: &mut Pool) -> Self {
        let (nx, nu) = (shape.nx(), shape.nu());
        Model {
            q_x: S::X::take(nx, pool),
            q_u: S::U::take(nu, pool),
            q_xx: S::XX::take(nx * nx, pool),
            q_xu: S::XU::take(nx * nu, pool),
            q_uu: S::UU::take(nu * nu, pool),
            w_x: S::XX::take(nx * nx, pool),
            w_u: S::UX::take(nx * nu, pool),
        }
    }

    #[inline(always)]
    fn give(self, pool: &mut Pool) {
        let Model { q_x, q_u, q_xx, q_xu, q_uu, w_x, w_u } = self;
        w_u.give(pool);
        w_x.give(pool);
        q_uu.give(pool);
        q_xu.give(pool);
        q_xx.give(pool);
        q_u.give(pool);
        q_x.give(pool);
    }

    /// Computes Q_z and Q_zz from the value function after the interval and the interval's model.
    #[inline(always)]
    fn expand(&mut self, shape: S, value: &Value<S>, interval: &Interval<'_>) {
        let (nx, nu, nz) = (shape.nx(), shape.nu(), shape.nz());
        let Interval { jacobian, unit, scale, hessian, weight, .. } = *interval;
        let v_xx = value.v_xx.get();
        let (w_x, w_u) = (self.w_x.get_mut(), self.w_u.get_mut());
        for i in 0..nx {
            let v = &v_xx[i * nx..(i + 1) * nx];
            let x = &mut w_x[i * nx..(i + 1) * nx];
            terms(nx, v, 1, jacobian, nz).assign(x, |j, s| scale.mul_add(s, unit * v[j]));
            let u = &mut w_u[i * nu..(i + 1) * nu];
            terms(nx, v, 1, &jacobian[nx..], nz).assign(u, |_, s| scale * s);
        }
        for j in 0..nx {
            let (l, w) = (&hessian[j * nz..j * nz + nx], &w_x[j * nx..(j + 1) * nx]);
            let q = &mut self.q_xx.get_mut()[j * nx..(j + 1) * nx];
            terms(nx, &jacobian[j..], nz, w_x, nx)
                .assign(q, |i, s| scale.mul_add(s, weight * l[i] + unit * w[i]));
        }
        for r in 0..nu {
            let l = &hessian[(nx + r) * nz..(nx + r + 1) * nz];
            let q = &mut self.q_xu.get_mut()[r * nx..(r + 1) * nx];
            terms(nx, &jacobian[nx + r..], nz, w_x, nx).assign(q, |i, s| scale.mul_add(s, weight * l[i]));
            let q = &mut self.q_uu.get_mut()[r * nu..(r + 1) * nu];
            terms(nx, &jacobian[nx + r..], nz, w_u, nu)
                .assign(q, |i, s| scale.mul_add(s, weight * l[nx + i]));
        }
        interval.pull_back(shape, value.v_x.get(), self.q_x.get_mut(), self.q_u.get_mut());
    }

    /// Writes Q̃_uu = Q_uu + μ max diag(Q_uu) I into `out`.
    #[inline(always)]
    fn regularized(&self, shape: S, regularization: f64, out: &mut [f64]) {
        let nu = shape.nu();
        out.copy_from_slice(self.q_uu.get());
        shift_diagonal(nu, regularization, out);
    }

    /// Computes k and K without limits; `factors` holds Q̃_uu on entry. Returns false if Q̃_uu is not positive definite.
    #[inline(always)]
    fn free_step(&self, shape: S, factors: &mut [f64], k: &mut [f64], gains: &mut [f64]) -> bool {
        let (nx, nu) = (shape.nx(), shape.nu());
        if !factorize(nu, factors) {
            return false;
        }
        scaled(-1.0, self.q_u.get(), k);
        scaled(-1.0, self.q_xu.get(), gains);
        solve(nu, factors, 1, k);
        solve(nu, factors, nx, gains);
        true
    }

    /// Computes k from the box-constrained problem with Hessian `h`; K is zero in the directions held at a limit.
    #[expect(clippy::too_many_arguments, reason = "one step of the recursion, called in one place")]
    fn limited_step(
        &self,
        shape: S,
        h: &[f64],
        work: &mut LimitedStep,
        bounds: &Bounds,
        controls: &[f64],
        k: &mut [f64],
        gains: &mut [f64],
    ) -> bool {
        let (nx, nu) = (shape.nx(), shape.nu());
        let LimitedStep { box_qp, lower, upper, free_gains } = work;
        for r in 0..nu {
            lower[r] = bounds.lower[r] - controls[r];
            upper[r] = bounds.upper[r] - controls[r];
        }
        if !box_qp.solve(h, self.q_u.get(), lower, upper) {
            return false;
        }
        k.copy_from_slice(&box_qp.solution);
        let free = || (0..nu).filter(|&r| box_qp.free[r]).enumerate();
        for (slot, r) in free() {
            let row = &self.q_xu.get()[r * nx..(r + 1) * nx];
            scaled(-1.0, row, &mut free_gains[slot * nx..(slot + 1) * nx]);
        }
        let count = box_qp.free_count();
        solve(count, &box_qp.factor[..count * count], nx, &mut free_gains[..count * nx]);
        gains.fill(0.0);
        for (slot, r) in free() {
            gains[r * nx..(r + 1) * nx].copy_from_slice(&free_gains[slot * nx..(slot + 1) * nx]);
        }
        true
    }
}

impl<S: Shape> Value<S> {
    /// Initialises the value function at the last node: V = c_T.
    #[inline(always)]
    fn take(shape: S, expansion: &Expansion, pool: &mut Pool) -> Self {
        let nx = shape.nx();
        let mut value: Self = Value {
            v_x: S::X::take(nx, pool),
            v_xx: S::XX::take(nx * nx, pool),
            adjoint: S::X::take(nx, pool),
        };
        value.v_x.get_mut().copy_from_slice(&expansion.terminal_gradient);
        value.adjoint.get_mut().copy_from_slice(&expansion.terminal_gradient);
        value.v_xx.get_mut().copy_from_slice(&expansion.terminal_hessian);
        value
    }

    #[inline(always)]
    fn give(self, pool: &mut Pool) {
        let Value { v_x, v_xx, adjoint } = self;
        adjoint.give(pool);
        v_xx.give(pool);
        v_x.give(pool);
    }

    /// Propagates λ ← l_x + F_xᵀ λ and returns ‖l_u + F_uᵀ λ‖² over the directions that no limit blocks.
    #[inline(always)]
    fn adjoint_step(
        &mut self,
        shape: S,
        interval: &Interval<'_>,
        limits: Option<&Bounds>,
        controls: &[f64],
        pool: &mut Pool,
    ) -> f64 {
        let (mut next, mut g) = (S::X::take(shape.nx(), pool), S::U::take(shape.nu(), pool));
        interval.pull_back(shape, self.adjoint.get(), next.get_mut(), g.get_mut());
        std::mem::swap(&mut self.adjoint, &mut next);
        let blocked = |r: usize, g: f64| {
            limits.is_some_and(|b| {
                (g > 0.0 && controls[r] <= b.lower[r]) || (g < 0.0 && controls[r] >= b.upper[r])
            })
        };
        let square = g.get().iter().enumerate().filter(|&(r, &g)| !blocked(r, g)).map(|(_, g)| g * g).sum();
        g.give(pool);
        next.give(pool);
        square
    }

    /// Computes V_x and V_xx of this node and adds the contribution of this interval to the expected decrease.
    #[inline(always)]
    fn update(
        &mut self,
        shape: S,
        model: &Model<S>,
        k: &[f64],
        gains: &[f64],
        expected: &mut ExpectedDecrease,
        pool: &mut Pool,
    ) {
        let (nx, nu) = (shape.nx(), shape.nu());
        let (q_u, q_uu, q_xu) = (model.q_u.get(), model.q_uu.get(), model.q_xu.get());
        // Q_uu k + Q_u and, row by row, Q_uu K + Q_ux.
        let (mut slope, mut residual) = (S::U::take(nu, pool), S::XU::take(nx * nu, pool));
        for r in 0..nu {
            let row = &q_uu[r * nu..(r + 1) * nu];
            let curvature = dot(row, k);
            expected.linear += k[r] * q_u[r];
            expected.quadratic += k[r] * curvature;
            slope.get_mut()[r] = curvature + q_u[r];
            let out = &mut residual.get_mut()[r * nx..(r + 1) * nx];
            terms(nu, row, 1, gains, nx).assign(out, |i, s| q_xu[r * nx + i] + s);
        }
        let mut part = S::X::take(nx, pool);
        terms(nu, slope.get(), 1, gains, nx).assign(part.get_mut(), |i, s| model.q_x.get()[i] + s);
        terms(nu, k, 1, q_xu, nx).assign(self.v_x.get_mut(), |i, s| part.get()[i] + s);
        for j in 0..nx {
            let q = &model.q_xx.get()[j * nx..(j + 1) * nx];
            terms(nu, &residual.get()[j..], nx, gains, nx).assign(part.get_mut(), |i, s| q[i] + s);
            let column = &mut self.v_xx.get_mut()[j * nx..(j + 1) * nx];
            terms(nu, &gains[j..], nx, q_xu, nx).assign(column, |i, s| part.get()[i] + s);
        }
        part.give(pool);
        residual.give(pool);
        slope.give(pool);
    }
}

/// Returns the sum of products Σᵢ aᵢ xᵢ.
#[inline(always)]
fn terms<'a>(
    count: usize,
    weights: &'a [f64],
    spacing: usize,
    columns: &'a [f64],
    stride: usize,
) -> Combination<'a> {
    Combination { count, weights, spacing, columns, stride }
}

/// Writes the scaled vector y = a x.
#[inline(always)]
fn scaled(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a * x;
    }
}
