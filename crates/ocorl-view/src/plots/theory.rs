//! The quantities of the paper's analysis, measured in runs.

use super::curves::{Curve, episodes};
use super::naming::{Naming, title};
use super::strategies::{headline, seeds};
use crate::{Axis, Figure, Panel};
use ocorl_study::cell::EpisodeRow;
use ocorl_study::results::Results;

/// One panel per quantity and system, one curve per variant.
fn quantities(results: &Results, name: &str, shown: &[Quantity]) -> Figure {
    let naming = Naming::new(results);
    let mut figure = Figure::new(headline(results, name))
        .subtitle(format!("Median and middle 60 % of {}", seeds(results)))
        .columns(shown.len());
    for system in results.systems() {
        for quantity in shown {
            let axis = Axis::new(quantity.name, "");
            let axis = if quantity.log { axis.log() } else { axis };
            let mut panel = Panel::new(title(system), episodes(), axis);
            for (i, group) in results.groups().iter().filter(|g| g.cell.system == system).enumerate() {
                panel = Curve::of(group, quantity.value).draw(panel, i, i > 0, &naming.of(group));
            }
            figure = figure.panel(panel);
        }
    }
    figure
}

/// One quantity of an episode.
struct Quantity {
    name: &'static str,
    log: bool,
    value: fn(&EpisodeRow) -> Option<f64>,
}

/// Cost above the optimum, measurements taken, and the number mₙ that the analysis requires (with Lipschitz constants estimated
/// along the trajectories).
pub fn theory(results: &Results) -> Figure {
    let shown = [
        Quantity { name: "cost − optimum", log: true, value: |row| Some(row.regret) },
        Quantity { name: "measurements taken", log: false, value: |row| Some(row.measured as f64) },
        Quantity {
            name: "mₙ required by the analysis",
            log: true,
            value: |row| row.required.map(|m| m as f64),
        },
    ];
    quantities(results, "quantities of the analysis", &shown)
}

/// Information gain (in nats), β, and ∫‖σ‖² so far.
pub fn information(results: &Results) -> Figure {
    let shown = [
        Quantity { name: "information gain", log: false, value: |row| Some(row.information_gain) },
        Quantity { name: "β", log: false, value: |row| row.beta },
        Quantity { name: "model complexity I_N", log: true, value: |row| row.complexity },
    ];
    quantities(results, "information gain and confidence", &shown)
}
