//! Assertions shared by the tests of the systems.

use super::{Dynamics, KnownSystem};
use crate::linalg::Points;
use crate::random::Stream;

/// Evaluates f at one point.
pub(super) fn derivative(benchmark: &KnownSystem, state: &[f64], control: &[f64]) -> Vec<f64> {
    let z = [state, control].concat();
    let mut out = vec![0.0; state.len()];
    benchmark.dynamics().derivative(Points::single(&z), &mut out);
    out
}

/// Compares f with independently computed numbers, to `tolerance` relative to 1 + |expected|.
pub(super) fn assert_derivative(
    benchmark: &KnownSystem,
    state: &[f64],
    control: &[f64],
    expected: &[f64],
    tolerance: f64,
) {
    let actual = derivative(benchmark, state, control);
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!((a - e).abs() <= tolerance * (1.0 + e.abs()), "ẋ[{i}] = {a}, expected {e}");
    }
}

/// Asserts f(x, u) = 0.
pub(super) fn assert_equilibrium(benchmark: &KnownSystem, state: &[f64], control: &[f64]) {
    for (i, d) in derivative(benchmark, state, control).iter().enumerate() {
        assert!(d.abs() < 1e-14, "ẋ[{i}] = {d} at what should be an equilibrium");
    }
}

/// Asserts ∇H(x) · f(x, u) = 0 at random states: H is conserved under the constant control `u`.
pub(super) fn assert_conserved<const N: usize>(
    benchmark: &KnownSystem,
    control: &[f64],
    gradient: impl Fn([f64; N]) -> [f64; N],
) {
    let mut rng = Stream::root(1).child("conserved").rng();
    for _ in 0..200 {
        let state: [f64; N] = std::array::from_fn(|_| rng.uniform(-3.0, 3.0));
        let f = derivative(benchmark, &state, control);
        let g = gradient(state);
        let rate: f64 = g.iter().zip(&f).map(|(g, f)| g * f).sum();
        let size: f64 = g.iter().zip(&f).map(|(g, f)| (g * f).abs()).sum();
        assert!(rate.abs() <= 1e-12 * (1.0 + size), "dH/dt = {rate} at {state:?}");
    }
}

/// Asserts the cost of episode 0 exactly as the reference simulates and evaluates it: explicit Euler with step 0.001,
/// linear interpolation on 1000 equally spaced times of [0, T] (those past the last step dropped), trapezoidal
/// rule, and the terminal cost at the last of them.
pub(super) fn assert_first_episode(benchmark: &KnownSystem, expected: f64, tolerance: f64) {
    let cost = first_episode_cost(benchmark);
    assert!((cost - expected).abs() <= tolerance * expected, "episode 0 costs {cost}, expected {expected}");
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive counts")]
fn first_episode_cost(benchmark: &KnownSystem) -> f64 {
    let (task, dims, h) = (&benchmark.task, benchmark.dims(), 1e-3);
    let mut dynamics: Box<dyn Dynamics> = benchmark.dynamics();
    let steps = (task.horizon / h).ceil() as usize;
    let (mut z, mut slope) = (vec![0.0; dims.point()], vec![0.0; dims.state]);
    z[..dims.state].copy_from_slice(&task.initial_state);
    let (mut times, mut points, mut t) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..steps {
        let (x, u) = z.split_at_mut(dims.state);
        (benchmark.first_control)(t, x, u);
        times.push(t);
        points.push(z.clone());
        dynamics.derivative(Points::single(&z), &mut slope);
        for (x, dx) in z.iter_mut().zip(&slope) {
            *x += h * dx;
        }
        t += h;
    }
    let at = |t: f64| -> Vec<f64> {
        let k = times.partition_point(|&s| s <= t).clamp(1, times.len() - 1);
        let w = (t - times[k - 1]) / (times[k] - times[k - 1]);
        points[k - 1].iter().zip(&points[k]).map(|(a, b)| a + w * (b - a)).collect()
    };
    let grid: Vec<f64> =
        (0..1000).map(|k| task.horizon * f64::from(k) / 999.0).filter(|&t| t <= times[steps - 1]).collect();
    let samples: Vec<Vec<f64>> = grid.iter().map(|&t| at(t)).collect();
    let mut costs = vec![0.0; grid.len()];
    task.cost.running(&grid, Points::new(&samples.concat(), dims.point()), &mut costs);
    let integral: f64 =
        grid.windows(2).zip(costs.windows(2)).map(|(t, c)| 0.5 * (t[1] - t[0]) * (c[0] + c[1])).sum();
    let (last, end) = (samples.last().unwrap(), *grid.last().unwrap());
    integral
        + task.cost.terminal(end, &last[..dims.state])
        + benchmark.paper().map_or(0.0, |paper| paper.held.terminal_control_weight)
            * last[dims.state..].iter().map(|u| u * u).sum::<f64>()
}
