//! What is known.

use super::*;

#[test]
fn more_data_never_make_sigma_larger_and_no_data_make_it_the_prior() {
    let (data, points) = (measurements(60, |i, _| if i % 7 == 0 { 0.0 } else { 0.05 }), test_points(40));
    // Also at the data themselves, where σ is smallest.
    let points = [points.as_slice(), data.points().as_slice()].concat();
    for kernel in [
        Arc::new(Scale(Box::new(Rbf))) as Arc<dyn Kernel>,
        Arc::new(Matern52),
        Arc::new(Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear))),
        Arc::new(Product(Box::new(Periodic), Box::new(Linear))),
    ] {
        let mut model = cart_pole(Settings { kernel, ..Settings::default() });
        model.set_hyperparameters(&uneven(&model)).unwrap();
        model.update(&data.slice(0..10)).unwrap();
        // The prior in the same units: everything forgotten, standardisation kept.
        let mut prior = model.clone();
        prior.keep_latest(0).unwrap();
        let mut last = ask(&prior, &points).std.value;
        for range in [0..10, 10..11, 11..40, 40..60] {
            if range.start > 0 {
                model.update(&data.slice(range)).unwrap();
            }
            let now = ask(&model, &points).std.value;
            for (now, last) in now.as_slice().iter().zip(last.as_slice()) {
                // Variances, not deviations, carry the rounding: 1e-15 of the prior's becomes 3e-8 of σ, times the condition number.
                assert!(*now >= 0.0 && now * now <= last * last + 1e-9, "{now} after {last}");
            }
            last = now;
        }
    }
}

#[test]
fn the_prior_is_the_same_in_memory_that_was_used_before() {
    let data = measurements(60, |_, _| 0.05);
    let points = test_points(5);
    let mut full = cart_pole(Settings::default());
    full.update(&data).unwrap();
    let empty = cart_pole(Settings::default());
    let mut used = Posterior::default();
    full.posterior(Points::new(&points, 5), Query::All, &mut used);
    empty.posterior(Points::new(&points, 5), Query::All, &mut used);
    let fresh = ask(&empty, &points);
    assert_eq!(used.mean.value, fresh.mean.value);
    assert_eq!(used.std.value, fresh.std.value);
    assert_eq!(used.std.jacobian, fresh.std.jacobian);
    assert!(fresh.std.value.as_slice().iter().all(|s| *s == 1.0));
}

#[test]
fn data_without_noise_are_met() {
    let data = plane(&scattered(25, 5), wavy, 0.0);
    for kernel in [Arc::new(Scale(Box::new(Rbf))) as Arc<dyn Kernel>, Arc::new(Matern52)] {
        let mut model = GaussianProcess::new(PLANE, &[], Settings { kernel, ..Settings::default() }).unwrap();
        model.update(&data).unwrap();
        let at = ask(&model, data.points().as_slice());
        let jitter = model.notes().iter().any(|n| matches!(n, Note::Jitter { .. }));
        assert!(!jitter);
        let miss = difference(at.mean.value.as_slice(), data.derivatives().as_slice());
        let sigma = at.std.value.as_slice().iter().fold(0.0, |a: f64, b| a.max(*b));
        // Rounding times the condition number (1e8 for this smooth kernel); σ is the root of that.
        assert!(miss < 1e-7, "the mean misses by {miss:e}");
        assert!(sigma < 1e-3, "σ at a datum is {sigma:e}");
    }
}

#[test]
fn the_order_of_data_is_irrelevant() {
    let data = measurements(60, |i, _| 0.02 * (1 + i % 5) as f64);
    let shuffled = data.select(permutation(60, &mut Stream::root(8).rng()));
    let [a, b] = [&data, &shuffled].map(|data| {
        let mut model = cart_pole(Settings::default());
        model.set_hyperparameters(&uneven(&model)).unwrap();
        model.update(data).unwrap();
        model
    });
    assert_same("in another order", &a, &b, &test_points(12), 1e-9);
}

#[test]
fn covariances_are_symmetric_with_the_variances_on_their_diagonal() {
    let points = test_points(15);
    let mut model = cart_pole(Settings::default());
    model.set_hyperparameters(&uneven(&model)).unwrap();
    model.update(&measurements(60, |_, _| 0.05)).unwrap();
    let (at, blocks) = (ask(&model, &points), covariance(&model, &points));
    for j in 0..4 {
        let block = blocks.at(j);
        for a in 0..15 {
            let variance = at.std.value.at(a)[j].powi(2);
            assert!((block[a * 15 + a] - variance).abs() <= 1e-12 * block[a * 15 + a].abs() + 1e-13);
            for b in 0..15 {
                assert_eq!(block[a * 15 + b], block[b * 15 + a]);
                assert!(
                    block[a * 15 + b].abs() <= (block[a * 15 + a] * block[b * 15 + b]).sqrt() * (1.0 + 1e-12)
                );
            }
        }
    }
}

