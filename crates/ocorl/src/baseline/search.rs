//! The search for the optimal plan with the true model.
//!
//! The optima of the paper's systems were confirmed by collocation with another program (studies/ground_truth), and one search finds them.
//! For any other problem a portfolio of searches competes on a coarse grid; the best basins are refined, and the grid is doubled until the
//! cost is stable.

use super::BaselineSettings;
use crate::plan::{
    Attempt, Origin, Plan, PlanError, Problem, Raced, RoughToFine, SearchKind, Settings, Start,
    Transcription, best_of, each_of, in_stages, plan_within_limits, race, sampled_starts, uniform_grid,
    variations,
};
use crate::random::Stream;
use crate::simulate::Trajectory;
use crate::system::{Bounds, Dynamics, KnownSystem};

/// Kinds of searches that compete, in order. Their sizes are fractions of half the range of each control.
const KINDS: [SearchKind; 11] = [
    SearchKind::random("whole horizon", 1, 0.1, 3),
    SearchKind::sampled("sampled, 4 stages", 4, 0.5, 3),
    SearchKind::random("5 stages", 5, 0.1, 1),
    SearchKind::varied("varied"),
    SearchKind::sampled("sampled", 1, 0.5, 3),
    SearchKind::random("whole horizon, fast", 1, 0.3, 6).with_cycles(10.0),
    SearchKind::random("3 stages", 3, 0.3, 3),
    SearchKind::random("8 stages", 8, 0.5, 1),
    SearchKind::random("12 stages", 12, 0.3, 1),
    SearchKind::random("whole horizon, wide", 1, 0.7, 3),
    SearchKind::varied("varied again"),
];

/// Number of kinds of searches beyond the first that must find the cheapest basin before the race ends. Two that agree may both be in the
/// same poor basin.
const AGREEMENT: usize = 3;

/// Largest estimated error of the integration on the coarse grid, relative to the cost of the best plan there.
const ACCURATE: f64 = 1e-2;

/// Largest number of basins that are searched again with a more accurate integration.
const KEPT: usize = 3;

/// Relative tolerance of the cost of a competing search, whose result is refined.
const ROUGH: f64 = 1e-6;

/// Number of basins of the coarse grid that are refined, for each unit of effort.
const REFINED: usize = 2;

/// A plan on the coarse grid is refined if its cost is at most this factor above the cheapest there.
const WORTH_REFINING: f64 = 1.05;

/// Relative change of the cost on a grid with twice the intervals below which the cost counts as stable.
const STABLE: f64 = 1e-4;

/// Largest factor by which the number of intervals grows until the cost is stable.
const FINER: usize = 4;

/// The search for the plan of a system, with the plans of `seeds` as further starts.
pub(super) struct Search<'a> {
    pub(super) benchmark: &'a KnownSystem,
    pub(super) settings: &'a BaselineSettings,
    pub(super) seeds: &'a [&'a Plan],
}

