//! Discrete time: the variant of the paper's appendix, in which the system is looked at, and its control changed, at samples only.
//!
//! An episode of m samples is K = m − 1 holds, sampled at both ends:
//!
//! ```text
//! t_{k+1} = t_k + τ_k,   u(t) = u_k for t_k ≤ t < t_{k+1},   x_{k+1} = h(x_k, u_k, τ_k)
//! ```
//!
//! | `discrete.holds` | τ_k |
//! |---|---|
//! | `equal` | T/K |
//! | `geometric` | T 10^{k/(K−1)}/Σ 10^{j/(K−1)}: the last is ten times the first |
//! | a list of times | between these |
//!
//! M samples an episode with `equidistant`, so that the exact zero-order hold with M − 1 holds
//! ([`baseline::held`](crate::baseline::held)) is the least that can be reached; max(2, n) in episode n with `equidistant-growing`, M in
//! episode 0 as in continuous time. Then τ differs from episode to episode: it is an input of the model.
//!
//! **Data.** A hold gives one transition, as the mean derivative over it:
//!
//! ```text
//! y_k = (x_{k+1} − x_k)/τ + ε = g(x_k, u_k, τ) + ε,   h(x, u, τ) = x + τ g(x, u, τ)
//! ```
//!
//! ε has the standard deviation that measured derivatives have in continuous time: equal footing. A measured x_{k+1} then has τ times it.
//!
//! **Model.** One Gaussian process of g with inputs (x, u, τ), τ as the last control. An episode of equal holds sees it at its own τ
//! ([`AtInterval`]), as a function of (x, u); with unequal ones the planner has a clock that says which τ holds (`clock`); from there on all is as in continuous time, because Euler steps of length τ are the discrete model:
//!
//! ```text
//! x_{k+1} = x_k + τ (μ(x_k, u_k) + β σ(x_k, u_k) ⊙ η_k)
//! ```
//!
//! **Plan.** On the K holds themselves: there is no finer grid, and a coarser one would have another τ. Of the way between two samples
//! nothing is known, so the running cost is the trapezoid between both ends, with the control that is held
//! ([`EulerTrapezoid`](Integrator::EulerTrapezoid)):
//!
//! ```text
//! J = Σ_k τ/2 (c(x_k, u_k) + c(x_{k+1}, u_k)) + c_T(x_K)
//! ```
//!
//! **Policy.** u = u_k + K_k (x(t_k) − x_k), taken at the samples and held ([`Sampled`]). In episode 0 the system's first control,
//! likewise.
//!
//! What an episode costs is integrated on the true system, as ever.

use super::planning::Grid;
use super::settings::{HoldGrid, HoldRule, Settings, SettingsError, Strategy, Time};
use crate::explore::Widened;
use crate::model::{AtInterval, StatisticalModel};
use crate::plan::{Transcription, uniform_grid};
use crate::select::{Schedule, Times};
use crate::simulate::{Integrator, Policy};
use crate::system::{Dims, Quantity, Task};
use crate::track::{Feedback, LadderSettings, Reference, Sampled};
use std::sync::Arc;

impl Settings {
    /// K: holds of an episode; none in continuous time.
    pub fn holds(&self, episode: usize) -> Option<usize> {
        let samples = match self.strategy {
            Strategy::EquidistantGrowing if episode > 0 => episode,
            _ => self.measurements,
        };
        (self.time == Time::Discrete).then(|| samples.max(2) - 1)
    }

    /// Dimensions of what the model learns from: (x, u), in discrete time (x, u, τ) with τ as the last control.
    pub fn model_dims(&self, task: &Task) -> Dims {
        let Dims { state, control } = task.dims();
        Dims { state, control: control + usize::from(self.time == Time::Discrete) }
    }
}

impl Settings {
    /// Times of an explicit list: one for each hold, increasing, until the horizon.
    pub(super) fn validate_holds(&self, task: &Task) -> Result<(), SettingsError> {
        let HoldGrid::Times(times) = &self.discrete.holds else { return Ok(()) };
        let error = |value: String, need| Err(SettingsError { path: "discrete.holds", value, need });
        if self.time == Time::Continuous {
            return error(format!("{times:?}"), "a list of times needs time = discrete");
        }
        if self.strategy != Strategy::Equidistant {
            let need = "a list of times needs strategy = equidistant: every episode has the same holds";
            return error(format!("{times:?}"), need);
        }
        if times.len() + 1 != self.measurements {
            let need = "there must be one time less than measurements: where each hold ends";
            return error(format!("{} times with measurements = {}", times.len(), self.measurements), need);
        }
        let ends = |t: f64| (t - task.horizon).abs() <= END * task.horizon;
        let increasing = times.iter().zip(std::iter::once(&0.0).chain(times)).all(|(t, before)| t > before);
        if !increasing || !times.last().is_some_and(|t| ends(*t)) {
            let need = "times must be positive and increase, and the last must be the horizon";
            return error(format!("{times:?}"), need);
        }
        Ok(())
    }
}

