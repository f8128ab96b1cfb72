//! Random trials: models and data from all corners, none of which may panic.

use super::*;

/// How large numbers may become in a trial, as powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    /// 1e-3 … 1e3
    Usual,
    /// 1e-100 … 1e100; with slopes, which are not bounded and of which fourth powers are taken, 1e-15 … 1e15
    Sane,
    /// 5e-324 … 1e300
    Wild,
}

struct Trial {
    rng: Rng,
    range: Range,
    dims: Dims,
    /// The largest exponent of a sane number.
    widest: f64,
}

impl Trial {
    fn magnitude(&mut self) -> f64 {
        let exponent = match self.range {
            Range::Usual => self.rng.uniform(-3.0, 3.0),
            Range::Sane => self.widest * self.rng.uniform(-1.0, 1.0),
            Range::Wild => self.rng.uniform(-324.0, 300.0),
        };
        10_f64.powf(exponent)
    }

    fn number(&mut self) -> f64 {
        match self.rng.below(12) {
            0 => 0.0,
            1 => -0.0,
            2 => 1.0,
            3 if self.range == Range::Wild => f64::MIN_POSITIVE * self.rng.unit(),
            4 | 5 => self.rng.normal(),
            _ => self.magnitude() * if self.rng.below(2) == 0 { 1.0 } else { -1.0 },
        }
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        // Half of the vectors are of one size, as data are; the others of any.
        if self.rng.below(2) == 0 {
            let size = self.magnitude();
            return (0..count).map(|_| size * self.rng.normal().clamp(-9.0, 9.0)).collect();
        }
        (0..count).map(|_| self.number()).collect()
    }

    fn measurements(&mut self, known: &Measurements) -> Measurements {
        let (mut data, dims) = (Measurements::new(self.dims), self.dims);
        for _ in 0..self.rng.below(5) {
            let point = match self.rng.below(4) {
                // A place again, or almost.
                0 if !known.is_empty() => known.points().at(self.rng.below(known.len())).to_vec(),
                1 if !known.is_empty() => {
                    let near = known.points().at(self.rng.below(known.len()));
                    near.iter().map(|v| v * (1.0 + f64::EPSILON)).collect()
                }
                _ => self.numbers(dims.point()),
            };
            let derivative = self.numbers(dims.state);
            let mut noise: Vec<f64> = self.numbers(dims.state).iter().map(|v| v.abs()).collect();
            if self.rng.below(4) == 0 {
                noise.fill(0.0);
            }
            let (state, control) = point.split_at(dims.state);
            if self.rng.below(60) == 0 {
                let bad = [f64::NAN, f64::INFINITY][self.rng.below(2)];
                assert!(data.push(0.0, &vec![bad; dims.state], control, &derivative, &noise).is_err());
            }
            data.push(0.0, state, control, &derivative, &noise).unwrap();
        }
        data
    }

    fn settings(&mut self, kernels: &[Arc<dyn Kernel>]) -> Settings {
        let rng = &mut self.rng;
        Settings {
            kernel: Arc::clone(&kernels[rng.below(kernels.len())]),
            noise: [Noise::Stated, Noise::Learned, Noise::Reference][rng.below(3)],
            lengthscales: [Lengthscales::PerOutput, Lengthscales::Shared][rng.below(2)],
            training: TrainingSettings {
                restarts: rng.below(2),
                max_evaluations: 1 + rng.below(4),
                priors: rng.below(2) == 0,
                first_part: 1 + rng.below(4),
                ..TrainingSettings::default()
            },
            confidence: [
                Confidence::Constant(1.0),
                Confidence::InformationGain { delta: 0.1, norm: 1.0 },
                Confidence::Calibrated { level: 0.9 },
            ][rng.below(3)],
            exact_limit: [1, 3, 2000][rng.below(3)],
            inducing_points: 1 + rng.below(4),
            scale_offset: [0.0, 1e-6][rng.below(2)],
            features: 1 + rng.below(8),
            mean: match rng.below(6) {
                0 => Mean::Linear,
                1 => {
                    // Of a size that keeps residuals in the range.
                    let size = self.number().clamp(-1.0, 1.0);
                    let dims = self.dims;
                    Mean::Physics(Physics::new(move || Box::new(Wild { dims, size })))
                }
                _ => Mean::Zero,
            },
        }
    }
}

/// What went on in some trials.
#[derive(Clone, Debug, Default)]
struct Tally {
    trials: usize,
    calls: usize,
    refused: usize,
    queries: usize,
}

