//! Triangular matrices and right-hand sides in panels: the storage scheme of all large dense algebra in this crate.
//!
//! A panel is eight rows of a triangular matrix (or eight right-hand sides) in parallel; one [`Step`] of it holds their entries in one
//! column. Factorisation, solution, inverse and product then use the same loop over contiguous memory,
//!
//! ```text
//! c[b][v] −= Σₖ x[k][v] · w[k][b],   v < 8,   b < 4,
//! ```
//!
//! whose sums stay in registers. Every entry is a sum in the order of k with one rounding per term. Its bits do not depend on the
//! blocking, on the other rows of a panel, or on the width of vector instructions. The code is single-threaded; callers process several
//! matrices in parallel.
//!
//! | | panels | steps of panel p |
//! |---|---|---|
//! | [`Triangle`] L | rows 8p … 8p + 7 | columns 0 … 8p + 7, one panel after the other: new rows are added at the end |
//! | [`Block`] X | right-hand sides 8p … 8p + 7 | rows 0 … n − 1 |
//!
//! The last panel is padded with zeros. The reciprocal of a missing pivot is zero, so the padding stays zero.

mod block;
mod factorize;
mod inverse;
mod product;
mod solve;
#[cfg(test)]
mod tests;

pub(crate) use block::{Block, extend_solution};
pub(crate) use factorize::factorize;
pub(crate) use inverse::{GRAM_COLUMNS, Inverse};

use std::ops::Range;

/// Number of rows in a panel: two registers of the most common vector extension.
pub(crate) const WIDTH: usize = 8;

/// Entries of the rows of a panel in one column.
pub(crate) type Step = [f64; WIDTH];

/// Number of rows of sums in registers; with eight sums in each, enough to hide the latency of an addition.
const TALL: usize = 4;

/// Number of panels whose rows are processed together, and number of steps per block: 256 kB, which stay in the second-level cache while
/// all right-hand sides are processed.
const ROWS: usize = 16;
const DEPTH: usize = 256;

/// Returns the number of panels for `n` rows.
pub(crate) fn panels(n: usize) -> usize {
    n.div_ceil(WIDTH)
}

/// Returns the number of steps before panel `p` of a triangle.
fn start(p: usize) -> usize {
    WIDTH * p * (p + 1) / 2
}

/// Four rows of sums.
type Sums = [Step; TALL];

#[inline(always)]
fn sums(steps: &mut [Step], first: usize) -> &mut Sums {
    (&mut steps[first..first + TALL]).try_into().expect("four steps")
}

/// Computes c[b] −= Σₖ x[k] · w[k][o + b].
#[inline(always)]
fn subtract(c: &mut Sums, x: &[Step], w: &[Step], o: usize) {
    assert!(o + TALL <= WIDTH && x.len() == w.len(), "{} and {} steps", x.len(), w.len());
    let mut sum = *c;
    for (x, w) in x.iter().zip(w) {
        for b in 0..TALL {
            let w = -w[o + b];
            for v in 0..WIDTH {
                sum[b][v] = x[v].mul_add(w, sum[b][v]);
            }
        }
    }
    *c = sum;
}

/// Solves four equations of L x = c after subtraction of the previous unknowns. `w` holds the four steps at the diagonal.
#[inline(always)]
fn substitute(c: &mut Sums, w: &[Step], o: usize, reciprocals: &[f64]) {
    for b in 0..TALL {
        c[b] = c[b].map(|v| v * reciprocals[b]);
        for below in b + 1..TALL {
            let l = -w[b][o + below];
            for v in 0..WIDTH {
                c[below][v] = c[b][v].mul_add(l, c[below][v]);
            }
        }
    }
}

/// A lower triangular matrix in panels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triangle {
    steps: Vec<Step>,
    n: usize,
}

impl Triangle {
    /// Creates an n × n matrix of zeros.
    pub(crate) fn zeros(n: usize) -> Self {
        Triangle { steps: vec![[0.0; WIDTH]; start(panels(n))], n }
    }

    /// Copies the lower triangle of a column-major matrix.
    pub(crate) fn of(a: &[f64], n: usize) -> Self {
        assert_eq!(a.len(), n * n, "{} numbers: not {n} rows", a.len());
        let mut triangle = Triangle::zeros(n);
        for (j, column) in a.chunks_exact(n.max(1)).enumerate() {
            triangle.set_column(j, &column[j..]);
        }
        triangle
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Adds or drops rows at the end; new rows are zero.
    pub(crate) fn resize(&mut self, n: usize) {
        self.steps.resize(start(panels(n)), [0.0; WIDTH]);
        self.n = n;
        self.clear_padding();
    }

    /// Sets the padding after the last row of the last panel to zero.
    fn clear_padding(&mut self) {
        let (last, rows) = (self.n / WIDTH, self.n % WIDTH);
        if rows > 0 {
            for step in &mut self.steps[start(last)..] {
                step[rows..].fill(0.0);
            }
        }
    }

    /// Returns entry (i, j), j ≤ i.
    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        self.steps[start(i / WIDTH) + j][i % WIDTH]
    }

    /// Returns entry (i, j), j ≤ i, as a mutable reference.
    pub(crate) fn at(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.steps[start(i / WIDTH) + j][i % WIDTH]
    }

    /// Writes column j from the diagonal on.
    pub(crate) fn set_column(&mut self, j: usize, column: &[f64]) {
        assert_eq!(column.len(), self.n - j, "{} numbers for column {j} of {}", column.len(), self.n);
        let first = j / WIDTH;
        let (head, rest) = column.split_at((WIDTH * (first + 1) - j).min(column.len()));
        self.steps[start(first) + j][j % WIDTH..][..head.len()].copy_from_slice(head);
        for (i, part) in rest.chunks(WIDTH).enumerate() {
            self.steps[start(first + 1 + i) + j][..part.len()].copy_from_slice(part);
        }
    }

    /// Iterates over the panels of column j below the diagonal: the first row of each, and the entries from there on.
    pub(crate) fn below(&mut self, j: usize) -> impl Iterator<Item = (usize, &mut [f64])> {
        let (first, last, n) = ((j + 1) / WIDTH, panels(self.n), self.n);
        let mut rest = &mut self.steps[start(first)..];
        (first..last).map(move |p| {
            let (panel, after) = std::mem::take(&mut rest).split_at_mut(WIDTH * (p + 1));
            rest = after;
            let row = (WIDTH * p).max(j + 1);
            (row, &mut panel[j][row - WIDTH * p..(n - WIDTH * p).min(WIDTH)])
        })
    }
}

/// View of a factor for triangular solves: its panels and the reciprocals of its pivots.
#[derive(Clone, Copy)]
pub(crate) struct Lower<'a> {
    steps: &'a [Step],
    reciprocals: &'a [f64],
    panels: usize,
}

impl<'a> Lower<'a> {
    /// Creates the view with the reciprocals of [`factorize`].
    pub(crate) fn new(triangle: &'a Triangle, reciprocals: &'a [f64]) -> Self {
        Lower { steps: &triangle.steps, reciprocals, panels: panels(triangle.n) }
    }

    #[inline(always)]
    fn panel(&self, p: usize) -> &'a [Step] {
        &self.steps[start(p)..start(p + 1)]
    }
}

/// Divides `range` into ranges of at most `size` entries.
fn pieces(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(size).map(move |first| first..(first + size).min(end))
}
