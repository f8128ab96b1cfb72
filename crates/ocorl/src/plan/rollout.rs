//! Forward passes: integration of the dynamics under the controls and gains of a plan, and evaluation of the cost.

use super::Problem;
use crate::linalg::small::{Block, Kernel, Shape, axpy, dot};
use crate::linalg::{Blocks, Points, Pool};
use crate::simulate::Tableau;
use crate::system::{Bounds, Dims, Dynamics};

/// A trajectory with a state component beyond this magnitude counts as diverged and has infinite cost.
pub(super) const DIVERGED: f64 = 1e12;

/// A trajectory with every point at which f was evaluated along it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollout {
    pub(super) states: Blocks,
    pub(super) controls: Blocks,
    /// Points z = (x, u) at stage s of interval k, in column k·stages + s.
    pub(super) points: Blocks,
    /// Gap of each interval: the end point of its integration minus the state of the next node.
    pub(super) gaps: Blocks,
    /// Whether any gap is nonzero.
    pub(super) has_gaps: bool,
    /// Total cost J; infinite if the trajectory is not finite.
    pub(super) cost: f64,
    /// Number of leading intervals whose integration stayed finite.
    pub(super) finite: usize,
    slopes: Vec<f64>,
    stage_costs: Vec<f64>,
}

impl Rollout {
    pub(super) fn resize(&mut self, dims: Dims, intervals: usize, stages: usize, slopes: usize) {
        self.states.resize(dims.state, intervals + 1);
        self.controls.resize(dims.control, intervals);
        self.points.resize(dims.point(), intervals * stages);
        self.gaps.resize(dims.state, intervals);
        self.slopes.resize(dims.state * slopes, 0.0);
        self.stage_costs.resize(intervals * stages, 0.0);
    }

    /// Returns the largest absolute component of all gaps.
    pub(super) fn largest_gap(&self) -> f64 {
        if self.has_gaps { self.gaps.as_slice().iter().fold(0.0, |m, g| m.max(g.abs())) } else { 0.0 }
    }

    /// Returns the sum of the absolute components of all gaps.
    pub(super) fn total_gap(&self) -> f64 {
        if self.has_gaps { self.gaps.as_slice().iter().map(|g| g.abs()).sum() } else { 0.0 }
    }

    /// Evaluates J from the recorded stage points. `stage_times` and `stage_weights` list all stages in order.
    pub(super) fn evaluate_cost(
        &mut self,
        problem: &Problem<'_>,
        stage_times: &[f64],
        stage_weights: &[f64],
    ) {
        if self.finite < self.controls.len() {
            self.cost = f64::INFINITY;
            return;
        }
        problem.cost.running(stage_times, self.points.points(), &mut self.stage_costs);
        let running = dot(&self.stage_costs, stage_weights);
        let last = self.controls.len();
        let terminal = problem.cost.terminal(problem.times[last], self.states.at(last));
        let cost = running + terminal;
        self.cost = if cost.is_finite() { cost } else { f64::INFINITY };
    }
}

/// Policy of a forward pass: u = ū_k + α k_k + K_k (x − x̄_k), with the gaps scaled by 1 − α.
pub(super) struct Law<'a> {
    pub(super) around: &'a Rollout,
    pub(super) feedforward: &'a Blocks,
    pub(super) gains: &'a Blocks,
    /// Gains on the control of the previous interval; empty without rate limits.
    pub(super) rate_gains: &'a Blocks,
    pub(super) step: f64,
}

/// Inputs of a forward pass that integrates from `problem.initial_state` under a policy.
pub(super) struct Forward<'a, 'p> {
    pub(super) dynamics: &'a mut dyn Dynamics,
    pub(super) problem: &'a Problem<'p>,
    pub(super) law: Law<'a>,
    /// Scratch memory for shapes that are known only at run time.
    pub(super) pool: &'a mut Pool,
    pub(super) out: &'a mut Rollout,
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) {
        let Forward { dynamics, problem, law, pool, out } = self;
        let (mut x, mut u) = (S::X::take(shape.nx(), pool), S::U::take(shape.nu(), pool));
        roll_out(shape, dynamics, problem, &law, &mut x, &mut u, out);
        u.give(pool);
        x.give(pool);
    }
}

