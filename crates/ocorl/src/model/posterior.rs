//! The posterior at a batch of points:
//!
//! ```text
//! μ = s (kᵀα) + m,   ∂μ/∂z = s Σ αᵢ ∂kᵢ/∂z
//! σ² = s² (k(z, z) − kᵀA k),   ∂σ²/∂z = s² (dk(z, z)/dz − 2 Σ (A k)ᵢ ∂kᵢ/∂z)
//! ```
//!
//! in standardised coordinates, then by the chain rule in physical ones; s is the spread of the output, m its prior mean.

use super::Query;
use super::gaussian_process::GaussianProcess;
use super::kernels::Against;
use super::pool::Pool;
use crate::linalg::{Linearization, Points, vector};

/// Points of a batch that are worked on together: what is written for one output stays in the cache.
pub(super) const CHUNK: usize = 128;

/// A variance below this fraction of the prior's is rounding: it is raised to it, and its gradient is zero.
const LEAST_VARIANCE: f64 = 1e-15;

/// Part of a batch.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) z: Points<'a>,
    /// Number of its first point in the batch.
    pub(super) start: usize,
    pub(super) query: Query,
}

impl GaussianProcess {
    /// μ and σ of part of a batch; `mean` already holds the prior mean.
    pub(super) fn chunk(
        &self,
        chunk: Chunk<'_>,
        mean: &mut Linearization,
        std: &mut Linearization,
        pool: &mut Pool,
    ) {
        let (dim, count) = (self.state.space.dim(), chunk.z.len());
        let mut mapped = pool.take(dim * count);
        for (i, out) in mapped.chunks_exact_mut(dim).enumerate() {
            self.state.space.map(chunk.z.at(i), out);
        }
        for j in 0..self.state.outputs.len() {
            let n = self.state.outputs[j].conditioned.basis(&self.state.inputs).len();
            // One column at a time is enough for means; standard deviations need them all.
            let mut k = pool.take(n * if chunk.query.std() { count } else { 1 });
            self.mean_of(j, chunk, &mapped, &mut k, mean, pool);
            if chunk.query.std() {
                self.std_of(j, chunk, &mapped, &k, std, pool);
            }
            pool.give(k);
        }
        pool.give(mapped);
    }

    /// μ of output j, and its gradients if they are wanted; k(x, z) of the points is left in the columns of `k`, as far as it has them.
    fn mean_of(
        &self,
        j: usize,
        Chunk { z, start, query }: Chunk<'_>,
        mapped: &[f64],
        k: &mut [f64],
        mean: &mut Linearization,
        pool: &mut Pool,
    ) {
        let (output, (shift, scale)) = (&self.state.outputs[j], self.output_scale(j));
        let (basis, weights) = (output.conditioned.basis(&self.state.inputs), output.conditioned.weights());
        let (n, dim) = (basis.len(), self.state.space.dim());
        let mut gradient = pool.take(dim);
        for i in 0..z.len() {
            let column = if query.std() { &mut k[i * n..(i + 1) * n] } else { &mut k[..] };
            let pair = Against { x: basis.view(), z: &mapped[i * dim..(i + 1) * dim] };
            output.covariance.values(pair, column, pool);
            mean.value.at_mut(start + i)[j] += shift + scale * vector::dot(column, weights);
            if query.jacobian() {
                gradient.fill(0.0);
                output.covariance.input_gradient(pair, column, weights, &mut gradient, pool);
                let out = &mut mean.jacobian.at_mut(start + i)[j * z.dim()..(j + 1) * z.dim()];
                self.state.space.add_pull_back(z.at(i), &gradient, scale, out);
            }
        }
        pool.give(gradient);
    }

    /// σ of output j, and its gradients if they are wanted, from the columns k(x, z).
    fn std_of(
        &self,
        j: usize,
        Chunk { z, start, query }: Chunk<'_>,
        mapped: &[f64],
        k: &[f64],
        std: &mut Linearization,
        pool: &mut Pool,
    ) {
        let (output, (_, scale)) = (&self.state.outputs[j], self.output_scale(j));
        let basis = output.conditioned.basis(&self.state.inputs);
        let (n, dim, jacobian) = (basis.len(), self.state.space.dim(), query == Query::All);
        let (mut gradient, mut reduction) = (pool.take(dim), pool.take(z.len()));
        // Both Jacobians need A k, the standard deviation alone does not.
        let mut weights = pool.take(if jacobian { k.len() } else { 0 });
        output.conditioned.reduce(k, jacobian.then_some(&mut weights[..]), &mut reduction, pool);
        for i in 0..z.len() {
            let point = &mapped[i * dim..(i + 1) * dim];
            let prior = output.covariance.diagonal(point);
            let least = LEAST_VARIANCE * prior;
            // Not `clamp`, which panics for a prior that is NaN; whatever overflows leaves the prior.
            let left = prior - reduction[i];
            let variance = match left {
                _ if left < least => least,
                _ if left <= prior => left,
                _ => prior,
            };
            let sigma = variance.sqrt();
            std.value.at_mut(start + i)[j] = scale * sigma;
            if !jacobian {
                continue;
            }
            let out = &mut std.jacobian.at_mut(start + i)[j * z.dim()..(j + 1) * z.dim()];
            out.fill(0.0);
            if variance > least {
                gradient.fill(0.0);
                let pair = Against { x: basis.view(), z: point };
                let (column, weights) = (&k[i * n..(i + 1) * n], &weights[i * n..(i + 1) * n]);
                output.covariance.input_gradient(pair, column, weights, &mut gradient, pool);
                for g in &mut gradient {
                    *g *= -2.0;
                }
                output.covariance.diagonal_gradient(point, 1.0, &mut gradient);
                self.state.space.add_pull_back(z.at(i), &gradient, scale / (2.0 * sigma), out);
            }
        }
        pool.give(weights);
        pool.give(reduction);
        pool.give(gradient);
    }
}
