//! Training data of the networks: standardised rows with their weights in the loss.
//!
//! A row is a derivative at a point, or an average over nodes (see [`Measurements`](crate::measurements::Measurements)); its
//! prediction is Σ_q w_q f(z_q). Correlations between the noise of neighbouring averages are neglected.

use super::lanes::padded;
use crate::measurements::Measurements;
use crate::model::space::{Scaling, Space};

/// Smallest noise standard deviation in the loss, in units of the output's standard deviation; the networks cannot fit more
/// exactly.
const LEAST_NOISE: f64 = 1e-3;

/// The standardised rows of the data.
pub(super) struct TrainingRows {
    inputs: usize,
    pub(super) outputs: usize,
    /// Standardised inputs of all nodes, one after the other.
    nodes: Vec<f64>,
    /// Index one past the last node of each row.
    ends: Vec<usize>,
    /// The weights w_q of all nodes.
    node_weights: Vec<f64>,
    /// Standardised derivatives, row by row.
    pub(super) targets: Vec<f64>,
    /// Standardised standard deviations of the stated noise, row by row.
    pub(super) noise: Vec<f64>,
    /// ω: 1/noise², scaled to a mean of 1 over the rows of each output.
    omega: Vec<f64>,
    /// κ: the mean of 1/noise² before this scaling, for each output.
    pub(super) precision: Vec<f64>,
}

impl TrainingRows {
    /// Standardises the data; `residuals` are the measured derivatives less the prior mean, in physical units.
    pub(super) fn new(data: &Measurements, residuals: &[f64], space: &Space, scaling: &Scaling) -> Self {
        let (inputs, outputs, z) = (space.dim(), data.dims().state, data.nodes());
        let mut nodes = vec![0.0; inputs * z.len()];
        for (q, out) in nodes.chunks_exact_mut(inputs).enumerate() {
            space.map(z.at(q), out);
        }
        let (mut ends, mut node_weights) = (Vec::new(), Vec::new());
        for i in 0..data.len() {
            node_weights.extend_from_slice(data.average(i).weights);
            ends.push(node_weights.len());
        }
        let standard = |(e, y): (usize, &f64)| (y - scaling.shift[e % outputs]) / scaling.scale[e % outputs];
        let targets = residuals.iter().enumerate().map(standard).collect();
        let stated = data.noise_std().as_slice().iter().enumerate();
        let noise: Vec<f64> = stated.map(|(e, s)| s / scaling.scale[e % outputs]).collect();
        let mut omega: Vec<f64> = noise.iter().map(|s| s.max(LEAST_NOISE).powi(-2)).collect();
        let count = data.len().max(1) as f64;
        let mean = |j: usize| omega.iter().skip(j).step_by(outputs).sum::<f64>() / count;
        let precision: Vec<f64> = (0..outputs).map(mean).collect();
        omega.iter_mut().enumerate().for_each(|(e, omega)| *omega /= precision[e % outputs]);
        TrainingRows { inputs, outputs, nodes, ends, node_weights, targets, noise, omega, precision }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn nodes(&self, row: usize) -> std::ops::Range<usize> {
        if row == 0 { 0..self.ends[0] } else { self.ends[row - 1]..self.ends[row] }
    }

    /// Total number of nodes of some rows.
    pub(super) fn nodes_of(&self, rows: &[usize]) -> usize {
        rows.iter().map(|&row| self.nodes(row).len()).sum()
    }

    /// The node weights w_q of a row.
    pub(super) fn weights(&self, row: usize) -> &[f64] {
        &self.node_weights[self.nodes(row)]
    }

    /// The loss weights ω of a row, one for each output.
    pub(super) fn loss_weights(&self, row: usize) -> &[f64] {
        &self.omega[row * self.outputs..(row + 1) * self.outputs]
    }

    /// Groups the outputs that have equal weights ω in all rows.
    pub(super) fn weight_groups(&self) -> Vec<Vec<usize>> {
        let same = |j: usize, k: usize| {
            // Differences within the rounding of the mean are ignored.
            self.omega.chunks_exact(self.outputs).all(|row| (row[j] - row[k]).abs() <= 1e-9 * row[k])
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for j in 0..self.outputs {
            match groups.iter_mut().find(|group| same(j, group[0])) {
                Some(group) => group.push(j),
                None => groups.push(vec![j]),
            }
        }
        groups
    }

    /// Copies the nodes of some rows into the batch `e`, padded with zeros; returns their number.
    pub(super) fn gather(&self, rows: &[usize], e: &mut Vec<f64>) -> usize {
        let nodes = self.nodes_of(rows);
        let count = padded(nodes);
        e.clear();
        e.resize(self.inputs * count, 0.0);
        for (p, q) in rows.iter().flat_map(|&row| self.nodes(row)).enumerate() {
            for (d, value) in self.nodes[q * self.inputs..(q + 1) * self.inputs].iter().enumerate() {
                e[d * count + p] = *value;
            }
        }
        nodes
    }

    /// Computes the derivatives of ½ Σ_ij ω_ij (Σ_q w_q f_j(z_q) − y_ij)² / rows with respect to f at all nodes of a batch;
    /// `values` holds f.
    pub(super) fn errors(
        &self,
        rows: &[usize],
        targets: &[f64],
        count: usize,
        values: &[f64],
        out: &mut [f64],
    ) {
        out.fill(0.0);
        let share = 1.0 / rows.len() as f64;
        for j in 0..self.outputs {
            let (values, out) = (&values[j * count..(j + 1) * count], &mut out[j * count..(j + 1) * count]);
            let mut p = 0;
            for &row in rows {
                let (weights, e) = (self.weights(row), row * self.outputs + j);
                let mean: f64 = weights.iter().zip(&values[p..]).map(|(w, f)| w * f).sum();
                let error = share * self.omega[e] * (mean - targets[e]);
                for (out, w) in out[p..].iter_mut().zip(weights) {
                    *out = w * error;
                }
                p += weights.len();
            }
        }
    }
}
