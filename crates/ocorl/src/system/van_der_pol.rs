//! Van der Pol oscillator: bring a self-exciting oscillator to rest.
//!
//! ```text
//! ẋ = v
//! v̇ = μ (1 − x²) v − x + u                all without units
//! ```
//!
//! Not in the paper, and the reference program has the equations and the weights but cannot run them. Start,
//! horizon, first control and settings are our choice.

use super::{
    Benchmark, Bounds, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, QuadraticCost,
    Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// An oscillator with negative damping of small and positive damping of large oscillations.
#[derive(Clone, Debug)]
pub struct VanDerPol {
    /// Damping coefficient μ.
    pub damping: f64,
}

impl VectorField<2, 1> for VanDerPol {
    #[inline(always)]
    fn derivative<R: Real>(&self, [x, v]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [v, (v - x.square() * v) * self.damping - x + u]
    }
}

/// Catalogue entry of the Van der Pol oscillator.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "van-der-pol",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 5.0,
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
        title: "Van der Pol".into(),
        summary: "bring a self-exciting oscillator to rest".into(),
        parameters: Parameter::list([("damping", "", 1.0)]),
        build: Arc::new(|p| Box::new(ExactJacobian(VanDerPol { damping: p[0] }))),
        task: Task {
            states: Quantity::list([("position", ""), ("velocity", "")]),
            controls: Quantity::list([("force", "")]),
            initial_state: vec![0.0, 1.0],
            horizon: 10.0,
            cost: Arc::new(QuadraticCost::new([1.0, 1.0], [1.0])),
            angles: vec![],
            control_bounds: Bounds::none(1),
            state_bounds: Bounds::symmetric([100.0, 100.0]),
            safe_control: vec![0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01; 2],
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
    fn right_hand_side_by_hand() {
        // 0.75 · (−2) − 0.5 + 0.25
        assert_derivative(&system(), &[0.5, -2.0], &[0.25], &[-2.0, -1.75], 1e-15);
    }

    #[test]
    fn rests_at_the_origin() {
        assert_equilibrium(&system(), &[0.0, 0.0], &[0.0]);
    }

    #[test]
    fn conserves_energy_without_damping_and_force() {
        let mut undamped = system();
        undamped.set_parameter("damping", 0.0).unwrap();
        assert_conserved(&undamped, &[0.0], |[x, v]: [f64; 2]| [x, v]);
    }
}
