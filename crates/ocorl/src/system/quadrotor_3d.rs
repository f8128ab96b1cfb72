//! Quadrotor in space: fly to a place and hover there with a given yaw.
//!
//! ```text
//! ẍ = (F/m) (cψ sθ + cθ sφ sψ)            F the thrust, s and c sine and cosine
//! ÿ = (F/m) (sψ sθ − cψ cθ sφ)            φ roll, θ pitch, ψ yaw: the rotation is R_z(ψ) R_x(φ) R_y(θ)
//! z̈ = (F/m) cφ cθ − g                     z positive up
//! φ̇ = cθ p + sθ r                         ω = (p, q, r) the angular velocity in the body's frame
//! ψ̇ = (cθ r − sθ p) / cφ                  singular at φ = ±π/2
//! θ̇ = q − sφ ψ̇
//! ω̇ = I⁻¹ (M − ω × I ω)                   M = (2·10⁻⁴ w₁, 2·10⁻⁴ w₂, 10⁻³ w₃) N·m, u = (F, w)
//! ```
//!
//! - g is 0.81 m/s²: it looks like a misprint of 9.81, but the reference program and Table 1 have it. The
//!   hovering thrust is then m g = 0.1458 N, which the paper rounds to 0.15; with that the target would not
//!   be an equilibrium.
//! - The paper runs 25 episodes, the newest reference 30.
//! - The paper has only the integral of the running cost; the reference adds |x(T) − x̂|², with unit
//!   weights, both when it plans and when it reports.
//! - The reference works with 10φ, 10θ, 10p and 10q, which shows in their noise and limits.
//! - Episode 0 stabilises and disturbs: F = 0.1458 + 0.1ρ₄(t) and w = −5a − 2√5 ȧ + ρ(t), where a = (ż, 10φ,
//!   10θ) and ȧ are the angle rates for the angles a and ω = (10p, 10q, r). a should have been (φ, θ, ψ);
//!   we keep the control of the reference. ρ is a cubic spline through a table.

mod excitation;

