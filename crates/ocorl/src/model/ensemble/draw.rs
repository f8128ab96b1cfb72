//! Functions sampled from the ensemble:
//!
//! ```text
//! f_j(z) = μ_j(z) + α_j (f_mj(z) − μ_j(z) + ε ξ_j),   m a random member, ξ standard normal
//! ```
//!
//! The samples have mean μ and the covariance of the ensemble.

use super::{LEAST_SPREAD, State, chunks, padded};
use crate::linalg::{Dims, Linearization, Points, Pool};
use crate::random::Rng;
use crate::system::Dynamics;
use std::sync::Arc;

/// A sampled function: for each output a weighted sum of the members and an offset.
pub(super) struct Draw {
    state: Arc<State>,
    /// Weights of the members, grouped by output.
    weights: Vec<f64>,
    offsets: Vec<f64>,
    pool: Pool,
}

impl Draw {
    pub(super) fn new(state: &Arc<State>, rng: &mut Rng) -> Self {
        let (members, outputs) = (state.members.len(), state.outputs());
        let chosen = rng.below(members);
        let weight = |e: usize| {
            let alpha = state.factors[e / members];
            (1.0 - alpha) / members as f64 + if e % members == chosen { alpha } else { 0.0 }
        };
        let weights = (0..outputs * members).map(weight).collect();
        let offsets = (0..outputs).map(|j| state.factors[j] * LEAST_SPREAD * rng.normal()).collect();
        Draw { state: Arc::clone(state), weights, offsets, pool: Pool::default() }
    }

    /// Adds f to `values` and, unless `jacobians` is empty, ∂f/∂z to `jacobians`.
    fn add(&mut self, z: Points<'_>, values: &mut [f64], jacobians: &mut [f64]) {
        let Draw { state, weights, offsets, pool } = self;
        let (inputs, outputs, members) = (state.space.dim(), state.outputs(), state.members.len());
        let n = z.dim();
        let mut gradient = pool.take(inputs);
        for range in chunks(z.len()) {
            let stored = padded(range.len());
            let (f, slopes) = state.evaluate(z, range.clone(), !jacobians.is_empty(), pool);
            for (p, i) in range.enumerate() {
                for j in 0..outputs {
                    let (shift, scale) = (state.scaling.shift[j], state.scaling.scale[j]);
                    let weights = &weights[j * members..(j + 1) * members];
                    let sum = |of: &[f64], first: usize, step: usize| {
                        weights.iter().enumerate().map(|(m, w)| w * of[first + m * step]).sum::<f64>()
                    };
                    let value = sum(&f, j * stored + p, outputs * stored) + offsets[j];
                    values[i * outputs + j] += shift + scale * value;
                    if jacobians.is_empty() {
                        continue;
                    }
                    for (d, gradient) in gradient.iter_mut().enumerate() {
                        *gradient = sum(&slopes, (j * inputs + d) * stored + p, outputs * inputs * stored);
                    }
                    let row = &mut jacobians[(i * outputs + j) * n..(i * outputs + j + 1) * n];
                    state.space.add_pull_back(z.at(i), &gradient, scale, row);
                }
            }
            pool.give(slopes);
            pool.give(f);
        }
        pool.give(gradient);
    }
}

impl Dynamics for Draw {
    fn dims(&self) -> Dims {
        self.state.space.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        out.fill(0.0);
        self.state.mean.add_values(z, out, &mut self.pool);
        self.add(z, out, &mut []);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(self.dims().state, z.dim(), z.len());
        out.value.as_mut_slice().fill(0.0);
        out.jacobian.as_mut_slice().fill(0.0);
        self.state.mean.add_linearization(z, out, &mut self.pool);
        self.add(z, out.value.as_mut_slice(), out.jacobian.as_mut_slice());
    }
}
