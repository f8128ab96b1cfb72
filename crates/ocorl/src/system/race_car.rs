//! Race car: a miniature car drives to a place and parks.
//!
//! Without slip below 0.3 m/s (kinematic), with slipping tyres above 0.5 m/s (dynamic), blended in between:
//!
//! ```text
//! f = λ f_dynamic + (1 − λ) f_kinematic,  λ = (v_x − 0.3)/0.2 limited to [0, 1]
//! d = 0.4 + 0.6 throttle,  F(v) = (c₁ − c₂ v) d − c_r − c_d v²         δ steering, d duty
//!
//! dynamic:    ẋ = v_x cos θ − v_y sin θ,  ẏ = v_x sin θ + v_y cos θ,  θ̇ = ω
//!             v̇_x = (F(v_x) − F_f sin δ)/m + v_y ω,  v̇_y = (F_r + F_f cos δ)/m − v_x ω
//!             ω̇ = (F_f l_f cos δ − F_r l_r)/I
//!             F_f = D_f g sin(C_f atan(B_f α_f)),  α_f = δ − atan((ω l_f + v_y)/v_x)
//!             F_r = D_r g sin(C_r atan(B_r α_r)),  α_r = atan((ω l_r − v_y)/v_x)
//! kinematic:  ẋ = V cos(θ + β),  ẏ = V sin(θ + β),  θ̇ = V sin β / l_r,  V = |(v_x, v_y)|
//!             v̇_x = A cos β,  v̇_y = A sin β,  ω̇ = A sin β / l_r,  A = F(V)/m,  tan β = l_r tan δ/(l_f + l_r)
//!
//! standstill: nothing moves while v_x ≤ 0.1 and F(v_x) ≤ 0
//! ```
//!
//! One of the reference program's systems, not in the paper. Its code has errors, which are corrected here unless
//! [`RaceCar::corrected`] is false:
//!
//! - its kinematic motion ignores the heading (V cos β and V sin β without θ);
//! - its direction of the acceleration lacks parentheses: `atan(l_r tan δ / l_f + l_r)` for β;
//! - its kinematic ω̇ is `A cos β atan δ / (l_f + l_r)`, with atan where the derivative of θ̇ has tan;
//! - its standstill test compares the steering angle, where the duty is meant, with the rolling resistance: a
//!   car at rest does not move unless it steers to the left;
//! - it limits the controls inside f, which hides their effect from a planner at the limit; here the limits
//!   are bounds of the task;
//! - it declares x, not θ, to be the angle.
//!
//! In the slip angles `v_x` is `v_x + 10⁻⁶` m/s, as in the reference; V² has 10⁻¹² m²/s² added, for a
//! derivative at rest.
//!
//! The task is our choice: the reference's target (5, −2), with weight 1 on the position (also at T) and on the
//! controls themselves, relative to the motor being off (d = 0), so that parking costs nothing. The
//! reference weighs (tanh(steering)/4)² + tanh²(throttle) by 100 instead.

use super::{
    Benchmark, Bounds, ExactJacobian, HeldReference, KnownSystem, PaperSettings, Parameter, QuadraticCost,
    Quantity, Task, VectorField,
};
use crate::real::Real;
use std::sync::Arc;

/// Largest steering angle in rad.
const STEERING_LIMIT: f64 = 0.35;

/// Throttle at which the motor's duty cycle is zero.
const MOTOR_OFF: f64 = -2.0 / 3.0;

