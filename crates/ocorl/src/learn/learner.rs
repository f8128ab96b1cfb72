//! The learner: model, exploration, planner, tracker and selection in one loop. It never sees the plant.

use super::planning::{Planned, Planning};
use super::settings::{Settings, Strategy, TrackerName};
use crate::event::{Event, Observer};
use crate::explore::{Exploration, MeanModel};
use crate::linalg::{Blocks, Points};
use crate::measurements::Measurements;
use crate::model::{GaussianProcess, ModelError, StatisticalModel};
use crate::plan::Plan;
use crate::plant::{Executed, Leg};
use crate::random::Stream;
use crate::select::{Schedule, Times};
use crate::simulate::{Law, Policy};
use crate::system::{Task, TaskError};
use crate::track::{Feedback, LadderSettings, MpcSettings, Reference, mpc, replan};
use std::sync::Arc;

/// The control of episode 0: u(t, x).
pub type FirstControl = Arc<dyn Fn(f64, &[f64], &mut [f64]) + Send + Sync>;

/// Why learning cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The task is not sound.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The model cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The next episode.
pub struct Proposal {
    /// Its number, from 0.
    pub episode: usize,
    /// One run for each initial state.
    pub legs: Vec<Leg>,
    /// The plan of each leg; none in episode 0.
    pub plans: Vec<Option<Plan>>,
    /// What the plans cost in the imagination they were made for, mean over the legs.
    pub planned_cost: Option<f64>,
    /// What the best plans on the mean model cost, mean over the legs.
    pub mean_cost: Option<f64>,
}

/// Learns one task.
pub struct Learner {
    task: Task,
    settings: Settings,
    first: FirstControl,
    stream: Stream,
    model: Arc<dyn StatisticalModel>,
    episode: usize,
    measured: usize,
    last: Option<Plan>,
}

impl Learner {
    /// Knows nothing yet but the task.
    pub fn new(
        task: Task,
        first: FirstControl,
        settings: Settings,
        stream: Stream,
    ) -> Result<Self, LearnError> {
        task.validate()?;
        let model = Arc::new(GaussianProcess::for_task(&task, settings.model.build())?);
        Ok(Learner { task, settings, first, stream, model, episode: 0, measured: 0, last: None })
    }

    /// What is believed of f now.
    pub fn model(&self) -> &Arc<dyn StatisticalModel> {
        &self.model
    }

    /// The next episode.
    pub fn propose(&mut self, observer: &mut dyn Observer) -> Proposal {
        let episode = self.episode;
        observer.observe(&Event::EpisodeBegan { episode, measurements: self.measured });
        if episode == 0 {
            return self.excite();
        }
        let explore = self.settings.explore;
        let stream = self.stream.child("plan").index(episode);
        let mean = Exploration::Mean.imagine(&self.model, &self.task, 0.0, stream);
        let weight = self.settings.bonus_weight;
        let imagined = explore.imagine(&self.model, &self.task, weight, stream.child("sample"));
        let planning = Planning {
            task: &self.task,
            initial_state: &self.task.initial_state,
            settings: &self.settings.plan,
            stream,
        };
        match planning.solve(explore, &imagined, &mean, self.last.as_ref()) {
            Ok(Planned { plan, mean_cost, iterations }) => {
                observer.observe(&Event::Planned {
                    episode,
                    start: 0,
                    planned_cost: plan.cost,
                    mean_cost,
                    outcome: plan.outcome,
                    iterations,
                });
                let nu = self.task.controls.len();
                let reference = Reference::new(plan.clone(), imagined.dynamics().as_mut(), &self.task.angles)
                    .with_controls(nu);
                let schedule = self.schedule(&reference);
                let policy = self.policy(reference);
                let planned_cost = Some(plan.cost);
                self.last = Some(plan.clone());
                let leg = Leg {
                    episode,
                    start: 0,
                    initial_state: self.task.initial_state.clone(),
                    policy,
                    schedule,
                };
                Proposal {
                    episode,
                    legs: vec![leg],
                    plans: vec![Some(plan)],
                    planned_cost,
                    mean_cost: Some(mean_cost),
                }
            }
            Err(error) => {
                observer.observe(&Event::NotPlanned {
                    episode,
                    start: 0,
                    reason: &error.to_string(),
                    instead: "the control of the first episode",
                });
                self.excite()
            }
        }
    }

    fn excite(&self) -> Proposal {
        let (first, scale, safe) =
            (self.first.clone(), self.settings.excitation.scale, self.task.safe_control.clone());
        let bounds = self.task.control_bounds.clone();
        let law = Law(move |t: f64, x: &[f64], u: &mut [f64]| {
            first(t, x, u);
            for (u, safe) in u.iter_mut().zip(&safe) {
                *u = safe + scale * (*u - safe);
            }
            bounds.clamp(u);
        });
        let times = equidistant(self.task.horizon, self.settings.measurements);
        let leg = Leg {
            episode: self.episode,
            start: 0,
            initial_state: self.task.initial_state.clone(),
            policy: Box::new(law),
            schedule: Box::new(Times::new(times)),
        };
        Proposal {
            episode: self.episode,
            legs: vec![leg],
            plans: vec![None],
            planned_cost: None,
            mean_cost: None,
        }
    }

