//! Schedules of a user: a comparison with the announced time holds in spite of rounding, and a schedule that never advances ends the run.

use ocorl::plant::{Plant, RolloutResult, SimulatedPlant};
use ocorl::prelude::*;
use ocorl::simulate::PolicyError;

/// Measures every `spacing` seconds, and compares the clock with the due time exactly.
struct Every {
    spacing: f64,
    due: f64,
}

impl Schedule for Every {
    fn next(&mut self, time: f64, _state: &[f64], _control: &[f64]) -> Option<Request> {
        let request = Request { time: self.due, purpose: Purpose::Learn };
        if self.due <= time {
            self.due = time + self.spacing;
        }
        Some(request)
    }
}

/// Asks for a measurement now, whenever it is asked.
struct Insatiable;

impl Schedule for Insatiable {
    fn next(&mut self, time: f64, _state: &[f64], _control: &[f64]) -> Option<Request> {
        Some(Request { time, purpose: Purpose::Learn })
    }
}

fn first_episode<S: Schedule + 'static>(schedule: impl Fn() -> S + Send + Sync + 'static) -> RolloutResult {
    let b = Benchmark::find("pendulum").expect("a benchmark");
    let mut learner = Learner::builder(b.task.clone())
        .schedule(move |_| Box::new(schedule()))
        .build()
        .expect("sound settings");
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(1));
    let mut results = Vec::new();
    // Episode 0 excites with the default schedule; episode 1 follows a plan with the given one.
    for _ in 0..2 {
        results = learner.propose(&mut ()).rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        learner.observe(&results, &mut ());
    }
    results.remove(0)
}

#[test]
fn a_schedule_sees_the_time_that_it_announced() {
    // 0.1, 0.2, 0.30000000000000004, ...: the clock of the run differs from most of them by rounding.
    let result = first_episode(|| Every { spacing: 0.1, due: 0.1 });
    assert_eq!(result.outcome, Outcome::Completed);
    let times: Vec<f64> = result.readings.iter().map(|reading| reading.time).collect();
    assert!((99..=100).contains(&times.len()), "{} measurements", times.len());
    assert!(times.windows(2).all(|pair| (pair[1] - pair[0] - 0.1).abs() < 1e-9), "{times:?}");
}

#[test]
fn a_schedule_that_never_advances_ends_the_run() {
    let result = first_episode(|| Insatiable);
    let Outcome::ControllerGaveUp { error, .. } = &result.outcome else {
        panic!("the run ended with {:?}", result.outcome)
    };
    assert!(matches!(error, PolicyError::ScheduleStuck { requests: 10_000, .. }), "{error}");
}