/// A rear-driven car with one tyre per axle (a bicycle model with Pacejka's tyre forces).
#[derive(Clone, Debug)]
pub struct RaceCar {
    /// Whether the errors of the reference program are corrected.
    pub corrected: bool,
    /// Mass m in kg.
    pub mass: f64,
    /// Moment of inertia I about the vertical axis in kg·m².
    pub inertia: f64,
    /// Distance `l_f` from the centre of mass to the front axle in m.
    pub front_length: f64,
    /// Distance `l_r` from the centre of mass to the rear axle in m.
    pub rear_length: f64,
    /// Gravitational acceleration g in m/s².
    pub gravity: f64,
    /// Peak factor `D_f` of the front tyre in kg.
    pub front_peak: f64,
    /// Shape factor `C_f` of the front tyre.
    pub front_shape: f64,
    /// Stiffness factor `B_f` of the front tyre.
    pub front_stiffness: f64,
    /// Peak factor `D_r` of the rear tyre in kg.
    pub rear_peak: f64,
    /// Shape factor `C_r` of the rear tyre.
    pub rear_shape: f64,
    /// Stiffness factor `B_r` of the rear tyre.
    pub rear_stiffness: f64,
    /// Motor force c₁ at full duty and standstill in N.
    pub motor_force: f64,
    /// Decrease c₂ of the motor force with speed in N·s/m.
    pub motor_decline: f64,
    /// Rolling resistance `c_r` in N.
    pub rolling_resistance: f64,
    /// Drag coefficient `c_d` in kg/m.
    pub drag: f64,
}

impl RaceCar {
    /// Computes F(v): the motor force minus rolling resistance and drag.
    #[inline(always)]
    fn net_force<R: Real>(&self, speed: R, duty: R) -> R {
        (-(speed * self.motor_decline) + self.motor_force) * duty - self.resistance(speed)
    }

    #[inline(always)]
    fn resistance<R: Real>(&self, speed: R) -> R {
        speed.square() * self.drag + self.rolling_resistance
    }

    /// Computes the derivative of the dynamic model, with slipping tyres.
    #[inline(always)]
    fn dynamic<R: Real>(&self, [_, _, theta, vx, vy, yaw_rate]: [R; 6], steering: R, duty: R) -> [R; 6] {
        let (m, lf, lr) = (self.mass, self.front_length, self.rear_length);
        let (sin, cos) = theta.sin_cos();
        let (sin_steering, cos_steering) = steering.sin_cos();
        let forward = vx + 1e-6;
        let front_slip = steering - ((yaw_rate * lf + vy) / forward).atan();
        let rear_slip = ((yaw_rate * lr - vy) / forward).atan();
        let front = ((front_slip * self.front_stiffness).atan() * self.front_shape).sin();
        let rear = ((rear_slip * self.rear_stiffness).atan() * self.rear_shape).sin();
        let (front, rear) =
            (front * (self.front_peak * self.gravity), rear * (self.rear_peak * self.gravity));
        [
            vx * cos - vy * sin,
            vx * sin + vy * cos,
            yaw_rate,
            (self.net_force(vx, duty) - front * sin_steering) / m + vy * yaw_rate,
            (rear + front * cos_steering) / m - vx * yaw_rate,
            (front * cos_steering * lf - rear * lr) / self.inertia,
        ]
    }

    /// Computes the derivative of the kinematic model, without slip.
    #[inline(always)]
    fn kinematic<R: Real>(&self, [_, _, theta, vx, vy, _]: [R; 6], steering: R, duty: R) -> [R; 6] {
        let (lf, lr) = (self.front_length, self.rear_length);
        let speed = (vx.square() + vy.square() + 1e-12).sqrt();
        let acceleration = self.net_force(speed, duty) / self.mass;
        let (sin_steering, cos_steering) = steering.sin_cos();
        let tan = sin_steering / cos_steering;
        let slip = (tan * (lr / (lf + lr))).atan();
        let (sin_slip, cos_slip) = slip.sin_cos();
        let turn = sin_slip / lr;
        if self.corrected {
            let (sin, cos) = (theta + slip).sin_cos();
            [
                speed * cos,
                speed * sin,
                speed * turn,
                acceleration * cos_slip,
                acceleration * sin_slip,
                acceleration * turn,
            ]
        } else {
            let (sin, cos) = (tan * (lr / lf) + lr).atan().sin_cos();
            [
                speed * cos_slip,
                speed * sin_slip,
                speed * turn,
                acceleration * cos,
                acceleration * sin,
                acceleration * cos * steering.atan() / (lf + lr),
            ]
        }
    }
}

