//! Model slices: mean, confidence band and true dynamics along lines through one point.

use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::model::StatisticalModel;
use ocorl::plant::Reading;
use ocorl_study::run_snapshot::RunSnapshot;

/// Number of points of a curve.
const COUNT: usize = 81;
/// Largest number of panels; more do not fit on a page.
const MOST_PANELS: usize = 12;
/// A measurement is shown if it is no farther from the line than this share of the data range, in every other coordinate.
const NEAR: f64 = 0.1;
/// How far the lines extend beyond the data, as a share of their range.
const BEYOND: f64 = 0.25;

/// μ ± βσ of each derivative along each coordinate of (x, u), beside the true dynamics and the measurements near the line. The
/// model is the one before episode `before` (or after the last episode, if there are fewer). The lines pass through a measured
/// point. If there are too many, each output keeps the coordinates along which it changes most.
pub fn slices(run: &RunSnapshot, before: usize) -> Figure {
    let b = &run.subject;
    let snapshot = run.snapshots.iter().find(|s| s.episode.record.episode == before);
    let model = snapshot.and_then(|s| s.before.as_ref()).unwrap_or(&run.model);
    let readings: Vec<&Reading> = run.readings(before).collect();
    let when =
        if snapshot.is_some() { format!("before episode {before}") } else { "after the last episode".into() };
    let Some(centre) = readings.get(readings.len() / 2) else {
        return Figure::new(format!("{}: no measurements {when}", b.title));
    };
    let through = [centre.state.as_slice(), &centre.control].concat();
    let mut panels: Vec<(f64, Panel)> = Vec::new();
    for output in 0..b.task.states.len() {
        for coordinate in 0..through.len() {
            panels.push(panel(run, model.as_ref(), &readings, &through, coordinate, output));
        }
    }
    // The lines along which the derivative changes most, in their original order.
    let mut ranked: Vec<f64> = panels.iter().map(|(change, _)| *change).collect();
    ranked.sort_by(|a, b| b.total_cmp(a));
    let least = ranked.get(MOST_PANELS - 1).copied().unwrap_or(f64::NEG_INFINITY);
    let all = Figure::new(format!("{}: model slices", b.title))
        .subtitle(format!(
            "Through a measured point, {when}; {} measurements, seed {}",
            readings.len(),
            run.seed
        ))
        .columns(3);
    panels.retain(|(change, _)| *change >= least);
    panels.into_iter().take(MOST_PANELS).fold(all, |figure, (_, panel)| figure.panel(panel))
}

/// One slice, and how much the derivative changes along it (in units of its noise), by the true dynamics if they are known.
fn panel(
    run: &RunSnapshot,
    model: &dyn StatisticalModel,
    readings: &[&Reading],
    through: &[f64],
    coordinate: usize,
    output: usize,
) -> (f64, Panel) {
    let task = &run.subject.task;
    let value =
        |r: &Reading, k: usize| if k < r.state.len() { r.state[k] } else { r.control[k - r.state.len()] };
    let (low, high) = range(readings.iter().map(|r| value(r, coordinate)));
    let margin = BEYOND * (high - low);
    let (low, high) = (low - margin, high + margin);
    let at: Vec<f64> = (0..COUNT).map(|i| low + (high - low) * i as f64 / (COUNT - 1) as f64).collect();
    let slice = run.slice(model, through, coordinate, output, &at);
    let spread: Vec<f64> = (0..through.len())
        .map(|k| {
            let (low, high) = range(readings.iter().map(|r| value(r, k)));
            high - low
        })
        .collect();
    let near = |r: &&&Reading| {
        let far = |k: usize| k != coordinate && (value(r, k) - through[k]).abs() > NEAR * spread[k];
        !(0..through.len()).any(far)
    };
    let seen = |r: &&Reading| Some((value(r, coordinate), r.derivative.as_ref()?[output]));
    let (x, y): (Vec<f64>, Vec<f64>) = readings.iter().filter(near).filter_map(seen).unzip();
    let quantity = task.states.iter().chain(&task.controls).nth(coordinate);
    let axis = quantity.map_or(Axis::default(), |q| Axis::new(&q.name, &q.unit));
    let state = &task.states[output];
    let band = |sign: f64| -> Vec<f64> {
        slice.mean.iter().zip(&slice.half_width).map(|(m, w)| m + sign * w).collect()
    };
    let (least, greatest) = range(slice.truth.as_ref().unwrap_or(&slice.mean).iter().copied());
    let name = format!("d{}/dt", state.name);
    let drawn = Panel::new(format!("{name} over {}", axis.label), axis, Axis::new(name, ""))
        .mark(Mark::band(&*at, band(-1.0), band(1.0)).series(0).label("μ ± βσ"))
        .mark(Mark::line(&*at, &*slice.mean).series(0).label("μ"));
    let truth = slice.truth.map(|truth| Mark::line(&*at, truth).series(1).dashed().label("true f"));
    let drawn = truth
        .into_iter()
        .fold(drawn, Panel::mark)
        .mark(Mark::points(x, y, Marker::Dot).series(6).label("measured nearby"));
    ((greatest - least) / task.noise_std[output].max(f64::MIN_POSITIVE), drawn)
}

/// Least and greatest of the values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}