use super::{
    Benchmark, Bounds, Cell, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, Published,
    QuadraticCost, Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// Moments in N·m per unit of w.
const MOMENTS: [f64; 3] = [2e-4, 2e-4, 1e-3];

/// Hovering thrust m g in N.
const HOVER: f64 = 0.1458;

/// A rigid body that is symmetric about its x–z plane, with thrust along its axis and three moments.
#[derive(Clone, Debug)]
pub struct Quadrotor3d {
    mass: f64,
    gravity: f64,
    inertia: Inertia,
    inverse: Inertia,
}

/// A symmetric matrix whose only nonzero off-diagonal entries are xz and zx.
#[derive(Clone, Debug)]
struct Inertia {
    xx: f64,
    yy: f64,
    zz: f64,
    xz: f64,
}

impl Inertia {
    fn inverse(&self) -> Inertia {
        let determinant = self.xx * self.zz - self.xz * self.xz;
        Inertia {
            xx: self.zz / determinant,
            yy: 1.0 / self.yy,
            zz: self.xx / determinant,
            xz: -self.xz / determinant,
        }
    }

    #[inline(always)]
    fn times<R: Real>(&self, [x, y, z]: [R; 3]) -> [R; 3] {
        [x * self.xx + z * self.xz, y * self.yy, x * self.xz + z * self.zz]
    }
}

impl Quadrotor3d {
    /// Creates the body from m in kg, g in m/s², and the entries xx, yy, zz, xz of I in kg·m².
    pub fn new(mass: f64, gravity: f64, inertia: [f64; 4]) -> Self {
        let [xx, yy, zz, xz] = inertia;
        let inertia = Inertia { xx, yy, zz, xz };
        Quadrotor3d { mass, gravity, inverse: inertia.inverse(), inertia }
    }
}

/// Computes (φ̇, θ̇, ψ̇) from (sin φ, cos φ), (sin θ, cos θ) and ω.
#[inline(always)]
fn angle_rates<R: Real>((s_phi, c_phi): (R, R), (s_theta, c_theta): (R, R), [p, q, r]: [R; 3]) -> [R; 3] {
    let yaw_rate = (c_theta * r - s_theta * p) / c_phi;
    [c_theta * p + s_theta * r, q - s_phi * yaw_rate, yaw_rate]
}

impl VectorField<12, 4> for Quadrotor3d {
    #[inline(always)]
    fn derivative<R: Real>(&self, state: [R; 12], [thrust, w1, w2, w3]: [R; 4]) -> [R; 12] {
        let [_, _, _, vx, vy, vz, phi, theta, psi, p, q, r] = state;
        let (phi, theta) = (phi.sin_cos(), theta.sin_cos());
        let ((s_phi, c_phi), (s_theta, c_theta), (s_psi, c_psi)) = (phi, theta, psi.sin_cos());
        let push = thrust / self.mass;
        // Components of the thrust before the yaw rotation.
        let (forward, left) = (push * s_theta, -(push * c_theta * s_phi));
        let [phi_rate, theta_rate, psi_rate] = angle_rates(phi, theta, [p, q, r]);
        let [lx, ly, lz] = self.inertia.times([p, q, r]);
        let [dp, dq, dr] = self.inverse.times([
            w1 * MOMENTS[0] - (q * lz - r * ly),
            w2 * MOMENTS[1] - (r * lx - p * lz),
            w3 * MOMENTS[2] - (p * ly - q * lx),
        ]);
        [
            vx,
            vy,
            vz,
            c_psi * forward - s_psi * left,
            s_psi * forward + c_psi * left,
            push * c_phi * c_theta - self.gravity,
            phi_rate,
            theta_rate,
            psi_rate,
            dp,
            dq,
            dr,
        ]
    }
}

/// Control of episode 0: a stabilising feedback with a disturbance.
fn first_control(t: f64, x: &[f64], u: &mut [f64]) {
    let [rho @ .., thrust] = excitation::disturbance(t);
    let a = [x[5], 10.0 * x[6], 10.0 * x[7]];
    let rates = angle_rates(Real::sin_cos(a[0]), Real::sin_cos(a[1]), [10.0 * x[9], 10.0 * x[10], x[11]]);
    u[0] = HOVER + 0.1 * thrust;
    for i in 0..3 {
        u[1 + i] = -5.0 * a[i] - 2.0 * 5.0_f64.sqrt() * rates[i] + rho[i];
    }
}

/// Catalogue entry of the quadrotor in space.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "quadrotor-3d",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 25,
        measurements: 20,
        tracking_horizon: 5.0,
        tracking_period: 0.02,
        tracking_nodes: 100,
        planner_nodes: 100,
        held: HeldReference { substeps: 50, start: 0.0, terminal_control_weight: 0.0 },
    },
    published: Some(Published {
        scale: 1.0,
        continuous: 7.38,
        held: 7.84,
        max_kernel_distance: Cell { mean: 7.51, std: 0.21 },
        max_determinant: Cell { mean: 7.54, std: 0.28 },
        equidistant: Cell { mean: 9.41, std: 1.43 },
    }),
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Quadrotor 3D".into(),
        summary: "fly to a place and hover there with a given yaw".into(),
        parameters: Parameter::list([
            ("mass", "kg", 0.18),
            ("gravity", "m/s²", 0.81),
            ("inertia_xx", "kg·m²", 2.5e-4),
            ("inertia_yy", "kg·m²", 2.32e-4),
            ("inertia_zz", "kg·m²", 3.738e-4),
            ("inertia_xz", "kg·m²", 2.55e-6),
        ]),
        build: Arc::new(|p| Box::new(ExactJacobian(Quadrotor3d::new(p[0], p[1], [p[2], p[3], p[4], p[5]])))),
        task: Task {
            states: Quantity::list([
                ("x", "m"),
                ("y", "m"),
                ("z", "m"),
                ("vx", "m/s"),
                ("vy", "m/s"),
                ("vz", "m/s"),
                ("phi", "rad"),
                ("theta", "rad"),
                ("psi", "rad"),
                ("p", "rad/s"),
                ("q", "rad/s"),
                ("r", "rad/s"),
            ]),
            controls: Quantity::list([("thrust", "N"), ("w1", ""), ("w2", ""), ("w3", "")]),
            initial_state: vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            horizon: 15.0,
            cost: Arc::new(
                QuadraticCost::new(
                    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 1.0, 0.1, 0.1],
                    [5.0, 0.8, 0.8, 0.3],
                )
                .terminal_weights([1.0; 12])
                .state_target([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
                .control_target([HOVER, 0.0, 0.0, 0.0]),
            ),
            angles: vec![6, 7, 8],
            control_bounds: Bounds::none(4),
            state_bounds: Bounds::symmetric([
                100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 10.0, 10.0, 100.0, 10.0, 10.0, 100.0,
            ]),
            safe_control: vec![HOVER, 0.0, 0.0, 0.0],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-3, 1e-4, 1e-4, 1e-3],
        },
        first_control: Arc::new(first_control),
        prior: None,
        unknown: Vec::new(),
        benchmark: Some(&BENCHMARK),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::*;
    use super::*;
    use crate::dual::Dual;

    type State = [Dual<f64, 12, 0>; 12];

    /// Computes the gradient of `h` by automatic differentiation.
    fn gradient(h: impl Fn(State) -> Dual<f64, 12, 0>) -> impl Fn([f64; 12]) -> [f64; 12] {
        move |x| h(std::array::from_fn(|i| Dual::state(x[i], i))).state
    }

    /// Computes the angular momentum I ω in units of 10⁻⁴ kg·m²/s.
    fn spin(x: &State) -> [Dual<f64, 12, 0>; 3] {
        Inertia { xx: 2.5, yy: 2.32, zz: 3.738, xz: 2.55e-2 }.times([x[9], x[10], x[11]])
    }

    #[test]
    fn right_hand_side_at_the_specified_point() {
        let x = [0.3, -0.2, 0.5, 0.4, -0.1, 0.25, 0.15, -0.35, 0.6, 0.2, -0.3, 0.1];
        let expected = [
            0.4,
            -0.1,
            0.25,
            -0.792_331_294_877,
            -1.203_508_891,
            2.802_095_549_48,
            0.153_584_761_824,
            -0.324_562_016_96,
            0.164_362_445_871,
            -0.307_819_324_988,
            0.269_622_844_828,
            0.534_051_469_445,
        ];
        assert_derivative(&system(), &x, &[0.7, -0.4, 0.3, 0.2], &expected, 3e-12);
    }

    #[test]
    fn hovers_at_the_target_but_rises_with_the_rounded_thrust_of_the_paper() {
        let mut target = [0.0; 12];
        target[8] = 1.0;
        assert_equilibrium(&system(), &target, &[HOVER, 0.0, 0.0, 0.0]);
        let rise = derivative(&system(), &target, &[0.15, 0.0, 0.0, 0.0])[5];
        assert!((rise - 0.02333).abs() < 5e-6, "z̈ = {rise}");
    }

    #[test]
    fn falls_and_spins_with_constant_energy_without_control() {
        let falling = |x: State| x[2] * 0.81 + (x[3].square() + x[4].square() + x[5].square()) * 0.5;
        assert_conserved(&system(), &[0.0; 4], gradient(falling));
        let spinning = |x: State| {
            let [lx, ly, lz] = spin(&x);
            lx * x[9] + ly * x[10] + lz * x[11]
        };
        assert_conserved(&system(), &[0.7, 0.0, 0.0, 0.0], gradient(spinning));
    }

    #[test]
    fn conserves_angular_momentum_in_space_without_moments() {
        for axis in 0..3 {
            // R_z(ψ) R_x(φ) R_y(θ) I ω, by components.
            let momentum = |x: State| {
                let ([lx, ly, lz], (s, c)) = (spin(&x), x[7].sin_cos());
                let (lx, lz) = (c * lx + s * lz, c * lz - s * lx);
                let (s, c) = x[6].sin_cos();
                let (ly, lz) = (c * ly - s * lz, s * ly + c * lz);
                let (s, c) = x[8].sin_cos();
                [c * lx - s * ly, s * lx + c * ly, lz][axis]
            };
            assert_conserved(&system(), &[0.7, 0.0, 0.0, 0.0], gradient(momentum));
        }
    }

    #[test]
    fn episode_zero_costs_what_the_reference_logged() {
        assert_first_episode(&system(), 38.3129, 1.5e-6);
    }
}
