//! Stationary kernels with one lengthscale per coordinate: k(x, z) = g(s), s = Σ_d (x_d − z_d)²/ℓ_d².

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::linalg::vector::{BLOCK, Sum, padded};
use crate::random::Rng;
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;

/// The profile g of a stationary kernel, g(0) = 1. Its functions are `#[inline(always)]` and branch-free, so that loops over them
/// are vectorised.
pub(super) trait Profile: std::fmt::Debug + Send + Sync + 'static {
    /// True if [`slope`](Self::slope) depends on s.
    const SLOPE_OF_DISTANCE: bool;

    /// The value g(s).
    fn value(s: f64) -> f64;

    /// The derivative g′(s), computed from s or from `k` = g(s), whichever is cheaper.
    fn slope(s: f64, k: f64) -> f64;

    /// A random factor f such that ω_d = f·N(0, 1)/ℓ_d has the kernel's spectral density.
    fn frequency(rng: &mut Rng) -> f64;
}

/// Every profile is a kernel whose parameters are the lengthscales of the coordinates.
impl<P: Profile> Kernel for P {
    fn parameters(&self, dim: usize) -> Vec<Parameter> {
        Parameter::lengthscales(dim).collect()
    }

    fn bind(&self, log_parameters: &[f64], _dim: usize) -> Box<dyn Covariance> {
        let inverse = log_parameters.iter().map(|l| (-l).exp()).collect();
        Box::new(Stationary::<P> { inverse, profile: PhantomData })
    }
}

/// A stationary kernel with its lengthscales.
#[derive(Debug)]
struct Stationary<P> {
    /// The inverse lengthscales 1/ℓ_d.
    inverse: Vec<f64>,
    profile: PhantomData<P>,
}

impl<P: Profile> Stationary<P> {
    /// The scaled point z_d/ℓ_d.
    fn scale(&self, z: &[f64], pool: &mut Pool) -> Vec<f64> {
        let mut scaled = pool.take(z.len());
        for ((scaled, z), r) in scaled.iter_mut().zip(z).zip(&self.inverse) {
            *scaled = z * r;
        }
        scaled
    }

    /// The weights cᵢ = wᵢ g′(sᵢ) of the derivatives of sᵢ.
    fn slopes(
        &self,
        pair: CrossInputs<'_>,
        scaled: &[f64],
        k: &[f64],
        w: &[f64],
        pool: &mut Pool,
    ) -> Vec<f64> {
        let mut c = pool.take(w.len());
        let distances = Distances { pair, inverse: &self.inverse, scaled };
        Arch::new().dispatch(Slopes::<P> { distances, k, w, out: &mut c, profile: PhantomData });
        c
    }
}

impl<P: Profile> Covariance for Stationary<P> {
    fn values(&self, pair: CrossInputs<'_>, out: &mut [f64], pool: &mut Pool) {
        assert_eq!(pair.x.len(), out.len(), "room for {} of {} values", out.len(), pair.x.len());
        let scaled = self.scale(pair.z, pool);
        let distances = Distances { pair, inverse: &self.inverse, scaled: &scaled };
        Arch::new().dispatch(Values::<P> { distances, out, profile: PhantomData });
        pool.give(scaled);
    }

    /// Uses ∂s/∂z_d = −2 t_d/ℓ_d with t_d = (x_d − z_d)/ℓ_d.
    fn input_gradient(&self, pair: CrossInputs<'_>, k: &[f64], w: &[f64], out: &mut [f64], pool: &mut Pool) {
        let scaled = self.scale(pair.z, pool);
        let c = self.slopes(pair, &scaled, k, w, pool);
        let moments = Moments { pair, inverse: &self.inverse, scaled: &scaled, c: &c };
        let add = |d: usize, sum: f64| out[d] -= 2.0 * self.inverse[d] * sum;
        Arch::new().dispatch(FirstMoments(moments, add));
        pool.give(c);
        pool.give(scaled);
    }

    /// Uses ∂s/∂(ln ℓ_d) = −2 t_d².
    fn parameter_gradient(
        &self,
        pair: CrossInputs<'_>,
        k: &[f64],
        w: &[f64],
        out: &mut [f64],
        pool: &mut Pool,
    ) {
        let scaled = self.scale(pair.z, pool);
        let c = self.slopes(pair, &scaled, k, w, pool);
        let moments = Moments { pair, inverse: &self.inverse, scaled: &scaled, c: &c };
        Arch::new().dispatch(SecondMoments(moments, |d: usize, sum: f64| out[d] -= 2.0 * sum));
        pool.give(c);
        pool.give(scaled);
    }

