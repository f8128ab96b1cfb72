//! Lotka–Volterra: hold prey and predators at given numbers by supplying or taking animals.
//!
//! ```text
//! ẋ₀ = k (a x₀ − b x₀ x₁ + u₀)            x₀ prey, x₁ predators, u their supply
//! ẋ₁ = k (c x₀ x₁ − d x₁ + u₁)            k = 10, a = b = c = d = 1; all without units
//! ```
//!
//! The target (1, 3) is held by the supply (2, 0).
//!
//! Not in the paper, and the reference program has the equations, target and weights but cannot run them.
//! Start, horizon, first control and settings are our choice. The first control is not negative on [0, T],
//! which keeps the populations non-negative.

use super::{
    Benchmark, Bounds, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, QuadraticCost,
    Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// Predator–prey dynamics with supply of both species.
#[derive(Clone, Debug)]
pub struct LotkaVolterra {
    /// Time scale k.
    pub pace: f64,
    /// Growth rate a of the prey.
    pub prey_growth: f64,
    /// Predation rate b.
    pub predation: f64,
    /// Growth rate c of the predators.
    pub predator_growth: f64,
    /// Death rate d of the predators.
    pub predator_death: f64,
}

impl VectorField<2, 2> for LotkaVolterra {
    #[inline(always)]
    fn derivative<R: Real>(&self, [prey, predators]: [R; 2], u: [R; 2]) -> [R; 2] {
        let meetings = prey * predators;
        [
            (prey * self.prey_growth - meetings * self.predation + u[0]) * self.pace,
            (meetings * self.predator_growth - predators * self.predator_death + u[1]) * self.pace,
        ]
    }
}

/// Catalogue entry of the Lotka–Volterra system.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "lotka-volterra",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 0.5,
        tracking_period: 0.02,
        tracking_nodes: 50,
        planner_nodes: 100,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 0.0 },
    },
    published: None,
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Lotka–Volterra".into(),
        summary: "hold prey and predators at given numbers by supplying animals".into(),
        parameters: Parameter::list([
            ("pace", "", 10.0),
            ("prey_growth", "", 1.0),
            ("predation", "", 1.0),
            ("predator_growth", "", 1.0),
            ("predator_death", "", 1.0),
        ]),
        build: Arc::new(|p| {
            Box::new(ExactJacobian(LotkaVolterra {
                pace: p[0],
                prey_growth: p[1],
                predation: p[2],
                predator_growth: p[3],
                predator_death: p[4],
            }))
        }),
        task: Task {
            states: Quantity::list([("prey", ""), ("predators", "")]),
            controls: Quantity::list([("prey_supply", ""), ("predator_supply", "")]),
            initial_state: vec![1.0, 1.0],
            horizon: 1.0,
            cost: Arc::new(
                QuadraticCost::new([1.0; 2], [1.0; 2])
                    .terminal_weights([1.0; 2])
                    .state_target([1.0, 3.0])
                    .control_target([2.0, 0.0]),
            ),
            angles: vec![],
            control_bounds: Bounds::none(2),
            state_bounds: Bounds::symmetric([100.0; 2]),
            safe_control: vec![0.0; 2],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01; 2],
        },
        first_control: Arc::new(|t, _x, u| (u[0], u[1]) = t.sin_cos()),
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
    fn right_hand_side_by_hand() {
        // 10 (2 − 2·0.5 + 0.25) and 10 (2·0.5 − 0.5 − 0.75)
        assert_derivative(&system(), &[2.0, 0.5], &[0.25, -0.75], &[12.5, -2.5], 1e-15);
    }

    #[test]
    fn rests_at_the_target_and_unsupplied_at_the_start() {
        assert_equilibrium(&system(), &[1.0, 3.0], &[2.0, 0.0]);
        assert_equilibrium(&system(), &[1.0, 1.0], &[0.0, 0.0]);
    }

    #[test]
    fn runs_in_closed_orbits_without_supply() {
        // H = x₀ − ln x₀ + x₁ − ln x₁
        assert_conserved(&system(), &[0.0, 0.0], |x: [f64; 2]| x.map(|x| 1.0 - 1.0 / x));
    }
}
