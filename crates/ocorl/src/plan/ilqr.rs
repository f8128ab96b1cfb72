//! Iterative linear-quadratic regulator over any dynamics and cost.
//!
//! Each iteration linearises the whole horizon in one batch, solves the linear-quadratic problem backwards
//! ([`riccati`](super::riccati)), and searches along the resulting policy for a lower cost. Rollouts that leave the
//! domain of f or c cost infinity and are stepped back from. A start with given states begins with gaps between
//! them; each step α shrinks the gaps to 1 − α of theirs and is judged by J + price · Σ|gap|, a price above any
//! multiplier, so that a full step makes the trajectory feasible for good. [Mas20] treats gaps the same way.
//!
//! Where f is costly one point at a time, [`ForwardPass::Batch`] follows each step on the linear model instead and evaluates
//! all intervals at once ([`shooting`](super::shooting)); the gaps this opens are closed by the next step, and in the end by
//! one rollout. A result that costs more than the start, if that was a trajectory, is thrown away and searched for by rollouts.

use super::riccati::{Backward, Expansion, Promise, Solution};
use super::rollout::{Forward, Law, Rollout, clamp_all};
use super::shooting::{Batch, Direction, Sweep};
use super::{Guess, Iteration, Outcome, Plan, PlanError, Problem};
use crate::linalg::Blocks;
use crate::linalg::small::specialized;
use crate::system::{Dims, Dynamics};

/// How a step is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ForwardPass {
    /// A rollout under the new policy: f at one point after the other. Best where f is cheap.
    #[default]
    Rollout,
    /// The linear model's step, then all intervals in one call of f for each Runge–Kutta stage; gaps between them close as
    /// the search converges. Best where f costs less in batches, as a Gaussian process does.
    Batch,
}

/// When to stop and how to step.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Backward passes with a new linearisation; 200 is ample for the benchmark systems (15–60 are used).
    pub max_iterations: usize,
    /// Converged when ‖dJ/du‖ falls below.
    pub gradient_tolerance: f64,
    /// Converged when the decrease to be expected falls below this fraction of 1 + |J|.
    pub cost_tolerance: f64,
    /// Fraction of the expected decrease that a step must achieve.
    pub sufficient_decrease: f64,
    /// Steps tried, each half of the one before, before the regularisation is raised.
    pub line_search: usize,
    /// How a step is followed.
    pub forward: ForwardPass,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_iterations: 200,
            gradient_tolerance: 1e-7,
            cost_tolerance: 1e-11,
            sufficient_decrease: 1e-4,
            line_search: 15,
            forward: ForwardPass::Rollout,
        }
    }
}

/// Relative regularisation μ: off, or between these.
pub(super) const REGULARIZATION: (f64, f64) = (1e-9, 1e9);

/// States that miss the dynamics by less than this fraction of their size are taken as a rollout of the controls.
const NO_GAP: f64 = 1e-10;

/// Gaps with which a batched search may end, as a fraction of the states' size and of the root of the cost's tolerance.
const SMALL_GAP: f64 = 0.1;

/// The planner. It keeps its memory, so solving again with the same sizes allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Ilqr {
    /// When to stop and how to step.
    pub settings: Settings,
    pub(super) current: Rollout,
    candidate: Rollout,
    pub(super) expansion: Expansion,
    pub(super) solution: Solution,
    batch: Batch,
    direction: Direction,
    stage_times: Vec<f64>,
    stage_weights: Vec<f64>,
    trace: Vec<Iteration>,
}

/// How a solve ended; the trajectory stays in the planner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// J of the trajectory.
    pub cost: f64,
    /// How the search ended.
    pub outcome: Outcome,
    /// Norm of dJ/du at the last linearisation.
    pub gradient_norm: f64,
    /// Backward passes with a new linearisation.
    pub iterations: usize,
}

impl Ilqr {
    /// A planner with these settings.
    pub fn new(settings: Settings) -> Self {
        Ilqr { settings, ..Ilqr::default() }
    }

