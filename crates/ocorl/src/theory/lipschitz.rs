//! Lipschitz constants, and their estimates from samples along a trajectory.

use crate::linalg::{Blocks, Linearization, Quadratization};
use crate::model::Posterior;

/// Lipschitz constants with respect to Euclidean norms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lipschitz {
    /// L_f of f, with respect to z = (x, u).
    pub dynamics: f64,
    /// L_π of the policy, with respect to x.
    pub policy: f64,
    /// L_σ of the model's standard deviation, with respect to z.
    pub std: f64,
    /// L_c of the running cost, with respect to z.
    pub cost: f64,
}

impl Lipschitz {
    /// The factor 1 + L_π by which the rate of z = (x, π(x)) exceeds that of x at most.
    pub fn closed_loop(&self) -> f64 {
        1.0 + self.policy
    }

    /// Estimates the constants as the largest norms of derivatives along a trajectory: of μ in place of f, of σ, of the feedback
    /// `gains` (blocks of gradients ∇ₓuⱼ, as in a plan) and of the running cost. The true constants are at least as large, up to
    /// the difference of μ and f; the estimate does not bound them away from the trajectory.
    ///
    /// The policy has `controls` controls. Further controls of an optimistic plan are hallucinated and never applied; their gains
    /// are ignored.
    ///
    /// `posterior` must contain both Jacobians ([`Query::All`](crate::model::Query::All)).
    pub fn estimate(posterior: &Posterior, gains: &Blocks, controls: usize, cost: &Quadratization) -> Self {
        Lipschitz {
            dynamics: largest_jacobian_norm(&posterior.mean),
            policy: largest_gain_norm(gains, controls, posterior.mean.value.size()),
            std: largest_jacobian_norm(&posterior.std),
            cost: largest_gradient_norm(cost),
        }
    }
}

/// The largest operator norm ‖∂f/∂z‖₂ over the points; zero without points.
pub fn largest_jacobian_norm(f: &Linearization) -> f64 {
    let (values, jacobians) = (f.value.len(), f.jacobian.len());
    assert_eq!(values, jacobians, "{values} values with {jacobians} Jacobians; ask for both");
    largest(f.jacobian.iter().map(|j| spectral_norm(j, f.value.size())))
}

/// The largest operator norm ‖∂u/∂x‖₂ of the first `controls` controls, over blocks of gradients with respect to `states` states;
/// zero without blocks. Gradients of further controls are ignored.
pub fn largest_gain_norm(gains: &Blocks, controls: usize, states: usize) -> f64 {
    let first = controls * states;
    assert!(gains.is_empty() || gains.size() >= first, "gains of {} numbers, not {first}", gains.size());
    largest(gains.iter().map(|g| spectral_norm(&g[..first], controls)))
}

/// The largest ‖∇c‖₂ over the points; zero without points.
pub fn largest_gradient_norm(cost: &Quadratization) -> f64 {
    largest(cost.gradient.iter().map(|g| spectral_norm(g, 1)))
}

/// The largest value, or NaN if one value is NaN, so that an undefined slope is not mistaken for a small one.
fn largest(norms: impl Iterator<Item = f64>) -> f64 {
    norms.fold(0.0, |a: f64, b| if a.is_nan() || b <= a { a } else { b })
}

/// The spectral norm ‖A‖₂, the largest singular value, of a matrix with `columns` columns, stored column by column. The norm of the
/// transposed matrix is the same, so Jacobians stored by gradients need no reordering.
///
/// Computed as the square root of the largest eigenvalue of AᵀA, scaled by the largest entry of A to avoid overflow. O(columns³) in
/// addition to the products. Returns NaN if an entry is NaN.
pub fn spectral_norm(a: &[f64], columns: usize) -> f64 {
    assert!(columns > 0 && a.len().is_multiple_of(columns), "{} numbers in {columns} columns", a.len());
    if a.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    let (unit, rows) = (a.iter().fold(0.0, |unit: f64, v| unit.max(v.abs())), a.len() / columns);
    if unit == 0.0 || unit == f64::INFINITY {
        return unit;
    }
    let column = |j: usize| a[j * rows..(j + 1) * rows].iter().map(move |v| v / unit);
    let product = |e: usize| column(e % columns).zip(column(e / columns)).map(|(x, y)| x * y).sum();
    let gram = (0..columns * columns).map(product).collect();
    unit * largest_eigenvalue(gram, columns).sqrt()
}

