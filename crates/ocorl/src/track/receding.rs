//! Receding-horizon control: solve at every period, hold the first control, never let a bad solution out.

use super::Reference;
use super::feedback::{apply_gains, follow};
use super::ladder::{Ladder, LadderSettings, Rung};
use crate::linalg::Blocks;
use crate::simulate::{Policy, PolicyError};

/// A short plan from the present state: what a solver hands over. Same layout as a [`Plan`](crate::plan::Plan).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Node times; the first is the present.
    pub times: Vec<f64>,
    /// x at the nodes.
    pub states: Blocks,
    /// u on the intervals.
    pub controls: Blocks,
    /// K on the intervals, as gradients ∇ₓuⱼ.
    pub gains: Blocks,
}

impl Segment {
    /// The interval that contains `time`, if one does.
    pub fn interval(&self, time: f64) -> Option<usize> {
        let next = self.times.partition_point(|&t| t <= time);
        (next >= 1 && next < self.times.len()).then(|| next - 1)
    }

    /// x̄ in interval `k`, on the straight line between its nodes.
    pub fn state(&self, k: usize, time: f64, out: &mut [f64]) {
        let (t0, t1) = (self.times[k], self.times[k + 1]);
        let w = ((time - t0) / (t1 - t0)).clamp(0.0, 1.0);
        let (a, b) = (self.states.at(k), self.states.at(k + 1));
        for (i, out) in out.iter_mut().enumerate() {
            *out = a[i] + w * (b[i] - a[i]);
        }
    }

    /// True if it is whole, of `nx` states and `nu` controls, its times increase and every number is finite.
    pub fn is_sound(&self, nx: usize, nu: usize) -> bool {
        let n = self.times.len().saturating_sub(1);
        let shapes = n >= 1
            && (self.states.size(), self.states.len()) == (nx, n + 1)
            && (self.controls.size(), self.controls.len()) == (nu, n)
            && (self.gains.size(), self.gains.len()) == (nx * nu, n);
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        shapes
            && self.times.windows(2).all(|t| t[1] > t[0])
            && finite(&self.times)
            && finite(self.states.as_slice())
            && finite(self.controls.as_slice())
            && finite(self.gains.as_slice())
    }
}

/// Why a solver has no solution; the ladder takes over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SolveError(pub String);

/// Poses and solves the problem of one update.
pub trait Solver {
    /// Fills `out` with a plan from `state` at `time`. `previous` is the last verified solution, for a warm start;
    /// without one the solver starts from the reference.
    fn solve(
        &mut self,
        reference: &Reference,
        time: f64,
        state: &[f64],
        previous: Option<&Segment>,
        out: &mut Segment,
    ) -> Result<(), SolveError>;
}

/// Solves anew every `period`; in between, each control is held until the next node or update, or (with
/// [`Receding::with_gains`]) follows the state by the solution's gains.
///
/// Each update ends on one [`Rung`]: a fresh solution that is finite, whole and within limits; else the previous one
/// shifted in time with its gains; else the plan with its gains; else the safe control. After two failures the next
/// solve starts cold.
pub struct Receding<S> {
    reference: Reference,
    solver: S,
    period: f64,
    ladder: Ladder,
    next_update: f64,
    rung: Rung,
    /// The last verified solution.
    segment: Option<Segment>,
    candidate: Segment,
    state: Vec<f64>,
    planned: Vec<f64>,
    held: Vec<f64>,
    /// Whether a fresh solution acts through its gains.
    gains: bool,
    /// The interval of the solution that acts now, if it does.
    acting: Option<usize>,
}

impl<S: Solver> Receding<S> {
    /// Follows `reference`, solving every `period`.
    pub fn new(reference: Reference, solver: S, period: f64, settings: LadderSettings) -> Self {
        assert!(period > 0.0 && period.is_finite(), "the control period must be positive, not {period}");
        let nx = reference.plan.dims().state;
        let ladder = Ladder::new(settings);
        let held = ladder.safe_control().to_vec();
        Receding {
            reference,
            solver,
            period,
            ladder,
            next_update: f64::NEG_INFINITY,
            rung: Rung::Safe,
            segment: None,
            candidate: Segment::default(),
            state: vec![0.0; nx],
            planned: vec![0.0; nx],
            held,
            gains: false,
            acting: None,
        }
    }

