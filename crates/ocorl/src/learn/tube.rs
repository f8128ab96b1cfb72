//! Caution: the tube of a plan, the trust in the model, and the first excitation.
//!
//! **Spread.** K = ⌈1/δ⌉ − 1 functions are drawn from the posterior. On each of them the plan is followed with its gains,
//! u = clamp(u_k + K_k (x − x̄(t))), from the initial state. With eᵈᵢ(t) the deviation of draw d from x̄, sᵢ(t) its root mean square over the
//! draws and q = max_d max_{i,t} |eᵈᵢ(t)|/sᵢ(t), the spread is rᵢ(t) = q sᵢ(t). By symmetry a further draw leaves it anywhere with a probability
//! of about 1/(K + 1) ≤ δ: the trajectory of the true system stays inside with probability 1 − δ if f is as likely as the draws.
//!
//! **Limits.** The plan must satisfy lower + r(t) ≤ x̄(t) ≤ upper − r(t). It is made without a tube first, and again with limits tightened by r
//! until this holds, at most [`ROUNDS`] times.
//!
//! **Trust.** The largest rᵢ(t)/Rᵢ must not exceed the trust τ, with Rᵢ the range of state i in the plan and the data. If it does, the plan is
//! made again near the data, with a weight that doubles. τ doubles after a run within its tube and is halved after one that left it.
//!
//! **Stop.** A run ends when its state differs from x̄(t) by more than max(rᵢ(t), [`FLOOR`] Rᵢ): the model is then wrong in a way that the
//! spread does not contain.

use crate::linalg::{Blocks, Points};
use crate::measurements::Measurements;
use crate::model::StatisticalModel;
use crate::plan::Plan;
use crate::random::Stream;
use crate::system::{Bounds, Dynamics, Task};
use crate::track::{Brake, Reference};
use serde::{Deserialize, Serialize};

/// Largest number of plans that are made again for one episode.
pub(super) const ROUNDS: usize = 2;

/// Number of draws: one less than 1/δ, so that a further draw exceeds all of them with the probability δ = 0.05.
const DRAWS: usize = 19;

/// Part of the range of a state by which a run may differ from its plan, however narrow the spread is.
const FLOOR: f64 = 0.5;

/// Deviation, in ranges of the state, at which the rollout of a draw ends. It counts as this deviation from there on.
const FAR: f64 = 10.0;

/// Look-ahead of the first excitation, as a part of the horizon, and its distance from the limits, as a part of their width.
const BRAKE: Brake = Brake { ahead: 0.05, margin: 0.1 };

/// Part of its amplitude with which the first excitation begins.
const SMALL: f64 = 0.1;

/// Trust in the predictions from one initial state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Largest spread τ of a plan, in ranges of the states.
    pub spread: f64,
}

impl Default for Trust {
    fn default() -> Self {
        Trust { spread: 0.5 }
    }
}

