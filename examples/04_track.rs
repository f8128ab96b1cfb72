//! Follow a plan under disturbances: in open loop, with feedback gains, and by model-predictive control.
//!
//! `cargo run --release -p ocorl --example 04_track`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::baseline::{BaselineSettings, continuous};
use ocorl::simulate::{Experiment, Policy, Simulator};
use ocorl::system::{Benchmark, KnownSystem, SystemError};
use ocorl::track::{FallbackSettings, Feedback, Hold, MpcSettings, Reference, mpc, replan};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let model = Benchmark::find("pendulum")?;
    let plan = continuous(&model, &BaselineSettings::default(), &[])?.plan;
    let reference = || Reference::new(plan.clone(), model.dynamics().as_mut(), &model.task.angles);
    let fallback = &FallbackSettings::of(&model.task);
    // The paper tracks the pendulum over six seconds.
    let (task, horizon) = (&model.task, 6.0);

    // The policies know the model only; the world is another one in two of three cases.
    let worlds: [KnownSystem; 3] = [
        model.clone(),
        changed(&model, |b| b.set_start("theta", 2.8))?,
        changed(&model, |b| b.set_parameter("gravity", 9.81 * 1.1))?,
    ];
    println!("{:<12}{:>12}{:>20}{:>20}", "policy", "as planned", "starts 0.34 off", "gravity 10 % off");
    for name in ["open loop", "gains", "mpc", "replan"] {
        print!("{name:<12}");
        for (world, width) in worlds.iter().zip([12, 20, 20]) {
            let mut policy: Box<dyn Policy> = match name {
                "open loop" => Box::new(Hold::new(&plan, fallback)),
                "gains" => Box::new(Feedback::new(reference(), fallback)),
                "mpc" => {
                    let settings = MpcSettings::new(model.dims(), horizon);
                    Box::new(mpc(reference(), model.dynamics(), settings, fallback))
                }
                _ => {
                    let (cost, rule) = (task.cost.clone(), ocorl::plan::Transcription::default());
                    Box::new(replan(reference(), model.dynamics(), cost, rule, 0.02, fallback))
                }
            };
            let experiment = Experiment::of(&world.task);
            let run = Simulator::default().run(world.dynamics().as_mut(), policy.as_mut(), &experiment);
            print!("{:>width$.3}", run.cost());
        }
        println!();
    }
    Ok(())
}

/// A copy of `benchmark` with one thing changed.
fn changed(
    benchmark: &KnownSystem,
    change: impl Fn(&mut KnownSystem) -> Result<(), SystemError>,
) -> Result<KnownSystem, SystemError> {
    let mut copy = benchmark.clone();
    change(&mut copy)?;
    Ok(copy)
}
