//! The plan of an episode: the best of several searches, first on the mean model, then on the planning problem of the exploration method.

use super::clock::{Clock, ClockedCost, ClockedDynamics};
use super::settings::PlanSettings;
use super::weight_search::WeightSearch;
use crate::explore::PlanningProblem;
use crate::linalg::Blocks;
use crate::plan::{
    self, ForwardPass, Ilqr, Origin, PathConstraints, Plan, PlanError, Problem, Raced, RateConstraint,
    SearchKind, Start, Transcription, better, each_of, held_grid, in_stages, race, same_basin,
    sampled_starts, variations,
};
use crate::random::Stream;
use crate::system::{Bounds, Dynamics, Task};

/// Inputs of the planning of an episode.
#[derive(Clone)]
pub(super) struct Planning<'a> {
    pub(super) task: &'a Task,
    pub(super) initial_state: &'a [f64],
    /// Number of the initial state.
    pub(super) start: usize,
    pub(super) settings: &'a PlanSettings,
    pub(super) grid: Grid,
    /// Trajectories from which searches on the coarse grid start: distinct basins of the last episode, and measured ones.
    pub(super) known: &'a [Plan],
    /// Root mean square of each measured control, minus the safe control.
    pub(super) control_size: &'a [f64],
    /// Part of the width of the state limits by which the plan stays away from them.
    pub(super) limit_margin: f64,
    pub(super) stream: Stream,
}

/// Time grids and transcription of a plan.
#[derive(Clone)]
pub(super) struct Grid {
    /// Node times of the plan.
    pub(super) fine: Vec<f64>,
    /// Node times of the first searches; `None` if they use those of the plan.
    pub(super) coarse: Option<Vec<f64>>,
    /// Numerical integration of an interval of the fine grid.
    pub(super) transcription: Transcription,
    /// Numerical integration of an interval of the coarse grid.
    pub(super) coarse_transcription: Transcription,
    /// Whether the last control of the task is the length of an interval.
    pub(super) clock: bool,
    /// Whether the control changes at the nodes only (discrete time), so that a rate limit applies from node to node. Otherwise a
    /// controller sets it every control period, the first time one period after the safe control.
    pub(super) held: bool,
}

impl Grid {
    /// Creates the fine grid of the settings, and a coarse one with a quarter of its intervals for the first searches.
    pub(super) fn continuous(task: &Task, settings: &PlanSettings) -> Self {
        let grid = |intervals: usize| held_grid(task.horizon, settings.hold, intervals);
        let fine = grid(settings.intervals);
        let coarse = grid(settings.intervals.div_ceil(COARSER));
        let transcription = settings.transcription(fine.len() - 1);
        Grid {
            transcription,
            coarse_transcription: transcription,
            coarse: (coarse.len() < fine.len()).then_some(coarse),
            fine,
            clock: false,
            held: false,
        }
    }
}

impl Grid {
    fn transcriptions(&self) -> [Transcription; 2] {
        [self.transcription, self.coarse_transcription]
    }

    /// Returns the transcription of a beginning of the fine or of the coarse grid; the first interval tells which.
    fn transcription_of(&self, times: &[f64]) -> Transcription {
        let coarse = self.coarse.as_ref().is_some_and(|coarse| coarse.get(1) == times.get(1));
        if coarse { self.coarse_transcription } else { self.transcription }
    }
}

/// A plan with the cost of its counterpart on the mean model.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Plan on the exploration problem, hallucinated controls included.
    pub(super) plan: Plan,
    /// Cost of the best plan on the mean model.
    pub(super) mean_cost: f64,
    /// Number of iterations of all searches.
    pub(super) iterations: usize,
    /// Distinct basins on the mean model, cheapest first, on the grid of the first searches.
    pub(super) basins: Vec<Plan>,
}

/// A plan on a coarse grid is refined if its cost is at most this factor above the best known; the error of a coarse grid is smaller.
const WORTH_REFINING: f64 = 1.05;

/// Largest estimated error of the integration, relative to the cost of a plan, on the fine and on the coarse grid.
pub(super) const ACCURATE: f64 = 1e-3;
const ROUGHLY_ACCURATE: f64 = 1e-2;

/// Largest number of basins that are kept for the next episode; they cost at most twice as much as the cheapest.
const KEPT: usize = 3;

/// Name of the kind of search that the settings describe.
const OWN: &str = "as set";

