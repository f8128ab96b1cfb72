//! The optimal control problems that receding-horizon policies solve at each update.

use super::follower::{SolveError, SolveRequest};
use super::guard::FallbackSettings;
use super::receding::{Receding, Solver};
use super::reference::Reference;
use super::soft_limits::{STIFFNESS, SoftLimits, SoftlyLimited};
use crate::linalg::{Points, Quadratization};
use crate::plan::{Guess, Ilqr, PathConstraints, Problem, RateConstraint, Settings, Transcription};
use crate::simulate::Trajectory;
use crate::system::{
    Bounds, Cost, Dims, Dynamics, RateLimit, squares_gradient, squares_hessian, weighted_squares,
};
use std::sync::Arc;

/// Settings of the paper's tracking problem.
#[derive(Clone, Debug, PartialEq)]
pub struct MpcSettings {
    /// Prediction horizon T_MPC; shorter near the end of the plan.
    pub horizon: f64,
    /// Time between two solves; the paper uses 0.02.
    pub period: f64,
    /// Number of nodes of the grid, both ends included. `None` uses the plan's own nodes, on which the tracking cost of the plan is zero.
    pub nodes: Option<usize>,
    /// Weight of each state's squared deviation; the paper uses 1.
    pub state_weights: Vec<f64>,
    /// Weight of each control's squared deviation; the paper uses 1.
    pub control_weights: Vec<f64>,
    /// Numerical integration of an interval.
    pub transcription: Transcription,
    /// Stopping criteria of each solve.
    pub ilqr: Settings,
}

impl MpcSettings {
    /// Returns the paper's weights and period for a system of the given dimensions, on the plan's grid.
    pub fn new(dims: Dims, horizon: f64) -> Self {
        MpcSettings {
            horizon,
            period: 0.02,
            nodes: None,
            state_weights: vec![1.0; dims.state],
            control_weights: vec![1.0; dims.control],
            transcription: Transcription::default(),
            ilqr: online(),
        }
    }
}

/// Creates the paper's policy: at every period it minimises the deviation from the plan over T_MPC on `dynamics`. With a rate limit the
/// control is set every control period, and the policy solves no more often than that.
pub fn mpc(
    reference: Reference,
    dynamics: Box<dyn Dynamics>,
    settings: MpcSettings,
    fallback: &FallbackSettings,
) -> Receding<MpcSolver> {
    let period = period(settings.period, fallback);
    let solver = MpcSolver::new(dynamics, settings, fallback.bounds.clone())
        .with_rate_limit(fallback.rate_limit.clone())
        .with_state_bounds(&fallback.state_bounds);
    Receding::new(reference, solver, period, fallback)
}

fn period(period: f64, fallback: &FallbackSettings) -> f64 {
    fallback.rate_limit.as_ref().map_or(period, |limit| limit.period.max(period))
}

/// Creates a policy that at every period minimises the cost of the task over the remaining horizon of the plan on `dynamics`. With a rate
/// limit the control is set every control period, and the policy solves no more often than that.
pub fn replan(
    reference: Reference,
    dynamics: Box<dyn Dynamics>,
    cost: Arc<dyn Cost>,
    transcription: Transcription,
    period: f64,
    fallback: &FallbackSettings,
) -> Receding<ReplanSolver> {
    let period = self::period(period, fallback);
    let solver = ReplanSolver::new(dynamics, cost, transcription, fallback.bounds.clone())
        .with_rate_limit(fallback.rate_limit.clone())
        .with_state_bounds(&fallback.state_bounds);
    Receding::new(reference, solver, period, fallback)
}

/// Tracking cost c = Σ qᵢ (xᵢ − x̄ᵢ(t))² + Σ rⱼ (uⱼ − ūⱼ(t))², with the state term as terminal cost.
///
/// The reference is sampled once for a list of times ([`sample`](Self::sample)); the cost can be evaluated only at those times.
#[derive(Clone, Debug, Default)]
pub struct TrackingCost {
    weights: Vec<f64>,
    states: usize,
    times: Vec<f64>,
    /// Reference (x̄, ū) at the sampled times.
    targets: Vec<f64>,
    end: Vec<f64>,
}

impl TrackingCost {
    /// Creates a cost with the given weights; the reference must be sampled before evaluation.
    pub fn new(state_weights: &[f64], control_weights: &[f64]) -> Self {
        let states = state_weights.len();
        TrackingCost {
            weights: [state_weights, control_weights].concat(),
            states,
            times: Vec::new(),
            targets: Vec::new(),
            end: vec![0.0; states],
        }
    }

