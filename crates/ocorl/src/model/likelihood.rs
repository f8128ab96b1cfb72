//! The marginal likelihood of one output and its gradient [Ras06, eq. 5.8 and 5.9]:
//!
//! ```text
//! ln p(y) = −½ yᵀα − ½ ln det(K + N) − (n/2) ln 2π,   α = (K + N)⁻¹ y
//! ∂ ln p/∂θ = ½ tr((α αᵀ − (K + N)⁻¹) ∂K/∂θ)
//! ```
//!
//! One evaluation costs n³: a factor, its inverse, and the inverse of K + N. Kernel and gradient are O(n² d) beside it.

use super::conditioning::gram;
use super::kernels::{Against, Kernel};
use super::pool::Pool;
use super::targets::Targets;
use crate::linalg::Rows;
use crate::linalg::panels::{self, Block, GRAM_COLUMNS, Inverse, Lower, Triangle, WIDTH};

/// The data of one output with the memory that evaluations need.
pub(super) struct Likelihood<'a> {
    kernel: &'a dyn Kernel,
    x: &'a Rows,
    targets: &'a Targets,
    /// The lower triangle of K, column after column: the gradient needs it again.
    kernel_matrix: Vec<f64>,
    /// K + N, then its factor L.
    factor: Triangle,
    reciprocals: Vec<f64>,
    /// L⁻¹
    inverse: Inverse,
    /// A few columns of α αᵀ − (K + N)⁻¹.
    columns: Vec<f64>,
    pool: Pool,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(kernel: &'a dyn Kernel, x: &'a Rows, targets: &'a Targets) -> Self {
        let n = x.len();
        let inverse = Inverse::zeros(n);
        Likelihood {
            kernel,
            x,
            targets,
            kernel_matrix: vec![0.0; n * (n + 1) / 2],
            factor: Triangle::zeros(n),
            reciprocals: Vec::new(),
            columns: vec![0.0; inverse.gram().room()],
            inverse,
            pool: Pool::default(),
        }
    }

    /// Number of distinct inputs.
    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    /// ln p(y) without the constant of merged copies, and its gradient into `gradient` (kernel parameters, then ln of the noise factor)
    /// if it is not empty. None if the
    /// covariance matrix is not positive definite or something is not finite.
    pub(super) fn evaluate(
        &mut self,
        log_parameters: &[f64],
        log_noise: f64,
        gradient: &mut [f64],
    ) -> Option<f64> {
        let (n, dim, factor) = (self.x.len(), self.x.dim(), log_noise.exp());
        let covariance = self.kernel.bind(log_parameters, dim);
        let mut noise = self.pool.take(n);
        for (noise, own) in noise.iter_mut().zip(&self.targets.noise) {
            *noise = own * factor;
        }
        let (factor, mut rest) = (&mut self.factor, &mut self.kernel_matrix[..]);
        gram(&*covariance, self.x, &mut self.pool, |j, column| {
            let (kept, after) = std::mem::take(&mut rest).split_at_mut(column.len());
            kept.copy_from_slice(column);
            rest = after;
            column[0] += noise[j];
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

    /// Factorises the matrix in place; the value without the constant of merged copies, and α.
    fn factorize(&mut self) -> Option<(f64, Vec<f64>)> {
        let n = self.x.len();
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
        let n = self.x.len();
        self.inverse.assign(Lower::new(&self.factor, &self.reciprocals));
        out.fill(0.0);
        let (parameters, noise_slope) = out.split_at_mut(out.len() - 1);
        let (gram, pool) = (self.inverse.gram(), &mut self.pool);
        let mut z = pool.take(self.x.dim());
        let mut kernel_columns = &self.kernel_matrix[..];
        for j in 0..n {
            if j % GRAM_COLUMNS == 0 {
                gram.negative(j / WIDTH, &mut self.columns);
            }
            let w = &mut self.columns[j % GRAM_COLUMNS * gram.rows()..][j..n];
            // The matrix is symmetric: what stands below the diagonal counts twice.
            for (w, a) in w.iter_mut().zip(&alpha[j..]) {
                *w += alpha[j] * a;
            }
            w[0] *= 0.5;
            noise_slope[0] += w[0] * noise[j];
            let (k, after) = kernel_columns.split_at(n - j);
            kernel_columns = after;
            self.x.copy_point(j, &mut z);
            let pair = Against { x: self.x.view().from(j), z: &z };
            covariance.parameter_gradient(pair, k, w, parameters, pool);
        }
        pool.give(z);
    }
}
