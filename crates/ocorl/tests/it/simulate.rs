//! Runs against closed forms, against themselves at 1e-12, against another program's integrator, and into every wall.

use ocorl::linalg::{Linearization, Points};
use ocorl::random::Stream;
use ocorl::real::Real;
use ocorl::simulate::{Experiment, Law, Method, Outcome, Policy, PolicyError, Run, Simulator, Tolerance};
use ocorl::system::{
    Benchmark, Bounds, Dims, Dynamics, ExactJacobian, NumericJacobian, QuadraticCost, VanDerPol, VectorField,
};
use std::sync::atomic::AtomicBool;

/// ẋ = f(x, u) with one state and one control.
struct Scalar<F>(F);
impl<F: FnMut(f64, f64) -> f64 + Send> Dynamics for Scalar<F> {
    fn dims(&self) -> Dims {
        Dims { state: 1, control: 1 }
    }
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        for i in 0..z.len() {
            out[i] = (self.0)(z.at(i)[0], z.at(i)[1]);
        }
    }
    fn linearize(&mut self, _: Points<'_>, _: &mut Linearization) {
        unreachable!("a run needs no Jacobians")
    }
}

fn zero() -> Law<impl FnMut(f64, &[f64], &mut [f64])> {
    Law(|_: f64, _: &[f64], u: &mut [f64]| u.fill(0.0))
}

fn experiment(initial_state: &[f64], end: f64) -> Experiment<'_> {
    Experiment {
        initial_state,
        start: 0.0,
        end,
        cost: None,
        state_bounds: None,
        cancel: None,
        sample_times: &[],
        sample_jumps: false,
    }
}

fn scalar(f: impl FnMut(f64, f64) -> f64 + Send, x0: f64, end: f64) -> Run {
    Simulator::new(1e-8).run(&mut Scalar(f), &mut zero(), &experiment(&[x0], end))
}

struct Oscillator;
impl VectorField<2, 1> for Oscillator {
    fn derivative<R: Real>(&self, [x, v]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [v, -x + u]
    }
}

#[test]
fn exponential_decay_and_oscillation_match_their_closed_forms() {
    for tolerance in [1e-6, 1e-8, 1e-10] {
        let simulator = Simulator::new(tolerance);
        let run = simulator.run(&mut Scalar(|x: f64, _| -x), &mut zero(), &experiment(&[1.0], 5.0));
        assert!((run.final_state()[0] - (-5.0_f64).exp()).abs() < 10.0 * tolerance);
        let run = simulator.run(&mut ExactJacobian(Oscillator), &mut zero(), &experiment(&[1.0, 0.0], 10.0));
        let mut x = [0.0; 2];
        for i in 0..=1000 {
            let t = f64::from(i) * 0.01;
            run.state_at(t, &mut x);
            // The dense output is of order 7, one less than the steps: hence the factor.
            assert!(
                (x[0] - t.cos()).abs() < 200.0 * tolerance,
                "x({t}) = {}, error {}",
                x[0],
                x[0] - t.cos()
            );
            assert!((x[1] + t.sin()).abs() < 200.0 * tolerance);
        }
    }
}

#[test]
fn the_running_cost_is_integrated_with_the_state() {
    // ∫₀¹ e^(−2t) dt + 3 e^(−2) for c = x², c_T = 3 x².
    let cost = QuadraticCost::new([1.0], [0.0]).terminal_weights([3.0]);
    let e = Experiment { cost: Some(&cost), ..experiment(&[1.0], 1.0) };
    let run = Simulator::new(1e-10).run(&mut Scalar(|x: f64, _| -x), &mut zero(), &e);
    let e2 = (-2.0_f64).exp();
    assert!((run.running_cost() - 0.5 * (1.0 - e2)).abs() < 1e-9);
    assert!((run.cost() - (0.5 * (1.0 - e2) + 3.0 * e2)).abs() < 1e-9);
}

#[test]
fn nine_systems_are_within_ten_tolerances_of_a_run_at_1e_12() {
    for b in Benchmark::of_the_paper() {
        let first = &b.first_control;
        let run = |tolerance: f64| {
            let mut policy = Law(move |t: f64, x: &[f64], u: &mut [f64]| first(t, x, u));
            Simulator::new(tolerance).run(b.dynamics().as_mut(), &mut policy, &Experiment::of(&b.task))
        };
        let (exact, rough) = (run(1e-12), run(1e-8));
        assert_eq!(exact.outcome, Outcome::Completed, "{}", b.name);
        let size = exact.states.as_slice().iter().fold(1.0_f64, |m, x| m.max(x.abs()));
        for (a, e) in rough.final_state().iter().zip(exact.final_state()) {
            // Errors of the steps grow with the system's own instability; 100 covers the worst (Furuta).
            assert!((a - e).abs() <= 100.0 * 1e-8 * size, "{}: {a} and {e}", b.name);
        }
        assert!((rough.cost() - exact.cost()).abs() <= 1e-6 * (1.0 + exact.cost()), "{}", b.name);
    }
}

