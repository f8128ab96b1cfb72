//! Rehearsal of a plan on plausible functions.
//!
//! Functions are drawn from the posterior. On each of them the plan is followed with its gains, u = clamp(u_k + K_k (x − x̄(t))), from the
//! initial state. The result is what the plan may do and cost if the true system is as likely as the draws.

use crate::linalg::Points;
use crate::measurements::Measurements;
use crate::model::StatisticalModel;
use crate::random::Stream;
use crate::system::{Dynamics, Task};
use crate::track::Reference;
use rayon::prelude::*;

/// Deviation, in ranges of the state, at which a rehearsed run ends. It counts as this deviation from there on, at the last cost rate.
const FAR: f64 = 100.0;

/// A plan with the model on which it is rehearsed.
#[derive(Clone, Copy)]
pub(super) struct Rehearsal<'a> {
    pub(super) reference: &'a Reference,
    pub(super) model: &'a dyn StatisticalModel,
    pub(super) task: &'a Task,
    /// Range Rᵢ of each state, see [`ranges`].
    pub(super) range: &'a [f64],
}

/// Run of a plan on one function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RehearsedRun {
    /// Deviations from the plan at its nodes.
    pub(super) deviations: Vec<f64>,
    /// Cost of the task.
    pub(super) cost: f64,
}

impl Rehearsal<'_> {
    /// Runs the plan on `count` functions.
    pub(super) fn runs(&self, count: usize, stream: Stream) -> Vec<RehearsedRun> {
        (0..count).into_par_iter().map(|draw| self.run(stream.index(draw))).collect()
    }

    /// Runs the plan on the function that `stream` draws.
    pub(super) fn run(&self, stream: Stream) -> RehearsedRun {
        let Rehearsal { reference, task, range, .. } = *self;
        let (mut f, nx, nu) = (self.model.sample(&mut stream.rng()), range.len(), task.controls.len());
        let mut deviations = Vec::with_capacity(reference.times.len() * nx);
        deviations.resize(nx, 0.0);
        let (mut point, mut next) = (vec![0.0; nx + nu], vec![0.0; nx]);
        point[..nx].copy_from_slice(reference.states.at(0));
        let (mut far, mut cost, mut rates) = (false, 0.0, [0.0; 2]);
        for (k, t) in reference.times.windows(2).enumerate() {
            let end = reference.states.at(k + 1);
            if !far {
                let (state, control) = point.split_at_mut(nx);
                reference.follow(t[0], state, control);
                task.control_bounds.clamp(control);
                let from = point.clone();
                heun(f.as_mut(), t[1] - t[0], &mut point, &mut next);
                let bounded = |x: f64, plan: f64, most: f64| {
                    // A NaN counts as far too.
                    if (x - plan).abs() <= most { x } else { plan + if x < plan { -most } else { most } }
                };
                for ((x, plan), range) in point.iter_mut().zip(end).zip(range) {
                    *x = bounded(*x, *plan, FAR * range);
                }
                far = point[..nx] != next;
                task.cost.running(t, Points::new(&[from, point.clone()].concat(), nx + nu), &mut rates);
            }
            cost += (t[1] - t[0]) * if far { rates[1].max(rates[0]) } else { 0.5 * (rates[0] + rates[1]) };
            let each = next.iter().zip(end).zip(range);
            deviations.extend(each.map(|((x, plan), range)| if far { FAR * range } else { x - plan }));
        }
        if !far {
            cost += task.cost.terminal(reference.end(), &next);
        }
        RehearsedRun { deviations, cost }
    }
}

/// Returns the range of each state in the plan and the data; at least what the noise of the derivative adds up to in an episode.
pub(super) fn ranges(reference: &Reference, task: &Task, data: &Measurements) -> Vec<f64> {
    let points = data.points();
    let range = |i: usize| {
        let planned = reference.states.iter().map(|x| x[i]);
        let known = (0..points.len()).map(|k| points.at(k)[i]);
        let ends = planned.chain(known).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        (ends.1 - ends.0).max(task.noise_std[i] * task.horizon).max(f64::MIN_POSITIVE.sqrt())
    };
    (0..task.states.len()).map(range).collect()
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
