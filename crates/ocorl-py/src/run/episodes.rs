//! Conversion of episodes to Python objects.

use crate::arrays::{blocks, matrix, vector};
use crate::errors::Answer;
use crate::plan::{Plan, plan_file};
use crate::values::document;
use ocorl::learn::{Episode, PlannedRollout, Settings, Time};
use ocorl::plant::{Reading, RolloutResult};
use ocorl::system::TableUnits;
use ocorl_study::run::printed;
use ocorl_study::system::System;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// An episode: its record, and each rollout with plan, trajectory and measurements. Costs are in the given units.
pub(super) fn python<'py>(
    py: Python<'py>,
    system: &System,
    settings: &Settings,
    episode: &Episode,
    table: TableUnits,
) -> Answer<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let plans: Option<Vec<&PlannedRollout>> = episode.plans.iter().map(Option::as_ref).collect();
    let file = plans.filter(|_| settings.time == Time::Continuous).map(|plans| {
        let starts = episode.executed.iter().map(|rollout| rollout.trajectory.states.at(0));
        let solutions: Vec<_> =
            starts.zip(plans).map(|(x0, p)| (x0, &p.plan, p.measurement_times.as_slice())).collect();
        let times = &solutions[0].1.times;
        let hold = settings.plan.hold;
        let period = if hold > 0.0 { hold } else { times[1] - times[0] };
        plan_file(system, episode.record.episode, period, &solutions)
    });
    dict.set_item("plan", file.map(|file| Plan::new(Arc::new(file))))?;
    dict.set_item("record", document(py, &printed(&episode.record, table))?)?;
    let rollouts = episode.executed.iter().zip(&episode.plans);
    let rollouts: Answer<Vec<_>> =
        rollouts.map(|(rollout, plan)| run(py, rollout, plan.as_ref(), table)).collect();
    dict.set_item("rollouts", rollouts?)?;
    Ok(dict)
}

fn run<'py>(
    py: Python<'py>,
    rollout: &RolloutResult,
    plan: Option<&PlannedRollout>,
    table: TableUnits,
) -> Answer<Bound<'py, PyDict>> {
    let (dict, path) = (PyDict::new(py), &rollout.trajectory);
    dict.set_item("outcome", rollout.outcome.to_string())?;
    dict.set_item("t", vector(py, &path.times))?;
    dict.set_item("x", blocks(py, &path.states)?)?;
    dict.set_item("u", blocks(py, &path.controls)?)?;
    let costs: Vec<f64> = path.costs.iter().map(|cost| table.cost(*cost)).collect();
    dict.set_item("costs", vector(py, &costs))?;
    let (nx, nu) = (path.states.size(), path.controls.size());
    let all =
        |of: fn(&Reading) -> &[f64]| rollout.readings.iter().flat_map(of).copied().collect::<Vec<f64>>();
    let times: Vec<f64> = rollout.readings.iter().map(|reading| reading.time).collect();
    dict.set_item("measured_t", vector(py, &times))?;
    dict.set_item("measured_x", matrix(py, &all(|r| &r.state), nx)?)?;
    dict.set_item("measured_u", matrix(py, &all(|r| &r.control), nu)?)?;
    let derivatives: Option<Vec<&[f64]>> = rollout.readings.iter().map(|r| r.derivative.as_deref()).collect();
    let derivatives = derivatives.map(|rows| matrix(py, &rows.concat(), nx)).transpose()?;
    dict.set_item("measured_x_dot", derivatives)?;
    dict.set_item("plan", plan.map(|plan| planned(py, plan)).transpose()?)?;
    Ok(dict)
}

fn planned<'py>(py: Python<'py>, planned: &PlannedRollout) -> Answer<Bound<'py, PyDict>> {
    let (dict, plan) = (PyDict::new(py), &planned.plan);
    dict.set_item("t", vector(py, &plan.times))?;
    dict.set_item("x", blocks(py, &plan.states)?)?;
    dict.set_item("u", blocks(py, &plan.controls)?)?;
    dict.set_item("measure_at", vector(py, &planned.measurement_times))?;
    Ok(dict)
}
