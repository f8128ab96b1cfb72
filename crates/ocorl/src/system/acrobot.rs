//! Acrobot: swing up two linked rods with a torque on the second one.
//!
//! ```text
//! θ̇₁ = q (2p₁ − 3c p₂) / E                              θ = 0 hanging, both measured from the vertical
//! θ̇₂ = q (8p₂ − 3c p₁) / E                              p the momenta conjugate to θ
//! ṗ₁ = −(m l²/2) ( θ̇₁ θ̇₂ s + 3(g/l) sin θ₁)
//! ṗ₂ = −(m l²/2) (−θ̇₁ θ̇₂ s + 3(g/l) sin θ₂) + u
//!
//! s = sin(θ₁ − θ₂), c = cos(θ₁ − θ₂), q = 6/(m l²), E = 16 − 9c²
//! ```
//!
//! One of the reference program's systems, not in the paper; the equations are those of its code.
//!
//! - This is not the double pendulum of two uniform rods, whose ṗ₂ has (g/l) sin θ₂ without the factor 3. It
//!   conserves the rods' kinetic energy − (3/2) m g l (cos θ₁ + cos θ₂).
//! - The torque acts on the second rod from outside: one in the joint would also act on the first, with the
//!   opposite sign.
//! - g is 0.2 m/s², not 9.81.

use super::{
    Benchmark, Bounds, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, QuadraticCost,
    Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::PI;
use std::sync::Arc;

/// Two equal rods; an external torque acts on the second one.
#[derive(Clone, Debug)]
pub struct Acrobot {
    /// Mass m of each rod in kg.
    pub mass: f64,
    /// Length l of each rod in m.
    pub length: f64,
    /// Gravitational acceleration g in m/s².
    pub gravity: f64,
}

impl VectorField<4, 1> for Acrobot {
    #[inline(always)]
    fn derivative<R: Real>(&self, [theta1, theta2, p1, p2]: [R; 4], [u]: [R; 1]) -> [R; 4] {
        let half = self.mass * self.length * self.length / 2.0;
        let weight = 3.0 * self.gravity / self.length;
        let (s, c) = (theta1 - theta2).sin_cos();
        let scale = R::constant(3.0 / half) / (-(c.square() * 9.0) + 16.0);
        let rate1 = scale * (p1 * 2.0 - c * p2 * 3.0);
        let rate2 = scale * (p2 * 8.0 - c * p1 * 3.0);
        let coupling = rate1 * rate2 * s;
        [
            rate1,
            rate2,
            -(coupling + theta1.sin() * weight) * half,
            (coupling - theta2.sin() * weight) * half + u,
        ]
    }
}

/// Catalogue entry of the acrobot.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "acrobot",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 30,
        measurements: 10,
        tracking_horizon: 5.0,
        tracking_period: 0.02,
        tracking_nodes: 100,
        planner_nodes: 1000,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 0.0 },
    },
    published: None,
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Acrobot".into(),
        summary: "swing up two linked rods with a torque on the second one".into(),
        parameters: Parameter::list([("mass", "kg", 1.0), ("length", "m", 1.0), ("gravity", "m/s²", 0.2)]),
        build: Arc::new(|p| Box::new(ExactJacobian(Acrobot { mass: p[0], length: p[1], gravity: p[2] }))),
        task: Task {
            states: Quantity::list([
                ("theta1", "rad"),
                ("theta2", "rad"),
                ("p1", "kg·m²/s"),
                ("p2", "kg·m²/s"),
            ]),
            controls: Quantity::list([("torque", "N·m")]),
            initial_state: vec![0.0; 4],
            horizon: 10.0,
            cost: Arc::new(
                QuadraticCost::new([1.0; 4], [1.0])
                    .terminal_weights([1.0; 4])
                    .state_target([PI, PI, 0.0, 0.0]),
            ),
            angles: vec![0, 1],
            control_bounds: Bounds::none(1),
            state_bounds: Bounds::symmetric([100.0; 4]),
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01; 4],
        },
        first_control: Arc::new(|t, _x, u| u[0] = t.sin()),
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
        let expected = [-0.035_131_448_468, 1.246_246_119_82, -0.078_160_854_135_8, 0.749_105_591_376];
        assert_derivative(&system(), &[0.3, -0.2, 0.5, 0.4], &[0.7], &expected, 3e-12);
    }

    #[test]
    fn rests_hanging_and_upright() {
        assert_equilibrium(&system(), &[0.0; 4], &[0.0]);
        assert_equilibrium(&system(), &[PI, PI, 0.0, 0.0], &[0.0]);
    }

    #[test]
    fn conserves_its_energy_without_torque() {
        // H = K − (3/2) m g l (cos θ₁ + cos θ₂), K = q (p₁² − 3c p₁ p₂ + 4p₂²) / E, with m = l = 1
        let (q, weight) = (6.0, 0.3);
        assert_conserved(&system(), &[0.0], |[theta1, theta2, p1, p2]: [f64; 4]| {
            let (s, c) = (theta1 - theta2).sin_cos();
            let e = 16.0 - 9.0 * c * c;
            let kinetic = q * (p1 * p1 - 3.0 * c * p1 * p2 + 4.0 * p2 * p2) / e;
            let slope = (3.0 * q * s * p1 * p2 - 18.0 * s * c * kinetic) / e;
            [
                slope + weight * theta1.sin(),
                -slope + weight * theta2.sin(),
                q * (2.0 * p1 - 3.0 * c * p2) / e,
                q * (8.0 * p2 - 3.0 * c * p1) / e,
            ]
        });
    }
}
