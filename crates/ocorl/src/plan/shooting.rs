//! Batched forward passes: each interval starts from its own state, so all of them are integrated at once (multiple shooting).
//!
//! A rollout evaluates f at one point after another. If one evaluation costs a pass over a large matrix, as with a Gaussian process, a
//! batch of all points costs little more than a few of them. The step is therefore taken on the linear model,
//!
//! ```text
//! δx₀ = 0,   δu_k = k_k + K_k δx_k within limits,   δx_{k+1} = A_k δx_k + B_k δu_k + d_k,
//! ```
//!
//! and the intervals are then integrated from x + α δx under u + α δu, with one call of f for each Runge–Kutta stage. The error of the
//! linear model remains as gaps d, which the next step reduces: multiple shooting, [Boc84].

use super::Problem;
use super::riccati::{Expansion, Interval, Solution, stages};
use super::rollout::{DIVERGED, Rollout, follow_before};
use crate::linalg::small::{Block, Kernel, Shape, axpy, dot};
use crate::linalg::{Blocks, Pool};
use crate::system::Dynamics;

/// Scratch memory for the integration of all intervals at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Points z = (x, u) of one stage, for all intervals.
    points: Blocks,
    /// Derivatives ẋ of each stage of a step, for all intervals, one stage after another.
    slopes: Blocks,
    /// Current states of the intervals during the integration.
    ends: Blocks,
}

impl Batch {
    /// Integrates every interval of `out` from its own state and control, and writes points, gaps and `finite`.
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

/// Returns the number of blocks before the first one that is not finite or has diverged.
fn finite_count(blocks: &Blocks) -> usize {
    blocks.iter().position(|x| !x.iter().all(|x| x.abs() < DIVERGED)).unwrap_or(blocks.len())
}

/// Step of the whole trajectory on the linear model, with the multipliers and weights of the gap penalty.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    /// State steps δx_k.
    states: Blocks,
    /// Control steps δu_k.
    controls: Blocks,
    /// Multiplier λ_k = V_x + V_xx δx_{k+1} of gap k.
    multipliers: Blocks,
    /// Penalty weight ρ_k: twice the largest diagonal element of V_xx.
    weights: Vec<f64>,
    /// Step (δx, δu) of one interval.
    point: Vec<f64>,
    /// New control of the previous interval; used only with rate limits.
    before: Vec<f64>,
}

impl Direction {
    pub(super) fn resize(&mut self, nx: usize, nu: usize, intervals: usize) {
        self.states.resize(nx, intervals + 1);
        self.controls.resize(nu, intervals);
        self.multipliers.resize(nx, intervals);
        self.weights.resize(intervals, 0.0);
        self.point.resize(nx + nu, 0.0);
        self.before.resize(nu, 0.0);
    }

    /// Sets the states and controls of `to` to those of `from` plus α δ.
    pub(super) fn step(&self, from: &Rollout, step: f64, to: &mut Rollout) {
        to.states.as_mut_slice().copy_from_slice(from.states.as_slice());
        to.controls.as_mut_slice().copy_from_slice(from.controls.as_slice());
        axpy(step, self.states.as_slice(), to.states.as_mut_slice());
        axpy(step, self.controls.as_slice(), to.controls.as_mut_slice());
    }

    /// Returns the contribution of the gaps of `rollout` to the merit function, and its slope along a step, which scales the gaps by 1 − α:
    ///
    /// ```text
    /// Σ λᵀd + ½ ρ |d|²,   −Σ λᵀd + ρ |d|²
    /// ```
    ///
    /// J + λᵀd is to first order the cost of the trajectory after its gaps are closed. Good steps are therefore not rejected for the
    /// gaps that they open where the dynamics are nonlinear (the Maratos effect of a merit function with |d|).
    pub(super) fn gap_penalty(&self, rollout: &Rollout) -> (f64, f64) {
        if !rollout.has_gaps {
            return (0.0, 0.0);
        }
        let linear = dot(self.multipliers.as_slice(), rollout.gaps.as_slice());
        let quadratic: f64 = rollout.gaps.iter().zip(&self.weights).map(|(d, w)| w * dot(d, d)).sum();
        (linear + 0.5 * quadratic, -(linear + quadratic))
    }
}

/// Inputs of the pass that applies the gains of the last backward pass to the linear model; it returns ∇J · δ.
pub(super) struct Sweep<'a, 'p> {
    pub(super) problem: &'a Problem<'p>,
    pub(super) around: &'a Rollout,
    pub(super) expansion: &'a Expansion,
    pub(super) solution: &'a mut Solution,
    /// Scratch memory for shapes that are known only at run time.
    pub(super) pool: &'a mut Pool,
    pub(super) out: &'a mut Direction,
}

impl Kernel for Sweep<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) -> f64 {
        let Sweep { problem, around, expansion, solution, pool, out } = self;
        let Solution { feedforward, gains, rate_gains, values, composed, .. } = solution;
        let (nx, nu) = (shape.nx(), shape.nu());
        let limits = problem.control_bounds.is_limiting().then_some(problem.control_bounds);
        let mut slope = 0.0;
        out.states.at_mut(0).fill(0.0);
        let (mut du, mut next) = (S::U::take(nu, pool), S::X::take(nx, pool));
        for k in 0..problem.intervals() {
            let (x, u, gains) = (out.states.at(k), around.controls.at(k), gains.at(k));
            for (r, du) in du.get_mut().iter_mut().enumerate() {
                *du = u[r] + feedforward.at(k)[r] + dot(&gains[r * nx..(r + 1) * nx], x);
            }
            if let Some(rates) = &problem.rate_limit {
                let nominal = rates.before(around.controls.as_slice(), k);
                out.before.copy_from_slice(nominal);
                if k > 0 {
                    axpy(1.0, out.controls.at(k - 1), &mut out.before);
                }
                follow_before(rate_gains.at(k), &out.before, nominal, du.get_mut());
                rates.clamp(problem.times, k, &out.before, du.get_mut());
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
                if problem.rate_limit.is_some() {
                    *multiplier += dot(&v_xx[nx * nx + i * nu..nx * nx + (i + 1) * nu], du.get());
                }
            }
            out.weights[k] = 2.0 * (0..nx).fold(0.0_f64, |m, i| m.max(v_xx[i * nx + i]));
            out.states.at_mut(k + 1).copy_from_slice(next.get());
        }
        slope += dot(&expansion.terminal_gradient, next.get());
        next.give(pool);
        du.give(pool);
        slope
    }
}
