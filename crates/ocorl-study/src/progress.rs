//! Learning progress: costs of all episodes, not only the last. Runs with equal final costs may differ on the episodes before.

use crate::cell::{CellResult, EpisodeRow};
use crate::results::Group;
use crate::statistics::{mean, median};
use std::collections::BTreeMap;

/// Number of final episodes that are evaluated together.
const LAST: usize = 5;

/// Statistics over the episodes of all runs of a group, from episode 1 on. Episode 0 applies the excitation and is the same for every
/// strategy.
///
/// An aborted episode (a state left its limits, or diverged) has its cost until then plus its last cost rate times the remaining time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of episodes of all runs.
    pub episodes: usize,
    /// Number of aborted episodes, which did not reach the end of the horizon.
    pub aborted: usize,
    /// Cost of the most expensive episode of all runs.
    pub worst_cost: f64,
    /// Cumulative regret of a run: median over the runs.
    pub cumulative_regret: f64,
    /// Cost of the last episode: median over the runs.
    pub last_cost: f64,
    /// Cost of the last five episodes: median over the episodes and runs.
    pub last_five_cost: f64,
}

impl Progress {
    /// Statistics of the runs that finished; `None` if there is none, or no episode after the first.
    pub fn of(group: &Group<'_>) -> Option<Self> {
        let runs: Vec<&CellResult> =
            group.cells.iter().copied().filter(|cell| cell.failure.is_none()).collect();
        let episodes: Vec<&EpisodeRow> = runs.iter().flat_map(|run| planned(run)).collect();
        let last = |run: &&CellResult| planned(run).last().map(|row| row.cost);
        let last_costs: Vec<f64> = runs.iter().filter_map(last).collect();
        let last_five: Vec<f64> = runs
            .iter()
            .flat_map(|run| planned(run).rev().take(LAST).map(|row| row.cost).collect::<Vec<_>>())
            .collect();
        let regrets: Vec<f64> = runs.iter().map(|run| run.cumulative_regret()).collect();
        (!episodes.is_empty()).then(|| Progress {
            episodes: episodes.len(),
            aborted: episodes.iter().filter(|row| !row.completed()).count(),
            worst_cost: episodes.iter().map(|row| row.cost).fold(f64::NEG_INFINITY, f64::max),
            cumulative_regret: median(&regrets),
            last_cost: median(&last_costs),
            last_five_cost: median(&last_five),
        })
    }
}

/// All episodes except the first, which is exploratory and not planned.
fn planned(run: &CellResult) -> impl DoubleEndedIterator<Item = &EpisodeRow> {
    run.episodes.iter().filter(|row| row.episode > 0)
}

/// Pairs (n, R_n): cumulative regret up to episode n, mean over the runs that finished.
pub fn mean_cumulative_regret(group: &Group<'_>) -> Vec<(f64, f64)> {
    let mut sums: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for run in group.cells.iter().filter(|cell| cell.failure.is_none()) {
        let mut sum = 0.0;
        for row in planned(run) {
            sum += row.regret;
            sums.entry(row.episode).or_default().push(sum);
        }
    }
    sums.iter().map(|(&n, sums)| (n as f64, mean(sums))).collect()
}

/// The number of measurements, taken in all episodes before, from which on every episode costs at most `1 + share` times the optimum:
/// median over all runs, those that failed included. `None` if half of the runs or more never get there.
pub fn measurements_until_within(group: &Group<'_>, share: f64) -> Option<f64> {
    let total = |run: &&CellResult| {
        let near = if run.failure.is_some() { None } else { run.stays_within(share) };
        // The first episode is not planned: a low cost there, as with the glucose system, says nothing about measurements.
        near.map_or(f64::INFINITY, |episode| run.measurements_before(episode.max(1)) as f64)
    };
    let totals: Vec<f64> = group.cells.iter().map(total).collect();
    // The median between a finite number and infinity is infinite, as in NumPy.
    Some(median(&totals)).filter(|middle| middle.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Results;
    use crate::testing::run;

    const DONE: &str = "completed";
    const OUT: &str = "state 2 left its limits at t = 3.4";

    fn results() -> Results {
        // The optimum is 20, with two measurements per episode. Episode 0 must not count.
        Results {
            cells: vec![
                run("pendulum", &[], 0, &[(900.0, OUT), (50.0, OUT), (30.0, DONE), (20.1, DONE)]),
                run("pendulum", &[], 1, &[(900.0, OUT), (20.1, DONE), (24.0, DONE), (20.0, DONE)]),
                run("pendulum", &[], 2, &[(900.0, OUT), (20.2, DONE), (20.2, DONE), (20.1, DONE)]),
            ],
        }
    }

    #[test]
    fn episodes_from_the_first_planned_one_on_are_summed_up() {
        let results = results();
        let group = &results.groups()[0];
        let progress = Progress::of(group).unwrap();
        assert_eq!((progress.episodes, progress.aborted, progress.worst_cost), (9, 1, 50.0));
        // The cumulative regrets are 40.1, 4.1, 0.5.
        assert!((progress.cumulative_regret - 4.1).abs() < 1e-12, "{progress:?}");
        assert_eq!(progress.last_cost, 20.1);
        // The costs are 20.0, 20.1, 20.1, 20.1, 20.2, 20.2, 24, 30, 50.
        assert_eq!(progress.last_five_cost, 20.2);
        let regret = mean_cumulative_regret(group);
        let expected = [(1.0, 30.3 / 3.0), (2.0, 44.5 / 3.0), (3.0, 44.7 / 3.0)];
        for (actual, expected) in regret.iter().zip(expected) {
            assert!((actual.0 - expected.0).abs() + (actual.1 - expected.1).abs() < 1e-12, "{regret:?}");
        }
        assert_eq!(regret.len(), 3);
    }

    #[test]
    fn a_run_without_a_planned_episode_or_without_an_end_says_nothing() {
        let mut results = results();
        for cell in &mut results.cells {
            cell.episodes.truncate(1);
        }
        assert_eq!(Progress::of(&results.groups()[0]), None);
        let mut results = self::results();
        results.cells[0].failure = Some("panicked".into());
        assert_eq!(Progress::of(&results.groups()[0]).unwrap().worst_cost, 24.0);
    }

    #[test]
    fn measurements_count_until_the_cost_stays_near() {
        // Near the optimum from episodes 3, 3 and 1: after 6, 6 and 2 measurements.
        let mut results = results();
        assert_eq!(measurements_until_within(&results.groups()[0], 0.01), Some(6.0));
        // An excitation with a low cost must not count as a plan from no measurements.
        for cell in &mut results.cells {
            cell.episodes.retain(|row| row.episode == 0 || row.episode == 3);
            cell.episodes[0] = EpisodeRow { episode: 0, ..cell.episodes[1].clone() };
        }
        assert_eq!(measurements_until_within(&results.groups()[0], 0.01), Some(2.0));
        let mut results = self::results();
        results.cells[1].episodes[3].outcome = OUT.into();
        assert_eq!(measurements_until_within(&results.groups()[0], 0.01), Some(6.0));
        results.cells[0].failure = Some("panicked".into());
        assert_eq!(measurements_until_within(&results.groups()[0], 0.01), None);
    }
}
