//! Sums, products and scalings of kernels.

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::linalg::vector;
use crate::random::Rng;

/// The sum a + b: the covariance of the sum of two independent functions. Its parameters are those of a, then those of b.
#[derive(Debug)]
pub struct Sum(pub Box<dyn Kernel>, pub Box<dyn Kernel>);

/// The product a · b. Its parameters are those of a, then those of b.
#[derive(Debug)]
pub struct Product(pub Box<dyn Kernel>, pub Box<dyn Kernel>);

/// The scaled kernel v · k. Its parameters are the variance v, then those of k.
#[derive(Debug)]
pub struct Scale(pub Box<dyn Kernel>);

fn bind_both(
    a: &dyn Kernel,
    b: &dyn Kernel,
    log_parameters: &[f64],
    dim: usize,
) -> (Box<dyn Covariance>, Box<dyn Covariance>, usize) {
    let split = a.count(dim);
    let (left, right) = log_parameters.split_at(split);
    (a.bind(left, dim), b.bind(right, dim), split)
}

impl Kernel for Sum {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        [self.0.parameters(dim), self.1.parameters(dim)].concat()
    }

    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance> {
        let (a, b, split) = bind_both(&*self.0, &*self.1, log_parameters, dim);
        Box::new(BoundSum { a, b, split })
    }
}

impl Kernel for Product {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        [self.0.parameters(dim), self.1.parameters(dim)].concat()
    }

    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance> {
        let (a, b, split) = bind_both(&*self.0, &*self.1, log_parameters, dim);
        Box::new(BoundProduct { a, b, split })
    }
}

impl Kernel for Scale {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        std::iter::once(Parameter::variance("variance")).chain(self.0.parameters(dim)).collect()
    }

    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance> {
        Box::new(BoundScale {
            variance: log_parameters[0].exp(),
            inner: self.0.bind(&log_parameters[1..], dim),
        })
    }
}

#[derive(Debug)]
struct BoundSum {
    a: Box<dyn Covariance>,
    b: Box<dyn Covariance>,
    split: usize,
}

impl Covariance for BoundSum {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], pool: &mut Pool) {
        let mut b = pool.take(out.len());
        self.a.values(pair, out, pool);
        self.b.values(pair, &mut b, pool);
        for (out, b) in out.iter_mut().zip(&b) {
            *out += b;
        }
        pool.give(b);
    }

    fn input_gradient(&self, pair: CrossInputs<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool) {
        let mut own = pool.take(k.len());
        for term in [&self.a, &self.b] {
            term.values(pair, &mut own, pool);
            term.input_gradient(pair, &own, w, out, pool);
        }
        pool.give(own);
    }

    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    ) {
        let mut own = pool.take(k.len());
        let (left, right) = out.split_at_mut(self.split);
        for (term, out) in [(&self.a, left), (&self.b, right)] {
            term.values(pair, &mut own, pool);
            term.parameter_gradient(pair, &own, w, out, pool);
        }
        pool.give(own);
    }

    fn diagonal(&self, z: &[f64]) -> f64 {
        self.a.diagonal(z) + self.b.diagonal(z)
    }

    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) {
        self.a.diagonal_gradient(z, weight, out);
        self.b.diagonal_gradient(z, weight, out);
    }

    /// A feature of one of the two terms, chosen with probability ½ and scaled by √2, so that its covariance is a + b.
    fn feature(&self, rng: &mut Rng) -> Feature {
        let term = if rng.unit() < 0.5 { &self.a } else { &self.b };
        term.feature(rng).scaled(std::f64::consts::SQRT_2)
    }

    fn finite_features(&self) -> Option<Vec<Feature>> {
        Some([self.a.finite_features()?, self.b.finite_features()?].concat())
    }

    fn features(&self, count: usize, rng: &mut Rng) -> Vec<Feature> {
        let mut features = self.a.features(count, rng);
        features.extend(self.b.features(count, rng));
        features
    }
}

#[derive(Debug)]
struct BoundProduct {
    a: Box<dyn Covariance>,
    b: Box<dyn Covariance>,
    split: usize,
}

