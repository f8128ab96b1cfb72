//! Information gain of measurements about f, in nats.

use crate::linalg::{Blocks, small::axpy};
use crate::model::CovarianceColumns;
use crate::select::{Residual, greatest};

/// Noise variances below this fraction of the largest variance of the same output are raised to it, because a noiseless measurement
/// would have an infinite information gain.
const LEAST_NOISE: f64 = 1e-12;

/// Raises a noise variance to the smallest one that is distinguishable from rounding; the result is positive even if all variances
/// vanish.
fn raised(noise: f64, largest: f64) -> f64 {
    assert!(noise >= 0.0, "a noise variance of {noise}; it must be zero or positive");
    noise.max(LEAST_NOISE * largest).max(f64::MIN_POSITIVE)
}

/// The information gain I(y; f | D) of a batch of m measurements, for each output:
///
/// ```text
/// ½ ln det(I + N^{−½} C N^{−½}) = ½ Σᵢ ln(1 + Var[f(zᵢ) | D, y₁…yᵢ₋₁]/Nᵢᵢ)
/// ```
///
/// C is the posterior covariance given the data D so far
/// ([`StatisticalModel::covariance`](crate::model::StatisticalModel::covariance): one matrix for each output), `noise_std` holds
/// the standard deviations of the noise (one block for each point, as in
/// [`Measurements::noise_std`](crate::measurements::Measurements::noise_std)).
///
/// A noise variance of zero is replaced by 1e-12 of the largest variance of its output, which limits the gain to 13.8 for each
/// measurement. The gain is zero where the variance of f is zero. Variances that rounding made negative count as zero.
///
/// O(m³/3) for each output.
pub fn information_gain_of(covariance: &Blocks, noise_std: &Blocks) -> Vec<f64> {
    let (m, outputs) = (noise_std.len(), noise_std.size());
    if m == 0 {
        return vec![0.0; outputs];
    }
    let found = (covariance.size(), covariance.len());
    assert_eq!(found, (m * m, outputs), "covariances of {outputs} outputs at {m} points");
    (0..outputs)
        .map(|j| {
            let mut c = covariance.at(j).to_vec();
            let largest = (0..m).map(|i| c[i * m + i]).fold(0.0, f64::max);
            let mut gain = 0.0;
            for i in 0..m {
                let noise = raised(noise_std.at(i)[j].powi(2), largest);
                // Sequential conditioning: each point reduces the covariances of the later ones.
                let left = c[i * m + i].max(0.0);
                gain += 0.5 * (left / noise).ln_1p();
                let column = c[i * m + i + 1..(i + 1) * m].to_vec();
                for (k, entry) in column.iter().enumerate() {
                    let from = i + 1 + k;
                    axpy(-entry / (left + noise), &column[k..], &mut c[from * m + from..(from + 1) * m]);
                }
            }
            gain
        })
        .collect()
}

