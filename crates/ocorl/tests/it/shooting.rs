//! Searches that evaluate all intervals at once find what searches by rollouts find.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::explore::Exploration;
use ocorl::linalg::{Linearization, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Settings as ModelSettings, StatisticalModel};
use ocorl::plan::{
    ForwardPass, Guess, Ilqr, Outcome, PathConstraints, Plan, PlanError, Problem, Settings, Start,
    Transcription, uniform_grid,
};
use ocorl::random::{Rng, Stream};
use ocorl::real::Real;
use ocorl::simulate::Integrator;
use ocorl::system::{
    Benchmark, Bounds, Dims, Dynamics, ExactJacobian, KnownSystem, QuadraticCost, VectorField,
};
use std::sync::Arc;

fn settings(forward: ForwardPass) -> Settings {
    Settings { forward, ..Settings::default() }
}

fn plan(f: &mut dyn Dynamics, problem: &Problem<'_>, guess: Guess<'_>, forward: ForwardPass) -> Plan {
    Ilqr::new(settings(forward)).plan(f, problem, guess).unwrap()
}

/// J of the plan's controls alone.
fn rolled_out(f: &mut dyn Dynamics, problem: &Problem<'_>, plan: &Plan) -> f64 {
    let settings = Settings { max_iterations: 0, ..Settings::default() };
    let guess = Guess { controls: plan.controls.as_slice(), states: None };
    Ilqr::new(settings).solve(f, problem, guess).unwrap().cost
}

fn assert_same_cost(a: &Plan, b: &Plan, what: &str) {
    assert!((a.cost - b.cost).abs() <= 1e-8 * (1.0 + b.cost.abs()), "{what}: {} and {}", a.cost, b.cost);
}

/// ẋ = A x + B u.
struct Linear([[f64; 3]; 3], [[f64; 2]; 3]);

impl Linear {
    fn random(rng: &mut Rng) -> Self {
        let mut draw = |size: f64| size * rng.normal();
        let a = std::array::from_fn(|_| std::array::from_fn(|_| draw(0.5)));
        Linear(a, std::array::from_fn(|_| std::array::from_fn(|_| draw(1.0))))
    }
}

impl VectorField<3, 2> for Linear {
    fn derivative<R: Real>(&self, x: [R; 3], u: [R; 2]) -> [R; 3] {
        std::array::from_fn(|i| {
            let drift = (0..3).fold(R::constant(0.0), |s, j| s + x[j] * self.0[i][j]);
            (0..2).fold(drift, |s, j| s + u[j] * self.1[i][j])
        })
    }
}

#[test]
fn linear_quadratic_problems_have_one_optimum_with_and_without_limits_and_gaps() {
    for trial in 0..60 {
        let mut rng = Stream::root(11).index(trial).rng();
        let mut f = ExactJacobian(Linear::random(&mut rng));
        let cost = QuadraticCost::new([1.0, 0.5, 2.0], [0.3, 1.0]).terminal_weights([2.0, 1.0, 0.5]);
        let times: Vec<f64> = (0..=15).map(|k| 0.1 * f64::from(k) + 0.02 * rng.uniform(0.0, 1.0)).collect();
        let bounds = if trial % 2 == 0 { Bounds::none(2) } else { Bounds::symmetric([0.3, 0.2]) };
        let integrator = [Integrator::Euler, Integrator::Heun, Integrator::Rk4][trial % 3];
        let problem = Problem {
            cost: &cost,
            initial_state: &[1.0, -0.5, 0.3],
            times: &times,
            control_bounds: &bounds,
            rate_limit: None,
            state_bounds: None,
            constraints: PathConstraints::default(),
            transcription: Transcription { substeps: 1 + trial % 2, ..Transcription::single(integrator) },
        };
        let states: Vec<f64> = (0..48).map(|_| rng.normal()).collect();
        let given = (trial % 4 < 2).then_some(states.as_slice());
        let guess = Guess { controls: &[0.0; 30], states: given };
        let by_rollout = plan(&mut f, &problem, guess, ForwardPass::Rollout);
        let in_batches = plan(&mut f, &problem, guess, ForwardPass::Batch);
        assert_eq!(in_batches.outcome, Outcome::Converged, "trial {trial}");
        assert_same_cost(&in_batches, &by_rollout, "linear-quadratic");
        assert!(in_batches.controls.iter().all(|u| bounds.violated_by(u).is_none()));
        if trial % 2 == 0 {
            assert!(in_batches.trace.len() <= 3, "{} iterations", in_batches.trace.len());
        }
    }
}

