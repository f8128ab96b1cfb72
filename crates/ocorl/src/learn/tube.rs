//! Caution: the tube of a plan, the trust in the model, and the first excitation.
//!
//! **Spread.** K = ⌈1/δ⌉ − 1 functions are drawn from the posterior, and the plan is [rehearsed](super::rehearsal) on each. With eᵈᵢ(t) the
//! deviation of draw d from x̄, sᵢ(t) its root mean square over the draws and q = max_d max_{i,t} |eᵈᵢ(t)|/sᵢ(t), the spread is
//! rᵢ(t) = q sᵢ(t). By symmetry a further draw leaves it anywhere with a probability of about 1/(K + 1) ≤ δ: the trajectory of the true
//! system stays inside with probability 1 − δ if f is as likely as the draws. Before a run has stayed within its tube, it is twice as wide.
//!
//! **Limits.** The plan must satisfy lower + r(t) ≤ x̄(t) ≤ upper − r(t).
//!
//! **Stop.** A run ends when its state differs from x̄(t) by more than max(rᵢ(t), φ Rᵢ), with φ = [`NEAR`] or [`FAR`]: the model is then wrong in a way that the
//! spread does not contain.

use super::rehearsal::RehearsedRun;
use crate::linalg::Blocks;
use crate::plan::Plan;
use crate::system::{Bounds, Task};
use crate::track::Brake;
use serde::{Deserialize, Serialize};

/// Part of the range of a state by which a run may differ from its plan, however narrow the spread is, with `caution = "on"`.
pub(super) const NEAR: f64 = 0.5;

/// The same with `caution = "moderate"`: what a model gets wrong is worth measuring.
pub(super) const FAR: f64 = 2.0;

/// Look-ahead of the first excitation, as a part of the horizon, and its largest distance from the limits, as a part of their width.
const BRAKE: Brake = Brake { ahead: 0.05, margin: 0.1 };

/// Part of its amplitude with which the first excitation begins.
const SMALL: f64 = 0.1;

/// Initial value of κ.
const FACTOR: f64 = 1.2;

/// Factor on κ after a run that cost what was allowed and was no success.
const GROWTH: f64 = 1.5;

/// A run is a success if its cost is below this part of the least cost before.
const SUCCESS: f64 = 0.9;

/// Factor on the spread before a run has stayed within its tube. Standard deviations of models of a single excitation are too small by this
/// factor and more.
const UNTESTED: f64 = 2.0;

/// Trust in the predictions from one initial state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// Factor κ by which the expected cost of a plan may exceed the least cost of a run.
    pub factor: f64,
    /// Least cost of a run so far; `None` before the first.
    pub least: Option<f64>,
    /// Whether the last planned run stayed within its tube.
    pub tested: bool,
}

impl Default for Trust {
    fn default() -> Self {
        Trust { factor: FACTOR, least: None, tested: false }
    }
}

impl Trust {
    /// Returns the largest acceptable expected cost of a plan; `None` before the first run.
    pub(super) fn allowed(&self) -> Option<f64> {
        self.least.map(|least| self.factor * least)
    }

    /// Returns the factor on the spread of a tube.
    pub(super) fn width(&self) -> f64 {
        if self.tested { 1.0 } else { UNTESTED }
    }

    /// Updates the trust after a run of this cost, which stayed within its tube or not; `None` if it had no tube.
    #[must_use]
    pub(super) fn after(self, cost: f64, within: Option<bool>) -> Self {
        let tested = within.unwrap_or(self.tested);
        if !cost.is_finite() {
            return Trust { tested, ..self };
        }
        let no_success = |least: f64| cost > SUCCESS * least && cost <= self.factor * least;
        let stuck = within == Some(true) && self.least.is_some_and(no_success);
        let factor = if stuck { (GROWTH * self.factor).min(1e3) } else { FACTOR };
        Trust { factor, least: Some(self.least.map_or(cost, |least| least.min(cost))), tested }
    }
}

/// Tube of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tube {
    /// Spread rᵢ at each node.
    pub(super) spread: Blocks,
    /// Range Rᵢ of each state.
    pub(super) range: Vec<f64>,
}