/// The information gain of `count` greedily selected candidates, for each output separately. Each selected candidate has the
/// largest variance given those selected before it.
///
/// Because the gain is submodular, the result is at least 1 − 1/e of the maximum information gain γ of `count` candidates, and at
/// most γ. `noise_variance` has one entry for each output; the floor of [`information_gain_of`] applies to it. If there are fewer
/// than `count` candidates, all are selected. O(count · n P + count² P) for each output, P candidates and n data.
pub fn greedy_maximum_information_gain(
    columns: &mut dyn CovarianceColumns,
    noise_variance: &[f64],
    count: usize,
) -> Vec<f64> {
    let outputs = columns.outputs();
    assert_eq!(
        noise_variance.len(),
        outputs,
        "{} noise variances for {outputs} outputs",
        noise_variance.len()
    );
    let mut gain_of = |(j, noise): (usize, &f64)| {
        let largest = columns.variance(j).iter().copied().fold(0.0, f64::max);
        let noise = raised(*noise, largest).max(columns.resolution(j));
        let (mut residual, mut gain) = (Residual::new(columns, j, noise), 0.0);
        let mut taken = vec![false; columns.len()];
        for _ in 0..count.min(taken.len()) {
            let next = greatest(residual.variance.iter().copied(), &taken);
            // If the largest variance is at rounding level, nothing can be gained.
            let Some(best) = next.filter(|&i| residual.variance[i] > residual.floor) else { break };
            gain += 0.5 * (residual.variance[best] / noise).ln();
            residual.measure(columns, best);
            taken[best] = true;
        }
        gain
    };
    noise_variance.iter().enumerate().map(&mut gain_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dims, Points};
    use crate::measurements::Measurements;
    use crate::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
    use crate::random::Stream;

    const DIMS: Dims = Dims { state: 2, control: 1 };
    const NOISE: [f64; 2] = [0.05, 0.2];

    fn data(count: usize, seed: u64) -> Measurements {
        let (mut rng, mut data) = (Stream::root(seed).rng(), Measurements::new(DIMS));
        for i in 0..count {
            let z = [rng.normal(), rng.normal(), rng.normal()];
            data.push(i as f64, &z[..2], &z[2..], &[z[1], z[2] - z[0].sin()], &NOISE).unwrap();
        }
        data
    }

    fn model(count: usize) -> GaussianProcess {
        let mut model = GaussianProcess::new(DIMS, &[], Settings::default()).unwrap();
        model.update(&data(count, 1)).unwrap();
        model
    }

    fn gain(model: &GaussianProcess, new: &Measurements) -> Vec<f64> {
        let mut covariance = Blocks::default();
        model.covariance(new.points(), &mut covariance);
        information_gain_of(&covariance, new.noise_std())
    }

    #[test]
    fn a_batch_tells_what_its_points_tell_one_after_the_other() {
        let (mut model, new) = (model(12), data(9, 2));
        let (batch, before) = (gain(&model, &new), model.information_gain());
        let (mut sequential, mut at) = ([0.0; 2], Posterior::default());
        for i in 0..new.len() {
            let one = new.slice(i..i + 1);
            model.posterior(one.points(), Query::MeanStd, &mut at);
            for j in 0..2 {
                sequential[j] += 0.5 * (at.std.value.at(0)[j] / NOISE[j]).powi(2).ln_1p();
            }
            model.update(&one).unwrap();
        }
        let after = model.information_gain();
        for j in 0..2 {
            assert!((batch[j] - sequential[j]).abs() < 1e-10, "{batch:?} and {sequential:?}");
            assert!((batch[j] - (after[j] - before[j])).abs() < 1e-10, "and what the model counts");
        }
    }

    #[test]
    fn without_noise_the_gain_is_finite_and_without_variance_it_is_zero() {
        let covariance = Blocks::from_vec(vec![1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 4);
        let found = information_gain_of(&covariance, &Blocks::zeros(2, 2));
        let one = 0.5 * 1e12_f64.ln_1p();
        assert!(found[0] >= one && found[0] < one + 1.0, "the second place is the first: {found:?}");
        assert_eq!(found[1], 0.0);
        assert_eq!(information_gain_of(&Blocks::zeros(0, 2), &Blocks::zeros(2, 0)), [0.0; 2]);
        let rounding = Blocks::from_vec(vec![1.0, 0.0, 0.0, -1e-17], 4);
        let noise = Blocks::from_vec(vec![1.0, 1.0], 1);
        assert!((information_gain_of(&rounding, &noise)[0] - 0.5 * 2_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_greedy_gain_is_within_its_bounds_of_the_best_set() {
        let (model, candidates) = (model(5), data(9, 3));
        let variances = NOISE.map(|s| s * s);
        let mut columns = model.covariance_columns(candidates.points());
        let greedy = greedy_maximum_information_gain(&mut *columns, &variances, 4);
        // All subsets of four of nine candidates.
        let mut best = [0.0_f64; 2];
        for set in 0_u32..1 << 9 {
            if set.count_ones() == 4 {
                let chosen = candidates.select((0..9).filter(|i| set >> i & 1 == 1));
                let gain = gain(&model, &chosen);
                best = [best[0].max(gain[0]), best[1].max(gain[1])];
            }
        }
        for j in 0..2 {
            let least = (1.0 - (-1.0_f64).exp()) * best[j];
            assert!(greedy[j] >= least && greedy[j] <= best[j] + 1e-10, "{greedy:?} of {best:?}");
        }
        let all = greedy_maximum_information_gain(&mut *columns, &variances, 100);
        let expected = gain(&model, &candidates);
        assert!((0..2).all(|j| (all[j] - expected[j]).abs() < 1e-10), "{all:?} and {expected:?}");
        let none = Points::new(&[], 3);
        assert_eq!(
            greedy_maximum_information_gain(&mut *model.covariance_columns(none), &variances, 3),
            [0.0; 2]
        );
    }

    #[test]
    fn all_that_was_measured_tells_under_the_prior_what_the_model_counts() {
        let mut model = model(14);
        model.train(Stream::root(5)).unwrap();
        let (data, variances) = (model.data().clone(), NOISE.map(|s| s * s));
        let prior = model.prior().unwrap();
        assert_eq!(prior.information_gain(), [0.0; 2]);
        let found =
            greedy_maximum_information_gain(&mut *prior.covariance_columns(data.points()), &variances, 14);
        let expected = model.information_gain();
        assert!((0..2).all(|j| (found[j] - expected[j]).abs() < 1e-8), "{found:?} and {expected:?}");
        // Additional measurements can only increase the gain, and a subset has a smaller one.
        let part =
            greedy_maximum_information_gain(&mut *prior.covariance_columns(data.points()), &variances, 7);
        assert!((0..2).all(|j| part[j] < found[j] && part[j] > 0.5 * found[j]), "{part:?} of {found:?}");
    }
}
