//! Discrete time with holds of different lengths.

#![expect(clippy::print_stdout, reason = "figures of what was tried")]

use ocorl::explore::Exploration;
use ocorl::learn::{Episode, HoldGrid, HoldRule, LearnError, Settings, Strategy, Time, Trial};
use ocorl::plan::{Guess, Ilqr, Problem, Transcription};
use ocorl::simulate::{Integrator, Outcome};
use ocorl::system::{Benchmark, KnownSystem};

fn find(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark")
}

fn settings(b: &KnownSystem, holds: HoldGrid, episodes: usize) -> Settings {
    let mut settings = Settings { episodes, ..Settings::for_system(b) };
    (settings.time, settings.strategy, settings.discrete.holds) =
        (Time::Discrete, Strategy::Equidistant, holds);
    settings.excitation.scale = if b.name == "pendulum" { 100.0 } else { 1.0 };
    settings
}

fn learn(b: &KnownSystem, settings: Settings, seed: u64) -> Vec<Episode> {
    let mut trial = Trial::new(b, settings, seed, 0.0).expect("sound settings");
    std::iter::from_fn(|| trial.next_episode(&mut ())).collect()
}

fn costs(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(|e| e.record.cost).collect()
}

/// Where M − 1 = 9 holds begin and end, as an episode had them.
fn grid(b: &KnownSystem, episode: &Episode) -> Vec<f64> {
    let begins = episode.executed[0].readings.iter().map(|r| r.time);
    begins.chain([b.task.horizon]).collect()
}

/// What the best control with holds between these times costs, on the true system.
fn best(b: &KnownSystem, times: &[f64]) -> f64 {
    let transcription = Transcription { substeps: 200, ..Transcription::single(Integrator::Rk4) };
    let problem = Problem { transcription, ..Problem::of(&b.task, times) };
    let controls = b.task.safe_control.repeat(times.len() - 1);
    let guess = Guess { controls: &controls, states: None };
    Ilqr::default().plan(b.dynamics().as_mut(), &problem, guess).expect("a plan").cost
}

#[test]
fn equal_times_by_list_are_planned_like_equal_holds() {
    // One way goes by a model at one τ, the other by a clock: the same problem.
    for name in ["glucose-in-blood", "pendulum"] {
        let b = find(name);
        let list: Vec<f64> = (1..=9).map(|k| b.task.horizon * f64::from(k) / 9.0).collect();
        for explore in [Exploration::Mean, Exploration::Optimistic, Exploration::Thompson, Exploration::Bonus]
        {
            let planned = |holds: HoldGrid| {
                let episodes = learn(&b, Settings { explore, ..settings(&b, holds, 2) }, 0);
                let record = &episodes[1].record;
                (record.planned_cost.expect("a plan"), record.mean_cost.expect("a plan"))
            };
            let (one, other) = (planned(HoldGrid::default()), planned(HoldGrid::Times(list.clone())));
            println!("{name}, {explore:?}: {one:?} and {other:?}");
            // A drawn function has several optima, and the searches need not end in the same: then only the mean is compared.
            let pairs = [(one.1, other.1), (one.0, other.0)];
            for (one, other) in &pairs[..if explore == Exploration::Thompson { 1 } else { 2 }] {
                assert!((one - other).abs() < 1e-3 * one.abs(), "{name}, {explore:?}: {one} and {other}");
            }
        }
    }
}

#[test]
fn holds_are_as_long_as_they_say() {
    let b = find("glucose-in-blood");
    let end = b.task.horizon;
    let episodes = learn(&b, settings(&b, HoldGrid::Rule(HoldRule::Geometric), 3), 0);
    for episode in &episodes {
        let lengths: Vec<f64> = grid(&b, episode).windows(2).map(|t| t[1] - t[0]).collect();
        assert_eq!(lengths.len(), 9);
        assert!((lengths[8] / lengths[0] - 10.0).abs() < 1e-6, "{lengths:?}");
        for pair in lengths.windows(2) {
            assert!((pair[1] / pair[0] - 10_f64.powf(0.125)).abs() < 1e-6, "{lengths:?}");
        }
        for (r, tau) in episode.executed[0].readings.iter().zip(&lengths) {
            assert!((r.interval.expect("a transition") - tau).abs() < 1e-9 * end);
        }
    }
    let list: Vec<f64> = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0].map(|share| share * end).to_vec();
    let episodes = learn(&b, settings(&b, HoldGrid::Times(list.clone()), 2), 0);
    for (found, given) in grid(&b, &episodes[1])[1..].iter().zip(&list) {
        assert!((found - given).abs() < 1e-9 * end, "{found} and {given}");
    }
    // Controls change at the samples and nowhere else.
    let rollout = &episodes[1].executed[0];
    for (t, u) in rollout.trajectory.times.iter().zip(rollout.trajectory.controls.iter()) {
        let at = rollout.readings.iter().rfind(|r| r.time <= *t).expect("a hold");
        let tau = at.interval.expect("a transition");
        if t - at.time > 0.01 * tau && at.time + tau - t > 0.01 * tau {
            assert_eq!(u, at.control, "t = {t}");
        }
    }
}

