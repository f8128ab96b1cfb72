//! Learn to swing up a pendulum with unknown equations: ask for an episode, run it, record the measurements.
//!
//! The learner sees the task and the measurements, never the plant. Replace the simulated plant by your rig.
//!
//! `cargo run --release -p ocorl --example 07_learn`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::learn::{EpisodeLoop, Learner, Settings};
use ocorl::plant::SimulatedPlant;
use ocorl::random::Stream;
use ocorl::system::Benchmark;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pendulum = Benchmark::find("pendulum")?;
    let mut settings = Settings { episodes: 7, ..Settings::for_system(&pendulum) };
    settings.excitation.scale = 100.0; // the first torque is sin t, large enough to learn from

    let stream = Stream::root(0);
    let plant = SimulatedPlant::new(pendulum.task.clone(), pendulum.dynamics(), stream);
    let first_control = pendulum.first_control.clone();
    let learner = Learner::new(pendulum.task.clone(), first_control, settings, stream)?;
    let mut episodes = EpisodeLoop { journal: learner, plant };

    println!("episode  planned     cost  measured at");
    while let Some(run) = episodes.next_episode(&mut ())? {
        let (proposal, result) = (&run.proposal, &run.results[0]);
        let planned = proposal.planned_cost().map_or("-".into(), |cost| format!("{cost:.3}"));
        let times: Vec<String> = result.readings.iter().map(|r| format!("{:.1}", r.time)).collect();
        println!("{:7}  {planned:>7}  {:7.3}  {}", proposal.episode, result.cost, times.join(" "));
    }
    println!(
        "the optimum with known dynamics is 20.160; the learner used {} measurements",
        episodes.journal.data().len()
    );
    Ok(())
}
