//! Prior means.

use super::*;
use ocorl::explore::Exploration;
use ocorl::plan::{self, Problem, Start, best_of, uniform_grid};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn truth() -> Box<dyn Dynamics> {
    Benchmark::find("cart-pole").unwrap().dynamics()
}

/// The cart pole's own derivatives at the first `n` inputs.
fn exact(n: usize) -> Measurements {
    let (mut data, mut f) = (Measurements::new(DIMS), truth());
    for (i, (z, _)) in rows()[..n].iter().enumerate() {
        let mut y = [0.0; 4];
        f.derivative(Points::single(z), &mut y);
        data.push(i as f64, &z[..4], &z[4..], &y, &[0.01; 4]).unwrap();
    }
    data
}

#[test]
fn true_physics_leave_nothing_to_learn() {
    let mut model = cart_pole(Settings { mean: Mean::Physics(Physics::new(truth)), ..Settings::default() });
    model.update(&exact(30)).unwrap();
    model.train(Stream::root(0)).unwrap();
    // Ten times as far out as any data.
    let points: Vec<f64> = test_points(20).iter().map(|v| 10.0 * v).collect();
    let (at, mut expected) = (ask(&model, &points), Linearization::default());
    truth().linearize(Points::new(&points, 5), &mut expected);
    assert!(difference(at.mean.value.as_slice(), expected.value.as_slice()) < 1e-15);
    assert!(difference(at.mean.jacobian.as_slice(), expected.jacobian.as_slice()) < 1e-15);
    let mut sampled = vec![0.0; 4];
    let mut draw = model.sample(&mut Stream::root(1).rng());
    draw.derivative(Points::new(&points[..5], 5), &mut sampled);
    assert!(sampled.iter().all(|v| v.is_finite()));
}

#[test]
fn a_linear_mean_finds_a_linear_system_and_extrapolates() {
    let slope = [
        [1.0, -2.0, 0.5, 0.0, 3.0],
        [0.1, 0.2, 0.3, 0.4, 0.5],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [-4.0, 0.0, 1.0, 0.0, 2.0],
    ];
    let constant = [5.0, -1.0, 0.0, 100.0];
    let f = |z: &[f64]| -> Vec<f64> {
        (0..4).map(|j| constant[j] + slope[j].iter().zip(z).map(|(a, z)| a * z).sum::<f64>()).collect()
    };
    let mut data = Measurements::new(DIMS);
    for (i, (z, _)) in rows()[..40].iter().enumerate() {
        data.push(i as f64, &z[..4], &z[4..], &f(z), &[0.01; 4]).unwrap();
    }
    let mut model =
        GaussianProcess::new(DIMS, &[], Settings { mean: Mean::Linear, ..Settings::default() }).unwrap();
    model.update(&data).unwrap();
    model.train(Stream::root(0)).unwrap();
    let points: Vec<f64> = test_points(20).iter().map(|v| 100.0 * v).collect();
    let at = ask(&model, &points);
    let expected: Vec<f64> = points.chunks_exact(5).flat_map(f).collect();
    let jacobian: Vec<f64> = (0..20).flat_map(|_| slope.concat()).collect();
    let worst = difference(at.mean.value.as_slice(), &expected);
    // The ridge of the regression is 1e-9.
    assert!(worst < 1e-8, "the mean is off by {worst:e}");
    let worst = difference(at.mean.jacobian.as_slice(), &jacobian);
    assert!(worst < 1e-8, "its slope is off by {worst:e}");
}

/// ẋ = √x, not a number for negative x.
struct Root;

