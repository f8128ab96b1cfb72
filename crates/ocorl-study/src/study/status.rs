//! What a study knows, and what to do next.

use super::{Status, Study};
use serde::Serialize;

/// Why nothing more is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All episodes were run.
    EpisodesUsed,
    /// The next episode would cost more than is left.
    BudgetUsed,
}

/// A study in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// Which system.
    pub system: String,
    /// Everything random is drawn below it.
    pub seed: u64,
    /// Episodes that are over.
    pub episodes: usize,
    /// Episodes there will be.
    pub of: usize,
    /// Measurements that are learned from.
    pub measurements: usize,
    /// What was spent.
    pub spent: f64,
    /// What may be spent.
    pub budget: Option<f64>,
    /// Least cost of an episode so far.
    pub best_cost: Option<f64>,
    /// Cost of the last episode.
    pub last_cost: Option<f64>,
    /// Number of the episode that was asked for and is not over.
    pub pending: Option<usize>,
    /// Why nothing more is asked for, if so.
    pub over: Option<Verdict>,
}

impl Study {
    /// Why nothing more is asked for; none while there is something.
    pub fn over(&self) -> Option<Verdict> {
        let created = self.created();
        if self.history().pending().is_some() {
            return None;
        }
        if self.history().episodes.len() >= created.settings.episodes {
            return Some(Verdict::EpisodesUsed);
        }
        let starts = created.settings.initial_states.len().max(1);
        let next = created.prices.of(1, starts * created.settings.measurements);
        let left = created.prices.budget? - self.spent();
        (next > left).then_some(Verdict::BudgetUsed)
    }

    /// What was spent: every episode that was asked for and every measurement it gave, learned from or not.
    pub fn spent(&self) -> f64 {
        let episodes = &self.history().episodes;
        self.created().prices.of(episodes.len(), episodes.iter().map(|e| e.rows.len()).sum())
    }

    /// In a few numbers.
    pub fn overview(&self) -> Overview {
        let (created, history) = (self.created(), self.history());
        let closed = history.episodes.iter().filter_map(|e| e.closed.as_ref());
        let costs: Vec<f64> =
            closed.filter(|c| c.status != Status::Discarded).filter_map(|c| c.cost).collect();
        Overview {
            system: created.system.clone(),
            seed: created.seed,
            episodes: history.next(),
            of: created.settings.episodes,
            measurements: history.measurements(),
            spent: self.spent(),
            budget: created.prices.budget,
            best_cost: costs.iter().copied().reduce(f64::min),
            last_cost: costs.last().copied(),
            pending: history.pending().map(|p| p.episode),
            over: self.over(),
        }
    }
}
