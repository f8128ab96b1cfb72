//! Sums over long vectors in an order that does not depend on the machine: eight partial sums, which are then added in pairs.

use pulp::{Arch, Simd, WithSimd};

/// Number of entries per step of loops over long vectors: two registers of the most common vector extension, so that
/// additions in one do not wait for the other.
pub const BLOCK: usize = 8;

/// Accumulator with eight partial sums.
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

    /// Returns the total of the partial sums.
    #[inline(always)]
    pub fn total(self) -> f64 {
        let s = self.0;
        ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
    }
}

/// Returns the last, shorter block of a slice, padded with zeros.
#[inline(always)]
pub fn padded(rest: &[f64]) -> [f64; BLOCK] {
    let mut block = [0.0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Computes the inner product Σ xᵢ yᵢ.
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

/// Adds a (cᵢ · x) to `out[i]` for each of the contiguous columns cᵢ; each product has the same bits as [`dot`].
pub fn add_products(a: f64, columns: &[f64], x: &[f64], out: &mut [f64]) {
    let (total, n) = (columns.len(), x.len());
    assert_eq!(total, n * out.len(), "{total} numbers are not {} columns of {n}", out.len());
    if n > 0 {
        Arch::new().dispatch(AddProducts { a, columns, x, out });
    }
}

struct AddProducts<'a> {
    a: f64,
    columns: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.x.len();
        let (x, x_rest) = self.x.as_chunks::<BLOCK>();
        let x_rest = padded(x_rest);
        // Four columns at a time: each block of x is read once for all of them.
        let mut fours = self.columns.chunks_exact(4 * n);
        let mut outs = self.out.chunks_exact_mut(4);
        for (four, out) in (&mut fours).zip(&mut outs) {
            let column = |c: usize| four[c * n..(c + 1) * n].as_chunks::<BLOCK>();
            let ((p, p_rest), (q, q_rest), (r, r_rest), (s, s_rest)) =
                (column(0), column(1), column(2), column(3));
            let mut sums = [Sum::default(); 4];
            for ((((x, p), q), r), s) in x.iter().zip(p).zip(q).zip(r).zip(s) {
                sums[0].add_products(p, x);
                sums[1].add_products(q, x);
                sums[2].add_products(r, x);
                sums[3].add_products(s, x);
            }
            for ((out, mut sum), rest) in out.iter_mut().zip(sums).zip([p_rest, q_rest, r_rest, s_rest]) {
                sum.add_products(&padded(rest), &x_rest);
                *out += self.a * sum.total();
            }
        }
        for (column, out) in fours.remainder().chunks_exact(n).zip(outs.into_remainder()) {
            *out += self.a * Dot { x: column, y: self.x }.with_simd(simd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_products_have_the_bits_of_one() {
        for (n, count) in [(0, 3), (1, 9), (7, 4), (8, 5), (43, 6), (3, 0)] {
            let columns: Vec<f64> = (0..n * count).map(|i| f64::from(i).sin()).collect();
            let x: Vec<f64> = (0..n).map(|i| f64::from(i).cos()).collect();
            let mut out = vec![0.25; usize::try_from(count).unwrap()];
            add_products(-1.0, &columns, &x, &mut out);
            for (i, out) in out.iter().enumerate() {
                assert_eq!(*out, 0.25 - dot(&columns[i * x.len()..(i + 1) * x.len()], &x));
            }
        }
    }

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
