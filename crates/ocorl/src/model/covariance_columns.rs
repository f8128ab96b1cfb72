//! Columns of posterior covariance matrices on demand, for algorithms that need few columns of many points.
//!
//! ```text
//! Cⱼ[i, i′] = kₙ(zᵢ, zᵢ′) of output j = s² (k(zᵢ, zᵢ′) − vᵢᵀvᵢ′),   vᵢ = L⁻¹ k(x, zᵢ)
//! ```
//!
//! and with inducing points s² (k(zᵢ, zᵢ′) − vᵢᵀvᵢ′ + wᵢᵀwᵢ′), wᵢ = R⁻¹vᵢ. All vᵢ and all variances are computed once, O(n²P) for P
//! points and n data; a column then costs O(nP). The P × P matrix is never formed.

use super::gaussian_process::GaussianProcess;
use super::inputs::Inputs;
use super::kernels::{Covariance, CrossInputs};
use super::posterior::CHUNK;
use super::state;
use crate::linalg::{Blocks, Points, Pool, Rows, vector};

/// Posterior covariances between the points of one batch, one column at a time, in physical units.
pub trait CovarianceColumns {
    /// Number of outputs.
    fn outputs(&self) -> usize;

    /// Number of points.
    fn len(&self) -> usize;

    /// True if there are no points.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The variances σ²(zᵢ) of an output at all points; none is negative.
    fn variance(&self, output: usize) -> &[f64];

    /// Computes the covariances of all points with point `index`; the entry of that point itself is its variance.
    fn column(&mut self, output: usize, index: usize, out: &mut [f64]);

    /// The rounding error of a variance: smaller variances are numerically zero. For a posterior, a difference of prior variance
    /// and reduction, this is a fraction of the prior variance, however small the difference is.
    fn resolution(&self, output: usize) -> f64;
}

/// [`CovarianceColumns::resolution`] as a fraction of the largest prior variance. Inner products of some hundred terms have
/// relative errors of a few times 1e-14; the rest is a safety margin.
const RESOLUTION: f64 = 1e-12;

/// Columns of covariance matrices that are stored as a whole, for models without a cheaper way to compute them.
pub(super) struct DenseColumns {
    matrices: Blocks,
    variance: Blocks,
}

impl DenseColumns {
    /// Takes `outputs` matrices of `count` × `count` entries.
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
        DenseColumns { matrices, variance }
    }
}

impl CovarianceColumns for DenseColumns {
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

/// Columns of the posterior covariances of a Gaussian process.
struct Columns<'a> {
    /// The points in the kernel's coordinates: `mapped` stores them one after the other, `rows` coordinate by coordinate.
    mapped: Vec<f64>,
    rows: Rows,
    each: Vec<Output<'a>>,
    pool: Pool,
}

/// The quantities of one output from which its columns are computed.
struct Output<'a> {
    covariance: &'a dyn Covariance,
    /// s²: the squared scale of the output.
    scale: f64,
    /// The vectors vᵢ (and wᵢ) of all points.
    whitened: WhitenedColumns,
    variance: Vec<f64>,
    resolution: f64,
}

impl<'a> Output<'a> {
    /// Computes vᵢ, wᵢ and the variances at the points `mapped`; `scale` is s².
    fn new(own: &'a state::Output, inputs: &Inputs, mapped: Points<'_>, scale: f64, pool: &mut Pool) -> Self {
        let (basis, dim, covariance) = (own.basis(inputs), mapped.dim(), &*own.covariance);
        let (nodes, rows) = (basis.len(), own.rank());
        // Computed in parts of CHUNK points, so that the block of one part stays in the cache.
        let (mut first, mut second) = (vec![0.0; rows * mapped.len()], Vec::new());
        let mut block = vec![0.0; nodes * CHUNK.min(mapped.len())];
        let points = mapped.as_slice().chunks(CHUNK * dim);
        for (part, out) in points.zip(first.chunks_mut((CHUNK * rows).max(1))) {
            let block = &mut block[..nodes * (part.len() / dim)];
            for (z, k) in part.chunks_exact(dim).zip(block.chunks_exact_mut(nodes)) {
                covariance.values(CrossInputs { x: basis.view(), z }, k, pool);
            }
            own.whiten(block, part.len() / dim, out, &mut second);
        }
        let whitened = WhitenedColumns { rows, first, second };
        let prior: Vec<f64> = (0..mapped.len()).map(|i| covariance.diagonal(mapped.at(i))).collect();
        let left = |(i, prior): (usize, &f64)| scale * (prior - whitened.product(i, i)).max(0.0);
        let variance = prior.iter().enumerate().map(left).collect();
        let resolution = RESOLUTION * scale * prior.iter().fold(0.0, |a: f64, b| a.max(*b));
        Output { covariance, scale, whitened, variance, resolution }
    }
}

