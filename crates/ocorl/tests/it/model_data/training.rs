//! Training.

use super::*;

fn trained(settings: Settings, data: &Measurements) -> (GaussianProcess, ocorl::model::TrainingReport) {
    let mut model = GaussianProcess::new(data.dims(), &[], settings).unwrap();
    model.update(data).unwrap();
    let report = model.train(Stream::root(21)).unwrap();
    (model, report)
}

/// Ends only where the gradient says so.
fn patient(priors: bool) -> TrainingSettings {
    TrainingSettings {
        max_evaluations: 1000,
        gradient_tolerance: 1e-6,
        gain_tolerance: 0.0,
        priors,
        ..TrainingSettings::default()
    }
}

/// ln p(θ) up to a constant and its gradient.
fn log_prior(model: &GaussianProcess, j: usize) -> (f64, Vec<f64>) {
    let kernel = &hyper(model)[j].kernel;
    let each = model
        .parameters()
        .into_iter()
        .zip(kernel)
        .map(|((p, _), v)| ((v - p.prior.0) / p.prior.1, p.prior.1));
    let each: Vec<(f64, f64)> = each.collect();
    (each.iter().map(|(t, _)| -0.5 * t * t).sum(), each.iter().map(|(t, s)| -t / s).collect())
}

#[test]
fn training_ends_higher_than_it_began_where_the_gradient_vanishes() {
    let data = measurements(80, |_, _| 0.05);
    for priors in [true, false] {
        for kernel in [Arc::new(Scale(Box::new(Rbf))) as Arc<dyn Kernel>, Arc::new(Scale(Box::new(Matern52)))]
        {
            let settings = Settings { kernel, training: patient(priors), ..Settings::default() };
            let mut start = GaussianProcess::new(DIMS, &[], settings.clone()).unwrap();
            start.update(&data).unwrap();
            let (model, report) = trained(settings, &data);
            for (j, fit) in report.fits.iter().enumerate() {
                let objective = |m: &GaussianProcess| {
                    m.log_likelihood(j).unwrap().0 + if priors { log_prior(m, j).0 } else { 0.0 }
                };
                assert!(objective(&model) >= objective(&start), "output {j}");
                let (value, mut gradient) = model.log_likelihood(j).unwrap();
                assert!((fit.log_likelihood - value).abs() < 1e-9 * value.abs(), "{fit:?}, {value}");
                if priors {
                    gradient.iter_mut().zip(log_prior(&model, j).1).for_each(|(g, p)| *g += p);
                }
                for (p, (parameter, _)) in model.parameters().iter().enumerate() {
                    let at = model.hyperparameters(j).kernel[p];
                    let stuck = (at - parameter.bounds.0 < 1e-6 && gradient[p] < 0.0)
                        || (parameter.bounds.1 - at < 1e-6 && gradient[p] > 0.0);
                    assert_eq!(
                        stuck,
                        fit.at_bounds.contains(&p),
                        "output {j}, parameter {p}: {fit:?}, {gradient:?}"
                    );
                    // In nats for each measurement. Where rounding ends the search earlier, it stalls near that.
                    let slope = if stuck { 0.0 } else { gradient[p].abs() / 80.0 };
                    assert!(slope < 1e-5, "output {j}, parameter {p}: slope {slope:e}, {fit:?}");
                }
            }
        }
    }
}

#[test]
fn training_begins_where_it_ended_last_time() {
    let data = measurements(80, |_, _| 0.05);
    let (good, _) = trained(Settings::default(), &data);
    let hasty = TrainingSettings { restarts: 0, max_evaluations: 2, ..TrainingSettings::default() };
    let settings = Settings { training: hasty, ..Settings::default() };
    let (from_scratch, _) = trained(settings.clone(), &data);
    let mut warm = GaussianProcess::new(DIMS, &[], settings).unwrap();
    warm.update(&data).unwrap();
    warm.set_hyperparameters(&hyper(&good)).unwrap();
    warm.train(Stream::root(0)).unwrap();
    for j in 0..4 {
        let value = |m: &GaussianProcess| m.log_likelihood(j).unwrap().0 + log_prior(m, j).0;
        assert!(value(&warm) >= value(&good) - 1e-9, "output {j}: {} and {}", value(&warm), value(&good));
        assert!(
            value(&from_scratch) < value(&good) - 1.0,
            "two evaluations from scratch are as good: no test"
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let data = measurements(260, |_, _| 0.05);
    let run = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let training =
                TrainingSettings { max_evaluations: 15, first_part: 60, ..TrainingSettings::default() };
            let mut model = cart_pole(Settings { training, ..Settings::default() });
            model.update(&data.slice(0..200)).unwrap();
            let report = model.train(Stream::root(4)).unwrap();
            model.update(&data.slice(200..260)).unwrap();
            let at = ask(&model, &test_points(20));
            let draw = sampled(&model, &test_points(3), 1);
            (report, hyper(&model), at.mean.value, at.mean.jacobian, at.std.value, at.std.jacobian, draw)
        })
    };
    let one = run(1);
    for threads in [2, 4] {
        assert!(one == run(threads), "{threads} threads give other numbers than one");
    }
}

