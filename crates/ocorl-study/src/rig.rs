//! A pretend laboratory: runs `plan.json` on a simulated plant and measures as laboratories do, with noise, delay, lost and late samples,
//! and faults when they are asked for. Without faults it measures to the last bit what `ocorl run` measures.

use crate::control;
use crate::measured::Measured;
use crate::mistake::Mistake;
use crate::plan_file::{LegTable, PlanFile};
use crate::simulated::{controls, row};
use crate::study::{End, Row, legs};
use crate::system::System;
use ocorl::plant::{Executed, Leg, Measured as Quantity, Plant, SimulatedPlant};
use ocorl::random::{Rng, Stream};
use ocorl::select::Times;
use ocorl::track::{Feedback, LadderSettings};

/// What goes wrong in the laboratory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Factor on the noise of the sensors.
    pub noise: f64,
    /// What is written down for a time was measured so much earlier.
    pub delay: f64,
    /// Share of the samples that are lost.
    pub drop: f64,
    /// Samples come late by up to this, as they say themselves.
    pub late: f64,
    /// Share of the samples that are a thousand times too large.
    pub spikes: f64,
    /// Share of the samples that are not numbers.
    pub nan: f64,
    /// The run is stopped then.
    pub stop_at: Option<f64>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { noise: 1.0, delay: 0.0, drop: 0.0, late: 0.0, spikes: 0.0, nan: 0.0, stop_at: None }
    }
}

impl Faults {
    /// What is wrong with them, if something is.
    pub fn mistake(&self) -> Option<String> {
        let shares = [("drop", self.drop), ("spikes", self.spikes), ("nan", self.nan)];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Some(format!("--{name} is a share between 0 and 1, not {share}"));
        }
        let sizes = [
            ("noise", self.noise),
            ("delay", self.delay),
            ("late", self.late),
            ("stop-at", self.stop_at.unwrap_or(0.0)),
        ];
        let wrong = sizes.iter().find(|(_, size)| !(*size >= 0.0 && size.is_finite()))?;
        Some(format!("--{} must be zero or positive, and finite, not {}", wrong.0, wrong.1))
    }
}

/// Runs every leg of `plan`; everything random is drawn below `seed`.
pub fn run(system: &System, plan: &PlanFile, faults: &Faults, seed: u64) -> Result<Measured, Mistake> {
    let Some(truth) = &system.truth else {
        return Err(Mistake::new(format!("nobody knows the equations of '{}'", system.name))
            .hint("a pretend laboratory needs [equations]"));
    };
    let names = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.name.clone()).collect::<Vec<_>>();
    let planned: Vec<String> = plan.states.iter().chain(&plan.controls).map(|q| q.name.clone()).collect();
    if [names(&system.task.states), names(&system.task.controls)].concat() != planned {
        return Err(Mistake::new(format!("the plan is for '{}', not for '{}'", plan.system, system.name)));
    }
    let mut task = system.task.clone();
    for std in &mut task.noise_std {
        *std *= faults.noise;
    }
    if let Some(end) = faults.stop_at {
        task.horizon = task.horizon.min(end.max(f64::MIN_POSITIVE));
    }
    let mut plant = SimulatedPlant::new(task.clone(), truth.dynamics(), Stream::root(seed));
    if let Some(learning) = &plan.learner {
        let std = learning.settings.states.noise_std(task.states.len());
        plant = plant.with_state_noise(std.iter().map(|s| s * faults.noise).collect());
    }
    let mut runs = match legs(system, plan) {
        Ok(Some(proposal)) => proposal.legs,
        Ok(None) => (0..plan.legs.len()).map(|leg| by_gains(system, plan, leg)).collect::<Result<_, _>>()?,
        Err(error) => {
            return Err(Mistake::new("the plan cannot be run")
                .detail("cause", error.to_string())
                .hint("ask for it again"));
        }
    };
    let mut measured = Measured { episode: Some(plan.episode), ..Measured::default() };
    for (leg, table) in runs.iter_mut().zip(&plan.legs) {
        let rng = &mut Stream::root(seed).child("rig").index(plan.episode).index(leg.start).rng();
        let times = disturbed(table, faults, task.horizon, rng);
        if let Some(times) = &times {
            leg.schedule = Box::new(Times::new(times.iter().map(|(at, _)| *at).collect()));
        }
        let executed = plant.run(leg);
        measured.ends.push(end(leg.start, &executed, faults, system.task.horizon));
        measured.controls.extend(controls(leg.start, &executed));
        measured.rows.extend(rows(leg.start, executed, times.as_deref(), faults, rng));
    }
    Ok(measured)
}

/// When each sample is really taken, and the time that is written down; none if all is as asked.
fn disturbed(table: &LegTable, faults: &Faults, end: f64, rng: &mut Rng) -> Option<Vec<(f64, f64)>> {
    if faults.delay == 0.0 && faults.late == 0.0 && faults.stop_at.is_none() {
        return None;
    }
    let mut times: Vec<(f64, f64)> = Vec::new();
    for &asked in &table.measure_at {
        let written = asked + faults.late * rng.unit();
        if written <= end {
            times.push(((written - faults.delay).max(0.0), written));
        }
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    Some(times)
}

fn end(start: usize, executed: &Executed, faults: &Faults, horizon: f64) -> End {
    let stopped = faults.stop_at.filter(|&t| t < horizon);
    match stopped {
        // What a run that was stopped cost, nobody in a laboratory knows.
        Some(t) => End { start, cost: None, outcome: Some(format!("stopped at t = {t}")) },
        None => End { start, cost: Some(executed.cost), outcome: Some(executed.outcome.to_string()) },
    }
}

fn rows(
    start: usize,
    executed: Executed,
    times: Option<&[(f64, f64)]>,
    faults: &Faults,
    rng: &mut Rng,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (i, reading) in executed.readings.into_iter().enumerate() {
        let t = times.and_then(|times| times.get(i)).map_or(reading.time, |(_, written)| *written);
        let mut row = Row { t, ..row(start, &reading) };
        let (lost, spike, nan) =
            (rng.unit() < faults.drop, rng.unit() < faults.spikes, rng.unit() < faults.nan);
        if lost {
            continue;
        }
        for value in row.x_dot.as_mut().unwrap_or(&mut row.x) {
            if spike {
                *value *= 1000.0;
            }
            if nan {
                *value = f64::NAN;
            }
        }
        rows.push(row);
    }
    rows
}

/// A leg of a plan that does not say who made it: its table of gains, as anybody would run it.
fn by_gains(system: &System, plan: &PlanFile, number: usize) -> Result<Leg, Mistake> {
    let (reference, table) = (control::reference(plan, number)?, &plan.legs[number]);
    Ok(Leg {
        episode: plan.episode,
        start: table.start,
        initial_state: table.initial_state.clone(),
        policy: Box::new(Feedback::new(reference, LadderSettings::of(&system.task))),
        schedule: Box::new(Times::new(table.measure_at.clone())),
        quantity: Quantity::Derivatives,
    })
}
