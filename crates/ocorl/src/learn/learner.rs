//! The learner: model, exploration, planner, tracker and selection behind two calls, [`Learner::propose`] and [`Learner::observe`]. It has
//! no access to the plant; the [episode loop](super::EpisodeLoop) connects the two.

use super::builder::{Both, LearnerBuilder, Parts, PlanContext};
use super::caution::Choice;
use super::checkpoint::PlanSource;
use super::discrete::{self, Holds};
use super::dithering::Dithering;
use super::planning::{Grid, Planned, Planning};
use super::screening::{self, Diagnosis, Received, Refined, Screening, TrustedRow, Unexplained};
use super::settings::{Caution, NEEDS_WEIGHTS, Settings, SettingsError, Time, TrackSettings};
use super::timing::Timing;
use super::tube::{self, Trust};
use super::{FirstControl, Setback, following, setback, thinning};
use crate::event::{Event, Observer};
use crate::explore::{Exploration, Explore, PlanningProblem};
use crate::linalg::Blocks;
use crate::measurements::Measurements;
use crate::model::{Mean, ModelError, StatisticalModel};
use crate::plan::{Plan, uniform_grid};
use crate::plant::{MeasurementKind, Reading, Rollout, RolloutResult};
use crate::random::Stream;
use crate::select::{Schedule, Steps, Times, interior};
use crate::simulate::{Law, Outcome, Policy, Trajectory};
use crate::states::StateDataset;
use crate::system::{Task, TaskError};
use crate::track::{
    FallbackSettings, Foresight, Receding, Reference, Solver, StateObserver, held, rate_limited,
};
use std::sync::Arc;

/// Time over which the error of the model stays the same, as a fraction of the horizon.
const OBSERVER_MEMORY: f64 = 0.05;

/// Reason for which a learner cannot be created or restored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The task is inconsistent.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The model cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A checkpoint does not fit the learner.
    #[error("the learner cannot be restored from its checkpoint: {0}")]
    Checkpoint(&'static str),
}

/// The next episode: its rollouts, with their plans.
pub struct Proposal {
    /// Number of the episode, counted from 0.
    pub episode: usize,
    /// One rollout for each initial state.
    pub rollouts: Vec<Rollout>,
    /// Plan of each rollout; `None` for a rollout that applies the excitation control.
    pub plans: Vec<Option<PlannedRollout>>,
}

/// Plan of a rollout, with its predicted cost and measurement times.
#[derive(Clone, Debug)]
pub struct PlannedRollout {
    /// Planned states x̃ and controls ũ with gains and slopes dx̃/dt, without hallucinated controls.
    pub plan: Plan,
    /// Cost of the plan on the planning problem for which it was made.
    pub planned_cost: f64,
    /// Cost of the best plan on the mean model; `None` if no plan was found and the previous one is followed again.
    pub mean_cost: Option<f64>,
    /// Measurement times as far as they are known in advance.
    pub measurement_times: Vec<f64>,
    /// Largest deviation of each state from the plan at each node, beyond which the run is stopped; `None` without caution.
    pub tube: Option<Blocks>,
}

impl Proposal {
    /// Returns the mean planned cost over the rollouts; `None` if a rollout has no plan.
    pub fn planned_cost(&self) -> Option<f64> {
        self.mean_over_rollouts(|i| Some(i.planned_cost))
    }

    /// Returns the mean over the rollouts of the cost of the best plan on the mean model; `None` if a rollout has no such plan.
    pub fn mean_cost(&self) -> Option<f64> {
        self.mean_over_rollouts(|i| i.mean_cost)
    }

    fn mean_over_rollouts(&self, of: impl Fn(&PlannedRollout) -> Option<f64>) -> Option<f64> {
        let each: Option<Vec<f64>> = self.plans.iter().map(|p| p.as_ref().and_then(&of)).collect();
        each.map(|v| v.iter().sum::<f64>() / v.len() as f64)
    }
}

