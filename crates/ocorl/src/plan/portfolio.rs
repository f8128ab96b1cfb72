//! A portfolio of searches: several kinds of local searches compete on a coarse grid until they agree.
//!
//! A local search finds the optimum of one basin. Which basin depends on its start, and no kind of start is best for all tasks: a constant
//! or small control suffices for most, a growing horizon ([`in_stages`](super::in_stages)) for swing-ups that end in balance, large smooth
//! controls where the safe control is an equilibrium. The race runs one kind after another:
//!
//! 1. All starts of the first kind. If all lead to the same basin, the race ends: the task has one basin, as far as these starts can tell.
//! 2. The other kinds, in order, until the cheapest basin has been found by the required number of kinds, or no kind is left.
//!
//! The result has every distinct basin, cheapest first, and the record of all searches. It does not depend on the number of threads.
//! Agreement is evidence, not proof, that the cheapest basin is the global optimum.

use super::{Plan, PlanError, Start, better};
use crate::random::Stream;
use serde::{Deserialize, Serialize};

/// Source of the starts of a kind of search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The safe control and random controls.
    Random,
    /// Controls found by sampling ([`sampled_starts`](super::sampled_starts)).
    Sampled,
    /// Variations of the best plan so far ([`variations`](super::variations)).
    Varied,
    /// Plans within tighter limits of the controls ([`tightened_starts`](super::tightened_starts)).
    Tightened,
}

/// A kind of search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchKind {
    /// Name in records.
    pub name: &'static str,
    /// Number of stages in which the horizon grows; 1 uses the whole horizon at once.
    pub stages: usize,
    /// Standard deviation of the random controls around the safe control, in a unit of the caller's choice.
    pub size: f64,
    /// Largest number of periods of the random controls over the horizon.
    pub cycles: f64,
    /// Number of random starts in addition to the safe control.
    pub random: usize,
    /// Source of the starts.
    pub origin: Origin,
    /// Whether the unit of `size` is the size of the controls of the best plan so far, if that is smaller.
    pub relative: bool,
}

impl SearchKind {
    /// Creates searches from the safe control and `random` smooth controls of up to two periods over the horizon.
    pub const fn random(name: &'static str, stages: usize, size: f64, random: usize) -> Self {
        SearchKind { name, stages, size, cycles: 2.0, random, origin: Origin::Random, relative: false }
    }

    /// Creates searches from `count` controls found by sampling.
    pub const fn sampled(name: &'static str, stages: usize, size: f64, count: usize) -> Self {
        SearchKind { origin: Origin::Sampled, ..SearchKind::random(name, stages, size, count) }
    }

    /// Creates searches from variations of the best plan.
    pub const fn varied(name: &'static str) -> Self {
        SearchKind { origin: Origin::Varied, ..SearchKind::random(name, 1, 0.0, 0) }
    }

    /// Creates searches from plans within tighter limits of the controls; these plans are found from `random` smooth controls each.
    pub const fn tightened(name: &'static str, random: usize) -> Self {
        SearchKind { origin: Origin::Tightened, cycles: 10.0, ..SearchKind::random(name, 1, 1.0, random) }
    }

    /// Returns the kind with random controls of up to `cycles` periods.
    #[must_use]
    pub const fn with_cycles(self, cycles: f64) -> Self {
        SearchKind { cycles, ..self }
    }

    /// Returns the kind with random controls of the size of those of the best plan.
    #[must_use]
    pub const fn relative(self) -> Self {
        SearchKind { relative: true, ..self }
    }
}

/// One search of a portfolio and what it found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// Name of the kind of search.
    pub kind: &'static str,
    /// Cost of its plan on the grid of the search; `None` if it found none.
    pub cost: Option<f64>,
}

/// Number of searches behind a plan, and number of distinct basins that they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Number of local searches.
    pub searches: usize,
    /// Number of distinct local optima among their plans.
    pub basins: usize,
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        write!(
            f,
            "{}, {}",
            plural(self.searches, "search", "searches"),
            plural(self.basins, "basin", "basins")
        )
    }
}

