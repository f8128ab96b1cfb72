//! Box-constrained quadratic program of one interval of the backward pass: min ½ uᵀHu + gᵀu subject to lower ≤ u ≤ upper.
//!
//! The solver is the projected Newton method [Ber82] as used in box-DDP [Tas14]. Coordinates that the gradient holds at a limit are fixed;
//! the free coordinates take a Newton step, and a projected line search ensures descent. For the few controls of a typical plant it reaches
//! the exact minimiser in three or four iterations. An iteration costs O(n³) and allocates nothing. The solve fails only if the free block
//! of H is not positive definite.

use crate::linalg::small::{dot, factorize, solve};

/// Scratch memory of the solver; after [`BoxQp::solve`] it holds the solution.
#[derive(Clone, Debug, Default)]
pub(super) struct BoxQp {
    /// Minimiser of the quadratic program.
    pub(super) solution: Vec<f64>,
    /// True for each coordinate that is not held at a limit.
    pub(super) free: Vec<bool>,
    /// Cholesky factor of the free block of H, `free_count × free_count`.
    pub(super) factor: Vec<f64>,
    gradient: Vec<f64>,
    newton: Vec<f64>,
    trial: Vec<f64>,
}

/// Iteration limit, after which the best point so far is returned; three or four iterations are usual.
const ROUNDS: usize = 50;

impl BoxQp {
    pub(super) fn resize(&mut self, n: usize) {
        for v in [&mut self.solution, &mut self.gradient, &mut self.newton, &mut self.trial] {
            v.resize(n, 0.0);
        }
        self.free.resize(n, true);
        self.factor.resize(n * n, 0.0);
    }

    /// Returns the number of coordinates that are not held at a limit.
    pub(super) fn free_count(&self) -> usize {
        self.free.iter().filter(|f| **f).count()
    }

