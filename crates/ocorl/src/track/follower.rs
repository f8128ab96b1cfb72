//! The follower: one step of control, from time, state and a solve attempt to an admissible control.
//!
//! It is the only place that selects the active [`FallbackLevel`]:
//!
//! | level | control | when |
//! |---|---|---|
//! | fresh | u₀ of the new solution | the solve succeeded; its solution is complete, finite, covers the present time and obeys the limits |
//! | shifted | u_k + K_k (x − x̄(t)) of the previous solution | the solve failed, and the previous solution covers the present time |
//! | planned | u_k + K_k (x − x̄(t)) of the plan | otherwise, while the plan is valid |
//! | safe | the backup controller, or the safe control | invalid plan, unusable time stamp, too many dropouts or fallbacks, a crossed limit |
//!
//! The backup controller needs a usable state; the safe control acts without one and where no backup controller is declared.
//!
//! In all levels x̄(t) is interpolated between the nodes. A sample without a usable state (a **dropout**) is bridged in open loop, by u_k
//! of the previous solution or of the plan, up to [`FallbackSettings::max_dropouts`] times in sequence; then the control moves to the safe
//! one.
//!
//! **Limits.** The [`Monitor`] checks every usable state. A state outside its limits or outside the tube of the plan is latched: the level is
//! safe until [`reset`](Follower::reset), also if the state returns. In an excitation the level is also safe while a state approaches a limit.
//!
//! **Time stamps.** A stamp that is not finite, or earlier than a previous one, is unusable: the level is safe. A stamp that jumps ahead is
//! accepted, because a plant may be silent for a while. If the next stamps continue from before the jump, the jump was a faulty stamp, and
//! they are accepted again. A clock that restarts is not accepted, because its relation to the time of the plan is unknown. The level is
//! then safe until [`reset`](Follower::reset).
//!
//! At every level the control passes the [`FallbackGuard`]. The follower does not run the solver and does not measure time.

use super::feedback::follow;
use super::foresight::Foresight;
use super::guard::{FallbackGuard, FallbackLevel, FallbackSettings, MAX_PERIODS};
use super::monitor::{Brake, Crossing, Finding, Monitor};
use super::reference::Reference;
use crate::linalg::Blocks;
use crate::simulate::Trajectory;
use crate::system::Backup;

/// Reason for which a solver has no solution; a fallback level is then active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SolveError(pub String);

/// One problem for a solver.
#[derive(Clone, Copy, Debug)]
pub struct SolveRequest<'a> {
    /// Present time.
    pub time: f64,
    /// Present state x, with its angles shifted by multiples of 2π to be near the plan.
    pub state: &'a [f64],
    /// Control that acts until the present time; a rate limit restricts the next control relative to it.
    pub applied: &'a [f64],
    /// Last verified solution, for a warm start; `None` to start from the plan.
    pub previous: Option<&'a Trajectory>,
}

/// Outcome of a solve attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum SolveAttempt {
    /// The solver has a solution, not yet verified.
    Solved,
    /// The solver failed.
    Failed(SolveError),
    /// The solver did not finish within its time budget.
    Late,
    /// The solver still works on an earlier problem; this one was not submitted.
    Busy,
    /// No solver is available.
    Gone,
}

/// Reason for which a step did not end on the best level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FallbackReason {
    /// The state has an entry that is not finite, or the wrong length.
    BadState,
    /// No state could be read.
    NoState,
    /// The time stamp is not finite.
    BadTime,
    /// The time stamp is earlier than a previous one.
    Backwards,
    /// The time is before the start of the plan.
    Early,
    /// The time is after the validity of the plan.
    Expired,
    /// The solver did not finish within its time budget.
    Late,
    /// The solver still works on an earlier problem.
    Busy,
    /// The solver reported a failure.
    Failed,
    /// The solution is incomplete, not finite, does not cover the present time or violates limits.
    Unsound,
    /// The solver exceeded its budget so often that no new one is started.
    Gone,
    /// There were too many fallbacks in sequence.
    GaveUp,
    /// The caller requested the safe control.
    Requested,
    /// A state left its limits in this run.
    LimitCrossed,
    /// A state left the tube of the plan in this run.
    LeftTube,
    /// A state approaches a limit during an excitation.
    NearLimit,
    /// After another period of the plan the backup controller could not keep the limits any more.
    NoReturn,
}

