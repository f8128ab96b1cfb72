//! Cholesky factorisation in panel storage. O(n³/3).

use super::solve::{Layout, forward};
use super::{
    DEPTH, Lower, ROWS, Step, Sums, TALL, Triangle, WIDTH, panels, pieces, start, substitute, subtract, sums,
};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Factorises the lower triangle of a symmetric matrix in place and writes the reciprocals of the pivots. `Err` holds the index of the
/// first pivot that is not positive (or not finite).
pub(crate) fn factorize(a: &mut Triangle, reciprocals: &mut Vec<f64>) -> Result<(), usize> {
    reciprocals.clear();
    reciprocals.resize(WIDTH * panels(a.n), 0.0);
    // The memory may still hold values of a matrix that was not finite.
    a.clear_padding();
    Arch::new().dispatch(Factorize { a, reciprocals })
}

struct Factorize<'a> {
    a: &'a mut Triangle,
    reciprocals: &'a mut [f64],
}

impl WithSimd for Factorize<'_> {
    type Output = Result<(), usize>;

    /// Processes the rows of sixteen panels at a time: first against the finished rows above them, then against each other.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Result<(), usize> {
        let (n, steps) = (self.a.n, &mut self.a.steps);
        for group in pieces(0..panels(n), ROWS) {
            let (done, rest) = steps.split_at_mut(start(group.start));
            let l = Lower { steps: done, reciprocals: self.reciprocals, panels: group.start };
            forward(l, rest, group.len(), Layout::Further(group.start));
            subtract_products(rest, group.clone());
            let at = |i: usize| start(i) - start(group.start);
            for j in group.clone() {
                let own = &mut rest[at(j)..];
                for o in [0, TALL] {
                    let row = WIDTH * j + o;
                    let (left, right) = own.split_at_mut(row);
                    let (c, left) = (sums(right, 0), &left[WIDTH * group.start..]);
                    subtract(c, left, left, o);
                    factorize_columns(c, o, n.saturating_sub(row), &mut self.reciprocals[row..])
                        .map_err(|pivot| row + pivot)?;
                }
                for i in j + 1..group.end {
                    let (before, own) = rest.split_at_mut(at(i));
                    let w = &before[at(j)..];
                    for o in [0, TALL] {
                        let row = WIDTH * j + o;
                        let (left, right) = own.split_at_mut(row);
                        let c = sums(right, 0);
                        subtract(c, &left[WIDTH * group.start..], &w[WIDTH * group.start..row], o);
                        substitute(c, &w[row..], o, &self.reciprocals[row..]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Subtracts from the rows of `group` their products over all columns before the group.
#[inline(always)]
fn subtract_products(steps: &mut [Step], group: Range<usize>) {
    let at = |i: usize| start(i) - start(group.start);
    for depth in pieces(0..WIDTH * group.start, DEPTH) {
        for i in group.clone() {
            let (before, own) = steps.split_at_mut(at(i));
            let (left, right) = own.split_at_mut(WIDTH * group.start);
            let x = &left[depth.clone()];
            for j in group.start..=i {
                let w = if j < i { &before[at(j)..][depth.clone()] } else { x };
                for o in [0, TALL] {
                    subtract(sums(right, WIDTH * (j - group.start) + o), x, w, o);
                }
            }
        }
    }
}

/// Factorises four columns at the diagonal, from row `o` of their panel on; only the first `left` of them exist.
#[inline(always)]
fn factorize_columns(c: &mut Sums, o: usize, left: usize, reciprocals: &mut [f64]) -> Result<(), usize> {
    for b in 0..TALL {
        if b >= left {
            c[b] = [0.0; WIDTH];
            continue;
        }
        let square = c[b][o + b];
        // Negated comparison, so that NaN fails.
        if !(square > 0.0 && square.is_finite()) {
            return Err(b);
        }
        let pivot = square.sqrt();
        reciprocals[b] = 1.0 / pivot;
        c[b] = c[b].map(|v| v * reciprocals[b]);
        c[b][o + b] = pivot;
        c[b][..o + b].fill(0.0);
        for later in b + 1..TALL {
            let l = -c[b][o + later];
            for v in 0..WIDTH {
                c[later][v] = c[b][v].mul_add(l, c[later][v]);
            }
        }
    }
    Ok(())
}
