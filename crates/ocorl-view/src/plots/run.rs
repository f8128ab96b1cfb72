//! A run: cost by episode, and some of its trajectories.

use super::cost::{Costs, cost_curves};
use super::phase::{Plane, thin};
use crate::{Figure, Mark, Marker, Panel};
use ocorl::learn::{Episode, Settings};
use ocorl::system::{Cell, KnownSystem};
use ocorl_study::known::Known;

/// The data of a run. The figures show its costs in the units of the paper's table.
pub struct Run<'a> {
    /// The system.
    pub benchmark: &'a KnownSystem,
    /// Settings of the run.
    pub settings: &'a Settings,
    /// Costs with known dynamics, if they could be computed.
    pub known: Option<&'a Known>,
    /// The paper's result for this system and strategy, if it has one.
    pub paper: Option<Cell>,
    /// The episodes; at least one.
    pub episodes: &'a [Episode],
}

/// Series colours.
const FIRST: usize = 3;
const MIDDLE: usize = 2;
const LAST: usize = 0;
const PLANNED: usize = 1;

/// Cost by episode and cost above the optimum, beside the reference costs.
pub fn run_cost(run: &Run<'_>) -> Figure {
    let units = run.benchmark.table_units();
    let known = run.known.map(|known| known.printed(units));
    let records = || run.episodes.iter().map(|e| &e.record);
    cost_curves(&Costs {
        title: &format!("{}: cost by episode", run.benchmark.title),
        strategy: &run.settings.strategy.name().replace('-', " "),
        episodes: &records().map(|r| r.episode as f64).collect::<Vec<_>>(),
        costs: &records().map(|r| units.cost(r.cost)).collect::<Vec<_>>(),
        planned: None,
        best: known.map(|known| known.continuous),
        held: known.map(|known| known.held),
        paper: run.paper.map(|cell| cell.mean),
    })
}

/// Some episodes in the plane of the first two states, or over time; beside them the last episode with its plan and measurements.
pub fn run_phase(run: &Run<'_>) -> Figure {
    let (b, count) = (run.benchmark, run.episodes.len());
    let plane = Plane::of(&b.task);
    let mut all = plane.panel(&run.benchmark.task, "From the first episode to the last");
    let mut shown = vec![(0, FIRST), (1, PLANNED), (count / 2, MIDDLE), (count - 1, LAST)];
    shown.retain(|(i, _)| *i < count);
    shown.reverse();
    shown.dedup_by_key(|(i, _)| *i);
    for (i, color) in shown.into_iter().rev() {
        let episode = &run.episodes[i];
        let label = format!("episode {}", episode.record.episode);
        all = executed(&plane, episode).fold(all, |all, curve| all.mark(curve.series(color).label(&label)));
    }
    let title = if plane.two { "phase portrait" } else { "trajectories" };
    Figure::new(format!("{}: {title}", b.title))
        .subtitle(format!("{}, {count} episodes", run.settings.strategy.name().replace('-', " ")))
        .panel(all)
        .panel(last(run, &plane))
        .columns(2)
}

/// Plan, executed trajectory and measurements of the last episode.
fn last(run: &Run<'_>, plane: &Plane) -> Panel {
    let episode = &run.episodes[run.episodes.len() - 1];
    let mut panel = plane.panel(&run.benchmark.task, &format!("Episode {}", episode.record.episode));
    for curve in executed(plane, episode) {
        panel = panel.mark(curve.series(LAST).label("executed"));
    }
    for plan in episode.plans.iter().flatten().map(|planned| &planned.plan) {
        let (x, y) = plane.points(&plan.times, &plan.states);
        panel = panel.mark(Mark::line(x, y).series(PLANNED).dashed().label("planned"));
    }
    let readings = || episode.executed.iter().flat_map(|rollout| &rollout.readings);
    let x: Vec<f64> = readings().map(|r| if plane.two { r.state[0] } else { r.time }).collect();
    let y: Vec<f64> = readings().map(|r| r.state[usize::from(plane.two)]).collect();
    panel.mark(Mark::points(x, y, Marker::Cross).series(FIRST).label("measured"))
}

/// The executed trajectories, one per initial state.
fn executed<'a>(plane: &'a Plane, episode: &'a Episode) -> impl Iterator<Item = Mark> + 'a {
    episode.executed.iter().map(|rollout| {
        let (x, y) = plane.points(&rollout.trajectory.times, &rollout.trajectory.states);
        Mark::line(thin(&x), thin(&y))
    })
}
