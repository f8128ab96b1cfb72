//! State limits and general constraints of a plan, by an augmented Lagrangian around iLQR.
//!
//! A state limit is written as cᵢ(x) = (xᵢ − upperᵢ + mᵢ)/sᵢ ≤ 0 (and likewise for the lower one), with sᵢ the width of the limits, and a
//! constraint of the task as cⱼ(t, x, u) = (gⱼ + mⱼ)/sⱼ ≤ 0. The margins m may differ from node to node. At the start of each integration
//! step the running cost is extended by
//!
//! ```text
//! ψ(λ, c) = (max(0, λ + ρ c)² − λ²) / (2ρ),        λ ← max(0, λ + ρ c) after each search,
//! ```
//!
//! and the terminal cost by the same term; without the maximum for equalities. ρ grows while the violation does not fall to a quarter from
//! one search to the next. Outside the limits the cost stays finite, so that a search may begin there. [Noc06, chapter 17] describes the
//! method.
//!
//! The Hessian of ψ includes λ ∂²g/∂z² where that is positive semidefinite: without it the search hardly moves along constraints such as
//! 1 + cos θ ≤ ε, whose gradient vanishes with ε. Elsewhere it is that of Gauss–Newton, so that it stays positive semidefinite.
//!
//! Left out on purpose: constraints between the steps (they hold at the start of each integration step and at the end).

use super::{Ilqr, Plan, PlanError, Problem, Settings, Start};
use crate::linalg::small::factorize;
use crate::linalg::{Blocks, Linearization, Points, Quadratization};
use crate::system::{Bounds, Constraint, Constraints, Cost, Dims, Dynamics, Extent, add_term};

/// Largest number of searches, each with new multipliers.
const SEARCHES: usize = 30;

/// Violation, in units of the scale, below which a plan counts as inside.
const INSIDE: f64 = 1e-8;

/// Violation, in units of the scale, above which no plan inside was found.
const OUTSIDE: f64 = 1e-6;

/// Relative tolerances of the cost: of the first search, whose multipliers are far from the right ones, and of the last. Each search is ten
/// times as exact as the one before.
const INEXACT: f64 = 1e-4;
const EXACT: f64 = 1e-8;

/// Factor on ρ after a search that did not reduce the violation to a quarter.
const STIFFER: f64 = 5.0;

/// Number of searches in sequence that do not reduce the violation, after which there is no hope.
const STUCK: usize = 6;

/// Violation, in units of the scale, up to which a start is so near that the search with constraints begins there.
const ROUGHLY: f64 = 1e-2;

/// Scale of the cost below which there is none.
const TINY: f64 = 1e-12;

/// Cost of a plan, relative to that of the guess, below which it costs nothing.
const NOTHING: f64 = 1e-6;

/// Step of the differences that give the curvature of the constraints, relative to max(1, |zᵢ|).
const DIFFERENCE: f64 = 1e-4;

/// Negative eigenvalue of a curvature, relative to its trace, up to which it counts as an error of the differences.
const DEFINITE: f64 = 1e-3;

/// Distance from a state limit, relative to the width of the limits, below which the limit counts as reached.
const NEAR: f64 = 1e-3;

/// Constraints of a planning problem in addition to the limits of states, controls and rates. [`plan_within_limits`] treats them;
/// [`Ilqr`] alone ignores them.
///
/// The constraints may have fewer states and controls than the problem: they then depend on the first ones.
#[derive(Clone, Copy, Default)]
pub struct PathConstraints<'a> {
    /// General constraints g(t, x, u) ≤ 0.
    pub constraints: Option<&'a dyn Constraints>,
    /// Margins that tighten the state limits and the constraints: one block for each node, with one number for each state (in its unit),
    /// followed by one for each constraint (in the unit of g). Between the nodes they are interpolated linearly.
    pub margins: Option<&'a Blocks>,
}

