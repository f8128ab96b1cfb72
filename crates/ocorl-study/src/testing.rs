//! Synthetic results, for tests of code that evaluates sweeps.

use crate::cell::{Cell, CellResult, EpisodeRow};
use crate::known::Known;

/// The optimum of all synthetic runs.
pub const OPTIMUM: f64 = 20.0;
/// Number of measurements per episode.
const MEASURED: usize = 2;

/// A synthetic run with the given settings, episode costs and outcomes. Its optimal zero-order hold costs 20.5, as printed 20.6.
pub fn run(system: &str, set: &[(&str, &str)], seed: u64, episodes: &[(f64, &str)]) -> CellResult {
    let set = set.iter().map(|(path, word)| ((*path).to_owned(), crate::config::value(word))).collect();
    let cell = Cell { system: system.into(), file: None, settings: "default".into(), set, seed };
    let row = |(episode, &(cost, outcome)): (usize, &(f64, &str))| EpisodeRow {
        episode,
        cost,
        regret: cost - OPTIMUM,
        planned_cost: None,
        mean_cost: None,
        measured: MEASURED,
        synchronized: 0,
        beta: None,
        information_gain: 1.0,
        uncertainty: None,
        coverage: None,
        coverage_95: None,
        complexity: None,
        required: None,
        outcome: outcome.into(),
        bounds: crate::cell::Bounds::default(),
    };
    let known = Known {
        continuous: OPTIMUM,
        tracked: OPTIMUM,
        held_as_printed: Some(20.6),
        held: 20.5,
        holds: 9,
        search: None,
    };
    let episodes = episodes.iter().enumerate().map(row).collect();
    CellResult { failure: None, known: Some(known), episodes, ..CellResult::failed(&cell, "") }
}
