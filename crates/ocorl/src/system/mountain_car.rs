//! Mountain car: drive from the valley bottom to the hill top and stop there.
//!
//! ```text
//! ẋ₀ = 10 x₁                              x₀ position, x₁ a tenth of the velocity
//! ẋ₁ = a u − b cos 3x₀                    u the engine's force; all without units
//! ```
//!
//! The valley bottom is −π/6, the hill top π/6.
//!
//! - Table 1 prints a hundred times the cost.
//! - The paper has only the integral of the running cost; the reference program adds |x(T) − x̂|² when it
//!   plans, and that and the square of the last control when it reports.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::FRAC_PI_6;
use std::sync::Arc;

/// A car on hills of height proportional to sin 3x₀, driven by an engine.
#[derive(Clone, Debug)]
pub struct MountainCar {
    /// Engine gain a.
    pub engine: f64,
    /// Slope coefficient b.
    pub steepness: f64,
}

impl VectorField<2, 1> for MountainCar {
    #[inline(always)]
    fn derivative<R: Real>(&self, [position, velocity]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [velocity * 10.0, u * self.engine - (position * 3.0).cos() * self.steepness]
    }
}

/// Catalogue entry of the mountain car.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "mountain-car",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 40,
        measurements: 10,
        tracking_horizon: 1.0,
        tracking_period: 0.02,
        tracking_nodes: 100,
        planner_nodes: 1000,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 1.0 },
    },
    published: Some(Published {
        scale: 100.0,
        continuous: 34.63,
        held: 35.04,
        max_kernel_distance: Cell { mean: 34.63, std: 0.01 },
        max_determinant: Cell { mean: 34.63, std: 0.01 },
        equidistant: Cell { mean: 34.64, std: 0.01 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Mountain car".into(),
        summary: "drive from the valley bottom to the hill top and stop there".into(),
        parameters: Parameter::list([("engine", "", 3.5), ("steepness", "", 2.5)]),
        build: Arc::new(|p| Box::new(ExactJacobian(MountainCar { engine: p[0], steepness: p[1] }))),
        task: Task {
            states: Quantity::list([("position", ""), ("velocity", "")]),
            controls: Quantity::list([("force", "")]),
            initial_state: vec![-FRAC_PI_6, 0.0],
            horizon: 1.0,
            cost: Arc::new(
                QuadraticCost::new([1.0, 1.0], [1.0])
                    .terminal_weights([1.0, 1.0])
                    .state_target([FRAC_PI_6, 0.0]),
            ),
            angles: vec![],
            control_bounds: Bounds::none(1),
            state_bounds: Bounds::symmetric([100.0, 100.0]),
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01, 0.001],
        },
        first_control: Arc::new(|t, _x, u| u[0] = (10.0 * t).cos()),
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
        assert_derivative(&system(), &[0.3, -0.2], &[0.7], &[-2.0, 0.895_975_079_323], 1e-12);
    }

    #[test]
    fn rests_on_the_hill_top_and_in_the_valley() {
        assert_equilibrium(&system(), &[FRAC_PI_6, 0.0], &[0.0]);
        assert_equilibrium(&system(), &[-FRAC_PI_6, 0.0], &[0.0]);
    }

    #[test]
    fn conserves_energy_without_engine() {
        // H = 5 x₁² + (b/3) sin 3x₀
        assert_conserved(&system(), &[0.0], |[x, v]: [f64; 2]| [2.5 * (3.0 * x).cos(), 10.0 * v]);
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 22.010_199_1, 3e-9);
    }
}