/// Searches from `start` within the limits and constraints of `problem`.
///
/// The first search rejects trajectories that leave the state limits, and ignores the constraints; it costs nothing more where none of them
/// is active. If its plan reaches a limit or violates a constraint, or if it finds no plan, a second search uses the augmented
/// Lagrangian. The better plan is returned. A start that moves along a limit already, and any start where the
/// end is constrained, is improved by the augmented Lagrangian alone if that succeeds.
pub fn plan_within_limits(
    f: &mut dyn Dynamics,
    problem: &Problem<'_>,
    settings: &Settings,
    start: &Start,
) -> Result<Plan, PlanError> {
    let mut ilqr = Ilqr::new(settings.clone());
    let limits = Limits::of(problem, f.dims(), settings.limit_margin)?;
    if let Some(limits) = &limits
        && let Some(guess) = evaluated(f, &Problem { state_bounds: None, ..*problem }, settings, start)
        && limits.begin_at(&guess)
        && let Ok(plan) = limits.constrain(&mut ilqr, f, problem, guess)
    {
        return Ok(plan);
    }
    let found = ilqr.plan(f, problem, start.guess());
    let Some(limits) = limits else { return found };
    match found {
        Ok(plan) if !limits.are_reached_by(&plan) => Ok(plan),
        Ok(plan) => {
            let inside = limits.violation(&plan).by <= 0.0;
            match limits.constrain_freely(&mut ilqr, f, problem, &plan.start()) {
                Ok(other) if !inside || other.cost < plan.cost => Ok(other),
                Err(error) if limits.violation_from(2 * limits.width.len(), &plan).by > OUTSIDE => Err(error),
                _ => Ok(plan),
            }
        }
        Err(error @ PlanError::NoFinitePlan { .. }) => limits
            .constrain_freely(&mut ilqr, f, problem, start)
            .map_err(|new| if matches!(new, PlanError::NoFinitePlan { .. }) { error } else { new }),
        error => error,
    }
}

/// Returns the trajectory of a start, without a search.
fn evaluated(
    f: &mut dyn Dynamics,
    problem: &Problem<'_>,
    settings: &Settings,
    start: &Start,
) -> Option<Plan> {
    let only = Settings { max_iterations: 0, ..settings.clone() };
    Ilqr::new(only).plan(f, problem, start.guess()).ok()
}

/// Limits of the states and general constraints as rows c ≤ 0: lower and upper limit of each state, then the constraints.
struct Limits<'a> {
    dims: Dims,
    bounds: Bounds,
    /// Width of the limits of each state; the unit of its violation.
    width: Vec<f64>,
    general: Option<&'a dyn Constraints>,
    /// Margins of states and constraints at the start of each integration step and at the end.
    margins: Blocks,
    substeps: usize,
}

/// A row, the node at which its value is the largest of all, and this value.
#[derive(Clone, Copy)]
struct Violation {
    by: f64,
    node: usize,
    row: usize,
}

impl<'a> Limits<'a> {
    /// Collects the limits of `problem`; `None` if it has none. `margin` is a part of the width of the state limits.
    fn of(problem: &Problem<'a>, dims: Dims, margin: f64) -> Result<Option<Self>, PlanError> {
        let PathConstraints { constraints, margins } = problem.constraints;
        let general = constraints.filter(|g| !g.list().is_empty());
        let state_bounds = problem.state_bounds.filter(|bounds| bounds.is_limiting());
        if state_bounds.is_none() && general.is_none() {
            return Ok(None);
        }
        let bounds = state_bounds.cloned().unwrap_or_else(|| Bounds::none(dims.state));
        let pairs = || bounds.lower.iter().zip(&bounds.upper);
        let width: Vec<f64> = pairs()
            .map(|(lower, upper)| match (lower.is_finite(), upper.is_finite()) {
                (true, true) => (upper - lower).max(f64::MIN_POSITIVE),
                (true, false) => lower.abs().max(1.0),
                (false, true) => upper.abs().max(1.0),
                (false, false) => 1.0,
            })
            .collect();
        let (count, substeps) = (general.map_or(0, |g| g.list().len()), problem.transcription.substeps);
        for (what, found, expected) in [
            ("the state of the constraints", general.map_or(0, |g| g.dims().state), dims.state),
            ("the control of the constraints", general.map_or(0, |g| g.dims().control), dims.control),
        ] {
            if found > expected {
                return Err(PlanError::Length { what, found, expected });
            }
        }
        let (size, nodes) = (dims.state + count, problem.times.len());
        if let Some(given) = margins.filter(|m| m.as_slice().len() != size * nodes) {
            let (found, expected) = (given.as_slice().len(), size * nodes);
            return Err(PlanError::Length { what: "the margins of the constraints", found, expected });
        }
        let mut all = Blocks::zeros(size, problem.intervals() * substeps + 1);
        for at in 0..all.len() {
            let (node, part) = (at / substeps, (at % substeps) as f64 / substeps as f64);
            let out = all.at_mut(at);
            for (out, width) in out.iter_mut().zip(&width) {
                *out = margin * width;
            }
            if let Some(given) = margins {
                let next = given.at((node + 1).min(nodes - 1));
                for (out, (here, next)) in out.iter_mut().zip(given.at(node).iter().zip(next)) {
                    *out += here + part * (next - here);
                }
            }
        }
        Ok(Some(Limits { dims, bounds, width, general, margins: all, substeps }))
    }

