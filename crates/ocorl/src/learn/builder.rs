//! Builder of a learner: each part follows from the settings unless the caller supplies it.

use super::FirstControl;
use super::learner::{LearnError, Learner};
use super::settings::{Settings, SettingsError, Time};
use crate::event::{Event, Observer};
use crate::explore::{BuiltIn, Explore, excitation};
use crate::measurements::Measurements;
use crate::model::{Mean, StatisticalModel};
use crate::random::Stream;
use crate::select::Schedule;
use crate::simulate::Policy;
use crate::system::Task;
use crate::track::Reference;
use std::sync::Arc;

/// The plan that a rollout is about to follow, as input for functions that create its policy or its schedule.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PlanContext<'a> {
    /// Number of the episode, counted from 0.
    pub episode: usize,
    /// Task as it was given to the learner.
    pub task: &'a Task,
    /// Model on which the plan was made.
    pub model: &'a Arc<dyn StatisticalModel>,
    /// All measurements so far.
    pub data: &'a Measurements,
    /// Initial state x(0) of the rollout.
    pub initial_state: &'a [f64],
    /// Number of measurements M per episode, from the settings.
    pub measurements: usize,
    /// Planned states x̃(t) and controls ũ(t) with gains, without hallucinated controls.
    pub reference: &'a Reference,
}

/// Function that creates the schedule of a rollout that follows a plan.
pub type MakeSchedule = Arc<dyn Fn(&PlanContext<'_>) -> Box<dyn Schedule> + Send + Sync>;

/// Function that creates the policy of a rollout that follows a plan.
pub type MakePolicy = Arc<dyn Fn(&PlanContext<'_>) -> Box<dyn Policy + Send> + Send + Sync>;

/// Parts that the caller supplied; a part that is `None` follows from the settings.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) explore: Option<Arc<dyn Explore>>,
    pub(super) schedule: Option<MakeSchedule>,
    pub(super) policy: Option<MakePolicy>,
    pub(super) observer: Option<Box<dyn Observer + Send + Sync>>,
}

impl Parts {
    /// Returns the exploration method.
    pub(super) fn explore(&self, settings: &Settings) -> Arc<dyn Explore> {
        let built_in = || {
            let (exploration, bonus_weight) = (settings.explore, settings.bonus_weight);
            Arc::new(BuiltIn { exploration, bonus_weight }) as Arc<dyn Explore>
        };
        self.explore.clone().unwrap_or_else(built_in)
    }
}

/// Forwards each event to two observers, first to the learner's own.
pub(super) struct Both<'a>(pub(super) &'a mut dyn Observer, pub(super) &'a mut dyn Observer);

impl Observer for Both<'_> {
    fn observe(&mut self, event: &Event<'_>) {
        self.0.observe(event);
        self.1.observe(event);
    }
}

/// Builds a [`Learner`]. Parts that are not supplied follow from the settings, and the settings from the task.
///
/// ```
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let settings = Settings { measurements: 5, ..Settings::for_system(&pendulum) };
/// let mut learner = Learner::builder(pendulum.task.clone())
///     .settings(settings)
///     .first_control(pendulum.first_control.clone())
///     .schedule(|plan| Box::new(Times::new(equidistant(plan.task.horizon, 3))))
///     .seed(7)
///     .build()?;
/// assert_eq!(learner.propose(&mut ()).rollouts.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct LearnerBuilder {
    task: Task,
    settings: Option<Settings>,
    first: Option<FirstControl>,
    stream: Stream,
    prior: Mean,
    model: Option<Box<dyn StatisticalModel>>,
    parts: Parts,
}

impl LearnerBuilder {
    pub(super) fn new(task: Task) -> Self {
        let stream = Stream::root(0).child("learner");
        LearnerBuilder {
            task,
            settings: None,
            first: None,
            stream,
            prior: Mean::Zero,
            model: None,
            parts: Parts::default(),
        }
    }

    /// Sets the settings. Default: 20 episodes of 10 measurements, tracking over half of the horizon.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Sets the control of episode 0, u(t, x). Default: sines around the safe control ([`excitation`]).
    pub fn first_control(mut self, first: FirstControl) -> Self {
        self.first = Some(first);
        self
    }

    /// Sets the prior mean of the model that the settings describe. It is not used in discrete time, where the model is not of f.
    pub fn prior(mut self, mean: Mean) -> Self {
        self.prior = mean;
        self
    }

    /// Sets a statistical model that replaces the one of the settings. It must have no data and the dimensions of
    /// [`Settings::model_dims`]. Check it with [`check::statistical_model`](crate::check::statistical_model).
    pub fn model(mut self, model: Box<dyn StatisticalModel>) -> Self {
        self.model = Some(model);
        self
    }

    /// Sets the exploration method that turns the model into a planning problem and replaces `settings.explore`. The setting still
    /// determines whether controls are dithered (ε-greedy, Boltzmann).
    pub fn explore(mut self, explore: impl Explore + 'static) -> Self {
        self.parts.explore = Some(Arc::new(explore));
        self
    }

