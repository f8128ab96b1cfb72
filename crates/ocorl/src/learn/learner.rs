//! The learner: model, exploration, planner, tracker and selection in one loop. It never sees the plant.

use super::discrete::{self, Holds};
use super::dithering::Dithering;
use super::memory::Followed;
use super::planning::{Grid, Planned, Planning};
use super::settings::{NEEDS_WEIGHTS, Observed, Settings, SettingsError, Time, TrackSettings};
use super::timing::Timing;
use super::{FirstControl, Setback, following, setback};
use crate::event::{Event, Observer};
use crate::explore::{Exploration, Imagined};
use crate::linalg::Blocks;
use crate::measurements::Measurements;
use crate::model::{Mean, ModelError, StatisticalModel};
use crate::plan::Plan;
use crate::plant::{Executed, Leg, Measured};
use crate::random::Stream;
use crate::select::{Schedule, Times, interior};
use crate::simulate::{Law, Policy};
use crate::states::Memory;
use crate::system::{Task, TaskError};
use crate::track::{Reference, Solver};
use std::sync::Arc;

/// Why learning cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The task is not sound.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The model cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What was written down of a learner does not fit.
    #[error("what was remembered of the learner cannot be used: {0}")]
    Memory(&'static str),
}

/// The next episode.
pub struct Proposal {
    /// Its number, from 0.
    pub episode: usize,
    /// One run for each initial state.
    pub legs: Vec<Leg>,
    /// What each leg is to do; `None` if it only excites.
    pub plans: Vec<Option<Intention>>,
}

/// What a leg is to do, and what is hoped of it.
#[derive(Clone, Debug)]
pub struct Intention {
    /// x̃ and ũ with gains, without hallucinated controls.
    pub plan: Plan,
    /// What the plan costs in the imagination it was made for.
    pub planned_cost: f64,
    /// What the best plan on the mean model costs there.
    pub mean_cost: f64,
    /// dx̃/dt at the beginning and at the end of each interval of the plan.
    pub slopes: Blocks,
    /// Measurement times as far as they are known in advance.
    pub measurement_times: Vec<f64>,
}

impl Proposal {
    /// Mean over the legs of what is planned; `None` if one has no plan.
    pub fn planned_cost(&self) -> Option<f64> {
        self.mean_over_legs(|i| i.planned_cost)
    }

    /// The same for the plans on the mean model.
    pub fn mean_cost(&self) -> Option<f64> {
        self.mean_over_legs(|i| i.mean_cost)
    }

    fn mean_over_legs(&self, of: impl Fn(&Intention) -> f64) -> Option<f64> {
        let each: Option<Vec<f64>> = self.plans.iter().map(|p| p.as_ref().map(&of)).collect();
        each.map(|v| v.iter().sum::<f64>() / v.len() as f64)
    }
}

/// Learns one task by proposing episodes and observing what they gave.
///
/// Pure and deterministic: the same task, settings, stream and observations give the same proposals, at any number of threads. Nothing in it
/// can reach the plant.
///
/// ```text
/// while learner.episode() < settings.episodes {
///     let mut proposal = learner.propose(&mut observer);                               // πₙ, Sₙ
///     let executed = proposal.legs.iter_mut().map(|leg| plant.run(leg)).collect();      // Dₙ ← Sim(πₙ, Sₙ)
///     learner.observe(&executed, &mut observer);                                        // μₙ, σₙ, βₙ ← D₁:ₙ
/// }
/// ```
pub struct Learner {
    task: Task,
    settings: Settings,
    first: FirstControl,
    stream: Stream,
    pub(super) starts: Vec<Vec<f64>>,
    pub(super) model: Arc<dyn StatisticalModel>,
    pub(super) data: Measurements,
    pub(super) states: Memory,
    pub(super) episode: usize,
    /// The last plan from each start, hallucinated controls included.
    pub(super) last: Vec<Option<Plan>>,
    /// What each leg of the last proposal follows; none before the first.
    pub(super) followed: Option<Vec<Followed>>,
    /// What is known of runs that ended early, for each start.
    pub(super) setbacks: Vec<Option<Setback>>,
    /// Whether the model is as its last training left it.
    pub(super) fresh: bool,
}

impl Learner {
    /// Knows nothing yet but the task. `first` is the control of episode 0.
    pub fn new(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
    ) -> Result<Self, LearnError> {
        Learner::with_prior(task, first, settings, stream, Mean::Zero)
    }

