//! Small dense matrices whose sizes are known only at run time.

/// A dense matrix, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) numbers: Vec<f64>,
}

impl Matrix {
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        Matrix { rows, columns, numbers: vec![0.0; rows * columns] }
    }

    pub(super) fn diagonal(entries: &[f64]) -> Self {
        let mut matrix = Matrix::zeros(entries.len(), entries.len());
        for (i, entry) in entries.iter().enumerate() {
            *matrix.at(i, i) = *entry;
        }
        matrix
    }

    pub(super) fn column(numbers: Vec<f64>) -> Self {
        Matrix { rows: numbers.len(), columns: 1, numbers }
    }

    pub(super) fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.numbers[row * self.columns + column]
    }

    pub(super) fn get(&self, row: usize, column: usize) -> f64 {
        self.numbers[row * self.columns + column]
    }

    /// Copies a block of the matrix.
    pub(super) fn block(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Matrix {
        let (height, width) = (rows.len(), columns.len());
        let each = rows.flat_map(|i| columns.clone().map(move |j| (i, j)));
        Matrix { rows: height, columns: width, numbers: each.map(|(i, j)| self.get(i, j)).collect() }
    }

    pub(super) fn transposed(&self) -> Matrix {
        let each = (0..self.columns).flat_map(|j| (0..self.rows).map(move |i| (i, j)));
        let numbers = each.map(|(i, j)| self.get(i, j)).collect();
        Matrix { rows: self.columns, columns: self.rows, numbers }
    }

    pub(super) fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows, "{} columns times {} rows", self.columns, other.rows);
        let mut out = Matrix::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            for k in 0..self.columns {
                let factor = self.get(i, k);
                for j in 0..other.columns {
                    *out.at(i, j) += factor * other.get(k, j);
                }
            }
        }
        out
    }

    /// Computes A + c B.
    pub(super) fn plus(mut self, factor: f64, other: &Matrix) -> Matrix {
        for (a, b) in self.numbers.iter_mut().zip(&other.numbers) {
            *a += factor * b;
        }
        self
    }

    /// Solves A⁻¹ B by Gaussian elimination with partial pivoting, O(n³ + n² columns). `None` if A is singular or a result is not
    /// finite.
    pub(super) fn solve(mut self, mut b: Matrix) -> Option<Matrix> {
        let (n, width) = (self.rows, b.columns);
        for k in 0..n {
            let pivot = (k..n)
                .fold(k, |best, i| if self.get(i, k).abs() > self.get(best, k).abs() { i } else { best });
            // A NaN is not a valid pivot.
            if !(self.get(pivot, k).abs() > 0.0) {
                return None;
            }
            if pivot != k {
                for j in 0..n {
                    self.numbers.swap(k * n + j, pivot * n + j);
                }
                for j in 0..width {
                    b.numbers.swap(k * width + j, pivot * width + j);
                }
            }
            for i in k + 1..n {
                let factor = self.get(i, k) / self.get(k, k);
                if factor != 0.0 {
                    for j in k..n {
                        let upper = self.get(k, j);
                        *self.at(i, j) -= factor * upper;
                    }
                    for j in 0..width {
                        let upper = b.get(k, j);
                        *b.at(i, j) -= factor * upper;
                    }
                }
            }
        }
        for k in (0..n).rev() {
            for j in 0..width {
                let known: f64 = (k + 1..n).map(|i| self.get(k, i) * b.get(i, j)).sum();
                let value = (b.get(k, j) - known) / self.get(k, k);
                *b.at(k, j) = value;
            }
        }
        b.numbers.iter().all(|v| v.is_finite()).then_some(b)
    }
}