    /// Sets the schedule of episodes that follow a plan, which replaces `settings.strategy`. Episode 0, and an episode without a plan, are
    /// measured at equidistant times. Continuous time only.
    pub fn schedule(
        mut self,
        schedule: impl Fn(&PlanContext<'_>) -> Box<dyn Schedule> + Send + Sync + 'static,
    ) -> Self {
        self.parts.schedule = Some(Arc::new(schedule));
        self
    }

    /// Sets the policy that follows a plan, which replaces `settings.track`. Continuous time only.
    pub fn policy(
        mut self,
        policy: impl Fn(&PlanContext<'_>) -> Box<dyn Policy + Send> + Send + Sync + 'static,
    ) -> Self {
        self.parts.policy = Some(Arc::new(policy));
        self
    }

    /// Sets an observer that receives every event before the observer that is passed to each call.
    pub fn observer(mut self, observer: impl Observer + Send + Sync + 'static) -> Self {
        self.parts.observer = Some(Box::new(observer));
        self
    }

    /// Sets the seed from which all random numbers are derived, as in [`Trial::new`](super::Trial::new). Default: 0.
    pub fn seed(self, seed: u64) -> Self {
        self.stream(Stream::root(seed).child("learner"))
    }

    /// Sets the random stream itself, for a learner that is part of a larger experiment.
    pub fn stream(mut self, stream: Stream) -> Self {
        self.stream = stream;
        self
    }

    /// Checks that task, settings and model are consistent and builds the learner.
    pub fn build(self) -> Result<Learner, LearnError> {
        let LearnerBuilder { task, settings, first, stream, prior, model, parts } = self;
        task.validate()?;
        let settings = settings.unwrap_or_else(|| Settings::new(&task));
        let dims = settings.model_dims(&task);
        let discrete = settings.time == Time::Discrete;
        if discrete && (parts.schedule.is_some() || parts.policy.is_some()) {
            let (path, value) = ("time", settings.time.name().into());
            let need = "a custom schedule or policy needs continuous time, because in discrete time both follow from the holds";
            return Err(SettingsError { path, value, need }.into());
        }
        let model = match model {
            Some(model) => model,
            None => settings.model.model(dims, &task.angles, if discrete { Mean::Zero } else { prior })?,
        };
        let first = first.unwrap_or_else(|| excitation(&task));
        Learner::assemble(task, first, settings, stream, model, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Watch;
    use crate::explore::{Exploration, MeanModel, PlanningProblem};
    use crate::learn::Trial;
    use crate::linalg::{Blocks, Points};
    use crate::model::{GaussianProcess, ModelError, Posterior, Query, TrainingReport};
    use crate::plant::{Plant, RolloutResult, SimulatedPlant};
    use crate::random::Rng;
    use crate::select::Times;
    use crate::simulate::Law;
    use crate::system::{Benchmark, Dims, Dynamics, KnownSystem};
    use std::fmt::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    fn pendulum() -> (KnownSystem, Settings) {
        let b = Benchmark::find("pendulum").unwrap();
        let mut settings = Settings { episodes: 3, ..Settings::for_system(&b) };
        settings.plan.intervals = 40;
        settings.plan.random_starts = 1;
        settings.select.candidates = 100;
        settings.track.period = b.task.horizon / 40.0;
        settings.excitation.scale = 100.0;
        (b, settings)
    }

    /// Runs two episodes, proposes a third, and returns all their numbers as text.
    fn story(b: &KnownSystem, mut learner: Learner, seed: u64) -> String {
        let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(seed));
        let mut text = String::new();
        for _ in 0..2 {
            let mut proposal = learner.propose(&mut ());
            let results: Vec<RolloutResult> = proposal.rollouts.iter_mut().map(|r| plant.run(r)).collect();
            learner.observe(&results, &mut ());
            write!(text, "{:?} {:?}", proposal.plans, results).unwrap();
        }
        text + &format!("{:?}", learner.propose(&mut ()).plans)
    }

    #[test]
    fn a_default_build_is_the_learner_that_new_makes() {
        let (b, settings) = pendulum();
        let stream = Stream::root(5).child("learner");
        let first = b.first_control.clone();
        let usual = Learner::new(b.task.clone(), first.clone(), settings.clone(), stream).unwrap();
        let builder = || {
            Learner::builder(b.task.clone()).settings(settings.clone()).first_control(first.clone()).seed(5)
        };
        let usual = story(&b, usual, 5);
        assert_eq!(story(&b, builder().build().unwrap(), 5), usual);
        // The parts that the settings name give the same results when they are supplied explicitly.
        let model = settings.model.model(b.dims(), &b.task.angles, Mean::Zero).unwrap();
        let explore = BuiltIn { exploration: settings.explore, bonus_weight: settings.bonus_weight };
        assert_eq!(story(&b, builder().model(model).explore(explore).build().unwrap(), 5), usual);
        // The seed has the same meaning as that of a trial.
        let mut trial = Trial::new(&b, settings.clone(), 5, 20.16).unwrap();
        let episodes: Vec<_> = (0..2).filter_map(|_| trial.next_episode(&mut ())).collect();
        let mut told = String::new();
        for episode in &episodes {
            write!(told, "{:?} {:?}", episode.plans, episode.executed).unwrap();
        }
        assert!(usual.starts_with(&told));
    }

    /// A model that counts the evaluations of its posterior.
    struct Counted(Box<dyn StatisticalModel>, Arc<AtomicUsize>);

    impl StatisticalModel for Counted {
        fn dims(&self) -> Dims {
            self.0.dims()
        }
        fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
            self.0.update(new)
        }
        fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
            self.0.train(stream)
        }
        fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.posterior(z, query, out);
        }
        fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
            self.0.covariance(z, out);
        }
        fn confidence_scale(&self) -> &[f64] {
            self.0.confidence_scale()
        }
        fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
            self.0.sample(rng)
        }
        fn fork(&self) -> Box<dyn StatisticalModel> {
            Box::new(Counted(self.0.fork(), self.1.clone()))
        }
    }

    #[test]
    fn parts_of_ones_own_are_used() {
        let (b, settings) = pendulum();
        let (asked, posed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (events, told) = mpsc::channel();
        let model = GaussianProcess::for_task(&b.task, settings.model.build()).unwrap();
        let counted = posed.clone();
        let mut learner = Learner::builder(b.task.clone())
            .settings(settings)
            .first_control(b.first_control.clone())
            .model(Box::new(Counted(Box::new(model), asked.clone())))
            .explore(move |model: &Arc<dyn StatisticalModel>, task: &Task, _: Stream| {
                counted.fetch_add(1, Ordering::Relaxed);
                let (model, bounds) = (model.clone(), task.control_bounds.clone());
                let mean = move || Box::new(MeanModel::new(model.clone())) as Box<dyn Dynamics>;
                PlanningProblem::new(task, mean, task.cost.clone(), bounds)
            })
            .schedule(|plan| {
                Box::new(Times::new(vec![0.25 * plan.task.horizon, plan.reference.plan.times[3]]))
            })
            .policy(|_| Box::new(Law(|_: f64, _: &[f64], u: &mut [f64]| u[0] = 0.125)))
            .observer(Watch(move |event: &Event<'_>| {
                let _ = events.send(format!("{event:?}"));
            }))
            .build()
            .unwrap();
        let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(0));
        let mut run = |learner: &mut Learner| {
            let mut proposal = learner.propose(&mut ());
            let results: Vec<RolloutResult> = proposal.rollouts.iter_mut().map(|r| plant.run(r)).collect();
            learner.observe(&results, &mut ());
            (proposal, results)
        };
        run(&mut learner);
        let (proposal, results) = run(&mut learner);
        let plan = proposal.plans[0].as_ref().unwrap();
        assert_eq!(plan.measurement_times, [plan.plan.times[3], 2.5]);
        let times: Vec<f64> = results[0].readings.iter().map(|r| r.time).collect();
        assert_eq!(times, plan.measurement_times);
        assert!(results[0].readings.iter().all(|r| r.control == [0.125]), "the policy's own control");
        assert!(asked.load(Ordering::Relaxed) > 0 && posed.load(Ordering::Relaxed) > 0);
        assert!(learner.solver(3).is_none(), "a policy of one's own solves nothing in real time");
        let told: Vec<String> = told.try_iter().collect();
        assert_eq!(told.iter().filter(|e| e.starts_with("Executed")).count(), 2, "{told:?}");
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let (b, mut settings) = pendulum();
        let wrong = GaussianProcess::new(Dims { state: 3, control: 1 }, &[], settings.model.build()).unwrap();
        let refused = Learner::builder(b.task.clone()).model(Box::new(wrong)).build().err().unwrap();
        assert!(
            matches!(refused, LearnError::Model(ModelError::Setting { what: "dimensions", .. })),
            "{refused}"
        );
        settings.time = Time::Discrete;
        settings.strategy = crate::learn::Strategy::Equidistant;
        let builder = Learner::builder(b.task.clone()).settings(settings);
        let refused = builder.schedule(|_| Box::new(Times::new(vec![1.0]))).build().err().unwrap();
        assert!(matches!(&refused, LearnError::Settings(error) if error.path == "time"), "{refused}");
    }

    #[test]
    fn without_settings_a_task_is_enough() {
        let (b, _) = pendulum();
        let mut learner = Learner::builder(b.task.clone()).build().unwrap();
        let mut proposal = learner.propose(&mut ());
        let mut u = [0.0];
        proposal.rollouts[0].policy.control(1.3, &b.task.initial_state, &mut u);
        assert!(u[0] != 0.0, "the first episode must move the system");
        assert!(!Parts::default().explore(&Settings::new(&b.task)).plans_on_the_mean());
        assert_eq!(Settings::new(&b.task).explore, Exploration::Optimistic);
    }
}
