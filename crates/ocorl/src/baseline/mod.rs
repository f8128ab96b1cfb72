//! Optimal control with the true model: the first columns of the paper's Table 1, and better ones.
//!
//! | baseline | control | objective | evaluated by |
//! |---|---|---|---|
//! | [`continuous`] | fine piecewise-constant plan, open loop and tracked in closed loop | ∫ c dt + c_T | tight adaptive integration |
//! | [`held_as_reference`] | M − 1 holds | Σ Δ c(x_k, u_k) + c_T, Euler sub-steps | left Riemann sum over the sub-steps |
//! | [`held`] | M − 1 holds | ∫ c dt + c_T inside the holds | tight adaptive integration |
//!
//! The second reproduces the printed zero-order-hold column as the authors' program computes it. It is not the optimal zero-order hold,
//! because it minimises a cost that is sampled once per hold. These functions use the true dynamics, to which the learner has no access.
//! Global optimality is not guaranteed.

mod search;

use crate::plan::{
    Guess, Ilqr, Plan, PlanError, Problem, Quadrature, Settings, Start, Transcription, best_of,
    plan_within_limits, uniform_grid,
};
use crate::random::Stream;
use crate::simulate::{Experiment, Integrator, Outcome, Policy, Run, Simulator, Tolerance};
use crate::system::{Bounds, HeldReference, KnownSystem, Quantity, SystemError, Text};
use crate::track::{FallbackSettings, Feedback, Hold, MpcSettings, Reference, mpc, rate_limited, replan};
use search::{Search, within_limits};
use std::sync::Arc;

/// Minimum number of integration steps in a hold.
const HOLD_SUBSTEPS: usize = 20;

/// Number of holds of a system that is not in the paper.
const HOLDS: usize = 9;

/// Number of Euler steps in a hold of a plan that only serves as a start of the search for the optimal holds.
const SAMPLED_SUBSTEPS: usize = 50;

/// Number of equal parts of the horizon at whose ends a run is recorded.
const SAMPLES: usize = 1000;

/// Policy that follows the plan of the continuous baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tracker {
    /// The paper's model predictive controller.
    #[default]
    Mpc,
    /// Linear feedback with the plan's own gains.
    Feedback,
    /// Planning of the remaining task at every period.
    Replan,
}

/// Resolution and starts of the baseline computations.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineSettings {
    /// Number of intervals of the continuous plan. The loss relative to free control decreases with the square: with 400 it is at most
    /// 0.013 % on the paper's systems.
    pub intervals: usize,
    /// Number of holds of the zero-order-hold baselines; `None` means the paper's M − 1 for a benchmark system and 9 for others.
    pub holds: Option<usize>,
    /// Policy that follows the plan.
    pub tracker: Tracker,
    /// Time between two updates of the tracker; `None` means the paper's (0.02) for a benchmark system and 1/500 of the horizon for others.
    pub period: Option<f64>,
    /// Seed of the random starts.
    pub seed: u64,
    /// Number of stages in which the horizon of the first searches grows; 1 uses the whole horizon. For a problem whose optimum was not
    /// confirmed independently, other numbers of stages compete.
    pub stages: usize,
    /// Search effort: how often the portfolio of searches is repeated with other random starts. With more than 1 it also runs for the
    /// paper's problems. With 0 there is one kind of search.
    pub effort: usize,
}

impl Default for BaselineSettings {
    fn default() -> Self {
        BaselineSettings {
            intervals: 400,
            holds: None,
            tracker: Tracker::Mpc,
            period: None,
            seed: 0,
            stages: 1,
            effort: 1,
        }
    }
}

/// Optimal control with the true model in continuous time.
#[derive(Clone, Debug)]
pub struct Continuous {
    /// Plan with its feedback gains.
    pub plan: Plan,
    /// Run of the plan's controls on the true system in open loop.
    pub open_loop: Run,
    /// Run of the plan on the true system in closed loop.
    pub tracked: Run,
}

impl Continuous {
    /// Returns the run whose cost is the optimum: the open-loop run. If it fails (an unstable system amplifies integration errors over a
    /// long horizon), the closed-loop run; otherwise the two costs agree to four digits.
    pub fn best(&self) -> &Run {
        if self.tracked.cost() < 0.999 * self.open_loop.cost() { &self.tracked } else { &self.open_loop }
    }
}

