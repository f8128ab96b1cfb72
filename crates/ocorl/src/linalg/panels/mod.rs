//! Triangular matrices and right-hand sides in panels: the layout in which all large dense algebra here is done.
//!
//! A panel is eight rows of a triangular matrix (or eight right-hand sides) side by side; one [`Step`] of it holds their entries in one
//! column. Then a factor, a solution, an inverse and a product are all the same loop over the same memory in the order it lies in,
//!
//! ```text
//! c[b][v] −= Σₖ x[k][v] · w[k][b],   v < 8,   b < 4,
//! ```
//!
//! whose sums stay in registers. Every entry is a sum in the order of k with one rounding a term: blocks, neighbours in a panel, and
//! the width of vector instructions do not change a bit of it. One thread: whoever has several matrices runs them side by side.
//!
//! | | panels | steps of panel p |
//! |---|---|---|
//! | [`Triangle`] L | rows 8p … 8p + 7 | columns 0 … 8p + 7, one panel after the other: new rows are added at the end |
//! | [`Block`] X | right-hand sides 8p … 8p + 7 | rows 0 … n − 1 |
//!
//! What a last panel lacks is zeros, and the reciprocal of a pivot that is not there is zero: it stays zeros.

mod block;
mod factorize;
mod inverse;
mod solve;
#[cfg(test)]
mod tests;

pub(crate) use block::{Block, extend_solution};
pub(crate) use factorize::factorize;
pub(crate) use inverse::{GRAM_COLUMNS, Inverse};

use std::ops::Range;

/// Rows in a panel: two registers of the most common vector extension.
pub(crate) const WIDTH: usize = 8;

/// Entries of the rows of a panel in one column.
pub(crate) type Step = [f64; WIDTH];

/// Rows of sums that are kept in registers: with eight in each, as many as hide the latency of an addition.
const TALL: usize = 4;

/// Panels whose rows are worked on together, and steps they are worked on at a time: 256 kB, which stay in the second cache while all
/// right-hand sides pass by.
const ROWS: usize = 16;
const DEPTH: usize = 256;

/// Panels for `n` rows.
pub(crate) fn panels(n: usize) -> usize {
    n.div_ceil(WIDTH)
}

/// Steps before panel `p` of a triangle.
fn start(p: usize) -> usize {
    WIDTH * p * (p + 1) / 2
}

/// Four rows of sums.
type Sums = [Step; TALL];

#[inline(always)]
fn sums(steps: &mut [Step], first: usize) -> &mut Sums {
    (&mut steps[first..first + TALL]).try_into().expect("four steps")
}

/// c[b] −= Σₖ x[k] · w[k][o + b].
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

/// Four equations of L x = c: those before them are already subtracted. `w` are the four steps at the diagonal.
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
    /// n × n zeros.
    pub(crate) fn zeros(n: usize) -> Self {
        Triangle { steps: vec![[0.0; WIDTH]; start(panels(n))], n }
    }

    /// The lower triangle of a column-major matrix.
    pub(crate) fn of(a: &[f64], n: usize) -> Self {
        assert_eq!(a.len(), n * n, "{} numbers: not {n} rows", a.len());
        let mut triangle = Triangle::zeros(n);
        for (j, column) in a.chunks_exact(n.max(1)).enumerate() {
            triangle.set_column(j, &column[j..]);
        }
        triangle
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Adds or drops rows at the end; new ones are zeros.
    pub(crate) fn resize(&mut self, n: usize) {
        self.steps.resize(start(panels(n)), [0.0; WIDTH]);
        self.n = n;
        self.clear_padding();
    }

    /// What is beyond the last row of the last panel must be zeros.
    fn clear_padding(&mut self) {
        let (last, rows) = (self.n / WIDTH, self.n % WIDTH);
        if rows > 0 {
            for step in &mut self.steps[start(last)..] {
                step[rows..].fill(0.0);
            }
        }
    }

    /// Entry (i, j), j ≤ i.
    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        self.steps[start(i / WIDTH) + j][i % WIDTH]
    }

    /// Entry (i, j), j ≤ i, to change.
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

    /// The rows below the diagonal of column j, panel after panel: their first row, and the entries from there on.
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

/// A factor to solve with: its panels and the reciprocals of its pivots.
#[derive(Clone, Copy)]
pub(crate) struct Lower<'a> {
    steps: &'a [Step],
    reciprocals: &'a [f64],
    panels: usize,
}

impl<'a> Lower<'a> {
    /// Reciprocals as [`factorize`] gives them.
    pub(crate) fn new(triangle: &'a Triangle, reciprocals: &'a [f64]) -> Self {
        Lower { steps: &triangle.steps, reciprocals, panels: panels(triangle.n) }
    }

    #[inline(always)]
    fn panel(&self, p: usize) -> &'a [Step] {
        &self.steps[start(p)..start(p + 1)]
    }
}

/// Ranges of `size` numbers that make up `range`.
fn pieces(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(size).map(move |first| first..(first + size).min(end))
}
