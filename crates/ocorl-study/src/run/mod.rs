//! One run of a simulated system from its first episode to its last, stored in a study or kept in memory, and its text output. Costs are in
//! the task's units; [`printed`] converts those that are displayed or exported.
//!
//! | module | holds |
//! |---|---|
//! | [`text_report`] | the text report of a run |
//! | [`events`] | progress events as warnings and as JSON documents |
//! | [`numbers`] | formatting of costs and differences |

pub mod events;
pub mod numbers;
pub mod text_report;

use crate::known::Known;
use crate::simulated::Simulated;
use crate::study::{Study, StudyError};
use crate::trace::keep_known;
use crate::user_error::UserError;
use ocorl::event::Observer;
use ocorl::learn::{Episode, Record, Settings, Trial};
use ocorl::measurements::Measurements;
use ocorl::system::{KnownSystem, TableUnits};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run in progress.
pub struct Run {
    learner: Learner,
}

enum Learner {
    Kept(Box<Simulated>),
    Free(Box<Trial>),
}

impl Run {
    /// Starts a run, or resumes `study`. Without `known` no regret is computed. The run is cancelled when `cancel` becomes true.
    pub fn begin(
        benchmark: &KnownSystem,
        settings: &Settings,
        seed: u64,
        known: Option<&Known>,
        study: Option<Study>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, StudyError> {
        let optimum = known.map_or(f64::NAN, |known| known.continuous);
        let learner = if let Some(study) = study {
            if let Some(known) = known {
                // Figures can do without the reference costs.
                let _ = keep_known(study.store().folder(), &known.printed(benchmark.table_units()));
            }
            Learner::Kept(Box::new(Simulated::new(study, optimum)?.cancelled_by(cancel)))
        } else {
            let trial = Trial::new(benchmark, settings.clone(), seed, optimum)?;
            Learner::Free(Box::new(trial.cancelled_by(cancel.clone())))
        };
        Ok(Run { learner })
    }

    /// Learns from measurements of other origin before the first episode; only a run that is not stored can.
    pub fn import(&mut self, data: &Measurements, observer: &mut dyn Observer) -> Result<(), StudyError> {
        match &mut self.learner {
            Learner::Free(trial) => trial.import(data, observer).map_err(|error| {
                UserError::new("the model cannot be used").detail("cause", error.to_string()).into()
            }),
            Learner::Kept(_) => {
                Err(UserError::new("a stored run cannot begin with measurements of another origin").into())
            }
        }
    }

    /// The learner in its present state; `None` for a stored run, whose study has it.
    pub fn learner(&self) -> Option<&ocorl::learn::Learner> {
        match &self.learner {
            Learner::Free(trial) => Some(trial.learner()),
            Learner::Kept(_) => None,
        }
    }

    /// Executes the next episode. `None` after the last one, and after cancellation.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<Episode>, StudyError> {
        let next = match &mut self.learner {
            Learner::Kept(simulated) => simulated.next_episode(observer)?,
            Learner::Free(trial) => trial.next_episode(observer),
        };
        Ok(next)
    }
}

/// A record with its costs converted to the units of the paper's table, for files and screens.
pub fn printed(record: &Record, units: TableUnits) -> Record {
    let mut record = record.clone();
    for cost in [&mut record.cost, &mut record.regret, &mut record.cumulative_regret] {
        *cost = units.cost(*cost);
    }
    record.planned_cost = record.planned_cost.map(|cost| units.cost(cost));
    record.mean_cost = record.mean_cost.map(|cost| units.cost(cost));
    if let Some(theory) = &mut record.theory {
        theory.lipschitz_cost = units.cost(theory.lipschitz_cost);
        theory.log_regret_bound = units.log_cost(theory.log_regret_bound);
        theory.log_cumulative_regret_bound = units.log_cost(theory.log_cumulative_regret_bound);
    }
    if let Some(theory) = &mut record.discrete_theory {
        theory.lipschitz_cost = units.cost(theory.lipschitz_cost);
        theory.closed_loop_cost = units.cost(theory.closed_loop_cost);
        let scaled = |log: Option<f64>| log.map(|log| units.log_cost(log));
        theory.log_regret_bound = scaled(theory.log_regret_bound);
        theory.log_cumulative_regret_bound = scaled(theory.log_cumulative_regret_bound);
    }
    record
}
