//! Dithering of the control in an episode, according to its settings.
//!
//! ε-greedy and Boltzmann exploration plan on the mean model and disturb the control, with a new draw for each `track.period` (in discrete
//! time for each hold). In episode n = 1, 2, … both parameters are decay^(n−1) times their settings:
//!
//! ```text
//! ε_n = ε decay^(n−1),   T_n = temperature · |J|/K · decay^(n−1)
//! ```
//!
//! with J the planned cost and K the number of periods. A temperature is therefore a fraction of the average cost of a period, in any unit
//! of the cost. Where the quadratic model of Q holds, dithering costs ½ dᵤ · temperature · |J| in an episode.

use super::clock::{Clock, ClockedCost, ClockedDynamics};
use super::settings::{DitherSettings, Settings, Time};
use crate::explore::{AugmentedCost, Exploration, MeanModel};
use crate::linalg::{Blocks, Cholesky};
use crate::model::StatisticalModel;
use crate::plan::{Ilqr, PathConstraints, Plan, Problem, Start, Transcription};
use crate::random::Stream;
use crate::simulate::{Integrator, Policy};
use crate::system::Task;
use crate::track::{Dither, Dithered, FallbackSettings, Periods, rate_limited};
use std::sync::Arc;

/// Inputs from which the dithering of an episode is created.
pub(super) struct Dithering<'a> {
    pub(super) task: &'a Task,
    pub(super) settings: &'a Settings,
    pub(super) episode: usize,
    /// Model on which the plan was made.
    pub(super) model: &'a Arc<dyn StatisticalModel>,
    /// Root mean square of each measured control, minus the safe control.
    pub(super) control_size: &'a [f64],
    pub(super) stream: Stream,
}

