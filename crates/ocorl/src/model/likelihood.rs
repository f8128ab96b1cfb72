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
use crate::linalg::dense::{self, Matrix};
use crate::linalg::{Rows, vector};

/// The data of one output with the memory that evaluations need.
pub(super) struct Likelihood<'a> {
    kernel: &'a dyn Kernel,
    x: &'a Rows,
    targets: &'a Targets,
    /// K + N, its factor, and its inverse, one after the other.
    matrix: Vec<f64>,
    inverse: Vec<f64>,
    pool: Pool,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(kernel: &'a dyn Kernel, x: &'a Rows, targets: &'a Targets) -> Self {
        let size = x.len() * x.len();
        Likelihood {
            kernel,
            x,
            targets,
            matrix: vec![0.0; size],
            inverse: vec![0.0; size],
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
        gram(&*covariance, self.x, &noise, &mut self.matrix, n, &mut self.pool);
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
        dense::cholesky(&mut self.matrix, n, n).ok()?;
        let mut log_determinant = 0.0;
        for i in 0..n {
            let pivot = self.matrix[i * n + i];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            log_determinant += 2.0 * pivot.ln();
        }
        let mut alpha = self.pool.take(n);
        alpha.copy_from_slice(&self.targets.y);
        let l = Matrix::new(&self.matrix, n, n);
        dense::solve_lower(l, &mut alpha, 1);
        let square = vector::dot(&alpha, &alpha);
        dense::solve_lower_transposed(l, &mut alpha, 1);
        Some((-0.5 * (square + log_determinant + n as f64 * std::f64::consts::TAU.ln()), alpha))
    }

    fn gradient(
        &mut self,
        covariance: &dyn super::kernels::Covariance,
        alpha: &[f64],
        noise: &[f64],
        out: &mut [f64],
    ) {
        let n = self.x.len();
        dense::invert_lower(Matrix::new(&self.matrix, n, n), &mut self.inverse);
        dense::lower_gram(Matrix::new(&self.inverse, n, n), &mut self.matrix);
        out.fill(0.0);
        let (parameters, noise_slope) = out.split_at_mut(out.len() - 1);
        let pool = &mut self.pool;
        let (mut z, mut k, mut w) = (pool.take(self.x.dim()), pool.take(n), pool.take(n));
        for j in 0..n {
            let inverse = &self.matrix[j * n + j..(j + 1) * n];
            let (k, w) = (&mut k[j..], &mut w[j..]);
            // The matrix is symmetric: what stands below the diagonal counts twice.
            for ((w, a), inverse) in w.iter_mut().zip(&alpha[j..]).zip(inverse) {
                *w = alpha[j] * a - inverse;
            }
            w[0] *= 0.5;
            noise_slope[0] += w[0] * noise[j];
            self.x.copy_point(j, &mut z);
            let pair = Against { x: self.x.view().from(j), z: &z };
            covariance.values(pair, k, pool);
            covariance.parameter_gradient(pair, k, w, parameters, pool);
        }
        pool.give(w);
        pool.give(k);
        pool.give(z);
    }
}
