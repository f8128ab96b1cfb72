//! Reference costs of a system with known dynamics: the optimum and zero-order holds.

use crate::trace::thinned;
use ocorl::baseline::{self, BaselineError, BaselineSettings};
use ocorl::learn::Settings;
use ocorl::plan::Effort;
use ocorl::simulate::Trajectory;
use ocorl::system::{KnownSystem, TableUnits};
use serde::{Deserialize, Serialize};

/// The columns of Table 1 that need no learning: costs with known dynamics, mean over the initial states.
///
/// [`Known::of`] computes them in the task's units; files and screens show them converted by [`Known::printed`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Continuous-time optimum, in open loop if that is stable enough: the reference for regret.
    pub continuous: f64,
    /// Cost of the optimal plan followed by MPC, which is how the paper computes its column.
    pub tracked: f64,
    /// Zero-order hold as the authors' program computes it; `None` for systems outside the paper.
    pub held_as_printed: Option<f64>,
    /// Optimal zero-order hold.
    pub held: f64,
    /// Number of hold intervals.
    pub holds: usize,
    /// Searches behind `continuous`; `None` where an independent program confirmed it as the optimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Effort>,
}

/// A run that is cheaper than the optimum by more than this fraction shows that the search missed the optimum; smaller differences may be
/// integration errors.
const CHEAPER: f64 = 1e-3;

impl Known {
    /// Difference between `cost` and the continuous-time optimum, in percent of the optimum.
    pub fn percent_above(&self, cost: f64) -> f64 {
        100.0 * (cost / self.continuous - 1.0)
    }

    /// The same costs converted to the units of the paper's table.
    #[must_use]
    pub fn printed(&self, units: TableUnits) -> Known {
        Known {
            continuous: units.cost(self.continuous),
            tracked: units.cost(self.tracked),
            held_as_printed: self.held_as_printed.map(|cost| units.cost(cost)),
            held: units.cost(self.held),
            holds: self.holds,
            search: self.search,
        }
    }

    /// Whether `other`, a corrected record, is cheaper by more than integration errors.
    pub fn is_missed_by(&self, other: &Known) -> bool {
        self.continuous - other.continuous > CHEAPER * self.continuous.abs()
    }

    /// Corrects the optimum by learned episodes with costs `costs`: if one of them is cheaper than the optimum by more than one part in a
    /// thousand, the search with known dynamics missed the optimum and the episode is the best known. A cost that was only the best known
    /// is corrected by any cheaper one. `None` if no correction is needed.
    pub fn corrected_by(&self, costs: impl IntoIterator<Item = f64>) -> Option<Known> {
        let least = costs.into_iter().filter(|cost| cost.is_finite()).fold(f64::INFINITY, f64::min);
        // A confirmed optimum can only be undercut by integration errors; a best known cost is corrected by whatever is cheaper.
        let room = if self.search.is_none() { CHEAPER * self.continuous.abs() } else { 0.0 };
        (self.continuous - least > room && least.is_finite()).then_some(Known { continuous: least, ..*self })
    }

    /// Solves the problem with known dynamics from each initial state of `settings`.
    pub fn of(benchmark: &KnownSystem, settings: &Settings) -> Result<Self, BaselineError> {
        Known::with_paths(benchmark, settings).map(|(known, _)| known)
    }

    /// Like [`Known::of`], with the optimal trajectory from each initial state.
    pub fn with_paths(
        benchmark: &KnownSystem,
        settings: &Settings,
    ) -> Result<(Self, Vec<Trajectory>), BaselineError> {
        let starts = match settings.initial_states.as_slice() {
            [] => std::slice::from_ref(&benchmark.task.initial_state),
            given => given,
        };
        // In discrete time, use as many holds as there are at the end of learning.
        let baselines = BaselineSettings {
            holds: settings.holds(settings.episodes - 1),
            stages: settings.plan.stages,
            ..BaselineSettings::default()
        };
        let weight = 1.0 / starts.len() as f64;
        let mut mean = Known {
            continuous: 0.0,
            tracked: 0.0,
            held_as_printed: Some(0.0),
            held: 0.0,
            holds: 0,
            search: None,
        };
        let mut paths = Vec::new();
        for start in starts {
            let mut b = benchmark.clone();
            b.task.initial_state.clone_from(start);
            let found = baseline::all(&b, &baselines)?;
            mean.continuous += weight * found.continuous.best().cost();
            mean.tracked += weight * found.continuous.tracked.cost();
            let reference = found.held_reference.map(|held| weight * held.cost);
            mean.held_as_printed = mean.held_as_printed.zip(reference).map(|(sum, cost)| sum + cost);
            mean.held += weight * found.held.cost;
            mean.holds = found.held.plan.controls.len();
            paths.push(thinned(&found.continuous.best().samples));
            mean.search = more(mean.search, Effort::of(&found.continuous.plan.attempts));
        }
        Ok((mean, paths))
    }
}

/// Adds the searches for another initial state; a plan without a record of searches was confirmed.
fn more(sum: Option<Effort>, next: Effort) -> Option<Effort> {
    let before = sum.unwrap_or_default();
    let searches = before.searches + next.searches;
    (searches > 0).then_some(Effort { searches, basins: before.basins + next.basins })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_that_is_cheaper_than_the_optimum_is_the_best_known() {
        let known = Known {
            continuous: 13.35,
            tracked: 13.35,
            held_as_printed: Some(14.0),
            held: 14.0,
            holds: 9,
            search: None,
        };
        assert_eq!(known.corrected_by([20.0, 11.96, 12.5]).map(|k| k.continuous), Some(11.96));
        // Differences below one part in a thousand may be integration errors.
        assert_eq!(known.corrected_by([13.349, f64::NAN, f64::NEG_INFINITY.abs()]), None);
        assert_eq!(known.corrected_by([]), None);
        // What was only the best known is corrected by any cheaper episode, so that regret is never negative.
        let searched = Known { search: Some(Effort { searches: 5, basins: 2 }), ..known };
        let corrected = searched.corrected_by([13.349]).expect("a correction");
        assert!(corrected.continuous == 13.349 && !searched.is_missed_by(&corrected));
    }

    #[test]
    fn costs_are_computed_in_the_units_of_the_task_and_printed_in_those_of_the_table() {
        let glucose = ocorl::system::Benchmark::find("glucose").unwrap();
        let (settings, units) = (Settings::for_system(&glucose), glucose.table_units());
        let known = Known::of(&glucose, &settings).unwrap();
        let printed = known.printed(units);
        let paper = glucose.published().unwrap();
        // The paper's value lies 0.1 % below the exact optimum (Euler steps, a truncated integral).
        assert!((printed.continuous / paper.continuous - 1.0).abs() < 3e-3, "{printed:?}");
        assert_eq!((units.scale(), printed.held, printed.holds), (10.0, 10.0 * known.held, known.holds));
        // A cost in the task's units is compared in the same units.
        assert!(known.percent_above(known.held) > 0.0 && known.corrected_by([known.held]).is_none());
    }
}
