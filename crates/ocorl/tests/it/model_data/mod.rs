//! How the Gaussian process handles data: what grows and shrinks against what is made anew, closed forms against both.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod averages;
mod compressed;
mod degenerate;
mod growing;
mod inducing;
mod known;
mod prior_means;
mod samples;
mod training;

use crate::common::cart_pole_data::{DIMS, measurements, rows, spreads, test_points};
use ocorl::check;
use ocorl::linalg::{Blocks, Dims, Linearization, Points};
use ocorl::measurements::Measurements;
use ocorl::model::kernels::{Kernel, Linear, Matern52, Periodic, Product, Rbf, Scale, Sum};
use ocorl::model::{
    Coordinate, GaussianProcess, Hyperparameters, Lengthscales, Mean, ModelError, Noise, Note, Part, Physics,
    Posterior, Query, Settings, StatisticalModel, Status, TrainingSettings,
};
use ocorl::random::{Rng, Stream};
use ocorl::system::{Benchmark, Dynamics};
use std::sync::Arc;

const PLANE: Dims = Dims { state: 1, control: 1 };

fn with_kernel(kernel: impl Kernel + 'static) -> Settings {
    Settings { kernel: Arc::new(kernel), ..Settings::default() }
}

/// A model of the cart pole whose angle is one, without data.
fn cart_pole(settings: Settings) -> GaussianProcess {
    GaussianProcess::new(DIMS, &[0], settings).unwrap()
}

/// Kernel parameters that differ between outputs and coordinates: variances above one, lengthscales around two.
fn uneven(model: &GaussianProcess) -> Vec<Hyperparameters> {
    let count = model.parameters().len();
    let own = |j: usize| (0..count).map(|p| 0.5 + 0.3 * ((3 * p + j) as f64).sin()).collect();
    (0..model.dims().state).map(|j| Hyperparameters { kernel: own(j), noise: 0.0 }).collect()
}

fn hyper(model: &GaussianProcess) -> Vec<Hyperparameters> {
    (0..model.dims().state).map(|j| model.hyperparameters(j).clone()).collect()
}

/// The same model, conditioned on its data from scratch.
fn anew(model: &GaussianProcess) -> GaussianProcess {
    let mut fresh = model.clone();
    fresh.set_hyperparameters(&hyper(model)).unwrap();
    fresh
}

fn ask(model: &GaussianProcess, points: &[f64]) -> Posterior {
    let mut at = Posterior::default();
    model.posterior(Points::new(points, model.dims().point()), Query::All, &mut at);
    at
}

fn covariance(model: &GaussianProcess, points: &[f64]) -> Blocks {
    let mut out = Blocks::default();
    model.covariance(Points::new(points, model.dims().point()), &mut out);
    out
}

/// The largest difference, in units of the largest entry.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(b.abs()));
    // A NaN must not vanish in a maximum.
    found.iter().zip(expected).fold(0.0, |worst: f64, (a, b)| {
        let one = (a - b).abs() / size;
        if one <= worst { worst } else { one }
    })
}

/// Means, standard deviations, their Jacobians and covariances of two models agree.
fn assert_same(what: &str, a: &GaussianProcess, b: &GaussianProcess, points: &[f64], tolerance: f64) {
    let (left, right) = (ask(a, points), ask(b, points));
    let (c, d) = (covariance(a, points), covariance(b, points));
    let pairs = [
        ("mean", &left.mean.value, &right.mean.value),
        ("std", &left.std.value, &right.std.value),
        ("mean Jacobian", &left.mean.jacobian, &right.mean.jacobian),
        ("std Jacobian", &left.std.jacobian, &right.std.jacobian),
        ("covariance", &c, &d),
    ];
    for (part, x, y) in pairs {
        let worst = difference(x.as_slice(), y.as_slice());
        assert!(worst <= tolerance, "{what}: the {part} differs by {worst:e} of its largest entry");
    }
}

/// A function of (x, u) with one output, measured at `points` with noise of standard deviation `noise` stated and none in truth.
fn plane(points: &[(f64, f64)], f: impl Fn(f64, f64) -> f64, noise: f64) -> Measurements {
    let mut data = Measurements::new(PLANE);
    for (i, &(x, u)) in points.iter().enumerate() {
        data.push(i as f64, &[x], &[u], &[f(x, u)], &[noise]).unwrap();
    }
    data
}

fn scattered(n: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut rng = Stream::root(seed).rng();
    (0..n).map(|_| (rng.uniform(-2.0, 2.0), rng.uniform(-1.0, 1.0))).collect()
}

fn wavy(x: f64, u: f64) -> f64 {
    (1.3 * x).sin() + 0.5 * u * x
}

fn permutation(n: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.below(i + 1));
    }
    order
}

/// Two ways to the same factor, condition numbers below 1e5.
const SAME_FACTOR: f64 = 1e-10;

/// The exact model and one through inducing points, with the same hyper-parameters.
fn both(n: usize, inducing_points: usize) -> (GaussianProcess, GaussianProcess) {
    let data = measurements(n, |_, _| 0.05);
    let few = Settings { exact_limit: 150, inducing_points, ..Settings::default() };
    let (mut exact, mut inducing) = (cart_pole(Settings::default()), cart_pole(few));
    exact.update(&data).unwrap();
    let kernel = vec![1.0, 0.4, 0.4, 1.0, 2.0, 2.0, 1.2];
    let parameters = vec![Hyperparameters { kernel, noise: 0.0 }; 4];
    exact.set_hyperparameters(&parameters).unwrap();
    inducing.set_hyperparameters(&parameters).unwrap();
    inducing.update(&data).unwrap();
    (exact, inducing)
}

/// Values of `draws` functions at the points: one row for each draw.
fn sampled(model: &GaussianProcess, points: &[f64], draws: usize) -> Vec<Vec<f64>> {
    let outputs = model.dims().state;
    (0..draws)
        .map(|i| {
            let mut f = model.sample(&mut Stream::root(77).index(i).rng());
            let mut out = vec![0.0; outputs * points.len() / model.dims().point()];
            f.derivative(Points::new(points, model.dims().point()), &mut out);
            out
        })
        .collect()
}

fn assert_finite(what: &str, model: &GaussianProcess, points: &[f64]) {
    let at = ask(model, points);
    let parts = [&at.mean.value, &at.mean.jacobian, &at.std.value, &at.std.jacobian];
    for part in parts.into_iter().chain([&covariance(model, points)]) {
        assert!(part.as_slice().iter().all(|v| v.is_finite()), "{what}: {part:?}");
    }
}