#[test]
fn true_systems_are_planned_as_by_rollouts() {
    for b in Benchmark::of_the_paper() {
        let times = uniform_grid(b.task.horizon, 80);
        for transcription in [Transcription::default(), Transcription::single(Integrator::Heun)] {
            let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
            let start = Start::constant(&b.task.safe_control, 80);
            let mut f = b.dynamics();
            let by_rollout = plan(f.as_mut(), &problem, start.guess(), ForwardPass::Rollout);
            let in_batches = plan(f.as_mut(), &problem, start.guess(), ForwardPass::Batch);
            assert_eq!(in_batches.outcome, Outcome::Converged, "{}", b.name);
            assert_same_cost(&in_batches, &by_rollout, &b.name);
            let again = rolled_out(f.as_mut(), &problem, &in_batches);
            assert!((again - in_batches.cost).abs() <= 1e-9 * (1.0 + again), "{}", b.name);
        }
    }
}

#[test]
fn the_pendulum_swings_up_within_limits_and_from_an_infeasible_start() {
    let b = Benchmark::find("pendulum").unwrap();
    let times = uniform_grid(10.0, 100);
    let mut f = b.dynamics();
    for limit in [f64::INFINITY, 3.0, 2.0] {
        let bounds = Bounds::symmetric([limit]);
        let problem = Problem { control_bounds: &bounds, ..Problem::of(&b.task, &times) };
        let zero = Start::constant(&[0.0], 100);
        let line = Start::line(&[std::f64::consts::PI, 0.0], &[0.0, 0.0], &[0.0], 100);
        let expected = plan(f.as_mut(), &problem, zero.guess(), ForwardPass::Rollout);
        for start in [zero, line] {
            let found = plan(f.as_mut(), &problem, start.guess(), ForwardPass::Batch);
            assert_eq!(found.outcome, Outcome::Converged, "limit {limit}");
            assert_same_cost(&found, &expected, "pendulum");
            assert!(found.controls.as_slice().iter().all(|u| u.abs() <= limit));
        }
    }
}

#[test]
fn no_plan_costs_more_than_its_start_or_leaves_the_state_bounds() {
    for b in Benchmark::all() {
        let times = uniform_grid(b.task.horizon, 50);
        let problem = Problem { state_bounds: Some(&b.task.state_bounds), ..Problem::of(&b.task, &times) };
        for trial in 0..4 {
            let mut rng = Stream::root(12).child(&b.name).index(trial).rng();
            let start = Start::random(&b.task.safe_control, 0.5, 2.0, 50, &mut rng);
            let mut f = b.dynamics();
            let nothing = Settings { max_iterations: 0, ..Settings::default() };
            let Ok(before) = Ilqr::new(nothing).plan(f.as_mut(), &problem, start.guess()) else { continue };
            let found = plan(f.as_mut(), &problem, start.guess(), ForwardPass::Batch);
            assert!(found.cost <= before.cost, "{}: {} after {}", b.name, found.cost, before.cost);
            assert!(found.states.iter().skip(1).all(|x| b.task.state_bounds.violated_by(x).is_none()));
            let again = plan(f.as_mut(), &problem, start.guess(), ForwardPass::Batch);
            assert_eq!(found, again, "{}", b.name);
        }
    }
}

