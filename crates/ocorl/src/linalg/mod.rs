//! Containers of points and blocks, small dense algebra for the planner, large dense algebra for the statistical model.
//!
//! A point z = (x, u) is a column; a batch is `dim × n`, stored by columns in one slice. A Jacobian is stored
//! by gradients: ∇fⱼ is one contiguous column of length dim(z), so the products of the planner's backward pass
//! access contiguous memory. General matrix types and sparse matrices are left out.
//!
//! # Memory layout, and matrices of other crates
//!
//! Every container is one slice of `f64` without padding, so views of other crates need no copy:
//!
//! | here | entry | `as_slice()[..]` | as column-major matrix | as row-major (C) array |
//! |---|---|---|---|---|
//! | [`Points`], `dim` × `len` | coordinate r of point i | `i * dim + r` | `(dim, len)`, strides `[1, dim]` | `(len, dim)` |
//! | [`Blocks`], `len` blocks of `size` | number r of block i | `i * size + r` | `(size, len)`, strides `[1, size]` | `(len, size)` |
//! | [`Linearization::jacobian`] | ∂fⱼ/∂z_r at point i | `(i * outputs + j) * inputs + r` | | `(len, outputs, inputs)` |
//! | [`Quadratization::hessian`] | ∂²c/∂z_r∂z_s at point i, symmetric | `(i * inputs + r) * inputs + s` | | `(len or 1, inputs, inputs)` |
//!
//! ```text
//! faer      MatRef::from_column_major_slice(points.as_slice(), points.dim(), points.len())
//! nalgebra  DMatrixView::from_slice(points.as_slice(), points.dim(), points.len())
//! ndarray   ArrayView2::from_shape((points.len(), points.dim()), points.as_slice())     one point a row
//! ```
//!
//! In the other direction, `Points::from_slice(dim, matrix)` accepts any contiguous memory of that order, and `Blocks::from_strided` copies
//! from the other order or from a part of a larger matrix.

mod cholesky;
pub(crate) mod panels;
mod rows;
mod scratch;
pub mod small;
pub mod vector;

pub use cholesky::Cholesky;
pub use rows::{Rows, RowsRef};
pub use scratch::{Pool, ScratchPool};

use serde::{Deserialize, Serialize};

/// Numbers of states and controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dims {
    /// Number of states dₓ.
    pub state: usize,
    /// Number of controls dᵤ.
    pub control: usize,
}

impl Dims {
    /// Returns the dimension of z = (x, u).
    #[inline]
    pub fn point(self) -> usize {
        self.state + self.control
    }
}

/// A batch of points, one per column.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    data: &'a [f64],
    dim: usize,
    len: usize,
}

/// The length of a slice is not a multiple of the column or block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a slice of {numbers} entries cannot be divided into blocks of {size}; its length must be a multiple of the block size"
)]
#[non_exhaustive]
pub struct ShapeError {
    /// Length of the slice.
    pub numbers: usize,
    /// Required size of a column or block.
    pub size: usize,
}

impl<'a, const N: usize> From<&'a [[f64; N]]> for Points<'a> {
    /// Views each array as a point, without a copy.
    fn from(points: &'a [[f64; N]]) -> Self {
        Points { data: points.as_flattened(), dim: N, len: points.len() }
    }
}

impl<'a, const N: usize, const M: usize> From<&'a [[f64; N]; M]> for Points<'a> {
    /// Views each array as a point, without a copy.
    fn from(points: &'a [[f64; N]; M]) -> Self {
        Points::from(points.as_slice())
    }
}

impl<'a> From<&'a Blocks> for Points<'a> {
    /// Views each block as a point, without a copy.
    fn from(blocks: &'a Blocks) -> Self {
        blocks.points()
    }
}

impl AsRef<[f64]> for Points<'_> {
    fn as_ref(&self) -> &[f64] {
        self.data
    }
}

