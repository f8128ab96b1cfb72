//! Residual variances of one output, given measurements at some of the candidates.

use crate::linalg::small::axpy;
use crate::model::CovarianceColumns;

/// The diagonal of a pivoted Cholesky factorisation of C + σ²I that is continued pivot by pivot:
///
/// ```text
/// rᵢ = (C + σ²I)ᵢᵢ − C_{iS} (C_{SS} + σ²I)⁻¹ C_{Si}
/// ```
///
/// rᵢ is the variance of a measurement at zᵢ given those at S. Pivot m costs O(mP) in addition to its column of C.
pub(crate) struct Residual {
    output: usize,
    /// The residual variances rᵢ, noise included; undefined at the points of S.
    pub(crate) variance: Vec<f64>,
    /// The columns of the Cholesky factor, one for each point of S.
    factor: Vec<Vec<f64>>,
    /// Lower limit of rᵢ: the noise variance plus the rounding error. NaN is replaced by it too.
    pub(crate) floor: f64,
}

impl Residual {
    /// Starts with the variances of an output before any measurement.
    pub(crate) fn new(columns: &dyn CovarianceColumns, output: usize, noise_variance: f64) -> Self {
        assert!(
            noise_variance >= 0.0 && noise_variance.is_finite(),
            "output {output} has noise variance {noise_variance}; it must be zero or positive, and finite"
        );
        // Positive even if all variances vanish, because logarithms are taken of it.
        let floor = (noise_variance + columns.resolution(output)).max(f64::MIN_POSITIVE);
        let with_noise = |v: &f64| (v + noise_variance).max(floor);
        let variance = columns.variance(output).iter().map(with_noise).collect();
        Residual { output, variance, factor: Vec::new(), floor }
    }

    /// Conditions on a measurement at point `pick`. If its variance is at rounding level, nothing changes.
    pub(crate) fn measure(&mut self, columns: &mut dyn CovarianceColumns, pick: usize) {
        let pivot = self.variance[pick];
        if pivot <= self.floor {
            return;
        }
        let mut column = vec![0.0; self.variance.len()];
        columns.column(self.output, pick, &mut column);
        for earlier in &self.factor {
            axpy(-earlier[pick], earlier, &mut column);
        }
        let root = pivot.sqrt();
        for (variance, c) in self.variance.iter_mut().zip(&mut column) {
            *c /= root;
            *variance = (*variance - *c * *c).max(self.floor);
        }
        self.factor.push(column);
    }
}