    fn constraints(&self) -> &[Constraint] {
        match self.general {
            Some(general) => general.list(),
            None => &[],
        }
    }

    /// Returns the number of rows.
    fn rows(&self) -> usize {
        2 * self.width.len() + self.constraints().len()
    }

    /// Returns whether row `row` requires c = 0.
    fn is_equality(&self, row: usize) -> bool {
        row.checked_sub(2 * self.width.len()).is_some_and(|j| self.constraints()[j].equality)
    }

    /// Returns whether row `row` holds at the end alone.
    fn is_at_the_end(&self, row: usize) -> bool {
        row.checked_sub(2 * self.width.len()).is_some_and(|j| self.constraints()[j].extent == Extent::End)
    }

    /// Writes c of all rows at the state `x` of point `at`, with the values `g` of the constraints there; minus infinity where a row does
    /// not apply.
    fn fill(&self, at: usize, x: &[f64], g: &[f64], out: &mut [f64]) {
        let (n, margins, end) = (self.width.len(), self.margins.at(at), at + 1 == self.margins.len());
        for i in 0..n {
            out[2 * i] = (self.bounds.lower[i] + margins[i] - x[i]) / self.width[i];
            out[2 * i + 1] = (x[i] + margins[i] - self.bounds.upper[i]) / self.width[i];
        }
        for (j, constraint) in self.constraints().iter().enumerate() {
            let applies = match constraint.extent {
                Extent::Always => true,
                Extent::WhileControlled => !end,
                Extent::End => end,
            };
            // A value that is not finite makes the cost infinite, so that the step is rejected.
            out[2 * n + j] = if applies {
                (g[j] + if constraint.equality { 0.0 } else { margins[n + j] }) / constraint.scale
            } else {
                f64::NEG_INFINITY
            };
        }
    }

    /// Appends the part of the point (x, u) on which the constraints depend.
    fn gather(&self, x: &[f64], u: &[f64], out: &mut Vec<f64>) {
        if let Some(g) = self.general {
            let Dims { state, control } = g.dims();
            out.extend_from_slice(&x[..state]);
            if u.is_empty() {
                out.extend(std::iter::repeat_n(0.0, control));
            } else {
                out.extend_from_slice(&u[..control]);
            }
        }
    }

    /// Evaluates the constraints at gathered points.
    fn values(&self, times: &[f64], points: &[f64]) -> Vec<f64> {
        let Some(g) = self.general else { return Vec::new() };
        let mut out = vec![0.0; g.list().len() * times.len()];
        g.values(times, Points::new(points, g.dims().point()), &mut out);
        out
    }

