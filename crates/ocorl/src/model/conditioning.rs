//! Conditioning of the Gaussian process of one output on its data: exactly, or through inducing points.
//!
//! Both posteriors have the form (in standardised units)
//!
//! ```text
//! μ(z) = k(z)ᵀ α,   σ²(z) = k(z, z) − k(z)ᵀ A k(z)
//! ```
//!
//! where k(z) are the covariances with the data, or with the inducing points. The exact posterior has A = (K + N)⁻¹ = L⁻ᵀ L⁻¹ and α
//! = A y. If rows of the data are averages W f, k(z) are covariances with their nodes, A = Wᵀ (W K Wᵀ + N)⁻¹ W and α = Wᵀ (W K Wᵀ +
//! N)⁻¹ y. Conditioning on n rows costs O(n³/3), one new row O(n²), m inducing points O(n m²).
//!
//! | symbol | code | size |
//! |---|---|---|
//! | K, N | kernel matrix, [`NoiseMatrix`] | n × n |
//! | L | `Exact::factor` | n × n, lower |
//! | W | [`Averages`] | n × nodes, sparse |
//! | m, Kₘₘ = L Lᵀ, B = R Rᵀ | `Inducing::points`, `prior`, `inner` | m × m |

use super::inputs::{Averages, Inputs};
use super::kernels::{Covariance, CrossInputs};
use super::noise::{NoiseMatrix, add_noise};
use super::pivoted::Pivoted;
use super::targets::Targets;
use crate::linalg::panels::{Block, Triangle};
use crate::linalg::small::axpy;
use crate::linalg::{Cholesky, Points, Pool, Rows};
use crate::random::Rng;
use std::sync::Arc;

/// Jitters as fractions of the mean diagonal, tried in this order until the factorisation succeeds.
const JITTERS: [f64; 8] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6];

/// The largest jitter that is tried.
pub(super) const LARGEST_JITTER: f64 = JITTERS[JITTERS.len() - 1];

/// A Cholesky factor and the jitter, as a fraction of the mean diagonal, that was needed to compute it.
type Factorized = (Cholesky, f64);

/// Factorises the covariance matrix of the data plus `noise`, first without jitter and, if that fails, with increasing jitter, each
/// a fraction of the mean of k(xᵢ, xᵢ). `None` if the largest jitter fails too or the kernel is not finite. O(n³/3) for each
/// attempt.
fn factorize(covariance: &dyn Covariance, inputs: &Inputs, noise: &NoiseMatrix) -> Option<Factorized> {
    let scale = mean_diagonal(covariance, &inputs.x);
    if !scale.is_finite() {
        return None;
    }
    // A prior variance of zero at all data (a linear kernel at its origin) is valid; the jitter is then absolute.
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let mut pool = Pool::default();
    JITTERS.iter().find_map(|&jitter| {
        let (mut matrix, mut links) = (Triangle::zeros(inputs.len()), &noise.links[..]);
        inputs.gram(
            covariance,
            &mut pool,
            |_| (),
            |j, column| {
                add_noise(j, noise.diagonal[j] + jitter * scale, &mut links, column);
                matrix.set_column(j, column);
            },
        );
        Cholesky::of(matrix).ok().map(|factor| (factor, jitter))
    })
}

/// Computes K(x, x) column by column. `take` receives each column from the diagonal down and may change it.
pub(super) fn gram(
    covariance: &dyn Covariance,
    x: &Rows,
    pool: &mut Pool,
    mut take: impl FnMut(usize, &mut [f64]),
) {
    let n = x.len();
    let (mut z, mut column) = (pool.take(x.dim()), pool.take(n));
    for j in 0..n {
        x.copy_point(j, &mut z);
        let column = &mut column[j..];
        covariance.values(CrossInputs { x: x.view().from(j), z: &z }, column, pool);
        take(j, column);
    }
    pool.give(column);
    pool.give(z);
}