    /// Minimises the cost of `problem` over trajectories of `f`, from `guess`.
    pub fn plan(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<Plan, PlanError> {
        let summary = self.solve(f, problem, guess)?;
        Ok(Plan {
            times: problem.times.to_vec(),
            states: self.current.states.clone(),
            controls: self.current.controls.clone(),
            gains: self.solution.gains.clone(),
            cost: summary.cost,
            outcome: summary.outcome,
            gradient_norm: summary.gradient_norm,
            trace: self.trace.clone(),
        })
    }

    /// As [`plan`](Self::plan), but leaves the result in [`states`](Self::states), [`controls`](Self::controls) and
    /// [`gains`](Self::gains). Allocates only when a problem is larger than any before.
    pub fn solve(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<Summary, PlanError> {
        let dims = f.dims();
        problem.validate(dims, &guess)?;
        self.resize(dims, problem);
        let mut forward = self.settings.forward;
        loop {
            self.begin(f, problem, guess, forward)?;
            let worst = self.feasible_cost(guess);
            let (outcome, gradient_norm) = self.iterate(f, problem, forward);
            let verified = self.verify(f, problem);
            // A batched search may close its gaps at a cost above the start's: then one rollout after the other.
            if forward == ForwardPass::Batch && !(verified.is_ok() && self.current.cost <= worst) {
                forward = ForwardPass::Rollout;
                continue;
            }
            verified?;
            let (cost, iterations) = (self.current.cost, self.trace.len());
            return Ok(Summary { cost, outcome, gradient_norm, iterations });
        }
    }

    /// J of the current trajectory if it is one; infinity if it has gaps.
    fn feasible_cost(&self, guess: Guess<'_>) -> f64 {
        if self.current.largest_gap() <= no_gap(guess.states) { self.current.cost } else { f64::INFINITY }
    }

    /// x_k of the last solve.
    pub fn states(&self) -> &Blocks {
        &self.current.states
    }

    /// u_k of the last solve.
    pub fn controls(&self) -> &Blocks {
        &self.current.controls
    }

    /// K_k of the last solve, as gradients ∇ₓuⱼ.
    pub fn gains(&self) -> &Blocks {
        &self.solution.gains
    }

    /// Every iteration of the last solve.
    pub fn trace(&self) -> &[Iteration] {
        &self.trace
    }

    pub(super) fn resize(&mut self, dims: Dims, problem: &Problem<'_>) {
        let (transcription, n) = (problem.transcription, problem.intervals());
        let stages = transcription.stages();
        let slopes = transcription.integrator.tableau().b.len();
        self.current.resize(dims, n, stages, slopes);
        self.candidate.resize(dims, n, stages, slopes);
        self.solution.resize(dims.state, dims.control, n, &transcription);
        if self.settings.forward == ForwardPass::Batch {
            self.direction.resize(dims.state, dims.control, n);
        }
        self.expansion.terminal_gradient.resize(dims.state, 0.0);
        self.expansion.terminal_hessian.resize(dims.state * dims.state, 0.0);
        self.expansion.fractions.clear();
        self.expansion.fractions.extend((0..stages).map(|s| transcription.weight(s)));
        self.stage_times.clear();
        self.stage_weights.clear();
        for t in problem.times.windows(2) {
            for s in 0..stages {
                self.stage_times.push(t[0] + transcription.fraction(s) * (t[1] - t[0]));
                self.stage_weights.push(transcription.weight(s) * (t[1] - t[0]));
            }
        }
        self.trace.clear();
        self.trace.reserve(self.settings.max_iterations);
    }

    /// The guess as the current trajectory, with gaps if it brought states.
    pub(super) fn begin(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
        forward: ForwardPass,
    ) -> Result<(), PlanError> {
        self.current.controls.as_mut_slice().copy_from_slice(guess.controls);
        clamp_all(problem.control_bounds, &mut self.current.controls);
        match guess.states {
            Some(states) => {
                self.current.states.as_mut_slice().copy_from_slice(states);
                self.current.states.at_mut(0).copy_from_slice(problem.initial_state);
                self.batch.shoot(f, problem, &mut self.current);
                if forward == ForwardPass::Rollout && self.current.largest_gap() <= no_gap(guess.states) {
                    self.roll_out_controls(f, problem);
                } else {
                    self.current.charge(problem, &self.stage_times, &self.stage_weights);
                }
            }
            None => self.roll_out_controls(f, problem),
        }
        if forward == ForwardPass::Batch && !self.current.has_gaps {
            self.current.gaps.as_mut_slice().fill(0.0);
        }
        if self.current.cost.is_finite() {
            return Ok(());
        }
        let time = problem.times[self.current.finite];
        Err(PlanError::NoFinitePlan { time })
    }

    /// Replaces the current trajectory by what its controls alone give.
    fn roll_out_controls(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) {
        self.solution.feedforward.as_mut_slice().fill(0.0);
        self.solution.gains.as_mut_slice().fill(0.0);
        self.current.has_gaps = false;
        // With zero gains the reference states do not matter; they only must be finite.
        self.current.states.as_mut_slice().fill(0.0);
        self.forward(f, problem, 0.0);
        std::mem::swap(&mut self.current, &mut self.candidate);
    }

    /// Rolls out the law of the last backward pass with step `step` into the candidate, and charges it.
    fn forward(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>, step: f64) {
        let Solution { feedforward, gains, .. } = &self.solution;
        let law = Law { around: &self.current, feedforward, gains, step };
        specialized(f.dims(), Forward { dynamics: f, problem, law, out: &mut self.candidate });
        self.candidate.charge(problem, &self.stage_times, &self.stage_weights);
    }

    pub(super) fn linearize(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) {
        let e = &mut self.expansion;
        f.linearize(self.current.points.points(), &mut e.dynamics);
        problem.cost.quadratize(&self.stage_times, self.current.points.points(), &mut e.cost);
        let last = problem.intervals();
        problem.cost.quadratize_terminal(
            problem.times[last],
            self.current.states.at(last),
            &mut e.terminal_gradient,
            &mut e.terminal_hessian,
        );
    }

    pub(super) fn backward(
        &mut self,
        dims: Dims,
        problem: &Problem<'_>,
        regularization: f64,
        gaps: bool,
    ) -> Option<Promise> {
        specialized(
            dims,
            Backward {
                problem,
                around: &self.current,
                expansion: &self.expansion,
                regularization,
                gaps,
                out: &mut self.solution,
            },
        )
    }

    /// The search itself.
    fn iterate(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        forward: ForwardPass,
    ) -> (Outcome, f64) {
        let batched = forward == ForwardPass::Batch;
        let (mut regularization, mut first) = (0.0, FirstStep::default());
        let mut gradient_norm = f64::INFINITY;
        for _ in 0..self.settings.max_iterations {
            self.linearize(f, problem);
            let step = loop {
                let gaps = batched || self.current.has_gaps;
                if let Some(promise) = self.backward(f.dims(), problem, regularization, gaps) {
                    gradient_norm = promise.gradient_norm;
                    if self.is_converged(&promise) {
                        self.record(gradient_norm, 0.0, regularization);
                        return (Outcome::Converged, gradient_norm);
                    }
                    let decrease = promise.decrease(1.0) / (1.0 + self.current.cost.abs());
                    let first_step = first.length(decrease);
                    let step = if batched {
                        self.search_batched(f, problem, first_step)
                    } else {
                        self.search(f, problem, &promise, first_step)
                    };
                    if let Some(step) = step {
                        first.learn(step);
                        break step;
                    }
                }
                if regularization >= REGULARIZATION.1 {
                    self.record(gradient_norm, 0.0, regularization);
                    return (Outcome::Stalled, gradient_norm);
                }
                regularization = (regularization * 10.0).max(REGULARIZATION.0);
            };
            self.record(gradient_norm, step, regularization);
            if step > 0.5 {
                regularization *= 0.1;
                if regularization < REGULARIZATION.0 {
                    regularization = 0.0;
                }
            }
        }
        (Outcome::IterationLimit, gradient_norm)
    }

    fn is_converged(&self, promise: &Promise) -> bool {
        let negligible = self.settings.cost_tolerance * (1.0 + self.current.cost.abs());
        let feasible =
            !self.current.has_gaps || (self.settings.forward == ForwardPass::Batch && self.gaps_are_small());
        feasible
            && (promise.gradient_norm <= self.settings.gradient_tolerance
                || promise.decrease(1.0).abs() <= negligible)
    }

    /// Whether closing the gaps with the gains, as [`verify`](Self::verify) does, is all that is left to do: where no
    /// feedforward is left, that is the optimal step, and wrong only by what is of second order in the gaps.
    fn gaps_are_small(&self) -> bool {
        let size = largest(self.current.states.as_slice());
        self.current.largest_gap() <= SMALL_GAP * self.settings.cost_tolerance.sqrt() * size
    }

    /// Tries `first` and its halves; the first step that decreases the merit enough becomes the current trajectory.
    fn search(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        promise: &Promise,
        first: f64,
    ) -> Option<f64> {
        let price = 2.0 * promise.price;
        let gap = self.current.total_gap();
        let before = self.current.cost + price * gap;
        // Only a full step closes gaps for good.
        let mut step = if self.current.has_gaps { 1.0 } else { first };
        for _ in 0..self.settings.line_search {
            self.forward(f, problem, step);
            let after = self.candidate.cost + price * gap * (1.0 - step);
            let expected = promise.decrease(step).max(0.0) + 0.5 * price * gap * step;
            let enough = after <= before - self.settings.sufficient_decrease * expected && after < before;
            if enough && self.candidate.cost.is_finite() {
                std::mem::swap(&mut self.current, &mut self.candidate);
                return Some(step);
            }
            step *= 0.5;
        }
        None
    }

    /// As [`search`](Self::search), along one step of the linear model, all intervals at once. The gaps of a candidate are
    /// priced as they are ([`Direction::charge_gaps`]).
    fn search_batched(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>, first: f64) -> Option<f64> {
        let (around, expansion) = (&self.current, &self.expansion);
        let (solution, out) = (&mut self.solution, &mut self.direction);
        let slope = specialized(f.dims(), Sweep { problem, around, expansion, solution, out });
        let (price, price_slope) = self.direction.charge_gaps(&self.current);
        let (before, slope) = (self.current.cost + price, (slope + price_slope).min(0.0));
        let mut step = first;
        for _ in 0..self.settings.line_search {
            self.direction.step(&self.current, step, &mut self.candidate);
            self.shoot_candidate(f, problem);
            let after = self.candidate.cost + self.direction.charge_gaps(&self.candidate).0;
            let enough = after <= before + self.settings.sufficient_decrease * step * slope && after < before;
            if enough && self.candidate.cost.is_finite() {
                std::mem::swap(&mut self.current, &mut self.candidate);
                return Some(step);
            }
            step *= 0.5;
        }
        None
    }

    /// Integrates every interval of the candidate and charges it; infinite outside the state bounds.
    fn shoot_candidate(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) {
        let outside = |x: &[f64]| problem.state_bounds.is_some_and(|bounds| bounds.violated_by(x).is_some());
        if self.candidate.states.iter().skip(1).any(outside) {
            self.candidate.cost = f64::INFINITY;
            return;
        }
        self.batch.shoot(f, problem, &mut self.candidate);
        self.candidate.charge(problem, &self.stage_times, &self.stage_weights);
    }

    fn record(&mut self, gradient_norm: f64, step: f64, regularization: f64) {
        let gap = self.current.largest_gap();
        self.trace.push(Iteration { cost: self.current.cost, gradient_norm, step, regularization, gap });
    }

    /// Makes sure that what is returned is a trajectory of `f`: gaps that are left are closed by rolling out the
    /// controls with their gains.
    fn verify(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) -> Result<(), PlanError> {
        if self.current.has_gaps {
            self.solution.feedforward.as_mut_slice().fill(0.0);
            self.forward(f, problem, 1.0);
            if !self.candidate.cost.is_finite() {
                self.solution.gains.as_mut_slice().fill(0.0);
                self.forward(f, problem, 1.0);
            }
            std::mem::swap(&mut self.current, &mut self.candidate);
        }
        if self.current.cost.is_finite() {
            return Ok(());
        }
        let time = problem.times[self.current.finite];
        Err(PlanError::NoFinitePlan { time })
    }
}

/// Largest gap with which given states count as a rollout of their controls.
fn no_gap(states: Option<&[f64]>) -> f64 {
    states.map_or(0.0, |states| NO_GAP * largest(states))
}

/// Largest |x|, at least 1.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(1.0_f64, |m, x| m.max(x.abs()))
}

/// Where the line search begins: at 1, or near the optimum at ½ after a full step was rejected there, until two half
/// steps were accepted at once.
///
/// Gauss–Newton steps overshoot where the dynamics bend; on the cart pole two of three full steps are rejected in the end,
/// and each costs a rollout. Far from the optimum full steps are always tried: they lead out of poor valleys (the
/// acrobot's).
#[derive(Clone, Copy, Debug, Default)]
struct FirstStep {
    halved: bool,
    successes: usize,
}

/// Relative decrease to be expected below which the optimum counts as near.
const NEAR: f64 = 1e-4;

impl FirstStep {
    fn length(&self, expected_decrease: f64) -> f64 {
        if self.halved && expected_decrease < NEAR { 0.5 } else { 1.0 }
    }

    fn learn(&mut self, accepted: f64) {
        if accepted < 0.5 || (accepted == 0.5 && !self.halved) {
            *self = FirstStep { halved: true, successes: 0 };
        } else if self.successes == 1 {
            *self = FirstStep::default();
        } else {
            self.successes += 1;
        }
    }
}
