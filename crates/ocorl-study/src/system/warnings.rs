//! Warnings about valid contents of a system file that are probably unintended.

use super::System;
use ocorl::linalg::{Linearization, Points, Quadratization};
use ocorl::random::Stream;
use ocorl::simulate::{Experiment, Integrator, Law, Method, Outcome, Policy, Run, Simulator};
use ocorl::system::Dynamics;

/// Number of points around the initial state that are checked.
const PROBES: usize = 50;

pub(super) fn of(system: &System) -> Vec<String> {
    let mut warnings = Vec::new();
    cost(system, &mut warnings);
    equations(system, &mut warnings);
    first_control(system, &mut warnings);
    scales(system, &mut warnings);
    first_run(system, &mut warnings);
    warnings
}

/// The initial state and points near it, with inputs within their limits.
fn probes(system: &System) -> Vec<f64> {
    let task = &system.task;
    let mut rng = Stream::root(0).child("probes").rng();
    let mut points = [task.initial_state.as_slice(), &task.safe_control].concat();
    for _ in 1..PROBES {
        points.extend(task.initial_state.iter().map(|x| x + 0.05 * x.abs().max(1.0) * rng.normal()));
        let from = points.len();
        points.extend(task.safe_control.iter().map(|u| u + 0.1 * u.abs().max(1.0) * rng.normal()));
        task.control_bounds.clamp(&mut points[from..]);
    }
    points
}

fn cost(system: &System, warnings: &mut Vec<String>) {
    let (task, points) = (&system.task, probes(system));
    let dims = task.dims();
    let z = Points::new(&points, dims.point());
    let mut found = Quadratization::default();
    task.cost.quadratize(&vec![0.0; z.len()], z, &mut found);
    let mut flat = vec![true; dims.point()];
    let mut curved_down = vec![false; dims.point()];
    for i in 0..z.len() {
        for j in 0..dims.point() {
            flat[j] &= found.gradient.at(i)[j] == 0.0 && found.hessian_at(i)[j * dims.point() + j] == 0.0;
            curved_down[j] |= found.hessian_at(i)[j * dims.point() + j] < 0.0;
        }
    }
    for (j, input) in task.controls.iter().enumerate() {
        let (name, j) = (&input.name, dims.state + j);
        let limited = task.control_bounds.lower[j - dims.state].is_finite()
            && task.control_bounds.upper[j - dims.state].is_finite();
        if flat[j] && !limited {
            warnings.push(format!("the cost does not depend on the input '{name}', which has no limits"));
        }
        if curved_down[j] {
            warnings.push(format!("the cost falls the more '{name}' is used: it may have no least value"));
        }
    }
    let names = task.states.iter().enumerate();
    for (_, state) in names.filter(|(j, _)| curved_down[*j]) {
        warnings.push(format!(
            "the cost falls away from its bend in '{}': it may have no least value",
            state.name
        ));
    }
    let terminal: Vec<f64> = {
        let (mut gradient, mut hessian) = (vec![0.0; dims.state], vec![0.0; dims.state * dims.state]);
        task.cost.quadratize_terminal(task.horizon, &task.initial_state, &mut gradient, &mut hessian);
        (0..dims.state).map(|j| hessian[j * dims.state + j]).collect()
    };
    for (state, _) in task.states.iter().zip(terminal).filter(|(_, bend)| *bend < 0.0) {
        warnings.push(format!("the terminal cost falls away from its bend in '{}'", state.name));
    }
    if flat[..dims.state].iter().all(|flat| *flat) {
        warnings.push("the running cost depends on no state".into());
    }
    if found.value.iter().any(|value| !value.is_finite()) {
        warnings.push("the cost is not finite at some points near x0".into());
    }
}

fn equations(system: &System, warnings: &mut Vec<String>) {
    let Some(truth) = &system.truth else { return };
    let (task, points) = (&system.task, probes(system));
    let dims = task.dims();
    let mut found = Linearization::default();
    truth.dynamics().linearize(Points::new(&points, dims.point()), &mut found);
    if found.value.as_slice().iter().any(|value| !value.is_finite()) {
        warnings.push("the equations are not finite at some points near x0".into());
    } else if found.jacobian.as_slice().iter().any(|value| !value.is_finite()) {
        warnings.push("the equations have no finite slope at some points near x0".into());
    }
    for (r, input) in task.controls.iter().enumerate() {
        let slopes =
            |gradients: &[f64]| gradients.chunks_exact(dims.point()).any(|g| g[dims.state + r] != 0.0);
        if !found.jacobian.iter().any(slopes) {
            warnings.push(format!("the input '{}' moves nothing near x0", input.name));
        }
    }
}

fn first_control(system: &System, warnings: &mut Vec<String>) {
    let task = &system.task;
    let mut u = vec![0.0; task.controls.len()];
    let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); u.len()];
    let mut finite = true;
    for i in 0..=200 {
        (system.first_control)(task.horizon * f64::from(i) / 200.0, &task.initial_state, &mut u);
        finite &= u.iter().all(|u| u.is_finite());
        task.control_bounds.clamp(&mut u);
        for (range, u) in range.iter_mut().zip(&u) {
            *range = (range.0.min(*u), range.1.max(*u));
        }
    }
    if !finite {
        warnings.push("the control of episode 0 is not finite at all times".into());
    }
    for (input, (low, high)) in task.controls.iter().zip(range) {
        if !(high > low) {
            warnings.push(format!(
                "episode 0 holds '{}' at {low}: nothing is learned of it then; see [excitation]",
                input.name
            ));
        }
    }
}

