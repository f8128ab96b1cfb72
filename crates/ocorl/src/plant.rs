//! Plants: systems that run a policy over an episode and return measurements.
//!
//! A [`Plant`] is an ODE, a simulation environment, a rig, or a manual experiment. The learner has no access to it: it proposes
//! [rollouts](Rollout) and observes their [results](RolloutResult).
//!
//! | plant | crate | what it runs |
//! |---|---|---|
//! | [`SimulatedPlant`] | this one | differential equations, integrated with tight tolerances |
//! | [`RecordedPlant`] | this one | nothing: it returns recorded results |
//! | `rig::FaultyPlant` | `ocorl-study` | another plant, with measurement faults |
//! | `live::WatchedPlant` | `ocorl-study` | another plant, displayed while it runs |
//! | `PythonPlant` | `ocorl-py` | an object with a method `run`: hardware, a simulator, a Gymnasium environment |

use crate::linalg::Points;
use crate::plan::uniform_grid;
use crate::random::{Rng, Stream};
use crate::select::{Purpose, Schedule};
use crate::simulate::{Experiment, Outcome, Policy, PolicyError, Simulator, Trajectory};
use crate::system::{Dynamics, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One run of an episode: its initial state, policy and measurement schedule.
pub struct Rollout {
    /// Number of the episode, counted from 0.
    pub episode: usize,
    /// Index of the initial state.
    pub start: usize,
    /// Initial state x(0).
    pub initial_state: Vec<f64>,
    /// Policy that is applied.
    pub policy: Box<dyn Policy + Send>,
    /// Schedule of the measurement times.
    pub schedule: Box<dyn Schedule>,
    /// Measured quantity.
    pub quantity: MeasurementKind,
}

/// Measured quantity of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurementKind {
    /// ẋ at each of the schedule's times, with the noise of the task.
    #[default]
    Derivatives,
    /// Only x at each of the schedule's times, with a separate noise.
    States,
    /// (x(t′) − x(t))/(t′ − t) from each of the schedule's times to the next, with u held: m times give m − 1 readings, fewer if the run
    /// ends early. Angles are not wrapped in between. Discrete time uses it; it cannot be selected in the settings.
    #[serde(skip)]
    Transitions,
}

/// One measurement as received, before validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Measurement time; for a transition its start.
    pub time: f64,
    /// State x at that time; noisy if states are measured.
    pub state: Vec<f64>,
    /// Control u at that time.
    pub control: Vec<f64>,
    /// Noisy ẋ; for a transition its mean over the interval. `None` if only the state was measured.
    pub derivative: Option<Vec<f64>>,
    /// Length τ of a transition; `None` if ẋ itself was measured.
    pub interval: Option<f64>,
}

impl Reading {
    /// Returns the control inputs of a model: u, followed by τ for a transition.
    pub fn inputs(&self) -> Vec<f64> {
        self.control.iter().copied().chain(self.interval).collect()
    }
}

/// Result of a rollout.
#[derive(Clone, Debug)]
pub struct RolloutResult {
    /// Reason for which the run ended.
    pub outcome: Outcome,
    /// Cost C(π, f*) of the run; NaN if it is unknown.
    pub cost: f64,
    /// Measurements, in order of time.
    pub readings: Vec<Reading>,
    /// Times at which the state was read for synchronisation and not used for learning.
    pub synchronizations: Vec<f64>,
    /// Recorded trajectory of x and u; empty if it is unknown.
    pub trajectory: Trajectory,
    /// Discontinuities of the control, each with its value before and after; empty if they are unknown.
    pub jumps: Trajectory,
}

impl RolloutResult {
    /// Creates a result from readings, an outcome and a cost, without a recorded trajectory.
    pub fn measured(readings: Vec<Reading>, outcome: Outcome, cost: f64) -> Self {
        RolloutResult {
            outcome,
            cost,
            readings,
            synchronizations: Vec::new(),
            trajectory: Trajectory::default(),
            jumps: Trajectory::default(),
        }
    }

    /// Returns the trajectory with both sides of every discontinuity of the control: the applied control as exactly as it is known. It has
    /// no states if those are unknown.
    pub fn applied(&self) -> Trajectory {
        if self.jumps.times.is_empty() {
            self.trajectory.clone()
        } else {
            self.trajectory.with_jumps(&self.jumps)
        }
    }
}

/// A system on which rollouts can be run.
///
/// ```
/// use ocorl::prelude::*;
///
/// /// Counts the rollouts of another plant.
/// struct Counted<P>(P, usize);
///
/// impl<P: Plant> Plant for Counted<P> {
///     fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
///         self.1 += 1;
///         self.0.run(rollout)
///     }
/// }
/// ```
pub trait Plant {
    /// Runs one rollout. Every termination is an [`Outcome`]; measurements taken before it count.
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult;
}

/// A plant that returns the recorded result of each rollout, independent of the policy: for the analysis of completed episodes.
#[derive(Clone, Debug, Default)]
pub struct RecordedPlant {
    results: BTreeMap<(usize, usize), RolloutResult>,
}

