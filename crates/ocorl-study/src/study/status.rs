//! Overview of a study, and the value of its next episode.

use super::{CostFrom, Status, Study, StudyError};
use ocorl::learn::Time;
use ocorl::theory::worth;
use serde::Serialize;

/// Relative difference between planned and actual cost below which they agree.
const MISSED: f64 = 0.1;
/// Difference in standard deviations below which they agree.
const FAR: f64 = 6.0;

/// Reason why no further episode is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All episodes have been executed.
    EpisodesUsed,
    /// The next episode would exceed the budget.
    BudgetUsed,
}

/// Summary of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// Name of the system.
    pub system: String,
    /// Root seed of all random streams.
    pub seed: u64,
    /// Number of completed episodes.
    pub episodes: usize,
    /// Total number of episodes.
    pub of: usize,
    /// Number of measurements used for learning.
    pub measurements: usize,
    /// Total price of the episodes and measurements so far.
    pub spent: f64,
    /// Total budget; `None` means unlimited.
    pub budget: Option<f64>,
    /// Lowest cost of an episode so far.
    pub best_cost: Option<f64>,
    /// Cost of the last episode.
    pub last_cost: Option<f64>,
    /// Number of the pending episode.
    pub pending: Option<usize>,
    /// Reason why no further episode is planned, if so.
    pub over: Option<Verdict>,
}

impl Study {
    /// Reason why no further episode is planned; `None` while one can be.
    pub fn over(&self) -> Option<Verdict> {
        let created = self.created();
        if self.history().pending().is_some() {
            return None;
        }
        if self.history().episodes.len() >= self.episodes() {
            return Some(Verdict::EpisodesUsed);
        }
        let starts = created.settings.initial_states.len().max(1);
        let next = created.prices.of(1, starts * created.settings.measurements);
        let left = created.prices.budget? - self.spent();
        (next > left).then_some(Verdict::BudgetUsed)
    }

    /// Total price of all planned episodes and their measurements, used for learning or not.
    pub fn spent(&self) -> f64 {
        let episodes = &self.history().episodes;
        self.created().prices.of(episodes.len(), episodes.iter().map(|e| e.rows.len()).sum())
    }

