//! Learn.
use ocorl::event::{Event, Watch};
use ocorl::learn::{Learner, Settings};
use ocorl::plant::{Plant, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::system::Benchmark;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let b = Benchmark::find(&args[1])?;
    let seed: u64 = args[2].parse()?;
    let mut settings = serde_json::to_value(Settings::for_benchmark(&b))?;
    for a in &args[3..] {
        let (path, value) = a.split_once('=').unwrap();
        let mut at = &mut settings;
        for key in path.split('.') {
            at = at.get_mut(key).unwrap();
        }
        *at = serde_json::from_str(value).unwrap_or(serde_json::Value::String(value.into()));
    }
    let settings: Settings = serde_json::from_value(settings)?;
    let stream = Stream::root(seed);
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), stream);
    let mut learner =
        Learner::new(b.task.clone(), Arc::new(b.first_control), settings.clone(), stream.child("learner"))?;
    let scale = b.table_scale();
    let begin = Instant::now();
    let mut total = [0.0; 3];
    for episode in 0..settings.episodes {
        let t0 = Instant::now();
        let mut note = String::new();
        let mut watch = Watch(|e: &Event<'_>| match e {
            Event::Planned { planned_cost, mean_cost, iterations, outcome, .. } => {
                note += &format!(
                    "plan {:.4} mean {:.4} it {iterations} {outcome:?}",
                    planned_cost * scale,
                    mean_cost * scale
                )
            }
            Event::Executed { cost, outcome, .. } => note += &format!(" cost {:.5} {outcome}", cost * scale),
            Event::NotPlanned { reason, .. }
            | Event::NotUpdated { reason, .. }
            | Event::Refused { reason, .. } => note += reason,
            Event::Trained { notes, .. } => note += &format!("{notes:?}"),
            _ => {}
        });
        let mut p = learner.propose(&mut watch);
        let t1 = Instant::now();
        let executed: Vec<_> = p.legs.iter_mut().map(|leg| plant.run(leg)).collect();
        let t2 = Instant::now();
        drop(p);
        learner.observe(&executed, &mut watch);
        let t3 = Instant::now();
        let t = [(t1 - t0).as_secs_f64(), (t2 - t1).as_secs_f64(), (t3 - t2).as_secs_f64()];
        for i in 0..3 {
            total[i] += t[i];
        }
        println!("{episode:3} {note}  plan {:.3} run {:.3} train {:.3}", t[0], t[1], t[2]);
    }
    println!(
        "{:.1} s: plan run train {total:.2?}; paper {:?}",
        begin.elapsed().as_secs_f64(),
        b.published.map(|p| (p.continuous, p.max_determinant))
    );
    Ok(())
}
