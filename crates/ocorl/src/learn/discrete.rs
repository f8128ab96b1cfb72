//! Discrete time: the variant of the paper's appendix, in which the system is measured, and its control changed, at sampling times only.
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
//! With `equidistant` an episode has M samples, so the optimal zero-order hold with M − 1 holds
//! ([`baseline::held`](crate::baseline::held)) is the lower bound of its cost. With `equidistant-growing` episode n has max(2, n) samples,
//! and episode 0 has M as in continuous time. Then τ differs from episode to episode: it is an input of the model.
//!
//! **Data.** Each hold gives one transition, stored as the mean derivative over the hold:
//!
//! ```text
//! y_k = (x_{k+1} − x_k)/τ + ε = g(x_k, u_k, τ) + ε,   h(x, u, τ) = x + τ g(x, u, τ)
//! ```
//!
//! ε has the standard deviation of measured derivatives in continuous time, for a fair comparison. A measured x_{k+1} then has τ times it.
//!
//! **Model.** One Gaussian process of g with inputs (x, u, τ), τ as the last control. For equal holds, an episode evaluates it at its own τ
//! ([`AtInterval`]) as a function of (x, u). For unequal holds the planner has the time as a state that determines τ (`clock`). All else is
//! as in continuous time, because Euler steps of length τ are the discrete model:
//!
//! ```text
//! x_{k+1} = x_k + τ (μ(x_k, u_k) + β σ(x_k, u_k) ⊙ η_k)
//! ```
//!
//! **Plan.** The plan is made on the K holds themselves: there is no finer grid, and a coarser one would have another τ. The trajectory
//! between two samples is not observed, so the running cost is the trapezoidal rule over both ends, with the held control
//! ([`EulerTrapezoid`](Integrator::EulerTrapezoid)):
//!
//! ```text
//! J = Σ_k τ/2 (c(x_k, u_k) + c(x_{k+1}, u_k)) + c_T(x_K)
//! ```
//!
//! **Policy.** u = u_k + K_k (x(t_k) − x_k), evaluated at the samples and held ([`Sampled`]). Episode 0 holds the system's first control in
//! the same manner.
//!
//! The cost of an episode is integrated on the true system, as in continuous time.

use super::planning::Grid;
use super::settings::{HoldGrid, HoldRule, Settings, SettingsError, Strategy, Time};
use crate::explore::AugmentedCost;
use crate::model::{AtInterval, StatisticalModel};
use crate::plan::{Transcription, uniform_grid};
use crate::select::{Schedule, Times};
use crate::simulate::{Integrator, Policy};
use crate::system::{Dims, Quantity, Task};
use crate::track::{FallbackSettings, Feedback, Reference, Sampled, rate_limited};
use std::sync::Arc;

impl Settings {
    /// Returns the number of holds K of an episode; `None` in continuous time.
    pub fn holds(&self, episode: usize) -> Option<usize> {
        let samples = match self.strategy {
            Strategy::EquidistantGrowing if episode > 0 => episode,
            _ => self.measurements,
        };
        (self.time == Time::Discrete).then(|| samples.max(2) - 1)
    }

    /// Returns the input dimensions of the model: (x, u), or in discrete time (x, u, τ) with τ as the last control.
    pub fn model_dims(&self, task: &Task) -> Dims {
        let Dims { state, control } = task.dims();
        Dims { state, control: control + usize::from(self.time == Time::Discrete) }
    }
}

impl Settings {
    /// Checks an explicit list of times: one for each hold, increasing, the last at the horizon.
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

/// Largest deviation of the last time of a list from the horizon, as a fraction of the horizon.
const END: f64 = 1e-9;

/// Ratio of the last hold to the first for geometrically growing holds.
const SPREAD: f64 = 10.0;

/// Holds of an episode in discrete time.
pub(super) struct Holds {
    /// Sampling times t_0, …, t_K.
    times: Vec<f64>,
    equal: bool,
}

/// Returns the lengths of `count` holds, each longer than the previous one by the same factor.
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
    /// Returns the holds of an episode; `None` in continuous time.
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

    /// Returns the task as it is planned. For holds of unequal length τ is its last control, which the grid determines.
    pub(super) fn task(&self, task: &Task) -> Option<Task> {
        let lengths: Vec<f64> = self.times.windows(2).map(|t| t[1] - t[0]).collect();
        (!self.equal).then(|| {
            let mut task = task.clone();
            task.controls.push(Quantity { name: "length of the hold".into(), unit: String::new() });
            task.cost = Arc::new(AugmentedCost::new(task.cost.clone(), 1, 0.0));
            task.control_bounds.lower.push(lengths.iter().copied().fold(f64::INFINITY, f64::min));
            task.control_bounds.upper.push(lengths.iter().copied().fold(0.0, f64::max));
            if let Some(limit) = &mut task.rate_limit {
                limit.max_rate.push(f64::INFINITY);
            }
            task.safe_control.push(lengths.iter().sum::<f64>() / lengths.len() as f64);
            task
        })
    }

    /// Returns the model as a function of (x, u) for holds of equal length, and unchanged for holds of unequal length.
    pub(super) fn view(&self, model: &Arc<dyn StatisticalModel>) -> Arc<dyn StatisticalModel> {
        if !self.equal {
            return model.clone();
        }
        let last = self.times.len() - 1;
        Arc::new(AtInterval::new(model.clone(), self.times[last] / last as f64))
    }

    /// Returns the grid on which the plan is made.
    pub(super) fn grid(&self) -> Grid {
        let transcription = Transcription::single(Integrator::EulerTrapezoid);
        Grid {
            fine: self.times.clone(),
            coarse: None,
            transcription,
            coarse_transcription: transcription,
            clock: !self.equal,
            held: true,
        }
    }

    /// Returns `policy` sampled at the start of each hold, and a schedule that measures at all their ends.
    pub(super) fn sample(
        &self,
        task: &Task,
        policy: impl Policy + Send + 'static,
    ) -> (Box<dyn Policy + Send>, Box<dyn Schedule>) {
        let beginnings = &self.times[..self.times.len() - 1];
        let policy: Box<dyn Policy + Send> = if task.rate_limit.is_some() {
            rate_limited(Box::new(policy), &FallbackSettings::of(task), Some(beginnings))
        } else {
            Box::new(Sampled::new(policy, beginnings, task.controls.len()))
        };
        (policy, Box::new(Times::new(self.times.clone())))
    }
}

/// Returns a policy that follows `reference` by its gains, sampled at its own nodes, and its schedule.
pub(super) fn follow(task: &Task, reference: Reference) -> (Box<dyn Policy + Send>, Box<dyn Schedule>) {
    let holds = Holds { times: reference.plan.times.clone(), equal: true };
    holds.sample(task, Feedback::new(reference, &FallbackSettings::of(task)))
}
