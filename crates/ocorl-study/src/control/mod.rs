//! The controller in real time: from a plan and the present state to a control, on time, whatever happens.
//!
//! | type | does |
//! |---|---|
//! | [`Controller`] | one step: the best rung that can be had, then the limits |
//! | [`Deadline`] | runs a solver on a thread of its own and waits no longer than its budget |
//! | [`Simulated`] | the same in virtual time, for tests |
//! | [`Session`] | lines in, lines out: what `ocorl control` speaks |
//! | [`Clock`] | [`Monotonic`] on a machine, [`Virtual`] in tests |
//!
//! The ladder, best first: a fresh solution; the previous one at its next time, with its gains; the plan with its gains; the safe control.
//! After that, always: what is not finite becomes safe, the rate is limited, the range is kept. A plan without a model has no solver; then
//! the plan with its gains is the best there is, and no failure.

mod clock;
mod controller;
mod deadline;
mod lines;
mod session;
mod simulated;

pub use clock::{Clock, Monotonic, Virtual};
pub use controller::{Controller, Counts, Settings, Status, Why};
pub use deadline::{Deadline, Effort, Maker, Reply, Request, TimedSolver};
pub use lines::{LineError, State};
pub use session::{Event, Session};
pub use simulated::Simulated;

use crate::mistake::Mistake;
use crate::plan_file::{LegTable, PlanFile, blocks};
use crate::study::learner_of;
use crate::system::System;
use ocorl::learn::LearnError;
use ocorl::linalg::Blocks;
use ocorl::plan::{Outcome, Plan};
use ocorl::select::Schedule;
use ocorl::track::{Reference, Segment, SolveError, Solver};
use std::sync::Arc;

/// Most iterations of a solve in real time: each begins where the last one ended, so that few are enough.
pub const ITERATIONS: usize = 3;

/// Makes solvers that act as the learner who made the plan would; none if the plan does not say who did, or nothing was known yet.
pub fn solvers(plan: &PlanFile, max_iterations: usize) -> Result<Option<Maker>, Mistake> {
    let Some(learning) = &plan.learner else { return Ok(None) };
    let system = System::restore(&plan.system, learning.file.as_deref())?;
    let learner = learner_of(&system, learning).map_err(|error| unusable(&error))?;
    if learner.solver(max_iterations).is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(move || learner.solver(max_iterations).unwrap_or_else(|| Box::new(NoSolver)))))
}

/// The schedule of leg `number` if its measurement times are decided on the way; none if they are all known.
pub fn online(plan: &PlanFile, number: usize) -> Result<Option<Box<dyn Schedule>>, Mistake> {
    let (Some(learning), true) = (&plan.learner, leg(plan, number)?.rule.is_some()) else { return Ok(None) };
    let system = System::restore(&plan.system, learning.file.as_deref())?;
    let learner = learner_of(&system, learning).map_err(|error| unusable(&error))?;
    Ok(learner.proposal().legs.into_iter().nth(number).map(|leg| leg.schedule))
}

fn unusable(error: &LearnError) -> Mistake {
    Mistake::new("the model in the plan cannot be used")
        .detail("cause", error.to_string())
        .hint("ask for the plan again")
}

/// Stands in where there is none.
struct NoSolver;

impl Solver for NoSolver {
    fn solve(
        &mut self,
        _reference: &Reference,
        _time: f64,
        _state: &[f64],
        _previous: Option<&Segment>,
        _out: &mut Segment,
    ) -> Result<(), SolveError> {
        Err(SolveError("there is no solver".into()))
    }
}

/// The leg of that number.
pub fn leg(plan: &PlanFile, number: usize) -> Result<&LegTable, Mistake> {
    plan.legs.get(number).ok_or_else(|| {
        Mistake::new(format!("the plan has no leg {number}"))
            .hint(format!("it has {}, numbered from 0", plan.legs.len()))
    })
}

/// The reference of leg `number`, from its table.
pub fn reference(plan: &PlanFile, number: usize) -> Result<Reference, Mistake> {
    plan.check().map_err(|cause| Mistake::new("the plan cannot be run").detail("cause", cause))?;
    let leg = leg(plan, number)?;
    let (nx, nu) = (plan.states.len(), plan.controls.len());
    let slopes = leg.slopes.iter().flatten().flatten().copied().collect();
    let gains = leg.gains.iter().flatten().flatten().copied().collect();
    let table = Plan {
        times: leg.times.clone(),
        states: blocks(&leg.states, nx),
        controls: blocks(&leg.controls, nu),
        gains: Blocks::from_vec(gains, nx * nu),
        cost: leg.planned_cost.unwrap_or(0.0),
        outcome: Outcome::Converged,
        gradient_norm: 0.0,
        trace: Vec::new(),
    };
    Ok(Reference::with_slopes(table, Blocks::from_vec(slopes, 2 * nx), &plan.angle_indices()))
}
