//! The compressed posterior against the exact one: its errors stay within the bounds that it states.

use super::*;
use ocorl::measurements::Average;

/// Points (θ, ω, x, v, u) along trajectories of a study: each episode follows the same path more closely.
fn along_trajectories(episodes: usize, each: usize) -> Vec<[f64; 5]> {
    let mut rng = Stream::root(21).rng();
    let mut points = Vec::new();
    for episode in 0..episodes {
        let spread = 0.8 * 0.8_f64.powf(episode as f64) + 0.02;
        let off: [f64; 5] = std::array::from_fn(|_| spread * rng.normal());
        for i in 0..each {
            let t = 2.0 * (i as f64 + rng.uniform(0.0, 1.0)) / each as f64;
            let path = [
                3.1 * (1.0 - t / 2.0),
                -1.5 - t.sin(),
                0.7 * (2.0 * t).sin(),
                t.cos(),
                3.0 * (3.0 * t).cos(),
            ];
            points.push(std::array::from_fn(|d| path[d] + off[d] * (1.0 + (2.0 + d as f64) * t).sin()));
        }
    }
    points
}

fn learned(noise: f64, settings: Settings) -> GaussianProcess {
    let mut f = Benchmark::find("cart-pole").unwrap().dynamics();
    let (mut rng, mut data) = (Stream::root(22).rng(), Measurements::new(DIMS));
    for (i, z) in along_trajectories(15, 14).iter().enumerate() {
        let mut y = [0.0; 4];
        f.derivative(Points::single(z), &mut y);
        let y = y.map(|y| y + noise * rng.normal());
        data.push(i as f64, &z[..4], &z[4..], &y, &[noise; 4]).unwrap();
    }
    let mut model = cart_pole(settings);
    model.update(&data).unwrap();
    model.train(Stream::root(0)).unwrap();
    model
}

/// Places near the data, between them, and far from them.
fn places() -> Vec<f64> {
    let mut rng = Stream::root(23).rng();
    let near = along_trajectories(15, 14);
    let mut points: Vec<f64> = near.iter().step_by(7).flatten().copied().collect();
    for spread in [1e-3, 0.1, 0.5, 2.0, 20.0] {
        for z in near.iter().step_by(11) {
            points.extend(z.iter().map(|v| v + spread * rng.normal()));
        }
    }
    points
}

/// Asserts that the errors stay within the stated bounds and returns the largest ones, of σ² relative to it and of μ in units of σ.
fn assert_within_bounds(exact: &GaussianProcess, compressed: &GaussianProcess, points: &[f64]) -> (f64, f64) {
    let (a, b) = (ask(exact, points), ask(compressed, points));
    let mut worst = (0.0_f64, 0.0_f64);
    for i in 0..a.mean.value.len() {
        for j in 0..exact.dims().state {
            let (mean, std) = (a.mean.value.at(i)[j], a.std.value.at(i)[j]);
            let (mean_there, std_there) = (b.mean.value.at(i)[j], b.std.value.at(i)[j]);
            let variance = (std * std / (std_there * std_there) - 1.0).abs();
            let shift = (mean - mean_there).abs() / std_there;
            let (variance_bound, mean_bound) = compressed.compression_errors(j);
            assert!(
                variance <= variance_bound,
                "output {j}, point {i}: σ² off by {variance:e} > {variance_bound:e}"
            );
            assert!(shift <= mean_bound, "output {j}, point {i}: μ off by {shift:e} σ > {mean_bound:e} σ");
            worst = (worst.0.max(variance), worst.1.max(shift));
        }
    }
    worst
}

#[test]
fn compressed_predictions_are_exact_within_the_stated_bounds() {
    for (settings, noise) in [
        (Settings::default(), 0.02),
        (Settings::default(), 0.2),
        (with_kernel(Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear))), 0.05),
        (Settings::reference(), 0.05),
    ] {
        let exact = learned(noise, settings);
        let compressed = exact.compressed().unwrap();
        let worst = assert_within_bounds(&exact, &compressed, &places());
        let n = exact.distinct_inputs();
        for j in 0..4 {
            let (std, mean) = compressed.compression_errors(j);
            assert!(std <= 1.1e-2 && mean <= 1e-2, "bounds of output {j}: {std:e}, {mean:e}");
            assert!(compressed.basis_points(j) <= n);
        }
        let fewest = (0..4).map(|j| compressed.basis_points(j)).min().unwrap();
        assert!(2 * fewest < n, "{fewest} points for {n} data");
        assert!(worst.0 > 0.0 && worst.1 > 0.0, "nothing was compressed");
    }
}

