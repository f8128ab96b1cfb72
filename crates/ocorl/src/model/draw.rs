//! Functions sampled from the posterior by pathwise conditioning [Wil20]:
//!
//! ```text
//! f(z) = Σ wₘ φₘ(z) + k(z)ᵀ (K + N)⁻¹ (y − Σ wₘ φₘ(x) − ε),   w ~ N(0, I), ε ~ N(0, N)
//! ```
//!
//! The first term is a sample of the prior made of random features; the second term corrects it exactly to the data. With inducing
//! points the correction matches a sample of the values at the inducing points instead. One evaluation costs O(features + n).

use super::features::FeatureSum;
use super::inputs::Inputs;
use super::kernels::{Covariance, CrossInputs};
use super::mean::FittedMean;
use super::space::Space;
use super::state::Output;
use crate::linalg::{Dims, Linearization, Points, Pool, Rows, vector};
use crate::random::Rng;
use crate::system::Dynamics;
use std::sync::Arc;

/// A sampled function. It returns the same value whenever it is evaluated at the same point, and it has an exact Jacobian.
pub(super) struct Draw {
    dims: Dims,
    space: Space,
    mean: FittedMean,
    outputs: Vec<Path>,
    pool: Pool,
}

struct Path {
    covariance: Arc<dyn Covariance>,
    features: FeatureSum,
    basis: Rows,
    weights: Vec<f64>,
    shift: f64,
    scale: f64,
}

impl Draw {
    pub(super) fn new(dims: Dims, space: Space, mean: FittedMean) -> Self {
        Draw { dims, space, mean, outputs: Vec::new(), pool: Pool::default() }
    }

    /// Adds the next output, sampled with `rng`.
    pub(super) fn push(
        &mut self,
        output: &Output,
        inputs: &Inputs,
        (shift, scale): (f64, f64),
        features: usize,
        rng: &mut Rng,
    ) {
        let features = output.covariance.features(features, rng);
        let features = FeatureSum::new(inputs.dim(), features.into_iter().map(|f| (rng.normal(), f)));
        let mut pool = Pool::default();
        let data = output.conditioned.basis(inputs);
        let mut point = vec![0.0; data.dim()];
        let prior: Vec<f64> = (0..data.len())
            .map(|i| {
                data.copy_point(i, &mut point);
                features.evaluate(&point, &mut [], &mut pool)
            })
            .collect();
        let (basis, weights) = (output.basis(inputs).clone(), output.path_weights(inputs, &prior, rng));
        let covariance = Arc::clone(&output.covariance);
        self.outputs.push(Path { covariance, features, basis, weights, shift, scale });
    }
}

impl Path {
    /// Evaluates f at a point in kernel coordinates and adds its gradient to `gradient` unless that is empty.
    fn evaluate(&self, z: &[f64], gradient: &mut [f64], pool: &mut Pool) -> f64 {
        let mut sum = self.features.evaluate(z, gradient, pool);
        let mut k = pool.take(self.basis.len());
        let pair = CrossInputs { x: self.basis.view(), z };
        self.covariance.values(pair, &mut k, pool);
        sum += vector::dot(&k, &self.weights);
        if !gradient.is_empty() {
            self.covariance.input_gradient(pair, &k, &self.weights, gradient, pool);
        }
        pool.give(k);
        sum
    }
}

impl Dynamics for Draw {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let Draw { dims, space, mean, outputs, pool } = self;
        let mut mapped = pool.take(space.dim());
        out.fill(0.0);
        mean.add_values(z, out, pool);
        for (i, out) in out.chunks_exact_mut(dims.state).enumerate() {
            space.map(z.at(i), &mut mapped);
            for (out, path) in out.iter_mut().zip(outputs.iter()) {
                *out += path.shift + path.scale * path.evaluate(&mapped, &mut [], pool);
            }
        }
        pool.give(mapped);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let Draw { dims, space, mean, outputs, pool } = self;
        out.resize(dims.state, z.dim(), z.len());
        out.value.as_mut_slice().fill(0.0);
        out.jacobian.as_mut_slice().fill(0.0);
        mean.add_linearization(z, out, pool);
        let (mut mapped, mut gradient) = (pool.take(space.dim()), pool.take(space.dim()));
        for i in 0..z.len() {
            space.map(z.at(i), &mut mapped);
            for (j, path) in outputs.iter().enumerate() {
                gradient.fill(0.0);
                let value = path.evaluate(&mapped, &mut gradient, pool);
                out.value.at_mut(i)[j] += path.shift + path.scale * value;
                let row = &mut out.jacobian.at_mut(i)[j * z.dim()..(j + 1) * z.dim()];
                space.add_pull_back(z.at(i), &gradient, path.scale, row);
            }
        }
        pool.give(gradient);
        pool.give(mapped);
    }
}
