//! Inverse of a triangular factor, and Gram matrices of columns.

use super::block::{Squares, each_mut};
use super::solve::{Layout, forward};
use super::{Lower, Step, TALL, WIDTH, panels, pieces, subtract, sums};
use pulp::{Arch, Simd, WithSimd};

/// Number of steps per block in the product of two panels, chosen to fit the first-level cache.
const SHORT: usize = 128;

/// Inverse L⁻¹ with its columns in panels; entries above the diagonal are zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inverse {
    steps: Vec<Step>,
    panels: usize,
}

impl Inverse {
    /// Allocates memory for n × n entries.
    pub(crate) fn zeros(n: usize) -> Self {
        let panels = panels(n);
        Inverse { steps: vec![[0.0; WIDTH]; WIDTH * panels * panels], panels }
    }

    /// Computes L⁻¹. Costs O(n³/3).
    pub(crate) fn assign(&mut self, l: Lower<'_>) {
        assert_eq!(self.panels, l.panels, "room for another matrix");
        for (q, panel) in each_mut(&mut self.steps, WIDTH * l.panels).enumerate() {
            panel[WIDTH * q..].fill([0.0; WIDTH]);
            for v in 0..WIDTH {
                panel[WIDTH * q + v][v] = 1.0;
            }
        }
        Arch::new().dispatch(Invert { l, out: &mut self.steps });
    }

    /// Returns the squared norm of each column, the diagonal of (L Lᵀ)⁻¹, padded with zeros to the end of the last panel.
    pub(crate) fn square_norms(&self) -> Vec<f64> {
        let each = self.steps.chunks_exact((WIDTH * self.panels).max(1));
        each.flat_map(|panel| Arch::new().dispatch(Squares { panel })).collect()
    }

    /// Returns (L⁻¹)ᵀ L⁻¹ = (L Lᵀ)⁻¹ as a Gram matrix; evaluating all of it costs n³/3.
    pub(crate) fn gram(&self) -> Gram<'_> {
        Gram { steps: &self.steps, depth: WIDTH * self.panels, panels: self.panels, lower: true }
    }
}

struct Invert<'a> {
    l: Lower<'a>,
    out: &'a mut [Step],
}

impl WithSimd for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        forward(self.l, self.out, self.l.panels, Layout::Lower(WIDTH * self.l.panels));
    }
}

/// Number of columns that a [`Gram`] matrix computes at a time.
pub(crate) const GRAM_COLUMNS: usize = 4 * WIDTH;

/// Gram matrix XᵀX of columns X in panels, evaluated a few columns at a time.
#[derive(Clone, Copy)]
pub(crate) struct Gram<'a> {
    pub(super) steps: &'a [Step],
    /// Number of steps of a panel.
    pub(super) depth: usize,
    pub(super) panels: usize,
    /// Whether X is lower triangular.
    pub(super) lower: bool,
}

impl Gram<'_> {
    /// Returns the length of a column, padded to whole panels.
    pub(crate) fn rows(self) -> usize {
        WIDTH * self.panels
    }

    /// Returns the memory size of [`GRAM_COLUMNS`] columns.
    pub(crate) fn room(self) -> usize {
        GRAM_COLUMNS * self.rows()
    }

    /// Computes the columns of −XᵀX from panel `from` on, at most [`GRAM_COLUMNS`], into memory of size [`room`](Self::room). Entries
    /// above the diagonal are left unchanged.
    pub(crate) fn negative(self, from: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.room(), "room for {GRAM_COLUMNS} columns");
        Arch::new().dispatch(NegativeGram { gram: self, from, out });
    }
}

struct NegativeGram<'a> {
    gram: Gram<'a>,
    from: usize,
    out: &'a mut [f64],
}

impl WithSimd for NegativeGram<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Gram { steps, depth: rows, panels, lower } = self.gram;
        let group = self.from..(self.from + GRAM_COLUMNS / WIDTH).min(panels);
        for i in group.start..panels {
            let columns = group.start..group.end.min(i + 1);
            let mut c = [[[0.0; WIDTH]; WIDTH]; GRAM_COLUMNS / WIDTH];
            for depth in pieces(if lower { WIDTH * i } else { 0 }..rows, SHORT) {
                let x = &steps[i * rows..][depth.clone()];
                for j in columns.clone() {
                    let w = &steps[j * rows..][depth.clone()];
                    for o in [0, TALL] {
                        subtract(sums(&mut c[j - group.start], o), x, w, o);
                    }
                }
            }
            for (j, c) in columns.zip(&c) {
                for (b, c) in c.iter().enumerate() {
                    let column = WIDTH * (j - group.start) + b;
                    self.out[column * WIDTH * panels + WIDTH * i..][..WIDTH].copy_from_slice(c);
                }
            }
        }
    }
}
