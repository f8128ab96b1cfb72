//! A policy on a system: adaptive integration of state and running cost, piece by piece of the policy.

use super::dormand_prince::{ERROR, NODES, STAGES, dense_coefficients, interpolate};
use super::{Outcome, Policy, Run};
use crate::linalg::small::{Block, Kernel, Shape, specialized};
use crate::linalg::{Blocks, Points};
use crate::system::{Bounds, Cost, Dynamics, Task};
use std::sync::atomic::{AtomicBool, Ordering};

/// How exactly to integrate, and when to stop trying.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Error of a step relative to the state.
    pub relative: f64,
    /// Error of a step when the state is near zero.
    pub absolute: f64,
    /// Smallest step as a fraction of the horizon.
    pub min_step: f64,
    /// Steps, rejected ones included, after which the run ends.
    pub max_steps: usize,
    /// |xᵢ| beyond which the run counts as diverged.
    pub divergence: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-8, absolute: 1e-8, min_step: 1e-13, max_steps: 200_000, divergence: 1e8 }
    }
}

impl Tolerance {
    /// The same relative and absolute tolerance.
    pub fn new(tolerance: f64) -> Self {
        Tolerance { relative: tolerance, absolute: tolerance, ..Tolerance::default() }
    }
}

/// What is run: where from, how long, at what cost, within which limits.
#[derive(Clone, Copy)]
pub struct Experiment<'a> {
    /// x at `start`.
    pub initial_state: &'a [f64],
    /// The time at which it begins.
    pub start: f64,
    /// The time at which it ends.
    pub end: f64,
    /// c and c_T, if the run is to be charged.
    pub cost: Option<&'a dyn Cost>,
    /// The run ends where a state leaves these.
    pub state_bounds: Option<&'a Bounds>,
    /// Looked at once a step; `true` stops the run.
    pub cancel: Option<&'a AtomicBool>,
}

impl<'a> Experiment<'a> {
    /// One episode of `task`.
    pub fn of(task: &'a Task) -> Self {
        Experiment {
            initial_state: &task.initial_state,
            start: 0.0,
            end: task.horizon,
            cost: Some(task.cost.as_ref()),
            state_bounds: Some(&task.state_bounds),
            cancel: None,
        }
    }
}

/// Runs policies on dynamics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulator {
    /// How exactly.
    pub tolerance: Tolerance,
}

impl Simulator {
    /// A simulator with equal relative and absolute tolerance.
    pub fn new(tolerance: f64) -> Self {
        Simulator { tolerance: Tolerance::new(tolerance) }
    }

    /// Runs `policy` on `dynamics`. Ends with one [`Outcome`], whatever the policy, the dynamics or the cost do.
    pub fn run(
        &self,
        dynamics: &mut dyn Dynamics,
        policy: &mut dyn Policy,
        experiment: &Experiment<'_>,
    ) -> Run {
        let dims = dynamics.dims();
        assert_eq!(
            experiment.initial_state.len(),
            dims.state,
            "initial state and dynamics differ in dimension"
        );
        let run = Run {
            outcome: Outcome::Completed,
            times: Vec::new(),
            states: Blocks::zeros(dims.state, 0),
            controls: Blocks::zeros(dims.control, 0),
            costs: Vec::new(),
            terminal_cost: 0.0,
            stop_cost: 0.0,
            evaluations: 0,
            dense: Blocks::zeros(5 * dims.state, 0),
        };
        let (point, probe) = (vec![0.0; dims.point()], vec![0.0; dims.state]);
        specialized(
            dims,
            Loop { tolerance: &self.tolerance, dynamics, policy, experiment, run, point, probe },
        )
    }
}

struct Loop<'a, 'e> {
    tolerance: &'a Tolerance,
    dynamics: &'a mut dyn Dynamics,
    policy: &'a mut dyn Policy,
    experiment: &'a Experiment<'e>,
    run: Run,
    /// z of the last evaluation.
    point: Vec<f64>,
    /// A state between two steps.
    probe: Vec<f64>,
}

/// Where the run is, and the slopes of the step it is trying.
struct Front<S: Shape> {
    time: f64,
    x: S::X,
    /// The control at `time`, after a jump there.
    u: S::U,
    /// ∫ c dt so far.
    cost: f64,
    /// The step to try next.
    h: f64,
    /// kᵢ of the state and of the running cost.
    slopes: [S::X; 7],
    rates: [f64; 7],
    /// x at the end of the step.
    after: S::X,
}

