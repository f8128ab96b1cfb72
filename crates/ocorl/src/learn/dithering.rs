//! Dithering of an episode, by its settings.
//!
//! ε-greedy and Boltzmann exploration plan for the mean and disturb the control, a new draw for each `track.period` (in discrete time for each
//! hold). In episode n = 1, 2, … both are decay^(n−1) of what the settings say:
//!
//! ```text
//! ε_n = ε decay^(n−1),   T_n = temperature · |J|/K · decay^(n−1)
//! ```
//!
//! with J the planned cost and K the number of periods. So a temperature is a fraction of the average cost of a period, whatever the unit of
//! the cost: where the quadratic model of Q holds, dithering costs ½ dᵤ · temperature · |J| in an episode.

use super::clock::{Clock, ClockedCost, ClockedDynamics};
use super::settings::{DitherSettings, Settings, Time};
use crate::explore::{Exploration, MeanModel, Widened};
use crate::linalg::{Blocks, Cholesky};
use crate::model::StatisticalModel;
use crate::plan::{Ilqr, Plan, Problem, Start, Transcription};
use crate::random::Stream;
use crate::simulate::{Integrator, Policy};
use crate::system::Task;
use crate::track::{Dither, Dithered, Periods};
use std::sync::Arc;

/// What dithering is made from.
pub(super) struct Dithering<'a> {
    pub(super) task: &'a Task,
    pub(super) settings: &'a Settings,
    pub(super) episode: usize,
    /// The model that the plan was made on.
    pub(super) model: &'a Arc<dyn StatisticalModel>,
    /// How large controls are (root mean square, less the safe control) in what was measured.
    pub(super) control_size: &'a [f64],
    pub(super) stream: Stream,
}

impl Dithering<'_> {
    /// `policy`, which follows `plan` on the mean model, dithered if the settings explore that way.
    pub(super) fn apply(&self, policy: Box<dyn Policy + Send>, plan: &Plan) -> Box<dyn Policy + Send> {
        let dither = match self.settings.explore {
            Exploration::EpsilonGreedy => Some(self.epsilon_greedy()),
            Exploration::Boltzmann => self.boltzmann(plan),
            _ => None,
        };
        let Some(dither) = dither else { return policy };
        let bounds = self.task.control_bounds.clone();
        Box::new(Dithered::new(policy, dither, self.periods(plan), bounds, self.stream))
    }

    fn periods(&self, plan: &Plan) -> Periods {
        match self.settings.time {
            Time::Continuous => Periods::Every(self.settings.track.period),
            Time::Discrete => Periods::At(plan.times[..plan.times.len() - 1].to_vec()),
        }
    }

    /// How much of the dithering is left in this episode.
    fn decayed(&self) -> f64 {
        let DitherSettings { decay, .. } = self.settings.dither;
        let n = i32::try_from(self.episode.saturating_sub(1)).unwrap_or(i32::MAX);
        decay.powi(n)
    }

    /// Uniform between the limits; where there is none, about the safe control and with the root mean square of the measured controls.
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

    /// Q_uu of each interval on the mean model.
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
            state_bounds: None,
            transcription,
        };
        let start = Start { controls: plan.controls.clone(), states: Some(plan.states.clone()) };
        let mut mean = MeanModel::new(self.model.clone());
        if self.model.dims() == self.task.dims() {
            return Ilqr::default().curvature(&mut mean, &problem, start.guess()).ok();
        }
        // Holds of different lengths: the model knows them, the planner has a clock.
        let clock = Clock::new(&plan.times, plan.controls.size());
        let start = clock.start(&Start { controls: clock.with(&plan.controls, |_| 0.0), ..start });
        let cost = ClockedCost::new(clock.clone(), Arc::new(Widened::new(self.task.cost.clone(), 1, 0.0)));
        let problem =
            Problem { cost: &cost, initial_state: &clock.initial_state(plan.states.at(0)), ..problem };
        let mut mean = ClockedDynamics::new(clock, Box::new(mean));
        Ilqr::default().curvature(&mut mean, &problem, start.guess()).ok()
    }

    /// None if the plan has no curvature: then there is nothing to draw from.
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

/// Every number that dithering needs, checked.
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
