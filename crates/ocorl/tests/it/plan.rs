//! The planner against dense algebra, closed forms and bad problems.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::linalg::{Blocks, Points};
use ocorl::plan::{
    Guess, Ilqr, Outcome, PathConstraints, Plan, PlanError, Problem, Quadrature, Settings, Start,
    Transcription, best_of, uniform_grid,
};
use ocorl::random::{Rng, Stream};
use ocorl::real::Real;
use ocorl::simulate::Integrator;
use ocorl::system::{Benchmark, Bounds, Cost, Dynamics, ExactJacobian, QuadraticCost, VectorField};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// ẋ = A x + B u.
#[derive(Clone)]
struct Linear<const NX: usize, const NU: usize> {
    a: [[f64; NX]; NX],
    b: [[f64; NU]; NX],
}

impl<const NX: usize, const NU: usize> Linear<NX, NU> {
    fn random(rng: &mut Rng) -> Self {
        Linear {
            a: std::array::from_fn(|_| std::array::from_fn(|_| 0.5 * rng.normal())),
            b: std::array::from_fn(|_| std::array::from_fn(|_| rng.normal())),
        }
    }
}

impl<const NX: usize, const NU: usize> VectorField<NX, NU> for Linear<NX, NU> {
    fn derivative<R: Real>(&self, x: [R; NX], u: [R; NU]) -> [R; NX] {
        std::array::from_fn(|i| {
            let drift = (0..NX).fold(R::constant(0.0), |s, j| s + x[j] * self.a[i][j]);
            (0..NU).fold(drift, |s, j| s + u[j] * self.b[i][j])
        })
    }
}

fn grid(rng: &mut Rng, n: usize) -> Vec<f64> {
    let mut t = 0.0;
    let mut times = vec![0.0];
    times.extend((0..n).map(|_| {
        t += rng.uniform(0.05, 0.3);
        t
    }));
    times
}

/// J and the end state as functions of all controls, by rolling out with the planner at zero iterations.
fn evaluate(f: &mut dyn Dynamics, problem: &Problem<'_>, controls: &[f64]) -> f64 {
    let settings = Settings { max_iterations: 0, ..Settings::default() };
    Ilqr::new(settings).solve(f, problem, Guess { controls, states: None }).unwrap().cost
}

/// The quadratic J(u) = ½ uᵀHu + gᵀu + c of a linear-quadratic problem, read off by exact differences: J is quadratic,
/// so second differences with a step of one are exact.
fn dense_quadratic(f: &mut dyn Dynamics, problem: &Problem<'_>, n: usize) -> (Vec<f64>, Vec<f64>, f64) {
    let mut at = |changes: &[(usize, f64)]| {
        let mut u = vec![0.0; n];
        for &(i, d) in changes {
            u[i] += d;
        }
        evaluate(f, problem, &u)
    };
    let c = at(&[]);
    let plus: Vec<f64> = (0..n).map(|i| at(&[(i, 1.0)])).collect();
    let g: Vec<f64> = (0..n).map(|i| 0.5 * (plus[i] - at(&[(i, -1.0)]))).collect();
    let mut h = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let value = at(&[(i, 1.0), (j, 1.0)]) - plus[i] - plus[j] + c;
            h[i * n + j] = value;
            h[j * n + i] = value;
        }
    }
    (h, g, c)
}

