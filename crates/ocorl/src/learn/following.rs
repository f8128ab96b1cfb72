//! Creation of the policy that follows a plan, according to the settings.

use super::planning::ACCURATE;
use super::settings::{PlanSettings, Settings, TrackSettings, TrackerName};
use crate::explore::MeanModel;
use crate::linalg::Blocks;
use crate::model::StatisticalModel;
use crate::plan::{Problem, Transcription, held_grid};
use crate::random::Stream;
use crate::simulate::Policy;
use crate::system::{Dynamics, Task};
use crate::track::{
    FallbackSettings, Feedback, Foresight, MpcSettings, MpcSolver, Observed, Receding, Reference,
    ReplanSolver, Solver, StateObserver, held, mpc, rate_limited, replan,
};
use std::sync::Arc;

/// Part of the horizon over which the backup controller must keep the limits.
const AHEAD: f64 = 0.25;

/// Number of functions on which the backup controller is tried.
const FUNCTIONS: usize = 9;

/// Draws the functions on which the policy tries the backup controller.
pub(super) fn foresight(
    task: &Task,
    settings: &Settings,
    model: &dyn StatisticalModel,
    stream: Stream,
) -> Foresight {
    let functions = (0..FUNCTIONS).map(|draw| model.sample(&mut stream.index(draw).rng())).collect();
    let period = settings.track.period.max(settings.plan.hold);
    Foresight::new(functions, &FallbackSettings::of(task), period, AHEAD * task.horizon)
        .holding(settings.plan.hold)
}

/// Creates the policy that follows `reference` on the mean of `model`.
pub(super) fn policy(
    task: &Task,
    settings: &Settings,
    model: &Arc<dyn StatisticalModel>,
    reference: Reference,
    tube: Option<Blocks>,
    foresight: Option<Foresight>,
) -> Box<dyn Policy + Send> {
    let (fallback, track, plan) = (&FallbackSettings::of(task), &settings.track, &settings.plan);
    let dynamics = Box::new(MeanModel::new(model.clone()));
    let transcription = transcription_along(task, settings, model, &reference);
    let policy = match track.policy {
        TrackerName::Feedback if plan.hold > 0.0 => Box::new(Feedback::new(reference, fallback)),
        TrackerName::Feedback => rate_limited(Box::new(Feedback::new(reference, fallback)), fallback, None),
        TrackerName::Mpc => {
            let mpc = mpc(reference, dynamics, mpc_settings(task, track, transcription), fallback);
            between(mpc.with_tube(tube).with_foresight(foresight), track)
        }
        TrackerName::Replan => {
            let cost = task.cost.clone();
            let replan = replan(reference, dynamics, cost, transcription, track.period, fallback);
            between(replan.with_tube(tube).with_foresight(foresight), track)
        }
    };
    if plan.hold > 0.0 { held(policy, fallback, plan.hold) } else { policy }
}

/// Returns `policy` at the estimate of `observer`, sampled every hold, or [`OUTPUT_SAMPLES`] times in the horizon.
pub(super) fn observed(
    task: &Task,
    settings: &Settings,
    policy: Box<dyn Policy + Send>,
    observer: StateObserver,
) -> Box<dyn Policy + Send> {
    let hold = settings.plan.hold;
    let period = if hold > 0.0 { hold } else { task.horizon / OUTPUT_SAMPLES };
    Box::new(Observed::new(policy, observer, period, task.controls.len()))
}

/// Number of samples of the outputs in the horizon.
const OUTPUT_SAMPLES: f64 = 500.0;

/// Returns the transcription with which the tracker follows a plan. Where the planner integrates more accurately than its settings say, the
/// tracker does so too: otherwise it would correct a difference that is not there.
fn transcription_along(
    task: &Task,
    settings: &Settings,
    model: &Arc<dyn StatisticalModel>,
    reference: &Reference,
) -> Transcription {
    let transcription = transcription(&settings.plan, &settings.track, reference.times.len() - 1);
    if settings.plan.effort == 0 {
        return transcription;
    }
    let make = || Box::new(MeanModel::new(model.clone())) as Box<dyn Dynamics>;
    let problem = Problem { initial_state: reference.states.at(0), ..Problem::of(task, &reference.times) };
    transcription.accurate(&make, &problem, &reference.plan.start(), ACCURATE)
}

/// Returns the transcription of the tracker: its own method, with the integration steps of a plan that has this number of intervals.
fn transcription(plan: &PlanSettings, track: &TrackSettings, intervals: usize) -> Transcription {
    PlanSettings { integrator: track.integrator, ..plan.clone() }.transcription(intervals)
}

/// Creates the optimiser that the policy solves at each period, alone, for a real-time controller. `None` if the policy solves none.
pub(super) fn solver(
    task: &Task,
    plan: &PlanSettings,
    track: &TrackSettings,
    model: &Arc<dyn StatisticalModel>,
) -> Option<Box<dyn Solver>> {
    let intervals = held_grid(task.horizon, plan.hold, plan.intervals).len() - 1;
    let transcription = transcription(plan, track, intervals);
    let (dynamics, bounds) = (Box::new(MeanModel::new(model.clone())), task.control_bounds.clone());
    let limit = task.rate_limit.clone();
    match track.policy {
        TrackerName::Feedback => None,
        TrackerName::Mpc => {
            let solver = MpcSolver::new(dynamics, mpc_settings(task, track, transcription), bounds);
            Some(Box::new(solver.with_rate_limit(limit).with_state_bounds(&task.state_bounds)))
        }
        TrackerName::Replan => {
            let solver = ReplanSolver::new(dynamics, task.cost.clone(), transcription, bounds);
            Some(Box::new(solver.with_rate_limit(limit).with_state_bounds(&task.state_bounds)))
        }
    }
}

fn mpc_settings(task: &Task, track: &TrackSettings, transcription: Transcription) -> MpcSettings {
    let mut settings = MpcSettings::new(task.dims(), track.horizon);
    settings.period = track.period;
    settings.nodes = (track.nodes > 0).then_some(track.nodes);
    settings.transcription = transcription;
    settings.ilqr.max_iterations = track.max_iterations;
    settings
}

fn between<S: Solver + Send + 'static>(policy: Receding<S>, track: &TrackSettings) -> Box<dyn Policy + Send> {
    Box::new(if track.gains { policy.with_gains() } else { policy })
}
