//! Policies under disturbances, limits, faults.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::linalg::Blocks;
use ocorl::plan::{Ilqr, Plan, Problem, Start, Transcription, uniform_grid};
use ocorl::random::{Rng, Stream};
use ocorl::simulate::{Experiment, Outcome, Policy, PolicyError, Run, Simulator, Trajectory};
use ocorl::system::{Benchmark, Bounds, KnownSystem, RateLimit};
use ocorl::track::{
    FallbackLevel, FallbackReason, FallbackSettings, Feedback, Follower, Hold, MpcSettings, Receding,
    Reference, SolveAttempt, SolveError, SolveRequest, Solver, mpc, rate_limited, replan,
};

fn plan(b: &KnownSystem, intervals: usize) -> Plan {
    let times = uniform_grid(b.task.horizon, intervals);
    let problem = Problem::of(&b.task, &times);
    let start = Start::constant(&b.task.safe_control, intervals);
    Ilqr::default().plan(b.dynamics().as_mut(), &problem, start.guess()).unwrap()
}

fn reference(b: &KnownSystem, plan: &Plan) -> Reference {
    Reference::new(plan.clone(), b.dynamics().as_mut(), &b.task.angles)
}

/// The closed-loop policies on the true model; the last updates ten times less often, and follows its gains in between.
fn policies(b: &KnownSystem, plan: &Plan) -> Vec<(&'static str, Box<dyn Policy>)> {
    let fallback = &FallbackSettings::of(&b.task);
    let tracking = MpcSettings::new(b.dims(), b.paper().unwrap().tracking_horizon);
    let (cost, transcription) = (b.task.cost.clone(), Transcription::default());
    let seldom = MpcSettings { period: 0.2, ..tracking.clone() };
    let with_gains = mpc(reference(b, plan), b.dynamics(), seldom, fallback).with_gains();
    vec![
        ("feedback", Box::new(Feedback::new(reference(b, plan), fallback))),
        ("mpc", Box::new(mpc(reference(b, plan), b.dynamics(), tracking, fallback))),
        ("replan", Box::new(replan(reference(b, plan), b.dynamics(), cost, transcription, 0.1, fallback))),
        ("mpc with gains", Box::new(with_gains)),
    ]
}

