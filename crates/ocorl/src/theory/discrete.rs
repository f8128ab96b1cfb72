//! The bounds of the paper's appendix for discrete time: x_{k+1} = h(x_k, u_k), u_k = π(x_k), k = 0, …, K − 1.
//!
//! | paper | code |
//! |---|---|
//! | L_h, L_π, L_σ, L_c | [`DiscreteLipschitz`] |
//! | L_h′ = L_h (1 + L_π), L_σ′ = L_σ (1 + L_π), L_c′ = L_c (1 + L_π) | [`DiscreteLipschitz::closed_loop`] |
//! | ‖x̂_k − x_k‖ ≤ 2β (1 + L_h′ + 2β L_σ′)^(K−1) Σ_{l<k} ‖σ(z_l)‖ | [`DiscreteLipschitz::log_distance_bound`] |
//! | ‖x̂_k − x_k‖ ≤ 2β Σ_{l<k} (L_h′ + 2β L_σ′)^(k−1−l) ‖σ(z_l)‖, inside the proof | [`DiscreteLipschitz::log_sharp_distance_bound`] |
//! | rₙ ≤ 2β K (1 + L_h′ + 2β L_σ′)^(K−1) L_c′ Σ_k ‖σ(z_k)‖ | [`DiscreteLipschitz::log_instantaneous_bound`] |
//! | R_N ≤ 2β K^{3/2} (1 + L_h′ + 2β L_σ′)^(K−1) L_c′ √(N Σₙ Σ_k ‖σₙ₋₁(zₙₖ)‖²) | [`DiscreteLipschitz::log_regret_bound`] |
//!
//! σ is the standard deviation of h, and c the cost of a step. All bounds are natural logarithms. The appendix assumes no Lipschitz
//! constant for the models in the confidence set; therefore β L_σ enters the base: a plausible model may vary as fast as h and σ
//! together.

/// Lipschitz constants of a discrete-time system with respect to Euclidean norms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLipschitz {
    /// L_h of h, with respect to z = (x, u).
    pub step: f64,
    /// L_π of the policy, with respect to x.
    pub policy: f64,
    /// L_σ of the standard deviation of h, with respect to z.
    pub std: f64,
    /// L_c of the cost of a step, with respect to z.
    pub cost: f64,
}

impl DiscreteLipschitz {
    /// L_h′, L_σ′ and L_c′: the Lipschitz constants with respect to x alone, with u = π(x).
    pub fn closed_loop(&self) -> [f64; 3] {
        [self.step, self.std, self.cost].map(|constant| constant * (1.0 + self.policy))
    }

    /// Natural logarithm of the bound on ‖x̂_k − x_k‖ for every k ≤ K = `steps`; `sum_std` is Σ_{l<k} ‖σ(z_l)‖ along the executed
    /// trajectory.
    pub fn log_distance_bound(&self, beta: f64, steps: usize, sum_std: f64) -> f64 {
        self.log_common(beta, steps) + sum_std.ln()
    }

    /// Natural logarithm of the sharper bound on ‖x̂_k − x_k‖; `std` holds ‖σ(z_l)‖ for l < k. −∞ if it is empty.
    pub fn log_sharp_distance_bound(&self, beta: f64, std: &[f64]) -> f64 {
        let [step, slope, _] = self.closed_loop();
        let base = (step + 2.0 * beta * slope).ln();
        // The exponent of the last term is zero, also where ln 0 would give NaN.
        let exponent = |l: usize| if l + 1 == std.len() { 0.0 } else { (std.len() - 1 - l) as f64 * base };
        (2.0 * beta).ln() + log_sum(std.iter().enumerate().map(|(l, s)| exponent(l) + s.ln()))
    }

    /// Natural logarithm of the bound on the regret of an episode of K = `steps` steps; `sum_std` is Σ_k ‖σ(z_k)‖ along the
    /// executed trajectory.
    pub fn log_instantaneous_bound(&self, beta: f64, steps: usize, sum_std: f64) -> f64 {
        let [_, _, cost] = self.closed_loop();
        self.log_common(beta, steps) + (steps as f64).ln() + cost.ln() + sum_std.ln()
    }

    /// Natural logarithm of the bound on the regret of `episodes` episodes of K = `steps` steps; `complexity` is Σₙ Σ_k
    /// ‖σₙ₋₁(zₙₖ)‖² over all of them.
    pub fn log_regret_bound(&self, beta: f64, steps: usize, episodes: usize, complexity: f64) -> f64 {
        let [_, _, cost] = self.closed_loop();
        self.log_common(beta, steps)
            + 1.5 * (steps as f64).ln()
            + cost.ln()
            + 0.5 * ((episodes as f64).ln() + complexity.ln())
    }

