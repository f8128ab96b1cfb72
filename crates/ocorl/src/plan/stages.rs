//! From the beginning of the horizon to all of it, and from a coarse grid to a fine one.

use super::{Plan, PlanError, Problem, Settings, Start, best_of};
use crate::linalg::Blocks;
use crate::system::Dynamics;

/// Finds the best plan on some times from some starts.
pub type Search<'a> = dyn FnMut(&[f64], &[Start]) -> Result<Plan, PlanError> + 'a;

/// The best plan on `times`, looked for at the beginning of the horizon first.
///
/// Stage s of S plans the first s/S of the intervals, from `starts` (given how many intervals there are) and from the plan of the stage before,
/// which then rests at its last state: an infeasible start, whose gaps close during the search. A long swing-up has many valleys, most of them
/// poor (wait, swing, and fall again); what is best for its beginning leads into the good one. With one stage this is one search.
///
/// A stage that finds nothing is passed over; only the last one must find a plan. The terminal cost counts at the end of every stage.
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

/// A search in stages on a coarse grid, whose best is refined on the fine one.
pub struct RoughToFine<'a> {
    /// Nodes of the first searches, over the same horizon.
    pub coarse: &'a [f64],
    /// How the first searches are made.
    pub rough: Settings,
    /// How the last one is.
    pub fine: Settings,
    /// In how many stages the horizon of the first ones grows.
    pub stages: usize,
    /// The control of a plan that rests until the horizon ends.
    pub rest: &'a [f64],
}

impl RoughToFine<'_> {
    /// The best plan of `problem`, whose times are the fine grid. `starts` gives the first ones, for a number of intervals.
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
    /// As a start on a finer grid. Of a search in several `stages` the states are taken over too: a long plan that ends in balance would fall by
    /// its controls alone.
    pub fn refined(&self, times: &[f64], stages: usize) -> Start {
        let states = (stages > 1).then(|| self.states_at(times));
        Start { states, ..self.resampled(times) }
    }

    /// The same, then `rest` and the last state, up to `count` intervals.
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

    /// Its states at other times, on straight lines between the nodes.
    fn states_at(&self, times: &[f64]) -> Blocks {
        let mut out = Blocks::zeros(self.states.size(), times.len());
        for (i, &time) in times.iter().enumerate() {
            let k = self.interval(time);
            let share = ((time - self.times[k]) / (self.times[k + 1] - self.times[k])).clamp(0.0, 1.0);
            let (from, to) = (self.states.at(k), self.states.at(k + 1));
            for ((x, from), to) in out.at_mut(i).iter_mut().zip(from).zip(to) {
                *x = from + share * (to - from);
            }
        }
        out
    }
}