/// Runs to `hit`, pushes the state by `push`, runs on to the end; returns the last part.
fn with_hit(b: &KnownSystem, policy: &mut dyn Policy, start: &[f64], hit: f64, push: &[f64]) -> Run {
    let simulator = Simulator::new(1e-8);
    let first = Experiment { initial_state: start, end: hit, ..Experiment::of(&b.task) };
    let before = simulator.run(b.dynamics().as_mut(), policy, &first);
    assert_eq!(before.outcome, Outcome::Completed);
    let state: Vec<f64> = before.final_state().iter().zip(push).map(|(x, d)| x + d).collect();
    let second = Experiment { initial_state: &state, start: hit, ..Experiment::of(&b.task) };
    simulator.run(b.dynamics().as_mut(), policy, &second)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn gains_between_updates_are_worth_ten_updates() {
    // Started off the plan, MPC that updates every 0.2 s and follows its gains costs what MPC does that updates every 0.02 s.
    for name in ["pendulum", "cart-pole", "bicycle"] {
        let b = Benchmark::find(name).unwrap();
        let plan = plan(&b, 200);
        let start: Vec<f64> = b.task.initial_state.iter().map(|x| x + 0.05).collect();
        let experiment = Experiment { initial_state: &start, ..Experiment::of(&b.task) };
        let costs: Vec<f64> = policies(&b, &plan)
            .into_iter()
            .filter(|(label, _)| label.starts_with("mpc"))
            .map(|(_, mut policy)| {
                Simulator::new(1e-8).run(b.dynamics().as_mut(), policy.as_mut(), &experiment).cost()
            })
            .collect();
        assert!((costs[1] / costs[0] - 1.0).abs() < 2e-3, "{name}: {costs:?}");
    }
}

#[test]
fn closed_loop_policies_reject_disturbances_that_open_loop_does_not() {
    for (name, start_off, push) in [
        ("pendulum", vec![0.1, -0.1], vec![0.0, 0.3]),
        ("cart-pole", vec![0.05, 0.0, 0.1, 0.0], vec![0.05, 0.1, 0.0, 0.2]),
        ("quadrotor-2d", vec![0.2, -0.2, 0.05, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.1, 0.3, -0.3, 0.0]),
    ] {
        let b = Benchmark::find(name).unwrap();
        let plan = plan(&b, 200);
        let start: Vec<f64> = b.task.initial_state.iter().zip(&start_off).map(|(x, d)| x + d).collect();
        let target = plan.states.at(200).to_vec();
        let hit = 0.4 * b.task.horizon;
        let open = with_hit(&b, &mut Hold::new(&plan, &FallbackSettings::of(&b.task)), &start, hit, &push);
        let missed = distance(open.final_state(), &target);
        for (label, mut policy) in policies(&b, &plan) {
            let run = with_hit(&b, policy.as_mut(), &start, hit, &push);
            assert_eq!(run.outcome, Outcome::Completed, "{name} {label}");
            let left = distance(run.final_state(), &target);
            // Not zero: towards the end of the plan nothing is left to gain, so the gains fade.
            assert!(
                left < 0.3 && left < 0.1 * missed,
                "{name} {label}: {left} from the target, open loop {missed}"
            );
        }
    }
}

#[test]
fn on_the_plan_every_policy_costs_what_the_plan_costs() {
    for name in ["pendulum", "bicycle", "mountain-car"] {
        let b = Benchmark::find(name).unwrap();
        let plan = plan(&b, 200);
        for (label, mut policy) in policies(&b, &plan) {
            let run =
                Simulator::new(1e-9).run(b.dynamics().as_mut(), policy.as_mut(), &Experiment::of(&b.task));
            // Replanning may even improve a little: it chooses its controls anew between the plan's nodes.
            assert!(
                (run.cost() / plan.cost - 1.0).abs() < 2e-4,
                "{name} {label}: {} and {}",
                run.cost(),
                plan.cost
            );
        }
    }
}

#[test]
fn limits_hold_at_every_instant_under_disturbances() {
    let mut b = Benchmark::find("pendulum").unwrap();
    b.set_limits("torque", -2.0, 1.5).unwrap();
    let plan = plan(&b, 150);
    for (label, mut policy) in policies(&b, &plan) {
        let run = with_hit(&b, policy.as_mut(), &[3.0, 0.5], 3.0, &[0.5, -1.0]);
        assert!(
            run.controls.as_slice().iter().all(|u| (-2.0..=1.5).contains(u)),
            "{label}: {:?}",
            run.controls.as_slice().iter().fold((0.0_f64, 0.0_f64), |m, u| (m.0.min(*u), m.1.max(*u)))
        );
    }
}

#[test]
fn an_angle_that_wraps_is_no_deviation() {
    let b = Benchmark::find("pendulum").unwrap();
    let plan = plan(&b, 150);
    for (label, mut policy) in policies(&b, &plan) {
        let (mut plain, mut turned) = ([0.0], [0.0]);
        policy.prepare(0.0, &[3.0, 0.1]).unwrap();
        policy.control(0.0, &[3.0, 0.1], &mut plain);
        let (_, mut other) = policies(&b, &plan).into_iter().find(|p| p.0 == label).unwrap();
        let state = [3.0 - std::f64::consts::TAU, 0.1];
        other.prepare(0.0, &state).unwrap();
        other.control(0.0, &state, &mut turned);
        assert!((plain[0] - turned[0]).abs() < 1e-9, "{label}: {} and {}", plain[0], turned[0]);
    }
}

#[test]
fn before_it_is_prepared_a_policy_gives_the_safe_control_within_limits() {
    let mut b = Benchmark::find("pendulum").unwrap();
    let plan = plan(&b, 50);
    // Zero, the safe control, is outside.
    b.task.control_bounds = Bounds { lower: vec![0.5], upper: vec![1.0] };
    let mut all = policies(&b, &plan);
    all.push(("hold", Box::new(Hold::new(&plan, &FallbackSettings::of(&b.task)))));
    for (label, mut policy) in all {
        let mut u = [9.0];
        policy.control(0.0, &[3.0, 0.0], &mut u);
        assert_eq!(u, [0.5], "{label}");
    }
}

#[test]
fn after_the_plan_comes_the_safe_control() {
    let b = Benchmark::find("quadrotor-2d").unwrap();
    let plan = plan(&b, 50);
    for (label, mut policy) in policies(&b, &plan) {
        let mut u = [9.0, 9.0];
        policy.prepare(8.0, &[0.0; 6]).unwrap();
        policy.control(8.0, &[0.0; 6], &mut u);
        assert_eq!(u.as_slice(), b.task.safe_control, "{label}");
    }
}

/// What a [`Faulty`] solver does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Error,
    NotANumber,
    Infinite,
    Huge,
    WrongSize,
    Empty,
    TimesReversed,
    Stale,
}