/// The variances k(xᵢ, xᵢ) of all points.
pub(super) fn diagonal(covariance: &dyn Covariance, x: &Rows) -> Vec<f64> {
    let mut z = vec![0.0; x.dim()];
    let mut own = |i: usize| {
        x.copy_point(i, &mut z);
        covariance.diagonal(&z)
    };
    (0..x.len()).map(&mut own).collect()
}

/// The mean of k(xᵢ, xᵢ), the unit of the jitter. Noise is excluded, because one measurement with a huge noise variance would
/// otherwise scale the jitter for all others.
fn mean_diagonal(covariance: &dyn Covariance, x: &Rows) -> f64 {
    diagonal(covariance, x).iter().sum::<f64>() / x.len().max(1) as f64
}

/// Computes K(x, z) for many z: column i holds k(x, zᵢ).
pub(super) fn cross(covariance: &dyn Covariance, x: &Rows, z: Points<'_>, pool: &mut Pool) -> Vec<f64> {
    let mut out = vec![0.0; x.len() * z.len()];
    if !x.is_empty() {
        for (i, column) in out.chunks_exact_mut(x.len()).enumerate() {
            covariance.values(CrossInputs { x: x.view(), z: z.at(i) }, column, pool);
        }
    }
    out
}

/// The exact posterior.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    factor: Cholesky,
    /// L⁻¹ y, kept because it can be extended together with the factor.
    half: Vec<f64>,
    /// (K + N)⁻¹ y
    weights: Vec<f64>,
    /// Standardised covariance matrix of the noise, including the learned factor.
    noise: NoiseMatrix,
    jitter: f64,
    /// W and Wᵀ (K + N)⁻¹ y, if rows are averages.
    averages: Option<(Arc<Averages>, Vec<f64>)>,
}

impl Exact {
    fn new(covariance: &dyn Covariance, inputs: &Inputs, y: &[f64], noise: NoiseMatrix) -> Option<Self> {
        let (factor, jitter) = factorize(covariance, inputs, &noise)?;
        let averages = inputs.averages.clone().map(|a| (a, Vec::new()));
        let mut exact = Exact { factor, half: Vec::new(), weights: Vec::new(), noise, jitter, averages };
        exact.solve(y);
        exact.weights.iter().all(|w| w.is_finite()).then_some(exact)
    }

    pub(super) fn factor(&self) -> &Cholesky {
        &self.factor
    }

    pub(super) fn noise(&self) -> &NoiseMatrix {
        &self.noise
    }

    /// The relative jitter that was needed for the factorisation.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }

    /// (K + N)⁻¹ y, one number for each row.
    pub(super) fn row_weights(&self) -> &[f64] {
        &self.weights
    }

    fn solve(&mut self, y: &[f64]) {
        self.half = y.to_vec();
        self.factor.solve_lower(&mut self.half, 1);
        self.finish();
    }

    fn finish(&mut self) {
        self.weights.clone_from(&self.half);
        self.factor.solve_transposed(&mut self.weights, 1);
        if let Some((averages, spread)) = &mut self.averages {
            spread.resize(averages.nodes(), 0.0);
            averages.spread(&self.weights, spread);
        }
    }

    /// Extends the factor by points that already stand at the end of `x`, O(n²) for each. Returns false and changes nothing if the
    /// extended matrix is not positive definite, if the factor contains jitter, or if rows are averages.
    fn append(&mut self, covariance: &dyn Covariance, x: &Rows, y: &[f64], noise: &[f64]) -> bool {
        let (known, n) = (self.factor.len(), x.len());
        if self.jitter > 0.0 || self.averages.is_some() {
            return false;
        }
        let (mut pool, new, dim) = (Pool::default(), n - known, x.dim());
        let mut points = vec![0.0; dim * new];
        for (i, point) in points.chunks_exact_mut(dim).enumerate() {
            x.copy_point(known + i, point);
        }
        let (mut across, mut corner) = (vec![0.0; known * new], vec![0.0; new * new]);
        let mut column = vec![0.0; n];
        for (i, z) in points.chunks_exact(dim).enumerate() {
            covariance.values(CrossInputs { x: x.view(), z }, &mut column, &mut pool);
            across[i * known..(i + 1) * known].copy_from_slice(&column[..known]);
            corner[i * new..(i + 1) * new].copy_from_slice(&column[known..]);
            corner[i * new + i] += noise[known + i];
        }
        if self.factor.append(across, corner, new).is_err() {
            return false;
        }
        self.half.extend_from_slice(&y[known..]);
        self.factor.extend_solution(known, &mut self.half);
        self.noise.diagonal.extend_from_slice(&noise[known..]);
        self.finish();
        let finite = self.weights.iter().all(|w| w.is_finite());
        if !finite {
            self.truncate(known);
        }
        finite
    }

