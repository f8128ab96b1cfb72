//! Minimisation within bounds: L-BFGS-B from arbitrary starts (the only use of the optimisation library), and projected BFGS with a
//! known initial Hessian near the minimum.

use crate::linalg::Cholesky;
use basin::{
    BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor, FirstOrderState,
    Gradient, Lbfgsb, Termination,
};
use std::cell::{Cell, RefCell};

/// The reason why a search ended. In every case the result is the best finite point that was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The gradient or the last decrease is below its tolerance.
    Converged,
    /// The line search found no lower point along the last direction.
    Stalled,
    /// The budget of evaluations is used up.
    Budget,
    /// No point could be evaluated.
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

/// The result of a search: the best point that was evaluated.
#[derive(Clone, Debug)]
pub(super) struct Minimum {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    /// The lowest value within the first [`COMPARISON_EVALUATIONS`] evaluations, used to compare searches.
    pub(super) early: f64,
    /// Number of evaluations.
    pub(super) evaluations: usize,
    pub(super) status: Status,
}

impl Minimum {
    /// The result of a search that is not compared with others.
    pub(super) fn at(point: Vec<f64>, value: f64, evaluations: usize, status: Status) -> Self {
        Minimum { point, value, early: value, evaluations, status }
    }
}

/// Termination criteria.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) evaluations: usize,
    /// Tolerance on the largest entry of the projected gradient.
    pub(super) gradient: f64,
    /// Tolerance on the decrease in one step, relative to max(1, |value|).
    pub(super) decrease: f64,
}

/// The value assigned to points that cannot be evaluated: far above all regular values, but finite as the line search requires.
const UNDEFINED_VALUE: f64 = 1e6;

/// Minimises `f` from `start` by L-BFGS-B. `f` returns the value and writes the gradient to its second argument, or returns `None`
/// where it cannot be evaluated.
pub(super) fn minimize(f: &mut Function<'_>, start: &[f64], bounds: &[(f64, f64)], stop: Stop) -> Minimum {
    minimize_with_incumbent(f, start, bounds, stop, None)
}

