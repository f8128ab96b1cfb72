//! Caution: the choice of the plan that is executed.
//!
//! The plan of the exploration method is rehearsed on functions drawn from the posterior ([`Rehearsal`]). If it is acceptable, it is
//! executed. Otherwise the plan is made again, at most [`ROUNDS`] times, and the first acceptable plan is executed, or the one with the
//! least objection.
//!
//! **Price.** The mean cost of the rehearsed runs must not exceed κ times the least cost of a run so far. If it does, the next plan is made
//! on the mean model, and then nearer and nearer to the data: with a penalty of the uncertainty, which along the first plan is as large as
//! its cost, and grows fourfold each time. [`Trust`] sets κ.
//!
//! **Limits.** With `caution = "on"` the [`Tube`] of the plan must stay within the limits of the states. If it does not, the next plan is
//! made within limits that are narrower by what the tube exceeds them. Where a tube is too wide for that, it is made nearer to the data, as
//! for the price.

use super::planning::{Planned, Planning, narrow};
use super::rehearsal::{Rehearsal, ranges};
use super::setback::Setback;
use super::settings::Caution;
use super::tube::{self, Trust, Tube};
use crate::event::{Event, Observer};
use crate::explore::PlanningProblem;
use crate::measurements::Measurements;
use crate::model::StatisticalModel;
use crate::plan::{Plan, PlanError, Start};
use crate::random::Stream;
use crate::system::Task;
use crate::track::Reference;
use std::sync::Arc;

/// Largest number of plans that are made again for one episode.
const ROUNDS: usize = 4;

/// Number of draws: one less than 1/δ, so that a further draw exceeds all of them with the probability δ = 0.05.
const DRAWS: usize = 19;

/// Inputs of the choice of a plan.
pub(super) struct Choice<'a> {
    pub(super) planning: &'a Planning<'a>,
    pub(super) model: &'a Arc<dyn StatisticalModel>,
    pub(super) data: &'a Measurements,
    pub(super) caution: Caution,
    pub(super) trust: Trust,
    /// Problem of the exploration method.
    pub(super) exploration: &'a PlanningProblem,
    /// Problem on the mean model.
    pub(super) mean: &'a PlanningProblem,
    pub(super) episode: usize,
    /// Stream of the draws.
    pub(super) stream: Stream,
}

/// A plan with what its rehearsal has shown.
struct Judged {
    planned: Planned,
    tube: Tube,
    /// Mean cost of the rehearsed runs.
    expected: f64,
    /// By how much the tube leaves the limits, for each state.
    excess: Vec<f64>,
    /// Sum of the logarithm of the price, relative to the allowed one, and of the excess in ranges of the states; zero if acceptable.
    objection: f64,
}

impl Choice<'_> {
    /// Chooses the plan that is executed, beginning with `planned`, and returns it with its tube.
    pub(super) fn make(&self, planned: Planned, observer: &mut dyn Observer) -> (Planned, Tube) {
        let mut last = planned.plan.clone();
        let weight = self.weight(&last);
        let mut best = self.judge(planned, self.exploration);
        let (mut rounds, mut nearness, mut margin) = (0, 0, vec![0.0; best.excess.len()]);
        while best.objection > 0.0 && rounds < ROUNDS {
            rounds += 1;
            let wide = self.caution == Caution::On && !self.tighten(&mut margin, &best);
            if wide || self.overprice(best.expected) > 0.0 {
                nearness += 1;
            }
            let problem = match nearness {
                0 => self.exploration.clone(),
                1 => self.mean.clone(),
                n => PlanningProblem::near_data(self.model, self.planning.task, weight * 4.0_f64.powi(n - 2)),
            };
            let tight = self.tightened(&margin);
            let again = Planning { task: &tight, ..self.planning.clone() };
            let found = made_again(&again, &problem, &last, &best.planned);
            let Ok(planned) = found else { continue };
            last = planned.plan.clone();
            let next = self.judge(planned, &problem);
            if next.objection < best.objection {
                best = next;
            }
        }
        let outside = best.excess.iter().copied().fold(0.0, f64::max);
        let outside = if self.caution == Caution::On { outside } else { 0.0 };
        observer.observe(&Event::Cautious {
            episode: self.episode,
            start: self.planning.start,
            rounds,
            expected: best.expected,
            allowed: self.trust.allowed(),
            outside,
        });
        (best.planned, best.tube)
    }

    /// Adds to `margin` by how much the tube of `best` leaves the limits; returns false, without a change, if the limits would be too narrow.
    fn tighten(&self, margin: &mut [f64], best: &Judged) -> bool {
        let next: Vec<f64> = margin.iter().zip(&best.excess).map(|(m, excess)| m + excess).collect();
        let most = tube::largest_margins(&self.planning.task.state_bounds, &best.tube.range);
        let fits = next.iter().zip(&most).all(|(next, most)| next <= most);
        if fits {
            margin.copy_from_slice(&next);
        }
        fits
    }

    /// Returns ln(price/allowed price) of a plan that is expected to cost too much; zero otherwise.
    fn overprice(&self, expected: f64) -> f64 {
        match self.trust.allowed() {
            // Written in this form so that a NaN is too much.
            Some(allowed) if !(expected <= allowed) && allowed > 0.0 => (expected / allowed).ln().min(1e3),
            _ => 0.0,
        }
    }

    /// Returns the weight with which the penalty of the uncertainty along `plan` equals its cost.
    fn weight(&self, plan: &Plan) -> f64 {
        let failure = Setback { failures: 1, reached: 0.0, weight: 0.0 };
        failure.penalty_weight(self.model.as_ref(), self.planning.task, plan)
    }

    /// Returns the task with limits that are narrower by `margin`.
    fn tightened(&self, margin: &[f64]) -> Task {
        let task = self.planning.task;
        let state_bounds = tube::tightened(&task.state_bounds, margin, self.planning.initial_state);
        Task { state_bounds, ..task.clone() }
    }

    /// Rehearses a plan of `problem`.
    fn judge(&self, planned: Planned, problem: &PlanningProblem) -> Judged {
        let task = self.planning.task;
        let full = Reference::new(planned.plan.clone(), problem.dynamics().as_mut(), &task.angles);
        let reference = full.with_controls(task.controls.len());
        let range = ranges(&reference, task, self.data);
        let rehearsal = Rehearsal { reference: &reference, model: self.model.as_ref(), task, range: &range };
        let runs = rehearsal.runs(DRAWS, self.stream);
        let expected = runs.iter().map(|run| run.cost).sum::<f64>() / runs.len() as f64;
        let tube = Tube::of(&runs, &range, self.trust.width());
        let excess = tube.excess(&planned.plan, &task.state_bounds);
        let mut objection = self.overprice(expected);
        if self.caution == Caution::On {
            objection += excess.iter().zip(&range).map(|(e, range)| e / range).fold(0.0, f64::max);
        }
        Judged { planned, tube, expected, excess, objection }
    }
}

/// Makes a plan for `problem` by one search from the plan `last`.
fn made_again(
    planning: &Planning<'_>,
    problem: &PlanningProblem,
    last: &Plan,
    best: &Planned,
) -> Result<Planned, PlanError> {
    let same = last.controls.size() == problem.bounds.dim();
    let count = if same { last.controls.size() } else { planning.task.controls.len() };
    let start = Start { controls: narrow(&last.controls, count), states: Some(last.states.clone()) };
    let plan = planning.search(problem, &planning.grid.fine, &[start])?;
    Ok(Planned {
        iterations: best.iterations + plan.trace.len(),
        plan,
        mean_cost: best.mean_cost,
        basins: best.basins.clone(),
    })
}
