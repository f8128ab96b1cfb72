//! Fixed work for counting instructions under valgrind: `instructions --list`, `instructions CASE REPETITIONS`.
//!
//! `cargo xtask gate` compares the counts with `tests/golden/instructions.toml`; they do not depend on how busy the
//! machine is, so they can gate a change where times cannot.

use ocorl::plan::{Guess, Ilqr, Problem, Settings, Transcription, uniform_grid};
use ocorl::simulate::{Experiment, Integrator, Law, Simulator};
use ocorl::system::Benchmark;
use std::hint::black_box;
use std::io::Write;

const CASES: [&str; 6] = [
    "plan-pendulum-euler",
    "plan-cart-pole-euler",
    "plan-quadrotor-3d-euler",
    "plan-pendulum-rk4",
    "plan-quadrotor-3d-rk4",
    "simulate-pendulum",
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
    if case == "simulate-pendulum" {
        return simulate(count);
    }
    let name = case.trim_start_matches("plan-");
    match (name.strip_suffix("-euler"), name.strip_suffix("-rk4")) {
        (Some(system), _) => plan(system, Integrator::Euler, count),
        (_, Some(system)) => plan(system, Integrator::Rk4, count),
        _ => {}
    }
}

/// Ten iterations on 100 intervals from the safe control.
fn plan(system: &str, integrator: Integrator, count: usize) {
    let b = Benchmark::find(system).expect("a benchmark's name");
    let times = uniform_grid(b.task.horizon, 100);
    let transcription = Transcription::single(integrator);
    let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
    let (mut f, mut ilqr) = (b.dynamics(), Ilqr::new(Settings { max_iterations: 10, ..Settings::default() }));
    let controls = b.task.safe_control.repeat(100);
    for _ in 0..count {
        let guess = Guess { controls: &controls, states: None };
        black_box(ilqr.solve(f.as_mut(), &problem, guess)).expect("a finite plan");
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
