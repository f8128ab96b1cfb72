//! The weight-space view of a Gaussian process with finitely many features: a linear model with uncertain weights [Ras06, section
//! 2.1].
//!
//! With k(x, z) = φ(x)ᵀ φ(z) an output is f(z) = θᵀ φ(z). Its weights are θ ~ N(0, I) a priori and, given the data,
//!
//! ```text
//! θ ~ N(θ̄, A⁻¹),   A = I + Φᵀ N⁻¹ Φ,   σ²(z) = φ(z)ᵀ A⁻¹ φ(z)   (Φ: features of the data, N: covariance of the noise)
//! ```
//!
//! The plausible weights form the ellipsoid ‖θ − θ̄‖_A ≤ β. With θ = θ̄ + β R⁻ᵀ w, A = R Rᵀ and ‖w‖ ≤ 1,
//!
//! ```text
//! f(z) = μ(z) + β ψ(z)ᵀ w,   ψ(z) = R⁻¹ φ(z),   ‖ψ(z)‖ = σ(z)
//! ```
//!
//! Every such f lies within μ ± β σ, and every value within the band at one point is attained by one such f. At several points
//! jointly the band also admits functions that no weights represent.

use super::Feature;
use super::gaussian_process::GaussianProcess;
use super::inputs::Inputs;
use super::space::Space;
use super::state::Output;
use crate::linalg::small::dot;
use crate::linalg::{Cholesky, Dims};

/// The normalised features ψ of every output: weights of length at most one add functions of the plausible set to the mean.
#[derive(Clone, Debug)]
pub struct WeightSpace {
    dims: Dims,
    space: Space,
    outputs: Vec<OutputWeights>,
    /// Fixed values of the last model inputs, which are not part of z.
    appended: Vec<f64>,
}

#[derive(Clone, Debug)]
struct OutputWeights {
    features: Vec<Feature>,
    /// R, lower triangular, row-major.
    factor: Vec<f64>,
    /// Factor from standardised to physical units.
    scale: f64,
}

/// Scratch memory of evaluations.
#[derive(Clone, Debug, Default)]
pub struct WeightScratch {
    point: Vec<f64>,
    mapped: Vec<f64>,
    gradient: Vec<f64>,
    weights: Vec<f64>,
    pulled: Vec<f64>,
}

/// Noise variances below this value, in units of the output's variance, are raised to it: noiseless data would fix weights exactly
/// and make A infinite.
const LEAST_NOISE: f64 = 1e-12;

impl WeightSpace {
    /// The dimensions of the state x and the control u.
    pub fn dims(&self) -> Dims {
        self.dims
    }

    /// Number of weights of each output.
    pub fn counts(&self) -> Vec<usize> {
        self.outputs.iter().map(|o| o.features.len()).collect()
    }

    /// Number of weights of all outputs.
    pub fn len(&self) -> usize {
        self.outputs.iter().map(|o| o.features.len()).sum()
    }

    /// True if the model has no features.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fixes the last control at `value` and removes it from z.
    #[must_use]
    pub fn with_last_control(mut self, value: f64) -> Self {
        self.appended.insert(0, value);
        self.dims.control -= 1;
        self
    }

    /// Computes ψ of all outputs at z, one output after the other, in physical units. O(m²) for m features.
    pub fn features(&self, z: &[f64], out: &mut [f64], scratch: &mut WeightScratch) {
        self.map(z, scratch);
        let mut rest = out;
        for output in &self.outputs {
            let (own, others) = rest.split_at_mut(output.features.len());
            for (out, feature) in own.iter_mut().zip(&output.features) {
                *out = output.scale * feature.value(&scratch.mapped);
            }
            output.solve(own);
            rest = others;
        }
    }

    /// Adds the gradient of ψⱼ(z)ᵀ wⱼ with respect to z, times `factor`, to `out`.
    pub fn add_gradient(
        &self,
        j: usize,
        z: &[f64],
        weights: &[f64],
        factor: f64,
        out: &mut [f64],
        scratch: &mut WeightScratch,
    ) {
        self.map(z, scratch);
        let output = &self.outputs[j];
        let WeightScratch { point, mapped, gradient, weights: own, pulled } = scratch;
        own.clear();
        own.extend_from_slice(weights);
        output.solve_transposed(own);
        gradient.clear();
        gradient.resize(mapped.len(), 0.0);
        for (weight, feature) in own.iter().zip(&output.features) {
            feature.gradient(mapped, *weight, gradient);
        }
        pulled.clear();
        pulled.resize(point.len(), 0.0);
        self.space.add_pull_back(point, gradient, output.scale * factor, pulled);
        for (out, pulled) in out.iter_mut().zip(pulled) {
            *out += *pulled;
        }
    }

