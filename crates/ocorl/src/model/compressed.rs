//! The exact posterior of one output on fewer points, with bounds on the difference.
//!
//! The kernels of n data are nearly linearly dependent if they are smooth and the data lie on similar trajectories. A pivoted Cholesky
//! factorisation chooses m points s of the data; P projects onto the span of their kernels. The covariances k(z) of f(z) with the data
//! are then replaced by those of the projection of f, and the posterior keeps its exact A = (K + N)⁻¹ and α = A y:
//!
//! ```text
//! K ≈ Vᵀ V,   V = L⁻¹ K(s, x),   L Lᵀ = K(s, s),   k(z) ≈ Vᵀ L⁻¹ k_s(z)
//! μ(z) ≈ k_s(z)ᵀ α_s,   α_s = L⁻ᵀ V α
//! σ²(z) ≈ k(z, z) − |F k_s(z)|²,   FᵀF = L⁻ᵀ V A Vᵀ L⁻¹,   F lower triangular
//! ```
//!
//! One point then costs O(m²) instead of O(n²). Let R = K − VᵀV, r(z, z) = k(z, z) − |L⁻¹ k_s(z)|² and ρ = tr(N⁻¹ R). The exact variance
//! is that of f = Pf + g given the data, where g is independent of Pf a priori and has the covariances r. Hence
//!
//! ```text
//! |σ² − σ̂²| ≤ (ρ + √ρ) σ̂²
//! |μ − μ̂| ≤ ‖(1 − P) μ‖ √r(z, z) ≤ ‖(1 − P) μ‖ σ̂,   ‖(1 − P) μ‖² = αᵀ R α
//! ```
//!
//! at every z, hatted quantities being the approximations (the proof is in `docs/design-notes/compressed-posterior.md`). Both bounds are
//! computed, and a posterior whose bounds exceed the tolerance is not compressed.

use super::conditioning::Exact;
use super::inputs::Inputs;
use super::kernels::{Covariance, CrossInputs};
use super::pivoted::Pivoted;
use crate::linalg::panels::{self, Block, Lower, Triangle};
use crate::linalg::{Cholesky, Pool, Rows, vector};

/// Tolerance on √ρ: the relative error of σ is at most half of it.
const STD_TOLERANCE: f64 = 1e-2;

/// Tolerance on the error of μ, in units of σ.
const MEAN_TOLERANCE: f64 = 1e-2;

/// With fewer data the exact posterior costs as little.
const LEAST_DATA: usize = 48;

/// The largest part of the data that the points may be, numerator and denominator; with more the exact posterior costs as little.
const LARGEST_PART: (usize, usize) = (4, 5);

/// Residual variances below this fraction of the largest prior variance are rounding errors.
const ROUNDING: f64 = 1e-15;

/// The posterior of one output on a part of its data points.
#[derive(Debug)]
pub(super) struct Compressed {
    points: Rows,
    /// L, L Lᵀ = K(s, s).
    prior: Cholesky,
    /// α_s
    weights: Vec<f64>,
    /// F
    factor: Triangle,
    /// √ρ
    std_error: f64,
    /// ‖(1 − P) μ‖
    mean_error: f64,
}