impl BoundProduct {
    /// Calls `operation` for each factor with its own values and with the weights times the values of the other factor (product rule).
    fn each(
        &self,
        pair: CrossInputs<'_>,
        w: &[f64],
        pool: &mut Pool,
        mut operation: impl FnMut(bool, &[f64], &[f64], &mut Pool),
    ) {
        let (mut a, mut b, mut weights) = (pool.take(w.len()), pool.take(w.len()), pool.take(w.len()));
        self.a.values(pair, &mut a, pool);
        self.b.values(pair, &mut b, pool);
        for (first, own, other) in [(true, &a, &b), (false, &b, &a)] {
            for ((weight, w), other) in weights.iter_mut().zip(w).zip(other) {
                *weight = w * other;
            }
            operation(first, own, &weights, pool);
        }
        pool.give(weights);
        pool.give(b);
        pool.give(a);
    }
}

impl Covariance for BoundProduct {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], pool: &mut Pool) {
        let mut b = pool.take(out.len());
        self.a.values(pair, out, pool);
        self.b.values(pair, &mut b, pool);
        for (out, b) in out.iter_mut().zip(&b) {
            *out *= b;
        }
        pool.give(b);
    }

    fn input_gradient(&self, pair: CrossInputs<'_>, _k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool) {
        self.each(pair, w, pool, |first, own, weights, pool| {
            let factor = if first { &self.a } else { &self.b };
            factor.input_gradient(pair, own, weights, out, pool);
        });
    }

    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        _k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    ) {
        let (left, right) = out.split_at_mut(self.split);
        self.each(pair, w, pool, |first, own, weights, pool| {
            if first {
                self.a.parameter_gradient(pair, own, weights, left, pool);
            } else {
                self.b.parameter_gradient(pair, own, weights, right, pool);
            }
        });
    }

    fn diagonal(&self, z: &[f64]) -> f64 {
        self.a.diagonal(z) * self.b.diagonal(z)
    }

    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) {
        self.a.diagonal_gradient(z, weight * self.b.diagonal(z), out);
        self.b.diagonal_gradient(z, weight * self.a.diagonal(z), out);
    }

    /// The product of independent features: E[φψ(x) φψ(z)] = k_a k_b.
    fn feature(&self, rng: &mut Rng) -> Feature {
        self.a.feature(rng).times(self.b.feature(rng))
    }

    /// All pairwise products of the features of a and b.
    fn finite_features(&self) -> Option<Vec<Feature>> {
        let (a, b) = (self.a.finite_features()?, self.b.finite_features()?);
        Some(a.iter().flat_map(|a| b.iter().map(|b| a.clone().times(b.clone()))).collect())
    }
}

#[derive(Debug)]
struct BoundScale {
    variance: f64,
    inner: Box<dyn Covariance>,
}

impl BoundScale {
    /// Adds v times what `operation` adds to zeros, given the values of the inner kernel.
    fn inner(
        &self,
        k: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
        operation: impl FnOnce(&[f64], &mut [f64], &mut Pool),
    ) {
        let (mut inner, mut sum) = (pool.take(k.len()), pool.take(out.len()));
        let inverse = self.variance.recip();
        for (inner, k) in inner.iter_mut().zip(k) {
            *inner = k * inverse;
        }
        sum.fill(0.0);
        operation(&inner, &mut sum, pool);
        for (out, sum) in out.iter_mut().zip(&sum) {
            *out += self.variance * sum;
        }
        pool.give(sum);
        pool.give(inner);
    }
}

impl Covariance for BoundScale {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], pool: &mut Pool) {
        self.inner.values(pair, out, pool);
        for out in out {
            *out *= self.variance;
        }
    }

    fn input_gradient(&self, pair: CrossInputs<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool) {
        self.inner(k, out, pool, |k, out, pool| self.inner.input_gradient(pair, k, w, out, pool));
    }

    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    ) {
        out[0] += vector::dot(k, w);
        self.inner(k, &mut out[1..], pool, |k, out, pool| {
            self.inner.parameter_gradient(pair, k, w, out, pool);
        });
    }

    fn diagonal(&self, z: &[f64]) -> f64 {
        self.variance * self.inner.diagonal(z)
    }

    fn diagonal_gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) {
        self.inner.diagonal_gradient(z, weight * self.variance, out);
    }

    fn feature(&self, rng: &mut Rng) -> Feature {
        self.inner.feature(rng).scaled(self.variance.sqrt())
    }

    fn finite_features(&self) -> Option<Vec<Feature>> {
        let factor = self.variance.sqrt();
        Some(self.inner.finite_features()?.into_iter().map(|feature| feature.scaled(factor)).collect())
    }

    fn features(&self, count: usize, rng: &mut Rng) -> Vec<Feature> {
        let factor = self.variance.sqrt();
        self.inner.features(count, rng).into_iter().map(|feature| feature.scaled(factor)).collect()
    }
}
