//! Where the time of a whole study goes, episode by episode:
//! `cargo bench -p ocorl --bench study -- pendulum [EPISODES [SEED]]`.
//!
//! CPU seconds of this process: planning with the choice of measurement times, running the plant under the policy, learning (conditioning
//! and training), and judging (which only a simulated study does).
#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use cpu_time::ProcessTime;
use ocorl::event::{Event, Watch};
use ocorl::learn::{Settings, Trial};
use ocorl::system::Benchmark;

/// What is timed, in the order in which it happens.
const PARTS: [&str; 4] = ["plan", "run", "learn", "judge"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let b = Benchmark::find(&arguments.next().unwrap_or("pendulum".into()))?;
    let mut settings = Settings::for_system(&b);
    if b.name == "pendulum" {
        settings.excitation.scale = 100.0;
    }
    if let Some(episodes) = arguments.next() {
        settings.episodes = episodes.parse()?;
    }
    let seed = arguments.next().map_or(Ok(0), |seed| seed.parse())?;
    let mut trial = Trial::new(&b, settings, seed, 0.0)?;
    println!("{}: CPU ms", b.name);
    println!("episode    n      plan       run     learn     judge        cost");
    let mut total = [0.0; 4];
    loop {
        let (mut spent, mut at, mut clock) = ([0.0; 4], 0, ProcessTime::now());
        let mut turn = |spent: &mut [f64; 4], next: usize| {
            spent[at] += 1e3 * clock.elapsed().as_secs_f64();
            (at, clock) = (next, ProcessTime::now());
        };
        let mut watch = Watch(|event: &Event<'_>| match event {
            Event::Proposed { .. } => turn(&mut spent, 1),
            Event::Executed { .. } => turn(&mut spent, 2),
            Event::Trained { .. } => turn(&mut spent, 3),
            _ => {}
        });
        let Some(episode) = trial.next_episode(&mut watch) else { break };
        turn(&mut spent, 0);
        let [plan, run, learn, judge] = spent;
        let (n, cost) = (episode.record.measurements, b.table_units().cost(episode.record.cost));
        println!(
            "{:7} {n:4} {plan:9.1} {run:9.1} {learn:9.1} {judge:9.1} {cost:11.4}",
            episode.record.episode
        );
        for (total, spent) in total.iter_mut().zip(spent) {
            *total += spent;
        }
    }
    let each: Vec<String> =
        PARTS.iter().zip(total).map(|(part, ms)| format!("{part} {:.2} s", ms / 1e3)).collect();
    println!("{}; {:.2} s together", each.join(", "), total.iter().sum::<f64>() / 1e3);
    Ok(())
}
