//! Plausible functions of a model that is linear in finitely many features: the mean plus a combination with constant weights.

use crate::linalg::{Linearization, Points};
use crate::model::{Posterior, Query, StatisticalModel, WeightScratch, WeightSpace};
use crate::system::{Dims, Dynamics};
use std::sync::Arc;

/// Dynamics ẋⱼ = μⱼ(x, u) + βⱼ ψⱼ(x, u)ᵀ wⱼ with control (u, w), w = (w₁, w₂, …) the weights of all outputs.   [Tre23, appendix B]
///
/// ```text
/// ∂ẋⱼ/∂z = ∂μⱼ/∂z + βⱼ (∂ψⱼ/∂z)ᵀ wⱼ,   ∂ẋⱼ/∂wⱼ = βⱼ ψⱼ
/// ```
///
/// A plausible f has ‖wⱼ‖ ≤ 1 and the same w at all times; the caller must ensure both.
pub struct WeightedModel {
    model: Arc<dyn StatisticalModel>,
    space: Arc<WeightSpace>,
    /// Number of weights of each output.
    counts: Vec<usize>,
    posterior: Posterior,
    points: Vec<f64>,
    features: Vec<f64>,
    scratch: WeightScratch,
}

impl WeightedModel {
    /// Creates the dynamics of `model` with weights in `space`, which must belong to the model.
    pub fn new(model: Arc<dyn StatisticalModel>, space: Arc<WeightSpace>) -> Self {
        let (features, counts) = (vec![0.0; space.len()], space.counts());
        WeightedModel {
            model,
            space,
            counts,
            posterior: Posterior::default(),
            points: Vec::new(),
            features,
            scratch: WeightScratch::default(),
        }
    }

    /// Evaluates μ at the points without their weights.
    fn mean(&mut self, z: Points<'_>, query: Query) {
        let inner = self.model.dims().point();
        self.points.clear();
        for i in 0..z.len() {
            self.points.extend_from_slice(&z.at(i)[..inner]);
        }
        self.model.posterior(Points::new(&self.points, inner), query, &mut self.posterior);
    }

    /// Computes μ + β ψᵀ w at one point; leaves β ψ in `features`.
    fn combine(&mut self, z: &[f64], mean: &[f64], out: &mut [f64]) {
        let inner = self.model.dims().point();
        let (z, weights) = z.split_at(inner);
        self.space.features(z, &mut self.features, &mut self.scratch);
        let mut first = 0;
        for (j, &count) in self.counts.iter().enumerate() {
            let (beta, own) = (self.model.confidence_scale()[j], first..first + count);
            let mut sum = 0.0;
            for (feature, weight) in self.features[own.clone()].iter_mut().zip(&weights[own]) {
                *feature *= beta;
                sum += *feature * weight;
            }
            out[j] = mean[j] + sum;
            first += count;
        }
    }
}

impl Dynamics for WeightedModel {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.model.dims();
        Dims { state, control: control + self.space.len() }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.mean(z, Query::Mean);
        let posterior = std::mem::take(&mut self.posterior);
        let nx = self.model.dims().state;
        for (i, out) in out.chunks_exact_mut(nx).enumerate() {
            self.combine(z.at(i), posterior.mean.value.at(i), out);
        }
        self.posterior = posterior;
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.mean(z, Query::MeanJacobian);
        let posterior = std::mem::take(&mut self.posterior);
        let (nx, inner, dim) = (self.model.dims().state, self.model.dims().point(), z.dim());
        out.resize(nx, dim, z.len());
        out.jacobian.as_mut_slice().fill(0.0);
        for i in 0..z.len() {
            self.combine(z.at(i), posterior.mean.value.at(i), out.value.at_mut(i));
            let (point, weights) = z.at(i).split_at(inner);
            let mean = posterior.mean.jacobian.at(i);
            let mut first = 0;
            for (j, &count) in self.counts.iter().enumerate() {
                let row = &mut out.jacobian.at_mut(i)[j * dim..(j + 1) * dim];
                row[..inner].copy_from_slice(&mean[j * inner..(j + 1) * inner]);
                let (own, beta) = (first..first + count, self.model.confidence_scale()[j]);
                row[inner..][own.clone()].copy_from_slice(&self.features[own.clone()]);
                let (weights, row) = (&weights[own], &mut row[..inner]);
                self.space.add_gradient(j, point, weights, beta, row, &mut self.scratch);
                first += count;
            }
        }
        self.posterior = posterior;
    }
}

/// Dynamics with the last controls held at constants.
pub struct HeldControls {
    inner: Box<dyn Dynamics>,
    held: Vec<f64>,
    points: Vec<f64>,
    linear: Linearization,
}

impl HeldControls {
    /// Creates `inner` with its last controls held at `held`.
    pub fn new(inner: Box<dyn Dynamics>, held: Vec<f64>) -> Self {
        HeldControls { inner, held, points: Vec::new(), linear: Linearization::default() }
    }

    fn extend(&mut self, z: Points<'_>) -> usize {
        self.points.clear();
        for i in 0..z.len() {
            self.points.extend_from_slice(z.at(i));
            self.points.extend_from_slice(&self.held);
        }
        z.dim() + self.held.len()
    }
}

impl Dynamics for HeldControls {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.inner.dims();
        Dims { state, control: control - self.held.len() }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let dim = self.extend(z);
        self.inner.derivative(Points::new(&self.points, dim), out);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let dim = self.extend(z);
        self.inner.linearize(Points::new(&self.points, dim), &mut self.linear);
        let nx = self.inner.dims().state;
        out.resize(nx, z.dim(), z.len());
        out.value.as_mut_slice().copy_from_slice(self.linear.value.as_slice());
        let rows = self.linear.jacobian.as_slice().chunks_exact(dim);
        for (out, row) in out.jacobian.as_mut_slice().chunks_exact_mut(z.dim()).zip(rows) {
            out.copy_from_slice(&row[..z.dim()]);
        }
    }
}
