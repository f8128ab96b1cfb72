//! The problems of `studies/peers` in the same form as its peers print them: one JSON line each.
//!
//! Explicit Euler, N = 100 intervals of 0.1 s, cost Σ dt (xᵀx + ‖u − ū‖²) + x_Nᵀx_N, from u = ū, to a gradient norm of
//! 1e-4 (`iters` counts backward passes, each with its linearisation); and an adaptive closed-loop simulation.
//! Thread CPU time of whole solves, after one that allocates.
//!
//! `cargo bench -p ocorl --bench peers`, or `python3 studies/peers/compare.py` beside the peers.

use cpu_time::ThreadTime;
use ocorl::plan::{Guess, Ilqr, PathConstraints, Problem, Settings, Transcription, uniform_grid};
use ocorl::simulate::{Experiment, Integrator, Law, Simulator};
use ocorl::system::{Benchmark, Bounds, QuadraticCost};
use std::io::Write;

const REPEATS: usize = 301;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (name, control) in
        [("pendulum", vec![0.0]), ("cart-pole", vec![0.0]), ("quadrotor-3d", vec![0.1458, 0.0, 0.0, 0.0])]
    {
        writeln!(out, "{}", plan(name, &control))?;
    }
    writeln!(out, "{}", simulate())
}

/// Times `work` and formats a line; `work` returns (directions, cost).
fn line(problem: &str, mut work: impl FnMut() -> (usize, f64)) -> String {
    let (directions, cost) = work();
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = ThreadTime::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[REPEATS / 2];
    format!(
        "{{\"peer\":\"ocorl\",\"problem\":\"{problem}\",\"iters\":{directions},\"directions\":{directions},\
         \"cost\":{cost:.12},\"cpu_us_median\":{median:.2},\"cpu_us_min\":{:.2},\"us_per_iter\":{:.3}}}",
        times[0],
        median / directions as f64
    )
}

fn plan(name: &str, control: &[f64]) -> String {
    let benchmark = Benchmark::find(name).expect("a benchmark's name");
    let dims = benchmark.dims();
    let cost = QuadraticCost::new(vec![1.0; dims.state], vec![1.0; dims.control])
        .terminal_weights(vec![1.0; dims.state])
        .control_target(control);
    let (times, bounds) = (uniform_grid(10.0, 100), Bounds::none(dims.control));
    let problem = Problem {
        cost: &cost,
        initial_state: &benchmark.task.initial_state,
        times: &times,
        control_bounds: &bounds,
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints::default(),
        transcription: Transcription::single(Integrator::Euler),
    };
    let (mut dynamics, guess) = (benchmark.dynamics(), control.repeat(100));
    let mut ilqr =
        Ilqr::new(Settings { gradient_tolerance: 1e-4, cost_tolerance: 0.0, ..Settings::default() });
    line(name, || {
        let guess = Guess { controls: &guess, states: None };
        let summary = ilqr.solve(dynamics.as_mut(), &problem, guess).expect("a finite plan");
        (summary.iterations, summary.cost)
    })
}

/// The pendulum under u = −(4θ + 3ω) for 10 s at tolerance 1e-8; `iters` are steps, `cost` is θ at the end.
fn simulate() -> String {
    let benchmark = Benchmark::find("pendulum").expect("a benchmark's name");
    let mut dynamics = benchmark.dynamics();
    let experiment = Experiment { cost: None, state_bounds: None, ..Experiment::of(&benchmark.task) };
    let simulator = Simulator { dense: false, ..Simulator::new(1e-8) };
    let mut law = Law(|_: f64, x: &[f64], u: &mut [f64]| u[0] = -(4.0 * x[0] + 3.0 * x[1]));
    line("simulate-pendulum", || {
        let run = simulator.run(dynamics.as_mut(), &mut law, &experiment);
        (run.times.len() - 1, run.final_state()[0])
    })
}