impl RecordedPlant {
    /// Stores the result of the rollout of an episode from an initial state.
    pub fn record(&mut self, episode: usize, start: usize, result: RolloutResult) {
        self.results.insert((episode, start), result);
    }
}

impl Plant for RecordedPlant {
    /// Returns the recorded result; for a rollout without a record, an outcome that states this.
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        let missing = || RolloutResult::measured(Vec::new(), Outcome::NotReported, f64::NAN);
        self.results.get(&(rollout.episode, rollout.start)).cloned().unwrap_or_else(missing)
    }
}

/// A plant defined by differential equations, integrated with tight tolerances. Derivatives and transitions have normal noise of the same
/// standard deviation: the standard deviation of a state after τ is τ times that of its mean derivative.
///
/// ```
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let mut plant = SimulatedPlant::new(pendulum.task.clone(), pendulum.dynamics(), Stream::root(0));
/// let mut learner = Learner::builder(pendulum.task.clone()).build()?;
/// let mut proposal = learner.propose(&mut ());
/// let result = plant.run(&mut proposal.rollouts[0]);
/// assert_eq!((result.outcome, result.readings.len()), (Outcome::Completed, 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SimulatedPlant {
    task: Task,
    dynamics: Box<dyn Dynamics>,
    /// Simulator, with its tolerances.
    pub simulator: Simulator,
    noise: Stream,
    state_noise: Stream,
    state_noise_std: Vec<f64>,
    cancel: Option<Arc<AtomicBool>>,
}

impl SimulatedPlant {
    /// Creates a plant with `dynamics` under the conditions of `task`; the noise is drawn from `stream`.
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

    /// Sets the standard deviation of the normal noise of each measured state; without it measured states have no noise. A state with an
    /// infinite one is not measured: its readings are NaN, and the policy receives the measured states with their noise.
    #[must_use]
    pub fn with_state_noise(mut self, std: Vec<f64>) -> Self {
        assert_eq!(std.len(), self.task.states.len(), "noise of {} states", std.len());
        self.state_noise_std = std;
        self
    }

    /// Sets a flag that ends a run when it becomes true.
    pub fn cancel_by(&mut self, cancel: Arc<AtomicBool>) {
        self.cancel = Some(cancel);
    }

    /// Converts the recorded moments of a rollout to readings.
    fn read(&mut self, rollout: &Rollout, moments: Vec<Moment>) -> Vec<Reading> {
        let mut readings: Vec<Reading> = match rollout.quantity {
            MeasurementKind::Derivatives => {
                moments.into_iter().map(|moment| self.derivative(moment)).collect()
            }
            MeasurementKind::Transitions => {
                moments.windows(2).map(|ends| transition(&ends[0], &ends[1])).collect()
            }
            MeasurementKind::States => moments.into_iter().map(state).collect(),
        };
        for (i, reading) in readings.iter_mut().enumerate() {
            let mut rng = self.noise.index(rollout.episode).index(rollout.start).index(i).rng();
            for (d, std) in reading.derivative.iter_mut().flatten().zip(&self.task.noise_std) {
                *d += std * rng.normal();
            }
            if rollout.quantity == MeasurementKind::States {
                let mut rng = self.state_noise.index(rollout.episode).index(rollout.start).index(i).rng();
                for (x, std) in reading.state.iter_mut().zip(&self.state_noise_std) {
                    let noise = rng.normal();
                    *x = output(*x, *std, noise);
                }
            }
        }
        readings
    }

    /// Evaluates ẋ at a moment, without noise.
    fn derivative(&mut self, moment: Moment) -> Reading {
        let Moment { time, state, control } = moment;
        let mut derivative = vec![0.0; state.len()];
        let point = [state.as_slice(), &control].concat();
        self.dynamics.derivative(Points::single(&point), &mut derivative);
        Reading { time, state, control, derivative: Some(derivative), interval: None }
    }
}

impl Plant for SimulatedPlant {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        let mut outputs = Outputs {
            policy: rollout.policy.as_mut(),
            noise_std: &self.state_noise_std,
            rng: self.state_noise.child("outputs").index(rollout.episode).index(rollout.start).rng(),
            hidden: rollout.quantity == MeasurementKind::States
                && self.state_noise_std.iter().any(|std| std.is_infinite()),
        };
        let mut measuring = Measuring {
            policy: &mut outputs,
            schedule: rollout.schedule.as_mut(),
            moments: Vec::new(),
            synchronizations: Vec::new(),
            control: vec![0.0; self.task.controls.len()],
            announced: f64::INFINITY,
        };
        let experiment = Experiment {
            initial_state: &rollout.initial_state,
            cancel: self.cancel.as_deref(),
            sample_times: &uniform_grid(self.task.horizon, SAMPLES),
            sample_jumps: true,
            ..Experiment::of(&self.task)
        };
        let mut run = self.simulator.run(self.dynamics.as_mut(), &mut measuring, &experiment);
        if run.is_completed()
            && let Err(error) = measuring.ask(self.task.horizon, run.final_state())
        {
            run.outcome = Outcome::ControllerGaveUp { time: self.task.horizon, error };
        }
        let Measuring { mut moments, synchronizations, .. } = measuring;
        let trajectory = std::mem::take(&mut run.samples);
        for i in rollout.schedule.afterwards(&trajectory) {
            let (state, control) = (trajectory.states.at(i).to_vec(), trajectory.controls.at(i).to_vec());
            moments.push(Moment { time: trajectory.times[i], state, control });
        }
        let readings = self.read(rollout, moments);
        // A cancellation at the last instant, or during a measurement, counts too.
        let cancelled = self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        let outcome = if cancelled { Outcome::Cancelled { time: run.end() } } else { run.outcome.clone() };
        RolloutResult { outcome, cost: run.cost(), readings, synchronizations, trajectory, jumps: run.jumps }
    }
}

