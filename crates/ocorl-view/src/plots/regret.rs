//! Cumulative regret and its growth exponent.

use super::curves::{Curve, episodes};
use super::naming::{Naming, title};
use super::strategies::{headline, seeds};
use crate::{Axis, Figure, Panel};
use ocorl_study::results::Results;

/// Σ rₙ from episode 1 on, on two logarithmic axes: median and middle 60 % of the seeds, one panel per system. The panel title gives α of the fit c n^α for
/// each curve, in the order of the legend; α < 1 means that regret grows sublinearly.
pub fn regret(results: &Results) -> Figure {
    let naming = Naming::new(results);
    let systems = results.systems();
    let mut figure = Figure::new(headline(results, "cumulative regret"))
        .subtitle(format!(
            "Median and middle 60 % of {}; both axes logarithmic; α: exponent of the fit c·n^α, for each curve in the order of the legend",
            seeds(results)
        ))
        .columns(systems.len().min(2));
    for system in systems {
        let mut panel = Panel::new("", episodes().log(), Axis::new("cumulative regret", "").log());
        let mut exponents = Vec::new();
        for (i, group) in results.groups().iter().filter(|g| g.cell.system == system).enumerate() {
            let curve = Curve::cumulative_regret(group);
            exponents.extend(curve.exponent().map(|alpha| format!("{alpha:.2}")));
            panel = curve.draw(panel, i, i > 0, &naming.of(group));
        }
        let alpha =
            if exponents.is_empty() { String::new() } else { format!(", α {}", exponents.join(" ")) };
        panel.title = title(system) + &alpha;
        figure = figure.panel(panel);
    }
    figure
}
