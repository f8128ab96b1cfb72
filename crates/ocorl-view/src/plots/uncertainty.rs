//! Model uncertainty along the predicted trajectory, and the measurement times chosen from it.

use super::phase::{thin, time_axis};
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::linalg::Points;
use ocorl_study::run_snapshot::{RunSnapshot, Snapshot};

/// ‖σ‖ over time along the trajectory of the optimistic plan and along the executed one, with the measurement times. A
/// receding-horizon strategy plans each interval from the measured state, and chooses the time of the largest ‖σ‖ in it.
pub fn uncertainty(run: &RunSnapshot, episodes: &[usize]) -> Figure {
    let b = &run.subject;
    let name = run.settings.strategy.name().replace('-', " ");
    let mut figure =
        Figure::new(format!("{}: model uncertainty along the trajectory, and measurement times", b.title))
            .subtitle(format!("{name}, seed {}", run.seed))
            .columns(1);
    for snapshot in run.snapshots.iter().filter(|s| episodes.contains(&s.episode.record.episode)) {
        let title = format!("Episode {}", snapshot.episode.record.episode);
        let panel = Panel::new(title, time_axis(&b.task), Axis::new("‖σ‖", ""));
        figure = figure.panel(draw(panel, snapshot));
    }
    figure
}

fn draw(mut panel: Panel, snapshot: &Snapshot) -> Panel {
    let Some(leg) = snapshot.episode.executed.first() else { return panel };
    let path = &leg.trajectory;
    let executed = snapshot.uncertainty_along(path);
    if !executed.is_empty() {
        panel =
            panel.mark(Mark::line(thin(&path.times), thin(&executed)).muted().label("executed trajectory"));
    }
    let intervals = snapshot.episode.foreseen.first().map_or(&[][..], Vec::as_slice);
    for interval in intervals {
        let line = Mark::line(&*interval.times, &*interval.uncertainty)
            .series(0)
            .label("predicted (optimistic plan)");
        panel = panel.mark(line);
        if let Some(begin) = interval.times.first() {
            panel = panel.mark(Mark::vertical(*begin).muted().dotted().label("state measured"));
        }
    }
    let (mut times, mut sigma) = (Vec::new(), Vec::new());
    if intervals.is_empty()
        && let Some(intention) = snapshot.episode.plans.first().and_then(Option::as_ref)
    {
        let plan = &intention.plan;
        let nodes = plan.states.iter().zip(plan.controls.iter());
        let points: Vec<f64> = nodes.flat_map(|(x, u)| x.iter().chain(u)).copied().collect();
        let dims = plan.dims();
        sigma = snapshot.uncertainty(Points::new(&points, dims.state + dims.control));
        times = plan.times[..sigma.len()].to_vec();
        panel = panel.mark(Mark::line(&*times, &*sigma).series(0).label("predicted (optimistic plan)"));
    }
    // Each chosen time is drawn at the uncertainty for which it was chosen.
    let height = |t: f64| {
        // The time of a run may differ from the chosen time by rounding.
        let same = |s: &f64| (*s - t).abs() <= 1e-9 * (1.0 + t.abs());
        let inside = intervals.iter().find_map(|f| f.times.iter().position(same).map(|i| f.uncertainty[i]));
        inside.unwrap_or_else(|| interpolated(&times, &sigma, t))
    };
    let chosen: Vec<f64> = leg.readings.iter().map(|r| r.time).collect();
    let heights: Vec<f64> = chosen.iter().map(|t| height(*t)).collect();
    panel.mark(Mark::points(chosen, heights, Marker::Cross).series(1).label("measured"))
}

/// Linear interpolation, constant beyond the ends; NaN for an empty list.
fn interpolated(x: &[f64], y: &[f64], at: f64) -> f64 {
    let next = x.partition_point(|&v| v <= at);
    match (next.checked_sub(1), x.get(next)) {
        (Some(k), Some(_)) => y[k] + (y[next] - y[k]) * (at - x[k]) / (x[next] - x[k]),
        (Some(k), None) => y[k],
        (None, _) => y.first().copied().unwrap_or(f64::NAN),
    }
}
