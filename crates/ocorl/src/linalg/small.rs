//! Dense algebra on matrices of a few rows, written so that loops of constant size unroll.
//!
//! Each function takes its sizes as arguments and is inlined; where the caller's [`Shape`] is [`Fixed`], the
//! sizes are constants and the compiler unrolls and vectorises. All loops access contiguous columns and sum
//! in a fixed order, so fixed and run-time sizes give the same bits.

use super::{Dims, Pool};
use pulp::{Arch, Simd, WithSimd};

/// Numbers of states and controls, at compile time or at run time, with the matching storage types.
///
/// A block is a matrix, stored by columns. For a [`Fixed`] shape it is an array, which the compiler can keep in
/// registers; otherwise it is on the heap, and hot loops [take](Block::take) it from a [`Pool`].
pub trait Shape: Copy {
    /// Vector of length dₓ.
    type X: Block;
    /// Vector of length dᵤ.
    type U: Block;
    /// Matrix of dₓ × dₓ.
    type XX: Block;
    /// Matrix of dₓ × dᵤ.
    type XU: Block;
    /// Matrix of dᵤ × dₓ.
    type UX: Block;
    /// Matrix of dᵤ × dᵤ.
    type UU: Block;

    /// Returns the number of states dₓ.
    fn nx(self) -> usize;
    /// Returns the number of controls dᵤ.
    fn nu(self) -> usize;
    /// Returns the dimension dₓ + dᵤ of a point.
    #[inline(always)]
    fn nz(self) -> usize {
        self.nx() + self.nu()
    }
}

/// Storage of a fixed number of entries.
pub trait Block: Clone {
    /// Creates `len` zeros; an array ignores `len`.
    fn zeros(len: usize) -> Self;
    /// Takes `len` unspecified entries from `pool`; an array needs no pool and is zero.
    fn take(len: usize, pool: &mut Pool) -> Self;
    /// Returns a block that was [taken](Self::take). Return blocks in the opposite order, also where a loop ends early.
    fn give(self, pool: &mut Pool);
    /// Returns the entries.
    fn get(&self) -> &[f64];
    /// Returns the entries as a mutable slice.
    fn get_mut(&mut self) -> &mut [f64];
}

impl<const N: usize> Block for [f64; N] {
    #[inline(always)]
    fn zeros(_len: usize) -> Self {
        [0.0; N]
    }
    #[inline(always)]
    fn take(_len: usize, _pool: &mut Pool) -> Self {
        [0.0; N]
    }
    #[inline(always)]
    fn give(self, _pool: &mut Pool) {}
    #[inline(always)]
    fn get(&self) -> &[f64] {
        self
    }
    #[inline(always)]
    fn get_mut(&mut self) -> &mut [f64] {
        self
    }
}

impl<const N: usize, const M: usize> Block for [[f64; N]; M] {
    #[inline(always)]
    fn zeros(_len: usize) -> Self {
        [[0.0; N]; M]
    }
    #[inline(always)]
    fn take(_len: usize, _pool: &mut Pool) -> Self {
        [[0.0; N]; M]
    }
    #[inline(always)]
    fn give(self, _pool: &mut Pool) {}
    #[inline(always)]
    fn get(&self) -> &[f64] {
        self.as_flattened()
    }
    #[inline(always)]
    fn get_mut(&mut self) -> &mut [f64] {
        self.as_flattened_mut()
    }
}

impl Block for Vec<f64> {
    fn zeros(len: usize) -> Self {
        vec![0.0; len]
    }
    fn take(len: usize, pool: &mut Pool) -> Self {
        pool.take(len)
    }
    fn give(self, pool: &mut Pool) {
        pool.give(self);
    }
    fn get(&self) -> &[f64] {
        self
    }
    fn get_mut(&mut self) -> &mut [f64] {
        self
    }
}

/// Shape with sizes known at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<const NX: usize, const NU: usize>;

impl<const NX: usize, const NU: usize> Shape for Fixed<NX, NU> {
    type X = [f64; NX];
    type U = [f64; NU];
    type XX = [[f64; NX]; NX];
    type XU = [[f64; NX]; NU];
    type UX = [[f64; NU]; NX];
    type UU = [[f64; NU]; NU];

    #[inline(always)]
    fn nx(self) -> usize {
        NX
    }
    #[inline(always)]
    fn nu(self) -> usize {
        NU
    }
}

impl Shape for Dims {
    type X = Vec<f64>;
    type U = Vec<f64>;
    type XX = Vec<f64>;
    type XU = Vec<f64>;
    type UX = Vec<f64>;
    type UU = Vec<f64>;

    #[inline(always)]
    fn nx(self) -> usize {
        self.state
    }
    #[inline(always)]
    fn nu(self) -> usize {
        self.control
    }
}

/// A computation with the same source code for every shape.
pub trait Kernel {
    /// Result of the computation.
    type Output;
    /// Runs the computation. It must be `#[inline(always)]`, together with all functions in its hot loops.
    fn run<S: Shape>(self, shape: S) -> Self::Output;
}

struct Dispatch<K, S>(K, S);

impl<K: Kernel, S: Shape> WithSimd for Dispatch<K, S> {
    type Output = K::Output;
    #[inline(always)]
    fn with_simd<V: Simd>(self, _simd: V) -> K::Output {
        self.0.run(self.1)
    }
}

