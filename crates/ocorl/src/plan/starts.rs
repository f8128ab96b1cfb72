//! Multi-start search: local searches from several starts, of which the best plan is kept.

use super::{Guess, Plan, PlanError, Problem, Settings, plan_within_limits};
use crate::linalg::Blocks;
use crate::random::{Rng, Stream};
use crate::system::Dynamics;
use rayon::prelude::*;

/// Initial guess of one local search, with its own storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Controls u_k, one block for each interval.
    pub controls: Blocks,
    /// States x_k, one block for each node; `None` if the start is the rollout of its controls.
    pub states: Option<Blocks>,
}

impl Start {
    /// Creates a start with the same control on every interval.
    pub fn constant(control: &[f64], intervals: usize) -> Start {
        Start { controls: Blocks::from_vec(control.repeat(intervals), control.len()), states: None }
    }

    /// Creates a smooth random control around `center`: three sines of random frequency (up to `cycles` periods over the
    /// horizon) and phase, each with an amplitude drawn from a normal distribution of standard deviation `size`.
    pub fn random(center: &[f64], size: f64, cycles: f64, intervals: usize, rng: &mut Rng) -> Start {
        let mut start = Start::constant(center, intervals);
        for r in 0..center.len() {
            for _ in 0..3 {
                let amplitude = size * rng.normal();
                let frequency = std::f64::consts::TAU * rng.uniform(0.0, cycles) / intervals as f64;
                let phase = rng.uniform(0.0, std::f64::consts::TAU);
                for k in 0..intervals {
                    start.controls.at_mut(k)[r] += amplitude * (frequency * k as f64 + phase).sin();
                }
            }
        }
        start
    }

    /// Creates `1 + random` starts: the constant control `center`, and `random` smooth random controls around it of up to two periods.
    pub fn around(center: &[f64], size: f64, random: usize, intervals: usize, stream: &Stream) -> Vec<Start> {
        let drawn = |i| Start::random(center, size, 2.0, intervals, &mut stream.index(i).rng());
        std::iter::once(Start::constant(center, intervals)).chain((0..random).map(drawn)).collect()
    }

    /// Creates an infeasible start: states on the straight line from `from` to `to`, with one constant control.
    pub fn line(from: &[f64], to: &[f64], control: &[f64], intervals: usize) -> Start {
        let mut states = Blocks::zeros(from.len(), intervals + 1);
        for k in 0..=intervals {
            let w = k as f64 / intervals as f64;
            for (i, x) in states.at_mut(k).iter_mut().enumerate() {
                *x = from[i] + w * (to[i] - from[i]);
            }
        }
        Start { states: Some(states), ..Start::constant(control, intervals) }
    }

    /// Returns the start as the guess that a planner takes.
    pub fn guess(&self) -> Guess<'_> {
        Guess { controls: self.controls.as_slice(), states: self.states.as_ref().map(Blocks::as_slice) }
    }
}

/// Plans from every start in parallel, within the limits of the states, and returns the plan of least cost (the first of equals).
///
/// `dynamics` creates one copy for each start. Starts without a plan are skipped; if all fail, the first error is
/// returned. The result does not depend on the number of threads.
///
/// ```
/// use ocorl::plan::Settings;
/// use ocorl::prelude::*;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// let times = uniform_grid(pendulum.task.horizon, 50);
/// let starts = Start::around(&[0.0], 0.5, 3, 50, &Stream::root(0));
/// let problem = Problem::of(&pendulum.task, &times);
/// let plan = best_of(&|| pendulum.dynamics(), &problem, &Settings::default(), &starts)?;
/// assert!(plan.cost < 21.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn best_of(
    dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
    problem: &Problem<'_>,
    settings: &Settings,
    starts: &[Start],
) -> Result<Plan, PlanError> {
    assert!(!starts.is_empty(), "at least one start is needed");
    let plans = each_of(dynamics, problem, settings, starts);
    plans.into_iter().reduce(better).unwrap_or(Err(PlanError::NoIntervals { nodes: 0 }))
}

/// Does the same as [`best_of`], but returns the result of every start, in their order.
pub fn each_of(
    dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
    problem: &Problem<'_>,
    settings: &Settings,
    starts: &[Start],
) -> Vec<Result<Plan, PlanError>> {
    let plan = |start| plan_within_limits(dynamics().as_mut(), problem, settings, start);
    starts.par_iter().map(plan).collect()
}

/// Returns the plan of lower cost: the first of equals, and the first error if neither is a plan.
pub fn better(best: Result<Plan, PlanError>, next: Result<Plan, PlanError>) -> Result<Plan, PlanError> {
    match (&best, &next) {
        (Ok(a), Ok(b)) if b.cost < a.cost => next,
        (Err(_), Ok(_)) => next,
        _ => best,
    }
}
