//! The search for the optimal plan with the true model.
//!
//! The optima of the paper's systems were confirmed by collocation with another program (studies/ground_truth), and one search finds them.
//! For any other problem a portfolio of searches competes on a coarse grid; the best basins are refined, and the grid is doubled until the
//! cost is stable.

use super::BaselineSettings;
use crate::linalg::{Linearization, Points};
use crate::plan::{
    Attempt, Origin, Plan, PlanError, Problem, Raced, RoughToFine, SearchKind, Settings, Start,
    Transcription, best_of, better, each_of, in_stages, neighbours, plan_within_limits, race, sampled_starts,
    tightened_starts, uniform_grid, variations,
};
use crate::random::Stream;
use crate::simulate::Trajectory;
use crate::system::{Bounds, Dims, Dynamics, KnownSystem};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Kinds of searches that compete, in order. Their sizes are fractions of half the range of each control.
const KINDS: [SearchKind; 12] = [
    SearchKind::random("whole horizon", 1, 0.1, 3),
    SearchKind::sampled("sampled, 4 stages", 4, 0.5, 3),
    SearchKind::tightened("tighter limits", 4),
    SearchKind::random("whole horizon, fast", 1, 1.0, 8).with_cycles(10.0).relative(),
    SearchKind::random("5 stages", 5, 0.1, 1),
    SearchKind::varied("varied"),
    SearchKind::sampled("sampled", 1, 0.5, 3),
    SearchKind::random("3 stages", 3, 0.3, 3),
    SearchKind::random("8 stages", 8, 0.5, 1),
    SearchKind::random("12 stages", 12, 0.3, 1),
    SearchKind::random("whole horizon, wide", 1, 0.7, 3),
    SearchKind::varied("varied again"),
];

/// Number of kinds of searches beyond the first that must find the cheapest basin before the race ends. Two that agree may both be in the
/// same poor basin.
const AGREEMENT: usize = 3;

/// Number of times that all kinds of searches run, for each unit of effort, unless enough of them agree before.
const PASSES: usize = 4;

/// Largest number of rounds of searches around the best basins, for each unit of effort; number of rounds in sequence without success after
/// which they end, or that of the basins, if it is smaller; and number of searches in a round.
const ROUNDS: usize = 12;
const PATIENCE: usize = 3;
const NEIGHBOURS: usize = 8;

/// Largest change of the cost of the best plan on the coarse grid with a more accurate integration.
const ACCURATE: f64 = 1e-2;

/// Largest number of evaluations of f in an interval of the coarse grid.
const MOST_STAGES: usize = 32;

/// Largest number of evaluations of f for each unit of effort before no new search begins; an evaluation with Jacobian counts as many as it
/// has columns, plus one.
const EVALUATIONS: usize = 60_000_000;

/// Difference of the cost on the coarse and on the fine grid, relative to the cost, above which the coarse grid is refined.
const RESOLVED: f64 = 0.03;

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
    /// Number of evaluations of f so far.
    pub(super) spent: Arc<AtomicUsize>,
}

/// Dynamics that add the number of their evaluations to a total when they are dropped.
struct Counted {
    inner: Box<dyn Dynamics>,
    count: usize,
    total: Arc<AtomicUsize>,
}

