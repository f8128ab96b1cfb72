//! Measurement times by greedy maximisation of the kernel distance.

use super::greatest;
use crate::model::CovarianceColumns;

/// The rule for the first selected candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstPick {
    /// The candidate with the largest Σⱼ Cⱼ[i, i]/sⱼ².
    #[default]
    LargestVariance,
    /// The candidate of the paper's authors' program: the position of the largest Cⱼ[i, i]/sⱼ² in the concatenated list of all
    /// outputs' variances, limited to the last candidate.
    AsReference,
}

/// Selects candidates by the greedy maximum-kernel-distance rule \[Tre23, Appendix C.3\]: each has the largest distance from those
/// selected before it.
///
/// ```text
/// argmaxᵢ min_{i′ ∈ S} d(i, i′),   d(i, i′) = Σⱼ (Cⱼ[i, i] + Cⱼ[i′, i′] − 2 Cⱼ[i, i′])/sⱼ²
/// ```
///
/// d is the variance of the difference f(zᵢ) − f(zᵢ′), with each output in units of its `scale` sⱼ > 0. Ties are resolved by the
/// lowest index; no candidate is selected twice. The result has `count` entries unless there are fewer candidates.
///
/// O(count · n P) for each output, P candidates and n data.
///
/// ```
/// # use ocorl::{model, select::*};
/// # use ocorl::prelude::*;
/// # let mut model = GaussianProcess::new(Dims { state: 1, control: 1 }, &[], model::Settings::default())?;
/// # let mut data = Measurements::new(model.dims());
/// # data.push(0.0, &[0.0], &[0.0], &[0.0], &[0.1])?;
/// # model.update(&data)?;
/// // `model` knows f at (0, 0).
/// let candidates = Points::from(&[[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [2.0, 0.0]]);
/// let picks = greedy_max_distance(model.covariance_columns(candidates).as_mut(), &[1.0], FirstPick::LargestVariance, 2);
/// assert_eq!(picks[0], 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn greedy_max_distance(
    columns: &mut dyn CovarianceColumns,
    scale: &[f64],
    first: FirstPick,
    count: usize,
) -> Vec<usize> {
    let (outputs, candidates) = (columns.outputs(), columns.len());
    assert_eq!(scale.len(), outputs, "{} scales for {outputs} outputs", scale.len());
    assert!(scale.iter().all(|s| *s > 0.0), "scales must be positive: {scale:?}");
    let weights: Vec<f64> = scale.iter().map(|s| 1.0 / (s * s)).collect();
    let (mut chosen, mut taken) = (Vec::new(), vec![false; candidates]);
    let (mut nearest, mut column) = (vec![f64::INFINITY; candidates], vec![0.0; candidates]);
    let mut distance = vec![0.0; candidates];
    let mut next = first_pick(columns, &weights, first);
    while let Some(pick) = next.filter(|_| chosen.len() < count) {
        chosen.push(pick);
        taken[pick] = true;
        if chosen.len() == count {
            break;
        }
        distance.fill(0.0);
        for (j, weight) in weights.iter().enumerate() {
            columns.column(j, pick, &mut column);
            let variance = columns.variance(j);
            let each = distance.iter_mut().zip(variance).zip(&column);
            each.for_each(|((d, own), c)| *d += weight * (own + variance[pick] - 2.0 * c));
        }
        for (nearest, d) in nearest.iter_mut().zip(&distance) {
            // Equal candidates must have equal distances in spite of rounding.
            *nearest = nearest.min(d.max(0.0));
        }
        next = greatest(nearest.iter().copied(), &taken);
    }
    chosen
}

