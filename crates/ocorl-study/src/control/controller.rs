//! One step of control: the best rung that can be had in time, then the limits.

use super::deadline::{Reply, Request, TimedSolver};
use super::{leg, reference};
use crate::mistake::Mistake;
use crate::plan_file::PlanFile;
use ocorl::track::{Ladder, LadderSettings, Reference, Rung, Segment};
use std::time::Duration;

/// How much a solution may exceed the limits, relative to 1 and the limit, before it counts as wrong; it is clamped anyway.
const LIMIT_TOLERANCE: f64 = 1e-9;

/// After so many failures in a row the solver is not given the previous solution any more.
const COLD_AFTER: usize = 2;

/// What stands between a solver and the plant, apart from what the plan says.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long a step waits for the solver.
    pub budget: Duration,
    /// Fallbacks in a row after which the controller gives up: the safe control from then on.
    pub max_fallbacks: usize,
}

impl Settings {
    /// Half the plan's period for the solver, ten fallbacks.
    pub fn of(plan: &PlanFile) -> Self {
        let budget = Duration::try_from_secs_f64(0.5 * plan.period).unwrap_or(Duration::MAX);
        Settings { budget, max_fallbacks: 10 }
    }
}

/// Why a step did not end on the best rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The state has a number that is not finite, or the wrong length.
    BadState,
    /// The time is not a finite number.
    BadTime,
    /// The time is before an earlier one.
    Backwards,
    /// The plan has not begun.
    Early,
    /// The plan is not valid any more.
    Expired,
    /// The solver did not answer within its budget.
    Late,
    /// The solver is still at an earlier problem.
    Busy,
    /// The solver says that it failed.
    Failed,
    /// The solution is not whole, not finite, not for now or not within limits.
    Unsound,
    /// The solver hung so often that no other is started.
    Gone,
    /// There were too many fallbacks in a row.
    GaveUp,
    /// Somebody asked for the safe control.
    Asked,
}

impl Why {
    /// In a few words.
    pub fn text(self) -> &'static str {
        match self {
            Why::BadState => "the state is not finite",
            Why::BadTime => "the time is not finite",
            Why::Backwards => "the time went backwards",
            Why::Early => "the plan has not begun",
            Why::Expired => "the plan is not valid any more",
            Why::Late => "the solver is late",
            Why::Busy => "the solver is still busy",
            Why::Failed => "the solver failed",
            Why::Unsound => "the solution is not sound",
            Why::Gone => "the solver is gone",
            Why::GaveUp => "gave up: too many fallbacks in a row",
            Why::Asked => "the safe control was asked for",
        }
    }
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Where the control comes from.
    pub rung: Rung,
    /// How long ago the problem was posed whose solution acts; zero unless it is the previous one.
    pub age: f64,
    /// The solver did not answer within its budget.
    pub missed: bool,
    /// Why it is not the best rung; none if it is.
    pub why: Option<Why>,
}

impl Status {
    /// The rung's name, as in lines and logs.
    pub fn name(&self) -> &'static str {
        match self.rung {
            Rung::Fresh => "fresh",
            Rung::Shifted => "shifted",
            Rung::Planned => "planned",
            Rung::Safe => "safe",
        }
    }
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps on each rung: fresh, shifted, planned, safe.
    pub rungs: [usize; 4],
    /// Steps in which the solver was late or still busy.
    pub missed: usize,
    /// Fallbacks since the last fresh solution.
    pub in_a_row: usize,
}

impl Counts {
    /// All steps.
    pub fn steps(&self) -> usize {
        self.rungs.iter().sum()
    }
}

/// From time and state to a control that is finite, within its limits and within its rate limit.
///
/// One controller is for one run of one leg; [`reset`](Self::reset) before the next. After [`warm_up`](Self::warm_up) a step allocates
/// nothing unless something is wrong with the solver.
pub struct Controller {
    reference: Reference,
    solver: Option<Box<dyn TimedSolver>>,
    settings: Settings,
    ladder: Ladder,
    limits: LadderSettings,
    /// First and last time at which the plan may be followed; the last does not belong to it.
    begin: f64,
    end: f64,
    initial_state: Vec<f64>,
    /// The latest time seen.
    latest: f64,
    /// When the control was last set.
    moved: f64,
    counts: Counts,
    gave_up: bool,
    /// The last verified solution; empty if there is none.
    segment: Segment,
    candidate: Segment,
    planned: Vec<f64>,
    state: Vec<f64>,
    error: Option<String>,
}