impl FallbackReason {
    /// Returns a short description.
    pub fn text(self) -> &'static str {
        match self {
            FallbackReason::BadState => "the state is not finite",
            FallbackReason::NoState => "no state could be read",
            FallbackReason::BadTime => "the time is not finite",
            FallbackReason::Backwards => "the time went backwards",
            FallbackReason::Early => "the plan has not begun",
            FallbackReason::Expired => "the plan is not valid any more",
            FallbackReason::Late => "the solver is late",
            FallbackReason::Busy => "the solver is still busy",
            FallbackReason::Failed => "the solver failed",
            FallbackReason::Unsound => "the solution is not sound",
            FallbackReason::Gone => "the solver is gone",
            FallbackReason::GaveUp => "gave up: too many fallbacks in a row",
            FallbackReason::Requested => "the safe control was requested",
            FallbackReason::LimitCrossed => "a state left its limits",
            FallbackReason::LeftTube => "a state left the tube of the plan",
            FallbackReason::NearLimit => "a state approaches a limit",
            FallbackReason::NoReturn => "the backup controller could not keep the limits any more",
        }
    }
}

/// Status of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Level that produced the control.
    pub level: FallbackLevel,
    /// Age of the active solution since its problem was posed; zero unless it is the previous solution.
    pub age: f64,
    /// Whether the solver exceeded its time budget or is still busy.
    pub missed: bool,
    /// Reason for which the level is not the best one; `None` if it is.
    pub reason: Option<FallbackReason>,
}

/// Function that submits a problem and writes its solution, if there is one.
pub type Solve<'a> = dyn FnMut(&SolveRequest<'_>, &mut Trajectory) -> SolveAttempt + 'a;

/// Largest excess of a solution over the limits, relative to 1 + |limit|, that is accepted; the control is clamped in any case.
const LIMIT_TOLERANCE: f64 = 1e-9;

/// Number of failures in sequence after which the solver does not receive the previous solution as a warm start.
const COLD_AFTER: usize = 2;

/// Follows a plan for one run: selects the level of each step, computes its control, and passes it through the guard.
///
/// After the first steps it allocates only if a solve fails.
#[derive(Clone, Debug)]
pub struct Follower {
    reference: Reference,
    guard: FallbackGuard,
    monitor: Monitor,
    backup: Option<Backup>,
    max_fallbacks: usize,
    max_dropouts: usize,
    /// First and last time at which the plan may be followed; the last time is excluded.
    begin: f64,
    end: f64,
    stamps: Stamps,
    level: FallbackLevel,
    /// Number of steps on each level, in the order of [`FallbackLevel`].
    counts: [usize; 4],
    /// Number of failed solves since the last success.
    consecutive: usize,
    gave_up: bool,
    /// Number of dropouts that may still be bridged; zero before the first usable state.
    bridge: usize,
    /// Last verified solution; empty if there is none.
    solution: Trajectory,
    candidate: Trajectory,
    /// Present state, with its angles near the plan, and whether it is usable.
    state: Vec<f64>,
    measured: bool,
    planned: Vec<f64>,
    error: Option<String>,
}

impl Follower {
    /// Creates a follower of `reference` with a control that is set every `period`.
    pub fn new(reference: Reference, period: f64, settings: &FallbackSettings) -> Self {
        assert!(period > 0.0 && period.is_finite(), "the control period must be positive, not {period}");
        let zeros = vec![0.0; reference.dims().state];
        Follower {
            guard: FallbackGuard::new(settings),
            monitor: Monitor::new(settings.state_bounds.clone()),
            backup: settings.backup.clone(),
            max_fallbacks: settings.max_fallbacks,
            max_dropouts: settings.max_dropouts,
            begin: reference.times[0],
            end: reference.end(),
            stamps: Stamps::new(period),
            level: FallbackLevel::Safe,
            counts: [0; 4],
            consecutive: 0,
            gave_up: false,
            bridge: 0,
            solution: Trajectory::with_room(&reference),
            candidate: Trajectory::with_room(&reference),
            state: zeros.clone(),
            measured: false,
            planned: zeros,
            error: None,
            reference,
        }
    }