    fn map(&self, z: &[f64], scratch: &mut WeightScratch) {
        scratch.point.clear();
        scratch.point.extend_from_slice(z);
        scratch.point.extend_from_slice(&self.appended);
        scratch.mapped.resize(self.space.dim(), 0.0);
        self.space.map(&scratch.point, &mut scratch.mapped);
    }
}

impl OutputWeights {
    /// Solves b ← R⁻¹ b.
    fn solve(&self, b: &mut [f64]) {
        let m = self.features.len();
        for i in 0..m {
            let (done, rest) = b.split_at_mut(i);
            let row = &self.factor[i * m..i * m + i];
            rest[0] = (rest[0] - dot(row, done)) / self.factor[i * m + i];
        }
    }

    /// Solves b ← R⁻ᵀ b.
    fn solve_transposed(&self, b: &mut [f64]) {
        let m = self.features.len();
        for i in (0..m).rev() {
            b[i] /= self.factor[i * m + i];
            let (rest, done) = b.split_at_mut(i);
            for (r, l) in rest.iter_mut().zip(&self.factor[i * m..i * m + i]) {
                *r -= l * done[0];
            }
        }
    }
}

impl GaussianProcess {
    /// Computes the weight-space view; `None` if the kernel has infinitely many features or a factorisation fails.
    pub(super) fn weights(&self) -> Option<WeightSpace> {
        let state = &self.state;
        let outputs: Option<Vec<OutputWeights>> = state
            .outputs
            .iter()
            .enumerate()
            .map(|(j, output)| {
                let features = output.covariance.finite_features()?;
                let factor = factor(&features, output, &state.inputs)?;
                Some(OutputWeights { features, factor, scale: self.output_scale(j).1 })
            })
            .collect();
        let (dims, space) = (state.space.dims, state.space.clone());
        Some(WeightSpace { dims, space, outputs: outputs?, appended: Vec::new() })
    }
}

/// Computes R of A = I + Φᵀ N⁻¹ Φ. O(n m²), with correlated noise O(n³). `None` if a pivot is not positive and finite.
fn factor(features: &[Feature], output: &Output, inputs: &Inputs) -> Option<Vec<f64>> {
    let (m, n) = (features.len(), inputs.len());
    // Column by column: Φ, then L⁻¹ Φ with N = L Lᵀ.
    let mut phi = vec![0.0; n * m];
    let (mut point, mut at_nodes) = (vec![0.0; inputs.dim()], vec![0.0; inputs.x.len()]);
    for (feature, column) in features.iter().zip(phi.chunks_exact_mut(n.max(1))) {
        for (i, value) in at_nodes.iter_mut().enumerate() {
            inputs.x.copy_point(i, &mut point);
            *value = feature.value(&point);
        }
        match &inputs.averages {
            Some(averages) => averages.average(&at_nodes, column),
            None => column.copy_from_slice(&at_nodes),
        }
    }
    let (factor, targets) = (output.hyper.noise.exp(), &output.targets);
    let variance = |i: usize| (factor * targets.noise[i]).max(LEAST_NOISE);
    if targets.links.is_empty() {
        for column in phi.chunks_exact_mut(n.max(1)) {
            for (i, value) in column.iter_mut().enumerate() {
                *value /= variance(i).sqrt();
            }
        }
    } else {
        let mut noise = vec![0.0; n * n];
        for i in 0..n {
            noise[i * n + i] = variance(i);
        }
        for &(i, j, value) in &targets.links {
            (noise[i * n + j], noise[j * n + i]) = (factor * value, factor * value);
        }
        Cholesky::new(&noise, n).ok()?.solve_lower(&mut phi, m);
    }
    // Row-oriented Cholesky factorisation of the lower triangle, in place.
    let mut a = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            let sum = dot(&phi[i * n..(i + 1) * n], &phi[j * n..(j + 1) * n]) + f64::from(u8::from(i == j));
            let left = sum - dot(&a[i * m..i * m + j], &a[j * m..j * m + j]);
            a[i * m + j] = if i == j { left.sqrt() } else { left / a[j * m + j] };
        }
        if !(a[i * m + i] > 0.0 && a[i * m + i].is_finite()) {
            return None;
        }
    }
    Some(a)
}