/// Kinds of searches that compete with that of the settings. Their sizes are multiples of the size of the measured controls.
const KINDS: [SearchKind; 6] = [
    SearchKind::random("5 stages", 5, 1.0, 1),
    SearchKind::random("whole horizon", 1, 1.0, 3),
    SearchKind::random("3 stages", 3, 1.0, 1),
    SearchKind::sampled("sampled", 1, 1.5, 1),
    SearchKind::varied("varied"),
    SearchKind::random("8 stages", 8, 1.0, 0),
];

/// Distance from a limit, relative to the width of the limits, below which a plan counts as moving along it.
const ALONG: f64 = 1e-2;

/// Number of intervals of the fine grid for each interval of the coarse one.
const COARSER: usize = 4;

/// Tolerances on the expected decrease of a search on the fine grid, and of one whose plan another search refines. The second is far
/// below the difference by which basins are told apart.
const TOLERANCE: (f64, f64) = (1e-7, 1e-5);

impl Planning<'_> {
    /// Plans for the problem `exploration`. `mean` is the problem on the mean model; with `on_the_mean` it is the only one. `last` is the
    /// previous plan.
    ///
    /// With a search effort, the integration is made so accurate that its error does not mislead the searches: before they begin by the last
    /// plan, and once more by the plan that they find.
    pub(super) fn solve(
        &self,
        on_the_mean: bool,
        exploration: &PlanningProblem,
        mean: &PlanningProblem,
        last: Option<&Plan>,
    ) -> Result<Planned, PlanError> {
        let accurate = last.map_or_else(|| self.clone(), |last| self.accurate_along(mean, last));
        let planned = accurate.solve_on_grid(on_the_mean, exploration, mean, last)?;
        let again = accurate.accurate_along(mean, &planned.plan);
        if again.grid.transcriptions() == accurate.grid.transcriptions() {
            return Ok(planned);
        }
        // The searches need not compete again.
        let settings = PlanSettings { effort: 0, ..self.settings.clone() };
        let again = Planning { settings: &settings, known: &[], ..again };
        let next = again.solve_on_grid(on_the_mean, exploration, mean, Some(&planned.plan))?;
        Ok(Planned { iterations: planned.iterations + next.iterations, basins: planned.basins, ..next })
    }

    /// Returns the same planning with transcriptions whose error in the cost of `plan` on the mean model is small.
    fn accurate_along(&self, mean: &PlanningProblem, plan: &Plan) -> Self {
        let mut out = self.clone();
        if self.settings.effort == 0 || self.grid.clock {
            return out;
        }
        let nu = self.task.controls.len();
        let enough = |times: &[f64], from: Transcription, tolerance: f64| {
            let start = plan.refined(times, 2);
            let start = Start { controls: narrow(&start.controls, nu), ..start };
            self.pose(mean, times, |dynamics, problem, _| from.accurate(dynamics, problem, &start, tolerance))
        };
        out.grid.transcription = enough(&self.grid.fine, self.grid.transcription, ACCURATE);
        if let Some(coarse) = &self.grid.coarse {
            out.grid.coarse_transcription = enough(coarse, self.grid.coarse_transcription, ROUGHLY_ACCURATE);
        }
        out
    }

    /// Plans with the transcriptions of the grid.
    ///
    /// On the mean model, one search starts from the last plan on the fine grid. Others start on a coarse grid in stages, and their best is
    /// refined if it can be better (without a coarse grid they use the fine one). For `exploration`, one search starts from the last plan
    /// and one from the best mean plan, so that the result never costs more there than the mean plan.
    fn solve_on_grid(
        &self,
        on_the_mean: bool,
        exploration: &PlanningProblem,
        mean: &PlanningProblem,
        last: Option<&Plan>,
    ) -> Result<Planned, PlanError> {
        let nu = self.task.controls.len();
        let Grid { fine, coarse, .. } = &self.grid;
        let mut iterations = 0;
        let mut count = |plan: Result<Plan, PlanError>| plan.inspect(|p| iterations += p.trace.len());
        let warm = |last: &Plan, count: usize| {
            // On other nodes only the controls can be reused.
            let Start { controls, states } = if last.times == *fine {
                Start { controls: last.controls.clone(), states: Some(last.states.clone()) }
            } else {
                last.resampled(fine)
            };
            Start { controls: narrow(&controls, count), states }
        };
        let best = last.map(|last| count(self.search(mean, fine, &[warm(last, nu)])));
        let first = coarse.as_ref().unwrap_or(fine);
        let known = best.as_ref().and_then(|plan| plan.as_ref().ok()).map(|plan| plan.cost);
        // A search along a limit costs many times as much as one without: the first kind must do then.
        let mut limited = false;
        let kept = self.known.iter().map(|plan| plan.refined(first, 2)).collect::<Vec<_>>();
        let kept: Vec<_> = self.searches(mean, first, &kept).into_iter().map(&mut count).collect();
        let raced = race(&self.kinds(), self.settings.effort, known, kept, &mut |kind, best| {
            if limited {
                return Vec::new();
            }
            let results = self.search_of_kind(kind, mean, first, best);
            limited = results.iter().flatten().any(|plan| self.is_limited(plan));
            results.into_iter().map(&mut count).collect()
        });
        let basins = raced.as_ref().map_or(Vec::new(), |raced| self.worth_keeping(&raced.basins));
        let mut is_better = |raced: &Raced, known: &Plan| match coarse {
            _ if raced.basins[0].cost > WORTH_REFINING * known.cost => false,
            None => true,
            // The known plan on the coarse grid, where the costs can be compared.
            Some(coarse) => {
                let same = count(self.search(mean, coarse, &[known.resampled(coarse)]));
                let least = raced.basins[0].cost;
                same.map_or(true, |same| least < same.cost && !same_basin(least, same.cost))
            }
        };
        let best = match (best, raced) {
            (Some(Ok(known)), Ok(raced)) if !is_better(&raced, &known) => {
                Plan { attempts: raced.attempts, ..known }
            }
            (Some(Ok(known)), Err(_)) => known,
            (_, Err(error)) => return Err(error),
            (known, Ok(raced)) => {
                let attempts = raced.attempts.clone();
                let refined = raced.refined(1 + self.settings.effort, WORTH_REFINING, &mut |plan| {
                    if coarse.is_none() {
                        return Ok(plan.clone());
                    }
                    let starts = if self.settings.effort == 0 {
                        vec![plan.refined(fine, self.settings.stages)]
                    } else {
                        self.pose(mean, fine, |dynamics, problem, _| {
                            plan.on_grid(dynamics().as_mut(), problem)
                        })
                    };
                    count(self.search(mean, fine, &starts))
                });
                Plan { attempts, ..best_so_far(known, refined)? }
            }
        };
        if on_the_mean {
            return Ok(Planned { mean_cost: best.cost, plan: best, iterations, basins });
        }
        let exploration = &exploration.clone().with_cost_rate(self.task, best.cost.abs() / self.task.horizon);
        let extra = exploration.hallucinated_controls();
        if let Some(counts) = exploration.weights() {
            let again = last.filter(|p| p.controls.size() == nu + extra);
            let search = WeightSearch { planning: self, exploration, mean, counts };
            let from_mean = Start { controls: best.controls.clone(), states: Some(best.states.clone()) };
            let mut plan =
                search.solve(from_mean, vec![0.0; extra]).map(|(plan, n)| (plan, iterations + n))?;
            if let Some(last) = again
                && let Ok((other, n)) = search.solve(warm(last, nu), last.controls.at(0)[nu..].to_vec())
            {
                let best = if other.cost < plan.0.cost { other } else { plan.0 };
                plan = (best, plan.1 + n);
            }
            return Ok(Planned { plan: plan.0, mean_cost: best.cost, iterations: plan.1, basins });
        }
        let again = last.filter(|p| p.controls.size() == nu + extra).map(|p| warm(p, nu + extra));
        let from_last = again.map(|again| count(self.search(exploration, fine, &[again])));
        let (mean_cost, attempts) = (best.cost, best.attempts);
        let plan = match from_last {
            Some(Ok(plan)) if plan.cost <= mean_cost => plan,
            other => {
                // With η = 0 the states of the mean plan are a trajectory of the optimistic model as well.
                let states = (extra > 0).then_some(best.trajectory.states);
                let from_mean = Start { controls: widen(&best.trajectory.controls, extra), states };
                best_so_far(other, count(self.search(exploration, fine, &[from_mean])))?
            }
        };
        Ok(Planned { plan: Plan { attempts, ..plan }, mean_cost, iterations, basins })
    }

    /// Returns the basins from which the searches of the next episode start; none with a single kind of search, or if all searches agree.
    fn worth_keeping(&self, basins: &[Plan]) -> Vec<Plan> {
        let count = if self.settings.effort == 0 || basins.len() == 1 { 0 } else { KEPT };
        let worth = |plan: &&Plan| plan.cost - basins[0].cost <= basins[0].cost.abs();
        basins.iter().filter(worth).take(count).cloned().collect()
    }

    /// Returns whether a plan is subject to constraints or moves along a limit of a state.
    fn is_limited(&self, plan: &Plan) -> bool {
        let Bounds { lower, upper } = &self.task.state_bounds;
        let near = |x: f64, i: usize| {
            let width = upper[i] - lower[i];
            let margin = ALONG * if width.is_finite() { width } else { 1.0 };
            x - lower[i] <= margin || upper[i] - x <= margin
        };
        self.task.constraints.is_some()
            || plan.states.iter().skip(1).any(|x| x.iter().enumerate().any(|(i, x)| near(*x, i)))
    }

    /// Returns the kinds of searches that compete, in order.
    fn kinds(&self) -> Vec<SearchKind> {
        let (stages, random) = (self.settings.stages, self.settings.random_starts);
        let own = SearchKind::random(OWN, stages, 1.0, random);
        let others = std::iter::repeat_n(KINDS, self.settings.effort).flatten();
        let differs = |kind: &SearchKind| kind.origin != Origin::Random || kind.stages != stages;
        // With the length of an interval as a control, only local searches from random controls apply.
        let applies = |kind: &SearchKind| kind.origin == Origin::Random || !self.grid.clock;
        std::iter::once(own).chain(others.filter(|kind| differs(kind) && applies(kind))).collect()
    }

    /// Returns the result of each search of a kind over the whole horizon. A search in stages is one search.
    fn search_of_kind(
        &self,
        kind: &SearchKind,
        mean: &PlanningProblem,
        times: &[f64],
        best: Option<&Plan>,
    ) -> Vec<Result<Plan, PlanError>> {
        let (rest, stream) = (&self.task.safe_control, self.stream.child(kind.name));
        let starts = |intervals: usize| match kind.origin {
            Origin::Sampled => self.pose(mean, &times[..=intervals], |dynamics, problem, _| {
                sampled_starts(dynamics, problem, kind, rest, self.control_size, &stream)
            }),
            Origin::Varied => best.map_or(Vec::new(), |best| variations(best, rest, &stream)),
            Origin::Tightened => Vec::new(),
            Origin::Random => self.starts(kind, intervals),
        };
        if kind.stages == 1 {
            return self.searches(mean, times, &starts(times.len() - 1));
        }
        vec![in_stages(times, kind.stages, rest, &starts, &mut |times, starts| {
            self.search(mean, times, starts)
        })]
    }

    /// Returns starts without a previous plan: the safe control, and smooth random controls of about the magnitude of those measured.
    fn starts(&self, kind: &SearchKind, intervals: usize) -> Vec<Start> {
        let stream = if kind.name == OWN { self.stream } else { self.stream.child(kind.name) };
        Start::of_kind(kind, &self.task.safe_control, self.control_size, intervals, &stream)
    }

    /// Returns the best plan of the searches from `starts`.
    pub(super) fn search(
        &self,
        exploration: &PlanningProblem,
        times: &[f64],
        starts: &[Start],
    ) -> Result<Plan, PlanError> {
        let plans = self.searches(exploration, times, starts);
        plans.into_iter().reduce(better).unwrap_or(Err(PlanError::NoIntervals { nodes: times.len() }))
    }

    /// Returns the plan of the search from each of `starts`.
    fn searches(
        &self,
        exploration: &PlanningProblem,
        times: &[f64],
        starts: &[Start],
    ) -> Vec<Result<Plan, PlanError>> {
        let search = plan::Settings {
            max_iterations: self.settings.max_iterations,
            gradient_tolerance: 1e-6,
            cost_tolerance: if times.len() < self.grid.fine.len() { TOLERANCE.1 } else { TOLERANCE.0 },
            // σ is costly at single points; μ is not.
            forward: if exploration.hallucinated_controls() > 0 {
                ForwardPass::Batch
            } else {
                ForwardPass::Rollout
            },
            limit_margin: self.limit_margin,
            ..plan::Settings::default()
        };
        self.pose(exploration, times, |dynamics, problem, clock| match clock {
            None => each_of(dynamics, problem, &search, starts),
            Some(clock) => {
                let starts: Vec<Start> = starts.iter().map(|start| clock.start(start)).collect();
                let plans = each_of(dynamics, problem, &search, &starts);
                plans.into_iter().map(|plan| plan.map(|plan| clock.plan(plan))).collect()
            }
        })
    }

    /// Computes dJ/du_k along a trajectory of the problem `exploration`.
    pub(super) fn gradient(
        &self,
        exploration: &PlanningProblem,
        times: &[f64],
        trajectory: &Start,
    ) -> Result<Blocks, PlanError> {
        self.pose(exploration, times, |dynamics, problem, clock| {
            let at = clock.map_or_else(|| trajectory.clone(), |clock| clock.start(trajectory));
            let (_, each) = Ilqr::default().gradient(dynamics().as_mut(), problem, at.guess())?;
            Ok(clock.map_or_else(|| each.clone(), |clock| clock.with(&each, |_| 0.0)))
        })
    }

    /// Builds the planner's problem and passes it to `act`; with the time as a state where the intervals are holds of unequal length.
    fn pose<R>(
        &self,
        exploration: &PlanningProblem,
        times: &[f64],
        act: impl FnOnce(&Make<'_>, &Problem<'_>, Option<&Clock>) -> R,
    ) -> R {
        let rates = self.rates(exploration, times);
        let problem = Problem {
            cost: exploration.cost.as_ref(),
            initial_state: self.initial_state,
            times,
            control_bounds: &exploration.bounds,
            rate_limit: rates.as_ref().map(Rates::constraint),
            state_bounds: Some(&self.task.state_bounds),
            constraints: PathConstraints { constraints: self.task.constraints.as_deref(), margins: None },
            transcription: self.grid.transcription_of(times),
        };
        if !self.grid.clock {
            return act(&|| exploration.dynamics(), &problem, None);
        }
        let clock = Clock::new(times, self.task.controls.len() - 1);
        let cost = ClockedCost::new(clock.clone(), exploration.cost.clone());
        let rates = self.rates(exploration, times).map(|rates| rates.without(self.task.controls.len() - 1));
        let make =
            || Box::new(ClockedDynamics::new(clock.clone(), exploration.dynamics())) as Box<dyn Dynamics>;
        let problem = Problem {
            cost: &cost,
            initial_state: &clock.initial_state(self.initial_state),
            control_bounds: &clock.control_bounds(&exploration.bounds),
            rate_limit: rates.as_ref().map(Rates::constraint),
            state_bounds: Some(&Clock::state_bounds(&self.task.state_bounds)),
            ..problem
        };
        act(&make, &problem, Some(&clock))
    }
}

