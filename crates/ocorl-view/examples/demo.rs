//! Draws the two figures people look at most: a trajectory, and the cost per iteration.
//!
//! `cargo run -p ocorl-view --example demo -- <folder>`

use ocorl_view::{Axis, Figure, Mark, Marker, Panel, write_svg};
use std::f64::consts::PI;

fn main() -> std::io::Result<()> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    write_svg(&trajectory(), folder.join("trajectory.svg"))?;
    write_svg(&convergence(), folder.join("convergence.svg"))
}

/// A pendulum driven by u = −2 θ − 0.6 ω, held over 0.25 s, beside the same with too little gravity ("plan").
fn trajectory() -> Figure {
    let (held, times, theta, omega) = pendulum(9.81);
    let (planned_control, _, planned_theta, planned_omega) = pendulum(9.0);
    let knots: Vec<f64> = (0..=held.len()).map(|i| i as f64 * 0.25).collect();
    let middles: Vec<f64> = knots[1..].iter().map(|t| t - 0.125).collect();
    let band = |scale: f64, curve: &[f64], sign: f64| -> Vec<f64> {
        times.iter().zip(curve).map(|(t, v)| v + sign * scale * t / (1.0 + t)).collect()
    };
    let end = times.len() - 1;

    let t = || Axis::new("t", "s").range(0.0, 10.0);
    let angle = Panel::new("Angle", t(), Axis::new("theta", "rad"))
        .mark(Mark::line(&*times, &*theta).label("system"))
        .mark(Mark::line(&*times, &*planned_theta).series(1).dashed().label("plan"))
        .mark(
            Mark::band(&*times, band(0.3, &planned_theta, -1.0), band(0.3, &planned_theta, 1.0))
                .series(1)
                .label("plan"),
        );
    let speed = Panel::new("Angular velocity", t(), Axis::new("omega", "rad/s"))
        .mark(Mark::line(&*times, &*omega).label("system"))
        .mark(Mark::line(&*times, &*planned_omega).series(1).dashed().label("plan"));
    let control = Panel::new("Control", t(), Axis::new("u", "N m"))
        .mark(Mark::horizontal(-5.0).muted().dotted().label("limits"))
        .mark(Mark::horizontal(5.0).muted().dotted().label("limits"))
        .mark(Mark::step(knots, held).label("held"))
        .mark(Mark::line(middles, planned_control).series(1).dashed().label("plan"));
    let phase = Panel::new("Phase portrait", Axis::new("theta", "rad"), Axis::new("omega", "rad/s"))
        .mark(Mark::line(&*theta, &*omega).label("system"))
        .mark(Mark::line(&*planned_theta, &*planned_omega).series(1).dashed().label("plan"))
        .mark(Mark::points([theta[0]], [omega[0]], Marker::Ring).label("start"))
        .mark(Mark::points([theta[end]], [omega[end]], Marker::Square).label("end"));
    Figure::new("Pendulum")
        .subtitle("Held control, T = 10 s, control period 0.25 s")
        .columns(2)
        .panel(angle)
        .panel(speed)
        .panel(control)
        .panel(phase)
}

/// Two geometric decays.
fn convergence() -> Figure {
    let iterations: Vec<f64> = (0..=24).map(f64::from).collect();
    let excess =
        |rate: f64| -> Vec<f64> { iterations.iter().map(|i| 310.0 * (-rate * i).exp() + 1e-7).collect() };
    let cost = Panel::new("", Axis::new("iteration", ""), Axis::new("cost above the optimum", "").log())
        .mark(Mark::horizontal(1e-6).muted().dashed().label("tolerance"))
        .mark(Mark::line(&*iterations, excess(1.1)).label("fast"))
        .mark(Mark::points(&*iterations, excess(1.1), Marker::Circle).label("fast"))
        .mark(Mark::line(&*iterations, excess(0.5)).series(1).label("slow"))
        .mark(Mark::points(&*iterations, excess(0.5), Marker::Triangle).series(1).label("slow"));
    Figure::new("Cost per iteration").subtitle("Invented numbers").panel(cost)
}

type Run = (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>);

/// Held controls, times, θ and ω of ω̇ = −(g/3) sin θ + u from θ = 0.9 π, ω = 0.
fn pendulum(gravity: f64) -> Run {
    let (mut held, mut times, mut angles, mut speeds) = (vec![], vec![0.0], vec![0.9 * PI], vec![0.0]);
    let (mut theta, mut omega, dt) = (0.9 * PI, 0.0_f64, 0.25 / 50.0);
    for _ in 0..40 {
        let control = (-2.0 * theta - 0.6 * omega).clamp(-5.0, 5.0);
        held.push(control);
        for step in 1..=50 {
            omega += dt * (-gravity / 3.0 * theta.sin() + control);
            theta += dt * omega;
            if step % 5 == 0 {
                times.push(times[times.len() - 1] + 5.0 * dt);
                angles.push(theta);
                speeds.push(omega);
            }
        }
    }
    (held, times, angles, speeds)
}
