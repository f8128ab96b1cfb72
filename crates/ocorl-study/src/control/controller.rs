//! One step of real-time control: a solver with a time budget, and the follower that selects the fallback level.

use super::deadline::TimedSolver;
use super::{observer, reference, rollout};
use crate::plan_file::{BrakeTable, PlanFile, blocks};
use crate::user_error::UserError;
use ocorl::simulate::Trajectory;
use ocorl::track::{
    Brake, FallbackSettings, Finding, Follower, MAX_DROPOUTS, MAX_FALLBACKS, SolveAttempt, SolveRequest,
    StateObserver, Status,
};
use std::time::Duration;

/// Real-time settings that are not part of the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Time a step waits for the solver.
    pub budget: Duration,
    /// Number of consecutive fallbacks after which the controller gives up and applies the safe control from then on.
    pub max_fallbacks: usize,
    /// Number of consecutive samples without a usable state that are bridged in open loop; after them the control goes to the safe one.
    pub max_dropouts: usize,
}

impl Settings {
    /// Default settings: half the plan's period for the solver, ten fallbacks, three dropouts.
    pub fn of(plan: &PlanFile) -> Self {
        let budget = Duration::try_from_secs_f64(0.5 * plan.period).unwrap_or(Duration::MAX);
        Settings { budget, max_fallbacks: MAX_FALLBACKS, max_dropouts: MAX_DROPOUTS }
    }
}

/// Step counts of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of steps on each fallback level: fresh, shifted, planned, safe.
    pub levels: [usize; 4],
    /// Number of steps in which the solver was late or still busy.
    pub missed: usize,
    /// Number of fallbacks since the last fresh solution.
    pub in_a_row: usize,
}

impl Counts {
    /// Total number of steps.
    pub fn steps(&self) -> usize {
        self.levels.iter().sum()
    }
}

/// Maps time and state to a control that is finite, within its bounds and within its rate limit.
///
/// The [`Follower`] selects the fallback level of each step; the controller supplies a solver with a time budget. A controller serves one
/// run of one rollout; call [`reset`](Self::reset) before the next. After [`warm_up`](Self::warm_up) a step does not allocate unless the solver
/// fails. If not all states are measured, the others are NaN in the arguments, and a [`StateObserver`] on the model estimates them.
pub struct Controller {
    follower: Follower,
    /// Estimates the states that are not measured; `None` if all are.
    observer: Option<Tracking>,
    solver: Option<Box<dyn TimedSolver>>,
    budget: Duration,
    initial_state: Vec<f64>,
    missed: usize,
    /// Buffer for a solution that arrives late or is discarded.
    late: Trajectory,
}

/// An observer with the time and the control of its last estimate.
struct Tracking {
    observer: StateObserver,
    last: Option<f64>,
    control: Vec<f64>,
}

impl Tracking {
    /// The estimate at `time`, where `outputs` are measured; NaN where nothing is known.
    fn estimate(&mut self, time: f64, outputs: &[f64]) -> Vec<f64> {
        let seen = time.is_finite() && outputs.iter().any(|y| y.is_finite());
        if !seen || self.last.is_some_and(|last| time < last) {
            return vec![f64::NAN; outputs.len()];
        }
        // At its beginning the state of a run is known.
        if let Some(last) = self.last.replace(time) {
            self.observer.predict(time - last, &self.control);
            self.observer.correct(outputs);
        }
        self.observer.state().to_vec()
    }

    /// Notes the control that is applied from `time` on.
    fn apply(&mut self, time: f64, control: &[f64]) {
        if let Some(last) = self.last.filter(|last| time > *last) {
            self.observer.predict(time - last, &self.control);
            self.last = Some(time);
        }
        self.control.copy_from_slice(control);
    }
}

impl Controller {
    /// A controller that runs rollout `number` of `plan` with its feedback gains, without a solver.
    pub fn new(plan: &PlanFile, number: usize) -> Result<Self, UserError> {
        let (reference, rollout) = (reference(plan, number)?, rollout(plan, number)?);
        let settings = Settings::of(plan);
        let fallback = FallbackSettings {
            bounds: plan.limits.bounds(),
            safe_control: plan.safe_control.clone(),
            rate_limit: plan.limits.rate_limit(plan.period),
            max_fallbacks: settings.max_fallbacks,
            max_dropouts: settings.max_dropouts,
            state_bounds: plan.state_bounds(),
            backup: plan.backup.clone(),
        };
        let tube = rollout.tube.as_ref().map(|tube| blocks(tube, plan.states.len()));
        let brake = rollout.brake.map(|BrakeTable { ahead, margin }| Brake { ahead, margin });
        let follower = Follower::new(reference.clone(), plan.period, &fallback)
            .valid_for(plan.valid_for)
            .with_tube(tube)
            .with_brake(brake);
        Ok(Controller {
            late: Trajectory::with_room(&reference),
            observer: observer(plan, number)?.map(|observer| Tracking {
                observer,
                last: None,
                control: plan.safe_control.clone(),
            }),
            follower,
            solver: None,
            budget: settings.budget,
            initial_state: rollout.initial_state.clone(),
            missed: 0,
        })
    }

