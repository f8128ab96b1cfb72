//! Points in columns, the small dense algebra of the planner, the large one of the statistical model.
//!
//! A point z = (x, u) is a column; a batch is `dim × n`, column after column in one slice. A Jacobian is stored
//! by gradients: ∇fⱼ is one contiguous column of length dim(z), so the products of the planner's backward pass
//! run along contiguous memory.

mod cholesky;
pub(crate) mod panels;
mod rows;
pub mod small;
pub mod vector;

pub use cholesky::Cholesky;
pub use rows::{Rows, RowsRef};

use serde::{Deserialize, Serialize};

/// Numbers of states and controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dims {
    /// dₓ
    pub state: usize,
    /// dᵤ
    pub control: usize,
}

impl Dims {
    /// Dimension of z = (x, u).
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

impl<'a> Points<'a> {
    /// Reads `data` as columns of length `dim`. Panics unless `data` is whole columns.
    #[inline]
    pub fn new(data: &'a [f64], dim: usize) -> Self {
        assert!(dim > 0 && data.len().is_multiple_of(dim), "{} numbers are not columns of {dim}", data.len());
        Points { data, dim, len: data.len() / dim }
    }

    /// One point. Spares the division of [`new`](Self::new), which a rollout would notice.
    #[inline(always)]
    pub fn single(point: &'a [f64]) -> Self {
        Points { data: point, dim: point.len(), len: 1 }
    }

    /// Length of a column.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no column.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `i`-th column.
    #[inline]
    pub fn at(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// All columns, one after the other.
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

/// Blocks as they are read, not yet checked.
#[derive(Deserialize)]
struct Written {
    data: Vec<f64>,
    size: usize,
}

impl TryFrom<Written> for Blocks {
    type Error = String;

    fn try_from(Written { data, size }: Written) -> Result<Self, String> {
        if data.is_empty() || (size > 0 && data.len().is_multiple_of(size)) {
            return Ok(Blocks { data, size });
        }
        Err(format!("{} numbers are not blocks of {size}", data.len()))
    }
}

impl Blocks {
    /// `count` blocks of `size` zeros.
    pub fn zeros(size: usize, count: usize) -> Self {
        Blocks { data: vec![0.0; size * count], size }
    }

    /// Takes whole blocks from `data`.
    pub fn from_vec(data: Vec<f64>, size: usize) -> Self {
        assert!(
            size > 0 && data.len().is_multiple_of(size),
            "{} numbers are not blocks of {size}",
            data.len()
        );
        Blocks { data, size }
    }

    /// Changes the shape; contents are unspecified afterwards. Allocates only when it grows.
    pub fn resize(&mut self, size: usize, count: usize) {
        self.size = size;
        self.data.resize(size * count, 0.0);
    }

    /// Appends one block of zeros.
    pub fn grow(&mut self) {
        self.data.resize(self.data.len() + self.size, 0.0);
    }

    /// Appends a block.
    #[inline]
    pub fn push(&mut self, block: &[f64]) {
        assert_eq!(block.len(), self.size, "a block has {} numbers, not {}", self.size, block.len());
        self.data.extend_from_slice(block);
    }

    /// Numbers in a block.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.size).unwrap_or(0)
    }

    /// True if there is no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The `i`-th block.
    #[inline]
    pub fn at(&self, i: usize) -> &[f64] {
        &self.data[i * self.size..(i + 1) * self.size]
    }

    /// The `i`-th block, to write.
    #[inline]
    pub fn at_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.size..(i + 1) * self.size]
    }

    /// All blocks, one after the other.
    #[inline]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All blocks, one after the other, to write.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The blocks in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> + Clone {
        self.data.chunks_exact(self.size.max(1))
    }

    /// The blocks read as points.
    #[inline]
    pub fn points(&self) -> Points<'_> {
        Points::new(&self.data, self.size)
    }
}

/// A vector function and its Jacobian at `n` points.
#[derive(Clone, Debug, Default)]
pub struct Linearization {
    /// f(zᵢ) in block `i`.
    pub value: Blocks,
    /// Block `i` holds the gradients ∇f₁(zᵢ), ∇f₂(zᵢ), … one after the other, each of length dim(z).
    pub jacobian: Blocks,
}

impl Linearization {
    /// Makes room for `count` points of a function from `inputs` to `outputs` numbers.
    pub fn resize(&mut self, outputs: usize, inputs: usize, count: usize) {
        self.value.resize(outputs, count);
        self.jacobian.resize(outputs * inputs, count);
    }
}

/// A scalar function with gradient and Hessian at `n` points.
#[derive(Clone, Debug, Default)]
pub struct Quadratization {
    /// c(zᵢ).
    pub value: Vec<f64>,
    /// ∇c(zᵢ) in block `i`.
    pub gradient: Blocks,
    /// ∇²c(zᵢ), dim(z) × dim(z), symmetric: in block `i`, or in the only block if it is the same at every point.
    pub hessian: Blocks,
}

impl Quadratization {
    /// Makes room for `count` points of `inputs` numbers, with a Hessian for each.
    pub fn resize(&mut self, inputs: usize, count: usize) {
        self.resize_shared(inputs, count);
        self.hessian.resize(inputs * inputs, count);
    }

    /// Makes room for `count` points that share one Hessian: a quadratic function needs no more, and the memory a planner
    /// goes through shrinks by half.
    pub fn resize_shared(&mut self, inputs: usize, count: usize) {
        self.value.resize(count, 0.0);
        self.gradient.resize(inputs, count);
        self.hessian.resize(inputs * inputs, 1);
    }

    /// ∇²c(zᵢ).
    #[inline(always)]
    pub fn hessian_at(&self, i: usize) -> &[f64] {
        let size = self.hessian.size();
        let start = if self.hessian.as_slice().len() == size { 0 } else { i * size };
        &self.hessian.as_slice()[start..start + size]
    }
}
