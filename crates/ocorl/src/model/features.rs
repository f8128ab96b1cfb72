//! Features: the functions from which samples of a Gaussian process are composed, and their weighted sums.

use crate::linalg::vector::{BLOCK, Sum, padded};
use crate::linalg::{Points, Pool, Rows, vector};
use crate::real::{LANES, Lanes, Real};
use pulp::{Arch, Simd, WithSimd};

/// A feature: the product of an amplitude, linear functions and cosines of the point z,
///
/// ```text
/// φ(z) = a · Π g_r·z · Π cos(ω_s·z + b_s)
/// ```
///
/// The set of features is closed under products, which suffices for random features of sums and products of kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    amplitude: f64,
    linear: Vec<Vec<f64>>,
    waves: Vec<(Vec<f64>, f64)>,
}

impl Feature {
    /// The constant feature φ(z) = `amplitude`.
    pub fn constant(amplitude: f64) -> Self {
        Feature { amplitude, linear: Vec::new(), waves: Vec::new() }
    }

    /// The linear feature φ(z) = g·z.
    pub fn linear(g: Vec<f64>) -> Self {
        Feature { linear: vec![g], ..Feature::constant(1.0) }
    }

    /// The random Fourier feature φ(z) = √2 cos(ω·z + b). With b uniform on [0, 2π), E[φ(x) φ(z)] = E cos(ω·(x − z)).
    pub fn wave(frequency: Vec<f64>, phase: f64) -> Self {
        Feature { waves: vec![(frequency, phase)], ..Feature::constant(std::f64::consts::SQRT_2) }
    }

    /// Multiplies the feature by `factor`.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.amplitude *= factor;
        self
    }

    /// Multiplies two features.
    #[must_use]
    pub fn times(mut self, other: Feature) -> Self {
        self.amplitude *= other.amplitude;
        self.linear.extend(other.linear);
        self.waves.extend(other.waves);
        self
    }

    /// Evaluates φ(z).
    pub fn value(&self, z: &[f64]) -> f64 {
        let linear: f64 = self.linear.iter().map(|g| dot(g, z)).product();
        let waves: f64 = self.waves.iter().map(|(w, b)| (dot(w, z) + b).cos()).product();
        self.amplitude * linear * waves
    }

    /// Adds `weight` · ∇φ(z) to `out` and returns φ(z).
    pub fn gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) -> f64 {
        // Product rule: each factor in turn is replaced by its derivative, the others keep their values. There are one or two
        // factors.
        let others = |skip: usize| -> f64 {
            let linear = self.linear.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, g)| dot(g, z));
            let waves = self.waves.iter().enumerate().filter(|(i, _)| i + self.linear.len() != skip);
            self.amplitude
                * linear.product::<f64>()
                * waves.map(|(_, (w, b))| (dot(w, z) + b).cos()).product::<f64>()
        };
        for (i, g) in self.linear.iter().enumerate() {
            add(weight * others(i), g, out);
        }
        for (i, (w, b)) in self.waves.iter().enumerate() {
            let slope = -(dot(w, z) + b).sin();
            add(weight * slope * others(i + self.linear.len()), w, out);
        }
        self.value(z)
    }
}

/// A weighted sum of features, Σ wₘ φₘ(z). Features that are one cosine are evaluated several at a time.
#[derive(Clone, Debug)]
pub(super) struct FeatureSum {
    /// The frequencies ω of the cosines.
    frequencies: Rows,
    phases: Vec<f64>,
    /// The products of amplitude and weight of the cosines.
    weights: Vec<f64>,
    /// All other features, with their weights.
    others: Vec<(f64, Feature)>,
}

impl FeatureSum {
    /// The sum of functions of points with `dim` coordinates.
    pub(super) fn new(dim: usize, features: impl IntoIterator<Item = (f64, Feature)>) -> Self {
        let (mut columns, mut phases, mut weights, mut others) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (weight, feature) in features {
            match &feature.waves[..] {
                [(frequency, phase)] if feature.linear.is_empty() => {
                    columns.extend_from_slice(frequency);
                    phases.push(*phase);
                    weights.push(weight * feature.amplitude);
                }
                _ => others.push((weight, feature)),
            }
        }
        FeatureSum { frequencies: Rows::from_points(Points::new(&columns, dim)), phases, weights, others }
    }