    fn diagonal(&self, _z: &[f64]) -> f64 {
        1.0
    }

    fn diagonal_gradient(&self, _z: &[f64], _weight: f64, _out: &mut [f64]) {}

    fn feature(&self, rng: &mut Rng) -> Feature {
        let factor = P::frequency(rng);
        let frequency = self.inverse.iter().map(|r| factor * rng.normal() * r).collect();
        Feature::wave(frequency, rng.uniform(0.0, std::f64::consts::TAU))
    }
}

/// Computes the squared scaled distances sᵢ of all data points from z.
#[derive(Clone, Copy)]
struct Distances<'a> {
    pair: CrossInputs<'a>,
    inverse: &'a [f64],
    scaled: &'a [f64],
}

impl Distances<'_> {
    #[inline(always)]
    fn into(self, out: &mut [f64]) {
        let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
        let done = blocks.len() * BLOCK;
        for (b, out) in blocks.iter_mut().enumerate() {
            let mut s = [0.0; BLOCK];
            for (d, (r, z)) in self.inverse.iter().zip(self.scaled).enumerate() {
                let x = self.pair.x.block::<BLOCK>(d, b * BLOCK);
                for i in 0..BLOCK {
                    let t = x[i].mul_add(*r, -z);
                    s[i] = t.mul_add(t, s[i]);
                }
            }
            *out = s;
        }
        rest.fill(0.0);
        for (d, (r, z)) in self.inverse.iter().zip(self.scaled).enumerate() {
            for (out, x) in rest.iter_mut().zip(&self.pair.x.row(d)[done..]) {
                let t = x.mul_add(*r, -z);
                *out = t.mul_add(t, *out);
            }
        }
    }
}

struct Values<'a, P> {
    distances: Distances<'a>,
    out: &'a mut [f64],
    profile: PhantomData<P>,
}

impl<P: Profile> WithSimd for Values<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.distances.into(self.out);
        // A separate loop over plain slices, which the compiler vectorises.
        for out in self.out {
            *out = P::value(*out);
        }
    }
}

struct Slopes<'a, P> {
    distances: Distances<'a>,
    k: &'a [f64],
    w: &'a [f64],
    out: &'a mut [f64],
    profile: PhantomData<P>,
}

impl<P: Profile> WithSimd for Slopes<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        if P::SLOPE_OF_DISTANCE {
            self.distances.into(self.out);
        }
        for ((out, k), w) in self.out.iter_mut().zip(self.k).zip(self.w) {
            *out = w * P::slope(*out, *k);
        }
    }
}

/// Computes Σᵢ cᵢ t_d^m over the data, for each coordinate d.
#[derive(Clone, Copy)]
struct Moments<'a> {
    pair: CrossInputs<'a>,
    inverse: &'a [f64],
    scaled: &'a [f64],
    c: &'a [f64],
}

impl Moments<'_> {
    #[inline(always)]
    fn of(&self, d: usize, power: impl Fn(f64) -> f64) -> f64 {
        let (r, z) = (self.inverse[d], self.scaled[d]);
        let (x, x_rest) = self.pair.x.row(d).as_chunks::<BLOCK>();
        let (c, c_rest) = self.c.as_chunks::<BLOCK>();
        let mut sum = Sum::default();
        for (x, c) in x.iter().zip(c) {
            sum.add_products(c, &x.map(|x| power(x.mul_add(r, -z))));
        }
        sum.add_products(&padded(c_rest), &padded(x_rest).map(|x| power(x.mul_add(r, -z))));
        sum.total()
    }
}

struct FirstMoments<'a, F>(Moments<'a>, F);

impl<F: FnMut(usize, f64)> WithSimd for FirstMoments<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) {
        for d in 0..self.0.inverse.len() {
            self.1(d, self.0.of(d, |t| t));
        }
    }
}

struct SecondMoments<'a, F>(Moments<'a>, F);

impl<F: FnMut(usize, f64)> WithSimd for SecondMoments<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) {
        for d in 0..self.0.inverse.len() {
            self.1(d, self.0.of(d, |t| t * t));
        }
    }
}