/// Zero-order-hold control with the true model.
#[derive(Clone, Debug)]
pub struct Held {
    /// Plan with one interval per hold.
    pub plan: Plan,
    /// Cost of the controls: as the reference reports it, or integrated with tight tolerances.
    pub cost: f64,
}

/// All baselines of one system.
#[derive(Clone, Debug)]
pub struct Baselines {
    /// Optimal control in continuous time.
    pub continuous: Continuous,
    /// Zero-order hold as the authors' program computes it; `None` for a system that is not a benchmark, and where the Euler steps of that
    /// program are too long.
    pub held_reference: Option<Held>,
    /// Optimal zero-order hold.
    pub held: Held,
}

/// Reason for which a baseline could not be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The system is inconsistent.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A setting is below its minimum.
    #[error("{what} must be at least {least}, not {found}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Minimum value of the setting.
        least: String,
        /// Value that was given.
        found: String,
    },
    /// The planner found no plan.
    #[error("no plan was found for {system}: {source}")]
    Plan {
        /// Name of the system.
        system: Text,
        /// Error of the planner.
        source: PlanError,
    },
    /// The run of the plan on the true system ended early.
    #[error("the run of {system} ended early: {outcome}")]
    Run {
        /// Name of the system.
        system: Text,
        /// States of the system, for a message that names them.
        states: Vec<Quantity>,
        /// Reason for which the run ended.
        outcome: Outcome,
    },
}

/// Computes all baselines of `benchmark`.
pub fn all(benchmark: &KnownSystem, settings: &BaselineSettings) -> Result<Baselines, BaselineError> {
    check(benchmark, settings)?;
    let mut continuous = continuous(benchmark, settings, &[])?;
    let (held_reference, sampled) = if let Some(paper) = benchmark.paper() {
        match held_as_reference(benchmark, &paper.held, settings) {
            // The Euler steps may be too long for a system that is not in the paper.
            Err(BaselineError::Plan { .. }) if benchmark.published().is_none() => (None, None),
            found => {
                let found = found?;
                let plan = found.plan.clone();
                (Some(found), Some(plan))
            }
        }
    } else {
        let start = vec![0.0; benchmark.dims().control];
        (None, sampled_holds(benchmark, settings, SAMPLED_SUBSTEPS, &start).ok())
    };
    let seeds: Vec<&Plan> = std::iter::once(&continuous.plan).chain(&sampled).collect();
    let held = held(benchmark, settings, &seeds)?;
    if held.cost < continuous.best().cost() {
        // The optimal free control costs no more than a hold: the plan is in a poor local minimum, so search again from the hold.
        let again = self::continuous(benchmark, settings, &[&held.plan])?;
        if again.best().cost() < continuous.best().cost() {
            continuous = again;
        }
    }
    Ok(Baselines { continuous, held_reference, held })
}

/// Computes the optimal control in continuous time: planned on a fine grid, tracked, and integrated with tight tolerances. The plans in
/// `seeds` are starts in addition to a constant and three random ones.
pub fn continuous(
    benchmark: &KnownSystem,
    settings: &BaselineSettings,
    seeds: &[&Plan],
) -> Result<Continuous, BaselineError> {
    check(benchmark, settings)?;
    let search = Search { benchmark, settings, seeds, spent: Arc::default() };
    let plan = search.plan().map_err(|source| no_plan(benchmark, source))?;
    // A plan along a limit must be followed.
    let state_bounds = loosened(&benchmark.task.state_bounds);
    let fallback = &FallbackSettings { state_bounds, ..FallbackSettings::of(&benchmark.task) };
    let open_loop = run(benchmark, Box::new(Hold::new(&plan, fallback)))?;
    let reference = Reference::new(plan.clone(), benchmark.dynamics().as_mut(), &benchmark.task.angles);
    let policy: Box<dyn Policy + Send> = match settings.tracker {
        Tracker::Feedback => Box::new(Feedback::new(reference, fallback)),
        Tracker::Mpc => {
            let mut problem = MpcSettings::new(benchmark.dims(), tracking_horizon(benchmark));
            problem.period = period(benchmark, settings);
            Box::new(mpc(reference, benchmark.dynamics(), problem, fallback))
        }
        Tracker::Replan => {
            let (cost, transcription) = (benchmark.task.cost.clone(), Transcription::default());
            let period = period(benchmark, settings);
            Box::new(replan(reference, benchmark.dynamics(), cost, transcription, period, fallback))
        }
    };
    let mut tracked = run(benchmark, policy)?;
    if tracked.cost() - plan.cost > LOST * plan.cost.abs() && !benchmark.is_as_published() {
        // The tracker has lost a plan that ends in a long balance; the gains of the plan itself may hold it.
        let reference = Reference::new(plan.clone(), benchmark.dynamics().as_mut(), &benchmark.task.angles);
        let followed = run(benchmark, Box::new(Feedback::new(reference, fallback)));
        tracked = followed.ok().filter(|run| run.cost() < tracked.cost()).unwrap_or(tracked);
    }
    Ok(Continuous { plan, open_loop, tracked })
}