    /// Summary of the study.
    pub fn overview(&self) -> Overview {
        let (created, history) = (self.created(), self.history());
        let closed = history.episodes.iter().filter_map(|e| e.closed.as_ref());
        let costs: Vec<f64> =
            closed.filter(|c| c.status != Status::Discarded).filter_map(|c| c.cost).collect();
        Overview {
            system: created.system.clone(),
            seed: created.seed,
            episodes: history.next(),
            of: self.episodes(),
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

/// Times of the events of a study (UTC).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// Time of the first event.
    pub began: String,
    /// Time of the last event.
    pub last: String,
    /// For each episode, when it was planned and when it was closed.
    pub episodes: Vec<(String, Option<String>)>,
}

impl Study {
    /// Times of the events that the history holds; a writer may have added others since.
    pub fn moments(&self) -> Result<Moments, StudyError> {
        let head = self.store().head().0.cast_signed();
        Ok(self.store().snapshot(|connection| {
            let at = |seq: i64| {
                let sql = "SELECT at FROM events WHERE seq = ?1";
                connection.query_row(sql, [seq], |row| row.get::<_, String>(0))
            };
            let sql = "SELECT asked.at, over.at FROM episodes
                       JOIN events AS asked ON asked.seq = proposed_seq
                       LEFT JOIN events AS over ON over.seq = closed_seq AND over.seq <= ?1
                       WHERE proposed_seq <= ?1 ORDER BY episode";
            let mut statement = connection.prepare(sql)?;
            let episodes = statement
                .query_map([head], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            Ok(Moments { began: at(1)?, last: at(head)?, episodes })
        })?)
    }
}

/// Expected value of the next episode, compared with its price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextWorth {
    /// Standard deviation of the planned cost under the present model.
    pub uncertainty: f64,
    /// Standard deviation of the planned cost after the next episode's measurements.
    pub after: f64,
    /// Standard deviation of the planned cost after only the most informative of these measurements.
    pub after_best: f64,
    /// Price of the next episode with all its measurements.
    pub price: f64,
    /// Price of the next episode with one measurement.
    pub price_of_one: f64,
    /// Whether either option is expected to reduce the standard deviation by more than its price.
    pub pays: bool,
    /// Planned and actual cost of the last episode, if they contradict each other.
    pub missed: Option<(f64, f64)>,
}

impl NextWorth {
    /// One-sentence recommendation for users.
    pub fn recommendation(&self) -> String {
        let NextWorth { uncertainty, after, price, pays, missed, .. } = self;
        let gain = uncertainty - after;
        if let Some((planned, cost)) = missed {
            return format!(
                "the last episode cost {cost:.4} where {planned:.4} was planned: the model was wrong there, and its own \
                 uncertainty of the next cost (+- {uncertainty:.3}) is not reliable"
            );
        }
        let known = format!(
            "the planned cost is known to +- {uncertainty:.3}; the next episode is expected to narrow that by {gain:.3}"
        );
        if *price == 0.0 {
            return known;
        }
        let verdict = if *pays {
            "it is expected to pay for itself"
        } else {
            "no remaining measurement is expected to pay for itself: stop here"
        };
        format!("{known} and costs {price:.3}: {verdict}")
    }
}

impl Study {
    /// Value of the next (or pending) episode; `None` before the first plan, and in discrete time.
    pub fn worth(&mut self) -> Result<Option<NextWorth>, StudyError> {
        let Some(last) = self.history().episodes.last() else { return Ok(None) };
        if self.created().settings.time != Time::Continuous || last.plan.learner.is_none() {
            return Ok(None);
        }
        let task = self.system().task.clone();
        let (measurements, prices) = (last.plan.asked(), self.created().prices);
        let tables = last.plan.rollouts.clone();
        let learner = self.learner()?;
        if learner.data().is_empty() {
            return Ok(None);
        }
        let plans = learner.proposal().plans;
        let (mut before, mut after, mut best, mut rollouts) = (0.0, 0.0, 0.0, 0.0);
        for (planned, table) in plans.iter().zip(&tables) {
            let Some(planned) = planned else { return Ok(None) };
            let plan = &planned.plan;
            let at =
                |t: &f64| [plan.states.at(plan.interval(*t)), plan.controls.at(plan.interval(*t))].concat();
            let points: Vec<Vec<f64>> = table.measure_at.iter().map(at).collect();
            let Some(worth) = worth(learner.model().as_ref(), &task, plan, &points) else { return Ok(None) };
            before += worth.before;
            after += worth.after;
            best += worth.after_best;
            rollouts += 1.0;
        }
        let (uncertainty, after, after_best) = (before / rollouts, after / rollouts, best / rollouts);
        let (price, price_of_one) = (prices.of(1, measurements), prices.of(1, 1));
        let pays = uncertainty - after > price || uncertainty - after_best > price_of_one;
        let missed = self.missed(uncertainty);
        Ok(Some(NextWorth { uncertainty, after, after_best, price, price_of_one, pays, missed }))
    }

    /// Planned and actual cost of the last completed episode, if the cost is far from those of the optimistic and of the mean plan: by more
    /// than a tenth, and by more than six times the present `uncertainty`. An estimated cost is too coarse for the comparison.
    fn missed(&self, uncertainty: f64) -> Option<(f64, f64)> {
        let last = self.history().episodes.iter().rev().find(|e| e.closed.is_some())?;
        let closed = last.closed.as_ref().filter(|closed| closed.cost_from == CostFrom::Reported)?;
        let (cost, planned) = (closed.cost?, last.plan.planned_cost()?);
        let mean = last.plan.mean_cost().unwrap_or(planned);
        let tolerance = (MISSED * cost.abs()).max(FAR * uncertainty);
        let far = |plan: f64| (cost - plan).abs() > tolerance;
        (far(planned) && far(mean)).then_some((planned, cost))
    }
}
