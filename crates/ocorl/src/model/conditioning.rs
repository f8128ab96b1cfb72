//! A Gaussian process of one output, conditioned on data: exactly, or through inducing points.
//!
//! Both are of the form (in standardised units)
//!
//! ```text
//! μ(z) = k(z)ᵀ α,   σ²(z) = k(z, z) − k(z)ᵀ A k(z)
//! ```
//!
//! with k(z) the covariances with the data, or with the inducing points. Exactly: A = (K + N)⁻¹ = L⁻ᵀ L⁻¹, α = A y. Where rows of the data
//! are averages W f, k(z) are covariances with their nodes, A = Wᵀ (W K Wᵀ + N)⁻¹ W and α = Wᵀ (W K Wᵀ + N)⁻¹ y.

use super::inputs::{Averages, Inputs};
use super::kernels::{Against, Covariance};
use super::noise::{NoiseMatrix, add_noise};
use super::pool::Pool;
use super::targets::Targets;
use crate::linalg::panels::{Block, Triangle};
use crate::linalg::small::axpy;
use crate::linalg::{Cholesky, Points, Rows};
use crate::random::Rng;
use std::sync::Arc;

/// Fractions of the mean diagonal that are added, one after the other, until the matrix can be factorised.
const JITTERS: [f64; 8] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6];

/// The largest of them.
pub(super) const LARGEST_JITTER: f64 = JITTERS[JITTERS.len() - 1];

/// A factor with the fraction of the diagonal that had to be added.
type Factorized = (Cholesky, f64);

/// Factorises the covariances of the data with `noise` added: plainly, and if that fails with ever more jitter, as a fraction of the mean
/// of k(xᵢ, xᵢ).
fn factorize(covariance: &dyn Covariance, inputs: &Inputs, noise: &NoiseMatrix) -> Option<Factorized> {
    let scale = mean_diagonal(covariance, &inputs.x);
    if !scale.is_finite() {
        return None;
    }
    // A prior that knows f at all data (a line through its one point) is no reason to give up.
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

/// K(x, x), column after column, each from the diagonal on and in memory that may be changed.
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
        covariance.values(Against { x: x.view().from(j), z: &z }, column, pool);
        take(j, column);
    }
    pool.give(column);
    pool.give(z);
}

/// k(xᵢ, xᵢ) of all points.
pub(super) fn diagonal(covariance: &dyn Covariance, x: &Rows) -> Vec<f64> {
    let mut z = vec![0.0; x.dim()];
    let mut own = |i: usize| {
        x.copy_point(i, &mut z);
        covariance.diagonal(&z)
    };
    (0..x.len()).map(&mut own).collect()
}

/// The mean of k(xᵢ, xᵢ): what jitter is measured in. Noise must not be in it, or one useless measurement drowns all others.
fn mean_diagonal(covariance: &dyn Covariance, x: &Rows) -> f64 {
    diagonal(covariance, x).iter().sum::<f64>() / x.len().max(1) as f64
}

/// K(x, z) for many z: column i holds k(x, zᵢ).
fn cross(covariance: &dyn Covariance, x: &Rows, z: Points<'_>, pool: &mut Pool) -> Vec<f64> {
    let mut out = vec![0.0; x.len() * z.len()];
    if !x.is_empty() {
        for (i, column) in out.chunks_exact_mut(x.len()).enumerate() {
            covariance.values(Against { x: x.view(), z: z.at(i) }, column, pool);
        }
    }
    out
}

/// The exact posterior.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    factor: Cholesky,
    /// L⁻¹ y, kept because it grows with the factor.
    half: Vec<f64>,
    /// (K + N)⁻¹ y
    weights: Vec<f64>,
    /// Standardised covariances of the noise, the learned factor included.
    noise: NoiseMatrix,
    jitter: f64,
    /// W, and Wᵀ (K + N)⁻¹ y, if there is one.
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

    /// Takes in points that are already the last of `x`. False, and nothing changed, if the factor cannot grow, was jittered, or is of
    /// averages.
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
            covariance.values(Against { x: x.view(), z }, &mut column, &mut pool);
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

    /// Back to the first `n` points.
    fn truncate(&mut self, n: usize) {
        self.factor.truncate(n);
        self.half.truncate(n);
        self.noise.diagonal.truncate(n);
        self.finish();
    }

    /// Drops the points `gone` (ascending), y being what remains.
    fn remove(&mut self, gone: &[usize], y: &[f64]) {
        // From the last on, so that the numbers of the others stay what they are.
        for &i in gone.iter().rev() {
            self.factor.remove(i);
            self.noise.diagonal.remove(i);
        }
        self.solve(y);
    }

    /// Raises the noise variance of some points.
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