    /// Restores the posterior of the first `n` points.
    fn truncate(&mut self, n: usize) {
        self.factor.truncate(n);
        self.half.truncate(n);
        self.noise.diagonal.truncate(n);
        self.finish();
    }

    /// Removes the points `removed` (ascending indices); `y` are the targets that remain.
    fn remove(&mut self, removed: &[usize], y: &[f64]) {
        // Removed in descending order, so that the remaining indices stay valid.
        for &i in removed.iter().rev() {
            self.factor.remove(i);
            self.noise.diagonal.remove(i);
        }
        self.solve(y);
    }

    /// Increases the noise variance of some points by rank-one updates of the factor.
    fn raise_noise(&mut self, noise: &[f64], y: &[f64]) {
        for (i, new) in noise.iter().enumerate() {
            let delta = new - self.noise.diagonal[i];
            if delta > 0.0 {
                self.factor.add_to_diagonal(i, delta);
            }
        }
        self.noise.diagonal.copy_from_slice(noise);
        self.solve(y);
    }
}

/// The posterior through m inducing points, a subset of the data: the optimal variational Gaussian of [Tit09], computed as in
/// [Bur20]. For averages the inducing points are some of their nodes, and Kₙₘ is W times the covariances with the nodes.
/// Correlations of the noise are neglected. O(n m²).
///
/// ```text
/// Kₘₘ = L Lᵀ,   B = I + L⁻¹ Kₘₙ N⁻¹ Kₙₘ L⁻ᵀ = R Rᵀ
/// μ = kᵀ L⁻ᵀ B⁻¹ L⁻¹ Kₘₙ N⁻¹ y,   σ² = k(z, z) − |L⁻¹ k|² + |R⁻¹ L⁻¹ k|²
/// ```
#[derive(Clone, Debug)]
pub(super) struct Inducing {
    points: Rows,
    prior: Cholesky,
    inner: Cholesky,
    weights: Vec<f64>,
    jitter: f64,
}

/// Noise variances below this value (standardised units) are raised to it: B would otherwise be too ill-conditioned to factorise.
const LEAST_NOISE: f64 = 1e-10;

