//! Learn to swing up a pendulum whose equations are not known: propose an episode, run it, observe what was measured.
//!
//! The learner sees the task and the readings, never the plant: put your rig where the simulated plant stands.
//!
//! `cargo run --release -p ocorl --example 07_learn`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::learn::{Learner, Settings};
use ocorl::plant::{Plant, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::system::Benchmark;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pendulum = Benchmark::find("pendulum")?;
    let mut settings = Settings { episodes: 7, ..Settings::for_benchmark(&pendulum) };
    settings.excitation.scale = 100.0; // the first torque is sin t, large enough to learn from

    let stream = Stream::root(0);
    let mut plant = SimulatedPlant::new(pendulum.task.clone(), pendulum.dynamics(), stream);
    let first_control = pendulum.first_control.clone();
    let mut learner = Learner::new(pendulum.task.clone(), first_control, settings.clone(), stream)?;

    println!("episode  planned     cost  measured at");
    for episode in 0..settings.episodes {
        let mut proposal = learner.propose(&mut ());
        let executed: Vec<_> = proposal.legs.iter_mut().map(|leg| plant.run(leg)).collect();
        learner.observe(&executed, &mut ());

        let planned = proposal.planned_cost().map_or("-".into(), |cost| format!("{cost:.3}"));
        let times: Vec<String> = executed[0].readings.iter().map(|r| format!("{:.1}", r.time)).collect();
        println!("{episode:7}  {planned:>7}  {:7.3}  {}", executed[0].cost, times.join(" "));
    }
    println!("the best possible is 20.160; {} measurements were enough", learner.data().len());
    Ok(())
}
