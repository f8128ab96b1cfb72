//! Optimistic planning over weights: the search chooses one plausible f together with the controls.
//!
//! ```text
//! minimise J(u, w) over u and over ‖wⱼ‖ ≤ 1        f_w = μ + β ψᵀ w, the same w at all times
//! ```
//!
//! The search alternates. For a given w, iLQR computes the controls: J*(w) = minᵤ J(u, w). Then w takes a spectral projected-gradient step
//! [Bir00] on J*, whose gradient is that of J at the optimal controls (envelope theorem),
//!
//! ```text
//! dJ*/dw = Σ_k ∂J/∂w_k,   d = Π(w − s g) − w,   w ← w + α d
//! ```
//!
//! where the sum over all intervals is the planner's adjoint with w as a control, and Π is the projection on the balls. A step is accepted
//! if J* decreases sufficiently, so a plan never costs more than the initial one. Where J* is concave in w, as is common, a long step s
//! makes Π(w − s g) the minimiser of the linear model: the boundary point −gⱼ/‖gⱼ‖ (Frank–Wolfe). The search is local.

use super::planning::Planning;
use crate::explore::PlanningProblem;
use crate::linalg::Blocks;
use crate::plan::{Plan, PlanError, Start};

/// Maximum number of steps of w.
const ROUNDS: usize = 30;
/// Maximum number of halvings of a step.
const HALVINGS: usize = 6;
/// The search has converged when the expected decrease of a step is below this fraction of 1 + |J|.
const TOLERANCE: f64 = 1e-6;
/// Fraction of the expected decrease that a step must achieve.
const ENOUGH: f64 = 1e-4;
/// Length factor of the first step, large enough that the step ends on the boundary of the balls.
const LONG: f64 = 1e3;

pub(super) struct WeightSearch<'a> {
    pub(super) planning: &'a Planning<'a>,
    /// Planning problem with controls (u, w).
    pub(super) exploration: &'a PlanningProblem,
    /// Planning problem on the mean model, with the cost and the limits of u alone.
    pub(super) mean: &'a PlanningProblem,
    /// Number of weights of each output.
    pub(super) counts: Vec<usize>,
}

impl WeightSearch<'_> {
    /// Returns the best plan found from `start` (controls u alone) and weights `w`, with controls (u, w), and the number of iterations.
    pub(super) fn solve(&self, start: Start, mut w: Vec<f64>) -> Result<(Plan, usize), PlanError> {
        project(&self.counts, &mut w);
        let mut plan = self.at(&w, start)?;
        let mut iterations = plan.trace.len();
        let mut gradient = self.gradient(&plan, &w)?;
        let mut length = LONG / norm(&gradient).max(f64::MIN_POSITIVE);
        for _ in 0..ROUNDS {
            let mut target: Vec<f64> = w.iter().zip(&gradient).map(|(w, g)| w - length * g).collect();
            project(&self.counts, &mut target);
            let direction: Vec<f64> = target.iter().zip(&w).map(|(t, w)| t - w).collect();
            let slope = dot(&gradient, &direction);
            // Negated comparison, so that NaN ends the search.
            if !(-slope > TOLERANCE * (1.0 + plan.cost.abs())) {
                break;
            }
            let mut step = 1.0;
            let mut found = None;
            for _ in 0..=HALVINGS {
                let moved: Vec<f64> = w.iter().zip(&direction).map(|(w, d)| w + step * d).collect();
                let start = Start { controls: plan.controls.clone(), states: Some(plan.states.clone()) };
                if let Ok(next) = self.at(&moved, start) {
                    iterations += next.trace.len();
                    if next.cost <= plan.cost + ENOUGH * step * slope {
                        found = Some((moved, next));
                        break;
                    }
                }
                step *= 0.5;
            }
            let Some((moved, next)) = found else { break };
            let after = self.gradient(&next, &moved)?;
            let change: Vec<f64> = moved.iter().zip(&w).map(|(a, b)| a - b).collect();
            let bend: f64 =
                change.iter().zip(after.iter().zip(&gradient)).map(|(c, (a, b))| c * (a - b)).sum();
            let longest = LONG / norm(&after).max(f64::MIN_POSITIVE);
            // Barzilai–Borwein step length; the maximum length where J* is concave along the step.
            length = if bend > 0.0 { (dot(&change, &change) / bend).min(longest) } else { longest };
            (w, plan, gradient) = (moved, next, after);
        }
        Ok((Self::with_weights(plan, &w), iterations))
    }

    /// Plans the optimal controls for the given weights.
    fn at(&self, w: &[f64], start: Start) -> Result<Plan, PlanError> {
        let fixed = self.exploration.with_weights(w, self.mean);
        self.planning.search(&fixed, &self.planning.grid.fine, &[start])
    }

    /// Computes dJ/dw along a plan with controls u.
    fn gradient(&self, plan: &Plan, w: &[f64]) -> Result<Vec<f64>, PlanError> {
        let trajectory = Start { controls: append(&plan.controls, w), states: Some(plan.states.clone()) };
        let each = self.planning.gradient(self.exploration, &plan.times, &trajectory)?;
        let mut sum = vec![0.0; w.len()];
        for g in each.iter() {
            for (sum, g) in sum.iter_mut().zip(&g[plan.controls.size()..]) {
                *sum += g;
            }
        }
        Ok(sum)
    }

    /// Appends w to the controls of a plan; the gains of the weights are zero.
    fn with_weights(mut plan: Plan, w: &[f64]) -> Plan {
        let zeros = vec![0.0; w.len() * plan.states.size()];
        plan.gains = append(&plan.gains, &zeros);
        plan.controls = append(&plan.controls, w);
        plan
    }
}

/// Appends `more` to each block.
fn append(blocks: &Blocks, more: &[f64]) -> Blocks {
    let all = blocks.iter().flat_map(|b| b.iter().chain(more)).copied().collect();
    Blocks::from_vec(all, blocks.size() + more.len())
}

/// Projects the weights of each output onto the unit ball.
pub(super) fn project(counts: &[usize], w: &mut [f64]) {
    let mut rest = w;
    for &count in counts {
        let (own, others) = rest.split_at_mut(count);
        let length = norm(own);
        if length > 1.0 {
            for w in own {
                *w /= length;
            }
        }
        rest = others;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_moved_into_the_ball_of_their_output() {
        let mut w = vec![3.0, 4.0, 0.3, 0.4, 0.0];
        project(&[2, 3], &mut w);
        assert_eq!(w, [0.6, 0.8, 0.3, 0.4, 0.0]);
    }
}
