//! Cost against the total number of measurements: is it better to take few per episode, or many?

use super::naming::title;
use super::strategies::seeds;
use crate::{Axis, Figure, Mark, Panel};
use ocorl_study::results::{Group, Results};
use ocorl_study::statistics::{median, quantile};
use std::collections::BTreeSet;

/// What the vertical axes show, in percent: the same for all systems. Smaller gaps stand at the lower end.
const GAPS: (f64, f64) = (1e-3, 1e3);
/// The palest curve: how much of the background is in its colour.
const PALEST: f64 = 0.72;

/// One panel per system: the gap of each episode to the optimum against the number of measurements taken before it, one curve for each
/// strategy (colour) and number M of measurements per episode (the more, the darker); median and middle 60 % of the seeds.
pub fn total_measurements(results: &Results) -> Figure {
    let groups = results.groups();
    let counts: BTreeSet<usize> = groups.iter().filter_map(count).collect();
    let mut strategies: Vec<String> = Vec::new();
    for name in groups.iter().map(strategy) {
        if !strategies.contains(&name) {
            strategies.push(name);
        }
    }
    let mut figure = Figure::new("Few measurements per episode or many: how many does it take in all?")
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
    // The legend: colours, shades, and what the gaps are compared with.
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
    // Dark curves above pale ones.
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

/// Gaps of the episodes in percent, within [`GAPS`], by the number of measurements before them.
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

/// From the palest for the least M to the full colour for the greatest.
fn tint(m: usize, counts: &BTreeSet<usize>) -> f64 {
    let place = counts.iter().position(|count| *count == m).unwrap_or(0);
    PALEST * (1.0 - place as f64 / counts.len().saturating_sub(1).max(1) as f64)
}

fn count(group: &Group<'_>) -> Option<usize> {
    group.setting("measurements")?.parse().ok()
}

fn strategy(group: &Group<'_>) -> String {
    group.setting("strategy").unwrap_or_else(|| "as shipped".into()).replace('-', " ")
}
