//! The plan of an episode: the best of several searches on the mean model, then on what exploration imagines.

use super::clock::{Clock, ClockedCost, ClockedDynamics};
use super::settings::PlanSettings;
use super::weight_search::WeightSearch;
use crate::explore::{Exploration, Imagined};
use crate::linalg::Blocks;
use crate::plan::{
    self, ForwardPass, Ilqr, Plan, PlanError, Problem, Start, Transcription, best_of, better, in_stages,
    uniform_grid,
};
use crate::random::Stream;
use crate::system::{Dynamics, Task};

/// What is planned for, and how.
pub(super) struct Planning<'a> {
    pub(super) task: &'a Task,
    pub(super) initial_state: &'a [f64],
    pub(super) settings: &'a PlanSettings,
    pub(super) grid: Grid,
    /// How large controls are (root mean square, less the safe control) in what was measured.
    pub(super) control_size: &'a [f64],
    pub(super) stream: Stream,
}

/// Where a plan is looked for.
pub(super) struct Grid {
    /// Nodes of the plan.
    pub(super) fine: Vec<f64>,
    /// Nodes of the first searches, if those are not made on the plan's own.
    pub(super) coarse: Option<Vec<f64>>,
    /// How an interval is integrated.
    pub(super) transcription: Transcription,
    /// Whether the last control of the task is the length of an interval.
    pub(super) clock: bool,
}

impl Grid {
    /// As fine as the settings say, the first searches on a quarter of it.
    pub(super) fn continuous(task: &Task, settings: &PlanSettings) -> Self {
        Grid {
            fine: uniform_grid(task.horizon, settings.intervals),
            coarse: Some(uniform_grid(task.horizon, settings.intervals.div_ceil(COARSER))),
            transcription: Transcription::single(settings.integrator.into()),
            clock: false,
        }
    }
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

/// A plan on a coarse grid is refined if it costs at most this much more than the best known: a coarse grid errs by less.
const WORTH_REFINING: f64 = 1.05;

/// Intervals of the fine grid to one of the coarse.
const COARSER: usize = 4;

impl Planning<'_> {
    /// Plans for `imagined`; `mean` is the problem on the mean model. `last` is what was planned before.
    ///
    /// On the mean model: from the last plan on the fine grid, from other starts on a coarse one, in stages, of which the best is refined if it
    /// could be better (without a coarse grid: on the fine one at once). Then for `imagined`: from the last plan again, and from the best on the
    /// mean, so that a plan never costs more in the imagination than that one.
    pub(super) fn solve(
        &self,
        explore: Exploration,
        imagined: &Imagined,
        mean: &Imagined,
        last: Option<&Plan>,
    ) -> Result<Planned, PlanError> {
        let nu = self.task.controls.len();
        let Grid { fine, coarse, .. } = &self.grid;
        let mut iterations = 0;
        let mut count = |plan: Result<Plan, PlanError>| plan.inspect(|p| iterations += p.trace.len());
        let warm = |last: &Plan, count: usize| {
            // On other nodes only the controls can be taken over.
            let Start { controls, states } = if last.times == *fine {
                Start { controls: last.controls.clone(), states: Some(last.states.clone()) }
            } else {
                last.resampled(fine)
            };
            Start { controls: narrow(&controls, count), states }
        };
        let best = last.map(|last| count(self.search(mean, fine, &[warm(last, nu)])));
        let first = coarse.as_ref().unwrap_or(fine);
        let (stages, rest) = (self.settings.stages, &self.task.safe_control);
        let other =
            in_stages(first, stages, rest, &|intervals| self.starts(intervals), &mut |times, starts| {
                count(self.search(mean, times, starts))
            });
        let best = match (best, other) {
            (Some(Ok(known)), Ok(other)) if other.cost > WORTH_REFINING * known.cost => known,
            (Some(Ok(known)), Err(_)) => known,
            (_, Err(error)) => return Err(error),
            (known, Ok(other)) if coarse.is_none() => best_so_far(known, Ok(other))?,
            (known, Ok(other)) => {
                let refined = count(self.search(mean, fine, &[other.refined(fine, stages)]));
                best_so_far(known, refined)?
            }
        };
        if explore.plans_on_the_mean() {
            return Ok(Planned { mean_cost: best.cost, plan: best, iterations });
        }
        let imagined = &imagined.clone().with_cost_rate(self.task, best.cost.abs() / self.task.horizon);
        let extra = imagined.hallucinated_controls();
        if let Some(counts) = imagined.weights() {
            let again = last.filter(|p| p.controls.size() == nu + extra);
            let search = WeightSearch { planning: self, imagined, mean, counts };
            let from_mean = Start { controls: best.controls.clone(), states: Some(best.states.clone()) };
            let mut plan =
                search.solve(from_mean, vec![0.0; extra]).map(|(plan, n)| (plan, iterations + n))?;
            if let Some(last) = again
                && let Ok((other, n)) = search.solve(warm(last, nu), last.controls.at(0)[nu..].to_vec())
            {
                let best = if other.cost < plan.0.cost { other } else { plan.0 };
                plan = (best, plan.1 + n);
            }
            return Ok(Planned { plan: plan.0, mean_cost: best.cost, iterations: plan.1 });
        }
        let again = last.filter(|p| p.controls.size() == nu + extra).map(|p| warm(p, nu + extra));
        let from_last = again.map(|again| count(self.search(imagined, fine, &[again])));
        let mean_cost = best.cost;
        let plan = match from_last {
            Some(Ok(plan)) if plan.cost <= mean_cost => plan,
            other => {
                // With η = 0 the mean plan's states are a trajectory of the optimistic model as well.
                let states = (extra > 0).then_some(best.states);
                let from_mean = Start { controls: widen(&best.controls, extra), states };
                best_so_far(other, count(self.search(imagined, fine, &[from_mean])))?
            }
        };
        Ok(Planned { plan, mean_cost, iterations })
    }

