//! Bad input gives an error that says what to do and changes nothing; no input at all makes the model panic.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod trials;

use ocorl::linalg::{Blocks, Dims, Linearization, Points};
use ocorl::measurements::{MeasurementError, Measurements};
use ocorl::model::kernels::{
    Constant, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Reference, Scale, Sum,
};
use ocorl::model::{
    Confidence, GaussianProcess, Hyperparameters, Lengthscales, Mean, ModelError, Noise, Physics, Posterior,
    Query, Settings, StatisticalModel, TrainingSettings, calibration_curve,
};
use ocorl::random::{Rng, Stream};
use ocorl::system::{Benchmark, Dynamics};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const PLANE: Dims = Dims { state: 1, control: 1 };

fn data() -> Measurements {
    let mut data = Measurements::new(PLANE);
    for i in 0..8 {
        let (x, u) = (0.3 * f64::from(i), (1.7 * f64::from(i)).sin());
        data.push(f64::from(i), &[x], &[u], &[x.sin() + u], &[0.1]).unwrap();
    }
    data
}

fn model(settings: Settings) -> GaussianProcess {
    let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
    model.update(&data()).unwrap();
    model
}

/// Bits of everything that can be asked of a model.
fn bits(model: &GaussianProcess) -> Vec<u64> {
    let points: Vec<f64> = (0..6 * model.dims().point()).map(|i| (i as f64).cos()).collect();
    let (mut at, mut covariance) = (Posterior::default(), Blocks::default());
    let z = Points::new(&points, model.dims().point());
    model.posterior(z, Query::All, &mut at);
    model.covariance(z, &mut covariance);
    let parts = [&at.mean.value, &at.mean.jacobian, &at.std.value, &at.std.jacobian, &covariance];
    let gains = [model.information_gain(), model.accumulated_information_gain().to_vec()].concat();
    let others = gains.iter().chain(model.confidence_scale());
    parts.iter().flat_map(|p| p.as_slice()).chain(others).map(|v| v.to_bits()).collect()
}

/// The call fails with this text, and the model is what it was.
fn refused(
    model: &mut GaussianProcess,
    call: impl FnOnce(&mut GaussianProcess) -> Result<(), ModelError>,
) -> String {
    let (before, count) = (bits(model), model.data().len());
    let error = call(model).unwrap_err();
    assert!(bits(model) == before && model.data().len() == count, "changed by a call that failed: {error}");
    error.to_string()
}

/// Physics of any size.
#[derive(Clone, Copy)]
struct Wild {
    dims: Dims,
    size: f64,
}

impl Dynamics for Wild {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dims.state).enumerate() {
            out.fill(self.size * z.at(i)[0]);
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(self.dims.state, z.dim(), z.len());
        self.derivative(z, out.value.as_mut_slice());
        out.jacobian.as_mut_slice().fill(0.0);
        for i in 0..z.len() {
            out.jacobian.at_mut(i).iter_mut().step_by(z.dim()).for_each(|o| *o = self.size);
        }
    }
}

fn fuzz_kernels() -> Vec<Arc<dyn Kernel>> {
    vec![
        Arc::new(Rbf),
        Arc::new(Reference),
        Arc::new(Matern32),
        Arc::new(Matern52),
        Arc::new(Linear),
        Arc::new(Constant),
        Arc::new(Periodic),
        Arc::new(Scale(Box::new(Rbf))),
        Arc::new(Scale(Box::new(Linear))),
        Arc::new(Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear))),
        Arc::new(Sum(Box::new(Constant), Box::new(Scale(Box::new(Periodic))))),
        Arc::new(Product(Box::new(Rbf), Box::new(Linear))),
        Arc::new(Product(Box::new(Linear), Box::new(Linear))),
    ]
}

