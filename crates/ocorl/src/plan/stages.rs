//! Continuation strategies: searches over a growing horizon, and searches on a coarse grid that a fine grid refines.

use super::rollout::DIVERGED;
use super::{Plan, PlanError, Problem, Settings, Start, best_of};
use crate::linalg::{Blocks, Points};
use crate::simulate::Trajectory;
use crate::system::Dynamics;

/// A search for the best plan on given node times from given starts.
pub type Search<'a> = dyn FnMut(&[f64], &[Start]) -> Result<Plan, PlanError> + 'a;

/// Searches for the best plan on `times` over a horizon that grows in stages.
///
/// Stage s of S plans the first s/S of the intervals from two kinds of starts: those of `starts` (a function of the number of intervals),
/// and the plan of the previous stage, prolonged by resting at its last state. The prolonged start is infeasible; its gaps close during the
/// search. A long swing-up has many poor local minima (wait, swing, and fall again). The optimum of its first part leads into the basin of
/// a good one. With one stage this is a single search.
///
/// A stage that finds no plan is skipped; only the last one must succeed. The terminal cost applies at the end of every stage.
pub fn in_stages(
    times: &[f64],
    stages: usize,
    rest: &[f64],
    starts: &dyn Fn(usize) -> Vec<Start>,
    search: &mut Search<'_>,
) -> Result<Plan, PlanError> {
    let intervals = times.len().saturating_sub(1);
    let stages = stages.clamp(1, intervals.max(1));
    let mut known: Option<Plan> = None;
    for stage in 1..stages {
        let count = (stage * intervals).div_ceil(stages);
        let found = search(&times[..=count], &beginning(known.as_ref(), rest, count, starts));
        known = found.ok().or(known);
    }
    search(times, &beginning(known.as_ref(), rest, intervals, starts))
}

fn beginning(
    known: Option<&Plan>,
    rest: &[f64],
    count: usize,
    starts: &dyn Fn(usize) -> Vec<Start>,
) -> Vec<Start> {
    known.map(|plan| plan.prolonged(rest, count)).into_iter().chain(starts(count)).collect()
}

/// A search in stages on a coarse grid, whose best plan is refined on a fine grid.
pub struct RoughToFine<'a> {
    /// Node times of the coarse searches, over the same horizon.
    pub coarse: &'a [f64],
    /// Planner settings of the coarse searches.
    pub rough: Settings,
    /// Planner settings of the fine search.
    pub fine: Settings,
    /// Number of stages in which the horizon of the coarse searches grows.
    pub stages: usize,
    /// Control that prolongs the plan of one stage to the horizon of the next.
    pub rest: &'a [f64],
}

impl RoughToFine<'_> {
    /// Finds the best plan of `problem`, whose times are the fine grid. `starts` gives the first starts for a number of intervals.
    pub fn search(
        &self,
        dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
        problem: &Problem<'_>,
        starts: &dyn Fn(usize) -> Vec<Start>,
    ) -> Result<Plan, PlanError> {
        let rough = in_stages(self.coarse, self.stages, self.rest, starts, &mut |times, starts| {
            best_of(dynamics, &Problem { times, ..*problem }, &self.rough, starts)
        })?;
        best_of(dynamics, problem, &self.fine, &[rough.refined(problem.times, self.stages)])
    }
}

impl Plan {
    /// Returns the plan as a start on a finer grid. After a search in several `stages` the start includes the states, because a long plan
    /// that ends at an unstable equilibrium diverges when its controls alone are rolled out.
    pub fn refined(&self, times: &[f64], stages: usize) -> Start {
        let states = (stages > 1).then(|| self.states_at(times));
        Start { states, ..self.resampled(times) }
    }

    /// Returns the plan as a start on its own grid.
    pub fn start(&self) -> Start {
        Start { controls: self.controls.clone(), states: Some(self.states.clone()) }
    }

