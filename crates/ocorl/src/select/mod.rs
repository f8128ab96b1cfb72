//! Measurement selection: the times of an episode at which the system is measured.
//!
//! | paper | code | shape |
//! |---|---|---|
//! | Sₙ | a [`Schedule`], which requests measurements while an episode runs | |
//! | ẑ(tᵢ) | [`Candidates`]: points of a predicted trajectory | dₓ + dᵤ at each of P times |
//! | Cⱼ[i, i′] = kₙ(ẑ(tᵢ), ẑ(tᵢ′)) | [`CovarianceColumns::column`](crate::model::CovarianceColumns::column) | P for each output j and candidate i′ |
//! | σ² | `noise_variance` | dₓ |
//!
//! | schedule | decides | criterion |
//! |---|---|---|
//! | [`Times`] at [`equidistant`] times | before the episode | equal spacing in time |
//! | [`Times`] by [`greedy_max_determinant`] | before the episode | joint information of the measurements |
//! | [`Times`] by [`greedy_max_distance`] | before the episode | kernel distance between the measurements |
//! | [`RecedingHorizon`] | at the beginning of each interval, from the measured state | largest σ on the predicted trajectory |
//! | [`UncertaintyTrigger`] | at every control update | accumulated uncertainty |
//! | [`Oracle`] | after the run, in simulation only | largest σ on the executed trajectory |
//!
//! Greedy selections compute `count` columns of each covariance matrix, never the whole matrix. Ties are resolved by the lowest
//! index, so equal calls give equal selections.
//!
//! Deliberately left out: how many measurements an episode has, and how a measurement is taken (`learn` and the plant decide).

mod equidistant;
mod hallucination;
mod max_determinant;
mod max_kernel_distance;
mod oracle;
mod receding_horizon;
mod residual;
mod schedule;
mod steps;
mod uncertainty_trigger;

pub use equidistant::{equidistant, equidistant_as_reference, interior};
pub use hallucination::{Candidates, Hallucination};
pub use max_determinant::greedy_max_determinant;
pub use max_kernel_distance::{FirstPick, greedy_max_distance};
pub use oracle::{Oracle, greedy_max_variance};
pub use receding_horizon::RecedingHorizon;
pub(crate) use residual::Residual;
pub use schedule::{PredictedUncertainty, Purpose, Request, Schedule, Times};
pub use steps::Steps;
pub use uncertainty_trigger::UncertaintyTrigger;

/// The index of the largest value that is not `taken`; the first one of equal values. NaN is never selected.
pub(crate) fn greatest(values: impl Iterator<Item = f64>, taken: &[bool]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for ((i, value), taken) in values.enumerate().zip(taken) {
        if !taken && best.map_or(!value.is_nan(), |(_, best)| value > best) {
            best = Some((i, value));
        }
    }
    best.map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use crate::linalg::{Blocks, Dims, Points};
    use crate::measurements::Measurements;
    use crate::model::kernels::{Kernel, Linear, Matern32, Matern52, Rbf, Scale, Sum};
    use crate::model::{CovarianceColumns, GaussianProcess, Settings, StatisticalModel};
    use crate::random::Stream;
    use std::sync::Arc;

    /// Covariance matrices given explicitly by a test.
    pub(super) struct Given(pub(super) Vec<Vec<f64>>, Vec<Vec<f64>>);

    impl Given {
        pub(super) fn new(matrices: Vec<Vec<f64>>, count: usize) -> Self {
            let diagonal = |m: &Vec<f64>| (0..count).map(|i| m[i * count + i]).collect();
            let variances = matrices.iter().map(diagonal).collect();
            Given(matrices, variances)
        }
    }

    impl CovarianceColumns for Given {
        fn outputs(&self) -> usize {
            self.0.len()
        }
        fn len(&self) -> usize {
            self.1[0].len()
        }
        fn variance(&self, output: usize) -> &[f64] {
            &self.1[output]
        }
        fn column(&mut self, output: usize, index: usize, out: &mut [f64]) {
            let count = self.len();
            out.copy_from_slice(&self.0[output][index * count..(index + 1) * count]);
        }
        fn resolution(&self, output: usize) -> f64 {
            1e-12 * self.1[output].iter().fold(0.0, |a: f64, b| a.max(*b))
        }
    }

    /// Models of `outputs` outputs with few data and several kernels, and `count` random candidates.
    pub(super) fn cases(outputs: usize, count: usize, seed: u64) -> Vec<(GaussianProcess, Vec<f64>)> {
        let sum = Sum(Box::new(Scale(Box::new(Matern32))), Box::new(Linear));
        let kernels: [Arc<dyn Kernel>; 3] =
            [Arc::new(Scale(Box::new(Rbf))), Arc::new(Matern52), Arc::new(sum)];
        let (dims, mut rng) = (Dims { state: outputs, control: 1 }, Stream::root(seed).rng());
        let mut case = |kernel: Arc<dyn Kernel>| {
            let mut data = Measurements::new(dims);
            for i in 0..6 {
                let z: Vec<f64> = (0..dims.point()).map(|_| 2.0 * rng.normal()).collect();
                let y: Vec<f64> = (0..outputs).map(|j| (z[j] + z[outputs]).sin()).collect();
                data.push(f64::from(i), &z[..outputs], &z[outputs..], &y, &vec![0.05; outputs]).unwrap();
            }
            let settings = Settings { kernel, ..Settings::default() };
            let mut model = GaussianProcess::new(dims, &[], settings).unwrap();
            model.update(&data).unwrap();
            (model, (0..count * dims.point()).map(|_| 2.0 * rng.normal()).collect())
        };
        kernels.into_iter().map(&mut case).collect()
    }

    /// The full covariance matrices, one for each output.
    pub(super) fn matrices(model: &GaussianProcess, z: Points<'_>) -> Vec<Vec<f64>> {
        let mut out = Blocks::default();
        model.covariance(z, &mut out);
        out.iter().map(<[f64]>::to_vec).collect()
    }

    #[test]
    fn the_first_of_equals_is_the_greatest() {
        let taken = [false, true, false, false, false];
        let values = [1.0, 9.0, f64::NAN, 2.0, 2.0];
        assert_eq!(super::greatest(values.into_iter(), &taken), Some(3));
        assert_eq!(super::greatest([f64::NAN].into_iter(), &[false]), None);
        assert_eq!(super::greatest([f64::NEG_INFINITY; 2].into_iter(), &[false; 2]), Some(0));
    }
}