    /// The same with what is believed of f before any measurement. In discrete time, where f is not what is learned, it has no part.
    pub fn with_prior(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
        prior: Mean,
    ) -> Result<Self, LearnError> {
        let dims = settings.model_dims(&task);
        let mean = if settings.time == Time::Continuous { prior } else { Mean::Zero };
        let model = settings.model.model(dims, &task.angles, mean)?;
        Learner::with_model(task, first, settings, stream, model)
    }

    /// The same with a model of one's own, of the dimensions that [`Settings::model_dims`] says.
    pub fn with_model(
        mut task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
        model: Box<dyn StatisticalModel>,
    ) -> Result<Self, LearnError> {
        task.validate()?;
        settings.validate(&task)?;
        if settings.explore == Exploration::WeightSpace && model.weight_space().is_none() {
            let (path, value) = ("explore", settings.explore.name().into());
            return Err(SettingsError { path, value, need: NEEDS_WEIGHTS }.into());
        }
        let starts = match settings.initial_states.as_slice() {
            [] => vec![task.initial_state.clone()],
            given => given.to_vec(),
        };
        if settings.measured == Observed::States {
            task.noise_std = settings.derivative_noise(&task);
        }
        let (last, setbacks) = (vec![None; starts.len()], vec![None; starts.len()]);
        let data = Measurements::new(settings.model_dims(&task));
        let states = Memory::new(&task, settings.states.clone());
        Ok(Learner {
            task,
            settings,
            first,
            stream,
            starts,
            model: model.into(),
            data,
            states,
            episode: 0,
            last,
            followed: None,
            setbacks,
            fresh: true,
        })
    }

    /// What is wanted.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Number of the next episode.
    pub fn episode(&self) -> usize {
        self.episode
    }

    /// What is believed of f now; in discrete time of g(x, u, τ), τ being the last control.
    pub fn model(&self) -> &Arc<dyn StatisticalModel> {
        &self.model
    }

    /// All that was learned from, with the dimensions of the model.
    pub fn data(&self) -> &Measurements {
        &self.data
    }

    /// The next episode: a law and a schedule for each initial state.
    pub fn propose(&mut self, observer: &mut dyn Observer) -> Proposal {
        let episode = self.episode;
        observer.observe(&Event::EpisodeBegan { episode, measurements: self.data.len() });
        let followed = (0..self.starts.len()).map(|start| {
            if self.data.is_empty() { Followed::Excitation } else { self.plan(start, observer) }
        });
        self.followed = Some(followed.collect());
        observer.observe(&Event::Proposed { episode });
        self.proposal()
    }

    /// The last proposal once more, with fresh legs.
    pub fn proposal(&self) -> Proposal {
        let followed = self.followed.as_deref().unwrap_or_default();
        let each = followed.iter().enumerate().map(|(start, followed)| match (followed, &self.last[start]) {
            (Followed::Plan { mean_cost }, Some(plan)) => self.follow(start, plan.clone(), *mean_cost),
            _ => (self.excite(start), None),
        });
        let (legs, plans) = each.unzip();
        Proposal { episode: self.episode, legs, plans }
    }

    /// A leg of episode 0, or of an episode that could not be planned.
    fn excite(&self, start: usize) -> Leg {
        let set_back = self.setbacks[start];
        let mut scale = self.settings.excitation.scale * set_back.map_or(1.0, |s| s.damping());
        if !self.data.is_empty() {
            // The same control once more would show nothing new.
            scale *= self.stream.child("excitation").index(self.episode).index(start).rng().uniform(0.5, 1.5);
        }
        let (first, safe) = (self.first.clone(), self.task.safe_control.clone());
        let bounds = self.task.control_bounds.clone();
        let law = Law(move |t: f64, x: &[f64], u: &mut [f64]| {
            first(t, x, u);
            for (u, safe) in u.iter_mut().zip(&safe) {
                *u = safe + scale * (*u - safe);
            }
            bounds.clamp(u);
        });
        if let Some(holds) = self.holds() {
            let (policy, schedule) = holds.sample(&self.task, law);
            return self.leg(start, policy, schedule);
        }
        let count = self.settings.measurements;
        let mut times = interior(self.task.horizon, count - setback::early(set_back, count));
        times.extend(setback::early_times(set_back, count));
        if self.settings.select.as_reference {
            let parts = self.settings.measurements + 1;
            times = (0..parts).map(|i| self.task.horizon * i as f64 / parts as f64).collect();
        }
        self.leg(start, Box::new(law), Box::new(Times::new(times)))
    }