/// Learns one task by proposing episodes and observing their results.
///
/// Pure and deterministic: the same task, settings, stream and observations give the same proposals at any number of threads. The learner
/// has no access to the plant: an [`EpisodeLoop`](super::EpisodeLoop) runs its proposals.
///
/// ```
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let mut plant = SimulatedPlant::new(pendulum.task.clone(), pendulum.dynamics(), Stream::root(0));
/// let mut learner = Learner::builder(pendulum.task.clone()).build()?;
/// while learner.episode() < 2 {
///     let mut proposal = learner.propose(&mut ()); // πₙ, Sₙ
///     let results: Vec<_> = proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect(); // Dₙ ← Sim(πₙ, Sₙ)
///     learner.observe(&results, &mut ()); // μₙ, σₙ, βₙ ← D₁:ₙ
/// }
/// assert_eq!(learner.data().len(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Learner {
    task: Task,
    settings: Settings,
    first: FirstControl,
    stream: Stream,
    pub(super) starts: Vec<Vec<f64>>,
    pub(super) model: Arc<dyn StatisticalModel>,
    /// The model with cheaper predictions, for planning, measurement times and tracking.
    planning_model: Arc<dyn StatisticalModel>,
    pub(super) data: Measurements,
    pub(super) states: StateDataset,
    pub(super) episode: usize,
    /// Last plan from each initial state, hallucinated controls included.
    pub(super) last: Vec<Option<Plan>>,
    /// Distinct basins that the last searches found from each initial state.
    pub(super) basins: Vec<Vec<Plan>>,
    /// Source of the control of each rollout of the last proposal; `None` before the first.
    pub(super) followed: Option<Vec<PlanSource>>,
    /// Early terminations for each initial state.
    pub(super) setbacks: Vec<Option<Setback>>,
    /// Quality of the data.
    pub(super) screening: Screening,
    /// Rows that the user wants to be used.
    trusted: Vec<TrustedRow>,
    /// Trust in the predictions from each initial state.
    pub(super) trust: Vec<Trust>,
    /// Tube of the last plan from each initial state: the deviations at which the run is stopped.
    pub(super) tubes: Vec<Option<Blocks>>,
    /// Whether the model is unchanged since its last training.
    pub(super) fresh: bool,
    explore: Arc<dyn Explore>,
    parts: Parts,
}

impl Learner {
    /// Returns a builder that accepts the caller's own model, exploration, schedule, policy and observer.
    pub fn builder(task: Task) -> LearnerBuilder {
        LearnerBuilder::new(task)
    }

    /// Creates a learner without data. `first` is the control of episode 0.
    pub fn new(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
    ) -> Result<Self, LearnError> {
        Learner::with_prior(task, first, settings, stream, Mean::Zero)
    }

    /// Creates a learner without data, with a prior mean for f. In discrete time, where the model is not of f, the prior mean is not used.
    pub fn with_prior(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
        prior: Mean,
    ) -> Result<Self, LearnError> {
        // Before the model is built, whose own errors do not name the setting.
        task.validate()?;
        settings.validate(&task)?;
        let dims = settings.model_dims(&task);
        let mean = if settings.time == Time::Continuous { prior } else { Mean::Zero };
        let mean = mean.with_kinematics(dims, &settings.states.velocities);
        let model = settings.model.model(dims, &task.angles, mean)?;
        Learner::with_model(task, first, settings, stream, model)
    }

    /// Creates a learner with the caller's own model, of the dimensions of [`Settings::model_dims`].
    pub fn with_model(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
        model: Box<dyn StatisticalModel>,
    ) -> Result<Self, LearnError> {
        Learner::assemble(task, first, settings, stream, model, Parts::default())
    }

    pub(super) fn assemble(
        mut task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
        model: Box<dyn StatisticalModel>,
        parts: Parts,
    ) -> Result<Self, LearnError> {
        task.validate()?;
        settings.validate(&task)?;
        if model.dims() != settings.model_dims(&task) {
            let value = format!("{:?}", model.dims());
            let need = "they must be those of the task, in discrete time with one more control";
            return Err(ModelError::Setting { what: "dimensions", value, need }.into());
        }
        let weights = parts.explore.is_none() && settings.explore == Exploration::WeightSpace;
        if weights && model.weight_space().is_none() {
            let (path, value) = ("explore", settings.explore.name().into());
            return Err(SettingsError { path, value, need: NEEDS_WEIGHTS }.into());
        }
        let starts = match settings.initial_states.as_slice() {
            [] => vec![task.initial_state.clone()],
            given => given.to_vec(),
        };
        if settings.measured == MeasurementKind::States {
            task.noise_std = settings.derivative_noise(&task);
        }
        let (last, setbacks) = (vec![None; starts.len()], vec![None; starts.len()]);
        let (trust, tubes) = (vec![Trust::default(); starts.len()], vec![None; starts.len()]);
        let basins = vec![Vec::new(); starts.len()];
        let (data, explore) = (Measurements::new(settings.model_dims(&task)), parts.explore(&settings));
        let states = StateDataset::new(&task, settings.states.clone());
        let model: Arc<dyn StatisticalModel> = model.into();
        Ok(Learner {
            task,
            settings,
            first,
            stream,
            starts,
            planning_model: model.clone(),
            model,
            data,
            states,
            episode: 0,
            last,
            basins,
            followed: None,
            setbacks,
            screening: Screening::default(),
            trusted: Vec::new(),
            trust,
            tubes,
            fresh: true,
            explore,
            parts,
        })
    }

