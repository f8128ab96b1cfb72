//! Cholesky factorisation with updates: the factor grows and shrinks with the data.

use super::panels::{self, Block, Inverse, Lower, Triangle, WIDTH};

/// Lower Cholesky factor L with L Lᵀ = A, A symmetric positive definite.
///
/// | change of A | cost |
/// |---|---|
/// | factorise | n³/3 |
/// | append m rows and columns | n²m |
/// | remove one | (n − i)² |
/// | add δ to a diagonal entry | (n − i)² |
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    lower: Triangle,
    /// Reciprocals 1/Lᵢᵢ, padded with zeros to the end of the last panel.
    reciprocals: Vec<f64>,
}

impl Cholesky {
    /// Factorises the lower triangle of a (n × n, column-major). `Err` holds the index of the first pivot that is not positive.
    pub fn new(a: &[f64], n: usize) -> Result<Self, usize> {
        Cholesky::of(Triangle::of(a, n))
    }

    /// Factorises a matrix in panel storage in place. `Err` holds the index of the first pivot that is not positive.
    pub(crate) fn of(mut a: Triangle) -> Result<Self, usize> {
        let mut reciprocals = Vec::new();
        panels::factorize(&mut a, &mut reciprocals)?;
        Ok(Cholesky { lower: a, reciprocals })
    }

    /// Takes a lower triangular matrix with positive diagonal as the factor.
    pub(crate) fn from_factor(lower: Triangle) -> Self {
        let n = lower.len();
        let mut reciprocals: Vec<f64> = (0..n).map(|i| 1.0 / lower.get(i, i)).collect();
        reciprocals.resize(WIDTH * panels::panels(n), 0.0);
        Cholesky { lower, reciprocals }
    }

    /// Returns the number of rows n.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Returns whether the factor has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the pivot Lᵢᵢ.
    pub fn pivot(&self, i: usize) -> f64 {
        self.lower.get(i, i)
    }

