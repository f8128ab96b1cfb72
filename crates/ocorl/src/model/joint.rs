//! Posterior covariances a column at a time: whoever looks at a few of a thousand points never needs the whole matrix.
//!
//! ```text
//! Cⱼ[i, i′] = kₙ(zᵢ, zᵢ′) of output j = s² (k(zᵢ, zᵢ′) − vᵢᵀvᵢ′),   vᵢ = L⁻¹ k(x, zᵢ)
//! ```
//!
//! and through inducing points s² (k(zᵢ, zᵢ′) − vᵢᵀvᵢ′ + wᵢᵀwᵢ′), wᵢ = R⁻¹vᵢ. All vᵢ are found once, with all variances: O(n²P) for P points;
//! a column is O(nP) then.

use super::conditioning::Conditioning;
use super::gaussian_process::GaussianProcess;
use super::inputs::Inputs;
use super::kernels::{Against, Covariance};
use super::pool::Pool;
use super::posterior::CHUNK;
use crate::linalg::{Blocks, Points, Rows, vector};

/// Posterior covariances between the points of one batch, one column at a time, in physical units.
pub trait Joint {
    /// Number of outputs.
    fn outputs(&self) -> usize;

    /// Number of points.
    fn len(&self) -> usize;

    /// True if there is no point.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// σ²(zᵢ) of an output, for all points; none is negative.
    fn variance(&self, output: usize) -> &[f64];

    /// The covariances of all points with the one numbered `index`; the entry of that point itself is its variance.
    fn column(&mut self, output: usize, index: usize, out: &mut [f64]);

    /// What of a variance may be rounding: less than this is nothing. Of a difference between a prior and what was learned it is a
    /// fraction of the prior's variance, however little is left.
    fn resolution(&self, output: usize) -> f64;
}

/// [`Joint::resolution`] as a fraction of the greatest variance that entered the difference: the products of some hundred terms are good to
/// a few times 1e-14, the rest is a margin.
const RESOLUTION: f64 = 1e-12;

/// Columns of matrices that are there as a whole: what models have that know no better.
pub(super) struct Whole {
    matrices: Blocks,
    variance: Blocks,
}

impl Whole {
    /// Of `outputs` matrices, `count` × `count` each.
    pub(super) fn new(matrices: Blocks, outputs: usize, count: usize) -> Self {
        assert_eq!(
            matrices.as_slice().len(),
            outputs * count * count,
            "covariances of {outputs} outputs at {count} points"
        );
        let mut variance = Blocks::zeros(count, outputs);
        for j in 0..outputs {
            for (i, out) in variance.at_mut(j).iter_mut().enumerate() {
                *out = matrices.at(j)[i * count + i].max(0.0);
            }
        }
        Whole { matrices, variance }
    }
}

impl Joint for Whole {
    fn outputs(&self) -> usize {
        self.variance.len()
    }

    fn len(&self) -> usize {
        self.variance.size()
    }

    fn variance(&self, output: usize) -> &[f64] {
        self.variance.at(output)
    }

    fn column(&mut self, output: usize, index: usize, out: &mut [f64]) {
        let count = self.len();
        out.copy_from_slice(&self.matrices.at(output)[index * count..(index + 1) * count]);
        out[index] = self.variance.at(output)[index];
    }

    fn resolution(&self, output: usize) -> f64 {
        RESOLUTION * self.variance.at(output).iter().fold(0.0, |a: f64, b| a.max(*b))
    }
}

/// Columns of a Gaussian process.
struct Columns<'a> {
    /// The points as the kernel sees them: one after the other, and coordinate by coordinate.
    mapped: Vec<f64>,
    rows: Rows,
    each: Vec<Output<'a>>,
    pool: Pool,
}

/// One output of them.
struct Output<'a> {
    covariance: &'a dyn Covariance,
    /// s²
    scale: f64,
    /// All vᵢ (and wᵢ), one after the other.
    halves: Halves,
    variance: Vec<f64>,
    resolution: f64,
}