#[test]
fn another_integrator_agrees() {
    use differential_equations::prelude::*;
    struct Pendulum;
    impl ODE<f64, [f64; 2]> for Pendulum {
        fn diff(&self, _t: f64, y: &[f64; 2], dydt: &mut [f64; 2]) {
            dydt[0] = y[1];
            dydt[1] = 1.962 * y[0].sin() - 4.0 * y[0] - 3.0 * y[1];
        }
    }
    let method = ExplicitRungeKutta::dop853().rtol(1e-12).atol(1e-12);
    let theirs = IVP::ode(&Pendulum, 0.0, 10.0, [std::f64::consts::PI, 0.0]).method(method).solve().unwrap();
    let b = Benchmark::find("pendulum").unwrap();
    let mut law = Law(|_: f64, x: &[f64], u: &mut [f64]| u[0] = -(4.0 * x[0] + 3.0 * x[1]));
    let ours = Simulator::new(1e-12).run(b.dynamics().as_mut(), &mut law, &Experiment::of(&b.task));
    let last = theirs.y.last().unwrap();
    for i in 0..2 {
        assert!((ours.final_state()[i] - last[i]).abs() < 1e-11, "{:?} and {last:?}", ours.final_state());
    }
}

#[test]
fn finite_time_escape_is_named_with_its_time() {
    let run = scalar(|x, _| x * x, 1.0, 2.0);
    match run.outcome {
        Outcome::Diverged { time } | Outcome::StepTooSmall { time } => {
            assert!((time - 1.0).abs() < 1e-3, "{time}");
        }
        other => panic!("{other:?}"),
    }
    assert!(run.cost().is_finite() && run.final_state()[0].is_finite());
}

