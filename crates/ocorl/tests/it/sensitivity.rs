//! Gradient and curvature of the cost along a trajectory, against difference quotients and dense elimination.

use ocorl::plan::{Guess, Ilqr, Problem, Transcription, uniform_grid};
use ocorl::random::Stream;
use ocorl::simulate::Integrator;
use ocorl::system::Benchmark;

fn guess(controls: &[f64]) -> Guess<'_> {
    Guess { controls, states: None }
}

#[test]
fn the_gradient_is_that_of_the_transcribed_cost() {
    for (name, integrator) in
        [("pendulum", Integrator::Heun), ("bicycle", Integrator::Rk4), ("cart-pole", Integrator::Euler)]
    {
        let b = Benchmark::find(name).expect("a benchmark");
        let (times, nu) = (uniform_grid(1.0, 12), b.task.controls.len());
        let problem =
            Problem { transcription: Transcription::single(integrator), ..Problem::of(&b.task, &times) };
        let mut rng = Stream::root(5).rng();
        let controls: Vec<f64> = (0..12 * nu).map(|_| 0.3 * rng.normal()).collect();
        let mut ilqr = Ilqr::default();
        let mut f = b.dynamics();
        let (_, gradient) = ilqr.gradient(f.as_mut(), &problem, guess(&controls)).expect("a trajectory");
        for i in 0..controls.len() {
            let mut cost = |h: f64| {
                let mut moved = controls.clone();
                moved[i] += h;
                ilqr.gradient(f.as_mut(), &problem, guess(&moved)).expect("a trajectory").0
            };
            let h = 1e-5;
            let (slope, found) = ((cost(h) - cost(-h)) / (2.0 * h), gradient.as_slice()[i]);
            assert!((slope - found).abs() < 1e-7 * slope.abs().max(1.0), "{name}, {i}: {slope} and {found}");
        }
    }
}

#[test]
fn the_curvature_is_the_schur_complement_of_the_whole_hessian() {
    // Glucose in blood is linear with a quadratic cost: the gradient is affine, and differences of it are the Hessian.
    let b = Benchmark::find("glucose-in-blood").expect("a benchmark");
    let times = [0.0, 0.2, 0.5];
    let problem =
        Problem { transcription: Transcription::single(Integrator::Heun), ..Problem::of(&b.task, &times) };
    let (mut ilqr, mut f) = (Ilqr::default(), b.dynamics());
    let mut gradient = |u: [f64; 2]| {
        let (_, g) = ilqr.gradient(f.as_mut(), &problem, guess(&u)).expect("a trajectory");
        [g.at(0)[0], g.at(1)[0]]
    };
    let (g0, g_first, g_second) = (gradient([0.0, 0.0]), gradient([1.0, 0.0]), gradient([0.0, 1.0]));
    let hessian = [[g_first[0] - g0[0], g_first[1] - g0[1]], [g_second[0] - g0[0], g_second[1] - g0[1]]];
    let expected = [hessian[0][0] - hessian[0][1] * hessian[1][0] / hessian[1][1], hessian[1][1]];
    let found = ilqr.curvature(f.as_mut(), &problem, guess(&[0.3, -0.2])).expect("a trajectory");
    for k in 0..2 {
        let (found, expected) = (found.at(k)[0], expected[k]);
        assert!((found - expected).abs() < 1e-9 * expected, "{k}: {found} and {expected}");
    }
}

#[test]
fn the_discretization_error_is_the_change_of_the_cost_with_a_finer_integration() {
    for (name, horizon) in [("pendulum", 2.0), ("van-der-pol", 4.0), ("cart-pole", 2.0)] {
        let b = Benchmark::find(name).expect("a benchmark");
        let times = uniform_grid(horizon, 40);
        let heun = Transcription::single(Integrator::Heun);
        let problem = Problem { transcription: heun, ..Problem::of(&b.task, &times) };
        let controls = vec![0.4; 40 * b.task.controls.len()];
        let (mut f, mut ilqr) = (b.dynamics(), Ilqr::default());
        let finer = heun.finer().expect("there is one").finer().expect("there is one");
        ilqr.gradient(f.as_mut(), &problem, guess(&controls)).expect("a trajectory");
        let states = ilqr.states().clone();
        let along = Guess { controls: &controls, states: Some(states.as_slice()) };
        let (error, cost) =
            ilqr.discretization_error(f.as_mut(), &problem, finer, along).expect("a trajectory");
        let accurate = Problem { transcription: finer, ..problem };
        let (other, _) = ilqr.gradient(f.as_mut(), &accurate, guess(&controls)).expect("a trajectory");
        assert!(error.abs() > 1e-5 * cost, "{name}: the step is so long that there is an error");
        assert!((error / (other - cost) - 1.0).abs() < 0.1, "{name}: {error} for {}", other - cost);
    }
}
