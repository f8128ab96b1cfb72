//! Right-hand sides in panel storage.

use super::inverse::{GRAM_COLUMNS, Gram};
use super::product::{
    negative_product, negative_product_vector, negative_transposed_product,
    negative_transposed_product_vector,
};
use super::solve::{Layout, backward, backward_vector, forward, forward_vector};
use super::{Lower, Step, WIDTH, panels};
use crate::linalg::vector::dot;
use pulp::{Arch, Simd, WithSimd};

/// Right-hand sides in panels; a single right-hand side is stored as a plain vector.
pub(crate) struct Block<'a> {
    memory: &'a mut [f64],
    n: usize,
    columns: usize,
}

impl<'a> Block<'a> {
    /// Returns the memory size for `columns` right-hand sides of length n.
    pub(crate) fn room(n: usize, columns: usize) -> usize {
        WIDTH * panels(n) * if columns == 1 { 1 } else { WIDTH * panels(columns) }
    }

    /// Packs right-hand sides, stored by columns of length n, into memory of size [`room`](Self::room).
    pub(crate) fn pack(from: &[f64], n: usize, columns: usize, memory: &'a mut [f64]) -> Self {
        assert_eq!(from.len(), n * columns, "{columns} columns of {n} numbers");
        let block = Block::over(memory, n, columns);
        if columns == 1 {
            block.memory[..n].copy_from_slice(from);
            block.memory[n..].fill(0.0);
        } else {
            let memory = block.memory.as_chunks_mut().0;
            for (columns, panel) in from.chunks(WIDTH * n.max(1)).zip(each_mut(memory, n)) {
                Arch::new().dispatch(Pack { columns, n, panel });
            }
        }
        block
    }

    /// Views memory that was [packed](Self::pack) before, or copied from packed memory.
    pub(crate) fn over(memory: &'a mut [f64], n: usize, columns: usize) -> Self {
        assert_eq!(memory.len(), Block::room(n, columns), "room for {columns} columns of {n}");
        Block { memory, n, columns }
    }

    /// Returns all entries in panel order.
    pub(crate) fn numbers(&self) -> &[f64] {
        self.memory
    }

    /// Returns all entries in panel order as a mutable slice.
    pub(crate) fn numbers_mut(&mut self) -> &mut [f64] {
        self.memory
    }

    fn panels(&self) -> impl Iterator<Item = &[Step]> {
        self.memory.as_chunks().0.chunks_exact((WIDTH * panels(self.n)).max(1))
    }

    /// Unpacks the columns, one after another.
    pub(crate) fn unpack(&self, to: &mut [f64]) {
        assert_eq!(to.len(), self.n * self.columns, "{} columns of {} numbers", self.columns, self.n);
        if self.columns == 1 {
            return to.copy_from_slice(&self.memory[..self.n]);
        }
        for (columns, panel) in to.chunks_mut(WIDTH * self.n.max(1)).zip(self.panels()) {
            for (v, column) in columns.chunks_exact_mut(self.n).enumerate() {
                for (value, step) in column.iter_mut().zip(panel) {
                    *value = step[v];
                }
            }
        }
    }

    /// Computes the squared norm |x|² of each column.
    pub(crate) fn square_norms(&self, out: &mut [f64]) {
        assert_eq!(out.len(), self.columns, "{} columns", self.columns);
        if self.columns == 1 {
            out[0] = dot(self.memory, self.memory);
            return;
        }
        out.fill(0.0);
        for (out, panel) in out.chunks_mut(WIDTH).zip(self.panels()) {
            let squares = Arch::new().dispatch(Squares { panel });
            out.copy_from_slice(&squares[..out.len()]);
        }
    }

    /// Solves X ← L⁻¹ X in place.
    pub(crate) fn solve(&mut self, l: Lower<'_>) {
        self.dispatch(l, false);
    }

    /// Solves X ← L⁻ᵀ X in place.
    pub(crate) fn solve_transposed(&mut self, l: Lower<'_>) {
        self.dispatch(l, true);
    }

    fn dispatch(&mut self, l: Lower<'_>, transposed: bool) {
        assert_eq!(panels(self.n), l.panels, "a factor of another size");
        if l.panels > 0 {
            Arch::new().dispatch(Solve { l, x: self.memory, columns: self.columns, transposed });
        }
    }

    /// Computes −L X into `out`, a block of the same size.
    pub(crate) fn negative_product(&self, l: Lower<'_>, out: &mut Block<'_>) {
        self.multiply(l, false, out);
    }

    /// Computes −Lᵀ X into `out`, a block of the same size.
    pub(crate) fn negative_transposed_product(&self, l: Lower<'_>, out: &mut Block<'_>) {
        self.multiply(l, true, out);
    }