    /// Adds a solver, which is given a problem at every step.
    #[must_use]
    pub fn with_solver(mut self, solver: Box<dyn TimedSolver>) -> Self {
        self.solver = Some(solver);
        self
    }

    /// Replaces the settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.budget = settings.budget;
        self.follower.set_patience(settings.max_fallbacks, settings.max_dropouts);
        self
    }

    /// Lets the solver allocate its memory: solves two problems at the beginning of the plan and discards the solutions. Returns whether
    /// both were solved within `patience` each.
    pub fn warm_up(&mut self, patience: Duration) -> bool {
        let times = &self.follower.reference().plan.times;
        let between = 0.5 * (times[0] + times[1]);
        let applied = self.follower.guard().safe_control();
        let Some(solver) = &mut self.solver else { return true };
        [self.follower.begin(), between].into_iter().all(|time| {
            let request = SolveRequest { time, state: &self.initial_state, applied, previous: None };
            matches!(
                solver.solve(&request, patience, &mut self.late),
                SolveAttempt::Solved | SolveAttempt::Failed(_)
            )
        })
    }

    /// Prepares for a new run of the same rollout. The solver keeps its memory.
    pub fn reset(&mut self) {
        self.follower.reset();
        if let Some(tracking) = &mut self.observer {
            tracking.observer.reset();
            tracking.last = None;
        }
        self.missed = 0;
        if let Some(solver) = &mut self.solver {
            solver.forget();
        }
    }

    /// The control for `state` at `time`. It is finite, within limits and within the rate limit, whatever the arguments are.
    pub fn step(&mut self, time: f64, state: &[f64], control: &mut [f64]) -> Status {
        let controls = self.follower.guard().safe_control().len();
        assert_eq!(control.len(), controls, "a control has as many numbers as the plan");
        let estimate = self.observer.as_mut().map(|tracking| tracking.estimate(time, state));
        let state = estimate.as_deref().unwrap_or(state);
        let Controller { follower, solver, budget, late, .. } = self;
        let status = match solver {
            None => follower.step(time, state, None, control),
            Some(solver) => {
                // A solution that missed its own step can still replace the previous one.
                if time.is_finite() && solver.late(late) {
                    follower.adopt(late, time);
                }
                let mut solve =
                    |request: &SolveRequest<'_>, out: &mut Trajectory| solver.solve(request, *budget, out);
                follower.step(time, state, Some(&mut solve), control)
            }
        };
        self.missed += usize::from(status.missed);
        if let Some(tracking) = &mut self.observer {
            tracking.apply(time, control);
        }
        status
    }

    /// The estimated state, if not all states are measured.
    pub fn estimate(&self) -> Option<&[f64]> {
        self.observer.as_ref().map(|tracking| tracking.observer.state())
    }

    /// The control for a step near `time` at which no state could be read (a dropout).
    pub fn dropout(&mut self, time: f64, control: &mut [f64]) -> Status {
        let status = self.follower.dropout(time, self.solver.is_some(), control);
        if let Some(tracking) = &mut self.observer {
            tracking.apply(time, control);
        }
        status
    }

    /// The safe control, as far as the rate limit allows, at a time without a known state.
    pub fn safe(&mut self, time: f64, control: &mut [f64]) -> Status {
        let status = self.follower.safe(time, control);
        if let Some(tracking) = &mut self.observer {
            tracking.apply(time, control);
        }
        status
    }

    /// Step counts so far.
    pub fn counts(&self) -> Counts {
        let (levels, in_a_row) = (self.follower.level_counts(), self.follower.consecutive_fallbacks());
        Counts { levels, missed: self.missed, in_a_row }
    }

    /// Whether the controller has given up after too many fallbacks.
    pub fn gave_up(&self) -> bool {
        self.follower.gave_up()
    }

    /// The crossing of a limit or of the tube for which the plan is not followed any more.
    pub fn crossing(&self) -> Option<Finding> {
        self.follower.crossing()
    }

    /// Error of the solver's last failure.
    pub fn last_error(&self) -> Option<&str> {
        self.follower.last_error()
    }

    /// The declared safe control.
    pub fn safe_control(&self) -> &[f64] {
        self.follower.guard().safe_control()
    }

    /// The last solution that passed verification.
    pub fn solution(&self) -> Option<&Trajectory> {
        self.follower.solution()
    }

    /// Start time of the plan.
    pub fn begin(&self) -> f64 {
        self.follower.begin()
    }
}
