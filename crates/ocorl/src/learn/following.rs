//! The policy that follows a plan, by its settings.

use super::settings::{TrackSettings, TrackerName};
use crate::explore::MeanModel;
use crate::model::StatisticalModel;
use crate::plan::Transcription;
use crate::simulate::Policy;
use crate::system::Task;
use crate::track::{Feedback, LadderSettings, MpcSettings, Receding, Reference, Solver, mpc, replan};
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
    let transcription = Transcription::single(track.integrator.into());
    match track.policy {
        TrackerName::Feedback => Box::new(Feedback::new(reference, ladder)),
        TrackerName::Mpc => {
            let mut settings = MpcSettings::new(task.dims(), track.horizon);
            settings.period = track.period;
            settings.nodes = (track.nodes > 0).then_some(track.nodes);
            settings.transcription = transcription;
            settings.ilqr.max_iterations = track.max_iterations;
            between(mpc(reference, dynamics, settings, ladder), track)
        }
        TrackerName::Replan => {
            let cost = task.cost.clone();
            between(replan(reference, dynamics, cost, transcription, track.period, ladder), track)
        }
    }
}

fn between<S: Solver + Send + 'static>(policy: Receding<S>, track: &TrackSettings) -> Box<dyn Policy + Send> {
    Box::new(if track.gains { policy.with_gains() } else { policy })
}