/// One random model through some random calls; `Err` is what is wrong.
fn trial(number: usize, kernels: &[Arc<dyn Kernel>], tally: &mut Tally) -> Result<(), String> {
    let mut rng = Stream::root(2024).index(number).rng();
    let range = [Range::Usual, Range::Sane, Range::Wild][rng.below(3)];
    let dims = Dims { state: 1 + rng.below(3), control: rng.below(3) };
    let mut t = Trial { rng, range, dims, widest: 100.0 };
    let angles: Vec<usize> = (0..dims.point()).filter(|_| t.rng.below(4) == 0).collect();
    let settings = t.settings(kernels);
    if format!("{:?}", settings.kernel).contains("Linear") {
        t.widest = 15.0;
    }
    let mut model = GaussianProcess::new(dims, &angles, settings).map_err(|e| e.to_string())?;
    let mut at = Posterior::default();
    tally.trials += 1;
    for _ in 0..2 + t.rng.below(5) {
        tally.calls += 1;
        let n = model.data().len();
        let before = model.data().len();
        let some: Vec<usize> = (0..t.rng.below(3)).map(|_| t.rng.below(n + 1)).collect();
        let outcome = match t.rng.below(8) {
            0..=3 => {
                let new = t.measurements(model.data());
                if n + new.len() > 6 {
                    model.keep_latest(2).and_then(|()| model.update(&new))
                } else {
                    model.update(&new)
                }
            }
            4 => match model.train(Stream::root(number as u64)) {
                Err(ModelError::NoData) if n == 0 => Ok(()),
                other => other.map(|_| ()),
            },
            5 => model.forget(&some),
            6 => {
                let factor = 1.0 + t.magnitude();
                model.downweight(&some, factor)
            }
            _ => {
                let mut hyper: Vec<Hyperparameters> =
                    (0..dims.state).map(|j| model.hyperparameters(j).clone()).collect();
                for h in &mut hyper {
                    let parameters = model.parameters();
                    for (v, (p, _)) in h.kernel.iter_mut().zip(parameters) {
                        *v = t.rng.uniform(p.bounds.0.max(-3.0), p.bounds.1);
                    }
                    h.noise = t.rng.uniform(-5.0, 5.0);
                }
                model.set_hyperparameters(&hyper)
            }
        };
        if let Err(error) = outcome {
            tally.refused += 1;
            if error.to_string().is_empty() {
                return Err(format!("an error without a text: {error:?}"));
            }
            if range == Range::Usual {
                return Err(format!("usual data are refused ({before} known): {error}"));
            }
        }
        if t.rng.below(2) == 0 {
            tally.queries += 1;
            query(&mut t, &model, &mut at)?;
        }
    }
    tally.queries += 1;
    query(&mut t, &model, &mut at)
}

/// Everything that can be asked; no answer may be NaN where the question is sane.
fn query(t: &mut Trial, model: &GaussianProcess, at: &mut Posterior) -> Result<(), String> {
    let count = 1 + t.rng.below(3);
    let mut points: Vec<f64> = (0..count).flat_map(|_| t.numbers(t.dims.point())).collect();
    if !model.data().is_empty() && t.rng.below(2) == 0 {
        points.extend_from_slice(model.data().points().at(0));
    }
    let z = Points::new(&points, t.dims.point());
    model.posterior(z, Query::All, at);
    let mut covariance = Blocks::default();
    model.covariance(z, &mut covariance);
    let mut draw = model.sample(&mut t.rng);
    let mut linear = Linearization::default();
    draw.linearize(z, &mut linear);
    let left_out: Vec<_> = (0..t.dims.state).flat_map(|j| model.leave_one_out(j)).collect();
    let judged: Vec<f64> = left_out.iter().flat_map(|l| [l.mean, l.std, l.measured, l.noise_std]).collect();
    let curve = calibration_curve(&left_out, 1.0, &[0.5, 0.9]);
    let notes: Vec<String> = model.notes().iter().map(ToString::to_string).collect();
    if notes.iter().any(String::is_empty) {
        return Err("a note without a text".to_string());
    }
    let likelihoods: Vec<f64> =
        (0..t.dims.state).filter_map(|j| model.log_likelihood(j)).map(|(value, _)| value).collect();
    let own = [
        ("mean", at.mean.value.as_slice()),
        ("mean Jacobian", at.mean.jacobian.as_slice()),
        ("std", at.std.value.as_slice()),
        ("std Jacobian", at.std.jacobian.as_slice()),
        ("covariance", covariance.as_slice()),
        ("draw", linear.value.as_slice()),
        ("draw's Jacobian", linear.jacobian.as_slice()),
        ("left out", &judged),
        ("confidence scale", model.confidence_scale()),
        ("likelihood", &likelihoods),
        ("information gain", &model.information_gain()),
    ];
    for (what, values) in own {
        let bad = |v: &&f64| match t.range {
            Range::Usual => !v.is_finite(),
            Range::Sane => v.is_nan(),
            Range::Wild => false,
        };
        if let Some(bad) = values.iter().find(bad) {
            return Err(format!("{what} has {bad}, kernel {:?}", model.settings().kernel));
        }
    }
    if t.range != Range::Wild {
        if at.std.value.as_slice().iter().any(|s| *s < 0.0) {
            return Err("σ is negative".to_string());
        }
        if curve.iter().any(|c| c.observed.is_nan()) {
            return Err("a share is NaN".to_string());
        }
    }
    Ok(())
}

/// Runs trials on one thread (small matrices gain nothing from more); all that fails is collected.
fn run(numbers: std::ops::Range<usize>) {
    let kernels = fuzz_kernels();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (tally, failures) = pool.install(|| {
        let (mut tally, mut failures) = (Tally::default(), Vec::new());
        for number in numbers.clone() {
            let outcome = catch_unwind(AssertUnwindSafe(|| trial(number, &kernels, &mut tally)));
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(what)) => failures.push(format!("trial {number}: {what}")),
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                    failures.push(format!("trial {number} PANICKED: {}", text.unwrap_or_default()));
                }
            }
        }
        (tally, failures)
    });
    assert_eq!(tally.trials, numbers.len());
    // Most calls are served: otherwise little is tested.
    assert!(tally.refused < tally.calls / 4, "{tally:?}");
    let shown: Vec<&String> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{} of {} trials failed: {shown:#?}", failures.len(), numbers.len());
}

#[test]
fn random_models_and_data_give_an_error_or_numbers() {
    run(0..20_000);
}

#[test]
#[ignore = "slow: a million trials, minutes in release"]
fn a_million_random_models_and_data_give_an_error_or_numbers() {
    run(0..1_000_000);
}
