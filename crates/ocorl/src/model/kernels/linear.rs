//! The linear kernel k(x, z) = Σ_d x_d z_d/ℓ_d²: linear functions through the origin of the standardised coordinates. A small ℓ_d
//! permits a steep slope along coordinate d.

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::linalg::vector;
use crate::random::Rng;

/// The linear kernel k(x, z) = Σ_d x_d z_d/ℓ_d².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear;

impl Kernel for Linear {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        Parameter::lengthscales(dim).collect()
    }

    fn bind(&self, log_parameters: &[f64], _dim: usize) -> Box<dyn Covariance> {
        Box::new(Bound { weights: log_parameters.iter().map(|l| (-2.0 * l).exp()).collect() })
    }
}

#[derive(Debug)]
struct Bound {
    /// The slope variances 1/ℓ_d².
    weights: Vec<f64>,
}

impl Covariance for Bound {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], _pool: &mut Pool) {
        out.fill(0.0);
        for (d, (z, weight)) in pair.z.iter().zip(&self.weights).enumerate() {
            let slope = weight * z;
            for (out, x) in out.iter_mut().zip(pair.x.row(d)) {
                *out += slope * x;
            }
        }
    }

    fn input_gradient(
        &self,
        pair: CrossInputs<'_>,
        _k: &[f64],
        w: &[f64],
        out: &mut [f64],
        _pool: &mut Pool,
    ) {
        for (d, (out, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            *out += weight * vector::dot(w, pair.x.row(d));
        }
    }

    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        _k: &[f64],
        w: &[f64],
        out: &mut [f64],
        _pool: &mut Pool,
    ) {
        for (d, (out, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            *out -= 2.0 * weight * pair.z[d] * vector::dot(w, pair.x.row(d));
        }
    }

    fn diagonal(&self, z: &[f64]) -> f64 {
        z.iter().zip(&self.weights).map(|(z, weight)| weight * z * z).sum()
    }

    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) {
        for ((out, z), own) in out.iter_mut().zip(z).zip(&self.weights) {
            *out += weight * 2.0 * own * z;
        }
    }

    fn feature(&self, rng: &mut Rng) -> Feature {
        Feature::linear(self.weights.iter().map(|weight| weight.sqrt() * rng.normal()).collect())
    }

    fn finite_features(&self) -> Option<Vec<Feature>> {
        let axis = |(d, weight): (usize, &f64)| {
            let mut g = vec![0.0; self.weights.len()];
            g[d] = weight.sqrt();
            Feature::linear(g)
        };
        Some(self.weights.iter().enumerate().map(axis).collect())
    }

    /// The exact representation: one linear feature for each coordinate.
    fn features(&self, _count: usize, _rng: &mut Rng) -> Vec<Feature> {
        self.finite_features().unwrap_or_default()
    }
}