    /// The sum at z; its gradient is added to `gradient` unless that is empty.
    pub(super) fn evaluate(&self, z: &[f64], gradient: &mut [f64], pool: &mut Pool) -> f64 {
        let mut sum = 0.0;
        for (w, feature) in &self.others {
            sum += w * if gradient.is_empty() { feature.value(z) } else { feature.gradient(z, *w, gradient) };
        }
        let mut slopes = pool.take(if gradient.is_empty() { 0 } else { self.phases.len() });
        sum += Arch::new().dispatch(Cosines { of: self, z, slopes: &mut slopes });
        for (d, g) in gradient.iter_mut().enumerate() {
            *g += vector::dot(self.frequencies.view().row(d), &slopes);
        }
        pool.give(slopes);
        sum
    }
}

/// Computes Σ wₘ cos(ωₘ·z + bₘ), and −wₘ sin(ωₘ·z + bₘ) into `slopes` unless that is empty.
struct Cosines<'a> {
    of: &'a FeatureSum,
    z: &'a [f64],
    slopes: &'a mut [f64],
}

impl Cosines<'_> {
    /// The sines and cosines of a block of features from index `first` on, given their phases.
    #[inline(always)]
    fn block(&self, first: usize, phases: [f64; BLOCK], whole: bool) -> [[f64; BLOCK]; 2] {
        let (mut angle, x) = (phases, self.of.frequencies.view());
        for (d, z) in self.z.iter().enumerate() {
            let frequency = if whole { *x.block::<BLOCK>(d, first) } else { padded(&x.row(d)[first..]) };
            for i in 0..BLOCK {
                angle[i] = frequency[i].mul_add(*z, angle[i]);
            }
        }
        let mut out = [[0.0; BLOCK]; 2];
        for half in 0..BLOCK / LANES {
            let at = half * LANES;
            let (sin, cos) = Lanes([angle[at], angle[at + 1], angle[at + 2], angle[at + 3]]).sin_cos();
            out[0][half * LANES..(half + 1) * LANES].copy_from_slice(&sin.0);
            out[1][half * LANES..(half + 1) * LANES].copy_from_slice(&cos.0);
        }
        out
    }
}

impl WithSimd for Cosines<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let (phases, rest) = self.of.phases.as_chunks::<BLOCK>();
        let (weights, weights_rest) = self.of.weights.as_chunks::<BLOCK>();
        let mut sum = Sum::default();
        for (b, (phases, weights)) in phases.iter().zip(weights).enumerate() {
            let [sin, cos] = self.block(b * BLOCK, *phases, true);
            sum.add_products(weights, &cos);
            if let Some(slopes) = self.slopes.get_mut(b * BLOCK..(b + 1) * BLOCK) {
                for i in 0..BLOCK {
                    slopes[i] = -weights[i] * sin[i];
                }
            }
        }
        let first = phases.len() * BLOCK;
        if !rest.is_empty() {
            let weights = padded(weights_rest);
            let [sin, cos] = self.block(first, padded(rest), false);
            sum.add_products(&weights, &cos);
            if let Some(slopes) = self.slopes.get_mut(first..) {
                for (i, slope) in slopes.iter_mut().enumerate() {
                    *slope = -weights[i] * sin[i];
                }
            }
        }
        sum.total()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(factor: f64, a: &[f64], out: &mut [f64]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out += factor * a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_sum_of_features_is_the_sum_of_their_values_and_gradients() {
        for count in [0, 1, 7, 8, 21] {
            let mut rng = Stream::root(count).rng();
            let mut vector = |size: f64| -> Vec<f64> { (0..3).map(|_| size * rng.normal()).collect() };
            let mut features: Vec<(f64, Feature)> = (0..count)
                .map(|i| (0.1 * i as f64 - 0.5, Feature::wave(vector(2.0), i as f64).scaled(0.7)))
                .collect();
            features.insert(0, (1.5, Feature::linear(vector(1.0)).times(Feature::wave(vector(1.0), 0.3))));
            features.push((-0.5, Feature::constant(2.0)));
            // Beyond the range that vectors reduce.
            for z in [vector(1.0), vector(1e6)] {
                let (sum, mut pool) = (FeatureSum::new(3, features.clone()), Pool::default());
                let (mut expected, mut slopes, mut gradient) = (0.0, [0.0; 3], [0.0; 3]);
                for (weight, feature) in &features {
                    expected += weight * feature.gradient(&z, *weight, &mut slopes);
                }
                let (value, again) =
                    (sum.evaluate(&z, &mut [], &mut pool), sum.evaluate(&z, &mut gradient, &mut pool));
                assert_eq!(value.to_bits(), again.to_bits());
                let size = 1e-9 * z[0].abs().max(1.0);
                assert!((value - expected).abs() < size, "{count}: {value} and {expected}");
                for (a, b) in gradient.iter().zip(slopes) {
                    assert!((a - b).abs() < size, "{count}: gradient {a} and {b}");
                }
            }
        }
    }
}
