//! Simulate policies on a system, with the cost and the outcome of each run.
//!
//! `cargo run --release -p ocorl --example 01_simulate`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::simulate::{Experiment, Law, Policy, Simulator};
use ocorl::system::Benchmark;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let pendulum = Benchmark::find("pendulum")?;
    let simulator = Simulator::new(1e-8);

    // A law is any function of time and state; theta is 0 upright and starts at pi, hanging.
    let rest = |_: f64, _: &[f64], u: &mut [f64]| u[0] = 0.0;
    let balance = |_: f64, x: &[f64], u: &mut [f64]| u[0] = -4.0 * x[0] - 2.0 * x[1];
    let wrong_sign = |_: f64, x: &[f64], u: &mut [f64]| u[0] = 4.0 * x[0] + 2.0 * x[1];
    let laws: [(&str, Box<dyn Policy>); 3] = [
        ("rest", Box::new(Law(rest))),
        ("balance", Box::new(Law(balance))),
        ("wrong sign", Box::new(Law(wrong_sign))),
    ];

    println!("{:<12}{:>10}  {:>8}  {:>6}  outcome", "law", "cost", "theta(T)", "steps");
    for (name, mut law) in laws {
        let experiment = Experiment::of(&pendulum.task);
        let run = simulator.run(pendulum.dynamics().as_mut(), law.as_mut(), &experiment);
        let (theta, steps) = (run.final_state()[0], run.times.len() - 1);
        println!("{name:<12}{:>10.3}  {theta:>8.3}  {steps:>6}  {}", run.cost(), run.outcome);
    }
    println!("\nA run that leaves the limits is charged its last cost rate for the time that was left.");
    Ok(())
}
