//! Learning in discrete time: transitions instead of derivatives, held controls, one model for every length of hold.

use ocorl::baseline::{self, BaselineSettings};
use ocorl::check;
use ocorl::event::{Event, Watch};
use ocorl::explore::Exploration;
use ocorl::learn::{Episode, LearnError, Settings, Strategy, Time, Trial};
use ocorl::linalg::{Blocks, Dims, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{self, AtInterval, GaussianProcess, Posterior, Query, StatisticalModel};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl::system::{Benchmark, KnownSystem};
use std::sync::Arc;

fn find(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark")
}

fn settings(b: &KnownSystem, episodes: usize) -> Settings {
    let mut settings = Settings { episodes, ..Settings::for_system(b) };
    settings.time = Time::Discrete;
    settings.strategy = Strategy::Equidistant;
    settings.excitation.scale = if b.name == "pendulum" { 100.0 } else { 1.0 };
    settings
}

fn learn(b: &KnownSystem, settings: Settings, seed: u64) -> (Trial, Vec<Episode>) {
    let mut trial = Trial::new(b, settings, seed, 0.0).expect("sound settings");
    let episodes = std::iter::from_fn(|| trial.next_episode(&mut ())).collect();
    (trial, episodes)
}

fn costs(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(|e| e.record.cost).collect()
}

/// The state of glucose in blood after u was held for τ from x: e^{Aτ} x + ∫ e^{As} ds B u with A = −1 −1; 0 −1 and B = 0; 1.
fn glucose_after(x: &[f64], u: f64, tau: f64) -> [f64; 2] {
    let decay = (-tau).exp();
    let input = [(1.0 + tau) * decay - 1.0, 1.0 - decay];
    [decay * (x[0] - tau * x[1]) + input[0] * u, decay * x[1] + input[1] * u]
}

#[test]
fn no_transition_is_refused() {
    let b = find("glucose");
    let mut trial = Trial::new(&b, settings(&b, 2), 0, 0.0).expect("sound settings");
    let mut refused = Vec::new();
    let mut watch = Watch(|event: &Event<'_>| {
        if let Event::Refused { reason, .. } = event {
            refused.push((*reason).to_string());
        }
    });
    while trial.next_episode(&mut watch).is_some() {}
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn transitions_are_those_of_the_matrix_exponential() {
    let mut b = find("glucose");
    b.task.noise_std.fill(0.0);
    let (trial, episodes) = learn(&b, settings(&b, 2), 0);
    for episode in &episodes {
        let rollout = &episode.executed[0];
        assert_eq!((rollout.outcome.clone(), rollout.readings.len()), (Outcome::Completed, 9));
        for (k, r) in rollout.readings.iter().enumerate() {
            let tau = r.interval.expect("a transition");
            assert!((tau - b.task.horizon / 9.0).abs() < 1e-12 && (r.time - k as f64 * tau).abs() < 1e-12);
            let exact = glucose_after(&r.state, r.control[0], tau);
            for j in 0..2 {
                let found = r.state[j] + tau * r.derivative.as_ref().unwrap()[j];
                assert!((found - exact[j]).abs() < 1e-8, "{k}: {found} and {}", exact[j]);
                // One transition ends where the next begins.
                if let Some(next) = rollout.readings.get(k + 1) {
                    assert!((found - next.state[j]).abs() < 1e-12);
                }
            }
        }
    }
    let data = trial.learner().data();
    assert_eq!((data.len(), data.dims()), (18, Dims { state: 2, control: 2 }));
    assert!(
        (0..18)
            .all(|i| data.points().at(i)[3] == episodes[i / 9].executed[0].readings[i % 9].interval.unwrap())
    );
}

#[test]
fn controls_are_held_from_sample_to_sample() {
    let mut b = find("pendulum");
    b.set_limits("torque", -1.5, 1.5).expect("limits");
    let (_, episodes) = learn(&b, settings(&b, 3), 0);
    for e in &episodes {
        let (rollout, tau) = (&e.executed[0], b.task.horizon / 9.0);
        for (t, u) in rollout.trajectory.times.iter().zip(rollout.trajectory.controls.iter()) {
            let (near, at) = (0.01 * tau, rollout.readings.iter().rfind(|r| r.time <= *t).expect("a hold"));
            // A moment at a jump belongs to either side.
            if t - at.time > near && at.time + tau - t > near {
                assert_eq!(u, at.control, "episode {}, t = {t}", e.record.episode);
            }
            assert!(u[0].abs() <= 1.5);
        }
        if e.record.episode == 0 {
            let first = rollout.readings.iter().map(|r| r.time.sin().clamp(-1.5, 1.5));
            assert!(first.zip(&rollout.readings).all(|(u, r)| (u - r.control[0]).abs() < 1e-12));
        }
    }
}

#[test]
fn the_learned_map_is_the_exact_one_of_a_linear_system() {
    let b = find("glucose");
    let (trial, _) = learn(&b, settings(&b, 8), 1);
    let (tau, data) = (b.task.horizon / 9.0, trial.learner().data());
    let model = AtInterval::new(trial.learner().model().clone(), tau);
    let mut at = Posterior::default();
    let mut worst = [0.0_f64; 2];
    for i in 0..data.len() {
        // Between two measured points: nowhere that was looked at, nowhere far away.
        let (z, other) = (data.points().at(i), data.points().at((i * 7 + 3) % data.len()));
        let z: Vec<f64> = (0..3).map(|d| 0.5 * (z[d] + other[d])).collect();
        model.posterior(Points::single(&z), Query::Mean, &mut at);
        let exact = glucose_after(&z[..2], z[2], tau);
        for j in 0..2 {
            let predicted = z[j] + tau * at.mean.value.at(0)[j];
            worst[j] = worst[j].max((predicted - exact[j]).abs() / (tau * b.task.noise_std[j]));
        }
    }
    // In units of the noise of one measured x_{k+1}: the worst of 72 points.
    assert!(worst.iter().all(|w| *w < 3.0), "{worst:?}");
}

/// A Gaussian process of two states, one control and τ, with data at three lengths of hold.
fn of_transitions() -> GaussianProcess {
    let dims = Dims { state: 2, control: 2 };
    let (mut data, mut rng) = (Measurements::new(dims), Stream::root(3).rng());
    for i in 0..40 {
        let (x, u) = ([0.5 * rng.normal(), 0.5 * rng.normal()], rng.normal());
        let tau = [0.3, 0.6, 1.1][i % 3];
        let next = glucose_after(&x, u, tau);
        let mean = [0, 1].map(|j| (next[j] - x[j]) / tau);
        data.push(0.0, &x, &[u, tau], &mean, &[0.01; 2]).expect("finite");
    }
    let mut model = GaussianProcess::new(dims, &[0], model::Settings::default()).expect("sound settings");
    model.update(&data).expect("sound data");
    model.train(Stream::root(0)).expect("trained");
    model
}

#[test]
fn a_model_at_an_interval_is_a_sound_model() {
    let model = AtInterval::new(Arc::new(of_transitions()), 0.45);
    assert_eq!(model.dims(), Dims { state: 2, control: 1 });
    let typical = [0.3, -0.4, 0.5, -0.6, 0.2, -0.8, 0.1, 0.7, 0.2];
    check::statistical_model(&model, Points::new(&typical, 3), &mut Stream::root(0).rng())
        .expect("the contract");
}

#[test]
fn a_model_at_an_interval_is_the_whole_model_there() {
    let whole = of_transitions();
    let tau = 0.45;
    let model = AtInterval::new(Arc::new(whole.clone()), tau);
    let z = [0.3, -0.4, 0.5, -0.6, 0.2, -0.8];
    let extended = [0.3, -0.4, 0.5, tau, -0.6, 0.2, -0.8, tau];
    let (z, extended) = (Points::new(&z, 3), Points::new(&extended, 4));
    let (mut here, mut there) = (Posterior::default(), Posterior::default());
    for query in [Query::All, Query::Mean, Query::MeanStd, Query::MeanJacobian] {
        model.posterior(z, query, &mut here);
        whole.posterior(extended, query, &mut there);
        for (here, there) in [(&here.mean, &there.mean), (&here.std, &there.std)] {
            assert_eq!(here.value, there.value);
            assert_eq!(here.jacobian.len(), there.jacobian.len());
            for (here, there) in here.jacobian.iter().zip(there.jacobian.iter()) {
                for (here, there) in here.chunks_exact(3).zip(there.chunks_exact(4)) {
                    assert_eq!(here, &there[..3]);
                }
            }
        }
    }
    let (mut here, mut there) = (Blocks::default(), Blocks::default());
    model.covariance(z, &mut here);
    whole.covariance(extended, &mut there);
    assert_eq!(here, there);
    assert_eq!(model.covariance_columns(z).variance(1), whole.covariance_columns(extended).variance(1));
    assert_eq!(model.confidence_scale(), whole.confidence_scale());
    let (mut here, mut there) = ([0.0; 4], [0.0; 4]);
    model.sample(&mut Stream::root(5).rng()).derivative(z, &mut here);
    whole.sample(&mut Stream::root(5).rng()).derivative(extended, &mut there);
    assert_eq!(here, there);
}

#[test]
fn what_a_model_at_an_interval_learns_is_learned_of_that_interval() {
    let (mut whole, mut model) = (of_transitions(), AtInterval::new(Arc::new(of_transitions()), 0.8));
    let mut data = Measurements::new(Dims { state: 2, control: 1 });
    data.push(1.0, &[0.9, 0.1], &[0.4], &[0.2, 0.3], &[0.01; 2]).expect("finite");
    model.update(&data).expect("sound data");
    let mut data = Measurements::new(Dims { state: 2, control: 2 });
    data.push(1.0, &[0.9, 0.1], &[0.4, 0.8], &[0.2, 0.3], &[0.01; 2]).expect("finite");
    whole.update(&data).expect("sound data");
    let (mut here, mut there) = (Posterior::default(), Posterior::default());
    model.posterior(Points::single(&[0.8, 0.2, 0.3]), Query::MeanStd, &mut here);
    whole.posterior(Points::single(&[0.8, 0.2, 0.3, 0.8]), Query::MeanStd, &mut there);
    assert_eq!(here.mean.value, there.mean.value);
    assert_eq!(here.std.value, there.std.value);
}

#[test]
fn the_best_hold_is_nearly_reached_and_never_passed() {
    for (name, episodes) in [("pendulum", 10), ("cancer", 10), ("glucose", 8)] {
        let b = find(name);
        let floor = baseline::held(&b, &BaselineSettings::default(), &[]).expect("a hold").cost;
        let (_, episodes) = learn(&b, settings(&b, episodes), 0);
        let last = &episodes.last().expect("an episode").record;
        // Both are integrated to 1e-9. What is left above it: the trapezoid in the plan, and what the model does not know.
        assert!(
            episodes.iter().all(|e| e.record.cost > floor * (1.0 - 1e-6)),
            "{name}: {:?}",
            costs(&episodes)
        );
        assert!(last.cost < floor * 1.01, "{name}: {:?}, at best {floor}", costs(&episodes));
        assert!(last.information_gain > 0.0 && last.planned_cost.is_some());
        assert!(last.uncertainty.is_none() && last.coverage.is_none() && last.theory.is_none());
    }
}

#[test]
fn continuous_time_is_better_on_the_pendulum() {
    let b = find("pendulum");
    let cost = |time: Time| {
        let (_, episodes) = learn(&b, Settings { time, ..settings(&b, 8) }, 0);
        episodes[7].record.cost
    };
    let (continuous, discrete) = (cost(Time::Continuous), cost(Time::Discrete));
    // The best control costs 20.160, the best with nine holds 20.55.
    assert!(continuous < 20.3 && discrete > 20.5, "{continuous} and {discrete}");
}

#[test]
fn every_exploration_learns() {
    let b = find("pendulum");
    for explore in Exploration::ALL.into_iter().filter(|e| *e != Exploration::WeightSpace) {
        let (_, episodes) = learn(&b, Settings { explore, ..settings(&b, 6) }, 0);
        assert!(episodes.iter().all(|e| e.record.outcome == Outcome::Completed), "{explore:?}");
        if explore != Exploration::Information {
            assert!(episodes[5].record.cost < 23.0, "{explore:?}: {:?}", costs(&episodes));
        }
    }
}

#[test]
fn holds_that_grow_in_number_are_learned_by_one_model() {
    let b = find("glucose");
    let mut growing = settings(&b, 12);
    growing.strategy = Strategy::EquidistantGrowing;
    let (trial, episodes) = learn(&b, growing, 0);
    for e in &episodes {
        let holds = if e.record.episode == 0 { 9 } else { e.record.episode.max(2) - 1 };
        assert_eq!(e.executed[0].readings.len(), holds);
        assert_eq!(e.plans[0].as_ref().map_or(holds, |p| p.plan.controls.len()), holds);
    }
    let mut lengths: Vec<f64> =
        trial.learner().data().points().as_slice().chunks_exact(4).map(|z| z[3]).collect();
    lengths.sort_by(f64::total_cmp);
    let distinct = 1 + lengths.windows(2).filter(|l| l[1] > 1.001 * l[0]).count();
    assert_eq!(distinct, 10, "{lengths:?}");
    let floor = baseline::held(&b, &BaselineSettings { holds: Some(10), ..BaselineSettings::default() }, &[]);
    let (floor, last) = (floor.expect("a hold").cost, episodes[11].record.cost);
    assert!(last > floor * (1.0 - 1e-6) && last < 1.01 * floor, "{:?}, at best {floor}", costs(&episodes));
}

#[test]
fn same_seed_same_records_at_any_number_of_threads() {
    let b = find("bicycle");
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let (_, episodes) = learn(&b, settings(&b, 4), seed);
            format!("{:?}", episodes.iter().map(|e| &e.record).collect::<Vec<_>>())
        })
    };
    let one = run(1, 7);
    assert_eq!(one, run(2, 7));
    assert_ne!(one, run(1, 8));
}

