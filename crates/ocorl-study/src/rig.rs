//! A simulated rig: executes `plan.json` on a simulated plant and measures with noise and, on request, with faults: delay, lost and late
//! samples, spikes, heavy tails, aborted runs, faults of single sensors and actuators. Without faults its measurements equal those of a simulated run bit for bit, because it uses the same
//! [episode loop](EpisodeLoop) over the single episode of the plan.

mod actuator;
mod column;
mod late;

pub use actuator::ActuatorFault;
pub use column::{ColumnFault, ColumnFaultKind};

use crate::measured::Measured;
use crate::plan_file::PlanFile;
use crate::planned_episodes::{PlannedEpisodes, by_gains};
use crate::system::System;
use crate::user_error::UserError;
use actuator::Actuated;
use late::Late;
use ocorl::learn::EpisodeLoop;
use ocorl::plant::{Plant, Reading, Rollout, RolloutResult, SimulatedPlant};
use ocorl::random::{Rng, Stream};
use ocorl::select::Times;
use ocorl::simulate::{Law, Outcome, Trajectory};
use ocorl::system::Dynamics;
use std::sync::PoisonError;

/// Faults of the simulated rig.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// Factor on the standard deviation of the measurement noise.
    pub noise: f64,
    /// Delay: the value recorded for a time was measured this much earlier.
    pub delay: f64,
    /// Fraction of samples that are lost.
    pub drop: f64,
    /// Maximum delay of samples whose recorded time is correct.
    pub late: f64,
    /// Fraction of samples that are a thousand times too large.
    pub spikes: f64,
    /// Fraction of samples whose noise is multiplied by a Cauchy random number (heavy tails).
    pub tails: f64,
    /// Faults of single sensors.
    pub columns: Vec<ColumnFault>,
    /// Faults of single actuators.
    pub actuators: Vec<ActuatorFault>,
    /// Fraction of samples that are NaN.
    pub nan: f64,
    /// Time at which the run is aborted.
    pub stop_at: Option<f64>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            noise: 1.0,
            delay: 0.0,
            drop: 0.0,
            late: 0.0,
            spikes: 0.0,
            tails: 0.0,
            columns: Vec::new(),
            actuators: Vec::new(),
            nan: 0.0,
            stop_at: None,
        }
    }
}

impl Faults {
    /// Description of an invalid fault setting; `None` if all are valid.
    pub fn error(&self) -> Option<String> {
        let shares = [("drop", self.drop), ("spikes", self.spikes), ("tails", self.tails), ("nan", self.nan)];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Some(format!("--{name} is a share between 0 and 1, not {share}"));
        }
        let sizes = [
            ("noise", self.noise),
            ("delay", self.delay),
            ("late", self.late),
            ("stop-at", self.stop_at.unwrap_or(0.0)),
        ];
        if let Some(wrong) = sizes.iter().find(|(_, size)| !(*size >= 0.0 && size.is_finite())) {
            return Some(format!("--{} must be zero or positive, and finite, not {}", wrong.0, wrong.1));
        }
        let size = |value: f64| value >= 0.0 && value.is_finite();
        let sound =
            |a: &&ActuatorFault| a.gain.is_finite() && size(a.dead_band) && size(a.delay) && size(a.lag);
        if let Some(wrong) = self.actuators.iter().find(|a| !sound(a)) {
            return Some(format!(
                "the gain of '{}' must be finite, its dead band, delay and lag zero or positive, and finite",
                wrong.control
            ));
        }
        self.columns.iter().find_map(ColumnFault::error)
    }
}

