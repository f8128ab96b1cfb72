//! The plots that a sweep can give, each where its data are there.

use super::{Block, Section};
use crate::figure::Figure;
use crate::plots;
use ocorl_study::cell::EpisodeRow;
use ocorl_study::results::Results;
use std::collections::BTreeSet;

/// A plot, and when there is something in it.
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
        title: "Distance from the optimum",
        about: "How far above the best continuous control each system ends: filled marks are ours, with the range of all seeds; hollow ones are \
                the paper's.",
        is_there: |results| is_known(results) && any(results, |_| true),
        draw: plots::gaps,
    },
    Shown {
        id: "cost",
        title: "Cost by episode",
        about: "Cost above the best continuous control. Below the dotted line learning beats every hold that knows the equations.",
        is_there: |results| is_known(results) && learned(results),
        draw: plots::strategies,
    },
    Shown {
        id: "optimism",
        title: "Optimism against greed",
        about: "The same, one panel for each strategy: the curves differ in what is planned for.",
        // Its panels are strategies, so it is of one system.
        is_there: |results| learned(results) && varies(results, "explore") && results.systems().len() == 1,
        draw: plots::optimism,
    },
    Shown {
        id: "measurements",
        title: "How few measurements are enough",
        about: "Final cost by the number of measurements an episode, and the way there.",
        is_there: |results| learned(results) && varies(results, "measurements"),
        draw: plots::measurements,
    },
    Shown {
        id: "total-measurements",
        title: "How many measurements in all",
        about: "Gap of each episode to the optimum against the number of measurements taken before it: few per episode, or many.",
        is_there: |results| is_known(results) && learned(results) && varies(results, "measurements"),
        draw: plots::total_measurements,
    },
    Shown {
        id: "regret",
        title: "Regret",
        about: "Cumulative regret; with an exponent below 1 the mean regret of an episode goes to zero.",
        is_there: |results| is_known(results) && learned(results),
        draw: plots::regret,
    },
    Shown {
        id: "theory",
        title: "The analysis, as it turns out",
        about: "Measurements taken, and the number that the analysis asks for with the slopes found along the way.",
        is_there: |results| learned(results) && any(results, |row| row.required.is_some()),
        draw: plots::theory,
    },
    Shown {
        id: "information",
        title: "What was learned",
        about: "Information gain, the confidence scale β, and the complexity I_N of the paper.",
        is_there: |results| {
            learned(results) && any(results, |row| row.beta.is_some() || row.complexity.is_some())
        },
        draw: plots::information,
    },
];

/// The plots for which there are data, a section each.
pub(super) fn figures(results: &Results) -> Vec<Section> {
    let there = SHOWN.iter().filter(|shown| (shown.is_there)(results));
    let section = |shown: &Shown| {
        let block = Block::figure((shown.draw)(results));
        Section::new(shown.id, shown.title).about(shown.about).block(block)
    };
    there.map(section).collect()
}

/// Whether some cell knows what is possible.
fn is_known(results: &Results) -> bool {
    results.cells.iter().any(|cell| cell.known.is_some())
}

/// Whether an episode of a cell that came to its end has something.
fn any(results: &Results, has: fn(&EpisodeRow) -> bool) -> bool {
    results.cells.iter().filter(|cell| cell.failure.is_none()).flat_map(|cell| &cell.episodes).any(has)
}

/// Whether there is more than the exploratory episode.
fn learned(results: &Results) -> bool {
    any(results, |row| row.episode > 0)
}

/// Whether cells differ in a setting.
fn varies(results: &Results, path: &str) -> bool {
    let values = results.cells.iter().map(|cell| cell.cell.set.get(path).map(ToString::to_string));
    values.collect::<BTreeSet<_>>().len() > 1
}
