//! The Adam optimiser: gradient descent with a step size for each parameter, from running averages of the gradient and its square
//! \[Kin15\].
//!
//! ```text
//! m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²
//! θ ← θ − η (m/(1 − β₁ᵗ)) / (√(v/(1 − β₂ᵗ)) + ε) − η λ θ
//! ```
//!
//! λ is the decoupled weight decay of AdamW \[Los19\].

/// β₁, β₂ and ε as recommended in \[Kin15\].
const MEAN: f64 = 0.9;
const SQUARE: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The running averages of one optimisation.
pub(super) struct Adam {
    mean: Vec<f64>,
    square: Vec<f64>,
    /// β₁ᵗ and β₂ᵗ after t steps.
    powers: [f64; 2],
    decay: f64,
}

impl Adam {
    /// Initialises the averages of `count` parameters, with weight decay λ = `decay`.
    pub(super) fn new(count: usize, decay: f64) -> Self {
        Adam { mean: vec![0.0; count], square: vec![0.0; count], powers: [1.0; 2], decay }
    }

    /// Takes one step with step size η = `rate` along the negative gradient.
    pub(super) fn step(&mut self, rate: f64, gradient: &[f64], parameters: &mut [f64]) {
        self.powers[0] *= MEAN;
        self.powers[1] *= SQUARE;
        let (first, second) = (rate / (1.0 - self.powers[0]), 1.0 / (1.0 - self.powers[1]));
        let keep = 1.0 - rate * self.decay;
        let averages = self.mean.iter_mut().zip(&mut self.square);
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(averages) {
            *m = MEAN * *m + (1.0 - MEAN) * g;
            *v = SQUARE * *v + (1.0 - SQUARE) * g * g;
            *p = keep * *p - first * *m / ((second * *v).sqrt() + EPSILON);
        }
    }
}

/// The step size at `step` of `steps`: a cosine schedule from `rate` down to a hundredth of it \[Los17\].
pub(super) fn rate_at(rate: f64, step: usize, steps: usize) -> f64 {
    const LAST: f64 = 0.01;
    let phase = std::f64::consts::PI * step as f64 / steps.max(1) as f64;
    rate * (LAST + (1.0 - LAST) * 0.5 * (1.0 + phase.cos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_size_of_the_rate_whatever_the_gradient() {
        let mut parameters = [1.0, -2.0, 3.0];
        Adam::new(3, 0.0).step(0.1, &[1e-3, -40.0, 0.0], &mut parameters);
        for (found, expected) in parameters.iter().zip([0.9, -1.9, 3.0]) {
            assert!((found - expected).abs() < 1e-5, "{found}");
        }
    }

    #[test]
    fn it_finds_the_minimum_of_a_badly_scaled_quadratic() {
        let (mut x, mut adam) = ([5.0, -3.0], Adam::new(2, 0.0));
        for step in 0..3000 {
            let gradient = [1000.0 * (x[0] - 1.0), 0.1 * (x[1] - 2.0)];
            adam.step(rate_at(0.05, step, 3000), &gradient, &mut x);
        }
        assert!((x[0] - 1.0).abs() < 1e-3 && (x[1] - 2.0).abs() < 1e-3, "{x:?}");
    }

    #[test]
    fn decay_alone_shrinks_the_parameters() {
        let mut x = [2.0];
        Adam::new(1, 0.5).step(0.1, &[0.0], &mut x);
        assert_eq!(x, [1.9]);
        assert!((rate_at(2.0, 0, 10) - 2.0).abs() < 1e-15 && (rate_at(2.0, 10, 10) - 0.02).abs() < 1e-15);
    }
}
