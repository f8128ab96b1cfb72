//! What is possible when the equations are known.

use ocorl::baseline::{self, BaselineError, BaselineSettings};
use ocorl::learn::Settings;
use ocorl::system::Benchmark;
use serde::{Deserialize, Serialize};

/// The columns of Table 1 that need no learning: costs with the true model, mean over the initial states, in the units of the table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Best continuous-time control, open loop if that is stable enough: the optimum against which regret is counted.
    pub continuous: f64,
    /// The same plan followed by MPC, as the paper's column is made.
    pub tracked: f64,
    /// Zero-order hold as the authors' program computes it.
    pub held_as_printed: f64,
    /// Best zero-order hold.
    pub held: f64,
    /// How many holds those are.
    pub holds: usize,
}

/// A run that is cheaper than the optimum by this part of it shows that the optimum is not one; less may be errors of integration.
const CHEAPER: f64 = 1e-3;

impl Known {
    /// How far a cost is above the best continuous control, in percent of it.
    pub fn percent_above(&self, cost: f64) -> f64 {
        100.0 * (cost / self.continuous - 1.0)
    }

    /// What is possible at the least, after episodes that cost `costs`: if one of them is cheaper than what was found with the known
    /// equations by more than one part in a thousand, that search missed the optimum, and the episode is the best known. None if not.
    pub fn corrected_by(&self, costs: impl IntoIterator<Item = f64>) -> Option<Known> {
        let least = costs.into_iter().filter(|cost| cost.is_finite()).fold(f64::INFINITY, f64::min);
        let missed = self.continuous - least > CHEAPER * self.continuous.abs();
        (missed && least.is_finite()).then_some(Known { continuous: least, ..*self })
    }

    /// Solves the known problem from each initial state of `settings`.
    pub fn of(benchmark: &Benchmark, settings: &Settings) -> Result<Self, BaselineError> {
        let starts = match settings.initial_states.as_slice() {
            [] => std::slice::from_ref(&benchmark.task.initial_state),
            given => given,
        };
        // In discrete time as many holds as at the end of learning.
        let baselines = BaselineSettings {
            holds: settings.holds(settings.episodes - 1),
            period: benchmark.settings.tracking_period,
            stages: settings.plan.stages,
            ..BaselineSettings::default()
        };
        let weight = benchmark.table_scale() / starts.len() as f64;
        let mut mean = Known { continuous: 0.0, tracked: 0.0, held_as_printed: 0.0, held: 0.0, holds: 0 };
        for start in starts {
            let mut b = benchmark.clone();
            b.task.initial_state.clone_from(start);
            let found = baseline::all(&b, &baselines)?;
            mean.continuous += weight * found.continuous.best().cost();
            mean.tracked += weight * found.continuous.tracked.cost();
            mean.held_as_printed += weight * found.held_reference.cost;
            mean.held += weight * found.held.cost;
            mean.holds = found.held.plan.controls.len();
        }
        Ok(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_that_is_cheaper_than_the_optimum_is_the_best_known() {
        let known = Known { continuous: 13.35, tracked: 13.35, held_as_printed: 14.0, held: 14.0, holds: 9 };
        assert_eq!(known.corrected_by([20.0, 11.96, 12.5]).map(|k| k.continuous), Some(11.96));
        // Less than one part in a thousand may be an error of integration.
        assert_eq!(known.corrected_by([13.349, f64::NAN, f64::NEG_INFINITY.abs()]), None);
        assert_eq!(known.corrected_by([]), None);
    }
}
