//! The loop as a whole: what it promises, whatever the plant does.

use ocorl::event::{Event, Watch};
use ocorl::explore::Exploration;
use ocorl::learn::{ConfidenceName, EpisodeLoop, Learner, Record, Settings, Strategy, TrackerName, Trial};
use ocorl::linalg::{Dims, Points};
use ocorl::plant::{Plant, Reading, RecordedPlant, Rollout, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl::system::{Benchmark, Dynamics, KnownSystem};

/// Fast settings: a coarse grid, few candidates.
fn quick(b: &KnownSystem) -> Settings {
    let mut settings = Settings::for_system(b);
    settings.episodes = 4;
    settings.plan.intervals = 60;
    settings.plan.random_starts = 1;
    settings.select.candidates = 100;
    settings.track.period = b.task.horizon / 40.0;
    settings.excitation.scale = if b.name == "pendulum" { 100.0 } else { 1.0 };
    settings
}

fn trial(b: &KnownSystem, settings: Settings, seed: u64, optimum: f64) -> Vec<Record> {
    let mut trial = Trial::new(b, settings, seed, optimum).expect("sound settings");
    std::iter::from_fn(|| trial.next_episode(&mut ())).map(|e| e.record).collect()
}

fn find(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark")
}

fn learner(b: &KnownSystem, settings: Settings) -> Learner {
    let first = b.first_control.clone();
    Learner::new(b.task.clone(), first, settings, Stream::root(1)).expect("sound settings")
}

#[test]
fn two_episodes_after_the_first_the_pendulum_swings_up() {
    let b = find("pendulum");
    let records = trial(&b, quick(&b), 0, 20.1602);
    let last = records.last().unwrap();
    assert!(last.regret < 0.02 * 20.16, "{:?}", records.iter().map(|r| r.cost).collect::<Vec<_>>());
    assert_eq!(last.measurements, 40);
    assert_eq!(last.outcome, Outcome::Completed);
    assert!(last.uncertainty.unwrap() < 0.2 && last.information_gain > 0.0);
    let theory = last.theory.unwrap();
    assert!(theory.complexity > 0.0 && theory.total_complexity > theory.complexity);
    // A bound is above what it bounds.
    assert!(theory.log_cumulative_regret_bound > last.cumulative_regret.ln());
    assert!(theory.log_regret_bound > last.regret.abs().ln());
}

#[test]
fn same_seed_same_bytes_at_any_number_of_threads() {
    let b = find("bicycle");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| format!("{:?}", trial(&b, Settings { episodes: 3, ..quick(&b) }, 7, 9.45)))
    };
    let one = run(1);
    assert_eq!(one, run(1));
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
    assert_ne!(one, format!("{:?}", trial(&b, Settings { episodes: 3, ..quick(&b) }, 8, 9.45)));
}

#[test]
fn optimism_is_real() {
    // Planned for the best plausible f, a plan costs at most what the best plan on the mean costs; and where the truth is among the
    // plausible (every point of the executed trajectory covered), at most the true optimum: 15.2412 by a Riccati equation, in table units.
    let b = find("glucose-in-blood");
    let optimum = 1.524_120;
    let mut settings = quick(&b);
    settings.episodes = 6;
    settings.model.beta = 4.0;
    let records = trial(&b, settings, 3, optimum);
    let mut judged = 0;
    for r in &records[1..] {
        let (planned, mean) = (r.planned_cost.unwrap(), r.mean_cost.unwrap());
        assert!(planned <= mean * (1.0 + 1e-9), "episode {}: {planned} and {mean}", r.episode);
        if r.coverage == Some(1.0) {
            judged += 1;
            assert!(planned <= optimum * (1.0 + 1e-4), "episode {}: {planned}", r.episode);
        }
    }
    assert!(judged >= 2, "{records:?}");
}

#[test]
fn beta_is_used() {
    let b = find("pendulum");
    let planned = |beta: f64| {
        let mut settings = quick(&b);
        settings.episodes = 3;
        settings.model.beta = beta;
        trial(&b, settings, 0, 20.16)[1].planned_cost.unwrap()
    };
    let costs = [planned(0.0), planned(1.0), planned(2.0)];
    assert!(costs[0] > costs[1] && costs[1] > costs[2], "{costs:?}");
}