impl Dynamics for Root {
    fn dims(&self) -> Dims {
        PLANE
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        for i in 0..z.len() {
            out[i] = z.at(i)[0].sqrt();
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(1, 2, z.len());
        for i in 0..z.len() {
            out.value.at_mut(i)[0] = z.at(i)[0].sqrt();
            out.jacobian.at_mut(i).copy_from_slice(&[0.5 / z.at(i)[0].sqrt(), 0.0]);
        }
    }
}

#[test]
fn physics_that_fail_at_a_measurement_are_refused_and_nothing_changes() {
    let settings = Settings { mean: Mean::Physics(Physics::new(|| Box::new(Root))), ..Settings::default() };
    let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
    let good = plane(&[(0.5, 0.1), (1.0, 0.2), (2.0, -0.4)], wavy, 0.1);
    let bad = plane(&[(1.5, 0.0), (-1.0, 0.2)], wavy, 0.1);
    let points = [0.7, 0.0, 1.2, 0.3];
    for known in [0, 3] {
        let before = ask(&model, &points);
        let Err(ModelError::PriorMean { index, output, value }) = model.update(&bad) else {
            panic!("accepted")
        };
        assert_eq!((index, output), (known + 1, 0));
        assert!(value.is_nan());
        let text = model.update(&bad).unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "the prior mean of output 0 is NaN at measurement {index}; the prior physics are not defined there"
            )
        );
        let after = ask(&model, &points);
        assert_eq!((before.mean.value, before.std.value), (after.mean.value, after.std.value));
        assert_eq!(model.data().len(), known);
        if known == 0 {
            model.update(&good).unwrap();
        }
    }
    // The refused points are as new as they were.
    model.update(&plane(&[(1.5, 0.0), (0.25, 0.2)], wavy, 0.1)).unwrap();
    assert_same("after a refusal", &model, &anew(&model), &points, SAME_FACTOR);
}

/// ẋ = −x + u that counts how many copies are evaluated at the same time, and waits for a second one as long as none has been seen.
struct Meeting {
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Meeting {
    fn meet(&self) {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        loop {
            self.most.fetch_max(self.inside.load(Ordering::SeqCst), Ordering::SeqCst);
            // If copies exclude each other, none ever comes: then the wait must end, and the test fails.
            if self.most.load(Ordering::SeqCst) >= 2 || began.elapsed() > Duration::from_secs(20) {
                break;
            }
            std::thread::yield_now();
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Dynamics for Meeting {
    fn dims(&self) -> Dims {
        PLANE
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.meet();
        for i in 0..z.len() {
            out[i] = z.at(i)[1] - z.at(i)[0];
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(1, 2, z.len());
        self.derivative(z, out.value.as_mut_slice());
        for i in 0..z.len() {
            out.jacobian.at_mut(i).copy_from_slice(&[-1.0, 1.0]);
        }
    }
}

#[test]
fn threads_evaluate_a_physics_prior_at_the_same_time() {
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let physics = Physics::new(move || Box::new(Meeting { inside: inside.clone(), most: most.clone() }));
    let settings = Settings { mean: Mean::Physics(physics), ..Settings::default() };
    let model = &GaussianProcess::new(PLANE, &[], settings).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| ask(model, &[0.3, 0.1]));
        }
    });
    assert_eq!(seen.load(Ordering::SeqCst), 2, "one thread waited for the other");
}

#[test]
fn starts_side_by_side_on_a_physics_prior_give_the_same_bytes_at_any_number_of_threads() {
    let b = Benchmark::find("cart-pole").unwrap();
    let mut heavy = b.clone();
    heavy.parameters[0].value *= 1.3;
    let physics = Physics::new(move || heavy.dynamics());
    let settings = Settings { mean: Mean::Physics(physics), ..Settings::default() };
    let mut model = GaussianProcess::for_task(&b.task, settings).unwrap();
    model.update(&exact(20)).unwrap();
    let model: Arc<dyn StatisticalModel> = Arc::new(model);
    let times = uniform_grid(b.task.horizon, 20);
    for explore in [Exploration::Mean, Exploration::Optimistic, Exploration::Bonus] {
        let posed = explore.planning_problem(&model, &b.task, 0.1, Stream::root(0));
        let problem = Problem {
            cost: posed.cost.as_ref(),
            control_bounds: &posed.bounds,
            ..Problem::of(&b.task, &times)
        };
        let search = plan::Settings { max_iterations: 5, ..plan::Settings::default() };
        let centre = vec![0.0; posed.bounds.dim()];
        let starts = Start::around(&centre, 0.3, 5, 20, &Stream::root(9));
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let plan = pool.install(|| best_of(&|| posed.dynamics(), &problem, &search, &starts)).unwrap();
            (plan.cost.to_bits(), plan.trajectory)
        };
        let alone = on(1);
        assert_eq!(alone, on(2), "{explore:?}");
        assert_eq!(alone, on(6), "{explore:?}");
    }
}