/// Relative difference of the costs of a tracked run and its plan above which the tracker has lost the plan.
const LOST: f64 = 1e-3;

/// Computes the zero-order hold exactly as the authors' program computes and reports it, with its `reference` settings for the system.
pub fn held_as_reference(
    benchmark: &KnownSystem,
    reference: &HeldReference,
    settings: &BaselineSettings,
) -> Result<Held, BaselineError> {
    check(benchmark, settings)?;
    let holds = holds(benchmark, settings);
    let times = uniform_grid(benchmark.task.horizon, holds);
    let start = vec![reference.start; benchmark.dims().control];
    let plan = sampled_holds(benchmark, settings, reference.substeps, &start)?;
    // With Euler steps the integrated quadrature is the left Riemann sum; zero iterations only evaluate.
    let transcription =
        Transcription { quadrature: Quadrature::Integrated, ..sampled_transcription(reference.substeps) };
    let reported = Problem { transcription, ..Problem::of(&benchmark.task, &times) };
    let guess = Guess { controls: plan.controls.as_slice(), states: None };
    let evaluated = Ilqr::new(Settings { max_iterations: 0, ..Settings::default() })
        .solve(benchmark.dynamics().as_mut(), &reported, guess)
        .map_err(|source| no_plan(benchmark, source))?;
    let last: f64 = plan.controls.at(holds - 1).iter().map(|u| u * u).sum();
    Ok(Held { plan, cost: evaluated.cost + reference.terminal_control_weight * last })
}

/// Computes the holds that minimise the cost sampled at their starts, integrated by `substeps` Euler steps each, from a constant control.
fn sampled_holds(
    benchmark: &KnownSystem,
    settings: &BaselineSettings,
    substeps: usize,
    start: &[f64],
) -> Result<Plan, BaselineError> {
    let holds = holds(benchmark, settings);
    let times = uniform_grid(benchmark.task.horizon, holds);
    let transcription = sampled_transcription(substeps);
    let problem = Problem { transcription, ..Problem::of(&benchmark.task, &times) };
    let start = Start::constant(start, holds);
    let settings = Settings { max_iterations: 1000, ..Settings::default() };
    plan_within_limits(benchmark.dynamics().as_mut(), &problem, &settings, &start)
        .map_err(|source| no_plan(benchmark, source))
}

fn sampled_transcription(substeps: usize) -> Transcription {
    Transcription { integrator: Integrator::Euler, substeps, quadrature: Quadrature::AtStart }
}

/// Computes the optimal zero-order hold, with the true cost integrated inside the holds. The plans in `seeds` are starts in addition to a
/// constant and four random ones.
pub fn held(
    benchmark: &KnownSystem,
    settings: &BaselineSettings,
    seeds: &[&Plan],
) -> Result<Held, BaselineError> {
    check(benchmark, settings)?;
    let task = &benchmark.task;
    let holds = holds(benchmark, settings);
    let times = uniform_grid(task.horizon, holds);
    let transcription = Transcription {
        substeps: settings.intervals.div_ceil(holds).max(HOLD_SUBSTEPS),
        ..Transcription::default()
    };
    let problem = Problem { transcription, ..Problem::of(task, &times) };
    let mut starts: Vec<Start> = seeds.iter().map(|plan| plan.resampled(&times)).collect();
    if !benchmark.is_as_published() {
        // In open loop an unstable system leaves the plan, so the start includes the states of the plan.
        starts.extend(seeds.iter().map(|plan| plan.refined(&times, 2)));
    }
    let stream = Stream::root(settings.seed).child("held").child(&benchmark.name);
    starts.extend(Start::around(&task.safe_control, 0.3, 4, holds, &stream));
    // A short search from every start and a long one from the best, so that poor starts cost little.
    let search = |starts: &[Start], limit: usize| {
        let settings = Settings { max_iterations: limit, ..Settings::default() };
        best_of(&|| benchmark.dynamics(), &problem, &settings, starts)
            .map_err(|source| no_plan(benchmark, source))
    };
    let best = search(&starts, 60)?;
    let states = (!benchmark.is_as_published()).then(|| best.states.clone());
    let plan = search(&[Start { controls: best.trajectory.controls, states }], 500)?;
    let plan =
        within_limits(benchmark, problem, &Settings { max_iterations: 500, ..Settings::default() }, plan)
            .map_err(|source| no_plan(benchmark, source))?;
    let evaluate = |plan: &Plan| run(benchmark, Box::new(Hold::new(plan, &FallbackSettings::of(task))));
    let mut held = Held { cost: evaluate(&plan)?.cost(), plan };
    // A search may end above a known solution, so known holds compete as they are; but not where they may violate constraints.
    let comparable = |seed: &&&Plan| seed.controls.len() == holds && task.constraints.is_none();
    for &seed in seeds.iter().filter(comparable) {
        match evaluate(seed) {
            Ok(run) if run.cost() < held.cost => held = Held { plan: seed.clone(), cost: run.cost() },
            _ => (),
        }
    }
    Ok(held)
}

