//! Costs of exploration problems: the task's cost with additional controls, or with a reward for model uncertainty.

use crate::linalg::{Points, Quadratization, ScratchPool};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::system::{Cost, Dims};
use std::sync::Arc;

/// Cost c(x, u) + ε ‖η‖² on controls (u, η).
pub struct AugmentedCost {
    inner: Arc<dyn Cost>,
    extra: usize,
    effort: f64,
    scratch: ScratchPool<Scratch>,
}

#[derive(Default)]
struct Scratch {
    points: Vec<f64>,
    cost: Quadratization,
}

impl AugmentedCost {
    /// Creates `inner` with `extra` additional controls, each penalised by `effort` times its square.
    pub fn new(inner: Arc<dyn Cost>, extra: usize, effort: f64) -> Self {
        AugmentedCost { inner, extra, effort, scratch: ScratchPool::default() }
    }

    /// Returns the penalty ε ‖η‖² of a point.
    fn effort(&self, z: &[f64]) -> f64 {
        self.effort * z[z.len() - self.extra..].iter().map(|e| e * e).sum::<f64>()
    }
}

/// Extracts (x, u) of every (x, u, η).
fn narrow(z: Points<'_>, inner: usize, out: &mut Vec<f64>) {
    out.clear();
    for i in 0..z.len() {
        out.extend_from_slice(&z.at(i)[..inner]);
    }
}

impl Cost for AugmentedCost {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.inner.dims();
        Dims { state, control: control + self.extra }
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        let inner = z.dim() - self.extra;
        self.scratch.with(Scratch::default, |Scratch { points, .. }| {
            narrow(z, inner, points);
            self.inner.running(times, Points::new(points, inner), out);
        });
        for (i, out) in out.iter_mut().enumerate() {
            *out += self.effort(z.at(i));
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        let (dim, inner) = (z.dim(), z.dim() - self.extra);
        self.scratch.with(Scratch::default, |Scratch { points, cost }| {
            narrow(z, inner, points);
            self.inner.quadratize(times, Points::new(points, inner), cost);
            if cost.hessian.len() == 1 {
                out.resize_shared(dim, z.len());
            } else {
                out.resize(dim, z.len());
            }
            for i in 0..z.len() {
                out.value[i] = cost.value[i] + self.effort(z.at(i));
                let (gradient, eta) = (out.gradient.at_mut(i), &z.at(i)[inner..]);
                gradient[..inner].copy_from_slice(cost.gradient.at(i));
                for (gradient, eta) in gradient[inner..].iter_mut().zip(eta) {
                    *gradient = 2.0 * self.effort * eta;
                }
            }
            out.hessian.as_mut_slice().fill(0.0);
            for i in 0..out.hessian.len() {
                let (from, to) = (cost.hessian.at(i), out.hessian.at_mut(i));
                for (k, row) in from.chunks_exact(inner).enumerate() {
                    to[k * dim..k * dim + inner].copy_from_slice(row);
                }
                for k in inner..dim {
                    to[k * dim + k] = 2.0 * self.effort;
                }
            }
        });
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        self.inner.terminal(time, state)
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        self.inner.quadratize_terminal(time, state, gradient, hessian)
    }
}

/// Reward for model uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reward {
    /// λ ‖σ/s‖, with s the noise standard deviation.
    Uncertainty(f64),
    /// Information gain of one measurement, ½ Σ ln(1 + σⱼ²/sⱼ²), in nats.
    Information,
}

impl Reward {
    /// Returns the reward, and overwrites `v`, vⱼ = σⱼ²/sⱼ², by its derivative with respect to each vⱼ.
    fn evaluate(self, v: &mut [f64]) -> f64 {
        match self {
            Reward::Uncertainty(weight) => {
                let norm = v.iter().sum::<f64>().sqrt();
                v.fill(if norm > 0.0 { 0.5 * weight / norm } else { 0.0 });
                weight * norm
            }
            Reward::Information => {
                let gain = v.iter().map(|v| 0.5 * v.ln_1p()).sum();
                for v in v {
                    *v = 0.5 / (1.0 + *v);
                }
                gain
            }
        }
    }
}

/// Cost `share` · c(x, u) minus a reward for model uncertainty; the terminal cost is `share` · c_T.
///
/// The Hessian is that of the task's cost alone, as in a Gauss–Newton step: the reward is concave where it matters, and the search would
/// have to convexify it.
pub struct BonusCost {
    inner: Arc<dyn Cost>,
    model: Arc<dyn StatisticalModel>,
    noise_std: Vec<f64>,
    reward: Reward,
    share: f64,
    scratch: ScratchPool<Known>,
}

/// Scratch memory for the posterior at the points of a call.
#[derive(Default)]
struct Known {
    posterior: Posterior,
    /// Variance ratios σⱼ²/sⱼ² at one point.
    squares: Vec<f64>,
}

/// Lower bound of the noise as a fraction of the largest; the reward of a noise-free measurement would be infinite.
const LEAST_NOISE: f64 = 1e-6;

impl BonusCost {
    /// Creates a cost with a reward for the uncertainty of `model`, in units of the noise.
    pub fn new(
        inner: Arc<dyn Cost>,
        model: Arc<dyn StatisticalModel>,
        noise_std: &[f64],
        reward: Reward,
        share: f64,
    ) -> Self {
        let largest = noise_std.iter().fold(0.0_f64, |m, &s| m.max(s));
        let least = if largest > 0.0 { LEAST_NOISE * largest } else { 1.0 };
        let noise_std = noise_std.iter().map(|s| s.max(least)).collect();
        BonusCost { inner, model, noise_std, reward, share, scratch: ScratchPool::default() }
    }
}

impl Cost for BonusCost {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.inner.running(times, z, out);
        self.scratch.with(Known::default, |Known { posterior, squares: v }| {
            self.model.posterior(z, Query::MeanStd, posterior);
            v.resize(self.noise_std.len(), 0.0);
            for (i, out) in out.iter_mut().enumerate() {
                squares(posterior.std.value.at(i), &self.noise_std, v);
                *out = self.share * *out - self.reward.evaluate(v);
            }
        });
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        self.inner.quadratize(times, z, out);
        self.scratch.with(Known::default, |Known { posterior, squares: v }| {
            self.model.posterior(z, Query::All, posterior);
            v.resize(self.noise_std.len(), 0.0);
            for i in 0..z.len() {
                let std = posterior.std.value.at(i);
                squares(std, &self.noise_std, v);
                out.value[i] = self.share * out.value[i] - self.reward.evaluate(v);
                let gradient = out.gradient.at_mut(i);
                for g in &mut *gradient {
                    *g *= self.share;
                }
                for (j, slope) in posterior.std.jacobian.at(i).chunks_exact(z.dim()).enumerate() {
                    let weight = 2.0 * v[j] * std[j] / (self.noise_std[j] * self.noise_std[j]);
                    for (g, s) in gradient.iter_mut().zip(slope) {
                        *g -= weight * s;
                    }
                }
            }
        });
        for h in out.hessian.as_mut_slice() {
            *h *= self.share;
        }
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        self.share * self.inner.terminal(time, state)
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let value = self.inner.quadratize_terminal(time, state, gradient, hessian);
        for g in gradient.iter_mut().chain(hessian) {
            *g *= self.share;
        }
        self.share * value
    }
}

/// Computes the variance ratios σⱼ²/sⱼ².
fn squares(std: &[f64], noise: &[f64], out: &mut [f64]) {
    for j in 0..out.len() {
        out[j] = (std[j] / noise[j]) * (std[j] / noise[j]);
    }
}
