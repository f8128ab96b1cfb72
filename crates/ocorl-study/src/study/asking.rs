//! Converts a proposal of the learner to `plan.json`.

use crate::plan_file::{
    BrakeTable, FORMAT, Learning, Limits, Named, PlanFile, RolloutTable, Rule, StateLimits, VERSION, rows,
};
use crate::system::System;
use ocorl::learn::{PlannedRollout, Proposal, Settings, Strategy};
use ocorl::plant::Rollout;
use ocorl::system::Task;
use ocorl::track::Brake;

/// The plan file of a proposal.
pub(super) fn plan_file(
    system: &System,
    settings: &Settings,
    study: &str,
    proposal: &mut Proposal,
    learner: Option<Learning>,
) -> PlanFile {
    let task = &system.task;
    let Proposal { episode, rollouts, plans } = proposal;
    let tables = rollouts
        .iter_mut()
        .zip(plans.iter())
        .map(|(rollout, plan)| table(task, settings, rollout, plan.as_ref()));
    PlanFile {
        format: FORMAT.into(),
        version: VERSION,
        study: study.into(),
        system: system.name.clone(),
        episode: *episode,
        states: task.states.iter().map(Named::from).collect(),
        controls: task.controls.iter().map(Named::from).collect(),
        angles: task.angles.iter().map(|&a| task.states[a].name.clone()).collect(),
        horizon: task.horizon,
        valid_for: task.horizon,
        period: system.hardware.period,
        limits: Limits::new(&task.control_bounds, system.hardware.max_rate.clone()),
        state_limits: StateLimits::new(&task.state_bounds),
        safe_control: task.safe_control.clone(),
        backup: task.backup.clone(),
        rollouts: tables.collect(),
        learner,
    }
}

/// Number of intervals in the table of an exploratory control.
const INTERVALS: usize = 200;

fn table(
    task: &Task,
    settings: &Settings,
    rollout: &mut Rollout,
    plan: Option<&PlannedRollout>,
) -> RolloutTable {
    let online = matches!(
        settings.strategy,
        Strategy::RecedingHorizon | Strategy::UncertaintyTrigger | Strategy::Oracle
    );
    let measure_at = rollout.schedule.known().to_vec();
    let rule = (measure_at.is_empty() && online)
        .then(|| Rule { strategy: settings.strategy.name().into(), most: settings.most_measurements() });
    let (start, initial_state) = (rollout.start, rollout.initial_state.clone());
    let Some(plan) = plan else {
        let mut table = excitation(task, settings, rollout);
        (table.measure_at, table.rule) = (measure_at, rule);
        return table;
    };
    let (nx, finite) = (task.states.len(), |cost: f64| cost.is_finite().then_some(cost));
    RolloutTable {
        start,
        initial_state,
        times: plan.plan.times.clone(),
        states: rows(&plan.plan.states),
        slopes: plan.plan.slopes.iter().map(|s| [s[..nx].to_vec(), s[nx..].to_vec()]).collect(),
        controls: rows(&plan.plan.controls),
        gains: plan.plan.gains.iter().map(|k| k.chunks_exact(nx).map(<[f64]>::to_vec).collect()).collect(),
        tube: plan.tube.as_ref().map(rows),
        brake: None,
        measure_at,
        rule,
        planned_cost: finite(plan.planned_cost),
        mean_cost: plan.mean_cost.and_then(finite),
    }
}

/// Applies the rate limit to controls that are each held for `length`, starting from the safe control.
fn slew(task: &Task, length: f64, controls: &mut [Vec<f64>]) {
    let Some(limit) = &task.rate_limit else { return };
    let (mut before, mut elapsed) = (task.safe_control.clone(), length.min(limit.period));
    for control in controls {
        for ((u, before), rate) in control.iter_mut().zip(&mut before).zip(&limit.max_rate) {
            *u = u.max(*before - rate * elapsed).min(*before + rate * elapsed);
            *before = *u;
        }
        elapsed = length;
    }
}

/// Table of an exploratory control law: its value in the middle of each interval at the initial state, its gains by central differences,
/// with the rate limit applied.
fn excitation(task: &Task, settings: &Settings, rollout: &mut Rollout) -> RolloutTable {
    let (nx, nu, x0) = (task.states.len(), task.controls.len(), rollout.initial_state.clone());
    let node = |k: usize| task.horizon * k as f64 / INTERVALS as f64;
    let mut at = |t: f64, x: &[f64]| {
        let mut u = vec![0.0; nu];
        // If the law fails, the safe control replaces it.
        if rollout.policy.requested(t, x, &mut u).is_err() {
            u.copy_from_slice(&task.safe_control);
        }
        u
    };
    let (mut controls, mut gains) = (Vec::new(), Vec::new());
    for k in 0..INTERVALS {
        let t = 0.5 * (node(k) + node(k + 1));
        controls.push(at(t, &x0));
        let mut gain = vec![vec![0.0; nx]; nu];
        for j in 0..nx {
            let h = 1e-6 * (1.0 + x0[j].abs());
            let mut shifted = |by: f64| {
                let mut x = x0.clone();
                x[j] += by;
                at(t, &x)
            };
            let (above, below) = (shifted(h), shifted(-h));
            for i in 0..nu {
                gain[i][j] = (above[i] - below[i]) / (2.0 * h);
            }
        }
        gains.push(gain);
    }
    slew(task, node(1), &mut controls);
    RolloutTable {
        start: rollout.start,
        initial_state: x0.clone(),
        times: (0..=INTERVALS).map(node).collect(),
        states: vec![x0.clone(); INTERVALS + 1],
        slopes: vec![[vec![0.0; nx], vec![0.0; nx]]; INTERVALS],
        controls,
        gains,
        tube: None,
        brake: settings.brake(task).map(|Brake { ahead, margin }| BrakeTable { ahead, margin }),
        measure_at: Vec::new(),
        rule: None,
        planned_cost: None,
        mean_cost: None,
    }
}
