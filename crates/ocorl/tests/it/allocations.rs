//! Hot loops allocate nothing after their first pass.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::explore::Exploration;
use ocorl::linalg::{Dims, Points};
use ocorl::measurements::Measurements;
use ocorl::model::kernels::{Kernel, Linear, Matern52, Product, Rbf, Scale, Sum};
use ocorl::model::{GaussianProcess, Mean, Physics, Posterior, Query, Settings, StatisticalModel};
use ocorl::plan::{
    ForwardPass, Guess, Ilqr, PathConstraints, Problem, Settings as PlanSettings, Transcription, uniform_grid,
};
use ocorl::random::Stream;
use ocorl::real::Real;
use ocorl::simulate::Policy;
use ocorl::system::{Benchmark, Bounds, ExactJacobian, KnownSystem, QuadraticCost, VectorField};
use ocorl::track::{FallbackSettings, MpcSettings, Reference, mpc};
use std::sync::Arc;

#[test]
fn solving_again_allocates_nothing() {
    for b in Benchmark::of_the_paper() {
        let times = uniform_grid(b.task.horizon, 40);
        let problem = Problem::of(&b.task, &times);
        for forward in [ForwardPass::Rollout, ForwardPass::Batch] {
            let (mut f, mut ilqr) =
                (b.dynamics(), Ilqr::new(PlanSettings { forward, ..PlanSettings::default() }));
            let controls = b.task.safe_control.repeat(40);
            let mut solve =
                || ilqr.solve(f.as_mut(), &problem, Guess { controls: &controls, states: None }).unwrap();
            solve();
            let counted = allocation_counter::measure(|| {
                solve();
            });
            assert_eq!(counted.count_total, 0, "{} {forward:?}", b.name);
        }
    }
}

/// A model of `b` that knows `n` derivatives at random points.
fn model(b: &KnownSystem, n: usize, settings: Settings) -> GaussianProcess {
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(1).rng(), Measurements::new(b.dims()));
    let (dims, mut y) = (b.dims(), vec![0.0; b.dims().state]);
    for _ in 0..n {
        let z: Vec<f64> = (0..dims.point()).map(|_| rng.uniform(-1.0, 1.0)).collect();
        f.derivative(Points::single(&z), &mut y);
        data.push(0.0, &z[..dims.state], &z[dims.state..], &y, &vec![0.01; dims.state]).unwrap();
    }
    let mut model = GaussianProcess::for_task(&b.task, settings).unwrap();
    model.update(&data).unwrap();
    model
}

/// An iLQR iteration of every kind of exploration allocates nothing once the first solve has made room, whatever its shape: optimism
/// plans with (dₓ, dᵤ + dₓ), which is no shape that the planner is compiled for.
#[test]
fn planning_on_a_model_again_allocates_nothing() {
    for name in ["pendulum", "cart-pole", "quadrotor-2d"] {
        let b = Benchmark::find(name).unwrap();
        let linear = Settings { kernel: Arc::new(Linear), ..Settings::default() };
        for explore in Exploration::ALL {
            // Weights are planned over where a model has finitely many of them.
            let settings =
                if explore == Exploration::WeightSpace { linear.clone() } else { Settings::default() };
            let model: Arc<dyn StatisticalModel> = Arc::new(model(&b, 20, settings));
            let posed = explore.planning_problem(&model, &b.task, 1.0, Stream::root(2));
            let times = uniform_grid(b.task.horizon, 10);
            let problem = Problem {
                cost: posed.cost.as_ref(),
                control_bounds: &posed.bounds,
                state_bounds: None,
                rate_limit: None,
                ..Problem::of(&b.task, &times)
            };
            let dims = posed.dynamics().dims();
            let mut control = b.task.safe_control.clone();
            control.resize(dims.control, 0.1);
            let controls = control.repeat(10);
            for forward in [ForwardPass::Rollout, ForwardPass::Batch] {
                let settings = PlanSettings { forward, max_iterations: 4, ..PlanSettings::default() };
                let (mut f, mut ilqr) = (posed.dynamics(), Ilqr::new(settings));
                let mut solve =
                    || ilqr.solve(f.as_mut(), &problem, Guess { controls: &controls, states: None }).unwrap();
                solve();
                let counted = allocation_counter::measure(|| {
                    solve();
                });
                assert_eq!(counted.count_total, 0, "{name} {explore:?} {forward:?} {dims:?}");
            }
        }
    }
}

/// Three integrators with two controls, a shape that no list has.
struct Wide;

impl VectorField<3, 2> for Wide {
    #[inline(always)]
    fn derivative<R: Real>(&self, x: [R; 3], u: [R; 2]) -> [R; 3] {
        [x[1].sin() + u[0], x[2] - x[0], u[1] - x[2]]
    }
}