impl CovarianceColumns for Columns<'_> {
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
        own.covariance.values(CrossInputs { x: self.rows.view(), z }, out, &mut self.pool);
        own.whitened.subtract_products(index, out);
        for out in out.iter_mut() {
            *out *= own.scale;
        }
        out[index] = own.variance[index];
    }

    fn resolution(&self, output: usize) -> f64 {
        self.each[output].resolution
    }
}

/// Vectors v and w of all points with k(x, z)ᵀ A k(x, z′) = vᵀv′ − wᵀw′; w exists only with inducing points.
struct WhitenedColumns {
    /// Length of one vector.
    rows: usize,
    /// All v, one after the other.
    first: Vec<f64>,
    /// All w, one after the other.
    second: Vec<f64>,
}

impl WhitenedColumns {
    /// Computes vᵢᵀvⱼ − wᵢᵀwⱼ.
    fn product(&self, i: usize, j: usize) -> f64 {
        let dot = |of: &[f64]| {
            let n = self.rows;
            vector::dot(&of[i * n..(i + 1) * n], &of[j * n..(j + 1) * n])
        };
        dot(&self.first) - if self.second.is_empty() { 0.0 } else { dot(&self.second) }
    }

    /// Subtracts vᵢᵀv_p − wᵢᵀw_p from `out[p]`, for all p.
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
    /// Implements [`StatisticalModel::covariance_columns`](super::StatisticalModel::covariance_columns).
    pub(super) fn columns(&self, z: Points<'_>) -> Box<dyn CovarianceColumns + '_> {
        let (dim, mut pool) = (self.state.space.dim(), Pool::default());
        let mut mapped = vec![0.0; dim * z.len()];
        for (i, out) in mapped.chunks_exact_mut(dim).enumerate() {
            self.state.space.map(z.at(i), out);
        }
        let points = Points::new(&mapped, dim);
        let mut output = |j: usize| {
            let (own, (_, scale)) = (&self.state.outputs[j], self.output_scale(j));
            Output::new(own, &self.state.inputs, points, scale * scale, &mut pool)
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
        let mut covariance_columns = model.covariance_columns(z);
        assert_eq!((covariance_columns.outputs(), covariance_columns.len()), (2, count));
        let mut column = vec![f64::NAN; count];
        for j in 0..2 {
            let resolution = covariance_columns.resolution(j);
            for i in 0..count {
                covariance_columns.column(j, i, &mut column);
                assert_eq!(column[i], covariance_columns.variance(j)[i]);
                assert!((column[i] - at.std.value.at(i)[j].powi(2)).abs() <= resolution);
                for (p, entry) in column.iter().enumerate() {
                    let expected = matrices.at(j)[i * count + p];
                    assert!((entry - expected).abs() <= resolution, "{entry} and {expected}");
                }
            }
        }
    }

    fn with_kernel(kernel: impl Kernel + 'static) -> Settings {
        Settings { kernel: Arc::new(kernel), ..Settings::default() }
    }

    #[test]
    fn columns_are_those_of_the_covariance_matrix() {
        // More points than one chunk.
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
        assert!(model.covariance_columns(Points::new(&[], 3)).is_empty());
    }
}
