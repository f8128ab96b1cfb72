//! Discrete time: the variant of the paper's appendix, in which the system is looked at, and its control changed, at samples only.
//!
//! An episode of m samples is K = m − 1 holds of equal length, sampled at both ends:
//!
//! ```text
//! t_k = k τ,   τ = T/K,   u(t) = u_k for t_k ≤ t < t_{k+1},   x_{k+1} = h(x_k, u_k, τ)
//! ```
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
//! **Model.** One Gaussian process of g with inputs (x, u, τ), τ as the last control. An episode sees it at its own τ ([`AtInterval`]),
//! as a function of (x, u); from there on all is as in continuous time, because Euler steps of length τ are the discrete model:
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
use super::settings::{Settings, Strategy, Time};
use crate::model::{AtInterval, StatisticalModel};
use crate::plan::{Transcription, uniform_grid};
use crate::select::{Schedule, Times};
use crate::simulate::{Integrator, Policy};
use crate::system::{Dims, Task};
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

/// The holds of an episode.
pub(super) struct Holds {
    /// t_0, …, t_K
    times: Vec<f64>,
}

impl Holds {
    /// None in continuous time.
    pub(super) fn of(task: &Task, settings: &Settings, episode: usize) -> Option<Self> {
        settings.holds(episode).map(|count| Holds { times: uniform_grid(task.horizon, count) })
    }

    /// The model as functions of (x, u) over holds of this length.
    pub(super) fn view(&self, model: &Arc<dyn StatisticalModel>) -> Arc<dyn StatisticalModel> {
        let last = self.times.len() - 1;
        Arc::new(AtInterval::new(model.clone(), self.times[last] / last as f64))
    }

    /// What to plan on.
    pub(super) fn grid(&self) -> Grid {
        let transcription = Transcription::single(Integrator::EulerTrapezoid);
        Grid { fine: self.times.clone(), coarse: None, transcription }
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
    let holds = Holds { times: reference.plan.times.clone() };
    holds.sample(task, Feedback::new(reference, LadderSettings::of(task)))
}
