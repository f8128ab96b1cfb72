//! A solver with a time budget in virtual time, for tests.

use super::clock::{Clock, Virtual};
use super::deadline::{TimedSolver, panicked};
use ocorl::simulate::Trajectory;
use ocorl::track::{Reference, SolveAttempt, SolveRequest, Solver};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Behaves as [`Deadline`](super::Deadline) without threads and without waiting: the solver reports its computation time on the clock
/// ([`Virtual::work`]), and its solution becomes available only after that time.
pub struct Simulated<S> {
    solver: S,
    reference: Reference,
    clock: Virtual,
    /// Time at which the solution of an earlier problem becomes available, and that solution.
    pending: Option<(Duration, Option<Trajectory>)>,
}

impl<S: Solver> Simulated<S> {
    /// Runs `solver` on the virtual `clock`.
    pub fn new(reference: Reference, solver: S, clock: Virtual) -> Self {
        Simulated { solver, reference, clock, pending: None }
    }
}

impl<S: Solver + Send> TimedSolver for Simulated<S> {
    fn solve(&mut self, request: &SolveRequest<'_>, budget: Duration, out: &mut Trajectory) -> SolveAttempt {
        let start = self.clock.now();
        if self.pending.as_ref().is_some_and(|(ready, _)| *ready > start) {
            return SolveAttempt::Busy;
        }
        self.pending = None;
        self.clock.take_work();
        let solved = catch_unwind(AssertUnwindSafe(|| self.solver.solve(&self.reference, request, out)));
        let result = solved.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
        let took = self.clock.take_work();
        self.clock.advance(took.min(budget));
        if took > budget {
            self.pending = Some((start.saturating_add(took), result.ok().map(|()| std::mem::take(out))));
            return SolveAttempt::Late;
        }
        result.map_or_else(SolveAttempt::Failed, |()| SolveAttempt::Solved)
    }

    fn late(&mut self, out: &mut Trajectory) -> bool {
        let now = self.clock.now();
        let Some((_, answer)) = self.pending.take_if(|(ready, _)| *ready <= now) else { return false };
        answer.map(|answer| *out = answer).is_some()
    }

    fn forget(&mut self) {
        if let Some((_, answer)) = &mut self.pending {
            *answer = None;
        }
    }
}