/// Executes every rollout of `plan`; `seed` is the root of all random streams.
pub fn run(system: &System, plan: &PlanFile, faults: &Faults, seed: u64) -> Result<Measured, UserError> {
    let Some(truth) = &system.truth else {
        return Err(UserError::new(format!("the equations of '{}' are not known", system.name))
            .hint("a simulated rig needs [equations]"));
    };
    let names = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.name.clone()).collect::<Vec<_>>();
    let planned: Vec<String> = plan.states.iter().chain(&plan.controls).map(|q| q.name.clone()).collect();
    if [names(&system.task.states), names(&system.task.controls)].concat() != planned {
        return Err(UserError::new(format!("the plan is for '{}', not for '{}'", plan.system, system.name)));
    }
    let mut task = system.task.clone();
    for std in &mut task.noise_std {
        *std *= faults.noise;
    }
    if let Some(end) = faults.stop_at {
        task.horizon = task.horizon.min(end.max(f64::MIN_POSITIVE));
    }
    let (states, controls) = (names(&system.task.states), names(&system.task.controls));
    // Wrong names are refused before anything is run.
    for fault in &faults.columns {
        fault.apply(&states, &controls, &mut []).map_err(UserError::new)?;
    }
    let mut plant =
        SimulatedPlant::new(task.clone(), actuated(truth.dynamics(), &controls, faults)?, Stream::root(seed));
    if let Some(learning) = &plan.learner {
        let std = learning.settings.states.noise_std(task.states.len());
        plant = plant.with_state_noise(std.iter().map(|s| s * faults.noise).collect());
    }
    let journal = match PlannedEpisodes::as_planned(system, plan) {
        Ok(Some(journal)) => journal,
        Ok(None) => {
            let mut journal = PlannedEpisodes::default();
            journal.push(by_gains(system, plan)?, None);
            journal
        }
        Err(error) => {
            return Err(UserError::new("the plan cannot be run")
                .detail("cause", error.to_string())
                .hint("ask for it again"));
        }
    };
    let mut late = vec![(0.0, 0.0); controls.len()];
    for fault in &faults.actuators {
        // The names were checked with the dynamics.
        if let Some(i) = controls.iter().position(|name| *name == fault.control) {
            late[i] = (late[i].0 + fault.delay, late[i].1 + fault.lag);
        }
    }
    let stream = Stream::root(seed).child("rig");
    let stops = faults.stop_at.filter(|&t| t < system.task.horizon);
    let noise_std = task.noise_std.clone();
    let plant = FaultyPlant {
        plant,
        faults: faults.clone(),
        states,
        controls,
        noise_std,
        late,
        safe: task.safe_control.clone(),
        end: task.horizon,
        stops,
        stream,
    };
    let Ok(run) = EpisodeLoop { journal, plant }.next_episode(&mut ());
    let measured = run.map_or_else(Measured::default, |run| {
        let starts = run.proposal.rollouts.iter().map(|rollout| rollout.start);
        Measured::of(&task.states, starts.zip(&run.results))
    });
    Ok(Measured { episode: Some(plan.episode), ..measured })
}

/// The dynamics behind faulty actuators; unchanged if none is faulty.
fn actuated(
    dynamics: Box<dyn Dynamics>,
    controls: &[String],
    faults: &Faults,
) -> Result<Box<dyn Dynamics>, UserError> {
    let mut each = vec![(1.0, 0.0); controls.len()];
    for fault in &faults.actuators {
        let Some(i) = controls.iter().position(|name| *name == fault.control) else {
            let all = controls.join(", ");
            return Err(UserError::new(format!("no control is called '{}'; there are {all}", fault.control)));
        };
        each[i] = (each[i].0 * fault.gain, each[i].1 + fault.dead_band);
    }
    let faulty = each.iter().any(|fault| *fault != (1.0, 0.0));
    Ok(if faulty { Box::new(Actuated { dynamics, faults: each }) } else { dynamics })
}

/// A plant whose measurements have faults.
pub struct FaultyPlant<P> {
    plant: P,
    faults: Faults,
    /// Names of the states and controls, and the noise of the derivatives.
    states: Vec<String>,
    controls: Vec<String>,
    noise_std: Vec<f64>,
    /// Delay and lag of each control.
    late: Vec<(f64, f64)>,
    /// The command before a run.
    safe: Vec<f64>,
    /// Time at which a rollout ends.
    end: f64,
    /// Time at which the rollout is aborted, if that is before its horizon.
    stops: Option<f64>,
    stream: Stream,
}

