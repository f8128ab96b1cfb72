//! The known-model baselines against an independent solver and against the paper.
//!
//! `tests/golden/optimal_control.toml` was made by `studies/ground_truth/solve.py` (CasADi and IPOPT).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::baseline::{self, BaselineSettings, Tracker};
use ocorl::system::Benchmark;

fn golden() -> toml::Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/optimal_control.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn value(table: &toml::Table, system: &str, key: &str) -> f64 {
    table[system][key].as_float().unwrap()
}

/// The zero-order-hold column as the spec recomputed it, to four decimals, in Table 1's units.
const HELD_REFERENCE: [(&str, f64); 9] = [
    ("cancer-treatment", 21.0473),
    ("glucose-in-blood", 15.2960),
    ("pendulum", 20.5933),
    ("mountain-car", 35.0368),
    ("cart-pole", 19.9582),
    ("bicycle", 10.2392),
    ("furuta-pendulum", 25.1129),
    ("quadrotor-2d", 4.0146),
    ("quadrotor-3d", 7.8354),
];

#[test]
fn the_nine_systems_reach_the_collocation_optimum_and_the_printed_column() {
    let golden = golden();
    for (b, (name, expected)) in Benchmark::of_the_paper().iter().zip(HELD_REFERENCE) {
        assert_eq!(b.name, name);
        let found = baseline::all(b, &BaselineSettings::default()).unwrap();
        let optimum = value(&golden, name, "continuous");
        for (what, cost) in
            [("open loop", found.continuous.open_loop.cost()), ("tracked", found.continuous.tracked.cost())]
        {
            // Free control can only be better; a piecewise-constant one of 400 pieces is within 0.1 %.
            assert!(
                cost > optimum * (1.0 - 1e-6) && cost < optimum * 1.001,
                "{name} {what}: {cost}, optimum {optimum}"
            );
        }
        let held = value(&golden, name, "zoh");
        assert!((found.held.cost / held - 1.0).abs() < 1e-6, "{name}: {} and {held}", found.held.cost);
        let printed_hold = found.held_reference.unwrap().cost;
        let reference = b.table_units().cost(printed_hold);
        assert!((reference - expected).abs() < 6e-5, "{name}: {reference} and {expected}");
        let printed = b.published().unwrap().held;
        assert!((reference - printed).abs() <= 0.005 + 1e-9, "{name}: {reference}, printed {printed}");
        assert!(
            found.held.cost <= printed_hold,
            "{name}: the optimal zero-order hold is above the reference's"
        );
    }
}

#[test]
fn the_pendulum_is_tracked_as_well_by_all_trackers() {
    let b = Benchmark::find("pendulum").unwrap();
    let optimum = value(&golden(), "pendulum", "continuous");
    for tracker in [Tracker::Mpc, Tracker::Feedback, Tracker::Replan] {
        let settings = BaselineSettings { tracker, ..BaselineSettings::default() };
        let cost = baseline::continuous(&b, &settings, &[]).unwrap().tracked.cost();
        assert!((cost / optimum - 1.0).abs() < 1e-4, "{tracker:?}: {cost} and {optimum}");
    }
}

#[test]
fn the_loss_of_the_grid_falls_with_its_square() {
    let b = Benchmark::find("cart-pole").unwrap();
    let optimum = value(&golden(), "cart-pole", "continuous");
    let loss = |intervals: usize| {
        let settings =
            BaselineSettings { intervals, tracker: Tracker::Feedback, ..BaselineSettings::default() };
        baseline::continuous(&b, &settings, &[]).unwrap().open_loop.cost() - optimum
    };
    let (coarse, fine) = (loss(100), loss(400));
    let order = (coarse / fine).log2() / 2.0;
    assert!((1.8..2.2).contains(&order), "losses {coarse} and {fine}: order {order}");
}

#[test]
fn a_plan_is_never_worse_than_a_hold() {
    // Hanging pole, strong gravity: from rest the search for the plan ends in a poor valley, the hold's in a better one.
    let mut b = Benchmark::find("cart-pole").unwrap();
    b.set_parameter("gravity", -9.81).unwrap();
    let settings = BaselineSettings { tracker: Tracker::Feedback, ..BaselineSettings::default() };
    let found = baseline::all(&b, &settings).unwrap();
    assert!(
        found.continuous.plan.cost <= found.held.cost,
        "{} and {}",
        found.continuous.plan.cost,
        found.held.cost
    );
    // Nor does a coarse plan make the hold worse than the reference's.
    let pendulum = Benchmark::find("pendulum").unwrap();
    let found = baseline::all(&pendulum, &BaselineSettings { intervals: 10, ..settings }).unwrap();
    assert!(found.held.cost <= found.held_reference.unwrap().cost, "{}", found.held.cost);
}

#[test]
fn the_acrobot_optimum_is_confirmed() {
    let b = Benchmark::find("acrobot").unwrap();
    let settings = BaselineSettings { tracker: Tracker::Feedback, ..BaselineSettings::default() };
    let cost = baseline::continuous(&b, &settings, &[]).unwrap().tracked.cost();
    assert!((cost / value(&golden(), "acrobot", "continuous") - 1.0).abs() < 1e-3, "{cost}");
}

#[test]
fn bad_settings_are_refused() {
    let b = Benchmark::find("pendulum").unwrap();
    let refuse = |settings: BaselineSettings| baseline::all(&b, &settings).unwrap_err().to_string();
    let default = BaselineSettings::default();
    assert_eq!(
        refuse(BaselineSettings { intervals: 0, ..default.clone() }),
        "the number of intervals must be at least 1, not 0"
    );
    assert_eq!(
        refuse(BaselineSettings { holds: Some(0), ..default.clone() }),
        "the number of holds must be at least 1, not 0"
    );
    assert!(refuse(BaselineSettings { period: Some(f64::NAN), ..default }).contains("control period"));
}
