//! Forward passes in batches: each interval starts from its own state, so all of them are integrated at once.
//!
//! A rollout asks for f at one point after the other. If a point costs a pass over a large matrix, as with a Gaussian
//! process, a batch of all points costs little more than a few of them. So the step is taken on the linear model,
//!
//! ```text
//! δx₀ = 0,   δu_k = k_k + K_k δx_k within limits,   δx_{k+1} = A_k δx_k + B_k δu_k + d_k,
//! ```
//!
//! and the intervals are then integrated from x + α δx under u + α δu, one call of f for each Runge–Kutta stage. What the
//! linear model did not foresee is left as gaps d for the next step: multiple shooting, [Boc84].

use super::Problem;
use super::riccati::{Expansion, Interval, Solution, stages};
use super::rollout::{DIVERGED, Rollout};
use crate::linalg::Blocks;
use crate::linalg::small::{Block, Kernel, Shape, axpy, dot};
use crate::system::Dynamics;

/// Memory of a batch of intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// z of one stage, for all intervals.
    points: Blocks,
    /// ẋ of each stage of a step, for all intervals, one stage after the other.
    slopes: Blocks,
    /// Where the intervals have come to.
    ends: Blocks,
}

impl Batch {
    /// Integrates every interval of `out` from its own state and control; writes points, gaps and `finite`.
    pub(super) fn shoot(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>, out: &mut Rollout) {
        let (dims, n, t) = (f.dims(), problem.intervals(), problem.times);
        let (nx, nz) = (dims.state, dims.point());
        let (tableau, substeps) =
            (problem.transcription.integrator.tableau(), problem.transcription.substeps);
        let count = tableau.b.len();
        self.points.resize(nz, n);
        self.slopes.resize(nx, count * n);
        self.ends.resize(nx, n);
        self.ends.as_mut_slice().copy_from_slice(&out.states.as_slice()[..nx * n]);
        out.has_gaps = true;
        out.finite = finite_count(&self.ends);
        if out.finite < n {
            return;
        }
        for substep in 0..substeps {
            for stage in 0..count {
                for k in 0..n {
                    let step = (t[k + 1] - t[k]) / substeps as f64;
                    let z = self.points.at_mut(k);
                    z[..nx].copy_from_slice(self.ends.at(k));
                    z[nx..].copy_from_slice(out.controls.at(k));
                    for (j, &a) in tableau.a[stage].iter().enumerate() {
                        if a != 0.0 {
                            axpy(step * a, self.slopes.at(j * n + k), &mut z[..nx]);
                        }
                    }
                    out.points.at_mut((k * substeps + substep) * count + stage).copy_from_slice(z);
                }
                let slopes = &mut self.slopes.as_mut_slice()[stage * n * nx..(stage + 1) * n * nx];
                f.derivative(self.points.points(), slopes);
            }
            for k in 0..n {
                let step = (t[k + 1] - t[k]) / substeps as f64;
                for (stage, &b) in tableau.b.iter().enumerate() {
                    axpy(step * b, self.slopes.at(stage * n + k), self.ends.at_mut(k));
                }
            }
        }
        for (gap, (end, next)) in out
            .gaps
            .as_mut_slice()
            .iter_mut()
            .zip(self.ends.as_slice().iter().zip(&out.states.as_slice()[nx..]))
        {
            *gap = end - next;
        }
        out.finite = finite_count(&out.gaps);
    }
}

/// Number of blocks before the first that is not finite, or beyond any sensible problem.
fn finite_count(blocks: &Blocks) -> usize {
    blocks.iter().position(|x| !x.iter().all(|x| x.abs() < DIVERGED)).unwrap_or(blocks.len())
}

/// A step of the whole trajectory on the linear model, and what gaps are worth on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    /// δx_k
    states: Blocks,
    /// δu_k
    controls: Blocks,
    /// λ_k = V_x + V_xx δx_{k+1}, the multiplier of gap k.
    multipliers: Blocks,
    /// ρ_k: twice the largest diagonal element of V_xx.
    weights: Vec<f64>,
    /// (δx, δu) of one interval.
    point: Vec<f64>,
}

