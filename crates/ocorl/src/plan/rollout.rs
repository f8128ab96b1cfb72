//! Forward passes: the dynamics integrated under a plan's controls and gains.

use super::Problem;
use crate::linalg::small::{Block, Kernel, Shape, axpy, dot};
use crate::linalg::{Blocks, Points};
use crate::simulate::Tableau;
use crate::system::{Bounds, Dims, Dynamics};

/// A state beyond this has left any sensible problem; such a trajectory costs infinity.
pub(super) const DIVERGED: f64 = 1e12;

/// A trajectory with every point at which f was evaluated on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollout {
    pub(super) states: Blocks,
    pub(super) controls: Blocks,
    /// z at stage s of interval k, column k·stages + s.
    pub(super) points: Blocks,
    /// End of the trajectory that each interval's own integration gives, minus the next node's state.
    pub(super) gaps: Blocks,
    /// Whether any gap is not zero.
    pub(super) has_gaps: bool,
    /// J; infinite if the trajectory is not finite.
    pub(super) cost: f64,
    /// Number of intervals that were finite.
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

    /// Largest gap.
    pub(super) fn largest_gap(&self) -> f64 {
        if self.has_gaps { self.gaps.as_slice().iter().fold(0.0, |m, g| m.max(g.abs())) } else { 0.0 }
    }

    /// Σ |gap|.
    pub(super) fn total_gap(&self) -> f64 {
        if self.has_gaps { self.gaps.as_slice().iter().map(|g| g.abs()).sum() } else { 0.0 }
    }

    /// J from the recorded points. `stage_times` and `stage_weights` are those of all stages in order.
    pub(super) fn charge(&mut self, problem: &Problem<'_>, stage_times: &[f64], stage_weights: &[f64]) {
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

/// What a forward pass follows: u = ū_k + α k_k + K_k (x − x̄_k), with the gaps shrunk to (1 − α) of theirs.
pub(super) struct Law<'a> {
    pub(super) around: &'a Rollout,
    pub(super) feedforward: &'a Blocks,
    pub(super) gains: &'a Blocks,
    pub(super) step: f64,
}

/// Integrates from `problem.initial_state` under a law.
pub(super) struct Forward<'a, 'p> {
    pub(super) dynamics: &'a mut dyn Dynamics,
    pub(super) problem: &'a Problem<'p>,
    pub(super) law: Law<'a>,
    pub(super) out: &'a mut Rollout,
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) {
        let Forward { dynamics, problem, law, out } = self;
        let (nx, nu) = (shape.nx(), shape.nu());
        let limited = problem.control_bounds.is_limiting();
        let mut x = S::X::zeros(nx);
        x.get_mut().copy_from_slice(problem.initial_state);
        out.states.at_mut(0).copy_from_slice(problem.initial_state);
        out.finite = 0;
        out.has_gaps = law.around.has_gaps && law.step < 1.0;
        for k in 0..problem.intervals() {
            let mut u = S::U::zeros(nu);
            feedback(shape, k, x.get(), &law, u.get_mut());
            if limited {
                problem.control_bounds.clamp(u.get_mut());
            }
            out.controls.as_mut_slice()[k * nu..(k + 1) * nu].copy_from_slice(u.get());
            integrate(shape, dynamics, problem, k, &mut x, &u, out);
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
}

/// u_k of the law at state `x`.
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

/// Interval `k` from state `x` under control `u`; `x` becomes the state at its end.
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

/// Clamps every control of `controls` (columns of the bounds' dimension).
pub(super) fn clamp_all(bounds: &Bounds, controls: &mut Blocks) {
    for k in 0..controls.len() {
        bounds.clamp(controls.at_mut(k));
    }
}