    /// Minimises from the feasible point nearest to zero. Returns false if the free block of H is not positive definite.
    pub(super) fn solve(&mut self, h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> bool {
        let n = g.len();
        for i in 0..n {
            self.solution[i] = 0.0_f64.max(lower[i]).min(upper[i]);
        }
        let mut value = objective(h, g, &self.solution);
        for _ in 0..ROUNDS {
            self.mark_free(h, g, lower, upper);
            if !self.factor_free(h) {
                return false;
            }
            let m = self.free_count();
            if m == 0 {
                return true;
            }
            let free = || self.free.iter().enumerate().filter(|(_, f)| **f).map(|(i, _)| i);
            for (slot, i) in free().enumerate() {
                self.newton[slot] = -self.gradient[i];
            }
            solve(m, &self.factor[..m * m], 1, &mut self.newton[..m]);
            let slope: f64 = free().enumerate().map(|(slot, i)| self.newton[slot] * self.gradient[i]).sum();
            // −slope is twice the decrease of a full Newton step.
            if -slope <= 1e-14 * (1.0 + value.abs()) {
                return true;
            }
            let Some(better) = self.descend(h, g, lower, upper, value, slope) else { return true };
            value = better;
        }
        true
    }

    /// Marks as not free every coordinate that is at a limit and that the gradient presses against that limit.
    fn mark_free(&mut self, h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) {
        let n = g.len();
        for i in 0..n {
            self.gradient[i] = g[i] + dot(&h[i * n..(i + 1) * n], &self.solution);
            let pressed = (self.solution[i] <= lower[i] && self.gradient[i] > 0.0)
                || (self.solution[i] >= upper[i] && self.gradient[i] < 0.0)
                || lower[i] == upper[i];
            self.free[i] = !pressed;
        }
    }

    fn factor_free(&mut self, h: &[f64]) -> bool {
        let n = self.free.len();
        let mut slot = 0;
        for j in (0..n).filter(|&j| self.free[j]) {
            for i in (0..n).filter(|&i| self.free[i]) {
                self.factor[slot] = h[j * n + i];
                slot += 1;
            }
        }
        let m = self.free_count();
        factorize(m, &mut self.factor[..m * m])
    }

    /// Finds a projected step that decreases the objective sufficiently. Returns `None` if rounding leaves no such step.
    fn descend(
        &mut self,
        h: &[f64],
        g: &[f64],
        lower: &[f64],
        upper: &[f64],
        value: f64,
        slope: f64,
    ) -> Option<f64> {
        let mut step = 1.0;
        while step > 1e-10 {
            let mut slot = 0;
            for i in 0..g.len() {
                self.trial[i] = self.solution[i];
                if self.free[i] {
                    self.trial[i] = (self.solution[i] + step * self.newton[slot]).max(lower[i]).min(upper[i]);
                    slot += 1;
                }
            }
            let trial = objective(h, g, &self.trial);
            if trial <= value + 0.1 * step * slope || (trial < value && step < 1e-3) {
                std::mem::swap(&mut self.solution, &mut self.trial);
                return Some(trial);
            }
            step *= 0.5;
        }
        None
    }
}

/// Evaluates the objective ½ uᵀHu + gᵀu.
fn objective(h: &[f64], g: &[f64], u: &[f64]) -> f64 {
    let n = g.len();
    (0..n).map(|i| u[i] * (0.5 * dot(&h[i * n..(i + 1) * n], u) + g[i])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Reference solution by enumeration: tries every combination of lower, upper and free, and keeps the best feasible one.
    fn by_enumeration(h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
        let n = g.len();
        let mut best = f64::INFINITY;
        for code in 0..3_usize.pow(u32::try_from(n).unwrap()) {
            let choice: Vec<usize> =
                (0..n).map(|i| code / 3_usize.pow(u32::try_from(i).unwrap()) % 3).collect();
            let mut u: Vec<f64> = (0..n).map(|i| if choice[i] == 1 { upper[i] } else { lower[i] }).collect();
            let free: Vec<usize> = (0..n).filter(|&i| choice[i] == 2).collect();
            let m = free.len();
            let mut a: Vec<f64> =
                free.iter().flat_map(|&j| free.iter().map(move |&i| h[j * n + i])).collect();
            let mut b: Vec<f64> = free
                .iter()
                .map(|&i| {
                    let fixed = (0..n).filter(|j| !free.contains(j));
                    -(g[i] + fixed.map(|j| h[i * n + j] * u[j]).sum::<f64>())
                })
                .collect();
            assert!(factorize(m, &mut a));
            solve(m, &a, 1, &mut b);
            for (slot, &i) in free.iter().enumerate() {
                u[i] = b[slot];
            }
            if (0..n).all(|i| u[i] >= lower[i] - 1e-12 && u[i] <= upper[i] + 1e-12) {
                best = best.min(objective(h, g, &u));
            }
        }
        best
    }

    #[test]
    fn finds_the_minimum_of_random_problems() {
        let mut rng = Stream::root(5).child("box-qp").rng();
        let mut qp = BoxQp::default();
        for trial in 0..400 {
            let n = 1 + trial % 4;
            qp.resize(n);
            let root: Vec<f64> = (0..n * n).map(|_| rng.normal()).collect();
            let mut h = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    h[j * n + i] = (0..n).map(|k| root[k * n + i] * root[k * n + j]).sum();
                }
                h[i * n + i] += 0.01;
            }
            let g: Vec<f64> = (0..n).map(|_| 3.0 * rng.normal()).collect();
            let lower: Vec<f64> = (0..n).map(|_| rng.uniform(-2.0, 0.5)).collect();
            let upper: Vec<f64> = lower.iter().map(|l| l + rng.uniform(0.0, 2.0)).collect();
            assert!(qp.solve(&h, &g, &lower, &upper));
            let (found, best) = (objective(&h, &g, &qp.solution), by_enumeration(&h, &g, &lower, &upper));
            assert!(found <= best + 1e-9 * (1.0 + best.abs()), "trial {trial}: {found} above {best}");
            for i in 0..n {
                assert!(qp.solution[i] >= lower[i] && qp.solution[i] <= upper[i]);
            }
        }
    }
}
