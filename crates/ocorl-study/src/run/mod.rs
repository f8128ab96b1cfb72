//! One run of a simulated system, from its first episode to its last, kept in a study or only in memory: what `ocorl run` and `ocorl.run`
//! do, and how they say it. Costs are in the units of the paper's table.
//!
//! | module | holds |
//! |---|---|
//! | [`words`] | the run in lines for people |
//! | [`events`] | what happens on the way: for people, and as documents for programs |
//! | [`numbers`] | costs and differences for people |

pub mod events;
pub mod numbers;
pub mod words;

use crate::known::Known;
use crate::simulated::Simulated;
use crate::study::{Study, StudyError};
use crate::trace::keep_known;
use ocorl::event::Observer;
use ocorl::learn::{Episode, Record, Settings, Trial};
use ocorl::simulate::Outcome;
use ocorl::system::Benchmark;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run under way.
pub struct Run {
    learner: Learner,
    scale: f64,
}

enum Learner {
    Kept(Box<Simulated>),
    Free(Box<Trial>),
}

impl Run {
    /// Begins, or goes on with `study`. Without `known` nobody can tell the regret. The run under way ends when `cancel` becomes true.
    pub fn begin(
        benchmark: &Benchmark,
        settings: &Settings,
        seed: u64,
        known: Option<&Known>,
        study: Option<Study>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, StudyError> {
        let scale = benchmark.table_scale();
        let optimum = known.map_or(f64::NAN, |known| known.continuous / scale);
        let learner = if let Some(study) = study {
            if let Some(known) = known {
                // Pictures can do without it.
                let _ = keep_known(study.store().folder(), known);
            }
            Learner::Kept(Box::new(Simulated::new(study, optimum)?.cancelled_by(cancel.clone())))
        } else {
            let trial = Trial::new(benchmark, settings.clone(), seed, optimum)?;
            Learner::Free(Box::new(trial.cancelled_by(cancel.clone())))
        };
        Ok(Run { learner, scale })
    }

    /// The next episode, its record in the units of the table, all else in those of the task. None after the last, and if it was cancelled.
    pub fn next_episode(&mut self, observer: &mut dyn Observer) -> Result<Option<Episode>, StudyError> {
        let next = match &mut self.learner {
            Learner::Kept(simulated) => simulated.next_episode(observer)?,
            Learner::Free(trial) => trial.next_episode(observer),
        };
        Ok(next.filter(|episode| !is_cancelled(episode)).map(|mut episode| {
            scale(&mut episode.record, self.scale);
            episode
        }))
    }
}

fn is_cancelled(episode: &Episode) -> bool {
    episode.executed.iter().any(|leg| matches!(leg.outcome, Outcome::Cancelled { .. }))
}

/// All costs of a record times `scale`.
fn scale(record: &mut Record, scale: f64) {
    record.cost *= scale;
    record.regret *= scale;
    record.cumulative_regret *= scale;
    record.planned_cost = record.planned_cost.map(|c| scale * c);
    record.mean_cost = record.mean_cost.map(|c| scale * c);
    if let Some(theory) = &mut record.theory {
        theory.lipschitz_cost *= scale;
        theory.log_regret_bound += scale.ln();
        theory.log_cumulative_regret_bound += scale.ln();
    }
    if let Some(theory) = &mut record.discrete_theory {
        theory.lipschitz_cost *= scale;
        theory.closed_loop_cost *= scale;
        let scaled = |log: Option<f64>| log.map(|log| log + scale.ln());
        theory.log_regret_bound = scaled(theory.log_regret_bound);
        theory.log_cumulative_regret_bound = scaled(theory.log_cumulative_regret_bound);
    }
}
