//! Explicit Runge–Kutta methods of fixed step, for planning grids.

/// A method that turns ẋ = f(x, u), u held, into a step x⁺ = x + h Σ bⱼ kⱼ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Integrator {
    /// Explicit Euler, order 1: the reference's.
    Euler,
    /// Heun's method, order 2.
    Heun,
    /// The classical Runge–Kutta method, order 4.
    #[default]
    Rk4,
    /// Explicit Euler for the state, the trapezoid between both ends of the step for the cost: if f(x, u) is the mean derivative over a
    /// hold of length h, x⁺ = x + h f(x, u) is no approximation, and both ends are all that is known of the way.
    EulerTrapezoid,
}

/// kᵢ = f(x + h Σⱼ aᵢⱼ kⱼ, u), x⁺ = x + h Σᵢ bᵢ kᵢ.
#[derive(Debug)]
pub struct Tableau {
    /// Row i holds aᵢⱼ for j < i.
    pub a: &'static [&'static [f64]],
    /// Weights bᵢ of the state.
    pub b: &'static [f64],
    /// Weights of the running cost, the same unless said otherwise.
    pub w: &'static [f64],
    /// Stage times cᵢ = Σⱼ aᵢⱼ.
    pub c: &'static [f64],
}

impl Integrator {
    /// The method's coefficients.
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
            // The second stage is the end of the step: f there counts for nothing, c for a half.
            Integrator::EulerTrapezoid => {
                &Tableau { a: &[&[], &[1.0]], b: &[1.0, 0.0], w: &[0.5, 0.5], c: &[0.0, 1.0] }
            }
        }
    }
}