/// Minimises `f` like [`minimize`], and abandons the search when it is unlikely to end below `incumbent`: when it approaches the
/// incumbent's point at a higher value, or when its value is above the incumbent's and was also higher after the same number of
/// evaluations.
pub(super) fn minimize_with_incumbent(
    f: &mut Function<'_>,
    start: &[f64],
    bounds: &[(f64, f64)],
    stop: Stop,
    incumbent: Option<&Minimum>,
) -> Minimum {
    let (best, used) = (RefCell::new((f64::INFINITY, start.to_vec())), Cell::new(0));
    let early = Cell::new(f64::INFINITY);
    let problem = BudgetedProblem {
        f: RefCell::new(f),
        best: &best,
        used: &used,
        budget: stop.evaluations,
        incumbent,
        early: &early,
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
    Minimum { point, value, early: early.get(), evaluations: used.get(), status }
}

/// Minimises `f` by projected BFGS steps within the bounds, from a start near the minimum at which the Hessian is approximately
/// `hessian` (p × p).
///
/// The initial Hessian saves the roughly p evaluations in which [`minimize`] would estimate it; BFGS updates correct it.
pub(super) fn refine(
    f: &mut Function<'_>,
    start: &[f64],
    mut hessian: Vec<f64>,
    bounds: &[(f64, f64)],
    stop: Stop,
) -> Minimum {
    let p = start.len();
    let mut x: Vec<f64> = start.iter().zip(bounds).map(|(x, (low, high))| x.clamp(*low, *high)).collect();
    let mut gradient = vec![0.0; p];
    let mut evaluations = 1;
    let Some(mut value) = f(&x, &mut gradient).filter(|v| v.is_finite()) else {
        return Minimum::at(x, f64::INFINITY, evaluations, Status::Failed);
    };
    let end = |x: &[f64], value, evaluations, status| Minimum::at(x.to_vec(), value, evaluations, status);
    loop {
        // A variable at an active bound is excluded.
        let free: Vec<usize> = (0..p)
            .filter(|&i| {
                let (low, high) = bounds[i];
                !(x[i] <= low && gradient[i] > 0.0 || x[i] >= high && gradient[i] < 0.0)
            })
            .collect();
        if free.iter().all(|&i| gradient[i].abs() <= stop.gradient) {
            return end(&x, value, evaluations, Status::Converged);
        }
        let step = newton_step(&hessian, p, &free, &gradient);
        let mut length = 1.0;
        let (next, next_value, next_gradient) = loop {
            if evaluations >= stop.evaluations {
                return end(&x, value, evaluations, Status::Budget);
            }
            let mut trial = x.clone();
            for (&i, d) in free.iter().zip(&step) {
                trial[i] = (x[i] + length * d).clamp(bounds[i].0, bounds[i].1);
            }
            let slope: f64 = (0..p).map(|i| gradient[i] * (trial[i] - x[i])).sum();
            if slope >= 0.0 && length > 1e-3 {
                // The step was cut off by a bound and leads uphill; a shorter step does not.
                length *= 0.25;
                continue;
            }
            let mut slopes = vec![0.0; p];
            evaluations += 1;
            let found = f(&trial, &mut slopes).filter(|v| *v <= value + 1e-4 * slope);
            match found.filter(|_| slopes.iter().all(|g| g.is_finite())) {
                Some(found) => break (trial, found, slopes),
                None if length < 1e-3 || slope >= 0.0 => return end(&x, value, evaluations, Status::Stalled),
                None => length *= 0.25,
            }
        };
        update(&mut hessian, p, &x, &next, &gradient, &next_gradient);
        let gain = value - next_value;
        (x, value, gradient) = (next, next_value, next_gradient);
        if gain <= stop.decrease * value.abs().max(1.0) {
            return end(&x, value, evaluations, Status::Converged);
        }
    }
}

/// The Newton step −H⁻¹ g of the free variables. A ridge is added to H until it is positive definite. Entries are limited to 2, a
/// factor of seven in log space.
fn newton_step(hessian: &[f64], p: usize, free: &[usize], gradient: &[f64]) -> Vec<f64> {
    let m = free.len();
    let size = free.iter().map(|&i| hessian[i * p + i].abs()).fold(1e-3, f64::max);
    let mut ridge = 1e-8 * size;
    loop {
        let entry = |e: usize| hessian[free[e / m] * p + free[e % m]] + f64::from(e / m == e % m) * ridge;
        if let Ok(factor) = Cholesky::new(&(0..m * m).map(entry).collect::<Vec<_>>(), m) {
            let mut step: Vec<f64> = free.iter().map(|&i| -gradient[i]).collect();
            factor.solve_lower(&mut step, 1);
            factor.solve_transposed(&mut step, 1);
            if step.iter().all(|d| d.is_finite()) {
                let largest = step.iter().fold(0.0, |a: f64, d| a.max(d.abs()));
                let factor = if largest > 2.0 { 2.0 / largest } else { 1.0 };
                return step.iter().map(|d| factor * d).collect();
            }
        }
        if !(ridge < 1e12 * size) {
            return free.iter().map(|&i| -gradient[i].clamp(-1.0, 1.0)).collect();
        }
        ridge *= 10.0;
    }
}

/// Powell's damped BFGS update [Noc06, procedure 18.2], which keeps H positive definite for every step.
fn update(hessian: &mut [f64], p: usize, x: &[f64], next: &[f64], gradient: &[f64], next_gradient: &[f64]) {
    let s: Vec<f64> = (0..p).map(|i| next[i] - x[i]).collect();
    let mut y: Vec<f64> = (0..p).map(|i| next_gradient[i] - gradient[i]).collect();
    let hs: Vec<f64> = (0..p).map(|i| (0..p).map(|j| hessian[j * p + i] * s[j]).sum()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let curvature = dot(&s, &hs);
    if !(curvature > 0.0) {
        return;
    }
    let sy = dot(&s, &y);
    if sy < 0.2 * curvature {
        let theta = 0.8 * curvature / (curvature - sy);
        y.iter_mut().zip(&hs).for_each(|(y, hs)| *y = theta * *y + (1.0 - theta) * hs);
    }
    let sy = dot(&s, &y);
    for j in 0..p {
        for i in 0..p {
            hessian[j * p + i] += y[i] * y[j] / sy - hs[i] * hs[j] / curvature;
        }
    }
}

/// The Hessian of `f` at a point from forward differences of its gradient: p + 1 evaluations, symmetrised. `None` where `f` cannot
/// be evaluated.
pub(super) fn hessian(f: &mut Function<'_>, point: &[f64], bounds: &[(f64, f64)]) -> Option<Vec<f64>> {
    const STEP: f64 = 1e-3;
    let p = point.len();
    let mut at = vec![0.0; p];
    f(point, &mut at)?;
    let mut columns = vec![0.0; p * p];
    for j in 0..p {
        let mut moved = point.to_vec();
        let step = if point[j] + STEP > bounds[j].1 { -STEP } else { STEP };
        moved[j] += step;
        let mut there = vec![0.0; p];
        f(&moved, &mut there)?;
        for i in 0..p {
            columns[j * p + i] = (there[i] - at[i]) / step;
        }
    }
    Some((0..p * p).map(|e| 0.5 * (columns[e] + columns[(e % p) * p + e / p])).collect())
}

pub(super) type Function<'a> = dyn FnMut(&[f64], &mut [f64]) -> Option<f64> + 'a;

struct BudgetedProblem<'a> {
    f: RefCell<&'a mut Function<'a>>,
    best: &'a RefCell<(f64, Vec<f64>)>,
    used: &'a Cell<usize>,
    budget: usize,
    incumbent: Option<&'a Minimum>,
    early: &'a Cell<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// A search whose best point is within this distance (largest difference in log space) of the incumbent is in the same basin.
const SAME_BASIN: f64 = 0.3;

/// Number of evaluations after which two searches are compared.
const COMPARISON_EVALUATIONS: usize = 12;

impl BudgetedProblem<'_> {
    /// True if the search is unlikely to end below the incumbent.
    fn is_dominated(&self) -> bool {
        let Some(incumbent) = self.incumbent else { return false };
        let (best, used) = (self.best.borrow(), self.used.get());
        if used == 0 || best.0 <= incumbent.value {
            return false;
        }
        let apart = best.1.iter().zip(&incumbent.point).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        apart < SAME_BASIN || used >= COMPARISON_EVALUATIONS && self.early.get() > incumbent.early
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the evaluation budget is used up or the search was abandoned")]
struct Abandoned;

impl Constraints for BudgetedProblem<'_> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.lower), Some(&self.upper)))
    }
}

impl CostFunction for BudgetedProblem<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Abandoned;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Abandoned> {
        self.cost_and_gradient(x).map(|(value, _)| value)
    }
}