fn first_pick(columns: &dyn CovarianceColumns, weights: &[f64], first: FirstPick) -> Option<usize> {
    let candidates = columns.len();
    let variance = |j: usize, i: usize| weights[j] * columns.variance(j)[i];
    match first {
        FirstPick::LargestVariance => {
            let sum = |i: usize| (0..weights.len()).map(|j| variance(j, i)).sum::<f64>();
            greatest((0..candidates).map(sum), &vec![false; candidates])
        }
        FirstPick::AsReference => {
            let flat = (0..weights.len()).flat_map(|j| (0..candidates).map(move |i| (j, i)));
            let all = flat.map(|(j, i)| variance(j, i));
            greatest(all, &vec![false; candidates * weights.len()]).map(|i| i.min(candidates - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Given, cases, matrices};
    use super::*;
    use crate::linalg::Points;
    use crate::model::StatisticalModel;

    /// Selects by the definition, with all distances.
    fn brute_force(matrices: &[Vec<f64>], scale: &[f64], n: usize, count: usize) -> Vec<usize> {
        let d = |a: usize, b: usize| -> f64 {
            let of = |(c, s): (&Vec<f64>, &f64)| (c[a * n + a] + c[b * n + b] - 2.0 * c[a * n + b]) / (s * s);
            matrices.iter().zip(scale).map(of).sum()
        };
        let variance =
            |i: usize| -> f64 { matrices.iter().zip(scale).map(|(c, s)| c[i * n + i] / (s * s)).sum() };
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < count {
            let score = |i: usize| {
                if chosen.is_empty() {
                    variance(i)
                } else {
                    chosen.iter().map(|&b| d(i, b)).fold(f64::INFINITY, f64::min)
                }
            };
            let free = (0..n).filter(|i| !chosen.contains(i));
            let best = free
                .fold((0, f64::NEG_INFINITY), |best, i| if score(i) > best.1 { (i, score(i)) } else { best });
            chosen.push(best.0);
        }
        chosen
    }

    #[test]
    fn picks_are_those_of_all_distances() {
        for outputs in 1..=3 {
            for seed in 0..4 {
                for (model, z) in cases(outputs, 15, 100 + seed) {
                    let z = Points::new(&z, outputs + 1);
                    let scale: Vec<f64> = (0..outputs).map(|j| 0.5 + j as f64).collect();
                    let expected = brute_force(&matrices(&model, z), &scale, 15, 6);
                    let mut columns = model.covariance_columns(z);
                    for time in ["first", "second"] {
                        let picks = greedy_max_distance(&mut *columns, &scale, FirstPick::LargestVariance, 6);
                        assert_eq!(picks, expected, "the {time} time");
                    }
                }
            }
        }
    }

    /// Two outputs at three candidates, with these variances and no covariances.
    fn given(first: [f64; 3], second: [f64; 3]) -> Given {
        let matrix = |v: [f64; 3]| (0..9).map(|e| if e % 4 == 0 { v[e / 4] } else { 0.0 }).collect();
        Given::new(vec![matrix(first), matrix(second)], 3)
    }

    #[test]
    fn the_first_pick_is_of_the_largest_sum_or_as_in_the_reference() {
        let first =
            |columns: &mut Given, scale: &[f64], first| greedy_max_distance(columns, scale, first, 1)[0];
        let mut columns = given([1.0, 3.0, 2.0], [0.1, 0.1, 2.5]);
        assert_eq!(first(&mut columns, &[1.0; 2], FirstPick::LargestVariance), 2);
        assert_eq!(first(&mut columns, &[1.0; 2], FirstPick::AsReference), 1);
        // With this scale the second output has the largest variance, and its position is limited to the last candidate.
        let mut columns = given([1.0, 3.0, 2.0], [5.0, 0.1, 0.1]);
        assert_eq!(first(&mut columns, &[1.0; 2], FirstPick::LargestVariance), 0);
        assert_eq!(first(&mut columns, &[1.0; 2], FirstPick::AsReference), 2);
        assert_eq!(first(&mut columns, &[1.0, 2.0], FirstPick::AsReference), 1);
    }

    #[test]
    fn ties_go_to_the_lowest_number_and_nothing_is_picked_twice() {
        let mut columns = given([1.0; 3], [1.0; 3]);
        for first in [FirstPick::LargestVariance, FirstPick::AsReference] {
            assert_eq!(greedy_max_distance(&mut columns, &[1.0; 2], first, 9), [0, 1, 2]);
            assert!(greedy_max_distance(&mut columns, &[1.0; 2], first, 0).is_empty());
        }
        // Variance zero everywhere: all distances vanish.
        assert_eq!(
            greedy_max_distance(&mut given([0.0; 3], [0.0; 3]), &[1.0; 2], FirstPick::default(), 3),
            [0, 1, 2]
        );
    }

    #[test]
    fn of_candidates_that_are_there_twice_the_second_come_last_and_in_order() {
        let (model, z) = cases(2, 4, 9).swap_remove(1);
        let twice = [&z[..], &z[..]].concat();
        let mut columns = model.covariance_columns(Points::new(&twice, 3));
        let mut picks = greedy_max_distance(&mut *columns, &[1.0; 2], FirstPick::LargestVariance, 20);
        assert_eq!(picks.len(), 8);
        picks[..4].sort_unstable();
        picks[4..].sort_unstable();
        assert_eq!(picks, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn none_of_no_candidates() {
        let (model, _) = cases(2, 1, 0).swap_remove(0);
        for first in [FirstPick::LargestVariance, FirstPick::AsReference] {
            let mut columns = model.covariance_columns(Points::new(&[], 3));
            assert!(greedy_max_distance(&mut *columns, &[1.0; 2], first, 3).is_empty());
        }
    }
}