    /// Computes ∂²g/∂z² of each constraint at gathered points with the gradients `linear`, by differences of the gradients. It is zero where
    /// it is not positive semidefinite.
    fn curvatures(&self, times: &[f64], points: &[f64], linear: &Linearization) -> Blocks {
        let Some(g) = self.general.filter(|g| g.dims().point() > 0) else {
            return Blocks::zeros(0, times.len());
        };
        let (n, m) = (g.dims().point(), g.list().len());
        let (mut out, mut moved, mut at) =
            (Blocks::zeros(m * n * n, times.len()), points.to_vec(), Linearization::default());
        for j in 0..n {
            let step = |z: &[f64]| DIFFERENCE * z[j].abs().max(1.0);
            moved.copy_from_slice(points);
            moved.chunks_exact_mut(n).for_each(|z| z[j] += step(z));
            g.linearize(times, Points::new(&moved, n), &mut at);
            for k in 0..times.len() {
                let out = out.at_mut(k);
                let by = step(&points[k * n..(k + 1) * n]);
                let slopes = at.jacobian.at(k).iter().zip(linear.jacobian.at(k));
                for (i, (new, old)) in slopes.enumerate() {
                    let (row, i) = (i / n, i % n);
                    // Half to the element and half to its mirror image.
                    let half = 0.5 * (new - old) / by;
                    out[(row * n + j) * n + i] += half;
                    out[(row * n + i) * n + j] += half;
                }
            }
        }
        for hessian in out.as_mut_slice().chunks_exact_mut(n * n) {
            if !is_semidefinite(n, hessian) {
                hessian.fill(0.0);
            }
        }
        out
    }

    /// Returns c of all rows at all nodes of a plan.
    fn along(&self, plan: &Plan) -> Blocks {
        let (mut points, intervals) = (Vec::new(), plan.controls.len());
        for (k, x) in plan.states.iter().enumerate() {
            self.gather(x, if k < intervals { plan.controls.at(k) } else { &[] }, &mut points);
        }
        let (g, m) = (self.values(&plan.times, &points), self.constraints().len());
        let mut out = Blocks::zeros(self.rows(), intervals + 1);
        for (k, x) in plan.states.iter().enumerate() {
            self.fill(k * self.substeps, x, &g[k * m..(k + 1) * m], out.at_mut(k));
        }
        out
    }

    /// Returns the largest violation of a plan. The initial state is given, so constraints of the state alone are ignored there.
    fn violation(&self, plan: &Plan) -> Violation {
        self.violation_from(0, plan)
    }

    /// Returns the largest violation of the rows from `first` on.
    fn violation_from(&self, first: usize, plan: &Plan) -> Violation {
        let mut worst = Violation { by: f64::NEG_INFINITY, node: 0, row: 0 };
        let free = 2 * self.width.len();
        for (node, c) in self.along(plan).iter().enumerate() {
            for (row, &c) in c.iter().enumerate().skip(first) {
                let controlled =
                    row >= free && self.constraints()[row - free].extent == Extent::WhileControlled;
                let by = if c.is_nan() {
                    f64::INFINITY
                } else if self.is_equality(row) && c > f64::NEG_INFINITY {
                    c.abs()
                } else {
                    c
                };
                if (node > 0 || controlled) && by > worst.by {
                    worst = Violation { by, node, row };
                }
            }
        }
        worst
    }

    /// Returns whether a plan comes near a state limit or violates a constraint.
    fn are_reached_by(&self, plan: &Plan) -> bool {
        let near = |c: &[f64]| c[..2 * self.width.len()].iter().any(|c| *c > -NEAR);
        self.violation(plan).by > 0.0 || self.along(plan).iter().skip(1).any(near)
    }

    /// Returns the error that names the row that `plan` violates most.
    fn error(&self, plan: &Plan) -> PlanError {
        let Violation { by, node, row } = self.violation(plan);
        let (time, n) = (plan.times[node], 2 * self.width.len());
        if row < n {
            return PlanError::OutsideLimits { state: row / 2, time, by: by * self.width[row / 2] };
        }
        let Constraint { name, scale, .. } = self.constraints()[row - n].clone();
        PlanError::Violated { constraint: name, time, by: by * scale }
    }

    /// Returns whether the search with constraints begins at a start: if it moves along a limit or a constraint, which it violates a little
    /// at most; and if the end is constrained, because the optimum without a goal may lead nowhere.
    fn begin_at(&self, start: &Plan) -> bool {
        let to_a_goal = self.constraints().iter().any(|constraint| constraint.extent == Extent::End);
        to_a_goal || (-NEAR..=ROUGHLY).contains(&self.violation(start).by)
    }