#[test]
fn bad_measurements_are_refused_by_name() {
    let mut bad = data();
    let text = |r: Result<(), MeasurementError>| r.unwrap_err().to_string();
    assert_eq!(
        text(bad.push(0.5, &[f64::NAN], &[0.0], &[0.0], &[0.1])),
        "measurement 8 refused: state[0] is NaN at t = 0.5; every number must be finite"
    );
    assert_eq!(
        text(bad.push(0.5, &[0.0], &[f64::NEG_INFINITY], &[0.0], &[0.1])),
        "measurement 8 refused: control[0] is -inf at t = 0.5; every number must be finite"
    );
    assert_eq!(
        text(bad.push(0.5, &[0.0], &[0.0], &[f64::INFINITY], &[0.1])),
        "measurement 8 refused: derivative[0] is inf at t = 0.5; every number must be finite"
    );
    assert_eq!(
        text(bad.push(0.5, &[0.0], &[0.0], &[0.0], &[f64::NAN])),
        "measurement 8 refused: noise[0] is NaN at t = 0.5; every number must be finite"
    );
    assert_eq!(
        text(bad.push(0.5, &[0.0], &[0.0], &[0.0], &[-1.0])),
        "measurement 8 refused: the noise of derivative 0 is -1; a standard deviation must be zero or positive"
    );
    assert_eq!(
        text(bad.push(0.5, &[0.0, 1.0], &[0.0], &[0.0], &[0.1])),
        "measurement 8 refused: its state has 2 entries, the system has 1"
    );
    assert_eq!(bad, data());
}

#[test]
fn measurements_of_another_system_are_refused() {
    let mut model = model(Settings::default());
    let mut other = Measurements::new(Dims { state: 2, control: 1 });
    // Even when there are none.
    for _ in 0..2 {
        assert_eq!(
            refused(&mut model, |m| m.update(&other)),
            "measurements of 2 states and 1 controls cannot be added to data of 1 states and 1 controls"
        );
        other.push(0.0, &[0.0; 2], &[0.0], &[0.0; 2], &[0.1; 2]).unwrap();
    }
}

#[test]
fn without_data_there_is_a_prior_and_nothing_to_train_on() {
    let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
    assert_eq!(
        refused(&mut model, |m| m.train(Stream::root(0)).map(|_| ())),
        "the model has no measurements; add measurements before training"
    );
    let before = bits(&model);
    model.update(&Measurements::new(PLANE)).unwrap();
    model.forget(&[]).unwrap();
    model.forget(&[0, 17]).unwrap();
    model.keep_latest(3).unwrap();
    model.downweight(&[0], 2.0).unwrap();
    assert!(bits(&model) == before);
    let mut at = Posterior::default();
    model.posterior(Points::new(&[3.0, -1.0, 1e6, 0.0], 2), Query::All, &mut at);
    assert_eq!(at.mean.value.as_slice(), [0.0, 0.0]);
    assert_eq!(at.std.value.as_slice(), [1.0, 1.0]);
    assert!(at.mean.jacobian.as_slice().iter().chain(at.std.jacobian.as_slice()).all(|v| *v == 0.0));
    assert_eq!(model.information_gain(), [0.0]);
    assert!(model.leave_one_out(0).is_empty() && model.notes().is_empty());
    let mut out = [f64::NAN];
    model.sample(&mut Stream::root(0).rng()).derivative(Points::single(&[0.3, 0.4]), &mut out);
    assert!(out[0].is_finite());
    // Nor is a batch of no points a problem.
    model.posterior(Points::new(&[], 2), Query::All, &mut at);
    assert!(at.mean.value.is_empty());
    let mut covariance = Blocks::default();
    model.covariance(Points::new(&[], 2), &mut covariance);
    assert!(covariance.is_empty());
}

