//! Plans under rate limits.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::plan::{ForwardPass, Ilqr, Plan, Problem, RateConstraint, Settings, Start, uniform_grid};
use ocorl::system::{Benchmark, Bounds, Dynamics, KnownSystem, RateLimit};

fn largest_rate(plan: &Plan, rates: &RateConstraint<'_>) -> Vec<f64> {
    let mut largest = vec![0.0_f64; rates.max_rate.len()];
    for k in 0..plan.controls.len() {
        let (before, time) = if k == 0 {
            (rates.before, rates.since)
        } else {
            (plan.controls.at(k - 1), plan.times[k] - plan.times[k - 1])
        };
        for (largest, (u, before)) in largest.iter_mut().zip(plan.controls.at(k).iter().zip(before)) {
            *largest = largest.max((u - before).abs() / time);
        }
    }
    largest
}

fn cost(b: &KnownSystem, problem: &Problem<'_>, controls: &[f64]) -> f64 {
    let evaluate = Settings { max_iterations: 0, ..Settings::default() };
    let guess = ocorl::plan::Guess { controls, states: None };
    Ilqr::new(evaluate).solve(b.dynamics().as_mut(), problem, guess).unwrap().cost
}

#[test]
fn plans_obey_the_rate_and_the_bounds_with_both_forward_passes() {
    for (name, rates, bound) in [
        ("pendulum", vec![2.0], 3.0),
        ("cart-pole", vec![3.0], 5.0),
        ("quadrotor-2d", vec![4.0, f64::INFINITY], 20.0),
        ("bicycle", vec![f64::INFINITY, 0.5], 5.0),
    ] {
        let mut b = Benchmark::find(name).unwrap();
        b.task.control_bounds = Bounds::symmetric(vec![bound; b.dims().control]);
        let times = uniform_grid(b.task.horizon, 100);
        assert!(Problem::of(&b.task, &times).rate_limit.is_none());
        let start = Start::constant(&b.task.safe_control, 100);
        let plan = |task: &ocorl::system::Task, forward: ForwardPass| {
            let settings = Settings { forward, ..Settings::default() };
            Ilqr::new(settings)
                .plan(b.dynamics().as_mut(), &Problem::of(task, &times), start.guess())
                .unwrap()
        };
        let unlimited = plan(&b.task, ForwardPass::Rollout);
        let mut task = b.task.clone();
        task.rate_limit = Some(RateLimit { max_rate: rates.clone(), period: 0.02 });
        let problem = Problem::of(&task, &times);
        let limit = problem.rate_limit.unwrap();
        assert_eq!(limit.before, task.safe_control);
        let exceeded = |found: &[f64]| found.iter().zip(&rates).any(|(f, r)| *f > r * (1.0 + 1e-9));
        assert!(exceeded(&largest_rate(&unlimited, &limit)), "{name}: the limit is none");
        let both: Vec<Plan> =
            [ForwardPass::Rollout, ForwardPass::Batch].into_iter().map(|f| plan(&task, f)).collect();
        for found in &both {
            let largest = largest_rate(found, &limit);
            assert!(!exceeded(&largest), "{name}: {largest:?} of {rates:?}");
            assert!(found.controls.iter().all(|u| task.control_bounds.violated_by(u).is_none()), "{name}");
        }
    }
}

/// On a convex problem nothing near the plan is better: small changes that keep the limits cost more.
#[test]
fn a_plan_at_its_rate_limit_is_optimal() {
    let mut b = Benchmark::find("pendulum").unwrap();
    // Near the upright position, where the problem is convex.
    b.task.initial_state = vec![0.2, 0.0];
    b.task.control_bounds = Bounds::symmetric([1.5]);
    b.task.rate_limit = Some(RateLimit { max_rate: vec![1.0], period: 0.05 });
    let n = 40;
    let times = uniform_grid(4.0, n);
    let problem = Problem::of(&b.task, &times);
    let start = Start::constant(&[0.0], n);
    let plan = Ilqr::default().plan(b.dynamics().as_mut(), &problem, start.guess()).unwrap();
    let limit = problem.rate_limit.unwrap();
    let at_limit = (1..n)
        .filter(|&k| (plan.controls.at(k)[0] - plan.controls.at(k - 1)[0]).abs() > 0.1 * (1.0 - 1e-9))
        .count();
    assert!(at_limit >= 5, "{at_limit} steps at the limit");
    assert!(largest_rate(&plan, &limit)[0] <= 1.0 + 1e-9);
    let best = cost(&b, &problem, plan.controls.as_slice());
    assert!((best / plan.cost - 1.0).abs() < 1e-12);
    let mut rng = ocorl::random::Stream::root(1).rng();
    for trial in 0..3_000 {
        // A bump of random place, width and size; the planner itself moves it into the limits.
        let (from, length) = (rng.below(n), 1 + rng.below(n));
        let size = [1e-1, 1e-2, 1e-3][trial % 3] * rng.normal();
        let mut u = plan.controls.as_slice().to_vec();
        u.iter_mut().skip(from).take(length).for_each(|u| *u += size);
        let other = cost(&b, &problem, &u);
        assert!(other >= best - 1e-9 * best.abs(), "trial {trial}: {other} below {best}");
    }
}

#[test]
fn one_step_of_a_linear_system_is_clamped_exactly() {
    let mut b = Benchmark::find("pendulum").unwrap();
    b.task.rate_limit = Some(RateLimit { max_rate: vec![2.0], period: 0.25 });
    b.task.safe_control = vec![0.1];
    let times = [0.0, 1.0];
    let plan = Ilqr::default()
        .plan(b.dynamics().as_mut(), &Problem::of(&b.task, &times), Start::constant(&[50.0], 1).guess())
        .unwrap();
    // The first control has one period, from the safe control.
    assert!((plan.controls.at(0)[0] - 0.1).abs() <= 0.5 + 1e-12, "{:?}", plan.controls);
    let f: &mut dyn Dynamics = &mut *b.dynamics();
    for wrong in [0.0, -1.0, f64::NAN] {
        let limit = RateLimit { max_rate: vec![wrong], period: 0.25 };
        let problem =
            Problem { rate_limit: Some(RateConstraint::new(&limit, &[0.0])), ..Problem::of(&b.task, &times) };
        assert!(Ilqr::default().plan(f, &problem, Start::constant(&[0.0], 1).guess()).is_err(), "{wrong}");
    }
}
