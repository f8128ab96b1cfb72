//! A learner made again from what was written down of it goes on as if nothing had happened, to the last bit.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::explore::Exploration;
use ocorl::learn::{Checkpoint, Learner, Settings, Strategy};
use ocorl::plant::{Plant, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, KnownSystem};

fn learner(b: &KnownSystem, settings: &Settings) -> Learner {
    let first = b.first_control.clone();
    Learner::new(b.task.clone(), first, settings.clone(), Stream::root(3)).unwrap()
}

/// Costs and readings of the episodes, with the learner written down and made again before each run if `restart`.
fn run(b: &KnownSystem, settings: &Settings, restart: bool) -> Vec<String> {
    let mut live = learner(b, settings);
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(3));
    let mut told = Vec::new();
    for _ in 0..settings.episodes {
        let mut proposal = live.propose(&mut ());
        if restart {
            let text = serde_json::to_string(&live.checkpoint().unwrap()).unwrap();
            let memory: Checkpoint = serde_json::from_str(&text).unwrap();
            live = learner(b, settings);
            live.restore(memory).unwrap();
            proposal = live.proposal();
        }
        let executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        told.extend(executed.iter().map(|e| format!("{:?} {:?}", e.cost, e.readings)));
        live.observe(&executed, &mut ());
    }
    told
}

fn same(system: &str, change: impl Fn(&mut Settings)) {
    let b = Benchmark::find(system).unwrap();
    let mut settings = Settings { episodes: 4, measurements: 5, ..Settings::for_system(&b) };
    settings.plan.intervals = 60;
    change(&mut settings);
    assert_eq!(run(&b, &settings, false), run(&b, &settings, true), "{system}");
}

#[test]
fn a_restarted_learner_goes_on_to_the_last_bit() {
    same("pendulum", |_| ());
    same("van-der-pol", |s| s.strategy = Strategy::RecedingHorizon);
    same("pendulum", |s| {
        (s.episodes, s.plan.intervals) = (3, 30);
        s.explore = Exploration::Thompson;
        s.initial_states = vec![vec![3.0, 0.0], vec![2.0, 0.1]];
    });
    same("glucose-in-blood", |s| s.strategy = Strategy::UncertaintyTrigger);
}

#[test]
fn a_foreign_memory_is_refused() {
    let b = Benchmark::find("pendulum").unwrap();
    let settings = Settings { episodes: 2, ..Settings::for_system(&b) };
    let mut first = learner(&b, &settings);
    assert!(first.checkpoint().is_none());
    first.propose(&mut ());
    let memory = first.checkpoint().unwrap();
    let other = Benchmark::find("cart-pole").unwrap();
    let mut second = learner(&other, &Settings::for_system(&other));
    assert!(second.restore(memory.clone()).is_err());
    let two = Settings { initial_states: vec![vec![0.0; 2]; 2], ..settings };
    assert!(learner(&b, &two).restore(memory).is_err());
}
