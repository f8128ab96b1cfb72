//! Time per planner iteration and per solve, per simulated second and per control step, at the paper's sizes.
//!
//! `cargo bench -p ocorl --bench solvers`

use divan::{Bencher, black_box};
use ocorl::plan::{Guess, Ilqr, Plan, Problem, Settings, Start, Transcription, uniform_grid};
use ocorl::simulate::{Experiment, Integrator, Law, Simulator, Trajectory};
use ocorl::system::{Benchmark, KnownSystem};
use ocorl::track::{FallbackSettings, Feedback, MpcSettings, MpcSolver, Reference, SolveRequest, Solver};

const SYSTEMS: [&str; 5] = ["pendulum", "cart-pole", "furuta-pendulum", "quadrotor-2d", "quadrotor-3d"];

fn main() {
    divan::main();
}

fn benchmark(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark's name")
}

fn problem<'a>(b: &'a KnownSystem, times: &'a [f64], integrator: Integrator) -> Problem<'a> {
    Problem { transcription: Transcription::single(integrator), ..Problem::of(&b.task, times) }
}

/// One iteration: linearisation, backward pass, rollout; 100 intervals.
fn iteration(bencher: Bencher<'_, '_>, name: &str, integrator: Integrator) {
    let b = benchmark(name);
    let times = uniform_grid(b.task.horizon, 100);
    let (mut f, mut ilqr) = (b.dynamics(), Ilqr::new(Settings { max_iterations: 1, ..Settings::default() }));
    let controls = b.task.safe_control.repeat(100);
    bencher.bench_local(|| {
        let guess = Guess { controls: &controls, states: None };
        black_box(ilqr.solve(f.as_mut(), &problem(&b, &times, integrator), guess)).expect("a finite plan")
    });
}

#[divan::bench(args = SYSTEMS)]
fn iteration_euler(bencher: Bencher<'_, '_>, name: &str) {
    iteration(bencher, name, Integrator::Euler);
}

#[divan::bench(args = SYSTEMS)]
fn iteration_rk4(bencher: Bencher<'_, '_>, name: &str) {
    iteration(bencher, name, Integrator::Rk4);
}

/// From the safe control to convergence; 100 intervals, RK4.
#[divan::bench(args = SYSTEMS)]
fn solve(bencher: Bencher<'_, '_>, name: &str) {
    let b = benchmark(name);
    bencher.bench_local(|| black_box(plan(&b, 100)));
}

fn plan(b: &KnownSystem, intervals: usize) -> Plan {
    let times = uniform_grid(b.task.horizon, intervals);
    let start = Start::constant(&b.task.safe_control, intervals);
    Ilqr::default()
        .plan(b.dynamics().as_mut(), &problem(b, &times, Integrator::Rk4), start.guess())
        .expect("a finite plan")
}

/// One second of the plant under the plan's gains, with its cost, at tolerance 1e-8.
#[divan::bench(args = SYSTEMS)]
fn simulated_second(bencher: Bencher<'_, '_>, name: &str) {
    let b = benchmark(name);
    let reference = Reference::new(plan(&b, 100), b.dynamics().as_mut(), &b.task.angles);
    let mut policy = Feedback::new(reference, &FallbackSettings::of(&b.task));
    let (mut f, experiment) = (b.dynamics(), Experiment { end: 1.0, ..Experiment::of(&b.task) });
    bencher.bench_local(|| black_box(Simulator::new(1e-8).run(f.as_mut(), &mut policy, &experiment)));
}

/// The closed-loop pendulum of `studies/peers`: u = −(4θ + 3ω), 10 s, tolerance 1e-8.
#[divan::bench]
fn closed_loop_pendulum(bencher: Bencher<'_, '_>) {
    let b = benchmark("pendulum");
    let mut law = Law(|_: f64, x: &[f64], u: &mut [f64]| u[0] = -(4.0 * x[0] + 3.0 * x[1]));
    let (mut f, experiment) =
        (b.dynamics(), Experiment { cost: None, state_bounds: None, ..Experiment::of(&b.task) });
    bencher.bench_local(|| black_box(Simulator::new(1e-8).run(f.as_mut(), &mut law, &experiment)));
}

/// One update of the tracking controller, a little off the plan.
#[divan::bench(args = SYSTEMS)]
fn mpc_update(bencher: Bencher<'_, '_>, name: &str) {
    let b = benchmark(name);
    let plan = plan(&b, 100);
    let state: Vec<f64> = b.task.initial_state.iter().map(|x| x + 0.01).collect();
    let reference = Reference::new(plan, b.dynamics().as_mut(), &b.task.angles);
    let settings = MpcSettings::new(b.dims(), b.paper().expect("a benchmark").tracking_horizon);
    let mut solver = MpcSolver::new(b.dynamics(), settings, b.task.control_bounds.clone());
    let mut segment = Trajectory::default();
    let applied = &b.task.safe_control;
    bencher.bench_local(|| {
        let request = SolveRequest { time: 0.0, state: black_box(&state), applied, previous: None };
        solver.solve(&reference, &request, &mut segment)
    });
}
