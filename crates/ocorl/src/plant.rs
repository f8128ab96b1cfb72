//! What can be run: a policy over an episode, with measurements when they are asked for.
//!
//! A [`Plant`] is an ODE, an environment, a rig, a person with a pipette. The type that learns never holds one: it proposes
//! [legs](Leg) and is told what they [gave](Executed).

use crate::linalg::Points;
use crate::plan::uniform_grid;
use crate::random::Stream;
use crate::select::{Purpose, Schedule};
use crate::simulate::{Experiment, Outcome, Policy, PolicyError, Simulator, Trajectory};
use crate::system::{Dynamics, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One run to be made: from where, under which law, measured when.
pub struct Leg {
    /// Number of the episode, from 0.
    pub episode: usize,
    /// Number of the initial state.
    pub start: usize,
    /// x(0)
    pub initial_state: Vec<f64>,
    /// The law.
    pub policy: Box<dyn Policy + Send>,
    /// When to measure.
    pub schedule: Box<dyn Schedule>,
    /// What to measure then.
    pub quantity: Measured,
}

/// What a measurement is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// ẋ at each of the schedule's times.
    Derivatives,
    /// (x(t′) − x(t))/(t′ − t) from each of the schedule's times to the next, u held: m times give m − 1 readings, fewer if the run ends
    /// early. Angles are not wrapped in between.
    Transitions,
    /// x at each of the schedule's times, and nothing else.
    States,
}

/// One measurement as it came, not yet checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When; of a transition the beginning.
    pub time: f64,
    /// x then; with noise if states are what is measured.
    pub state: Vec<f64>,
    /// u
    pub control: Vec<f64>,
    /// ẋ with noise; of a transition its mean over the interval. None if only the state was measured.
    pub derivative: Option<Vec<f64>>,
    /// τ: how long a transition took. None if ẋ itself was measured.
    pub interval: Option<f64>,
}

impl Reading {
    /// What a model has as controls: u, and τ behind it if there is one.
    pub fn inputs(&self) -> Vec<f64> {
        self.control.iter().copied().chain(self.interval).collect()
    }
}

/// What a leg gave.
#[derive(Clone, Debug)]
pub struct Executed {
    /// How it ended.
    pub outcome: Outcome,
    /// C(π, f*).
    pub cost: f64,
    /// Measurements, in order of time.
    pub readings: Vec<Reading>,
    /// Times at which the state was read only to know where the system is; nothing is learned from them.
    pub synchronizations: Vec<f64>,
    /// x and u along the way, if they are known.
    pub trajectory: Trajectory,
    /// The jumps of the control, each twice: before and after; empty if they are not known.
    pub jumps: Trajectory,
}

impl Executed {
    /// The trajectory with both sides of every jump of the control: what was applied, as exactly as it is known. It has no states if those
    /// are not known.
    pub fn applied(&self) -> Trajectory {
        if self.jumps.times.is_empty() {
            self.trajectory.clone()
        } else {
            self.trajectory.with_jumps(&self.jumps)
        }
    }
}

/// What can be run.
pub trait Plant {
    /// Runs one leg. Whatever happens is an [`Outcome`]; what was measured until then counts.
    fn run(&mut self, leg: &mut Leg) -> Executed;
}

/// A plant that is an ODE, integrated exactly. Derivatives and transitions are measured with normal noise of the same standard deviation:
/// that of a state after τ is τ times that of its mean derivative.
pub struct SimulatedPlant {
    task: Task,
    dynamics: Box<dyn Dynamics>,
    /// How exactly.
    pub simulator: Simulator,
    noise: Stream,
    state_noise: Stream,
    state_noise_std: Vec<f64>,
    cancel: Option<Arc<AtomicBool>>,
}

impl SimulatedPlant {
    /// `dynamics` under the conditions of `task`; noise is drawn below `stream`.
    pub fn new(task: Task, dynamics: Box<dyn Dynamics>, stream: Stream) -> Self {
        let simulator = Simulator { dense: true, ..Simulator::new(1e-9) };
        SimulatedPlant {
            state_noise_std: vec![0.0; task.states.len()],
            task,
            dynamics,
            simulator,
            noise: stream.child("noise"),
            state_noise: stream.child("state noise"),
            cancel: None,
        }
    }

    /// Where states are measured, they have normal noise of this standard deviation each; none unless this is said.
    #[must_use]
    pub fn with_state_noise(mut self, std: Vec<f64>) -> Self {
        assert_eq!(std.len(), self.task.states.len(), "noise of {} states", std.len());
        self.state_noise_std = std;
        self
    }