    /// Returns the plan as starts of `problem`, whose grid or integration is finer: the trajectory of its feedback law there, unless it
    /// diverges, and the controls and states of the plan. From the first, a search never ends above its cost. But where a limit of the
    /// controls leaves the law no freedom, its trajectory leaves the plan; then the second leads back, as its gaps close.
    pub fn on_grid(&self, f: &mut dyn Dynamics, problem: &Problem<'_>) -> Vec<Start> {
        let slopes = self.slopes_by(f);
        let reference =
            Plan { trajectory: Trajectory { slopes, ..self.trajectory.clone() }, ..Plan::default() };
        let planned = reference.refined(problem.times, 2);
        self.followed(&reference, f, problem).into_iter().chain([planned]).collect()
    }

    /// Returns the trajectory of the feedback law around `reference`, the plan with its slopes; `None` if it diverges.
    fn followed(&self, reference: &Trajectory, f: &mut dyn Dynamics, problem: &Problem<'_>) -> Option<Start> {
        let (nx, nu, n) = (self.states.size(), self.controls.size(), problem.intervals());
        let (mut states, mut controls) = (Blocks::zeros(nx, n + 1), Blocks::zeros(nu, n));
        let (mut x, mut planned) = (problem.initial_state.to_vec(), vec![0.0; nx]);
        states.at_mut(0).copy_from_slice(&x);
        for (k, t) in problem.times.windows(2).enumerate() {
            let interval = reference.interval(0.5 * (t[0] + t[1]));
            reference.state_in(interval, t[0], &mut planned);
            let gains = self.gains.at(interval);
            let mut u = reference.controls.at(interval).to_vec();
            for (r, u) in u.iter_mut().enumerate() {
                let slope = gains[r * nx..(r + 1) * nx].iter().zip(x.iter().zip(&planned));
                *u += slope.map(|(gain, (x, planned))| gain * (x - planned)).sum::<f64>();
            }
            if let Some(rates) = &problem.rate_limit {
                rates.clamp(problem.times, k, rates.before(controls.as_slice(), k), &mut u);
            }
            problem.control_bounds.clamp(&mut u);
            problem.transcription.advance(f, &mut x, &u, t[1] - t[0]);
            if !x.iter().all(|x| x.abs() < DIVERGED) {
                return None;
            }
            controls.at_mut(k).copy_from_slice(&u);
            states.at_mut(k + 1).copy_from_slice(&x);
        }
        Some(Start { controls, states: Some(states) })
    }

    /// Computes dx/dt at both ends of each interval.
    pub(crate) fn slopes_by(&self, f: &mut dyn Dynamics) -> Blocks {
        let (nx, n) = (self.states.size(), self.controls.len());
        let ends = (0..n).flat_map(|k| [(k, k), (k + 1, k)]);
        let points: Vec<f64> =
            ends.flat_map(|(i, k)| [self.states.at(i), self.controls.at(k)].concat()).collect();
        let mut slopes = Blocks::zeros(2 * nx, n);
        f.derivative(Points::new(&points, nx + self.controls.size()), slopes.as_mut_slice());
        slopes
    }

    /// Returns the plan as a start, prolonged to `count` intervals by `rest` and its last state.
    fn prolonged(&self, rest: &[f64], count: usize) -> Start {
        let new = count - self.controls.len();
        let last = self.states.at(self.controls.len());
        let controls = [self.controls.as_slice(), &rest.repeat(new)].concat();
        let states = [self.states.as_slice(), &last.repeat(new)].concat();
        Start {
            controls: Blocks::from_vec(controls, rest.len()),
            states: Some(Blocks::from_vec(states, last.len())),
        }
    }

    /// Interpolates the states at other times.
    pub(super) fn states_at(&self, times: &[f64]) -> Blocks {
        let mut out = Blocks::zeros(self.states.size(), times.len());
        for (i, &time) in times.iter().enumerate() {
            self.state(time, out.at_mut(i));
        }
        out
    }
}