#[test]
fn information_adds_up_one_measurement_at_a_time() {
    let data = measurements(60, |i, j| 0.02 * (1 + (i + j) % 5) as f64);
    let mut model = cart_pole(Settings::default());
    model.set_hyperparameters(&uneven(&model)).unwrap();
    // The first 20 fix the units and are forgotten.
    model.update(&data.slice(0..20)).unwrap();
    model.keep_latest(0).unwrap();
    // An empty model would standardise anew with its next data: one datum is kept as a beginning.
    model.update(&data.slice(0..20)).unwrap();
    model.keep_latest(1).unwrap();
    let before = model.accumulated_information_gain().to_vec();
    let first = data.slice(19..20);
    let mut expected: Vec<f64> = (0..4)
        .map(|j| {
            let prior = spreads(20)[j].powi(2) * hyper(&model)[j].kernel[0].exp();
            0.5 * (prior / first.noise_std().at(0)[j].powi(2)).ln_1p()
        })
        .collect();
    let start = model.information_gain();
    let worst = difference(&start, &expected);
    assert!(worst < 1e-9, "of one datum: {start:?}, expected {expected:?}");
    // A copy of an earlier place among them is information, too.
    let rest: Vec<usize> = (20..45).chain([19, 30]).chain(45..60).collect();
    for i in rest {
        let one = data.select([i]);
        let at = ask(&model, one.points().as_slice());
        for j in 0..4 {
            expected[j] += 0.5 * (at.std.value.at(0)[j] / one.noise_std().at(0)[j]).powi(2).ln_1p();
        }
        model.update(&one).unwrap();
    }
    let worst = difference(&model.information_gain(), &expected);
    assert!(worst < 1e-9, "the gain differs by {worst:e}");
    let added: Vec<f64> =
        model.accumulated_information_gain().iter().zip(&before).map(|(a, b)| a - b).collect();
    let gained: Vec<f64> = expected.iter().zip(&start).map(|(e, s)| e - s).collect();
    let worst = difference(&added, &gained);
    assert!(worst < 1e-9, "the accumulated gain differs by {worst:e}");
}

#[test]
fn leaving_a_place_out_is_forgetting_all_its_measurements() {
    let mut data = measurements(30, |i, _| 0.02 * (1 + i % 5) as f64);
    for i in [3, 3, 8, 21] {
        let (z, y) = rows()[i];
        data.push(0.0, &z[..4], &z[4..], &y.map(|y| y + 0.1), &[0.07; 4]).unwrap();
    }
    let mut model = cart_pole(Settings { noise: Noise::Learned, ..Settings::default() });
    let mut parameters = uneven(&model);
    parameters[2].noise = 0.8;
    model.set_hyperparameters(&parameters).unwrap();
    model.update(&data).unwrap();
    let mut worst: f64 = 0.0;
    for j in 0..4 {
        let left_out = model.leave_one_out(j);
        assert_eq!(left_out.len(), 30);
        for (place, judged) in left_out.iter().enumerate() {
            let z = data.points().at(place);
            let copies: Vec<usize> = (0..data.len()).filter(|&i| data.points().at(i) == z).collect();
            let mut without = model.clone();
            without.forget(&copies).unwrap();
            let at = ask(&without, z);
            let factor = parameters[j].noise.exp();
            let precision: f64 =
                copies.iter().map(|&i| 1.0 / (factor * data.noise_std().at(i)[j].powi(2))).sum();
            let average: f64 = copies
                .iter()
                .map(|&i| data.derivatives().at(i)[j] / (factor * data.noise_std().at(i)[j].powi(2)))
                .sum::<f64>()
                / precision;
            for (found, expected) in [
                (judged.mean, at.mean.value.at(0)[j]),
                (judged.std, at.std.value.at(0)[j]),
                (judged.measured, average),
                (judged.noise_std, precision.powf(-0.5)),
            ] {
                worst = worst.max((found - expected).abs());
                assert!((found - expected).abs() < 1e-9, "place {place}, output {j}: {judged:?}, {expected}");
            }
        }
    }
}
