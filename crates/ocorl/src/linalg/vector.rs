//! Sums over long vectors, in an order that does not depend on the machine: eight partial sums, then those in pairs.

use pulp::{Arch, Simd, WithSimd};

/// Numbers taken at a time by loops over long vectors: two registers of the most common vector extension, so that additions of one
/// need not wait for the other.
pub const BLOCK: usize = 8;

/// Eight partial sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum([f64; BLOCK]);

impl Sum {
    /// Adds aᵢ bᵢ to the i-th partial sum.
    #[inline(always)]
    pub fn add_products(&mut self, a: &[f64; BLOCK], b: &[f64; BLOCK]) {
        for i in 0..BLOCK {
            self.0[i] = a[i].mul_add(b[i], self.0[i]);
        }
    }

    /// The whole sum.
    #[inline(always)]
    pub fn total(self) -> f64 {
        let s = self.0;
        ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
    }
}

/// The last, shorter block of a slice, filled up with zeros.
#[inline(always)]
pub fn padded(rest: &[f64]) -> [f64; BLOCK] {
    let mut block = [0.0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Σ xᵢ yᵢ.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "vectors of {} and {} numbers", x.len(), y.len());
    Arch::new().dispatch(Dot { x, y })
}

struct Dot<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let (x, x_rest) = self.x.as_chunks::<BLOCK>();
        let (y, y_rest) = self.y.as_chunks::<BLOCK>();
        let mut sum = Sum::default();
        for (x, y) in x.iter().zip(y) {
            sum.add_products(x, y);
        }
        sum.add_products(&padded(x_rest), &padded(y_rest));
        sum.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_length_are_right() {
        for n in 0..40 {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let y: Vec<f64> = (0..n).map(|i| 2.0 * f64::from(i)).collect();
            let expected: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            assert_eq!(dot(&x, &y), expected, "{n} terms (small integers add exactly)");
        }
    }
}