    fn multiply(&self, l: Lower<'_>, transposed: bool, out: &mut Block<'_>) {
        assert_eq!(panels(self.n), l.panels, "a matrix of another size");
        assert_eq!((self.n, self.columns), (out.n, out.columns), "room for another block");
        if l.panels > 0 {
            let (x, y) = (&*self.memory, &mut *out.memory);
            Arch::new().dispatch(Multiply { l, x, y, columns: self.columns, transposed });
        }
    }

    /// Adds `sign` · XᵀX to the lower triangle of C, column-major.
    pub(crate) fn add_gram(&self, sign: f64, c: &mut [f64]) {
        let count = self.columns;
        assert_eq!(c.len(), count * count, "a matrix of {count} columns");
        let mut packed = Vec::new();
        let steps = if count == 1 {
            packed.extend(self.memory.iter().map(|&x| std::array::from_fn(|v| if v == 0 { x } else { 0.0 })));
            &packed[..]
        } else {
            self.memory.as_chunks().0
        };
        let gram = Gram { steps, depth: WIDTH * panels(self.n), panels: panels(count), lower: false };
        let mut columns = vec![0.0; gram.room()];
        for from in (0..gram.panels).step_by(GRAM_COLUMNS / WIDTH) {
            gram.negative(from, &mut columns);
            for (j, column) in (WIDTH * from..count).zip(columns.chunks_exact(gram.rows())) {
                for (c, g) in c[j * count + j..(j + 1) * count].iter_mut().zip(&column[j..]) {
                    *c -= sign * g;
                }
            }
        }
    }
}

pub(super) fn each_mut(steps: &mut [Step], n: usize) -> impl Iterator<Item = &mut [Step]> {
    steps.chunks_exact_mut((WIDTH * panels(n)).max(1))
}

struct Pack<'a> {
    columns: &'a [f64],
    n: usize,
    panel: &'a mut [Step],
}

impl WithSimd for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (n, panel) = (self.n, self.panel);
        if self.columns.len() < WIDTH * n {
            panel.fill([0.0; WIDTH]);
            for (v, column) in self.columns.chunks_exact(n).enumerate() {
                for (step, value) in panel.iter_mut().zip(column) {
                    step[v] = *value;
                }
            }
            return;
        }
        let columns: [&[f64]; WIDTH] = std::array::from_fn(|v| &self.columns[v * n..(v + 1) * n]);
        for (row, step) in panel[..n].iter_mut().enumerate() {
            *step = std::array::from_fn(|v| columns[v][row]);
        }
        panel[n..].fill([0.0; WIDTH]);
    }
}

/// Sum of squares Σ x² over the steps of a panel.
pub(super) struct Squares<'a> {
    pub(super) panel: &'a [Step],
}

impl WithSimd for Squares<'_> {
    type Output = Step;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Step {
        let mut sum = [0.0; WIDTH];
        for step in self.panel {
            for v in 0..WIDTH {
                sum[v] = step[v].mul_add(step[v], sum[v]);
            }
        }
        sum
    }
}

struct Solve<'a> {
    l: Lower<'a>,
    x: &'a mut [f64],
    columns: usize,
    transposed: bool,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (l, count) = (self.l, panels(self.columns));
        match (self.columns, self.transposed) {
            (1, false) => forward_vector(l, 0, self.x),
            (1, true) => backward_vector(l, self.x),
            (_, false) => forward(l, self.x.as_chunks_mut().0, count, Layout::Full(WIDTH * l.panels)),
            (_, true) => backward(l, self.x.as_chunks_mut().0, count),
        }
    }
}

struct Multiply<'a> {
    l: Lower<'a>,
    x: &'a [f64],
    y: &'a mut [f64],
    columns: usize,
    transposed: bool,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (l, count) = (self.l, panels(self.columns));
        match (self.columns, self.transposed) {
            (1, false) => negative_product_vector(l, self.x, self.y),
            (1, true) => negative_transposed_product_vector(l, self.x, self.y),
            (_, false) => negative_product(l, self.x.as_chunks().0, self.y.as_chunks_mut().0, count),
            (_, true) => {
                negative_transposed_product(l, self.x.as_chunks().0, self.y.as_chunks_mut().0, count);
            }
        }
    }
}

/// Extends x = L⁻¹ b from the first `known` rows to all rows by forward substitution. Costs O(n) per row.
pub(crate) fn extend_solution(l: Lower<'_>, known: usize, x: &mut [f64]) {
    Arch::new().dispatch(Extend { l, known, x });
}

struct Extend<'a> {
    l: Lower<'a>,
    known: usize,
    x: &'a mut [f64],
}

impl WithSimd for Extend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        forward_vector(self.l, self.known, self.x);
    }
}
