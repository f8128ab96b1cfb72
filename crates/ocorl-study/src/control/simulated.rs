//! A solver within a budget, in virtual time.

use super::clock::{Clock, Virtual};
use super::deadline::{Reply, Request, TimedSolver, panicked};
use ocorl::track::{Reference, Segment, Solver};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What [`Deadline`](super::Deadline) does, without threads and without waiting: the solver says on the clock how long it would have
/// taken ([`Virtual::work`]), and its answer counts only from then on.
pub struct Simulated<S> {
    solver: S,
    reference: Reference,
    clock: Virtual,
    /// When the answer to an earlier problem will be there, and the answer.
    pending: Option<(Duration, Option<Segment>)>,
}

impl<S: Solver> Simulated<S> {
    /// `solver` on `clock`.
    pub fn new(reference: Reference, solver: S, clock: Virtual) -> Self {
        Simulated { solver, reference, clock, pending: None }
    }
}

impl<S: Solver + Send> TimedSolver for Simulated<S> {
    fn solve(&mut self, request: &Request<'_>, budget: Duration, out: &mut Segment) -> Reply {
        let start = self.clock.now();
        if self.pending.as_ref().is_some_and(|(ready, _)| *ready > start) {
            return Reply::Busy;
        }
        self.pending = None;
        self.clock.take_work();
        let Request { time, state, previous } = *request;
        let solved =
            catch_unwind(AssertUnwindSafe(|| self.solver.solve(&self.reference, time, state, previous, out)));
        let result = solved.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
        let took = self.clock.take_work();
        self.clock.advance(took.min(budget));
        if took > budget {
            self.pending = Some((start.saturating_add(took), result.ok().map(|()| std::mem::take(out))));
            return Reply::Late;
        }
        result.map_or_else(Reply::Failed, |()| Reply::Solved)
    }

    fn late(&mut self, out: &mut Segment) -> bool {
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
