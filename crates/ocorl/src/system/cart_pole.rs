//! Cart pole: swing a pole up from hanging by pushing its cart, and balance it.
//!
//! ```text
//! θ̇ = ω,  ω̇ = (−m l s c ω² + (M + m) g s + c u) / (l D)       θ = 0 upright, the bob at p − l s
//! ṗ = v,  v̇ = (−m l s ω² + m g s c + u) / D                    s = sin θ, c = cos θ, D = M + m s²
//! ```
//!
//! The textbook system (a bob on a massless pole) with the angle counted from upright.
//!
//! - g is 0.2 m/s², not 9.81. The paper prints none of the constants; those of the reference program, used
//!   here, reproduce Table 1.
//! - The paper has only the integral of the running cost; the reference adds |x(T)|² when it plans, and
//!   that and the square of the last control when it reports.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::PI;
use std::sync::Arc;

/// A point mass on a massless pole, hinged to a cart without friction.
#[derive(Clone, Debug)]
pub struct CartPole {
    /// Length l of the pole in m.
    pub pole_length: f64,
    /// Mass M of the cart in kg.
    pub cart_mass: f64,
    /// Mass m at the end of the pole in kg.
    pub pole_mass: f64,
    /// Gravitational acceleration g in m/s².
    pub gravity: f64,
}

impl VectorField<4, 1> for CartPole {
    #[inline(always)]
    fn derivative<R: Real>(&self, [theta, omega, _, v]: [R; 4], [u]: [R; 1]) -> [R; 4] {
        let &CartPole { pole_length: l, cart_mass, pole_mass: m, gravity: g } = self;
        let (s, c) = theta.sin_cos();
        let inverse = R::constant(1.0) / (s.square() * m + cart_mass);
        let push = u - s * omega.square() * (m * l);
        let turn = (c * push + s * ((cart_mass + m) * g)) * inverse;
        [omega, turn * (1.0 / l), v, (push + s * c * (m * g)) * inverse]
    }
}

/// Catalogue entry of the cart pole.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "cart-pole",
    aliases: &["cartpole"],
    system,
    paper: PaperSettings {
        episodes: 40,
        measurements: 10,
        tracking_horizon: 5.0,
        tracking_period: 0.02,
        tracking_nodes: 100,
        planner_nodes: 1000,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 1.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 17.49,
        held: 19.96,
        max_kernel_distance: Cell { mean: 17.52, std: 0.04 },
        max_determinant: Cell { mean: 17.53, std: 0.04 },
        equidistant: Cell { mean: 17.63, std: 0.05 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Cart pole".into(),
        summary: "swing a pole up by pushing its cart and balance it".into(),
        parameters: Parameter::list([
            ("pole_length", "m", 0.5),
            ("cart_mass", "kg", 1.0),
            ("pole_mass", "kg", 0.5),
            ("gravity", "m/s²", 0.2),
        ]),
        build: Arc::new(|p| {
            Box::new(ExactJacobian(CartPole {
                pole_length: p[0],
                cart_mass: p[1],
                pole_mass: p[2],
                gravity: p[3],
            }))
        }),
        task: Task {
            states: Quantity::list([
                ("theta", "rad"),
                ("omega", "rad/s"),
                ("position", "m"),
                ("velocity", "m/s"),
            ]),
            controls: Quantity::list([("force", "N")]),
            initial_state: vec![PI, 0.0, 0.0, 0.0],
            horizon: 10.0,
            cost: Arc::new(QuadraticCost::new([1.0; 4], [1.0]).terminal_weights([1.0; 4])),
            angles: vec![0],
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
        let expected = [-0.2, 1.445_995_792_55, 0.4, 0.694_931_955_913];
        assert_derivative(&system(), &[0.3, -0.2, 0.5, 0.4], &[0.7], &expected, 3e-12);
    }

    #[test]
    fn rests_upright_and_hanging() {
        assert_equilibrium(&system(), &[0.0; 4], &[0.0]);
        assert_equilibrium(&system(), &[PI, 0.0, 0.0, 0.0], &[0.0]);
    }

    #[test]
    fn conserves_energy_and_momentum_without_force() {
        let (l, cart, m, g) = (0.5, 1.0, 0.5, 0.2);
        // H = (M + m) v²/2 − m l c v ω + m l² ω²/2 + m g l c
        assert_conserved(&system(), &[0.0], |[theta, omega, _, v]: [f64; 4]| {
            let (s, c) = theta.sin_cos();
            [
                m * l * s * (v * omega - g),
                m * l * (l * omega - c * v),
                0.0,
                (cart + m) * v - m * l * c * omega,
            ]
        });
        // P = (M + m) v − m l c ω
        assert_conserved(&system(), &[0.0], |[theta, omega, _, _]: [f64; 4]| {
            [m * l * theta.sin() * omega, -m * l * theta.cos(), 0.0, cart + m]
        });
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 356.4316, 2e-7);
    }
}
