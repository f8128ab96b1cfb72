//! The monitor of a run: every measured state is compared with the limits of the states and with the tube of the plan.
//!
//! | finding | when | until |
//! |---|---|---|
//! | [`Finding::Limit`] | a state is outside its limits | the run is reset |
//! | [`Finding::Tube`] | a state differs from the plan by more than the tube allows | the run is reset |
//! | [`Finding::Near`] | a state would leave its limits within the look-ahead at its present rate | it would not any more |
//!
//! The first two are **latched**: the state may return, but the plan was wrong. The third is used where no model predicts the state, in an
//! excitation: [`Brake`] extrapolates each limited state by its low-pass filtered rate, and requires a distance mᵢ of the extrapolation
//! from the limits. Braking ends when every state and its extrapolation are 2mᵢ away, so that a state does not creep to a limit in many
//! small steps.
//!
//! mᵢ is a part of the width of the limits, or half of the distance at which the state begins. The safe control need not bring a state
//! back: it may let it drift towards a limit, or rest near one. Where it has acted for [`PATIENCE`] look-aheads and the state does not
//! return, mᵢ becomes half of the present distance, and the excitation goes on. mᵢ grows again with the distance.

use crate::linalg::Blocks;
use crate::system::Bounds;

/// Relative excess over a limit that counts as rounding.
pub const ROUNDING: f64 = 1e-9;

/// Observation for which a run must not follow its plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// A state is outside its limits.
    Limit(Crossing),
    /// A state is farther from the plan than the tube allows.
    Tube(Crossing),
    /// A state approaches a limit.
    Near(Crossing),
}

/// Where a bound was crossed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Time of the measured state.
    pub time: f64,
    /// Index of the state.
    pub state: usize,
    /// Its value; for [`Finding::Tube`] its deviation from the plan, for [`Finding::Near`] its extrapolation.
    pub value: f64,
    /// The bound that it crossed.
    pub bound: f64,
}

/// Look-ahead of an excitation that stops short of the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brake {
    /// Time over which a state is extrapolated.
    pub ahead: f64,
    /// Largest part of the width of the limits within which no state may be extrapolated.
    pub margin: f64,
}

/// Time constant of the filter of the rates, as a part of the look-ahead.
pub const FILTER: f64 = 0.25;

/// Time, in look-aheads, for which the safe control acts before a state counts as not returning.
pub const PATIENCE: f64 = 3.0;

/// Time, in look-aheads, within which a state returns at its present rate if it counts as returning.
pub const RETURN: f64 = 5.0;

/// Compares measured states with limits and tube.
#[derive(Clone, Debug)]
pub struct Monitor {
    bounds: Bounds,
    /// Largest deviation of each state at each node of the plan; empty without a tube.
    radius: Blocks,
    brake: Option<Brake>,
    latched: Option<Finding>,
    /// Time and value of the last state; the time is NaN before the first.
    time: f64,
    state: Vec<f64>,
    /// Filtered rate of each state.
    rate: Vec<f64>,
    /// Distance mᵢ from the limits that the brake requires.
    margin: Vec<f64>,
    /// The approach that the brake ends, until all states are far from their limits again.
    braking: Option<Crossing>,
    /// Time at which braking began.
    since: f64,
}

impl Monitor {
    /// Creates a monitor of the limits `bounds`.
    pub fn new(bounds: Bounds) -> Self {
        let dim = bounds.dim();
        Monitor {
            bounds,
            radius: Blocks::zeros(dim, 0),
            brake: None,
            latched: None,
            time: f64::NAN,
            state: vec![0.0; dim],
            rate: vec![0.0; dim],
            margin: vec![0.0; dim],
            braking: None,
            since: 0.0,
        }
    }

    /// Sets the tube: the largest deviation of each state at each node of the plan.
    pub fn set_tube(&mut self, radius: Blocks) {
        self.radius = radius;
    }

    /// Sets the look-ahead of an excitation.
    pub fn set_brake(&mut self, brake: Option<Brake>) {
        self.brake = brake;
    }

    /// Forgets the last run.
    pub fn reset(&mut self) {
        (self.latched, self.braking, self.time) = (None, None, f64::NAN);
        self.rate.fill(0.0);
        self.margin.fill(0.0);
    }

    /// Returns the crossing for which the run does not follow its plan any more; `None` if there was none.
    pub fn latched(&self) -> Option<Finding> {
        self.latched
    }

    /// Checks a measured state at `time` against the limits, and latches a crossing. `near` is the same state with its angles shifted to the
    /// plan; either may be outside.
    pub fn check_limits(&mut self, time: f64, state: &[f64], near: &[f64]) {
        if self.latched.is_none() {
            let outside = self.outside(time, state).or_else(|| self.outside(time, near));
            self.latched = outside.map(Finding::Limit);
        }
    }

