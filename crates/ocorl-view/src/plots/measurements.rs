//! Final cost against the number of measurements per episode, and cost by episode.

use super::curves::{Curve, episodes};
use super::naming::title;
use super::strategies::seeds;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl_study::results::{Group, Results};
use ocorl_study::statistics::quantile;

/// The strategy whose cost by episode is drawn.
const SHOWN: &str = "max-determinant";

/// Two panels per system: final cost above the optimum against M, one curve per strategy (median, 20 to 80 % of the seeds); and
/// cost by episode, one curve per M.
pub fn measurements(results: &Results) -> Figure {
    let mut figure = Figure::new("Cost against the number of measurements per episode")
        .subtitle(format!("Above the optimum (known dynamics); median and middle 60 % of {}", seeds(results)))
        .columns(2);
    for system in results.systems() {
        let groups: Vec<Group<'_>> =
            results.groups().into_iter().filter(|g| g.cell.system == system).collect();
        figure = figure.panel(at_the_end(system, &groups)).panel(on_the_way(system, &groups));
    }
    figure
}

fn at_the_end(system: &str, groups: &[Group<'_>]) -> Panel {
    let axis = Axis::new("measurements per episode", "").log();
    let mut panel =
        Panel::new(format!("{}, last episode", title(system)), axis, Axis::new("cost − optimum", "").log());
    let mut strategies: Vec<Option<String>> = Vec::new();
    for strategy in groups.iter().map(|g| g.setting("strategy")) {
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    let markers = [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Triangle];
    for (i, strategy) in strategies.iter().enumerate() {
        let (mut x, mut middle, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for group in groups.iter().filter(|g| g.setting("strategy") == *strategy) {
            let Some((m, known)) = count(group).zip(group.known()) else { continue };
            let above: Vec<f64> = group.final_costs().iter().map(|c| c - known.continuous).collect();
            // Slightly shifted, so that intervals do not hide each other.
            x.push(m * (1.0 + 0.03 * (i as f64 - 1.0)));
            middle.push(quantile(&above, 0.5));
            low.push(quantile(&above, 0.2));
            high.push(quantile(&above, 0.8));
        }
        let name = strategy.as_deref().unwrap_or("default").replace('-', " ");
        panel = panel
            .mark(Mark::interval_y(&*x, low, high).series(i).label(&name))
            .mark(Mark::line(&*x, &*middle).series(i).label(&name))
            .mark(Mark::points(x, middle, markers[i % markers.len()]).series(i).label(&name));
    }
    panel
}

fn on_the_way(system: &str, groups: &[Group<'_>]) -> Panel {
    let shown = |g: &&Group<'_>| g.setting("strategy").is_none_or(|strategy| strategy == SHOWN);
    let name = format!("{}, {}", title(system), SHOWN.replace('-', " "));
    let mut panel = Panel::new(name, episodes(), Axis::new("cost − optimum", "").log());
    for (i, group) in groups.iter().filter(shown).enumerate() {
        let label = format!("M = {}", group.setting("measurements").unwrap_or_default());
        panel = Curve::of(group, |row| Some(row.regret)).draw(panel, i, false, &label);
    }
    panel
}

/// Number of measurements per episode, M.
fn count(group: &Group<'_>) -> Option<f64> {
    group.setting("measurements")?.parse().ok()
}
