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
        let Chunk { z, start, query } = chunk;
        let (space, dim, count) = (&self.state.space, self.state.space.dim(), z.len());
        let inputs = z.dim();
        let mut mapped = pool.take(dim * count);
        for (i, out) in mapped.chunks_exact_mut(dim).enumerate() {
            space.map(z.at(i), out);
        }
        let (mut gradient, mut reduction) = (pool.take(dim), pool.take(count));
        for (j, output) in self.state.outputs.iter().enumerate() {
            let (shift, scale) = self.output_scale(j);
            let covariance = &*output.covariance;
            let basis = output.conditioned.basis(&self.state.x);
            let n = basis.len();
            // One column at a time is enough for means; standard deviations need them all.
            let columns = if query.std() { count } else { 1 };
            let mut k = pool.take(n * columns);
            for i in 0..count {
                let column = if query.std() { &mut k[i * n..(i + 1) * n] } else { &mut k[..] };
                let pair = Against { x: basis.view(), z: &mapped[i * dim..(i + 1) * dim] };
                covariance.values(pair, column, pool);
                let weights = output.conditioned.weights();
                mean.value.at_mut(start + i)[j] += shift + scale * vector::dot(column, weights);
                if query.jacobian() {
                    gradient.fill(0.0);
                    covariance.input_gradient(pair, column, weights, &mut gradient, pool);
                    let out = &mut mean.jacobian.at_mut(start + i)[j * inputs..(j + 1) * inputs];
                    space.add_pull_back(z.at(i), &gradient, scale, out);
                }
            }
            if query.std() {
                let mut block = pool.take(n * count);
                block.copy_from_slice(&k);
                let jacobian = query == Query::All;
                output.conditioned.reduce(&mut block, jacobian, &mut reduction, pool);
                for i in 0..count {
                    let point = &mapped[i * dim..(i + 1) * dim];
                    let prior = covariance.diagonal(point);
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
                    if jacobian {
                        let out = &mut std.jacobian.at_mut(start + i)[j * inputs..(j + 1) * inputs];
                        out.fill(0.0);
                        if variance > least {
                            gradient.fill(0.0);
                            let pair = Against { x: basis.view(), z: point };
                            let (column, weights) = (&k[i * n..(i + 1) * n], &block[i * n..(i + 1) * n]);
                            covariance.input_gradient(pair, column, weights, &mut gradient, pool);
                            for g in &mut gradient {
                                *g *= -2.0;
                            }
                            covariance.diagonal_gradient(point, 1.0, &mut gradient);
                            space.add_pull_back(z.at(i), &gradient, scale / (2.0 * sigma), out);
                        }
                    }
                }
                pool.give(block);
            }
            pool.give(k);
        }
        pool.give(reduction);
        pool.give(gradient);
        pool.give(mapped);
    }
}