#[test]
fn numbers_that_are_not_there_are_no_measurements_to_forget() {
    let mut model = model(Settings::default());
    let before = bits(&model);
    model.forget(&[8, 100, usize::MAX]).unwrap();
    model.downweight(&[8, usize::MAX], 3.0).unwrap();
    model.downweight(&[0, 1], 1.0).unwrap();
    model.update(&Measurements::new(PLANE)).unwrap();
    assert!(bits(&model) == before);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let training = TrainingSettings::default;
    let with = |training| Settings { training, ..Settings::default() };
    let confident = |confidence| Settings { confidence, ..Settings::default() };
    let one = "it must be at least 1";
    let positive = "it must be zero or positive, and finite";
    let fraction = "it must lie between 0 and 1";
    let cases = [
        (Settings { exact_limit: 0, ..Settings::default() }, "exact_limit is 0", one),
        (Settings { inducing_points: 0, ..Settings::default() }, "inducing_points is 0", one),
        (Settings { features: 0, ..Settings::default() }, "features is 0", one),
        (with(TrainingSettings { max_evaluations: 0, ..training() }), "training.max_evaluations is 0", one),
        (with(TrainingSettings { first_part: 0, ..training() }), "training.first_part is 0", one),
        (Settings { scale_offset: -1e-9, ..Settings::default() }, "scale_offset is -0.000000001", positive),
        (Settings { scale_offset: f64::NAN, ..Settings::default() }, "scale_offset is NaN", positive),
        (
            with(TrainingSettings { gradient_tolerance: f64::INFINITY, ..training() }),
            "training.gradient_tolerance is inf",
            positive,
        ),
        (
            with(TrainingSettings { gain_tolerance: -1.0, ..training() }),
            "training.gain_tolerance is -1",
            positive,
        ),
        (confident(Confidence::Constant(-2.0)), "confidence is -2", positive),
        (confident(Confidence::Constant(f64::NAN)), "confidence is NaN", positive),
        (confident(Confidence::InformationGain { delta: 1.0, norm: 1.0 }), "confidence.delta is 1", fraction),
        (
            confident(Confidence::InformationGain { delta: 0.1, norm: -1.0 }),
            "confidence.norm is -1",
            positive,
        ),
        (confident(Confidence::Calibrated { level: 0.0 }), "confidence.level is 0", fraction),
    ];
    for (settings, what, need) in cases {
        let Err(error) = GaussianProcess::new(PLANE, &[], settings) else { panic!("{what} is accepted") };
        assert_eq!(error.to_string(), format!("invalid model setting: {what}; {need}"));
    }
    let Err(error) = GaussianProcess::new(PLANE, &[2], Settings::default()) else { panic!("accepted") };
    assert_eq!(
        error.to_string(),
        "invalid model setting: angle is 2; an angle must be the index of a coordinate of (x, u)"
    );
    let mean =
        Mean::Physics(Physics::new(|| Box::new(Wild { dims: Dims { state: 2, control: 0 }, size: 1.0 })));
    let Err(error) = GaussianProcess::new(PLANE, &[], Settings { mean, ..Settings::default() }) else {
        panic!("accepted")
    };
    assert_eq!(
        error.to_string(),
        "invalid model setting: prior mean is Dims { state: 2, control: 0 }; the physics must have the task's dimensions"
    );
}

#[test]
fn hyperparameters_that_do_not_fit_are_refused() {
    let mut model = model(Settings::default());
    let need =
        "one set for each output is required, with a logarithm between -100 and 100 for each parameter";
    let own = |kernel: &[f64], noise| Hyperparameters { kernel: kernel.to_vec(), noise };
    let cases = [
        (vec![], "for 0 outputs".to_string()),
        (vec![own(&[0.0; 3], 0.0); 2], "for 2 outputs".to_string()),
        (vec![own(&[0.0; 2], 0.0)], "Hyperparameters { kernel: [0.0, 0.0], noise: 0.0 }".to_string()),
        (
            vec![own(&[0.0, f64::NAN, 0.0], 0.0)],
            "Hyperparameters { kernel: [0.0, NaN, 0.0], noise: 0.0 }".to_string(),
        ),
        (
            vec![own(&[0.0; 3], f64::INFINITY)],
            "Hyperparameters { kernel: [0.0, 0.0, 0.0], noise: inf }".to_string(),
        ),
    ];
    for (hyper, value) in cases {
        assert_eq!(
            refused(&mut model, |m| m.set_hyperparameters(&hyper)),
            format!("invalid model setting: hyperparameters is {value}; {need}")
        );
    }
    for factor in [0.5, f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(
            refused(&mut model, |m| m.downweight(&[0], factor)),
            format!(
                "invalid model setting: down-weighting is {factor}; a factor on noise variances must be at least 1 and finite"
            )
        );
    }
}