/// Runs the forward pass; `x` and `u` are scratch memory. Ends early where the trajectory diverges or leaves the state bounds.
#[inline(always)]
fn roll_out<S: Shape>(
    shape: S,
    dynamics: &mut dyn Dynamics,
    problem: &Problem<'_>,
    law: &Law<'_>,
    x: &mut S::X,
    u: &mut S::U,
    out: &mut Rollout,
) {
    let (nx, nu) = (shape.nx(), shape.nu());
    let limited = problem.control_bounds.is_limiting();
    x.get_mut().copy_from_slice(problem.initial_state);
    out.states.at_mut(0).copy_from_slice(problem.initial_state);
    out.finite = 0;
    out.has_gaps = law.around.has_gaps && law.step < 1.0;
    for k in 0..problem.intervals() {
        feedback(shape, k, x.get(), law, u.get_mut());
        if let Some(rates) = &problem.rate_limit {
            let before = rates.before(out.controls.as_slice(), k);
            let nominal = rates.before(law.around.controls.as_slice(), k);
            follow_before(law.rate_gains.at(k), before, nominal, u.get_mut());
            rates.clamp(problem.times, k, before, u.get_mut());
        }
        if limited {
            problem.control_bounds.clamp(u.get_mut());
        }
        out.controls.as_mut_slice()[k * nu..(k + 1) * nu].copy_from_slice(u.get());
        integrate(shape, dynamics, problem, k, x, u, out);
        if law.around.has_gaps {
            let (old, new) = (law.around.gaps.at(k), out.gaps.at_mut(k));
            for (i, x) in x.get_mut().iter_mut().enumerate() {
                new[i] = (1.0 - law.step) * old[i];
                *x -= new[i];
            }
        }
        out.states.as_mut_slice()[(k + 1) * nx..(k + 2) * nx].copy_from_slice(x.get());
        if !x.get().iter().all(|x| x.abs() < DIVERGED) {
            return;
        }
        if problem.state_bounds.is_some_and(|bounds| bounds.violated_by(x.get()).is_some()) {
            return;
        }
        out.finite = k + 1;
    }
}

/// Evaluates the policy's control u_k at state `x`.
#[inline(always)]
fn feedback<S: Shape>(shape: S, k: usize, x: &[f64], law: &Law<'_>, u: &mut [f64]) {
    let (nx, nu) = (shape.nx(), shape.nu());
    let gains = &law.gains.as_slice()[k * nx * nu..(k + 1) * nx * nu];
    let reference = &law.around.states.as_slice()[k * nx..(k + 1) * nx];
    let nominal = &law.around.controls.as_slice()[k * nu..(k + 1) * nu];
    let feedforward = &law.feedforward.as_slice()[k * nu..(k + 1) * nu];
    for r in 0..nu {
        let mut sum = nominal[r] + law.step * feedforward[r];
        for i in 0..nx {
            sum = gains[r * nx + i].mul_add(x[i] - reference[i], sum);
        }
        u[r] = sum;
    }
}

/// Adds the response to a change of the previous interval's control: u += K_w (w − w̄).
pub(super) fn follow_before(gains: &[f64], before: &[f64], nominal: &[f64], u: &mut [f64]) {
    for (u, gains) in u.iter_mut().zip(gains.chunks_exact(before.len())) {
        for ((gain, before), nominal) in gains.iter().zip(before).zip(nominal) {
            *u += gain * (before - nominal);
        }
    }
}

/// Integrates interval `k` from state `x` under control `u`; `x` becomes the state at its end.
#[inline(always)]
fn integrate<S: Shape>(
    shape: S,
    dynamics: &mut dyn Dynamics,
    problem: &Problem<'_>,
    k: usize,
    x: &mut S::X,
    u: &S::U,
    out: &mut Rollout,
) {
    let (nx, nz) = (shape.nx(), shape.nz());
    let Tableau { a, b, .. } = problem.transcription.integrator.tableau();
    let substeps = problem.transcription.substeps;
    let length = problem.times[k + 1] - problem.times[k];
    let step = if substeps == 1 { length } else { length / substeps as f64 };
    let points = out.points.as_mut_slice();
    let x = x.get_mut();
    for substep in k * substeps..(k + 1) * substeps {
        for (stage, row) in a.iter().enumerate() {
            let first = (substep * b.len() + stage) * nz;
            let z = &mut points[first..first + nz];
            z[..nx].copy_from_slice(x);
            z[nx..].copy_from_slice(u.get());
            for (j, &a) in row.iter().enumerate() {
                if a != 0.0 {
                    axpy(step * a, &out.slopes[j * nx..(j + 1) * nx], &mut z[..nx]);
                }
            }
            dynamics.derivative(Points::single(z), &mut out.slopes[stage * nx..(stage + 1) * nx]);
        }
        for (stage, &b) in b.iter().enumerate() {
            axpy(step * b, &out.slopes[stage * nx..(stage + 1) * nx], x);
        }
    }
}

/// Clamps every control of `controls` (columns of the dimension of the bounds) to the bounds.
pub(super) fn clamp_all(bounds: &Bounds, controls: &mut Blocks) {
    for k in 0..controls.len() {
        bounds.clamp(controls.at_mut(k));
    }
}
