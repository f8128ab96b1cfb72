//! Noise of measurements that may be correlated: on the diagonal of a matrix and beside it.

use super::targets::Targets;
use crate::random::Rng;

/// Covariances of noise: on the diagonal, and (row, column, value) below it in order of columns.
#[derive(Clone, Debug)]
pub(super) struct NoiseMatrix {
    pub(super) diagonal: Vec<f64>,
    pub(super) links: Vec<(usize, usize, f64)>,
}

impl NoiseMatrix {
    pub(super) fn of(targets: &Targets, factor: f64) -> Self {
        NoiseMatrix {
            diagonal: targets.noise.iter().map(|v| v * factor).collect(),
            links: targets.links.iter().map(|&(i, j, value)| (i, j, value * factor)).collect(),
        }
    }

    /// No noise.
    pub(super) fn none(n: usize) -> Self {
        NoiseMatrix { diagonal: vec![0.0; n], links: Vec::new() }
    }

    /// The factor of N, each row linked with the one before it at most: what stands on its diagonal, squared, and to the left of that.
    ///
    /// ```text
    /// dᵢ = Nᵢᵢ − lᵢ²,   lᵢ = N_{i,i−1}/√dᵢ₋₁
    /// ```
    pub(super) fn factor(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut squares, mut left) = (self.diagonal.clone(), vec![0.0; self.diagonal.len()]);
        for &(i, j, value) in &self.links {
            if squares[j] > 0.0 {
                left[i] = value / squares[j].sqrt();
                squares[i] = (squares[i] - left[i] * left[i]).max(0.0);
            }
        }
        (squares, left)
    }

    /// A draw of the noise.
    pub(super) fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let normal: Vec<f64> = self.diagonal.iter().map(|_| rng.normal()).collect();
        let (squares, left) = self.factor();
        let entry = |i: usize| {
            squares[i].sqrt() * normal[i] + if left[i] == 0.0 { 0.0 } else { left[i] * normal[i - 1] }
        };
        (0..normal.len()).map(entry).collect()
    }
}

/// Adds noise to column j of a matrix, from its diagonal on; `links` are those of the columns from j on, and then of those after it.
pub(super) fn add_noise(j: usize, noise: f64, links: &mut &[(usize, usize, f64)], column: &mut [f64]) {
    column[0] += noise;
    while let Some((&(row, _, value), rest)) = links.split_first().filter(|(first, _)| first.1 == j) {
        column[row - j] += value;
        *links = rest;
    }
}
