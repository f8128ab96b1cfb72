//! The periodic kernel k(x, z) = exp(−2 Σ_d sin²(π (x_d − z_d)/p_d)/ℓ_d²), with a period p_d for each coordinate [Ras06, eq. 4.31].

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::random::Rng;
use crate::real::{exp, sin_cos};
use std::f64::consts::{PI, TAU};

/// The periodic kernel k = exp(−2 Σ_d sin²(π (x_d − z_d)/p_d)/ℓ_d²). Its parameters are all ℓ, then all p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periodic;

impl Kernel for Periodic {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        // The data span a few units in standardised coordinates; the prior of the period has that size.
        let periods = (0..dim).map(|d| Parameter {
            name: "period",
            coordinate: Some(d),
            starts: [TAU.ln(); 2],
            bounds: (0.1_f64.ln(), 1e3_f64.ln()),
            prior: (TAU.ln(), 1.0),
        });
        Parameter::lengthscales(dim).chain(periods).collect()
    }

    fn bind(&self, log_parameters: &[f64], dim: usize) -> Box<dyn Covariance> {
        let (lengthscales, periods) = log_parameters.split_at(dim);
        Box::new(Bound {
            weights: lengthscales.iter().map(|l| 2.0 * (-2.0 * l).exp()).collect(),
            rates: periods.iter().map(|p| PI * (-p).exp()).collect(),
        })
    }
}

#[derive(Debug)]
struct Bound {
    /// The factors 2/ℓ_d².
    weights: Vec<f64>,
    /// The factors π/p_d.
    rates: Vec<f64>,
}

impl Bound {
    /// Passes `factor(d)` · Σᵢ cᵢ term(π (xᵢ_d − z_d)/p_d) to `add(d, …)` for all coordinates d.
    fn sums(
        &self,
        pair: CrossInputs<'_>,
        c: &[f64],
        term: impl Fn(f64) -> f64,
        mut add: impl FnMut(usize, f64),
    ) {
        for (d, rate) in self.rates.iter().enumerate() {
            let z = pair.z[d];
            let sum: f64 = pair.x.row(d).iter().zip(c).map(|(x, c)| c * term(rate * (x - z))).sum();
            add(d, sum);
        }
    }

    /// The products wᵢ kᵢ.
    fn weighted(k: &[f64], w: &[f64], pool: &mut Pool) -> Vec<f64> {
        let mut c = pool.take(w.len());
        for ((c, k), w) in c.iter_mut().zip(k).zip(w) {
            *c = k * w;
        }
        c
    }
}

impl Covariance for Bound {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], _pool: &mut Pool) {
        out.fill(0.0);
        for (d, (weight, rate)) in self.weights.iter().zip(&self.rates).enumerate() {
            for (out, x) in out.iter_mut().zip(pair.x.row(d)) {
                let sine = sin_cos(rate * (x - pair.z[d])).0;
                *out += weight * sine * sine;
            }
        }
        for out in out {
            *out = exp(-*out);
        }
    }

    /// Uses ∂k/∂z_d = k (2/ℓ_d²) (π/p_d) sin 2a, a = π (x_d − z_d)/p_d.
    fn input_gradient(&self, pair: CrossInputs<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool) {
        let c = Self::weighted(k, w, pool);
        self.sums(pair, &c, |a| sin_cos(2.0 * a).0, |d, sum| out[d] += self.weights[d] * self.rates[d] * sum);
        pool.give(c);
    }

    /// Uses ∂k/∂(ln ℓ_d) = 2 k (2/ℓ_d²) sin² a and ∂k/∂(ln p_d) = k (2/ℓ_d²) a sin 2a.
    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    ) {
        let c = Self::weighted(k, w, pool);
        let (lengthscales, periods) = out.split_at_mut(self.weights.len());
        let square = |a: f64| sin_cos(a).0.powi(2);
        self.sums(pair, &c, square, |d, sum| lengthscales[d] += 2.0 * self.weights[d] * sum);
        self.sums(pair, &c, |a| a * sin_cos(2.0 * a).0, |d, sum| periods[d] += self.weights[d] * sum);
        pool.give(c);
    }

    fn diagonal(&self, _z: &[f64]) -> f64 {
        1.0
    }

    fn diagonal_gradient(&self, _z: &[f64], _weight: f64, _out: &mut [f64]) {}

    /// Uses exp(−2 sin²(a)/ℓ²) = exp((cos 2a − 1)/ℓ²) = E cos 2aJ, where J is the difference of two Poisson variables of mean
    /// 1/(2ℓ²).
    fn feature(&self, rng: &mut Rng) -> Feature {
        let frequency = self.weights.iter().zip(&self.rates).map(|(weight, rate)| {
            let mean = weight / 4.0;
            2.0 * rate * (poisson(mean, rng) - poisson(mean, rng))
        });
        Feature::wave(frequency.collect(), rng.uniform(0.0, TAU))
    }
}

/// Samples a Poisson variable by counting unit exponential waiting times within `mean`. O(mean); the lengthscale bounds keep it
/// below 5000.
fn poisson(mean: f64, rng: &mut Rng) -> f64 {
    let (mut count, mut time) = (0.0, -(1.0 - rng.unit()).ln());
    while time < mean {
        count += 1.0;
        time -= (1.0 - rng.unit()).ln();
    }
    count
}
