//! Costs of imagined problems: the task's cost with more controls, or with a reward for knowledge.

use crate::linalg::{Points, Quadratization};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::system::{Cost, Dims};
use std::sync::{Arc, Mutex, PoisonError};

/// c(x, u) + ε ‖η‖² on controls (u, η).
pub struct Widened {
    inner: Arc<dyn Cost>,
    extra: usize,
    effort: f64,
    scratch: Mutex<Scratch>,
}

#[derive(Default)]
struct Scratch {
    points: Vec<f64>,
    cost: Quadratization,
}

impl Widened {
    /// `inner` with `extra` more controls, each priced `effort` times its square.
    pub fn new(inner: Arc<dyn Cost>, extra: usize, effort: f64) -> Self {
        Widened { inner, extra, effort, scratch: Mutex::default() }
    }

    /// ε ‖η‖² of a point.
    fn effort(&self, z: &[f64]) -> f64 {
        self.effort * z[z.len() - self.extra..].iter().map(|e| e * e).sum::<f64>()
    }
}

/// (x, u) of every (x, u, η).
fn narrow(z: Points<'_>, inner: usize, out: &mut Vec<f64>) {
    out.clear();
    for i in 0..z.len() {
        out.extend_from_slice(&z.at(i)[..inner]);
    }
}

impl Cost for Widened {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.inner.dims();
        Dims { state, control: control + self.extra }
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        let inner = z.dim() - self.extra;
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        narrow(z, inner, &mut scratch.points);
        self.inner.running(times, Points::new(&scratch.points, inner), out);
        for (i, out) in out.iter_mut().enumerate() {
            *out += self.effort(z.at(i));
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        let (dim, inner) = (z.dim(), z.dim() - self.extra);
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { points, cost } = &mut *scratch;
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

/// What knowledge is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reward {
    /// λ ‖σ/s‖
    Uncertainty(f64),
    /// ½ Σ ln(1 + σⱼ²/sⱼ²): what a measurement there would tell, in nats.
    Information,
}

impl Reward {
    /// The reward and its derivative by each vⱼ = σⱼ²/sⱼ², the latter over `v`.
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

/// `share` · c(x, u) less a reward for going where σ is large; at the end `share` · c_T.
///
/// The Hessian is that of the task's cost alone, as a Gauss–Newton step has it: a reward is concave where it matters, and the search
/// would have to make it convex anyway.
pub struct Rewarded {
    inner: Arc<dyn Cost>,
    model: Arc<dyn StatisticalModel>,
    noise_std: Vec<f64>,
    reward: Reward,
    share: f64,
    posterior: Mutex<Posterior>,
}

/// Noise below this fraction of the largest is taken as this: a reward for perfect measurements would be infinite.
const LEAST_NOISE: f64 = 1e-6;

impl Rewarded {
    /// A reward by what `model` does not know, in units of the noise.
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
        Rewarded { inner, model, noise_std, reward, share, posterior: Mutex::default() }
    }
}

impl Cost for Rewarded {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.inner.running(times, z, out);
        let mut posterior = self.posterior.lock().unwrap_or_else(PoisonError::into_inner);
        self.model.posterior(z, Query::MeanStd, &mut posterior);
        let mut v = vec![0.0; self.noise_std.len()];
        for (i, out) in out.iter_mut().enumerate() {
            squares(posterior.std.value.at(i), &self.noise_std, &mut v);
            *out = self.share * *out - self.reward.evaluate(&mut v);
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        self.inner.quadratize(times, z, out);
        let mut posterior = self.posterior.lock().unwrap_or_else(PoisonError::into_inner);
        self.model.posterior(z, Query::All, &mut posterior);
        let mut v = vec![0.0; self.noise_std.len()];
        for i in 0..z.len() {
            let std = posterior.std.value.at(i);
            squares(std, &self.noise_std, &mut v);
            out.value[i] = self.share * out.value[i] - self.reward.evaluate(&mut v);
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

/// σⱼ²/sⱼ².
fn squares(std: &[f64], noise: &[f64], out: &mut [f64]) {
    for j in 0..out.len() {
        out[j] = (std[j] / noise[j]) * (std[j] / noise[j]);
    }
}
