//! Glucose in blood: hold the glucose level with little insulin.
//!
//! ```text
//! ẋ₀ = −a x₀ − b x₁             x₀ blood glucose, x₁ net hormone
//! ẋ₁ = −c x₁ + u                u the rate at which insulin is given; all without units
//! ```
//!
//! Linear with a quadratic cost, so the optimum is that of a Riccati equation.
//!
//! - The cost is ∫ 100 (2 (x₀ − 0.5)² + u²) dt, as in the reference program. The paper's settings table gives
//!   |x − (0.47, 0.33)|² + u², whose optimum is 0.057; only the former reproduces Table 1, which moreover
//!   prints ten times the cost. The "target" (0.47, 0.33) is where the best plan ends, x₁ multiplied by 500.
//! - The reference works with 500 x₁ and 50 u. Hence the noise of 0.01/500 and the limit of 100/500 on x₁.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// Linear model of glucose that decays and is consumed by a hormone, which decays and is supplied.
#[derive(Clone, Debug)]
pub struct GlucoseInBlood {
    /// Decay rate a of glucose, per unit of time.
    pub glucose_decay: f64,
    /// Effect b of the hormone on glucose, per unit of time.
    pub hormone_effect: f64,
    /// Decay rate c of the hormone, per unit of time.
    pub hormone_decay: f64,
}

impl VectorField<2, 1> for GlucoseInBlood {
    #[inline(always)]
    fn derivative<R: Real>(&self, [glucose, hormone]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [-(glucose * self.glucose_decay) - hormone * self.hormone_effect, u - hormone * self.hormone_decay]
    }
}

/// Catalogue entry of the glucose regulation.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "glucose-in-blood",
    aliases: &["glucose"],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 0.2,
        tracking_period: 0.02,
        tracking_nodes: 50,
        planner_nodes: 200,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 0.0 },
    },
    published: Some(Published {
        scale: 10.0,
        continuous: 15.23,
        held: 15.30,
        max_kernel_distance: Cell { mean: 15.23, std: 0.01 },
        max_determinant: Cell { mean: 15.24, std: 0.01 },
        equidistant: Cell { mean: 15.25, std: 0.01 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Glucose in blood".into(),
        summary: "hold the blood glucose level with little insulin".into(),
        parameters: Parameter::list([
            ("glucose_decay", "", 1.0),
            ("hormone_effect", "", 1.0),
            ("hormone_decay", "", 1.0),
        ]),
        build: Arc::new(|p| {
            Box::new(ExactJacobian(GlucoseInBlood {
                glucose_decay: p[0],
                hormone_effect: p[1],
                hormone_decay: p[2],
            }))
        }),
        task: Task {
            states: Quantity::list([("glucose", ""), ("hormone", "")]),
            controls: Quantity::list([("insulin", "")]),
            initial_state: vec![0.75, 0.0],
            horizon: 0.45,
            cost: Arc::new(QuadraticCost::new([200.0, 0.0], [100.0]).state_target([0.5, 0.0])),
            angles: vec![],
            control_bounds: Bounds::none(1),
            state_bounds: Bounds::symmetric([100.0, 0.2]),
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01, 2e-5],
        },
        first_control: Arc::new(|t, _x, u| u[0] = (0.1 * t.sin() + 0.5) / 50.0),
        prior: None,
        unknown: Vec::new(),
        benchmark: Some(&BENCHMARK),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::*;
    use super::*;

    #[test]
    fn right_hand_side_at_the_specified_point() {
        assert_derivative(&system(), &[0.3, -0.2], &[0.7], &[-0.1, 0.9], 1e-15);
    }

    #[test]
    fn rests_empty() {
        assert_equilibrium(&system(), &[0.0, 0.0], &[0.0]);
    }

    #[test]
    fn moves_at_the_target_of_the_paper_which_is_no_equilibrium() {
        let x = [0.477_733_21, 0.331_971_29 / 500.0];
        assert_derivative(&system(), &x, &[0.0], &[-0.4784, -0.000_66], 5e-5);
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 1.526_740_7, 3.3e-8);
    }
}