/// Rate limit of all controls of the planner; hallucinated controls have none.
struct Rates {
    max_rate: Vec<f64>,
    before: Vec<f64>,
    since: f64,
}

impl Rates {
    fn constraint(&self) -> RateConstraint<'_> {
        RateConstraint { max_rate: &self.max_rate, before: &self.before, since: self.since }
    }

    /// Removes the control at `position`.
    fn without(mut self, position: usize) -> Self {
        self.max_rate.remove(position);
        self.before.remove(position);
        self
    }
}

impl Planning<'_> {
    fn rates(&self, exploration: &PlanningProblem, times: &[f64]) -> Option<Rates> {
        let limit = self.task.rate_limit.as_ref()?;
        let (mut max_rate, mut before) = (limit.max_rate.clone(), self.task.safe_control.clone());
        max_rate.resize(exploration.bounds.dim(), f64::INFINITY);
        before.resize(exploration.bounds.dim(), 0.0);
        let first = times[1] - times[0];
        Some(Rates { max_rate, before, since: if self.grid.held { first } else { first.min(limit.period) } })
    }
}

/// Function that creates a copy of the dynamics.
type Make<'a> = dyn Fn() -> Box<dyn Dynamics> + Sync + 'a;

/// Returns the better of the best plan so far, if there is one, and the next.
fn best_so_far(
    known: Option<Result<Plan, PlanError>>,
    next: Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    match known {
        Some(known) => better(known, next),
        None => next,
    }
}

/// Returns the first `count` components of each control.
pub(super) fn narrow(controls: &Blocks, count: usize) -> Blocks {
    Blocks::from_vec(controls.iter().flat_map(|u| &u[..count]).copied().collect(), count)
}

/// Appends `extra` zeros to each control.
fn widen(controls: &Blocks, extra: usize) -> Blocks {
    let mut out = Vec::with_capacity((controls.size() + extra) * controls.len());
    for u in controls.iter() {
        out.extend_from_slice(u);
        out.extend(std::iter::repeat_n(0.0, extra));
    }
    Blocks::from_vec(out, controls.size() + extra)
}