    /// Limits the validity of the plan to `time` from its start.
    #[must_use]
    pub fn valid_for(mut self, time: f64) -> Self {
        self.end = self.reference.end().min(self.begin + time);
        self
    }

    /// Sets the tube of the plan: the largest deviation of each state at each node. A state outside it ends the pursuit of the plan.
    #[must_use]
    pub fn with_tube(mut self, radius: Option<Blocks>) -> Self {
        if let Some(radius) = radius {
            let shape = (self.reference.dims().state, self.reference.times.len());
            assert_eq!((radius.size(), radius.len()), shape, "a radius for every state at every node");
            self.monitor.set_tube(radius);
        }
        self
    }

    /// Sets the look-ahead with which an excitation stops short of the limits.
    #[must_use]
    pub fn with_brake(mut self, brake: Option<Brake>) -> Self {
        self.monitor.set_brake(brake);
        self
    }

    /// Returns the crossing for which the plan is not followed any more; `None` if there was none.
    pub fn crossing(&self) -> Option<Finding> {
        self.monitor.latched()
    }

    /// Returns whether a backup controller acts at the safe level.
    pub fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// Sets the tolerated numbers of fallbacks and dropouts.
    pub fn set_patience(&mut self, max_fallbacks: usize, max_dropouts: usize) {
        (self.max_fallbacks, self.max_dropouts) = (max_fallbacks, max_dropouts);
    }

    /// Resets the follower for another run of the same plan, which begins with the safe control applied.
    pub fn reset(&mut self) {
        self.guard.reset();
        self.monitor.reset();
        self.stamps = Stamps::new(self.stamps.period);
        (self.level, self.counts) = (FallbackLevel::Safe, [0; 4]);
        (self.consecutive, self.gave_up, self.bridge) = (0, false, 0);
        (self.measured, self.error) = (false, None);
        self.solution.times.clear();
    }

    /// Computes one step: the control for `state` at `time`, by the solution of `solve` if there is a solver. The control is finite and
    /// within the limits and the rate limit for any arguments.
    pub fn step(
        &mut self,
        time: f64,
        state: &[f64],
        solve: Option<&mut Solve<'_>>,
        control: &mut [f64],
    ) -> Status {
        let status = self.decide(time, state, solve);
        self.act(time, control);
        status
    }

    /// Computes a step without a known state, at about `time`: a dropout, which is bridged like a state that is not finite. If `solving` is
    /// true there is a solver, and the dropout counts as a failure.
    pub fn dropout(&mut self, time: f64, solving: bool, control: &mut [f64]) -> Status {
        self.measured = false;
        // The time of a dropout is estimated, so it is not a time stamp for later steps.
        let at = time.max(self.stamps.latest);
        let status = match self.crossed(at, &[]).or_else(|| self.validity(at)) {
            Some(reason) => self.fall(reason),
            None => self.bridge(at, solving, FallbackReason::NoState),
        };
        self.counts[status.level as usize] += 1;
        self.evaluate(at, control);
        self.guard.guard(time, control);
        status
    }

    /// Returns the safe control, as far as the rate limit allows.
    pub fn safe(&mut self, time: f64, control: &mut [f64]) -> Status {
        self.measured = false;
        let status = self.fall(FallbackReason::Requested);
        self.counts[status.level as usize] += 1;
        self.act(time, control);
        status
    }

    /// Selects the level of a step.
    pub(super) fn decide(&mut self, time: f64, state: &[f64], solve: Option<&mut Solve<'_>>) -> Status {
        self.look(time, state);
        let crossed = self.crossed(time, state);
        let unusable = self.stamps.check(time).or_else(|| self.validity(time));
        let status = match crossed.or(unusable).or_else(|| self.off_plan(time)) {
            Some(reason) => self.fall(reason),
            None if !self.measured => self.bridge(time, solve.is_some(), FallbackReason::BadState),
            None => {
                self.bridge = self.max_dropouts;
                self.choose(time, solve)
            }
        };
        self.counts[status.level as usize] += 1;
        status
    }