#[test]
fn every_exploration_and_tracker_learns() {
    let b = find("pendulum");
    for explore in Exploration::ALL {
        let mut settings = quick(&b);
        settings.explore = explore;
        if explore == Exploration::WeightSpace {
            settings.model.kernel = "linear + constant".parse().expect("a kernel");
        }
        let records = trial(&b, settings, 0, 20.16);
        assert!(records.iter().all(|r| r.outcome == Outcome::Completed), "{explore:?}: {records:?}");
        // Disturbances of the control cost something in every episode.
        let most = match explore {
            Exploration::Information => f64::INFINITY,
            Exploration::EpsilonGreedy | Exploration::Boltzmann => 26.0,
            _ => 22.0,
        };
        assert!(records[3].cost < most, "{explore:?}: {}", records[3].cost);
    }
    // The gains of an optimistic plan count on a model that helps: they need a better one than solving online does.
    for (policy, most) in [(TrackerName::Feedback, 30.0), (TrackerName::Replan, 22.0)] {
        let mut settings = quick(&b);
        settings.track.policy = policy;
        let records = trial(&b, settings, 0, 20.16);
        assert!(records[3].cost < most, "{policy:?}: {}", records[3].cost);
    }
}

#[test]
fn every_strategy_measures_as_often_as_it_says() {
    let b = find("pendulum");
    for strategy in Strategy::ALL {
        let mut settings = quick(&b);
        settings.strategy = strategy;
        settings.measurements = 6;
        let records = trial(&b, settings, 0, 20.16);
        for r in &records[1..] {
            let count = r.measurement_times.len();
            let right = match strategy {
                Strategy::EquidistantGrowing => count == r.episode,
                Strategy::UncertaintyTrigger => (1..=6).contains(&count),
                Strategy::RecedingHorizon => count <= 6 && count == r.synchronizations.len(),
                _ => count == 6,
            };
            assert!(right, "{strategy:?}, episode {}: {:?}", r.episode, r.measurement_times);
            assert!(r.measurement_times.iter().all(|t| (0.0..=10.0).contains(t)));
            assert!(r.measurement_times.is_sorted());
            assert!(strategy == Strategy::RecedingHorizon || r.synchronizations.is_empty());
        }
        assert!(records[3].cost < 40.0, "{strategy:?}: {}", records[3].cost);
    }
}

#[test]
fn regret_from_a_best_known_cost_is_never_negative() {
    let b = find("van-der-pol");
    assert!(!b.is_as_published(), "nobody has confirmed its optimum");
    let records = trial(&b, Settings { episodes: 4, ..quick(&b) }, 0, 1e6);
    let mut best = 1e6_f64;
    for record in records {
        best = best.min(record.cost);
        assert_eq!(record.regret, record.cost - best, "episode {}", record.episode);
    }
}

#[test]
fn several_initial_states_are_learned_together() {
    let b = find("pendulum");
    let mut settings = quick(&b);
    settings.initial_states = vec![vec![3.0, 0.0], vec![2.0, -0.5]];
    let mut trial = Trial::new(&b, settings, 0, 0.0).unwrap();
    let mut last = None;
    while let Some(episode) = trial.next_episode(&mut ()) {
        assert_eq!(episode.executed.len(), 2);
        assert!(episode.executed.iter().all(|e| e.readings.len() == 10));
        last = Some(episode);
    }
    let last = last.unwrap();
    assert_eq!(last.record.measurements, 80);
    assert_eq!(last.executed[1].readings[0].state.len(), 2);
    let plans: Vec<f64> = last.plans.iter().map(|p| p.as_ref().unwrap().plan.cost).collect();
    assert!((last.record.planned_cost.unwrap() - 0.5 * (plans[0] + plans[1])).abs() < 1e-12);
    assert_ne!(plans[0], plans[1]);
    assert!(last.record.cost < 25.0, "{}", last.record.cost);
}

#[test]
fn bands_hold_the_truth_at_their_nominal_rate() {
    // Share of the executed trajectories on which f lies within the bands, once there are 30 measurements to calibrate on.
    for (confidence, nominal) in [(ConfidenceName::InformationGain, 0.9), (ConfidenceName::Calibrated, 0.95)]
    {
        for name in ["pendulum", "mountain-car", "glucose-in-blood"] {
            let b = find(name);
            let mut settings = quick(&b);
            settings.episodes = 7;
            settings.model.confidence = confidence;
            let records = trial(&b, settings, 5, 0.0);
            let share = |r: &Record| match confidence {
                ConfidenceName::Calibrated => r.coverage_95.unwrap(),
                _ => r.coverage.unwrap(),
            };
            let coverage: f64 = records[3..].iter().map(share).sum::<f64>() / 4.0;
            assert!(coverage >= nominal, "{name}, {confidence:?}: {coverage}");
        }
    }
}

/// A plant of which nothing but runs can be had.
struct Sealed(SimulatedPlant);