impl Compressed {
    /// Compresses the posterior `exact` of the targets `y`. `None` if that would not make it cheaper within the tolerances, or if the
    /// noise is correlated.
    pub(super) fn new(
        covariance: &dyn Covariance,
        inputs: &Inputs,
        exact: &Exact,
        y: &[f64],
    ) -> Option<Self> {
        let (n, averages) = (inputs.len(), inputs.averages.as_deref());
        if n < LEAST_DATA || exact.jitter() > 0.0 || !exact.noise().links.is_empty() {
            return None;
        }
        // For an average of g, (Σ w g)² ≤ Σ |w| · Σ |w| g².
        let noise = &exact.noise().diagonal;
        let importance: Vec<f64> = match averages {
            None => noise.iter().map(|v| 1.0 / v).collect(),
            Some(averages) => (0..n)
                .flat_map(|i| {
                    let weights = averages.weights(averages.of(i));
                    let total: f64 = weights.iter().map(|w| w.abs()).sum();
                    weights.iter().map(move |w| total * w.abs() / noise[i])
                })
                .collect(),
        };
        let mut pivoted = Pivoted::new(covariance, &inputs.x);
        let least = ROUNDING * pivoted.left.iter().fold(0.0, |a: f64, b| a.max(*b));
        let limit = n * LARGEST_PART.0 / LARGEST_PART.1;
        let ratio = |left: &[f64]| left.iter().zip(&importance).map(|(r, i)| i * r.max(least)).sum::<f64>();
        // αᵀ K α = αᵀ (y − N α), of which each row of V explains a square.
        let alpha = exact.row_weights();
        let each = y.iter().zip(alpha).zip(noise);
        let whole: f64 = each.map(|((y, a), noise)| a * (y - noise * a)).sum();
        let error = |explained: f64| ((whole - explained).max(0.0) + 4.0 * ROUNDING * whole.abs()).sqrt();
        let (mut rho, mut mean_error) = (ratio(&pivoted.left), error(0.0));
        // Vᵀ, its rows averaged like the data, and V α.
        let (mut across, mut weights, mut explained) = (Vec::new(), Vec::new(), 0.0);
        while !(rho.sqrt() <= STD_TOLERANCE && mean_error <= MEAN_TOLERANCE) {
            let next = pivoted.largest(&importance);
            if pivoted.chosen.len() >= limit || !(pivoted.left[next] > least) {
                return None;
            }
            pivoted.add(next);
            rho = ratio(&pivoted.left);
            let (row, first) = (&pivoted.rows[pivoted.rows.len() - 1], across.len());
            match averages {
                None => across.extend_from_slice(row),
                Some(averages) => {
                    across.resize(first + n, 0.0);
                    averages.average(row, &mut across[first..]);
                }
            }
            let weight = vector::dot(&across[first..], alpha);
            weights.push(weight);
            explained += weight * weight;
            mean_error = error(explained);
        }
        let Pivoted { chosen, rows, .. } = pivoted;
        let m = chosen.len();
        let mut prior = Triangle::zeros(m);
        for (j, row) in rows.iter().enumerate() {
            let column: Vec<f64> = chosen[j..].iter().map(|&i| row[i]).collect();
            prior.set_column(j, &column);
        }
        let prior = Cholesky::from_factor(prior);
        prior.solve_transposed(&mut weights, 1);
        exact.factor().solve_lower(&mut across, m);
        let mut gram = vec![0.0; m * m];
        let mut memory = vec![0.0; Block::room(n, m)];
        Block::pack(&across, n, m, &mut memory).add_gram(1.0, &mut gram);
        let factor = factor(&gram, &prior)?;
        let points = inputs.x.select(&chosen);
        Some(Compressed { points, prior, weights, factor, std_error: rho.sqrt(), mean_error })
    }

    /// The points s.
    pub(super) fn points(&self) -> &Rows {
        &self.points
    }

    /// The weights α_s of the mean μ̂(z) = k_s(z)ᵀ α_s.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The bounds: the relative error of σ², and the error of μ in units of σ.
    pub(super) fn errors(&self) -> (f64, f64) {
        (self.std_error * (1.0 + self.std_error), self.mean_error)
    }

    /// Computes |F k|² for each column of `k`, and FᵀF k into `weights` if given.
    pub(super) fn reduce(&self, k: &[f64], weights: Option<&mut [f64]>, out: &mut [f64], pool: &mut Pool) {
        let (m, columns, factor) = (self.points.len(), out.len(), Lower::new(&self.factor, &[]));
        let room = Block::room(m, columns);
        let (mut first, mut second) = (pool.take(room), pool.take(room));
        let mut k = Block::pack(k, m, columns, &mut first);
        let mut product = Block::over(&mut second, m, columns);
        k.negative_product(factor, &mut product);
        product.square_norms(out);
        if let Some(weights) = weights {
            product.negative_transposed_product(factor, &mut k);
            k.unpack(weights);
        }
        pool.give(second);
        pool.give(first);
    }