impl Inducing {
    fn new(
        covariance: &dyn Covariance,
        inputs: &Inputs,
        y: &[f64],
        noise: &[f64],
        chosen: &[usize],
    ) -> Option<Self> {
        let (n, m, x, mut pool) = (inputs.len(), chosen.len(), &inputs.x, Pool::default());
        let points = Inputs { x: x.select(chosen), averages: None };
        let (prior, jitter) = factorize(covariance, &points, &NoiseMatrix::none(m))?;
        let points = points.x;

        // Limits ‖V Vᵀ‖ ≤ Σ k(xᵢ, xᵢ)/Nᵢ, so that the identity in B is not lost to rounding.
        let smallest = LEAST_NOISE.max(1e-12 * n as f64 * mean_diagonal(covariance, x));
        // V = L⁻¹ Kₘₙ N^(−½), in blocks of columns; B = I + V Vᵀ, b = V N^(−½) y.
        let (mut b, mut right) = (vec![0.0; m * m], vec![0.0; m]);
        for i in 0..m {
            b[i * m + i] = 1.0;
        }
        let block = 256.min(n);
        let (mut z, mut node) = (vec![0.0; x.dim()], vec![0.0; m]);
        let mut v = vec![0.0; m * block];
        let mut start = 0;
        while start < n {
            let count = block.min(n - start);
            let v = &mut v[..m * count];
            for (i, column) in v.chunks_exact_mut(m).enumerate() {
                match &inputs.averages {
                    None => {
                        x.copy_point(start + i, &mut z);
                        covariance.values(CrossInputs { x: points.view(), z: &z }, column, &mut pool);
                    }
                    Some(averages) => {
                        column.fill(0.0);
                        for q in averages.of(start + i) {
                            x.copy_point(q, &mut z);
                            covariance.values(CrossInputs { x: points.view(), z: &z }, &mut node, &mut pool);
                            axpy(averages.weights(q..q + 1)[0], &node, column);
                        }
                    }
                }
                let root = noise[start + i].max(smallest).sqrt();
                for k in column {
                    *k /= root;
                }
            }
            prior.solve_lower(v, count);
            add_products(v, m, &mut b);
            for (i, column) in v.chunks_exact(m).enumerate() {
                let scaled = y[start + i] / noise[start + i].max(smallest).sqrt();
                axpy(scaled, column, &mut right);
            }
            start += count;
        }
        let inner = Cholesky::new(&b, m).ok()?;
        inner.solve_lower(&mut right, 1);
        inner.solve_transposed(&mut right, 1);
        prior.solve_transposed(&mut right, 1);
        let inducing = Inducing { points, prior, inner, weights: right, jitter };
        inducing.weights.iter().all(|w| w.is_finite()).then_some(inducing)
    }
}

/// Adds V Vᵀ to the lower triangle of B, both column-major; V has m rows.
fn add_products(v: &[f64], m: usize, b: &mut [f64]) {
    let count = v.len() / m;
    let mut rows = vec![0.0; v.len()];
    for (i, row) in rows.chunks_exact_mut(count).enumerate() {
        for (k, value) in row.iter_mut().enumerate() {
            *value = v[k * m + i];
        }
    }
    let mut memory = vec![0.0; Block::room(count, m)];
    Block::pack(&rows, count, m, &mut memory).add_gram(1.0, b);
}

/// Selects up to `count` inducing points from the data by a pivoted Cholesky factorisation: each new point has the largest
/// posterior variance given the points selected before it. Stops early if this variance falls below 1e-9 of the largest prior
/// variance. O(n · count²).
pub(super) fn select_inducing(covariance: &dyn Covariance, x: &Rows, count: usize) -> Vec<usize> {
    let mut pivoted = Pivoted::new(covariance, x);
    let smallest = 1e-9 * pivoted.left.iter().fold(0.0, |a: f64, b| a.max(*b));
    while pivoted.chosen.len() < count.min(x.len()) {
        let next = pivoted.largest(&[]);
        // Select at smallest one point. If the kernel vanishes or overflows at all points, the factorisation reports the failure.
        if !(pivoted.left[next] > smallest) && !pivoted.chosen.is_empty() {
            break;
        }
        pivoted.add(next);
    }
    pivoted.chosen
}

/// The posterior of one output, exact or through inducing points.
#[derive(Clone, Debug)]
pub(super) enum Conditioning {
    Exact(Exact),
    Inducing(Box<Inducing>),
}

impl Conditioning {
    /// Conditions on the data, through the `chosen` inducing points if given. `None` if the factorisation fails with every jitter.
    pub(super) fn new(
        covariance: &dyn Covariance,
        inputs: &Inputs,
        targets: &Targets,
        noise_factor: f64,
        chosen: Option<&[usize]>,
    ) -> Option<Self> {
        let noise = NoiseMatrix::of(targets, noise_factor);
        match chosen {
            None => Exact::new(covariance, inputs, &targets.y, noise).map(Conditioning::Exact),
            Some(chosen) => Inducing::new(covariance, inputs, &targets.y, &noise.diagonal, chosen)
                .map(|inducing| Conditioning::Inducing(Box::new(inducing))),
        }
    }