/// Largest and smallest magnitude of a number in a well scaled system file.
const SCALES: (f64, f64) = (1e-6, 1e6);

/// Warns of states, inputs and durations in unsuitable units.
fn scales(system: &System, warnings: &mut Vec<String>) {
    let task = &system.task;
    let mut judge = |what: String, size: f64| {
        if size > 0.0 && !(SCALES.0..=SCALES.1).contains(&size) {
            warnings.push(format!(
                "{what} is of the order of {size:.0e}; numbers between {:.0e} and {:.0e} are learned best: choose another unit",
                SCALES.0, SCALES.1
            ));
        }
    };
    for (state, x) in task.states.iter().zip(&task.initial_state) {
        judge(format!("the state '{}'", state.name), x.abs());
    }
    let bounds = task.control_bounds.lower.iter().zip(&task.control_bounds.upper);
    for (input, (low, high)) in task.controls.iter().zip(bounds) {
        let size = low.abs().max(high.abs());
        judge(format!("the input '{}'", input.name), if size.is_finite() { size } else { 0.0 });
    }
    judge("the horizon".into(), task.horizon);
}

/// Simulates episode 0 and warns of stiffness, discontinuities and noise that is larger than the signal.
fn first_run(system: &System, warnings: &mut Vec<String>) {
    let Some(truth) = &system.truth else { return };
    let (task, first) = (&system.task, system.first_control.clone());
    let bounds = task.control_bounds.clone();
    let mut law = Law(move |t: f64, x: &[f64], u: &mut [f64]| {
        first(t, x, u);
        bounds.clamp(u);
    });
    let experiment = Experiment { cost: None, ..Experiment::of(task) };
    let mut dynamics = truth.dynamics();
    let run = Simulator::new(1e-6).run(dynamics.as_mut(), &mut law, &experiment);
    match run.method {
        Method::Explicit => {}
        Method::Implicit => warnings
            .push("the equations are stiff: simulation and planning are slow; consider the slow states alone".into()),
        Method::Fixed => warnings.push(
            "the equations are discontinuous or extremely stiff: plans are inaccurate there; consider tanh(x/w) instead of sign(x)"
                .into(),
        ),
    }
    let fails = !matches!(run.outcome, Outcome::Completed | Outcome::LimitHit { .. });
    if fails {
        warnings.push(format!(
            "episode 0 ends early ({}): little is learned from it; choose a weaker [excitation], a shorter horizon, or another x0",
            run.outcome
        ));
    }
    if run.outcome == Outcome::Completed && grid_is_unstable(system, dynamics.as_mut(), &mut law, &run) {
        warnings.push(format!(
            "the planner's steps of {:.1e} are too long for the fastest motion of the equations: plans fail or are inaccurate; set \
             plan.intervals higher, or leave the fast states out",
            task.horizon / system.settings.plan.intervals as f64
        ));
    }
    let dims = task.dims();
    let steps = run.times.len();
    let mut point = vec![0.0; dims.point()];
    let mut slope = vec![0.0; dims.state];
    let mut largest = vec![0.0_f64; dims.state];
    for i in 0..steps {
        point[..dims.state].copy_from_slice(run.states.at(i));
        point[dims.state..].copy_from_slice(run.controls.at(i));
        dynamics.derivative(Points::single(&point), &mut slope);
        for (largest, slope) in largest.iter_mut().zip(&slope) {
            *largest = largest.max(slope.abs());
        }
    }
    for ((state, noise), signal) in task.states.iter().zip(&task.noise_std).zip(largest) {
        if signal > 0.0 && *noise > signal {
            warnings.push(format!(
                "the noise {noise} of the derivative of '{}' exceeds its largest value in episode 0, {signal:.3e}",
                state.name
            ));
        }
    }
}

/// A trajectory that exceeds the accurate one by this factor has left it.
const LEFT: f64 = 1e3;

/// Whether the fixed steps of the planner leave the accurate trajectory `run` of episode 0 altogether.
fn grid_is_unstable(system: &System, dynamics: &mut dyn Dynamics, law: &mut dyn Policy, run: &Run) -> bool {
    let (task, plan) = (&system.task, &system.settings.plan);
    let largest = run.states.as_slice().iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let tableau = Integrator::from(plan.integrator).tableau();
    let (dims, step) = (task.dims(), task.horizon / plan.intervals as f64);
    let mut point = [task.initial_state.as_slice(), &task.safe_control].concat();
    for k in 0..plan.intervals {
        let (x, u) = point.split_at_mut(dims.state);
        law.control(step * k as f64, x, u);
        let (x, mut slopes): (Vec<f64>, Vec<Vec<f64>>) = (x.to_vec(), Vec::new());
        let moved = |slopes: &[Vec<f64>], weights: &[f64]| -> Vec<f64> {
            let change = |j: usize| weights.iter().zip(slopes).map(|(w, slope)| w * slope[j]).sum::<f64>();
            x.iter().enumerate().map(|(j, x)| x + step * change(j)).collect()
        };
        for weights in tableau.a {
            point[..dims.state].copy_from_slice(&moved(&slopes, weights));
            let mut slope = vec![0.0; dims.state];
            dynamics.derivative(Points::single(&point), &mut slope);
            slopes.push(slope);
        }
        point[..dims.state].copy_from_slice(&moved(&slopes, tableau.b));
        if !point[..dims.state].iter().all(|x| x.abs() <= LEFT * largest) {
            return true;
        }
    }
    false
}