/// By how much the last time of a list may miss the horizon, as a fraction of it.
const END: f64 = 1e-9;

/// The last hold to the first, if they grow geometrically.
const SPREAD: f64 = 10.0;

/// The holds of an episode.
pub(super) struct Holds {
    /// t_0, …, t_K
    times: Vec<f64>,
    equal: bool,
}

/// `count` holds, each longer than the one before by the same factor.
fn geometric(horizon: f64, count: usize) -> Vec<f64> {
    let factor = SPREAD.powf(1.0 / (count.max(2) - 1) as f64);
    let mut ends = vec![0.0];
    let mut length = 1.0;
    for _ in 0..count {
        ends.push(ends[ends.len() - 1] + length);
        length *= factor;
    }
    let total = ends[count];
    ends.iter().map(|t| horizon * (t / total)).collect()
}

impl Holds {
    /// None in continuous time.
    pub(super) fn of(task: &Task, settings: &Settings, episode: usize) -> Option<Self> {
        let count = settings.holds(episode)?;
        let times = match &settings.discrete.holds {
            HoldGrid::Rule(HoldRule::Equal) => uniform_grid(task.horizon, count),
            HoldGrid::Rule(HoldRule::Geometric) => geometric(task.horizon, count),
            HoldGrid::Times(ends) => {
                let inner = ends.iter().take(ends.len().saturating_sub(1)).copied();
                std::iter::once(0.0).chain(inner).chain([task.horizon]).collect()
            }
        };
        Some(Holds { times, equal: settings.discrete.holds == HoldGrid::default() })
    }

    /// The task as it is planned: where holds differ in length, τ is its last control, and the grid decides on it.
    pub(super) fn task(&self, task: &Task) -> Option<Task> {
        let lengths: Vec<f64> = self.times.windows(2).map(|t| t[1] - t[0]).collect();
        (!self.equal).then(|| {
            let mut task = task.clone();
            task.controls.push(Quantity { name: "length of the hold".into(), unit: String::new() });
            task.cost = Arc::new(Widened::new(task.cost.clone(), 1, 0.0));
            task.control_bounds.lower.push(lengths.iter().copied().fold(f64::INFINITY, f64::min));
            task.control_bounds.upper.push(lengths.iter().copied().fold(0.0, f64::max));
            task.safe_control.push(lengths.iter().sum::<f64>() / lengths.len() as f64);
            task
        })
    }

    /// The model as functions of (x, u) over holds of this length; as it is where they differ.
    pub(super) fn view(&self, model: &Arc<dyn StatisticalModel>) -> Arc<dyn StatisticalModel> {
        if !self.equal {
            return model.clone();
        }
        let last = self.times.len() - 1;
        Arc::new(AtInterval::new(model.clone(), self.times[last] / last as f64))
    }

    /// What to plan on.
    pub(super) fn grid(&self) -> Grid {
        let transcription = Transcription::single(Integrator::EulerTrapezoid);
        Grid { fine: self.times.clone(), coarse: None, transcription, clock: !self.equal }
    }

    /// `policy`, sampled at the holds' beginnings and measured at all of their ends.
    pub(super) fn sample(
        &self,
        task: &Task,
        policy: impl Policy + Send + 'static,
    ) -> (Box<dyn Policy + Send>, Box<dyn Schedule>) {
        let beginnings = &self.times[..self.times.len() - 1];
        let policy = Sampled::new(policy, beginnings, task.controls.len());
        (Box::new(policy), Box::new(Times::new(self.times.clone())))
    }
}

/// Follows `reference` by its gains, sampled at its own nodes.
pub(super) fn follow(task: &Task, reference: Reference) -> (Box<dyn Policy + Send>, Box<dyn Schedule>) {
    let holds = Holds { times: reference.plan.times.clone(), equal: true };
    holds.sample(task, Feedback::new(reference, LadderSettings::of(task)))
}
