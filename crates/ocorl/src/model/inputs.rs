//! Where f was looked at: points, or averages over nodes.
//!
//! Row i of the data is a weighted sum over the nodes z_q that belong to it. With W the weights, one row for each row of the data,
//!
//! ```text
//! y = W f(nodes) + ε,   cov y = W K Wᵀ + N,   μ(z) = k(z)ᵀ Wᵀ α,   σ²(z) = k(z, z) − (W k(z))ᵀ (W K Wᵀ + N)⁻¹ (W k(z))
//! ```
//!
//! with K and k(z) the covariances of and with the nodes. Where all rows are points W is the identity: there is none, and no work for it.

use super::conditioning::gram;
use super::kernels::{Against, Covariance};
use super::pool::Pool;
use crate::linalg::{Points, Rows};
use std::sync::Arc;

/// W: the nodes of each row and their weights. Nodes stand in the order of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Averages {
    /// Where the nodes of each row end.
    ends: Vec<usize>,
    weights: Vec<f64>,
}

impl Averages {
    /// Adds a row.
    pub(super) fn push(&mut self, weights: &[f64]) {
        self.weights.extend_from_slice(weights);
        self.ends.push(self.weights.len());
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.weights.len()
    }

    /// The nodes of a row.
    pub(super) fn of(&self, row: usize) -> std::ops::Range<usize> {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        begin..self.ends[row]
    }

    /// Weights of some nodes.
    pub(super) fn weights(&self, nodes: std::ops::Range<usize>) -> &[f64] {
        &self.weights[nodes]
    }

    /// W k of the rows from `first` on, k being at their nodes.
    fn average_from(&self, first: usize, k: &[f64], out: &mut [f64]) {
        let begin = self.of(first).start;
        for (row, out) in (first..self.len()).zip(out) {
            let nodes = self.of(row);
            let k = &k[nodes.start - begin..nodes.end - begin];
            *out = k.iter().zip(&self.weights[nodes]).map(|(k, w)| k * w).sum();
        }
    }

    /// W k for each of several columns.
    pub(super) fn average(&self, k: &[f64], out: &mut [f64]) {
        if self.len() > 0 {
            for (k, out) in k.chunks_exact(self.nodes()).zip(out.chunks_exact_mut(self.len())) {
                self.average_from(0, k, out);
            }
        }
    }

    /// Wᵀ a for each of several columns.
    pub(super) fn spread(&self, a: &[f64], out: &mut [f64]) {
        if self.len() > 0 {
            for (a, out) in a.chunks_exact(self.len()).zip(out.chunks_exact_mut(self.nodes())) {
                self.spread_from(0, a, 1.0, out);
            }
        }
    }

    /// `factor` Wᵀ a for the rows from `first` on.
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

    /// Some of the rows, and the numbers of their nodes.
    fn select(&self, rows: &[usize]) -> (Averages, Vec<usize>) {
        let (mut part, mut nodes) = (Averages::default(), Vec::new());
        for &row in rows {
            part.push(&self.weights[self.of(row)]);
            nodes.extend(self.of(row));
        }
        (part, nodes)
    }
}

/// The rows of the data as the kernel sees them.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// The points, or the nodes of all rows.
    pub(super) x: Rows,
    /// None if every row is a point.
    pub(super) averages: Option<Arc<Averages>>,
}

impl Inputs {
    /// Nothing of `dim` coordinates.
    pub(super) fn new(dim: usize) -> Self {
        Inputs { x: Rows::new(dim), averages: None }
    }

    /// Points in columns; averaged, if `averages` says how.
    pub(super) fn of(columns: Points<'_>, averages: Option<Averages>) -> Self {
        Inputs { x: Rows::from_points(columns), averages: averages.map(Arc::new) }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.averages.as_ref().map_or_else(|| self.x.len(), |a| a.len())
    }

    /// Coordinates of a point.
    pub(super) fn dim(&self) -> usize {
        self.x.dim()
    }

    /// A copy of some rows.
    pub(super) fn select(&self, rows: &[usize]) -> Inputs {
        match &self.averages {
            None => Inputs { x: self.x.select(rows), averages: None },
            Some(averages) => {
                let (averages, nodes) = averages.select(rows);
                Inputs { x: self.x.select(&nodes), averages: Some(Arc::new(averages)) }
            }
        }
    }

    /// W K Wᵀ, column after column, each from the diagonal on and in memory that may be changed. `keep` sees the columns of K before:
    /// for each node of the row, from the row's first node on.
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
                covariance.values(Against { x: self.x.view().from(nodes.start), z: &z }, k, pool);
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

    /// How many numbers [`gram`](Self::gram) shows to `keep`.
    pub(super) fn kept(&self) -> usize {
        match &self.averages {
            None => self.x.len() * (self.x.len() + 1) / 2,
            Some(a) => (0..a.len()).map(|j| a.of(j).len() * (a.nodes() - a.of(j).start)).sum(),
        }
    }
}
