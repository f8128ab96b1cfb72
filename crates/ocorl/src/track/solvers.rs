//! The optimal control problems that receding-horizon policies solve at each update.

use super::follower::{SolveError, SolveRequest};
use super::guard::FallbackSettings;
use super::receding::{Receding, Solver};
use super::reference::Reference;
use super::segment::Segment;
use crate::linalg::{Blocks, Points, Quadratization};
use crate::plan::{Guess, Ilqr, Problem, RateConstraint, Settings, Transcription};
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
            ilqr: Settings { max_iterations: 10, cost_tolerance: 1e-9, ..Settings::default() },
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
    let solver = MpcSolver::new(dynamics, settings, fallback.bounds.clone());
    Receding::new(reference, solver.with_rate_limit(fallback.rate_limit.clone()), period, fallback)
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
    let solver = ReplanSolver::new(dynamics, cost, transcription, fallback.bounds.clone());
    Receding::new(reference, solver.with_rate_limit(fallback.rate_limit.clone()), period, fallback)
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
    dynamics: Box<dyn Dynamics>,
    settings: MpcSettings,
    bounds: Bounds,
    rate_limit: Option<RateLimit>,
    cost: TrackingCost,
    ilqr: Ilqr,
    grid: Vec<f64>,
    guess: Warm,
}

impl MpcSolver {
    /// Creates a solver that tracks on `dynamics`, the mean of a model or the true system.
    pub fn new(dynamics: Box<dyn Dynamics>, settings: MpcSettings, bounds: Bounds) -> Self {
        let cost = TrackingCost::new(&settings.state_weights, &settings.control_weights);
        let ilqr = Ilqr::new(settings.ilqr.clone());
        let (grid, guess) = (Vec::new(), Warm::default());
        MpcSolver { dynamics, settings, bounds, rate_limit: None, cost, ilqr, grid, guess }
    }

    /// Sets the rate limit of the controls.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: Option<RateLimit>) -> Self {
        self.rate_limit = limit;
        self
    }
}

impl Solver for MpcSolver {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Segment,
    ) -> Result<(), SolveError> {
        let SolveRequest { time, state, applied, previous } = *request;
        let end = (time + self.settings.horizon).min(reference.end());
        self.grid.clear();
        match self.settings.nodes {
            Some(nodes) => {
                let step = self.settings.horizon / (nodes.max(2) - 1) as f64;
                self.grid.extend((0..nodes.max(2)).map(|i| time + i as f64 * step).take_while(|&t| t < end));
                if self.grid.len() < nodes {
                    self.grid.push(end);
                }
            }
            None => plan_nodes(reference, time, end, &mut self.grid),
        }
        self.cost.sample(reference, &self.grid, &self.settings.transcription);
        let problem = Problem {
            cost: &self.cost,
            initial_state: state,
            times: &self.grid,
            control_bounds: &self.bounds,
            rate_limit: self.rate_limit.as_ref().map(|limit| RateConstraint::new(limit, applied)),
            state_bounds: None,
            transcription: self.settings.transcription,
        };
        solve_from(
            &mut self.ilqr,
            self.dynamics.as_mut(),
            &problem,
            reference,
            previous,
            &mut self.guess,
            out,
        )
    }
}

/// Solver of the task's own problem over the remaining horizon.
pub struct ReplanSolver {
    dynamics: Box<dyn Dynamics>,
    cost: Arc<dyn Cost>,
    bounds: Bounds,
    rate_limit: Option<RateLimit>,
    transcription: Transcription,
    ilqr: Ilqr,
    grid: Vec<f64>,
    guess: Warm,
}

impl ReplanSolver {
    /// Creates a solver that minimises `cost` on `dynamics` with controls within `bounds`.
    pub fn new(
        dynamics: Box<dyn Dynamics>,
        cost: Arc<dyn Cost>,
        transcription: Transcription,
        bounds: Bounds,
    ) -> Self {
        ReplanSolver {
            dynamics,
            cost,
            bounds,
            rate_limit: None,
            transcription,
            ilqr: Ilqr::new(Settings { max_iterations: 10, cost_tolerance: 1e-9, ..Settings::default() }),
            grid: Vec::new(),
            guess: Warm::default(),
        }
    }