#[test]
fn hyperparameters_far_outside_their_bounds_give_an_error_or_numbers() {
    let (mut taken, mut refused) = (0, 0);
    for size in [20.0, 300.0, 700.0, 1e3, 1e300] {
        for signs in 0..16_u32 {
            let sign = |bit: u32| if signs >> bit & 1 == 1 { size } else { -size };
            let hyper = Hyperparameters { kernel: vec![sign(0), sign(1), sign(2)], noise: sign(3) };
            for kernel in [
                Arc::new(Scale(Box::new(Rbf))) as Arc<dyn Kernel>,
                Arc::new(Scale(Box::new(Linear))),
                Arc::new(Sum(Box::new(Constant), Box::new(Rbf))),
                Arc::new(Product(Box::new(Constant), Box::new(Linear))),
            ] {
                let settings = Settings { kernel, ..Settings::default() };
                let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
                for _ in 0..2 {
                    let before = bits(&model);
                    match model.set_hyperparameters(std::slice::from_ref(&hyper)) {
                        Ok(()) => {
                            taken += 1;
                            let mut at = Posterior::default();
                            model.posterior(data().points(), Query::All, &mut at);
                            let (mean, std) = (at.mean.value.as_slice(), at.std.value.as_slice());
                            assert!(mean.iter().all(|v| v.is_finite()), "{hyper:?}: mean {mean:?}");
                            assert!(std.iter().all(|v| v.is_finite() && *v >= 0.0), "{hyper:?}: std {std:?}");
                        }
                        Err(error) => {
                            refused += 1;
                            assert!(error.to_string().contains("hyperparameter"), "{error}");
                            assert_eq!(bits(&model), before, "changed by what was refused: {error}");
                        }
                    }
                    model = self::model(model.settings().clone());
                }
            }
        }
    }
    assert!(taken > 0 && refused > 0, "{taken} taken, {refused} refused");
}

#[test]
fn no_noise_and_enormous_noise_are_both_fine() {
    for noise in [0.0, 1e-300, 1e-20, 1e20, 1e100, 1e150, 1e200, 1e300] {
        let mut noisy = Measurements::new(PLANE);
        for i in 0..8 {
            let z = data().points().at(i).to_vec();
            noisy.push(0.0, &z[..1], &z[1..], data().derivatives().at(i), &[noise]).unwrap();
        }
        let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
        model.update(&noisy).unwrap_or_else(|error| panic!("noise {noise:e}: {error}"));
        let mut at = Posterior::default();
        model.posterior(noisy.points(), Query::All, &mut at);
        for i in 0..8 {
            let (mean, std) = (at.mean.value.at(i)[0], at.std.value.at(i)[0]);
            if noise < 1.0 {
                assert!(
                    (mean - noisy.derivatives().at(i)[0]).abs() < 1e-6 && std < 1e-3,
                    "{noise:e}: {mean} ± {std}"
                );
            } else {
                let average = noisy.derivatives().as_slice().iter().sum::<f64>() / 8.0;
                assert!((mean - average).abs() < 1e-12 && std > 0.1, "{noise:e}: {mean} ± {std}");
            }
        }
    }
}

#[test]
fn queries_that_are_not_numbers_do_not_panic() {
    for kernel in fuzz_kernels() {
        let model = model(Settings { kernel, ..Settings::default() });
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE] {
            for point in [[bad, 0.0], [0.3, bad], [bad, bad]] {
                let (mut at, mut covariance) = (Posterior::default(), Blocks::default());
                model.posterior(Points::single(&point), Query::All, &mut at);
                model.covariance(Points::single(&point), &mut covariance);
                let mut out = [0.0];
                model.sample(&mut Stream::root(0).rng()).derivative(Points::single(&point), &mut out);
                // A number that is none is not turned into one.
                if bad.is_nan() {
                    assert!(
                        at.mean.value.at(0)[0].is_nan()
                            || format!("{:?}", model.settings().kernel) == "Constant"
                    );
                }
            }
        }
    }
}