impl VectorField<6, 2> for RaceCar {
    #[inline(always)]
    fn derivative<R: Real>(&self, state: [R; 6], [steering, throttle]: [R; 2]) -> [R; 6] {
        let (steering, throttle) = if self.corrected {
            (steering, throttle)
        } else {
            (steering.clip(-STEERING_LIMIT, STEERING_LIMIT), throttle.clip(-1.0, 1.0))
        };
        let duty = throttle * 0.6 + 0.4;
        let vx = state[3];
        let dynamic = self.dynamic(state, steering, duty);
        let kinematic = self.kinematic(state, steering, duty);
        let blend = ((vx - 0.3) / 0.2).clip(0.0, 1.0);
        let drive = if self.corrected {
            self.net_force(vx, duty)
        } else {
            steering - self.resistance(vx) / (-(vx * self.motor_decline) + self.motor_force)
        };
        std::array::from_fn(|i| {
            let moving = kinematic[i] + blend * (dynamic[i] - kinematic[i]);
            (vx - 0.1).if_positive(moving, drive.if_positive(moving, R::constant(0.0)))
        })
    }
}

/// Creates the car from the values of its parameters, with or without the corrections.
fn car(corrected: bool, p: &[f64]) -> ExactJacobian<RaceCar, 6, 2> {
    ExactJacobian(RaceCar {
        corrected,
        mass: p[0],
        inertia: p[1],
        front_length: p[2],
        rear_length: p[3],
        gravity: p[4],
        front_peak: p[5],
        front_shape: p[6],
        front_stiffness: p[7],
        rear_peak: p[8],
        rear_shape: p[9],
        rear_stiffness: p[10],
        motor_force: p[11],
        motor_decline: p[12],
        rolling_resistance: p[13],
        drag: p[14],
    })
}

/// Catalogue entry of the race car.
pub(super) static BENCHMARK: Benchmark = Benchmark {
    name: "race-car",
    aliases: &[],
    system,
    paper: PaperSettings {
        episodes: 20,
        measurements: 10,
        tracking_horizon: 3.0,
        tracking_period: 0.02,
        tracking_nodes: 300,
        planner_nodes: 1000,
        held: HeldReference { substeps: 50, start: -0.01, terminal_control_weight: 0.0 },
    },
    published: None,
};