#[test]
fn a_run_that_ends_early_gives_the_transitions_until_then() {
    let mut b = find("pendulum");
    b.task.state_bounds.upper[0] = 3.6;
    let mut narrow = settings(&b, 1);
    narrow.excitation.scale = 200.0;
    let (trial, episodes) = learn(&b, narrow, 0);
    let rollout = &episodes[0].executed[0];
    assert_ne!(rollout.outcome, Outcome::Completed);
    let end = rollout.trajectory.times.last().expect("a moment");
    let tau = b.task.horizon / 9.0;
    assert_eq!(rollout.readings.len(), (1..=9).filter(|k| f64::from(*k) * tau <= *end).count());
    assert!(!rollout.readings.is_empty() && rollout.readings.len() < 9);
    assert_eq!(trial.learner().data().len(), rollout.readings.len());
}

#[test]
fn settings_that_discrete_time_does_not_have_are_refused_by_name() {
    let b = find("pendulum");
    for strategy in Strategy::ALL {
        let refused = Trial::new(&b, Settings { strategy, ..settings(&b, 2) }, 0, 0.0).err();
        let sound = matches!(strategy, Strategy::Equidistant | Strategy::EquidistantGrowing);
        match refused {
            None => assert!(sound, "{strategy:?}"),
            Some(LearnError::Settings(e)) => {
                assert!(!sound && e.path == "strategy" && e.value == strategy.name());
            }
            Some(other) => panic!("{other}"),
        }
    }
    let error =
        Trial::new(&b, Settings { measurements: 1, ..settings(&b, 2) }, 0, 0.0).err().expect("refused");
    assert_eq!(
        error.to_string(),
        "measurements is 1; with time = discrete it must be at least 2: a transition has two ends"
    );
    let fine = Settings { measurements: 1, time: Time::Continuous, ..settings(&b, 2) };
    assert!(Trial::new(&b, fine, 0, 0.0).is_ok());
}
