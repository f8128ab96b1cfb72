//! Limits of the states as constraints of a plan, against a closed form, and a task that is learned along a limit.

use ocorl::learn::Caution;
use ocorl::plan::plan_within_limits;
use ocorl::prelude::*;
use ocorl::system::Backup;
use ocorl::track::{FallbackSettings, MpcSettings, MpcSolver, SolveRequest, Solver};
use std::sync::Arc;

fn double_integrator(damping: f64) -> impl Dynamics {
    NumericJacobian::new(Dims { state: 2, control: 1 }, move |x: &[f64], u: &[f64], out: &mut [f64]| {
        out.copy_from_slice(&[x[1], u[0] - damping * x[1]]);
    })
}

/// The least ∫ u² dt + w (x(1) − 1)² of x'' = u from rest with v ≤ `limit`: the force falls linearly to zero at t₁ and vanishes
/// afterwards, so that v(t₁) is the limit, x(1) = limit (1 − t₁/3) and ∫ u² dt = 4 limit²/(3 t₁).
fn closed_form(limit: f64, w: f64) -> f64 {
    let cost = |t1: f64| 4.0 * limit * limit / (3.0 * t1) + w * (limit * (1.0 - t1 / 3.0) - 1.0).powi(2);
    (1..=100_000).map(|i| cost(f64::from(i) * 1e-5)).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_plan_along_a_speed_limit_has_the_cost_of_the_closed_form() {
    let weight = 1000.0;
    let cost = QuadraticCost::new([0.0, 0.0], [1.0]).terminal_weights([weight, 0.0]).state_target([1.0, 0.0]);
    let times = uniform_grid(1.0, 200);
    for limit in [1.05, 1.2, 1.4] {
        let bounds = Bounds { lower: vec![f64::NEG_INFINITY; 2], upper: vec![f64::INFINITY, limit] };
        let problem = Problem {
            cost: &cost,
            initial_state: &[0.0, 0.0],
            times: &times,
            control_bounds: &Bounds::none(1),
            rate_limit: None,
            state_bounds: Some(&bounds),
            constraints: PathConstraints::default(),
            transcription: Transcription::default(),
        };
        // The first start is inside the limits, the second one far outside.
        for start in [0.0, 30.0] {
            let start = Start::constant(&[start], 200);
            let plan = plan_within_limits(
                &mut double_integrator(0.0),
                &problem,
                &ocorl::plan::Settings::default(),
                &start,
            )
            .expect("a plan");
            let fastest = plan.states.iter().map(|x| x[1]).fold(0.0, f64::max);
            assert!(fastest <= limit + 1e-6, "{fastest} under a limit of {limit}");
            let expected = closed_form(limit, weight);
            // The control is constant on each of 200 intervals: the loss is of second order in their length.
            assert!((plan.cost / expected - 1.0).abs() < 1e-3, "{} for {expected}", plan.cost);
        }
    }
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let b = Benchmark::find("pendulum").expect("a benchmark");
    let times = uniform_grid(b.task.horizon, 100);
    let free = Problem::of(&b.task, &times);
    let limited = Problem { state_bounds: Some(&b.task.state_bounds), ..free };
    let start = Start::constant(&[0.5], 100);
    let plan = |problem: &Problem<'_>| {
        plan_within_limits(b.dynamics().as_mut(), problem, &ocorl::plan::Settings::default(), &start)
            .expect("a plan")
    };
    assert_eq!(plan(&free).controls, plan(&limited).controls);
}

#[test]
fn limits_that_cannot_be_kept_are_named() {
    let bounds = Bounds { lower: vec![f64::NEG_INFINITY, -0.1], upper: vec![0.5, 2.0] };
    let cost = QuadraticCost::new([1.0, 0.0], [1.0]);
    let times = uniform_grid(1.0, 50);
    let problem = Problem {
        cost: &cost,
        // At a speed of 1.5 and with forces of at most 0.1 the position passes 0.5 before t = 1.
        initial_state: &[0.0, 1.5],
        times: &times,
        control_bounds: &Bounds::symmetric([0.1]),
        rate_limit: None,
        state_bounds: Some(&bounds),
        constraints: PathConstraints::default(),
        transcription: Transcription::default(),
    };
    let start = Start::constant(&[0.0], 50);
    let error =
        plan_within_limits(&mut double_integrator(0.0), &problem, &ocorl::plan::Settings::default(), &start)
            .expect_err("nothing stops in time");
    let PlanError::OutsideLimits { state, by, .. } = error else { panic!("{error}") };
    assert_eq!(state, 0);
    assert!(by > 0.5, "{by}");
}

/// A cart on a track from x = 4 to rest, with |v| ≤ 1.5: the optimum moves at the limit for a part of the time.
fn cart() -> Task {
    Task {
        states: Quantity::list([("x", "m"), ("v", "m/s")]),
        controls: Quantity::list([("u", "N")]),
        initial_state: vec![4.0, 0.0],
        horizon: 6.0,
        cost: Arc::new(QuadraticCost::new([1.0, 0.1], [0.1])),
        angles: vec![],
        control_bounds: Bounds::symmetric([5.0]),
        state_bounds: Bounds { lower: vec![f64::NEG_INFINITY, -1.5], upper: vec![f64::INFINITY, 1.5] },
        safe_control: vec![0.0],
        rate_limit: None,
        backup: None,
        constraints: None,
        noise_std: vec![1e-3; 2],
    }
}