/// Runs `kernel` compiled for `dims` if that is a listed shape, and for the machine's vector instructions.
///
/// The list contains the shapes of the benchmark systems; any other shape runs the same code with run-time sizes,
/// a few times slower.
pub fn specialized<K: Kernel>(dims: Dims, kernel: K) -> K::Output {
    macro_rules! shapes {
        ($(($nx:literal, $nu:literal)),*) => {
            match (dims.state, dims.control) {
                $(($nx, $nu) => Arch::new().dispatch(Dispatch(kernel, Fixed::<$nx, $nu>)),)*
                _ => Arch::new().dispatch(Dispatch(kernel, dims)),
            }
        };
    }
    shapes!((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (6, 2), (12, 4))
}

/// Computes y += a x.
#[inline(always)]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Linear combination of columns: Σᵢ aᵢ xᵢ over `count` columns xᵢ = `columns[i·stride..]`; aᵢ = `weights[i·spacing]`.
///
/// The terms are added in order of i with fused multiply-add, one rounding each, so the result is the same on every machine. Twelve, then
/// four rows at a time stay in registers over the whole sum.
#[derive(Clone, Copy)]
pub struct Combination<'a> {
    /// Number of terms.
    pub count: usize,
    /// Weights aᵢ.
    pub weights: &'a [f64],
    /// Distance between two weights in memory.
    pub spacing: usize,
    /// Columns xᵢ.
    pub columns: &'a [f64],
    /// Distance between two columns in memory.
    pub stride: usize,
}

impl Combination<'_> {
    /// Computes yᵣ = finish(r, Σᵢ aᵢ xᵢᵣ).
    #[inline(always)]
    pub fn assign(self, y: &mut [f64], finish: impl Fn(usize, f64) -> f64) {
        let n = y.len();
        let mut row = 0;
        while row + 12 <= n {
            self.rows::<12>(row, &mut y[row..row + 12], &finish);
            row += 12;
        }
        while row + 4 <= n {
            self.rows::<4>(row, &mut y[row..row + 4], &finish);
            row += 4;
        }
        while row < n {
            self.rows::<1>(row, &mut y[row..=row], &finish);
            row += 1;
        }
    }

    /// Computes rows `row .. row + T` into `y`.
    #[inline(always)]
    fn rows<const T: usize>(self, row: usize, y: &mut [f64], finish: &impl Fn(usize, f64) -> f64) {
        let mut sum = [0.0; T];
        for i in 0..self.count {
            let column = &self.columns[i * self.stride + row..i * self.stride + row + T];
            for t in 0..T {
                sum[t] = self.weights[i * self.spacing].mul_add(column[t], sum[t]);
            }
        }
        for t in 0..T {
            y[t] = finish(row + t, sum[t]);
        }
    }
}

/// Computes the inner product Σ xᵢ yᵢ, summed from the first to the last term.
#[inline(always)]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in x.iter().zip(y) {
        sum += x * y;
    }
    sum
}

/// Factorises the symmetric `n × n` matrix A = L D Lᵀ in place, L unit lower triangular: `a[j·n + i]` = L_ij for i > j,
/// `a[j·n + j]` = 1/D_j. Only the lower triangle is read. It avoids square roots, whose latency would dominate small plans. O(n³).
///
/// Returns false, with unspecified contents of `a`, if A is not positive definite (or not finite).
#[inline(always)]
pub fn factorize(n: usize, a: &mut [f64]) -> bool {
    for j in 0..n {
        let pivot = a[j * n + j];
        // Negated comparison, so that NaN fails.
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return false;
        }
        let inverse = 1.0 / pivot;
        a[j * n + j] = inverse;
        for i in j + 1..n {
            let l = a[j * n + i] * inverse;
            for k in j + 1..=i {
                // Column j still holds L_kj D_j for the rows that are not yet scaled, and L_kj for those before i.
                let scaled = if k < i { a[j * n + k] * pivot } else { a[j * n + k] };
                a[k * n + i] -= l * scaled;
            }
            a[j * n + i] = l;
        }
    }
    true
}

/// Solves A X = B in place with the factors of [`factorize`], for `width` right-hand sides stored by rows: row r of B is
/// `b[r·width..]`. O(n² · width).
#[inline(always)]
pub fn solve(n: usize, factors: &[f64], width: usize, b: &mut [f64]) {
    for r in 0..n {
        let (done, row) = b.split_at_mut(r * width);
        for s in 0..r {
            axpy(-factors[s * n + r], &done[s * width..(s + 1) * width], &mut row[..width]);
        }
    }
    for r in (0..n).rev() {
        let (row, done) = b[r * width..].split_at_mut(width);
        for x in row.iter_mut() {
            *x *= factors[r * n + r];
        }
        for s in r + 1..n {
            axpy(-factors[r * n + s], &done[(s - r - 1) * width..(s - r) * width], row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn solves_random_systems_and_refuses_indefinite_ones() {
        let mut rng = Stream::root(11).rng();
        for n in 1..=6 {
            let g: Vec<f64> = (0..n * n).map(|_| rng.normal()).collect();
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    a[j * n + i] = (0..n).map(|k| g[k * n + i] * g[k * n + j]).sum::<f64>();
                }
                a[i * n + i] += 0.1;
            }
            let width = 3;
            let b: Vec<f64> = (0..n * width).map(|_| rng.normal()).collect();
            let (mut l, mut x) = (a.clone(), b.clone());
            assert!(factorize(n, &mut l));
            solve(n, &l, width, &mut x);
            for r in 0..n {
                for c in 0..width {
                    let ax: f64 = (0..n).map(|k| a[k * n + r] * x[k * width + c]).sum();
                    assert!((ax - b[r * width + c]).abs() < 1e-10, "n = {n}: {ax} and {}", b[r * width + c]);
                }
            }
            a[0] = -1.0;
            assert!(!factorize(n, &mut a));
        }
    }
}
