//! The plan of an episode: the best of several searches on the mean model, then on what exploration imagines.

use super::settings::PlanSettings;
use crate::explore::{Exploration, Imagined};
use crate::linalg::Blocks;
use crate::plan::{self, Plan, PlanError, Problem, Start, Transcription, best_of, uniform_grid};
use crate::random::Stream;
use crate::system::Task;

/// What is planned for, and how.
pub(super) struct Planning<'a> {
    pub(super) task: &'a Task,
    pub(super) initial_state: &'a [f64],
    pub(super) settings: &'a PlanSettings,
    pub(super) stream: Stream,
}

/// A plan and what it was made for.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// On the imagined dynamics, hallucinated controls included.
    pub(super) plan: Plan,
    /// What the best plan on the mean model costs.
    pub(super) mean_cost: f64,
    /// Iterations of all searches.
    pub(super) iterations: usize,
}

impl Planning<'_> {
    /// Plans for `imagined`; `mean` is the problem on the mean model. `last` is what was planned or done before.
    pub(super) fn solve(
        &self,
        explore: Exploration,
        imagined: &Imagined,
        mean: &Imagined,
        last: Option<&Plan>,
    ) -> Result<Planned, PlanError> {
        let intervals = self.settings.intervals;
        let nu = self.task.controls.len();
        let safe = &self.task.safe_control;
        let mut starts = Vec::new();
        if let Some(last) = last {
            let reference = narrow(last, nu);
            starts.push(Start { controls: reference.clone(), states: Some(last.states.clone()) });
            starts.push(Start { controls: reference, states: None });
        }
        starts.push(Start::constant(safe, intervals));
        for i in 0..self.settings.random_starts {
            starts.push(Start::random(safe, 0.5, 2.0, intervals, &mut self.stream.index(i).rng()));
        }
        let best = self.search(mean, &starts)?;
        let mut iterations = best.trace.len();
        let mean_cost = best.cost;
        if explore == Exploration::Mean {
            return Ok(Planned { plan: best, mean_cost, iterations });
        }
        let extra = imagined.hallucinated_controls();
        let mut starts = vec![Start { controls: widen(&best.controls, extra), states: None }];
        if let Some(last) = last.filter(|p| p.controls.size() == nu + extra) {
            starts.push(Start { controls: last.controls.clone(), states: Some(last.states.clone()) });
        }
        let plan = self.search(imagined, &starts)?;
        iterations += plan.trace.len();
        Ok(Planned { plan, mean_cost, iterations })
    }

    /// The best of the searches from `starts`.
    fn search(&self, imagined: &Imagined, starts: &[Start]) -> Result<Plan, PlanError> {
        let times = uniform_grid(self.task.horizon, self.settings.intervals);
        let problem = Problem {
            cost: imagined.cost.as_ref(),
            initial_state: self.initial_state,
            times: &times,
            control_bounds: &imagined.bounds,
            state_bounds: Some(&self.task.state_bounds),
            transcription: Transcription::single(self.settings.integrator.into()),
        };
        let search = plan::Settings {
            max_iterations: self.settings.max_iterations,
            gradient_tolerance: 1e-6,
            cost_tolerance: 1e-7,
            ..plan::Settings::default()
        };
        best_of(&|| imagined.dynamics(), &problem, &search, starts)
    }
}

/// The first `count` controls.
fn narrow(plan: &Plan, count: usize) -> Blocks {
    Blocks::from_vec(plan.controls.iter().flat_map(|u| &u[..count]).copied().collect(), count)
}

/// `extra` zeros after each control.
fn widen(controls: &Blocks, extra: usize) -> Blocks {
    let mut out = Vec::with_capacity((controls.size() + extra) * controls.len());
    for u in controls.iter() {
        out.extend_from_slice(u);
        out.extend(std::iter::repeat_n(0.0, extra));
    }
    Blocks::from_vec(out, controls.size() + extra)
}
