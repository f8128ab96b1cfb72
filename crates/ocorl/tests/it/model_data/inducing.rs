//! Inducing points.

use super::*;

#[test]
fn a_hundred_inducing_points_stand_for_four_hundred_data() {
    let (exact, inducing) = both(400, 100);
    assert_eq!(inducing.notes(), [Note::Inducing { points: 100, of: 400 }]);
    assert_eq!(
        inducing.notes()[0].to_string(),
        "400 distinct inputs exceed the limit of the exact model: it is approximated with 100 inducing points"
    );
    // σ ratios at places without data, then at the data. An approximation that treats what it learned from the other data as certain
    // about its own points is too sure there: measured 0.60 of the exact σ. Elsewhere measured 1.3 to 10, at data up to 14; means are
    // off by up to 0.14 spreads.
    let data = exact.data().points().as_slice().to_vec();
    for (points, least) in [(test_points(60), 1.0), (data, 0.5)] {
        let (a, b) = (ask(&exact, &points), ask(&inducing, &points));
        for (i, (mean, sparse)) in a.mean.value.iter().zip(b.mean.value.iter()).enumerate() {
            for (j, spread) in spreads(400).iter().enumerate() {
                let miss = (mean[j] - sparse[j]).abs() / spread;
                let ratio = b.std.value.at(i)[j] / a.std.value.at(i)[j];
                assert!(miss < 0.2, "output {j} at point {i}: means are {miss} spreads apart");
                assert!(
                    ratio > least && ratio < 20.0,
                    "output {j} at point {i}: σ is {ratio} times the exact one"
                );
            }
        }
    }
}

#[test]
fn jacobians_of_the_approximation_are_those_of_its_own_mean_and_sigma() {
    let (_, model) = both(400, 100);
    let points = test_points(10);
    let at = ask(&model, &points);
    let h = 1e-5;
    for i in 0..10 {
        for d in 0..5 {
            let mut shifted = points[5 * i..5 * i + 5].to_vec();
            shifted[d] += h;
            let high = ask(&model, &shifted);
            shifted[d] -= 2.0 * h;
            let low = ask(&model, &shifted);
            for j in 0..4 {
                for (what, found, high, low) in [
                    ("mean", &at.mean.jacobian, &high.mean.value, &low.mean.value),
                    ("std", &at.std.jacobian, &high.std.value, &low.std.value),
                ] {
                    let (found, expected) =
                        (found.at(i)[5 * j + d], (high.at(0)[j] - low.at(0)[j]) / (2.0 * h));
                    assert!(
                        (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                        "{what}: {found}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn as_many_inducing_points_as_data_are_no_approximation() {
    let (exact, inducing) = both(160, 160);
    assert_eq!(inducing.notes(), [Note::Inducing { points: 160, of: 160 }]);
    // Without noise in the inner factor, Kₘₘ alone: its condition number is larger than that of K + N.
    assert_same("all data as inducing points", &inducing, &exact, &test_points(12), 1e-6);
}