#[test]
fn a_task_is_learned_along_a_limit() {
    let task = cart();
    let times = uniform_grid(task.horizon, 300);
    let problem = Problem { state_bounds: Some(&task.state_bounds), ..Problem::of(&task, &times) };
    let start = Start::constant(&[0.0], 300);
    let optimum =
        plan_within_limits(&mut double_integrator(0.3), &problem, &ocorl::plan::Settings::default(), &start)
            .expect("a plan")
            .cost;
    for seed in 0..1 {
        let mut learner = Learner::builder(task.clone()).seed(seed).build().expect("sound settings");
        let mut plant =
            SimulatedPlant::new(task.clone(), Box::new(double_integrator(0.3)), Stream::root(seed));
        let mut last = Vec::new();
        for _ in 0..6 {
            let mut proposal = learner.propose(&mut ());
            let results: Vec<_> = proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
            learner.observe(&results, &mut ());
            last.push((results[0].outcome.clone(), results[0].cost));
        }
        let (outcome, cost) = last.last().expect("six episodes");
        assert_eq!(*outcome, Outcome::Completed, "seed {seed}: {last:?}");
        assert!((1.0 - 1e-3..1.02).contains(&(cost / optimum)), "seed {seed}: {last:?}, optimum {optimum}");
    }
}

/// Runs six episodes of a task, with caution or without, and returns outcome, cost and fastest |v| of each.
fn six_episodes(task: &Task, caution: Caution, seed: u64) -> Vec<(Outcome, f64, f64)> {
    let settings = Settings { caution, ..Settings::new(task) };
    let mut learner =
        Learner::builder(task.clone()).settings(settings).seed(seed).build().expect("a learner");
    let mut plant = SimulatedPlant::new(task.clone(), Box::new(double_integrator(0.3)), Stream::root(seed));
    (0..6)
        .map(|_| {
            let mut proposal = learner.propose(&mut ());
            let results: Vec<_> = proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
            learner.observe(&results, &mut ());
            let fastest = results[0].trajectory.states.iter().map(|x| x[1].abs()).fold(0.0, f64::max);
            (results[0].outcome.clone(), results[0].cost, fastest)
        })
        .collect()
}

#[test]
fn a_cautious_learner_with_a_backup_controller_learns_to_move_along_a_limit_without_a_violation() {
    let brake = Backup { state: vec![0.0; 2], control: vec![0.0], gains: vec![vec![0.0, -2.0]] };
    let task = Task { horizon: 10.0, backup: Some(brake), ..cart() };
    let times = uniform_grid(task.horizon, 300);
    let problem = Problem { state_bounds: Some(&task.state_bounds), ..Problem::of(&task, &times) };
    let start = Start::constant(&[0.0], 300);
    let search = ocorl::plan::Settings::default();
    let optimum =
        plan_within_limits(&mut double_integrator(0.3), &problem, &search, &start).expect("a plan").cost;
    // Without caution the first excitation leaves the limit.
    let careless = six_episodes(&task, Caution::Off, 0);
    assert!(matches!(careless[0].0, Outcome::LimitHit { state: 1, .. }), "{careless:?}");
    let episodes = six_episodes(&task, Caution::On, 0);
    for (outcome, _, fastest) in &episodes {
        assert!(*outcome == Outcome::Completed && *fastest <= 1.5, "{episodes:?}");
    }
    // The first excitation stops short of the limit, and moves the cart.
    assert!((0.2..1.5).contains(&episodes[0].2), "{episodes:?}");
    let (_, cost, _) = episodes.last().expect("six episodes");
    assert!((1.0 - 1e-3..1.02).contains(&(cost / optimum)), "{episodes:?}, optimum {optimum}");
}

#[test]
fn a_tracker_holds_a_limit_softly_and_returns_from_outside() {
    // The reference asks for a speed of 2; the limit is 1.5.
    let task = cart();
    let times = uniform_grid(2.0, 40);
    let mut f = double_integrator(0.0);
    let states: Vec<f64> = times.iter().flat_map(|t| [4.0 - 2.0 * t, -2.0]).collect();
    let trajectory = Trajectory {
        states: Blocks::from_vec(states, 2),
        controls: Blocks::zeros(1, 40),
        gains: Blocks::zeros(2, 40),
        slopes: Blocks::zeros(4, 0),
        costs: Vec::new(),
        times,
    };
    let reference = Reference::new(Plan::given(trajectory, 1.0), &mut f, &[]);
    let fallback = FallbackSettings::of(&task);
    let settings = MpcSettings::new(task.dims(), 1.0);
    let solver = |bounds: &Bounds| {
        MpcSolver::new(Box::new(double_integrator(0.0)), settings.clone(), fallback.bounds.clone())
            .with_state_bounds(bounds)
    };
    let fastest = |bounds: &Bounds, v: f64| {
        let mut out = Trajectory::default();
        let request = SolveRequest { time: 0.0, state: &[4.0, v], applied: &[0.0], previous: None };
        solver(bounds).solve(&reference, &request, &mut out).expect("a solution");
        out.states.iter().skip(3).map(|x| -x[1]).fold(f64::MIN, f64::max)
    };
    let free = fastest(&Bounds::none(2), -1.4);
    let held = fastest(&task.state_bounds, -1.4);
    assert!(free > 1.55 && held <= 1.5, "{free} {held}");
    // From outside it returns; a hard limit would leave no solution.
    assert!(fastest(&task.state_bounds, -1.8) <= 1.55);
}
