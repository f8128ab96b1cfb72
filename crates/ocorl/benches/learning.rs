//! Planning and following on a Gaussian process, as at the end of a study: CPU time of one optimistic search, by rollouts and
//! in batches, and of one update of the tracking controller.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p ocorl --bench learning [SYSTEM]`. The data lie around the true optimum, wide at first and
//! close in the end, as the measurements of a study do.

use cpu_time::ProcessTime;
use ocorl::explore::{Exploration, MeanModel, PlanningProblem};
use ocorl::linalg::{Linearization, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Settings as ModelSettings, StatisticalModel};
use ocorl::plan::{
    ForwardPass, Ilqr, PathConstraints, Plan, Problem, Settings, Start, Transcription, best_of, uniform_grid,
};
use ocorl::random::Stream;
use ocorl::simulate::{Integrator, Policy};
use ocorl::system::{Benchmark, Dims, Dynamics, KnownSystem};
use ocorl::track::{FallbackSettings, MpcSettings, Reference, mpc};
use std::io::Write;
use std::sync::Arc;

/// Name, measurements, intervals, integrator, best of this many solves.
const CASES: [(&str, usize, usize, Integrator, usize); 3] = [
    ("pendulum", 200, 99, Integrator::Euler, 5),
    ("cart-pole", 400, 200, Integrator::Heun, 2),
    ("quadrotor-3d", 300, 200, Integrator::Heun, 1),
];

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    writeln!(
        out,
        "| system | n | start | pass | ms | iterations | calls of f | points | linearisations | cost | outcome |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for (name, n, intervals, integrator, repeats) in CASES {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let b = Benchmark::find(name).expect("a benchmark's name");
        let transcription = Transcription::single(integrator);
        let truth = true_plan(&b, intervals, transcription);
        let model: Arc<dyn StatisticalModel> = Arc::new(learned(&b, &truth, n));
        let planning_problem =
            |explore: Exploration| explore.planning_problem(&model, &b.task, 0.0, Stream::root(0));
        let (mean, optimistic) =
            (planning_problem(Exploration::Mean), planning_problem(Exploration::Optimistic));
        let near = Start { controls: truth.controls.clone(), states: None };
        let (best, ..) = search(&b, &mean, &near, intervals, transcription, ForwardPass::Rollout);
        let extra = b.dims().state;
        let mut starts = vec![("mean plan", widened(&best, extra))];
        if name == "pendulum" {
            starts.push(("zero", Start::constant(&vec![0.0; b.dims().control + extra], intervals)));
        }
        for (start_name, start) in &starts {
            for pass in [ForwardPass::Rollout, ForwardPass::Batch] {
                let mut least = f64::INFINITY;
                let mut result = None;
                for _ in 0..repeats {
                    let begin = ProcessTime::now();
                    result = Some(search(&b, &optimistic, start, intervals, transcription, pass));
                    least = least.min(begin.elapsed().as_secs_f64() * 1e3);
                }
                let (plan, calls, points, linearized) = result.expect("at least one repeat");
                writeln!(
                    out,
                    "| {name} | {n} | {start_name} | {pass:?} | {least:.1} | {} | {calls} | {points} | {linearized} | {:.9} | {:?} |",
                    plan.trace.len(),
                    plan.cost,
                    plan.outcome
                )?;
            }
        }
        let update = tracking(&b, &model, best, transcription);
        writeln!(out, "| {name} | {n} | MPC update, 50 nodes | | {update:.3} | | | | | | |")?;
    }
    Ok(())
}

fn true_plan(b: &KnownSystem, intervals: usize, transcription: Transcription) -> Plan {
    let times = uniform_grid(b.task.horizon, intervals);
    let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
    let mut rng = Stream::root(1).rng();
    let mut starts = vec![Start::constant(&b.task.safe_control, intervals)];
    starts.extend((0..5).map(|_| Start::random(&b.task.safe_control, 0.5, 2.0, intervals, &mut rng)));
    best_of(&|| b.dynamics(), &problem, &Settings::default(), &starts).expect("a plan of the true system")
}

