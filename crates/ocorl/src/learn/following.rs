//! Creation of the policy that follows a plan, according to the settings.

use super::settings::{TrackSettings, TrackerName};
use crate::explore::MeanModel;
use crate::model::StatisticalModel;
use crate::plan::Transcription;
use crate::simulate::Policy;
use crate::system::Task;
use crate::track::{
    FallbackSettings, Feedback, MpcSettings, MpcSolver, Receding, Reference, ReplanSolver, Solver, mpc,
    rate_limited, replan,
};
use std::sync::Arc;

/// Creates the policy that follows `reference` on the mean of `model`.
pub(super) fn policy(
    task: &Task,
    track: &TrackSettings,
    model: &Arc<dyn StatisticalModel>,
    reference: Reference,
) -> Box<dyn Policy + Send> {
    let fallback = &FallbackSettings::of(task);
    let dynamics = Box::new(MeanModel::new(model.clone()));
    match track.policy {
        TrackerName::Feedback => rate_limited(Box::new(Feedback::new(reference, fallback)), fallback, None),
        TrackerName::Mpc => between(mpc(reference, dynamics, mpc_settings(task, track), fallback), track),
        TrackerName::Replan => {
            let (cost, transcription) = (task.cost.clone(), Transcription::single(track.integrator.into()));
            between(replan(reference, dynamics, cost, transcription, track.period, fallback), track)
        }
    }
}

/// Creates the optimiser that the policy solves at each period, alone, for a real-time controller. `None` if the policy solves none.
pub(super) fn solver(
    task: &Task,
    track: &TrackSettings,
    model: &Arc<dyn StatisticalModel>,
) -> Option<Box<dyn Solver>> {
    let (dynamics, bounds) = (Box::new(MeanModel::new(model.clone())), task.control_bounds.clone());
    let limit = task.rate_limit.clone();
    match track.policy {
        TrackerName::Feedback => None,
        TrackerName::Mpc => {
            let solver = MpcSolver::new(dynamics, mpc_settings(task, track), bounds);
            Some(Box::new(solver.with_rate_limit(limit)))
        }
        TrackerName::Replan => {
            let transcription = Transcription::single(track.integrator.into());
            let solver = ReplanSolver::new(dynamics, task.cost.clone(), transcription, bounds);
            Some(Box::new(solver.with_rate_limit(limit)))
        }
    }
}

fn mpc_settings(task: &Task, track: &TrackSettings) -> MpcSettings {
    let mut settings = MpcSettings::new(task.dims(), track.horizon);
    settings.period = track.period;
    settings.nodes = (track.nodes > 0).then_some(track.nodes);
    settings.transcription = Transcription::single(track.integrator.into());
    settings.ilqr.max_iterations = track.max_iterations;
    settings
}

fn between<S: Solver + Send + 'static>(policy: Receding<S>, track: &TrackSettings) -> Box<dyn Policy + Send> {
    Box::new(if track.gains { policy.with_gains() } else { policy })
}