impl Dithering<'_> {
    /// Returns `policy`, which follows `plan` on the mean model, with dithering if the settings select it.
    pub(super) fn apply(&self, policy: Box<dyn Policy + Send>, plan: &Plan) -> Box<dyn Policy + Send> {
        let dither = match self.settings.explore {
            Exploration::EpsilonGreedy => Some(self.epsilon_greedy()),
            Exploration::Boltzmann => self.boltzmann(plan),
            _ => None,
        };
        let Some(dither) = dither else { return policy };
        let bounds = self.task.control_bounds.clone();
        let dithered = Box::new(Dithered::new(policy, dither, self.periods(plan), bounds, self.stream));
        let samples = &plan.times[..plan.times.len() - 1];
        let samples = (self.settings.time == Time::Discrete).then_some(samples);
        rate_limited(dithered, &FallbackSettings::of(self.task), samples)
    }

    fn periods(&self, plan: &Plan) -> Periods {
        match self.settings.time {
            Time::Continuous => Periods::Every(self.settings.track.period),
            Time::Discrete => Periods::At(plan.times[..plan.times.len() - 1].to_vec()),
        }
    }

    /// Returns the decay factor of this episode.
    fn decayed(&self) -> f64 {
        let DitherSettings { decay, .. } = self.settings.dither;
        let n = i32::try_from(self.episode.saturating_sub(1)).unwrap_or(i32::MAX);
        decay.powi(n)
    }

    /// Uniform draws between the limits. Without limits: centred at the safe control, with the root mean square of the measured controls.
    fn epsilon_greedy(&self) -> Dither {
        let mut range = self.task.control_bounds.clone();
        for (r, (safe, size)) in self.task.safe_control.iter().zip(self.control_size).enumerate() {
            let half = 3_f64.sqrt() * if *size > 0.0 { *size } else { 1.0 };
            if !range.lower[r].is_finite() {
                range.lower[r] = (safe - half).min(range.upper[r]);
            }
            if !range.upper[r].is_finite() {
                range.upper[r] = (safe + half).max(range.lower[r]);
            }
        }
        Dither::EpsilonGreedy { probability: self.settings.dither.epsilon * self.decayed(), range }
    }

    /// Computes Q_uu of each interval on the mean model.
    fn curvature(&self, plan: &Plan) -> Option<Blocks> {
        let transcription = Transcription::single(match self.settings.time {
            Time::Continuous => self.settings.plan.integrator.into(),
            Time::Discrete => Integrator::EulerTrapezoid,
        });
        let problem = Problem {
            cost: self.task.cost.as_ref(),
            initial_state: plan.states.at(0),
            times: &plan.times,
            control_bounds: &self.task.control_bounds,
            rate_limit: None,
            state_bounds: None,
            constraints: PathConstraints::default(),
            transcription,
        };
        let start = Start { controls: plan.controls.clone(), states: Some(plan.states.clone()) };
        let mut mean = MeanModel::new(self.model.clone());
        if self.model.dims() == self.task.dims() {
            return Ilqr::default().curvature(&mut mean, &problem, start.guess()).ok();
        }
        // Holds of unequal length: τ is a control of the model, and the time is a state of the planner.
        let clock = Clock::new(&plan.times, plan.controls.size());
        let start = clock.start(&Start { controls: clock.with(&plan.controls, |_| 0.0), ..start });
        let cost =
            ClockedCost::new(clock.clone(), Arc::new(AugmentedCost::new(self.task.cost.clone(), 1, 0.0)));
        let problem =
            Problem { cost: &cost, initial_state: &clock.initial_state(plan.states.at(0)), ..problem };
        let mut mean = ClockedDynamics::new(clock, Box::new(mean));
        Ilqr::default().curvature(&mut mean, &problem, start.guess()).ok()
    }

    /// Normal draws with covariance T Q_uu⁻¹. `None` if the curvature of the plan is not available.
    fn boltzmann(&self, plan: &Plan) -> Option<Dither> {
        let curvature = self.curvature(plan)?;
        let horizon = plan.times[plan.times.len() - 1] - plan.times[0];
        let count = match self.settings.time {
            Time::Continuous => (horizon / self.settings.track.period).max(1.0),
            Time::Discrete => plan.controls.len() as f64,
        };
        let mut factors = Vec::with_capacity(curvature.len());
        for (block, t) in curvature.iter().zip(plan.times.windows(2)) {
            // Q of an interval grows with its length; the draw is held for a period.
            let periods = horizon / count / (t[1] - t[0]);
            let scale = if self.settings.time == Time::Continuous { periods } else { 1.0 };
            let scaled: Vec<f64> = block.iter().map(|q| scale * q).collect();
            factors.push(Cholesky::new(&scaled, plan.controls.size()).ok()?);
        }
        let temperature = self.settings.dither.temperature * self.decayed() * plan.cost.abs() / count;
        Some(Dither::Boltzmann { temperature, times: plan.times[..plan.times.len() - 1].to_vec(), factors })
    }
}

/// Checks every dithering parameter.
pub(super) fn validate(settings: &DitherSettings) -> Result<(), (&'static str, f64, &'static str)> {
    let DitherSettings { epsilon, temperature, decay } = *settings;
    if !(0.0..=1.0).contains(&epsilon) {
        return Err(("dither.epsilon", epsilon, "a probability must be between 0 and 1"));
    }
    if !(temperature >= 0.0 && temperature.is_finite()) {
        return Err(("dither.temperature", temperature, "it must be zero or positive, and finite"));
    }
    if !(0.0..=1.0).contains(&decay) {
        return Err(("dither.decay", decay, "it must be between 0 and 1"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let sound = DitherSettings::default();
        assert!(validate(&sound).is_ok());
        for (settings, path) in [
            (DitherSettings { epsilon: 1.5, ..sound }, "dither.epsilon"),
            (DitherSettings { temperature: f64::NAN, ..sound }, "dither.temperature"),
            (DitherSettings { decay: -0.1, ..sound }, "dither.decay"),
        ] {
            assert_eq!(validate(&settings).unwrap_err().0, path);
        }
    }
}
