//! The Gaussian process against numbers of independent programs (`studies/gaussian_process`).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common::cart_pole_data::{self, DIMS, measurements, rows, test_points};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::kernels::{
    Constant, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Scale, Sum,
};
use ocorl::model::{GaussianProcess, Hyperparameters, Noise, Posterior, Query, Settings, StatisticalModel};
use toml::Value;

const N: usize = 60;
const TESTS: usize = 12;

/// Rel. error of each array, in units of its largest magnitude: asked for is 1e-9, reached is better than 1e-11, for condition numbers
/// below 1e5.
const TOLERANCE: f64 = 1e-11;

fn golden() -> toml::Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/gaussian_process.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// All numbers of a nested array, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(numbers).collect(),
        Value::Integer(i) => vec![*i as f64],
        other => vec![other.as_float().unwrap()],
    }
}

/// Reads e.g. `sum(scale(rbf), linear)`; returns the kernel and what follows it.
fn kernel(text: &str) -> (Box<dyn Kernel>, &str) {
    let end = text.find(['(', ',', ')']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let one = |rest: &str| -> (Box<dyn Kernel>, usize) {
        let (k, left) = kernel(&rest[1..]);
        (k, left.len())
    };
    let tail = |left: usize| &text[text.len() - left..];
    match name.trim() {
        "rbf" => (Box::new(Rbf), rest),
        "matern32" => (Box::new(Matern32), rest),
        "matern52" => (Box::new(Matern52), rest),
        "linear" => (Box::new(Linear), rest),
        "constant" => (Box::new(Constant), rest),
        "periodic" => (Box::new(Periodic), rest),
        "scale" => {
            let (k, left) = one(rest);
            (Box::new(Scale(k)), &tail(left)[1..])
        }
        "sum" | "product" => {
            let (a, left) = one(rest);
            let (b, left) = one(tail(left));
            let both: Box<dyn Kernel> =
                if name.trim() == "sum" { Box::new(Sum(a, b)) } else { Box::new(Product(a, b)) };
            (both, &tail(left)[1..])
        }
        other => panic!("unknown kernel {other}"),
    }
}

fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= TOLERANCE * size, "{what}[{i}] is {a}, expected {b} (size {size})");
    }
}

fn model(case: &toml::Table) -> GaussianProcess {
    let text = case["kernel"].as_str().unwrap();
    let settings = if text == "reference" {
        Settings { scale_offset: 0.0, ..Settings::reference() }
    } else {
        Settings { kernel: kernel(text).0.into(), noise: Noise::Learned, ..Settings::default() }
    };
    // The only angle of the cart pole is its first state.
    let angles: &[usize] = if numbers(&case["angles"]).is_empty() { &[] } else { &[0] };
    let mut model = GaussianProcess::new(DIMS, angles, settings).unwrap();
    let heteroscedastic = case["noise"].as_str() == Some("heteroscedastic");
    let noise = |i: usize, _| if heteroscedastic { 0.02 * (1 + i % 5) as f64 } else { 0.05 };
    model.update(&measurements(N, noise)).unwrap();
    let factors = numbers(&case["log_noise_factor"]);
    let parameters = case["parameters"].as_array().unwrap();
    let hyper: Vec<Hyperparameters> = parameters
        .iter()
        .zip(factors)
        .map(|(p, noise)| Hyperparameters { kernel: numbers(p), noise })
        .collect();
    model.set_hyperparameters(&hyper).unwrap();
    model
}

/// Output j of all blocks.
fn of_output(blocks: &Blocks, j: usize) -> Vec<f64> {
    let size = blocks.size() / DIMS.state;
    blocks.iter().flat_map(|b| b[j * size..(j + 1) * size].to_vec()).collect()
}

#[test]
fn the_data_are_those_of_the_other_programs() {
    let golden = golden();
    for (key, row) in [("data_first_row", 0), ("data_test_row", cart_pole_data::FIRST_TEST)] {
        let (z, y) = &rows()[row];
        let found: Vec<f64> = z.iter().chain(y).copied().collect();
        for (a, b) in found.iter().zip(numbers(&golden[key])) {
            assert!((a - b).abs() < 1e-14, "{key}: {a} and {b}");
        }
    }
}

#[test]
fn posterior_likelihood_and_leave_one_out_agree_with_independent_programs() {
    let golden = golden();
    let cases = golden["case"].as_array().unwrap();
    assert_eq!(cases.len(), 11);
    for case in cases {
        let case = case.as_table().unwrap();
        let name = case["name"].as_str().unwrap();
        let (model, points, mut at) = (model(case), test_points(TESTS), Posterior::default());
        model.posterior(Points::new(&points, 5), Query::All, &mut at);
        for j in 0..DIMS.state {
            let check = |what: &str, found: &[f64]| {
                assert_close(&format!("{name}, output {j}: {what}"), found, &numbers(&case[what][j]));
            };
            check("mean", &of_output(&at.mean.value, j));
            check("std", &of_output(&at.std.value, j));
            check("mean_jacobian", &of_output(&at.mean.jacobian, j));
            check("std_jacobian", &of_output(&at.std.jacobian, j));
            let (value, gradient) = model.log_likelihood(j).unwrap();
            check("log_likelihood", &[value]);
            check("gradient", &gradient);
            let left_out = model.leave_one_out(j);
            check("loo_mean", &left_out.iter().map(|l| l.mean).collect::<Vec<_>>());
            check("loo_std", &left_out.iter().map(|l| l.std.hypot(l.noise_std)).collect::<Vec<_>>());
            if case.contains_key("covariance") {
                let mut covariance = Blocks::default();
                model.covariance(Points::new(&points, 5), &mut covariance);
                check("covariance", covariance.at(j));
            }
        }
    }
}

#[test]
fn every_query_gives_the_same_numbers() {
    let golden = golden();
    let model = model(golden["case"][1].as_table().unwrap());
    let points = test_points(TESTS);
    let ask = |query| {
        let mut at = Posterior::default();
        model.posterior(Points::new(&points, 5), query, &mut at);
        at
    };
    let (all, mean, both, std) =
        (ask(Query::All), ask(Query::Mean), ask(Query::MeanJacobian), ask(Query::MeanStd));
    for part in [&mean, &both, &std] {
        assert_eq!(part.mean.value, all.mean.value);
    }
    assert_eq!(both.mean.jacobian, all.mean.jacobian);
    assert_eq!(std.std.value, all.std.value);
    assert!(mean.std.value.is_empty() && mean.mean.jacobian.is_empty() && std.std.jacobian.is_empty());
}
