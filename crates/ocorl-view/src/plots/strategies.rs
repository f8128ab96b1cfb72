//! Cost by episode for every strategy: the paper's comparison on the pendulum.

use super::curves::{Curve, episodes};
use super::naming::{Naming, title};
use crate::{Axis, Figure, Mark, Panel};
use ocorl_study::results::{Group, Results};

/// Largest number of curves in one panel; further ones get a panel of their own.
const MOST_CURVES: usize = 4;

/// Cost above the optimum with known dynamics by episode, on a logarithmic axis: median and middle 60 % of the seeds, in as many
/// panels as the variants need. The dotted line is the optimal zero-order hold.
pub fn strategies(results: &Results) -> Figure {
    let naming = Naming::new(results);
    let mut figure = Figure::new(headline(results, "cost above the optimum, by episode"))
        .subtitle(format!("Median and middle 60 % of {}", seeds(results)))
        .columns(2);
    for system in results.systems() {
        let groups: Vec<Group<'_>> =
            results.groups().into_iter().filter(|g| g.cell.system == system).collect();
        for (part, groups) in groups.chunks(MOST_CURVES).enumerate() {
            let name = if part == 0 { title(system) } else { format!("{}, other variants", title(system)) };
            figure = figure.panel(by_episode(name, groups, &naming, part * MOST_CURVES));
        }
    }
    figure
}

/// Cost above the optimum by episode, one curve per group, in the colours from `first` on.
pub(super) fn by_episode(name: String, groups: &[Group<'_>], naming: &Naming, first: usize) -> Panel {
    let mut panel = Panel::new(name, episodes(), Axis::new("cost − optimum", "").log());
    if let Some(known) = groups.iter().find_map(Group::known) {
        let hold = known.held - known.continuous;
        panel = panel.mark(Mark::horizontal(hold).muted().dotted().label("optimal zero-order hold"));
    }
    for (i, group) in groups.iter().enumerate() {
        let curve = Curve::of(group, |row| Some(row.regret));
        panel = curve.draw(panel, first + i, i > 0, &naming.of(group));
    }
    panel
}

/// Title of a figure: the name of the only system, or the number of systems, and `what` is shown.
pub(super) fn headline(results: &Results, what: &str) -> String {
    match results.systems().as_slice() {
        [one] => format!("{}: {what}", title(one)),
        many => format!("{} systems: {what}", many.len()),
    }
}

/// Number of seeds as text: "10 seeds".
pub(super) fn seeds(results: &Results) -> String {
    let count = results.groups().iter().map(|g| g.cells.len()).max().unwrap_or(0);
    if count == 1 { "1 seed".into() } else { format!("{count} seeds") }
}
