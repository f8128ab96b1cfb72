//! Optimistic beside greedy planning, one panel per strategy: the ablation of the paper.

use super::naming::Naming;
use super::strategies::{by_episode, headline, seeds};
use crate::figure::Figure;
use ocorl_study::results::{Group, Results};

/// Cost above the optimum by episode; the curves of a panel differ in how the plan uses model uncertainty.
pub fn optimism(results: &Results) -> Figure {
    let naming = Naming::new(results);
    let mut strategies: Vec<Option<String>> = Vec::new();
    for group in results.groups() {
        let strategy = group.setting("strategy");
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    let mut figure = Figure::new(headline(results, "optimistic against greedy planning"))
        .subtitle(format!("Median and middle 60 % of {}", seeds(results)))
        .columns(strategies.len().min(3));
    for strategy in strategies {
        let groups: Vec<Group<'_>> =
            results.groups().into_iter().filter(|g| g.setting("strategy") == strategy).collect();
        let name = strategy.unwrap_or_default().replace('-', " ");
        let mut panel = by_episode(name.clone(), &groups, &naming, 0);
        // The panel title names the strategy; the legend need not repeat it.
        for label in panel.marks.iter_mut().filter_map(|mark| mark.label.as_mut()) {
            *label = label.replace(&format!(", {name}"), "");
        }
        figure = figure.panel(panel);
    }
    figure
}