/// A posterior through m inducing points, a subset of the data: the optimal Gaussian of [Tit09], as in [Bur20]. Of averages the points are
/// some of their nodes, and Kₙₘ is W times the covariances with the nodes; correlations of the noise are left out.
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

/// Noise variances below this fraction of one are raised to it: an inducing approximation of noiseless data is no use.
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

        // B must not be so large that rounding drowns the one in it: |V Vᵀ| ≤ Σ k(xᵢ, xᵢ)/Nᵢ.
        let least = LEAST_NOISE.max(1e-12 * n as f64 * mean_diagonal(covariance, x));
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
                        covariance.values(Against { x: points.view(), z: &z }, column, &mut pool);
                    }
                    Some(averages) => {
                        column.fill(0.0);
                        for q in averages.of(start + i) {
                            x.copy_point(q, &mut z);
                            covariance.values(Against { x: points.view(), z: &z }, &mut node, &mut pool);
                            axpy(averages.weights(q..q + 1)[0], &node, column);
                        }
                    }
                }
                let root = noise[start + i].max(least).sqrt();
                for k in column {
                    *k /= root;
                }
            }
            prior.solve_lower(v, count);
            add_products(v, m, &mut b);
            for (i, column) in v.chunks_exact(m).enumerate() {
                let scaled = y[start + i] / noise[start + i].max(least).sqrt();
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

/// Chooses `count` of the points so that each is the one the chosen ones tell least about: a pivoted Cholesky factorisation.
/// O(n · count²). Fewer are chosen if nothing is left to tell.
pub(super) fn informative(covariance: &dyn Covariance, x: &Rows, count: usize) -> Vec<usize> {
    let (n, dim, mut pool) = (x.len(), x.dim(), Pool::default());
    let mut z = vec![0.0; dim];
    let mut left = diagonal(covariance, x);
    let least = 1e-9 * left.iter().fold(0.0, |a: f64, b| a.max(*b));
    let mut chosen: Vec<usize> = Vec::new();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while chosen.len() < count.min(n) {
        let (best, &variance) = left
            .iter()
            .enumerate()
            .fold((0, &f64::NEG_INFINITY), |best, (i, v)| if v > best.1 { (i, v) } else { best });
        // One at least: a kernel that vanishes or overflows at all points is the factorisation's business.
        if !(variance > least) && !chosen.is_empty() {
            break;
        }
        x.copy_point(best, &mut z);
        let mut column = vec![0.0; n];
        covariance.values(Against { x: x.view(), z: &z }, &mut column, &mut pool);
        for earlier in &columns {
            axpy(-earlier[best], earlier, &mut column);
        }
        let root = variance.sqrt();
        for (left, c) in left.iter_mut().zip(&mut column) {
            *c /= root;
            *left -= *c * *c;
        }
        left[best] = f64::NEG_INFINITY;
        chosen.push(best);
        columns.push(column);
    }
    chosen
}

/// One output, conditioned on its data.
#[derive(Clone, Debug)]
pub(super) enum Conditioning {
    Exact(Exact),
    Inducing(Box<Inducing>),
}

impl Conditioning {
    /// Conditions on the data; through `chosen` points if they are given. None if no jitter helps.
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

    /// See [`Exact::append`]; an inducing approximation is made anew instead.
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

    /// Back to the first `n` points, after an [`append`](Self::append) that is not wanted any more.
    pub(super) fn truncate(&mut self, n: usize) {
        if let Conditioning::Exact(exact) = self {
            exact.truncate(n);
        }
    }

    /// Drops the points `gone` (ascending), `targets` being what remains. False if it must be made anew.
    pub(super) fn remove(&mut self, gone: &[usize], targets: &Targets) -> bool {
        match self {
            // Each removal costs about n²; a new factor n³/3.
            Conditioning::Exact(exact)
                if exact.jitter == 0.0 && exact.averages.is_none() && gone.len() < exact.factor.len() / 3 =>
            {
                exact.remove(gone, &targets.y);
                true
            }
            _ => false,
        }
    }

    /// Takes over larger noise. False if it must be made anew.
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

    /// The points that k(z) refers to.
    pub(super) fn basis<'a>(&'a self, inputs: &'a Inputs) -> &'a Rows {
        match self {
            Conditioning::Exact(_) => &inputs.x,
            Conditioning::Inducing(inducing) => &inducing.points,
        }
    }

    /// α
    pub(super) fn weights(&self) -> &[f64] {
        match self {
            Conditioning::Exact(exact) => {
                exact.averages.as_ref().map_or(&exact.weights, |(_, spread)| spread)
            }
            Conditioning::Inducing(inducing) => &inducing.weights,
        }
    }

    /// The relative jitter that was needed.
    pub(super) fn jitter(&self) -> f64 {
        match self {
            Conditioning::Exact(exact) => exact.jitter,
            Conditioning::Inducing(inducing) => inducing.jitter,
        }
    }

    /// W, if there is one.
    fn averages(&self) -> Option<&Averages> {
        match self {
            Conditioning::Exact(exact) => exact.averages.as_ref().map(|(averages, _)| &**averages),
            Conditioning::Inducing(_) => None,
        }
    }

    /// Length of the columns that [`halve`](Self::halve) makes.
    pub(super) fn rank(&self) -> usize {
        match self {
            Conditioning::Exact(exact) => exact.factor.len(),
            Conditioning::Inducing(inducing) => inducing.prior.len(),
        }
    }

    /// kᵀ A k for each column of `k`, and A k into `weights` if it is given.
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

    /// The same for columns that are averaged already.
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

    /// L⁻¹ W k of each of the `columns` columns of `block` into `out`; through inducing points also R⁻¹ L⁻¹ k, appended to `second`.
    pub(super) fn halve(&self, block: &[f64], columns: usize, out: &mut [f64], second: &mut Vec<f64>) {
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

    /// Posterior covariances of the points z (standardised), P × P.
    pub(super) fn covariance(
        &self,
        covariance: &dyn Covariance,
        inputs: &Inputs,
        z: Points<'_>,
        out: &mut [f64],
    ) {
        let (count, mut pool) = (z.len(), Pool::default());
        let queries = Rows::from_points(z);
        gram(covariance, &queries, &mut pool, |j, column| {
            out[j * count + j..(j + 1) * count].copy_from_slice(column);
        });
        let mut v = cross(covariance, self.basis(inputs), z, &mut pool);
        let n = self.rank();
        if let Some(averages) = self.averages() {
            let mut rows = vec![0.0; n * count];
            averages.average(&v, &mut rows);
            v = rows;
        }
        let mut memory = vec![0.0; Block::room(n, count)];
        let mut v = Block::pack(&v, n, count, &mut memory);
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
        for j in 0..count {
            for i in 0..j {
                out[j * count + i] = out[i * count + j];
            }
        }
    }

    /// The weights v with f(z) = prior draw(z) + k(z)ᵀ v for a draw from the posterior, given the prior draw at the basis.
    ///
    /// Exact: v = Wᵀ (K + N)⁻¹ (y − W draw − ε). Inducing: v = Kₘₘ⁻¹ (u − draw), u = μ + L R⁻ᵀ ξ a draw of the values at the points, ξ ~ N(0, I).
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

    /// I(y; f) = ½ ln det(I + N⁻¹ K) = Σ ln(Lᵢᵢ/√Nᵢ), Nᵢ being the squared diagonal of the factor of N. Through inducing points ½ ln det B, which is at most that.
    pub(super) fn information_gain(&self) -> f64 {
        self.information_gain_from(0)
    }

    /// What the points from number `known` on, which were [appended](Self::append), have added to it.
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
    /// O(n³/3). None for an inducing approximation.
    pub(super) fn leave_one_out(&self) -> Option<Vec<LeftOut>> {
        let Conditioning::Exact(exact) = self else { return None };
        let diagonal = exact.factor.inverse_diagonal();
        let each = diagonal.iter().zip(&exact.weights).zip(&exact.noise.diagonal);
        Some(
            each.map(|((a, alpha), noise)| LeftOut {
                residual: alpha / a,
                variance: (1.0 / a - noise).max(0.0),
                noise: *noise,
            })
            .collect(),
        )
    }
}

/// A measurement against the model that has not seen it, in standardised units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeftOut {
    /// yᵢ − μ₋ᵢ
    pub(super) residual: f64,
    /// σ²₋ᵢ of f
    pub(super) variance: f64,
    /// Noise variance.
    pub(super) noise: f64,
}