    /// Runs end when this becomes true.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// What the moments of a leg tell.
    fn read(&mut self, leg: &Leg, moments: Vec<Moment>) -> Vec<Reading> {
        let mut readings: Vec<Reading> = match leg.quantity {
            Measured::Derivatives => moments.into_iter().map(|moment| self.derivative(moment)).collect(),
            Measured::Transitions => moments.windows(2).map(|ends| transition(&ends[0], &ends[1])).collect(),
            Measured::States => moments.into_iter().map(state).collect(),
        };
        for (i, reading) in readings.iter_mut().enumerate() {
            let mut rng = self.noise.index(leg.episode).index(leg.start).index(i).rng();
            for (d, std) in reading.derivative.iter_mut().flatten().zip(&self.task.noise_std) {
                *d += std * rng.normal();
            }
            if leg.quantity == Measured::States {
                let mut rng = self.state_noise.index(leg.episode).index(leg.start).index(i).rng();
                for (x, std) in reading.state.iter_mut().zip(&self.state_noise_std) {
                    *x += std * rng.normal();
                }
            }
        }
        readings
    }

    /// ẋ at a moment, without noise.
    fn derivative(&mut self, moment: Moment) -> Reading {
        let Moment { time, state, control } = moment;
        let mut derivative = vec![0.0; state.len()];
        let point = [state.as_slice(), &control].concat();
        self.dynamics.derivative(Points::single(&point), &mut derivative);
        Reading { time, state, control, derivative: Some(derivative), interval: None }
    }
}

impl Plant for SimulatedPlant {
    fn run(&mut self, leg: &mut Leg) -> Executed {
        let mut measuring = Measuring {
            policy: leg.policy.as_mut(),
            schedule: leg.schedule.as_mut(),
            moments: Vec::new(),
            synchronizations: Vec::new(),
            control: vec![0.0; self.task.controls.len()],
        };
        let experiment = Experiment {
            initial_state: &leg.initial_state,
            cancel: self.cancel.as_deref(),
            sample_times: &uniform_grid(self.task.horizon, SAMPLES),
            sample_jumps: true,
            ..Experiment::of(&self.task)
        };
        let mut run = self.simulator.run(self.dynamics.as_mut(), &mut measuring, &experiment);
        if run.is_completed() {
            measuring.ask(self.task.horizon, run.final_state());
        }
        let Measuring { mut moments, synchronizations, .. } = measuring;
        let trajectory = std::mem::take(&mut run.samples);
        for i in leg.schedule.afterwards(&trajectory) {
            let (state, control) = (trajectory.states.at(i).to_vec(), trajectory.controls.at(i).to_vec());
            moments.push(Moment { time: trajectory.times[i], state, control });
        }
        let readings = self.read(leg, moments);
        // Whoever asked to stop in the last moment, or in a measurement, is heard too.
        let cancelled = self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        let outcome = if cancelled { Outcome::Cancelled { time: run.end() } } else { run.outcome.clone() };
        Executed { outcome, cost: run.cost(), readings, synchronizations, trajectory, jumps: run.jumps }
    }
}

/// Equal parts of the horizon at whose ends a run is recorded.
const SAMPLES: usize = 1000;

/// Where a measurement is taken.
struct Moment {
    time: f64,
    state: Vec<f64>,
    control: Vec<f64>,
}

/// The mean derivative between two moments, without noise.
fn transition(from: &Moment, to: &Moment) -> Reading {
    let interval = to.time - from.time;
    let derivative = from.state.iter().zip(&to.state).map(|(x, next)| (next - x) / interval).collect();
    let (state, control) = (from.state.clone(), from.control.clone());
    Reading { time: from.time, state, control, derivative: Some(derivative), interval: Some(interval) }
}

/// The state at a moment, without noise.
fn state(Moment { time, state, control }: Moment) -> Reading {
    Reading { time, state, control, derivative: None, interval: None }
}

/// A policy whose pieces end where something is to be measured.
struct Measuring<'a> {
    policy: &'a mut dyn Policy,
    schedule: &'a mut dyn Schedule,
    moments: Vec<Moment>,
    synchronizations: Vec<f64>,
    control: Vec<f64>,
}

/// Times closer than this (relative) are the same.
const SAME_TIME: f64 = 1e-12;

impl Measuring<'_> {
    /// Takes every measurement that is due, and returns when the next one is.
    fn ask(&mut self, time: f64, state: &[f64]) -> f64 {
        self.policy.control(time, state, &mut self.control);
        while let Some(request) = self.schedule.next(time, state, &self.control) {
            if request.time > time + SAME_TIME * (1.0 + time.abs()) {
                return request.time;
            }
            // The clock of a run differs from the time that was asked for by rounding: what was asked for is what is written down.
            let same = (request.time - time).abs() <= SAME_TIME * (1.0 + time.abs());
            let at = if same { request.time } else { time };
            match request.purpose {
                Purpose::Synchronize => self.synchronizations.push(at),
                Purpose::Learn => {
                    let (state, control) = (state.to_vec(), self.control.clone());
                    self.moments.push(Moment { time: at, state, control });
                }
            }
        }
        f64::INFINITY
    }
}

impl Policy for Measuring<'_> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let until = self.policy.prepare(time, state)?;
        Ok(until.min(self.ask(time, state)))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.policy.control(time, state, out);
    }

    fn rungs(&self) -> Option<[usize; 4]> {
        self.policy.rungs()
    }
}