/// Gaussian elimination with pivoting: the obvious way to solve H u = −g.
fn solve_dense(h: &[f64], g: &[f64]) -> Vec<f64> {
    let n = g.len();
    let mut a: Vec<Vec<f64>> = (0..n).map(|i| [&h[i * n..(i + 1) * n], &[-g[i]]].concat()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..=n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    let mut u = vec![0.0; n];
    for i in (0..n).rev() {
        u[i] = (a[i][n] - (i + 1..n).map(|j| a[i][j] * u[j]).sum::<f64>()) / a[i][i];
    }
    u
}

/// min ½ uᵀHu + gᵀu in a box by cyclic coordinate descent to convergence: slow, and right for convex problems.
fn box_qp_dense(h: &[f64], g: &[f64], low: f64, high: f64) -> Vec<f64> {
    let n = g.len();
    let mut u = vec![0.0_f64; n];
    for _ in 0..200_000 {
        let mut moved = 0.0_f64;
        for i in 0..n {
            let slope = g[i] + (0..n).map(|j| h[i * n + j] * u[j]).sum::<f64>();
            let next = (u[i] - slope / h[i * n + i]).clamp(low, high);
            moved = moved.max((next - u[i]).abs());
            u[i] = next;
        }
        if moved < 1e-15 {
            break;
        }
    }
    u
}

#[test]
fn a_linear_quadratic_problem_is_solved_in_one_step_to_1e_10_of_the_dense_solution() {
    for (trial, integrator) in [Integrator::Euler, Integrator::Heun, Integrator::Rk4].into_iter().enumerate()
    {
        let mut rng = Stream::root(2).child("lq").index(trial).rng();
        let mut f = ExactJacobian(Linear::<3, 2>::random(&mut rng));
        let cost = QuadraticCost::new([1.0, 0.5, 2.0], [0.3, 1.0])
            .terminal_weights([2.0, 1.0, 0.5])
            .state_target([0.5, -1.0, 0.2])
            .control_target([0.1, -0.3]);
        let (times, bounds) = (grid(&mut rng, 12), Bounds::none(2));
        for substeps in [1, 3] {
            let problem = Problem {
                cost: &cost,
                initial_state: &[1.0, -0.5, 0.3],
                times: &times,
                control_bounds: &bounds,
                rate_limit: None,
                state_bounds: None,
                constraints: PathConstraints::default(),
                transcription: Transcription { substeps, ..Transcription::single(integrator) },
            };
            let (h, g, _) = dense_quadratic(&mut f, &problem, 24);
            let expected = solve_dense(&h, &g);
            let plan = Ilqr::new(Settings { max_iterations: 1, ..Settings::default() })
                .plan(&mut f, &problem, Guess { controls: &[0.0; 24], states: None })
                .unwrap();
            for (u, e) in plan.controls.as_slice().iter().zip(&expected) {
                assert!((u - e).abs() < 1e-10, "{integrator:?}: {u} and {e}");
            }
        }
    }
}

#[test]
fn with_limits_it_agrees_with_a_dense_quadratic_program() {
    for trial in 0..8 {
        let mut rng = Stream::root(3).child("box-lq").index(trial).rng();
        let mut f = ExactJacobian(Linear::<2, 2>::random(&mut rng));
        let cost = QuadraticCost::new([1.0, 1.0], [0.2, 0.2]).terminal_weights([5.0, 5.0]);
        let (times, bounds) = (grid(&mut rng, 8), Bounds::symmetric([0.4, 0.4]));
        let problem = Problem {
            cost: &cost,
            initial_state: &[1.5, -1.0],
            times: &times,
            control_bounds: &bounds,
            rate_limit: None,
            state_bounds: None,
            constraints: PathConstraints::default(),
            transcription: Transcription::default(),
        };
        let free = Bounds::none(2);
        let (h, g, c) = dense_quadratic(&mut f, &Problem { control_bounds: &free, ..problem }, 16);
        let u = box_qp_dense(&h, &g, -0.4, 0.4);
        let expected = c
            + (0..16)
                .map(|i| u[i] * (g[i] + 0.5 * (0..16).map(|j| h[i * 16 + j] * u[j]).sum::<f64>()))
                .sum::<f64>();
        let settings = Settings { gradient_tolerance: 1e-12, cost_tolerance: 1e-15, ..Settings::default() };
        let plan =
            Ilqr::new(settings).plan(&mut f, &problem, Guess { controls: &[0.0; 16], states: None }).unwrap();
        assert!(
            (plan.cost - expected).abs() <= 1e-9 * expected,
            "trial {trial}: {} and {expected}",
            plan.cost
        );
        assert!(plan.controls.as_slice().iter().all(|u| u.abs() <= 0.4));
        assert!(
            u.iter().any(|u| u.abs() == 0.4),
            "trial {trial}: no limit is active, the test shows nothing"
        );
    }
}

#[test]
fn glucose_is_linear_quadratic_and_solved_in_one_step() {
    let b = Benchmark::find("glucose").unwrap();
    let times = uniform_grid(b.task.horizon, 300);
    let problem = Problem::of(&b.task, &times);
    let plan =
        Ilqr::default().plan(b.dynamics().as_mut(), &problem, Start::constant(&[0.0], 300).guess()).unwrap();
    assert_eq!(plan.outcome, Outcome::Converged);
    assert!(plan.trace.len() <= 2, "{:?}", plan.trace);
}

fn swing_up(bounds: &Bounds, guess: Guess<'_>, times: &[f64]) -> Plan {
    let b = Benchmark::find("pendulum").unwrap();
    let problem = Problem { control_bounds: bounds, ..Problem::of(&b.task, times) };
    Ilqr::default().plan(b.dynamics().as_mut(), &problem, guess).unwrap()
}

#[test]
fn the_reported_gradient_is_that_of_finite_differences() {
    for name in ["pendulum", "bicycle", "furuta", "quadrotor-2d"] {
        let b = Benchmark::find(name).unwrap();
        for (i, transcription) in [
            Transcription::single(Integrator::Euler),
            Transcription::default(),
            Transcription { substeps: 3, integrator: Integrator::Heun, quadrature: Quadrature::AtStart },
            Transcription::single(Integrator::EulerTrapezoid),
            Transcription { substeps: 2, ..Transcription::single(Integrator::EulerTrapezoid) },
        ]
        .into_iter()
        .enumerate()
        {
            let times = uniform_grid(1.0, 6);
            let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
            let mut rng = Stream::root(4).child(name).index(i).rng();
            let n = 6 * b.dims().control;
            let u: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let mut f = b.dynamics();
            let h = 1e-5;
            let squares: f64 = (0..n)
                .map(|j| {
                    let mut shifted = u.clone();
                    shifted[j] = u[j] + h;
                    let high = evaluate(f.as_mut(), &problem, &shifted);
                    shifted[j] = u[j] - h;
                    let low = evaluate(f.as_mut(), &problem, &shifted);
                    ((high - low) / (2.0 * h)).powi(2)
                })
                .sum();
            let settings = Settings { max_iterations: 1, ..Settings::default() };
            let guess = Guess { controls: &u, states: None };
            let plan = Ilqr::new(settings).plan(f.as_mut(), &problem, guess).unwrap();
            let found = plan.trace[0].gradient_norm;
            assert!(
                (found - squares.sqrt()).abs() < 1e-6 * (1.0 + found),
                "{name}: {found} and {}",
                squares.sqrt()
            );
        }
    }
}

#[test]
fn the_trapezoid_is_the_mean_of_the_cost_at_both_ends_of_an_euler_step() {
    let b = Benchmark::find("pendulum").unwrap();
    let (times, controls) = ([0.0, 0.4, 1.0, 1.3], [0.7, -0.4, 1.9]);
    let transcription = Transcription::single(Integrator::EulerTrapezoid);
    let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
    let (mut f, mut x, mut slope, mut expected) = (b.dynamics(), b.task.initial_state.clone(), [0.0; 2], 0.0);
    for (t, u) in times.windows(2).zip(controls) {
        let tau = t[1] - t[0];
        let mut cost = |x: &[f64]| {
            let mut c = [0.0];
            b.task.cost.running(&[t[0]], Points::single(&[x[0], x[1], u]), &mut c);
            expected += 0.5 * tau * c[0];
        };
        cost(&x);
        f.derivative(Points::single(&[x[0], x[1], u]), &mut slope);
        x = vec![x[0] + tau * slope[0], x[1] + tau * slope[1]];
        cost(&x);
    }
    expected += b.task.cost.terminal(1.3, &x);
    let found = evaluate(f.as_mut(), &problem, &controls);
    assert!((found - expected).abs() < 1e-12 * expected, "{found} and {expected}");
}

#[test]
fn accepted_steps_never_raise_the_cost_and_the_plan_is_its_own_rollout() {
    for b in Benchmark::all() {
        let times = uniform_grid(b.task.horizon, 80);
        let problem = Problem::of(&b.task, &times);
        let start = Start::constant(&b.task.safe_control, 80);
        let plan = Ilqr::default().plan(b.dynamics().as_mut(), &problem, start.guess()).unwrap();
        assert!(plan.trace.windows(2).all(|t| t[1].cost <= t[0].cost), "{}", b.name);
        let again = evaluate(b.dynamics().as_mut(), &problem, plan.controls.as_slice());
        assert_eq!(again.to_bits(), plan.cost.to_bits(), "{}: {again} and {}", b.name, plan.cost);
    }
}

#[test]
fn limits_are_kept_and_cost_more() {
    let times = uniform_grid(10.0, 100);
    let zero = [0.0; 100];
    let free = swing_up(&Bounds::none(1), Guess { controls: &zero, states: None }, &times);
    let mut before = free.cost;
    for limit in [3.0, 2.0, 1.5] {
        let plan = swing_up(&Bounds::symmetric([limit]), Guess { controls: &zero, states: None }, &times);
        assert!(plan.controls.as_slice().iter().all(|u| u.abs() <= limit));
        assert!(plan.controls.as_slice().iter().any(|u| u.abs() == limit), "limit {limit} is not active");
        assert!(plan.cost > before, "limit {limit}: {} is not above {before}", plan.cost);
        assert_eq!(plan.outcome, Outcome::Converged, "limit {limit}");
        before = plan.cost;
    }
}

#[test]
fn an_infeasible_start_closes_its_gaps_and_finds_the_same_optimum() {
    let times = uniform_grid(10.0, 100);
    let free = Bounds::none(1);
    let zero = [0.0; 100];
    let feasible = swing_up(&free, Guess { controls: &zero, states: None }, &times);
    let line = Start::line(&[std::f64::consts::PI, 0.0], &[0.0, 0.0], &[0.0], 100);
    let plan = swing_up(&free, line.guess(), &times);
    assert!(plan.trace[0].gap < 1.0 && plan.trace.last().unwrap().gap == 0.0, "{:?}", plan.trace);
    assert!((plan.cost - feasible.cost).abs() < 1e-6, "{} and {}", plan.cost, feasible.cost);
}

#[test]
fn a_warm_start_at_the_optimum_has_nothing_to_do() {
    let times = uniform_grid(10.0, 100);
    let free = Bounds::none(1);
    let cold = swing_up(&free, Guess { controls: &[0.0; 100], states: None }, &times);
    let guess = Guess { controls: cold.controls.as_slice(), states: Some(cold.states.as_slice()) };
    let warm = swing_up(&free, guess, &times);
    assert!(warm.trace.len() <= 2, "{:?}", warm.trace);
    assert!((warm.cost - cold.cost).abs() < 1e-9);
}

#[test]
fn uneven_grids_converge_to_the_same_optimum() {
    let b = Benchmark::find("pendulum").unwrap();
    // Fine where the action is.
    let times: Vec<f64> = (0..=300).map(|k| 10.0 * (f64::from(k) / 300.0).powf(1.7)).collect();
    let start = Start::constant(&[0.0], 300);
    let plan =
        Ilqr::default().plan(b.dynamics().as_mut(), &Problem::of(&b.task, &times), start.guess()).unwrap();
    // 20.160239: tests/golden/optimal_control.toml; the grid's own loss is below 1e-4.
    assert!((plan.cost / 20.160_239 - 1.0).abs() < 1e-4, "{}", plan.cost);
}

#[test]
fn the_best_of_several_starts_does_not_depend_on_the_number_of_threads() {
    let b = Benchmark::find("cart-pole").unwrap();
    let times = uniform_grid(10.0, 60);
    let mut rng = Stream::root(5).rng();
    let starts: Vec<Start> = (0..6).map(|_| Start::random(&[0.0], 0.5, 2.0, 60, &mut rng)).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            best_of(&|| b.dynamics(), &Problem::of(&b.task, &times), &Settings::default(), &starts).unwrap()
        })
    };
    let (one, two, three) = (run(1), run(2), run(3));
    assert_eq!(one, two);
    assert_eq!(one, three);
}

