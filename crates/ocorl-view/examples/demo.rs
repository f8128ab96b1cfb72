//! Draws figures as people look at them most, and one for each kind of mark, as SVG and PNG. All numbers of the paper's
//! systems in them are invented.
//!
//! `cargo run -p ocorl-view --example demo -- <folder>`

use ocorl_view::{
    Axis, Figure, Mark, Marker, PNG_SCALE, Panel, PngError, Theme, png_themed, write_atomically, write_png,
    write_svg,
};
use std::f64::consts::PI;

const SYSTEMS: [&str; 9] = [
    "Cancer treatment",
    "Glucose in blood",
    "Pendulum",
    "Mountain car",
    "Cart pole",
    "Bicycle",
    "Furuta pendulum",
    "Quadrotor 2D",
    "Quadrotor 3D",
];
const STRATEGIES: [&str; 3] = ["max determinant", "max kernel distance", "equidistant"];

fn main() -> Result<(), PngError> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let figures = [
        ("trajectory", trajectory()),
        ("convergence", convergence()),
        ("variance", variance()),
        ("field", field()),
        ("systems", systems()),
        ("sizes", sizes()),
        ("times", times()),
        ("many", many()),
    ];
    for (name, figure) in &figures {
        write_svg(figure, folder.join(format!("{name}.svg")))?;
        write_png(figure, folder.join(format!("{name}.png")))?;
    }
    let dark = png_themed(&variance(), &Theme::DARK, PNG_SCALE)?;
    Ok(write_atomically(folder.join("dark.png"), &dark)?)
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

/// Where a model is unsure: along a trajectory, before and after measuring.
fn variance() -> Figure {
    let (_, times, theta, omega) = pendulum(9.81);
    let chosen: Vec<usize> = (0..10).map(|i| i * i * 4).collect();
    let pick = |values: &[f64]| -> Vec<f64> { chosen.iter().map(|&i| values[i]).collect() };
    let before: Vec<f64> = theta.iter().zip(&omega).map(|(a, b)| 0.02 + a * a + 0.3 * b * b).collect();
    let after: Vec<f64> =
        before.iter().zip(&times).map(|(v, t)| v * 0.02 * (1.5 + (3.0 * t).sin())).collect();
    let panel = |title: &str, values: &[f64]| {
        Panel::new(title, Axis::new("θ", "rad"), Axis::new("ω = θ̇", "rad/s"))
            .color(Axis::new("total variance ‖σ‖²", "rad²/s²").log().range(1e-4, f64::NAN))
            .mark(Mark::colored_line(&*theta, &*omega, values).label("hallucinated"))
            .mark(Mark::points(pick(&theta), pick(&omega), Marker::Cross).series(1).label("chosen"))
            .mark(Mark::note(theta[0], omega[0], "start"))
    };
    let over_time = Panel::new("Over time", Axis::new("t", "s"), Axis::new("θ", "rad"))
        .color(Axis::new("variance", ""))
        .mark(Mark::line(&*times, &*theta).muted())
        .mark(
            Mark::colored_points(pick(&times), pick(&theta), pick(&before), Marker::Circle).label("measured"),
        );
    let plain = Panel::new("Without colours", Axis::new("t", "s"), Axis::new("ω", "rad/s"))
        .mark(Mark::line(&*times, &*omega).label("system"));
    Figure::new("Where the model is unsure")
        .subtitle("Pendulum, M = 10 measurements per episode")
        .columns(2)
        .panel(panel("Before", &before))
        .panel(panel("After", &after))
        .panel(over_time)
        .panel(plain)
}

/// The field of a pendulum over its states, shaded by distance from the data.
fn field() -> Figure {
    let (_, _, theta, omega) = pendulum(9.81);
    let edges = |count: u32, reach: f64| -> Vec<f64> {
        (0..=count).map(|i| reach * (2.0 * f64::from(i) / f64::from(count) - 1.0)).collect()
    };
    let middles = |edges: &[f64]| -> Vec<f64> { edges.windows(2).map(|e| 0.5 * (e[0] + e[1])).collect() };
    let grid = |x: &[f64], y: &[f64]| -> Vec<(f64, f64)> {
        middles(y).into_iter().flat_map(|y| middles(x).into_iter().map(move |x| (x, y))).collect()
    };
    let unsure = |&(a, b): &(f64, f64)| {
        let nearest = theta.iter().zip(&omega).map(|(t, o)| (a - t).powi(2) + 0.2 * (b - o).powi(2));
        1.0 - (-nearest.fold(f64::INFINITY, f64::min)).exp()
    };
    let (fine_x, fine_y) = (edges(60, PI), edges(50, 6.0));
    let shades: Vec<f64> = grid(&fine_x, &fine_y).iter().map(unsure).collect();
    let points = grid(&edges(17, PI), &edges(15, 6.0));
    let column = |f: fn(&(f64, f64)) -> f64| -> Vec<f64> { points.iter().map(f).collect() };
    let arrows =
        Mark::arrows(column(|p| p.0), column(|p| p.1), column(|p| p.1), column(|p| -9.81 / 3.0 * p.0.sin()));
    let panel = |title: &str| Panel::new(title, Axis::new("θ", "rad"), Axis::new("ω", "rad/s"));
    Figure::new("The learned field")
        .columns(2)
        .panel(
            panel("Uncertainty")
                .color(Axis::new("‖σ(x, u)‖", "rad/s²"))
                .mark(Mark::heat(fine_x, fine_y, shades))
                .mark(arrows.clone().series(6).label("μ(x, 0)"))
                .mark(Mark::line(&*theta, &*omega).series(1).label("trajectory"))
                .mark(Mark::note(theta[0], omega[0], "start here, 0.9 π")),
        )
        .panel(
            panel("Field")
                .mark(arrows.label("μ(x, 0)"))
                .mark(Mark::line(&*theta, &*omega).series(1).label("trajectory"))
                .mark(Mark::note(-PI, 6.0, "upper left"))
                .mark(Mark::note(PI, -6.0, "lower right")),
        )
}

