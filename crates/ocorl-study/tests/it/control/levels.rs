//! Which fallback level is taken, and when the controller recovers, gives up or says no.

use crate::control::faults::{Fault, faulty, quietly};
use crate::support;
use ocorl::linalg::{Linearization, Points};
use ocorl::random::Stream;
use ocorl::simulate::Trajectory;
use ocorl::system::{Benchmark, Dims, Dynamics};
use ocorl::track::{FallbackLevel, FallbackReason, MpcSolver, SolveRequest, Solver};
use ocorl_study::control::{Controller, Simulated, Virtual, reference};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_healthy_solve_recovers_at_once_after_a_hundred_failures_that_start_cold() {
    let plan = support::plan_file("pendulum", 200);
    let (posed, failures) = (Arc::new(std::sync::Mutex::new(Vec::new())), 5..105);
    let (seen, sick, mut calls) = (posed.clone(), failures.clone(), 0);
    let (mut controller, _) = faulty(&plan, usize::MAX, move |_, previous| {
        seen.lock().unwrap().push(previous.is_some());
        calls += 1;
        if sick.contains(&(calls - 1)) { Fault::Error } else { Fault::None }
    });
    let mut u = [0.0];
    let statuses: Vec<_> =
        (0..110).map(|k| controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u)).collect();
    let level = |k: usize| statuses[k].level;
    assert!((0..5).all(|k| level(k) == FallbackLevel::Fresh));
    // The last good solution was made at 0.08 and reaches to 0.18.
    assert!((5..9).all(|k| level(k) == FallbackLevel::Shifted && statuses[k].reason == Some(FallbackReason::Failed)));
    assert!((statuses[8].age - 0.08).abs() < 1e-12);
    assert!((9..105).all(|k| level(k) == FallbackLevel::Planned));
    assert!((105..110).all(|k| level(k) == FallbackLevel::Fresh));
    // Warm until there were two failures; after the recovery warm again.
    let warm = posed.lock().unwrap().clone();
    assert_eq!(warm[..8], [false, true, true, true, true, true, true, false]);
    assert!(warm[7..=105].iter().all(|w| !w) && warm[106..].iter().all(|w| *w));
    assert_eq!(controller.last_error(), Some("injected"));
}

#[test]
fn too_many_fallbacks_are_the_end() {
    let plan = support::plan_file("pendulum", 200);
    let (mut controller, _) =
        faulty(&plan, 10, |t, _| if (0.1..0.5).contains(&t) { Fault::Panic } else { Fault::None });
    let mut u = [0.0];
    quietly(|| {
        for k in 0..100_u8 {
            let status = controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u);
            match k {
                0..5 => assert_eq!(status.level, FallbackLevel::Fresh, "{k}"),
                5..15 => {
                    assert!(matches!(status.level, FallbackLevel::Shifted | FallbackLevel::Planned), "{k}");
                }
                _ => assert_eq!(
                    (status.level, status.reason, u),
                    (FallbackLevel::Safe, Some(FallbackReason::GaveUp), [0.0]),
                    "{k}"
                ),
            }
        }
    });
    assert!(controller.gave_up());
    assert_eq!(controller.last_error(), Some("the solver panicked: injected"));
    controller.reset();
    assert_eq!(controller.step(0.0, &[3.0, 0.0], &mut u).level, FallbackLevel::Fresh);
}

#[test]
fn a_late_solution_is_used_as_the_previous_one_if_it_still_reaches_to_now() {
    let plan = support::plan_file("pendulum", 200);
    // 2.5 budgets are 25 ms: late for its own step, there before the next but one.
    let (mut controller, clock) =
        faulty(&plan, usize::MAX, |t, _| if t < 0.19 { Fault::Slow(3) } else { Fault::None });
    let (mut u, mut levels) = ([0.0], Vec::new());
    for k in 0..12 {
        let before = clock_now(&clock);
        let status = controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u);
        levels.push((status.level, status.reason));
        clock.advance((before + Duration::from_millis(20)).saturating_sub(clock_now(&clock)));
    }
    assert_eq!(levels[0], (FallbackLevel::Planned, Some(FallbackReason::Late)));
    assert_eq!(levels[1], (FallbackLevel::Planned, Some(FallbackReason::Busy)));
    // The answer to step 0 came at 30 ms; the next problem is late too.
    assert_eq!(levels[2], (FallbackLevel::Shifted, Some(FallbackReason::Late)));
    assert_eq!(levels[3], (FallbackLevel::Shifted, Some(FallbackReason::Busy)));
    assert_eq!(levels[10], (FallbackLevel::Fresh, None));
    assert_eq!(controller.counts().missed, 10);
}

fn clock_now(clock: &Virtual) -> Duration {
    ocorl_study::control::Clock::now(clock)
}

