//! What is attainable when the true model is known: the first columns of the paper's Table 1, and better ones.
//!
//! | baseline | control | objective | evaluated by |
//! |---|---|---|---|
//! | [`continuous`] | fine piecewise-constant plan, open loop and tracked in closed loop | ∫ c dt + c_T | tight adaptive integration |
//! | [`held_as_reference`] | M − 1 holds | Σ Δ c(x_k, u_k) + c_T: sampled at the holds' beginnings, Euler sub-steps | left Riemann sum over the sub-steps, as the authors' program does |
//! | [`held`] | M − 1 holds | ∫ c dt + c_T inside the holds | tight adaptive integration |
//!
//! The second reproduces the printed zero-order-hold column; it is not the best hold, because it minimises a cost that is
//! sampled once a hold. These functions may look at the true dynamics; the learner never does.

use crate::plan::{
    Guess, Ilqr, Plan, PlanError, Problem, Quadrature, RoughToFine, Settings, Start, Transcription, best_of,
    better, uniform_grid,
};
use crate::random::Stream;
use crate::simulate::{Experiment, Integrator, Outcome, Policy, Run, Simulator, Tolerance};
use crate::system::{Benchmark, BenchmarkError, Quantity, Text};
use crate::track::{Feedback, Hold, LadderSettings, MpcSettings, Reference, mpc, replan};

/// Least integration steps in a hold, however coarse the plan.
const HOLD_SUBSTEPS: usize = 20;

/// Equal parts of the horizon at whose ends a run is recorded.
const SAMPLES: usize = 1000;

/// Which policy follows the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tracker {
    /// The paper's model-predictive control.
    #[default]
    Mpc,
    /// The plan's own gains.
    Feedback,
    /// Planning the rest of the task anew at every period.
    Replan,
}

/// How finely and from where the baselines are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineSettings {
    /// Intervals of the continuous plan. Its loss against free control falls with the square: at 400 it is at most
    /// 0.013 % on the paper's systems.
    pub intervals: usize,
    /// Holds of the zero-order-hold baselines; `None`: the paper's M − 1.
    pub holds: Option<usize>,
    /// Who follows the plan.
    pub tracker: Tracker,
    /// Time between two updates of the tracker; the paper's is 0.02.
    pub period: f64,
    /// Seed of the random starts.
    pub seed: u64,
    /// Stages in which the horizon of the first searches grows; 1: all of it at once.
    pub stages: usize,
}

impl Default for BaselineSettings {
    fn default() -> Self {
        BaselineSettings {
            intervals: 400,
            holds: None,
            tracker: Tracker::Mpc,
            period: 0.02,
            seed: 0,
            stages: 1,
        }
    }
}

/// Best control with the true model, in continuous time.
#[derive(Clone, Debug)]
pub struct Continuous {
    /// The plan with its gains.
    pub plan: Plan,
    /// The plan's controls on the true system, open loop.
    pub open_loop: Run,
    /// The plan followed in closed loop.
    pub tracked: Run,
}

impl Continuous {
    /// The run whose cost is the optimum: as planned, open loop. Where that falls (what is unstable for long falls by any error of integration),
    /// the run in closed loop; the two otherwise cost the same to four digits.
    pub fn best(&self) -> &Run {
        if self.tracked.cost() < 0.999 * self.open_loop.cost() { &self.tracked } else { &self.open_loop }
    }
}

/// Best zero-order hold with the true model.
#[derive(Clone, Debug)]
pub struct Held {
    /// The controls.
    pub plan: Plan,
    /// What they cost: as the reference reports it, or integrated tightly.
    pub cost: f64,
}

/// All baselines of one system.
#[derive(Clone, Debug)]
pub struct Baselines {
    /// Best continuous control.
    pub continuous: Continuous,
    /// Zero-order hold as the reference computes it.
    pub held_reference: Held,
    /// Best zero-order hold.
    pub held: Held,
}

/// Why a baseline could not be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The benchmark itself is not sound.
    #[error(transparent)]
    Benchmark(#[from] BenchmarkError),
    /// A setting that cannot be used.
    #[error("{what} must be at least {least}, not {found}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// The least value.
        least: String,
        /// What was given.
        found: String,
    },
    /// No plan was found.
    #[error("no plan was found for {system}: {source}")]
    Plan {
        /// The system.
        system: Text,
        /// Why.
        source: PlanError,
    },
    /// The plan did not survive on the true system.
    #[error("the run of {system} ended early: {outcome}")]
    Run {
        /// The system.
        system: Text,
        /// Its states, for a message.
        states: Vec<Quantity>,
        /// How.
        outcome: Outcome,
    },
}