impl Gradient for BudgetedProblem<'_> {
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Abandoned> {
        self.cost_and_gradient(x).map(|(_, gradient)| gradient)
    }

    fn cost_and_gradient(&self, x: &Vec<f64>) -> Result<(f64, Vec<f64>), Abandoned> {
        if self.used.get() >= self.budget || self.is_dominated() {
            return Err(Abandoned);
        }
        self.used.set(self.used.get() + 1);
        let mut gradient = vec![0.0; x.len()];
        let value = (self.f.borrow_mut())(x, &mut gradient).filter(|v| v.is_finite());
        let Some(value) = value.filter(|_| gradient.iter().all(|g| g.is_finite())) else {
            gradient.fill(0.0);
            let best = self.best.borrow().0;
            return Ok((UNDEFINED_VALUE + if best.is_finite() { 2.0 * best.abs() } else { 0.0 }, gradient));
        };
        let mut best = self.best.borrow_mut();
        if value < best.0 {
            *best = (value, x.clone());
            if self.used.get() <= COMPARISON_EVALUATIONS {
                self.early.set(value);
            }
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
    fn refining_with_the_hessian_takes_a_few_evaluations() {
        // A narrow curved valley, starting from a point on its floor.
        let mut f = |x: &[f64], g: &mut [f64]| {
            let valley = x[1] - x[0] * x[0];
            g[0] = -40.0 * x[0] * valley - 2.0 * (1.0 - x[0]);
            g[1] = 20.0 * valley;
            Some(10.0 * valley * valley + (1.0 - x[0]).powi(2))
        };
        let (start, bounds) = ([0.7, 0.5], [(-2.0, 2.0), (-2.0, 2.0)]);
        let first = hessian(&mut f, &start, &bounds).unwrap();
        let end = refine(&mut f, &start, first, &bounds, STOP);
        assert_eq!(end.status, Status::Converged);
        assert!(end.value < 1e-14 && end.evaluations <= 15, "{end:?}");
        let walls = [(-2.0, 0.8), (-2.0, 2.0)];
        let first = hessian(&mut f, &start, &walls).unwrap();
        let end = refine(&mut f, &start, first, &walls, STOP);
        assert!((end.point[0] - 0.8).abs() < 1e-12 && (end.point[1] - 0.64).abs() < 1e-7, "{end:?}");
    }

    #[test]
    fn a_search_that_its_rival_outdoes_is_given_up_and_a_better_one_is_not() {
        // Two valleys, at −2 and at 2, the second lower; and a slope that hardly falls.
        let mut valleys = |x: &[f64], g: &mut [f64]| {
            let (a, b) = (x[0] + 2.0, x[0] - 2.0);
            let (p, q) = ((-a * a).exp(), 2.0 * (-b * b).exp());
            g[0] = 2.0 * a * p + 2.0 * b * q;
            Some(-p - q)
        };
        let bounds = [(-10.0, 10.0)];
        let left = minimize(&mut valleys, &[-2.5], &bounds, STOP);
        let right = minimize(&mut valleys, &[2.4], &bounds, STOP);
        assert!(right.value < left.value - 0.9);
        let again = minimize_with_incumbent(&mut valleys, &[2.4], &bounds, STOP, Some(&left));
        assert_eq!((again.point, again.status), (right.point.clone(), right.status));
        let same = minimize_with_incumbent(&mut valleys, &[2.4], &bounds, STOP, Some(&right));
        assert!(same.evaluations < right.evaluations && same.value > right.value, "{same:?}");
        let mut slope = |x: &[f64], g: &mut [f64]| {
            g[0] = -1e-3;
            Some(10.0 - 1e-3 * x[0])
        };
        let slow = minimize_with_incumbent(&mut slope, &[0.0], &[(-1e3, 1e3)], STOP, Some(&right));
        assert!(slow.evaluations <= COMPARISON_EVALUATIONS && slow.value > right.value, "{slow:?}");
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
