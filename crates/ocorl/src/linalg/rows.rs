//! Points stored by coordinates, so that a loop over many points accesses contiguous memory.

use super::Points;
use super::vector::BLOCK;

/// Points in rows: all first coordinates, then all second ones, and so on, with capacity to append, and room for a whole block after the
/// last.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    data: Vec<f64>,
    dim: usize,
    len: usize,
    capacity: usize,
}

impl Rows {
    /// Creates an empty set of points of dimension `dim`.
    pub fn new(dim: usize) -> Self {
        Rows { data: Vec::new(), dim, len: 0, capacity: 0 }
    }

    /// Copies the columns of `points`.
    pub fn from_points(points: Points<'_>) -> Self {
        let mut rows = Rows::new(points.dim());
        rows.append(points);
        rows
    }

    /// Appends columns. Amortised cost O(dim · count).
    pub fn append(&mut self, points: Points<'_>) {
        assert_eq!(points.dim(), self.dim, "points of {} coordinates, not {}", self.dim, points.dim());
        self.reserve(self.len + points.len());
        for i in 0..points.len() {
            for (d, value) in points.at(i).iter().enumerate() {
                self.data[d * self.capacity + self.len + i] = *value;
            }
        }
        self.len += points.len();
    }

    fn reserve(&mut self, needed: usize) {
        if needed <= self.capacity {
            return;
        }
        let capacity = if self.capacity == 0 { needed } else { needed.max(2 * self.capacity) };
        let mut data = vec![0.0; self.dim * capacity + BLOCK];
        for d in 0..self.dim {
            data[d * capacity..d * capacity + self.len].copy_from_slice(self.view().row(d));
        }
        (self.data, self.capacity) = (data, capacity);
    }

    /// Keeps the points whose index `keep` accepts, in order.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.len).filter(|&i| keep(i)).collect();
        for row in self.data.chunks_exact_mut(self.capacity.max(1)).take(self.dim) {
            for (to, &from) in kept.iter().enumerate() {
                row[to] = row[from];
            }
        }
        self.len = kept.len();
    }

    /// Copies the points with the given indices.
    pub fn select(&self, indices: &[usize]) -> Rows {
        let mut columns = vec![0.0; indices.len() * self.dim];
        for (&i, out) in indices.iter().zip(columns.chunks_exact_mut(self.dim)) {
            self.copy_point(i, out);
        }
        Rows::from_points(Points::new(&columns, self.dim))
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the dimension of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns a view of all points.
    pub fn view(&self) -> RowsRef<'_> {
        RowsRef { data: &self.data, stride: self.capacity, dim: self.dim, start: 0, len: self.len }
    }

    /// Copies the `i`-th point into `out`.
    pub fn copy_point(&self, i: usize, out: &mut [f64]) {
        for (d, value) in out.iter_mut().enumerate() {
            *value = self.data[d * self.capacity + i];
        }
    }
}

/// A view of a range of the points of [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct RowsRef<'a> {
    data: &'a [f64],
    stride: usize,
    dim: usize,
    start: usize,
    len: usize,
}

impl<'a> RowsRef<'a> {
    /// Returns a view of the points from index `start` on.
    pub fn from(self, start: usize) -> Self {
        assert!(start <= self.len, "from {start} of {} points", self.len);
        RowsRef { start: self.start + start, len: self.len - start, ..self }
    }

    /// Returns coordinate `d` of all points.
    #[inline(always)]
    pub fn row(&self, d: usize) -> &'a [f64] {
        &self.data[d * self.stride + self.start..][..self.len]
    }

    /// Returns coordinate `d` of `N` points from index `start` on. Up to [`BLOCK`] points the block may extend beyond the last point; the
    /// entries there are finite if all coordinates are, and have no meaning.
    #[inline(always)]
    pub fn block<const N: usize>(&self, d: usize, start: usize) -> &'a [f64; N] {
        let from = d * self.stride + self.start + start;
        let block: Option<&[f64; N]> = self.data[from..].first_chunk();
        block.expect("a whole block of points")
    }

    /// Returns the dimension of a point.
    #[inline(always)]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of points.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appending_keeps_the_points_and_retaining_their_order() {
        let mut rows = Rows::new(2);
        let columns: Vec<f64> = (0..14).map(f64::from).collect();
        for pair in columns.chunks_exact(2) {
            rows.append(Points::new(pair, 2));
        }
        assert_eq!(rows.view().row(0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        rows.retain(|i| i % 3 != 1);
        assert_eq!(rows.view().row(1), [1.0, 5.0, 7.0, 11.0, 13.0]);
        assert_eq!(rows.view().from(3).row(0), [10.0, 12.0]);
        let mut point = [0.0; 2];
        rows.copy_point(1, &mut point);
        assert_eq!(point, [4.0, 5.0]);
    }
}
