//! Copies, flat and degenerate data; Near-duplicates.

use super::*;

/// `n` measurements at one place with different values and noises.
fn copies(n: usize) -> Measurements {
    let (mut data, mut rng) = (Measurements::new(PLANE), Stream::root(2).index(n).rng());
    for i in 0..n {
        let noise = rng.uniform(0.1, 0.6);
        data.push(i as f64, &[0.3], &[-1.2], &[4.0 + noise * rng.normal()], &[noise]).unwrap();
    }
    data
}

#[test]
fn many_copies_of_a_place_are_their_weighted_average() {
    for n in [2, 10, 1000, 10_000] {
        let data = copies(n);
        let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
        let variance: f64 = 1.7;
        model
            .set_hyperparameters(&[Hyperparameters { kernel: vec![variance.ln(), 0.0, 0.0], noise: 0.0 }])
            .unwrap();
        // n³ would be hours for the largest: this test would not end.
        model.update(&data).unwrap();
        let at = ask(&model, &[0.3, -1.2]);
        assert_eq!((model.data().len(), model.distinct_inputs()), (n, 1));

        // f ~ N(m, v s²) with m and s average and spread of the values; measured as ȳ with precision P = Σ 1/σᵢ².
        let y: Vec<f64> = data.derivatives().iter().map(|d| d[0]).collect();
        let weights: Vec<f64> = data.noise_std().iter().map(|s| s[0].powi(-2)).collect();
        let mean = y.iter().sum::<f64>() / n as f64;
        let spread = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64;
        let precision = weights.iter().sum::<f64>();
        let average = y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>() / precision;
        let prior = 1.0 / (variance * spread);
        let expected = (precision * average + prior * mean) / (precision + prior);
        let std = (precision + prior).powf(-0.5);
        assert!((at.mean.value.at(0)[0] - expected).abs() < 1e-8, "{n}: {:?} and {expected}", at.mean.value);
        // 1 − (1 − small) loses as many digits as there are copies.
        assert!((at.std.value.at(0)[0] / std - 1.0).abs() < 1e-8, "{n}: {:?} and {std}", at.std.value);
    }
}

#[test]
fn degenerate_data_can_be_learned_from_and_are_named() {
    let whole = |index| Note::FlatInput { coordinate: Coordinate { index, part: Part::Whole } };
    let line: Vec<(f64, f64)> = (0..20).map(|i| (0.1 * f64::from(i), -0.3 * f64::from(i) + 1.0)).collect();
    let cases = [
        ("copies of one place", copies(500), vec![whole(0), whole(1)]),
        ("constant output", plane(&scattered(20, 1), |_, _| 3.0, 0.1), vec![Note::FlatOutput { output: 0 }]),
        ("all targets zero", plane(&scattered(20, 1), |_, _| 0.0, 0.1), vec![Note::FlatOutput { output: 0 }]),
        (
            "all zero, no noise",
            plane(&scattered(20, 1), |_, _| 0.0, 0.0),
            vec![Note::FlatOutput { output: 0 }],
        ),
        ("one measurement", plane(&[(0.3, 0.4)], wavy, 0.1), vec![]),
        ("one measurement without noise", plane(&[(0.3, 0.4)], wavy, 0.0), vec![]),
        ("collinear inputs", plane(&line, wavy, 0.01), vec![]),
        (
            "a control that is never used",
            plane(&line.iter().map(|p| (p.0, 0.0)).collect::<Vec<_>>(), wavy, 0.01),
            vec![whole(1)],
        ),
    ];
    for (what, data, notes) in cases {
        for noise in [Noise::Stated, Noise::Learned] {
            let settings = Settings { noise, ..Settings::default() };
            let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
            model.update(&data).unwrap();
            assert_finite(what, &model, &[0.3, 0.4, 5.0, -5.0]);
            let report = model.train(Stream::root(3)).unwrap();
            assert!(
                report.fits[0].status != Status::Failed && report.fits[0].log_likelihood.is_finite(),
                "{what}"
            );
            assert_finite(what, &model, &[0.3, 0.4, 5.0, -5.0]);
            assert_eq!(model.notes(), notes, "{what}");
        }
    }
}