impl Tube {
    /// Computes the tube of a plan from its rehearsal; `width` is a factor on its spread.
    pub(super) fn of(runs: &[RehearsedRun], range: &[f64], width: f64) -> Self {
        let square = |k: usize| {
            runs.iter().map(|run| run.deviations[k] * run.deviations[k]).sum::<f64>() / runs.len() as f64
        };
        let mut spread: Vec<f64> = (0..runs[0].deviations.len()).map(|k| square(k).sqrt()).collect();
        let ratio = |run: &RehearsedRun| {
            let each = run.deviations.iter().zip(&spread);
            each.map(|(e, s)| if *s > 0.0 { e.abs() / s } else { 0.0 }).fold(0.0, f64::max)
        };
        let q = runs.iter().map(ratio).fold(0.0, f64::max);
        for s in &mut spread {
            *s *= width * q;
        }
        Tube { spread: Blocks::from_vec(spread, range.len()), range: range.to_vec() }
    }

    /// Returns by how much the tube around `plan` leaves the limits, for each state.
    pub(super) fn excess(&self, plan: &Plan, bounds: &Bounds) -> Vec<f64> {
        let mut excess = vec![0.0_f64; self.range.len()];
        for (x, r) in plan.states.iter().zip(self.spread.iter()).skip(1) {
            for (i, excess) in excess.iter_mut().enumerate() {
                *excess = excess.max(x[i] + r[i] - bounds.upper[i]).max(bounds.lower[i] - x[i] + r[i]);
            }
        }
        excess
    }

    /// Returns the deviations from the plan at which a run is stopped: the spread, at least `floor` in ranges of the states.
    pub(super) fn stop(&self, floor: f64) -> Blocks {
        let mut out = self.spread.clone();
        for k in 0..out.len() {
            for (r, range) in out.at_mut(k).iter_mut().zip(&self.range) {
                *r = r.max(floor * range);
            }
        }
        out
    }
}

/// Returns the look-ahead of the first excitation of `task`.
pub(super) fn brake(task: &Task) -> Brake {
    Brake { ahead: BRAKE.ahead * task.horizon, margin: BRAKE.margin }
}

/// Returns the part of its amplitude that the first excitation has at `time`: it grows linearly over the horizon.
pub(super) fn growth(task: &Task, time: f64) -> f64 {
    (SMALL + (1.0 - SMALL) * time / task.horizon).clamp(SMALL, 1.0)
}

/// Part of the width of the limits of a state, or of its range, by which they can be tightened on each side.
const TIGHTEST: f64 = 0.25;

/// Returns by how much the limits of each state can be tightened; `range` is the range of each state.
pub(super) fn largest_margins(bounds: &Bounds, range: &[f64]) -> Vec<f64> {
    let widths = bounds.upper.iter().zip(&bounds.lower).map(|(upper, lower)| upper - lower);
    widths.zip(range).map(|(w, range)| TIGHTEST * if w.is_finite() { w } else { *range }).collect()
}