#[test]
fn bad_problems_are_refused_with_their_reason() {
    let b = Benchmark::find("pendulum").unwrap();
    let times = uniform_grid(1.0, 4);
    let good = Problem::of(&b.task, &times);
    let plan = |problem: &Problem<'_>, controls: &[f64], states: Option<&[f64]>| {
        Ilqr::default().plan(b.dynamics().as_mut(), problem, Guess { controls, states }).unwrap_err()
    };
    let nan = [f64::NAN, 0.0];
    let short = Bounds::none(2);
    let empty = Bounds { lower: vec![1.0], upper: vec![-1.0] };
    let none = Transcription { substeps: 0, ..Transcription::default() };
    let zero = [0.0; 4];
    assert_eq!(plan(&Problem { times: &[0.0], ..good }, &[], None), PlanError::NoIntervals { nodes: 1 });
    assert_eq!(plan(&Problem { times: &[], ..good }, &[], None), PlanError::NoIntervals { nodes: 0 });
    assert!(matches!(
        plan(&Problem { times: &[0.0, 1.0, 1.0], ..good }, &zero[..2], None),
        PlanError::Times { index: 1, .. }
    ));
    assert!(matches!(
        plan(&Problem { times: &[0.0, f64::NAN], ..good }, &zero[..1], None),
        PlanError::Times { .. }
    ));
    assert!(matches!(
        plan(&Problem { initial_state: &nan, ..good }, &zero, None),
        PlanError::NotFinite { .. }
    ));
    assert!(matches!(
        plan(&Problem { initial_state: &nan[..1], ..good }, &zero, None),
        PlanError::Length { .. }
    ));
    assert!(matches!(plan(&good, &zero[..3], None), PlanError::Length { found: 3, expected: 4, .. }));
    assert!(matches!(
        plan(&good, &[0.0, f64::INFINITY, 0.0, 0.0], None),
        PlanError::NotFinite { index: 1, .. }
    ));
    assert!(matches!(plan(&good, &zero, Some(&zero)), PlanError::Length { found: 4, expected: 10, .. }));
    assert!(matches!(
        plan(&Problem { control_bounds: &short, ..good }, &zero, None),
        PlanError::Length { .. }
    ));
    assert!(matches!(
        plan(&Problem { control_bounds: &empty, ..good }, &zero, None),
        PlanError::EmptyLimits { .. }
    ));
    assert_eq!(plan(&Problem { transcription: none, ..good }, &zero, None), PlanError::NoSubsteps);
}