    /// Returns the task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the number of the next episode.
    pub fn episode(&self) -> usize {
        self.episode
    }

    /// Returns the current model of f; in discrete time of g(x, u, τ), with τ as the last control.
    pub fn model(&self) -> &Arc<dyn StatisticalModel> {
        &self.model
    }

    pub(super) fn set_model(&mut self, model: Box<dyn StatisticalModel>) {
        self.model = model.into();
        self.planning_model = self.model.compressed().map_or_else(|| self.model.clone(), Into::into);
    }

    /// Returns all measurements from which the model has learned, with the dimensions of the model.
    pub fn data(&self) -> &Measurements {
        &self.data
    }

    /// Returns what is wrong with the data, after the last episode.
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.screening.diagnosis
    }

    /// Declares rows, given by episode, initial state and time, that are learned from whatever the model says about them. Replaces an
    /// earlier declaration; call it before the episodes are observed.
    pub fn trust(&mut self, rows: Vec<TrustedRow>) {
        self.trusted = rows;
    }

    /// Whether data are screened: derivatives in continuous time, with settings and a model that permit it.
    fn screens(&self) -> bool {
        let continuous = self.settings.time == Time::Continuous;
        self.settings.model.robust && continuous && self.model.as_gaussian_process().is_some()
    }

    /// Proposes the next episode: a policy and a schedule for each initial state.
    pub fn propose(&mut self, observer: &mut dyn Observer) -> Proposal {
        self.with_observers(observer, Learner::propose_to)
    }

    /// Runs `act` with an observer that forwards each event to the learner's own observer, if it has one, and to `observer`.
    fn with_observers<R>(
        &mut self,
        observer: &mut dyn Observer,
        act: impl FnOnce(&mut Self, &mut dyn Observer) -> R,
    ) -> R {
        let Some(mut own) = self.parts.observer.take() else { return act(self, observer) };
        let result = act(self, &mut Both(own.as_mut(), observer));
        self.parts.observer = Some(own);
        result
    }

    fn propose_to(&mut self, observer: &mut dyn Observer) -> Proposal {
        let episode = self.episode;
        observer.observe(&Event::EpisodeBegan { episode, measurements: self.data.len() });
        let followed = (0..self.starts.len()).map(|start| {
            if self.data.is_empty() { PlanSource::Excitation } else { self.plan(start, observer) }
        });
        self.followed = Some(followed.collect());
        observer.observe(&Event::Proposed { episode });
        self.proposal()
    }

    /// Returns the last proposal again, with new rollouts.
    pub fn proposal(&self) -> Proposal {
        let followed = self.followed.as_deref().unwrap_or_default();
        let each = followed.iter().enumerate().map(|(start, followed)| match (followed, &self.last[start]) {
            (PlanSource::Plan { mean_cost }, Some(plan)) => self.follow(start, plan.clone(), *mean_cost),
            _ => (self.excite(start), None),
        });
        let (rollouts, plans) = each.unzip();
        Proposal { episode: self.episode, rollouts, plans }
    }

    /// Creates a rollout of episode 0, or of an episode without a plan.
    fn excite(&self, start: usize) -> Rollout {
        let set_back = self.setbacks[start];
        let mut scale = self.settings.excitation.scale * set_back.map_or(1.0, |s| s.damping());
        if !self.data.is_empty() {
            // Repeating the same control would give no new information.
            scale *= self.stream.child("excitation").index(self.episode).index(start).rng().uniform(0.5, 1.5);
        }
        let (first, safe) = (self.first.clone(), self.task.safe_control.clone());
        let (task, brake) = (self.task.clone(), self.settings.brake(&self.task));
        let law = Law(move |t: f64, x: &[f64], u: &mut [f64]| {
            first(t, x, u);
            let scale = if brake.is_some() { scale * tube::growth(&task, t) } else { scale };
            for (u, safe) in u.iter_mut().zip(&safe) {
                *u = safe + scale * (*u - safe);
            }
            task.control_bounds.clamp(u);
        });
        if let Some(holds) = self.holds() {
            let (policy, schedule) = holds.sample(&self.task, law);
            return self.rollout(start, policy, schedule);
        }
        let count = self.settings.measurements;
        let mut times = interior(self.task.horizon, count - setback::early(set_back, count));
        times.extend(setback::early_times(set_back, count));
        if self.settings.select.as_reference {
            let parts = self.settings.measurements + 1;
            times = (0..parts).map(|i| self.task.horizon * i as f64 / parts as f64).collect();
        }
        if let Some(steps) = Steps::new(self.task.horizon, self.settings.select.spacing) {
            times = steps.snap(&times);
        }
        let fallback = FallbackSettings::of(&self.task);
        let policy: Box<dyn Policy + Send> = if brake.is_some() {
            let table = self.excitation_table(start, law.0);
            let period =
                self.task.rate_limit.as_ref().map_or(self.settings.track.period, |limit| limit.period);
            Box::new(Receding::without_solver(table, period, &fallback).with_brake(brake))
        } else if self.settings.plan.hold > 0.0 {
            held(Box::new(law), &fallback, self.settings.plan.hold)
        } else {
            rate_limited(Box::new(law), &fallback, None)
        };
        self.rollout(start, policy, Box::new(Times::new(times)))
    }

    /// Returns an excitation as a table, as `plan.json` contains it: the control in the middle of each interval at the initial state.
    fn excitation_table(&self, start: usize, mut law: impl FnMut(f64, &[f64], &mut [f64])) -> Reference {
        let (times, x0) =
            (uniform_grid(self.task.horizon, self.settings.plan.intervals), &self.starts[start]);
        let (intervals, nu) = (times.len() - 1, self.task.controls.len());
        let mut controls = Blocks::zeros(nu, intervals);
        for (k, t) in times.windows(2).enumerate() {
            law(0.5 * (t[0] + t[1]), x0, controls.at_mut(k));
        }
        let plan = Trajectory {
            states: Blocks::from_vec(x0.repeat(intervals + 1), x0.len()),
            gains: Blocks::zeros(nu * x0.len(), intervals),
            slopes: Blocks::zeros(2 * x0.len(), intervals),
            costs: Vec::new(),
            controls,
            times,
        };
        Reference::with_slopes(Plan::given(plan, 0.0), &self.task.angles)
    }

    fn rollout(&self, start: usize, policy: Box<dyn Policy + Send>, schedule: Box<dyn Schedule>) -> Rollout {
        let initial_state = self.starts[start].clone();
        let quantity = self.settings.measurement_kind();
        let policy = match self.observer(start) {
            Some(observer) => following::observed(&self.task, &self.settings, policy, observer),
            None => policy,
        };
        Rollout { episode: self.episode, start, initial_state, policy, schedule, quantity }
    }

    /// Creates the observer of a run from initial state number `start`; `None` if all states are measured.
    pub fn observer(&self, start: usize) -> Option<StateObserver> {
        let (states, n) = (&self.settings.states, self.task.states.len());
        let (model, memory) = (self.planning_model.clone(), OBSERVER_MEMORY * self.task.horizon);
        let observer = || StateObserver::new(model, states.noise_std(n), self.starts[start].clone(), memory);
        (!states.velocities.is_empty()).then(observer)
    }

    /// Returns the holds of the next episode; `None` in continuous time.
    fn holds(&self) -> Option<Holds> {
        Holds::of(&self.task, &self.settings, self.episode)
    }

    /// Returns the model as a function of (x, u), as used to plan the next episode.
    fn view(&self) -> Arc<dyn StatisticalModel> {
        let model = &self.planning_model;
        self.holds().map_or_else(|| model.clone(), |holds| holds.view(model))
    }

    /// Returns the planning problem of the next episode from an initial state: that of the settings, or after an early termination one that
    /// keeps the plan near the data.
    fn planning_problem(&self, model: &Arc<dyn StatisticalModel>, start: usize) -> PlanningProblem {
        if let Some(set_back) = self.setbacks[start] {
            return PlanningProblem::near_data(model, &self.planned_task(), set_back.weight);
        }
        let stream = self.stream.child("plan").index(self.episode).child("sample");
        self.explore.planning_problem(model, &self.planned_task(), stream)
    }

    /// Returns the task as used to plan the next episode.
    fn planned_task(&self) -> Task {
        self.holds().and_then(|holds| holds.task(&self.task)).unwrap_or_else(|| self.task.clone())
    }

    /// Plans a rollout. If no plan is found, the previous one is followed again if it completed; otherwise the system is excited.
    fn plan(&mut self, start: usize, observer: &mut dyn Observer) -> PlanSource {
        let (episode, model) = (self.episode, self.view());
        let stream = self.stream.child("plan").index(episode);
        let task = self.planned_task();
        let mean = Exploration::Mean.planning_problem(&model, &task, 0.0, stream);
        let settings = &self.settings.plan;
        let known = self.known_trajectories(start);
        let planning = Planning {
            known: &known,
            task: &task,
            initial_state: &self.starts[start],
            settings,
            grid: self.holds().map_or_else(|| Grid::continuous(&self.task, settings), |holds| holds.grid()),
            control_size: &self.control_size(&task),
            start,
            limit_margin: setback::limit_margin(self.setbacks[start]),
            stream: stream.child("starts").index(start),
        };
        let last = self.last[start].as_ref();
        let mut on_the_mean = self.explore.plans_on_the_mean();
        let mut set_back = self.setbacks[start];
        if let Some(set_back) = &mut set_back {
            let Setback { failures, reached, .. } = *set_back;
            observer.observe(&Event::SetBack { episode, start, failures, reached });
            on_the_mean = false;
            if let Ok(Planned { plan, .. }) = planning.solve(true, &mean, &mean, last) {
                set_back.weight = set_back.penalty_weight(model.as_ref(), &task, &plan);
            }
        }
        self.setbacks[start] = set_back;
        self.tubes[start] = None;
        let exploration = self.planning_problem(&model, start);
        let planned = planning.solve(on_the_mean, &exploration, &mean, last);
        let caution = self.settings.caution;
        let (planned, tube) = match planned {
            Ok(planned) if caution != Caution::Off && self.settings.time == Time::Continuous => {
                let choice = Choice {
                    planning: &planning,
                    model: &model,
                    data: &self.data,
                    caution,
                    trust: self.trust[start],
                    exploration: &exploration,
                    mean: &mean,
                    episode,
                    stream: self.stream.child("tube").index(episode).index(start),
                };
                let (planned, tube) = choice.make(planned, observer);
                let floor = if caution == Caution::On { tube::NEAR } else { tube::FAR };
                (Ok(planned), Some(tube.stop(floor)))
            }
            other => (other, None),
        };
        match planned {
            Ok(Planned { plan, mean_cost, iterations, basins }) => {
                self.tubes[start] = tube;
                self.basins[start] = basins;
                let (planned_cost, outcome) = (plan.cost, plan.outcome);
                observer.observe(&Event::Planned {
                    episode,
                    start,
                    planned_cost,
                    mean_cost,
                    outcome,
                    iterations,
                });
                self.last[start] = Some(plan);
                PlanSource::Plan { mean_cost: Some(mean_cost) }
            }
            Err(error) => {
                let fits = |p: &Plan| p.controls.size() == exploration.bounds.dim();
                let last = set_back.is_none() && self.last[start].as_ref().is_some_and(fits);
                let instead = if last { "the last plan" } else { "the control of the first episode" };
                let reason = error.to_string();
                observer.observe(&Event::NotPlanned { episode, start, reason: &reason, instead });
                if last { PlanSource::Plan { mean_cost: None } } else { PlanSource::Excitation }
            }
        }
    }

    /// Returns the trajectories from which searches start in addition to the last plan: the basins of the last episode, if there are
    /// several, and what was measured in it.
    fn known_trajectories(&self, start: usize) -> Vec<Plan> {
        let basins = &self.basins[start];
        if basins.is_empty() || self.settings.time == Time::Discrete {
            return Vec::new();
        }
        let measured = self.data.last_pass(&self.starts[start], self.task.horizon);
        let measured = measured.map(|trajectory| Plan::given(trajectory, f64::INFINITY));
        basins.iter().cloned().chain(measured).collect()
    }

    /// Creates the optimiser that the policy solves at each period, with at most `max_iterations` iterations, for a real-time controller.
    /// `None` if the policy solves none, or before the first training.
    pub fn solver(&self, max_iterations: usize) -> Option<Box<dyn Solver>> {
        let built_in = self.parts.policy.is_none() && self.settings.time == Time::Continuous;
        let known = !self.data.is_empty() && built_in;
        let max_iterations = max_iterations.clamp(1, self.settings.track.max_iterations);
        let track = TrackSettings { max_iterations, ..self.settings.track.clone() };
        if known {
            following::solver(&self.task, &self.settings.plan, &track, &self.planning_model)
        } else {
            None
        }
    }

    /// Returns the root mean square of each measured control minus the safe control.
    fn control_size(&self, task: &Task) -> Vec<f64> {
        let (dims, points) = (task.dims(), self.data.points());
        let square = |i: usize, r: usize| {
            let off = points.at(i)[dims.state + r] - task.safe_control[r];
            off * off
        };
        let n = points.len().max(1) as f64;
        (0..dims.control).map(|r| ((0..points.len()).map(|i| square(i, r)).sum::<f64>() / n).sqrt()).collect()
    }

    /// Creates the rollout from initial state number `start` that follows `plan`.
    fn follow(&self, start: usize, plan: Plan, mean_cost: Option<f64>) -> (Rollout, Option<PlannedRollout>) {
        let (planned_cost, controls) = (plan.cost, self.task.controls.len());
        let mut exploration = self.planning_problem(&self.view(), start);
        if plan.controls.size() < exploration.bounds.dim() {
            // Caution made the plan near the data.
            exploration = PlanningProblem::near_data(&self.view(), &self.planned_task(), 0.0);
        }
        let exploration = &exploration;
        let full = Reference::new(plan, exploration.dynamics().as_mut(), &self.task.angles);
        let reference = full.clone().with_controls(controls);
        let tube = self.tubes[start].clone();
        let (policy, schedule) = match self.settings.time {
            Time::Discrete => discrete::follow(&self.task, reference.clone()),
            Time::Continuous => {
                let context = PlanContext {
                    episode: self.episode,
                    task: &self.task,
                    model: &self.model,
                    data: &self.data,
                    initial_state: &self.starts[start],
                    measurements: self.settings.measurements,
                    reference: &reference,
                };
                let policy = || match &self.parts.policy {
                    Some(make) => make(&context),
                    None => following::policy(
                        &self.task,
                        &self.settings,
                        &self.planning_model,
                        reference.clone(),
                        tube.clone(),
                        self.foresight(start),
                    ),
                };
                let timing = Timing {
                    task: &self.task,
                    settings: &self.settings,
                    episode: self.episode,
                    model: &self.planning_model,
                    data: &self.data,
                    initial_state: &self.starts[start],
                    set_back: self.setbacks[start],
                };
                let schedule = match &self.parts.schedule {
                    Some(make) => make(&context),
                    None => timing.schedule(full, exploration, policy),
                };
                (policy(), schedule)
            }
        };
        let policy = Dithering {
            task: &self.task,
            settings: &self.settings,
            episode: self.episode,
            model: &self.view(),
            control_size: &self.control_size(&self.task),
            stream: self.stream.child("dither").index(self.episode).index(start),
        }
        .apply(policy, &reference.plan);
        let intention = PlannedRollout {
            plan: reference.plan,
            planned_cost,
            mean_cost,
            measurement_times: schedule.known().to_vec(),
            tube,
        };
        (self.rollout(start, policy, schedule), Some(intention))
    }

    /// Draws the functions on which the next rollout tries the backup controller; `None` without caution or without limits of the states.
    fn foresight(&self, start: usize) -> Option<Foresight> {
        let stream = self.stream.child("foresight").index(self.episode).index(start);
        let limited = self.settings.brake(&self.task).is_some();
        limited
            .then(|| following::foresight(&self.task, &self.settings, self.planning_model.as_ref(), stream))
    }

    /// Learns from the results of an episode's rollouts, in their order. Data from which the model cannot learn are reported to the
    /// observer; the next episode can be proposed in any case.
    pub fn observe(&mut self, executed: &[RolloutResult], observer: &mut dyn Observer) {
        self.with_observers(observer, |learner, observer| learner.observe_to(executed, observer));
    }

    fn observe_to(&mut self, executed: &[RolloutResult], observer: &mut dyn Observer) {
        let episode = self.episode;
        let screens = self.screens();
        let commanded: Vec<Vec<Vec<f64>>> = if screens {
            executed.iter().enumerate().map(|(s, r)| self.commanded(s, r)).collect()
        } else {
            Vec::new()
        };
        self.episode += 1;
        self.screening.begin();
        let mut new = Measurements::new(self.data.dims());
        let mut found = Found::default();
        for (start, rollout) in executed.iter().enumerate() {
            let measurement_times: Vec<f64> = rollout.readings.iter().map(|r| r.time).collect();
            let (cost, outcome) = (rollout.cost, &rollout.outcome);
            observer.observe(&Event::Executed {
                episode,
                start,
                cost,
                outcome,
                measurement_times: &measurement_times,
                synchronizations: &rollout.synchronizations,
            });
            let before = self.setbacks[start];
            self.setbacks[start] = Setback::after(before, rollout, self.task.horizon);
            if self.settings.caution != Caution::Off && !matches!(outcome, Outcome::Cancelled { .. }) {
                let within = self.tubes[start].is_some().then(|| self.setbacks[start].is_none());
                self.trust[start] = self.trust[start].after(cost, within);
            }
            let refused = |observer: &mut dyn Observer, error: &dyn std::fmt::Display| {
                observer.observe(&Event::Refused { episode, start, reason: &error.to_string() });
            };
            let noise_std = self.screening.noise_std(&self.task.noise_std);
            let mut readings: Vec<Reading> =
                rollout.readings.iter().filter(|r| r.derivative.is_some()).cloned().collect();
            if screens && !readings.is_empty() {
                let commanded = commanded[start].clone();
                let trusted = self.trusted.as_slice();
                let received =
                    Received { episode, start, readings, commanded, noise_std: &noise_std, trusted };
                let model = (!self.data.is_empty()).then_some(self.model.as_ref());
                let stream = self.stream.child("examine").index(episode).index(start);
                match self.screening.examine(model, received, &self.data, stream) {
                    Ok(examined) => {
                        readings = examined.readings;
                        found.gain = found.gain.or(examined.gain);
                        found.unexplained = found.unexplained.or(examined.unexplained);
                    }
                    Err(error) => {
                        refused(observer, &error);
                        continue;
                    }
                }
            }
            let before = new.len();
            for r in &readings {
                let derivative = r.derivative.as_deref().unwrap_or_default();
                if let Err(error) = new.push(r.time, &r.state, &r.inputs(), derivative, &noise_std) {
                    refused(observer, &error);
                }
            }
            found.rows.push((start, new.len() - before));
            let estimated = self.states.take(&self.starts[start], rollout);
            // In discrete time the empty estimate has other dimensions than the data.
            let append = |estimated: Measurements| {
                if estimated.is_empty() { Ok(()) } else { new.append(&estimated) }
            };
            if let Err(error) = estimated.and_then(append) {
                refused(observer, &error);
            }
        }
        if new.is_empty() && !self.states.has_new_records() {
            self.diagnosed(episode, observer);
            let reason = "nothing was measured";
            observer.observe(&Event::NotUpdated { episode, reason });
            return;
        }
        let stream = self.stream.child("train").index(episode);
        if let Err(error) = self.learn(&new, episode, &found, stream, observer) {
            observer.observe(&Event::NotUpdated { episode, reason: &error.to_string() });
        }
        self.diagnosed(episode, observer);
    }

    /// Reports the diagnosis of an episode, if something is wrong.
    fn diagnosed(&self, episode: usize, observer: &mut dyn Observer) {
        let Diagnosis { findings, set_aside, .. } = &self.screening.diagnosis;
        if !findings.is_empty() {
            observer.observe(&Event::Diagnosed { episode, findings, set_aside });
        }
    }

    /// The controls that the last proposal commanded at the times and states of the readings with a derivative; empty if they are not
    /// known.
    fn commanded(&self, start: usize, rollout: &RolloutResult) -> Vec<Vec<f64>> {
        let readings = rollout.readings.iter().filter(|r| r.derivative.is_some());
        let source = self.followed.as_deref().and_then(|f| f.get(start)).unwrap_or(&PlanSource::Excitation);
        let count = self.task.controls.len();
        if let (PlanSource::Plan { .. }, Some(plan)) = (source, &self.last[start]) {
            let planned = |r: &Reading| {
                let mut control = vec![0.0; count];
                screening::planned_control(plan, &self.task, r, &mut control);
                control
            };
            return readings.map(planned).collect();
        }
        let mut policy = self.excite(start).policy;
        let excited = |r: &Reading| {
            let mut control = vec![0.0; count];
            policy.requested(r.time, &r.state, &mut control).ok().map(|()| control)
        };
        readings.map(excited).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Learns from measurements of other origin, such as old logs; `number` counts these imports and selects the random stream.
    pub fn import(
        &mut self,
        new: &Measurements,
        number: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), ModelError> {
        let stream = self.stream.child("import").index(number);
        self.with_observers(observer, |learner, observer| {
            let found = Found { imported: true, ..Found::default() };
            learner.learn(new, learner.episode, &found, stream, observer)
        })
    }

    /// Adds `new` to the data and to `model`. A Gaussian process keeps at most as many data as its limit.
    fn take(
        &mut self,
        model: &mut dyn StatisticalModel,
        new: &Measurements,
        episode: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), ModelError> {
        let (known, limit) = (self.data.len(), self.settings.model.data_limit());
        let of = known + new.len();
        if of <= limit {
            model.update(new)?;
            self.data.append(new)?;
            return Ok(());
        }
        let mut all = self.data.clone();
        all.append(new)?;
        let kept = thinning::kept(&all, &self.task.angles, known, limit);
        self.screening.keep(of, &kept);
        let kept = all.select(kept);
        model.replace(&kept)?;
        self.data = kept;
        observer.observe(&Event::Thinned { episode, kept: limit, of });
        Ok(())
    }

    /// Conditions the model on `new`, trains it, and screens the data.
    fn learn(
        &mut self,
        new: &Measurements,
        episode: usize,
        found: &Found,
        stream: Stream,
        observer: &mut dyn Observer,
    ) -> Result<(), ModelError> {
        let mut model = self.model.fork();
        let trained = if self.states.has_records() {
            let (data, report) = self.states.learn(model.as_mut(), new, stream)?;
            self.data = data;
            observer.observe(&Event::Updated { episode, measurements: self.data.len() });
            Ok(report)
        } else {
            if let Some((control, factor)) = found.gain {
                self.data = screening::converted(&self.data, control, factor);
                model.replace(&self.data)?;
            }
            if found.imported {
                self.screening.appended(None, 0, new.len());
            }
            for &(start, count) in &found.rows {
                self.screening.appended(Some(episode), start, count);
            }
            self.take(model.as_mut(), new, episode, observer)?;
            observer.observe(&Event::Updated { episode, measurements: self.data.len() });
            // The new measurements count even if training fails.
            let report = model.train(stream);
            if report.is_ok() && self.screens() {
                let (unexplained, trusted) = (found.unexplained.as_ref(), self.trusted.as_slice());
                let refined =
                    Refined { episode, new: new.len().min(self.data.len()), unexplained, trusted, stream };
                match self.screening.refine(&mut model, &mut self.data, &refined)? {
                    Some(again) => Ok(again),
                    None => report,
                }
            } else {
                report
            }
        };
        self.set_model(model);
        self.fresh = trained.is_ok();
        if let Ok(report) = &trained {
            let model = self.view();
            let (confidence_scale, notes) = (model.confidence_scale(), &model.notes());
            observer.observe(&Event::Trained { episode, report, confidence_scale, notes });
        }
        trained.map(|_| ())
    }
}

/// What the examination of an episode's rows has found, and where its rows come from.
#[derive(Default)]
struct Found {
    /// Number of rows from each initial state.
    rows: Vec<(usize, usize)>,
    /// True if the rows were imported.
    imported: bool,
    gain: Option<(usize, f64)>,
    unexplained: Option<Unexplained>,
}
