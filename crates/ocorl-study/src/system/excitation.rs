//! The control of episode 0, if the file does not say it: sines around the safe input that move every input differently.

use ocorl::system::Bounds;
use std::f64::consts::TAU;

/// One input that swings within [low, high] over an episode.
#[derive(Clone, Debug)]
pub(super) struct Swing {
    low: f64,
    high: f64,
    /// Angular frequencies and phases.
    sines: [(f64, f64); 3],
}

impl Swing {
    /// Of input `i`: a quarter of its range to each side of the safe value, or one unit (of an unlimited input: or the size of the safe
    /// value) where there is no range.
    pub(super) fn new(i: usize, safe: f64, bounds: &Bounds, horizon: f64) -> Self {
        let (lower, upper) = (bounds.lower[i], bounds.upper[i]);
        let range = upper - lower;
        let reach = if range.is_finite() { 0.25 * range } else { safe.abs().max(1.0) };
        // One, three and five swings an episode, shifted for each input so that no two are alike.
        let own = i as f64;
        let sine = |k: f64| (TAU * (k + 0.25 * own) / horizon, 0.7 * own);
        Swing {
            low: (safe - reach).max(lower),
            high: (safe + reach).min(upper),
            sines: [sine(1.0), sine(3.0), sine(5.0)],
        }
    }

    /// u(t)
    pub(super) fn at(&self, time: f64) -> f64 {
        let weights = [0.5, 0.3, 0.2];
        let terms = self.sines.iter().zip(weights);
        let sum: f64 = terms.map(|((rate, phase), weight)| weight * (rate * time + phase).sin()).sum();
        0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swing_moves_and_stays_within_its_limits() {
        for (lower, upper, safe) in
            [(0.0, 1.0, 0.0), (-5.0, 5.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY, 3.0)]
        {
            let bounds = Bounds { lower: vec![lower; 4], upper: vec![upper; 4] };
            for i in 0..4 {
                let swing = Swing::new(i, safe, &bounds, 10.0);
                let values: Vec<f64> = (0..=1000).map(|k| swing.at(0.01 * f64::from(k))).collect();
                let (low, high) =
                    values.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
                assert!(low >= lower && high <= upper && high - low > 0.1, "{low} {high}");
            }
        }
    }
}