#[test]
fn outside_the_domain_of_the_tumour_model_plans_step_back_or_refuse() {
    // ln(1/x) is undefined for x ≤ 0; 1,000 starts on both sides of zero.
    let b = Benchmark::find("cancer").unwrap();
    let times = uniform_grid(5.0, 25);
    let (mut planned, mut refused) = (0, 0);
    for trial in 0..1_000 {
        let mut rng = Stream::root(6).child("edge").index(trial).rng();
        let x0 = [rng.uniform(-0.1, 1.2)];
        let start = Start::random(&[0.0], 5.0, 3.0, 25, &mut rng);
        let problem = Problem { initial_state: &x0, ..Problem::of(&b.task, &times) };
        match Ilqr::default().plan(b.dynamics().as_mut(), &problem, start.guess()) {
            Ok(plan) => {
                planned += 1;
                assert!(plan.cost.is_finite() && plan.states.as_slice().iter().all(|x| x.is_finite()));
            }
            Err(PlanError::NoFinitePlan { time }) => {
                refused += 1;
                assert!((0.0..=5.0).contains(&time));
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(planned > 300 && refused > 100, "{planned} planned, {refused} refused");
}

/// Dynamics that return anything at all.
struct Hostile(Rng);
impl Dynamics for Hostile {
    fn dims(&self) -> ocorl::system::Dims {
        ocorl::system::Dims { state: 3, control: 2 }
    }
    fn derivative(&mut self, _: Points<'_>, out: &mut [f64]) {
        for o in out {
            *o = wild(&mut self.0);
        }
    }
    fn linearize(&mut self, z: Points<'_>, out: &mut ocorl::linalg::Linearization) {
        out.resize(3, 5, z.len());
        for o in out.value.as_mut_slice() {
            *o = wild(&mut self.0);
        }
        for o in out.jacobian.as_mut_slice() {
            *o = wild(&mut self.0);
        }
    }
}

fn wild(rng: &mut Rng) -> f64 {
    match rng.below(12) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 1e300 * rng.normal(),
        3 => 1e-300,
        _ => rng.normal(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    /// Whatever f does: no panic, and what is returned is finite and within limits.
    #[test]
    fn hostile_dynamics_never_panic(seed in any::<u64>(), limit in prop::option::of(0.0..2.0_f64), gaps in any::<bool>()) {
        let mut rng = Stream::root(seed).rng();
        let cost = QuadraticCost::new([1.0; 3], [1.0; 2]).terminal_weights([1.0; 3]);
        let bounds = limit.map_or(Bounds::none(2), |l| Bounds::symmetric([l, l]));
        let times = grid(&mut rng, 5);
        let problem = Problem {
            cost: &cost,
            initial_state: &[0.1, 0.2, 0.3],
            times: &times,
            control_bounds: &bounds,
            rate_limit: None,
            state_bounds: None,
            constraints: PathConstraints::default(),
            transcription: Transcription::default(),
        };
        let states = Blocks::zeros(3, 6);
        let guess = Guess { controls: &[0.0; 10], states: gaps.then_some(states.as_slice()) };
        let settings = Settings { max_iterations: 5, ..Settings::default() };
        if let Ok(plan) = Ilqr::new(settings).plan(&mut Hostile(rng), &problem, guess) {
            prop_assert!(plan.cost.is_finite());
            prop_assert!(plan.controls.as_slice().iter().all(|u| u.is_finite() && u.abs() <= limit.unwrap_or(f64::INFINITY)));
            prop_assert!(plan.states.as_slice().iter().all(|x| x.is_finite()));
        }
    }

    /// Random linear-quadratic problems of any shape, also those without a specialised kernel, converge at once.
    #[test]
    fn linear_quadratic_problems_of_other_shapes(seed in any::<u64>()) {
        let mut rng = Stream::root(seed).rng();
        let mut f = ExactJacobian(Linear::<5, 3>::random(&mut rng));
        let cost = QuadraticCost::new([1.0; 5], [0.5; 3]).terminal_weights([1.0; 5]);
        let (times, bounds) = (grid(&mut rng, 10), Bounds::none(3));
        let x0: Vec<f64> = (0..5).map(|_| rng.normal()).collect();
        let problem = Problem {
            cost: &cost, initial_state: &x0, times: &times, rate_limit: None, control_bounds: &bounds, state_bounds: None,
            constraints: PathConstraints::default(),
            transcription: Transcription::default(),
        };
        let plan = Ilqr::default().plan(&mut f, &problem, Guess { controls: &[0.0; 30], states: None }).unwrap();
        prop_assert_eq!(plan.outcome, Outcome::Converged);
        prop_assert!(plan.trace.len() <= 3, "{} iterations", plan.trace.len());
        prop_assert!(plan.gradient_norm <= 1e-5 * (1.0 + plan.cost));
        // Costs are sums of squares.
        prop_assert!(plan.cost >= 0.0 && cost.terminal(0.0, plan.states.at(10)) <= plan.cost);
    }
}
