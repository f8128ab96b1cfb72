//! Minimisation within bounds, by L-BFGS-B: the one door to the optimiser's library.

use basin::{
    BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor, FirstOrderState,
    Gradient, Lbfgsb, Termination,
};
use std::cell::{Cell, RefCell};

/// How a search ended. Whichever it is, the point that is kept is the best finite one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The gradient or the expected gain is small.
    Converged,
    /// No better point was found along the last direction.
    Stalled,
    /// All evaluations were used.
    Budget,
    /// Not one point could be evaluated.
    Failed,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Converged => "converged",
            Status::Stalled => "stalled",
            Status::Budget => "evaluation budget used",
            Status::Failed => "failed",
        })
    }
}

/// The best point seen.
#[derive(Clone, Debug)]
pub(super) struct Minimum {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    pub(super) evaluations: usize,
    pub(super) status: Status,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) evaluations: usize,
    /// Largest entry of the projected gradient.
    pub(super) gradient: f64,
    /// Decrease in one step, relative to max(1, |value|).
    pub(super) decrease: f64,
}

/// What a point that cannot be evaluated is taken to be worth: far above anything real, and finite, as the line search needs.
const HOPELESS: f64 = 1e6;

/// Minimises `f` (value, gradient into its second argument; `None` where it cannot be evaluated) from `start`.
pub(super) fn minimize(f: &mut Function<'_>, start: &[f64], bounds: &[(f64, f64)], stop: Stop) -> Minimum {
    let (best, used) = (RefCell::new((f64::INFINITY, start.to_vec())), Cell::new(0));
    let problem = Counted {
        f: RefCell::new(f),
        best: &best,
        used: &used,
        budget: stop.evaluations,
        lower: bounds.iter().map(|b| b.0).collect(),
        upper: bounds.iter().map(|b| b.1).collect(),
    };
    let solver = Lbfgsb::new()
        .with_m_capacity(10)
        .with_absolute_projected_gradient_tolerance(stop.gradient)
        .with_relative_cost_reduction_tolerance(stop.decrease);
    let inside = start.iter().zip(bounds).map(|(x, (low, high))| x.clamp(*low, *high)).collect();
    let run = Executor::new(problem, solver, FirstOrderState::<Vec<f64>>::new(inside))
        .max_iter(stop.evaluations as u64)
        .run();
    let (value, point) = best.into_inner();
    let status = match run {
        _ if !value.is_finite() => Status::Failed,
        Err(_) if used.get() >= stop.evaluations => Status::Budget,
        Err(_) => Status::Stalled,
        Ok(result) => match result.report.termination {
            Termination::Converged(_) => Status::Converged,
            Termination::Limit(_) => Status::Budget,
            _ => Status::Stalled,
        },
    };
    Minimum { point, value, evaluations: used.get(), status }
}

type Function<'a> = dyn FnMut(&[f64], &mut [f64]) -> Option<f64> + 'a;

struct Counted<'a> {
    f: RefCell<&'a mut Function<'a>>,
    best: &'a RefCell<(f64, Vec<f64>)>,
    used: &'a Cell<usize>,
    budget: usize,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

#[derive(Debug, thiserror::Error)]
#[error("all evaluations are used")]
struct Exhausted;

impl Constraints for Counted<'_> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.lower), Some(&self.upper)))
    }
}

impl CostFunction for Counted<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Exhausted;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Exhausted> {
        self.cost_and_gradient(x).map(|(value, _)| value)
    }
}

impl Gradient for Counted<'_> {
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Exhausted> {
        self.cost_and_gradient(x).map(|(_, gradient)| gradient)
    }

    fn cost_and_gradient(&self, x: &Vec<f64>) -> Result<(f64, Vec<f64>), Exhausted> {
        if self.used.get() >= self.budget {
            return Err(Exhausted);
        }
        self.used.set(self.used.get() + 1);
        let mut gradient = vec![0.0; x.len()];
        let value = (self.f.borrow_mut())(x, &mut gradient).filter(|v| v.is_finite());
        let Some(value) = value.filter(|_| gradient.iter().all(|g| g.is_finite())) else {
            gradient.fill(0.0);
            return Ok((HOPELESS, gradient));
        };
        let mut best = self.best.borrow_mut();
        if value < best.0 {
            *best = (value, x.clone());
        }
        Ok((value, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: Stop = Stop { evaluations: 200, gradient: 1e-8, decrease: 0.0 };

    #[test]
    fn a_quadratic_ends_at_its_minimum_or_at_the_bound() {
        let mut f = |x: &[f64], g: &mut [f64]| {
            g[0] = 2.0 * (x[0] - 3.0);
            g[1] = 8.0 * (x[1] + 1.0);
            Some((x[0] - 3.0).powi(2) + 4.0 * (x[1] + 1.0).powi(2))
        };
        let end = minimize(&mut f, &[0.0, 0.0], &[(-1.0, 2.0), (-5.0, 5.0)], STOP);
        assert_eq!(end.status, Status::Converged);
        assert!((end.point[0] - 2.0).abs() < 1e-12 && (end.point[1] + 1.0).abs() < 1e-7, "{end:?}");
    }

    #[test]
    fn the_budget_is_kept_and_the_best_point_survives() {
        let mut count = 0;
        let mut f = |x: &[f64], g: &mut [f64]| {
            count += 1;
            g[0] = x[0].cos() + 0.1;
            Some(x[0].sin() + 0.1 * x[0])
        };
        let end = minimize(&mut f, &[0.5], &[(-1e3, 1e3)], Stop { evaluations: 3, ..STOP });
        assert_eq!((end.evaluations, count), (3, 3));
        assert_eq!(end.status, Status::Budget);
        assert!(end.value <= 0.5_f64.sin() + 0.05);
    }

    #[test]
    fn points_that_cannot_be_evaluated_are_stepped_back_from() {
        let mut wall = |x: &[f64], g: &mut [f64]| {
            g[0] = 2.0 * (x[0] - 1.0);
            (x[0] < 2.0).then_some((x[0] - 1.0).powi(2))
        };
        let end = minimize(&mut wall, &[-20.0], &[(-30.0, 30.0)], STOP);
        assert!((end.point[0] - 1.0).abs() < 1e-6, "{end:?}");
        let end = minimize(&mut |_, _| None, &[0.0], &[(-1.0, 1.0)], STOP);
        assert_eq!((end.status, end.point), (Status::Failed, vec![0.0]));
        let mut nan = |_: &[f64], g: &mut [f64]| {
            g[0] = f64::NAN;
            Some(1.0)
        };
        assert_eq!(minimize(&mut nan, &[0.0], &[(-1.0, 1.0)], STOP).status, Status::Failed);
    }
}