    fn policy(&self, reference: Reference) -> Box<dyn Policy + Send> {
        let ladder = LadderSettings::of(&self.task);
        let track = &self.settings.track;
        let dynamics = Box::new(MeanModel::new(self.model.clone()));
        let transcription = crate::plan::Transcription::single(track.integrator.into());
        match track.policy {
            TrackerName::Feedback => Box::new(Feedback::new(reference, ladder)),
            TrackerName::Mpc => {
                let mut settings = MpcSettings::new(self.task.dims(), track.horizon);
                settings.period = track.period;
                settings.nodes = (track.nodes > 0).then_some(track.nodes);
                settings.transcription = transcription;
                settings.ilqr.max_iterations = track.max_iterations;
                Box::new(mpc(reference, dynamics, settings, ladder))
            }
            TrackerName::Replan => {
                let cost = self.task.cost.clone();
                Box::new(replan(reference, dynamics, cost, transcription, track.period, ladder))
            }
        }
    }

    fn schedule(&self, reference: &Reference) -> Box<dyn Schedule> {
        let (horizon, count) = (self.task.horizon, self.settings.measurements);
        let times = match self.settings.strategy {
            Strategy::MaxDeterminant | Strategy::MaxKernelDistance => {
                let p = 200;
                let times: Vec<f64> = (0..p).map(|i| horizon * i as f64 / (p - 1) as f64).collect();
                let dims = self.task.dims();
                let mut points = Vec::new();
                let mut x = vec![0.0; dims.state];
                for &t in &times {
                    reference.state(t, &mut x);
                    points.extend_from_slice(&x);
                    points.extend_from_slice(reference.control(t));
                }
                let mut c = Blocks::default();
                self.model.covariance(Points::new(&points, dims.point()), &mut c);
                let noise: Vec<f64> = self.task.noise_std.iter().map(|s| s * s).collect();
                let mut chosen: Vec<usize> = Vec::new();
                let mut cov: Vec<Vec<f64>> = c.iter().map(<[f64]>::to_vec).collect();
                for _ in 0..count {
                    let best = (0..p)
                        .max_by(|&a, &b| {
                            let score = |i: usize| -> f64 {
                                cov.iter().zip(&noise).map(|(c, n)| (c[i * p + i].max(0.0) + n).ln()).sum()
                            };
                            score(a).total_cmp(&score(b)).then(b.cmp(&a))
                        })
                        .unwrap_or(0);
                    chosen.push(best);
                    for (c, n) in cov.iter_mut().zip(&noise) {
                        let col: Vec<f64> = c[best * p..(best + 1) * p].to_vec();
                        let d = col[best] + n;
                        for i in 0..p {
                            for j in 0..p {
                                c[i * p + j] -= col[i] * col[j] / d;
                            }
                        }
                    }
                }
                chosen.iter().map(|&i| times[i]).collect()
            }
            _ => equidistant(horizon, count),
        };
        Box::new(Times::new(times))
    }

    /// Takes in what an episode gave.
    pub fn observe(&mut self, executed: &[Executed], observer: &mut dyn Observer) {
        let episode = self.episode;
        self.episode += 1;
        let mut new = Measurements::new(self.task.dims());
        for (start, leg) in executed.iter().enumerate() {
            let times: Vec<f64> = leg.readings.iter().map(|r| r.time).collect();
            observer.observe(&Event::Executed {
                episode,
                start,
                cost: leg.cost,
                outcome: &leg.outcome,
                measurement_times: &times,
            });
            for r in &leg.readings {
                if let Err(error) =
                    new.push(r.time, &r.state, &r.control, &r.derivative, &self.task.noise_std)
                {
                    observer.observe(&Event::Refused { episode, start, reason: &error.to_string() });
                }
            }
        }
        if new.is_empty() {
            return;
        }
        let mut model = self.model.fork();
        let trained =
            model.update(&new).and_then(|()| model.train(self.stream.child("train").index(episode)));
        match trained {
            Ok(report) => {
                self.measured += new.len();
                observer.observe(&Event::Trained {
                    episode,
                    report: &report,
                    confidence_scale: model.confidence_scale(),
                    notes: &model.notes(),
                });
                self.model = model.into();
            }
            Err(error) => observer.observe(&Event::NotUpdated { episode, reason: &error.to_string() }),
        }
    }
}

/// `count` times in the middles of equal parts of the horizon.
fn equidistant(horizon: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| horizon * (i as f64 + 0.5) / count as f64).collect()
}