impl Effort {
    /// Counts the searches and the distinct basins of `attempts`.
    pub fn of(attempts: &[Attempt]) -> Self {
        let mut costs: Vec<f64> = attempts.iter().filter_map(|attempt| attempt.cost).collect();
        costs.sort_by(f64::total_cmp);
        costs.dedup_by(|b, a| same_basin(*a, *b));
        Effort { searches: attempts.len(), basins: costs.len() }
    }
}

/// Name of the searches in basins that were found before.
const KEPT: &str = "kept";

/// Name of the searches around the best basins.
const AROUND: &str = "around the best";

/// Relative difference of cost below which two plans on the same grid count as one basin.
const SAME: f64 = 2e-3;

/// Relative difference of cost below which a known plan on another grid counts as the same basin.
const OTHER_GRID: f64 = 0.02;

/// Returns whether two costs belong to one basin.
pub fn same_basin(a: f64, b: f64) -> bool {
    let largest = a.abs().max(b.abs());
    largest.is_finite() && (a - b).abs() <= SAME * largest
}

/// Result of a race.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Raced {
    /// The cheapest plan of each basin, in order of cost; at least one.
    pub basins: Vec<Plan>,
    /// Record of all searches.
    pub attempts: Vec<Attempt>,
}

/// Searches of one kind: the results of all its starts at the whole horizon. It also receives the best plan so far.
pub type SearchOfKind<'a> = dyn FnMut(&SearchKind, Option<&Plan>) -> Vec<Result<Plan, PlanError>> + 'a;

/// Searches of one round around known basins, which it receives with the number of the round.
pub type SearchAround<'a> = dyn FnMut(usize, &[Plan]) -> Vec<Result<Plan, PlanError>> + 'a;

/// Runs `kinds` in order until the cheapest basin has been found by `agreement` kinds. `known` is the cost of a plan that the caller
/// already has, maybe on another grid; it counts as a kind of its own. `kept` has the results of searches in basins that were found before:
/// they compete, but confirm nothing; neither do variations of the best plan.
///
/// Returns the first error if no search finds a plan.
pub fn race(
    kinds: &[SearchKind],
    agreement: usize,
    known: Option<f64>,
    kept: Vec<Result<Plan, PlanError>>,
    search: &mut SearchOfKind<'_>,
) -> Result<Raced, PlanError> {
    let mut raced = Raced { basins: Vec::new(), attempts: Vec::new() };
    let mut failure = None;
    let mut least = raced.add(KEPT, kept, &mut failure);
    // Cost of the best plan of each kind.
    let mut bests: Vec<f64> = Vec::new();
    for (i, kind) in kinds.iter().enumerate() {
        let from = raced.attempts.len();
        let results = search(kind, raced.best());
        let best = raced.add(kind.name, results, &mut failure);
        least = least.min(best);
        if kind.origin != Origin::Varied {
            bests.push(best);
        }
        let agree = |cost: Option<f64>| cost.is_some_and(|cost| same_basin(cost, least));
        let first = &raced.attempts[from..];
        let one_basin =
            agreement <= 1 && i == 0 && first.len() > 2 && first.iter().all(|attempt| agree(attempt.cost));
        let known = known.is_some_and(|known| (known - least).abs() <= OTHER_GRID * least.abs());
        let confirmed = bests.iter().filter(|best| same_basin(**best, least)).count() + usize::from(known);
        if one_basin || confirmed > agreement {
            break;
        }
    }
    if raced.basins.is_empty() {
        return Err(failure.unwrap_or(PlanError::NoIntervals { nodes: 0 }));
    }
    raced.basins.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(raced)
}

impl Raced {
    /// Records the results of the searches of a kind, and returns the least cost among them.
    fn add(
        &mut self,
        kind: &'static str,
        results: Vec<Result<Plan, PlanError>>,
        failure: &mut Option<PlanError>,
    ) -> f64 {
        let mut best = f64::INFINITY;
        for result in results {
            self.attempts.push(Attempt { kind, cost: result.as_ref().ok().map(|plan| plan.cost) });
            match result {
                Ok(plan) => {
                    best = best.min(plan.cost);
                    self.keep(plan);
                }
                Err(error) => *failure = failure.take().or(Some(error)),
            }
        }
        best
    }