    /// Extends an exact posterior, see [`Exact::append`]. Returns false for an inducing approximation, which must be recomputed.
    pub(super) fn append(
        &mut self,
        covariance: &dyn Covariance,
        x: &Rows,
        targets: &Targets,
        factor: f64,
    ) -> bool {
        let noise: Vec<f64> = targets.noise.iter().map(|v| v * factor).collect();
        match self {
            Conditioning::Exact(exact) => exact.append(covariance, x, &targets.y, &noise),
            Conditioning::Inducing(_) => false,
        }
    }

    /// Restores the posterior of the first `n` points, to undo an [`append`](Self::append).
    pub(super) fn truncate(&mut self, n: usize) {
        if let Conditioning::Exact(exact) = self {
            exact.truncate(n);
        }
    }

    /// Removes the points `removed` (ascending indices); `targets` are those that remain. Returns false if the posterior must be
    /// recomputed.
    pub(super) fn remove(&mut self, removed: &[usize], targets: &Targets) -> bool {
        match self {
            // One removal costs about n² operations, a new factorisation n³/3.
            Conditioning::Exact(exact)
                if exact.jitter == 0.0
                    && exact.averages.is_none()
                    && removed.len() < exact.factor.len() / 3 =>
            {
                exact.remove(removed, &targets.y);
                true
            }
            _ => false,
        }
    }

    /// Takes over increased noise variances. Returns false if the posterior must be recomputed.
    pub(super) fn raise_noise(&mut self, targets: &Targets, factor: f64) -> bool {
        let Conditioning::Exact(exact) = self else { return false };
        let noise: Vec<f64> = targets.noise.iter().map(|v| v * factor).collect();
        let changed = noise.iter().zip(&exact.noise.diagonal).filter(|(new, old)| new != old).count();
        let lowered = noise.iter().zip(&exact.noise.diagonal).any(|(new, old)| new < old);
        let linked = !exact.noise.links.is_empty();
        if lowered || linked || exact.jitter > 0.0 || changed >= exact.factor.len() / 3 {
            return false;
        }
        exact.raise_noise(&noise, &targets.y);
        true
    }

    /// The points that k(z) refers to: the data, their nodes, or the inducing points.
    pub(super) fn basis<'a>(&'a self, inputs: &'a Inputs) -> &'a Rows {
        match self {
            Conditioning::Exact(_) => &inputs.x,
            Conditioning::Inducing(inducing) => &inducing.points,
        }
    }

    /// The weights α of the mean μ(z) = k(z)ᵀ α.
    pub(super) fn weights(&self) -> &[f64] {
        match self {
            Conditioning::Exact(exact) => {
                exact.averages.as_ref().map_or(&exact.weights, |(_, spread)| spread)
            }
            Conditioning::Inducing(inducing) => &inducing.weights,
        }
    }

    /// The relative jitter that was needed for the factorisation.
    pub(super) fn jitter(&self) -> f64 {
        match self {
            Conditioning::Exact(exact) => exact.jitter,
            Conditioning::Inducing(inducing) => inducing.jitter,
        }
    }

    /// The averaging matrix W of the data, if rows are averages.
    fn averages(&self) -> Option<&Averages> {
        match self {
            Conditioning::Exact(exact) => exact.averages.as_ref().map(|(averages, _)| &**averages),
            Conditioning::Inducing(_) => None,
        }
    }

    /// Length of the columns that [`whiten`](Self::whiten) computes.
    pub(super) fn rank(&self) -> usize {
        match self {
            Conditioning::Exact(exact) => exact.factor.len(),
            Conditioning::Inducing(inducing) => inducing.prior.len(),
        }
    }