impl Kernel for Loop<'_, '_> {
    type Output = Run;

    #[inline(always)]
    fn run<S: Shape>(mut self, shape: S) -> Run {
        let (nx, nu) = (shape.nx(), shape.nu());
        let mut front = Front::<S> {
            time: self.experiment.start,
            x: S::X::zeros(nx),
            u: S::U::zeros(nu),
            cost: 0.0,
            h: (self.experiment.end - self.experiment.start) * 1e-3,
            slopes: std::array::from_fn(|_| S::X::zeros(nx)),
            rates: [0.0; 7],
            after: S::X::zeros(nx),
        };
        front.x.get_mut().copy_from_slice(self.experiment.initial_state);
        self.run.outcome = self.go(shape, &mut front);
        self.push(&front);
        let terminal = self.experiment.cost.map_or(0.0, |c| c.terminal(front.time, front.x.get()));
        if self.run.outcome == Outcome::Completed && !terminal.is_finite() {
            self.run.outcome = Outcome::NonFinite { time: front.time };
        }
        if self.run.outcome == Outcome::Completed {
            self.run.terminal_cost = terminal;
        } else if front.rates[0].is_finite() {
            self.run.stop_cost = front.rates[0] * (self.experiment.end - front.time).max(0.0);
        }
        self.run
    }
}

