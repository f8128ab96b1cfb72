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
}

/// kᵢ = f(x + h Σⱼ aᵢⱼ kⱼ, u), x⁺ = x + h Σᵢ bᵢ kᵢ.
#[derive(Debug)]
pub struct Tableau {
    /// Row i holds aᵢⱼ for j < i.
    pub a: &'static [&'static [f64]],
    /// Weights bᵢ; the running cost is integrated with the same.
    pub b: &'static [f64],
    /// Stage times cᵢ = Σⱼ aᵢⱼ.
    pub c: &'static [f64],
}

impl Integrator {
    /// The method's coefficients.
    pub fn tableau(self) -> &'static Tableau {
        match self {
            Integrator::Euler => &Tableau { a: &[&[]], b: &[1.0], c: &[0.0] },
            Integrator::Heun => &Tableau { a: &[&[], &[1.0]], b: &[0.5, 0.5], c: &[0.0, 1.0] },
            Integrator::Rk4 => &Tableau {
                a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
                b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
                c: &[0.0, 0.5, 0.5, 1.0],
            },
        }
    }
}