/// Number of equal parts of the horizon at whose ends a run is recorded.
const SAMPLES: usize = 1000;

/// Time, state and control of a measurement.
struct Moment {
    time: f64,
    state: Vec<f64>,
    control: Vec<f64>,
}

/// Computes the mean derivative between two moments, without noise.
fn transition(from: &Moment, to: &Moment) -> Reading {
    let interval = to.time - from.time;
    let derivative = from.state.iter().zip(&to.state).map(|(x, next)| (next - x) / interval).collect();
    let (state, control) = (from.state.clone(), from.control.clone());
    Reading { time: from.time, state, control, derivative: Some(derivative), interval: Some(interval) }
}

/// Returns the state at a moment, without noise.
fn state(Moment { time, state, control }: Moment) -> Reading {
    Reading { time, state, control, derivative: None, interval: None }
}

/// The measured value of a state; NaN if it is not measured, which is an infinite standard deviation.
fn output(x: f64, std: f64, noise: f64) -> f64 {
    if std.is_infinite() { f64::NAN } else { x + std * noise }
}

/// A policy that receives the measured states, with their noise, if some states are `hidden`; otherwise the states themselves.
struct Outputs<'a> {
    policy: &'a mut dyn Policy,
    noise_std: &'a [f64],
    rng: Rng,
    hidden: bool,
}

impl Policy for Outputs<'_> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        if !self.hidden {
            return self.policy.prepare(time, state);
        }
        let each = state.iter().zip(self.noise_std);
        let measured: Vec<f64> = each.map(|(x, std)| output(*x, *std, self.rng.normal())).collect();
        self.policy.prepare(time, &measured)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.policy.control(time, state, out);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.policy.level_counts()
    }
}

/// A policy whose integration pieces end at the measurement times.
struct Measuring<'a> {
    policy: &'a mut dyn Policy,
    schedule: &'a mut dyn Schedule,
    moments: Vec<Moment>,
    synchronizations: Vec<f64>,
    control: Vec<f64>,
    /// The time of the last request that was not due yet.
    announced: f64,
}

/// Relative difference below which two times count as equal.
const SAME_TIME: f64 = 1e-12;

/// Largest number of requests that a schedule may make at one time. A schedule that makes more does not advance.
const MAX_REQUESTS_AT_ONCE: usize = 10_000;

impl Measuring<'_> {
    /// Takes every measurement that is due, and returns the time of the next one.
    fn ask(&mut self, clock: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let rounding = SAME_TIME * (1.0 + clock.abs());
        // The clock of a run differs from the announced time by rounding. The schedule sees the time that it announced, so that
        // its own comparison with that time holds, and the reading stores it.
        let time = if (self.announced - clock).abs() <= rounding { self.announced } else { clock };
        self.policy.control(time, state, &mut self.control);
        for _ in 0..MAX_REQUESTS_AT_ONCE {
            let Some(request) = self.schedule.next(time, state, &self.control) else {
                return Ok(f64::INFINITY);
            };
            if request.time > time + rounding {
                self.announced = request.time;
                return Ok(request.time);
            }
            let same = (request.time - time).abs() <= rounding;
            let at = if same { request.time } else { time };
            match request.purpose {
                Purpose::Synchronize => self.synchronizations.push(at),
                Purpose::Learn => {
                    let (state, control) = (state.to_vec(), self.control.clone());
                    self.moments.push(Moment { time: at, state, control });
                }
            }
        }
        Err(PolicyError::ScheduleStuck { time, requests: MAX_REQUESTS_AT_ONCE })
    }
}

impl Policy for Measuring<'_> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        match self.policy.prepare(time, state) {
            Ok(until) => Ok(until.min(self.ask(time, state)?)),
            Err(error) => {
                // A state that the plan did not predict is the most informative one.
                if matches!(error, PolicyError::LeftTube { .. } | PolicyError::LimitCrossed { .. }) {
                    self.policy.control(time, state, &mut self.control);
                    let (state, control) = (state.to_vec(), self.control.clone());
                    self.moments.push(Moment { time, state, control });
                }
                Err(error)
            }
        }
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.policy.control(time, state, out);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.policy.level_counts()
    }
}
