//! Default control of episode 0: multisine excitation around the safe control, different for every control.

use crate::system::{Bounds, FirstControl, Task};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Returns a control with a [`MultiSine`] for each control of a task.
pub fn excitation(task: &Task) -> FirstControl {
    let each = task.safe_control.iter().enumerate();
    let sines: Vec<MultiSine> =
        each.map(|(i, &safe)| MultiSine::new(i, safe, &task.control_bounds, task.horizon)).collect();
    Arc::new(move |time, _state, control| {
        for (u, sines) in control.iter_mut().zip(&sines) {
            *u = sines.at(time);
        }
    })
}

/// Sum of three sines as excitation of one control, within its limits over an episode.
#[derive(Clone, Debug)]
pub struct MultiSine {
    low: f64,
    high: f64,
    /// Angular frequency and phase of each sine.
    sines: [(f64, f64); 3],
}

impl MultiSine {
    /// Creates the excitation of control `i`. It reaches a quarter of the range to each side of the safe value, within the limits;
    /// without a finite range it reaches max(1, |safe value|).
    pub fn new(i: usize, safe: f64, bounds: &Bounds, horizon: f64) -> Self {
        let (lower, upper) = (bounds.lower[i], bounds.upper[i]);
        let range = upper - lower;
        let reach = if range.is_finite() { 0.25 * range } else { safe.abs().max(1.0) };
        // One, three and five periods per episode, shifted for each control so that all differ.
        let own = i as f64;
        let sine = |k: f64| (TAU * (k + 0.25 * own) / horizon, 0.7 * own);
        MultiSine {
            low: (safe - reach).max(lower),
            high: (safe + reach).min(upper),
            sines: [sine(1.0), sine(3.0), sine(5.0)],
        }
    }

    /// Evaluates u(t).
    pub fn at(&self, time: f64) -> f64 {
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
    fn an_excitation_moves_and_stays_within_its_limits() {
        for (lower, upper, safe) in
            [(0.0, 1.0, 0.0), (-5.0, 5.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY, 3.0)]
        {
            let bounds = Bounds { lower: vec![lower; 4], upper: vec![upper; 4] };
            for i in 0..4 {
                let swing = MultiSine::new(i, safe, &bounds, 10.0);
                let values: Vec<f64> = (0..=1000).map(|k| swing.at(0.01 * f64::from(k))).collect();
                let (low, high) =
                    values.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
                assert!(low >= lower && high <= upper && high - low > 0.1, "{low} {high}");
            }
        }
    }
}