/// A trained model of `n` measurements around `plan`: ±30 % of the range of each coordinate at first, ±2 % in the end.
fn learned(b: &KnownSystem, plan: &Plan, n: usize) -> GaussianProcess {
    let (dims, mut f, mut rng) = (b.dims(), b.dynamics(), Stream::root(2).rng());
    let point = |k: usize| [plan.states.at(k), plan.controls.at(k)].concat();
    let intervals = plan.controls.len();
    let range: Vec<f64> = (0..dims.point())
        .map(|i| {
            let values = (0..intervals).map(|k| point(k)[i]);
            let (low, high) =
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            (high - low).max(0.1)
        })
        .collect();
    let mut data = Measurements::new(dims);
    let mut y = vec![0.0; dims.state];
    for i in 0..n {
        let spread = 0.3 * (0.02_f64 / 0.3).powf(i as f64 / n as f64);
        let mut z = point(rng.below(intervals));
        for (z, range) in z.iter_mut().zip(&range) {
            *z += spread * range * rng.normal();
        }
        f.derivative(Points::single(&z), &mut y);
        for (y, s) in y.iter_mut().zip(&b.task.noise_std) {
            *y += s * rng.normal();
        }
        let (x, u) = z.split_at(dims.state);
        data.push(i as f64, x, u, &y, &b.task.noise_std).expect("finite numbers");
    }
    let mut model = GaussianProcess::for_task(&b.task, ModelSettings::default()).expect("sound settings");
    model.update(&data).expect("sound data");
    model.train(Stream::root(0)).expect("sound data");
    model
}

/// Dynamics that count how often they are asked, and for how many points.
struct Counted {
    inner: Box<dyn Dynamics>,
    calls: usize,
    linearized: usize,
    points: usize,
}

impl Dynamics for Counted {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.calls += 1;
        self.points += z.len();
        self.inner.derivative(z, out);
    }
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.linearized += 1;
        self.inner.linearize(z, out);
    }
}

fn search(
    b: &KnownSystem,
    imagined: &PlanningProblem,
    start: &Start,
    intervals: usize,
    transcription: Transcription,
    forward: ForwardPass,
) -> (Plan, usize, usize, usize) {
    let times = uniform_grid(b.task.horizon, intervals);
    let problem = Problem {
        cost: imagined.cost.as_ref(),
        initial_state: &b.task.initial_state,
        times: &times,
        control_bounds: &imagined.bounds,
        rate_limit: None,
        state_bounds: Some(&b.task.state_bounds),
        constraints: PathConstraints::default(),
        transcription,
    };
    let settings = Settings {
        max_iterations: 100,
        gradient_tolerance: 1e-6,
        cost_tolerance: 1e-7,
        forward,
        ..Settings::default()
    };
    let mut f = Counted { inner: imagined.dynamics(), calls: 0, linearized: 0, points: 0 };
    let plan = Ilqr::new(settings).plan(&mut f, &problem, start.guess()).expect("a plan on the model");
    (plan, f.calls, f.points, f.linearized)
}

/// `plan` with `extra` zeros after each control.
fn widened(plan: &Plan, extra: usize) -> Start {
    let mut start = Start::constant(&vec![0.0; plan.controls.size() + extra], plan.controls.len());
    for (k, u) in plan.controls.iter().enumerate() {
        start.controls.at_mut(k)[..u.len()].copy_from_slice(u);
    }
    start.states = Some(plan.states.clone());
    start
}

/// Least CPU time in ms of an update of the tracking controller on the mean model, from a state beside the plan.
fn tracking(
    b: &KnownSystem,
    model: &Arc<dyn StatisticalModel>,
    plan: Plan,
    transcription: Transcription,
) -> f64 {
    let (states, times) = (plan.states.clone(), plan.times.clone());
    let reference = Reference::new(plan, &mut MeanModel::new(model.clone()), &b.task.angles);
    let mut settings = MpcSettings::new(b.dims(), b.paper().expect("a benchmark").tracking_horizon);
    settings.nodes = Some(50);
    settings.transcription = transcription;
    let dynamics = Box::new(MeanModel::new(model.clone()));
    let mut policy = mpc(reference, dynamics, settings, &FallbackSettings::of(&b.task));
    let mut least = f64::INFINITY;
    for k in 0..times.len() / 2 {
        let state: Vec<f64> = states.at(k).iter().map(|x| x + 0.01).collect();
        let begin = ProcessTime::now();
        policy.prepare(times[k], &state).expect("a plan to follow");
        if k > 2 {
            least = least.min(begin.elapsed().as_secs_f64() * 1e3);
        }
    }
    least
}
