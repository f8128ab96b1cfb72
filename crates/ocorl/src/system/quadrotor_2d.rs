//! Quadrotor in a vertical plane: fly to a place and hover there.
//!
//! ```text
//! ż = v_z,  v̇_z = g − (u₀/m) cos φ        z positive *down*, φ the roll angle
//! ẏ = v_y,  v̇_y = (u₀/m) sin φ            u₀ the thrust
//! φ̇ = ω,    ω̇ = u₁ / I                     u₁ the torque
//! ```
//!
//! - g = 2 m/s², m = 0.1 kg and I = 0.1 kg·m² are those of the reference program, not those of a quadrotor.
//! - The target is hovering at the origin with thrust m g = 0.2 N; the paper prints a vector of four zeros
//!   where there are six states.
//! - The paper has only the integral of the running cost; the reference adds |x(T)|², both when it plans
//!   and when it reports.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// A rigid body in a vertical plane, with thrust along its axis and a torque.
#[derive(Clone, Debug)]
pub struct Quadrotor2d {
    /// Gravitational acceleration g in m/s².
    pub gravity: f64,
    /// Mass m in kg.
    pub mass: f64,
    /// Moment of inertia I in kg·m².
    pub inertia: f64,
}

impl VectorField<6, 2> for Quadrotor2d {
    #[inline(always)]
    fn derivative<R: Real>(&self, [_, _, phi, vz, vy, omega]: [R; 6], [thrust, torque]: [R; 2]) -> [R; 6] {
        let (sin, cos) = phi.sin_cos();
        let push = thrust / self.mass;
        [vz, vy, omega, -(push * cos) + self.gravity, push * sin, torque / self.inertia]
    }
}

/// Catalogue entry of the planar quadrotor.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "quadrotor-2d",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 3.0,
        tracking_period: 0.02,
        tracking_nodes: 50,
        planner_nodes: 100,
        held: HeldReference { substeps: 300, start: 0.0, terminal_control_weight: 0.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 3.54,
        held: 4.01,
        max_kernel_distance: Cell { mean: 3.54, std: 0.01 },
        max_determinant: Cell { mean: 3.54, std: 0.01 },
        equidistant: Cell { mean: 3.57, std: 0.01 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Quadrotor 2D".into(),
        summary: "fly in a vertical plane to a place and hover there".into(),
        parameters: Parameter::list([
            ("gravity", "m/s²", 2.0),
            ("mass", "kg", 0.1),
            ("inertia", "kg·m²", 0.1),
        ]),
        build: Arc::new(|p| {
            Box::new(ExactJacobian(Quadrotor2d { gravity: p[0], mass: p[1], inertia: p[2] }))
        }),
        task: Task {
            states: Quantity::list([
                ("z", "m"),
                ("y", "m"),
                ("phi", "rad"),
                ("vz", "m/s"),
                ("vy", "m/s"),
                ("omega", "rad/s"),
            ]),
            controls: Quantity::list([("thrust", "N"), ("torque", "N·m")]),
            initial_state: vec![-1.0, -1.0, 0.0, 0.0, 0.0, 0.0],
            horizon: 8.0,
            cost: Arc::new(
                QuadraticCost::new([1.0; 6], [10.0; 2]).terminal_weights([1.0; 6]).control_target([0.2, 0.0]),
            ),
            angles: vec![2],
            control_bounds: Bounds::none(2),
            state_bounds: Bounds::symmetric([100.0; 6]),
            safe_control: vec![0.2, 0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01; 6],
        },
        first_control: Arc::new(|t, _x, u| {
            let (sin, cos) = (2.0 * t).sin_cos();
            u.copy_from_slice(&[0.2 + 0.1 * sin, 0.1 * cos]);
        }),
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
        let expected = [0.4, -0.1, 0.25, -4.143_077_933_23, 3.355_978_770_23, -4.0];
        assert_derivative(&system(), &[0.3, -0.2, 0.5, 0.4, -0.1, 0.25], &[0.7, -0.4], &expected, 2e-12);
    }

    #[test]
    fn hovers_at_the_target() {
        assert_equilibrium(&system(), &[0.0; 6], &[0.2, 0.0]);
    }

    #[test]
    fn falls_with_constant_energy_without_thrust() {
        // H = (v_z² + v_y²)/2 − g z + ω²/2
        assert_conserved(&system(), &[0.0, 0.0], |[_, _, _, vz, vy, omega]: [f64; 6]| {
            [-2.0, 0.0, 0.0, vz, vy, omega]
        });
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 676.5954, 1.5e-7);
    }
}
