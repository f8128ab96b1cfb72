//! Bicycle: drive to a place and stop there with a given heading.
//!
//! ```text
//! ẋ = v cos θ,  ẏ = v sin θ               (x, y) the rear wheel, θ the heading, v the speed
//! θ̇ = v u₀ / L,  v̇ = u₁                   u₀ = tan(steering angle), u₁ the acceleration
//! ```
//!
//! At rest the heading and the lateral position are not controllable to first order: a plan must use the
//! speed.
//!
//! - The wheelbase L is 1 m. The reference program also mentions 0.1 m, but its dynamics do not use that, and
//!   Table 1 needs 1 m.
//! - The reference declares x, not θ, to be the angle, and so learns a model periodic in x. We declare θ.
//! - The paper has only the integral of the running cost; the reference adds |x(T) − x̂|² when it plans,
//!   and that and the squares of the last controls when it reports.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::FRAC_PI_6;
use std::sync::Arc;

/// Kinematic bicycle model without slip.
#[derive(Clone, Debug)]
pub struct Bicycle {
    /// Wheelbase L in m.
    pub wheelbase: f64,
}

impl VectorField<4, 2> for Bicycle {
    #[inline(always)]
    fn derivative<R: Real>(
        &self,
        [_, _, heading, speed]: [R; 4],
        [steering, acceleration]: [R; 2],
    ) -> [R; 4] {
        let (sin, cos) = heading.sin_cos();
        [speed * cos, speed * sin, speed * steering / self.wheelbase, acceleration]
    }
}

/// Catalogue entry of the bicycle.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "bicycle",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 5.0,
        tracking_period: 0.02,
        tracking_nodes: 50,
        planner_nodes: 100,
        held: HeldReference { substeps: 300, start: 0.0, terminal_control_weight: 1.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 9.45,
        held: 10.24,
        max_kernel_distance: Cell { mean: 9.53, std: 0.02 },
        max_determinant: Cell { mean: 9.53, std: 0.03 },
        equidistant: Cell { mean: 9.67, std: 0.05 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Bicycle".into(),
        summary: "drive to a place and stop there with a given heading".into(),
        parameters: Parameter::list([("wheelbase", "m", 1.0)]),
        build: Arc::new(|p| Box::new(ExactJacobian(Bicycle { wheelbase: p[0] }))),
        task: Task {
            states: Quantity::list([("x", "m"), ("y", "m"), ("heading", "rad"), ("speed", "m/s")]),
            controls: Quantity::list([("steering", ""), ("acceleration", "m/s²")]),
            initial_state: vec![0.0; 4],
            horizon: 10.0,
            cost: Arc::new(
                QuadraticCost::new([1.0; 4], [1.0; 2])
                    .terminal_weights([1.0; 4])
                    .state_target([2.0, 1.0, FRAC_PI_6, 0.0]),
            ),
            angles: vec![2],
            control_bounds: Bounds::none(2),
            state_bounds: Bounds::symmetric([100.0; 4]),
            safe_control: vec![0.0; 2],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01; 4],
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
    fn right_hand_side_at_the_specified_point() {
        let expected = [0.351_033_024_756, 0.191_770_215_442, 0.28, -0.4];
        assert_derivative(&system(), &[0.3, -0.2, 0.5, 0.4], &[0.7, -0.4], &expected, 1e-12);
    }

    #[test]
    fn rests_at_the_target() {
        assert_equilibrium(&system(), &[2.0, 1.0, FRAC_PI_6, 0.0], &[0.0, 0.0]);
    }

    #[test]
    fn runs_on_a_circle_with_constant_steering() {
        // The centre of the circle is (x, y) + (L/u₀) (−sin θ, cos θ).
        let radius = 1.0 / 0.7;
        let control = [0.7, 0.0];
        assert_conserved(&system(), &control, |[_, _, theta, _]: [f64; 4]| {
            [1.0, 0.0, -radius * theta.cos(), 0.0]
        });
        assert_conserved(&system(), &control, |[_, _, theta, _]: [f64; 4]| {
            [0.0, 1.0, -radius * theta.sin(), 0.0]
        });
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 120.496_099, 5e-9);
    }
}
