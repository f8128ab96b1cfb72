//! Progress events of the learner, for terminals, study databases, dashboards and Python.
//!
//! The learner reports each step once, as one [`Event`], to an [`Observer`]. Observers cannot change results.

use crate::diagnosis::{Finding, Verdict};
use crate::model::{Note, TrainingReport};
use crate::plan::Outcome as Search;
use crate::simulate::Outcome;

/// A progress event. Episodes are counted from 0, the exploratory one; `start` is the index of an initial state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The preparation of an episode began.
    EpisodeBegan {
        /// Index of the episode.
        episode: usize,
        /// Number of measurements before the episode.
        measurements: usize,
    },
    /// A plan was computed.
    Planned {
        /// Index of the episode.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Cost of the plan on the planning dynamics (optimistic, sampled or mean).
        planned_cost: f64,
        /// Cost of the best plan on the mean dynamics.
        mean_cost: f64,
        /// The outcome of the search.
        outcome: Search,
        /// Number of iterations of all searches together.
        iterations: usize,
    },
    /// The last run ended early: the next plan is kept near the measured data, and measurements are placed in the time that was
    /// reached.
    SetBack {
        /// Index of the episode in which this takes effect.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Number of runs in succession that ended early.
        failures: usize,
        /// The time that the last of them reached.
        reached: f64,
    },
    /// A plan was rehearsed on functions drawn from the posterior.
    Cautious {
        /// Index of the episode.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Number of times that the plan was made again.
        rounds: usize,
        /// Mean cost of the rehearsed runs of the plan that is executed.
        expected: f64,
        /// Largest acceptable mean cost; `None` before the first run.
        allowed: Option<f64>,
        /// Largest distance by which the tube leaves the limits of the states; zero if it is inside or not required to be.
        outside: f64,
    },
    /// No plan was found; a substitute is proposed.
    NotPlanned {
        /// Index of the episode.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Reason for the failure.
        reason: &'a str,
        /// Description of the substitute.
        instead: &'a str,
    },
    /// The episode is ready to be executed.
    Proposed {
        /// Index of the episode.
        episode: usize,
    },
    /// The plant executed a run.
    Executed {
        /// Index of the episode.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Cost of the run.
        cost: f64,
        /// The outcome of the run.
        outcome: &'a Outcome,
        /// Times of the measurements.
        measurement_times: &'a [f64],
        /// Times at which the state was read without learning from it.
        synchronizations: &'a [f64],
    },
    /// A measurement was rejected.
    Refused {
        /// Index of the episode.
        episode: usize,
        /// Index of the initial state.
        start: usize,
        /// Reason for the rejection.
        reason: &'a str,
    },
    /// There are more measurements than the model keeps: some were left out.
    Thinned {
        /// Index of the episode.
        episode: usize,
        /// Number of measurements that the model keeps.
        kept: usize,
        /// Number of measurements from which they were chosen.
        of: usize,
    },
    /// The model was updated with the measurements of an episode.
    Updated {
        /// Index of the episode.
        episode: usize,
        /// Number of measurements after the update.
        measurements: usize,
    },
    /// The model could not be updated with the measurements of an episode and is unchanged.
    NotUpdated {
        /// Index of the episode.
        episode: usize,
        /// Reason for the failure.
        reason: &'a str,
    },
    /// The data contradict the model, or each other.
    Diagnosed {
        /// Index of the episode.
        episode: usize,
        /// The findings about the episode.
        findings: &'a [Finding],
        /// All rows that are not used for learning.
        set_aside: &'a [Verdict],
    },
    /// Hyper-parameters were trained.
    Trained {
        /// Index of the last episode before the training.
        episode: usize,
        /// The result of the training.
        report: &'a TrainingReport,
        /// The confidence scale β of each output.
        confidence_scale: &'a [f64],
        /// Remarks about the data and the numerics of the model.
        notes: &'a [Note],
    },
}

/// A receiver of progress events.
pub trait Observer {
    /// Receives an event.
    fn observe(&mut self, event: &Event<'_>);
}

/// An observer that ignores all events.
impl Observer for () {
    fn observe(&mut self, _event: &Event<'_>) {}
}

/// An observer that passes each event to a function.
pub struct Watch<F>(pub F);

impl<F: FnMut(&Event<'_>)> Observer for Watch<F> {
    fn observe(&mut self, event: &Event<'_>) {
        (self.0)(event);
    }
}
