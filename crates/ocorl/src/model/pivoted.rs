//! Pivoted Cholesky factorisation of a kernel matrix, one point after the other: K ≈ Vᵀ V, V = L⁻¹ K(chosen, x).
//!
//! The residual K − Vᵀ V is the covariance of f at all points given its values at the chosen ones. Each new point is the one with the
//! largest residual variance, times an importance. One point costs O(n m), m points O(n m²).

use super::conditioning::diagonal;
use super::kernels::{Covariance, CrossInputs};
use crate::linalg::small::axpy;
use crate::linalg::{Pool, Rows};

/// A partial factorisation, which grows point by point.
pub(super) struct Pivoted<'a> {
    covariance: &'a dyn Covariance,
    x: &'a Rows,
    /// The chosen points, in the order of their choice.
    pub(super) chosen: Vec<usize>,
    /// The rows of V: one number for each point of x.
    pub(super) rows: Vec<Vec<f64>>,
    /// The residual variances of all points; those of the chosen points are zero.
    pub(super) left: Vec<f64>,
    pool: Pool,
}

impl<'a> Pivoted<'a> {
    /// A factorisation without points.
    pub(super) fn new(covariance: &'a dyn Covariance, x: &'a Rows) -> Self {
        let left = diagonal(covariance, x);
        Pivoted { covariance, x, chosen: Vec::new(), rows: Vec::new(), left, pool: Pool::default() }
    }

    /// The point with the largest product of residual variance and importance (one number for each point; empty if all are equal).
    pub(super) fn largest(&self, importance: &[f64]) -> usize {
        let value = |i: usize| self.left[i] * importance.get(i).copied().unwrap_or(1.0);
        let larger = |best: (usize, f64), i: usize| if value(i) > best.1 { (i, value(i)) } else { best };
        (0..self.left.len()).fold((0, f64::NEG_INFINITY), larger).0
    }

    /// Adds a point whose residual variance is not zero.
    pub(super) fn add(&mut self, point: usize) {
        let mut z = self.pool.take(self.x.dim());
        self.x.copy_point(point, &mut z);
        let mut row = vec![0.0; self.x.len()];
        self.covariance.values(CrossInputs { x: self.x.view(), z: &z }, &mut row, &mut self.pool);
        self.pool.give(z);
        for earlier in &self.rows {
            axpy(-earlier[point], earlier, &mut row);
        }
        let root = self.left[point].sqrt();
        for (left, v) in self.left.iter_mut().zip(&mut row) {
            *v /= root;
            *left -= *v * *v;
        }
        self.left[point] = 0.0;
        self.chosen.push(point);
        self.rows.push(row);
    }
}
