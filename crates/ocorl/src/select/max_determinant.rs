//! The candidates whose measurements tell most together.

use super::{Residual, greatest};
use crate::model::Joint;

/// Greedy maximum determinant: pivoted Cholesky factorisations, one for each output, that share their pivots.
///
/// The paper's rule \[Tre23, Appendix C.3\] takes, one after the other, the candidate with the largest
///
/// ```text
/// Σⱼ ln det (Cⱼ + σⱼ²I)_{S∪{i}} = Σⱼ ln det (Cⱼ + σⱼ²I)_S + Σⱼ ln rⱼᵢ
/// rⱼᵢ = (Cⱼ + σⱼ²I)ᵢᵢ − Cⱼ_{iS} (Cⱼ + σⱼ²I)_{SS}⁻¹ Cⱼ_{Si}
/// ```
///
/// that is, with the largest product of what is left of its variances. `noise_variance` has a σⱼ² ≥ 0 for each output, in physical
/// units. Ties go to the lowest number; nothing is picked twice.
///
/// With σⱼ = 0 variances come down to rounding once the candidates' rank is used up. What is left is counted as
/// [`Joint::resolution`] at least: such an output no longer has a say, and the others decide. When every output is at the end of its
/// rank at every candidate (and none has noise), picking stops and fewer than `count` come back; so they do if there are fewer
/// candidates. With noise it goes on to the end, as a second look at the same place is worth something.
///
/// O(count · n P + count² P) for each output, the first for the columns of C.
pub fn greedy_max_determinant(joint: &mut dyn Joint, noise_variance: &[f64], count: usize) -> Vec<usize> {
    let (outputs, candidates) = (joint.outputs(), joint.len());
    assert_eq!(
        noise_variance.len(),
        outputs,
        "{} noise variances for {outputs} outputs",
        noise_variance.len()
    );
    let noiseless = noise_variance.iter().all(|v| *v == 0.0);
    let mut residuals: Vec<Residual> =
        noise_variance.iter().enumerate().map(|(j, v)| Residual::new(joint, j, *v)).collect();
    let (mut chosen, mut taken) = (Vec::new(), vec![false; candidates]);
    while chosen.len() < count {
        let score = |i: usize| residuals.iter().map(|r| r.left[i].ln()).sum::<f64>();
        let Some(best) = greatest((0..candidates).map(score), &taken) else { break };
        if noiseless && residuals.iter().all(|r| r.left[best] <= r.least) {
            break;
        }
        chosen.push(best);
        taken[best] = true;
        if chosen.len() < count {
            for residual in &mut residuals {
                residual.measure(joint, best);
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

    /// ln det of a symmetric matrix by elimination.
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

    /// From the definition: all determinants.
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
                    let mut joint = model.joint(z);
                    assert_eq!(greedy_max_determinant(&mut *joint, &noise, 5), expected);
                    assert_eq!(greedy_max_determinant(&mut *joint, &noise, 5), expected, "once more");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_lowest_number_and_nothing_is_picked_twice() {
        let identity = |n: usize| (0..n * n).map(|e| f64::from(e % (n + 1) == 0)).collect::<Vec<f64>>();
        let mut joint = Given::new(vec![identity(6); 2], 6);
        assert_eq!(greedy_max_determinant(&mut joint, &[0.0; 2], 4), [0, 1, 2, 3]);
        assert_eq!(greedy_max_determinant(&mut joint, &[0.5; 2], 40), [0, 1, 2, 3, 4, 5]);
        assert!(greedy_max_determinant(&mut joint, &[0.0; 2], 0).is_empty());
    }

    #[test]
    fn a_candidate_that_is_there_twice_is_picked_once_unless_there_is_noise() {
        let (model, z) = cases(2, 4, 9).swap_remove(0);
        let twice = [&z[..], &z[..]].concat();
        let mut joint = model.joint(Points::new(&twice, 3));
        let mut picks = greedy_max_determinant(&mut *joint, &[0.0; 2], 8);
        picks.sort_unstable();
        assert_eq!(picks, [0, 1, 2, 3]);
        let mut picks = greedy_max_determinant(&mut *joint, &[0.1; 2], 8);
        picks.sort_unstable();
        assert_eq!(picks, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn it_stops_when_the_rank_is_used_up() {
        // C = a aᵀ + b bᵀ.
        let (a, b) = ([1.0, 2.0, 0.5, 3.0, 1.0], [0.0, 1.0, -1.0, 0.5, 2.0]);
        let rank_two: Vec<f64> = (0..25).map(|e| a[e % 5] * a[e / 5] + b[e % 5] * b[e / 5]).collect();
        let mut joint = Given::new(vec![rank_two.clone()], 5);
        assert_eq!(greedy_max_determinant(&mut joint, &[0.0], 5).len(), 2);
        assert_eq!(greedy_max_determinant(&mut joint, &[1e-3], 5).len(), 5);
        // A second output of full rank goes on alone.
        let diagonal = (0..25).map(|e| if e % 6 == 0 { 1.0 + f64::from(e) } else { 0.0 }).collect();
        let mut joint = Given::new(vec![rank_two, diagonal], 5);
        assert_eq!(greedy_max_determinant(&mut joint, &[0.0; 2], 5).len(), 5);
        // An output that is known everywhere.
        let mut joint = Given::new(vec![vec![0.0; 9]], 3);
        assert!(greedy_max_determinant(&mut joint, &[0.0], 3).is_empty());
    }

    #[test]
    fn none_of_no_candidates() {
        let (model, _) = cases(2, 1, 0).swap_remove(0);
        assert!(greedy_max_determinant(&mut *model.joint(Points::new(&[], 3)), &[0.0; 2], 3).is_empty());
    }
}
