//! Measurement times of a plant that is sampled in steps, each of which gives at most one measurement, in its middle.

/// Number of steps above which they are no restriction.
const MOST: f64 = 100_000.0;

/// The steps of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    length: f64,
    count: usize,
}

impl Steps {
    /// Returns the steps of `length` that fit in `horizon`; `None` with length 0, if the plant can be measured at any time, and for steps
    /// so short that it practically can.
    pub fn new(horizon: f64, length: f64) -> Option<Self> {
        let count = (horizon / length * (1.0 + 1e-9)).floor().max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and MOST")]
        let count = if length > 0.0 && count <= MOST { count as usize } else { return None };
        Some(Steps { length, count })
    }

    fn middle(&self, step: usize) -> f64 {
        self.length * (step as f64 + 0.5)
    }

    /// Returns the middles of all steps, or of at most `count` steps at equal distances.
    pub fn middles(&self, count: usize) -> Vec<f64> {
        let some = self.count.min(count.max(1));
        (0..some).map(|i| self.middle(i * self.count / some)).collect()
    }

    /// Moves each time to the middle of the nearest step that no earlier one in the list has; those beyond the number of steps are dropped.
    ///
    /// ```
    /// let steps = ocorl::select::Steps::new(10.0, 2.5).unwrap();
    /// assert_eq!(steps.snap(&[4.0, 3.0, 10.0]), [3.75, 1.25, 8.75]);
    /// ```
    pub fn snap(&self, times: &[f64]) -> Vec<f64> {
        let mut taken = vec![false; self.count];
        let free = |time: &f64, taken: &[bool]| {
            let distance = |step: &usize| (self.middle(*step) - time).abs();
            (0..self.count).filter(|&step| !taken[step]).min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let mut moved = Vec::with_capacity(times.len());
        for time in times {
            let Some(step) = free(time, &taken) else { break };
            taken[step] = true;
            moved.push(self.middle(step));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_times_share_a_step_and_none_is_lost_while_steps_are_free() {
        let steps = Steps::new(1.0, 0.1).unwrap();
        let crowded: Vec<f64> = (0..8).map(|i| 0.43 + 0.001 * f64::from(i)).collect();
        let mut moved = steps.snap(&crowded);
        assert!((moved[0] - 0.45).abs() < 1e-12, "the first keeps its step: {moved:?}");
        moved.sort_by(f64::total_cmp);
        assert_eq!(moved.len(), 8);
        assert!(moved.windows(2).all(|t| t[1] - t[0] > 0.0999), "{moved:?}");
        assert_eq!(steps.snap(&[0.5; 12]).len(), 10, "more than there are steps");
        assert_eq!(steps.middles(1000).len(), 10);
        let fifth = steps.middles(5);
        assert!(
            fifth.iter().zip([0.05, 0.25, 0.45, 0.65, 0.85]).all(|(t, u)| (t - u).abs() < 1e-12),
            "{fifth:?}"
        );
        assert_eq!(Steps::new(1.0, 0.0), None);
        assert_eq!(Steps::new(1.0, 1e-9), None);
    }
}
