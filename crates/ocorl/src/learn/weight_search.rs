//! Optimistic planning over weights: one plausible f, chosen together with the controls.
//!
//! ```text
//! minimise J(u, w) over u and over ‖wⱼ‖ ≤ 1        f_w = μ + β ψᵀ w, the same w at all times
//! ```
//!
//! The search alternates. For a given w the controls come from iLQR, as on any dynamics: J*(w) = minᵤ J(u, w). Then w takes a spectral
//! projected-gradient step [Bir00] on J*, whose gradient is that of J at the best controls (envelope theorem),
//!
//! ```text
//! dJ*/dw = Σ_k ∂J/∂w_k,   d = Π(w − s g) − w,   w ← w + α d
//! ```
//!
//! the sum over all intervals of the planner's own adjoint with w as a control, and Π the projection on the balls. A step is taken if J* falls
//! enough, so a plan never costs more than the one the search began with. Where J* is concave in w, as it often is, a long step s makes
//! Π(w − s g) the best point of the linear model: the boundary point −gⱼ/‖gⱼ‖ (Frank–Wolfe).

use super::planning::Planning;
use crate::explore::Imagined;
use crate::linalg::Blocks;
use crate::plan::{Plan, PlanError, Start};

/// Steps of w.
const ROUNDS: usize = 30;
/// Halvings of a step.
const HALVINGS: usize = 6;
/// Converged when a step promises less than this fraction of 1 + |J|.
const TOLERANCE: f64 = 1e-6;
/// Fraction of the promised decrease that a step must achieve.
const ENOUGH: f64 = 1e-4;
/// A first step is so long that it ends on the boundary of the balls.
const LONG: f64 = 1e3;

pub(super) struct WeightSearch<'a> {
    pub(super) planning: &'a Planning<'a>,
    /// The problem with controls (u, w).
    pub(super) imagined: &'a Imagined,
    /// The problem on the mean: its cost and limits of u alone.
    pub(super) mean: &'a Imagined,
    /// Weights of each output.
    pub(super) counts: Vec<usize>,
}

impl WeightSearch<'_> {
    /// The best plan found from `start` (controls u alone) and weights `w`, with controls (u, w); and the iterations it took.
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
            // Written this way round so that NaN ends the search.
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
            // Barzilai and Borwein's length; where J* is concave along the step, the longest.
            length = if bend > 0.0 { (dot(&change, &change) / bend).min(longest) } else { longest };
            (w, plan, gradient) = (moved, next, after);
        }
        Ok((Self::with_weights(plan, &w), iterations))
    }

    /// The best controls for these weights.
    fn at(&self, w: &[f64], start: Start) -> Result<Plan, PlanError> {
        let fixed = self.imagined.with_weights(w, self.mean);
        self.planning.search(&fixed, &self.planning.grid.fine, &[start])
    }

    /// dJ/dw along a plan with controls u.
    fn gradient(&self, plan: &Plan, w: &[f64]) -> Result<Vec<f64>, PlanError> {
        let trajectory = Start { controls: append(&plan.controls, w), states: Some(plan.states.clone()) };
        let each = self.planning.gradient(self.imagined, &plan.times, &trajectory)?;
        let mut sum = vec![0.0; w.len()];
        for g in each.iter() {
            for (sum, g) in sum.iter_mut().zip(&g[plan.controls.size()..]) {
                *sum += g;
            }
        }
        Ok(sum)
    }

    /// The plan with w behind its controls; weights do not answer the state.
    fn with_weights(mut plan: Plan, w: &[f64]) -> Plan {
        let zeros = vec![0.0; w.len() * plan.states.size()];
        plan.gains = append(&plan.gains, &zeros);
        plan.controls = append(&plan.controls, w);
        plan
    }
}

/// `more` behind each block.
fn append(blocks: &Blocks, more: &[f64]) -> Blocks {
    let all = blocks.iter().flat_map(|b| b.iter().chain(more)).copied().collect();
    Blocks::from_vec(all, blocks.size() + more.len())
}

/// Moves the weights of each output into the unit ball.
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