    /// Where the search begins without a plan: the safe control, and smooth random controls about as large as those seen so far.
    fn starts(&self, intervals: usize) -> Vec<Start> {
        let safe = &self.task.safe_control;
        let mut starts = vec![Start::constant(safe, intervals)];
        for i in 0..self.settings.random_starts {
            let rng = &mut self.stream.index(i).rng();
            let mut start = Start::random(safe, 1.0, 2.0, intervals, rng);
            for k in 0..intervals {
                for ((u, safe), size) in start.controls.at_mut(k).iter_mut().zip(safe).zip(self.control_size)
                {
                    *u = safe + size * (*u - safe);
                }
            }
            starts.push(start);
        }
        starts
    }

    /// The best of the searches from `starts`.
    pub(super) fn search(
        &self,
        imagined: &Imagined,
        times: &[f64],
        starts: &[Start],
    ) -> Result<Plan, PlanError> {
        let search = plan::Settings {
            max_iterations: self.settings.max_iterations,
            gradient_tolerance: 1e-6,
            cost_tolerance: 1e-7,
            // σ is costly at one point after the other; μ is not.
            forward: if imagined.hallucinated_controls() > 0 {
                ForwardPass::Batch
            } else {
                ForwardPass::Rollout
            },
            ..plan::Settings::default()
        };
        self.pose(imagined, times, |dynamics, problem, clock| match clock {
            None => best_of(dynamics, problem, &search, starts),
            Some(clock) => {
                let starts: Vec<Start> = starts.iter().map(|start| clock.start(start)).collect();
                best_of(dynamics, problem, &search, &starts).map(|plan| clock.plan(plan))
            }
        })
    }

    /// dJ/du_k along a trajectory of what is imagined.
    pub(super) fn gradient(
        &self,
        imagined: &Imagined,
        times: &[f64],
        trajectory: &Start,
    ) -> Result<Blocks, PlanError> {
        self.pose(imagined, times, |dynamics, problem, clock| {
            let at = clock.map_or_else(|| trajectory.clone(), |clock| clock.start(trajectory));
            let (_, each) = Ilqr::default().gradient(dynamics().as_mut(), problem, at.guess())?;
            Ok(clock.map_or_else(|| each.clone(), |clock| clock.with(&each, |_| 0.0)))
        })
    }

    /// What the planner is to solve; with a clock among the states where intervals differ in what they mean.
    fn pose<R>(
        &self,
        imagined: &Imagined,
        times: &[f64],
        act: impl FnOnce(&Make<'_>, &Problem<'_>, Option<&Clock>) -> R,
    ) -> R {
        let problem = Problem {
            cost: imagined.cost.as_ref(),
            initial_state: self.initial_state,
            times,
            control_bounds: &imagined.bounds,
            state_bounds: Some(&self.task.state_bounds),
            transcription: self.grid.transcription,
        };
        if !self.grid.clock {
            return act(&|| imagined.dynamics(), &problem, None);
        }
        let clock = Clock::new(times, self.task.controls.len() - 1);
        let cost = ClockedCost::new(clock.clone(), imagined.cost.clone());
        let make = || Box::new(ClockedDynamics::new(clock.clone(), imagined.dynamics())) as Box<dyn Dynamics>;
        let problem = Problem {
            cost: &cost,
            initial_state: &clock.initial_state(self.initial_state),
            control_bounds: &clock.control_bounds(&imagined.bounds),
            state_bounds: Some(&Clock::state_bounds(&self.task.state_bounds)),
            ..problem
        };
        act(&make, &problem, Some(&clock))
    }
}

/// Makes dynamics, as often as they are needed.
type Make<'a> = dyn Fn() -> Box<dyn Dynamics> + Sync + 'a;

/// The better of what there is, if there is anything yet, and what comes.
fn best_so_far(
    known: Option<Result<Plan, PlanError>>,
    next: Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    match known {
        Some(known) => better(known, next),
        None => next,
    }
}

/// The first `count` of each control.
fn narrow(controls: &Blocks, count: usize) -> Blocks {
    Blocks::from_vec(controls.iter().flat_map(|u| &u[..count]).copied().collect(), count)
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
