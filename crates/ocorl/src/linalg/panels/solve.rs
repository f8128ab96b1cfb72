//! Triangular solves, for many right-hand sides and for one. O(n²) per right-hand side.

use super::{DEPTH, Lower, ROWS, Step, Sums, TALL, WIDTH, pieces, start, substitute, subtract, sums};
use crate::linalg::vector::padded;
use std::ops::Range;

/// Number of panels of right-hand sides that are interleaved, so that a substitution does not wait for the previous one.
const ABREAST: usize = 4;

/// Storage of panels of right-hand sides, and the row panel above which each is zero.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// Full panels with this number of steps each.
    Full(usize),
    /// Panels of a lower triangular matrix with this number of steps each.
    Lower(usize),
    /// Panels of a triangle from this index on.
    Further(usize),
}

impl Layout {
    #[inline(always)]
    fn at(self, q: usize) -> usize {
        match self {
            Layout::Full(rows) | Layout::Lower(rows) => q * rows,
            Layout::Further(from) => start(from + q) - start(from),
        }
    }

    #[inline(always)]
    fn first(self, q: usize) -> usize {
        if matches!(self, Layout::Lower(_)) { q } else { 0 }
    }
}

/// Solves X ← L⁻¹ X for `count` panels of right-hand sides.
#[inline(always)]
pub(super) fn forward(l: Lower<'_>, x: &mut [Step], count: usize, layout: Layout) {
    for block in pieces(0..l.panels, ROWS) {
        for depth in pieces(0..block.start, DEPTH / WIDTH) {
            for q in 0..count {
                let from = depth.start.max(layout.first(q));
                if from < depth.end {
                    let (done, rest) = x[layout.at(q)..].split_at_mut(WIDTH * block.start);
                    let steps = WIDTH * from..WIDTH * depth.end;
                    for i in block.clone() {
                        for o in [0, TALL] {
                            let c = sums(rest, WIDTH * (i - block.start) + o);
                            subtract(c, &done[steps.clone()], &l.panel(i)[steps.clone()], o);
                        }
                    }
                }
            }
        }
        for together in pieces(0..count, ABREAST) {
            for i in block.clone() {
                let w = l.panel(i);
                for q in together.clone().filter(|&q| layout.first(q) <= i) {
                    let from = WIDTH * block.start.max(layout.first(q));
                    for o in [0, TALL] {
                        let row = WIDTH * i + o;
                        let (done, rest) = x[layout.at(q)..].split_at_mut(row);
                        let c = sums(rest, 0);
                        subtract(c, &done[from..], &w[from..row], o);
                        substitute(c, &w[row..], o, &l.reciprocals[row..]);
                    }
                }
            }
        }
    }
}

/// Solves four equations of Lᵀ x = c after subtraction of the later unknowns. `w` holds the four steps at the diagonal.
#[inline(always)]
fn substitute_back(c: &mut Sums, w: &[Step], o: usize, reciprocals: &[f64]) {
    for b in (0..TALL).rev() {
        c[b] = c[b].map(|v| v * reciprocals[b]);
        for above in 0..b {
            let l = -w[above][o + b];
            for v in 0..WIDTH {
                c[above][v] = c[b][v].mul_add(l, c[above][v]);
            }
        }
    }
}

/// Subtracts from c the products of x with the panels `range` of L below row panel k, in the columns 8k + o ….
#[inline(always)]
pub(super) fn subtract_below(c: &mut Sums, l: Lower<'_>, x: &[Step], range: Range<usize>, column: usize) {
    let mut sum = *c;
    let mut at = start(range.start) + column;
    for (i, x) in range.zip(x.as_chunks::<WIDTH>().0) {
        let w: &Sums = l.steps[at..].first_chunk().expect("four columns");
        for k in 0..WIDTH {
            for b in 0..TALL {
                let w = -w[b][k];
                for v in 0..WIDTH {
                    sum[b][v] = x[k][v].mul_add(w, sum[b][v]);
                }
            }
        }
        at += WIDTH * (i + 1);
    }
    *c = sum;
}

/// Subtracts from c the products of the four rows below with the four preceding columns, within a panel's own steps.
#[inline(always)]
fn subtract_lower_half(c: &mut Sums, x: &Sums, own: &[Step]) {
    for k in 0..TALL {
        for b in 0..TALL {
            let w = -own[b][TALL + k];
            for v in 0..WIDTH {
                c[b][v] = x[k][v].mul_add(w, c[b][v]);
            }
        }
    }
}