impl<'a> Points<'a> {
    /// Views `data` as columns of length `dim`. Returns an error, where [`new`](Self::new) panics, if the length is not a multiple of
    /// `dim`.
    ///
    /// ```
    /// use ocorl::linalg::Points;
    ///
    /// let points = Points::from_slice(3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!((points.shape(), points.strides()), ([3, 2], [1, 3]));
    /// assert_eq!(points.at(1), [4.0, 5.0, 6.0]);
    /// assert_eq!(Points::from(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).as_slice(), points.as_slice());
    /// assert!(Points::from_slice(4, points.as_slice()).is_err());
    /// # Ok::<(), ocorl::linalg::ShapeError>(())
    /// ```
    pub fn from_slice(dim: usize, data: &'a [f64]) -> Result<Self, ShapeError> {
        if dim > 0 && data.len().is_multiple_of(dim) {
            return Ok(Points { data, dim, len: data.len() / dim });
        }
        Err(ShapeError { numbers: data.len(), size: dim })
    }

    /// Returns the numbers of rows and columns of the matrix whose columns are the points.
    pub fn shape(&self) -> [usize; 2] {
        [self.dim, self.len]
    }

    /// Returns the row stride and the column stride of the matrix whose columns are the points.
    pub fn strides(&self) -> [usize; 2] {
        [1, self.dim]
    }

    /// Iterates over the points in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + Clone + use<'a> {
        self.data.chunks_exact(self.dim.max(1))
    }

    /// Returns the points as arrays; `None` if their dimension is not `N`.
    pub fn as_arrays<const N: usize>(&self) -> Option<&'a [[f64; N]]> {
        (N == self.dim).then_some(self.data.as_chunks::<N>().0)
    }

    /// Views `data` as columns of length `dim`. Panics if the length is not a multiple of `dim`.
    #[inline]
    pub fn new(data: &'a [f64], dim: usize) -> Self {
        assert!(dim > 0 && data.len().is_multiple_of(dim), "{} numbers are not columns of {dim}", data.len());
        Points { data, dim, len: data.len() / dim }
    }

    /// Views one point. It avoids the division of [`new`](Self::new), which is noticeable in a rollout.
    #[inline(always)]
    pub fn single(point: &'a [f64]) -> Self {
        Points { data: point, dim: point.len(), len: 1 }
    }

    /// Returns the length of a column.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the `i`-th column.
    #[inline]
    pub fn at(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// Returns all columns as one slice.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        self.data
    }
}

/// Equal-sized blocks in one buffer: columns of a batch, or matrices of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Blocks {
    data: Vec<f64>,
    size: usize,
}

/// Serialised form of blocks, before validation.
#[derive(Deserialize)]
struct Written {
    data: Vec<f64>,
    size: usize,
}

impl TryFrom<Written> for Blocks {
    type Error = ShapeError;

    fn try_from(Written { data, size }: Written) -> Result<Self, ShapeError> {
        if data.is_empty() || (size > 0 && data.len().is_multiple_of(size)) {
            return Ok(Blocks { data, size });
        }
        Err(ShapeError { numbers: data.len(), size })
    }
}

impl<const N: usize> From<Vec<[f64; N]>> for Blocks {
    /// Makes each array a block, without a copy.
    fn from(blocks: Vec<[f64; N]>) -> Self {
        Blocks { data: blocks.into_flattened(), size: N }
    }
}

impl<const N: usize> From<&[[f64; N]]> for Blocks {
    /// Copies each array into a block.
    fn from(blocks: &[[f64; N]]) -> Self {
        Blocks { data: blocks.as_flattened().to_vec(), size: N }
    }
}

impl From<Points<'_>> for Blocks {
    /// Copies each point into a block.
    fn from(points: Points<'_>) -> Self {
        Blocks { data: points.as_slice().to_vec(), size: points.dim() }
    }
}

impl From<Blocks> for Vec<f64> {
    /// Returns all blocks as one vector, without a copy.
    fn from(blocks: Blocks) -> Self {
        blocks.data
    }
}

impl AsRef<[f64]> for Blocks {
    fn as_ref(&self) -> &[f64] {
        &self.data
    }
}

impl Blocks {
    /// Copies blocks from `data`. Returns an error if its length is not a multiple of `size`.
    pub fn from_slice(size: usize, data: &[f64]) -> Result<Self, ShapeError> {
        Points::from_slice(size, data).map(Blocks::from)
    }