/// Returns the limits tightened by `margin`, with the initial state inside.
pub(super) fn tightened(bounds: &Bounds, margin: &[f64], initial_state: &[f64]) -> Bounds {
    let mut out = bounds.clone();
    for (i, margin) in margin.iter().enumerate() {
        out.lower[i] = (bounds.lower[i] + margin).min(initial_state[i]);
        out.upper[i] = (bounds.upper[i] - margin).max(initial_state[i]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{Rehearsal, ranges};
    use super::*;
    use crate::measurements::Measurements;
    use crate::model::{GaussianProcess, Settings, StatisticalModel};
    use crate::plan::uniform_grid;
    use crate::random::Stream;
    use crate::simulate::Trajectory;
    use crate::system::{Dims, QuadraticCost, Quantity};
    use crate::track::Reference;
    use std::sync::Arc;

    fn task() -> Task {
        Task {
            states: Quantity::list([("x", "")]),
            controls: Quantity::list([("u", "")]),
            initial_state: vec![1.0],
            horizon: 2.0,
            cost: Arc::new(QuadraticCost::new([1.0], [0.1])),
            angles: vec![],
            control_bounds: Bounds::symmetric([2.0]),
            state_bounds: Bounds { lower: vec![-0.5], upper: vec![1.2] },
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01],
        }
    }

    /// A model of x' = u − x with few data, and a plan from 1 to 0 with its gains.
    fn case() -> (GaussianProcess, Measurements, Reference) {
        let dims = Dims { state: 1, control: 1 };
        let mut data = Measurements::new(dims);
        for i in 0..6 {
            let (x, u) = (0.2 * f64::from(i), (1.7 * f64::from(i)).sin());
            data.push(f64::from(i), &[x], &[u], &[u - x], &[0.01]).unwrap();
        }
        let mut model = GaussianProcess::new(dims, &[], Settings::default()).unwrap();
        model.update(&data).unwrap();
        let times = uniform_grid(2.0, 40);
        let plan = Trajectory {
            states: Blocks::from_vec(times.iter().map(|t| (-t).exp()).collect(), 1),
            controls: Blocks::zeros(1, 40),
            gains: Blocks::from_vec(vec![-0.5; 40], 1),
            slopes: Blocks::zeros(2, 40),
            costs: Vec::new(),
            times,
        };
        (model, data, Reference::with_slopes(Plan::given(plan, 1.0), &[]))
    }

    #[test]
    fn further_draws_stay_in_the_tube_as_often_as_it_says() {
        let ((model, data, reference), task) = (case(), task());
        let (mut inside, count) = (0, 200);
        for again in 0..10 {
            let range = ranges(&reference, &task, &data);
            let rehearsal = Rehearsal { reference: &reference, model: &model, task: &task, range: &range };
            let tube = Tube::of(&rehearsal.runs(19, Stream::root(again).child("tube")), &range, 1.0);
            for d in 0..count / 10 {
                let run = rehearsal.run(Stream::root(again).child("further").index(d));
                let within = run.deviations.iter().zip(tube.spread.as_slice()).all(|(e, r)| e.abs() <= *r);
                inside += usize::from(within);
            }
        }
        // 19 of 20 on average; the standard deviation of the count is about 4.
        assert!(inside >= 177, "{inside} of {count}");
    }

    #[test]
    fn a_wide_tube_leaves_the_limits_by_what_it_exceeds_them() {
        let ((.., data, reference), task) = (case(), task());
        let range = ranges(&reference, &task, &data);
        let spread = Blocks::from_vec(vec![0.6; 41], 1);
        let tube = Tube { spread, range };
        // Around exp(−t), from the second node on: it leaves [−0.5, 1.2] at the top, there.
        let expected = (-0.05_f64).exp() + 0.6 - 1.2;
        assert!((tube.excess(&reference.plan, &task.state_bounds)[0] - expected).abs() < 1e-12);
        let tight = tightened(&task.state_bounds, &[0.3], &task.initial_state);
        assert_eq!((tight.lower[0], tight.upper[0]), (-0.2, 1.0), "the initial state stays inside");
        assert!(tube.stop(NEAR).iter().all(|r| r[0] >= 0.6));
    }

    #[test]
    fn more_is_allowed_while_runs_cost_what_was_allowed_without_success() {
        let trust = Trust::default();
        assert_eq!((trust.allowed(), trust.width()), (None, 2.0));
        let excited = trust.after(100.0, None);
        assert_eq!((excited.allowed(), excited.tested), (Some(120.0), false));
        let success = excited.after(50.0, Some(true));
        assert_eq!((success.allowed(), success.width()), (Some(60.0), 1.0));
        // The same again: a plan that is expected to cost more may be tried.
        let stuck = success.after(50.0, Some(true)).after(50.0, Some(true));
        assert_eq!(stuck.allowed(), Some(50.0 * 1.2 * 1.5 * 1.5));
        // It failed.
        let failed = stuck.after(80.0, Some(false));
        assert_eq!((failed.allowed(), failed.tested), (Some(60.0), false));
        assert_eq!(failed.after(f64::NAN, Some(true)).allowed(), Some(60.0), "an unknown cost says nothing");
    }
}
