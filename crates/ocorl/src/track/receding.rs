//! Receding-horizon control in simulation: solve at every period and hold the first control.

use super::Reference;
use super::follower::{FallbackReason, Follower, SolveAttempt, SolveError, SolveRequest};
use super::foresight::Foresight;
use super::guard::{FallbackLevel, FallbackSettings};
use super::monitor::{Brake, Crossing, Finding};
use crate::linalg::Blocks;
use crate::simulate::{Policy, PolicyError, Trajectory};

/// Poses and solves the problem of one update.
pub trait Solver {
    /// Fills `out` with a plan from the state of `request` at its time, along `reference`.
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError>;
}

/// Solves a new problem every `period`. In between, each control is held until the next node or update, or (with
/// [`Receding::with_gains`]) responds to the state by the solution's gains.
///
/// A [`Follower`] selects the control at an update, as on hardware.
pub struct Receding<S> {
    follower: Follower,
    /// Copy of the follower's reference, for the solver.
    reference: Reference,
    /// `None` to follow the plan by its gains alone.
    solver: Option<S>,
    /// Check of the backup controller; `None` without.
    foresight: Option<Foresight>,
    period: f64,
    next_update: f64,
    /// Number of updates on each level, without those after the plan's end.
    counts: [usize; 4],
    held: Vec<f64>,
    /// Time until which the control is held.
    until: f64,
    /// Whether a fresh solution acts through its gains.
    gains: bool,
    /// Interval of the active solution; `None` if no solution is active.
    acting: Option<usize>,
}

impl<S: Solver> Receding<S> {
    /// Creates a policy that follows `reference` and solves every `period`.
    pub fn new(reference: Reference, solver: S, period: f64, settings: &FallbackSettings) -> Self {
        Receding::with(reference, Some(solver), period, settings)
    }

    fn with(reference: Reference, solver: Option<S>, period: f64, settings: &FallbackSettings) -> Self {
        let follower = Follower::new(reference.clone(), period, settings);
        let held = follower.guard().safe_control().to_vec();
        Receding {
            follower,
            reference,
            solver,
            foresight: None,
            period,
            next_update: f64::NEG_INFINITY,
            counts: [0; 4],
            held,
            until: f64::NEG_INFINITY,
            gains: false,
            acting: None,
        }
    }

    /// Applies feedback between two updates, u = u_k + K_k (x − x̄(t)), instead of holding the control, so that a longer period costs
    /// little performance. With a rate limit the controls are held nevertheless.
    #[must_use]
    pub fn with_gains(mut self) -> Self {
        self.gains = self.follower.guard().rate_limit().is_none();
        self
    }

    /// Sets the tube of the plan, see [`Follower::with_tube`].
    #[must_use]
    pub fn with_tube(mut self, radius: Option<Blocks>) -> Self {
        self.follower = self.follower.with_tube(radius);
        self
    }

    /// Sets the look-ahead of an excitation, see [`Follower::with_brake`].
    #[must_use]
    pub fn with_brake(mut self, brake: Option<Brake>) -> Self {
        self.follower = self.follower.with_brake(brake);
        self
    }

    /// Sets the check of whether the backup controller can still keep the limits.
    #[must_use]
    pub fn with_foresight(mut self, foresight: Option<Foresight>) -> Self {
        self.foresight = foresight;
        self
    }

    /// Returns the follower, for its statistics.
    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Returns the fallback level of the last update.
    pub fn level(&self) -> FallbackLevel {
        self.follower.level()
    }

    /// Solves the problem of an update, or falls back.
    fn update(&mut self, time: f64, state: &[f64]) -> Result<(), PolicyError> {
        let Receding { follower, solver, reference, foresight, .. } = self;
        let status = match solver {
            None => follower.decide(time, state, None),
            Some(solver) => {
                let mut solve = |request: &SolveRequest<'_>, out: &mut Trajectory| {
                    let solved = solver.solve(reference, request, out);
                    solved.map_or_else(SolveAttempt::Failed, |()| SolveAttempt::Solved)
                };
                follower.decide(time, state, Some(&mut solve))
            }
        };
        if status.reason == Some(FallbackReason::Expired) {
            // The plan has ended, which is not a failure.
            return Ok(());
        }
        if status.reason == Some(FallbackReason::GaveUp) {
            let reason = follower.last_error().unwrap_or_else(|| FallbackReason::BadState.text()).into();
            return Err(PolicyError::GaveUp { time, fallbacks: follower.consecutive_fallbacks(), reason });
        }
        if let Some(foresight) = foresight {
            follower.look_ahead(time, foresight);
        }
        self.counts[follower.level() as usize] += 1;
        // A backup controller goes on with the run; without one it ends here.
        match follower.crossing().filter(|_| !follower.has_backup()) {
            Some(Finding::Tube(Crossing { state, .. })) => Err(PolicyError::LeftTube { state, time }),
            Some(Finding::Limit(Crossing { state, .. })) => Err(PolicyError::LimitCrossed { state, time }),
            Some(Finding::Near(_)) | None => Ok(()),
        }
    }

    /// Returns the held control of the selected level, and the end of the hold. With a rate limit the control is set once per control
    /// period and at every update; an evaluation in between, for a measurement, does not set it.
    fn hold(&mut self, time: f64, updated: bool) -> f64 {
        let period = self.follower.guard().rate_limit().map(|limit| limit.period);
        if period.is_some_and(|period| !updated && time < self.until - 1e-9 * period) {
            return self.until;
        }
        let solution =
            self.follower.solution().filter(|_| self.gains && self.level() == FallbackLevel::Fresh);
        self.acting = solution.and_then(|solution| solution.covering(time));
        let end = self.follower.act(time, &mut self.held);
        let until = self.next_update.min(end).min(period.map_or(f64::INFINITY, |period| time + period));
        self.until = if until > time { until } else { self.next_update };
        self.until
    }
}

/// The solver of a policy that has none.
#[derive(Clone, Copy, Debug)]
pub enum NoSolver {}

impl Solver for NoSolver {
    fn solve(
        &mut self,
        _reference: &Reference,
        _request: &SolveRequest<'_>,
        _out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        match *self {}
    }
}

impl Receding<NoSolver> {
    /// Creates a policy that sets the control of `reference`, with its gains, every `period`: what hardware does with a plan without a model.
    pub fn without_solver(reference: Reference, period: f64, settings: &FallbackSettings) -> Self {
        Receding::with(reference, None, period, settings)
    }
}

impl<S: Solver> Policy for Receding<S> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        // Rounding of accumulated times must not skip an update.
        let due = time >= self.next_update - 1e-9 * self.period;
        if due {
            self.next_update = time + self.period;
            self.update(time, state)?;
        } else {
            self.follower.look(time, state);
        }
        Ok(self.hold(time, due))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        match self.acting {
            Some(k) => self.follower.solution_feedback(k, time, state, out),
            None => out.copy_from_slice(&self.held),
        }
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        Some(self.counts)
    }

    fn requested(&mut self, time: f64, state: &[f64], out: &mut [f64]) -> Result<(), PolicyError> {
        if self.solver.is_none() {
            self.reference.follow(time, state, out);
            return Ok(());
        }
        self.prepare(time, state)?;
        self.control(time, state, out);
        Ok(())
    }
}
