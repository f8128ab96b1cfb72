//! Dynamics given by f alone, with Jacobians by central differences.

use super::{Dims, Dynamics};
use crate::linalg::{Linearization, Points};

/// A function f(x, u) as [`Dynamics`], with its Jacobian by central differences.
///
/// A linearisation costs 1 + 2 (dₓ + dᵤ) evaluations of f at each point, and a Jacobian has about ten of f's sixteen
/// digits:
///
/// ```text
/// ∂fⱼ/∂zᵢ ≈ (fⱼ(z + h eᵢ) − fⱼ(z − h eᵢ)) / 2h,   h = ε^⅓ max(1, |zᵢ|),   ε = 2⁻⁵²
/// ```
///
/// If f is not finite on one side of z, a one-sided difference on the other side is used. Equations written as a
/// [`VectorField`](super::VectorField) have exact Jacobians in a quarter of that time
/// ([`ExactJacobian`](super::ExactJacobian)).
///
/// ```
/// use ocorl::system::{Dims, NumericJacobian};
/// use ocorl::{check, random::Stream};
///
/// let mut f = NumericJacobian::new(Dims { state: 2, control: 1 }, |x, u, derivative| {
///     derivative[0] = x[1];
///     derivative[1] = 9.81 * x[0].sin() + u[0];
/// });
/// check::dynamics(&mut f, 1.0, &mut Stream::root(0).rng())?;
/// # Ok::<(), check::Violation>(())
/// ```
#[derive(Clone, Debug)]
pub struct NumericJacobian<F> {
    f: F,
    dims: Dims,
    /// Point z with one coordinate perturbed.
    point: Vec<f64>,
    /// Values f(z + h eᵢ) and f(z − h eᵢ).
    values: Vec<f64>,
}

impl<F: FnMut(&[f64], &[f64], &mut [f64])> NumericJacobian<F> {
    /// Creates the dynamics. `f` receives x, u and the output ẋ; it must depend on x and u alone.
    pub fn new(dims: Dims, f: F) -> Self {
        NumericJacobian { f, dims, point: vec![0.0; dims.point()], values: vec![0.0; 2 * dims.state] }
    }

    fn check(&self, z: Points<'_>) {
        let Dims { state, control } = self.dims;
        assert_eq!(z.dim(), state + control, "points have {} rows, f needs {state} + {control}", z.dim());
    }

    /// Computes the gradients of all outputs at one point, where f is `value`.
    fn gradients(&mut self, z: &[f64], value: &[f64], out: &mut [f64]) {
        let NumericJacobian { f, dims, point, values } = self;
        let (above, below) = values.split_at_mut(dims.state);
        point.copy_from_slice(z);
        for i in 0..z.len() {
            let h = f64::EPSILON.cbrt() * z[i].abs().max(1.0);
            // The actual steps after rounding.
            let (high, low) = (z[i] + h, z[i] - h);
            for (at, out) in [(high, &mut *above), (low, &mut *below)] {
                point[i] = at;
                let (x, u) = point.split_at(dims.state);
                f(x, u, out);
            }
            point[i] = z[i];
            for j in 0..dims.state {
                out[j * z.len() + i] = match (above[j].is_finite(), below[j].is_finite()) {
                    (true, false) => (above[j] - value[j]) / (high - z[i]),
                    (false, true) => (value[j] - below[j]) / (z[i] - low),
                    _ => (above[j] - below[j]) / (high - low),
                };
            }
        }
    }
}

impl<F: FnMut(&[f64], &[f64], &mut [f64]) + Send> Dynamics for NumericJacobian<F> {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.check(z);
        assert_eq!(out.len(), self.dims.state * z.len(), "room for {} numbers", out.len());
        for (i, out) in out.chunks_exact_mut(self.dims.state).enumerate() {
            let (x, u) = z.at(i).split_at(self.dims.state);
            (self.f)(x, u, out);
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.check(z);
        out.resize(self.dims.state, self.dims.point(), z.len());
        self.derivative(z, out.value.as_mut_slice());
        for i in 0..z.len() {
            self.gradients(z.at(i), out.value.at(i), out.jacobian.at_mut(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::random::Stream;
    use crate::system::Benchmark;

    /// Compares the Jacobian by differences with the exact one for every benchmark.
    #[test]
    fn differences_agree_with_exact_jacobians_and_keep_the_contract() {
        for b in Benchmark::all() {
            let (mut exact, mut inner, n) = (b.dynamics(), b.dynamics(), b.dims().point());
            let mut numeric = NumericJacobian::new(b.dims(), move |x: &[f64], u: &[f64], out: &mut [f64]| {
                inner.derivative(Points::single(&[x, u].concat()), out);
            });
            check::dynamics(&mut numeric, 0.5, &mut Stream::root(3).rng()).unwrap();
            let mut rng = Stream::root(4).rng();
            let z: Vec<f64> = (0..20 * n).map(|_| 0.5 * rng.normal()).collect();
            let (mut a, mut b_) = (Linearization::default(), Linearization::default());
            exact.linearize(Points::new(&z, n), &mut a);
            numeric.linearize(Points::new(&z, n), &mut b_);
            let size =
                a.jacobian.as_slice().iter().filter(|v| v.is_finite()).fold(1.0_f64, |m, v| m.max(v.abs()));
            for (a, b_) in a.jacobian.as_slice().iter().zip(b_.jacobian.as_slice()) {
                assert!(!a.is_finite() || (a - b_).abs() <= 1e-7 * size, "{}: {a} and {b_}", b.name);
            }
        }
    }

    #[test]
    fn a_linearisation_evaluates_f_as_often_as_documented() {
        let mut calls = 0;
        let mut f =
            NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], u: &[f64], out: &mut [f64]| {
                calls += 1;
                out.copy_from_slice(&[x[1], u[0]]);
            });
        f.linearize(Points::new(&[0.0; 12], 3), &mut Linearization::default());
        assert_eq!(calls, 4 * (1 + 2 * 3));
    }

    #[test]
    fn at_the_edge_of_the_domain_the_difference_is_one_sided() {
        let mut f =
            NumericJacobian::new(Dims { state: 1, control: 0 }, |x: &[f64], _: &[f64], out: &mut [f64]| {
                out[0] = if x[0] < 0.0 { f64::NAN } else { 3.0 * x[0] };
            });
        let mut out = Linearization::default();
        f.linearize(Points::new(&[0.0], 1), &mut out);
        assert!((out.jacobian.at(0)[0] - 3.0).abs() < 1e-9);
    }
}
