//! Stationary kernels with one lengthscale per coordinate: k(x, z) = g(s), s = Σ_d (x_d − z_d)²/ℓ_d².

use super::{Covariance, CrossInputs, Feature, Kernel, Parameter};
use crate::linalg::Pool;
use crate::linalg::vector::{BLOCK, Sum};
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

    /// The weights cᵢ = wᵢ g′(sᵢ) of the derivatives of sᵢ, with zeros up to a whole block.
    fn slopes(
        &self,
        pair: CrossInputs<'_>,
        scaled: &[f64],
        k: &[f64],
        w: &[f64],
        pool: &mut Pool,
    ) -> Vec<f64> {
        let mut c = pool.take(w.len().next_multiple_of(BLOCK));
        let (out, rest) = c.split_at_mut(w.len());
        rest.fill(0.0);
        let distances = Distances { pair, inverse: &self.inverse, scaled };
        Arch::new().dispatch(Slopes::<P> { distances, k, w, out, profile: PhantomData });
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

/// Number of points whose distances are computed together: enough sums to hide the latency of an addition.
const WIDE: usize = 2 * BLOCK;

impl Distances<'_> {
    #[inline(always)]
    fn into(self, out: &mut [f64]) {
        let (n, mut done) = (out.len(), 0);
        while done + WIDE <= n {
            self.block::<WIDE>(done, out);
            done += WIDE;
        }
        if done + BLOCK <= n {
            self.block::<BLOCK>(done, out);
            done += BLOCK;
        }
        if done < n && n >= BLOCK {
            // Points that are already done are computed once more, to the same bits.
            self.block::<BLOCK>(n - BLOCK, out);
        } else {
            (done..n).for_each(|i| self.block::<1>(i, out));
        }
    }

    /// Computes the distances of `N` points from index `first` on.
    #[inline(always)]
    fn block<const N: usize>(self, first: usize, out: &mut [f64]) {
        let mut s = [0.0; N];
        for (d, (r, z)) in self.inverse.iter().zip(self.scaled).enumerate() {
            let x = self.pair.x.block::<N>(d, first);
            for i in 0..N {
                let t = x[i].mul_add(*r, -z);
                s[i] = t.mul_add(t, s[i]);
            }
        }
        out[first..first + N].copy_from_slice(&s);
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

/// Computes Σᵢ cᵢ t_d^m over the data, for each coordinate d. The weights of what follows the data up to a whole block are zero.
#[derive(Clone, Copy)]
struct Moments<'a> {
    pair: CrossInputs<'a>,
    inverse: &'a [f64],
    scaled: &'a [f64],
    c: &'a [f64],
}

impl Moments<'_> {
    /// Passes the moment of each coordinate to `take`, with tᵐ = `power`(t).
    #[inline(always)]
    fn each(&self, power: impl Fn(f64) -> f64 + Copy, mut take: impl FnMut(usize, f64)) {
        let (dim, mut done) = (self.inverse.len(), 0);
        while done + 4 <= dim {
            self.some::<4>(done, power, &mut take);
            done += 4;
        }
        if done + 2 <= dim {
            self.some::<2>(done, power, &mut take);
            done += 2;
        }
        if done < dim {
            self.some::<1>(done, power, &mut take);
        }
    }

    /// Computes the moments of `D` coordinates from `first` on together, so that their sums do not wait for each other.
    #[inline(always)]
    fn some<const D: usize>(
        &self,
        first: usize,
        power: impl Fn(f64) -> f64 + Copy,
        take: &mut impl FnMut(usize, f64),
    ) {
        let mut sums = [Sum::default(); D];
        for (b, c) in self.c.as_chunks::<BLOCK>().0.iter().enumerate() {
            for (i, sum) in sums.iter_mut().enumerate() {
                let (r, z) = (self.inverse[first + i], self.scaled[first + i]);
                let x = self.pair.x.block::<BLOCK>(first + i, b * BLOCK);
                sum.add_products(c, &x.map(|x| power(x.mul_add(r, -z))));
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            take(first + i, sum.total());
        }
    }
}

struct FirstMoments<'a, F>(Moments<'a>, F);

impl<F: FnMut(usize, f64)> WithSimd for FirstMoments<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.0.each(|t| t, self.1);
    }
}

struct SecondMoments<'a, F>(Moments<'a>, F);

impl<F: FnMut(usize, f64)> WithSimd for SecondMoments<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.0.each(|t| t * t, self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rbf;
    use super::*;
    use crate::linalg::{Points, Rows};

    /// All numbers of points and coordinates that the loops treat differently, in views that begin anywhere.
    #[test]
    fn any_number_of_points_and_coordinates_gives_the_plain_sums() {
        for (dim, n, from) in (1..8).flat_map(|dim| (1..36).map(move |n| (dim, n, n % 5))) {
            let columns: Vec<f64> = (0..dim * (n + from)).map(|i| (1.7 * i as f64).sin()).collect();
            let (rows, z) = (Rows::from_points(Points::new(&columns, dim)), vec![0.3; dim]);
            let kernel = Rbf.bind(&vec![0.2; dim], dim);
            let pair = CrossInputs { x: rows.view().from(from), z: &z };
            let (mut k, mut pool) = (vec![0.0; n], Pool::default());
            kernel.values(pair, &mut k, &mut pool);
            let w: Vec<f64> = (0..n).map(|i| (0.9 * i as f64).cos()).collect();
            let (mut inputs, mut parameters) = (vec![0.0; dim], vec![0.0; dim]);
            kernel.input_gradient(pair, &k, &w, &mut inputs, &mut pool);
            kernel.parameter_gradient(pair, &k, &w, &mut parameters, &mut pool);
            let t = |i: usize, d: usize| (columns[(from + i) * dim + d] - z[d]) / 0.2_f64.exp();
            for i in 0..n {
                let s: f64 = (0..dim).map(|d| t(i, d) * t(i, d)).sum();
                assert!((k[i] - (-0.5 * s).exp()).abs() < 1e-14, "value {i} of {n}, {dim} coordinates");
            }
            for d in 0..dim {
                let sum = |power: i32| (0..n).map(|i| w[i] * k[i] * t(i, d).powi(power)).sum::<f64>();
                assert!((inputs[d] - sum(1) / 0.2_f64.exp()).abs() < 1e-13, "{n} points, coordinate {d}");
                assert!((parameters[d] - sum(2)).abs() < 1e-13, "{n} points, coordinate {d}");
            }
        }
    }
}
