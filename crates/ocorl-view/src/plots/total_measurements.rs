//! Cost against the total number of measurements: few per episode, or many?

use super::naming::title;
use super::strategies::seeds;
use crate::{Axis, Figure, Mark, Panel};
use ocorl_study::results::{Group, Results};
use ocorl_study::statistics::{median, quantile};
use std::collections::BTreeSet;

/// Range of the vertical axes in percent, equal for all systems. Smaller gaps are drawn at the lower end.
const GAPS: (f64, f64) = (1e-3, 1e3);
/// Share of the background in the colour of the palest curve.
const PALEST: f64 = 0.72;

/// The gap of each episode to the optimum against the number of measurements taken before it, one panel per system. Colour is the
/// strategy, and a darker shade means more measurements per episode, M. Median and middle 60 % of the seeds.
pub fn total_measurements(results: &Results) -> Figure {
    let groups = results.groups();
    let counts: BTreeSet<usize> = groups.iter().filter_map(count).collect();
    let mut strategies: Vec<String> = Vec::new();
    for name in groups.iter().map(strategy) {
        if !strategies.contains(&name) {
            strategies.push(name);
        }
    }
    let mut figure = Figure::new("Gap to the optimum against the total number of measurements")
        .subtitle(format!(
            "Gap to the optimum by episode; median, middle 60 % of {}; darker: more measurements per episode (M)",
            seeds(results)
        ))
        .columns(3)
        .tall();
    for system in results.systems() {
        let of_system: Vec<&Group<'_>> = groups.iter().filter(|g| g.cell.system == system).collect();
        figure = figure.panel(panel(system, &of_system, &strategies, &counts));
    }
    figure
}

fn panel(system: &str, groups: &[&Group<'_>], strategies: &[String], counts: &BTreeSet<usize>) -> Panel {
    let x = Axis::new("measurements so far", "").whole().log();
    let mut panel = Panel::new(title(system), x, Axis::new("gap", "%").log().range(GAPS.0, GAPS.1));
    // Legend entries: colours, shades, and the reference lines.
    for (i, name) in strategies.iter().enumerate() {
        panel = panel.mark(Mark::line([], []).series(i).label(name));
    }
    for m in counts {
        panel = panel.mark(Mark::line([], []).muted().tinted(tint(*m, counts)).label(format!("M = {m}")));
    }
    panel = panel.mark(Mark::horizontal(1.0).muted().dashed().label("1 % above the optimum"));
    if let Some(known) = groups.iter().find_map(|g| g.known()) {
        let hold = known.percent_above(known.held).max(GAPS.0);
        panel = panel.mark(Mark::horizontal(hold).muted().dotted().label("optimal zero-order hold"));
    }
    // Dark curves are drawn above pale ones.
    let mut drawn: Vec<(usize, &Group<'_>)> = groups.iter().filter_map(|g| Some((count(g)?, *g))).collect();
    drawn.sort_by_key(|(m, _)| *m);
    for (m, group) in drawn {
        let name = strategy(group);
        let series = strategies.iter().position(|known| *known == name).unwrap_or(0);
        let looks = |mark: Mark| {
            mark.series(series).tinted(tint(m, counts)).unlisted().label(format!("{name}, M = {m}"))
        };
        let Curve { x, middle, low, high } = Curve::of(group);
        panel = panel.mark(looks(Mark::band(&*x, low, high))).mark(looks(Mark::line(x, middle)));
    }
    panel
}

/// Gaps of the episodes in percent, clamped to [`GAPS`], by the number of measurements before them.
struct Curve {
    x: Vec<f64>,
    middle: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Curve {
    fn of(group: &Group<'_>) -> Self {
        let mut curve = Curve { x: Vec::new(), middle: Vec::new(), low: Vec::new(), high: Vec::new() };
        let Some(known) = group.known() else { return curve };
        let costs = group.by_episode(|row| Some(row.cost).filter(|_| row.episode > 0));
        for (episode, costs) in costs {
            let runs = group.cells.iter().filter(|run| run.failure.is_none());
            let before: Vec<f64> = runs.map(|run| run.measurements_before(episode) as f64).collect();
            let gaps: Vec<f64> = costs.iter().map(|cost| known.percent_above(*cost).max(GAPS.0)).collect();
            curve.x.push(median(&before));
            curve.middle.push(median(&gaps));
            curve.low.push(quantile(&gaps, 0.2));
            curve.high.push(quantile(&gaps, 0.8));
        }
        curve
    }
}

/// Tint of the curves for M: palest for the smallest M, the full colour for the largest.
fn tint(m: usize, counts: &BTreeSet<usize>) -> f64 {
    let place = counts.iter().position(|count| *count == m).unwrap_or(0);
    PALEST * (1.0 - place as f64 / counts.len().saturating_sub(1).max(1) as f64)
}

fn count(group: &Group<'_>) -> Option<usize> {
    group.setting("measurements")?.parse().ok()
}

fn strategy(group: &Group<'_>) -> String {
    group.setting("strategy").unwrap_or_else(|| "default".into()).replace('-', " ")
}