#[test]
fn a_shape_in_no_list_allocates_nothing_again() {
    let (cost, times) =
        (QuadraticCost::new([1.0; 3], [0.1; 2]).terminal_weights([1.0; 3]), uniform_grid(2.0, 40));
    for control_bounds in [Bounds::none(2), Bounds::symmetric([0.3, 0.5])] {
        let problem = Problem {
            cost: &cost,
            initial_state: &[1.0, -1.0, 0.5],
            times: &times,
            control_bounds: &control_bounds,
            state_bounds: None,
            constraints: PathConstraints::default(),
            rate_limit: None,
            transcription: Transcription::default(),
        };
        for forward in [ForwardPass::Rollout, ForwardPass::Batch] {
            let mut ilqr = Ilqr::new(PlanSettings { forward, ..PlanSettings::default() });
            let mut solve = || {
                let guess = Guess { controls: &[0.1; 80], states: None };
                ilqr.solve(&mut ExactJacobian(Wide), &problem, guess).unwrap()
            };
            let first = solve();
            assert!(first.iterations > 2, "{first:?}");
            let counted = allocation_counter::measure(|| {
                assert_eq!(solve(), first);
            });
            assert_eq!(counted.count_total, 0, "{forward:?} {control_bounds:?}");
        }
    }
}

#[test]
fn asking_a_model_again_allocates_nothing() {
    let b = Benchmark::find("cart-pole").unwrap();
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(1).rng(), Measurements::new(b.dims()));
    for _ in 0..70 {
        let z: [f64; 5] = std::array::from_fn(|_| rng.uniform(-2.0, 2.0));
        let mut y = [0.0; 4];
        f.derivative(Points::single(&z), &mut y);
        data.push(0.0, &z[..4], &z[4..], &y, &[0.01; 4]).unwrap();
    }
    let kernel: Box<dyn Kernel> = Box::new(Scale(Box::new(Rbf)));
    let composite = Sum(kernel, Box::new(Product(Box::new(Matern52), Box::new(Linear))));
    let simple = Settings::default();
    let known = b.clone();
    let physics = Mean::Physics(Physics::new(move || known.dynamics()));
    let rich = Settings { kernel: Arc::new(composite), mean: physics, ..Settings::default() };
    let approximate = Settings { exact_limit: 60, inducing_points: 40, ..Settings::default() };
    for settings in [simple, rich, approximate] {
        let mut model = GaussianProcess::for_task(&b.task, settings).unwrap();
        model.update(&data).unwrap();
        let points: Vec<f64> = (0..5 * 150).map(|_| rng.uniform(-2.0, 2.0)).collect();
        assert_queries_allocate_nothing(&model, &points);
    }
}

#[test]
fn queries_of_a_compressed_model_allocate_nothing_after_the_first() {
    let dims = Dims { state: 1, control: 1 };
    let mut data = Measurements::new(dims);
    for i in 0..100 {
        let t = 0.06 * f64::from(i);
        data.push(t, &[t.cos()], &[t.sin()], &[t.cos() * t.sin()], &[0.01]).unwrap();
    }
    let mut model = GaussianProcess::new(dims, &[], Settings::default()).unwrap();
    model.update(&data).unwrap();
    let compressed = model.compressed().unwrap();
    assert!(compressed.basis_points(0) < 80, "{} points", compressed.basis_points(0));
    let points: Vec<f64> = (0..300).map(|i| (0.1 * f64::from(i)).sin()).collect();
    assert_queries_allocate_nothing(&compressed, &points);
    assert_queries_allocate_nothing(&compressed, &points[..2]);
}

fn assert_queries_allocate_nothing(model: &GaussianProcess, points: &[f64]) {
    for query in [Query::Mean, Query::MeanJacobian, Query::MeanStd, Query::All] {
        let mut posterior = Posterior::default();
        let mut ask = || model.posterior(Points::new(points, model.dims().point()), query, &mut posterior);
        ask();
        assert_eq!(allocation_counter::measure(ask).count_total, 0, "{query:?}");
    }
}

#[test]
fn a_control_step_allocates_nothing_after_warm_up() {
    let b = Benchmark::find("pendulum").unwrap();
    let times = uniform_grid(b.task.horizon, 100);
    let problem = Problem::of(&b.task, &times);
    let guess = Guess { controls: &[0.0; 100], states: None };
    let plan = Ilqr::default().plan(b.dynamics().as_mut(), &problem, guess).unwrap();
    let states = plan.states.clone();
    let reference = Reference::new(plan, b.dynamics().as_mut(), &b.task.angles);
    let settings = MpcSettings::new(b.dims(), b.paper().unwrap().tracking_horizon);
    let mut policy = mpc(reference, b.dynamics(), settings, &FallbackSettings::of(&b.task));
    let mut step = |k: usize| {
        let (time, mut u) = (times[k], [0.0]);
        let state = [states.at(k)[0] + 0.01, states.at(k)[1] - 0.02];
        policy.prepare(time, &state).unwrap();
        policy.control(time, &state, &mut u);
    };
    (0..3).for_each(&mut step);
    let counted = allocation_counter::measure(|| (3..60).for_each(&mut step));
    assert_eq!(counted.count_total, 0);
}