impl Loop<'_, '_> {
    /// The run up to its outcome.
    #[inline(always)]
    fn go<S: Shape>(&mut self, shape: S, front: &mut Front<S>) -> Outcome {
        let end = self.experiment.end;
        if let Some(outcome) = self.violation(front.time, front.x.get()) {
            return outcome;
        }
        let mut budget = self.tolerance.max_steps;
        while front.time < end {
            let until = match self.policy.prepare(front.time, front.x.get()) {
                // Written this way round so that NaN stops the run too.
                Ok(until) if until > front.time => until.min(end),
                Ok(_) => return Outcome::StepTooSmall { time: front.time },
                Err(error) => return Outcome::ControllerGaveUp { time: front.time, error },
            };
            if !self.evaluate(shape, front, 0, 0.0) {
                return Outcome::NonFinite { time: front.time };
            }
            while front.time < until {
                if self.experiment.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) {
                    return Outcome::Cancelled { time: front.time };
                }
                if budget == 0 {
                    return Outcome::TooManySteps { time: front.time };
                }
                budget -= 1;
                if let Some(outcome) = self.step(shape, front, until) {
                    return outcome;
                }
            }
        }
        Outcome::Completed
    }

    /// Tries one step towards `until`; the front moves if it is accurate enough.
    #[inline(always)]
    fn step<S: Shape>(&mut self, shape: S, front: &mut Front<S>, until: f64) -> Option<Outcome> {
        let left = until - front.time;
        let whole = front.h >= left;
        let h = if whole { left } else { front.h };
        let error = self.attempt(shape, front, h);
        if error.is_nan() || error > 1.0 {
            // NaN: a stage left the domain of f or c; come closer in short steps.
            let shrink = if error.is_nan() { 0.1 } else { (0.9 * error.powf(-0.2)).max(0.2) };
            front.h = h * shrink;
            let horizon = self.experiment.end - self.experiment.start;
            let smallest = (self.tolerance.min_step * horizon).max(8.0 * f64::EPSILON * front.time.abs());
            let time = front.time;
            let wall =
                if error.is_nan() { Outcome::NonFinite { time } } else { Outcome::StepTooSmall { time } };
            return (front.h < smallest).then_some(wall);
        }
        let growth = if error > 0.0 { (0.9 * error.powf(-0.2)).min(5.0) } else { 5.0 };
        // A step cut short by the end of a piece says nothing against a longer one.
        front.h = if whole { front.h.max(h * growth) } else { h * growth };
        self.accept(front, h, if whole { until } else { front.time + h })
    }

    /// All stages of a step of length `h`; returns the error in units of the tolerance (NaN: left the domain).
    #[inline(always)]
    fn attempt<S: Shape>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> f64 {
        let inside = self.stage::<S, 1>(shape, front, h)
            && self.stage::<S, 2>(shape, front, h)
            && self.stage::<S, 3>(shape, front, h)
            && self.stage::<S, 4>(shape, front, h)
            && self.stage::<S, 5>(shape, front, h)
            && self.stage::<S, 6>(shape, front, h);
        if !inside {
            return f64::NAN;
        }
        let nx = shape.nx();
        let Tolerance { relative, absolute, .. } = *self.tolerance;
        let mut squares = 0.0;
        for j in 0..nx {
            let mut sum = 0.0;
            for i in 0..7 {
                sum += ERROR[i] * front.slopes[i].get()[j];
            }
            let size = front.x.get()[j].abs().max(front.after.get()[j].abs());
            let scaled = h * sum / (absolute + relative * size);
            squares += scaled * scaled;
        }
        if self.experiment.cost.is_some() {
            let mut sum = 0.0;
            for i in 0..7 {
                sum += ERROR[i] * front.rates[i];
            }
            let scaled = h * sum / (absolute + relative * front.cost.abs());
            squares += scaled * scaled;
        }
        (squares / nx as f64).sqrt()
    }

    /// The state of stage `I` and its slope. The stage is a constant, so that its weights are too.
    #[inline(always)]
    fn stage<S: Shape, const I: usize>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> bool {
        for j in 0..shape.nx() {
            let mut sum = STAGES[I][0] * front.slopes[0].get()[j];
            for i in 1..I {
                sum += STAGES[I][i] * front.slopes[i].get()[j];
            }
            front.after.get_mut()[j] = front.x.get()[j] + h * sum;
        }
        self.evaluate(shape, front, I, h)
    }

    /// Slope and cost rate of `stage` of a step of length `h`, at the state in `after` (at the front itself for stage 0).
    /// False if something is not finite.
    #[inline(always)]
    fn evaluate<S: Shape>(&mut self, shape: S, front: &mut Front<S>, stage: usize, h: f64) -> bool {
        let nx = shape.nx();
        let time = front.time + NODES[stage] * h;
        let x = if stage == 0 { front.x.get() } else { front.after.get() };
        self.policy.control(time, x, &mut self.point[nx..]);
        if stage == 0 {
            front.u.get_mut().copy_from_slice(&self.point[nx..]);
        }
        self.point[..nx].copy_from_slice(x);
        let z = Points::single(&self.point);
        self.dynamics.derivative(z, front.slopes[stage].get_mut());
        self.run.evaluations += 1;
        if let Some(cost) = self.experiment.cost {
            cost.running(&[time], z, &mut front.rates[stage..=stage]);
        }
        // One sum tells whether all are finite: NaN and infinity survive it.
        let sum: f64 = front.slopes[stage].get().iter().map(|k| k * 0.0).sum();
        sum + front.rates[stage] * 0.0 == 0.0
    }

    /// Records the step and moves the front to `next`, or to the first violation on the way.
    #[inline(always)]
    fn accept<S: Shape>(&mut self, front: &mut Front<S>, h: f64, next: f64) -> Option<Outcome> {
        self.push(front);
        let count = self.run.dense.len();
        self.run.dense.grow();
        let coefficients = self.run.dense.at_mut(count);
        dense_coefficients(
            h,
            front.x.get(),
            front.after.get(),
            |i, j| front.slopes[i].get()[j],
            coefficients,
        );
        let weights = STAGES[6].iter().zip(&front.rates);
        let gained = h * weights.map(|(b, rate)| b * rate).sum::<f64>();
        if let Some((theta, outcome)) = self.first_violation(front.time, h, front.after.get()) {
            let coefficients = self.run.dense.at_mut(count);
            interpolate(coefficients, theta, front.x.get_mut());
            front.time += theta * h;
            front.cost += theta * gained;
            restrict(coefficients, theta, front.x.get());
            return Some(outcome);
        }
        front.time = next;
        front.cost += gained;
        std::mem::swap(&mut front.x, &mut front.after);
        // The last stage was at the end of the step: its slope begins the next, its control is what held there.
        front.slopes.swap(0, 6);
        front.rates[0] = front.rates[6];
        let nx = front.x.get().len();
        front.u.get_mut().copy_from_slice(&self.point[nx..]);
        None
    }

    /// The front as a row of the run.
    fn push<S: Shape>(&mut self, front: &Front<S>) {
        self.run.times.push(front.time);
        self.run.states.push(front.x.get());
        self.run.controls.push(front.u.get());
        self.run.costs.push(front.cost);
    }

    /// The outcome that the state `x` means, if it ends a run.
    #[inline(always)]
    fn violation(&self, time: f64, x: &[f64]) -> Option<Outcome> {
        if let Some(state) = self.experiment.state_bounds.and_then(|b| b.violated_by(x)) {
            return Some(Outcome::LimitHit { state, time });
        }
        x.iter().any(|x| !(x.abs() <= self.tolerance.divergence)).then_some(Outcome::Diverged { time })
    }

    /// The first violation in the step just recorded, as a fraction of it. Looks at the end and three points between,
    /// then halves the interval: a state that leaves and returns within a quarter of a step may pass.
    #[inline(always)]
    fn first_violation(&mut self, time: f64, h: f64, after: &[f64]) -> Option<(f64, Outcome)> {
        let ended = self.violation(time + h, after);
        let coefficients = self.run.dense.at(self.run.dense.len() - 1);
        if ended.is_none() && self.experiment.state_bounds.is_none_or(|b| stays_within(coefficients, b)) {
            return None;
        }
        let mut x = std::mem::take(&mut self.probe);
        let mut at = |theta: f64| {
            interpolate(coefficients, theta, &mut x);
            self.violation(time + theta * h, &x)
        };
        let mut found = [0.25, 0.5, 0.75].into_iter().find_map(|theta| at(theta).map(|o| (theta, o)));
        found = found.or(ended.map(|outcome| (1.0, outcome)));
        if let Some((high, outcome)) = &mut found {
            let mut low = *high - 0.25;
            while *high - low > 1e-12 {
                let middle = 0.5 * (low + *high);
                match at(middle) {
                    Some(o) => (*high, *outcome) = (middle, o),
                    None => low = middle,
                }
            }
        }
        self.probe = x;
        found
    }
}