impl Sealed {
    #[expect(dead_code, reason = "that nothing calls it is the point")]
    fn dynamics(&self) -> Box<dyn Dynamics> {
        panic!("the learner asked the plant from {:?} for its dynamics", self.0.simulator);
    }
}

impl Plant for Sealed {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        self.0.run(rollout)
    }
}

/// What goes wrong in each episode.
type Fault = fn(&mut RolloutResult);

/// Runs four episodes with a fault in each, and tells what the learner said.
fn through(fault: Fault) -> (Learner, Vec<String>) {
    let b = find("pendulum");
    let mut plant = Sealed(SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0)));
    let mut learner = learner(&b, quick(&b));
    let mut said = Vec::new();
    for _ in 0..4 {
        let mut watch = Watch(|event: &Event<'_>| match event {
            Event::Refused { reason, .. } | Event::NotUpdated { reason, .. } => {
                said.push((*reason).to_string());
            }
            _ => {}
        });
        let mut proposal = learner.propose(&mut watch);
        let mut executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        executed.iter_mut().for_each(fault);
        learner.observe(&executed, &mut watch);
    }
    (learner, said)
}

#[test]
fn a_faultless_plant_gives_all_it_was_asked_for() {
    let (learner, said) = through(|_| {});
    assert_eq!((learner.data().len(), said.len()), (40, 0));
}

#[test]
fn readings_that_are_not_numbers_are_refused_one_by_one() {
    let (learner, said) = through(|e| {
        e.readings[3].derivative.as_mut().unwrap()[1] = f64::NAN;
        e.readings[5].state[0] = f64::INFINITY;
    });
    assert_eq!((learner.data().len(), said.len()), (32, 8));
    assert!(said[0].contains("derivative[1] is NaN"), "{}", said[0]);
}

#[test]
fn missing_shifted_and_repeated_measurements_are_learned_from_as_they_are() {
    let (learner, said) = through(|e| {
        e.readings.drain(2..7);
        e.readings.rotate_left(1);
        let again = e.readings[0].clone();
        e.readings.push(again);
    });
    assert_eq!((learner.data().len(), said.len()), (24, 0));
}

#[test]
fn episodes_without_a_measurement_teach_nothing_and_do_no_harm() {
    let (learner, said) = through(|e| e.readings.clear());
    assert_eq!((learner.data().len(), learner.episode(), said.len()), (0, 4, 4));
    assert_eq!(said[0], "nothing was measured");
}

#[test]
fn a_run_that_ends_early_or_at_an_infinite_cost_counts_as_far_as_it_went() {
    let (learner, _) = through(|e| {
        e.readings.retain(|r| r.time < 3.0);
        e.outcome = Outcome::Diverged { time: 3.0 };
        e.cost = f64::INFINITY;
        e.trajectory = ocorl::simulate::Trajectory::default();
    });
    assert!(learner.data().len() >= 6, "{}", learner.data().len());
}

/// A run that ends before its first measurement is not made again: the next one is another, is measured earlier, and teaches something.
#[test]
fn a_run_that_failed_is_not_repeated_and_the_next_is_measured_early() {
    let b = find("pendulum");
    let stop = 0.04 * b.task.horizon;
    let settings = Settings { episodes: 7, ..quick(&b) };
    let mut learner = learner(&b, settings);
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
    let (mut first_controls, mut counts): (Vec<f64>, Vec<usize>) = Default::default();
    for episode in 0..7 {
        let mut proposal = learner.propose(&mut ());
        let mut executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        if episode > 0 {
            executed[0].readings.retain(|r| r.time < stop);
            executed[0].outcome = Outcome::LimitHit { state: 0, time: stop };
        }
        first_controls.push(executed[0].trajectory.controls.at(0)[0]);
        counts.push(executed[0].readings.len());
        learner.observe(&executed, &mut ());
    }
    // Whoever halves the time that is measured comes below the time of the stop after a few failures.
    assert!(counts[1..].iter().filter(|&&n| n >= 2).count() >= 3, "{counts:?}");
    for pair in first_controls[1..].windows(2) {
        assert_ne!(pair[0], pair[1], "two runs in a row begin alike: {first_controls:?}");
    }
}

