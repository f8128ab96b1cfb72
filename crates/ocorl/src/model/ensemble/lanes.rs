//! Dense matrix products over a batch of points, vectorised over eight points.
//!
//! A batch of `count` points is stored by rows: row i holds unit i at all points, and `count` is a multiple of [`LANES`]. Each
//! entry is a sum over the units in their order with one rounding per term. The result for a point is therefore bitwise the same in
//! any batch, at any position in it and on any machine.

use crate::linalg::vector;
use crate::real::exp;
use pulp::{Arch, Simd, WithSimd};

/// Number of points that are processed together.
pub(super) const LANES: usize = 8;

/// Number of rows whose sums are kept in registers together.
const TALL: usize = 4;

type Lane = [f64; LANES];

/// The number of stored points for `count` points: `count` rounded up to a multiple of [`LANES`].
pub(super) fn padded(count: usize) -> usize {
    count.next_multiple_of(LANES)
}

/// Computes `out` = W x + b for every point; W is `rows` × `columns`, row-major with `stride` numbers per row.
pub(super) struct Product<'a> {
    pub(super) weights: &'a [f64],
    pub(super) stride: usize,
    pub(super) columns: usize,
    pub(super) bias: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) count: usize,
    pub(super) out: &'a mut [f64],
}

impl Product<'_> {
    pub(super) fn run(self) {
        if self.count > 0 {
            Arch::new().dispatch(self);
        }
    }

    #[inline(always)]
    fn rows<const R: usize>(&mut self, first: usize, p: usize) {
        let Product { weights, stride, columns, bias, x, count, .. } = *self;
        let rows: [&[f64]; R] = std::array::from_fn(|b| &weights[(first + b) * stride..][..columns]);
        let mut sums: [Lane; R] = std::array::from_fn(|b| [bias[first + b]; LANES]);
        for (c, x) in x.chunks_exact(count).take(columns).enumerate() {
            let x = lane(x, p);
            for b in 0..R {
                let w = rows[b][c];
                for v in 0..LANES {
                    sums[b][v] = x[v].mul_add(w, sums[b][v]);
                }
            }
        }
        for b in 0..R {
            *lane_mut(&mut self.out[(first + b) * count..], p) = sums[b];
        }
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) {
        let rows = self.bias.len();
        for p in (0..self.count).step_by(LANES) {
            let mut first = 0;
            while first + TALL <= rows {
                self.rows::<TALL>(first, p);
                first += TALL;
            }
            while first < rows {
                self.rows::<1>(first, p);
                first += 1;
            }
        }
    }
}

/// Computes `out` = Wᵀ δ for every point: the first `columns` columns of W, which has one row for each row of δ.
pub(super) struct Transposed<'a> {
    pub(super) weights: &'a [f64],
    pub(super) stride: usize,
    pub(super) columns: usize,
    pub(super) delta: &'a [f64],
    pub(super) count: usize,
    pub(super) out: &'a mut [f64],
}

impl Transposed<'_> {
    pub(super) fn run(self) {
        if self.count > 0 {
            Arch::new().dispatch(self);
        }
    }

    #[inline(always)]
    fn columns<const C: usize>(&mut self, first: usize, p: usize) {
        let mut sums = [[0.0; LANES]; C];
        for (delta, row) in self.delta.chunks_exact(self.count).zip(self.weights.chunks(self.stride)) {
            let (delta, w) = (lane(delta, p), &row[first..first + C]);
            for b in 0..C {
                for v in 0..LANES {
                    sums[b][v] = delta[v].mul_add(w[b], sums[b][v]);
                }
            }
        }
        for b in 0..C {
            *lane_mut(&mut self.out[(first + b) * self.count..], p) = sums[b];
        }
    }
}

impl WithSimd for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) {
        for p in (0..self.count).step_by(LANES) {
            let mut first = 0;
            while first + TALL <= self.columns {
                self.columns::<TALL>(first, p);
                first += TALL;
            }
            while first < self.columns {
                self.columns::<1>(first, p);
                first += 1;
            }
        }
    }
}