/// Runs a policy on the true system, with the rate limit of its controls, integrated with tight tolerances.
fn run(benchmark: &KnownSystem, policy: Box<dyn Policy + Send>) -> Result<Run, BaselineError> {
    let simulator = Simulator {
        tolerance: Tolerance { absolute: 1e-12, ..Tolerance::new(1e-10) },
        ..Simulator::default()
    };
    let task = &benchmark.task;
    let sample_times = &uniform_grid(task.horizon, SAMPLES);
    let limits = &loosened(&task.state_bounds);
    let experiment = Experiment { sample_times, state_bounds: Some(limits), ..Experiment::of(task) };
    let mut policy = rate_limited(policy, &FallbackSettings::of(task), None);
    let run = simulator.run(benchmark.dynamics().as_mut(), policy.as_mut(), &experiment);
    match run.outcome {
        Outcome::Completed => Ok(run),
        outcome => Err(BaselineError::Run {
            system: benchmark.name.clone(),
            states: benchmark.task.states.clone(),
            outcome,
        }),
    }
}

/// Returns the limits, wider by a hundredth of their width. A plan along a limit is inside at its nodes; between them, and by the rounding of
/// its integration, the trajectory may be outside by a little.
fn loosened(limits: &Bounds) -> Bounds {
    let mut out = limits.clone();
    for (lower, upper) in out.lower.iter_mut().zip(&mut out.upper) {
        let by = if (*upper - *lower).is_finite() { 0.01 * (*upper - *lower) } else { 0.01 };
        (*lower, *upper) = (*lower - by, *upper + by);
    }
    out
}

fn holds(benchmark: &KnownSystem, settings: &BaselineSettings) -> usize {
    settings.holds.unwrap_or_else(|| benchmark.paper().map_or(HOLDS, |paper| paper.measurements - 1))
}

fn tracking_horizon(benchmark: &KnownSystem) -> f64 {
    benchmark.paper().map_or(0.5 * benchmark.task.horizon, |paper| paper.tracking_horizon)
}

fn period(benchmark: &KnownSystem, settings: &BaselineSettings) -> f64 {
    let usual = || benchmark.paper().map_or(benchmark.task.horizon / 500.0, |paper| paper.tracking_period);
    settings.period.unwrap_or_else(usual)
}

fn no_plan(benchmark: &KnownSystem, source: PlanError) -> BaselineError {
    BaselineError::Plan { system: benchmark.name.clone(), source }
}

fn check(benchmark: &KnownSystem, settings: &BaselineSettings) -> Result<(), BaselineError> {
    benchmark.validate()?;
    for (what, found) in [
        ("the number of intervals", settings.intervals),
        ("the number of holds", settings.holds.unwrap_or(1)),
    ] {
        if found == 0 {
            return Err(BaselineError::Setting { what, least: "1".into(), found: "0".into() });
        }
    }
    if let Some(period) = settings.period.filter(|period| !(*period > 0.0 && period.is_finite())) {
        return Err(BaselineError::Setting {
            what: "the control period",
            least: "a positive time".into(),
            found: period.to_string(),
        });
    }
    Ok(())
}
