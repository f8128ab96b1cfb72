//! What a study knows, and what to do next.

use super::{Status, Study, StudyError};
use ocorl::learn::Time;
use ocorl::theory::worth;
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
        if self.history().episodes.len() >= self.episodes() {
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

/// When things happened to a study (UTC).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// The first event.
    pub began: String,
    /// The last.
    pub last: String,
    /// When each episode was asked for, and when it was over.
    pub episodes: Vec<(String, Option<String>)>,
}

impl Study {
    /// When things happened.
    pub fn moments(&self) -> Result<Moments, StudyError> {
        let read = || -> rusqlite::Result<Moments> {
            let connection = self.store().connection();
            let (began, last) = connection.query_row(
                "SELECT (SELECT at FROM events ORDER BY seq LIMIT 1), (SELECT at FROM events ORDER BY seq DESC LIMIT 1)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let sql = "SELECT asked.at, over.at FROM episodes
                       JOIN events AS asked ON asked.seq = proposed_seq
                       LEFT JOIN events AS over ON over.seq = closed_seq ORDER BY episode";
            let mut statement = connection.prepare(sql)?;
            let episodes =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
            Ok(Moments { began, last, episodes })
        };
        read().map_err(|error| self.unreadable(&error))
    }
}

/// Whether the next episode is expected to pay for itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextWorth {
    /// Standard deviation of the planned cost, by what is known now.
    pub uncertainty: f64,
    /// What is left of it after the next episode's measurements.
    pub after: f64,
    /// What is left after the one that tells most.
    pub after_best: f64,
    /// What the next episode costs with all its measurements.
    pub price: f64,
    /// What it costs with one.
    pub price_of_one: f64,
    /// Whether one of the two is expected to narrow the planned cost by more than it costs.
    pub pays: bool,
}

impl NextWorth {
    /// For people.
    pub fn words(&self) -> String {
        let NextWorth { uncertainty, after, price, pays, .. } = self;
        let gain = uncertainty - after;
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
    /// What the next (or pending) episode is worth; none before the first plan, and in discrete time.
    pub fn worth(&mut self) -> Result<Option<NextWorth>, StudyError> {
        let Some(last) = self.history().episodes.last() else { return Ok(None) };
        if self.created().settings.time != Time::Continuous || last.plan.learner.is_none() {
            return Ok(None);
        }
        let task = self.system().task.clone();
        let (measurements, prices) = (last.plan.asked(), self.created().prices);
        let tables = last.plan.legs.clone();
        let learner = self.learner()?;
        if learner.data().is_empty() {
            return Ok(None);
        }
        let plans = learner.proposal().plans;
        let (mut before, mut after, mut best, mut legs) = (0.0, 0.0, 0.0, 0.0);
        for (intention, table) in plans.iter().zip(&tables) {
            let Some(intention) = intention else { return Ok(None) };
            let plan = &intention.plan;
            let at =
                |t: &f64| [plan.states.at(plan.interval(*t)), plan.controls.at(plan.interval(*t))].concat();
            let points: Vec<Vec<f64>> = table.measure_at.iter().map(at).collect();
            let Some(worth) = worth(learner.model().as_ref(), &task, plan, &points) else { return Ok(None) };
            before += worth.before;
            after += worth.after;
            best += worth.after_best;
            legs += 1.0;
        }
        let (uncertainty, after, after_best) = (before / legs, after / legs, best / legs);
        let (price, price_of_one) = (prices.of(1, measurements), prices.of(1, 1));
        let pays = uncertainty - after > price || uncertainty - after_best > price_of_one;
        Ok(Some(NextWorth { uncertainty, after, after_best, price, price_of_one, pays }))
    }
}
