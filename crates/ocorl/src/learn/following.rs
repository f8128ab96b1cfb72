//! The policy that follows a plan, by its settings.

use super::settings::{TrackSettings, TrackerName};
use crate::explore::MeanModel;
use crate::model::StatisticalModel;
use crate::plan::Transcription;
use crate::simulate::Policy;
use crate::system::Task;
use crate::track::{
    Feedback, LadderSettings, MpcSettings, MpcSolver, Receding, Reference, ReplanSolver, Solver, mpc, replan,
};
use std::sync::Arc;

/// Follows `reference` on the mean of `model`.
pub(super) fn policy(
    task: &Task,
    track: &TrackSettings,
    model: &Arc<dyn StatisticalModel>,
    reference: Reference,
) -> Box<dyn Policy + Send> {
    let ladder = LadderSettings::of(task);
    let dynamics = Box::new(MeanModel::new(model.clone()));
    match track.policy {
        TrackerName::Feedback => Box::new(Feedback::new(reference, ladder)),
        TrackerName::Mpc => between(mpc(reference, dynamics, mpc_settings(task, track), ladder), track),
        TrackerName::Replan => {
            let (cost, transcription) = (task.cost.clone(), Transcription::single(track.integrator.into()));
            between(replan(reference, dynamics, cost, transcription, track.period, ladder), track)
        }
    }
}

/// What solves at each period, alone: for whoever runs it in real time. None if nothing is solved.
pub(super) fn solver(
    task: &Task,
    track: &TrackSettings,
    model: &Arc<dyn StatisticalModel>,
) -> Option<Box<dyn Solver>> {
    let (dynamics, bounds) = (Box::new(MeanModel::new(model.clone())), task.control_bounds.clone());
    match track.policy {
        TrackerName::Feedback => None,
        TrackerName::Mpc => Some(Box::new(MpcSolver::new(dynamics, mpc_settings(task, track), bounds))),
        TrackerName::Replan => {
            let transcription = Transcription::single(track.integrator.into());
            Some(Box::new(ReplanSolver::new(dynamics, task.cost.clone(), transcription, bounds)))
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