/// Measurements (x, ẋ, noise) without controls.
fn line(rows: &[(f64, f64, f64)]) -> Measurements {
    let mut data = Measurements::new(LINE);
    for (x, y, noise) in rows {
        data.push(0.0, &[*x], &[], &[*y], &[*noise]).unwrap();
    }
    data
}

const LINE: Dims = Dims { state: 1, control: 0 };

fn on_line(settings: Settings, data: &Measurements) -> Result<GaussianProcess, ModelError> {
    let mut model = GaussianProcess::new(LINE, &[], settings)?;
    model.update(data)?;
    Ok(model)
}

fn at_place(model: &GaussianProcess, x: f64) -> [f64; 4] {
    let mut at = Posterior::default();
    model.posterior(Points::single(&[x]), Query::All, &mut at);
    [at.mean.value.at(0)[0], at.mean.jacobian.at(0)[0], at.std.value.at(0)[0], at.std.jacobian.at(0)[0]]
}

#[test]
fn one_measurement_without_noise_is_enough_for_slopes() {
    // Its standardised input is zero, where a line through zero is known already: the whole covariance matrix is zero.
    for kernel in [Arc::new(Linear) as Arc<dyn Kernel>, Arc::new(Product(Box::new(Rbf), Box::new(Linear)))] {
        let settings = Settings { kernel, ..Settings::default() };
        let model = on_line(settings, &line(&[(0.3, 100.0, 0.0)])).unwrap();
        // The slope of a σ that vanishes is zero, not ∞ · 0.
        assert_eq!(at_place(&model, 0.3), [100.0, 0.0, 0.0, 0.0]);
        assert!(at_place(&model, 2.3)[2] > 1.0);
    }
}

#[test]
fn a_measurement_that_says_nothing_does_not_drown_the_others() {
    // Two that almost coincide need jitter, which must not be a fraction of the enormous noise of the third.
    let rows = [(0.0, 1.0, 0.0), (1e-9, 1.0, 0.0), (1.0, -1.0, 0.0), (2.0, 5.0, 1e9)];
    let model = on_line(Settings::default(), &line(&rows)).unwrap();
    for (x, y, _) in &rows[..3] {
        let [mean, _, std, _] = at_place(&model, *x);
        assert!((mean - y).abs() < 1e-3 && std < 1e-2, "at {x}: {mean} ± {std}, measured without noise {y}");
    }
}

#[test]
fn an_output_that_hardly_varies_may_be_noisy() {
    let model =
        on_line(Settings::default(), &line(&[(0.0, 0.0, 0.01), (1.0, 1e-170, 0.01), (2.0, 0.0, 0.01)]));
    assert!(at_place(&model.unwrap(), 0.5).iter().all(|v| v.is_finite()));
}

#[test]
fn far_away_there_is_only_the_prior() {
    for kernel in [Arc::new(Rbf) as Arc<dyn Kernel>, Arc::new(Matern32), Arc::new(Matern52)] {
        let settings = Settings { kernel, ..Settings::default() };
        let model = on_line(settings, &line(&[(0.0, 1.0, 0.1), (1.0, 3.0, 0.1)])).unwrap();
        for x in [1e4, 1e20, 1e160, 1e300] {
            assert_eq!(at_place(&model, x), [2.0, 0.0, 1.0, 0.0], "at {x:e}");
        }
    }
}