    /// Checks a state against the state `planned` in `interval` of the plan, and latches a crossing of the tube. Returns the crossing, or the
    /// approach to a limit.
    pub fn check_plan(
        &mut self,
        time: f64,
        near: &[f64],
        planned: &[f64],
        interval: usize,
    ) -> Option<Finding> {
        if self.latched.is_none() {
            self.latched = self.beyond(time, near, planned, interval).map(Finding::Tube);
        }
        let approach = self.approach(time, near);
        self.latched.or(approach.map(Finding::Near))
    }

    /// Returns the first limit that `state` exceeds by more than rounding.
    pub(super) fn outside(&self, time: f64, state: &[f64]) -> Option<Crossing> {
        let room = |bound: f64| if bound.is_finite() { ROUNDING * (1.0 + bound.abs()) } else { 0.0 };
        state.iter().enumerate().find_map(|(i, &value)| {
            let (lower, upper) = (self.bounds.lower[i], self.bounds.upper[i]);
            let bound = if value < lower - room(lower) {
                lower
            } else if value > upper + room(upper) {
                upper
            } else {
                return None;
            };
            Some(Crossing { time, state: i, value, bound })
        })
    }

    /// Returns the first state that differs from the plan by more than the larger radius of both ends of `interval`.
    fn beyond(&self, time: f64, near: &[f64], planned: &[f64], interval: usize) -> Option<Crossing> {
        if interval + 1 >= self.radius.len() {
            return None;
        }
        let (from, to) = (self.radius.at(interval), self.radius.at(interval + 1));
        (0..near.len()).find_map(|i| {
            let (value, bound) = ((near[i] - planned[i]).abs(), from[i].max(to[i]));
            (value > bound).then_some(Crossing { time, state: i, value, bound })
        })
    }

    /// Updates the rates and returns the first limit that a state would cross within the look-ahead.
    fn approach(&mut self, time: f64, state: &[f64]) -> Option<Crossing> {
        let brake = self.brake?;
        let passed = time - self.time;
        if passed > 0.0 {
            let share = (passed / (FILTER * brake.ahead)).min(1.0);
            for ((rate, before), now) in self.rate.iter_mut().zip(&self.state).zip(state) {
                *rate += share * ((now - before) / passed - *rate);
            }
        }
        // A repeated or earlier stamp gives no rate.
        if !(passed <= 0.0) {
            self.time = time;
            self.state.copy_from_slice(state);
        }
        if self.braking.is_none() {
            self.widen(brake, state);
        } else if time - self.since >= PATIENCE * brake.ahead {
            self.narrow(brake, state);
        }
        let far = |i: usize| {
            let [now, then] = self.distances(brake, i, state[i]);
            now >= 2.0 * self.margin[i] && then >= 2.0 * self.margin[i]
        };
        if self.braking.is_some() && (0..state.len()).all(far) {
            self.braking = None;
        }
        let approach = (0..state.len()).find_map(|i| {
            let value = state[i] + brake.ahead * self.rate[i];
            // Only motion towards a limit counts, so that a run that begins near a limit is excited away from it.
            let bound = if value - self.bounds.lower[i] < self.margin[i] && self.rate[i] < 0.0 {
                self.bounds.lower[i]
            } else if self.bounds.upper[i] - value < self.margin[i] && self.rate[i] > 0.0 {
                self.bounds.upper[i]
            } else {
                return None;
            };
            Some(Crossing { time, state: i, value, bound })
        });
        if self.braking.is_none() {
            (self.braking, self.since) = (approach, time);
        }
        self.braking
    }

    /// Returns the distances of state `i` and of its extrapolation from the nearer limit.
    fn distances(&self, brake: Brake, i: usize, x: f64) -> [f64; 2] {
        let distance = |x: f64| (x - self.bounds.lower[i]).min(self.bounds.upper[i] - x);
        [distance(x), distance(x + brake.ahead * self.rate[i])]
    }

    /// Raises each mᵢ to half of the distance, within the part of the width.
    fn widen(&mut self, brake: Brake, state: &[f64]) {
        for (i, &x) in state.iter().enumerate() {
            let width = self.bounds.upper[i] - self.bounds.lower[i];
            let most = if width.is_finite() { brake.margin * width } else { 0.0 };
            let [now, _] = self.distances(brake, i, x);
            self.margin[i] = self.margin[i].max(most.min(0.5 * now));
        }
    }

