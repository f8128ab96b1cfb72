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
use serde::{Deserialize, Serialize};

/// A kind of search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchKind {
    /// Name in records.
    pub name: &'static str,
    /// Number of stages in which the horizon grows; 1 uses the whole horizon at once.
    pub stages: usize,
    /// Standard deviation of the random controls around the safe control, in a unit of the caller's choice.
    pub size: f64,
    /// Number of random starts in addition to the safe control.
    pub random: usize,
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

/// Searches of one kind: the results of all its starts at the whole horizon.
pub type SearchOfKind<'a> = dyn FnMut(&SearchKind) -> Vec<Result<Plan, PlanError>> + 'a;

/// Runs `kinds` in order until the cheapest basin has been found by `agreement` kinds. `known` is the cost of a plan that the caller
/// already has, maybe on another grid; it counts as a kind of its own.
///
/// Returns the first error if no search finds a plan.
pub fn race(
    kinds: &[SearchKind],
    agreement: usize,
    known: Option<f64>,
    search: &mut SearchOfKind<'_>,
) -> Result<Raced, PlanError> {
    let mut raced = Raced { basins: Vec::new(), attempts: Vec::new() };
    // Cost of the best plan of each kind.
    let mut bests: Vec<f64> = Vec::new();
    let mut failure = None;
    for (i, kind) in kinds.iter().enumerate() {
        let results = search(kind);
        let (mut best, from) = (f64::INFINITY, raced.attempts.len());
        for result in results {
            raced
                .attempts
                .push(Attempt { kind: kind.name, cost: result.as_ref().ok().map(|plan| plan.cost) });
            match result {
                Ok(plan) => {
                    best = best.min(plan.cost);
                    raced.keep(plan);
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        bests.push(best);
        let least = bests.iter().copied().fold(f64::INFINITY, f64::min);
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
    /// Keeps the cheaper of two plans of one basin.
    fn keep(&mut self, plan: Plan) {
        match self.basins.iter_mut().find(|other| same_basin(other.cost, plan.cost)) {
            Some(other) if plan.cost < other.cost => *other = plan,
            Some(_) => (),
            None => self.basins.push(plan),
        }
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
        stream: &crate::random::Stream,
    ) -> Vec<Start> {
        let random = (0..kind.random).map(|i| {
            let rng = &mut stream.index(i).rng();
            let mut start = Start::random(center, kind.size, 2.0, intervals, rng);
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
        SearchKind { name, stages: 1, size: 1.0, random: 2 }
    }

    const KINDS: [SearchKind; 4] = [kind("a"), kind("b"), kind("c"), kind("d")];

    /// Runs a race in which kind i finds the costs `found[i]`, and returns the kinds that ran and the costs of the basins.
    fn run(found: [&[f64]; 4], agreement: usize, known: Option<f64>) -> (usize, Vec<f64>, Effort) {
        let mut ran = 0;
        let raced = race(&KINDS, agreement, known, &mut |_| {
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
    fn searches_without_a_plan_are_counted_and_reported() {
        let fail = || Err(PlanError::NoFinitePlan { time: 1.0 });
        let raced = race(&KINDS, 1, None, &mut |kind| {
            if kind.name == "b" { vec![Ok(plan(3.0))] } else { vec![fail()] }
        });
        let raced = raced.expect("a plan");
        assert_eq!(Effort::of(&raced.attempts), Effort { searches: 4, basins: 1 });
        assert_eq!(
            race(&KINDS, 1, None, &mut |_| vec![fail()]).unwrap_err(),
            PlanError::NoFinitePlan { time: 1.0 }
        );
    }
}
