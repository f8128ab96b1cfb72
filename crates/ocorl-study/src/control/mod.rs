//! The real-time controller: maps a plan and the present state to a control within a deadline, also when the solver or the input fails.
//!
//! | type | does |
//! |---|---|
//! | [`Controller`] | one step: a solver with a time budget, and the [`Follower`](ocorl::track::Follower) that selects the fallback level |
//! | [`Deadline`] | runs a solver on its own thread and waits no longer than the time budget |
//! | [`Simulated`] | a solver with a time budget in virtual time, for tests |
//! | [`Session`] | the line protocol: one JSON line in, one JSON line out |
//! | [`Clock`] | [`Monotonic`] on a machine, [`Virtual`] in tests |
//!
//! The fallback levels are implemented in [`ocorl::track`], which simulations use too; this module adds time budgets, threads and the line
//! protocol. A plan without a model has no solver: it is followed by its gains alone, which is not a failure.

mod clock;
mod controller;
mod deadline;
mod lines;
mod session;
mod simulated;

pub use clock::{Clock, Monotonic, Virtual};
pub use controller::{Controller, Counts, Settings};
pub use deadline::{Deadline, Effort, Maker, TimedSolver};
pub use lines::{LineError, State};
pub use ocorl::simulate::Trajectory;
pub use ocorl::track::{FallbackReason, Status};
pub use session::{Event, Session};
pub use simulated::Simulated;

use crate::plan_file::{PlanFile, RolloutTable};
use crate::study::learner_of;
use crate::system::System;
use crate::user_error::UserError;
use ocorl::learn::LearnError;
use ocorl::plan::Plan;
use ocorl::select::Schedule;
use ocorl::track::{Reference, SolveError, SolveRequest, Solver, StateObserver};
use std::sync::Arc;

/// Maximum iterations of a real-time solve. Each solve is warm-started from the last one, so few are enough.
pub const ITERATIONS: usize = 3;

/// Creates solvers with the settings and the model of the learner that made the plan; `None` if the plan carries no learner or no model
/// exists yet.
pub fn solvers(plan: &PlanFile, max_iterations: usize) -> Result<Option<Maker>, UserError> {
    let Some(learning) = &plan.learner else { return Ok(None) };
    let system = System::restore(&plan.system, learning.file.as_deref())?;
    let learner = learner_of(&system, learning).map_err(|error| unusable(&error))?;
    if learner.solver(max_iterations).is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(move || learner.solver(max_iterations).unwrap_or_else(|| Box::new(NoSolver)))))
}

/// The measurement schedule of rollout `number` if measurement times are decided during the run; `None` if all are fixed in advance.
pub fn online(plan: &PlanFile, number: usize) -> Result<Option<Box<dyn Schedule>>, UserError> {
    let (Some(learning), true) = (&plan.learner, rollout(plan, number)?.rule.is_some()) else {
        return Ok(None);
    };
    let system = System::restore(&plan.system, learning.file.as_deref())?;
    let learner = learner_of(&system, learning).map_err(|error| unusable(&error))?;
    Ok(learner.proposal().rollouts.into_iter().nth(number).map(|rollout| rollout.schedule))
}

/// The observer of rollout `number`; `None` if all states are measured.
fn observer(plan: &PlanFile, number: usize) -> Result<Option<StateObserver>, UserError> {
    let Some(learning) = plan.learner.as_ref().filter(|l| !l.settings.states.velocities.is_empty()) else {
        return Ok(None);
    };
    let system = System::restore(&plan.system, learning.file.as_deref())?;
    let learner = learner_of(&system, learning).map_err(|error| unusable(&error))?;
    Ok(learner.observer(rollout(plan, number)?.start))
}

fn unusable(error: &LearnError) -> UserError {
    UserError::new("the model in the plan cannot be used")
        .detail("cause", error.to_string())
        .hint("ask for the plan again")
}

/// Placeholder for a plan without a solver.
struct NoSolver;

impl Solver for NoSolver {
    fn solve(
        &mut self,
        _reference: &Reference,
        _request: &SolveRequest<'_>,
        _out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        Err(SolveError("there is no solver".into()))
    }
}

/// The rollout with index `number`.
pub fn rollout(plan: &PlanFile, number: usize) -> Result<&RolloutTable, UserError> {
    plan.rollouts.get(number).ok_or_else(|| {
        UserError::new(format!("the plan has no rollout {number}"))
            .hint(format!("it has {}, numbered from 0", plan.rollouts.len()))
    })
}

/// The reference trajectory of rollout `number`, from its table.
pub fn reference(plan: &PlanFile, number: usize) -> Result<Reference, UserError> {
    plan.check().map_err(|cause| UserError::new("the plan cannot be run").detail("cause", cause))?;
    let rollout = rollout(plan, number)?;
    let table = Plan::given(rollout.trajectory(), rollout.planned_cost.unwrap_or(0.0));
    Ok(Reference::with_slopes(table, &plan.angle_indices()))
}