impl Direction {
    pub(super) fn resize(&mut self, nx: usize, nu: usize, intervals: usize) {
        self.states.resize(nx, intervals + 1);
        self.controls.resize(nu, intervals);
        self.multipliers.resize(nx, intervals);
        self.weights.resize(intervals, 0.0);
        self.point.resize(nx + nu, 0.0);
    }

    /// States and controls of `to` = those of `from` + α δ.
    pub(super) fn step(&self, from: &Rollout, step: f64, to: &mut Rollout) {
        to.states.as_mut_slice().copy_from_slice(from.states.as_slice());
        to.controls.as_mut_slice().copy_from_slice(from.controls.as_slice());
        axpy(step, self.states.as_slice(), to.states.as_mut_slice());
        axpy(step, self.controls.as_slice(), to.controls.as_mut_slice());
    }

    /// What the gaps of `rollout` add to its merit, and the slope of that along a step, which shrinks them:
    ///
    /// ```text
    /// Σ λᵀd + ½ ρ |d|²,   −Σ λᵀd + ρ |d|²
    /// ```
    ///
    /// J + λᵀd is to first order what the trajectory costs once its gaps are closed, so good steps are not refused for
    /// the gaps they open where the dynamics bend (the Maratos effect of a merit with |d|).
    pub(super) fn charge_gaps(&self, rollout: &Rollout) -> (f64, f64) {
        if !rollout.has_gaps {
            return (0.0, 0.0);
        }
        let linear = dot(self.multipliers.as_slice(), rollout.gaps.as_slice());
        let quadratic: f64 = rollout.gaps.iter().zip(&self.weights).map(|(d, w)| w * dot(d, d)).sum();
        (linear + 0.5 * quadratic, -(linear + quadratic))
    }
}

/// Follows the linear model with the gains of the last backward pass; returns ∇J · δ.
pub(super) struct Sweep<'a, 'p> {
    pub(super) problem: &'a Problem<'p>,
    pub(super) around: &'a Rollout,
    pub(super) expansion: &'a Expansion,
    pub(super) solution: &'a mut Solution,
    pub(super) out: &'a mut Direction,
}

impl Kernel for Sweep<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) -> f64 {
        let Sweep { problem, around, expansion, solution, out } = self;
        let Solution { feedforward, gains, values, composed, .. } = solution;
        let (nx, nu) = (shape.nx(), shape.nu());
        let limits = problem.control_bounds.is_limiting().then_some(problem.control_bounds);
        let mut slope = 0.0;
        out.states.at_mut(0).fill(0.0);
        let (mut du, mut next) = (S::U::zeros(nu), S::X::zeros(nx));
        for k in 0..problem.intervals() {
            let (x, u, gains) = (out.states.at(k), around.controls.at(k), gains.at(k));
            for (r, du) in du.get_mut().iter_mut().enumerate() {
                *du = u[r] + feedforward.at(k)[r] + dot(&gains[r * nx..(r + 1) * nx], x);
            }
            if let Some(limits) = limits {
                limits.clamp(du.get_mut());
            }
            axpy(-1.0, u, du.get_mut());
            out.controls.at_mut(k).copy_from_slice(du.get());
            out.point[..nx].copy_from_slice(x);
            out.point[nx..].copy_from_slice(du.get());
            let stages = stages(shape, problem, expansion, k);
            if stages.weights.len() > 1 {
                composed.compose(shape, &stages);
            }
            slope += Interval::new(shape, &stages, composed).push_forward(shape, &out.point, next.get_mut());
            axpy(1.0, around.gaps.at(k), next.get_mut());
            let (v_x, v_xx) = values.at(k).split_at(nx);
            for (i, multiplier) in out.multipliers.at_mut(k).iter_mut().enumerate() {
                *multiplier = v_x[i] + dot(&v_xx[i * nx..(i + 1) * nx], next.get());
            }
            out.weights[k] = 2.0 * (0..nx).fold(0.0_f64, |m, i| m.max(v_xx[i * nx + i]));
            out.states.at_mut(k + 1).copy_from_slice(next.get());
        }
        slope + dot(&expansion.terminal_gradient, next.get())
    }
}