    /// Sets the rate limit of the controls.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: Option<RateLimit>) -> Self {
        self.rate_limit = limit;
        self
    }
}

impl Solver for ReplanSolver {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Segment,
    ) -> Result<(), SolveError> {
        let SolveRequest { time, state, applied, previous } = *request;
        self.grid.clear();
        plan_nodes(reference, time, reference.end(), &mut self.grid);
        let problem = Problem {
            cost: self.cost.as_ref(),
            initial_state: state,
            times: &self.grid,
            control_bounds: &self.bounds,
            rate_limit: self.rate_limit.as_ref().map(|limit| RateConstraint::new(limit, applied)),
            state_bounds: None,
            transcription: self.transcription,
        };
        solve_from(
            &mut self.ilqr,
            self.dynamics.as_mut(),
            &problem,
            reference,
            previous,
            &mut self.guess,
            out,
        )
    }
}

/// Writes the grid `time`, the plan's nodes after it, and `end`. A first interval shorter than a thousandth of the next one is
/// merged with it.
fn plan_nodes(reference: &Reference, time: f64, end: f64, out: &mut Vec<f64>) {
    let times = &reference.plan.times;
    let mut next = times.partition_point(|&t| t <= time);
    if next + 1 < times.len() && times[next] - time < 1e-3 * (times[next + 1] - times[next]) {
        next += 1;
    }
    out.push(time);
    out.extend(times[next..].iter().copied().take_while(|&t| t < end));
    out.push(end);
}

/// Warm start of a solve: the previous solution where it is defined, and the plan beyond it.
#[derive(Clone, Debug, Default)]
struct Warm {
    controls: Vec<f64>,
    states: Vec<f64>,
}

impl Warm {
    fn fill(&mut self, grid: &[f64], reference: &Reference, previous: Option<&Segment>) {
        self.controls.clear();
        for t in grid.windows(2) {
            let middle = 0.5 * (t[0] + t[1]);
            let known = previous.and_then(|p| p.interval(middle).map(|k| p.controls.at(k)));
            self.controls.extend_from_slice(known.unwrap_or_else(|| reference.control(middle)));
        }
        let nx = reference.plan.dims().state;
        self.states.resize(grid.len() * nx, 0.0);
        for (&t, x) in grid.iter().zip(self.states.chunks_exact_mut(nx)) {
            match previous.and_then(|p| p.interval(t).map(|k| (p, k))) {
                Some((p, k)) => {
                    let w = (t - p.times[k]) / (p.times[k + 1] - p.times[k]);
                    let (a, b) = (p.states.at(k), p.states.at(k + 1));
                    for i in 0..nx {
                        x[i] = a[i] + w * (b[i] - a[i]);
                    }
                }
                None => reference.state(t, x),
            }
        }
    }
}

/// Warm-starts and solves a problem and writes its solution. The start keeps the states of the previous solution, and the search closes
/// the gap to the measured state: in an open-loop rollout an unstable system would leave the neighbourhood of the plan.
fn solve_from(
    ilqr: &mut Ilqr,
    dynamics: &mut dyn Dynamics,
    problem: &Problem<'_>,
    reference: &Reference,
    previous: Option<&Segment>,
    guess: &mut Warm,
    out: &mut Segment,
) -> Result<(), SolveError> {
    guess.fill(problem.times, reference, previous);
    let start = Guess { controls: &guess.controls, states: Some(&guess.states) };
    ilqr.solve(dynamics, problem, start).map_err(|error| SolveError(error.to_string()))?;
    out.times.clear();
    out.times.extend_from_slice(problem.times);
    copy(ilqr.states(), &mut out.states);
    copy(ilqr.controls(), &mut out.controls);
    copy(ilqr.gains(), &mut out.gains);
    Ok(())
}

fn copy(from: &Blocks, to: &mut Blocks) {
    to.resize(from.size(), from.len());
    to.as_mut_slice().copy_from_slice(from.as_slice());
}
