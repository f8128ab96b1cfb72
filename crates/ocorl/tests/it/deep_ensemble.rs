//! The ensemble of networks: it keeps the contract of statistical models, learns functions, knows where it does not know, is the same at
//! any number of threads, comes back from what was written down of it, and learns the pendulum.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::check;
use ocorl::learn::{LearnError, ModelKind, ModelSettings, Record, Settings, Trial};
use ocorl::linalg::{Blocks, Dims, Points};
use ocorl::measurements::{Average, MeasurementError, Measurements};
use ocorl::model::confidence::{HeldOutPrediction, calibration_curve};
use ocorl::model::{
    Confidence, Ensemble, EnsembleSettings, Mean, ModelError, Note, Physics, Posterior, Query,
    StatisticalModel,
};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl::system::Benchmark;

const PLANE: Dims = Dims { state: 2, control: 1 };

/// A smooth function of (x₀, x₁, u): one output linear, one not.
fn truth(z: &[f64]) -> [f64; 2] {
    [7.0 * z[1], z[2] - 2.0 * z[0].sin() + 0.3 * z[0] * z[1]]
}

const NOISE: [f64; 2] = [0.1, 0.05];

/// Noisy values of the function at random points.
fn plane(count: usize, seed: u64) -> Measurements {
    let (mut rng, mut data) = (Stream::root(seed).rng(), Measurements::new(PLANE));
    for i in 0..count {
        let z = [rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0), rng.uniform(-1.0, 1.0)];
        let y = truth(&z);
        let y = [y[0] + NOISE[0] * rng.normal(), y[1] + NOISE[1] * rng.normal()];
        data.push(i as f64, &z[..2], &z[2..], &y, &NOISE).unwrap();
    }
    data
}

fn quick() -> EnsembleSettings {
    EnsembleSettings { steps: 300, ..EnsembleSettings::default() }
}

fn untrained(angles: &[usize], settings: EnsembleSettings) -> Ensemble {
    Ensemble::new(PLANE, angles, settings, Mean::Zero, Confidence::default()).unwrap()
}

fn trained(count: usize, settings: EnsembleSettings) -> Ensemble {
    let mut model = untrained(&[], settings);
    model.update(&plane(count, 1)).unwrap();
    model.train(Stream::root(2)).unwrap();
    model
}

/// μ, σ and both Jacobians at some points, as bits.
fn bits(model: &dyn StatisticalModel) -> Vec<u64> {
    let (points, mut at) = (plane(40, 9), Posterior::default());
    model.posterior(points.points(), Query::All, &mut at);
    let all = [&at.mean.value, &at.mean.jacobian, &at.std.value, &at.std.jacobian];
    let scale = model.confidence_scale().iter();
    all.iter().flat_map(|b| b.as_slice()).chain(scale).map(|v| v.to_bits()).collect()
}

fn assert_keeps_contract(what: &str, model: &dyn StatisticalModel, typical: Points<'_>) {
    let mut rng = Stream::root(3).child(what).rng();
    check::statistical_model(model, typical, &mut rng).unwrap_or_else(|e| panic!("{what}: {e}"));
}

#[test]
fn it_keeps_the_contract_of_statistical_models() {
    let data = plane(60, 1);
    for (name, angles) in [("plain", &[][..]), ("angle", &[0][..])] {
        for layers in [1, 3] {
            let mut model = untrained(angles, EnsembleSettings { layers, ..quick() });
            assert_keeps_contract(&format!("{name}, no data"), &model, data.points());
            model.update(&data.slice(0..1)).unwrap();
            assert_keeps_contract(&format!("{name}, one measurement"), &model, data.points());
            model.update(&data.slice(1..60)).unwrap();
            assert_keeps_contract(&format!("{name}, updated"), &model, data.points());
            model.train(Stream::root(4)).unwrap();
            assert_keeps_contract(&format!("{name}, trained"), &model, data.points());
            let forked = model.fork();
            assert_eq!(bits(&*forked), bits(&model));
        }
    }
}