#[test]
fn a_right_hand_side_that_becomes_nan_ends_the_run_there() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // The wall is at x = 1, reached at t = 1.
        let run = scalar(move |x, _| if x < 1.0 { 1.0 } else { bad }, 0.0, 2.0);
        match run.outcome {
            Outcome::NonFinite { time } => assert!((time - 1.0).abs() < 1e-6, "{time}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(scalar(|_, _| f64::NAN, 0.0, 1.0).outcome, Outcome::NonFinite { time: 0.0 });
}

#[test]
fn a_policy_or_a_cost_that_is_not_finite_ends_the_run_too() {
    let mut law = Law(|t: f64, _: &[f64], u: &mut [f64]| u[0] = if t < 0.5 { 0.0 } else { f64::NAN });
    let run = Simulator::new(1e-8).run(&mut Scalar(|_, u| u), &mut law, &experiment(&[0.0], 1.0));
    assert!(
        matches!(run.outcome, Outcome::NonFinite { time } if (time - 0.5).abs() < 1e-6),
        "{:?}",
        run.outcome
    );
}

#[test]
fn stiff_and_discontinuous_systems_end_within_their_budget() {
    let simulator = Simulator {
        tolerance: Tolerance { max_steps: 20_000, ..Tolerance::new(1e-6) },
        ..Simulator::default()
    };
    let mut stiff = ExactJacobian(VanDerPol { damping: 1e4 });
    let run = simulator.run(&mut stiff, &mut zero(), &experiment(&[2.0, 0.0], 100.0));
    assert_eq!(run.outcome, Outcome::Completed);
    let mut chattering = Scalar(|x: f64, _| -x.signum());
    let run = simulator.run(&mut chattering, &mut zero(), &experiment(&[1.0], 3.0));
    assert!(
        !matches!(run.outcome, Outcome::NonFinite { .. } | Outcome::Diverged { .. }),
        "{:?}",
        run.outcome
    );
    assert!(run.final_state()[0].abs() <= 1.0);
}

#[test]
fn a_moderately_stiff_van_der_pol_reaches_its_limit_cycle() {
    let mut f = ExactJacobian(VanDerPol { damping: 100.0 });
    let run = Simulator::new(1e-8).run(&mut f, &mut zero(), &experiment(&[2.0, 0.0], 100.0));
    assert_eq!(run.outcome, Outcome::Completed);
    let x: Vec<f64> = run.states.iter().map(|x| x[0]).collect();
    // Relaxation oscillation: |x| stays below 2.02 (asymptotics 2 + 0.77 μ^(−4/3)).
    assert!(x.iter().all(|x| x.abs() < 2.02));
    // The jump to the other branch, by the classical Runge-Kutta method with 2·10⁶ steps: x = 0 at t = 81.17238, then down to −2.00132.
    let jump = run.times.iter().zip(&x).find(|(_, x)| **x < 0.0).map(|(t, _)| *t);
    assert!(jump.is_some_and(|t| (81.172..81.2).contains(&t)), "{jump:?}");
    let lowest = x.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((lowest + 2.001_32).abs() < 1e-3, "{lowest}");
}

struct Push;
impl VectorField<2, 1> for Push {
    fn derivative<R: Real>(&self, [_x, v]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [v, u]
    }
}

#[test]
fn limits_are_hit_at_the_right_time_and_the_rest_is_charged() {
    // x = t² / 2 crosses 0.5 at t = 1; cost rate 1 throughout (u = 1).
    let bounds = Bounds { lower: vec![-1.0, -5.0], upper: vec![0.5, 5.0] };
    let cost = QuadraticCost::new([0.0, 0.0], [1.0]);
    let e = Experiment { cost: Some(&cost), state_bounds: Some(&bounds), ..experiment(&[0.0, 0.0], 4.0) };
    let mut push = Law(|_: f64, _: &[f64], u: &mut [f64]| u[0] = 1.0);
    let run = Simulator::new(1e-8).run(&mut ExactJacobian(Push), &mut push, &e);
    match run.outcome {
        Outcome::LimitHit { state: 0, time } => assert!((time - 1.0).abs() < 1e-9, "{time}"),
        ref other => panic!("{other:?}"),
    }
    assert!((run.end() - 1.0).abs() < 1e-9 && (run.final_state()[0] - 0.5).abs() < 1e-8);
    assert!((run.running_cost() - 1.0).abs() < 1e-8);
    assert!((run.cost() - 4.0).abs() < 1e-7, "stopped at 1 of 4 with rate 1: {}", run.cost());
    let mut x = [0.0; 2];
    run.state_at(0.7, &mut x);
    assert!((x[0] - 0.245).abs() < 1e-9 && (x[1] - 0.7).abs() < 1e-9, "dense output after a cut: {x:?}");
}

#[test]
fn a_start_outside_the_limits_ends_at_once() {
    let bounds = Bounds::symmetric([0.5]);
    let e = Experiment { state_bounds: Some(&bounds), ..experiment(&[1.0], 1.0) };
    let run = Simulator::default().run(&mut Scalar(|_, _| 0.0), &mut zero(), &e);
    assert_eq!(run.outcome, Outcome::LimitHit { state: 0, time: 0.0 });
    assert_eq!(run.times, [0.0]);
}

struct Quitter;
impl Policy for Quitter {
    fn prepare(&mut self, time: f64, _: &[f64]) -> Result<f64, PolicyError> {
        if time < 0.25 { Ok(time + 0.1) } else { Err(PolicyError::Failed("enough".into())) }
    }
    fn control(&mut self, _: f64, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

#[test]
fn cancelling_and_giving_up_are_outcomes() {
    let stop = AtomicBool::new(true);
    let e = Experiment { cancel: Some(&stop), ..experiment(&[1.0], 1.0) };
    let run = Simulator::default().run(&mut Scalar(|x: f64, _| -x), &mut zero(), &e);
    assert_eq!(run.outcome, Outcome::Cancelled { time: 0.0 });

    let run = Simulator::default().run(&mut Scalar(|x: f64, _| -x), &mut Quitter, &experiment(&[1.0], 1.0));
    assert!(matches!(run.outcome, Outcome::ControllerGaveUp { time, .. } if (time - 0.3).abs() < 1e-12));
}

#[test]
fn a_policy_that_does_not_advance_cannot_hang_a_run() {
    struct Stuck(f64);
    impl Policy for Stuck {
        fn prepare(&mut self, _: f64, _: &[f64]) -> Result<f64, PolicyError> {
            Ok(self.0)
        }
        fn control(&mut self, _: f64, _: &[f64], out: &mut [f64]) {
            out.fill(0.0);
        }
    }
    for until in [0.0, -1.0, f64::NAN] {
        let run = Simulator::default().run(
            &mut Scalar(|x: f64, _| -x),
            &mut Stuck(until),
            &experiment(&[1.0], 1.0),
        );
        assert_eq!(run.outcome, Outcome::StepTooSmall { time: 0.0 });
    }
}

/// +1 and −1 in turn, in pieces of 0.3.
struct Square(f64);
impl Policy for Square {
    fn prepare(&mut self, time: f64, _: &[f64]) -> Result<f64, PolicyError> {
        let piece = (time / 0.3 + 1e-9).floor();
        self.0 = if piece % 2.0 == 0.0 { 1.0 } else { -1.0 };
        Ok((piece + 1.0) * 0.3)
    }
    fn control(&mut self, _: f64, _: &[f64], out: &mut [f64]) {
        out[0] = self.0;
    }
}

#[test]
fn controls_may_jump_at_the_pieces_of_a_policy() {
    // ẋ = u is a triangle wave: up to 0.3, down to 0, up to 0.3, down to 0.2. Exact at any tolerance.
    let run = Simulator::new(1e-4).run(&mut Scalar(|_, u| u), &mut Square(0.0), &experiment(&[0.0], 1.0));
    assert_eq!(run.outcome, Outcome::Completed);
    for (time, expected) in [(0.3, 0.3), (0.6, 0.0), (0.9, 0.3), (1.0, 0.2)] {
        let k = run.times.iter().position(|t| (t - time).abs() < 1e-12);
        let k = k.unwrap_or_else(|| panic!("no step ends at {time}: {:?}", run.times));
        assert!((run.states.at(k)[0] - expected).abs() < 1e-12, "x({time}) = {}", run.states.at(k)[0]);
    }
    let after_jump = run.times.iter().position(|t| (t - 0.3).abs() < 1e-12).unwrap();
    assert_eq!(run.controls.at(after_jump), [-1.0], "the recorded control is the one after the jump");
}

#[test]
fn odd_horizons_end_properly() {
    for (start, end) in [(0.0, 1e-12), (0.0, 1e6), (1e9, 1e9 + 1.0), (0.0, 0.0)] {
        let e = Experiment { start, ..experiment(&[1.0], end) };
        let run = Simulator::new(1e-8).run(&mut Scalar(|x: f64, _| -x), &mut zero(), &e);
        // Over 1e6 time constants an explicit method is limited by stability, not accuracy: the implicit one goes on.
        assert!(run.is_completed() && run.end() == end, "[{start}, {end}]: {:?}", run.outcome);
    }
}

#[test]
fn every_run_of_a_random_stress_ends_with_one_outcome_and_a_finite_cost() {
    let (mut completed, mut stopped) = (0, 0);
    for trial in 0..2_000 {
        let mut rng = Stream::root(9).child("stress").index(trial).rng();
        let b = &Benchmark::all()[trial % 13];
        let gain = 10.0 * rng.normal();
        let start: Vec<f64> = b.task.initial_state.iter().map(|x| x + rng.normal()).collect();
        let e = Experiment { initial_state: &start, ..Experiment::of(&b.task) };
        let mut law = Law(|t: f64, x: &[f64], u: &mut [f64]| {
            u.iter_mut().enumerate().for_each(|(i, u)| *u = gain * (t + x[i % x.len()]).sin());
        });
        let simulator = Simulator {
            tolerance: Tolerance { max_steps: 3_000, ..Tolerance::new(1e-5) },
            ..Simulator::default()
        };
        let run = simulator.run(b.dynamics().as_mut(), &mut law, &e);
        assert!(run.cost().is_finite(), "{}: {:?} cost {}", b.name, run.outcome, run.cost());
        assert!(run.states.as_slice().iter().all(|x| x.is_finite()));
        if run.is_completed() { completed += 1 } else { stopped += 1 }
    }
    assert!(
        completed > 100 && stopped > 100,
        "{completed} completed, {stopped} stopped: the stress is no stress"
    );
}

/// The control of every sample is the law's own at that time and state, and the cost so far is its integral: neither comes from the ends of the
/// integration step that the sample lies in.
#[test]
fn samples_between_integration_steps_are_exact() {
    let law = |t: f64, x: &[f64]| (3.0 * t).sin() - 0.5 * x[0];
    let mut policy = Law(move |t: f64, x: &[f64], u: &mut [f64]| u[0] = law(t, x));
    // ẋ = u and c = u²: x and the cost have closed forms only through u, so both are integrated once more, tightly.
    let cost = QuadraticCost::new([0.0], [1.0]);
    let times: Vec<f64> = (0..=500).map(|i| 0.01 * f64::from(i)).collect();
    let e = Experiment { cost: Some(&cost), sample_times: &times, ..experiment(&[1.0], 5.0) };
    let run = Simulator::new(1e-9).run(&mut Scalar(|_, u| u), &mut policy, &e);
    assert!(run.times.len() < 100, "steps are longer than the distance of samples: {}", run.times.len());
    assert_eq!(run.samples.times, times);
    // x' = sin 3t − x/2, x(0) = 1.
    let exact = |t: f64| {
        let (a, w) = (0.5_f64, 3.0_f64);
        let d = a * a + w * w;
        (a * (w * t).sin() - w * (w * t).cos()) / d + (1.0 + w / d) * (-a * t).exp()
    };
    let mut integral = 0.0;
    for (i, &t) in times.iter().enumerate() {
        let u = law(t, &[exact(t)]);
        assert!((run.samples.states.at(i)[0] - exact(t)).abs() < 1e-7, "x({t})");
        assert!((run.samples.controls.at(i)[0] - u).abs() < 1e-7, "u({t})");
        if i > 0 {
            // Simpson's rule on twenty parts of the interval.
            let h = 0.01 / 20.0;
            for k in 0..20 {
                let from = times[i - 1] + h * f64::from(k);
                let c = |s: f64| law(s, &[exact(s)]).powi(2);
                integral += h / 6.0 * (c(from) + 4.0 * c(from + 0.5 * h) + c(from + h));
            }
        }
        assert!(
            (run.samples.costs[i] - integral).abs() < 1e-7,
            "cost to {t}: {} {integral}",
            run.samples.costs[i]
        );
    }
}

/// Where the control jumps it is recorded before and after the jump, beside the samples.
#[test]
fn samples_have_both_sides_of_a_jump() {
    struct Steps(f64);
    impl Policy for Steps {
        fn prepare(&mut self, time: f64, _: &[f64]) -> Result<f64, PolicyError> {
            self.0 = (time + 1e-9).floor();
            Ok(self.0 + 1.0)
        }
        fn control(&mut self, _: f64, _: &[f64], u: &mut [f64]) {
            // The third piece goes on where the second was.
            u[0] = if self.0 < 1.0 {
                1.0
            } else if self.0 < 3.0 {
                -1.0
            } else {
                2.0
            };
        }
    }
    let times: Vec<f64> = (0..=8).map(|i| 0.5 * f64::from(i)).collect();
    let e = Experiment { sample_times: &times, sample_jumps: true, ..experiment(&[0.0], 4.0) };
    let run = Simulator::new(1e-9).run(&mut Scalar(|_, u| u), &mut Steps(0.0), &e);
    assert_eq!(run.samples.times, times);
    assert_eq!(run.samples.controls.as_slice(), [1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 2.0, 2.0, 2.0]);
    let all = run.samples.with_jumps(&run.jumps);
    assert_eq!(all.times, [0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0]);
    let controls: Vec<f64> = all.controls.iter().map(|u| u[0]).collect();
    assert_eq!(controls, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 2.0, 2.0, 2.0]);
}

/// A run that stops early has its samples up to there, and its end.
#[test]
fn samples_end_where_the_run_ends() {
    let bounds = Bounds { lower: vec![-10.0], upper: vec![1.25] };
    let times: Vec<f64> = (0..=8).map(|i| 0.5 * f64::from(i)).collect();
    let e = Experiment { sample_times: &times, state_bounds: Some(&bounds), ..experiment(&[0.0], 4.0) };
    let run = Simulator::new(1e-9).run(&mut Scalar(|_, _| 1.0), &mut zero(), &e);
    assert_eq!(run.samples.times.len(), 4);
    assert!((run.samples.times[3] - 1.25).abs() < 1e-9 && (run.samples.states.at(3)[0] - 1.25).abs() < 1e-9);
}

#[test]
fn a_strongly_damped_run_is_as_accurate_as_its_closed_form() {
    // v' = −λ v + sin t, x' = v: v(t) = (λ sin t − cos t + e^{−λt})/(λ² + 1).
    for lambda in [1e4, 1e6] {
        let mut damped =
            NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], u: &[f64], out: &mut [f64]| {
                out.copy_from_slice(&[x[1], u[0] - lambda * x[1]]);
            });
        let mut law = Law(|t: f64, _: &[f64], u: &mut [f64]| u[0] = t.sin());
        let end = 10.0_f64;
        let run = Simulator::new(1e-8).run(&mut damped, &mut law, &experiment(&[1.0, 0.0], end));
        assert_eq!(run.outcome, Outcome::Completed);
        let x = 1.0
            + (lambda * (1.0 - end.cos()) - end.sin() + (1.0 - (-lambda * end).exp()) / lambda)
                / (lambda * lambda + 1.0);
        assert!((run.final_state()[0] - x).abs() < 1e-7, "λ = {lambda}: {} for {x}", run.final_state()[0]);
        assert!(run.evaluations < 200_000, "{} evaluations", run.evaluations);
        // Between the steps as well.
        for t in [0.013, 1.7, 7.77_f64] {
            let v = (lambda * t.sin() - t.cos() + (-lambda * t).exp()) / (lambda * lambda + 1.0);
            let mut x = [0.0; 2];
            run.state_at(t, &mut x);
            let found = x[1];
            assert!((found - v).abs() < 1e-6, "v({t}) = {found}, not {v}");
        }
    }
}

