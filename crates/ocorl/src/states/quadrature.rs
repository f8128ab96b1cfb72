//! Gauss–Legendre quadrature on [0, 1], with integrals up to each node and projections onto polynomials.
//!
//! ```text
//! ∫₀¹ g dτ ≈ Σ b_r g(c_r),   ∫₀^{c_q} g dτ ≈ Σ a_qr g(c_r),   ḡ(c_q) = Σ_k (2k + 1) P_k(c_q) ∫₀¹ P_k g dτ,  k < Q
//! ```
//!
//! P_k are the shifted Legendre polynomials. All three are exact for polynomials of degree below Q. The projection ḡ has the same
//! integral as g for every g, so that a control that jumps between two nodes is represented correctly on average.

/// A quadrature rule with Q nodes.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The nodes c_q, ascending.
    pub(super) nodes: Vec<f64>,
    /// The weights b_q.
    pub(super) weights: Vec<f64>,
    /// The weights a_qr of integrals from 0 to c_q, row-major.
    pub(super) cumulative: Vec<f64>,
}

/// The shifted Legendre polynomials P_0(τ), …, P_n(τ).
fn legendre(n: usize, tau: f64) -> Vec<f64> {
    let x = 2.0 * tau - 1.0;
    let mut p = vec![1.0, x];
    for k in 1..n.max(1) {
        let m = k as f64;
        p.push(((2.0 * m + 1.0) * x * p[k] - m * p[k - 1]) / (m + 1.0));
    }
    p.truncate(n + 1);
    p
}

impl Rule {
    /// The Gauss–Legendre rule with `count` nodes, the zeros of P_Q by Newton's method.
    pub(super) fn new(count: usize) -> Self {
        let n = count.max(1);
        let (mut nodes, mut weights) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for i in 0..n {
            let mut x = -(std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..50 {
                let p = legendre(n, 0.5 * (x + 1.0));
                slope = n as f64 * (x * p[n] - p[n - 1]) / (x * x - 1.0);
                let step = p[n] / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            nodes.push(0.5 * (x + 1.0));
            weights.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        // ∫₀^c P_k = (P_{k+1}(c) − P_{k−1}(c))/(2 (2k + 1)), and c for k = 0.
        let at: Vec<Vec<f64>> = nodes.iter().map(|&c| legendre(n, c)).collect();
        let integral = |q: usize, k: usize| match k {
            0 => nodes[q],
            k => (at[q][k + 1] - at[q][k - 1]) / (2.0 * (2 * k + 1) as f64),
        };
        let entry = |q: usize, r: usize| {
            weights[r] * (0..n).map(|k| (2 * k + 1) as f64 * at[r][k] * integral(q, k)).sum::<f64>()
        };
        let cumulative = (0..n * n).map(|e| entry(e / n, e % n)).collect();
        Rule { nodes, weights, cumulative }
    }

    /// Number of nodes Q.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Computes the projection ḡ at all nodes, `size` numbers each; `g` writes its values at a τ. Integrates with 32 Q evaluations
    /// of g.
    pub(super) fn project(&self, size: usize, mut g: impl FnMut(f64, &mut [f64])) -> Vec<f64> {
        let n = self.len();
        let cells = CELLS * n;
        let (mut moments, mut value) = (vec![0.0; n * size], vec![0.0; size]);
        // Two-point Gauss quadrature in each of many cells, in which P_k g is smooth unless g jumps there.
        let offset = 0.5 / 3_f64.sqrt();
        for cell in 0..cells {
            for side in [-1.0, 1.0] {
                let tau = (cell as f64 + 0.5 + side * offset) / cells as f64;
                g(tau, &mut value);
                for (k, p) in legendre(n - 1, tau).iter().enumerate() {
                    for (moment, v) in moments[k * size..(k + 1) * size].iter_mut().zip(&value) {
                        *moment += p * v * 0.5 / cells as f64;
                    }
                }
            }
        }
        let mut out = vec![0.0; n * size];
        for (c, out) in self.nodes.iter().zip(out.chunks_exact_mut(size.max(1))) {
            for (k, p) in legendre(n - 1, *c).iter().enumerate() {
                for (out, moment) in out.iter_mut().zip(&moments[k * size..]) {
                    *out += (2 * k + 1) as f64 * p * moment;
                }
            }
        }
        out
    }
}

/// Number of cells per node in which a projected function is integrated.
const CELLS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly_and_projected_onto_themselves() {
        for n in [1, 2, 3, 6, 12, 24] {
            let rule = Rule::new(n);
            for degree in 0..2 * n {
                let power = i32::try_from(degree).unwrap();
                let sum: f64 = rule.nodes.iter().zip(&rule.weights).map(|(c, b)| b * c.powi(power)).sum();
                assert!(
                    (sum - 1.0 / f64::from(power + 1)).abs() < 1e-13,
                    "{n} nodes, degree {degree}: {sum}"
                );
            }
            for q in 0..n {
                let power = i32::try_from(n - 1).unwrap();
                let row = &rule.cumulative[q * n..(q + 1) * n];
                let sum: f64 = row.iter().zip(&rule.nodes).map(|(a, c)| a * c.powi(power)).sum();
                let exact = rule.nodes[q].powi(power + 1) / f64::from(power + 1);
                assert!((sum - exact).abs() < 1e-12, "{n} nodes: {sum} and {exact}");
            }
            let power = i32::try_from(n - 1).unwrap().min(3);
            let same = rule.project(1, |tau, out| out[0] = tau.powi(power));
            for (c, value) in rule.nodes.iter().zip(same) {
                // Moments are sums over cells of polynomials of degree n − 1; at degree 23 they are accurate to 1e-5.
                assert!((value - c.powi(power)).abs() < 2e-5, "{n} nodes: {value} at {c}");
            }
        }
    }

    #[test]
    fn a_jump_keeps_its_integral() {
        let rule = Rule::new(5);
        let mean = rule.project(1, |tau, out| out[0] = f64::from(u8::from(tau > 0.4)));
        let integral: f64 = mean.iter().zip(&rule.weights).map(|(g, b)| g * b).sum();
        assert!((integral - 0.6).abs() < 1e-3, "{integral}");
    }
}