#[test]
fn it_keeps_the_contract_with_physics_and_for_a_system_with_many_states() {
    let b = Benchmark::find("quadrotor-2d").unwrap();
    let dims = b.dims();
    let mut rng = Stream::root(5).rng();
    let mut data = Measurements::new(dims);
    let (mut f, mut y) = (b.dynamics(), vec![0.0; dims.state]);
    for i in 0..50 {
        let z: Vec<f64> = (0..dims.point()).map(|_| rng.normal()).collect();
        f.derivative(Points::single(&z), &mut y);
        data.push(f64::from(i), &z[..dims.state], &z[dims.state..], &y, &b.task.noise_std).unwrap();
    }
    let mut heavy = b.clone();
    heavy.parameters[0].value *= 1.3;
    for prior in [Mean::Linear, Mean::Physics(Physics::new(move || heavy.dynamics()))] {
        let mut model =
            Ensemble::new(dims, &b.task.angles, quick(), prior, Confidence::Calibrated { level: 0.95 })
                .unwrap();
        model.update(&data).unwrap();
        model.train(Stream::root(6)).unwrap();
        assert!(model.confidence_scale().iter().all(|b| *b >= 1.0));
        assert_keeps_contract("quadrotor", &model, data.points());
    }
}

#[test]
fn where_all_members_agree_the_jacobian_of_sigma_is_zero_and_finite() {
    // Without prior functions and data all members are the same function: zero.
    let model = untrained(&[], EnsembleSettings { prior: 0.0, ..quick() });
    let mut at = Posterior::default();
    model.posterior(plane(9, 3).points(), Query::All, &mut at);
    assert!(at.std.value.as_slice().iter().all(|s| *s > 0.0 && *s < 1e-3));
    assert!(at.std.jacobian.as_slice().iter().all(|s| *s == 0.0));
}

/// Root mean square error of each output at points that were not learned from.
fn rmse(model: &dyn StatisticalModel) -> [f64; 2] {
    let (test, mut at) = (plane(500, 77), Posterior::default());
    model.posterior(test.points(), Query::Mean, &mut at);
    let square = |j: usize| {
        let error = |i: usize| at.mean.value.at(i)[j] - truth(test.points().at(i))[j];
        ((0..test.len()).map(|i| error(i).powi(2)).sum::<f64>() / test.len() as f64).sqrt()
    };
    [square(0), square(1)]
}

#[test]
fn it_learns_a_function_and_is_unsure_away_from_the_data() {
    let model = trained(200, EnsembleSettings::default());
    let error = rmse(&model);
    // The spreads are 8.1 and 1.8, the noise 0.1 and 0.05.
    assert!(error[0] < 0.25 && error[1] < 0.09, "{error:?}");
    let mut at = Posterior::default();
    model.posterior(Points::new(&[0.0, 0.0, 0.0, 9.0, 6.0, 3.0], 3), Query::MeanStd, &mut at);
    for j in 0..2 {
        let [near, far] = [0, 1].map(|i| at.std.value.at(i)[j]);
        assert!(far > 5.0 * near, "output {j}: {near} inside, {far} outside");
    }
}

#[test]
fn an_update_alone_is_learned_from() {
    let mut model = trained(60, quick());
    let before = rmse(&model);
    model.update(&plane(400, 21)).unwrap();
    let after = rmse(&model);
    assert!(after[1] < 0.8 * before[1], "{before:?} {after:?}");
}

#[test]
fn recalibration_brings_coverage_of_unseen_values_near_what_is_promised() {
    let model = trained(600, EnsembleSettings::default());
    assert_eq!(model.held_out(), 120);
    let (test, mut at) = (plane(2000, 55), Posterior::default());
    model.posterior(test.points(), Query::MeanStd, &mut at);
    for j in 0..2 {
        // Measured values, so that the bands are those of σ and noise together.
        let judged: Vec<HeldOutPrediction> = (0..test.len())
            .map(|i| HeldOutPrediction {
                measured: test.derivatives().at(i)[j],
                mean: at.mean.value.at(i)[j],
                std: at.std.value.at(i)[j],
                noise_std: NOISE[j],
            })
            .collect();
        for point in calibration_curve(&judged, 1.0, &[0.5, 0.8, 0.95]) {
            assert!((point.observed - point.level).abs() < 0.08, "output {j}: {point:?}");
        }
    }
    // Where the spread of the members is wrong, it is changed.
    let wide = trained(600, EnsembleSettings { steps: 2, prior: 20.0, ..EnsembleSettings::default() });
    assert!(wide.recalibration().iter().all(|a| *a != 1.0), "{:?}", wide.recalibration());
}

