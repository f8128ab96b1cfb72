//! Forward-mode automatic differentiation: a number together with its gradient.
//!
//! | symbol | code | shape |
//! |---|---|---|
//! | v | `value` | 1 |
//! | ∂v/∂x | `state` | `NX` |
//! | ∂v/∂u | `control` | `NU` |
//!
//! The gradient is stored in two parts because the sum `NX + NU` cannot be a type parameter; a Jacobian row is the concatenation of
//! both.

use crate::real::Real;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value v with its derivatives with respect to `NX` states and `NU` controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<T, const NX: usize, const NU: usize> {
    /// The value v.
    pub value: T,
    /// The derivatives ∂v/∂x.
    pub state: [T; NX],
    /// The derivatives ∂v/∂u.
    pub control: [T; NU],
}

impl<T: Real, const NX: usize, const NU: usize> Dual<T, NX, NU> {
    /// The `i`-th state as an independent variable.
    #[inline(always)]
    pub fn state(value: T, i: usize) -> Self {
        let mut dual = Self::lift(value);
        dual.state[i] = T::constant(1.0);
        dual
    }

    /// The `i`-th control as an independent variable.
    #[inline(always)]
    pub fn control(value: T, i: usize) -> Self {
        let mut dual = Self::lift(value);
        dual.control[i] = T::constant(1.0);
        dual
    }

    #[inline(always)]
    fn lift(value: T) -> Self {
        Dual { value, state: [T::constant(0.0); NX], control: [T::constant(0.0); NU] }
    }

    /// The chain rule: the dual number of g(v) from `value` = g(v) and `slope` = g′(v).
    #[inline(always)]
    fn chain(self, value: T, slope: T) -> Self {
        Dual { value, state: self.state.map(|d| d * slope), control: self.control.map(|d| d * slope) }
    }

    #[inline(always)]
    fn combine(self, other: Self, value: T, f: impl Fn(T, T) -> T) -> Self {
        Dual {
            value,
            state: std::array::from_fn(|i| f(self.state[i], other.state[i])),
            control: std::array::from_fn(|i| f(self.control[i], other.control[i])),
        }
    }
}

impl<T: Real, const NX: usize, const NU: usize> Add for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.combine(other, self.value + other.value, |a, b| a + b)
    }
}
impl<T: Real, const NX: usize, const NU: usize> Sub for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.combine(other, self.value - other.value, |a, b| a - b)
    }
}
impl<T: Real, const NX: usize, const NU: usize> Mul for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the product rule adds")]
    fn mul(self, other: Self) -> Self {
        let (v, w) = (self.value, other.value);
        self.combine(other, v * w, |a, b| a * w + b * v)
    }
}
impl<T: Real, const NX: usize, const NU: usize> Div for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        let inverse = T::constant(1.0) / other.value;
        self.combine(other, quotient, |a, b| (a - b * quotient) * inverse)
    }
}
impl<T: Real, const NX: usize, const NU: usize> Neg for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual { value: -self.value, state: self.state.map(|d| -d), control: self.control.map(|d| -d) }
    }
}
impl<T: Real, const NX: usize, const NU: usize> Add<f64> for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: f64) -> Self {
        Dual { value: self.value + other, ..self }
    }
}
impl<T: Real, const NX: usize, const NU: usize> Sub<f64> for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: f64) -> Self {
        Dual { value: self.value - other, ..self }
    }
}
impl<T: Real, const NX: usize, const NU: usize> Mul<f64> for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        self.chain(self.value * other, T::constant(other))
    }
}
impl<T: Real, const NX: usize, const NU: usize> Div<f64> for Dual<T, NX, NU> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: f64) -> Self {
        self.chain(self.value / other, T::constant(1.0 / other))
    }
}

impl<T: Real, const NX: usize, const NU: usize> Real for Dual<T, NX, NU> {
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Self::lift(T::constant(value))
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), T::constant(1.0) / self.value)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, T::constant(0.5) / root)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        self.chain(self.value.atan(), T::constant(1.0) / (self.value.square() + 1.0))
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let tanh = self.value.tanh();
        self.chain(tanh, -(tanh.square() - 1.0))
    }
    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        let condition = self.value;
        yes.combine(no, condition.if_positive(yes.value, no.value), |a, b| condition.if_positive(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type D = Dual<f64, 1, 1>;

    /// A function that uses every operation; its derivatives are compared with central differences.
    fn f<R: Real>(x: R, u: R) -> R {
        let (s, c) = (x * u).sin_cos();
        let a = (s + 2.0) / (c + 3.0) - x.ln() * 0.5 + (u + 4.0).sqrt();
        let b = (x - u).atan() + (-x).tanh() / 3.0 - 1.0;
        let switched = (x - 1.0).if_positive(x.square(), x * 2.0 - 1.0);
        a * b + switched + u.clip(-1.0, 1.0)
    }

    #[test]
    fn every_operation_differentiates_as_central_differences_do() {
        for (x, u) in [(0.7, 0.3), (1.8, -0.9), (0.2, 1.4), (2.5, -2.0)] {
            let d = f(D::state(x, 0), D::control(u, 0));
            let h = 6e-6;
            let dx = (f(x + h, u) - f(x - h, u)) / (2.0 * h);
            let du = (f(x, u + h) - f(x, u - h)) / (2.0 * h);
            assert!((d.value - f(x, u)).abs() < 1e-15);
            assert!((d.state[0] - dx).abs() < 1e-8, "∂x at ({x}, {u}): {} and {dx}", d.state[0]);
            assert!((d.control[0] - du).abs() < 1e-8, "∂u at ({x}, {u}): {} and {du}", d.control[0]);
        }
    }
}
