//! Starts from a homotopy in the limits of the controls.
//!
//! Strong controls reach the goal at once, and a local search that has found such a plan stays there. Where the controls are limited to a
//! part of what that plan needs, other plans remain: a swing-up swings more often. Their optima are starts of the original problem, whose
//! limits let them improve.

use super::{Plan, Problem, SearchKind, Settings, Start, best_of};
use crate::random::Stream;
use crate::system::{Bounds, Dynamics};
use rayon::prelude::*;

/// Limits of the controls, relative to the largest control of the best plan.
const TIGHTER: [f64; 3] = [0.7, 0.45, 0.25];

/// Returns a start for each of several tighter limits around `center`: the best plan of local searches within them, from `best` and from the
/// random controls of `kind`, whose unit is half the range of the limits. Limits without a plan give no start.
pub fn tightened_starts(
    dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
    problem: &Problem<'_>,
    kind: &SearchKind,
    center: &[f64],
    best: &Plan,
    settings: &Settings,
    stream: &Stream,
) -> Vec<Start> {
    let start = |(i, part): (usize, &f64)| {
        let bounds = tightened(problem.control_bounds, center, best, *part);
        let half = bounds.lower.iter().zip(&bounds.upper).map(|(lower, upper)| 0.5 * (upper - lower));
        let random =
            Start::of_kind(kind, center, &half.collect::<Vec<_>>(), problem.intervals(), &stream.index(i));
        let starts: Vec<Start> = std::iter::once(best.start()).chain(random).collect();
        let plan = best_of(dynamics, &Problem { control_bounds: &bounds, ..*problem }, settings, &starts);
        plan.ok().map(|plan| plan.start())
    };
    TIGHTER.par_iter().enumerate().filter_map(start).collect()
}

/// Returns the limits within `part` of the largest distance of each control of `best` from `center`.
fn tightened(bounds: &Bounds, center: &[f64], best: &Plan, part: f64) -> Bounds {
    let mut out = bounds.clone();
    for (r, center) in center.iter().enumerate() {
        let peak = best.controls.iter().map(|u| (u[r] - center).abs()).fold(0.0, f64::max);
        if peak > 0.0 {
            out.lower[r] = out.lower[r].max(center - part * peak);
            out.upper[r] = out.upper[r].min(center + part * peak);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::uniform_grid;
    use crate::system::Benchmark;

    #[test]
    fn starts_stay_within_a_part_of_the_controls_of_the_best_plan() {
        let pendulum = Benchmark::find("pendulum").unwrap();
        let times = uniform_grid(pendulum.task.horizon, 50);
        let (problem, settings) = (Problem::of(&pendulum.task, &times), Settings::default());
        let make = || pendulum.dynamics();
        let best = best_of(&make, &problem, &settings, &[Start::constant(&[0.0], 50)]).unwrap();
        let largest = |u: &crate::linalg::Blocks| u.iter().map(|u| u[0].abs()).fold(0.0, f64::max);
        let kind = SearchKind::random("random", 1, 0.5, 2);
        let starts = tightened_starts(&make, &problem, &kind, &[0.0], &best, &settings, &Stream::root(0));
        assert_eq!(starts.len(), TIGHTER.len());
        for (start, part) in starts.iter().zip(TIGHTER) {
            let bound = part * largest(&best.controls);
            assert!(largest(&start.controls) <= bound && largest(&start.controls) > 0.5 * bound);
        }
    }
}
