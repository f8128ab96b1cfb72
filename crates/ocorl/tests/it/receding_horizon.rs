//! The receding-horizon strategy measures as often as the analysis asks for, by the constants that the judge reports.

use ocorl::learn::{Episode, IntervalLimit, Settings, Strategy, Trial};
use ocorl::system::{Benchmark, KnownSystem};
use ocorl::theory::{Lipschitz, interval, largest_gain_norm, measurement_count};

fn run(name: &str, seed: u64, change: impl Fn(&mut Settings)) -> (KnownSystem, Vec<Episode>) {
    let b = Benchmark::find(name).expect("a benchmark");
    let mut settings = Settings::for_system(&b);
    settings.strategy = Strategy::RecedingHorizon;
    settings.plan.intervals = 50;
    settings.episodes = 4;
    settings.excitation.scale = if name == "pendulum" { 100.0 } else { 1.0 };
    change(&mut settings);
    let mut trial = Trial::new(&b, settings, seed, 0.0).expect("sound settings");
    let episodes = std::iter::from_fn(|| trial.next_episode(&mut ())).collect();
    (b, episodes)
}

#[test]
fn without_a_limit_there_are_as_many_intervals_as_the_analysis_asks_for() {
    let (b, episodes) = run("pendulum", 0, |s| s.select.intervals = IntervalLimit::Analysis);
    for episode in &episodes[1..] {
        let (record, plan) = (&episode.record, &episode.plans[0].as_ref().expect("a plan").plan);
        let theory = record.theory.expect("an analysis");
        // From its definition: slopes of the plan's own controls, β, T.
        let policy = largest_gain_norm(&plan.gains, 1, 2);
        assert_eq!(theory.interval_lipschitz_policy, policy, "the gains of the control that is applied");
        assert_eq!(theory.lipschitz_policy, policy, "and the judge's are the same");
        let (dynamics, std) = (theory.interval_lipschitz_dynamics, theory.interval_lipschitz_std);
        let lipschitz = Lipschitz { dynamics, policy, std, cost: 0.0 };
        let asked = measurement_count(b.task.horizon, interval(record.confidence_scale[0], &lipschitz));
        assert!((11..400).contains(&asked), "episode {}: {asked}", record.episode);
        assert_eq!(theory.measurement_count, asked);
        assert_eq!(record.measurement_times.len(), asked);
        assert_eq!(record.synchronizations.len(), asked);
        assert_eq!(record.reads, 2 * asked, "every look at the system is counted");
    }
    let all: usize = episodes.iter().map(|e| e.record.measurement_times.len()).sum();
    assert_eq!(episodes[3].record.measurements, all);
}

#[test]
fn a_maximum_is_one_and_the_default_is_m() {
    for (limit, most, expected) in [
        (IntervalLimit::Measurements, 0, 10),
        (IntervalLimit::Measurements, 13, 13),
        (IntervalLimit::Analysis, 17, 17),
    ] {
        let (_, episodes) = run("pendulum", 0, |s| {
            (s.select.intervals, s.select.max_intervals, s.episodes) = (limit, most, 2);
        });
        let record = &episodes[1].record;
        assert_eq!(record.measurement_times.len(), expected, "{limit:?}, {most}");
        assert!(record.theory.expect("an analysis").measurement_count > expected);
    }
}

#[test]
fn where_the_analysis_asks_for_fewer_than_m_fewer_are_taken() {
    let (_, episodes) = run("glucose-in-blood", 1, |s| s.episodes = 6);
    let counts: Vec<(usize, usize)> = episodes[1..]
        .iter()
        .map(|e| (e.record.theory.expect("an analysis").measurement_count, e.record.measurement_times.len()))
        .collect();
    assert!(counts.iter().all(|(asked, taken)| *taken == (*asked).min(10)), "{counts:?}");
    assert!(counts.iter().filter(|(_, taken)| *taken < 10).count() >= 2, "{counts:?}");
}

#[test]
fn constants_that_are_given_are_those_of_the_schedule_and_of_the_judge() {
    // All 1: Δ = 0.1019…, 99 intervals of 10 s.
    let (_, episodes) = run("pendulum", 0, |s| {
        s.select.lipschitz = Some([1.0, 1.0, 1.0]);
        (s.select.intervals, s.episodes) = (IntervalLimit::Analysis, 2);
    });
    let record = &episodes[1].record;
    assert_eq!(record.theory.expect("an analysis").measurement_count, 99);
    assert_eq!((record.measurement_times.len(), record.reads), (99, 198));
}

#[test]
fn a_measurement_is_written_down_at_the_time_that_was_asked_for() {
    // The clock of the run reaches 10 s by a hundred periods of the tracker: at 9.999999999999979.
    let (b, episodes) = run("pendulum", 0, |s| (s.strategy, s.episodes) = (Strategy::Equidistant, 2));
    let episode = &episodes[1];
    let asked = &episode.plans[0].as_ref().expect("a plan").measurement_times;
    assert_eq!(&episode.record.measurement_times, asked);
    assert_eq!(episode.record.measurement_times.last(), Some(&b.task.horizon));
}