#[test]
fn shared_lengthscales_are_the_same_for_all_outputs() {
    let settings =
        Settings { lengthscales: Lengthscales::Shared, noise: Noise::Learned, ..Settings::default() };
    let (model, report) = trained(settings, &measurements(60, |_, _| 0.05));
    assert_eq!(report.fits.len(), 1);
    for j in 1..4 {
        assert_eq!(model.hyperparameters(j).kernel, model.hyperparameters(0).kernel);
        assert_ne!(model.hyperparameters(j).noise, model.hyperparameters(0).noise);
    }
    let total: f64 = (0..4).map(|j| model.log_likelihood(j).unwrap().0).sum();
    assert!((report.fits[0].log_likelihood / total - 1.0).abs() < 1e-9);
    let (own, report) = trained(Settings::default(), &measurements(60, |_, _| 0.05));
    assert_eq!(report.fits.len(), 4);
    assert_ne!(own.hyperparameters(1).kernel, own.hyperparameters(0).kernel);
}

#[test]
fn noise_stated_three_times_too_small_is_found_out() {
    for copies in [1, 3] {
        let (mut data, mut rng) = (Measurements::new(PLANE), Stream::root(13).rng());
        for (x, u) in scattered(120 / copies, 3) {
            for _ in 0..copies {
                let y = wavy(x, u) + 0.15 * rng.normal();
                data.push(0.0, &[x], &[u], &[y], &[0.05]).unwrap();
            }
        }
        let (model, _) = trained(Settings { noise: Noise::Learned, ..Settings::default() }, &data);
        let factor = (0.5 * model.hyperparameters(0).noise).exp();
        // The standard error of a standard deviation from 120 values is 6 %; 30 % are five of them.
        assert!((factor / 3.0 - 1.0).abs() < 0.3, "{copies} copies: the factor on the noise is {factor}");
    }
}

#[test]
fn one_evaluation_is_enough_for_a_usable_model() {
    let training = TrainingSettings { max_evaluations: 1, ..TrainingSettings::default() };
    let (model, report) =
        trained(Settings { training, ..Settings::default() }, &measurements(60, |_, _| 0.05));
    for fit in &report.fits {
        assert_eq!(fit.status, Status::Budget);
        assert!(fit.log_likelihood.is_finite());
        // Two starts and two draws, one evaluation each.
        assert_eq!(fit.evaluations, 4);
    }
    assert_finite("one evaluation", &model, &test_points(5));
}

#[test]
fn a_lengthscale_without_influence_is_reported_at_its_bound() {
    let mut data = Measurements::new(PLANE);
    for (i, (x, u)) in scattered(40, 12).into_iter().enumerate() {
        data.push(i as f64, &[x], &[u], &[(1.3 * x).sin()], &[0.01]).unwrap();
    }
    let (model, report) = trained(Settings { training: patient(false), ..Settings::default() }, &data);
    assert_eq!(report.fits[0].at_bounds, [2], "{report:?}, {:?}", model.hyperparameters(0));
    let (parameter, coordinate) = &model.parameters()[2];
    assert_eq!(
        (parameter.name, *coordinate),
        ("lengthscale", Some(Coordinate { index: 1, part: Part::Whole }))
    );
    assert!((model.hyperparameters(0).kernel[2] - parameter.bounds.1).abs() < 1e-6);
    // With priors it stays inside.
    let (_, report) = trained(Settings { training: patient(true), ..Settings::default() }, &data);
    assert!(report.fits[0].at_bounds.is_empty(), "{report:?}");
}