    /// Copies a matrix whose columns become blocks: entry (r, c) of `shape` = (size, count) is `data[r * strides[0] + c * strides[1]]`.
    /// Accepts any dense matrix, including a transposed one or a part of a larger one.
    ///
    /// ```
    /// use ocorl::linalg::Blocks;
    ///
    /// // Two states at three times, row-major: one row for each state.
    /// let rows = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
    /// let states = Blocks::from_strided(&rows, [2, 3], [3, 1]);
    /// assert_eq!(states.at(1), [2.0, 20.0]);
    /// assert_eq!(states.transposed(), rows);
    /// ```
    pub fn from_strided(data: &[f64], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [size, count] = shape;
        let mut blocks = Blocks::zeros(size, count);
        for c in 0..count {
            for (r, value) in blocks.at_mut(c).iter_mut().enumerate() {
                *value = data[r * strides[0] + c * strides[1]];
            }
        }
        blocks
    }

    /// Returns the matrix whose columns are the blocks in row-major order.
    pub fn transposed(&self) -> Vec<f64> {
        (0..self.size).flat_map(|r| self.iter().map(move |block| block[r])).collect()
    }

    /// Returns the numbers of rows and columns of the matrix whose columns are the blocks.
    pub fn shape(&self) -> [usize; 2] {
        [self.size, self.len()]
    }

    /// Returns the row stride and the column stride of the matrix whose columns are the blocks.
    pub fn strides(&self) -> [usize; 2] {
        [1, self.size]
    }

    /// Returns the blocks as arrays; `None` if their size is not `N`.
    pub fn as_arrays<const N: usize>(&self) -> Option<&[[f64; N]]> {
        (N == self.size).then(|| self.data.as_chunks::<N>().0)
    }

    /// Creates `count` blocks of `size` zeros.
    pub fn zeros(size: usize, count: usize) -> Self {
        Blocks { data: vec![0.0; size * count], size }
    }

    /// Creates blocks of `size` entries from `data`.
    pub fn from_vec(data: Vec<f64>, size: usize) -> Self {
        assert!(
            size > 0 && data.len().is_multiple_of(size),
            "a slice of {} entries cannot be divided into blocks of {size}",
            data.len()
        );
        Blocks { data, size }
    }

    /// Changes the shape; the contents are unspecified afterwards. Allocates only when the total size grows.
    pub fn resize(&mut self, size: usize, count: usize) {
        self.size = size;
        self.data.resize(size * count, 0.0);
    }

    /// Copies shape and contents of other blocks. Allocates only when the total size grows.
    pub fn copy_from(&mut self, from: &Blocks) {
        self.size = from.size;
        self.data.clone_from(&from.data);
    }

    /// Appends one block of zeros.
    pub fn grow(&mut self) {
        self.data.resize(self.data.len() + self.size, 0.0);
    }

    /// Appends a copy of a block.
    #[inline]
    pub fn push(&mut self, block: &[f64]) {
        assert_eq!(block.len(), self.size, "a block has {} numbers, not {}", self.size, block.len());
        self.data.extend_from_slice(block);
    }

    /// Returns the number of entries in a block.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.size).unwrap_or(0)
    }

    /// Returns whether there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns the `i`-th block.
    #[inline]
    pub fn at(&self, i: usize) -> &[f64] {
        &self.data[i * self.size..(i + 1) * self.size]
    }

    /// Returns the `i`-th block as a mutable slice.
    #[inline]
    pub fn at_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.size..(i + 1) * self.size]
    }

    /// Returns all blocks as one slice.
    #[inline]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// Returns all blocks as one mutable slice.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Iterates over the blocks in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> + Clone {
        self.data.chunks_exact(self.size.max(1))
    }

    /// Views the blocks as points.
    #[inline]
    pub fn points(&self) -> Points<'_> {
        Points::new(&self.data, self.size)
    }
}

/// Values and Jacobians of a vector function at `n` points.
#[derive(Clone, Debug, Default)]
pub struct Linearization {
    /// Values: f(zᵢ) in block `i`.
    pub value: Blocks,
    /// Jacobians: block `i` holds the gradients ∇f₁(zᵢ), ∇f₂(zᵢ), … one after another, each of length dim(z).
    pub jacobian: Blocks,
}

impl Linearization {
    /// Resizes for `count` points of a function with `inputs` inputs and `outputs` outputs.
    pub fn resize(&mut self, outputs: usize, inputs: usize, count: usize) {
        self.value.resize(outputs, count);
        self.jacobian.resize(outputs * inputs, count);
    }
}

