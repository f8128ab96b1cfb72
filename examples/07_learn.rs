//! Scratch driver.
use ocorl::event::{Event, Watch};
use ocorl::learn::{Settings, Trial};
use ocorl::system::Benchmark;
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
    let scale = b.table_scale();
    let mut trial = Trial::new(&b, settings, seed, 0.0)?;
    let begin = Instant::now();
    let mut last = Instant::now();
    let mut total = [0.0; 3];
    loop {
        let mut note = String::new();
        let mut t = [0.0; 3];
        let mut watch = Watch(|e: &Event<'_>| match e {
            Event::Planned { planned_cost, mean_cost, iterations, outcome, .. } => {
                t[0] += last.elapsed().as_secs_f64();
                last = Instant::now();
                note += &format!("plan {:.4} mean {:.4} it {iterations} {outcome:?}", planned_cost * scale, mean_cost * scale)
            }
            Event::Executed { cost, outcome, .. } => {
                t[1] += last.elapsed().as_secs_f64();
                last = Instant::now();
                note += &format!(" cost {:.5} {outcome}", cost * scale)
            }
            Event::NotPlanned { reason, .. } | Event::NotUpdated { reason, .. } | Event::Refused { reason, .. } => note += reason,
            Event::Trained { notes, .. } => {
                t[2] += last.elapsed().as_secs_f64();
                last = Instant::now();
                note += &format!("{notes:?}")
            }
            _ => {}
        });
        let Some(e) = trial.next_episode(&mut watch) else { break };
        for i in 0..3 { total[i] += t[i]; }
        let r = &e.record;
        println!("{:3} {note} m {} unc {:.4} cov {:.3} gain {:.1} plan {:.3} run {:.3} train {:.3}", r.episode, r.measurements, r.uncertainty.unwrap_or(1.0), r.coverage.unwrap_or(0.0), r.information_gain, t[0], t[1], t[2]);
    }
    println!("{:.1} s: plan run train {total:.2?}; paper {:?}", begin.elapsed().as_secs_f64(), b.published.map(|p| (p.continuous, p.max_determinant)));
    Ok(())
}
