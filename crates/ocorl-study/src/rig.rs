//! A simulated rig: executes `plan.json` on a simulated plant and measures with noise and, on request, with faults: delay, lost and late
//! samples, spikes, aborted runs. Without faults its measurements equal those of a simulated run bit for bit, because it uses the same
//! [episode loop](EpisodeLoop) over the single episode of the plan.

use crate::measured::Measured;
use crate::plan_file::PlanFile;
use crate::planned_episodes::{PlannedEpisodes, by_gains};
use crate::system::System;
use crate::user_error::UserError;
use ocorl::learn::EpisodeLoop;
use ocorl::plant::{Plant, Reading, Rollout, RolloutResult, SimulatedPlant};
use ocorl::random::{Rng, Stream};
use ocorl::select::Times;
use ocorl::simulate::Outcome;

/// Faults of the simulated rig.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Fraction of samples that are NaN.
    pub nan: f64,
    /// Time at which the run is aborted.
    pub stop_at: Option<f64>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { noise: 1.0, delay: 0.0, drop: 0.0, late: 0.0, spikes: 0.0, nan: 0.0, stop_at: None }
    }
}

impl Faults {
    /// Description of an invalid fault setting; `None` if all are valid.
    pub fn error(&self) -> Option<String> {
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

/// Executes every leg of `plan`; `seed` is the root of all random streams.
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
    let mut plant = SimulatedPlant::new(task.clone(), truth.dynamics(), Stream::root(seed));
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
    let stream = Stream::root(seed).child("rig");
    let stops = faults.stop_at.filter(|&t| t < system.task.horizon);
    let plant = FaultyPlant { plant, faults: *faults, end: task.horizon, stops, stream };
    let Ok(run) = EpisodeLoop { journal, plant }.next_episode(&mut ());
    let measured = run.map_or_else(Measured::default, |run| {
        Measured::of(run.proposal.rollouts.iter().map(|rollout| rollout.start).zip(&run.results))
    });
    Ok(Measured { episode: Some(plan.episode), ..measured })
}

/// A plant whose measurements have faults.
pub struct FaultyPlant<P> {
    plant: P,
    faults: Faults,
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
        let mut result = self.plant.run(rollout);
        result.readings = self.faults.spoilt(result.readings, times.as_deref(), rng);
        if let Some(t) = self.stops {
            // The cost of an aborted run is not known on hardware.
            (result.cost, result.outcome) =
                (f64::NAN, Outcome::Reported { what: format!("stopped at t = {t}") });
        }
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
