//! Hot loops allocate nothing after their first pass.

use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::kernels::{Kernel, Linear, Matern52, Product, Rbf, Scale, Sum};
use ocorl::model::{GaussianProcess, Mean, Physics, Posterior, Query, Settings, StatisticalModel};
use ocorl::plan::{ForwardPass, Guess, Ilqr, Problem, Settings as PlanSettings, uniform_grid};
use ocorl::random::Stream;
use ocorl::simulate::Policy;
use ocorl::system::Benchmark;
use ocorl::track::{LadderSettings, MpcSettings, Reference, mpc};
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
    let physics = Mean::Physics(Physics::new(b.dynamics()));
    let rich = Settings { kernel: Arc::new(composite), mean: physics, ..Settings::default() };
    let approximate = Settings { exact_limit: 60, inducing_points: 40, ..Settings::default() };
    for settings in [simple, rich, approximate] {
        let mut model = GaussianProcess::for_task(&b.task, settings).unwrap();
        model.update(&data).unwrap();
        let points: Vec<f64> = (0..5 * 150).map(|_| rng.uniform(-2.0, 2.0)).collect();
        for query in [Query::Mean, Query::MeanJacobian, Query::MeanStd, Query::All] {
            let mut posterior = Posterior::default();
            let mut ask = || model.posterior(Points::new(&points, 5), query, &mut posterior);
            ask();
            assert_eq!(allocation_counter::measure(ask).count_total, 0, "{query:?}");
        }
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
    let settings = MpcSettings::new(b.dims(), b.settings.tracking_horizon);
    let mut policy = mpc(reference, b.dynamics(), settings, LadderSettings::of(&b.task));
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
