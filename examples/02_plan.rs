//! Plan for a known system and print the convergence of the search.
//!
//! `cargo run --release -p ocorl --example 02_plan`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::plan::{Ilqr, PathConstraints, Problem, Settings, Start, Transcription, uniform_grid};
use ocorl::system::Benchmark;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let cart_pole = Benchmark::find("cart-pole")?;
    let (task, intervals) = (&cart_pole.task, 400);
    let times = uniform_grid(task.horizon, intervals);
    let problem = Problem {
        cost: task.cost.as_ref(),
        initial_state: &task.initial_state,
        times: &times,
        control_bounds: &task.control_bounds,
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints::default(),
        transcription: Transcription::default(), // classical Runge–Kutta, the cost integrated with the state
    };
    let start = Start::constant(&[0.0], intervals);
    let mut planner = Ilqr::new(Settings::default());
    let plan = planner.plan(cart_pole.dynamics().as_mut(), &problem, start.guess())?;

    println!("iteration        cost   gradient     step");
    for (i, it) in plan.trace.iter().enumerate() {
        println!("{:>9}{:>12.5}{:>11.1e}{:>9.4}", i + 1, it.cost, it.gradient_norm, it.step);
    }
    println!("\n{:?} at {:.5}; the optimum in continuous time is 17.49512", plan.outcome, plan.cost);
    println!("first force {:.4}, gains on (theta, omega, position, velocity)", plan.controls.at(0)[0]);
    println!("  at the start {:.3?}", plan.gains.at(0));
    println!("  half-way     {:.3?}", plan.gains.at(intervals / 2));
    Ok(())
}
