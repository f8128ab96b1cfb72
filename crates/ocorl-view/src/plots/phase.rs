//! Phase portraits: where an episode went, what was unknown there, and where it was measured.

use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::linalg::Blocks;
use ocorl::plant::Executed;
use ocorl::system::Task;
use ocorl_study::portrait::{Portrait, Snapshot};

/// About so many moments of a run are drawn.
const MOMENTS: usize = 201;

/// Every so many-th of `count` moments is drawn.
pub(super) fn stride(count: usize) -> usize {
    count.div_ceil(MOMENTS).max(1)
}

/// Some moments of many.
pub(super) fn thin(moments: &[f64]) -> Vec<f64> {
    moments.iter().copied().step_by(stride(moments.len())).collect()
}

/// Where trajectories are drawn: the first two states over each other, or the only one over time.
pub(super) struct Plane {
    pub(super) two: bool,
}

impl Plane {
    pub(super) fn of(task: &Task) -> Self {
        Plane { two: task.states.len() > 1 }
    }

    pub(super) fn panel(&self, task: &Task, title: &str) -> Panel {
        let axis = |i: usize| Axis::new(&task.states[i].name, &task.states[i].unit);
        let (x, y) = if self.two { (axis(0), axis(1)) } else { (time_axis(task), axis(0)) };
        Panel::new(title, x, y)
    }

    /// Places of some moments.
    pub(super) fn points(&self, times: &[f64], states: &Blocks) -> (Vec<f64>, Vec<f64>) {
        let row = |r: usize| states.iter().map(|x| x[r]).collect::<Vec<f64>>();
        if self.two { (row(0), row(1)) } else { (times.to_vec(), row(0)) }
    }

    fn place(&self, time: f64, state: &[f64]) -> (f64, f64) {
        if self.two { (state[0], state[1]) } else { (time, state[0]) }
    }
}

/// The axis of time over the whole horizon.
pub(crate) fn time_axis(task: &Task) -> Axis {
    Axis::new("time", task.time_unit()).range(0.0, task.horizon)
}

/// The executed trajectory of some episodes, coloured by ‖σ‖ of the model before them; crosses are the chosen measurements, plus signs the
/// equidistant ones beside them.
pub fn phase(portrait: &Portrait, episodes: &[usize]) -> Figure {
    let b = &portrait.subject;
    let plane = Plane::of(&b.task);
    let name = portrait.settings.strategy.name().replace('-', " ");
    let mut figure = Figure::new(format!("{}: where it was measured, and what was unknown there", b.title))
        .subtitle(format!(
            "{name}, seed {}; each panel coloured by what the model did not know before it",
            portrait.seed
        ))
        .columns(episodes.len().clamp(1, 2));
    for snapshot in portrait.snapshots.iter().filter(|s| episodes.contains(&s.episode.record.episode)) {
        let title = format!("Episode {}", snapshot.episode.record.episode);
        let panel = snapshot
            .episode
            .executed
            .iter()
            .fold(plane.panel(&b.task, &title).color(Axis::new("‖σ‖ before", "")), |panel, leg| {
                draw(panel, &plane, snapshot, leg, portrait.settings.measurements)
            });
        figure = figure.panel(panel);
    }
    figure
}

fn draw(panel: Panel, plane: &Plane, snapshot: &Snapshot, leg: &Executed, count: usize) -> Panel {
    let path = &leg.trajectory;
    let sigma = snapshot.uncertainty_along(path);
    let (x, y) = plane.points(&path.times, &path.states);
    let line = if sigma.is_empty() {
        Mark::line(thin(&x), thin(&y)).muted()
    } else {
        Mark::colored_line(thin(&x), thin(&y), thin(&sigma))
    };
    let (chosen_x, chosen_y): (Vec<f64>, Vec<f64>) =
        leg.readings.iter().map(|r| plane.place(r.time, &r.state)).unzip();
    let last = path.times.len().saturating_sub(1);
    let count = if path.times.is_empty() { 0 } else { count };
    let even = (0..count).map(|i| (last * i + count.saturating_sub(1) / 2) / count.saturating_sub(1).max(1));
    let (even_x, even_y): (Vec<f64>, Vec<f64>) =
        even.map(|i| i.min(last)).map(|i| plane.place(path.times[i], path.states.at(i))).unzip();
    panel
        .mark(line.label("executed"))
        .mark(Mark::points(even_x, even_y, Marker::Plus).muted().label("equidistant"))
        .mark(Mark::points(chosen_x, chosen_y, Marker::Cross).series(1).label("measured"))
}