/// All baselines of `benchmark`.
pub fn all(benchmark: &Benchmark, settings: &BaselineSettings) -> Result<Baselines, BaselineError> {
    check(benchmark, settings)?;
    let mut continuous = continuous(benchmark, settings, &[])?;
    let held_reference = held_as_reference(benchmark, settings);
    // Its Euler steps may be too long for a system that is not the authors'; then there is only the better hold.
    let (held, held_reference) = match held_reference {
        Err(BaselineError::Plan { .. }) if benchmark.published.is_none() => {
            let held = held(benchmark, settings, &[&continuous.plan])?;
            (held.clone(), held)
        }
        found => {
            let found = found?;
            (self::held(benchmark, settings, &[&continuous.plan, &found.plan])?, found)
        }
    };
    if held.cost < continuous.best().cost() {
        // Free control can do at least what a hold does: the plan is in a poor valley, the hold in a better one.
        let again = self::continuous(benchmark, settings, &[&held.plan])?;
        if again.best().cost() < continuous.best().cost() {
            continuous = again;
        }
    }
    Ok(Baselines { continuous, held_reference, held })
}

/// The best control in continuous time: planned on a fine grid, followed, and integrated tightly. The plans in `seeds` are
/// starts beside a constant and three random ones.
pub fn continuous(
    benchmark: &Benchmark,
    settings: &BaselineSettings,
    seeds: &[&Plan],
) -> Result<Continuous, BaselineError> {
    check(benchmark, settings)?;
    let plan = fine_plan(benchmark, settings, seeds).map_err(|source| no_plan(benchmark, source))?;
    let ladder = LadderSettings::of(&benchmark.task);
    let open_loop = run(benchmark, &mut Hold::new(&plan, ladder.clone()))?;
    let reference = Reference::new(plan.clone(), benchmark.dynamics().as_mut(), &benchmark.task.angles);
    let mut policy: Box<dyn Policy> = match settings.tracker {
        Tracker::Feedback => Box::new(Feedback::new(reference, ladder)),
        Tracker::Mpc => {
            let mut problem = MpcSettings::new(benchmark.dims(), benchmark.settings.tracking_horizon);
            problem.period = settings.period;
            Box::new(mpc(reference, benchmark.dynamics(), problem, ladder))
        }
        Tracker::Replan => {
            let (cost, transcription) = (benchmark.task.cost.clone(), Transcription::default());
            Box::new(replan(reference, benchmark.dynamics(), cost, transcription, settings.period, ladder))
        }
    };
    let tracked = run(benchmark, policy.as_mut())?;
    Ok(Continuous { plan, open_loop, tracked })
}

/// The best of several searches: each from several starts on a coarse grid, in stages, its best refined on the fine one.
///
/// A local search finds a local optimum. The optima of the paper's systems were confirmed by collocation with another program
/// (studies/ground_truth), and one search finds them; of any other system nothing is known, and searches of different kinds compete.
fn fine_plan(benchmark: &Benchmark, settings: &BaselineSettings, seeds: &[&Plan]) -> Result<Plan, PlanError> {
    let confirmed = benchmark.published.is_some();
    let own = Kind { stages: settings.stages, size: 0.1 };
    let others = KINDS.iter().filter(|kind| !confirmed && **kind != own);
    let mut best = fine_plan_of(own, benchmark, settings, seeds);
    for kind in others {
        best = better(best, fine_plan_of(*kind, benchmark, settings, seeds));
    }
    best
}

/// How a search begins: in how many stages the horizon grows, and how far random starts are from the safe control.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    stages: usize,
    size: f64,
}

/// The searches that compete for a system whose optimum nobody has confirmed.
const KINDS: [Kind; 5] = [
    Kind { stages: 1, size: 0.1 },
    Kind { stages: 1, size: 1.0 },
    Kind { stages: 3, size: 0.3 },
    Kind { stages: 5, size: 0.1 },
    Kind { stages: 8, size: 1.0 },
];

fn fine_plan_of(
    kind: Kind,
    benchmark: &Benchmark,
    settings: &BaselineSettings,
    seeds: &[&Plan],
) -> Result<Plan, PlanError> {
    let (task, safe) = (&benchmark.task, &benchmark.task.safe_control);
    let coarse = uniform_grid(task.horizon, settings.intervals.div_ceil(4).max(1));
    let stream = Stream::root(settings.seed).child("baseline").child(&benchmark.name);
    let starts = |count: usize| {
        let seeds = seeds.iter().map(|plan| plan.resampled(&coarse[..=count]));
        seeds.chain(Start::around(safe, kind.size, 3, count, &stream)).collect()
    };
    let limited = |max_iterations| Settings { max_iterations, ..Settings::default() };
    let (rough, fine) = (limited(100), limited(500));
    let search = RoughToFine { coarse: &coarse, rough, fine, stages: kind.stages, rest: safe };
    let times = uniform_grid(task.horizon, settings.intervals);
    search.search(&|| benchmark.dynamics(), &Problem::of(task, &times), &starts)
}

