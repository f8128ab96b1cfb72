//! The value of measurements: the expected reduction of the uncertainty of the planned cost.
//!
//! To first order a small model error δf changes the cost of a plan that is tracked with its feedback gains by
//!
//! ```text
//! δJ = ∫ λ(t)ᵀ δf(z(t)) dt,   −λ̇ = ∇ₓc + Kᵀ∇ᵤc + (A + B K)ᵀ λ,   λ(T) = ∇c_T
//! ```
//!
//! This is a linear functional of f. Under the model's posterior it is normal with a variance V in closed form. So is its variance
//! after measurements at points S, which does not depend on the measured values:
//!
//! ```text
//! V = Σⱼ aⱼᵀ Cⱼ aⱼ,   aⱼₖ = λⱼ(t_k) Δt_k,   Cⱼ ← Cⱼ − Cⱼ[:, S] (Cⱼ[S, S] + sⱼ²)⁻¹ Cⱼ[S, :]
//! ```
//!
//! | symbol | meaning |
//! |---|---|
//! | λ | adjoint state (sensitivity of the cost to the state), dₓ |
//! | A, B, K | ∂μ/∂x, ∂μ/∂u, feedback gains of the plan |
//! | Cⱼ | posterior covariance of output j at the nodes of the plan and the measured points |
//! | sⱼ | noise standard deviation of output j |

use crate::linalg::{Blocks, Cholesky, Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plan::Plan;
use crate::system::{Dims, Task};

/// The uncertainty of the cost of a plan before and after measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Standard deviation of the planned cost under the present model.
    pub before: f64,
    /// Standard deviation of the planned cost after all the measurements.
    pub after: f64,
    /// Standard deviation of the planned cost after the single most informative measurement.
    pub after_best: f64,
}

/// Computes the uncertainty of the cost of following `plan` (without hallucinated controls) before and after measurements at the
/// points `measured` = (x, u) with the noise of the task.
///
/// O(dₓ ((n + m)² + m³)) for n plan nodes and m measurements, plus the posterior covariance. Returns `None` if the covariance of the
/// measurements cannot be factorised or a value overflows.
pub fn worth(model: &dyn StatisticalModel, task: &Task, plan: &Plan, measured: &[Vec<f64>]) -> Option<Worth> {
    let Dims { state: nx, control: nu } = task.dims();
    let n = plan.controls.len();
    let nodes = (0..n).map(|k| [plan.states.at(k), plan.controls.at(k)].concat());
    let all: Vec<f64> = nodes.chain(measured.iter().cloned()).flatten().collect();
    let points = Points::new(&all, nx + nu);
    let sensitivities = sensitivities(model, task, plan, Points::new(&all[..n * (nx + nu)], nx + nu));
    let mut covariance = Blocks::default();
    model.covariance(points, &mut covariance);
    let (count, total) = (measured.len(), points.len());
    let (mut before, mut reduction, mut best) = (0.0, 0.0, vec![0.0; count]);
    for j in 0..nx {
        let c = covariance.at(j);
        let weight = |k: usize| sensitivities.at(k)[j];
        // C a at the plan's nodes and at the measured points.
        let along: Vec<f64> =
            (0..total).map(|i| (0..n).map(|k| c[k * total + i] * weight(k)).sum::<f64>()).collect();
        before += (0..n).map(|k| weight(k) * along[k]).sum::<f64>();
        let noise = task.noise_std[j] * task.noise_std[j];
        let known = &along[n..];
        let entry = |a: usize, b: usize| c[(n + a) * total + n + b] + f64::from(u8::from(a == b)) * noise;
        for (i, best) in best.iter_mut().enumerate() {
            let variance = entry(i, i);
            if variance > 0.0 {
                *best += known[i] * known[i] / variance;
            }
        }
        if count > 0 {
            let jitter = 1e-12 * (0..count).map(|i| entry(i, i)).fold(0.0, f64::max);
            let gram: Vec<f64> = (0..count * count)
                .map(|e| entry(e / count, e % count) + f64::from(u8::from(e / count == e % count)) * jitter)
                .collect();
            let factor = Cholesky::new(&gram, count).ok()?;
            let mut half = known.to_vec();
            factor.solve_lower(&mut half, 1);
            reduction += half.iter().map(|h| h * h).sum::<f64>();
        }
    }
    let most = best.iter().copied().fold(0.0, f64::max);
    let left = |reduction: f64| (before - reduction).max(0.0).sqrt();
    let worth = Worth { before: before.max(0.0).sqrt(), after: left(reduction), after_best: left(most) };
    (worth.before.is_finite() && worth.after.is_finite()).then_some(worth)
}

/// Computes a: block k holds λ(t_k) Δt_k by the trapezoidal rule, for the closed loop of the plan's gains and the model's mean.
fn sensitivities(model: &dyn StatisticalModel, task: &Task, plan: &Plan, nodes: Points<'_>) -> Blocks {
    let Dims { state: nx, control: nu } = task.dims();
    let (n, nz) = (plan.controls.len(), nx + nu);
    let mut posterior = Posterior::default();
    model.posterior(nodes, Query::MeanJacobian, &mut posterior);
    let mut cost = Quadratization::default();
    task.cost.quadratize(&plan.times[..n], nodes, &mut cost);
    let (mut lambda, mut hessian) = (vec![0.0; nx], vec![0.0; nx * nx]);
    task.cost.quadratize_terminal(plan.times[n], plan.states.at(n), &mut lambda, &mut hessian);
    let mut out = Blocks::zeros(nx, n);
    let mut rate = vec![0.0; nx];
    // The negative time derivative −λ̇ at node k.
    let slope = |k: usize, lambda: &[f64], rate: &mut [f64]| {
        let (gradient, jacobian, gains) =
            (cost.gradient.at(k), posterior.mean.jacobian.at(k), plan.gains.at(k));
        // ∇(c + λᵀf) with respect to (x, u); block j of the Jacobian is ∇fⱼ.
        let total = |d: usize| gradient[d] + (0..nx).map(|j| lambda[j] * jacobian[j * nz + d]).sum::<f64>();
        for (d, rate) in rate.iter_mut().enumerate() {
            *rate = total(d) + (0..nu).map(|r| gains[r * nx + d] * total(nx + r)).sum::<f64>();
        }
    };
    for k in (0..n).rev() {
        let step = plan.times[k + 1] - plan.times[k];
        let after = lambda.clone();
        // Heun's method backwards in time; the derivatives within an interval are those at its first node.
        slope(k, &after, &mut rate);
        let guess: Vec<f64> = after.iter().zip(&rate).map(|(l, r)| l + step * r).collect();
        let first = rate.clone();
        slope(k, &guess, &mut rate);
        for d in 0..nx {
            lambda[d] = after[d] + 0.5 * step * (first[d] + rate[d]);
            out.at_mut(k)[d] = 0.5 * step * (after[d] + lambda[d]);
        }
    }
    out
}
