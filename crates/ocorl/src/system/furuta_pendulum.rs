//! Furuta pendulum: swing up a pendulum at the end of a motor-driven horizontal arm, and balance it.
//!
//! ```text
//! φ̈ = (−β γ c² s φ̇² − 2β² c s φ̇ θ̇ + β γ s θ̇² − γ δ c s + β τ) / D              φ the arm's angle
//! θ̈ = (β a c s φ̇² + 2β γ c² s φ̇ θ̇ − γ² c s θ̇² + δ a s − γ c τ) / D             θ = 0 upright
//!
//! s = sin θ, c = cos θ, a = α + β s², D = α β − γ² + (β² + γ²) s²
//! α = J + (M + mₐ/3 + mₚ) lₐ²,  β = (M + mₚ/3) lₚ²,  γ = (M + mₚ/2) lₐ lₚ,  δ = (M + mₚ/2) g lₚ
//! ```
//!
//! - Two sets of constants exist; the paper prints neither. Table 1 was made with the first, which is the
//!   default here.
//!
//!   | | J | M | mₐ | mₚ | lₐ | lₚ | g | weight of τ² | T |
//!   |---|---|---|---|---|---|---|---|---|---|
//!   | Table 1 | 1 | 0 | 1 | 1 | 1 | 1 | 0.2 | 1 | 10 |
//!   | newest reference | 0.8084 | 9.894e-4 | 6.361e-3 | 7.027e-4 | 2 | 1.65 | 9.81 | 0.01 | 5 |
//!
//! - The paper has only the integral of the running cost; the reference program adds |x(T)|², both when it
//!   plans and when it reports.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::PI;
use std::sync::Arc;

/// A pendulum hinged to the end of a rotating horizontal arm, without friction.
#[derive(Clone, Debug)]
pub struct FurutaPendulum {
    /// Inertia α in kg·m² about the arm's axis, with the pendulum upright.
    pub alpha: f64,
    /// Inertia β in kg·m² of the pendulum about its hinge.
    pub beta: f64,
    /// Coupling γ in kg·m² of arm and pendulum.
    pub gamma: f64,
    /// Greatest moment δ in N·m of the pendulum's weight.
    pub delta: f64,
}

impl FurutaPendulum {
    /// Creates the pendulum from J, M, mₐ, mₚ, lₐ, lₚ and g: uniform rods with a point mass at the pendulum's end, in kg, m and s.
    pub fn new(
        arm_inertia: f64,
        bob_mass: f64,
        arm_mass: f64,
        pendulum_mass: f64,
        arm_length: f64,
        pendulum_length: f64,
        gravity: f64,
    ) -> Self {
        FurutaPendulum {
            alpha: arm_inertia + (bob_mass + arm_mass / 3.0 + pendulum_mass) * arm_length * arm_length,
            beta: (bob_mass + pendulum_mass / 3.0) * pendulum_length * pendulum_length,
            gamma: (bob_mass + pendulum_mass / 2.0) * arm_length * pendulum_length,
            delta: (bob_mass + pendulum_mass / 2.0) * gravity * pendulum_length,
        }
    }
}

impl VectorField<4, 1> for FurutaPendulum {
    #[inline(always)]
    fn derivative<R: Real>(&self, [_, arm, theta, pendulum]: [R; 4], [torque]: [R; 1]) -> [R; 4] {
        let &FurutaPendulum { alpha, beta, gamma, delta } = self;
        let (s, c) = theta.sin_cos();
        let inertia = s.square() * beta + alpha;
        let determinant = s.square() * (beta * beta + gamma * gamma) + (alpha * beta - gamma * gamma);
        // Right-hand sides of the two equations of motion without the accelerations.
        let on_arm = torque - s * c * arm * pendulum * (2.0 * beta) + s * pendulum.square() * gamma;
        let on_pendulum = s * c * arm.square() * beta + s * delta;
        [
            arm,
            (on_arm * beta - c * on_pendulum * gamma) / determinant,
            pendulum,
            (inertia * on_pendulum - c * on_arm * gamma) / determinant,
        ]
    }
}