#[test]
fn outside_its_time_the_plan_is_not_followed() {
    let mut plan = support::plan_file("pendulum", 100);
    (plan.valid_for, plan.safe_control) = (4.0, vec![0.25]);
    let mut controller = Controller::new(&plan, 0).unwrap();
    let (x, mut u) = ([3.0, 0.5], [0.0]);
    let mut at = |t: f64, x: &[f64]| (controller.step(t, x, &mut u).reason, u[0] == 0.25);
    assert_eq!(at(-0.02, &x), (Some(FallbackReason::Early), true));
    assert_eq!(at(0.0, &x), (None, false));
    // Three samples without a state are bridged by the plan.
    for bridged in [false, false, false, true, true] {
        assert_eq!(at(0.5, &[f64::NAN, 0.0]), (Some(FallbackReason::BadState), bridged));
    }
    assert_eq!(at(0.5, &[1.0]), (Some(FallbackReason::BadState), true));
    assert_eq!(at(f64::NAN, &x), (Some(FallbackReason::BadTime), true));
    assert_eq!(at(f64::INFINITY, &x), (Some(FallbackReason::BadTime), true));
    assert_eq!(at(3.98, &x), (None, false));
    assert_eq!(at(3.9, &x), (Some(FallbackReason::Backwards), true));
    assert_eq!(at(3.999, &x), (None, false));
    assert_eq!(at(4.0, &x), (Some(FallbackReason::Expired), true));
    assert_eq!(at(3.999, &x), (Some(FallbackReason::Backwards), true));
    assert_eq!(at(1e9, &x), (Some(FallbackReason::Expired), true));
    // The plan itself ends at 10, whatever it says about its validity.
    plan.valid_for = 1e6;
    let mut controller = Controller::new(&plan, 0).unwrap();
    assert_eq!(controller.step(9.99, &x, &mut u).reason, None);
    assert_eq!(controller.step(10.0, &x, &mut u).reason, Some(FallbackReason::Expired));
    assert!(Controller::new(&plan, 1).is_err());
}

#[test]
fn whole_turns_of_an_angle_change_nothing_and_spikes_stay_within_limits() {
    let plan = support::plan_file("pendulum", 200);
    let model = support::model(&plan, 60);
    let bounds = plan.limits.bounds();
    for with_solver in [false, true] {
        let make = || {
            let controller = Controller::new(&plan, 0).unwrap();
            if !with_solver {
                return controller;
            }
            let clock = Virtual::default();
            let dynamics = Box::new(ocorl::explore::MeanModel::new(model.clone()));
            let solver = MpcSolver::new(dynamics, support::mpc_settings(&plan), bounds.clone());
            let timed = Simulated::new(reference(&plan, 0).unwrap(), solver, clock);
            controller.with_solver(Box::new(timed))
        };
        let (mut plain, mut wrapped) = (make(), make());
        let mut rng = Stream::root(3).rng();
        let (mut u, mut v) = ([0.0], [0.0]);
        for k in 0..40_u32 {
            let time = f64::from(k) * 0.2;
            let node = &plan.rollouts[0].states[(k * 4) as usize];
            let x = [node[0] + 0.1 * rng.normal(), node[1] + 0.1 * rng.normal()];
            let turns = (rng.below(21) as f64 - 10.0) * std::f64::consts::TAU;
            let a = plain.step(time, &x, &mut u);
            let b = wrapped.step(time, &[x[0] + turns, x[1]], &mut v);
            assert_eq!(a.level, b.level);
            assert!((u[0] - v[0]).abs() <= 1e-9, "{k}: {u:?} {v:?}");
        }
        for spike in [1e6, -1e6, 1e300] {
            let status = plain.step(8.1, &[3.0, spike], &mut u);
            assert!(bounds.violated_by(&u).is_none(), "{spike}: {u:?} {status:?}");
            let status = plain.step(8.1, &[spike, 0.0], &mut u);
            assert!(bounds.violated_by(&u).is_none(), "{spike}: {u:?} {status:?}");
        }
    }
}

/// Equations that give NaN while somebody wants them to.
struct Poisoned(Box<dyn Dynamics>, Arc<AtomicBool>);

impl Dynamics for Poisoned {
    fn dims(&self) -> Dims {
        self.0.dims()
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.0.derivative(z, out);
        if self.1.load(Ordering::Relaxed) {
            out.fill(f64::NAN);
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.0.linearize(z, out);
        if self.1.load(Ordering::Relaxed) {
            out.value.as_mut_slice().fill(f64::NAN);
            out.jacobian.as_mut_slice().fill(f64::NAN);
        }
    }
}

#[test]
fn after_a_solve_with_nan_the_solver_is_as_new() {
    for name in ["pendulum", "cart-pole"] {
        let plan = support::plan_file(name, 100);
        let (b, table) = (Benchmark::find(name).unwrap(), reference(&plan, 0).unwrap());
        let make = |poison: &Arc<AtomicBool>| {
            let dynamics = Box::new(Poisoned(b.dynamics(), poison.clone()));
            MpcSolver::new(dynamics, support::mpc_settings(&plan), plan.limits.bounds())
        };
        let (poison, never) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut solver = make(&poison);
        let solve = |solver: &mut MpcSolver,
                     time: f64,
                     state: &[f64],
                     previous: Option<&Trajectory>,
                     out: &mut Trajectory| {
            solver.solve(&table, &SolveRequest { time, state, applied: &[0.0], previous }, out)
        };
        let off =
            |k: usize, by: f64| -> Vec<f64> { plan.rollouts[0].states[k].iter().map(|x| x + by).collect() };
        let (t1, t2, t3) = (plan.rollouts[0].times[3], plan.rollouts[0].times[4], plan.rollouts[0].times[5]);
        let (mut good, mut bad, mut again, mut fresh) =
            (Trajectory::default(), Trajectory::default(), Trajectory::default(), Trajectory::default());
        solve(&mut solver, t1, &off(3, 0.05), None, &mut good).unwrap();
        poison.store(true, Ordering::Relaxed);
        let failed = solve(&mut solver, t2, &off(4, 0.05), Some(&good), &mut bad);
        assert!(failed.is_err() || !bad.is_sound_plan(b.dims().state), "{name}");
        poison.store(false, Ordering::Relaxed);
        solve(&mut solver, t3, &off(5, -0.05), Some(&good), &mut again).unwrap();
        solve(&mut make(&never), t3, &off(5, -0.05), Some(&good), &mut fresh).unwrap();
        assert_eq!(again, fresh, "{name}");
    }
}