#[test]
fn a_datum_without_noise_beside_useless_ones_does_not_defeat_inducing_points() {
    // B = I + V Vᵀ with |V Vᵀ| = k/N = 1e18 in one direction and nothing in the other: beside it, rounding swallows the one.
    let mut data = Measurements::new(PLANE);
    for (x, u) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)] {
        data.push(0.0, &[x], &[u], &[x], &[1e9]).unwrap();
    }
    let settings =
        Settings { kernel: Arc::new(Linear), exact_limit: 4, inducing_points: 2, ..Settings::default() };
    let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
    model.update(&data).unwrap();
    let mut far = Measurements::new(PLANE);
    far.push(0.0, &[1e4], &[1e3], &[3.0], &[0.0]).unwrap();
    far.push(0.0, &[1.1e4], &[0.0], &[0.0], &[1e9]).unwrap();
    model.update(&far).unwrap();
    let mut at = Posterior::default();
    model.posterior(Points::new(&[1e4, 1e3, 1e3, -1e4], 2), Query::MeanStd, &mut at);
    // The datum is met, within the least noise that the approximation assumes; across it the prior's 1e4 is left.
    let (mean, std) = (at.mean.value.as_slice(), at.std.value.as_slice());
    assert!((mean[0] - 3.0).abs() < 0.1 && std[0] < 0.1, "{mean:?} ± {std:?}");
    assert!((std[1] / 1e4 - 1.0).abs() < 0.1, "{mean:?} ± {std:?}");
}

#[test]
fn slopes_through_points_that_overflow_are_refused() {
    let kernels =
        [Arc::new(Linear) as Arc<dyn Kernel>, Arc::new(Product(Box::new(Linear), Box::new(Linear)))];
    for (kernel, exact_limit) in kernels.into_iter().flat_map(|k| [(k.clone(), 3), (k, 2000)]) {
        let settings = Settings { kernel, exact_limit, ..Settings::default() };
        let mut model = on_line(settings, &line(&[(0.0, 1.0, 0.1), (1.0, 2.0, 0.1)])).unwrap();
        let text = refused(&mut model, |m| m.update(&line(&[(1e200, 1.0, 0.1), (2e200, 1.0, 0.1)])));
        assert!(text.starts_with("the covariance matrix of output 0 cannot be factorised"), "{text}");
    }
}

#[test]
fn a_value_that_overflows_is_refused_however_it_comes() {
    let base = [(0.0, 1.0, 0.0), (1.0, 2.0, 0.0), (2.0, 4.0, 0.0)];
    let mut model = on_line(Settings::default(), &line(&base)).unwrap();
    refused(&mut model, |m| m.update(&line(&[(3.0, 1e300, 0.0)])));
    refused(&mut model, |m| m.update(&line(&[(3.0, 1e300, 0.0), (1.0, 1.0, 0.0)])));
}

/// From twice `first_part` inputs on the starts compete on random parts of the data. What was found before must not be lost by that: training
/// again, whatever the parts, ends no lower on all data.
#[test]
fn training_in_parts_never_loses_what_it_had() {
    let b = Benchmark::find("furuta-pendulum").expect("a benchmark");
    let (mut rng, mut f) = (Stream::root(3).rng(), b.dynamics());
    let mut data = Measurements::new(b.dims());
    for i in 0..180 {
        let z: Vec<f64> = (0..5).map(|k| [3.0, 3.0, 4.0, 4.0, 2.0][k] * rng.normal()).collect();
        let mut derivative = [0.0; 4];
        f.derivative(Points::single(&z), &mut derivative);
        for d in &mut derivative {
            *d += 0.1 * rng.normal();
        }
        data.push(f64::from(i), &z[..4], &z[4..], &derivative, &[0.1; 4]).expect("finite data");
    }
    let training = TrainingSettings { priors: false, restarts: 0, ..TrainingSettings::default() };
    let settings = Settings { training, ..Settings::default() };
    let mut model = GaussianProcess::for_task(&b.task, settings).expect("a sound model");
    model.update(&data).expect("sound data");
    let mut before: Option<Vec<f64>> = None;
    for seed in 0..6 {
        let report = model.train(Stream::root(seed)).expect("training");
        let now: Vec<f64> = report.fits.iter().map(|fit| fit.log_likelihood).collect();
        if let Some(before) = &before {
            for (j, (now, before)) in now.iter().zip(before).enumerate() {
                // A search that stops within its tolerance may be a little lower.
                assert!(*now >= before - 0.01, "seed {seed}, output {j}: {now} after {before}");
            }
        }
        before = Some(now);
    }
}
