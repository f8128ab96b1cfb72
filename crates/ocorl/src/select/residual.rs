//! What is left of the variances of one output once some of the points are measured.

use crate::linalg::small::axpy;
use crate::model::Joint;

/// The diagonal of a Cholesky factorisation of C + σ²I that goes on pivot by pivot:
///
/// ```text
/// rᵢ = (C + σ²I)ᵢᵢ − C_{iS} (C_{SS} + σ²I)⁻¹ C_{Si}
/// ```
///
/// which is the variance of a measurement at zᵢ given those at S. Pivot m costs O(mP) beside its column of C.
pub(crate) struct Residual {
    output: usize,
    /// rᵢ, noise included. Of the points of S it has no meaning.
    pub(crate) left: Vec<f64>,
    /// The factor, one column for each of S.
    factor: Vec<Vec<f64>>,
    /// rᵢ below this (noise and what may be rounding) is raised to it, as is what is not a number.
    pub(crate) least: f64,
}

impl Residual {
    /// Of an output, nothing measured yet.
    pub(crate) fn new(joint: &dyn Joint, output: usize, noise_variance: f64) -> Self {
        assert!(
            noise_variance >= 0.0 && noise_variance.is_finite(),
            "output {output} has noise variance {noise_variance}; it must be zero or positive, and finite"
        );
        // Not zero even if nothing varies: logarithms are taken of it.
        let least = (noise_variance + joint.resolution(output)).max(f64::MIN_POSITIVE);
        let with_noise = |v: &f64| (v + noise_variance).max(least);
        let left = joint.variance(output).iter().map(with_noise).collect();
        Residual { output, left, factor: Vec::new(), least }
    }

    /// Measures point `pick`. If its variance is all rounding, nothing can be learned from it, and nothing changes.
    pub(crate) fn measure(&mut self, joint: &mut dyn Joint, pick: usize) {
        let pivot = self.left[pick];
        if pivot <= self.least {
            return;
        }
        let mut column = vec![0.0; self.left.len()];
        joint.column(self.output, pick, &mut column);
        for earlier in &self.factor {
            axpy(-earlier[pick], earlier, &mut column);
        }
        let root = pivot.sqrt();
        for (left, c) in self.left.iter_mut().zip(&mut column) {
            *c /= root;
            *left = (*left - *c * *c).max(self.least);
        }
        self.factor.push(column);
    }
}
