//! Closed-loop simulation: adaptive integration of state and running cost under a policy.

use super::dormand_prince::{
    ERROR_3, ERROR_5, NODES, STAGES, dense_output, dense_size, interpolate, overshoot,
};
use super::rosenbrock::{Rosenbrock, Slope};
use super::{Outcome, Policy, Run, Trajectory};
use crate::linalg::small::{Block, Kernel, Shape, specialized};
use crate::linalg::{Blocks, Points};
use crate::system::{Bounds, Cost, Dynamics, Task};
use std::sync::atomic::{AtomicBool, Ordering};

/// Integration tolerances and termination limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Permitted error of a step relative to the state.
    pub relative: f64,
    /// Permitted error of a step for states near zero.
    pub absolute: f64,
    /// Smallest step as a fraction of the horizon.
    pub min_step: f64,
    /// Largest number of steps, rejected ones included.
    pub max_steps: usize,
    /// The run counts as diverged when |xᵢ| exceeds this value for some i, in units of the largest |x(0)| and |x'(0)| T if that is
    /// larger than one.
    pub divergence: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-8, absolute: 1e-8, min_step: 1e-13, max_steps: 200_000, divergence: 1e8 }
    }
}

impl Tolerance {
    /// Sets the relative and the absolute tolerance to the same value.
    pub fn new(tolerance: f64) -> Self {
        Tolerance { relative: tolerance, absolute: tolerance, ..Tolerance::default() }
    }
}

/// The conditions of a run: initial state, time span, cost and limits.
#[derive(Clone, Copy)]
pub struct Experiment<'a> {
    /// The state x at the time `start`.
    pub initial_state: &'a [f64],
    /// The time at which the run begins.
    pub start: f64,
    /// The time at which the run ends.
    pub end: f64,
    /// The running cost c and terminal cost c_T; `None` if no cost is to be evaluated.
    pub cost: Option<&'a dyn Cost>,
    /// The run ends when a state leaves these bounds.
    pub state_bounds: Option<&'a Bounds>,
    /// Read once in each step; `true` stops the run.
    pub cancel: Option<&'a AtomicBool>,
    /// Ascending times, the last not before `end`, at which [`Run::samples`] records state, control and cost. If the run stops
    /// early, its end is the last sample.
    pub sample_times: &'a [f64],
    /// Whether [`Run::jumps`] records the control on both sides of each of its discontinuities.
    pub sample_jumps: bool,
}

impl<'a> Experiment<'a> {
    /// The conditions of one episode of `task`.
    pub fn of(task: &'a Task) -> Self {
        Experiment {
            initial_state: &task.initial_state,
            start: 0.0,
            end: task.horizon,
            cost: Some(task.cost.as_ref()),
            state_bounds: Some(&task.state_bounds),
            cancel: None,
            sample_times: &[],
            sample_jumps: false,
        }
    }
}

/// Simulates policies on dynamics with the adaptive method of `dormand_prince`.
///
/// A run in which this method progresses too slowly goes on with the implicit method of `rosenbrock` (stiff equations, or a stiff feedback
/// law). If that is too slow as well, it goes on with steps of constant length (equations that jump, such as dry friction).
///
/// ```
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let mut law = Law(|_t: f64, x: &[f64], u: &mut [f64]| u[0] = -(4.0 * x[0] + 3.0 * x[1]));
/// let run = Simulator::new(1e-8).run(pendulum.dynamics().as_mut(), &mut law, &Experiment::of(&pendulum.task));
/// assert_eq!(run.outcome, Outcome::Completed);
/// assert!(run.final_state()[0].abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Simulator {
    /// The integration tolerances.
    pub tolerance: Tolerance,
    /// Whether [`Run::state_at`] between two steps is as accurate as the steps (three more evaluations per step), or a cubic
    /// interpolation of both ends.
    pub dense: bool,
}

impl Default for Simulator {
    fn default() -> Self {
        Simulator { tolerance: Tolerance::default(), dense: true }
    }
}