impl<'a> Output<'a> {
    /// `mapped` are the points; `scale` is s².
    fn new(
        covariance: &'a dyn Covariance,
        conditioned: &Conditioning,
        inputs: &Inputs,
        mapped: Points<'_>,
        scale: f64,
        pool: &mut Pool,
    ) -> Self {
        let (basis, dim) = (conditioned.basis(inputs), mapped.dim());
        let (nodes, rows) = (basis.len(), conditioned.rank());
        // Filled and solved in parts, as the posterior has it: what is written for a part stays in the cache.
        let (mut first, mut second) = (vec![0.0; rows * mapped.len()], Vec::new());
        let mut block = vec![0.0; nodes * CHUNK.min(mapped.len())];
        let points = mapped.as_slice().chunks(CHUNK * dim);
        for (part, out) in points.zip(first.chunks_mut((CHUNK * rows).max(1))) {
            let block = &mut block[..nodes * (part.len() / dim)];
            for (z, k) in part.chunks_exact(dim).zip(block.chunks_exact_mut(nodes)) {
                covariance.values(Against { x: basis.view(), z }, k, pool);
            }
            conditioned.halve(block, part.len() / dim, out, &mut second);
        }
        let halves = Halves { rows, first, second };
        let prior: Vec<f64> = (0..mapped.len()).map(|i| covariance.diagonal(mapped.at(i))).collect();
        let left = |(i, prior): (usize, &f64)| scale * (prior - halves.product(i, i)).max(0.0);
        let variance = prior.iter().enumerate().map(left).collect();
        let resolution = RESOLUTION * scale * prior.iter().fold(0.0, |a: f64, b| a.max(*b));
        Output { covariance, scale, halves, variance, resolution }
    }
}

impl Joint for Columns<'_> {
    fn outputs(&self) -> usize {
        self.each.len()
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn variance(&self, output: usize) -> &[f64] {
        &self.each[output].variance
    }

    fn column(&mut self, output: usize, index: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.rows.len(), "room for {} of {} points", out.len(), self.rows.len());
        let (own, dim) = (&self.each[output], self.rows.dim());
        let z = &self.mapped[index * dim..(index + 1) * dim];
        own.covariance.values(Against { x: self.rows.view(), z }, out, &mut self.pool);
        own.halves.subtract_products(index, out);
        for out in out.iter_mut() {
            *out *= own.scale;
        }
        out[index] = own.variance[index];
    }

    fn resolution(&self, output: usize) -> f64 {
        self.each[output].resolution
    }
}

/// Columns v and w with k(x, z)ᵀ A k(x, z′) = vᵀv′ − wᵀw′, one after the other; there is no w without inducing points.
struct Halves {
    /// Length of a column.
    rows: usize,
    /// All v.
    first: Vec<f64>,
    /// All w.
    second: Vec<f64>,
}

impl Halves {
    /// vᵢᵀvⱼ − wᵢᵀwⱼ.
    fn product(&self, i: usize, j: usize) -> f64 {
        let dot = |of: &[f64]| {
            let n = self.rows;
            vector::dot(&of[i * n..(i + 1) * n], &of[j * n..(j + 1) * n])
        };
        dot(&self.first) - if self.second.is_empty() { 0.0 } else { dot(&self.second) }
    }

    /// Takes vᵢᵀv_p − wᵢᵀw_p from `out[p]`, for all p.
    fn subtract_products(&self, i: usize, out: &mut [f64]) {
        let n = self.rows;
        for (columns, sign) in [(&self.first, -1.0), (&self.second, 1.0)] {
            if !columns.is_empty() {
                vector::add_products(sign, columns, &columns[i * n..(i + 1) * n], out);
            }
        }
    }
}