    /// Returns the reason for which a crossing forbids the plan: one of the present state, or one that is latched.
    fn crossed(&mut self, time: f64, state: &[f64]) -> Option<FallbackReason> {
        if self.measured {
            self.monitor.check_limits(time, state, &self.state);
        }
        self.monitor.latched().map(reason)
    }

    /// Returns the reason for which the distance of the present state from the plan, or its approach to a limit, forbids the plan. The time
    /// must be usable.
    fn off_plan(&mut self, time: f64) -> Option<FallbackReason> {
        if !self.measured {
            return None;
        }
        let interval = self.reference.interval(time);
        self.monitor.check_plan(time, &self.state, &self.planned, interval).map(reason)
    }

    /// Replaces the plan's control of the step just decided by the backup controller, if `foresight` finds that it must take over now.
    pub fn look_ahead(&mut self, time: f64, foresight: &mut Foresight) -> Option<Crossing> {
        if !self.measured || self.level == FallbackLevel::Safe {
            return None;
        }
        let mut control = self.guard.safe_control().to_vec();
        self.evaluate(time, &mut control);
        let follows_solution = matches!(self.level, FallbackLevel::Fresh | FallbackLevel::Shifted);
        let plan: &Trajectory = match self.solution.covering(time).filter(|_| follows_solution) {
            Some(_) => &self.solution,
            None => &self.reference,
        };
        // The present correction of the plan's controls stays for the period.
        let now = plan.control(time).to_vec();
        let mut controls = Vec::new();
        for step in foresight.times(time) {
            let mut next: Vec<f64> = control
                .iter()
                .zip(plan.control(step))
                .zip(&now)
                .map(|((u, next), now)| u + next - now)
                .collect();
            self.guard.limit(&mut next);
            controls.extend(next);
        }
        let crossing = foresight.crossing(time, &self.state, self.guard.applied(), &controls)?;
        self.counts[self.level as usize] -= 1;
        self.fall(FallbackReason::NoReturn);
        self.counts[self.level as usize] += 1;
        Some(crossing)
    }

    /// Stores the present state.
    pub(super) fn look(&mut self, time: f64, state: &[f64]) {
        self.reference.state(time, &mut self.planned);
        self.measured = state.len() == self.state.len() && state.iter().all(|x| x.is_finite());
        if self.measured {
            self.state.copy_from_slice(state);
            self.reference.unwrap_angles(&self.planned, &mut self.state);
        }
    }

    /// Computes the control of the selected level at `time` and the stored state, and passes it through the guard. Returns the time until
    /// which the control may be held.
    pub(super) fn act(&mut self, time: f64, control: &mut [f64]) -> f64 {
        let until = self.evaluate(time, control);
        self.guard.guard(time, control);
        until
    }

    fn evaluate(&mut self, time: f64, out: &mut [f64]) -> f64 {
        let Follower { solution, reference, planned, state, backup, .. } = self;
        let covered = solution.covering(time);
        match (self.level, covered) {
            (FallbackLevel::Fresh, Some(k)) => {
                out.copy_from_slice(solution.controls.at(k));
                solution.times[k + 1]
            }
            // The solution is shorter than the period: its last control remains active.
            (FallbackLevel::Fresh, None) => {
                out.copy_from_slice(solution.controls.at(solution.times.len() - 2));
                f64::INFINITY
            }
            (FallbackLevel::Shifted | FallbackLevel::Planned, covered) => {
                let shifted = covered.filter(|_| self.level == FallbackLevel::Shifted);
                let (plan, k): (&Trajectory, _) =
                    shifted.map_or_else(|| (&***reference, reference.interval(time)), |k| (&*solution, k));
                if self.measured {
                    plan.state_in(k, time, planned);
                    follow(plan, k, planned, state, out);
                } else {
                    out.copy_from_slice(plan.controls.at(k));
                }
                plan.times[k + 1]
            }
            (FallbackLevel::Safe, _) => {
                match backup.as_ref().filter(|_| self.measured) {
                    Some(backup) => backup.control(state, out),
                    None => out.copy_from_slice(self.guard.safe_control()),
                }
                f64::INFINITY
            }
        }
    }