impl Controller {
    /// Runs leg `number` of `plan` by its gains alone.
    pub fn new(plan: &PlanFile, number: usize) -> Result<Self, Mistake> {
        let (reference, leg) = (reference(plan, number)?, leg(plan, number)?);
        let limits = LadderSettings {
            bounds: plan.limits.bounds(),
            safe_control: plan.safe_control.clone(),
            max_rate: plan.limits.max_rate.clone(),
            max_fallbacks: usize::MAX,
        };
        let nx = plan.states.len();
        let begin = reference.plan.times[0];
        let end = reference.end().min(begin + plan.valid_for);
        let (segment, candidate) = (Request::room(&reference), Request::room(&reference));
        Ok(Controller {
            solver: None,
            settings: Settings::of(plan),
            ladder: Ladder::new(limits.clone()),
            limits,
            begin,
            end,
            initial_state: leg.initial_state.clone(),
            latest: f64::NEG_INFINITY,
            moved: f64::NEG_INFINITY,
            counts: Counts::default(),
            gave_up: false,
            segment,
            candidate,
            planned: vec![0.0; nx],
            state: vec![0.0; nx],
            error: None,
            reference,
        })
    }

    /// With a solver that poses a problem at every step.
    #[must_use]
    pub fn with_solver(mut self, solver: Box<dyn TimedSolver>) -> Self {
        self.solver = Some(solver);
        self
    }

    /// With other settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Lets the solver touch its memory: two problems at the beginning of the plan, whose answers are thrown away. Returns whether it
    /// answered both within `patience` each.
    pub fn warm_up(&mut self, patience: Duration) -> bool {
        let times = &self.reference.plan.times;
        let between = 0.5 * (times[0] + times[1]);
        let Some(solver) = &mut self.solver else { return true };
        [self.begin, between].into_iter().all(|time| {
            let request = Request { time, state: &self.initial_state, previous: None };
            matches!(solver.solve(&request, patience, &mut self.candidate), Reply::Solved | Reply::Failed(_))
        })
    }

    /// For a new run of the same leg. What the solver has learned about its memory stays.
    pub fn reset(&mut self) {
        self.ladder = Ladder::new(self.limits.clone());
        (self.latest, self.moved) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        self.counts = Counts::default();
        (self.gave_up, self.error) = (false, None);
        self.segment.times.clear();
        if let Some(solver) = &mut self.solver {
            solver.forget();
        }
    }

    /// The control for `state` at `time`. It is finite, within limits and within the rate limit, whatever the arguments are.
    pub fn step(&mut self, time: f64, state: &[f64], control: &mut [f64]) -> Status {
        assert_eq!(
            control.len(),
            self.limits.safe_control.len(),
            "a control has as many numbers as the plan"
        );
        let status = self.decide(time, state, control);
        self.leave(time, status, control)
    }

    /// The safe control, as far as the rate limit allows, at a time of which no state is known.
    pub fn safe(&mut self, time: f64, control: &mut [f64]) -> Status {
        let status = self.fall(Why::Asked, control);
        self.leave(time, status, control)
    }

    /// Numbers and reasons so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether it gave up.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// What the solver said when it failed last.
    pub fn last_error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The declared safe control.
    pub fn safe_control(&self) -> &[f64] {
        self.ladder.safe_control()
    }

    /// The last verified solution.
    pub fn solution(&self) -> Option<&Segment> {
        (!self.segment.times.is_empty()).then_some(&self.segment)
    }

    /// When the plan begins.
    pub fn begin(&self) -> f64 {
        self.begin
    }

    /// The limits, whoever sets the control.
    fn leave(&mut self, time: f64, status: Status, control: &mut [f64]) -> Status {
        // A time that makes no sense must not make room for a jump.
        if time.is_finite() {
            self.moved = self.moved.max(time);
        }
        let known = self.moved > f64::NEG_INFINITY;
        self.ladder.guard(if known { self.moved } else { f64::INFINITY }, control);
        self.counts.rungs[status.rung as usize] += 1;
        self.counts.missed += usize::from(status.missed);
        status
    }

    fn decide(&mut self, time: f64, state: &[f64], control: &mut [f64]) -> Status {
        let why = if !time.is_finite() {
            Some(Why::BadTime)
        } else if time < self.latest {
            Some(Why::Backwards)
        } else {
            self.latest = time;
            if time < self.begin {
                Some(Why::Early)
            } else if time >= self.end {
                Some(Why::Expired)
            } else if self.gave_up {
                Some(Why::GaveUp)
            } else {
                None
            }
        };
        if let Some(why) = why {
            return self.fall(why, control);
        }
        if state.len() != self.state.len() || !state.iter().all(|x| x.is_finite()) {
            let gave_up = self.solver.is_some() && self.failed();
            return self.fall(if gave_up { Why::GaveUp } else { Why::BadState }, control);
        }
        self.reference.state(time, &mut self.planned);
        self.state.copy_from_slice(state);
        self.reference.unwrap_angles(&self.planned, &mut self.state);
        self.climb(time, control)
    }