    /// Returns the view of the factor for triangular solves.
    pub(crate) fn lower(&self) -> Lower<'_> {
        Lower::new(&self.lower, &self.reciprocals)
    }

    /// Solves B ← L⁻¹ B in place, for `columns` right-hand sides of length n.
    pub fn solve_lower(&self, b: &mut [f64], columns: usize) {
        self.solve(b, columns, |block| block.solve(self.lower()));
    }

    /// Solves B ← L⁻ᵀ B in place, for `columns` right-hand sides of length n.
    pub fn solve_transposed(&self, b: &mut [f64], columns: usize) {
        self.solve(b, columns, |block| block.solve_transposed(self.lower()));
    }

    fn solve(&self, b: &mut [f64], columns: usize, act: impl FnOnce(&mut Block<'_>)) {
        let mut memory = vec![0.0; Block::room(self.len(), columns)];
        let mut block = Block::pack(b, self.len(), columns, &mut memory);
        act(&mut block);
        block.unpack(b);
    }

    /// Returns ln det A = 2 Σ ln Lᵢᵢ.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.len()).map(|i| self.pivot(i).ln()).sum::<f64>()
    }

    /// Returns the diagonal of A⁻¹, the squared column norms of L⁻¹. Costs O(n³/3).
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let mut inverse = Inverse::zeros(self.len());
        inverse.assign(self.lower());
        let mut diagonal = inverse.square_norms();
        diagonal.truncate(self.len());
        diagonal
    }

    /// Extends the factor to that of [A Bᵀ; B C]: `cross` is Bᵀ (n × m, column-major), `corner` is C (m × m, lower triangle).
    ///
    /// ```text
    /// L₂₁ᵀ = L⁻¹ Bᵀ,   L₂₂ L₂₂ᵀ = C − L₂₁ L₂₁ᵀ
    /// ```
    ///
    /// `Err` holds the index of the pivot that is not positive; the factor is then unchanged.
    pub fn append(&mut self, mut cross: Vec<f64>, mut corner: Vec<f64>, m: usize) -> Result<(), usize> {
        let n = self.len();
        assert_eq!((cross.len(), corner.len()), (n * m, m * m), "blocks for {m} new rows beside {n}");
        if m == 0 {
            return Ok(());
        }
        let mut memory = vec![0.0; Block::room(n, m)];
        let mut block = Block::pack(&cross, n, m, &mut memory);
        block.solve(self.lower());
        block.add_gram(-1.0, &mut corner);
        block.unpack(&mut cross);
        let corner = Cholesky::new(&corner, m).map_err(|pivot| n + pivot)?;
        self.resize(n + m);
        // By columns, because the new rows are adjacent in memory there.
        for j in 0..n {
            for i in 0..m {
                *self.lower.at(n + i, j) = cross[i * n + j];
            }
        }
        for i in 0..m {
            for j in 0..=i {
                *self.lower.at(n + i, n + j) = corner.lower.get(i, j);
            }
            self.reciprocals[n + i] = corner.reciprocals[i];
        }
        Ok(())
    }

    fn resize(&mut self, n: usize) {
        self.lower.resize(n);
        self.reciprocals.truncate(n);
        self.reciprocals.resize(WIDTH * panels::panels(n), 0.0);
    }

    /// Truncates to the factor of the leading n × n block of A.
    pub fn truncate(&mut self, n: usize) {
        self.resize(self.len().min(n));
    }

    /// Removes row and column `i` of A: the rows below i absorb the lost column by a rank-one update.
    pub fn remove(&mut self, i: usize) {
        let n = self.len();
        assert!(i < n, "row {i} of {n}");
        let mut lost: Vec<f64> = (i + 1..n).map(|row| self.lower.get(row, i)).collect();
        for row in i..n - 1 {
            for column in 0..=row {
                let from = column + usize::from(column >= i);
                *self.lower.at(row, column) = self.lower.get(row + 1, from);
            }
        }
        self.resize(n - 1);
        self.rank_one(i, &mut lost);
    }

    /// Updates to the factor of A + δ eᵢ eᵢᵀ for δ ≥ 0.
    pub fn add_to_diagonal(&mut self, i: usize, delta: f64) {
        let n = self.len();
        assert!(i < n && delta >= 0.0, "row {i} of {n}, δ = {delta}");
        let mut vector = vec![0.0; n - i];
        vector[0] = delta.sqrt();
        self.rank_one(i, &mut vector);
    }

    /// Updates to the factor of L Lᵀ + v vᵀ, where v has zeros before row `start`, by plane rotations; stable because nothing is
    /// subtracted.
    fn rank_one(&mut self, start: usize, v: &mut [f64]) {
        for j in start..self.len() {
            let (pivot, own) = (self.pivot(j), v[j - start]);
            let r = pivot.hypot(own);
            let (c, s) = (pivot / r, own / r);
            *self.lower.at(j, j) = r;
            self.reciprocals[j] = 1.0 / r;
            for (row, entries) in self.lower.below(j) {
                for (l, v) in entries.iter_mut().zip(&mut v[row - start..]) {
                    let old = *l;
                    *l = c * old + s * *v;
                    *v = c * *v - s * old;
                }
            }
        }
    }

    /// Extends y = L₁⁻¹ b from the first `known` rows to all rows by forward substitution. Costs O(n) per row.
    pub fn extend_solution(&self, known: usize, y: &mut [f64]) {
        assert_eq!(y.len(), self.len(), "{} numbers for {} rows", y.len(), self.len());
        panels::extend_solution(self.lower(), known, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Returns a well-conditioned symmetric matrix: M Mᵀ + I.
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
            for (x, y) in (j..a.len()).map(|i| (a.lower.get(i, j), b.lower.get(i, j))) {
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
        assert_same_factor(&grown, &Cholesky::new(&a, n).unwrap());
    }

    #[test]
    fn removing_gives_the_factor_of_the_rest() {
        let n = 20;
        for gone in [0, 7, 19] {
            let mut factor = Cholesky::new(&matrix(n), n).unwrap();
            factor.remove(gone);
            assert_same_factor(&factor, &Cholesky::new(&without(&matrix(n), n, gone), n - 1).unwrap());
        }
    }

    #[test]
    fn a_diagonal_entry_can_be_raised() {
        let (n, mut a) = (15, matrix(15));
        let mut factor = Cholesky::new(&a, n).unwrap();
        factor.add_to_diagonal(4, 2.5);
        a[4 * n + 4] += 2.5;
        assert_same_factor(&factor, &Cholesky::new(&a, n).unwrap());
    }

    #[test]
    fn a_failed_append_changes_nothing() {
        let n = 5;
        let mut factor = Cholesky::new(&matrix(n), n).unwrap();
        let before = factor.clone();
        assert_eq!(factor.append(vec![0.0; n], vec![-1.0], 1), Err(n));
        assert_same_factor(&factor, &before);
        assert_eq!(Cholesky::new(&[f64::NAN], 1).unwrap_err(), 0);
    }

    #[test]
    fn solutions_extend_as_the_factor_grows() {
        let (n, known) = (12, 9);
        let factor = Cholesky::new(&matrix(n), n).unwrap();
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
