//! Products with a triangular matrix, for many right-hand sides and for one. O(n²) per right-hand side.
//!
//! They run faster than triangular solves, because no row waits for another one.

use super::solve::subtract_below;
use super::{Lower, Step, TALL, WIDTH, pieces, subtract, sums};

/// Number of row panels that stay in the cache while all right-hand sides are processed.
const ROWS_TOGETHER: usize = 8;

/// Computes Y = −L X for `count` full panels of right-hand sides.
#[inline(always)]
pub(super) fn negative_product(l: Lower<'_>, x: &[Step], y: &mut [Step], count: usize) {
    let rows = WIDTH * l.panels;
    y[..rows * count].fill([0.0; WIDTH]);
    for block in pieces(0..l.panels, ROWS_TOGETHER) {
        for (x, y) in x.chunks_exact(rows).zip(y.chunks_exact_mut(rows)).take(count) {
            for i in block.clone() {
                for o in [0, TALL] {
                    subtract(sums(y, WIDTH * i + o), &x[..WIDTH * (i + 1)], l.panel(i), o);
                }
            }
        }
    }
}

/// Computes Y = −Lᵀ X for `count` full panels of right-hand sides.
#[inline(always)]
pub(super) fn negative_transposed_product(l: Lower<'_>, x: &[Step], y: &mut [Step], count: usize) {
    let rows = WIDTH * l.panels;
    y[..rows * count].fill([0.0; WIDTH]);
    for block in pieces(0..l.panels, ROWS_TOGETHER) {
        for (x, y) in x.chunks_exact(rows).zip(y.chunks_exact_mut(rows)).take(count) {
            for k in block.clone() {
                for o in [0, TALL] {
                    let row = WIDTH * k + o;
                    subtract_below(sums(y, row), l, &x[WIDTH * k..], k..l.panels, row);
                }
            }
        }
    }
}

/// Computes y = −L x for one right-hand side.
#[inline(always)]
pub(super) fn negative_product_vector(l: Lower<'_>, x: &[f64], y: &mut [f64]) {
    for (p, y) in y.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        // Two sums, so that an addition does not wait for the one before.
        let mut c = [[0.0; WIDTH]; 2];
        for (w, x) in l.panel(p).as_chunks::<2>().0.iter().zip(x.as_chunks::<2>().0) {
            for s in 0..2 {
                for v in 0..WIDTH {
                    c[s][v] = w[s][v].mul_add(-x[s], c[s][v]);
                }
            }
        }
        *y = std::array::from_fn(|v| c[0][v] + c[1][v]);
    }
}

/// Computes y = −Lᵀ x for one right-hand side.
#[inline(always)]
pub(super) fn negative_transposed_product_vector(l: Lower<'_>, x: &[f64], y: &mut [f64]) {
    y.fill(0.0);
    for (i, x) in x.as_chunks::<WIDTH>().0.iter().enumerate() {
        for (y, w) in y.iter_mut().zip(l.panel(i)) {
            let s: Step = std::array::from_fn(|v| w[v] * x[v]);
            *y -= ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        }
    }
}
