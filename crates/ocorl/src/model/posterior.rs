//! The posterior of a Gaussian process at a batch of points.
//!
//! ```text
//! μ = s (kᵀα) + m,   ∂μ/∂z = s Σ αᵢ ∂kᵢ/∂z
//! σ² = s² (k(z, z) − kᵀA k),   ∂σ²/∂z = s² (dk(z, z)/dz − 2 Σ (A k)ᵢ ∂kᵢ/∂z)
//! ```
//!
//! k = k(x, z) are the covariances with the data (or the inducing points), α and A come from `conditioning`, s is the standard
//! deviation of the output in the data and m its prior mean. The formulas are evaluated in standardised coordinates; the chain rule
//! then gives the derivatives in physical ones. For n basis points and P queries a mean costs O(nP), a standard deviation O(n²P).

use super::Query;
use super::gaussian_process::GaussianProcess;
use super::kernels::CrossInputs;
use crate::linalg::{Linearization, Points, Pool, vector};

/// Number of points of a batch that are processed together, so that the intermediate columns of one output stay in the cache.
pub(super) const CHUNK: usize = 128;

/// Variances below this fraction of the prior variance are rounding errors. They are raised to it, and their gradient is set to
/// zero.
const LEAST_VARIANCE: f64 = 1e-15;

/// A contiguous part of a batch of points.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) z: Points<'a>,
    /// Index of the first point of this part in the batch.
    pub(super) start: usize,
    pub(super) query: Query,
}

impl GaussianProcess {
    /// Computes μ and σ for one part of a batch and adds the mean to `mean`, which already holds the prior mean.
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
            let n = self.state.outputs[j].basis(&self.state.inputs).len();
            // A mean needs one column of k at a time; a standard deviation needs all of them.
            let mut k = pool.take(n * if chunk.query.std() { count } else { 1 });
            self.mean_of(j, chunk, &mapped, &mut k, mean, pool);
            if chunk.query.std() {
                self.std_of(j, chunk, &mapped, &k, std, pool);
            }
            pool.give(k);
        }
        pool.give(mapped);
    }

    /// Adds μ of output j, and its gradient if requested. Leaves k(x, z) of the points in the columns of `k`, as far as `k` has
    /// columns.
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
        let (basis, weights) = (output.basis(&self.state.inputs), output.weights());
        let (n, dim) = (basis.len(), self.state.space.dim());
        let mut gradient = pool.take(dim);
        for i in 0..z.len() {
            let column = if query.std() { &mut k[i * n..(i + 1) * n] } else { &mut k[..] };
            let pair = CrossInputs { x: basis.view(), z: &mapped[i * dim..(i + 1) * dim] };
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

    /// Computes σ of output j, and its gradient if requested, from the columns k(x, z).
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
        let basis = output.basis(&self.state.inputs);
        let (n, dim, jacobian) = (basis.len(), self.state.space.dim(), query == Query::All);
        let (mut gradient, mut reduction) = (pool.take(dim), pool.take(z.len()));
        // The Jacobians need A k; the standard deviation alone does not.
        let mut weights = pool.take(if jacobian { k.len() } else { 0 });
        output.reduce(k, jacobian.then_some(&mut weights[..]), &mut reduction, pool);
        for i in 0..z.len() {
            let point = &mapped[i * dim..(i + 1) * dim];
            let prior = output.covariance.diagonal(point);
            let least = LEAST_VARIANCE * prior;
            // Not `clamp`, which panics for a NaN bound; a variance that overflows is replaced by the prior variance.
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
                let pair = CrossInputs { x: basis.view(), z: point };
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
