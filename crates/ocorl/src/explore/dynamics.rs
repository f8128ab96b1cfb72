//! Dynamics from a statistical model: its mean, and the optimistic dynamics over all plausible functions.

use crate::linalg::{Linearization, Points};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::system::{Dims, Dynamics};
use std::sync::Arc;

/// Mean dynamics ẋ = μ(x, u).
pub struct MeanModel {
    model: Arc<dyn StatisticalModel>,
    posterior: Posterior,
}

impl MeanModel {
    /// Creates the mean dynamics of `model`.
    pub fn new(model: Arc<dyn StatisticalModel>) -> Self {
        MeanModel { model, posterior: Posterior::default() }
    }
}

impl Dynamics for MeanModel {
    fn dims(&self) -> Dims {
        self.model.dims()
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.model.posterior(z, Query::Mean, &mut self.posterior);
        out.copy_from_slice(self.posterior.mean.value.as_slice());
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        // The model writes into the caller's buffer; its own buffer keeps the size for single points.
        std::mem::swap(&mut self.posterior.mean, out);
        self.model.posterior(z, Query::MeanJacobian, &mut self.posterior);
        std::mem::swap(&mut self.posterior.mean, out);
    }
}

/// Optimistic dynamics ẋ = μ(x, u) + β σ(x, u) ⊙ η with control (u, η), η ∈ [−1, 1]^dₓ.   [Tre23, appendix C.5]
///
/// ```text
/// ∂ẋ/∂z = ∂μ/∂z + β diag(η) ∂σ/∂z,   ∂ẋ/∂η = β diag(σ)
/// ```
pub struct Optimistic {
    model: Arc<dyn StatisticalModel>,
    posterior: Posterior,
    /// Points (x, u) of the augmented points (x, u, η).
    points: Vec<f64>,
}

impl Optimistic {
    /// Creates the optimistic dynamics over all plausible functions of `model`.
    pub fn new(model: Arc<dyn StatisticalModel>) -> Self {
        Optimistic { model, posterior: Posterior::default(), points: Vec::new() }
    }

    /// Evaluates μ and σ at the points without their η.
    fn evaluate(&mut self, z: Points<'_>, query: Query) {
        let inner = self.model.dims().point();
        self.points.clear();
        for i in 0..z.len() {
            self.points.extend_from_slice(&z.at(i)[..inner]);
        }
        self.model.posterior(Points::new(&self.points, inner), query, &mut self.posterior);
    }
}

impl Dynamics for Optimistic {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.model.dims();
        Dims { state, control: control + state }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.evaluate(z, Query::MeanStd);
        combine(&self.posterior, self.model.confidence_scale(), z, out);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.evaluate(z, Query::All);
        let Dims { state: nx, control } = self.model.dims();
        let (inner, dim, beta) = (nx + control, z.dim(), self.model.confidence_scale());
        out.resize(nx, dim, z.len());
        combine(&self.posterior, beta, z, out.value.as_mut_slice());
        for i in 0..z.len() {
            let eta = &z.at(i)[inner..];
            let (mean, std) = (self.posterior.mean.jacobian.at(i), self.posterior.std.jacobian.at(i));
            for (j, row) in out.jacobian.at_mut(i).chunks_exact_mut(dim).enumerate() {
                let (mean, std) = (&mean[j * inner..(j + 1) * inner], &std[j * inner..(j + 1) * inner]);
                let weight = beta[j] * eta[j];
                for k in 0..inner {
                    row[k] = mean[k] + weight * std[k];
                }
                row[inner..].fill(0.0);
                row[inner + j] = beta[j] * self.posterior.std.value.at(i)[j];
            }
        }
    }
}

/// Computes μ + β σ ⊙ η.
fn combine(posterior: &Posterior, beta: &[f64], z: Points<'_>, out: &mut [f64]) {
    let nx = beta.len();
    for (i, out) in out.chunks_exact_mut(nx).enumerate() {
        let (mean, std) = (posterior.mean.value.at(i), posterior.std.value.at(i));
        let eta = &z.at(i)[z.dim() - nx..];
        for j in 0..nx {
            out[j] = mean[j] + beta[j] * std[j] * eta[j];
        }
    }
}
