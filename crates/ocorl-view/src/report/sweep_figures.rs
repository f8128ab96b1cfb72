//! The figures in the report of a sweep; each is included if its data exist.

use super::{Block, Section};
use crate::figure::Figure;
use crate::plots;
use ocorl_study::cell::EpisodeRow;
use ocorl_study::results::Results;
use std::collections::BTreeSet;

/// A figure, and the condition under which it has data.
struct Shown {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    is_there: fn(&Results) -> bool,
    draw: fn(&Results) -> Figure,
}

const SHOWN: [Shown; 8] = [
    Shown {
        id: "gaps",
        title: "Final cost above the optimum",
        about: "Final cost above the optimum with known dynamics. Filled marks: this sweep, with the range over the seeds. Hollow marks: \
                the paper.",
        is_there: |results| is_known(results) && any(results, |_| true),
        draw: plots::gaps,
    },
    Shown {
        id: "cost",
        title: "Cost by episode",
        about: "Cost above the optimum with known dynamics. Below the dotted line the learned policy costs less than the optimal zero-order hold.",
        is_there: |results| is_known(results) && learned(results),
        draw: plots::strategies,
    },
    Shown {
        id: "optimism",
        title: "Optimistic against greedy planning",
        about: "Cost above the optimum, one panel per strategy: the curves differ in how the plan uses model uncertainty.",
        // Each panel is a strategy, so the sweep must have a single system.
        is_there: |results| learned(results) && varies(results, "explore") && results.systems().len() == 1,
        draw: plots::optimism,
    },
    Shown {
        id: "measurements",
        title: "Measurements per episode",
        about: "Final cost by the number of measurements per episode, and cost by episode.",
        is_there: |results| learned(results) && varies(results, "measurements"),
        draw: plots::measurements,
    },
    Shown {
        id: "total-measurements",
        title: "Total measurements",
        about: "Gap of each episode to the optimum against the number of measurements taken before it: few per episode, or many.",
        is_there: |results| is_known(results) && learned(results) && varies(results, "measurements"),
        draw: plots::total_measurements,
    },
    Shown {
        id: "regret",
        title: "Regret",
        about: "Cumulative regret; with an exponent below 1 the mean regret per episode tends to zero.",
        is_there: |results| is_known(results) && learned(results),
        draw: plots::regret,
    },
    Shown {
        id: "theory",
        title: "Quantities of the analysis",
        about: "Measurements taken, and the number that the analysis requires with Lipschitz constants estimated along the trajectories.",
        is_there: |results| learned(results) && any(results, |row| row.required.is_some()),
        draw: plots::theory,
    },
    Shown {
        id: "information",
        title: "Information gain",
        about: "Information gain, the confidence scale β, and the complexity I_N of the paper.",
        is_there: |results| {
            learned(results) && any(results, |row| row.beta.is_some() || row.complexity.is_some())
        },
        draw: plots::information,
    },
];

/// One section for each figure that has data.
pub(super) fn figures(results: &Results) -> Vec<Section> {
    let there = SHOWN.iter().filter(|shown| (shown.is_there)(results));
    let section = |shown: &Shown| {
        let block = Block::figure((shown.draw)(results));
        Section::new(shown.id, shown.title).about(shown.about).block(block)
    };
    there.map(section).collect()
}

/// Whether some cell has costs with known dynamics.
fn is_known(results: &Results) -> bool {
    results.cells.iter().any(|cell| cell.known.is_some())
}

/// Whether an episode of a finished cell satisfies `has`.
fn any(results: &Results, has: fn(&EpisodeRow) -> bool) -> bool {
    results.cells.iter().filter(|cell| cell.failure.is_none()).flat_map(|cell| &cell.episodes).any(has)
}

/// Whether there is an episode beyond the exploratory one.
fn learned(results: &Results) -> bool {
    any(results, |row| row.episode > 0)
}

/// Whether cells differ in a setting.
fn varies(results: &Results, path: &str) -> bool {
    let values = results.cells.iter().map(|cell| cell.cell.set.get(path).map(ToString::to_string));
    values.collect::<BTreeSet<_>>().len() > 1
}
