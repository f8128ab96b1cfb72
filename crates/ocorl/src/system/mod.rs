//! Controlled systems ẋ = f(x, u): dynamics ([`Dynamics`]), objectives ([`Task`], [`Cost`]), and the
//! benchmark systems, one file each.
//!
//! | paper | code | shape |
//! |---|---|---|
//! | x, u | `state`, `control` | dₓ, dᵤ |
//! | z = (x, u) | a column of [`Points`] | dₓ + dᵤ |
//! | f | [`Dynamics`] | ℝ^(dₓ+dᵤ) → ℝ^dₓ |
//! | c | [`Cost`] | |
//!
//! A [`KnownSystem`] combines a task with its equations; users' systems and benchmarks are both of this type. A new benchmark system is one
//! file with its equations as a [`VectorField`], its task, and its [`Benchmark`] entry with the published results, and one line in
//! [`BENCHMARKS`]. Disturbances, delays and hybrid dynamics are left out.

mod backup;
mod benchmark;
mod constraint;
mod cost;
mod exact;
mod known;
mod numeric_jacobian;
mod published;
mod task;
#[cfg(test)]
mod test;

mod acrobot;
mod bicycle;
mod cancer_treatment;
mod cart_pole;
mod furuta_pendulum;
mod glucose_in_blood;
mod lotka_volterra;
mod mountain_car;
mod pendulum;
mod quadrotor_2d;
mod quadrotor_3d;
mod race_car;
mod van_der_pol;

pub use acrobot::Acrobot;
pub use backup::Backup;
pub use benchmark::{Benchmark, UnknownSystem};
pub use bicycle::Bicycle;
pub use cancer_treatment::CancerTreatment;
pub use cart_pole::CartPole;
pub use constraint::{Constraint, Constraints, Extent, FunctionConstraints};
pub use cost::{Cost, QuadraticCost};
pub(crate) use cost::{add_term, squares_gradient, squares_hessian, weighted_squares};
pub use exact::{ExactJacobian, VectorField};
pub use furuta_pendulum::FurutaPendulum;
pub use glucose_in_blood::GlucoseInBlood;
pub use known::{Build, FirstControl, KnownSystem, Parameter, SystemError, Text};
pub use lotka_volterra::LotkaVolterra;
pub use mountain_car::MountainCar;
pub use numeric_jacobian::NumericJacobian;
pub use pendulum::Pendulum;
pub use published::{Cell, HeldReference, PaperSettings, Published, TableUnits};
pub use quadrotor_2d::Quadrotor2d;
pub use quadrotor_3d::Quadrotor3d;
pub use race_car::RaceCar;
pub use task::{Bounds, Quantity, RateLimit, Task, TaskError};
pub use van_der_pol::VanDerPol;

pub use crate::linalg::Dims;
use crate::linalg::{Linearization, Points};

/// A controlled vector field ẋ = f(x, u). `&mut self` serves scratch memory only: equal inputs give equal outputs.
///
/// f may return non-finite numbers outside its domain; callers treat them as infinite cost, not as errors.
pub trait Dynamics: Send {
    /// Returns the dimensions of x and u.
    fn dims(&self) -> Dims;

    /// Writes f(zᵢ) into the `i`-th column of `out`.
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]);

    /// Computes f and ∂f/∂z at all points.
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization);
}

/// All benchmark systems, the paper's nine first, in the order of its Table 1.
pub static BENCHMARKS: [&Benchmark; 13] = [
    &cancer_treatment::BENCHMARK,
    &glucose_in_blood::BENCHMARK,
    &pendulum::BENCHMARK,
    &mountain_car::BENCHMARK,
    &cart_pole::BENCHMARK,
    &bicycle::BENCHMARK,
    &furuta_pendulum::BENCHMARK,
    &quadrotor_2d::BENCHMARK,
    &quadrotor_3d::BENCHMARK,
    &acrobot::BENCHMARK,
    &race_car::BENCHMARK,
    &van_der_pol::BENCHMARK,
    &lotka_volterra::BENCHMARK,
];
