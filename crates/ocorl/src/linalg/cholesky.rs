//! A Cholesky factor that grows and shrinks with its data.

use super::dense::{self, Matrix};
use super::small::axpy;

/// L with L Lᵀ = A, lower, with room to append.
///
/// | change of A | cost |
/// |---|---|
/// | new | n³/3 |
/// | append m rows and columns | n²m |
/// | remove one | (n − i)² |
/// | add δ to a diagonal entry | (n − i)² |
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    /// Columns of `capacity` numbers; only rows ≥ the column's index are meaningful.
    data: Vec<f64>,
    n: usize,
    capacity: usize,
}

impl Cholesky {
    /// Factorises the lower triangle of a (n × n, column-major), in its own memory. `Err` is the first pivot that is not positive.
    pub fn new(a: Vec<f64>, n: usize) -> Result<Self, usize> {
        Cholesky::with_room(a, n, n)
    }

    /// The same for columns `capacity` ≥ n apart: a matrix of `capacity` rows and columns, of which the upper left n × n counts, can grow
    /// to its size without moving.
    pub fn with_room(mut a: Vec<f64>, n: usize, capacity: usize) -> Result<Self, usize> {
        assert!(
            a.len() == capacity * capacity && n <= capacity,
            "{} numbers: not {n} of {capacity} rows",
            a.len()
        );
        if n > 0 {
            dense::cholesky(&mut a, n, capacity)?;
        }
        // The library lets NaN pass.
        match (0..n).map(|i| a[i * capacity + i]).position(|pivot| !(pivot > 0.0 && pivot.is_finite())) {
            Some(pivot) => Err(pivot),
            None => Ok(Cholesky { data: a, n, capacity }),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }

    /// True for the factor of nothing.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Lᵢᵢ.
    pub fn pivot(&self, i: usize) -> f64 {
        self.data[i * self.capacity + i]
    }

    /// Column `j` from the diagonal on.
    fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.capacity + j..j * self.capacity + self.n]
    }

    fn view(&self) -> Matrix<'_> {
        Matrix::with_stride(&self.data, self.n, self.n, self.capacity)
    }

    /// B ← L⁻¹ B, `columns` right-hand sides of n numbers.
    pub fn solve_lower(&self, b: &mut [f64], columns: usize) {
        if self.n > 0 {
            dense::solve_lower(self.view(), b, columns);
        }
    }

    /// B ← L⁻ᵀ B.
    pub fn solve_transposed(&self, b: &mut [f64], columns: usize) {
        if self.n > 0 {
            dense::solve_lower_transposed(self.view(), b, columns);
        }
    }

    /// ln det A = 2 Σ ln Lᵢᵢ.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.pivot(i).ln()).sum::<f64>()
    }

    /// L⁻¹, n × n with zeros above the diagonal. O(n³/3).
    pub fn inverse_factor(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.n * self.n];
        if self.n > 0 {
            dense::invert_lower(self.view(), &mut out);
        }
        out
    }

    /// The diagonal of A⁻¹: squared column norms of L⁻¹.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let inverse = self.inverse_factor();
        (0..self.n).map(|j| inverse[j * self.n + j..(j + 1) * self.n].iter().map(|v| v * v).sum()).collect()
    }

    /// Grows to the factor of [A Bᵀ; B C]: `cross` is Bᵀ (n × m, column-major), `corner` is C (m × m, lower triangle).
    ///
    /// ```text
    /// L₂₁ᵀ = L⁻¹ Bᵀ,   L₂₂ L₂₂ᵀ = C − L₂₁ L₂₁ᵀ
    /// ```
    ///
    /// `Err` is the pivot that is not positive; the factor is then as it was.
    pub fn append(&mut self, mut cross: Vec<f64>, mut corner: Vec<f64>, m: usize) -> Result<(), usize> {
        let n = self.n;
        assert_eq!((cross.len(), corner.len()), (n * m, m * m), "blocks for {m} new rows beside {n}");
        if m == 0 {
            return Ok(());
        }
        if n > 0 {
            self.solve_lower(&mut cross, m);
            dense::add_self_product(&mut corner, Matrix::new(&cross, n, m).transposed(), -1.0);
        }
        let corner = Cholesky::new(corner, m).map_err(|pivot| n + pivot)?;
        self.reserve(n + m);
        for j in 0..n {
            for i in 0..m {
                self.data[j * self.capacity + n + i] = cross[i * n + j];
            }
        }
        for j in 0..m {
            let start = (n + j) * self.capacity + n;
            self.data[start + j..start + m].copy_from_slice(corner.column(j));
        }
        self.n += m;
        Ok(())
    }

    fn reserve(&mut self, needed: usize) {
        if needed <= self.capacity {
            return;
        }
        // A quarter more: the matrix is large, and a study appends a little at a time.
        let capacity = needed + needed / 4;
        let mut data = vec![0.0; capacity * capacity];
        for j in 0..self.n {
            data[j * capacity + j..j * capacity + self.n].copy_from_slice(self.column(j));
        }
        (self.data, self.capacity) = (data, capacity);
    }

    /// The factor of the upper left n × n of A.
    pub fn truncate(&mut self, n: usize) {
        self.n = self.n.min(n);
    }

    /// The factor of A without row and column `i`: what stood below row i takes up the lost column as a rank-one update.
    pub fn remove(&mut self, i: usize) {
        assert!(i < self.n, "row {i} of {}", self.n);
        let mut lost = self.column(i)[1..].to_vec();
        let (n, stride) = (self.n, self.capacity);
        for j in 0..i {
            self.data.copy_within(j * stride + i + 1..j * stride + n, j * stride + i);
        }
        for j in i + 1..n {
            self.data.copy_within(j * stride + j..j * stride + n, (j - 1) * stride + j - 1);
        }
        self.n -= 1;
        self.rank_one(i, &mut lost);
    }

    /// A + δ eᵢ eᵢᵀ for δ ≥ 0.
    pub fn add_to_diagonal(&mut self, i: usize, delta: f64) {
        assert!(i < self.n && delta >= 0.0, "row {i} of {}, δ = {delta}", self.n);
        let mut vector = vec![0.0; self.n - i];
        vector[0] = delta.sqrt();
        self.rank_one(i, &mut vector);
    }

    /// L Lᵀ + v vᵀ where v has zeros before row `start`; by plane rotations, stable because nothing is subtracted.
    fn rank_one(&mut self, start: usize, v: &mut [f64]) {
        for j in start..self.n {
            let k = j - start;
            let column = &mut self.data[j * self.capacity + j..j * self.capacity + self.n];
            let r = column[0].hypot(v[k]);
            let (c, s) = (column[0] / r, v[k] / r);
            column[0] = r;
            for (l, v) in column[1..].iter_mut().zip(&mut v[k + 1..]) {
                let old = *l;
                *l = c * old + s * *v;
                *v = c * *v - s * old;
            }
        }
    }

    /// Extends y = L₁⁻¹ b from the first `known` rows to all: forward substitution of the rest, O(n) a row.
    pub fn extend_solution(&self, known: usize, y: &mut [f64]) {
        assert_eq!(y.len(), self.n, "{} numbers for {} rows", y.len(), self.n);
        if known == self.n {
            return;
        }
        // Column after column: rows `known..` of column j are contiguous.
        let (done, rest) = y.split_at_mut(known);
        for (j, yj) in done.iter().enumerate() {
            axpy(-yj, &self.data[j * self.capacity + known..j * self.capacity + self.n], rest);
        }
        for i in 0..rest.len() {
            let row = known + i;
            rest[i] /= self.pivot(row);
            let (head, tail) = rest.split_at_mut(i + 1);
            axpy(-head[i], &self.column(row)[1..], tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// A well conditioned symmetric matrix: M Mᵀ + I.
    fn matrix(n: usize) -> Vec<f64> {
        let mut rng = Stream::root(n as u64).rng();
        let m: Vec<f64> = (0..n * n).map(|_| rng.normal()).collect();
        let entry = |i: usize, j: usize| (0..n).map(|k| m[k * n + i] * m[k * n + j]).sum::<f64>() / n as f64;
        (0..n * n).map(|e| entry(e % n, e / n) + f64::from(e % n == e / n)).collect()
    }

    fn without(a: &[f64], n: usize, gone: usize) -> Vec<f64> {
        (0..n * n).filter(|e| e % n != gone && e / n != gone).map(|e| a[e]).collect()
    }

    fn assert_same_factor(a: &Cholesky, b: &Cholesky) {
        assert_eq!(a.len(), b.len());
        for j in 0..a.len() {
            for (x, y) in a.column(j).iter().zip(b.column(j)) {
                assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "column {j}: {x} and {y}");
            }
        }
    }

    #[test]
    fn growing_in_blocks_gives_the_factor_of_the_whole() {
        let n = 37;
        let a = matrix(n);
        let block = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| -> Vec<f64> {
            columns.flat_map(|j| rows.clone().map(move |i| (i, j))).map(|(i, j)| a[j * n + i]).collect()
        };
        let mut grown = Cholesky::default();
        for range in [0..1, 1..8, 8..9, 9..30, 30..37] {
            let m = range.len();
            grown.append(block(0..range.start, range.clone()), block(range.clone(), range), m).unwrap();
        }
        assert_same_factor(&grown, &Cholesky::new(a, n).unwrap());
    }

    #[test]
    fn removing_gives_the_factor_of_the_rest() {
        let n = 20;
        for gone in [0, 7, 19] {
            let mut factor = Cholesky::new(matrix(n), n).unwrap();
            factor.remove(gone);
            assert_same_factor(&factor, &Cholesky::new(without(&matrix(n), n, gone), n - 1).unwrap());
        }
    }

    #[test]
    fn a_diagonal_entry_can_be_raised() {
        let (n, mut a) = (15, matrix(15));
        let mut factor = Cholesky::new(a.clone(), n).unwrap();
        factor.add_to_diagonal(4, 2.5);
        a[4 * n + 4] += 2.5;
        assert_same_factor(&factor, &Cholesky::new(a, n).unwrap());
    }

    #[test]
    fn a_failed_append_changes_nothing() {
        let n = 5;
        let mut factor = Cholesky::new(matrix(n), n).unwrap();
        let before = factor.clone();
        assert_eq!(factor.append(vec![0.0; n], vec![-1.0], 1), Err(n));
        assert_same_factor(&factor, &before);
        assert_eq!(Cholesky::new(vec![f64::NAN], 1).unwrap_err(), 0);
    }

    #[test]
    fn solutions_extend_as_the_factor_grows() {
        let (n, known) = (12, 9);
        let factor = Cholesky::new(matrix(n), n).unwrap();
        let b: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let mut whole = b.clone();
        factor.solve_lower(&mut whole, 1);
        let mut grown = b;
        grown[..known].copy_from_slice(&whole[..known]);
        factor.extend_solution(known, &mut grown);
        for (x, y) in grown.iter().zip(&whole) {
            assert!((x - y).abs() < 1e-13);
        }
    }
}
