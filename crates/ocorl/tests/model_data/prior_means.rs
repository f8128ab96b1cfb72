//! Prior means.

use super::*;

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
    let mut model = cart_pole(Settings { mean: Mean::Physics(Physics::new(truth())), ..Settings::default() });
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
    let settings = Settings { mean: Mean::Physics(Physics::new(Box::new(Root))), ..Settings::default() };
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
                "the prior mean of output 0 is NaN at measurement {index}; the physics given as prior do not hold there"
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
