//! Covariance matrix N of the measurement noise: diagonal, or with correlations between neighbouring rows.

use super::targets::Targets;
use crate::random::Rng;

/// The noise covariance N: its diagonal, and the entries (row, column, value) below it in the order of columns.
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

    /// A noise matrix of zeros.
    pub(super) fn none(n: usize) -> Self {
        NoiseMatrix { diagonal: vec![0.0; n], links: Vec::new() }
    }

    /// The Cholesky factor of N, in which each row is correlated at most with the one before it. Returns the squared diagonal dᵢ
    /// and the subdiagonal lᵢ:
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

    /// Samples the noise.
    pub(super) fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let normal: Vec<f64> = self.diagonal.iter().map(|_| rng.normal()).collect();
        let (squares, left) = self.factor();
        let entry = |i: usize| {
            squares[i].sqrt() * normal[i] + if left[i] == 0.0 { 0.0 } else { left[i] * normal[i - 1] }
        };
        (0..normal.len()).map(entry).collect()
    }
}

/// Adds column j of N to a matrix column that starts at the diagonal. `links` holds the off-diagonal entries of the columns from j
/// on; those of column j are removed from it.
pub(super) fn add_noise(j: usize, noise: f64, links: &mut &[(usize, usize, f64)], column: &mut [f64]) {
    column[0] += noise;
    while let Some((&(row, _, value), rest)) = links.split_first().filter(|(first, _)| first.1 == j) {
        column[row - j] += value;
        *links = rest;
    }
}
