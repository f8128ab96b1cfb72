//! The constant kernel k(x, z) = c: an unknown constant with variance c.

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::random::Rng;

/// The constant kernel k(x, z) = c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant;

impl Kernel for Constant {
    fn parameters(&self, _dim: usize) -> Vec<Parameter> {
        vec![Parameter::variance("constant")]
    }

    fn bind(&self, log_parameters: &[f64], _dim: usize) -> Box<dyn Covariance> {
        Box::new(Bound(log_parameters[0].exp()))
    }
}

#[derive(Debug)]
struct Bound(f64);

impl Covariance for Bound {
    fn values(&self, _pair: CrossInputs<'_>, out: &mut [f64], _pool: &mut Pool) {
        out.fill(self.0);
    }

    fn input_gradient(&self, _: CrossInputs<'_>, _: &[f64], _: &[f64], _: &mut [f64], _: &mut Pool) {}

    fn parameter_gradient(&self, _: CrossInputs<'_>, _: &[f64], w: &[f64], out: &mut [f64], _: &mut Pool) {
        out[0] += self.0 * w.iter().sum::<f64>();
    }

    fn diagonal(&self, _z: &[f64]) -> f64 {
        self.0
    }

    fn diagonal_gradient(&self, _z: &[f64], _weight: f64, _out: &mut [f64]) {}

    fn feature(&self, _rng: &mut Rng) -> Feature {
        Feature::constant(self.0.sqrt())
    }

    fn finite_features(&self) -> Option<Vec<Feature>> {
        Some(vec![Feature::constant(self.0.sqrt())])
    }

    /// The exact representation: one constant feature.
    fn features(&self, _count: usize, rng: &mut Rng) -> Vec<Feature> {
        vec![self.feature(rng)]
    }
}
