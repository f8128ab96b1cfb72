//! Explicit Runge–Kutta methods with a fixed step, for planning grids.

/// An integration method for ẋ = f(x, u) with u held constant: one step x⁺ = x + h Σ bⱼ kⱼ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Integrator {
    /// The explicit Euler method, order 1; used by the paper's authors' program.
    Euler,
    /// Heun's method, order 2.
    Heun,
    /// The classical Runge–Kutta method, order 4.
    #[default]
    Rk4,
    /// The explicit Euler method for the state and the trapezoidal rule for the cost. If f(x, u) is the mean derivative over a hold
    /// of length h, x⁺ = x + h f(x, u) is exact, and the states at both ends of the step are all that is known.
    EulerTrapezoid,
}

/// The Butcher tableau of a method: kᵢ = f(x + h Σⱼ aᵢⱼ kⱼ, u), x⁺ = x + h Σᵢ bᵢ kᵢ.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tableau {
    /// Row i holds aᵢⱼ for j < i.
    pub a: &'static [&'static [f64]],
    /// Weights bᵢ of the state.
    pub b: &'static [f64],
    /// Weights of the running cost; equal to `b` except for [`Integrator::EulerTrapezoid`].
    pub w: &'static [f64],
    /// Stage times cᵢ = Σⱼ aᵢⱼ.
    pub c: &'static [f64],
}

impl Integrator {
    /// The coefficients of the method.
    pub fn tableau(self) -> &'static Tableau {
        match self {
            Integrator::Euler => &Tableau { a: &[&[]], b: &[1.0], w: &[1.0], c: &[0.0] },
            Integrator::Heun => {
                &Tableau { a: &[&[], &[1.0]], b: &[0.5, 0.5], w: &[0.5, 0.5], c: &[0.0, 1.0] }
            }
            Integrator::Rk4 => &Tableau {
                a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
                b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
                w: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
                c: &[0.0, 0.5, 0.5, 1.0],
            },
            // The second stage is the end of the step: its weight is zero for the state and one half for the cost.
            Integrator::EulerTrapezoid => {
                &Tableau { a: &[&[], &[1.0]], b: &[1.0, 0.0], w: &[0.5, 0.5], c: &[0.0, 1.0] }
            }
        }
    }
}