impl Search<'_> {
    /// Returns the best plan on the fine grid.
    pub(super) fn plan(&self) -> Result<Plan, PlanError> {
        let published = self.benchmark.is_as_published();
        if self.settings.effort > 1 || (self.settings.effort == 1 && !published) {
            return self.portfolio();
        }
        let plan = self.single()?;
        // Without a record of searches a plan counts as confirmed.
        let search = Attempt { kind: KINDS[0].name, cost: Some(plan.cost) };
        Ok(Plan { attempts: if published { Vec::new() } else { vec![search] }, ..plan })
    }

    /// Returns the result of one kind of search.
    fn single(&self) -> Result<Plan, PlanError> {
        let (coarse, times) = (self.coarse(), uniform_grid(self.horizon(), self.settings.intervals));
        let (safe, stream) = (&self.benchmark.task.safe_control, self.stream());
        let starts = |count: usize| {
            let resampled = self.seeds.iter().map(|plan| plan.resampled(&coarse[..=count]));
            resampled.chain(Start::around(safe, 0.1, 3, count, &stream)).collect()
        };
        let search = RoughToFine {
            coarse: &coarse,
            rough: iterations(100),
            fine: iterations(500),
            stages: self.settings.stages,
            rest: safe,
        };
        let problem = Problem::of(&self.benchmark.task, &times);
        let found = search.search(&|| self.dynamics(), &problem, &starts)?;
        within_limits(self.benchmark, problem, &search.fine, found)
    }

    /// Returns the best result of all kinds of searches, on a grid on which its cost is stable.
    fn portfolio(&self) -> Result<Plan, PlanError> {
        let raced = self.race()?;
        let times = uniform_grid(self.horizon(), self.settings.intervals);
        let count = REFINED * self.settings.effort;
        let mut plan = raced.refined(count, WORTH_REFINING, &mut |plan| self.refine(plan, &times))?;
        let most = FINER * plan.controls.len();
        while 2 * plan.controls.len() <= most {
            let times = uniform_grid(self.horizon(), 2 * plan.controls.len());
            let Ok(finer) = self.refine(&plan, &times) else { break };
            let change = (finer.cost - plan.cost).abs();
            plan = Plan { attempts: plan.attempts, ..finer };
            if change <= STABLE * plan.cost.abs() {
                break;
            }
        }
        Ok(plan)
    }

    /// Lets the searches compete on the coarse grid, and again where its integration has misled them.
    fn race(&self) -> Result<Raced, PlanError> {
        let (coarse, mut transcription) = (self.coarse(), Transcription::default());
        let mut kept = Vec::new();
        loop {
            let problem = Problem { transcription, ..Problem::of(&self.benchmark.task, &coarse) };
            let raced = self.race_on(&problem, kept)?;
            let accurate =
                transcription.accurate(&|| self.dynamics(), &problem, &raced.basins[0].start(), ACCURATE);
            if accurate == transcription {
                return Ok(raced);
            }
            transcription = accurate;
            let problem = Problem { transcription, ..problem };
            let followed = |plan: &Plan| plan.followed(self.dynamics().as_mut(), &problem);
            let starts: Vec<Start> = raced.basins.iter().take(KEPT).map(followed).collect();
            kept = each_of(&|| self.dynamics(), &problem, &rough(), &starts);
        }
    }

    /// Lets all kinds of searches compete. `kept` has the results of searches in known basins.
    fn race_on(&self, problem: &Problem<'_>, kept: Vec<Result<Plan, PlanError>>) -> Result<Raced, PlanError> {
        let (coarse, rough) = (problem.times, rough());
        let make = || self.dynamics();
        let mut number = 0;
        race(&self.kinds(), AGREEMENT, None, kept, &mut |kind, best| {
            let stream = self.stream().child(kind.name).index(number);
            number += 1;
            let starts = |count: usize| match (kind.origin, best) {
                (Origin::Varied, Some(best)) => variations(best, &self.benchmark.task.safe_control, &stream),
                _ => self.starts(kind, &Problem { times: &coarse[..=count], ..*problem }, stream),
            };
            if kind.stages == 1 {
                return each_of(&make, problem, &rough, &starts(coarse.len() - 1));
            }
            let rest = &self.benchmark.task.safe_control;
            vec![in_stages(coarse, kind.stages, rest, &starts, &mut |times, starts| {
                best_of(&make, &Problem { times, ..*problem }, &rough, starts)
            })]
        })
    }

    /// Returns the starts of a kind for a problem on a beginning of the coarse grid.
    fn starts(&self, kind: &SearchKind, problem: &Problem<'_>, stream: Stream) -> Vec<Start> {
        let (task, times) = (&self.benchmark.task, problem.times);
        let unit = control_unit(&task.control_bounds, &task.safe_control);
        if kind.origin == Origin::Sampled {
            let problem = Problem { state_bounds: Some(&task.state_bounds), ..*problem };
            let make = || self.dynamics();
            return sampled_starts(&make, &problem, kind, &task.safe_control, &unit, &stream);
        }
        let own = Start::of_kind(kind, &task.safe_control, &unit, times.len() - 1, &stream);
        let seeds = if kind.stages == 1 { self.seeds } else { &[] };
        let resampled = seeds.iter().flat_map(|plan| [plan.resampled(times), plan.refined(times, 2)]);
        resampled.chain(own).collect()
    }

    /// Returns the kinds of searches for the effort of the settings: all kinds as often as the effort says, each time with other random
    /// starts.
    fn kinds(&self) -> Vec<SearchKind> {
        let BaselineSettings { stages, effort, .. } = *self.settings;
        let own = SearchKind { name: "given stages", stages, ..KINDS[0] };
        let all = std::iter::repeat_n(KINDS, effort).flatten();
        (stages > 1).then_some(own).into_iter().chain(all).collect()
    }

    /// Searches on other node times, beginning with the trajectory of the feedback law of `plan`.
    fn refine(&self, plan: &Plan, times: &[f64]) -> Result<Plan, PlanError> {
        let (problem, fine) = (Problem::of(&self.benchmark.task, times), iterations(500));
        let start = plan.followed(self.dynamics().as_mut(), &problem);
        let found = best_of(&|| self.dynamics(), &problem, &fine, &[start])?;
        within_limits(self.benchmark, problem, &fine, found)
    }

    fn dynamics(&self) -> Box<dyn Dynamics> {
        self.benchmark.dynamics()
    }

    fn horizon(&self) -> f64 {
        self.benchmark.task.horizon
    }

    fn coarse(&self) -> Vec<f64> {
        uniform_grid(self.horizon(), self.settings.intervals.div_ceil(4).max(1))
    }

    fn stream(&self) -> Stream {
        Stream::root(self.settings.seed).child("baseline").child(&self.benchmark.name)
    }
}

/// Settings of the competing searches.
fn rough() -> Settings {
    Settings { cost_tolerance: ROUGH, ..iterations(100) }
}

fn iterations(max_iterations: usize) -> Settings {
    Settings { max_iterations, ..Settings::default() }
}

/// Returns half the range of each control, or the size of the safe control where the range is infinite (at least 1).
fn control_unit(bounds: &Bounds, safe: &[f64]) -> Vec<f64> {
    let range = bounds.lower.iter().zip(&bounds.upper).map(|(lower, upper)| 0.5 * (upper - lower));
    range.zip(safe).map(|(half, safe)| if half.is_finite() { half } else { safe.abs().max(1.0) }).collect()
}

/// Returns `plan` if it is within the limits of the states. Otherwise searches from it with the limits as constraints.
pub(super) fn within_limits(
    benchmark: &KnownSystem,
    problem: Problem<'_>,
    settings: &Settings,
    plan: Plan,
) -> Result<Plan, PlanError> {
    let limits = &benchmark.task.state_bounds;
    if plan.states.iter().all(|x| limits.violated_by(x).is_none()) {
        return Ok(plan);
    }
    let Plan { trajectory: Trajectory { controls, states, .. }, attempts, .. } = plan;
    let start = Start { controls, states: Some(states) };
    let problem = Problem { state_bounds: Some(limits), ..problem };
    let found = plan_within_limits(benchmark.dynamics().as_mut(), &problem, settings, &start)?;
    Ok(Plan { attempts, ..found })
}
