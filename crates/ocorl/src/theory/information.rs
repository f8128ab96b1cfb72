//! How much measurements tell about f, in nats.

use crate::linalg::{Blocks, small::axpy};
use crate::model::Joint;
use crate::select::{Residual, greatest};

/// Noise variances below this fraction of the greatest variance of the same output are raised to it: a measurement without noise would
/// tell infinitely much, one more of them no less.
const LEAST_NOISE: f64 = 1e-12;

/// σ² raised to what can be told from nothing; not zero even if nothing varies.
fn raised(noise: f64, largest: f64) -> f64 {
    assert!(noise >= 0.0, "a noise variance of {noise}; it must be zero or positive");
    noise.max(LEAST_NOISE * largest).max(f64::MIN_POSITIVE)
}

/// I(y; f | D) of a batch of measurements, for each output:
///
/// ```text
/// ½ ln det(I + N^{−½} C N^{−½}) = ½ Σᵢ ln(1 + Var[f(zᵢ) | D, y₁…yᵢ₋₁]/Nᵢᵢ)
/// ```
///
/// C are the covariances given the data D so far ([`StatisticalModel::covariance`](crate::model::StatisticalModel::covariance): a
/// matrix for each output), `noise_std` the standard deviations of the noise (a block for each point, as
/// [`Measurements::noise_std`](crate::measurements::Measurements::noise_std)).
///
/// Noise without variance counts as 1e-12 of the greatest variance of its output, so that the gain stays finite: at most 13.8 for each
/// measurement. Where nothing is unknown the gain is zero. Variances that rounding made negative count as zero.
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
                // Point after point: what is left of the later ones once this one is measured.
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

/// The information gain of the `count` candidates that the greedy rule takes, for each output on its own: each is the one whose
/// variance, given the earlier ones, is the greatest.
///
/// It is at least 1 − 1/e of the greatest gain γ that so many of the candidates can have, and at most γ, because the gain is
/// submodular. `noise_variance` is one for each output; without noise the floor of [`information_gain_of`] applies. All candidates are
/// taken if there are fewer than `count`.
pub fn greedy_maximum_information_gain(
    joint: &mut dyn Joint,
    noise_variance: &[f64],
    count: usize,
) -> Vec<f64> {
    let outputs = joint.outputs();
    assert_eq!(
        noise_variance.len(),
        outputs,
        "{} noise variances for {outputs} outputs",
        noise_variance.len()
    );
    let mut gain_of = |(j, noise): (usize, &f64)| {
        let largest = joint.variance(j).iter().copied().fold(0.0, f64::max);
        let noise = raised(*noise, largest).max(joint.resolution(j));
        let (mut residual, mut gain) = (Residual::new(joint, j, noise), 0.0);
        let mut taken = vec![false; joint.len()];
        for _ in 0..count.min(taken.len()) {
            let next = greatest(residual.left.iter().copied(), &taken);
            // Where the greatest is all rounding, there is nothing more to gain.
            let Some(best) = next.filter(|&i| residual.left[i] > residual.least) else { break };
            gain += 0.5 * (residual.left[best] / noise).ln();
            residual.measure(joint, best);
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
    fn without_noise_the_gain_is_finite_and_without_doubt_it_is_zero() {
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
        let mut joint = model.joint(candidates.points());
        let greedy = greedy_maximum_information_gain(&mut *joint, &variances, 4);
        // All sets of four of nine.
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
        let all = greedy_maximum_information_gain(&mut *joint, &variances, 100);
        let expected = gain(&model, &candidates);
        assert!((0..2).all(|j| (all[j] - expected[j]).abs() < 1e-10), "{all:?} and {expected:?}");
        let none = Points::new(&[], 3);
        assert_eq!(greedy_maximum_information_gain(&mut *model.joint(none), &variances, 3), [0.0; 2]);
    }

    #[test]
    fn all_that_was_measured_tells_under_the_prior_what_the_model_counts() {
        let mut model = model(14);
        model.train(Stream::root(5)).unwrap();
        let (data, variances) = (model.data().clone(), NOISE.map(|s| s * s));
        let prior = model.prior().unwrap();
        assert_eq!(prior.information_gain(), [0.0; 2]);
        let found = greedy_maximum_information_gain(&mut *prior.joint(data.points()), &variances, 14);
        let expected = model.information_gain();
        assert!((0..2).all(|j| (found[j] - expected[j]).abs() < 1e-8), "{found:?} and {expected:?}");
        // More of the same can only tell more, and part of it less.
        let part = greedy_maximum_information_gain(&mut *prior.joint(data.points()), &variances, 7);
        assert!((0..2).all(|j| part[j] < found[j] && part[j] > 0.5 * found[j]), "{part:?} of {found:?}");
    }
}
