//! What the pictures of a run show.

use super::answer::Learned;
use super::files::STRIDE;
use crate::figures::{row, time_axis};
use ocorl::learn::Episode;
use ocorl::linalg::Blocks;
use ocorl_view::{Axis, Figure, Mark, Marker, Panel};

/// Colours of the series.
const FIRST: usize = 3;
const MIDDLE: usize = 2;
const LAST: usize = 0;
const PLANNED: usize = 1;

/// Cost and regret by episode, with what is possible and what the paper got.
pub(super) fn cost(learned: &Learned<'_>) -> Figure {
    let b = learned.benchmark;
    let records = || learned.episodes.iter().map(|e| &e.record);
    let episodes: Vec<f64> = records().map(|r| r.episode as f64).collect();
    let (best, held) = (learned.known.continuous, learned.known.held);
    let name = learned.settings.strategy.name().replace('-', " ");
    let panel = |title: &str, values: Vec<f64>, offset: f64| {
        let rules = [
            Some((held, Mark::horizontal(held - offset).muted().dotted().label("best hold"))),
            Some((best, Mark::horizontal(best - offset).muted().dashed().label("best continuous"))),
            learned.paper().map(|cell| {
                let rule = Mark::horizontal(cell.mean - offset).series(PLANNED).dashed();
                (cell.mean, rule.label("paper, at its end"))
            }),
        ];
        // What is not above the offset has no place on a logarithmic axis.
        let shown = rules.into_iter().flatten().filter(|(at, _)| *at > offset).map(|(_, rule)| rule);
        shown
            .fold(Panel::new(title, Axis::new("episode", ""), Axis::default().log()), Panel::mark)
            .mark(Mark::line(&*episodes, &*values).series(LAST).label(&name))
            .mark(Mark::points(&*episodes, values, Marker::Circle).series(LAST).label(&name))
    };
    let costs = panel("Cost", records().map(|r| r.cost).collect(), 0.0);
    let regrets =
        panel("Cost above the best continuous control", records().map(|r| r.regret).collect(), best);
    let last = learned.episodes.last().map_or(f64::NAN, |e| e.record.cost);
    Figure::new(format!("{}: cost by episode", b.title))
        .subtitle(format!("At the end {last:.4}, best continuous {best:.4}, best hold {held:.4}"))
        .panel(costs)
        .panel(regrets)
        .columns(2)
}

/// Some episodes in the plane of the first two states, or over time; beside them the last with its plan and measurements.
pub(super) fn phase(learned: &Learned<'_>) -> Figure {
    let (b, count) = (learned.benchmark, learned.episodes.len());
    let plane = Plane { two: b.task.states.len() > 1 };
    let mut all = plane.panel(learned, "From the first episode to the last");
    let mut shown = vec![(0, FIRST), (1, PLANNED), (count / 2, MIDDLE), (count - 1, LAST)];
    shown.retain(|(i, _)| *i < count);
    shown.reverse();
    shown.dedup_by_key(|(i, _)| *i);
    for (i, color) in shown.into_iter().rev() {
        let episode = &learned.episodes[i];
        let label = format!("episode {}", episode.record.episode);
        all = plane.executed(episode).fold(all, |all, curve| all.mark(curve.series(color).label(&label)));
    }
    let title = if plane.two { "phase portrait" } else { "trajectories" };
    Figure::new(format!("{}: {title}", b.title))
        .subtitle(format!("{}, {count} episodes", learned.settings.strategy.name().replace('-', " ")))
        .panel(all)
        .panel(last(learned, &plane))
        .columns(2)
}

/// What was planned, done and measured in the last episode.
fn last(learned: &Learned<'_>, plane: &Plane) -> Panel {
    let episode = &learned.episodes[learned.episodes.len() - 1];
    let mut panel = plane.panel(learned, &format!("Episode {}", episode.record.episode));
    for curve in plane.executed(episode) {
        panel = panel.mark(curve.series(LAST).label("executed"));
    }
    for plan in episode.plans.iter().flatten().map(|intention| &intention.plan) {
        let (x, y) = plane.points(&plan.times, &plan.states);
        panel = panel.mark(Mark::line(x, y).series(PLANNED).dashed().label("planned"));
    }
    let readings = || episode.executed.iter().flat_map(|leg| &leg.readings);
    let x: Vec<f64> = readings().map(|r| if plane.two { r.state[0] } else { r.time }).collect();
    let y: Vec<f64> = readings().map(|r| r.state[usize::from(plane.two)]).collect();
    panel.mark(Mark::points(x, y, Marker::Cross).series(FIRST).label("measured"))
}

/// Where trajectories are drawn: the first two states over each other, or the only one over time.
struct Plane {
    two: bool,
}

impl Plane {
    fn panel(&self, learned: &Learned<'_>, title: &str) -> Panel {
        let b = learned.benchmark;
        let axis = |i: usize| Axis::new(&b.task.states[i].name, &b.task.states[i].unit);
        let (x, y) = if self.two { (axis(0), axis(1)) } else { (time_axis(b), axis(0)) };
        Panel::new(title, x, y)
    }

    fn points(&self, times: &[f64], states: &Blocks) -> (Vec<f64>, Vec<f64>) {
        if self.two { (row(states, 0), row(states, 1)) } else { (times.to_vec(), row(states, 0)) }
    }

    fn executed<'a>(&'a self, episode: &'a Episode) -> impl Iterator<Item = Mark> + 'a {
        episode.executed.iter().map(|leg| {
            let (x, y) = self.points(&leg.trajectory.times, &leg.trajectory.states);
            let thin = |v: Vec<f64>| v.into_iter().step_by(STRIDE).collect::<Vec<f64>>();
            Mark::line(thin(x), thin(y))
        })
    }
}