impl Trust {
    /// Updates the trust after a run.
    #[must_use]
    pub(super) fn after(self, within: bool) -> Self {
        let spread = if within { 2.0 * self.spread } else { 0.5 * self.spread };
        Trust { spread: spread.clamp(0.05, 1e3) }
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
    /// Computes the tube of the plan in `reference`.
    pub(super) fn of(
        reference: &Reference,
        model: &dyn StatisticalModel,
        task: &Task,
        data: &Measurements,
        stream: Stream,
    ) -> Self {
        let range = ranges(reference, task, data);
        let draws = DRAWS;
        let paths: Vec<Vec<f64>> =
            (0..draws).map(|d| deviations(reference, model, task, &range, stream.index(d))).collect();
        let square = |k: usize| paths.iter().map(|path| path[k] * path[k]).sum::<f64>() / draws as f64;
        let mut spread: Vec<f64> = (0..paths[0].len()).map(|k| square(k).sqrt()).collect();
        let ratio = |path: &Vec<f64>| {
            let each = path.iter().zip(&spread).map(|(e, s)| if *s > 0.0 { e.abs() / s } else { 0.0 });
            each.fold(0.0, f64::max)
        };
        let q = paths.iter().map(ratio).fold(0.0, f64::max);
        for s in &mut spread {
            *s *= q;
        }
        Tube { spread: Blocks::from_vec(spread, range.len()), range }
    }

    /// Returns the largest spread, in ranges of the states.
    pub(super) fn largest(&self) -> f64 {
        let ratio = |r: &[f64]| r.iter().zip(&self.range).map(|(r, range)| r / range).fold(0.0, f64::max);
        self.spread.iter().map(ratio).fold(0.0, f64::max)
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

    /// Returns the deviations from the plan at which a run is stopped.
    pub(super) fn stop(&self) -> Blocks {
        let mut out = self.spread.clone();
        for k in 0..out.len() {
            for (r, range) in out.at_mut(k).iter_mut().zip(&self.range) {
                *r = r.max(FLOOR * range);
            }
        }
        out
    }
}

/// Returns the range of each state in the plan and the data; at least what the noise of the derivative adds up to in an episode.
fn ranges(reference: &Reference, task: &Task, data: &Measurements) -> Vec<f64> {
    let points = data.points();
    let range = |i: usize| {
        let planned = reference.states.iter().map(|x| x[i]);
        let known = (0..points.len()).map(|k| points.at(k)[i]);
        let ends = planned.chain(known).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        (ends.1 - ends.0).max(task.noise_std[i] * task.horizon).max(f64::MIN_POSITIVE.sqrt())
    };
    (0..task.states.len()).map(range).collect()
}

/// Returns the deviations from the plan at its nodes, on one function drawn from the posterior.
fn deviations(
    reference: &Reference,
    model: &dyn StatisticalModel,
    task: &Task,
    range: &[f64],
    stream: Stream,
) -> Vec<f64> {
    let (mut f, nx, nu) = (model.sample(&mut stream.rng()), range.len(), task.controls.len());
    let mut out = Vec::with_capacity(reference.times.len() * nx);
    out.resize(nx, 0.0);
    let (mut point, mut next) = (vec![0.0; nx + nu], vec![0.0; nx]);
    point[..nx].copy_from_slice(reference.states.at(0));
    let mut far = false;
    for (k, t) in reference.times.windows(2).enumerate() {
        let end = reference.states.at(k + 1);
        if !far {
            let (state, control) = point.split_at_mut(nx);
            reference.follow(t[0], state, control);
            task.control_bounds.clamp(control);
            heun(f.as_mut(), t[1] - t[0], &mut point, &mut next);
            // Written in this form so that a NaN is far too.
            far = !next.iter().zip(end).zip(range).all(|((x, plan), range)| (x - plan).abs() <= FAR * range);
        }
        let each = next.iter().zip(end).zip(range);
        out.extend(each.map(|((x, plan), range)| if far { FAR * range } else { x - plan }));
    }
    out
}

/// Integrates over `h` with the control held, by Heun's method; the state in `point` and `next` is the one afterwards.
fn heun(f: &mut dyn Dynamics, h: f64, point: &mut [f64], next: &mut [f64]) {
    let nx = next.len();
    let (mut from, mut to) = (vec![0.0; nx], vec![0.0; nx]);
    f.derivative(Points::single(point), &mut from);
    next.copy_from_slice(&point[..nx]);
    for (x, slope) in point.iter_mut().zip(&from) {
        *x += h * slope;
    }
    f.derivative(Points::single(point), &mut to);
    for ((x, from), to) in next.iter_mut().zip(&from).zip(&to) {
        *x += 0.5 * h * (from + to);
    }
    point[..nx].copy_from_slice(next);
}

/// Returns the look-ahead of the first excitation of `task`.
pub(super) fn brake(task: &Task) -> Brake {
    Brake { ahead: BRAKE.ahead * task.horizon, ..BRAKE }
}

/// Returns the part of its amplitude that the first excitation has at `time`: it grows linearly over the horizon.
pub(super) fn growth(task: &Task, time: f64) -> f64 {
    (SMALL + (1.0 - SMALL) * time / task.horizon).clamp(SMALL, 1.0)
}

/// Returns the limits tightened by `margin`, with the initial state inside and at most a quarter of their width on each side.
pub(super) fn tightened(bounds: &Bounds, margin: &[f64], initial_state: &[f64]) -> Bounds {
    let mut out = bounds.clone();
    for (i, margin) in margin.iter().enumerate() {
        let width = bounds.upper[i] - bounds.lower[i];
        let by = if width.is_finite() { margin.min(0.25 * width) } else { *margin };
        out.lower[i] = (bounds.lower[i] + by).min(initial_state[i]);
        out.upper[i] = (bounds.upper[i] - by).max(initial_state[i]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GaussianProcess, Settings};
    use crate::plan::uniform_grid;
    use crate::simulate::Trajectory;
    use crate::system::{Dims, QuadraticCost, Quantity};
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
            let tube = Tube::of(&reference, &model, &task, &data, Stream::root(again).child("tube"));
            for d in 0..count / 10 {
                let stream = Stream::root(again).child("further").index(d);
                let path = deviations(&reference, &model, &task, &tube.range, stream);
                let within = path.iter().zip(tube.spread.as_slice()).all(|(e, r)| e.abs() <= *r);
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
        assert!(tube.stop().iter().all(|r| r[0] >= 0.6));
    }

    #[test]
    fn trust_doubles_after_success_and_is_halved_after_failure() {
        let trust = Trust::default().after(true).after(true).after(false);
        assert_eq!(trust.spread, 1.0);
        assert!((0..99).fold(trust, |trust, _| trust.after(false)).spread > 0.0, "it never vanishes");
    }
}