impl<P: Plant> Plant for FaultyPlant<P> {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        let rng = &mut self.stream.index(rollout.episode).index(rollout.start).rng();
        let times = self.faults.disturbed(rollout.schedule.known(), self.end, rng);
        if let Some(times) = &times {
            rollout.schedule = Box::new(Times::new(times.iter().map(|(at, _)| *at).collect()));
        }
        let mut result = self.run_late(rollout);
        result.readings = self.faults.spoilt(result.readings, times.as_deref(), rng);
        if self.faults.tails > 0.0 {
            let rng = &mut self.stream.child("tails").index(rollout.episode).index(rollout.start).rng();
            for reading in &mut result.readings {
                let hit = rng.unit() < self.faults.tails;
                for (value, std) in reading.derivative.iter_mut().flatten().zip(&self.noise_std) {
                    // The quotient of two normal numbers has a Cauchy distribution.
                    let (a, b) = (rng.normal(), rng.normal());
                    if hit && b != 0.0 {
                        *value += 3.0 * std * a / b;
                    }
                }
            }
        }
        for fault in &self.faults.columns {
            // The names were checked before the run.
            let _ = fault.apply(&self.states, &self.controls, &mut result.readings);
        }
        if let Some(t) = self.stops {
            // The cost of an aborted run is not known on hardware.
            (result.cost, result.outcome) =
                (f64::NAN, Outcome::Reported { what: format!("stopped at t = {t}") });
        }
        result
    }
}

impl<P: Plant> FaultyPlant<P> {
    /// Runs a rollout with actuators that act late. The record holds the commands.
    fn run_late(&mut self, rollout: &mut Rollout) -> RolloutResult {
        if self.late.iter().all(|late| *late == (0.0, 0.0)) {
            return self.plant.run(rollout);
        }
        let policy = std::mem::replace(&mut rollout.policy, Box::new(Law(|_, _: &[f64], _: &mut [f64]| ())));
        let (late, log) = Late::new(policy, self.late.clone(), self.safe.clone(), self.end);
        rollout.policy = Box::new(late);
        let mut result = self.plant.run(rollout);
        let log = log.lock().unwrap_or_else(PoisonError::into_inner);
        for reading in &mut result.readings {
            reading.control = log.command(reading.time);
        }
        for (i, time) in result.trajectory.times.iter().enumerate() {
            result.trajectory.controls.at_mut(i).copy_from_slice(&log.command(*time));
        }
        result.jumps = Trajectory::default();
        result
    }
}

impl Faults {
    /// Actual and recorded time of each sample; `None` if all samples are as requested.
    fn disturbed(&self, asked: &[f64], end: f64, rng: &mut Rng) -> Option<Vec<(f64, f64)>> {
        if self.delay == 0.0 && self.late == 0.0 && self.stop_at.is_none() {
            return None;
        }
        let mut times: Vec<(f64, f64)> = Vec::new();
        for &asked in asked {
            let written = asked + self.late * rng.unit();
            if written <= end {
                times.push(((written - self.delay).max(0.0), written));
            }
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Some(times)
    }

    /// The readings as recorded, with faults applied.
    fn spoilt(&self, readings: Vec<Reading>, times: Option<&[(f64, f64)]>, rng: &mut Rng) -> Vec<Reading> {
        let mut written = Vec::new();
        for (i, mut reading) in readings.into_iter().enumerate() {
            if let Some((_, time)) = times.and_then(|times| times.get(i)) {
                reading.time = *time;
            }
            let (lost, spike, nan) =
                (rng.unit() < self.drop, rng.unit() < self.spikes, rng.unit() < self.nan);
            if lost {
                continue;
            }
            for value in reading.derivative.as_mut().unwrap_or(&mut reading.state) {
                if spike {
                    *value *= 1000.0;
                }
                if nan {
                    *value = f64::NAN;
                }
            }
            written.push(reading);
        }
        written
    }
}
