//! The optimal control of known systems.

use super::phase::time_axis;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::baseline::Baselines;
use ocorl::linalg::Blocks;
use ocorl::plan::{Plan, uniform_grid};
use ocorl::simulate::{Experiment, Run, Simulator, Trajectory};
use ocorl::system::{Bounds, KnownSystem, Quantity};
use ocorl::track::{FallbackSettings, Hold};

/// Number of equal parts of the horizon at whose ends a run is sampled.
const SAMPLES: usize = 400;

/// Series colours.
const TRACKED: usize = 0;
const PLANNED: usize = 1;
const HELD: usize = 2;

/// One known system: every state and input over time, the phase portrait, and the convergence of the solver.
pub fn one_system(b: &KnownSystem, found: &Baselines) -> Figure {
    let (task, units) = (&b.task, b.table_units());
    let (tracked, held) = (Curves::of(&found.continuous.tracked), Curves::of(&held_run(b, found)));
    let (plan, holds) = (&found.continuous.plan, &found.held.plan);
    let subtitle = format!(
        "Cost {:.4} tracked, {:.4} open loop, {:.4} optimal zero-order hold ({} intervals)",
        units.cost(found.continuous.tracked.cost()),
        units.cost(found.continuous.open_loop.cost()),
        units.cost(found.held.cost),
        holds.controls.len(),
    );
    let mut figure = Figure::new(format!("{}: {}", b.title, b.summary)).subtitle(subtitle);
    for (i, quantity) in task.states.iter().enumerate() {
        let curves = [
            held.state(i).series(HELD).label("optimal zero-order hold"),
            tracked.state(i).series(TRACKED).label("tracked"),
            Mark::line(&*plan.times, row(&plan.states, i)).series(PLANNED).dashed().label("plan"),
        ];
        // A limit far away would flatten every curve.
        let reach = tracked.states[i].iter().fold(0.0_f64, |reach, x| reach.max(x.abs()));
        figure = figure.panel(over_time(b, quantity, curves, limits(&task.state_bounds, i, 3.0 * reach)));
    }
    for (i, quantity) in task.controls.iter().enumerate() {
        let curves = [
            Mark::step(&*holds.times, row(&holds.controls, i)).series(HELD).label("optimal zero-order hold"),
            tracked.control(i).series(TRACKED).label("tracked"),
            Mark::step(&*plan.times, row(&plan.controls, i)).series(PLANNED).dashed().label("plan"),
        ];
        figure = figure.panel(over_time(b, quantity, curves, limits(&task.control_bounds, i, f64::INFINITY)));
    }
    if task.states.len() > 1 {
        figure = figure.panel(phase(b, &tracked, &held));
    }
    let figure = figure.panel(convergence(plan));
    let columns = if figure.panels.len() == 3 || figure.panels.len() > 10 { 3 } else { 2 };
    figure.columns(columns)
}

/// Several known systems: one panel per system with its inputs, continuous and as zero-order hold.
pub fn several_systems(found: &[(&KnownSystem, &Baselines)]) -> Figure {
    let figure = Figure::new("Optimal control with known dynamics")
        .subtitle("Inputs over time: continuous (solid), zero-order hold over equal intervals (dotted)")
        .columns(3);
    found.iter().fold(figure, |figure, (b, found)| {
        let (tracked, holds) = (Curves::of(&found.continuous.tracked), &found.held.plan);
        let mut panel =
            Panel::new(b.title.clone(), time_axis(&b.task), Axis::new("", shared_unit(&b.task.controls)));
        for (i, quantity) in b.task.controls.iter().enumerate() {
            let mark = |mark: Mark| mark.series(i).label(&quantity.name);
            let held = Mark::step(&*holds.times, row(&holds.controls, i)).dotted();
            panel = panel.mark(mark(held)).mark(mark(tracked.control(i)));
        }
        figure.panel(panel)
    })
}

fn over_time(b: &KnownSystem, quantity: &Quantity, curves: [Mark; 3], limits: Vec<Mark>) -> Panel {
    let panel = Panel::new(quantity.name.clone(), time_axis(&b.task), Axis::new("", &quantity.unit));
    curves.into_iter().chain(limits).fold(panel, Panel::mark)
}