    fn leg(&self, start: usize, policy: Box<dyn Policy + Send>, schedule: Box<dyn Schedule>) -> Leg {
        let initial_state = self.starts[start].clone();
        let quantity = match (self.settings.time, self.settings.measured) {
            (Time::Continuous, Observed::Derivatives) => Measured::Derivatives,
            (Time::Continuous, Observed::States) => Measured::States,
            (Time::Discrete, _) => Measured::Transitions,
        };
        Leg { episode: self.episode, start, initial_state, policy, schedule, quantity }
    }

    /// The holds of the next episode, in discrete time.
    fn holds(&self) -> Option<Holds> {
        Holds::of(&self.task, &self.settings, self.episode)
    }

    /// The model as a function of (x, u), as the next episode is planned with it.
    fn view(&self) -> Arc<dyn StatisticalModel> {
        self.holds().map_or_else(|| self.model.clone(), |holds| holds.view(&self.model))
    }

    /// What is imagined for the next episode from a start: what the settings say, or after a run that ended early the model near its data.
    fn imagined(&self, model: &Arc<dyn StatisticalModel>, start: usize) -> Imagined {
        if let Some(set_back) = self.setbacks[start] {
            return Imagined::near_data(model, &self.planned_task(), set_back.weight);
        }
        let stream = self.stream.child("plan").index(self.episode).child("sample");
        self.settings.explore.imagine(model, &self.planned_task(), self.settings.bonus_weight, stream)
    }

    /// The task as the next episode is planned.
    fn planned_task(&self) -> Task {
        self.holds().and_then(|holds| holds.task(&self.task)).unwrap_or_else(|| self.task.clone())
    }

    /// Plans a leg. If no plan is found the last one is followed again, if it completed, or the system is excited.
    fn plan(&mut self, start: usize, observer: &mut dyn Observer) -> Followed {
        let (episode, model) = (self.episode, self.view());
        let stream = self.stream.child("plan").index(episode);
        let task = self.planned_task();
        let mean = Exploration::Mean.imagine(&model, &task, 0.0, stream);
        let settings = &self.settings.plan;
        let planning = Planning {
            task: &task,
            initial_state: &self.starts[start],
            settings,
            grid: self.holds().map_or_else(|| Grid::continuous(&self.task, settings), |holds| holds.grid()),
            control_size: &self.control_size(&task),
            stream: stream.child("starts").index(start),
        };
        let last = self.last[start].as_ref();
        let mut explore = self.settings.explore;
        let mut set_back = self.setbacks[start];
        if let Some(set_back) = &mut set_back {
            let Setback { failures, reached, .. } = *set_back;
            observer.observe(&Event::SetBack { episode, start, failures, reached });
            explore = Exploration::Bonus;
            if let Ok(Planned { plan, .. }) = planning.solve(Exploration::Mean, &mean, &mean, last) {
                set_back.weight = set_back.penalty_weight(model.as_ref(), &task, &plan);
            }
        }
        self.setbacks[start] = set_back;
        let imagined = self.imagined(&model, start);
        match planning.solve(explore, &imagined, &mean, last) {
            Ok(Planned { plan, mean_cost, iterations }) => {
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
                Followed::Plan { mean_cost }
            }
            Err(error) => {
                let fits = |p: &Plan| p.controls.size() == imagined.bounds.dim();
                let last = set_back.is_none() && self.last[start].as_ref().is_some_and(fits);
                let instead = if last { "the last plan" } else { "the control of the first episode" };
                let reason = error.to_string();
                observer.observe(&Event::NotPlanned { episode, start, reason: &reason, instead });
                if last { Followed::Plan { mean_cost: f64::NAN } } else { Followed::Excitation }
            }
        }
    }

    /// What solves at each period while a plan is followed, with at most so many iterations, for whoever runs it in real time. None if
    /// nothing is solved, or nothing is known yet.
    pub fn solver(&self, max_iterations: usize) -> Option<Box<dyn Solver>> {
        let known = !self.data.is_empty() && self.settings.time == Time::Continuous;
        let max_iterations = max_iterations.clamp(1, self.settings.track.max_iterations);
        let track = TrackSettings { max_iterations, ..self.settings.track.clone() };
        if known { following::solver(&self.task, &track, &self.model) } else { None }
    }

    /// Root mean square of each measured control, less the safe one.
    fn control_size(&self, task: &Task) -> Vec<f64> {
        let (dims, points) = (task.dims(), self.data.points());
        let square = |i: usize, r: usize| {
            let off = points.at(i)[dims.state + r] - task.safe_control[r];
            off * off
        };
        let n = points.len().max(1) as f64;
        (0..dims.control).map(|r| ((0..points.len()).map(|i| square(i, r)).sum::<f64>() / n).sqrt()).collect()
    }