/// Solves X ← L⁻ᵀ X for `count` full panels of right-hand sides.
#[inline(always)]
pub(super) fn backward(l: Lower<'_>, x: &mut [Step], count: usize) {
    let rows = WIDTH * l.panels;
    let blocks = l.panels.div_ceil(ROWS);
    for block in (0..blocks).rev().map(|b| ROWS * b..(ROWS * (b + 1)).min(l.panels)) {
        for depth in pieces(block.end..l.panels, DEPTH / WIDTH) {
            for x in x.chunks_exact_mut(rows).take(count) {
                let (above, below) = x.split_at_mut(WIDTH * block.end);
                let below = &below[WIDTH * (depth.start - block.end)..WIDTH * (depth.end - block.end)];
                for row in (WIDTH * block.start..WIDTH * block.end).step_by(TALL) {
                    subtract_below(sums(above, row), l, below, depth.clone(), row);
                }
            }
        }
        for together in pieces(0..count, ABREAST) {
            for k in block.clone().rev() {
                let (own, reciprocals) = (&l.panel(k)[WIDTH * k..], &l.reciprocals[WIDTH * k..]);
                for q in together.clone() {
                    let (above, below) = x[q * rows..(q + 1) * rows].split_at_mut(WIDTH * (k + 1));
                    let range = k + 1..block.end;
                    let below = &below[..WIDTH * range.len()];
                    let (upper, lower) = above[WIDTH * k..].split_at_mut(TALL);
                    let (upper, lower) = (sums(upper, 0), sums(lower, 0));
                    subtract_below(lower, l, below, range.clone(), WIDTH * k + TALL);
                    substitute_back(lower, &own[TALL..], TALL, &reciprocals[TALL..]);
                    subtract_below(upper, l, below, range, WIDTH * k);
                    subtract_lower_half(upper, lower, own);
                    substitute_back(upper, own, 0, reciprocals);
                }
            }
        }
    }
}

/// Solves L x = b for one right-hand side, of which the first `known` rows already hold x.
#[inline(always)]
pub(super) fn forward_vector(l: Lower<'_>, known: usize, x: &mut [f64]) {
    for p in known / WIDTH..l.panels {
        let (w, done) = (l.panel(p), known.max(WIDTH * p));
        let rows = WIDTH * p..x.len().min(WIDTH * (p + 1));
        let mut c = padded(&x[rows.clone()]);
        for (w, x) in w.iter().zip(&x[..done]) {
            for v in 0..WIDTH {
                c[v] = w[v].mul_add(-x, c[v]);
            }
        }
        for row in done..rows.end {
            x[row] = c[row - rows.start] * l.reciprocals[row];
            for v in row - rows.start + 1..WIDTH {
                c[v] = w[row][v].mul_add(-x[row], c[v]);
            }
        }
    }
}

/// Solves Lᵀ x = b for one right-hand side, padded with zeros to whole panels.
///
/// It processes the columns of sixteen panels at a time, whose part of each panel below is contiguous. Sums run along the rows of a panel
/// and are added across the panel only once.
#[inline(always)]
pub(super) fn backward_vector(l: Lower<'_>, x: &mut [f64]) {
    let x = x.as_chunks_mut::<WIDTH>().0;
    for first in (0..l.panels).step_by(ROWS).rev() {
        let last = (first + ROWS).min(l.panels);
        let mut sums = [[0.0; WIDTH]; WIDTH * ROWS];
        for i in last..l.panels {
            add_products(&mut sums, &l.panel(i)[WIDTH * first..WIDTH * last], &x[i]);
        }
        for k in (first..last).rev() {
            let sums = &mut sums[WIDTH * (k - first)..];
            for i in k + 1..last {
                add_products(sums, &l.panel(i)[WIDTH * k..WIDTH * (k + 1)], &x[i]);
            }
            let (own, x) = (&l.panel(k)[WIDTH * k..], &mut x[k]);
            for b in (0..WIDTH).rev() {
                let mut left = x[b] - across(sums[b]);
                for done in b + 1..WIDTH {
                    left = own[b][done].mul_add(-x[done], left);
                }
                x[b] = left * l.reciprocals[WIDTH * k + b];
            }
        }
    }
}

/// Computes sums[k] += w[k] · x, entry by entry.
#[inline(always)]
fn add_products(sums: &mut [Step], w: &[Step], x: &Step) {
    for (sum, w) in sums.iter_mut().zip(w) {
        for v in 0..WIDTH {
            sum[v] = w[v].mul_add(x[v], sum[v]);
        }
    }
}

/// Computes the sum of eight numbers in pairs.
#[inline(always)]
fn across(s: Step) -> f64 {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}