/// After a run that ended early the plan goes where the model knows more, and the more so the more runs failed.
#[test]
fn plans_stay_nearer_to_the_data_after_each_failure() {
    let b = find("pendulum");
    let mut learner = learner(&b, quick(&b));
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
    let mut uncertainty = Vec::new();
    let mut said = Vec::new();
    for episode in 0..4 {
        let mut watch = Watch(|event: &Event<'_>| {
            if let Event::SetBack { failures, reached, .. } = event {
                said.push((*failures, *reached));
            }
        });
        let mut proposal = learner.propose(&mut watch);
        if let Some(plan) = proposal.plans[0].as_ref() {
            let nodes: Vec<f64> = (0..plan.plan.controls.len())
                .flat_map(|k| [plan.plan.states.at(k), &plan.plan.controls.at(k)[..1]].concat())
                .collect();
            let mut posterior = ocorl::model::Posterior::default();
            let query = ocorl::model::Query::MeanStd;
            learner.model().posterior(Points::new(&nodes, 3), query, &mut posterior);
            uncertainty.push(posterior.std.value.as_slice().iter().map(|s| s * s).sum::<f64>().sqrt());
        }
        let mut executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        if episode > 0 {
            // Nothing new is learned, so that only the number of failures differs.
            executed[0].readings.clear();
            executed[0].outcome = Outcome::Diverged { time: 1.0 };
        }
        learner.observe(&executed, &mut ());
    }
    let horizon = b.task.horizon;
    assert_eq!(said, [(1, 0.125 * horizon), (2, 0.0625 * horizon)]);
    assert!(uncertainty.windows(2).all(|u| u[1] < u[0]), "{uncertainty:?}");
}

/// The same task in another unit of cost is planned in the same way: what optimism adds to the cost is in parts of it.
#[test]
fn the_unit_of_cost_does_not_matter() {
    struct Scaled(std::sync::Arc<dyn ocorl::system::Cost>, f64);
    impl ocorl::system::Cost for Scaled {
        fn dims(&self) -> Dims {
            self.0.dims()
        }
        fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
            self.0.running(times, z, out);
            for c in out {
                *c *= self.1;
            }
        }
        fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut ocorl::linalg::Quadratization) {
            self.0.quadratize(times, z, out);
            out.value.iter_mut().for_each(|c| *c *= self.1);
            out.gradient.as_mut_slice().iter_mut().for_each(|c| *c *= self.1);
            out.hessian.as_mut_slice().iter_mut().for_each(|c| *c *= self.1);
        }
        fn terminal(&self, time: f64, state: &[f64]) -> f64 {
            self.1 * self.0.terminal(time, state)
        }
        fn quadratize_terminal(
            &self,
            time: f64,
            x: &[f64],
            gradient: &mut [f64],
            hessian: &mut [f64],
        ) -> f64 {
            let value = self.0.quadratize_terminal(time, x, gradient, hessian);
            gradient.iter_mut().chain(hessian).for_each(|c| *c *= self.1);
            self.1 * value
        }
    }
    let costs = |unit: f64| {
        let mut b = find("pendulum");
        b.task.cost = std::sync::Arc::new(Scaled(b.task.cost.clone(), unit));
        let records = trial(&b, quick(&b), 0, 20.1602 * unit);
        records.iter().map(|r| (r.cost / unit, r.planned_cost.unwrap_or(0.0) / unit)).collect::<Vec<_>>()
    };
    let usual = costs(1.0);
    for unit in [1e-3, 1e6] {
        for ((cost, planned), (other, other_planned)) in usual.iter().zip(costs(unit)) {
            // The searches stop at other moments: hence not equal to the last digit.
            assert!((cost / other - 1.0).abs() < 1e-3, "unit {unit}: {cost} and {other}");
            assert!(
                (planned - other_planned).abs() <= 1e-3 * planned,
                "unit {unit}: {planned} and {other_planned}"
            );
        }
    }
}

#[test]
fn absurd_readings_never_panic() {
    let (learner, _) = through(|e| {
        for (i, r) in e.readings.iter_mut().enumerate() {
            r.derivative.as_mut().unwrap()[0] = [1e300, -1e300, 0.0][i % 3];
            r.state[1] = 1e200;
        }
    });
    assert_eq!(learner.episode(), 4);
}

/// ẋ = x² + u blows up in finite time.
struct Explosive;

impl Dynamics for Explosive {
    fn dims(&self) -> Dims {
        Dims { state: 2, control: 1 }
    }
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        for i in 0..z.len() {
            let z = z.at(i);
            out[2 * i] = 5.0 * z[0] * z[0] + z[1];
            out[2 * i + 1] = z[2];
        }
    }
    fn linearize(&mut self, _z: Points<'_>, _out: &mut ocorl::linalg::Linearization) {
        unreachable!("a plant is only run");
    }
}

