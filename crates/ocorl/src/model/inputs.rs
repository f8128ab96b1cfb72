//! Inputs of the data: points, or weighted averages over several nodes.
//!
//! Row i of the data is a weighted sum of f over the nodes z_q that belong to it (an average of f along a trajectory, for example).
//! With W the matrix of weights, one row for each row of the data,
//!
//! ```text
//! y = W f(nodes) + ε,   cov y = W K Wᵀ + N,   μ(z) = k(z)ᵀ Wᵀ α,   σ²(z) = k(z, z) − (W k(z))ᵀ (W K Wᵀ + N)⁻¹ (W k(z))
//! ```
//!
//! K is the covariance matrix of f at the nodes, k(z) the covariances of f(z) with f at the nodes, N the covariance of the noise.
//! If all rows are points, W is the identity; it is then not stored and not multiplied.

use super::conditioning::gram;
use super::kernels::{Covariance, CrossInputs};
use crate::linalg::{Points, Pool, Rows};
use std::sync::Arc;

/// The sparse weight matrix W. Nodes are stored in the order of the rows they belong to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Averages {
    /// Index one past the last node of each row.
    ends: Vec<usize>,
    weights: Vec<f64>,
}

impl Averages {
    /// Appends a row with these node weights.
    pub(super) fn push(&mut self, weights: &[f64]) {
        self.weights.extend_from_slice(weights);
        self.ends.push(self.weights.len());
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of nodes of all rows.
    pub(super) fn nodes(&self) -> usize {
        self.weights.len()
    }

    /// The range of node indices of a row.
    pub(super) fn of(&self, row: usize) -> std::ops::Range<usize> {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        begin..self.ends[row]
    }

    /// The weights of a range of nodes.
    pub(super) fn weights(&self, nodes: std::ops::Range<usize>) -> &[f64] {
        &self.weights[nodes]
    }

    /// Computes W k for the rows from `first` on; `k` holds the values at their nodes.
    fn average_from(&self, first: usize, k: &[f64], out: &mut [f64]) {
        let begin = self.of(first).start;
        for (row, out) in (first..self.len()).zip(out) {
            let nodes = self.of(row);
            let k = &k[nodes.start - begin..nodes.end - begin];
            *out = k.iter().zip(&self.weights[nodes]).map(|(k, w)| k * w).sum();
        }
    }

    /// Computes W k for each of several columns k.
    pub(super) fn average(&self, k: &[f64], out: &mut [f64]) {
        if self.len() > 0 {
            for (k, out) in k.chunks_exact(self.nodes()).zip(out.chunks_exact_mut(self.len())) {
                self.average_from(0, k, out);
            }
        }
    }

    /// Computes Wᵀ a for each of several columns a.
    pub(super) fn spread(&self, a: &[f64], out: &mut [f64]) {
        if self.len() > 0 {
            for (a, out) in a.chunks_exact(self.len()).zip(out.chunks_exact_mut(self.nodes())) {
                self.spread_from(0, a, 1.0, out);
            }
        }
    }

    /// Computes `factor` · Wᵀ a for the rows from `first` on.
    pub(super) fn spread_from(&self, first: usize, a: &[f64], factor: f64, out: &mut [f64]) {
        let begin = self.of(first).start;
        for (row, a) in (first..self.len()).zip(a) {
            let nodes = self.of(row);
            let out = &mut out[nodes.start - begin..nodes.end - begin];
            for (out, w) in out.iter_mut().zip(&self.weights[nodes]) {
                *out = factor * a * w;
            }
        }
    }

    /// Copies some of the rows, and lists the indices of their nodes.
    fn select(&self, rows: &[usize]) -> (Averages, Vec<usize>) {
        let (mut part, mut nodes) = (Averages::default(), Vec::new());
        for &row in rows {
            part.push(&self.weights[self.of(row)]);
            nodes.extend(self.of(row));
        }
        (part, nodes)
    }
}

/// The inputs of the data in the kernel's coordinates.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// The points, or the nodes of all rows.
    pub(super) x: Rows,
    /// The weights W; `None` if every row is a point.
    pub(super) averages: Option<Arc<Averages>>,
}

impl Inputs {
    /// No inputs, for points of `dim` coordinates.
    pub(super) fn new(dim: usize) -> Self {
        Inputs { x: Rows::new(dim), averages: None }
    }

    /// Builds inputs from points in columns; with `averages` these points are the nodes.
    pub(super) fn of(columns: Points<'_>, averages: Option<Averages>) -> Self {
        Inputs { x: Rows::from_points(columns), averages: averages.map(Arc::new) }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.averages.as_ref().map_or_else(|| self.x.len(), |a| a.len())
    }

    /// Number of coordinates of a point.
    pub(super) fn dim(&self) -> usize {
        self.x.dim()
    }

    /// Copies some rows.
    pub(super) fn select(&self, rows: &[usize]) -> Inputs {
        match &self.averages {
            None => Inputs { x: self.x.select(rows), averages: None },
            Some(averages) => {
                let (averages, nodes) = averages.select(rows);
                Inputs { x: self.x.select(&nodes), averages: Some(Arc::new(averages)) }
            }
        }
    }

    /// Computes W K Wᵀ column by column. `take` receives each column from the diagonal down and may change it. Before that `keep`
    /// receives the columns of K that enter it: one for each node of the row, from the row's first node down.
    pub(super) fn gram(
        &self,
        covariance: &dyn Covariance,
        pool: &mut Pool,
        mut keep: impl FnMut(&[f64]),
        mut take: impl FnMut(usize, &mut [f64]),
    ) {
        let Some(averages) = &self.averages else {
            gram(covariance, &self.x, pool, |j, column| {
                keep(column);
                take(j, column);
            });
            return;
        };
        let rows = averages.len();
        let (mut z, mut k) = (pool.take(self.dim()), pool.take(averages.nodes()));
        let (mut part, mut column) = (pool.take(rows), pool.take(rows));
        for j in 0..rows {
            let nodes = averages.of(j);
            let (k, part, column) = (&mut k[nodes.start..], &mut part[j..], &mut column[j..]);
            column.fill(0.0);
            for q in nodes.clone() {
                self.x.copy_point(q, &mut z);
                covariance.values(CrossInputs { x: self.x.view().from(nodes.start), z: &z }, k, pool);
                keep(k);
                averages.average_from(j, k, part);
                let w = averages.weights[q];
                for (out, part) in column.iter_mut().zip(&*part) {
                    *out += w * part;
                }
            }
            take(j, column);
        }
        pool.give(column);
        pool.give(part);
        pool.give(k);
        pool.give(z);
    }

    /// Count of the numbers that [`gram`](Self::gram) passes to `keep`.
    pub(super) fn kept(&self) -> usize {
        match &self.averages {
            None => self.x.len() * (self.x.len() + 1) / 2,
            Some(a) => (0..a.len()).map(|j| a.of(j).len() * (a.nodes() - a.of(j).start)).sum(),
        }
    }
}
