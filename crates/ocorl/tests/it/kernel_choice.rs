//! Kernels by expression: the settings that choose them, and what the right one is worth on a linear system.

#![expect(clippy::print_stdout, reason = "figures of what was tried")]

use ocorl::learn::{KernelName, Settings, Trial};
use ocorl::linalg::{Dims, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, StatisticalModel};
use ocorl::random::Stream;
use ocorl::system::Benchmark;

const DIMS: Dims = Dims { state: 4, control: 2 };
const NOISE: f64 = 0.01;

/// ẋ = A x + B u + b: two coupled oscillators with damping, a force on each, and a constant pull.
fn linear_system(z: &[f64]) -> [f64; 4] {
    let (x, u) = (&z[..4], &z[4..]);
    [
        x[2],
        x[3],
        -2.0 * x[0] + x[1] - 0.3 * x[2] + u[0] + 0.5,
        x[0] - 1.5 * x[1] - 0.2 * x[3] + 0.7 * u[1] - 0.2,
    ]
}

/// The root mean square error at 200 points of a model with this kernel after `count` measurements, in units of the noise.
fn error(kernel: &str, count: usize, seed: u64) -> f64 {
    let b = Benchmark::find("pendulum").expect("a benchmark");
    let mut settings = Settings::for_system(&b).model;
    settings.kernel = kernel.parse().expect("a kernel");
    let mut model = GaussianProcess::new(DIMS, &[], settings.build()).expect("sound settings");
    let (mut rng, mut data) = (Stream::root(seed).rng(), Measurements::new(DIMS));
    for i in 0..count {
        let z: Vec<f64> = (0..6).map(|_| rng.normal()).collect();
        let measured = linear_system(&z).map(|d| d + NOISE * rng.normal());
        data.push(i as f64, &z[..4], &z[4..], &measured, &[NOISE; 4]).expect("finite");
    }
    model.update(&data).expect("sound data");
    model.train(Stream::root(seed).child("train")).expect("trained");
    let (mut rng, mut sum) = (Stream::root(1000 + seed).rng(), 0.0);
    let mut at = Posterior::default();
    for _ in 0..200 {
        let z: Vec<f64> = (0..6).map(|_| rng.normal()).collect();
        model.posterior(Points::single(&z), Query::Mean, &mut at);
        let truth = linear_system(&z);
        sum += at.mean.value.at(0).iter().zip(truth).map(|(m, f)| (m - f).powi(2)).sum::<f64>();
    }
    (sum / 800.0).sqrt() / NOISE
}

/// The least number of measurements, in steps of two, from which on the error stays below two standard deviations of the noise.
fn needed(kernel: &str, seed: u64) -> usize {
    (4..=30_usize)
        .rev()
        .map(|half| 2 * half)
        .take_while(|&count| error(kernel, count, seed) < 2.0)
        .last()
        .unwrap_or(62)
}

#[test]
fn a_linear_kernel_learns_a_linear_system_from_a_fraction_of_the_measurements() {
    for seed in 0..5 {
        let [linear, affine, rbf] =
            ["linear", "linear + constant", "rbf"].map(|kernel| error(kernel, 12, seed));
        let [few, few_affine, many] =
            ["linear", "linear + constant", "rbf"].map(|kernel| needed(kernel, seed));
        println!(
            "seed {seed}: error after 12: linear {linear:.2}, affine {affine:.2}, rbf {rbf:.2} σ; \
             needed for 2 σ: {few}, {few_affine}, {many}"
        );
        // Twelve measurements of seven unknowns: the noise of one measurement, nearly.
        assert!(linear < 3.0 && affine < 3.0, "seed {seed}: {linear}, {affine}");
        assert!(rbf > 2.0 * linear && rbf > 2.0 * affine, "seed {seed}: {rbf} against {linear}, {affine}");
        // Seeds differ: 8 to 12 against 22 and more.
        assert!(
            3 * few <= 2 * many && 3 * few_affine <= 2 * many,
            "seed {seed}: {few}, {few_affine}, {many}"
        );
    }
}

#[test]
fn parentheses_change_nothing_and_other_terms_do() {
    let b = Benchmark::find("pendulum").expect("a benchmark");
    let costs = |kernel: &str| {
        let mut settings = Settings { episodes: 2, measurements: 5, ..Settings::for_system(&b) };
        settings.model.kernel = kernel.parse().expect("a kernel");
        settings.plan.intervals = 50;
        settings.excitation.scale = 100.0;
        let mut trial = Trial::new(&b, settings, 0, 0.0).expect("sound settings");
        std::iter::from_fn(|| trial.next_episode(&mut ()).map(|e| e.record.cost)).collect::<Vec<f64>>()
    };
    let plain = costs("rbf");
    assert_eq!(plain, costs("(rbf)"));
    assert_ne!(plain[1].to_bits(), costs("rbf + linear")[1].to_bits());
    // With a sine in its coordinates the pendulum is linear: one episode is enough.
    let linear = costs("linear");
    println!("rbf {plain:?}, linear {linear:?}");
    assert!(linear[1] < 20.5, "{linear:?}");
}

#[test]
fn settings_hold_kernels_as_text() {
    let b = Benchmark::find("pendulum").expect("a benchmark");
    let mut settings = Settings::for_system(&b);
    assert_eq!(settings.model.kernel, KernelName::Rbf.into());
    let json = serde_json::to_string(&settings).expect("JSON");
    assert!(json.contains(r#""kernel":"rbf""#), "{json}");
    settings.model.kernel = "linear*linear + constant".parse().expect("a kernel");
    let json = serde_json::to_string(&settings).expect("JSON");
    assert!(json.contains(r#""kernel":"linear * linear + constant""#), "{json}");
    assert_eq!(serde_json::from_str::<Settings>(&json).expect("settings"), settings);
    let error =
        serde_json::from_str::<Settings>(&json.replace("constant\"", "konstant\"")).unwrap_err().to_string();
    assert!(error.contains("unknown kernel `konstant` at character 19"), "{error}");
}