    /// Computes −F k for each of the `columns` columns of `block`.
    pub(super) fn whiten(&self, block: &[f64], columns: usize, out: &mut [f64]) {
        let m = self.points.len();
        let (mut first, mut second) =
            (vec![0.0; Block::room(m, columns)], vec![0.0; Block::room(m, columns)]);
        let mut product = Block::over(&mut second, m, columns);
        Block::pack(block, m, columns, &mut first)
            .negative_product(Lower::new(&self.factor, &[]), &mut product);
        product.unpack(out);
    }

    /// Subtracts (F k)ᵀ F k′ of all pairs of the `count` columns of `k` from the lower triangle of the matrix `out`.
    pub(super) fn subtract_products(&self, k: &[f64], count: usize, out: &mut [f64]) {
        let m = self.points.len();
        let (mut first, mut second) = (vec![0.0; Block::room(m, count)], vec![0.0; Block::room(m, count)]);
        let mut product = Block::over(&mut second, m, count);
        Block::pack(k, m, count, &mut first).negative_product(Lower::new(&self.factor, &[]), &mut product);
        product.add_gram(-1.0, out);
    }

    /// Projects a function Σ vᵢ k(xᵢ, ·) of the data's kernels onto those of the points: L⁻ᵀ L⁻¹ K(s, x) v.
    pub(super) fn project(&self, covariance: &dyn Covariance, inputs: &Inputs, v: &[f64]) -> Vec<f64> {
        let (mut pool, mut z) = (Pool::default(), vec![0.0; inputs.dim()]);
        let mut k = vec![0.0; inputs.x.len()];
        let mut at = |s: usize| {
            self.points.copy_point(s, &mut z);
            covariance.values(CrossInputs { x: inputs.x.view(), z: &z }, &mut k, &mut pool);
            vector::dot(&k, v)
        };
        let mut weights: Vec<f64> = (0..self.points.len()).map(&mut at).collect();
        self.prior.solve_lower(&mut weights, 1);
        self.prior.solve_transposed(&mut weights, 1);
        weights
    }
}

/// Computes the lower triangular F with FᵀF = L⁻ᵀ G L⁻¹: from G = U Uᵀ with U upper triangular follows F = Uᵀ L⁻¹. `None` if G is not
/// positive semidefinite within rounding.
fn factor(gram: &[f64], prior: &Cholesky) -> Option<Triangle> {
    let m = prior.len();
    // The Cholesky factor of G with its rows and columns in reverse order is U in reverse order. Eigenvalues of G are at most one; those
    // of directions that the data do not determine are zero, up to rounding.
    let upper = [1.0, 1e2, 1e4].iter().find_map(|size| {
        let ridge = size * f64::EPSILON * (m as f64);
        let mut reversed = Triangle::zeros(m);
        let mut column = vec![0.0; m];
        for j in 0..m {
            for (i, out) in (j..m).zip(&mut column) {
                *out = gram[(m - 1 - i) * m + (m - 1 - j)] + if i == j { ridge } else { 0.0 };
            }
            reversed.set_column(j, &column[..m - j]);
        }
        panels::factorize(&mut reversed, &mut Vec::new()).ok().map(|()| reversed)
    })?;
    // Fᵀ = L⁻ᵀ U; its column j is row j of F.
    let mut transposed = vec![0.0; m * m];
    for j in 0..m {
        for i in 0..=j {
            transposed[j * m + i] = upper.get(m - 1 - i, m - 1 - j);
        }
    }
    prior.solve_transposed(&mut transposed, m);
    let mut factor = Triangle::zeros(m);
    for j in 0..m {
        for i in 0..=j {
            *factor.at(j, i) = transposed[j * m + i];
        }
    }
    transposed.iter().all(|v| v.is_finite()).then_some(factor)
}