/// Zero-order hold exactly as the authors' program computes and reports it.
pub fn held_as_reference(benchmark: &Benchmark, settings: &BaselineSettings) -> Result<Held, BaselineError> {
    check(benchmark, settings)?;
    let (task, reference) = (&benchmark.task, &benchmark.settings.held);
    let holds = holds(benchmark, settings);
    let times = uniform_grid(task.horizon, holds);
    let transcription = Transcription {
        integrator: Integrator::Euler,
        substeps: reference.substeps,
        quadrature: Quadrature::AtStart,
    };
    let sampled = Problem { transcription, ..Problem::of(task, &times) };
    let start = Start::constant(&vec![reference.start; benchmark.dims().control], holds);
    let search = Settings { max_iterations: 1000, ..Settings::default() };
    let mut f = benchmark.dynamics();
    let plan = Ilqr::new(search)
        .plan(f.as_mut(), &sampled, start.guess())
        .map_err(|source| no_plan(benchmark, source))?;
    // With Euler steps the integrated quadrature is the left Riemann sum; zero iterations only evaluate.
    let transcription = Transcription { quadrature: Quadrature::Integrated, ..sampled.transcription };
    let reported = Problem { transcription, ..sampled };
    let guess = Guess { controls: plan.controls.as_slice(), states: None };
    let evaluated = Ilqr::new(Settings { max_iterations: 0, ..Settings::default() })
        .solve(f.as_mut(), &reported, guess)
        .map_err(|source| no_plan(benchmark, source))?;
    let last: f64 = plan.controls.at(holds - 1).iter().map(|u| u * u).sum();
    Ok(Held { plan, cost: evaluated.cost + reference.terminal_control_weight * last })
}

/// The best zero-order hold: the true cost integrated inside the holds. The plans in `seeds` are starts beside a constant
/// and four random ones.
pub fn held(
    benchmark: &Benchmark,
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
    if benchmark.published.is_none() {
        // Controls alone lead an unstable system away from the plan they come from: its states are taken along.
        starts.extend(seeds.iter().map(|plan| plan.refined(&times, 2)));
    }
    let stream = Stream::root(settings.seed).child("held").child(&benchmark.name);
    starts.extend(Start::around(&task.safe_control, 0.3, 4, holds, &stream));
    // A short search from every start, a long one from the best: starts that lead nowhere cost little.
    let search = |starts: &[Start], limit: usize| {
        let settings = Settings { max_iterations: limit, ..Settings::default() };
        best_of(&|| benchmark.dynamics(), &problem, &settings, starts)
            .map_err(|source| no_plan(benchmark, source))
    };
    let best = search(&starts, 60)?;
    let states = benchmark.published.is_none().then(|| best.states.clone());
    let plan = search(&[Start { controls: best.controls, states }], 500)?;
    let evaluate = |plan: &Plan| run(benchmark, &mut Hold::new(plan, LadderSettings::of(task)));
    let mut held = Held { cost: evaluate(&plan)?.cost(), plan };
    // A search may end above where it could have begun: holds that are known already count as they are.
    for &seed in seeds.iter().filter(|seed| seed.controls.len() == holds) {
        match evaluate(seed) {
            Ok(run) if run.cost() < held.cost => held = Held { plan: seed.clone(), cost: run.cost() },
            _ => (),
        }
    }
    Ok(held)
}

/// Runs a policy on the true system, integrated tightly.
fn run(benchmark: &Benchmark, policy: &mut dyn Policy) -> Result<Run, BaselineError> {
    let simulator = Simulator {
        tolerance: Tolerance { absolute: 1e-12, ..Tolerance::new(1e-10) },
        ..Simulator::default()
    };
    let task = &benchmark.task;
    let sample_times = &uniform_grid(task.horizon, SAMPLES);
    let experiment = Experiment { sample_times, ..Experiment::of(task) };
    let run = simulator.run(benchmark.dynamics().as_mut(), policy, &experiment);
    match run.outcome {
        Outcome::Completed => Ok(run),
        outcome => Err(BaselineError::Run {
            system: benchmark.name.clone(),
            states: benchmark.task.states.clone(),
            outcome,
        }),
    }
}

fn holds(benchmark: &Benchmark, settings: &BaselineSettings) -> usize {
    settings.holds.unwrap_or(benchmark.settings.measurements - 1)
}

fn no_plan(benchmark: &Benchmark, source: PlanError) -> BaselineError {
    BaselineError::Plan { system: benchmark.name.clone(), source }
}

fn check(benchmark: &Benchmark, settings: &BaselineSettings) -> Result<(), BaselineError> {
    benchmark.validate()?;
    for (what, found) in [
        ("the number of intervals", settings.intervals),
        ("the number of holds", settings.holds.unwrap_or(1)),
    ] {
        if found == 0 {
            return Err(BaselineError::Setting { what, least: "1".into(), found: "0".into() });
        }
    }
    if !(settings.period > 0.0 && settings.period.is_finite()) {
        return Err(BaselineError::Setting {
            what: "the control period",
            least: "a positive time".into(),
            found: settings.period.to_string(),
        });
    }
    Ok(())
}
