//! Iterative linear-quadratic regulator (iLQR) for any dynamics and cost.
//!
//! Each iteration linearises the dynamics along the whole horizon in one batch, solves the linear-quadratic problem backwards
//! ([`riccati`](super::riccati)), and runs a line search along the resulting policy. A rollout that leaves the domain of f or c has
//! infinite cost, so the line search rejects it. A start with given states has gaps between its intervals. A step of length α scales the
//! gaps by 1 − α and is accepted on the merit function J + penalty · Σ|gap|. The penalty exceeds every multiplier, so a full step closes
//! the gaps permanently. [Mas20] treats gaps in the same manner.
//!
//! Where f is costly at single points, [`ForwardPass::Batch`] applies each step to the linear model instead and evaluates all intervals at
//! once ([`shooting`](super::shooting)). The gaps that this opens are closed by the next step, and at the end by one rollout. If the start
//! is feasible and the result costs more than it, the planner discards the result and repeats the search with rollouts.
//!
//! Control limits, rate limits and rejection by state limits are treated here. [`limits`](super::limits) adds constraints as a cost.

use super::riccati::{Backward, Expansion, ExpectedDecrease, Solution};
use super::rollout::{Forward, Law, Rollout, clamp_all};
use super::shooting::{Batch, Direction, Sweep};
use super::{Guess, Iteration, Outcome, Plan, PlanError, Problem, rate};
use crate::linalg::small::specialized;
use crate::linalg::{Blocks, Pool};
use crate::simulate::Trajectory;
use crate::system::{Dims, Dynamics};

/// Method by which the line search evaluates a candidate step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ForwardPass {
    /// Rolls out the new policy, which evaluates f at one point after another. Best where f is cheap.
    #[default]
    Rollout,
    /// Steps on the linear model, then integrates all intervals with one call of f for each Runge–Kutta stage. The gaps between the
    /// intervals close as the search converges. Best where f costs less in batches, as a Gaussian process does.
    Batch,
}

/// Stopping criteria and line-search parameters of iLQR.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Maximum number of backward passes with a new linearisation; 200 is ample for the benchmark systems, which use 15–60.
    pub max_iterations: usize,
    /// The search has converged when ‖dJ/du‖ falls below this value.
    pub gradient_tolerance: f64,
    /// The search has converged when the expected decrease falls below this fraction of 1 + |J|.
    pub cost_tolerance: f64,
    /// Fraction of the expected decrease that a step must achieve (Armijo condition).
    pub sufficient_decrease: f64,
    /// Number of steps tried, each half of the previous one, before the regularisation is raised.
    pub line_search: usize,
    /// Method by which the line search evaluates a candidate step.
    pub forward: ForwardPass,
    /// Part of the width of the state limits by which [`plan_within_limits`](super::plan_within_limits) stays away from them.
    pub limit_margin: f64,
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
            limit_margin: 0.0,
        }
    }
}

/// Smallest and largest relative regularisation μ; below the smallest it is switched off.
pub(super) const REGULARIZATION: (f64, f64) = (1e-9, 1e9);

/// Given states that violate the dynamics by less than this fraction of their size count as a rollout of the controls.
const NO_GAP: f64 = 1e-10;

/// Largest gap with which a batched search may end, as a fraction of the states' size times the square root of the cost tolerance.
const SMALL_GAP: f64 = 0.1;

/// The iLQR planner. It keeps its scratch memory, so that repeated solves of the same size do not allocate.
///
/// ```
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let times = uniform_grid(pendulum.task.horizon, 100);
/// let (problem, mut f) = (Problem::of(&pendulum.task, &times), pendulum.dynamics());
/// let mut ilqr = Ilqr::default();
/// let summary = ilqr.solve(f.as_mut(), &problem, Start::constant(&[0.5], 100).guess())?;
/// assert_eq!(ilqr.trace().len(), summary.iterations);
/// assert_eq!(ilqr.states().at(0), pendulum.task.initial_state);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ilqr {
    /// Stopping criteria and line-search parameters.
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
    pool: Pool,
}

