//! A system of one's own whose inputs are limited in rate, one of them not: through ask, rig and tell.

use ocorl::random::Stream;
use ocorl::system::RateLimit;
use ocorl_study::control::Controller;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::store::Access;
use ocorl_study::study::{Study, Telling};
use ocorl_study::system::System;

const CRANE: &str = r#"[system]
states  = ["x", "v"]
inputs  = { u = [-2, 2], w = [-1, 1] }
x0      = [1.0, 0.0]
horizon = 4
[equations]
x = "v"
v = "3*u + w - 0.2*v"
[cost]
state    = { x = 20, v = 0.1 }
input    = { u = 0.01, w = 0.01 }
[excitation]
u = "2*sin(9*t)"
w = "cos(7*t)"
[learning]
episodes     = 3
measurements = 8
measured     = "states"
strategy     = "equidistant"
caution      = "off"
plan         = { intervals = 40, random_starts = 1 }
track.period = 0.05
[hardware]
period     = 0.02
safe_input = { u = 0.25 }
max_rate   = { u = 4 }
"#;

/// Largest rate of u along rows (t, u); the first has been `since` long on its way from the safe control.
fn fastest(rows: &[(f64, f64)], since: f64) -> f64 {
    let (mut before, mut fastest) = ((rows[0].0 - since, 0.25), 0.0_f64);
    for &(t, u) in rows {
        if u != before.1 {
            fastest = fastest.max((u - before.1).abs() / (t - before.0));
            before = (t, u);
        }
    }
    fastest
}

#[test]
fn plans_and_runs_obey_a_rate_that_only_one_input_has() {
    let system = System::parse(CRANE, "crane.toml").unwrap();
    let limit = RateLimit { max_rate: vec![4.0, f64::INFINITY], period: 0.02 };
    assert_eq!(system.task.rate_limit, Some(limit));
    let folder = tempfile::tempdir().unwrap();
    let mut study =
        Study::create(folder.path(), &system, system.settings.clone(), 3, Prices::default()).unwrap();
    for episode in 0..3 {
        let asked = study.ask(&mut ()).unwrap().unwrap();
        // As a file it says the same.
        let plan = PlanFile::parse(&asked.text().unwrap(), "plan.json").unwrap();
        assert_eq!(plan.limits.max_rate, Some(vec![Some(4.0), None]));
        let rollout = &plan.rollouts[0];
        let rows = |j: usize| -> Vec<(f64, f64)> {
            rollout.times.iter().zip(&rollout.controls).map(|(t, u)| (*t, u[j])).collect()
        };
        let planned = fastest(&rows(0), 0.02);
        assert!(planned <= 4.0 * (1.0 + 1e-9), "episode {episode}: {planned} per second");
        // The limit is felt: the plan goes as fast as it may.
        assert!(planned > 3.9, "episode {episode}: {planned} per second");
        assert!(rows(1).windows(2).any(|w| (w[1].1 - w[0].1).abs() > 4.0 * (w[1].0 - w[0].0)) || episode > 0);
        // The simulated rig applies it as hardware does.
        let measured = rig::run(&system, &plan, &Faults::default(), 3).unwrap();
        let applied: Vec<(f64, f64)> = measured.controls.iter().map(|row| (row.t, row.u[0])).collect();
        let jumps = steps(&applied);
        assert!(jumps.iter().all(|jump| *jump <= 4.0 * 0.02 + 1e-9), "episode {episode}: {jumps:?}");
        assert!(jumps.len() > 20, "episode {episode}: {} steps", jumps.len());
        // And so does the controller.
        let mut controller = Controller::new(&plan, 0).unwrap();
        let (mut u, mut before, mut rng) = (vec![0.0; 2], 0.25, Stream::root(4).rng());
        for k in 0..200 {
            let x = [rng.normal(), rng.normal()];
            controller.step(0.02 * f64::from(k), &x, &mut u);
            assert!((u[0] - before).abs() <= 0.08 + 1e-12, "step {k}: {u:?} after {before}");
            before = u[0];
        }
        study.tell(None, measured, "rig", Telling::Whole).unwrap();
    }
    drop(study);
    // What is on disk can be read again.
    let mut again = Study::open(folder.path(), Access::Write).unwrap();
    assert!(again.ask(&mut ()).unwrap().is_none());
}

/// The jumps of a control that is held in between.
fn steps(rows: &[(f64, f64)]) -> Vec<f64> {
    let jumps = rows.windows(2).map(|w| (w[1].1 - w[0].1).abs());
    jumps.filter(|jump| *jump > 0.0).collect()
}