impl GaussianProcess {
    /// See [`StatisticalModel::joint`](super::StatisticalModel::joint).
    pub(super) fn columns(&self, z: Points<'_>) -> Box<dyn Joint + '_> {
        let (dim, mut pool) = (self.state.space.dim(), Pool::default());
        let mut mapped = vec![0.0; dim * z.len()];
        for (i, out) in mapped.chunks_exact_mut(dim).enumerate() {
            self.state.space.map(z.at(i), out);
        }
        let points = Points::new(&mapped, dim);
        let mut output = |j: usize| {
            let (own, (_, scale)) = (&self.state.outputs[j], self.output_scale(j));
            Output::new(
                &*own.covariance,
                &own.conditioned,
                &self.state.inputs,
                points,
                scale * scale,
                &mut pool,
            )
        };
        let each = (0..self.state.outputs.len()).map(&mut output).collect();
        let rows = Rows::from_points(points);
        Box::new(Columns { mapped, rows, each, pool })
    }
}

#[cfg(test)]
mod tests {
    use crate::linalg::{Blocks, Dims, Points};
    use crate::measurements::Measurements;
    use crate::model::kernels::{Kernel, Linear, Matern52, Rbf, Scale, Sum};
    use crate::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
    use crate::random::{Rng, Stream};
    use std::sync::Arc;

    fn random_point(rng: &mut Rng) -> [f64; 3] {
        [rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0), rng.uniform(-1.0, 1.0)]
    }

    fn model(settings: Settings, count: usize) -> GaussianProcess {
        let dims = Dims { state: 2, control: 1 };
        let (mut rng, mut data) = (Stream::root(5).rng(), Measurements::new(dims));
        for i in 0..count {
            let z = random_point(&mut rng);
            let y = [7.0 * z[1], z[2] - z[0].sin() + 0.01 * rng.normal()];
            data.push(i as f64, &z[..2], &z[2..], &y, &[0.02, 0.01]).unwrap();
        }
        let mut model = GaussianProcess::new(dims, &[0], settings).unwrap();
        model.update(&data).unwrap();
        model
    }

    fn assert_columns_are_those_of_the_matrix(model: &GaussianProcess, count: usize) {
        let mut rng = Stream::root(6).rng();
        let z: Vec<f64> = (0..count).flat_map(|_| random_point(&mut rng)).collect();
        let z = Points::new(&z, 3);
        let (mut matrices, mut at) = (Blocks::default(), Posterior::default());
        model.covariance(z, &mut matrices);
        model.posterior(z, Query::MeanStd, &mut at);
        let mut joint = model.joint(z);
        assert_eq!((joint.outputs(), joint.len()), (2, count));
        let mut column = vec![f64::NAN; count];
        for j in 0..2 {
            let least = joint.resolution(j);
            for i in 0..count {
                joint.column(j, i, &mut column);
                assert_eq!(column[i], joint.variance(j)[i]);
                assert!((column[i] - at.std.value.at(i)[j].powi(2)).abs() <= least);
                for (p, entry) in column.iter().enumerate() {
                    let expected = matrices.at(j)[i * count + p];
                    assert!((entry - expected).abs() <= least, "{entry} and {expected}");
                }
            }
        }
    }

    fn with_kernel(kernel: impl Kernel + 'static) -> Settings {
        Settings { kernel: Arc::new(kernel), ..Settings::default() }
    }

    #[test]
    fn columns_are_those_of_the_covariance_matrix() {
        // More points than are worked on at a time.
        assert_columns_are_those_of_the_matrix(&model(Settings::default(), 40), super::CHUNK + 7);
        assert_columns_are_those_of_the_matrix(&model(with_kernel(Matern52), 9), 12);
        let sum = Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear));
        assert_columns_are_those_of_the_matrix(&model(with_kernel(sum), 25), 12);
        assert_columns_are_those_of_the_matrix(&model(Settings::reference(), 25), 12);
    }

    #[test]
    fn they_are_so_through_inducing_points_and_without_data() {
        let few = Settings { exact_limit: 30, inducing_points: 20, ..Settings::default() };
        assert_columns_are_those_of_the_matrix(&model(few, 60), 13);
        assert_columns_are_those_of_the_matrix(&model(Settings::default(), 0), 5);
        let model = model(Settings::default(), 10);
        assert!(model.joint(Points::new(&[], 3)).is_empty());
    }
}
