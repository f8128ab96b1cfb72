//! Phase portraits: executed trajectories, model uncertainty along them, and measurements.

use super::naming::symbol;
use super::profiles_range;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::linalg::Blocks;
use ocorl::plant::RolloutResult;
use ocorl::system::Task;
use ocorl_study::run_snapshot::{RunSnapshot, Snapshot};

/// Approximate number of samples of a run that are drawn.
const MOMENTS: usize = 201;

/// Stride that reduces `count` samples to about [`MOMENTS`].
pub(super) fn stride(count: usize) -> usize {
    count.div_ceil(MOMENTS).max(1)
}

/// About [`MOMENTS`] of the samples.
pub(super) fn thin(moments: &[f64]) -> Vec<f64> {
    moments.iter().copied().step_by(stride(moments.len())).collect()
}

/// The plane in which trajectories are drawn: the first two states, or a single state over time.
pub(super) struct Plane {
    pub(super) two: bool,
}

impl Plane {
    pub(super) fn of(task: &Task) -> Self {
        Plane { two: task.states.len() > 1 }
    }

    pub(super) fn panel(&self, task: &Task, title: &str) -> Panel {
        let axis = |i: usize| Axis::new(symbol(&task.states[i].name), &task.states[i].unit);
        let (x, y) = if self.two { (axis(0), axis(1)) } else { (time_axis(task), axis(0)) };
        Panel::new(title, x, y)
    }

    /// Coordinates of about [`MOMENTS`] samples in the plane.
    pub(super) fn points(&self, times: &[f64], states: &Blocks) -> (Vec<f64>, Vec<f64>) {
        let row = |r: usize| states.iter().map(|x| x[r]).collect::<Vec<f64>>();
        if self.two { (row(0), row(1)) } else { (times.to_vec(), row(0)) }
    }

    fn place(&self, time: f64, state: &[f64]) -> (f64, f64) {
        if self.two { (state[0], state[1]) } else { (time, state[0]) }
    }
}

/// The time axis over the whole horizon.
pub(crate) fn time_axis(task: &Task) -> Axis {
    Axis::new("time t", task.time_unit()).range(0.0, task.horizon).shows("t")
}

/// The executed trajectory of some episodes, coloured by ‖σ‖ of the model before them. Crosses are the chosen measurements, plus
/// signs the additional equidistant ones.
pub fn phase(run: &RunSnapshot, episodes: &[usize]) -> Figure {
    let b = &run.subject;
    let plane = Plane::of(&b.task);
    let name = run.settings.strategy.name().replace('-', " ");
    let chosen: Vec<&Snapshot> =
        run.snapshots.iter().filter(|s| episodes.contains(&s.episode.record.episode)).collect();
    let color = Axis::new("‖σ‖ before", "").log();
    let color = profiles_range(chosen.iter().map(|s| &s.model))
        .map_or(color.clone(), |(low, high)| color.range(low, high));
    let mut figure =
        Figure::new(format!("{}: uncertainty falls along the trajectory with every episode", b.title))
            .subtitle(format!(
                "{name}, seed {}; coloured by the model uncertainty before the episode, on one scale",
                run.seed
            ))
            .columns(episodes.len().clamp(1, 2));
    for snapshot in chosen {
        let title = format!("Episode {}", snapshot.episode.record.episode);
        let panel = snapshot
            .episode
            .executed
            .iter()
            .fold(plane.panel(&b.task, &title).color(color.clone()), |panel, rollout| {
                draw(panel, &plane, snapshot, rollout, run.settings.measurements)
            });
        figure = figure.panel(panel);
    }
    figure
}

fn draw(panel: Panel, plane: &Plane, snapshot: &Snapshot, rollout: &RolloutResult, count: usize) -> Panel {
    let path = &rollout.trajectory;
    let sigma = snapshot.uncertainty_along(path);
    let (x, y) = plane.points(&path.times, &path.states);
    let line = if sigma.is_empty() {
        Mark::line(thin(&x), thin(&y)).muted()
    } else {
        Mark::colored_line(thin(&x), thin(&y), thin(&sigma))
    };
    let (chosen_x, chosen_y): (Vec<f64>, Vec<f64>) =
        rollout.readings.iter().map(|r| plane.place(r.time, &r.state)).unzip();
    let last = path.times.len().saturating_sub(1);
    let count = if path.times.is_empty() { 0 } else { count };
    let even = (0..count).map(|i| (last * i + count.saturating_sub(1) / 2) / count.saturating_sub(1).max(1));
    let (even_x, even_y): (Vec<f64>, Vec<f64>) =
        even.map(|i| i.min(last)).map(|i| plane.place(path.times[i], path.states.at(i))).unzip();
    let (px, py) = (thin(&x), thin(&y));
    // Arrows show the direction of time.
    let heads: Vec<usize> = (1..=4).map(|i| (px.len() * i / 5).min(px.len().saturating_sub(2))).collect();
    let heads: &[usize] = if px.len() > 10 { &heads } else { &[] };
    let at = |of: &[f64], shift: usize| heads.iter().map(|i| of[i + shift]).collect::<Vec<f64>>();
    let by = |of: &[f64]| at(of, 1).iter().zip(at(of, 0)).map(|(b, a)| b - a).collect::<Vec<f64>>();
    let plan = snapshot.episode.plans.first().and_then(Option::as_ref).map(|plan| {
        let (x, y) = plane.points(&plan.plan.times, &plan.plan.states);
        Mark::line(thin(&x), thin(&y)).series(1).dashed().label("planned")
    });
    plan.into_iter()
        .fold(panel, Panel::mark)
        .mark(line.label("executed"))
        .mark(Mark::arrows(at(&px, 0), at(&py, 0), by(&px), by(&py)).muted().unlisted())
        .mark(Mark::points(even_x, even_y, Marker::Plus).muted().label("equidistant"))
        .mark(Mark::points(chosen_x, chosen_y, Marker::Cross).series(1).label("measured"))
}
