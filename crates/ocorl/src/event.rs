//! What happened, for whoever watches: progress on a terminal, a study's store, a dashboard, Python.
//!
//! Everything the learner does is told once, as one [`Event`]. Observers cannot change results.

use crate::model::{Note, TrainingReport};
use crate::plan::Outcome as Search;
use crate::simulate::Outcome;

/// One thing that happened. Episodes are counted from 0, the exploratory one; starts are the initial states, in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An episode is being prepared.
    EpisodeBegan {
        /// Which.
        episode: usize,
        /// Measurements known before it.
        measurements: usize,
    },
    /// A plan was made.
    Planned {
        /// Of which episode.
        episode: usize,
        /// From which initial state.
        start: usize,
        /// What it costs in the imagination it was made for.
        planned_cost: f64,
        /// What the best plan on the mean model costs there.
        mean_cost: f64,
        /// How the search ended.
        outcome: Search,
        /// Iterations of all searches together.
        iterations: usize,
    },
    /// The last run ended early: what is proposed stays near what was measured, and is measured in the time that was reached.
    SetBack {
        /// In which episode that is taken into account.
        episode: usize,
        /// From which initial state.
        start: usize,
        /// How many runs in a row ended early.
        failures: usize,
        /// The time that the last of them reached.
        reached: f64,
    },
    /// No plan was found; something else is proposed.
    NotPlanned {
        /// Of which episode.
        episode: usize,
        /// From which initial state.
        start: usize,
        /// Why.
        reason: &'a str,
        /// What is done instead.
        instead: &'a str,
    },
    /// The episode is ready to be run.
    Proposed {
        /// Which.
        episode: usize,
    },
    /// The plant was run.
    Executed {
        /// In which episode.
        episode: usize,
        /// From which initial state.
        start: usize,
        /// What it cost.
        cost: f64,
        /// How it ended.
        outcome: &'a Outcome,
        /// When it was measured.
        measurement_times: &'a [f64],
        /// When the state was read without learning from it.
        synchronizations: &'a [f64],
    },
    /// A reading could not be learned from.
    Refused {
        /// Of which episode.
        episode: usize,
        /// From which initial state.
        start: usize,
        /// Why.
        reason: &'a str,
    },
    /// The model took in an episode.
    Updated {
        /// Which.
        episode: usize,
        /// Measurements now known.
        measurements: usize,
    },
    /// The model could not take in an episode; it stays as it was.
    NotUpdated {
        /// Which.
        episode: usize,
        /// Why.
        reason: &'a str,
    },
    /// Hyper-parameters were learned.
    Trained {
        /// After which episode.
        episode: usize,
        /// How.
        report: &'a TrainingReport,
        /// β for each output.
        confidence_scale: &'a [f64],
        /// What is worth saying of the model.
        notes: &'a [Note],
    },
}

/// Somebody who watches.
pub trait Observer {
    /// Is told what happened.
    fn observe(&mut self, event: &Event<'_>);
}

/// Nobody watches.
impl Observer for () {
    fn observe(&mut self, _event: &Event<'_>) {}
}

/// A function watches.
pub struct Watch<F>(pub F);

impl<F: FnMut(&Event<'_>)> Observer for Watch<F> {
    fn observe(&mut self, event: &Event<'_>) {
        (self.0)(event);
    }
}
