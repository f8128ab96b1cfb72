//! Posterior covariances between points: those of the ensemble members, scaled by α² and the squared scale of the output.

use super::{LEAST_SPREAD, State, chunks, padded};
use crate::linalg::small::axpy;
use crate::linalg::{Points, Pool};
use crate::model::covariance_columns::CovarianceColumns;

/// Rounding error of a variance, as a fraction of the largest one.
const RESOLUTION: f64 = 1e-12;

/// Computes covariance columns on demand from P numbers for each point and output (P members).
pub(super) struct Columns {
    points: usize,
    members: usize,
    /// The scaled deviations α s (f_m − μ)/√P, indexed by output, member and point.
    centred: Vec<f64>,
    /// The variance floor (α s ε)² of each output.
    floor: Vec<f64>,
    /// The variances σ² of each output at all points.
    variance: Vec<Vec<f64>>,
}

impl Columns {
    pub(super) fn new(state: &State, z: Points<'_>) -> Self {
        let (points, members, outputs) = (z.len(), state.members.len(), state.outputs());
        let mut centred = vec![0.0; outputs * members * points];
        let mut pool = Pool::default();
        for range in chunks(points) {
            let stored = padded(range.len());
            let (values, slopes) = state.evaluate(z, range.clone(), false, &mut pool);
            for (p, i) in range.enumerate() {
                for j in 0..outputs {
                    let f = |m: usize| values[(m * outputs + j) * stored + p];
                    let mean = (0..members).map(f).sum::<f64>() / members as f64;
                    let scale = state.factors[j] * state.scaling.scale[j] / (members as f64).sqrt();
                    for m in 0..members {
                        centred[(j * members + m) * points + i] = scale * (f(m) - mean);
                    }
                }
            }
            pool.give(slopes);
            pool.give(values);
        }
        let floor: Vec<f64> = (0..outputs)
            .map(|j| (state.factors[j] * state.scaling.scale[j] * LEAST_SPREAD).powi(2))
            .collect();
        let mut columns = Columns { points, members, centred, floor, variance: Vec::new() };
        let square =
            |j: usize, i: usize| columns.floor[j] + columns.of(j).map(|row| row[i] * row[i]).sum::<f64>();
        let variance = (0..outputs).map(|j| (0..points).map(|i| square(j, i)).collect()).collect();
        columns.variance = variance;
        columns
    }

    /// The scaled deviations of one output, one slice for each member.
    fn of(&self, output: usize) -> impl Iterator<Item = &[f64]> {
        let size = self.members * self.points;
        self.centred[output * size..(output + 1) * size].chunks_exact(self.points.max(1))
    }
}

impl CovarianceColumns for Columns {
    fn outputs(&self) -> usize {
        self.floor.len()
    }

    fn len(&self) -> usize {
        self.points
    }

    fn variance(&self, output: usize) -> &[f64] {
        &self.variance[output]
    }

    fn column(&mut self, output: usize, index: usize, out: &mut [f64]) {
        out.fill(self.floor[output]);
        for row in self.of(output) {
            axpy(row[index], row, out);
        }
        out[index] = self.variance[output][index];
    }

    fn resolution(&self, output: usize) -> f64 {
        RESOLUTION * self.variance[output].iter().fold(0.0, |a: f64, b| a.max(*b))
    }
}