/// True if the dense output cannot leave `bounds` between two ends that lie within: from the sizes of its coefficients,
/// |y − c₀| ≤ max(c₁, 0) + (|c₂| + |c₃|)/4 + |c₄|/16 towards each side.
#[inline(always)]
fn stays_within(coefficients: &[f64], bounds: &Bounds) -> bool {
    let n = bounds.dim();
    (0..n).all(|j| {
        let c = |i: usize| coefficients[i * n + j];
        let bulge = 0.25 * (c(2).abs() + c(3).abs()) + 0.0625 * c(4).abs();
        let (low, high) = (c(0) + c(1).min(0.0) - bulge, c(0) + c(1).max(0.0) + bulge);
        low >= bounds.lower[j] && high <= bounds.upper[j]
    })
}

/// Turns the dense output of a step into that of its first part, up to `theta`, where the state is `end`.
///
/// The polynomial is sampled and refitted on the shorter interval: it is the same polynomial, so five points give it
/// exactly (up to rounding).
fn restrict(coefficients: &mut [f64], theta: f64, end: &[f64]) {
    let n = end.len();
    let original = coefficients.to_vec();
    let at = |s: f64| {
        let mut x = vec![0.0; n];
        interpolate(&original, s * theta, &mut x);
        x
    };
    let (quarter, half, most) = (at(0.25), at(0.5), at(0.75));
    for j in 0..n {
        let (c0, c1) = (original[j], end[j] - original[j]);
        // y(s) = c0 + s (c1 + (1−s)(c2 + s (c3 + (1−s) c4))): remove what c0 and c1 explain, divide by s(1−s).
        let rest = |s: f64, y: f64| (y - c0 - s * c1) / (s * (1.0 - s));
        let (q, h, m) = (rest(0.25, quarter[j]), rest(0.5, half[j]), rest(0.75, most[j]));
        // c2 + s c3 + s(1−s) c4 through three points.
        let c4 = 8.0 * (2.0 * h - q - m);
        let c3 = 2.0 * (m - q);
        let c2 = h - 0.5 * c3 - 0.25 * c4;
        for (i, c) in [c0, c1, c2, c3, c4].into_iter().enumerate() {
            coefficients[i * n + j] = c;
        }
    }
}