    /// Computes kᵀ A k for each column of `k`, and A k into `weights` if given.
    pub(super) fn reduce(&self, k: &[f64], weights: Option<&mut [f64]>, out: &mut [f64], pool: &mut Pool) {
        let Some(averages) = self.averages() else {
            self.reduce_rows(k, weights, out, pool);
            return;
        };
        let size = averages.len() * out.len();
        let (mut rows, mut solved) = (pool.take(size), pool.take(if weights.is_some() { size } else { 0 }));
        averages.average(k, &mut rows);
        self.reduce_rows(&rows, weights.is_some().then_some(&mut solved[..]), out, pool);
        if let Some(weights) = weights {
            averages.spread(&solved, weights);
        }
        pool.give(solved);
        pool.give(rows);
    }

    /// Computes kᵀ A k and A k for columns that are already multiplied by W.
    fn reduce_rows(&self, k: &[f64], weights: Option<&mut [f64]>, out: &mut [f64], pool: &mut Pool) {
        let columns = out.len();
        let basis = match self {
            Conditioning::Exact(exact) => &exact.factor,
            Conditioning::Inducing(inducing) => &inducing.prior,
        };
        let room = Block::room(basis.len(), columns);
        let mut memory = pool.take(room);
        let mut v = Block::pack(k, basis.len(), columns, &mut memory);
        v.solve(basis.lower());
        v.square_norms(out);
        match self {
            Conditioning::Exact(_) if weights.is_none() => {}
            Conditioning::Exact(_) => v.solve_transposed(basis.lower()),
            Conditioning::Inducing(inducing) => {
                let (mut copy, mut squares) = (pool.take(room), pool.take(columns));
                copy.copy_from_slice(v.numbers());
                let mut u = Block::over(&mut copy, basis.len(), columns);
                u.solve(inducing.inner.lower());
                u.square_norms(&mut squares);
                axpy(-1.0, &squares, out);
                if weights.is_some() {
                    u.solve_transposed(inducing.inner.lower());
                    axpy(-1.0, u.numbers(), v.numbers_mut());
                    v.solve_transposed(basis.lower());
                }
                pool.give(squares);
                pool.give(copy);
            }
        }
        if let Some(weights) = weights {
            v.unpack(weights);
        }
        pool.give(memory);
    }

    /// Computes L⁻¹ W k for each of the `columns` columns of `block` into `out`. With inducing points it also appends R⁻¹ L⁻¹ k to
    /// `second`.
    pub(super) fn whiten(&self, block: &[f64], columns: usize, out: &mut [f64], second: &mut Vec<f64>) {
        match self.averages() {
            None => out.copy_from_slice(block),
            Some(averages) => averages.average(block, out),
        }
        match self {
            Conditioning::Exact(exact) => exact.factor.solve_lower(out, columns),
            Conditioning::Inducing(inducing) => {
                inducing.prior.solve_lower(out, columns);
                let start = second.len();
                second.extend_from_slice(out);
                inducing.inner.solve_lower(&mut second[start..], columns);
            }
        }
    }

    /// Subtracts kᵀ A k′ of all pairs of the `count` columns of `k` from the lower triangle of the matrix `out`.
    pub(super) fn subtract_products(&self, k: Vec<f64>, count: usize, out: &mut [f64]) {
        let n = self.rank();
        let k = match self.averages() {
            None => k,
            Some(averages) => {
                let mut rows = vec![0.0; n * count];
                averages.average(&k, &mut rows);
                rows
            }
        };
        let mut memory = vec![0.0; Block::room(n, count)];
        let mut v = Block::pack(&k, n, count, &mut memory);
        match self {
            Conditioning::Exact(exact) => {
                v.solve(exact.factor.lower());
                v.add_gram(-1.0, out);
            }
            Conditioning::Inducing(inducing) => {
                v.solve(inducing.prior.lower());
                v.add_gram(-1.0, out);
                v.solve(inducing.inner.lower());
                v.add_gram(1.0, out);
            }
        }
    }