impl Simulator {
    /// A simulator with equal relative and absolute tolerance.
    pub fn new(tolerance: f64) -> Self {
        Simulator { tolerance: Tolerance::new(tolerance), ..Simulator::default() }
    }

    /// Simulates `policy` on `dynamics`. Every run ends with one [`Outcome`], also if the policy, the dynamics or the cost fail.
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
            steps: Trajectory::empty(dims),
            terminal_cost: 0.0,
            stop_cost: 0.0,
            evaluations: 0,
            samples: Trajectory::empty(dims),
            jumps: Trajectory::empty(dims),
            method: Method::Explicit,
            dense: Blocks::zeros(dense_size(dims.state + 1), 0),
        };
        let (point, probe) = (vec![0.0; dims.point()], vec![0.0; dims.state + 1]);
        let Simulator { tolerance, dense } = self;
        let (dense, taken) = (*dense, 0);
        specialized(
            dims,
            Integration {
                tolerance,
                dense,
                dynamics,
                policy,
                experiment,
                run,
                point,
                probe,
                taken,
                implicit: Rosenbrock::default(),
                divergence: tolerance.divergence,
            },
        )
    }
}

/// Controls that differ by less than this (relative to their magnitude) count as continuous.
const SAME_CONTROL: f64 = 1e-9;

/// How a run is integrated. A method that is too slow is replaced by the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Adaptive steps of `dormand_prince`.
    Explicit,
    /// Adaptive steps of `rosenbrock`, for stiff systems.
    Implicit,
    /// Steps of constant length, for discontinuous right-hand sides. The error is not controlled; a run with a large one is ended.
    Fixed,
}

impl Method {
    /// The method that replaces one which is too slow.
    fn next(self) -> Option<Method> {
        match self {
            Method::Explicit => Some(Method::Implicit),
            Method::Implicit => Some(Method::Fixed),
            Method::Fixed => None,
        }
    }
}

/// Number of steps, rejected ones included, after each of which the progress of the method is judged.
const JUDGED: usize = 2_000;

/// Part of the horizon that a method must cover in [`JUDGED`] steps; otherwise the next method replaces it.
const PROGRESS: f64 = 0.02;

/// The same for the explicit method where the system is stiff.
const STIFF_PROGRESS: f64 = 0.2;

/// The system is stiff where the steps of the explicit method are longer than this, in units of 1/‖J‖: accuracy asks for steps of
/// about 1, the stability of the method for steps below 6.
const STIFF: f64 = 2.0;

/// Number of steps of constant length in the horizon.
const FIXED_STEPS: f64 = 20_000.0;

/// Largest permitted error of a step of constant length, in units of the largest change |x'| T that the state could make in the
/// horizon. A step over a discontinuity has an error of |x'| T / [`FIXED_STEPS`]; an unstable one exceeds this value at once.
const FIXED_ERROR: f64 = 1e-2;

struct Integration<'a, 'e> {
    tolerance: &'a Tolerance,
    dense: bool,
    dynamics: &'a mut dyn Dynamics,
    policy: &'a mut dyn Policy,
    experiment: &'a Experiment<'e>,
    run: Run,
    /// The point z of the last evaluation.
    point: Vec<f64>,
    /// Scratch memory for a state and the accumulated cost between two steps.
    probe: Vec<f64>,
    /// Number of sample times that have been processed.
    taken: usize,
    implicit: Rosenbrock,
    /// The magnitude beyond which a state counts as diverged.
    divergence: f64,
}

/// The present state of the integration, and the stages of the step being tried.
struct Front<S: Shape> {
    time: f64,
    x: S::X,
    /// The control at `time`, after a discontinuity there.
    u: S::U,
    /// The accumulated cost ∫ c dt.
    cost: f64,
    /// The length of the next step to try.
    h: f64,
    /// The stages kᵢ of the state and of the running cost.
    slopes: [S::X; 16],
    rates: [f64; 16],
    /// The state x at the end of the step.
    after: S::X,
    /// The cost of the step.
    gained: f64,
}