#[test]
fn dry_friction_stops_a_body_and_holds_it() {
    // v' = −sign(v) from v = 1: at rest from t = 1 on, after a way of one half.
    let mut sliding =
        NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], _: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[x[1], -x[1].signum()]);
        });
    let run = Simulator::new(1e-8).run(&mut sliding, &mut zero(), &experiment(&[0.0, 1.0], 4.0));
    assert_eq!(run.outcome, Outcome::Completed);
    assert!((run.final_state()[0] - 0.5).abs() < 1e-3, "{:?}", run.final_state());
    assert!(run.final_state()[1].abs() < 1e-3, "{:?}", run.final_state());
}

#[test]
fn divergence_is_judged_by_the_scale_of_the_initial_state() {
    let run = Simulator::new(1e-8).run(&mut Scalar(|x: f64, _| -x), &mut zero(), &experiment(&[1e9], 1.0));
    assert!(
        run.is_completed() && (run.final_state()[0] / 1e9 - (-1f64).exp()).abs() < 1e-7,
        "{:?}",
        run.outcome
    );
    let run = Simulator::new(1e-8).run(&mut Scalar(|x: f64, _| x), &mut zero(), &experiment(&[1e9], 100.0));
    assert!(matches!(run.outcome, Outcome::Diverged { .. }), "{:?}", run.outcome);
    // One scale for all states: the velocity of an oscillator from x = 1e9 is as large as its position.
    let mut oscillator =
        NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], _: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[x[1], -x[0]]);
        });
    let run = Simulator::new(1e-8).run(&mut oscillator, &mut zero(), &experiment(&[1e9, 0.0], 2.0));
    assert!(
        run.is_completed() && (run.final_state()[1] / 1e9 + 2f64.sin()).abs() < 1e-6,
        "{:?}",
        run.outcome
    );
    // And of a body that is at rest and pushed hard.
    let mut pushed =
        NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], _: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[x[1], 1e9]);
        });
    let run = Simulator::new(1e-8).run(&mut pushed, &mut zero(), &experiment(&[0.0, 0.0], 2.0));
    assert!(run.is_completed() && (run.final_state()[0] / 2e9 - 1.0).abs() < 1e-9, "{:?}", run.outcome);
}

#[test]
fn steps_of_constant_length_that_are_unstable_end_the_run() {
    // 10⁷ periods of an oscillator: no method can follow them, and steps of constant length would explode.
    let mut oscillator =
        NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], _: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[x[1], -x[0]]);
        });
    let run = Simulator::new(1e-8).run(&mut oscillator, &mut zero(), &experiment(&[1.0, 0.0], 6e7));
    assert!(matches!(run.outcome, Outcome::TooManySteps { .. }), "{:?}", run.outcome);
    assert!(run.states.iter().flatten().all(|x| x.abs() < 1.1), "{:?}", run.final_state());
    assert_eq!(run.method, Method::Fixed);
    // 1000 periods are many steps, but not stiff.
    let end = 2000.0 * std::f64::consts::PI;
    let run = Simulator::new(1e-8).run(&mut oscillator, &mut zero(), &experiment(&[1.0, 0.0], end));
    assert_eq!((&run.outcome, run.method), (&Outcome::Completed, Method::Explicit));
    assert!((run.final_state()[0] - 1.0).abs() < 1e-4, "{:?}", run.final_state());
}