const FAULTS: [Fault; 9] = [
    Fault::None,
    Fault::Error,
    Fault::NotANumber,
    Fault::Infinite,
    Fault::Huge,
    Fault::WrongSize,
    Fault::Empty,
    Fault::TimesReversed,
    Fault::Stale,
];

/// A solver of one interval that fails in every way we could think of.
struct Faulty<F>(F);

impl<F: FnMut(f64) -> Fault> Solver for Faulty<F> {
    fn solve(
        &mut self,
        _: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let SolveRequest { time, state, .. } = *request;
        let fault = (self.0)(time);
        out.times = vec![time, time + 0.05, time + 0.1];
        out.states = Blocks::from_vec(state.repeat(3), 2);
        out.controls = Blocks::from_vec(vec![0.1, 0.1], 1);
        out.gains = Blocks::from_vec(vec![0.0; 4], 2);
        match fault {
            Fault::None => {}
            Fault::Error => return Err(SolveError("injected".into())),
            Fault::NotANumber => out.controls.as_mut_slice()[0] = f64::NAN,
            Fault::Infinite => out.states.as_mut_slice()[2] = f64::INFINITY,
            Fault::Huge => out.controls.as_mut_slice().fill(1e300),
            Fault::WrongSize => out.controls = Blocks::from_vec(vec![0.0; 4], 2),
            Fault::Empty => *out = Trajectory::default(),
            Fault::TimesReversed => out.times.reverse(),
            Fault::Stale => out.times = vec![time - 1.0, time - 0.9, time - 0.8],
        }
        Ok(())
    }
}

fn receding<F: FnMut(f64) -> Fault>(b: &KnownSystem, limits: Bounds, fault: F) -> Receding<Faulty<F>> {
    // Any state may occur: these tests are about the solver, not about limits of states.
    let settings = FallbackSettings {
        bounds: limits,
        max_fallbacks: usize::MAX,
        state_bounds: Bounds::none(b.task.states.len()),
        ..FallbackSettings::of(&b.task)
    };
    Receding::new(reference(b, &plan(b, 50)), Faulty(fault), 0.01, &settings)
}

#[test]
fn no_fault_of_a_solver_reaches_the_plant() {
    let b = Benchmark::find("pendulum").unwrap();
    for limits in [(-0.5, 0.5), (0.0, 0.0), (0.2, 0.3), (-1e-300, 1e-300), (f64::NEG_INFINITY, 0.4)] {
        let bounds = Bounds { lower: vec![limits.0], upper: vec![limits.1] };
        let mut rng = Stream::root(8).child("faults").rng();
        let mut policy = receding(&b, bounds, |_| FAULTS[rng.below(9)]);
        let mut states = Stream::root(8).child("states").rng();
        let mut u = [0.0];
        for step in 0..2_000 {
            let time = f64::from(step) * 0.005;
            let state = random_state(&mut states);
            policy.prepare(time, &state).unwrap();
            policy.control(time, &state, &mut u);
            assert!(
                u[0].is_finite() && u[0] >= limits.0 && u[0] <= limits.1,
                "step {step}: {} in {limits:?}",
                u[0]
            );
        }
        let counts = policy.follower().level_counts();
        // The solver answers 0.1, or a fault: a solution beyond the limits is not followed.
        let allowed = (limits.0..=limits.1).contains(&0.1);
        assert_eq!((counts[0] > 0, counts[1] > 0), (allowed, allowed), "{limits:?}: {counts:?}");
    }
}

/// Mostly sensible, sometimes a spike or not a number.
fn random_state(rng: &mut Rng) -> [f64; 2] {
    let spike = match rng.below(20) {
        0 => f64::NAN,
        1 => 1e6,
        2 => f64::NEG_INFINITY,
        _ => 0.0,
    };
    [rng.normal() + spike, rng.normal()]
}