/// Result of a solve; the trajectory itself stays in the planner.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Total cost J of the trajectory.
    pub cost: f64,
    /// Reason for which the search ended.
    pub outcome: Outcome,
    /// Euclidean norm of dJ/du at the last linearisation.
    pub gradient_norm: f64,
    /// Number of backward passes with a new linearisation.
    pub iterations: usize,
}

impl Ilqr {
    /// Creates a planner with the given settings.
    pub fn new(settings: Settings) -> Self {
        Ilqr { settings, ..Ilqr::default() }
    }

    /// Minimises the cost of `problem` over trajectories of `f`, starting from `guess`, and returns the plan.
    pub fn plan(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<Plan, PlanError> {
        let summary = self.solve(f, problem, guess)?;
        let trajectory = Trajectory {
            times: problem.times.to_vec(),
            states: self.current.states.clone(),
            controls: self.current.controls.clone(),
            gains: self.solution.gains.clone(),
            ..Trajectory::default()
        };
        Ok(Plan {
            trajectory,
            cost: summary.cost,
            outcome: summary.outcome,
            gradient_norm: summary.gradient_norm,
            trace: self.trace.clone(),
            attempts: Vec::new(),
        })
    }

    /// Does the same as [`plan`](Self::plan), but leaves the result in [`states`](Self::states), [`controls`](Self::controls) and
    /// [`gains`](Self::gains). Allocates only when a problem is larger than all previous ones.
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
            // A batched search may close its gaps at a cost above that of the start; then search again with rollouts.
            if forward == ForwardPass::Batch && !(verified.is_ok() && self.current.cost <= worst) {
                forward = ForwardPass::Rollout;
                continue;
            }
            verified?;
            let (cost, iterations) = (self.current.cost, self.trace.len());
            return Ok(Summary { cost, outcome, gradient_norm, iterations });
        }
    }

    /// Returns J of the current trajectory if it satisfies the dynamics, and infinity if it has gaps.
    fn feasible_cost(&self, guess: Guess<'_>) -> f64 {
        if self.current.largest_gap() <= no_gap(guess.states) { self.current.cost } else { f64::INFINITY }
    }

    /// Returns the states x_k of the last solve.
    pub fn states(&self) -> &Blocks {
        &self.current.states
    }

    /// Returns the controls u_k of the last solve.
    pub fn controls(&self) -> &Blocks {
        &self.current.controls
    }

    /// Returns the gains K_k of the last solve, stored as gradients ∇ₓuⱼ.
    pub fn gains(&self) -> &Blocks {
        &self.solution.gains
    }

    /// Returns J of the trajectory of the last solve under the cost of `problem`, which has the same time grid.
    pub(super) fn cost_of_trajectory(&mut self, problem: &Problem<'_>) -> f64 {
        self.current.evaluate_cost(problem, &self.stage_times, &self.stage_weights);
        self.current.cost
    }

    /// Returns the point (x, u) at which the last solve evaluated f at stage `at`, counted over all intervals.
    pub(super) fn stage_point(&self, at: usize) -> &[f64] {
        self.current.points.at(at)
    }

    /// Returns the record of every iteration of the last solve.
    pub fn trace(&self) -> &[Iteration] {
        &self.trace
    }

    pub(super) fn resize(&mut self, dims: Dims, problem: &Problem<'_>) {
        let (transcription, n) = (problem.transcription, problem.intervals());
        let stages = transcription.stages();
        let slopes = transcription.integrator.tableau().b.len();
        self.current.resize(dims, n, stages, slopes);
        self.candidate.resize(dims, n, stages, slopes);
        self.solution.resize(dims, problem);
        if self.settings.forward == ForwardPass::Batch {
            self.direction.resize(dims.state, dims.control, n);
        }
        self.expansion.terminal_gradient.resize(dims.state, 0.0);
        self.expansion.terminal_hessian.resize(dims.state * dims.state, 0.0);
        self.expansion.fractions.clear();
        self.expansion.fractions.extend((0..stages).map(|s| transcription.weight(s)));
        transcription.sample(problem.times, &mut self.stage_times, &mut self.stage_weights);
        self.trace.clear();
        self.trace.reserve(self.settings.max_iterations);
    }

    /// Makes the guess the current trajectory; it has gaps if the guess contains states.
    pub(super) fn begin(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
        forward: ForwardPass,
    ) -> Result<(), PlanError> {
        self.current.controls.as_mut_slice().copy_from_slice(guess.controls);
        clamp_all(problem.control_bounds, &mut self.current.controls);
        if let Some(rates) = &problem.rate_limit {
            rates.clamp_all(problem, self.current.controls.as_mut_slice());
        }
        match guess.states {
            Some(states) => {
                self.current.states.as_mut_slice().copy_from_slice(states);
                self.current.states.at_mut(0).copy_from_slice(problem.initial_state);
                self.batch.shoot(f, problem, &mut self.current);
                if forward == ForwardPass::Rollout && self.current.largest_gap() <= no_gap(guess.states) {
                    self.roll_out_controls(f, problem);
                } else {
                    self.current.evaluate_cost(problem, &self.stage_times, &self.stage_weights);
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

    /// Replaces the current trajectory by the open-loop rollout of its controls.
    fn roll_out_controls(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) {
        self.solution.feedforward.as_mut_slice().fill(0.0);
        self.solution.gains.as_mut_slice().fill(0.0);
        self.solution.rate_gains.as_mut_slice().fill(0.0);
        self.current.has_gaps = false;
        // With zero gains the reference states have no effect; they only need to be finite.
        self.current.states.as_mut_slice().fill(0.0);
        self.forward(f, problem, 0.0);
        std::mem::swap(&mut self.current, &mut self.candidate);
    }

    /// Rolls out the policy of the last backward pass with step length `step` into the candidate and evaluates its cost.
    fn forward(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>, step: f64) {
        let Solution { feedforward, gains, rate_gains, .. } = &self.solution;
        let law = Law { around: &self.current, feedforward, gains, rate_gains, step };
        let (pool, out) = (&mut self.pool, &mut self.candidate);
        specialized(f.dims(), Forward { dynamics: f, problem, law, pool, out });
        self.candidate.evaluate_cost(problem, &self.stage_times, &self.stage_weights);
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
    ) -> Option<ExpectedDecrease> {
        if let Some(rates) = &problem.rate_limit {
            let (around, expansion, out) = (&self.current, &self.expansion, &mut self.solution);
            return rate::backward(dims, problem, rates, around, expansion, regularization, gaps, out);
        }
        specialized(
            dims,
            Backward {
                problem,
                around: &self.current,
                expansion: &self.expansion,
                regularization,
                gaps,
                pool: &mut self.pool,
                out: &mut self.solution,
            },
        )
    }

    /// Runs the iterations of the search.
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
                if let Some(expected) = self.backward(f.dims(), problem, regularization, gaps) {
                    gradient_norm = expected.gradient_norm;
                    if self.is_converged(&expected) {
                        self.record(gradient_norm, 0.0, regularization);
                        return (Outcome::Converged, gradient_norm);
                    }
                    let decrease = expected.decrease(1.0) / (1.0 + self.current.cost.abs());
                    let first_step = first.length(decrease);
                    let step = if batched {
                        self.search_batched(f, problem, first_step)
                    } else {
                        self.search(f, problem, &expected, first_step)
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

    fn is_converged(&self, expected: &ExpectedDecrease) -> bool {
        let negligible = self.settings.cost_tolerance * (1.0 + self.current.cost.abs());
        let feasible =
            !self.current.has_gaps || (self.settings.forward == ForwardPass::Batch && self.gaps_are_small());
        feasible
            && (expected.gradient_norm <= self.settings.gradient_tolerance
                || expected.decrease(1.0).abs() <= negligible)
    }

    /// Returns whether the gaps are so small that [`verify`](Self::verify) may close them with the gains. Where the feedforward terms are
    /// negligible, this closing step is optimal up to terms of second order in the gaps.
    fn gaps_are_small(&self) -> bool {
        let size = largest(self.current.states.as_slice());
        self.current.largest_gap() <= SMALL_GAP * self.settings.cost_tolerance.sqrt() * size
    }

    /// Backtracking line search from `first`. The first step that decreases the merit function sufficiently becomes the current trajectory.
    fn search(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        expected: &ExpectedDecrease,
        first: f64,
    ) -> Option<f64> {
        let penalty = 2.0 * expected.penalty;
        let gap = self.current.total_gap();
        let before = self.current.cost + penalty * gap;
        // Only a full step closes the gaps permanently.
        let mut step = if self.current.has_gaps { 1.0 } else { first };
        for _ in 0..self.settings.line_search {
            self.forward(f, problem, step);
            let after = self.candidate.cost + penalty * gap * (1.0 - step);
            let decrease = expected.decrease(step).max(0.0) + 0.5 * penalty * gap * step;
            let enough = after <= before - self.settings.sufficient_decrease * decrease && after < before;
            if enough && self.candidate.cost.is_finite() {
                std::mem::swap(&mut self.current, &mut self.candidate);
                return Some(step);
            }
            step *= 0.5;
        }
        None
    }

    /// Backtracking line search along one step of the linear model, with all intervals integrated at once. The merit function includes
    /// the actual gaps of the candidate ([`Direction::gap_penalty`]).
    fn search_batched(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>, first: f64) -> Option<f64> {
        let (around, expansion) = (&self.current, &self.expansion);
        let (solution, pool, out) = (&mut self.solution, &mut self.pool, &mut self.direction);
        let slope = specialized(f.dims(), Sweep { problem, around, expansion, solution, pool, out });
        let (penalty, penalty_slope) = self.direction.gap_penalty(&self.current);
        let (before, slope) = (self.current.cost + penalty, (slope + penalty_slope).min(0.0));
        let mut step = first;
        for _ in 0..self.settings.line_search {
            self.direction.step(&self.current, step, &mut self.candidate);
            self.shoot_candidate(f, problem);
            let after = self.candidate.cost + self.direction.gap_penalty(&self.candidate).0;
            let enough = after <= before + self.settings.sufficient_decrease * step * slope && after < before;
            if enough && self.candidate.cost.is_finite() {
                std::mem::swap(&mut self.current, &mut self.candidate);
                return Some(step);
            }
            step *= 0.5;
        }
        None
    }

    /// Integrates every interval of the candidate and evaluates its cost, which is infinite outside the state bounds.
    fn shoot_candidate(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) {
        let outside = |x: &[f64]| problem.state_bounds.is_some_and(|bounds| bounds.violated_by(x).is_some());
        if self.candidate.states.iter().skip(1).any(outside) {
            self.candidate.cost = f64::INFINITY;
            return;
        }
        self.batch.shoot(f, problem, &mut self.candidate);
        self.candidate.evaluate_cost(problem, &self.stage_times, &self.stage_weights);
    }

    fn record(&mut self, gradient_norm: f64, step: f64, regularization: f64) {
        let gap = self.current.largest_gap();
        self.trace.push(Iteration { cost: self.current.cost, gradient_norm, step, regularization, gap });
    }

    /// Ensures that the returned trajectory satisfies the dynamics `f`: remaining gaps are closed by rolling out the controls with
    /// their gains.
    fn verify(&mut self, f: &mut dyn Dynamics, problem: &Problem<'_>) -> Result<(), PlanError> {
        if self.current.has_gaps {
            self.solution.feedforward.as_mut_slice().fill(0.0);
            self.forward(f, problem, 1.0);
            if !self.candidate.cost.is_finite() {
                self.solution.gains.as_mut_slice().fill(0.0);
                self.solution.rate_gains.as_mut_slice().fill(0.0);
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

/// Returns the largest gap with which given states count as a rollout of their controls.
fn no_gap(states: Option<&[f64]>) -> f64 {
    states.map_or(0.0, |states| NO_GAP * largest(states))
}

/// Returns max(1, max |xᵢ|).
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(1.0_f64, |m, x| m.max(x.abs()))
}

/// Initial step length of the line search. It is 1, except near the optimum: there it becomes ½ after a full step was rejected, until two
/// half steps in sequence were accepted immediately.
///
/// Gauss–Newton steps overshoot where the dynamics are strongly curved. On the cart pole two of three full steps are rejected near the
/// optimum, and each rejection costs a rollout. Far from the optimum full steps are always tried, because they leave poor local minima
/// (those of the acrobot).
#[derive(Clone, Copy, Debug, Default)]
struct FirstStep {
    halved: bool,
    successes: usize,
}

/// Expected relative decrease below which the optimum counts as near.
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