    fn best(&self) -> Option<&Plan> {
        self.basins.iter().min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    /// Keeps the cheaper of two plans of one basin.
    fn keep(&mut self, plan: Plan) {
        match self.basins.iter_mut().find(|other| same_basin(other.cost, plan.cost)) {
            Some(other) if plan.cost < other.cost => *other = plan,
            Some(_) => (),
            None => self.basins.push(plan),
        }
    }

    /// Searches in rounds around the best basins, until `patience` rounds in sequence have found none that is cheaper, or after `rounds`.
    /// `search` receives the number of the round and the basins, cheapest first, and returns what its searches found; nothing ends the
    /// rounds. Returns how many rounds there were.
    pub fn improve(&mut self, rounds: usize, patience: usize, search: &mut SearchAround<'_>) -> usize {
        let mut without = 0;
        for round in 0..rounds {
            if without == patience {
                return round;
            }
            let least = self.basins[0].cost;
            let results = search(round, &self.basins);
            if results.is_empty() {
                return round;
            }
            let found = self.add(AROUND, results, &mut None);
            self.basins.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            without = if found < least && !same_basin(found, least) { 0 } else { without + 1 };
        }
        rounds
    }

    /// Returns the best of the cheapest basins after `refine` has been applied to each of at most `count` that cost at most `factor` times
    /// the cheapest, with the record of the race.
    pub fn refined(
        self,
        count: usize,
        factor: f64,
        refine: &mut dyn FnMut(&Plan) -> Result<Plan, PlanError>,
    ) -> Result<Plan, PlanError> {
        let Raced { basins, attempts } = self;
        let least = basins[0].cost;
        let worth = |plan: &&Plan| plan.cost - least <= (factor - 1.0) * least.abs();
        let refined = basins.iter().filter(worth).take(count).map(refine).reduce(better);
        let plan = refined.unwrap_or_else(|| Ok(basins[0].clone()))?;
        Ok(Plan { attempts, ..plan })
    }
}

impl Start {
    /// Creates the starts of a kind for `intervals` intervals: the constant control `center`, and smooth random controls around it whose
    /// standard deviation is `kind.size` times `unit`, for each control.
    pub fn of_kind(
        kind: &SearchKind,
        center: &[f64],
        unit: &[f64],
        intervals: usize,
        stream: &Stream,
    ) -> Vec<Start> {
        let random = (0..kind.random).map(|i| {
            let rng = &mut stream.index(i).rng();
            let mut start = Start::random(center, kind.size, kind.cycles, intervals, rng);
            for k in 0..intervals {
                for ((u, center), unit) in start.controls.at_mut(k).iter_mut().zip(center).zip(unit) {
                    *u = center + unit * (*u - center);
                }
            }
            start
        });
        std::iter::once(Start::constant(center, intervals)).chain(random).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Trajectory;

    fn plan(cost: f64) -> Plan {
        Plan::given(Trajectory::default(), cost)
    }

    const fn kind(name: &'static str) -> SearchKind {
        SearchKind::random(name, 1, 1.0, 2)
    }

    const KINDS: [SearchKind; 4] = [kind("a"), kind("b"), kind("c"), kind("d")];

    /// Runs a race in which kind i finds the costs `found[i]`, and returns the kinds that ran and the costs of the basins.
    fn run(found: [&[f64]; 4], agreement: usize, known: Option<f64>) -> (usize, Vec<f64>, Effort) {
        let mut ran = 0;
        let raced = race(&KINDS, agreement, known, Vec::new(), &mut |_, _| {
            ran += 1;
            found[ran - 1].iter().map(|cost| Ok(plan(*cost))).collect()
        })
        .expect("a plan");
        (ran, raced.basins.iter().map(|plan| plan.cost).collect(), Effort::of(&raced.attempts))
    }

    #[test]
    fn an_easy_task_ends_after_the_first_kind_and_a_hard_one_when_kinds_agree() {
        let easy = run([&[5.0, 5.001, 5.0], &[5.0], &[5.0], &[5.0]], 1, None);
        assert_eq!(easy, (1, vec![5.0], Effort { searches: 3, basins: 1 }));
        // The first kind disagrees with itself, the second finds a better basin, the third confirms it.
        let hard = run([&[12.5, 13.0, 12.9], &[5.6], &[5.6, 8.0], &[1.0]], 1, None);
        assert_eq!(hard, (3, vec![5.6, 8.0, 12.5, 12.9, 13.0], Effort { searches: 6, basins: 5 }));
        // Two confirmations are asked for, and never come.
        let effort = run([&[12.5, 13.0, 12.9], &[5.6], &[5.6, 8.0], &[9.0]], 2, None);
        assert_eq!((effort.0, effort.1[0]), (4, 5.6));
        // A plan that is known already confirms the second kind.
        assert_eq!(run([&[12.5, 13.0, 12.9], &[5.6], &[5.6], &[1.0]], 1, Some(5.6)).0, 2);
    }

    #[test]
    fn two_starts_that_agree_are_not_enough() {
        assert_eq!(run([&[7.0, 7.0], &[4.0], &[4.0], &[4.0]], 1, None).1[0], 4.0);
    }

    #[test]
    fn rounds_around_the_best_basin_end_when_some_in_sequence_find_none_that_is_cheaper() {
        // The second and the third round find better basins, the others the same one or nothing.
        let found = [9.0, 7.0, 5.0, 5.001, f64::NAN, 5.0, 1.0];
        let plans = vec![Ok(plan(8.0)), Ok(plan(9.0))];
        let mut raced = race(&[], 1, None, plans, &mut |_, _| Vec::new()).expect("a plan");
        let mut least = Vec::new();
        let ran = raced.improve(7, 3, &mut |round, basins| {
            least.push(basins[0].cost);
            let failure = PlanError::NoFinitePlan { time: 0.0 };
            vec![if found[round].is_nan() { Err(failure) } else { Ok(plan(found[round])) }]
        });
        assert_eq!((ran, raced.basins[0].cost, raced.attempts.len()), (6, 5.0, 8));
        assert_eq!(least, [8.0, 8.0, 7.0, 5.0, 5.0, 5.0]);
        assert_eq!(raced.improve(7, 3, &mut |_, _| Vec::new()), 0);
    }

    #[test]
    fn a_kept_basin_competes_but_confirms_nothing() {
        let mut ran = 0;
        let found: [&[f64]; 4] = [&[12.5, 13.0, 12.9], &[8.0], &[5.6, 9.0], &[1.0]];
        let raced = race(&KINDS, 1, None, vec![Ok(plan(5.6))], &mut |_, _| {
            ran += 1;
            found[ran - 1].iter().map(|cost| Ok(plan(*cost))).collect()
        });
        let raced = raced.expect("a plan");
        // The third kind finds it too; the last plan would be the second confirmation.
        assert_eq!((ran, raced.basins[0].cost, raced.attempts[0].kind), (4, 1.0, "kept"));
    }

    #[test]
    fn searches_without_a_plan_are_counted_and_reported() {
        let fail = || Err(PlanError::NoFinitePlan { time: 1.0 });
        let raced = race(&KINDS, 1, None, Vec::new(), &mut |kind, _| {
            if kind.name == "b" { vec![Ok(plan(3.0))] } else { vec![fail()] }
        });
        let raced = raced.expect("a plan");
        assert_eq!(Effort::of(&raced.attempts), Effort { searches: 4, basins: 1 });
        assert_eq!(
            race(&KINDS, 1, None, Vec::new(), &mut |_, _| vec![fail()]).unwrap_err(),
            PlanError::NoFinitePlan { time: 1.0 }
        );
    }
}