#[test]
fn an_angle_that_never_changes_is_named_by_sine_and_cosine() {
    let mut data = Measurements::new(DIMS);
    for (i, (z, y)) in rows()[..20].iter().enumerate() {
        data.push(i as f64, &[0.7, z[1], z[2], z[3]], &z[4..], y, &[0.1; 4]).unwrap();
    }
    let mut model = cart_pole(Settings::default());
    model.update(&data).unwrap();
    let texts: Vec<String> = model.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the sine of coordinate 0 is the same in all measurements: its influence cannot be learned",
            "the cosine of coordinate 0 is the same in all measurements: its influence cannot be learned",
        ]
    );
}

#[test]
fn copies_without_noise_that_contradict_each_other_do_not_blind_training() {
    // Whatever is made of two values at one place, it says nothing about lengthscales: the search must end where it ends without
    // the second value.
    let mut data = plane(&scattered(30, 9), wavy, 0.0);
    let train = |data: &Measurements| {
        let mut model = GaussianProcess::new(PLANE, &[], with_kernel(Scale(Box::new(Matern52)))).unwrap();
        model.update(data).unwrap();
        model.train(Stream::root(1)).unwrap();
        model.hyperparameters(0).kernel.clone()
    };
    let without = train(&data);
    data.push(
        30.0,
        &[data.points().at(0)[0]],
        &[data.points().at(0)[1]],
        &[data.derivatives().at(0)[0] + 1e-6],
        &[0.0],
    )
    .unwrap();
    let with = train(&data);
    for (a, b) in with.iter().zip(&without) {
        assert!(
            (a - b).abs() < 0.05,
            "ln of the parameters: {with:?} with, {without:?} without the second value"
        );
    }
}

#[test]
fn points_that_almost_coincide_are_conditioned_on_or_named() {
    for distance in (-16..=-2).map(|e| 10_f64.powi(e)) {
        for noise in (-12..=0).map(|e| 10_f64.powi(e)).chain([0.0]) {
            let mut points = scattered(12, 4);
            let (x, u) = points[7];
            points.push((x + distance, u));
            let mut data = plane(&points, wavy, 1.0);
            // Stated noise is in units of the spread of the output.
            let y: Vec<f64> = data.derivatives().iter().map(|d| d[0]).collect();
            let mean = y.iter().sum::<f64>() / y.len() as f64;
            let spread = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64).sqrt();
            data = plane(&points, wavy, noise * spread);
            let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
            let what = format!("{distance:e} apart with noise {noise:e}");
            let mut outcome = model.update(&data);
            if outcome.is_ok() {
                assert_finite(&what, &model, &[x + 0.5 * distance, u, 0.3, 0.1]);
                outcome = model.train(Stream::root(0)).map(|_| ());
            }
            match outcome {
                Ok(()) => {
                    assert_finite(&what, &model, &[x + 0.5 * distance, u, 0.3, 0.1]);
                    let note = model.notes().into_iter().find(|n| matches!(n, Note::Jitter { .. }));
                    if let Some(note) = note {
                        assert!(noise < 1e-6, "{what} needed jitter");
                        assert!(
                            note.to_string()
                                .starts_with("the covariance matrix of output 0 needed a jitter of 1e-")
                        );
                    }
                    // 1e-6 of the spread is far above rounding: values near the pair are met.
                    let at = ask(&model, &[x, u]);
                    let miss = (at.mean.value.at(0)[0] - wavy(x, u)).abs();
                    assert!(miss < (3.0 * noise + 1e-3) * spread, "{what}: misses by {miss:e}");
                }
                Err(ModelError::NotPositiveDefinite { first, second, .. }) => {
                    assert!(noise < 1e-6, "{what} is refused");
                    assert_eq!((first, second), (7, 12), "{what}");
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
    }
    // Noiseless and with lengthscales far beyond the data: no arithmetic of 16 digits does without.
    let mut model = GaussianProcess::new(PLANE, &[], Settings::default()).unwrap();
    model.update(&plane(&scattered(12, 4), wavy, 0.0)).unwrap();
    model.set_hyperparameters(&[Hyperparameters { kernel: vec![0.0, 5.0, 5.0], noise: 0.0 }]).unwrap();
    let notes: Vec<String> = model.notes().iter().map(Note::to_string).collect();
    assert!(notes[0].starts_with("the covariance matrix of output 0 needed a jitter of 1e-"), "{notes:?}");
}
