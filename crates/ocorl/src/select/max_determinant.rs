//! Measurement times by greedy maximisation of the determinant of the posterior covariance.

use super::{Residual, greatest};
use crate::model::CovarianceColumns;

/// Selects candidates by the greedy maximum-determinant rule, with one pivoted Cholesky factorisation for each output that share
/// their pivots.
///
/// The rule of the paper \[Tre23, Appendix C.3\] selects, one after the other, the candidate with the largest
///
/// ```text
/// Σⱼ ln det (Cⱼ + σⱼ²I)_{S∪{i}} = Σⱼ ln det (Cⱼ + σⱼ²I)_S + Σⱼ ln rⱼᵢ
/// rⱼᵢ = (Cⱼ + σⱼ²I)ᵢᵢ − Cⱼ_{iS} (Cⱼ + σⱼ²I)_{SS}⁻¹ Cⱼ_{Si}
/// ```
///
/// that is, with the largest product of residual variances over the outputs. `noise_variance` holds σⱼ² ≥ 0 for each output, in
/// physical units. Ties are resolved by the lowest index; no candidate is selected twice.
///
/// Without noise the residual variances fall to rounding level once the rank of the covariance is exhausted. They are then limited
/// from below by [`CovarianceColumns::resolution`], so that such an output no longer influences the selection. If all outputs are
/// noiseless and exhausted at every candidate, the selection stops with fewer than `count` candidates; likewise if there are fewer
/// candidates. With noise it continues, because repeated measurements at one point are informative.
///
/// O(count · n P + count² P) for each output; the first term is for the columns of C.
///
/// ```
/// # use ocorl::{model, select::*};
/// # use ocorl::prelude::*;
/// # let mut model = GaussianProcess::new(Dims { state: 1, control: 1 }, &[], model::Settings::default())?;
/// # let mut data = Measurements::new(model.dims());
/// # data.push(0.0, &[0.0], &[0.0], &[0.0], &[0.1])?;
/// # model.update(&data)?;
/// // `model` knows f at (0, 0). Of four candidates the farthest from it comes first, then the farthest from both.
/// let candidates = Points::from(&[[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [2.0, 0.0]]);
/// let picks = greedy_max_determinant(model.covariance_columns(candidates).as_mut(), &[0.01], 2);
/// assert_eq!(picks, [3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn greedy_max_determinant(
    columns: &mut dyn CovarianceColumns,
    noise_variance: &[f64],
    count: usize,
) -> Vec<usize> {
    let (outputs, candidates) = (columns.outputs(), columns.len());
    assert_eq!(
        noise_variance.len(),
        outputs,
        "{} noise variances for {outputs} outputs",
        noise_variance.len()
    );
    let noiseless = noise_variance.iter().all(|v| *v == 0.0);
    let mut residuals: Vec<Residual> =
        noise_variance.iter().enumerate().map(|(j, v)| Residual::new(columns, j, *v)).collect();
    let (mut chosen, mut taken) = (Vec::new(), vec![false; candidates]);
    while chosen.len() < count {
        let score = |i: usize| residuals.iter().map(|r| r.variance[i].ln()).sum::<f64>();
        let Some(best) = greatest((0..candidates).map(score), &taken) else { break };
        if noiseless && residuals.iter().all(|r| r.variance[best] <= r.floor) {
            break;
        }
        chosen.push(best);
        taken[best] = true;
        if chosen.len() < count {
            for residual in &mut residuals {
                residual.measure(columns, best);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Given, cases, matrices};
    use super::*;
    use crate::linalg::Points;
    use crate::model::StatisticalModel;

    /// Computes ln det of a symmetric matrix by elimination.
    fn log_determinant(mut a: Vec<Vec<f64>>) -> f64 {
        let n = a.len();
        for k in 0..n {
            for i in k + 1..n {
                let factor = a[i][k] / a[k][k];
                for j in k..n {
                    a[i][j] -= factor * a[k][j];
                }
            }
        }
        (0..n).map(|k| a[k][k].ln()).sum()
    }

    /// Selects by the definition, with all determinants.
    fn brute_force(matrices: &[Vec<f64>], noise: &[f64], candidates: usize, count: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < count {
            let mut best = (f64::NEG_INFINITY, 0);
            for i in (0..candidates).filter(|i| !chosen.contains(i)) {
                let set: Vec<usize> = chosen.iter().copied().chain([i]).collect();
                let of = |(c, noise): (&Vec<f64>, &f64)| {
                    let entry =
                        |a: usize, b: usize| c[a * candidates + b] + if a == b { *noise } else { 0.0 };
                    let row = |&a: &usize| set.iter().map(|&b| entry(a, b)).collect();
                    log_determinant(set.iter().map(row).collect())
                };
                let score: f64 = matrices.iter().zip(noise).map(of).sum();
                if score > best.0 {
                    best = (score, i);
                }
            }
            chosen.push(best.1);
        }
        chosen
    }

    #[test]
    fn picks_are_those_of_all_determinants() {
        for (outputs, noise) in [(1, 0.0), (2, 0.0), (2, 0.01), (3, 0.3)] {
            for seed in 0..4 {
                for (model, z) in cases(outputs, 15, seed) {
                    let z = Points::new(&z, outputs + 1);
                    let noise: Vec<f64> = (0..outputs).map(|j| noise * (1.0 + j as f64)).collect();
                    let expected = brute_force(&matrices(&model, z), &noise, 15, 5);
                    let mut columns = model.covariance_columns(z);
                    assert_eq!(greedy_max_determinant(&mut *columns, &noise, 5), expected);
                    assert_eq!(greedy_max_determinant(&mut *columns, &noise, 5), expected, "once more");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_lowest_number_and_nothing_is_picked_twice() {
        let identity = |n: usize| (0..n * n).map(|e| f64::from(e % (n + 1) == 0)).collect::<Vec<f64>>();
        let mut columns = Given::new(vec![identity(6); 2], 6);
        assert_eq!(greedy_max_determinant(&mut columns, &[0.0; 2], 4), [0, 1, 2, 3]);
        assert_eq!(greedy_max_determinant(&mut columns, &[0.5; 2], 40), [0, 1, 2, 3, 4, 5]);
        assert!(greedy_max_determinant(&mut columns, &[0.0; 2], 0).is_empty());
    }

    #[test]
    fn a_candidate_that_is_there_twice_is_picked_once_unless_there_is_noise() {
        let (model, z) = cases(2, 4, 9).swap_remove(0);
        let twice = [&z[..], &z[..]].concat();
        let mut columns = model.covariance_columns(Points::new(&twice, 3));
        let mut picks = greedy_max_determinant(&mut *columns, &[0.0; 2], 8);
        picks.sort_unstable();
        assert_eq!(picks, [0, 1, 2, 3]);
        let mut picks = greedy_max_determinant(&mut *columns, &[0.1; 2], 8);
        picks.sort_unstable();
        assert_eq!(picks, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn it_stops_when_the_rank_is_used_up() {
        // C = a aᵀ + b bᵀ.
        let (a, b) = ([1.0, 2.0, 0.5, 3.0, 1.0], [0.0, 1.0, -1.0, 0.5, 2.0]);
        let rank_two: Vec<f64> = (0..25).map(|e| a[e % 5] * a[e / 5] + b[e % 5] * b[e / 5]).collect();
        let mut columns = Given::new(vec![rank_two.clone()], 5);
        assert_eq!(greedy_max_determinant(&mut columns, &[0.0], 5).len(), 2);
        assert_eq!(greedy_max_determinant(&mut columns, &[1e-3], 5).len(), 5);
        // A second output of full rank continues alone.
        let diagonal = (0..25).map(|e| if e % 6 == 0 { 1.0 + f64::from(e) } else { 0.0 }).collect();
        let mut columns = Given::new(vec![rank_two, diagonal], 5);
        assert_eq!(greedy_max_determinant(&mut columns, &[0.0; 2], 5).len(), 5);
        // An output whose variance is zero everywhere.
        let mut columns = Given::new(vec![vec![0.0; 9]], 3);
        assert!(greedy_max_determinant(&mut columns, &[0.0], 3).is_empty());
    }

    #[test]
    fn none_of_no_candidates() {
        let (model, _) = cases(2, 1, 0).swap_remove(0);
        assert!(
            greedy_max_determinant(&mut *model.covariance_columns(Points::new(&[], 3)), &[0.0; 2], 3)
                .is_empty()
        );
    }
}