    /// The safe control.
    fn fall(&mut self, why: Why, control: &mut [f64]) -> Status {
        control.copy_from_slice(self.ladder.safe_control());
        Status { rung: Rung::Safe, age: 0.0, missed: false, why: Some(why) }
    }

    /// Counts a failure; true if it was one too many.
    fn failed(&mut self) -> bool {
        self.counts.in_a_row += 1;
        self.gave_up |= self.counts.in_a_row > self.settings.max_fallbacks;
        self.gave_up
    }

    /// The best of the three upper rungs, at the state in `self.state`.
    fn climb(&mut self, time: f64, control: &mut [f64]) -> Status {
        let why = self.solve(time);
        if why.is_none() && self.solver.is_some() {
            self.counts.in_a_row = 0;
            let k = self.segment.interval(time).unwrap_or(0);
            control.copy_from_slice(self.segment.controls.at(k));
            return Status { rung: Rung::Fresh, age: 0.0, missed: false, why };
        }
        let missed = matches!(why, Some(Why::Late | Why::Busy));
        if why.is_some() && self.failed() {
            return Status { missed, ..self.fall(Why::GaveUp, control) };
        }
        if let Some(k) = self.segment.interval(time) {
            let s = &self.segment;
            s.state(k, time, &mut self.planned);
            follow(s.controls.at(k), s.gains.at(k), &self.planned, &self.state, control);
            return Status { rung: Rung::Shifted, age: time - s.times[0], missed, why };
        }
        let (plan, k) = (&self.reference.plan, self.reference.plan.interval(time));
        follow(plan.controls.at(k), plan.gains.at(k), &self.planned, &self.state, control);
        Status { rung: Rung::Planned, age: 0.0, missed, why }
    }

    /// Asks the solver, if there is one. A sound answer is in `self.segment` afterwards.
    fn solve(&mut self, time: f64) -> Option<Why> {
        let solver = self.solver.as_mut()?;
        // An answer to an earlier problem is as good as the previous one, if it still reaches to now.
        if solver.late(&mut self.candidate)
            && self.candidate.times.first() > self.segment.times.first()
            && is_right(&self.candidate, &self.reference, &self.limits, time)
        {
            std::mem::swap(&mut self.segment, &mut self.candidate);
        }
        let warm = self.counts.in_a_row < COLD_AFTER && !self.segment.times.is_empty();
        let request = Request { time, state: &self.state, previous: warm.then_some(&self.segment) };
        match solver.solve(&request, self.settings.budget, &mut self.candidate) {
            Reply::Solved => {
                let fresh = self.candidate.times.first() == Some(&time)
                    && is_right(&self.candidate, &self.reference, &self.limits, time);
                if !fresh {
                    return Some(Why::Unsound);
                }
                std::mem::swap(&mut self.segment, &mut self.candidate);
                None
            }
            Reply::Failed(error) => {
                self.error = Some(error.0);
                Some(Why::Failed)
            }
            Reply::Late => Some(Why::Late),
            Reply::Busy => Some(Why::Busy),
            Reply::Gone => Some(Why::Gone),
        }
    }
}

/// Whole, finite, reaching to `time`, within limits.
fn is_right(solution: &Segment, reference: &Reference, limits: &LadderSettings, time: f64) -> bool {
    let dims = reference.plan.dims();
    let within = |u: &[f64]| {
        u.iter().zip(limits.bounds.lower.iter().zip(&limits.bounds.upper)).all(|(u, (lower, upper))| {
            *u >= lower - LIMIT_TOLERANCE * (1.0 + lower.abs())
                && *u <= upper + LIMIT_TOLERANCE * (1.0 + upper.abs())
        })
    };
    solution.is_sound(dims.state, dims.control)
        && solution.interval(time).is_some()
        && solution.controls.iter().all(within)
}

/// u + K (x − x̄), the gains as gradients ∇ₓuⱼ, summed in this order: the exported C does the same.
fn follow(control: &[f64], gains: &[f64], planned: &[f64], state: &[f64], out: &mut [f64]) {
    let nx = planned.len();
    for (j, out) in out.iter_mut().enumerate() {
        let mut u = control[j];
        for i in 0..nx {
            u += gains[j * nx + i] * (state[i] - planned[i]);
        }
        *out = u;
    }
}