#[test]
fn levels_are_taken_in_order_and_a_healthy_solve_recovers_at_once() {
    let b = Benchmark::find("pendulum").unwrap();
    let healthy = |t: f64| !(0.035..0.505).contains(&t);
    let mut policy = receding(&b, Bounds::none(1), |t| if healthy(t) { Fault::None } else { Fault::Error });
    let mut levels = Vec::new();
    for step in 0..=51 {
        policy.prepare(f64::from(step) * 0.01, &[3.0, 0.0]).unwrap();
        levels.push(policy.level());
    }
    assert_eq!(levels[..4], [FallbackLevel::Fresh; 4]);
    // The last good segment ends 0.1 after t = 0.03.
    assert!(levels[4..13].iter().all(|r| *r == FallbackLevel::Shifted), "{levels:?}");
    assert!(levels[14..51].iter().all(|r| *r == FallbackLevel::Planned), "{levels:?}");
    assert_eq!(levels[51], FallbackLevel::Fresh);
}

#[test]
fn a_controller_that_only_falls_back_gives_up_and_the_run_says_so() {
    let b = Benchmark::find("pendulum").unwrap();
    let settings = &FallbackSettings::of(&b.task);
    let mut policy = Receding::new(reference(&b, &plan(&b, 50)), Faulty(|_| Fault::Error), 0.02, settings);
    let run = Simulator::default().run(b.dynamics().as_mut(), &mut policy, &Experiment::of(&b.task));
    match run.outcome {
        Outcome::ControllerGaveUp { error: PolicyError::GaveUp { fallbacks: 11, .. }, time } => {
            assert!((time - 0.2).abs() < 1e-9, "{time}");
        }
        ref other => panic!("{other:?}"),
    }
    assert!(run.cost().is_finite());
}

/// A pendulum whose torque changes by at most `rate` per second and is set every `period`.
fn slow_pendulum(rate: f64, period: f64) -> KnownSystem {
    let mut b = Benchmark::find("pendulum").unwrap();
    b.set_limits("torque", -3.0, 3.0).unwrap();
    b.task.rate_limit = Some(RateLimit { max_rate: vec![rate], period });
    b
}

/// Largest speed of a control that is set at most once in `period`, the first time from `safe`.
fn fastest(run: &Run, period: f64, safe: f64) -> f64 {
    let mut before = (run.times[0] - period, safe);
    let mut fastest = 0.0_f64;
    for (&time, &u) in run.times.iter().zip(run.controls.as_slice()) {
        if u != before.1 {
            // The run's clock rounds.
            fastest = fastest.max((u - before.1).abs() / (time - before.0 + 1e-9));
            before = (time, u);
        }
    }
    fastest
}

#[test]
fn a_run_under_a_rate_limit_is_slewed_from_the_safe_control_at_every_step() {
    let b = slow_pendulum(4.0, 0.05);
    let plan = plan(&b, 100);
    let fallback = &FallbackSettings::of(&b.task);
    let mut all = policies(&b, &plan);
    all.push(("hold", Box::new(Hold::new(&plan, fallback))));
    for (label, policy) in all {
        let policy: Box<dyn Policy> = match label {
            "feedback" => {
                rate_limited(Box::new(Feedback::new(reference(&b, &plan), fallback)), fallback, None)
            }
            "hold" => rate_limited(Box::new(Hold::new(&plan, fallback)), fallback, None),
            _ => policy,
        };
        let mut policy = policy;
        let run = Simulator::default().run(b.dynamics().as_mut(), policy.as_mut(), &Experiment::of(&b.task));
        assert_eq!(run.outcome, Outcome::Completed, "{label}");
        let fastest = fastest(&run, 0.05, 0.0);
        // As fast as is allowed, because the plan is; and no faster.
        assert!(fastest <= 4.0 + 1e-6, "{label}: {fastest} per second");
        assert!(fastest > 3.0, "{label}: {fastest} per second");
        // Without feedback the pendulum falls once the slewed control lags behind the steps of the plan.
        let near = run.cost() < 1.25 * plan.cost;
        assert!(near || label == "hold", "{label}: {} for a plan of {}", run.cost(), plan.cost);
    }
}