/// Phase portrait of the first two states.
fn phase(b: &KnownSystem, tracked: &Curves, held: &Curves) -> Panel {
    let axis = |i: usize| Axis::new(&b.task.states[i].name, &b.task.states[i].unit);
    let curve = |curves: &Curves| Mark::line(&*curves.states[0], &*curves.states[1]);
    let (x, y) = (&tracked.states[0], &tracked.states[1]);
    let end = x.len() - 1;
    Panel::new("Phase portrait", axis(0), axis(1))
        .mark(curve(held).series(HELD).label("optimal zero-order hold"))
        .mark(curve(tracked).series(TRACKED).label("tracked"))
        .mark(Mark::points([x[0]], [y[0]], Marker::Ring).label("start"))
        .mark(Mark::points([x[end]], [y[end]], Marker::Square).label("end"))
}

/// Cost above the final cost, and norm of the gradient, at each iteration on the finest grid.
fn convergence(plan: &Plan) -> Panel {
    let iterations: Vec<f64> = (1..=plan.trace.len()).map(|i| i as f64).collect();
    let left: Vec<f64> = plan.trace.iter().map(|iteration| iteration.cost - plan.cost).collect();
    let gradient: Vec<f64> = plan.trace.iter().map(|iteration| iteration.gradient_norm).collect();
    Panel::new("Convergence on the finest grid", Axis::new("iteration", ""), Axis::default().log())
        .mark(Mark::line(&*iterations, &*gradient).label("gradient norm"))
        .mark(Mark::points(&*iterations, &*gradient, Marker::Circle).label("gradient norm"))
        .mark(Mark::line(&*iterations, &*left).series(PLANNED).label("cost above the final cost"))
        .mark(
            Mark::points(&*iterations, &*left, Marker::Triangle)
                .series(PLANNED)
                .label("cost above the final cost"),
        )
}

/// The samples of a run, one list per state and control.
struct Curves {
    times: Vec<f64>,
    states: Vec<Vec<f64>>,
    controls: Vec<Vec<f64>>,
}

impl Curves {
    fn of(run: &Run) -> Self {
        let each = |all: &Blocks| {
            (0..all.size()).map(|j| all.iter().map(|row| row[j]).collect()).collect::<Vec<Vec<f64>>>()
        };
        let Trajectory { times, states, controls, .. } = &run.samples;
        Curves { times: times.clone(), states: each(states), controls: each(controls) }
    }

    fn state(&self, i: usize) -> Mark {
        Mark::line(&*self.times, &*self.states[i])
    }

    fn control(&self, i: usize) -> Mark {
        Mark::line(&*self.times, &*self.controls[i])
    }
}

/// Runs the optimal zero-order hold on the true system.
fn held_run(b: &KnownSystem, found: &Baselines) -> Run {
    let mut policy = Hold::new(&found.held.plan, &FallbackSettings::of(&b.task));
    let sample_times = &uniform_grid(b.task.horizon, SAMPLES);
    let experiment = Experiment { sample_times, ..Experiment::of(&b.task) };
    Simulator::default().run(b.dynamics().as_mut(), &mut policy, &experiment)
}

/// The `i`-th coordinate of every column.
pub(super) fn row(columns: &ocorl::linalg::Blocks, i: usize) -> Vec<f64> {
    columns.iter().map(|column| column[i]).collect()
}

/// Rules at the limits of a coordinate, unless they are `far` away.
fn limits(bounds: &Bounds, i: usize, far: f64) -> Vec<Mark> {
    let near =
        [bounds.lower[i], bounds.upper[i]].into_iter().filter(|limit| limit.is_finite() && limit.abs() < far);
    near.map(|limit| Mark::horizontal(limit).muted().dotted().label("limit")).collect()
}

/// The unit of the quantities, if all have the same one.
fn shared_unit(quantities: &[Quantity]) -> &str {
    let unit = &quantities[0].unit;
    if quantities.iter().all(|q| q.unit == *unit) { unit } else { "" }
}