fn system() -> KnownSystem {
    KnownSystem {
        name: BENCHMARK.name.into(),
        title: "Race car".into(),
        summary: "drive a miniature car to a place and park it".into(),
        parameters: Parameter::list([
            ("mass", "kg", 0.05),
            ("inertia", "kg·m²", 27.8e-6),
            ("front_length", "m", 0.03),
            ("rear_length", "m", 0.035),
            ("gravity", "m/s²", 9.81),
            ("front_peak", "kg", 0.02),
            ("front_shape", "", 1.2),
            ("front_stiffness", "", 2.5),
            ("rear_peak", "kg", 0.017),
            ("rear_shape", "", 1.25),
            ("rear_stiffness", "", 2.6),
            ("motor_force", "N", 0.2),
            ("motor_decline", "N·s/m", 0.05),
            ("rolling_resistance", "N", 0.003),
            ("drag", "kg/m", 0.052),
        ]),
        build: Arc::new(|p| Box::new(car(true, p))),
        task: Task {
            states: Quantity::list([
                ("x", "m"),
                ("y", "m"),
                ("heading", "rad"),
                ("vx", "m/s"),
                ("vy", "m/s"),
                ("yaw_rate", "rad/s"),
            ]),
            controls: Quantity::list([("steering", "rad"), ("throttle", "")]),
            initial_state: vec![0.0; 6],
            horizon: 10.0,
            cost: Arc::new(
                QuadraticCost::new([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0])
                    .terminal_weights([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
                    .state_target([5.0, -2.0, 0.0, 0.0, 0.0, 0.0])
                    .control_target([0.0, MOTOR_OFF]),
            ),
            angles: vec![2],
            control_bounds: Bounds::symmetric([STEERING_LIMIT, 1.0]),
            state_bounds: Bounds::symmetric([100.0, 100.0, 100.0, 100.0, 10.0, 100.0]),
            safe_control: vec![0.0, MOTOR_OFF],
            rate_limit: None,
            backup: None,
            constraints: None,
            noise_std: vec![0.01, 0.01, 0.01, 0.01, 0.001, 0.01],
        },
        first_control: Arc::new(|t, _x, u| {
            let (sin, cos) = t.sin_cos();
            u.copy_from_slice(&[0.1 * sin, 0.1 * cos]);
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

    /// The system with the uncorrected equations of the reference.
    fn as_coded() -> KnownSystem {
        KnownSystem { build: Arc::new(|p| Box::new(car(false, p))), ..system() }
    }

    #[test]
    fn right_hand_side_of_the_reference_at_the_specified_point() {
        let expected = [
            0.404_425_862_8,
            0.074_375_289_6,
            0.764_123_140_9,
            0.000_872_358_9,
            2.736_298_314_2,
            14.823_087_945_2,
        ];
        assert_derivative(&as_coded(), &[0.3, -0.2, 0.5, 0.4, -0.1, 0.25], &[0.2, -0.4], &expected, 1e-9);
    }

    #[test]
    fn parks_with_the_motor_off_and_starts_with_it_on() {
        assert_equilibrium(&system(), &[5.0, -2.0, 0.7, 0.0, 0.0, 0.0], &[0.1, MOTOR_OFF]);
        let f = derivative(&system(), &[0.0; 6], &[0.0, 0.0]);
        assert!((f[3] - (0.2 * 0.4 - 0.003) / 0.05).abs() < 1e-5, "v̇ₓ = {}", f[3]);
        assert_equilibrium(&as_coded(), &[0.0; 6], &[0.0, 1.0]);
    }

    #[test]
    fn moves_alike_in_every_direction() {
        for vx in [0.2, 0.35, 0.8] {
            let along = derivative(&system(), &[0.0, 0.0, 0.0, vx, 0.05, 0.3], &[0.2, 0.5]);
            let (s, c) = 1.1_f64.sin_cos();
            let mut turned = along.clone();
            (turned[0], turned[1]) = (c * along[0] - s * along[1], s * along[0] + c * along[1]);
            assert_derivative(&system(), &[2.0, 3.0, 1.1, vx, 0.05, 0.3], &[0.2, 0.5], &turned, 1e-14);
        }
    }

    #[test]
    fn turns_to_both_sides_alike() {
        let left = derivative(&system(), &[0.0, 0.0, 0.2, 0.4, 0.05, 0.3], &[0.2, 0.5]);
        let signs = [1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
        let right: Vec<f64> = left.iter().zip(signs).map(|(d, sign)| sign * d).collect();
        assert_derivative(&system(), &[0.0, 0.0, -0.2, 0.4, -0.05, -0.3], &[-0.2, 0.5], &right, 1e-14);
    }

    #[test]
    fn slow_motion_keeps_the_angle_of_no_slip() {
        // Once the velocity has the direction β of the steering and ω = V sin β / l_r, all three grow in proportion.
        let beta = (0.035 * 0.2_f64.tan() / 0.065).atan();
        let (sin, cos) = beta.sin_cos();
        let f = derivative(&system(), &[0.0, 0.0, 0.4, 0.2 * cos, 0.2 * sin, 0.2 * sin / 0.035], &[0.2, 0.5]);
        assert!((f[4] / f[3] - beta.tan()).abs() < 1e-12);
        assert!((f[5] / f[3] - sin / 0.035 / cos).abs() < 1e-12);
        assert!((f[1] / f[0] - (0.4 + beta).tan()).abs() < 1e-12);
    }
}