/// Invented costs of all systems, with their spread.
fn systems() -> Figure {
    let base = Axis::new("cost / best continuous", "");
    let mut rows =
        Panel::new("Cost over the best continuous policy", base.clone(), Axis::categories(SYSTEMS));
    let mut columns = Panel::new("", Axis::categories(SYSTEMS).label("system"), base.log());
    for (index, name) in STRATEGIES.iter().enumerate() {
        let shift = 0.22 * (index as f64 - 1.0);
        let at: Vec<f64> = (0..9).map(|i| f64::from(i) + shift).collect();
        let ratio: Vec<f64> =
            at.iter().map(|i| 1.01 + (0.02 + 0.2 * index as f64) * (1.3 * i).sin().powi(2)).collect();
        let low: Vec<f64> = ratio.iter().map(|r| r - 0.2 * (r - 1.0)).collect();
        let high: Vec<f64> = ratio.iter().map(|r| r + 0.5 * (r - 1.0)).collect();
        let marker = [Marker::Circle, Marker::Square, Marker::Diamond][index];
        rows = rows
            .mark(Mark::interval_x(&*at, &*low, &*high).series(index).label(*name))
            .mark(Mark::points(&*ratio, &*at, marker).series(index).label(*name));
        columns = columns
            .mark(Mark::interval_y(&*at, &*low, &*high).series(index).label(*name))
            .mark(Mark::points(&*at, &*ratio, marker).series(index).label(*name));
    }
    let rows = rows.mark(Mark::vertical(1.0).muted().dashed().label("best continuous"));
    let columns = columns.mark(Mark::horizontal(1.0).muted().dashed().label("best continuous"));
    Figure::new("All systems").panel(rows).panel(columns)
}

/// Words below an axis: on one line, on two, turned.
fn sizes() -> Figure {
    let bars = |words: &[&str]| {
        let at: Vec<f64> = (0..words.len()).map(|i| i as f64).collect();
        let cost: Vec<f64> = at.iter().map(|i| 20.0 + i.sin()).collect();
        Panel::new("", Axis::categories(words.iter().copied()), Axis::new("cost", "")).mark(Mark::points(
            at,
            cost,
            Marker::Circle,
        ))
    };
    Figure::new("Words below axes")
        .columns(3)
        .panel(bars(&["Euler", "RK4", "Heun"]))
        .panel(bars(&["max determinant", "max kernel distance", "equidistant in time"]))
        .panel(bars(&SYSTEMS))
}

/// When measurements were made, and how many episodes that took.
fn times() -> Figure {
    let (mut chosen, mut even) = ((vec![], vec![]), (vec![], vec![]));
    for episode in 1..=20 {
        for k in 0..10 {
            let (n, k) = (f64::from(episode), f64::from(k));
            chosen.0.push(10.0 * (k / 10.0).powf(1.0 + n / 10.0) + 0.2 * (n * 1.7 + k).sin().abs());
            chosen.1.push(n);
            even.0.push(k + 0.5);
            even.1.push(n);
        }
    }
    let panel = |title: &str, (t, n): (Vec<f64>, Vec<f64>), marker: Marker| {
        Panel::new(title, Axis::new("t", "s").range(0.0, 10.0), Axis::new("episode", "").whole())
            .mark(Mark::points(t, n, marker))
    };
    let few = Panel::new("Three episodes", Axis::new("episode", "").whole(), Axis::new("cost", "").log())
        .mark(Mark::line([1.0, 2.0, 3.0], [300.0, 42.0, 20.3]));
    let one = Panel::new("One episode", Axis::new("episode", "").whole(), Axis::new("cost", ""))
        .mark(Mark::points([1.0], [300.0], Marker::Circle));
    Figure::new("Measurement times")
        .columns(2)
        .panel(panel("max determinant", chosen, Marker::Bar))
        .panel(panel("equidistant", even, Marker::Dot))
        .panel(few)
        .panel(one)
}

/// More series than colours, each with line, band and points.
fn many() -> Figure {
    let episodes: Vec<f64> = (1..=12).map(f64::from).collect();
    let mut panel = Panel::new("", Axis::new("episode", "").whole(), Axis::new("cost", "").log());
    for (index, name) in SYSTEMS.iter().enumerate() {
        let curve = |factor: f64| -> Vec<f64> {
            episodes.iter().map(|n| factor * (1.0 + index as f64) * (1.0 + 9.0 * (-n / 3.0).exp())).collect()
        };
        panel = panel
            .mark(Mark::band(&*episodes, curve(0.93), curve(1.08)).series(index).label(*name))
            .mark(Mark::line(&*episodes, curve(1.0)).series(index).label(*name))
            .mark(Mark::points(&*episodes, curve(1.0), Marker::Circle).series(index).label(*name));
    }
    Figure::new("Cost per episode").panel(panel)
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