#[test]
fn a_compressed_model_keeps_the_contract_of_models_and_has_the_same_data() {
    let exact = learned(0.05, Settings::default());
    let compressed = exact.compressed().unwrap();
    check::statistical_model(&compressed, Points::new(&places()[..200], 5), &mut Stream::root(1).rng())
        .unwrap();
    assert_eq!(compressed.information_gain(), exact.information_gain());
    // New data make it exact again.
    let mut more = Measurements::new(DIMS);
    more.push(0.0, &[0.1, 0.2, 0.3, 0.4], &[0.5], &[0.0; 4], &[0.05; 4]).unwrap();
    let (mut a, mut b) = (exact.clone(), compressed.clone());
    a.update(&more).unwrap();
    b.update(&more).unwrap();
    assert_same("after an update", &a, &b, &places()[..50], 0.0);
    assert_eq!(b.compression_errors(0), (0.0, 0.0));
}

#[test]
fn samples_of_a_compressed_model_are_those_of_the_exact_one() {
    let exact = learned(0.05, Settings::default());
    let (compressed, points) = (exact.compressed().unwrap(), places());
    let at = ask(&exact, &points);
    for (a, b) in sampled(&exact, &points, 3).iter().zip(sampled(&compressed, &points, 3)) {
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let std = at.std.value.as_slice()[i];
            assert!((a - b).abs() <= 0.05 * std, "number {i}: {a} and {b}, σ = {std}");
        }
    }
}

#[test]
fn averages_are_compressed_too_and_correlated_noise_is_not() {
    let averages = |correlation: &[f64]| {
        let (mut rng, mut data) = (Stream::root(24).rng(), Measurements::new(PLANE));
        for i in 0..120 {
            let start = rng.uniform(-2.0, 1.5);
            let nodes: Vec<f64> = (0..3).flat_map(|q| [start + 0.2 * f64::from(q), 0.3 * start]).collect();
            let y = (0..3).map(|q| [0.25, 0.5, 0.25][q] * wavy(nodes[2 * q], nodes[2 * q + 1])).sum::<f64>();
            let correlation = if i == 0 { &[] } else { correlation };
            let average = Average { nodes: Points::new(&nodes, 2), weights: &[0.25, 0.5, 0.25], correlation };
            data.push_average(f64::from(i), average, &[y + 0.05 * rng.normal()], &[0.05]).unwrap();
        }
        let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
        model.update(&data).unwrap();
        model.train(Stream::root(0)).unwrap();
        model
    };
    let exact = averages(&[]);
    let points: Vec<f64> = scattered(100, 5).iter().flat_map(|&(x, u)| [2.0 * x, u]).collect();
    let compressed = exact.compressed().unwrap();
    assert_within_bounds(&exact, &compressed, &points);
    assert!(compressed.basis_points(0) < 60, "{} points", compressed.basis_points(0));
    assert!(averages(&[-0.4]).compressed().is_none());
}

#[test]
fn few_and_dissimilar_data_are_not_compressed() {
    let mut few = cart_pole(Settings::default());
    few.update(&measurements(40, |_, _| 0.05)).unwrap();
    assert!(few.compressed().is_none());
    // Short lengthscales: every point counts.
    let mut rough = cart_pole(Settings::default());
    rough.update(&measurements(100, |_, _| 0.05)).unwrap();
    let count = rough.parameters().len();
    let hyper = vec![Hyperparameters { kernel: vec![-2.0; count], noise: 0.0 }; 4];
    rough.set_hyperparameters(&hyper).unwrap();
    assert!(rough.compressed().is_none());
    // Without noise no compression keeps the bounds.
    let mut noiseless = cart_pole(Settings::default());
    noiseless.update(&measurements(100, |_, _| 0.0)).unwrap();
    assert!(noiseless.compressed().is_none());
}
