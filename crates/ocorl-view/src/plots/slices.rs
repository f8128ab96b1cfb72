//! Model slices: mean, confidence band and true dynamics along lines through one point.

use super::naming::{rate, symbol};
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::system::Task;
use ocorl_study::episode_model::{EpisodeModel, Slice};
use ocorl_study::run_snapshot::RunSnapshot;

/// μ ± βσ of derivatives along lines through a measured point, before episode `before`.
pub fn slices(run: &RunSnapshot, before: usize) -> Figure {
    let known = run.readings(before).count();
    let none = EpisodeModel::default();
    let snapshot = run.snapshots.iter().find(|s| s.episode.record.episode == before);
    let subtitle =
        format!("Through a measured point, before episode {before}; {known} measurements, seed {}", run.seed);
    model_slices(&run.subject.title, &run.subject.task, snapshot.map_or(&none, |s| &s.model))
        .subtitle(subtitle)
}

/// The stored slices, the most influential first.
pub(crate) fn model_slices(name: &str, task: &Task, model: &EpisodeModel) -> Figure {
    let title = match model.slices.as_slice() {
        [] => format!("{name}: nothing was measured yet"),
        _ => format!("{name}: the model beside the true dynamics"),
    };
    let figure = Figure::new(title).columns(3);
    model.slices.iter().fold(figure, |figure, slice| figure.panel(panel(task, slice)))
}

fn panel(task: &Task, slice: &Slice) -> Panel {
    let quantity = task.states.iter().chain(&task.controls).nth(slice.coordinate);
    let axis = quantity.map_or(Axis::default(), |q| Axis::new(symbol(&q.name), &q.unit));
    let name = rate(&task.states[slice.output].name);
    let band = |sign: f64| -> Vec<f64> {
        slice.mean.iter().zip(&slice.half_width).map(|(m, w)| m + sign * w).collect()
    };
    let unit = match task.states[slice.output].unit.as_str() {
        "" => String::new(),
        unit if unit.ends_with("/s") => format!("{unit}²"),
        unit => format!("{unit}/s"),
    };
    let mut drawn = Panel::new(format!("{name} over {}", axis.label), axis, Axis::new(name, unit))
        .mark(Mark::band(&*slice.at, band(-1.0), band(1.0)).series(0).label("μ ± βσ"))
        .mark(Mark::line(&*slice.at, &*slice.mean).series(0).label("μ"));
    if slice.truth.len() == slice.at.len() {
        drawn = drawn.mark(Mark::line(&*slice.at, &*slice.truth).series(1).dashed().label("true f"));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = slice.near.iter().copied().unzip();
    drawn.mark(Mark::points(x, y, Marker::Dot).series(6).label("measured nearby"))
}