#[test]
fn outside_the_domain_of_the_tumour_model_plans_step_back_or_refuse() {
    let b = Benchmark::find("cancer").unwrap();
    let times = uniform_grid(5.0, 25);
    let (mut planned, mut refused) = (0, 0);
    for trial in 0..300 {
        let mut rng = Stream::root(6).child("edge").index(trial).rng();
        let x0 = [rng.uniform(-0.1, 1.2)];
        let start = Start::random(&[0.0], 5.0, 3.0, 25, &mut rng);
        let problem = Problem { initial_state: &x0, ..Problem::of(&b.task, &times) };
        match Ilqr::new(settings(ForwardPass::Batch)).plan(b.dynamics().as_mut(), &problem, start.guess()) {
            Ok(plan) => {
                planned += 1;
                assert!(plan.cost.is_finite() && plan.states.as_slice().iter().all(|x| x.is_finite()));
            }
            Err(PlanError::NoFinitePlan { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(planned > 90 && refused > 30, "{planned} planned, {refused} refused");
}

/// Dynamics that return anything at all.
struct Hostile(Rng);

impl Hostile {
    fn fill(&mut self, out: &mut [f64]) {
        for out in out {
            *out = match self.0.below(200) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => 1e300 * self.0.normal(),
                _ => self.0.normal(),
            }
        }
    }
}

impl Dynamics for Hostile {
    fn dims(&self) -> Dims {
        Dims { state: 3, control: 2 }
    }
    fn derivative(&mut self, _: Points<'_>, out: &mut [f64]) {
        self.fill(out);
    }
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(3, 5, z.len());
        self.fill(out.value.as_mut_slice());
        self.fill(out.jacobian.as_mut_slice());
    }
}

#[test]
fn hostile_dynamics_never_panic() {
    let cost = QuadraticCost::new([1.0; 3], [1.0; 2]).terminal_weights([1.0; 3]);
    let (times, bounds) = (uniform_grid(1.0, 5), Bounds::symmetric([0.7, 0.7]));
    for seed in 0..500 {
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
        let states = (seed % 2 == 0).then_some(&[0.0; 18][..]);
        let settings = Settings { max_iterations: 5, ..settings(ForwardPass::Batch) };
        let mut f = Hostile(Stream::root(seed).rng());
        if let Ok(plan) = Ilqr::new(settings).plan(&mut f, &problem, Guess { controls: &[0.0; 10], states }) {
            assert!(plan.cost.is_finite() && plan.states.as_slice().iter().all(|x| x.is_finite()));
            assert!(plan.controls.as_slice().iter().all(|u| u.abs() <= 0.7));
        }
    }
}

/// A trained model of random points of the pendulum.
fn model(n: usize) -> (KnownSystem, Arc<dyn StatisticalModel>) {
    let b = Benchmark::find("pendulum").unwrap();
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(1).rng(), Measurements::new(b.dims()));
    for _ in 0..n {
        let z = [rng.uniform(-4.0, 4.0), rng.uniform(-4.0, 4.0), rng.uniform(-2.0, 2.0)];
        let mut y = [0.0; 2];
        f.derivative(Points::single(&z), &mut y);
        data.push(0.0, &z[..2], &z[2..], &y, &b.task.noise_std).unwrap();
    }
    let mut model = GaussianProcess::for_task(&b.task, ModelSettings::default()).unwrap();
    model.update(&data).unwrap();
    model.train(Stream::root(0)).unwrap();
    (b, Arc::new(model))
}

#[test]
fn optimism_is_planned_as_by_rollouts_and_costs_no_more_than_the_mean_plan() {
    let (b, model) = model(60);
    let times = uniform_grid(b.task.horizon, 100);
    let transcription = Transcription::single(Integrator::Heun);
    let planning_problem = |explore: Exploration, start: Start, forward| {
        let imagined = explore.planning_problem(&model, &b.task, 0.0, Stream::root(0));
        let problem = Problem {
            cost: imagined.cost.as_ref(),
            control_bounds: &imagined.bounds,
            state_bounds: Some(&b.task.state_bounds),
            transcription,
            ..Problem::of(&b.task, &times)
        };
        plan(imagined.dynamics().as_mut(), &problem, start.guess(), forward)
    };
    let mean = planning_problem(Exploration::Mean, Start::constant(&[0.0], 100), ForwardPass::Rollout);
    let mut start = Start::constant(&[0.0; 3], 100);
    for (k, u) in mean.controls.iter().enumerate() {
        start.controls.at_mut(k)[0] = u[0];
    }
    start.states = Some(mean.states.clone());
    let by_rollout = planning_problem(Exploration::Optimistic, start.clone(), ForwardPass::Rollout);
    let in_batches = planning_problem(Exploration::Optimistic, start, ForwardPass::Batch);
    assert!((in_batches.cost - by_rollout.cost).abs() <= 1e-6 * by_rollout.cost);
    assert!(in_batches.cost <= mean.cost, "{} and {}", in_batches.cost, mean.cost);
}
