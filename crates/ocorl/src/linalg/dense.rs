//! Large dense algebra: the one door to the matrix library.
//!
//! Matrices are column-major slices; triangular ones are lower, and what stands above their diagonal is never read. One thread
//! each: whoever has several independent matrices runs them side by side, and sums never depend on how many threads there are.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{cholesky::llt, triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

const PAR: Par = Par::Seq;

/// A column-major matrix to read.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a>(MatRef<'a, f64>);

impl<'a> Matrix<'a> {
    pub(crate) fn new(data: &'a [f64], rows: usize, columns: usize) -> Self {
        Matrix(MatRef::from_column_major_slice(data, rows, columns))
    }

    /// The upper left `rows` × `columns` of columns that are `stride` apart.
    pub(crate) fn with_stride(data: &'a [f64], rows: usize, columns: usize, stride: usize) -> Self {
        Matrix(MatRef::from_column_major_slice_with_stride(data, rows, columns, stride))
    }

    pub(crate) fn transposed(self) -> Self {
        Matrix(self.0.transpose())
    }
}

fn write(data: &mut [f64], rows: usize, columns: usize) -> MatMut<'_, f64> {
    MatMut::from_column_major_slice_mut(data, rows, columns)
}

/// L with L Lᵀ = A, over the lower triangle of A (columns `stride` apart). `Err` is the first pivot that is not positive.
pub(crate) fn cholesky(a: &mut [f64], n: usize, stride: usize) -> Result<(), usize> {
    let needed = llt::factor::cholesky_in_place_scratch::<f64>(n, PAR, faer::Spec::default());
    let mut memory = MemBuffer::new(needed);
    let a = MatMut::from_column_major_slice_with_stride_mut(a, n, n, stride);
    llt::factor::cholesky_in_place(
        a,
        llt::factor::LltRegularization::default(),
        PAR,
        MemStack::new(&mut memory),
        faer::Spec::default(),
    )
    .map(|_| ())
    .map_err(|llt::factor::LltError::NonPositivePivot { index }| index)
}

/// B ← L⁻¹ B for `columns` right-hand sides.
pub(crate) fn solve_lower(l: Matrix<'_>, b: &mut [f64], columns: usize) {
    let n = l.0.nrows();
    triangular_solve::solve_lower_triangular_in_place(l.0, write(b, n, columns), PAR);
}

/// B ← L⁻ᵀ B.
pub(crate) fn solve_lower_transposed(l: Matrix<'_>, b: &mut [f64], columns: usize) {
    let n = l.0.nrows();
    triangular_solve::solve_upper_triangular_in_place(l.0.transpose(), write(b, n, columns), PAR);
}

/// L⁻¹ into the lower triangle of `out` (zeros above it are the caller's).
pub(crate) fn invert_lower(l: Matrix<'_>, out: &mut [f64]) {
    let n = l.0.nrows();
    triangular_inverse::invert_lower_triangular(write(out, n, n), l.0, PAR);
}

/// The lower triangle of M ᵀM for a lower triangular M: with M = L⁻¹ the inverse of L Lᵀ.
pub(crate) fn lower_gram(m: Matrix<'_>, out: &mut [f64]) {
    let n = m.0.nrows();
    triangular::matmul(
        write(out, n, n),
        BlockStructure::TriangularLower,
        Accum::Replace,
        m.0.transpose(),
        BlockStructure::TriangularUpper,
        m.0,
        BlockStructure::TriangularLower,
        1.0,
        PAR,
    );
}

/// The lower triangle of C ← C + α A Aᵀ.
pub(crate) fn add_self_product(c: &mut [f64], a: Matrix<'_>, alpha: f64) {
    let n = a.0.nrows();
    triangular::matmul(
        write(c, n, n),
        BlockStructure::TriangularLower,
        Accum::Add,
        a.0,
        BlockStructure::Rectangular,
        a.0.transpose(),
        BlockStructure::Rectangular,
        alpha,
        PAR,
    );
}