    /// Computes ln(2β (1 + L_h′ + 2β L_σ′)^(K−1)).
    fn log_common(&self, beta: f64, steps: usize) -> f64 {
        let [step, slope, _] = self.closed_loop();
        (2.0 * beta).ln() + steps.saturating_sub(1) as f64 * (step + 2.0 * beta * slope).ln_1p()
    }
}

/// Computes ln Σ exp(vᵢ) without overflow; −∞ for no values.
pub fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    largest + values.map(|v| (v - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L_h′ = 1.8, L_σ′ = 0.15, L_c′ = 3; with β = 2 the base is 1 + 1.8 + 4 · 0.15 = 3.4.
    const L: DiscreteLipschitz = DiscreteLipschitz { step: 1.2, policy: 0.5, std: 0.1, cost: 2.0 };

    fn close(log: f64, value: f64) {
        assert!((log - value.ln()).abs() < 1e-13, "{} instead of {value}", log.exp());
    }

    #[test]
    fn constants_of_the_closed_loop() {
        let found = L.closed_loop();
        for (found, expected) in found.iter().zip([1.8, 0.15, 3.0]) {
            assert!((found - expected).abs() < 1e-15, "{found}");
        }
    }

    #[test]
    fn bounds_are_those_computed_by_hand() {
        // K = 4, β = 2, Σ‖σ‖ = 0.7: 3.4³ = 39.304, times 2β = 157.216.
        close(L.log_distance_bound(2.0, 4, 0.7), 157.216 * 0.7);
        close(L.log_instantaneous_bound(2.0, 4, 0.7), 157.216 * 4.0 * 3.0 * 0.7);
        // K^1.5 = 8, N = 5, Σ‖σ‖² = 0.2: √(N I) = 1.
        close(L.log_regret_bound(2.0, 4, 5, 0.2), 157.216 * 8.0 * 3.0);
        // One step: the power is 1.
        close(L.log_distance_bound(2.0, 1, 0.7), 4.0 * 0.7);
    }

    #[test]
    fn the_sharp_bound_is_its_sum_and_below_the_other() {
        let std = [0.1, 0.3, 0.2];
        // Base 2.4: 4 (0.1 · 5.76 + 0.3 · 2.4 + 0.2) = 5.984.
        close(L.log_sharp_distance_bound(2.0, &std), 5.984);
        assert!(L.log_sharp_distance_bound(2.0, &std) < L.log_distance_bound(2.0, 3, 0.6));
        assert_eq!(L.log_sharp_distance_bound(2.0, &[]), f64::NEG_INFINITY);
        let still = DiscreteLipschitz { step: 0.0, std: 0.0, ..L };
        close(still.log_sharp_distance_bound(2.0, &std), 4.0 * 0.2);
        let wild = DiscreteLipschitz { step: 1e6, ..L };
        assert!(wild.log_sharp_distance_bound(2.0, &[0.1; 1000]).is_finite());
    }

    #[test]
    fn the_sharp_bound_holds_for_two_trajectories_of_a_linear_system() {
        // x⁺ = a x, true a = 0.9; plausible: a + β σ/x … here a model that is off by β σ at every step, σ constant: x̂⁺ = 0.9 x̂ + β σ.
        let (beta, std, steps) = (2.0_f64, 0.01, 30);
        let l = DiscreteLipschitz { step: 0.9, policy: 0.0, std: 0.0, cost: 1.0 };
        let (mut x, mut hallucinated) = (1.0_f64, 1.0_f64);
        for k in 1..=steps {
            (x, hallucinated) = (0.9 * x, 0.9 * hallucinated + beta * std);
            let bound = l.log_sharp_distance_bound(beta, &vec![std; k]);
            assert!((hallucinated - x).abs().ln() <= bound, "step {k}");
            // It is twice what happens here: the lemma allows for an error of β σ either way.
            assert!((bound - ((hallucinated - x).abs() * 2.0).ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_of_logarithms() {
        close(log_sum([1.0_f64.ln(), 2.0_f64.ln(), f64::NEG_INFINITY].into_iter()), 3.0);
        assert_eq!(log_sum(std::iter::empty()), f64::NEG_INFINITY);
        assert!((log_sum([1000.0, 1000.0].into_iter()) - 1000.0 - 2.0_f64.ln()).abs() < 1e-12);
    }
}