    /// Searches without the limits first, and then with them as constraints.
    fn constrain_freely(
        &self,
        ilqr: &mut Ilqr,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        start: &Start,
    ) -> Result<Plan, PlanError> {
        let free = Problem { state_bounds: None, ..*problem };
        let plan = ilqr.plan(f, &free, start.guess())?;
        // Where the optimum without the constraints costs nothing, it tells neither the scale of the cost nor a way; the start does.
        let told = |start: &Plan| plan.cost.abs() <= NOTHING * start.cost.abs();
        let instead = evaluated(f, &free, &ilqr.settings, start).filter(told);
        self.constrain(ilqr, f, problem, instead.unwrap_or(plan))
    }

    /// Searches from `plan` with the limits as constraints. The cost of the result is that of `problem`.
    fn constrain(
        &self,
        ilqr: &mut Ilqr,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        mut plan: Plan,
    ) -> Result<Plan, PlanError> {
        let free = Problem { state_bounds: None, ..*problem };
        let scale = plan.cost.abs();
        let mut cost = ConstrainedCost::new(self, problem, if scale > TINY { scale } else { 1.0 });
        let (mut before, mut stuck) = (f64::INFINITY, 0);
        let given = ilqr.settings.cost_tolerance;
        let exact = given.max(EXACT);
        let mut tolerance = INEXACT.max(exact);
        for _ in 0..SEARCHES {
            ilqr.settings.cost_tolerance = tolerance;
            let found = ilqr.plan(f, &Problem { cost: &cost, ..free }, plan.start().guess());
            ilqr.settings.cost_tolerance = given;
            let Ok(next) = found else { break };
            plan = next;
            let by = self.violation(&plan).by;
            if by <= INSIDE && tolerance <= exact {
                break;
            }
            tolerance = (0.1 * tolerance).max(exact);
            cost.update(ilqr, &plan, problem.times);
            if by > 0.25 * before {
                cost.penalty *= STIFFER;
            }
            stuck = if by > 0.9 * before { stuck + 1 } else { 0 };
            if stuck == STUCK {
                break;
            }
            before = by;
        }
        if self.violation(&plan).by > OUTSIDE {
            return Err(self.error(&plan));
        }
        plan.cost = ilqr.cost_of_trajectory(&free);
        Ok(plan)
    }
}

/// Returns whether a symmetric matrix is positive semidefinite, up to the errors of differences.
fn is_semidefinite(n: usize, a: &[f64]) -> bool {
    let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
    let mut shifted = a.to_vec();
    (0..n).for_each(|i| shifted[i * n + i] += DEFINITE * trace);
    trace > DIFFERENCE && factorize(n, &mut shifted)
}

/// Passes `problem` to `act` with a quadratic penalty outside its limits and constraints in place of them, for costs of the size `scale`.
pub(super) fn with_penalty<R>(
    problem: &Problem<'_>,
    dims: Dims,
    scale: f64,
    act: impl FnOnce(&Problem<'_>) -> R,
) -> R {
    let Ok(Some(limits)) = Limits::of(problem, dims, 0.0) else { return act(problem) };
    let cost = ConstrainedCost::new(&limits, problem, scale);
    act(&Problem { cost: &cost, state_bounds: None, constraints: PathConstraints::default(), ..*problem })
}

/// The cost of a problem with the terms of the augmented Lagrangian.
struct ConstrainedCost<'a> {
    inner: &'a dyn Cost,
    limits: &'a Limits<'a>,
    /// Number of stages of an integration step. The first stage of each step is a point of the trajectory.
    every: usize,
    /// Multipliers λ of all rows at each step, and at the end.
    multipliers: Vec<f64>,
    /// ρ.
    penalty: f64,
    /// Factor on the term of the final state, which makes it as large as that of one step.
    terminal_scale: f64,
}

impl<'a> ConstrainedCost<'a> {
    /// Extends the cost of `problem`, whose values are of the size `scale`. All multipliers are zero.
    fn new(limits: &'a Limits<'a>, problem: &Problem<'a>, scale: f64) -> Self {
        let span = problem.times[problem.intervals()] - problem.times[0];
        let weight = problem.transcription.weight(0).max(1e-3);
        let points = limits.margins.len() - 1;
        ConstrainedCost {
            inner: problem.cost,
            limits,
            every: problem.transcription.integrator.tableau().b.len(),
            multipliers: vec![0.0; limits.rows() * (points + 1)],
            penalty: 10.0 * scale / (span * weight),
            terminal_scale: span * weight / points as f64,
        }
    }