#[test]
fn with_few_measurements_nothing_is_held_out_and_a_note_says_so() {
    let few = trained(20, quick());
    assert_eq!((few.held_out(), few.recalibration()), (0, &[1.0; 2][..]));
    assert!(few.notes().contains(&Note::NotRecalibrated { rows: 20 }));
    let many = trained(60, quick());
    assert_eq!(many.held_out(), 12);
    assert!(many.notes().is_empty(), "{:?}", many.notes());
}

#[test]
fn the_same_stream_gives_the_same_bytes_at_any_number_of_threads() {
    let at = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bits(&trained(300, quick())))
    };
    assert_eq!(at(1), at(4));
    let mut other = trained(300, quick());
    other.train(Stream::root(3)).unwrap();
    assert_ne!(bits(&other), at(1));
}

#[test]
fn it_comes_back_from_what_was_written_down_of_it() {
    let model = trained(80, quick());
    let text = serde_json::to_string(&model.checkpoint().unwrap()).unwrap();
    let mut again = untrained(&[], quick());
    assert!(again.checkpoint().is_none());
    again.restore(model.data(), &serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(bits(&again), bits(&model));
    // What a Gaussian process wrote down is refused.
    let foreign = r#"{"hyperparameters": [], "accumulated_gain": [], "confidence_scale": []}"#;
    assert!(again.restore(model.data(), &serde_json::from_str(foreign).unwrap()).is_err());
    assert_eq!(bits(&again), bits(&model));
}

#[test]
fn averages_are_learned_from() {
    // f = sin x + u, known from averages over two points each.
    let dims = Dims { state: 1, control: 1 };
    let (mut rng, mut data) = (Stream::root(8).rng(), Measurements::new(dims));
    for i in 0..150 {
        let nodes = [rng.uniform(-3.0, 3.0), rng.uniform(-1.0, 1.0), rng.uniform(-3.0, 3.0), 0.5];
        let y = 0.25 * (nodes[0].sin() + nodes[1]) + 0.75 * (nodes[2].sin() + nodes[3]);
        let average = Average { nodes: Points::new(&nodes, 2), weights: &[0.25, 0.75], correlation: &[] };
        data.push_average(f64::from(i), average, &[y], &[0.01]).unwrap();
    }
    let mut model =
        Ensemble::new(dims, &[], EnsembleSettings::default(), Mean::Zero, Confidence::default()).unwrap();
    model.replace(&data).unwrap();
    model.train(Stream::root(1)).unwrap();
    let mut at = Posterior::default();
    let z = [-2.0, 0.3, 0.0, 0.5, 1.5, -0.4];
    model.posterior(Points::new(&z, 2), Query::Mean, &mut at);
    for (z, mean) in z.chunks_exact(2).zip(at.mean.value.iter()) {
        assert!((mean[0] - z[0].sin() - z[1]).abs() < 0.1, "{z:?}: {mean:?}");
    }
}

#[test]
fn covariances_a_column_at_a_time_are_those_of_the_whole() {
    let (model, points, mut whole) = (trained(60, quick()), plane(37, 3), Blocks::default());
    model.covariance(points.points(), &mut whole);
    let mut joint = model.covariance_columns(points.points());
    assert_eq!((joint.outputs(), joint.len()), (2, 37));
    let mut column = vec![0.0; 37];
    for j in 0..2 {
        for i in 0..37 {
            joint.column(j, i, &mut column);
            assert_eq!(column, whole.at(j)[37 * i..37 * (i + 1)]);
            assert_eq!(joint.variance(j)[i], column[i]);
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let base = EnsembleSettings::default;
    for (name, settings) in [
        ("members", EnsembleSettings { members: 1, ..base() }),
        ("hidden", EnsembleSettings { hidden: 0, ..base() }),
        ("layers", EnsembleSettings { layers: 9, ..base() }),
        ("steps", EnsembleSettings { steps: 0, ..base() }),
        ("batch", EnsembleSettings { batch: 0, ..base() }),
        ("rate", EnsembleSettings { rate: f64::NAN, ..base() }),
        ("prior", EnsembleSettings { prior: -1.0, ..base() }),
        ("held_out", EnsembleSettings { held_out: 0.6, ..base() }),
    ] {
        let Err(error) = Ensemble::new(PLANE, &[], settings, Mean::Zero, Confidence::default()) else {
            panic!("{name} is accepted")
        };
        assert!(error.to_string().contains(&format!("ensemble.{name} is ")), "{error}");
    }
    let gain = Confidence::InformationGain { delta: 0.1, norm: 1.0 };
    assert!(Ensemble::new(PLANE, &[], base(), Mean::Zero, gain).is_err());
    assert!(Ensemble::new(PLANE, &[3], base(), Mean::Zero, Confidence::default()).is_err());
    let mut model = untrained(&[], base());
    assert_eq!(model.train(Stream::root(0)).unwrap_err(), ModelError::NoData);
    let foreign = Measurements::new(Dims { state: 1, control: 1 });
    let error = model.update(&foreign).unwrap_err();
    assert!(matches!(error, ModelError::Measurement(MeasurementError::OtherSystem { .. })), "{error}");
}

#[test]
fn settings_are_the_same_after_writing_and_reading_and_old_ones_mean_the_gaussian_process() {
    let b = Benchmark::find("pendulum").unwrap();
    let mut settings = Settings::for_system(&b).model;
    assert_eq!(settings.kind, ModelKind::Gp);
    let old = serde_json::to_value(&settings).unwrap();
    let mut old = old.as_object().unwrap().clone();
    assert_eq!(old.remove("kind").unwrap(), "gp");
    old.remove("ensemble").unwrap();
    assert_eq!(serde_json::from_value::<ModelSettings>(old.into()).unwrap(), settings);
    settings.kind = ModelKind::Ensemble;
    settings.ensemble.members = 9;
    let text = toml::to_string(&settings).unwrap();
    assert!(text.contains("kind = \"ensemble\"") && text.contains("members = 9"), "{text}");
    assert_eq!(toml::from_str::<ModelSettings>(&text).unwrap(), settings);
}

fn pendulum(seed: u64, change: impl Fn(&mut Settings)) -> Result<Vec<Record>, LearnError> {
    let b = Benchmark::find("pendulum").unwrap();
    let mut settings = Settings::for_system(&b);
    settings.episodes = 6;
    settings.plan.intervals = 60;
    settings.plan.random_starts = 1;
    settings.select.candidates = 100;
    settings.track.period = b.task.horizon / 40.0;
    settings.excitation.scale = 100.0;
    settings.model.kind = ModelKind::Ensemble;
    change(&mut settings);
    let mut trial = Trial::new(&b, settings, seed, OPTIMUM)?;
    Ok(std::iter::from_fn(|| trial.next_episode(&mut ())).map(|e| e.record).collect())
}

/// What the pendulum costs at best, with known dynamics.
const OPTIMUM: f64 = 20.1602;

#[test]
fn a_learner_refuses_an_ensemble_that_cannot_be() {
    let error = pendulum(0, |s| s.model.ensemble.members = 0).err().unwrap();
    assert_eq!(error.to_string(), "model.ensemble.members is 0; it must be between 2 and 100");
}

#[test]
fn five_episodes_after_the_first_the_pendulum_swings_up() {
    for seed in 0..2 {
        let records = pendulum(seed, |_| {}).unwrap();
        let costs: Vec<f64> = records.iter().map(|r| r.cost).collect();
        let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(best < 1.02 * OPTIMUM, "seed {seed}: {costs:?}");
        assert!(records.iter().all(|r| r.outcome == Outcome::Completed), "seed {seed}");
    }
}
