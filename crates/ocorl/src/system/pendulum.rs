//! Pendulum: swing up from hanging and balance.
//!
//! ```text
//! θ̇ = ω
//! ω̇ = (g/l) sin θ + u          θ = 0 upright, u the torque as an angular acceleration
//! ```
//!
//! The reference program rounds g/l to single precision (1.9620001316070557); we use 9.81/5.

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::f64::consts::PI;
use std::sync::Arc;

/// A rigid pendulum with a motor in its pivot.
#[derive(Clone, Debug)]
pub struct Pendulum {
    /// Gravitational acceleration g in m/s².
    pub gravity: f64,
    /// Length l in m.
    pub length: f64,
}

impl VectorField<2, 1> for Pendulum {
    #[inline(always)]
    fn derivative<R: Real>(&self, [theta, omega]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [omega, theta.sin() * (self.gravity / self.length) + u]
    }
}

/// Catalogue entry of the pendulum.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "pendulum",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 6.0,
        tracking_period: 0.02,
        tracking_nodes: 50,
        planner_nodes: 100,
        held: HeldReference { substeps: 300, start: 0.0, terminal_control_weight: 0.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 20.16,
        held: 20.59,
        max_kernel_distance: Cell { mean: 20.20, std: 0.02 },
        max_determinant: Cell { mean: 20.20, std: 0.02 },
        equidistant: Cell { mean: 20.29, std: 0.03 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Pendulum".into(),
        summary: "swing a pendulum up from hanging and balance it".into(),
        parameters: Parameter::list([("gravity", "m/s²", 9.81), ("length", "m", 5.0)]),
        build: Arc::new(|p| Box::new(ExactJacobian(Pendulum { gravity: p[0], length: p[1] }))),
        task: Task {
            states: Quantity::list([("theta", "rad"), ("omega", "rad/s")]),
            controls: Quantity::list([("torque", "rad/s²")]),
            initial_state: vec![PI, 0.0],
            horizon: 10.0,
            cost: Arc::new(QuadraticCost::new([1.0, 1.0], [1.0]).terminal_weights([1.0, 1.0])),
            angles: vec![0],
            control_bounds: Bounds::none(1),
            state_bounds: Bounds::symmetric([100.0, 50.0]),
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01, 0.005],
        },
        first_control: Arc::new(|t, _x, u| u[0] = 0.01 * t.sin()),
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
        assert_derivative(&system(), &[0.3, -0.2], &[0.7], &[-0.2, 1.279_810_645_47], 1e-11);
    }

    #[test]
    fn rests_upright_and_hanging() {
        assert_equilibrium(&system(), &[0.0, 0.0], &[0.0]);
        assert_equilibrium(&system(), &[PI, 0.0], &[0.0]);
    }

    #[test]
    fn conserves_energy_without_torque() {
        // H = ω²/2 + (g/l) cos θ is constant along ẋ = f(x, 0), so ∇H · f = 0 everywhere.
        assert_conserved(&system(), &[0.0], |[theta, omega]: [f64; 2]| [-1.962 * theta.sin(), omega]);
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 108.480_137_01, 1e-7);
    }
}