    fn end(&self) -> usize {
        self.limits.margins.len() - 1
    }

    /// Returns ρ of a row. A constraint of the end alone has as many times the weight as there are steps.
    fn penalty_of(&self, row: usize) -> f64 {
        self.penalty * if self.limits.is_at_the_end(row) { self.end() as f64 } else { 1.0 }
    }

    /// Returns λ + ρ c, with 0 for an inequality that presses on nothing.
    fn pressure(&self, row: usize, multiplier: f64, c: f64) -> f64 {
        let pressure = multiplier + self.penalty_of(row) * c;
        if self.limits.is_equality(row) { pressure } else { pressure.max(0.0) }
    }

    /// Returns Σ ψ of the values `c` at point `at`, and passes each active row with its pressure to `active`.
    fn terms(&self, at: usize, c: &[f64], mut active: impl FnMut(usize, f64)) -> f64 {
        let mut sum = 0.0;
        for (row, &c) in c.iter().enumerate() {
            if c == f64::NEG_INFINITY {
                continue;
            }
            if !c.is_finite() {
                return f64::INFINITY;
            }
            let multiplier = self.multipliers[at * self.limits.rows() + row];
            let pressure = self.pressure(row, multiplier, c);
            sum += (pressure * pressure - multiplier * multiplier) / (2.0 * self.penalty_of(row));
            if pressure != 0.0 {
                active(row, pressure);
            }
        }
        sum
    }

    /// Gathers the first point of each integration step: states, points of the constraints, and times.
    fn steps(&self, times: &[f64], z: Points<'_>) -> (Vec<f64>, Vec<f64>) {
        let (nx, mut points, mut at) = (self.limits.dims.state, Vec::new(), Vec::new());
        for i in (0..z.len()).step_by(self.every) {
            let (x, u) = z.at(i).split_at(nx);
            self.limits.gather(x, u, &mut points);
            at.push(times[i]);
        }
        (points, at)
    }

    /// Adds the gradient and the Hessian of the terms at one point. `slopes` has the gradients of the constraints there, and `curves` their
    /// curvatures; it may be empty.
    fn expand(
        &self,
        at: usize,
        c: &[f64],
        (slopes, curves): (&[f64], &[f64]),
        scale: f64,
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let (n, nz, nx) = (2 * self.limits.width.len(), gradient.len(), self.limits.dims.state);
        let inner = self.limits.general.map_or(Dims { state: 0, control: 0 }, Constraints::dims);
        // Position in z of coordinate j of the constraints' points; the control is absent at the end.
        let place = |j: usize| if j < inner.state { j } else { nx + j - inner.state };
        let reach = if nz > nx { inner.point() } else { inner.state };
        scale
            * self.terms(at, c, |row, pressure| {
                if row < n {
                    let (i, width) = (row / 2, self.limits.width[row / 2]);
                    let slope = if row % 2 == 0 { -pressure } else { pressure } / width;
                    let curvature = self.penalty_of(row) / (width * width);
                    return add_term(i, scale * slope, scale * curvature, gradient, hessian);
                }
                let unit = self.limits.constraints()[row - n].scale;
                let curvature = scale * self.penalty_of(row) / (unit * unit);
                let slope = &slopes[(row - n) * inner.point()..][..reach];
                for (j, a) in slope.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                    gradient[place(j)] += scale * pressure * a / unit;
                    for (l, b) in slope.iter().enumerate() {
                        hessian[place(j) * nz + place(l)] += curvature * a * b;
                    }
                }
                let size = inner.point();
                let curves = curves.chunks_exact(size.max(1)).skip((row - n) * size).take(reach);
                for (j, curves) in curves.enumerate() {
                    for (l, curve) in curves[..reach].iter().enumerate() {
                        hessian[place(j) * nz + place(l)] += scale * pressure / unit * curve;
                    }
                }
            })
    }

    /// Sets λ ← max(0, λ + ρ c) along the trajectory that the planner has just found.
    fn update(&mut self, ilqr: &Ilqr, plan: &Plan, times: &[f64]) {
        let (limits, nx, end) = (self.limits, self.limits.dims.state, self.end());
        let (mut points, mut at_times) = (Vec::new(), Vec::new());
        for at in 0..=end {
            if at < end {
                let (k, step) = (at / limits.substeps, at % limits.substeps);
                let part = step as f64 / limits.substeps as f64;
                let (x, u) = ilqr.stage_point(at * self.every).split_at(nx);
                limits.gather(x, u, &mut points);
                at_times.push(times[k] + part * (times[k + 1] - times[k]));
            } else {
                limits.gather(plan.states.at(plan.controls.len()), &[], &mut points);
                at_times.push(times[times.len() - 1]);
            }
        }
        let (g, m, rows) = (limits.values(&at_times, &points), limits.constraints().len(), limits.rows());
        let mut c = vec![0.0; rows];
        for at in 0..=end {
            let x = if at < end {
                &ilqr.stage_point(at * self.every)[..nx]
            } else {
                plan.states.at(plan.controls.len())
            };
            limits.fill(at, x, &g[at * m..(at + 1) * m], &mut c);
            for (row, c) in c.iter().enumerate().filter(|(_, c)| c.is_finite()) {
                let multiplier = self.multipliers[at * rows + row];
                self.multipliers[at * rows + row] = self.pressure(row, multiplier, *c);
            }
        }
    }
}