/// Gradients with respect to weights and biases, summed over the points: ∂/∂W_rc = Σ_p δ_rp x_cp, ∂/∂b_r = Σ_p δ_rp.
pub(super) struct Gradient<'a> {
    pub(super) delta: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) count: usize,
    pub(super) weights: &'a mut [f64],
    pub(super) bias: &'a mut [f64],
}

impl Gradient<'_> {
    pub(super) fn run(self) {
        let (count, columns) = (self.count, self.x.len() / self.count.max(1));
        for (r, delta) in self.delta.chunks_exact(count).enumerate() {
            let row = &mut self.weights[r * columns..(r + 1) * columns];
            row.fill(0.0);
            vector::add_products(1.0, self.x, delta, row);
            self.bias[r] = delta.iter().sum();
        }
    }
}

/// Computes aᵢ ← tanh aᵢ = 1 − 2/(e²ᵃ + 1), with an absolute error of about 2⁻⁵².
pub(super) fn tanh(values: &mut [f64]) {
    Arch::new().dispatch(Tanh(values));
}

struct Tanh<'a>(&'a mut [f64]);

impl WithSimd for Tanh<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for a in self.0 {
            *a = 1.0 - 2.0 / (exp(2.0 * *a) + 1.0);
        }
    }
}

#[inline(always)]
fn lane(row: &[f64], p: usize) -> &Lane {
    row[p..p + LANES].try_into().expect("eight points")
}

#[inline(always)]
fn lane_mut(row: &mut [f64], p: usize) -> &mut Lane {
    (&mut row[p..p + LANES]).try_into().expect("eight points")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|i| (seed + 0.7 * i as f64).sin()).collect()
    }

    #[test]
    fn products_are_those_of_their_definition() {
        for (rows, columns, count) in [(1, 1, 8), (5, 3, 16), (9, 7, 24), (4, 8, 8)] {
            let (w, b) = (numbers(rows * columns, 1.0), numbers(rows, 2.0));
            let (x, delta) = (numbers(columns * count, 3.0), numbers(rows * count, 4.0));
            let mut out = vec![f64::NAN; rows * count];
            let (weights, stride) = (&w[..], columns);
            Product { weights, stride, columns, bias: &b, x: &x, count, out: &mut out }.run();
            let mut back = vec![f64::NAN; columns * count];
            Transposed { weights, stride, columns, delta: &delta, count, out: &mut back }.run();
            let (mut dw, mut db) = (vec![f64::NAN; rows * columns], vec![f64::NAN; rows]);
            Gradient { delta: &delta, x: &x, count, weights: &mut dw, bias: &mut db }.run();
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-13, "{a} {b}");
            for p in 0..count {
                for r in 0..rows {
                    let sum: f64 = (0..columns).map(|c| w[r * columns + c] * x[c * count + p]).sum();
                    close(out[r * count + p], b[r] + sum);
                }
                for c in 0..columns {
                    let sum: f64 = (0..rows).map(|r| w[r * columns + c] * delta[r * count + p]).sum();
                    close(back[c * count + p], sum);
                }
            }
            for r in 0..rows {
                for c in 0..columns {
                    close(
                        dw[r * columns + c],
                        (0..count).map(|p| delta[r * count + p] * x[c * count + p]).sum(),
                    );
                }
                close(db[r], delta[r * count..(r + 1) * count].iter().sum());
            }
        }
    }

    #[test]
    fn the_hyperbolic_tangent_agrees_with_the_standard_library() {
        let mut values: Vec<f64> = (-4000..=4000).map(|i| 0.01 * f64::from(i)).collect();
        let expected: Vec<f64> = values.iter().map(|a| a.tanh()).collect();
        tanh(&mut values);
        for (found, expected) in values.iter().zip(expected) {
            assert!((found - expected).abs() < 4e-16, "{found} {expected}");
        }
        let mut ends = [f64::NEG_INFINITY, -1e9, 1e9, f64::INFINITY];
        tanh(&mut ends);
        assert_eq!(ends, [-1.0, -1.0, 1.0, 1.0]);
    }
}