    /// The leg from `start` that follows `plan`.
    fn follow(&self, start: usize, plan: Plan, mean_cost: f64) -> (Leg, Option<Intention>) {
        let imagined = &self.imagined(&self.view(), start);
        let (planned_cost, controls) = (plan.cost, self.task.controls.len());
        let full = Reference::new(plan, imagined.dynamics().as_mut(), &self.task.angles);
        let reference = full.clone().with_controls(controls);
        let (policy, schedule) = match self.settings.time {
            Time::Discrete => discrete::follow(&self.task, reference.clone()),
            Time::Continuous => {
                let policy =
                    || following::policy(&self.task, &self.settings.track, &self.model, reference.clone());
                let timing = Timing {
                    task: &self.task,
                    settings: &self.settings,
                    episode: self.episode,
                    model: &self.model,
                    data: &self.data,
                    initial_state: &self.starts[start],
                    set_back: self.setbacks[start],
                };
                let schedule = timing.schedule(full, imagined, policy);
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
        let intention = Intention {
            slopes: reference.slopes().clone(),
            plan: reference.plan,
            planned_cost,
            mean_cost,
            measurement_times: schedule.known().to_vec(),
        };
        (self.leg(start, policy, schedule), Some(intention))
    }

    /// Takes in what the legs of an episode gave, in their order, and learns from it. What cannot be learned from is told to the observer;
    /// the next episode can be proposed in any case.
    pub fn observe(&mut self, executed: &[Executed], observer: &mut dyn Observer) {
        let episode = self.episode;
        self.episode += 1;
        let mut new = Measurements::new(self.data.dims());
        for (start, leg) in executed.iter().enumerate() {
            let measurement_times: Vec<f64> = leg.readings.iter().map(|r| r.time).collect();
            let (cost, outcome) = (leg.cost, &leg.outcome);
            observer.observe(&Event::Executed {
                episode,
                start,
                cost,
                outcome,
                measurement_times: &measurement_times,
                synchronizations: &leg.synchronizations,
            });
            self.setbacks[start] = Setback::after(self.setbacks[start], leg, self.task.horizon);
            for (r, derivative) in leg.readings.iter().filter_map(|r| Some((r, r.derivative.as_ref()?))) {
                if let Err(error) = new.push(r.time, &r.state, &r.inputs(), derivative, &self.task.noise_std)
                {
                    observer.observe(&Event::Refused { episode, start, reason: &error.to_string() });
                }
            }
            let estimated = self.states.take(&self.starts[start], leg);
            if let Err(error) = estimated.and_then(|estimated| new.append(&estimated)) {
                observer.observe(&Event::Refused { episode, start, reason: &error.to_string() });
            }
        }
        if new.is_empty() && !self.states.has_news() {
            let reason = "nothing was measured";
            observer.observe(&Event::NotUpdated { episode, reason });
            return;
        }
        let stream = self.stream.child("train").index(episode);
        if let Err(error) = self.learn(&new, episode, stream, observer) {
            observer.observe(&Event::NotUpdated { episode, reason: &error.to_string() });
        }
    }

    /// Learns from measurements that no episode gave: old logs, another's data. They are the `number`-th of that kind.
    pub fn import(
        &mut self,
        new: &Measurements,
        number: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), ModelError> {
        let stream = self.stream.child("import").index(number);
        self.learn(new, self.episode, stream, observer)
    }

    /// Conditions the model on `new` and trains it.
    fn learn(
        &mut self,
        new: &Measurements,
        episode: usize,
        stream: Stream,
        observer: &mut dyn Observer,
    ) -> Result<(), ModelError> {
        let mut model = self.model.fork();
        let trained = if self.states.is_used() {
            let (data, report) = self.states.learn(model.as_mut(), new, stream)?;
            self.data = data;
            observer.observe(&Event::Updated { episode, measurements: self.data.len() });
            Ok(report)
        } else {
            model.update(new)?;
            self.data.append(new)?;
            observer.observe(&Event::Updated { episode, measurements: self.data.len() });
            // Trained or not, the new measurements count.
            model.train(stream)
        };
        self.model = model.into();
        self.fresh = trained.is_ok();
        if let Ok(report) = &trained {
            let model = self.view();
            let (confidence_scale, notes) = (model.confidence_scale(), &model.notes());
            observer.observe(&Event::Trained { episode, report, confidence_scale, notes });
        }
        trained.map(|_| ())
    }
}