impl Kernel for Integration<'_, '_> {
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
            rates: [0.0; 16],
            after: S::X::zeros(nx),
            gained: 0.0,
        };
        front.x.get_mut().copy_from_slice(self.experiment.initial_state);
        self.run.outcome = self.integrate(shape, &mut front);
        self.push(&front);
        self.sample_end(&front);
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

impl Integration<'_, '_> {
    /// Integrates until the run ends and returns its outcome.
    #[inline(always)]
    fn integrate<S: Shape>(&mut self, shape: S, front: &mut Front<S>) -> Outcome {
        let end = self.experiment.end;
        let largest = |values: &[f64]| values.iter().fold(1.0_f64, |largest, value| largest.max(value.abs()));
        self.divergence = self.tolerance.divergence * largest(front.x.get());
        if let Some(outcome) = self.violation(front.time, front.x.get()) {
            return outcome;
        }
        let mut budget = self.tolerance.max_steps;
        let (mut judge, mut judged) = (budget.saturating_sub(JUDGED), front.time);
        while front.time < end {
            let until = match self.policy.prepare(front.time, front.x.get()) {
                // Written in this form so that a NaN stops the run too.
                Ok(until) if until > front.time => until.min(end),
                Ok(_) => return Outcome::StepTooSmall { time: front.time },
                Err(error) => return Outcome::of_error(front.time, error),
            };
            let before = front.u.clone();
            if !self.evaluate(shape, front, 0, 0.0) {
                return Outcome::NonFinite { time: front.time };
            }
            if front.time > self.experiment.start {
                if self.experiment.sample_jumps {
                    self.sample_jump(front, before.get());
                }
            } else {
                let change = largest(front.slopes[0].get()) * (end - front.time);
                self.divergence = self.divergence.max(self.tolerance.divergence * change);
            }
            while front.time < until {
                if self.experiment.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) {
                    return Outcome::Cancelled { time: front.time };
                }
                if budget == 0 {
                    return Outcome::TooManySteps { time: front.time };
                }
                budget -= 1;
                if budget == judge {
                    let (covered, horizon) = (front.time - judged, end - self.experiment.start);
                    let slow = self.run.method == Method::Explicit && covered < STIFF_PROGRESS * horizon;
                    if covered < PROGRESS * horizon
                        || slow && self.is_stiff(shape, front, covered / JUDGED as f64)
                    {
                        self.replace_method(front);
                    }
                    (judge, judged) = (budget.saturating_sub(JUDGED), front.time);
                }
                if let Some(outcome) = self.step(shape, front, until) {
                    return outcome;
                }
            }
        }
        Outcome::Completed
    }

    /// Tries one step towards `until`; accepts it if the error is within the tolerance.
    #[inline(always)]
    fn step<S: Shape>(&mut self, shape: S, front: &mut Front<S>, until: f64) -> Option<Outcome> {
        let left = until - front.time;
        let whole = front.h >= left;
        let h = if whole { left } else { front.h };
        let (error, power) = match self.run.method {
            Method::Explicit => (self.attempt(shape, front, h), -0.125),
            Method::Implicit => (self.attempt_implicit(shape, front, h), -0.25),
            Method::Fixed => {
                let error = self.attempt(shape, front, h);
                // Steps of constant length; one that left the domain of f or c is tried again with a shorter one.
                let horizon = self.experiment.end - self.experiment.start;
                front.h = horizon / FIXED_STEPS;
                let unstable = |j: usize| {
                    let (error, _) = estimates(|i| front.slopes[i].get()[j]);
                    let size = front.x.get()[j].abs().max(horizon * front.slopes[0].get()[j].abs());
                    h * error.abs() > FIXED_ERROR * size.max(1.0)
                };
                if !error.is_nan() && (0..shape.nx()).any(unstable) {
                    return Some(Outcome::TooManySteps { time: front.time });
                }
                (if error.is_nan() { error } else { 1.0 }, 0.0)
            }
        };
        if error.is_nan() || error > 1.0 {
            // NaN: a stage left the domain of f or c, which is approached in short steps.
            let shrink = if error.is_nan() { 0.1 } else { (0.9 * error.powf(power)).max(0.2) };
            front.h = h * shrink;
            let horizon = self.experiment.end - self.experiment.start;
            let smallest = (self.tolerance.min_step * horizon).max(8.0 * f64::EPSILON * front.time.abs());
            let time = front.time;
            if front.h >= smallest {
                return None;
            }
            if error.is_nan() {
                return Some(Outcome::NonFinite { time });
            }
            return (!self.replace_method(front)).then_some(Outcome::StepTooSmall { time });
        }
        if self.run.method != Method::Fixed {
            let growth = if error > 0.0 { (0.9 * error.powf(power)).min(6.0) } else { 6.0 };
            // A step that was shortened by the end of a control piece must not reduce the next one.
            front.h = if whole { front.h.max(h * growth) } else { h * growth };
        }
        self.accept(shape, front, h, if whole { until } else { front.time + h })
    }

    /// Computes all stages of a step of length `h`; returns the error in units of the tolerance (NaN if a stage left the domain of
    /// f or c).
    #[inline(always)]
    fn attempt<S: Shape>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> f64 {
        let inside = self.stage::<S, 1>(shape, front, h)
            && self.stage::<S, 2>(shape, front, h)
            && self.stage::<S, 3>(shape, front, h)
            && self.stage::<S, 4>(shape, front, h)
            && self.stage::<S, 5>(shape, front, h)
            && self.stage::<S, 6>(shape, front, h)
            && self.stage::<S, 7>(shape, front, h)
            && self.stage::<S, 8>(shape, front, h)
            && self.stage::<S, 9>(shape, front, h)
            && self.stage::<S, 10>(shape, front, h)
            && self.stage::<S, 11>(shape, front, h)
            && self.stage::<S, 12>(shape, front, h);
        if !inside {
            return f64::NAN;
        }
        let weights = STAGES[12].iter().zip(&front.rates);
        front.gained = h * weights.map(|(b, rate)| b * rate).sum::<f64>();
        let Tolerance { relative, absolute, .. } = *self.tolerance;
        let (mut fifth, mut third) = (0.0, 0.0);
        for j in 0..shape.nx() {
            let size = front.x.get()[j].abs().max(front.after.get()[j].abs());
            let scale = 1.0 / (absolute + relative * size);
            let (e5, e3) = estimates(|i| front.slopes[i].get()[j]);
            fifth += (e5 * scale) * (e5 * scale);
            third += (e3 * scale) * (e3 * scale);
        }
        if self.experiment.cost.is_some() {
            let scale = 1.0 / (absolute + relative * front.cost.abs());
            let (e5, e3) = estimates(|i| front.rates[i]);
            fifth += (e5 * scale) * (e5 * scale);
            third += (e3 * scale) * (e3 * scale);
        }
        if fifth == 0.0 { 0.0 } else { h * fifth / ((fifth + 0.01 * third) * shape.nx() as f64).sqrt() }
    }

    /// Computes the state of stage `I` and its derivative. `I` is a constant, so that its weights are constants too.
    #[inline(always)]
    fn stage<S: Shape, const I: usize>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> bool {
        for j in 0..shape.nx() {
            let mut sum = STAGES[I][0] * front.slopes[0].get()[j];
            for i in 1..I.min(15) {
                if STAGES[I][i] != 0.0 {
                    sum += STAGES[I][i] * front.slopes[i].get()[j];
                }
            }
            front.after.get_mut()[j] = front.x.get()[j] + h * sum;
        }
        self.evaluate(shape, front, I, h)
    }

    /// Goes on with the next method; false if there is none.
    fn replace_method<S: Shape>(&mut self, front: &mut Front<S>) -> bool {
        let Some(next) = self.run.method.next() else { return false };
        self.run.method = next;
        front.h = (self.experiment.end - self.experiment.start) / FIXED_STEPS;
        true
    }

    /// Tries a step of length `h` with the implicit method, on the state and the accumulated cost; returns the error in units of the
    /// tolerance (NaN if a stage left the domain of f or c).
    fn attempt_implicit<S: Shape>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> f64 {
        let (nx, time) = (shape.nx(), front.time);
        let n = nx + 1;
        let mut method = std::mem::take(&mut self.implicit);
        let mut y = [front.x.get(), &[front.cost]].concat();
        let value = [front.slopes[0].get(), &[front.rates[0]]].concat();
        let (mut by_time, mut other) = (vec![0.0; n], vec![0.0; n]);
        let (mut finite, jacobian) = self.jacobian(shape, time, &mut y, &value);
        let by = 1e-6 * h;
        finite &= self.slope(shape, time + by, &y, &mut other);
        for i in 0..n {
            by_time[i] = (other[i] - value[i]) / by;
        }
        let slope = Slope { value: &value, jacobian: &jacobian, by_time: &by_time };
        finite &= method
            .step(h, &y, &slope, |part, y, out| self.slope(shape, (time + part * h).min(time + h), y, out));
        if finite {
            finite = self.slope(shape, time + h, &method.after, &mut other);
        }
        let mut sum = 0.0;
        if finite {
            front.after.get_mut().copy_from_slice(&method.after[..nx]);
            front.slopes[12].get_mut().copy_from_slice(&other[..nx]);
            front.rates[12] = other[nx];
            front.gained = method.after[nx] - front.cost;
            let Tolerance { relative, absolute, .. } = *self.tolerance;
            let counted = if self.experiment.cost.is_some() { n } else { nx };
            for j in 0..counted {
                let size = y[j].abs().max(method.after[j].abs());
                sum += (method.error[j] / (absolute + relative * size)).powi(2);
            }
            sum /= counted as f64;
        }
        self.implicit = method;
        if finite { sum.sqrt() } else { f64::NAN }
    }

    /// Whether steps of length `h` are longer than the fastest motion of the closed loop at the present state.
    fn is_stiff<S: Shape>(&mut self, shape: S, front: &Front<S>, h: f64) -> bool {
        let nx = shape.nx();
        let mut y = [front.x.get(), &[front.cost]].concat();
        let value = [front.slopes[0].get(), &[front.rates[0]]].concat();
        let (finite, jacobian) = self.jacobian(shape, front.time, &mut y, &value);
        let rows = jacobian.chunks_exact(nx + 1).take(nx);
        finite && h * rows.flatten().map(|entry| entry * entry).sum::<f64>().sqrt() > STIFF
    }

    /// The Jacobian of state derivative and cost rate of the closed loop at `y`, where their value is `value`, and whether it is finite.
    /// It is computed by finite differences: the law is known by its values only.
    fn jacobian<S: Shape>(&mut self, shape: S, time: f64, y: &mut [f64], value: &[f64]) -> (bool, Vec<f64>) {
        let n = y.len();
        let (mut jacobian, mut other, mut finite) = (vec![0.0; n * n], vec![0.0; n], true);
        for j in 0..shape.nx() {
            let exact = y[j];
            y[j] = exact + f64::EPSILON.sqrt() * exact.abs().max(1e-3);
            finite &= self.slope(shape, time, y, &mut other);
            for i in 0..n {
                jacobian[i * n + j] = (other[i] - value[i]) / (y[j] - exact);
            }
            y[j] = exact;
        }
        (finite, jacobian)
    }

    /// Computes the derivative of the state and the cost rate at `time` and `y`; false if a value is not finite.
    fn slope<S: Shape>(&mut self, shape: S, time: f64, y: &[f64], out: &mut [f64]) -> bool {
        let nx = shape.nx();
        self.policy.control(time, &y[..nx], &mut self.point[nx..]);
        self.point[..nx].copy_from_slice(&y[..nx]);
        let z = Points::single(&self.point);
        self.dynamics.derivative(z, &mut out[..nx]);
        self.run.evaluations += 1;
        out[nx] = 0.0;
        if let Some(cost) = self.experiment.cost {
            cost.running(&[time], z, &mut out[nx..]);
        }
        out.iter().all(|value| value.is_finite())
    }

    /// Computes derivative and cost rate of `stage` of a step of length `h`, at the state in `after` (at the present state for
    /// stage 0). False if a value is not finite.
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
        // One sum tests all values: NaN and infinity propagate through it.
        let sum: f64 = front.slopes[stage].get().iter().map(|k| k * 0.0).sum();
        sum + front.rates[stage] * 0.0 == 0.0
    }

    /// Records the step and advances to `next`, or to the first violation of a limit within the step.
    #[inline(always)]
    fn accept<S: Shape>(&mut self, shape: S, front: &mut Front<S>, h: f64, next: f64) -> Option<Outcome> {
        self.push(front);
        let after = front.after.clone();
        let mut u = S::U::zeros(shape.nu());
        u.get_mut().copy_from_slice(&self.point[shape.nx()..]);
        let gained = front.gained;
        self.run.dense.grow();
        let explicit = self.run.method == Method::Explicit;
        let full = explicit && self.dense && self.more_stages(shape, front, h);
        self.write_dense(front, &after, gained, h, full);
        if self.may_violate(after.get()) {
            if explicit && !full && self.more_stages(shape, front, h) {
                self.write_dense(front, &after, gained, h, true);
            }
            if let Some((elapsed, outcome)) = self.first_violation(front.time, h, after.get()) {
                self.sample_step(front.time, front.time + elapsed);
                let last = self.run.dense.len() - 1;
                interpolate(self.run.dense.at(last), elapsed, &mut self.probe);
                let (x, cost) = self.probe.split_at(shape.nx());
                front.time += elapsed;
                front.x.get_mut().copy_from_slice(x);
                front.cost = cost[0];
                self.policy.control(front.time, x, front.u.get_mut());
                return Some(outcome);
            }
        }
        self.sample_step(front.time, next);
        front.time = next;
        front.cost += gained;
        front.x = after;
        front.u = u;
        // Stage 12 lies at the end of the step: its derivative is the first stage of the next step.
        front.slopes.swap(0, 12);
        front.rates[0] = front.rates[12];
        None
    }

    /// Computes the three stages that only the dense output needs; false if a value is not finite.
    #[inline(always)]
    fn more_stages<S: Shape>(&mut self, shape: S, front: &mut Front<S>, h: f64) -> bool {
        self.stage::<S, 13>(shape, front, h)
            && self.stage::<S, 14>(shape, front, h)
            && self.stage::<S, 15>(shape, front, h)
    }

    /// Writes the dense output of the last step: coefficients of the state, then of the cost, which increases by `gained`.
    #[inline(always)]
    fn write_dense<S: Shape>(&mut self, front: &Front<S>, after: &S::X, gained: f64, h: f64, full: bool) {
        let last = self.run.dense.len() - 1;
        let (state, cost) = self.run.dense.at_mut(last).split_at_mut(dense_size(after.get().len()));
        state[0] = h;
        dense_output(h, front.x.get(), after.get(), |i, j| front.slopes[i].get()[j], full, &mut state[1..]);
        if self.experiment.cost.is_some() {
            dense_output(h, &[front.cost], &[front.cost + gained], |i, _| front.rates[i], full, cost);
        }
        if self.run.method == Method::Implicit {
            // The slopes at the ends of a stiff step do not describe its inside.
            let coefficients = self.run.dense.at_mut(last)[1..].chunks_exact_mut(8);
            for (j, out) in coefficients.enumerate().take(self.implicit.after.len()) {
                (out[2], out[3]) = (self.implicit.dense[0][j], self.implicit.dense[1][j]);
            }
        }
    }

    /// Records the samples from `begin` on that lie before `end`, both within the last step. The state is taken from the dense
    /// output, the control from the policy.
    #[inline(always)]
    fn sample_step(&mut self, begin: f64, end: f64) {
        while let Some(&time) = self.experiment.sample_times.get(self.taken)
            && time < end
        {
            self.taken += 1;
            if time >= begin {
                let last = self.run.dense.len() - 1;
                interpolate(self.run.dense.at(last), time - begin, &mut self.probe);
                let (x, cost) = self.probe.split_at(self.run.states.size());
                self.policy.control(time, x, &mut self.point[x.len()..]);
                self.run.samples.push_with_cost(time, x, &self.point[x.len()..], cost[0]);
            }
        }
    }

    /// Records the present state twice if the control is discontinuous there: with the control `before` and with the one after it.
    fn sample_jump<S: Shape>(&mut self, front: &Front<S>, before: &[f64]) {
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME_CONTROL * (1.0 + a.abs().max(b.abs()));
        if before.iter().zip(front.u.get()).all(same) {
            return;
        }
        self.run.jumps.push_with_cost(front.time, front.x.get(), before, front.cost);
        self.run.jumps.push_with_cost(front.time, front.x.get(), front.u.get(), front.cost);
    }

    /// Records the end of the run if sample times are left: the last one, or those after an early end.
    fn sample_end<S: Shape>(&mut self, front: &Front<S>) {
        if self.taken < self.experiment.sample_times.len() {
            self.run.samples.push_with_cost(front.time, front.x.get(), front.u.get(), front.cost);
        }
    }

    /// Appends the present state, control and cost to the run.
    fn push<S: Shape>(&mut self, front: &Front<S>) {
        self.run.steps.push_with_cost(front.time, front.x.get(), front.u.get(), front.cost);
    }

    /// The outcome that ends the run if the state `x` violates a limit.
    #[inline(always)]
    fn violation(&self, time: f64, x: &[f64]) -> Option<Outcome> {
        if let Some(state) = self.experiment.state_bounds.and_then(|b| b.violated_by(x)) {
            return Some(Outcome::LimitHit { state, time });
        }
        (!x.iter().all(|x| x.abs() <= self.divergence)).then_some(Outcome::Diverged { time })
    }

    /// False if the last step, which ends at `after`, certainly stayed within all limits.
    #[inline(always)]
    fn may_violate(&self, after: &[f64]) -> bool {
        let coefficients = self.run.dense.at(self.run.dense.len() - 1);
        (0..after.len()).any(|j| {
            let (before, divergence) = (coefficients[1 + 8 * j], self.divergence);
            let margin = overshoot(coefficients, j);
            let (low, high) = (before.min(after[j]) - margin, before.max(after[j]) + margin);
            let (lower, upper) =
                self.experiment.state_bounds.map_or((-divergence, divergence), |b| (b.lower[j], b.upper[j]));
            // Written in this form so that a NaN counts as a possible violation.
            !(low >= lower.max(-divergence) && high <= upper.min(divergence))
        })
    }

    /// The first violation in the last step, as the time since its beginning. Tests the end and three points between, then bisects.
    /// A state that leaves its bounds and returns within a quarter of a step may be missed.
    fn first_violation(&mut self, time: f64, h: f64, after: &[f64]) -> Option<(f64, Outcome)> {
        let coefficients = self.run.dense.at(self.run.dense.len() - 1);
        let mut x = std::mem::take(&mut self.probe);
        let mut at = |elapsed: f64| {
            interpolate(coefficients, elapsed, &mut x);
            self.violation(time + elapsed, &x[..after.len()])
        };
        let mut found = [0.25, 0.5, 0.75].into_iter().find_map(|part| at(part * h).map(|o| (part * h, o)));
        found = found.or(self.violation(time + h, after).map(|outcome| (h, outcome)));
        if let Some((high, outcome)) = &mut found {
            let mut low = *high - 0.25 * h;
            while *high - low > 1e-12 * h {
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

/// The two error estimates of one component, without the factor h.
#[inline(always)]
fn estimates(slope: impl Fn(usize) -> f64) -> (f64, f64) {
    let (mut fifth, mut third) = (0.0, 0.0);
    for i in 0..13 {
        if ERROR_5[i] != 0.0 {
            fifth += ERROR_5[i] * slope(i);
        }
        if ERROR_3[i] != 0.0 {
            third += ERROR_3[i] * slope(i);
        }
    }
    (fifth, third)
}