    /// Samples `reference` at the stages of a grid. The control of an interval is that of the reference at its midpoint.
    pub fn sample(&mut self, reference: &Reference, grid: &[f64], transcription: &Transcription) {
        let (n, nx) = (self.weights.len(), self.states);
        let stages = transcription.stages();
        self.times.clear();
        self.targets.resize(stages * (grid.len() - 1) * n, 0.0);
        let mut targets = self.targets.chunks_exact_mut(n);
        for t in grid.windows(2) {
            let control = reference.control(0.5 * (t[0] + t[1]));
            for (s, target) in (0..stages).zip(&mut targets) {
                let time = t[0] + transcription.fraction(s) * (t[1] - t[0]);
                self.times.push(time);
                reference.state(time, &mut target[..nx]);
                target[nx..].copy_from_slice(control);
            }
        }
        reference.state(grid[grid.len() - 1], &mut self.end);
    }
}

impl Cost for TrackingCost {
    fn dims(&self) -> Dims {
        Dims { state: self.states, control: self.weights.len() - self.states }
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        assert_eq!(times.len(), self.times.len(), "a tracking cost is evaluated at its sampled times");
        debug_assert_eq!(times, self.times);
        let n = self.weights.len();
        let points = z.as_slice().chunks_exact(n).zip(self.targets.chunks_exact(n));
        for ((z, target), out) in points.zip(out) {
            *out = weighted_squares(&self.weights, z, target);
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        let n = self.weights.len();
        out.resize_shared(n, z.len());
        self.running(times, z, &mut out.value);
        for (k, target) in self.targets.chunks_exact(n).enumerate() {
            squares_gradient(&self.weights, z.at(k), target, out.gradient.at_mut(k));
        }
        squares_hessian(&self.weights, out.hessian.as_mut_slice());
    }

    fn terminal(&self, _time: f64, state: &[f64]) -> f64 {
        weighted_squares(&self.weights, state, &self.end)
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        squares_gradient(&self.weights, state, &self.end, gradient);
        squares_hessian(&self.weights[..self.states], hessian);
        self.terminal(time, state)
    }
}

/// Solver of the tracking problem.
pub struct MpcSolver {
    settings: MpcSettings,
    cost: TrackingCost,
    search: Search,
}

impl MpcSolver {
    /// Creates a solver that tracks on `dynamics`, the mean of a model or the true system.
    pub fn new(dynamics: Box<dyn Dynamics>, settings: MpcSettings, bounds: Bounds) -> Self {
        let cost = TrackingCost::new(&settings.state_weights, &settings.control_weights);
        let search = Search::new(dynamics, settings.transcription, settings.ilqr.clone(), bounds);
        MpcSolver { settings, cost, search }
    }

    /// Sets the rate limit of the controls.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: Option<RateLimit>) -> Self {
        self.search.rate_limit = limit;
        self
    }

    /// Sets the limits of the states, which the solver respects softly.
    #[must_use]
    pub fn with_state_bounds(mut self, bounds: &Bounds) -> Self {
        let weights = self.settings.state_weights.iter().map(|weight| STIFFNESS * weight).collect();
        self.search.limits = SoftLimits::new(bounds, weights);
        self
    }
}

impl Solver for MpcSolver {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let (time, grid) = (request.time, &mut self.search.grid);
        let end = (time + self.settings.horizon).min(reference.end());
        match self.settings.nodes {
            Some(nodes) => {
                let step = self.settings.horizon / (nodes.max(2) - 1) as f64;
                grid.clear();
                grid.extend((0..nodes.max(2)).map(|i| time + i as f64 * step).take_while(|&t| t < end));
                if grid.len() < nodes {
                    grid.push(end);
                }
            }
            None => plan_nodes(reference, time, end, grid),
        }
        self.cost.sample(reference, grid, &self.settings.transcription);
        self.search.solve(&self.cost, reference, request, out)
    }
}

/// Solver of the task's own problem over the remaining horizon.
pub struct ReplanSolver {
    cost: Arc<dyn Cost>,
    state_bounds: Bounds,
    search: Search,
}

impl ReplanSolver {
    /// Creates a solver that minimises `cost` on `dynamics` with controls within `bounds`.
    pub fn new(
        dynamics: Box<dyn Dynamics>,
        cost: Arc<dyn Cost>,
        transcription: Transcription,
        bounds: Bounds,
    ) -> Self {
        let state_bounds = Bounds::none(dynamics.dims().state);
        ReplanSolver { cost, state_bounds, search: Search::new(dynamics, transcription, online(), bounds) }
    }