impl Cost for ConstrainedCost<'_> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.inner.running(times, z, out);
        let (points, at_times) = self.steps(times, z);
        let (g, m) = (self.limits.values(&at_times, &points), self.limits.constraints().len());
        let mut c = vec![0.0; self.limits.rows()];
        for at in 0..at_times.len() {
            let point = at * self.every;
            self.limits.fill(at, z.at(point), &g[at * m..(at + 1) * m], &mut c);
            out[point] += self.terms(at, &c, |_, _| ());
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        self.inner.quadratize(times, z, out);
        out.separate_hessians();
        let (points, at_times) = self.steps(times, z);
        let (mut linear, mut curves) = (Linearization::default(), Blocks::default());
        if let Some(g) = self.limits.general {
            g.linearize(&at_times, Points::new(&points, g.dims().point()), &mut linear);
            curves = self.limits.curvatures(&at_times, &points, &linear);
        }
        let mut c = vec![0.0; self.limits.rows()];
        for at in 0..at_times.len() {
            let point = at * self.every;
            let general = self.limits.general.is_some();
            let (g, slopes) = if general {
                (linear.value.at(at), (linear.jacobian.at(at), curves.at(at)))
            } else {
                (&[][..], (&[][..], &[][..]))
            };
            self.limits.fill(at, z.at(point), g, &mut c);
            let (gradient, hessian) = (out.gradient.at_mut(point), out.hessian.at_mut(point));
            out.value[point] += self.expand(at, &c, slopes, 1.0, gradient, hessian);
        }
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        let (mut points, mut c) = (Vec::new(), vec![0.0; self.limits.rows()]);
        self.limits.gather(state, &[], &mut points);
        self.limits.fill(self.end(), state, &self.limits.values(&[time], &points), &mut c);
        self.inner.terminal(time, state) + self.terminal_scale * self.terms(self.end(), &c, |_, _| ())
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let inner = self.inner.quadratize_terminal(time, state, gradient, hessian);
        let (mut points, mut c, mut linear) =
            (Vec::new(), vec![0.0; self.limits.rows()], Linearization::default());
        self.limits.gather(state, &[], &mut points);
        if let Some(g) = self.limits.general {
            g.linearize(&[time], Points::new(&points, g.dims().point()), &mut linear);
        }
        let curves = self.limits.curvatures(&[time], &points, &linear);
        let (g, slopes) = (linear.value.as_slice(), (linear.jacobian.as_slice(), curves.as_slice()));
        self.limits.fill(self.end(), state, g, &mut c);
        inner + self.expand(self.end(), &c, slopes, self.terminal_scale, gradient, hessian)
    }
}