#[test]
fn unequal_holds_are_learned_to_their_own_optimum() {
    let b = find("glucose-in-blood");
    for seed in 0..2 {
        let episodes = learn(&b, settings(&b, HoldGrid::Rule(HoldRule::Geometric), 8), seed);
        let (floor, all) = (best(&b, &grid(&b, &episodes[0])), costs(&episodes));
        println!("seed {seed}: {all:.5?}, at best {floor:.5}");
        assert!(all.iter().all(|cost| *cost > floor * (1.0 - 1e-4)), "{all:?}, at best {floor}");
        assert!(all[7] < 1.02 * floor, "{all:?}, at best {floor}");
    }
}

#[test]
fn every_exploration_plans_unequal_holds() {
    let b = find("glucose-in-blood");
    for explore in Exploration::ALL {
        let mut settings = Settings { explore, ..settings(&b, HoldGrid::Rule(HoldRule::Geometric), 3) };
        settings.dither.temperature = 0.5;
        if explore == Exploration::WeightSpace {
            settings.model.kernel = "linear + constant".parse().expect("a kernel");
        }
        let episodes = learn(&b, settings, 0);
        assert!(episodes.iter().all(|e| e.record.outcome == Outcome::Completed), "{explore:?}");
        assert!(episodes[2].record.planned_cost.is_some(), "{explore:?}");
        let plan = &episodes[2].plans[0].as_ref().expect("a plan").plan;
        assert_eq!((plan.controls.size(), plan.states.size(), plan.controls.len()), (1, 2, 9), "{explore:?}");
        if explore == Exploration::Boltzmann {
            let mean = Settings {
                explore: Exploration::Mean,
                ..self::settings(&b, HoldGrid::Rule(HoldRule::Geometric), 3)
            };
            assert_ne!(costs(&episodes)[1], costs(&learn(&b, mean, 0))[1]);
        }
    }
}

#[test]
fn numbers_of_holds_that_grow_may_be_geometric() {
    let b = find("glucose-in-blood");
    let mut settings = settings(&b, HoldGrid::Rule(HoldRule::Geometric), 5);
    settings.strategy = Strategy::EquidistantGrowing;
    for e in learn(&b, settings, 0) {
        let holds = if e.record.episode == 0 { 9 } else { e.record.episode.max(2) - 1 };
        assert_eq!(e.executed[0].readings.len(), holds);
    }
}

#[test]
fn holds_are_written_as_a_word_or_a_list_and_checked() {
    let b = find("glucose-in-blood");
    let end = b.task.horizon;
    let parse = |text: &str| serde_json::from_str::<HoldGrid>(text);
    assert_eq!(parse("\"equal\"").unwrap(), HoldGrid::default());
    assert_eq!(parse("\"geometric\"").unwrap(), HoldGrid::Rule(HoldRule::Geometric));
    assert_eq!(parse("[1, 2.5]").unwrap(), HoldGrid::Times(vec![1.0, 2.5]));
    assert_eq!(serde_json::to_string(&HoldGrid::default()).unwrap(), "\"equal\"");
    assert!(parse("\"cubic\"").unwrap_err().to_string().contains("`equal`, `geometric` or a list of times"));
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(&b, HoldGrid::Times(vec![0.5 * end, end]), 2);
        settings.measurements = 3;
        assert!(Trial::new(&b, settings.clone(), 0, 0.0).is_ok());
        change(&mut settings);
        match Trial::new(&b, settings, 0, 0.0).err() {
            Some(LearnError::Settings(error)) if error.path == "discrete.holds" => error.need,
            other => panic!("{other:?}"),
        }
    };
    for (times, need) in [
        (vec![end], "one time less than measurements"),
        (vec![0.5 * end, 0.9 * end], "the last must be the horizon"),
        (vec![0.0, end], "must be positive and increase"),
        (vec![f64::NAN, end], "must be positive and increase"),
    ] {
        let found = refused(&|s: &mut Settings| s.discrete.holds = HoldGrid::Times(times.clone()));
        assert!(found.contains(need), "{found}");
    }
    assert!(refused(&|s: &mut Settings| s.time = Time::Continuous).contains("time = discrete"));
    assert!(refused(&|s: &mut Settings| s.strategy = Strategy::EquidistantGrowing).contains("equidistant"));
}
