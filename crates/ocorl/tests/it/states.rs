//! Learning from measured states alone.

use ocorl::event::{Event, Watch};
use ocorl::learn::{Learner, MeasurementKind, Record, Settings, Strategy, Trial};
use ocorl::linalg::Blocks;
use ocorl::plant::{Plant, Reading, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::{Outcome, Trajectory};
use ocorl::states::{self, Method};
use ocorl::system::{Benchmark, KnownSystem};

fn find(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark")
}

/// Fast settings: a coarse grid, states measured at equal distances.
fn quick(b: &KnownSystem, method: Method, noise: f64) -> Settings {
    let mut settings = Settings::for_system(b);
    settings.episodes = 5;
    settings.plan.intervals = 60;
    settings.plan.random_starts = 1;
    settings.select.candidates = 100;
    settings.strategy = Strategy::Equidistant;
    settings.measured = MeasurementKind::States;
    settings.states.method = method;
    settings.states.noise = noise;
    settings.track.period = b.task.horizon / 40.0;
    settings.excitation.scale = if b.name == "pendulum" { 100.0 } else { 1.0 };
    settings.states.scale = if b.name == "pendulum" { vec![0.87, 0.5] } else { vec![0.079, 0.00024] };
    settings
}

fn trial(b: &KnownSystem, settings: Settings) -> Vec<Record> {
    let mut trial = Trial::new(b, settings, 0, 0.0).expect("sound settings");
    std::iter::from_fn(|| trial.next_episode(&mut ())).map(|e| e.record).collect()
}

fn learner(b: &KnownSystem, settings: Settings) -> Learner {
    let first = b.first_control.clone();
    Learner::new(b.task.clone(), first, settings, Stream::root(1)).expect("sound settings")
}

#[test]
fn states_are_measured_with_their_own_noise_and_nothing_else() {
    let b = find("pendulum");
    let mut learner = learner(&b, quick(&b, Method::Increments, 0.0));
    let run = |learner: &mut Learner, std: [f64; 2], quantity: MeasurementKind| {
        let plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
        let mut rollout = learner.propose(&mut ()).rollouts.remove(0);
        assert_eq!(rollout.quantity, MeasurementKind::States);
        rollout.quantity = quantity;
        plant.with_state_noise(std.to_vec()).run(&mut rollout).readings
    };
    let exact = run(&mut learner, [0.0; 2], MeasurementKind::States);
    let noisy = run(&mut learner, [0.1, 0.2], MeasurementKind::States);
    assert!(exact.iter().chain(&noisy).all(|r| r.derivative.is_none() && r.interval.is_none()));
    let off = |j: usize| exact.iter().zip(&noisy).map(|(a, b)| (a.state[j] - b.state[j]).abs()).sum::<f64>();
    assert!(off(0) > 0.1 && off(0) < 3.0 && off(1) > 0.2 && off(1) < 6.0, "{} and {}", off(0), off(1));
    // Noise of states does not touch derivatives.
    let (a, b) = (
        run(&mut learner, [0.0; 2], MeasurementKind::Derivatives),
        run(&mut learner, [0.1; 2], MeasurementKind::Derivatives),
    );
    assert_eq!(a, b);
}

#[test]
fn the_pendulum_swings_up_from_ten_states_an_episode() {
    let b = find("pendulum");
    for noise in [1e-3, 1e-2] {
        let records = trial(&b, quick(&b, Method::Increments, noise));
        let last = records.last().expect("five episodes");
        let costs: Vec<f64> = records.iter().map(|r| r.cost).collect();
        assert!(last.cost < 20.1602 * 1.05, "{noise}: {costs:?}");
        assert!(last.information_gain >= 0.0 && last.measurements <= 50);
    }
}

#[test]
fn every_method_learns_the_glucose() {
    let b = find("glucose-in-blood");
    for method in [Method::Increments, Method::Smoothing, Method::LocalPolynomial] {
        let records = trial(&b, quick(&b, method, 1e-3));
        let costs: Vec<f64> = records.iter().map(|r| r.cost).collect();
        assert!(costs[4] < 1.524_120 * 1.05, "{method:?}: {costs:?}");
        assert!(records.iter().all(|r| r.outcome == Outcome::Completed));
    }
}

#[test]
fn same_seed_same_bytes_at_any_number_of_threads() {
    let b = find("pendulum");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let settings = Settings { episodes: 3, ..quick(&b, Method::Increments, 1e-3) };
        pool.install(|| format!("{:?}", trial(&b, settings)))
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

/// A learner whose plant's answers are changed on the way, and what it said.
fn through(change: impl Fn(&mut RolloutResult)) -> (Learner, Vec<String>) {
    let b = find("pendulum");
    let mut learner = learner(&b, Settings { episodes: 3, ..quick(&b, Method::Increments, 1e-3) });
    let mut plant =
        SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0)).with_state_noise(vec![1e-3; 2]);
    let mut said = Vec::new();
    for _ in 0..3 {
        let mut watch = Watch(|event: &Event<'_>| said.push(format!("{event:?}")));
        let mut proposal = learner.propose(&mut watch);
        let mut executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        executed.iter_mut().for_each(&change);
        learner.observe(&executed, &mut watch);
    }
    (learner, said)
}

#[test]
fn a_plant_that_knows_no_trajectory_is_enough() {
    let (learner, _) = through(|e| e.trajectory = Trajectory::default());
    assert!(learner.data().len() <= 30 && learner.data().len() >= 24, "{}", learner.data().len());
    assert!(!learner.data().is_pointwise());
}

#[test]
fn bad_readings_are_left_out_and_never_panic() {
    let (learner, _) = through(|e| {
        e.readings[2].state[0] = f64::NAN;
        e.readings[3].time = f64::INFINITY;
    });
    // Two of ten are bad, and the interval across them may be too long to be used.
    assert!(learner.data().len() >= 12 && learner.data().len() <= 24, "{}", learner.data().len());
    let (learner, _) = through(|e| {
        for (i, r) in e.readings.iter_mut().enumerate() {
            r.state[1] = [1e200, -1e200, 0.0][i % 3];
        }
    });
    assert_eq!(learner.episode(), 3);
    let (learner, said) = through(|e| e.readings.clear());
    assert!(learner.data().is_empty() && said.iter().any(|s| s.contains("nothing was measured")));
}

#[test]
fn derivatives_and_states_go_together() {
    let (learner, _) = through(|e| {
        for r in e.readings.iter_mut().step_by(3) {
            // The first reading of three has a derivative, as the truth says.
            r.derivative = Some(vec![r.state[1], 1.962 * r.state[0].sin() + r.control[0]]);
        }
    });
    // Of ten readings four are derivatives and six are states, of which one or the other is not trusted.
    let data = learner.data();
    assert!(data.len() <= 30 && data.len() >= 24, "{}", data.len());
    assert_eq!((0..data.len()).filter(|&i| data.average(i).weights.len() == 1).count(), 12);
}

fn record(angles: &[f64]) -> states::Record {
    let reading = |(i, x): (usize, &f64)| Reading {
        time: i as f64 + 1.0,
        state: vec![*x],
        control: vec![0.0],
        derivative: None,
        interval: None,
    };
    let executed = RolloutResult {
        outcome: Outcome::Completed,
        cost: 0.0,
        readings: angles.iter().enumerate().map(reading).collect(),
        synchronizations: Vec::new(),
        trajectory: Trajectory::default(),
        jumps: Trajectory::default(),
    };
    states::Record::of(&[3.0], &executed, &[]).expect("states")
}

#[test]
fn angles_without_whole_turns_get_them_back() {
    let mut wrapped = record(&[-2.5, -1.0, 1.5, 3.1, -3.0]);
    wrapped.unwrap_angles(&[0]);
    let tau = std::f64::consts::TAU;
    let expected = [3.0, tau - 2.5, tau - 1.0, tau + 1.5, tau + 3.1, 2.0 * tau - 3.0];
    assert!(wrapped.states.iter().zip(expected).all(|(x, e)| (x[0] - e).abs() < 1e-12), "{wrapped:?}");
}

#[test]
fn controls_lie_on_straight_lines() {
    let controls = states::Controls::new(vec![0.0, 1.0, 3.0], Blocks::from_vec(vec![1.0, 2.0, 0.0], 1));
    let mut u = [f64::NAN];
    for (t, expected) in [(-1.0, 1.0), (0.5, 1.5), (1.0, 2.0), (2.0, 1.0), (9.0, 0.0)] {
        controls.at(t, &mut u);
        assert!((u[0] - expected).abs() < 1e-15, "{u:?} at {t}");
    }
}

/// Costs of all episodes of the pendulum with 20 measurements in each, of both states or of the angle alone.
fn pendulum_costs(velocities: Vec<[usize; 2]>, noise: f64) -> Vec<f64> {
    let b = find("pendulum");
    let mut settings = quick(&b, Method::Increments, noise);
    settings.measurements = 20;
    settings.states.velocities = velocities;
    trial(&b, settings).iter().map(|record| record.cost).collect()
}

#[test]
fn a_task_is_learned_and_controlled_from_positions_alone() {
    let (all, positions) = (pendulum_costs(Vec::new(), 1e-3), pendulum_costs(vec![[1, 0]], 1e-3));
    let last = |costs: &[f64]| costs[costs.len() - 1];
    assert!(last(&positions) < 1.02 * last(&all), "{positions:?} instead of {all:?}");
}

#[test]
fn pairs_that_are_no_velocities_of_measured_states_are_refused() {
    let b = find("pendulum");
    for (pairs, states) in [
        (vec![[1, 1]], MeasurementKind::States),
        (vec![[2, 0]], MeasurementKind::States),
        (vec![[1, 0], [0, 1]], MeasurementKind::States),
        (vec![[1, 0]], MeasurementKind::Derivatives),
    ] {
        let mut settings = quick(&b, Method::Increments, 1e-3);
        (settings.measured, settings.states.velocities) = (states, pairs);
        let refused = Learner::new(b.task.clone(), b.first_control.clone(), settings, Stream::root(0));
        assert!(refused.is_err_and(|error| error.to_string().contains("velocities")));
    }
}