/// The largest eigenvalue of a symmetric n × n matrix, n ≥ 1, by cyclic Jacobi rotations. Each rotation annihilates one pair of
/// off-diagonal entries; the off-diagonal norm converges quadratically. Stops at machine precision, at the latest after 50 sweeps.
fn largest_eigenvalue(mut a: Vec<f64>, n: usize) -> f64 {
    const SWEEPS: usize = 50;
    let size = a.iter().map(|v| v * v).sum::<f64>();
    for _ in 0..SWEEPS {
        let off_diagonal: f64 = (0..n * n).filter(|e| e % n != e / n).map(|e| a[e] * a[e]).sum();
        if off_diagonal <= f64::EPSILON * f64::EPSILON * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, n, p, q);
            }
        }
    }
    (0..n).map(|i| a[i * n + i]).fold(f64::NEG_INFINITY, f64::max)
}

/// Applies the rotation in the plane (p, q) that annihilates a[p, q].
fn rotate(a: &mut [f64], n: usize, p: usize, q: usize) {
    let off_diagonal = a[p * n + q];
    if off_diagonal == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off_diagonal);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn norms_of_matrices_whose_norm_is_known() {
        assert_eq!(spectral_norm(&[3.0, 4.0], 1), 5.0);
        assert_eq!(spectral_norm(&[3.0, 4.0], 2), 5.0);
        assert_eq!(spectral_norm(&[0.0; 6], 2), 0.0);
        assert!((spectral_norm(&[2.0, 0.0, 0.0, -7.0], 2) - 7.0).abs() < 1e-15);
        // [1 1; 0 1]: the golden ratio.
        let golden = 0.5 * (1.0 + 5_f64.sqrt());
        assert!((spectral_norm(&[1.0, 0.0, 1.0, 1.0], 2) - golden).abs() < 1e-15);
        assert!((spectral_norm(&[1e300, 0.0, 1e300, 1e300], 2) / golden / 1e300 - 1.0).abs() < 1e-14);
        assert!((spectral_norm(&[1e-300, 0.0, 1e-300, 1e-300], 2) / golden / 1e-300 - 1.0).abs() < 1e-14);
        assert!(spectral_norm(&[f64::NAN, 1.0], 1).is_nan());
    }

    #[test]
    fn norms_are_those_of_power_iteration_and_of_the_transposed_matrix() {
        let mut rng = Stream::root(1).rng();
        for (rows, columns) in [(5, 3), (12, 16), (1, 4), (7, 7)] {
            let a: Vec<f64> = (0..rows * columns).map(|_| rng.normal()).collect();
            let transposed: Vec<f64> =
                (0..rows * columns).map(|e| a[(e % columns) * rows + e / columns]).collect();
            let (mut x, mut norm) = (vec![1.0; columns], 0.0);
            for _ in 0..5000 {
                let y: Vec<f64> =
                    (0..rows).map(|i| (0..columns).map(|j| a[j * rows + i] * x[j]).sum()).collect();
                x = (0..columns).map(|j| (0..rows).map(|i| a[j * rows + i] * y[i]).sum()).collect();
                norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
                for v in &mut x {
                    *v /= norm;
                }
            }
            let found = spectral_norm(&a, columns);
            assert!((found - norm.sqrt()).abs() < 1e-12 * found, "{found} and {}", norm.sqrt());
            assert!((found - spectral_norm(&transposed, rows)).abs() < 1e-13 * found);
        }
    }

    #[test]
    fn estimates_are_the_greatest_over_the_points() {
        let mut posterior = Posterior::default();
        for (f, size) in [(&mut posterior.mean, 1.0), (&mut posterior.std, 0.1)] {
            f.resize(2, 3, 3);
            for i in 0..3 {
                // ∇f₁ = (0, 0, i + 1), ∇f₂ = 0.
                f.jacobian.at_mut(i)[2] = size * (i + 1) as f64;
            }
        }
        let gains = Blocks::from_vec(vec![0.0, 1.0, -4.0, 3.0], 2);
        let mut cost = Quadratization::default();
        cost.resize_shared(3, 2);
        cost.gradient.at_mut(1).copy_from_slice(&[2.0, -1.0, 2.0]);
        let found = Lipschitz::estimate(&posterior, &gains, 1, &cost);
        let expected = Lipschitz { dynamics: 3.0, policy: 5.0, std: 0.1 * 3.0, cost: 3.0 };
        let pairs = [
            (found.dynamics, expected.dynamics),
            (found.policy, expected.policy),
            (found.std, expected.std),
            (found.cost, expected.cost),
        ];
        assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}");
        assert_eq!(largest_gain_norm(&Blocks::zeros(2, 0), 1, 2), 0.0);
        assert!(largest([1.0, f64::NAN, 2.0].into_iter()).is_nan());
    }
}