impl Dynamics for Counted {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.count += z.len();
        self.inner.derivative(z, out);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.count += z.len() * (1 + z.dim());
        self.inner.linearize(z, out);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.total.fetch_add(self.count, Ordering::Relaxed);
    }
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
        let mut plan = self.portfolio_on_grids()?;
        let most = FINER * plan.controls.len();
        while 2 * plan.controls.len() <= most && !self.is_spent() {
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

    /// Lets the searches compete on a coarse grid, and on one of twice the intervals as long as the best plan costs something else on the
    /// fine grid. Returns that plan on the fine grid.
    fn portfolio_on_grids(&self) -> Result<Plan, PlanError> {
        let times = uniform_grid(self.horizon(), self.settings.intervals);
        let (mut intervals, mut known, mut best) = (self.coarse().len() - 1, Vec::new(), None);
        loop {
            let coarse = uniform_grid(self.horizon(), intervals);
            let mut doubtful = Vec::new();
            let raced = self.race(&coarse, &known, &mut doubtful)?;
            let rough = raced.basins[0].cost;
            known = raced.basins[..raced.basins.len().min(KEPT)].to_vec();
            let (count, attempts) = (REFINED * self.settings.effort, raced.attempts.clone());
            let found = raced.refined(count, WORTH_REFINING, &mut |plan| self.refine(plan, &times));
            let others = doubtful.iter().map(|plan| self.refine(plan, &times));
            let found = others.fold(found, better).map(|plan| Plan { attempts, ..plan });
            let plan = best.map_or(found.clone(), |best| better(found, best))?;
            intervals *= 2;
            let resolved = (plan.cost - rough).abs() <= RESOLVED * plan.cost.abs();
            if resolved || 2 * intervals > self.settings.intervals || self.is_spent() {
                return Ok(plan);
            }
            known.push(plan.clone());
            best = Some(Ok(plan));
        }
    }

    /// Lets the searches compete on the coarse grid, and again where its integration has misled them. `doubtful` receives the best plan of
    /// each race whose cost another integration did not confirm: it may be wrong, or the search there may have left its basin.
    fn race(&self, coarse: &[f64], known: &[Plan], doubtful: &mut Vec<Plan>) -> Result<Raced, PlanError> {
        let (mut transcription, mut improved) = (Transcription::default(), false);
        let first = Problem::of(&self.benchmark.task, coarse);
        let mut kept = known.iter().map(|plan| self.again(plan, &first, &rough())).collect();
        loop {
            let problem = Problem { transcription, ..first };
            let mut raced = self.race_on(&problem, kept)?;
            loop {
                let finer = transcription.finer();
                let finer = finer.filter(|finer| finer.stages() <= MOST_STAGES && !self.is_spent());
                let misled =
                    finer.and_then(|finer| self.misled(&raced, &Problem { transcription: finer, ..problem }));
                if let Some((finer, again)) = misled {
                    doubtful.push(raced.basins.swap_remove(0));
                    (transcription, kept, improved) = (finer, again, false);
                    break;
                }
                if improved || self.is_spent() {
                    return Ok(raced);
                }
                self.improve(&mut raced, &problem);
                improved = true;
            }
        }
    }

    /// Searches in the best basins with the more accurate integration of `finer`. Returns it with the results if the cost of the best one is
    /// another there.
    fn misled(
        &self,
        raced: &Raced,
        finer: &Problem<'_>,
    ) -> Option<(Transcription, Vec<Result<Plan, PlanError>>)> {
        let again = |plan| self.again(plan, finer, &rough());
        let (best, others) = raced.basins[..raced.basins.len().min(KEPT)].split_first()?;
        let result = again(best);
        let changed = |plan: &Plan| (plan.cost - best.cost).abs() > ACCURATE * best.cost.abs();
        if result.as_ref().is_ok_and(|plan| !changed(plan)) {
            return None;
        }
        Some((finer.transcription, std::iter::once(result).chain(others.iter().map(again)).collect()))
    }

    /// Searches around the best basins.
    fn improve(&self, raced: &mut Raced, problem: &Problem<'_>) {
        let (rest, stream) = (&self.benchmark.task.safe_control, self.stream().child("around"));
        let (rounds, patience) = (ROUNDS * self.settings.effort, PATIENCE.min(raced.basins.len()));
        raced.improve(rounds, patience, &mut |round, basins| {
            if self.is_spent() {
                return Vec::new();
            }
            let nearest = &basins[..basins.len().min(KEPT)];
            let starts = neighbours(nearest, rest, NEIGHBOURS, &stream.index(round));
            each_of(&|| self.dynamics(), problem, &rough(), &starts)
        });
    }

    /// Lets all kinds of searches compete. `kept` has the results of searches in known basins.
    fn race_on(&self, problem: &Problem<'_>, kept: Vec<Result<Plan, PlanError>>) -> Result<Raced, PlanError> {
        let (coarse, rough, rest) = (problem.times, rough(), &self.benchmark.task.safe_control);
        let make = || self.dynamics();
        let mut number = 0;
        race(&self.kinds(), AGREEMENT, None, kept, &mut |kind, best| {
            if best.is_some() && self.is_spent() {
                return Vec::new();
            }
            let stream = self.stream().child(kind.name).index(number);
            number += 1;
            let starts = |count: usize| match (kind.origin, best) {
                (Origin::Varied, Some(best)) => variations(best, rest, &stream),
                (Origin::Tightened, Some(best)) => {
                    tightened_starts(&make, problem, kind, rest, best, &rough, &stream)
                }
                _ => self.starts(kind, &Problem { times: &coarse[..=count], ..*problem }, best, stream),
            };
            if kind.stages == 1 {
                return each_of(&make, problem, &rough, &starts(coarse.len() - 1));
            }
            vec![in_stages(coarse, kind.stages, rest, &starts, &mut |times, starts| {
                best_of(&make, &Problem { times, ..*problem }, &rough, starts)
            })]
        })
    }

    /// Returns the starts of a kind for a problem on a beginning of the coarse grid.
    fn starts(
        &self,
        kind: &SearchKind,
        problem: &Problem<'_>,
        best: Option<&Plan>,
        stream: Stream,
    ) -> Vec<Start> {
        let (task, times) = (&self.benchmark.task, problem.times);
        let mut unit = control_unit(&task.control_bounds, &task.safe_control);
        if let Some(best) = best.filter(|_| kind.relative) {
            // Limits may be much wider than a good control is large.
            let sizes = best.control_sizes(&task.safe_control);
            unit.iter_mut()
                .zip(sizes)
                .filter(|(_, size)| *size > 0.0)
                .for_each(|(unit, size)| *unit = unit.min(size));
        }
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

    /// Returns the kinds of searches for the effort of the settings: all kinds several times, each time with other random starts.
    fn kinds(&self) -> Vec<SearchKind> {
        let BaselineSettings { stages, effort, .. } = *self.settings;
        let own = SearchKind { name: "given stages", stages, ..KINDS[0] };
        let all = std::iter::repeat_n(KINDS, PASSES * effort).flatten();
        (stages > 1).then_some(own).into_iter().chain(all).collect()
    }

    /// Searches for the plan of another problem in the basin of `plan`.
    fn again(&self, plan: &Plan, problem: &Problem<'_>, settings: &Settings) -> Result<Plan, PlanError> {
        best_of(&|| self.dynamics(), problem, settings, &plan.on_grid(self.dynamics().as_mut(), problem))
    }

    /// Searches on other node times, beginning in the basin of `plan`.
    fn refine(&self, plan: &Plan, times: &[f64]) -> Result<Plan, PlanError> {
        let (problem, fine) = (Problem::of(&self.benchmark.task, times), iterations(500));
        let found = self.again(plan, &problem, &fine)?;
        within_limits(self.benchmark, problem, &fine, found)
    }

    fn dynamics(&self) -> Box<dyn Dynamics> {
        Box::new(Counted { inner: self.benchmark.dynamics(), count: 0, total: self.spent.clone() })
    }

    /// Returns whether the searches have evaluated f as often as they may.
    fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > EVALUATIONS * self.settings.effort.max(1)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Benchmark;

    #[test]
    fn no_further_kind_of_search_begins_when_f_has_been_evaluated_often_enough() {
        let mut weak = Benchmark::find("pendulum").unwrap();
        weak.task.control_bounds = Bounds::symmetric([1.0]);
        let settings = BaselineSettings { intervals: 80, ..BaselineSettings::default() };
        let kinds = |spent: usize| {
            let spent = Arc::new(AtomicUsize::new(spent));
            let search = Search { benchmark: &weak, settings: &settings, seeds: &[], spent: spent.clone() };
            let mut kinds: Vec<_> = search.plan().unwrap().attempts.iter().map(|found| found.kind).collect();
            kinds.dedup();
            (kinds.len(), spent.load(Ordering::Relaxed))
        };
        let (all, evaluations) = kinds(0);
        assert!(all > 3 && (10_000..EVALUATIONS).contains(&evaluations), "{all} {evaluations}");
        assert_eq!(kinds(EVALUATIONS + 1).0, 1);
    }
}