#[test]
fn a_plant_that_blows_up_is_recorded_and_learned_from() {
    let b = find("pendulum");
    let mut plant = SimulatedPlant::new(b.task.clone(), Box::new(Explosive), Stream::root(0));
    let mut learner = learner(&b, quick(&b));
    for _ in 0..4 {
        let mut proposal = learner.propose(&mut ());
        let executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        assert!(!executed[0].outcome.to_string().contains("completed"));
        assert!(executed[0].cost.is_finite());
        learner.observe(&executed, &mut ());
    }
    assert_eq!(learner.episode(), 4);
}

#[test]
fn proposed_controls_are_finite_and_within_limits() {
    let mut b = find("pendulum");
    b.set_limits("torque", -1.5, 1.5).unwrap();
    let mut trial = Trial::new(&b, quick(&b), 0, 0.0).unwrap();
    while let Some(episode) = trial.next_episode(&mut ()) {
        for u in episode.executed[0].trajectory.controls.iter() {
            assert!(u[0].is_finite() && u[0].abs() <= 1.5, "episode {}: {}", episode.record.episode, u[0]);
        }
    }
}

#[test]
fn what_was_recorded_teaches_the_same_once_more() {
    let b = find("pendulum");
    let plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
    let mut first = EpisodeLoop { journal: learner(&b, quick(&b)), plant };
    let mut recorded = RecordedPlant::default();
    while let Ok(Some(run)) = first.next_episode(&mut ()) {
        assert_eq!(run.before.is_some(), run.proposal.episode > 0);
        for (start, result) in run.results.into_iter().enumerate() {
            recorded.record(run.proposal.episode, start, result);
        }
    }
    let mut again = EpisodeLoop { journal: learner(&b, quick(&b)), plant: recorded };
    let mut count = 0;
    while let Ok(Some(run)) = again.next_episode(&mut ()) {
        count += 1;
        assert_eq!(run.measurements, 10 * count);
    }
    assert_eq!(count, 4);
    assert_eq!(again.journal.checkpoint(), first.journal.checkpoint());
}

#[test]
fn a_cancelled_rollout_is_not_learned_from() {
    let b = find("pendulum");
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    plant.cancel_by(cancel.clone());
    let mut episodes = EpisodeLoop { journal: learner(&b, quick(&b)), plant };
    assert!(episodes.next_episode(&mut ()).unwrap().is_some());
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(episodes.next_episode(&mut ()).unwrap().is_none());
    assert_eq!((episodes.journal.episode(), episodes.journal.data().len()), (1, 10));
}

/// A mistake in the settings.
type Change = fn(&mut Settings);

#[test]
fn bad_settings_are_named() {
    let b = find("pendulum");
    let bad: [(Change, &str); 8] = [
        (|s| s.episodes = 0, "episodes is 0; it must be between 1 and 10000"),
        (
            |s| s.track.period = f64::NAN,
            "track.period is NaN; it must be a positive, finite time, with at most 1e9 periods in the horizon",
        ),
        (
            |s| s.track.period = 1e-9,
            "track.period is 1e-9; it must be a positive, finite time, with at most 1e9 periods in the horizon",
        ),
        (
            |s| s.plan.hold = 1e-308,
            "plan.hold is 1e-308; it must be zero or a positive, finite time, with at most 1e9 holds in the horizon",
        ),
        (|s| s.select.spacing = 1e308, "select.spacing is 1e308; it must be between zero and the horizon"),
        (|s| s.select.candidates = 1, "select.candidates is 1; it must be between 2 and 100000"),
        (
            |s| s.initial_states = vec![vec![1.0]],
            "initial_states is [1.0]; each must have one finite number for every state, within its limits",
        ),
        (|s| s.model.beta = -1.0, "model.beta is -1; it must be zero or positive, and finite"),
    ];
    for (change, text) in bad {
        let mut settings = quick(&b);
        change(&mut settings);
        let error = Trial::new(&b, settings, 0, 0.0).err().expect("refused").to_string();
        assert_eq!(error, text);
    }
}

#[test]
fn a_reading_is_what_the_plant_was_at() {
    let b = find("pendulum");
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
    let mut learner = learner(&b, quick(&b));
    let mut proposal = learner.propose(&mut ());
    let executed = plant.run(&mut proposal.rollouts[0]);
    for (i, Reading { time, state, control, derivative, .. }) in executed.readings.iter().enumerate() {
        assert!((time - (i as f64 + 0.5)).abs() < 1e-12);
        assert!((control[0] - time.sin()).abs() < 1e-12, "the control of the first episode");
        let (truth, derivative) =
            ([state[1], 1.962 * state[0].sin() + control[0]], derivative.as_ref().unwrap());
        for j in 0..2 {
            assert!((derivative[j] - truth[j]).abs() < 6.0 * b.task.noise_std[j]);
            assert_ne!(derivative[j], truth[j]);
        }
    }
}
