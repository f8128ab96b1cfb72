//! The log marginal likelihood of one output and its gradient [Ras06, eq. 5.8 and 5.9]:
//!
//! ```text
//! ln p(y) = −½ yᵀα − ½ ln det(K + N) − (n/2) ln 2π,   α = (K + N)⁻¹ y
//! ∂ ln p/∂θ = ½ tr((α αᵀ − (K + N)⁻¹) ∂K/∂θ)
//! ```
//!
//! One evaluation costs O(n³): the Cholesky factor, its inverse, and the inverse of K + N. The kernel and its gradient add O(n² d).
//! An evaluation fails if K + N is not numerically positive definite; no jitter is added here, so that the search avoids such
//! parameters.

use super::inputs::Inputs;
use super::kernels::{CrossInputs, Kernel};
use super::noise::add_noise;
use super::targets::Targets;
use crate::linalg::Pool;
use crate::linalg::panels::{self, Block, GRAM_COLUMNS, Inverse, Lower, Triangle, WIDTH};

/// The data of one output with the scratch memory of evaluations.
pub(super) struct Likelihood<'a> {
    kernel: &'a dyn Kernel,
    inputs: &'a Inputs,
    targets: &'a Targets,
    /// The columns of K, one after the other; the gradient reuses them.
    kernel_matrix: Vec<f64>,
    /// K + N, overwritten by its Cholesky factor L.
    factor: Triangle,
    reciprocals: Vec<f64>,
    /// L⁻¹
    inverse: Inverse,
    /// A few columns of α αᵀ − (K + N)⁻¹.
    columns: Vec<f64>,
    /// Off-diagonal covariances of the noise (row, column, value), times the noise factor.
    links: Vec<(usize, usize, f64)>,
    pool: Pool,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(kernel: &'a dyn Kernel, inputs: &'a Inputs, targets: &'a Targets) -> Self {
        let n = inputs.len();
        let inverse = Inverse::zeros(n);
        Likelihood {
            kernel,
            inputs,
            targets,
            kernel_matrix: vec![0.0; inputs.kept()],
            factor: Triangle::zeros(n),
            reciprocals: Vec::new(),
            columns: vec![0.0; inverse.gram().room()],
            inverse,
            links: Vec::new(),
            pool: Pool::default(),
        }
    }

    /// Number of distinct inputs.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Computes ln p(y) without the constant of merged copies and, unless `gradient` is empty, its gradient (kernel parameters,
    /// then the logarithm of the noise factor). `None` if the covariance matrix is not positive definite or a value is not finite.
    pub(super) fn evaluate(
        &mut self,
        log_parameters: &[f64],
        log_noise: f64,
        gradient: &mut [f64],
    ) -> Option<f64> {
        let (n, dim, factor) = (self.inputs.len(), self.inputs.dim(), log_noise.exp());
        let covariance = self.kernel.bind(log_parameters, dim);
        let mut noise = self.pool.take(n);
        for (noise, own) in noise.iter_mut().zip(&self.targets.noise) {
            *noise = own * factor;
        }
        self.links.clear();
        self.links.extend(self.targets.links.iter().map(|&(i, j, value)| (i, j, value * factor)));
        let (factor, links, mut rest) = (&mut self.factor, &mut &self.links[..], &mut self.kernel_matrix[..]);
        let keep = |column: &[f64]| {
            let (kept, after) = std::mem::take(&mut rest).split_at_mut(column.len());
            kept.copy_from_slice(column);
            rest = after;
        };
        self.inputs.gram(&*covariance, &mut self.pool, keep, |j, column| {
            add_noise(j, noise[j], links, column);
            factor.set_column(j, column);
        });
        let factorized = self.factorize();
        let value = factorized.map(|(value, alpha)| {
            let (constant, slope) = self.targets.log_change(log_noise);
            if !gradient.is_empty() {
                self.gradient(&*covariance, &alpha, &noise, gradient);
                gradient[log_parameters.len()] += slope;
            }
            self.pool.give(alpha);
            value + constant
        });
        self.pool.give(noise);
        value.filter(|v| v.is_finite() && gradient.iter().all(|g| g.is_finite()))
    }

    /// Factorises the matrix in place and returns ln p(y) without the constant of merged copies, and α.
    fn factorize(&mut self) -> Option<(f64, Vec<f64>)> {
        let n = self.inputs.len();
        panels::factorize(&mut self.factor, &mut self.reciprocals).ok()?;
        let log_determinant = 2.0 * (0..n).map(|i| self.factor.get(i, i).ln()).sum::<f64>();
        let mut memory = self.pool.take(Block::room(n, 1));
        let mut alpha = Block::pack(&self.targets.y, n, 1, &mut memory);
        let (l, mut square) = (Lower::new(&self.factor, &self.reciprocals), [0.0]);
        alpha.solve(l);
        alpha.square_norms(&mut square);
        alpha.solve_transposed(l);
        Some((-0.5 * (square[0] + log_determinant + n as f64 * std::f64::consts::TAU.ln()), memory))
    }

    fn gradient(
        &mut self,
        covariance: &dyn super::kernels::Covariance,
        alpha: &[f64],
        noise: &[f64],
        out: &mut [f64],
    ) {
        let Inputs { x, averages } = self.inputs;
        let n = self.inputs.len();
        self.inverse.assign(Lower::new(&self.factor, &self.reciprocals));
        out.fill(0.0);
        let (parameters, noise_slope) = out.split_at_mut(out.len() - 1);
        let (gram, pool, mut links) = (self.inverse.gram(), &mut self.pool, self.links.iter().peekable());
        let (mut z, mut spread) = (pool.take(x.dim()), pool.take(averages.as_ref().map_or(0, |a| a.nodes())));
        let mut kernel_columns = &self.kernel_matrix[..];
        for j in 0..n {
            if j % GRAM_COLUMNS == 0 {
                gram.negative(j / WIDTH, &mut self.columns);
            }
            let w = &mut self.columns[j % GRAM_COLUMNS * gram.rows()..][j..n];
            // The matrix is symmetric, so entries below the diagonal count twice.
            for (w, a) in w.iter_mut().zip(&alpha[j..]) {
                *w += alpha[j] * a;
            }
            w[0] *= 0.5;
            noise_slope[0] += w[0] * noise[j];
            while let Some((i, _, value)) = links.next_if(|link| link.1 == j) {
                noise_slope[0] += w[i - j] * value;
            }
            // ∂(W K Wᵀ)ᵢⱼ is a sum over the nodes of both rows.
            let nodes = averages.as_ref().map_or(j..j + 1, |a| a.of(j));
            let begin = nodes.start;
            for q in nodes {
                let w: &[f64] = match averages {
                    None => w,
                    Some(a) => {
                        a.spread_from(j, w, a.weights(q..q + 1)[0], &mut spread[begin..]);
                        &spread[begin..]
                    }
                };
                let (k, after) = kernel_columns.split_at(x.len() - begin);
                kernel_columns = after;
                x.copy_point(q, &mut z);
                let pair = CrossInputs { x: x.view().from(begin), z: &z };
                covariance.parameter_gradient(pair, k, w, parameters, pool);
            }
        }
        pool.give(spread);
        pool.give(z);
    }
}