    /// Sets the rate limit of the controls.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: Option<RateLimit>) -> Self {
        self.search.rate_limit = limit;
        self
    }

    /// Sets the limits of the states, which the solver respects softly.
    #[must_use]
    pub fn with_state_bounds(mut self, bounds: &Bounds) -> Self {
        self.state_bounds = bounds.clone();
        self
    }

    /// Returns the soft form of the limits. The plan gives the unit of the cost: an excess of a hundredth of the width of the limits costs as
    /// much as the mean rate of the plan.
    fn soft_limits(&self, plan: &Reference) -> Option<SoftLimits> {
        let rate = plan.cost.abs().max(f64::MIN_POSITIVE.sqrt()) / (plan.end() - plan.times[0]);
        let weight = |(lower, upper): (&f64, &f64)| {
            let width = upper - lower;
            STIFFNESS * rate / if width.is_finite() && width > 0.0 { width * width } else { 1.0 }
        };
        let Bounds { lower, upper } = &self.state_bounds;
        SoftLimits::new(&self.state_bounds, lower.iter().zip(upper).map(weight).collect())
    }
}

impl Solver for ReplanSolver {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        if self.search.limits.is_none() {
            self.search.limits = self.soft_limits(reference);
        }
        plan_nodes(reference, request.time, reference.end(), &mut self.search.grid);
        self.search.solve(self.cost.as_ref(), reference, request, out)
    }
}

/// Stopping criteria of a solve at every period, which begins near its solution.
fn online() -> Settings {
    Settings { max_iterations: 10, cost_tolerance: 1e-9, ..Settings::default() }
}

/// Writes the grid `time`, the plan's nodes after it, and `end`. A first interval shorter than a thousandth of the next one is
/// merged with it.
fn plan_nodes(reference: &Reference, time: f64, end: f64, out: &mut Vec<f64>) {
    let times = &reference.times;
    let mut next = times.partition_point(|&t| t <= time);
    out.clear();
    if next + 1 < times.len() && times[next] - time < 1e-3 * (times[next + 1] - times[next]) {
        next += 1;
    }
    out.push(time);
    out.extend(times[next..].iter().copied().take_while(|&t| t < end));
    out.push(end);
}

/// A search for the plan on `grid` from the present state, with a warm start.
struct Search {
    dynamics: Box<dyn Dynamics>,
    bounds: Bounds,
    rate_limit: Option<RateLimit>,
    limits: Option<SoftLimits>,
    transcription: Transcription,
    ilqr: Ilqr,
    grid: Vec<f64>,
    /// Controls and states of the start.
    controls: Vec<f64>,
    states: Vec<f64>,
}

impl Search {
    fn new(
        dynamics: Box<dyn Dynamics>,
        transcription: Transcription,
        ilqr: Settings,
        bounds: Bounds,
    ) -> Self {
        let (ilqr, grid, controls, states) = (Ilqr::new(ilqr), Vec::new(), Vec::new(), Vec::new());
        Search {
            dynamics,
            bounds,
            rate_limit: None,
            limits: None,
            transcription,
            ilqr,
            grid,
            controls,
            states,
        }
    }

    /// Solves the problem with `cost` on the grid and writes its solution. The start keeps the states of the previous solution, and the
    /// search closes the gap to the measured state: in an open-loop rollout an unstable system would leave the neighbourhood of the plan.
    fn solve(
        &mut self,
        cost: &dyn Cost,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        self.start_from(reference, request.previous);
        let soft = self.limits.as_ref().map(|limits| SoftlyLimited { inner: cost, limits });
        let problem = Problem {
            cost: soft.as_ref().map_or(cost, |soft| soft as &dyn Cost),
            initial_state: request.state,
            times: &self.grid,
            control_bounds: &self.bounds,
            rate_limit: self.rate_limit.as_ref().map(|limit| RateConstraint::new(limit, request.applied)),
            state_bounds: None,
            constraints: PathConstraints::default(),
            transcription: self.transcription,
        };
        let start = Guess { controls: &self.controls, states: Some(&self.states) };
        let (ilqr, dynamics) = (&mut self.ilqr, self.dynamics.as_mut());
        ilqr.solve(dynamics, &problem, start).map_err(|error| SolveError(error.to_string()))?;
        out.times.clone_from(&self.grid);
        out.states.copy_from(ilqr.states());
        out.controls.copy_from(ilqr.controls());
        out.gains.copy_from(ilqr.gains());
        Ok(())
    }

    /// Fills the start: the previous solution where it is defined, and the plan beyond it.
    fn start_from(&mut self, reference: &Reference, previous: Option<&Trajectory>) {
        let known = |time: f64| previous.and_then(|p| p.covering(time).map(|k| (p, k)));
        self.controls.clear();
        for t in self.grid.windows(2) {
            let middle = 0.5 * (t[0] + t[1]);
            let control = known(middle).map_or_else(|| reference.control(middle), |(p, k)| p.controls.at(k));
            self.controls.extend_from_slice(control);
        }
        let nx = reference.dims().state;
        self.states.resize(self.grid.len() * nx, 0.0);
        for (&t, x) in self.grid.iter().zip(self.states.chunks_exact_mut(nx)) {
            match known(t) {
                Some((p, k)) => p.state_in(k, t, x),
                None => reference.state(t, x),
            }
        }
    }
}