    /// Lowers mᵢ to half of the distance of each state that is near a limit and does not return.
    fn narrow(&mut self, brake: Brake, state: &[f64]) {
        for (i, &x) in state.iter().enumerate() {
            let [now, then] = self.distances(brake, i, x);
            let returns = (then - now) * RETURN >= 2.0 * self.margin[i] - now && then > now;
            let least = now.min(then);
            if least > 0.0 && !returns {
                self.margin[i] = self.margin[i].min(0.5 * least);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(monitor: &mut Monitor, time: f64, x: f64) -> Option<Finding> {
        monitor.check_limits(time, &[x], &[x]);
        monitor.check_plan(time, &[x], &[0.0], 0)
    }

    #[test]
    fn a_crossed_limit_is_latched_until_the_next_run() {
        let mut monitor = Monitor::new(Bounds::symmetric([1.0]));
        assert_eq!(check(&mut monitor, 0.0, 1.0), None, "the limit itself is inside");
        let out = check(&mut monitor, 0.1, -1.1);
        assert_eq!(out, Some(Finding::Limit(Crossing { time: 0.1, state: 0, value: -1.1, bound: -1.0 })));
        assert_eq!(check(&mut monitor, 0.2, 0.0), out);
        monitor.reset();
        assert_eq!(check(&mut monitor, 0.2, 0.0), None);
    }

    #[test]
    fn the_tube_is_the_wider_end_of_the_interval() {
        let mut monitor = Monitor::new(Bounds::none(1));
        monitor.set_tube(Blocks::from_vec(vec![0.1, 0.5], 1));
        assert_eq!(check(&mut monitor, 0.0, 0.4), None);
        assert!(matches!(check(&mut monitor, 0.0, -0.6), Some(Finding::Tube(Crossing { bound: 0.5, .. }))));
    }

    /// Runs x' = u − 0.3 x above a limit of 0, with the safe control u = 0 and an excitation that pushes it away from the limit after a
    /// while; returns the last state and the part of the time in which the excitation acted.
    fn drifting(x0: f64) -> (f64, f64) {
        let mut monitor = Monitor::new(Bounds { lower: vec![0.0], upper: vec![3.0] });
        monitor.set_brake(Some(Brake { ahead: 0.5, margin: 0.1 }));
        let (mut x, mut acted) = (x0, 0);
        for k in 0..1000 {
            let time = 0.01 * f64::from(k);
            let near = check(&mut monitor, time, x);
            assert!(!matches!(near, Some(Finding::Limit(_))), "{x} at {time}");
            acted += i32::from(near.is_none());
            let u = if near.is_some() || time < 4.0 { 0.0 } else { 0.2 };
            x += 0.01 * (u - 0.3 * x);
        }
        (x, f64::from(acted) / 1000.0)
    }

    #[test]
    fn an_excitation_goes_on_where_the_safe_control_does_not_bring_the_state_back() {
        for x0 in [0.2, 0.5, 1.0, 2.0] {
            let (x, acted) = drifting(x0);
            // Under the safe control alone it would be below 0.1.
            assert!(x > 0.45 && acted > 0.8, "from {x0}: {x}, {acted}");
        }
    }

    #[test]
    fn an_excitation_waits_while_the_safe_control_brings_the_state_back() {
        let mut monitor = Monitor::new(Bounds::symmetric([1.0]));
        monitor.set_brake(Some(Brake { ahead: 0.5, margin: 0.1 }));
        // Towards the limit at a rate of 1, then back at a rate of 0.1. It is far at a distance of 0.4, which takes longer than the patience.
        let path = |time: f64| if time < 0.8 { time } else { 0.8 - 0.1 * (time - 0.8) };
        let near: Vec<bool> = (0..400)
            .map(|k| check(&mut monitor, 0.01 * f64::from(k), path(0.01 * f64::from(k))).is_some())
            .collect();
        let (begin, end) = (near.iter().position(|n| *n).unwrap(), near.iter().rposition(|n| *n).unwrap());
        assert!(near[begin..=end].iter().all(|n| *n), "it does not go on before");
        assert!(begin < 40 && (279..=282).contains(&end), "{begin} {end}");
    }

    #[test]
    fn an_approach_is_found_before_the_limit_and_not_on_the_way_back() {
        let mut monitor = Monitor::new(Bounds::symmetric([1.0]));
        monitor.set_brake(Some(Brake { ahead: 0.5, margin: 0.05 }));
        let path = |k: u32| (3.0 * 0.01 * f64::from(k)).sin() * 2.0;
        let first = (0..100).find(|&k| check(&mut monitor, 0.01 * f64::from(k), path(k)).is_some());
        let first = first.expect("it approaches the limit");
        assert!(path(first) < 0.5, "stopped at {}", path(first));
        assert!(check(&mut monitor, 1.0, 0.95).is_some(), "it is still near");
        assert!(
            (0..20).any(|k| check(&mut monitor, 1.1 + 0.1 * f64::from(k), 0.5).is_none()),
            "far from the limit"
        );
        monitor.reset();
        assert_eq!(check(&mut monitor, 0.0, 0.99), None);
        assert_eq!(check(&mut monitor, 0.1, 0.95), None, "it moves away");
    }
}