    /// Computes u_k + K_k (x − x̄(t)) of interval `k` of the last solution, between two steps. It acts in continuous time without a rate
    /// limit.
    pub(super) fn solution_feedback(&mut self, k: usize, time: f64, state: &[f64], out: &mut [f64]) {
        let Follower { solution, planned, .. } = self;
        solution.state_in(k, time, planned);
        self.state.copy_from_slice(state);
        self.reference.unwrap_angles(planned, &mut self.state);
        follow(solution, k, planned, &self.state, out);
        self.guard.limit(out);
    }

    /// Adopts a solution of an earlier problem that was late for its own step, if it is newer than the last one, passes verification, and
    /// covers `time`. The contents of `solution` are unspecified afterwards.
    pub fn adopt(&mut self, solution: &mut Trajectory, time: f64) {
        if solution.times.first() > self.solution.times.first() && self.verify(solution, time) {
            std::mem::swap(&mut self.solution, solution);
        }
    }

    /// Returns the number of steps on each level: fresh, shifted, planned, safe.
    pub fn level_counts(&self) -> [usize; 4] {
        self.counts
    }

    /// Returns the number of failed solves and dropouts since the last successful solve.
    pub fn consecutive_fallbacks(&self) -> usize {
        self.consecutive
    }

    /// Returns whether there were too many fallbacks in sequence; the level is then safe until [`reset`](Self::reset).
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Returns the message of the solver's last failure.
    pub fn last_error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns the level of the last step.
    pub fn level(&self) -> FallbackLevel {
        self.level
    }

    /// Returns the last verified solution.
    pub fn solution(&self) -> Option<&Trajectory> {
        (!self.solution.times.is_empty()).then_some(&self.solution)
    }

    /// Returns the reference that is followed.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the guard that every control passes.
    pub fn guard(&self) -> &FallbackGuard {
        &self.guard
    }

    /// Returns the start time of the plan.
    pub fn begin(&self) -> f64 {
        self.begin
    }

    /// Returns the reason for which the plan is not valid at `time`; `None` if it is valid.
    fn validity(&self, time: f64) -> Option<FallbackReason> {
        if time < self.begin {
            Some(FallbackReason::Early)
        } else if time >= self.end {
            Some(FallbackReason::Expired)
        } else {
            self.gave_up.then_some(FallbackReason::GaveUp)
        }
    }

    /// Selects the safe level.
    fn fall(&mut self, reason: FallbackReason) -> Status {
        self.level = FallbackLevel::Safe;
        Status { level: self.level, age: 0.0, missed: false, reason: Some(reason) }
    }

    /// Selects the level without a usable state: open loop for a limited number of samples, then safe.
    fn bridge(&mut self, time: f64, solving: bool, reason: FallbackReason) -> Status {
        if solving && self.failed() {
            return self.fall(FallbackReason::GaveUp);
        }
        if self.bridge == 0 {
            return self.fall(reason);
        }
        self.bridge -= 1;
        self.previous(time, false, Some(reason))
    }

    /// Selects the best of the three upper levels, at the stored state.
    fn choose(&mut self, time: f64, solve: Option<&mut Solve<'_>>) -> Status {
        let Some(solve) = solve else { return self.previous(time, false, None) };
        let Some(reason) = self.solve(time, solve) else {
            self.consecutive = 0;
            self.level = FallbackLevel::Fresh;
            return Status { level: self.level, age: 0.0, missed: false, reason: None };
        };
        let missed = matches!(reason, FallbackReason::Late | FallbackReason::Busy);
        if self.failed() {
            return Status { missed, ..self.fall(FallbackReason::GaveUp) };
        }
        self.previous(time, missed, Some(reason))
    }