/// Values, gradients and Hessians of a scalar function at `n` points.
#[derive(Clone, Debug, Default)]
pub struct Quadratization {
    /// Values c(zᵢ).
    pub value: Vec<f64>,
    /// Gradients: ∇c(zᵢ) in block `i`.
    pub gradient: Blocks,
    /// Hessians ∇²c(zᵢ), dim(z) × dim(z), symmetric: in block `i`, or in the only block if the Hessian is constant.
    pub hessian: Blocks,
}

impl Quadratization {
    /// Resizes for `count` points of dimension `inputs`, with a Hessian for each.
    pub fn resize(&mut self, inputs: usize, count: usize) {
        self.resize_shared(inputs, count);
        self.hessian.resize(inputs * inputs, count);
    }

    /// Resizes for `count` points that share one Hessian. A quadratic function needs no more, and the memory traffic of a planner
    /// is halved.
    pub fn resize_shared(&mut self, inputs: usize, count: usize) {
        self.value.resize(count, 0.0);
        self.gradient.resize(inputs, count);
        self.hessian.resize(inputs * inputs, 1);
    }

    /// Gives each point a Hessian of its own, for terms that make it differ from point to point.
    pub fn separate_hessians(&mut self) {
        let (count, size) = (self.value.len(), self.hessian.size());
        if self.hessian.len() == 1 && count > 1 {
            let shared = self.hessian.at(0).to_vec();
            self.hessian.resize(size, count);
            for i in 0..count {
                self.hessian.at_mut(i).copy_from_slice(&shared);
            }
        }
    }

    /// Returns the Hessian ∇²c(zᵢ).
    #[inline(always)]
    pub fn hessian_at(&self, i: usize) -> &[f64] {
        let size = self.hessian.size();
        let start = if self.hessian.as_slice().len() == size { 0 } else { i * size };
        &self.hessian.as_slice()[start..start + size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_arrays_and_strided_matrices_come_in_and_go_out() {
        let arrays = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        let points = Points::from(&arrays);
        assert_eq!((points.shape(), points.strides(), points.at(2)), ([2, 3], [1, 2], &arrays[2][..]));
        assert_eq!(points.as_arrays::<2>(), Some(&arrays[..]));
        assert_eq!(points.as_arrays::<3>(), None);
        assert!(points.iter().eq(arrays.iter().map(|a| &a[..])));
        let blocks = Blocks::from(points);
        assert_eq!(blocks, Blocks::from(arrays.to_vec()));
        assert_eq!(blocks, Blocks::from(&arrays[..]));
        assert_eq!(Ok(blocks.clone()), Blocks::from_slice(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert_eq!(blocks.transposed(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        assert_eq!(Blocks::from_strided(&blocks.transposed(), [2, 3], [3, 1]), blocks);
        // The lower right 1 × 2 block of the matrix, in place.
        let part = Blocks::from_strided(&blocks.as_slice()[3..], [1, 2], blocks.strides());
        assert_eq!(part.as_slice(), [4.0, 6.0]);
        assert_eq!(Points::from(&blocks).as_slice(), blocks.as_ref());
        assert_eq!(Vec::from(blocks), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn numbers_that_are_not_whole_columns_are_refused() {
        assert_eq!(Points::from_slice(2, &[1.0; 3]).unwrap_err(), ShapeError { numbers: 3, size: 2 });
        assert_eq!(Points::from_slice(0, &[]).unwrap_err(), ShapeError { numbers: 0, size: 0 });
        let text =
            serde_json::from_str::<Blocks>(r#"{"data":[1.0,2.0,3.0],"size":2}"#).unwrap_err().to_string();
        assert!(text.starts_with("a slice of 3 entries cannot be divided into blocks of 2"), "{text}");
    }

    #[test]
    fn views_of_the_documented_layout_have_the_documented_entries() {
        let blocks = Blocks::from_vec((0..12).map(f64::from).collect(), 4);
        let [row, column] = blocks.strides();
        for c in 0..3 {
            for r in 0..4 {
                assert_eq!(blocks.as_slice()[r * row + c * column], blocks.at(c)[r]);
            }
        }
    }
}