    /// Computes the weights v of a posterior sample f(z) = prior sample(z) + k(z)ᵀ v, given the prior sample at the basis points.
    ///
    /// Exact: v = Wᵀ (K + N)⁻¹ (y − W draw − ε). Inducing: v = Kₘₘ⁻¹ (u − draw), where u = μ + L R⁻ᵀ ξ is a sample of the values at
    /// the inducing points, ξ ~ N(0, I).
    pub(super) fn path_weights(&self, y: &[f64], draw: &[f64], rng: &mut Rng) -> Vec<f64> {
        match self {
            Conditioning::Exact(exact) => {
                let mut rows = draw.to_vec();
                if let Some((averages, _)) = &exact.averages {
                    rows.resize(averages.len(), 0.0);
                    averages.average(draw, &mut rows);
                }
                let noise = exact.noise.draw(rng);
                let each = y.iter().zip(&rows).zip(&noise);
                let mut v: Vec<f64> = each.map(|((y, d), noise)| y - d - noise).collect();
                exact.factor.solve_lower(&mut v, 1);
                exact.factor.solve_transposed(&mut v, 1);
                let Some((averages, _)) = &exact.averages else { return v };
                let mut spread = vec![0.0; averages.nodes()];
                averages.spread(&v, &mut spread);
                spread
            }
            Conditioning::Inducing(inducing) => {
                // Kₘₘ⁻¹ u = α + L⁻ᵀ R⁻ᵀ ξ.
                let mut noise: Vec<f64> = draw.iter().map(|_| rng.normal()).collect();
                inducing.inner.solve_transposed(&mut noise, 1);
                inducing.prior.solve_transposed(&mut noise, 1);
                let mut prior = draw.to_vec();
                inducing.prior.solve_lower(&mut prior, 1);
                inducing.prior.solve_transposed(&mut prior, 1);
                let each = inducing.weights.iter().zip(&noise).zip(&prior);
                each.map(|((a, noise), prior)| a + noise - prior).collect()
            }
        }
    }

    /// The information gain I(y; f) = ½ ln det(I + N⁻¹ K) = Σ ln(Lᵢᵢ/√Nᵢ), where √Nᵢ is the diagonal of the Cholesky factor of N.
    /// With inducing points ½ ln det B, which is a lower bound of it.
    pub(super) fn information_gain(&self) -> f64 {
        self.information_gain_from(0)
    }

    /// The part of the information gain that the points from index `known` on, added by [`append`](Self::append), contribute.
    pub(super) fn information_gain_from(&self, known: usize) -> f64 {
        match self {
            Conditioning::Exact(exact) => {
                let (noise, _) = exact.noise.factor();
                (known..exact.factor.len())
                    .map(|i| {
                        (exact.factor.pivot(i) / noise[i].max(LEAST_NOISE * LEAST_NOISE).sqrt()).ln().max(0.0)
                    })
                    .sum()
            }
            Conditioning::Inducing(inducing) => 0.5 * inducing.inner.log_determinant(),
        }
    }

    /// Leave-one-out residuals yᵢ − μ₋ᵢ(zᵢ) and variances σ²₋ᵢ(zᵢ) of f (without noise), in closed form [Ras06, eq. 5.12]:
    ///
    /// ```text
    /// yᵢ − μ₋ᵢ = αᵢ/A_ii,   σ²₋ᵢ = 1/A_ii − Nᵢ
    /// ```
    ///
    /// O(n³/3). `None` for an inducing approximation.
    pub(super) fn leave_one_out(&self) -> Option<Vec<LeaveOneOut>> {
        let Conditioning::Exact(exact) = self else { return None };
        let diagonal = exact.factor.inverse_diagonal();
        let each = diagonal.iter().zip(&exact.weights).zip(&exact.noise.diagonal);
        Some(
            each.map(|((a, alpha), noise)| LeaveOneOut {
                residual: alpha / a,
                variance: (1.0 / a - noise).max(0.0),
                noise: *noise,
            })
            .collect(),
        )
    }
}

/// The leave-one-out prediction of one measurement, in standardised units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeaveOneOut {
    /// The residual yᵢ − μ₋ᵢ.
    pub(super) residual: f64,
    /// The variance σ²₋ᵢ of f.
    pub(super) variance: f64,
    /// The noise variance.
    pub(super) noise: f64,
}
