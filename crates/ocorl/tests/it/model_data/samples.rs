//! Function samples.

use super::*;

/// Mean and covariance of draws are those of the posterior, within five standard errors. Each draw has its own random features, so their
/// error averages out with that of the draws.
fn assert_draws_follow(what: &str, model: &GaussianProcess, points: &[f64]) {
    const DRAWS: usize = 400;
    let draws = sampled(model, points, DRAWS);
    let (at, blocks, outputs) = (ask(model, points), covariance(model, points), model.dims().state);
    let count = points.len() / model.dims().point();
    let n = DRAWS as f64;
    let (mut worst_mean, mut worst_covariance): (f64, f64) = (0.0, 0.0);
    for j in 0..outputs {
        let c = blocks.at(j);
        let mean = |a: usize| at.mean.value.at(a)[j];
        for a in 0..count {
            let average = draws.iter().map(|d| d[a * outputs + j]).sum::<f64>() / n;
            let error = (c[a * count + a] / n).sqrt();
            worst_mean = worst_mean.max((average - mean(a)).abs() / error);
            for b in 0..=a {
                let product = |d: &Vec<f64>| (d[a * outputs + j] - mean(a)) * (d[b * outputs + j] - mean(b));
                let found = draws.iter().map(product).sum::<f64>() / n;
                let (aa, bb, ab) = (c[a * count + a], c[b * count + b], c[a * count + b]);
                let error = ((aa * bb + ab * ab) / n).sqrt();
                worst_covariance = worst_covariance.max((found - ab).abs() / error);
            }
        }
    }
    assert!(worst_mean < 5.0, "{what}: the mean of draws is {worst_mean} standard errors off");
    assert!(worst_covariance < 5.0, "{what}: their covariance is {worst_covariance} standard errors off");
}

fn kernels() -> [(&'static str, Arc<dyn Kernel>); 5] {
    [
        ("rbf", Arc::new(Rbf)),
        ("matern52", Arc::new(Matern52)),
        ("scale(periodic)", Arc::new(Scale(Box::new(Periodic)))),
        ("sum(scale(rbf), linear)", Arc::new(Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear)))),
        ("product(rbf, linear)", Arc::new(Product(Box::new(Rbf), Box::new(Linear)))),
    ]
}

/// A model of few data, so that much is left to draw.
fn uncertain(kernel: Arc<dyn Kernel>, features: usize) -> GaussianProcess {
    let mut model =
        GaussianProcess::new(PLANE, &[], Settings { kernel, features, ..Settings::default() }).unwrap();
    let count = model.parameters().len();
    let own = (0..count).map(|p| 0.6 + 0.4 * (p as f64).cos()).collect();
    model.set_hyperparameters(&[Hyperparameters { kernel: own, noise: 0.0 }]).unwrap();
    model.update(&plane(&scattered(8, 6), wavy, 0.2)).unwrap();
    model
}

const PLACES: [f64; 10] = [0.3, 0.1, 1.5, -0.8, -2.5, 0.9, 0.5, 0.2, 3.0, 2.0];

#[test]
fn functions_drawn_have_the_posteriors_mean_and_covariance() {
    for (name, kernel) in kernels() {
        assert_draws_follow(name, &uncertain(kernel, 500), &PLACES);
    }
}

#[test]
fn functions_drawn_through_inducing_points_have_their_mean_and_covariance() {
    for (name, kernel) in kernels() {
        let settings =
            Settings { kernel, features: 500, exact_limit: 20, inducing_points: 6, ..Settings::default() };
        let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
        let count = model.parameters().len();
        let own = (0..count).map(|p| 0.6 + 0.4 * (p as f64).cos()).collect();
        model.set_hyperparameters(&[Hyperparameters { kernel: own, noise: 0.0 }]).unwrap();
        model.update(&plane(&scattered(30, 6), wavy, 0.5)).unwrap();
        assert!(matches!(model.notes()[..], [Note::Inducing { of: 30, .. }]), "{:?}", model.notes());
        assert_draws_follow(&format!("inducing {name}"), &model, &PLACES);
    }
}

#[test]
fn a_function_drawn_is_one_function_with_its_jacobian() {
    for (name, kernel) in kernels() {
        let model = uncertain(kernel, 200);
        let mut rng = Stream::root(5).rng();
        for _ in 0..5 {
            let mut f = model.sample(&mut rng);
            if let Err(violation) = check::dynamics(f.as_mut(), 1.5, &mut Stream::root(6).rng()) {
                panic!("{name}: {violation}");
            }
        }
        // Equal generators give equal functions, the next of the same generator another one.
        let [a, b] = [(); 2].map(|()| sampled(&model, &PLACES, 2));
        assert_eq!(a, b);
        assert_ne!(a[0], a[1]);
    }
}

#[test]
fn functions_drawn_with_angles_and_through_inducing_points_keep_the_contract_of_dynamics() {
    let (exact, inducing) = both(200, 60);
    for model in [exact, inducing] {
        let mut f = model.sample(&mut Stream::root(9).rng());
        check::dynamics(f.as_mut(), 1.0, &mut Stream::root(6).rng()).unwrap();
    }
}

#[test]
fn functions_drawn_pass_through_data_without_noise() {
    let data = plane(&scattered(12, 6), wavy, 0.0);
    for (name, kernel) in kernels() {
        let mut model = GaussianProcess::new(PLANE, &[], Settings { kernel, ..Settings::default() }).unwrap();
        model.update(&data).unwrap();
        if model.notes().iter().any(|n| matches!(n, Note::Jitter { .. })) {
            // Twelve values are more than a product with few waves may hold.
            continue;
        }
        for draw in sampled(&model, data.points().as_slice(), 5) {
            let worst = difference(&draw, data.derivatives().as_slice());
            // Rounding times a condition number of 1e8.
            assert!(worst < 1e-6, "{name}: a draw misses a datum by {worst:e}");
        }
    }
}
