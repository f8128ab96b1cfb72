//! The learned vector field over two states, shaded by model uncertainty.

use super::phase::{Plane, thin};
use crate::{Axis, Figure, Mark, Marker, Panel, Shape};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{Posterior, Query, StatisticalModel};
use ocorl_study::episode_model::uncertainty;
use ocorl_study::run_snapshot::RunSnapshot;

/// Number of heat map cells and of arrows along each axis.
const CELLS: usize = 40;
const ARROWS: usize = 17;
/// Margin around the data, as a share of their range.
const MARGIN: f64 = 0.25;

/// The mean μ over the plane of the first two states at the safe control, shaded by ‖σ‖: the model before each of `episodes`, and
/// after the last. Other states are at their median over the data.
pub fn field(run: &RunSnapshot, episodes: &[usize]) -> Figure {
    let b = &run.subject;
    let figure = Figure::new(format!("{}: the learned vector field is right where it was measured", b.title))
        .subtitle(format!(
            "Control {:?}; shaded by model uncertainty, seed {}",
            b.task.safe_control, run.seed
        ))
        .columns(2);
    if b.task.states.len() < 2 {
        return figure.subtitle("This system has one state; see its model slices instead");
    }
    let last = run.snapshots.len();
    let mut panels: Vec<Panel> = Vec::new();
    for &episode in episodes.iter().chain([&last]) {
        let before = run.snapshots.get(episode).map(|s| s.before.clone());
        let (model, title) = match before {
            Some(Some(model)) => (model, format!("Before episode {episode}")),
            Some(None) => continue,
            None => (run.model.clone(), "After the last episode".into()),
        };
        panels.push(panel(run, model.as_ref(), episode, &title));
    }
    // One scale for all panels.
    let shades = panels.iter().flat_map(|panel| &panel.marks).filter_map(|mark| match &mark.shape {
        Shape::Heat { values, .. } => Some(values.iter().copied().filter(|v| *v > 0.0)),
        _ => None,
    });
    let (low, high) = shades.flatten().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let color = Axis::new("‖σ‖", "").log();
    let color = if low < high { color.range(low, high) } else { color };
    panels.into_iter().fold(figure, |figure, panel| figure.panel(panel.color(color.clone())))
}

fn panel(run: &RunSnapshot, model: &dyn StatisticalModel, before: usize, title: &str) -> Panel {
    let b = &run.subject;
    let plane = Plane::of(&b.task);
    let [x, y] = [0, 1].map(|r| span(run, r));
    let edges = |(low, high): (f64, f64), n: usize| -> Vec<f64> {
        (0..=n).map(|i| low + (high - low) * i as f64 / n as f64).collect()
    };
    let middles = |edges: &[f64]| edges.windows(2).map(|e| 0.5 * (e[0] + e[1])).collect::<Vec<f64>>();
    let base = centre(run);
    let grid = |xs: &[f64], ys: &[f64]| -> Vec<f64> {
        let mut points = Vec::with_capacity(xs.len() * ys.len() * base.len());
        for y in ys {
            for x in xs {
                let start = points.len();
                points.extend_from_slice(&base);
                points[start] = *x;
                points[start + 1] = *y;
            }
        }
        points
    };
    let (x_edges, y_edges) = (edges(x, CELLS), edges(y, CELLS));
    let points = grid(&middles(&x_edges), &middles(&y_edges));
    let sigma = uncertainty(model, Points::new(&points, base.len()));
    let (xs, ys) = (middles(&edges(x, ARROWS)), middles(&edges(y, ARROWS)));
    let points = grid(&xs, &ys);
    let mut posterior = Posterior::default();
    model.posterior(Points::new(&points, base.len()), Query::Mean, &mut posterior);
    let at = |r: usize| points.chunks_exact(base.len()).map(|z| z[r]).collect::<Vec<f64>>();
    let to = |r: usize| posterior.mean.value.iter().map(|f| f[r]).collect::<Vec<f64>>();
    let mut panel = plane
        .panel(&b.task, title)
        .mark(Mark::heat(x_edges, y_edges, sigma))
        .mark(Mark::arrows(at(0), at(1), to(0), to(1)).series(6).label("learned μ"));
    if let Some(known) = &b.truth {
        let mut truth = Blocks::zeros(b.task.states.len(), points.len() / base.len());
        known.dynamics().derivative(Points::new(&points, base.len()), truth.as_mut_slice());
        let to = |r: usize| truth.iter().map(|f| f[r]).collect::<Vec<f64>>();
        panel = panel.mark(Mark::arrows(at(0), at(1), to(0), to(1)).series(1).label("true f"));
    }
    if let Some(rollout) = before.checked_sub(1).and_then(|i| run.snapshots[i].episode.executed.first()) {
        let (x, y) = plane.points(&rollout.trajectory.times, &rollout.trajectory.states);
        panel = panel.mark(Mark::line(thin(&x), thin(&y)).series(1).label("last episode"));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = run.readings(before).map(|r| (r.state[0], r.state[1])).unzip();
    panel.mark(Mark::points(x, y, Marker::Dot).series(1).label("measured"))
}

/// Range of the measurements of a state, with a margin.
fn span(run: &RunSnapshot, state: usize) -> (f64, f64) {
    let all = run.readings(usize::MAX).map(|r| r.state[state]);
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let margin = MARGIN * (high - low).max(1e-9);
    (low - margin, high + margin)
}

/// The measured point in the middle of the data, with the safe control.
fn centre(run: &RunSnapshot) -> Vec<f64> {
    let states: Vec<&[f64]> = run.readings(usize::MAX).map(|r| r.state.as_slice()).collect();
    let middle = states.get(states.len() / 2).map_or(run.subject.task.initial_state.as_slice(), |s| s);
    [middle, &run.subject.task.safe_control].concat()
}