/// Catalogue entry of the Furuta pendulum.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "furuta-pendulum",
    aliases: &["furuta"],
    system,
    paper: PaperSettings {
        episodes: 40,
        measurements: 10,
        tracking_horizon: 5.0,
        tracking_period: 0.02,
        tracking_nodes: 100,
        planner_nodes: 1000,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 0.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 23.31,
        held: 25.11,
        max_kernel_distance: Cell { mean: 23.64, std: 0.22 },
        max_determinant: Cell { mean: 23.52, std: 0.18 },
        equidistant: Cell { mean: 314.77, std: 411.01 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Furuta pendulum".into(),
        summary: "swing up a pendulum on a rotating arm and balance it".into(),
        parameters: Parameter::list([
            ("arm_inertia", "kg·m²", 1.0),
            ("bob_mass", "kg", 0.0),
            ("arm_mass", "kg", 1.0),
            ("pendulum_mass", "kg", 1.0),
            ("arm_length", "m", 1.0),
            ("pendulum_length", "m", 1.0),
            ("gravity", "m/s²", 0.2),
        ]),
        build: Arc::new(|p| {
            Box::new(ExactJacobian(FurutaPendulum::new(p[0], p[1], p[2], p[3], p[4], p[5], p[6])))
        }),
        task: Task {
            states: Quantity::list([
                ("phi", "rad"),
                ("phi_rate", "rad/s"),
                ("theta", "rad"),
                ("theta_rate", "rad/s"),
            ]),
            controls: Quantity::list([("torque", "N·m")]),
            initial_state: vec![0.0, 0.0, PI, 0.0],
            horizon: 10.0,
            cost: Arc::new(QuadraticCost::new([1.0; 4], [1.0]).terminal_weights([1.0; 4])),
            angles: vec![0, 2],
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

    /// The system with the constants of the newest reference.
    fn newest() -> KnownSystem {
        let mut benchmark = system();
        for (name, value) in [
            ("arm_inertia", 0.8084),
            ("bob_mass", 9.894e-4),
            ("arm_mass", 6.361e-3),
            ("pendulum_mass", 7.027e-4),
            ("arm_length", 2.0),
            ("pendulum_length", 1.65),
            ("gravity", 9.81),
        ] {
            benchmark.set_parameter(name, value).unwrap();
        }
        benchmark
    }

    #[test]
    fn right_hand_side_at_the_specified_point() {
        let x = [0.3, -0.2, 0.5, 0.4];
        let expected = [-0.2, 0.376_731_259_064, 0.4, -0.335_262_093_933];
        assert_derivative(&system(), &x, &[0.7], &expected, 1e-12);
        let expected = [-0.2, 0.839_590_069_802, 0.4, 2.161_467_169_86];
        assert_derivative(&newest(), &x, &[0.7], &expected, 3e-12);
    }

    #[test]
    fn rests_upright_and_hanging() {
        for benchmark in [system(), newest()] {
            assert_equilibrium(&benchmark, &[0.0; 4], &[0.0]);
            assert_equilibrium(&benchmark, &[0.0, 0.0, PI, 0.0], &[0.0]);
        }
    }

    #[test]
    fn conserves_energy_and_momentum_about_the_axis_without_torque() {
        for (benchmark, [alpha, beta, gamma, delta]) in [
            (system(), [7.0 / 3.0, 1.0 / 3.0, 0.5, 0.1]),
            (newest(), [0.823_649_733_333_333_3, 0.003_331_341_75, 0.004_424_475, 0.021_702_049_875]),
        ] {
            // H = (α + β s²) φ̇²/2 + γ c φ̇ θ̇ + β θ̇²/2 + δ c
            assert_conserved(&benchmark, &[0.0], |[_, arm, theta, pendulum]: [f64; 4]| {
                let (s, c) = theta.sin_cos();
                [
                    0.0,
                    (alpha + beta * s * s) * arm + gamma * c * pendulum,
                    beta * s * c * arm * arm - gamma * s * arm * pendulum - delta * s,
                    gamma * c * arm + beta * pendulum,
                ]
            });
            // P = ∂H/∂φ̇
            assert_conserved(&benchmark, &[0.0], |[_, arm, theta, pendulum]: [f64; 4]| {
                let (s, c) = theta.sin_cos();
                [0.0, alpha + beta * s * s, s * (2.0 * beta * c * arm - gamma * pendulum), gamma * c]
            });
        }
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 927.2614, 1e-7);
    }
}