    /// Selects the previous solution if it covers `time`, and the plan otherwise.
    fn previous(&mut self, time: f64, missed: bool, reason: Option<FallbackReason>) -> Status {
        let covered = self.solution.covering(time).is_some();
        self.level = if covered { FallbackLevel::Shifted } else { FallbackLevel::Planned };
        let age = if covered { time - self.solution.times[0] } else { 0.0 };
        Status { level: self.level, age, missed, reason }
    }

    /// Counts a failure; returns true if the limit is exceeded.
    fn failed(&mut self) -> bool {
        self.consecutive += 1;
        self.gave_up |= self.consecutive > self.max_fallbacks;
        self.gave_up
    }

    /// Submits a problem. On success the verified solution is in `self.solution`; otherwise the reason is returned.
    fn solve(&mut self, time: f64, solve: &mut Solve<'_>) -> Option<FallbackReason> {
        let warm = self.consecutive < COLD_AFTER && !self.solution.times.is_empty();
        let request = SolveRequest {
            time,
            state: &self.state,
            applied: self.guard.applied(),
            previous: warm.then_some(&self.solution),
        };
        match solve(&request, &mut self.candidate) {
            SolveAttempt::Solved => {
                if self.candidate.times.first() != Some(&time) || !self.verify(&self.candidate, time) {
                    self.error = Some(FallbackReason::Unsound.text().into());
                    return Some(FallbackReason::Unsound);
                }
                std::mem::swap(&mut self.solution, &mut self.candidate);
                None
            }
            SolveAttempt::Failed(error) => {
                self.error = Some(error.0);
                Some(FallbackReason::Failed)
            }
            SolveAttempt::Late => Some(FallbackReason::Late),
            SolveAttempt::Busy => Some(FallbackReason::Busy),
            SolveAttempt::Gone => Some(FallbackReason::Gone),
        }
    }

    /// Returns whether a solution is complete and finite, covers `time` and obeys the limits.
    fn verify(&self, solution: &Trajectory, time: f64) -> bool {
        let dims = self.reference.dims();
        solution.controls.size() == dims.control
            && solution.is_sound_plan(dims.state)
            && solution.covering(time).is_some()
            && solution.controls.iter().all(|u| self.guard.allows(u, LIMIT_TOLERANCE))
    }
}

/// Returns the reason that a finding gives.
fn reason(finding: Finding) -> FallbackReason {
    match finding {
        Finding::Limit(_) => FallbackReason::LimitCrossed,
        Finding::Tube(_) => FallbackReason::LeftTube,
        Finding::Near(_) => FallbackReason::NearLimit,
    }
}

/// Check of the time stamps.
#[derive(Clone, Copy, Debug)]
struct Stamps {
    period: f64,
    /// Latest accepted stamp.
    latest: f64,
    /// Latest stamp before a jump ahead, and the number of steps since; `None` if there was no recent jump.
    before_jump: Option<(f64, f64)>,
}

impl Stamps {
    fn new(period: f64) -> Self {
        Stamps { period, latest: f64::NEG_INFINITY, before_jump: None }
    }

    /// Returns the reason for which `time` is unusable; `None` if it is usable.
    fn check(&mut self, time: f64) -> Option<FallbackReason> {
        self.before_jump =
            self.before_jump.map(|(before, steps)| (before, steps + 1.0)).filter(|(_, s)| *s <= MAX_PERIODS);
        if !time.is_finite() {
            return Some(FallbackReason::BadTime);
        }
        if time >= self.latest {
            let jumped = self.latest.is_finite() && time - self.latest > MAX_PERIODS * self.period;
            if jumped && self.before_jump.is_none() {
                self.before_jump = Some((self.latest, 0.0));
            }
            self.latest = time;
            return None;
        }
        let goes_on = self.before_jump.is_some_and(|(before, steps)| {
            time >= before && time <= before + (steps + MAX_PERIODS) * self.period
        });
        if !goes_on {
            return Some(FallbackReason::Backwards);
        }
        (self.latest, self.before_jump) = (time, None);
        None
    }
}