/// A solver whose solution is far from the plan, and changes within its intervals.
fn moving(request: &SolveRequest<'_>, out: &mut Trajectory) -> SolveAttempt {
    let (t, x) = (request.time, request.state);
    out.times = vec![t, t + 0.1, t + 0.2];
    out.states = Blocks::from_vec([x, &[x[0] + 1.0, x[1] - 1.0], &[x[0] + 2.0, x[1]]].concat(), 2);
    out.controls = Blocks::from_vec(vec![0.3, 0.2], 1);
    out.gains = Blocks::from_vec(vec![1.0, 0.5, 1.0, 0.5], 2);
    SolveAttempt::Solved
}

fn follower(b: &KnownSystem, max_dropouts: usize) -> Follower {
    let settings = FallbackSettings { max_dropouts, ..FallbackSettings::of(&b.task) };
    Follower::new(reference(b, &plan(b, 50)), 0.02, &settings)
}

#[test]
fn a_shifted_solution_is_followed_between_its_nodes() {
    let b = Benchmark::find("pendulum").unwrap();
    let (mut follower, mut u) = (follower(&b, 3), [0.0]);
    let x = [3.0, 0.1];
    assert_eq!(follower.step(0.0, &x, Some(&mut moving), &mut u).level, FallbackLevel::Fresh);
    assert_eq!(u, [0.3]);
    let mut late = |_: &SolveRequest<'_>, _: &mut Trajectory| SolveAttempt::Late;
    let status = follower.step(0.05, &x, Some(&mut late), &mut u);
    assert_eq!(
        (status.level, status.reason, status.missed),
        (FallbackLevel::Shifted, Some(FallbackReason::Late), true)
    );
    // Half way between the nodes x̄ = x + (0.5, −0.5).
    assert!((u[0] - (0.3 - 0.5 + 0.25)).abs() < 1e-12, "{u:?}");
}

#[test]
fn dropouts_are_bridged_open_loop_and_then_the_control_is_safe() {
    let b = Benchmark::find("pendulum").unwrap();
    let plan = plan(&b, 50);
    let (mut follower, mut u, nan) = (follower(&b, 3), [0.0], [f64::NAN, 0.0]);
    // Nothing is known yet: there is nothing to bridge.
    assert_eq!(follower.step(0.0, &nan, None, &mut u).level, FallbackLevel::Safe);
    let x = [3.0, 0.4];
    for k in 1..4 {
        follower.step(0.02 * f64::from(k), &x, None, &mut u);
        assert_ne!(u[0], 0.0);
    }
    for k in 4..9 {
        let status = follower.step(0.02 * f64::from(k), &nan, None, &mut u);
        let (level, control) =
            if k < 7 { (FallbackLevel::Planned, plan.controls.at(0)[0]) } else { (FallbackLevel::Safe, 0.0) };
        assert_eq!((status.level, status.reason), (level, Some(FallbackReason::BadState)), "{k}");
        assert_eq!(u[0], control, "{k}");
    }
    // A state counts from the first on, and a line that cannot be read is a dropout like any other.
    assert_eq!(follower.step(0.2, &x, Some(&mut moving), &mut u).level, FallbackLevel::Fresh);
    let status = follower.dropout(0.21, true, &mut u);
    assert_eq!((status.level, status.reason), (FallbackLevel::Shifted, Some(FallbackReason::NoState)));
    assert_eq!(u, [0.3]);
    assert_eq!(follower.step(0.205, &x, None, &mut u).reason, None, "the time of a dropout is a guess");
}

#[test]
fn one_stamp_far_ahead_is_forgiven_and_a_clock_that_restarts_is_not() {
    let b = Benchmark::find("pendulum").unwrap();
    let (mut follower, mut u, x) = (follower(&b, 3), [0.0], [3.0, 0.0]);
    let mut at = |t: f64| follower.step(t, &x, None, &mut u).reason;
    assert_eq!([at(1.0), at(1.02), at(57.0)], [None, None, Some(FallbackReason::Expired)]);
    assert_eq!([at(1.06), at(1.08)], [None, None], "goes on where it was");
    assert_eq!([at(5.0), at(5.02), at(5.04)], [None, None, None], "the plant was silent for a while");
    assert_eq!([at(0.0), at(0.02), at(0.04)], [Some(FallbackReason::Backwards); 3], "restarted");
    assert_eq!([at(1.1), at(f64::NAN)], [Some(FallbackReason::Backwards), Some(FallbackReason::BadTime)]);
    assert_eq!(at(5.06), None);
    follower.reset();
    assert_eq!(follower.step(0.0, &x, None, &mut u).reason, None);
}
