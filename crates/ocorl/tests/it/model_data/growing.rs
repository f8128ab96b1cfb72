//! Growing and shrinking.

use super::*;

#[test]
fn a_factor_that_grew_in_batches_is_that_of_all_data() {
    let (data, points) = (measurements(60, |i, _| 0.02 * (1 + i % 5) as f64), test_points(12));
    for sizes in [[1, 7, 1, 30, 21], [21, 30, 1, 7, 1]] {
        let mut grown = cart_pole(Settings::default());
        grown.set_hyperparameters(&uneven(&grown)).unwrap();
        let mut at_once = grown.clone();
        let mut start = 0;
        for size in sizes {
            grown.update(&data.slice(start..start + size)).unwrap();
            start += size;
        }
        // The first batch decides how everything is standardised, so it must be the same.
        at_once.update(&data.slice(0..sizes[0])).unwrap();
        at_once.update(&data.slice(sizes[0]..60)).unwrap();
        assert_eq!(grown.data(), at_once.data());
        assert_same("in batches and at once", &grown, &at_once, &points, SAME_FACTOR);
        assert_same("in batches and anew", &grown, &anew(&grown), &points, SAME_FACTOR);
        let gains = difference(&grown.information_gain(), &anew(&grown).information_gain());
        assert!(gains < 1e-12, "information gains differ by {gains:e}");
    }
}

#[test]
fn forgetting_is_never_having_measured() {
    let (data, points) = (measurements(60, |i, _| 0.02 * (1 + i % 5) as f64), test_points(12));
    let mut base = cart_pole(Settings::default());
    base.set_hyperparameters(&uneven(&base)).unwrap();
    base.update(&data.slice(0..20)).unwrap();
    // The first and the last of the rest, neighbours, an order that is not ascending, a number twice; and nothing at all.
    for gone in [vec![59, 20, 33, 34, 33], (25..58).collect(), vec![]] {
        let mut model = base.clone();
        model.update(&data.slice(20..60)).unwrap();
        model.forget(&gone).unwrap();
        let mut never = base.clone();
        never.update(&data.select((20..60).filter(|i| !gone.contains(i)))).unwrap();
        assert_eq!(model.data(), never.data());
        assert_same("forgotten and never measured", &model, &never, &points, SAME_FACTOR);
        assert_same("forgotten and anew", &model, &anew(&model), &points, SAME_FACTOR);
    }
}

#[test]
fn a_window_holds_the_latest() {
    let (data, points) = (measurements(60, |_, _| 0.05), test_points(12));
    let mut model = cart_pole(Settings::default());
    model.set_hyperparameters(&uneven(&model)).unwrap();
    model.update(&data).unwrap();
    for count in [100, 60, 50, 20, 1] {
        model.keep_latest(count).unwrap();
        assert_eq!(*model.data(), data.slice(60 - count.min(60)..60));
        assert_same("a window", &model, &anew(&model), &points, SAME_FACTOR);
    }
    model.keep_latest(0).unwrap();
    assert_eq!(model.distinct_inputs(), 0);
    let at = ask(&model, &points);
    for (j, spread) in spreads(60).iter().enumerate() {
        let prior = spread * (0.5 * hyper(&model)[j].kernel[0]).exp();
        assert!((at.std.value.at(3)[j] / prior - 1.0).abs() < 1e-12, "nothing is left but the prior");
    }
}

#[test]
fn less_trust_is_more_noise() {
    let (data, points) = (measurements(60, |_, _| 0.05), test_points(12));
    let factor: f64 = 7.0;
    for less in [vec![40], vec![3, 30, 59, 17], (10..50).collect()] {
        let mut model = cart_pole(Settings::default());
        model.set_hyperparameters(&uneven(&model)).unwrap();
        let mut noisier = model.clone();
        model.update(&data).unwrap();
        model.downweight(&less, factor).unwrap();
        // What the noise is has no say in standardisation.
        let noise = |i: usize, _: usize| 0.05 * if less.contains(&i) { factor.sqrt() } else { 1.0 };
        noisier.update(&measurements(60, noise)).unwrap();
        assert_same("trusted less and stated noisier", &model, &noisier, &points, SAME_FACTOR);
        assert_same("trusted less and anew", &model, &anew(&model), &points, SAME_FACTOR);
    }
}

#[test]
fn some_copies_of_a_place_can_be_forgotten_or_trusted_less() {
    let points = test_points(12);
    let mut data = measurements(40, |i, _| 0.02 * (1 + i % 5) as f64);
    for (i, (z, y)) in rows()[..10].iter().enumerate() {
        for copy in 0..3 {
            let measured = y.map(|y| y + 0.03 * f64::from(copy));
            data.push(i as f64, &z[..4], &z[4..], &measured, &[0.03 + 0.01 * f64::from(copy); 4]).unwrap();
        }
    }
    let mut base = cart_pole(Settings::default());
    base.set_hyperparameters(&uneven(&base)).unwrap();
    base.update(&data.slice(0..40)).unwrap();
    let mut model = base.clone();
    model.update(&data.slice(40..70)).unwrap();
    assert_eq!((model.data().len(), model.distinct_inputs()), (70, 40));
    assert_same("with copies and anew", &model, &anew(&model), &points, SAME_FACTOR);

    let gone = [41, 42, 44, 50, 52, 69];
    model.forget(&gone).unwrap();
    let mut never = base.clone();
    never.update(&data.select((40..70).filter(|i| !gone.contains(i)))).unwrap();
    assert_same("some copies forgotten and never measured", &model, &never, &points, SAME_FACTOR);
    model.downweight(&[40, 45, 63], 4.0).unwrap();
    assert_same("some copies trusted less and anew", &model, &anew(&model), &points, SAME_FACTOR);
    assert_eq!(model.distinct_inputs(), 40);
}

/// 300 random changes of up to 60 data; the largest drift against a fresh factor.
fn chain(copies: bool) -> GaussianProcess {
    let mut rng = Stream::root(11).child(if copies { "copies" } else { "distinct" }).rng();
    let all = measurements(2000, |i, _| 0.02 * (1 + i % 5) as f64);
    let mut next = 40;
    let mut model = cart_pole(Settings::default());
    model.set_hyperparameters(&uneven(&model)).unwrap();
    model.update(&all.slice(0..40)).unwrap();
    for _ in 0..300 {
        let n = model.data().len();
        let some = |rng: &mut Rng| (0..=rng.below(3)).map(|_| rng.below(n)).collect::<Vec<_>>();
        match rng.below(3) {
            0 if n < 58 => {
                let count = 1 + rng.below(3);
                model.update(&all.slice(next..next + count)).unwrap();
                if copies {
                    model.update(&all.select([next + rng.below(count)])).unwrap();
                }
                next += count;
            }
            1 => model.downweight(&some(&mut rng), rng.uniform(1.0, 1.5)).unwrap(),
            _ if n > 20 => model.forget(&some(&mut rng)).unwrap(),
            _ => model.update(&all.slice(next..next + 1)).unwrap(),
        }
    }
    model
}

#[test]
fn three_hundred_changes_do_not_drift() {
    for copies in [false, true] {
        let model = chain(copies);
        // Rotations and appended rows are backward stable: errors add up, they do not grow.
        assert_same("after 300 changes and anew", &model, &anew(&model), &test_points(12), 1e-8);
    }
}
