//! Controlled systems ẋ = f(x, u): what moves ([`Dynamics`]), what we want ([`Task`], [`Cost`]), and the
//! benchmark systems, one file each.
//!
//! | paper | code | shape |
//! |---|---|---|
//! | x, u | `state`, `control` | dₓ, dᵤ |
//! | z = (x, u) | a column of [`Points`] | dₓ + dᵤ |
//! | f | [`Dynamics`] | ℝ^(dₓ+dᵤ) → ℝ^dₓ |
//! | c | [`Cost`] | |
//!
//! A new benchmark system is one file with its equations as a [`VectorField`] and a function `benchmark()`, and
//! one line in [`BENCHMARKS`].

mod benchmark;
mod cost;
mod exact;
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
pub use benchmark::{
    Benchmark, BenchmarkError, Build, Cell, FirstControl, HeldReference, PaperSettings, Parameter, Published,
    Text, UnknownSystem,
};
pub use bicycle::Bicycle;
pub use cancer_treatment::CancerTreatment;
pub use cart_pole::CartPole;
pub use cost::{Cost, QuadraticCost};
pub(crate) use cost::{squares_gradient, squares_hessian, weighted_squares};
pub use exact::{ExactJacobian, VectorField};
pub use furuta_pendulum::FurutaPendulum;
pub use glucose_in_blood::GlucoseInBlood;
pub use lotka_volterra::LotkaVolterra;
pub use mountain_car::MountainCar;
pub use pendulum::Pendulum;
pub use quadrotor_2d::Quadrotor2d;
pub use quadrotor_3d::Quadrotor3d;
pub use race_car::RaceCar;
pub use task::{Bounds, Quantity, Task, TaskError};
pub use van_der_pol::VanDerPol;

pub use crate::linalg::Dims;
use crate::linalg::{Linearization, Points};

/// A controlled vector field ẋ = f(x, u). `&mut self` is for scratch memory only: same input, same output.
///
/// f may return non-finite numbers outside its domain; callers treat them as infinitely bad, not as errors.
pub trait Dynamics: Send {
    /// Dimensions of x and u.
    fn dims(&self) -> Dims;

    /// f(zᵢ) into the `i`-th column of `out`.
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]);

    /// f and ∂f/∂z at all points at once.
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization);
}

/// Every benchmark system, the paper's nine first, in the order of its Table 1.
pub const BENCHMARKS: [fn() -> Benchmark; 13] = [
    cancer_treatment::benchmark,
    glucose_in_blood::benchmark,
    pendulum::benchmark,
    mountain_car::benchmark,
    cart_pole::benchmark,
    bicycle::benchmark,
    furuta_pendulum::benchmark,
    quadrotor_2d::benchmark,
    quadrotor_3d::benchmark,
    acrobot::benchmark,
    race_car::benchmark,
    van_der_pol::benchmark,
    lotka_volterra::benchmark,
];
