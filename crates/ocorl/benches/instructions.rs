//! Fixed work for counting instructions under valgrind: `instructions --list`, `instructions CASE REPETITIONS`.
//!
//! `cargo xtask gate` compares the counts with `tests/golden/instructions.toml`; they do not depend on how busy the
//! machine is, so they can gate a change where times cannot.

use ocorl::explore::Exploration;
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
use ocorl::plan::{self, ForwardPass, Guess, Ilqr, PathConstraints, Problem, Transcription, uniform_grid};
use ocorl::random::Stream;
use ocorl::real::Real;
use ocorl::simulate::{Experiment, Integrator, Law, Simulator};
use ocorl::system::{Benchmark, Bounds, ExactJacobian, QuadraticCost, VectorField};
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;

const CASES: [&str; 11] = [
    "plan-pendulum-euler",
    "plan-cart-pole-euler",
    "plan-quadrotor-3d-euler",
    "plan-pendulum-rk4",
    "plan-quadrotor-3d-rk4",
    "plan-cart-pole-optimistic",
    "plan-wide-rk4",
    "simulate-pendulum",
    "model-mean-jacobian",
    "model-all",
    "model-train",
];

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [case, count] if CASES.contains(&case) => {
            let count = count.parse().map_err(std::io::Error::other)?;
            run(case, count);
            Ok(())
        }
        _ => CASES.iter().try_for_each(|case| writeln!(std::io::stdout(), "{case}")),
    }
}

fn run(case: &str, count: usize) {
    match case {
        "simulate-pendulum" => return simulate(count),
        "model-mean-jacobian" => return ask(Query::MeanJacobian, count),
        "model-all" => return ask(Query::All, count),
        "model-train" => return train(count),
        "plan-cart-pole-optimistic" => return solve_optimistic(count),
        "plan-wide-rk4" => return solve_wide(count),
        _ => {}
    }
    let name = case.trim_start_matches("plan-");
    match (name.strip_suffix("-euler"), name.strip_suffix("-rk4")) {
        (Some(system), _) => solve(system, Integrator::Euler, count),
        (_, Some(system)) => solve(system, Integrator::Rk4, count),
        _ => {}
    }
}

/// Ten iterations on 100 intervals from the safe control.
fn solve(system: &str, integrator: Integrator, count: usize) {
    let b = Benchmark::find(system).expect("a benchmark's name");
    let times = uniform_grid(b.task.horizon, 100);
    let transcription = Transcription::single(integrator);
    let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
    let (mut f, mut ilqr) =
        (b.dynamics(), Ilqr::new(plan::Settings { max_iterations: 10, ..plan::Settings::default() }));
    let controls = b.task.safe_control.repeat(100);
    for _ in 0..count {
        let guess = Guess { controls: &controls, states: None };
        black_box(ilqr.solve(f.as_mut(), &problem, guess)).expect("a finite plan");
    }
}

/// Ten iterations on 50 intervals of the optimistic cart pole, whose shape is (4, 1 + 4), with 40 measurements.
fn solve_optimistic(count: usize) {
    let b = Benchmark::find("cart-pole").expect("a benchmark's name");
    let model: Arc<dyn StatisticalModel> = Arc::new(model(40));
    let posed = Exploration::Optimistic.planning_problem(&model, &b.task, 0.0, Stream::root(0));
    let times = uniform_grid(b.task.horizon, 50);
    let problem = Problem {
        cost: posed.cost.as_ref(),
        control_bounds: &posed.bounds,
        transcription: Transcription::single(Integrator::Rk4),
        ..Problem::of(&b.task, &times)
    };
    let settings =
        plan::Settings { max_iterations: 10, forward: ForwardPass::Batch, ..plan::Settings::default() };
    let (mut f, mut ilqr) = (posed.dynamics(), Ilqr::new(settings));
    let controls = [0.0; 250];
    for _ in 0..count {
        let guess = Guess { controls: &controls, states: None };
        black_box(ilqr.solve(f.as_mut(), &problem, guess)).expect("a finite plan");
    }
}

/// Ten iterations on 100 intervals of a chain of five integrators with three controls: a shape that no list has.
fn solve_wide(count: usize) {
    struct Chain;
    impl VectorField<5, 3> for Chain {
        #[inline(always)]
        fn derivative<R: Real>(&self, x: [R; 5], u: [R; 3]) -> [R; 5] {
            [x[1], x[2] + u[0], x[3].sin(), x[4] + u[1], x[0].sin() + u[2]]
        }
    }
    let (times, free) = (uniform_grid(2.0, 100), Bounds::none(3));
    let cost = QuadraticCost::new([1.0; 5], [0.1; 3]);
    let problem = Problem {
        cost: &cost,
        initial_state: &[1.0, -1.0, 0.5, 0.0, 1.0],
        times: &times,
        control_bounds: &free,
        state_bounds: None,
        constraints: PathConstraints::default(),
        rate_limit: None,
        transcription: Transcription::single(Integrator::Rk4),
    };
    let (mut f, mut ilqr) =
        (ExactJacobian(Chain), Ilqr::new(plan::Settings { max_iterations: 10, ..plan::Settings::default() }));
    for _ in 0..count {
        let guess = Guess { controls: &[0.0; 300], states: None };
        black_box(ilqr.solve(&mut f, &problem, guess)).expect("a finite plan");
    }
}

fn simulate(count: usize) {
    let b = Benchmark::find("pendulum").expect("a benchmark's name");
    let mut law = Law(|_: f64, x: &[f64], u: &mut [f64]| u[0] = -(4.0 * x[0] + 3.0 * x[1]));
    let (mut f, experiment) = (b.dynamics(), Experiment { cost: None, ..Experiment::of(&b.task) });
    for _ in 0..count {
        black_box(Simulator::new(1e-8).run(f.as_mut(), &mut law, &experiment));
    }
}

/// The cart pole's derivatives at random points.
fn model(n: usize) -> GaussianProcess {
    let b = Benchmark::find("cart-pole").expect("a benchmark's name");
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(2).rng(), Measurements::new(b.dims()));
    for _ in 0..n {
        let z: [f64; 5] = std::array::from_fn(|_| rng.uniform(-2.0, 2.0));
        let mut y = [0.0; 4];
        f.derivative(Points::single(&z), &mut y);
        data.push(0.0, &z[..4], &z[4..], &y, &[0.01; 4]).expect("finite numbers");
    }
    let mut model = GaussianProcess::for_task(&b.task, Settings::default()).expect("sound settings");
    model.update(&data).expect("sound data");
    model
}

/// 100 points against 200 measurements.
fn ask(query: Query, count: usize) {
    let (model, mut rng, mut posterior) = (model(200), Stream::root(3).rng(), Posterior::default());
    let points: Vec<f64> = (0..500).map(|_| rng.uniform(-2.0, 2.0)).collect();
    for _ in 0..count {
        model.posterior(Points::new(&points, 5), query, black_box(&mut posterior));
    }
}

/// Training on 50 measurements from where a new model starts.
fn train(count: usize) {
    let fresh = model(50);
    for _ in 0..count {
        black_box(fresh.clone().train(Stream::root(0))).expect("sound data");
    }
}