    /// Between two updates the control follows the state, u = u_k + K_k (x − x̄(t)), instead of being held: a longer period then costs
    /// little. It acts continuously, so a rate limit does not apply.
    #[must_use]
    pub fn with_gains(mut self) -> Self {
        self.gains = true;
        self
    }

    /// The ladder, for its counts.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// The rung of the last update.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// Solves, or falls back; `self.state` holds the unwrapped state.
    fn update(&mut self, time: f64) -> Result<(), PolicyError> {
        let dims = self.reference.plan.dims();
        if time >= self.reference.end() {
            // The plan's validity is over: not a failure, but nothing else is known.
            self.rung = Rung::Safe;
            return Ok(());
        }
        let cold = self.ladder.consecutive_fallbacks() >= 2;
        let previous = if cold { None } else { self.segment.as_ref() };
        let result = if self.state.iter().all(|x| x.is_finite()) {
            self.solver.solve(&self.reference, time, &self.state, previous, &mut self.candidate)
        } else {
            Err(SolveError("the measured state is not finite".into()))
        };
        let reason = match result {
            Ok(()) if self.candidate.is_sound(dims.state, dims.control) => {
                match &mut self.segment {
                    Some(segment) => std::mem::swap(segment, &mut self.candidate),
                    None => self.segment = Some(std::mem::take(&mut self.candidate)),
                }
                self.rung = Rung::Fresh;
                return self.ladder.note(time, Rung::Fresh, "");
            }
            Ok(()) => "the solution is not finite or not whole".to_string(),
            Err(error) => error.0,
        };
        let covered = self.segment.as_ref().is_some_and(|s| s.interval(time).is_some());
        self.rung = if covered { Rung::Shifted } else { Rung::Planned };
        self.ladder.note(time, self.rung, &reason)
    }

    /// The control of the current rung at `time`, held, and until when it holds.
    fn hold(&mut self, time: f64) -> f64 {
        let mut until = self.next_update;
        self.acting = None;
        match (self.rung, &self.segment) {
            (Rung::Fresh, Some(segment)) if self.gains && segment.interval(time).is_some() => {
                self.acting = segment.interval(time);
                until = self.acting.map_or(until, |k| until.min(segment.times[k + 1]));
            }
            (Rung::Fresh, Some(segment)) => match segment.interval(time) {
                Some(k) => {
                    self.held.copy_from_slice(segment.controls.at(k));
                    until = until.min(segment.times[k + 1]);
                }
                // The segment is shorter than the period: its last control stays.
                None => self.held.copy_from_slice(segment.controls.at(segment.controls.len() - 1)),
            },
            (Rung::Shifted, Some(segment)) => {
                let k = segment.interval(time).unwrap_or(segment.controls.len() - 1);
                let (x, gains) = (segment.states.at(k), segment.gains.at(k));
                follow(segment.controls.at(k), gains, x, &self.state, &mut self.held);
                until = until.min(segment.times[k + 1]);
            }
            (Rung::Safe, _) => self.held.copy_from_slice(self.ladder.safe_control()),
            _ => {
                let k = self.reference.plan.interval(time);
                apply_gains(&self.reference.plan, k, &self.planned, &self.state, &mut self.held);
                until = until.min(self.reference.plan.times[k + 1]);
            }
        }
        self.ladder.guard(time, &mut self.held);
        if until > time { until } else { self.next_update }
    }
}

impl<S: Solver> Policy for Receding<S> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        self.reference.state(time, &mut self.planned);
        self.state.copy_from_slice(state);
        self.reference.unwrap_angles(&self.planned, &mut self.state);
        // Rounding of accumulated times must not cost an update.
        if time >= self.next_update - 1e-9 * self.period {
            self.next_update = time + self.period;
            self.update(time)?;
        }
        Ok(self.hold(time))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        let (Some(k), Some(segment)) = (self.acting, &self.segment) else {
            out.copy_from_slice(&self.held);
            return;
        };
        segment.state(k, time, &mut self.planned);
        self.state.copy_from_slice(state);
        self.reference.unwrap_angles(&self.planned, &mut self.state);
        follow(segment.controls.at(k), segment.gains.at(k), &self.planned, &self.state, out);
        self.ladder.limit(out);
    }

    fn rungs(&self) -> Option<[usize; 4]> {
        Some(self.ladder.counts())
    }
}
