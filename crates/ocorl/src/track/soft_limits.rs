//! State limits as a soft constraint of the controller's problem.
//!
//! The state that a controller starts from may be outside its limits, by noise or by a disturbance, so that hard limits would leave it
//! without a solution. With a slack v ≥ 0 for the excess over each limit, the running cost becomes
//!
//! ```text
//! c(t, x, u) + Σᵢ wᵢ vᵢ²,        vᵢ = max(0, lowerᵢ − xᵢ, xᵢ − upperᵢ),
//! ```
//!
//! at every stage of the integration and at the end of the horizon. The limits are made narrower by [`MARGIN`], half of the distance by which
//! a plan stays away from them.

use crate::linalg::{Points, Quadratization};
use crate::system::{Bounds, Cost, Dims, add_term};

/// Weight of a squared excess, relative to the weight of a squared deviation of the same state.
pub(super) const STIFFNESS: f64 = 1e4;

/// Part of the width of the limits by which they are made narrower.
const MARGIN: f64 = 0.0025;

/// Limits with the weight of each state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SoftLimits {
    bounds: Bounds,
    weights: Vec<f64>,
}

impl SoftLimits {
    /// Creates the soft form of `bounds`; `None` if no state has a limit.
    pub(super) fn new(bounds: &Bounds, weights: Vec<f64>) -> Option<Self> {
        if !bounds.is_limiting() {
            return None;
        }
        let mut bounds = bounds.clone();
        for (lower, upper) in bounds.lower.iter_mut().zip(&mut bounds.upper) {
            let width = *upper - *lower;
            let by = if width.is_finite() { MARGIN * width } else { 0.0 };
            (*lower, *upper) = (*lower + by, *upper - by);
        }
        Some(SoftLimits { bounds, weights })
    }

    /// Returns the signed excess of state `i`: negative below its limits, positive above, zero inside.
    fn excess(&self, i: usize, x: f64) -> f64 {
        (x - self.bounds.upper[i]).max(0.0) - (self.bounds.lower[i] - x).max(0.0)
    }

    /// Returns Σ wᵢ vᵢ², and passes the signed excess of each state outside to `outside`.
    fn terms(&self, x: &[f64], mut outside: impl FnMut(usize, f64)) -> f64 {
        let mut sum = 0.0;
        for (i, (&x, weight)) in x.iter().zip(&self.weights).enumerate() {
            let excess = self.excess(i, x);
            if excess != 0.0 {
                sum += weight * excess * excess;
                outside(i, excess);
            }
        }
        sum
    }
}

/// A cost with the terms of soft limits.
pub(super) struct SoftlyLimited<'a> {
    pub(super) inner: &'a dyn Cost,
    pub(super) limits: &'a SoftLimits,
}

impl Cost for SoftlyLimited<'_> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.inner.running(times, z, out);
        let nx = self.dims().state;
        for (k, out) in out.iter_mut().enumerate() {
            *out += self.limits.terms(&z.at(k)[..nx], |_, _| ());
        }
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        self.inner.quadratize(times, z, out);
        let nx = self.dims().state;
        let inside = |k: usize| (0..nx).all(|i| self.limits.excess(i, z.at(k)[i]) == 0.0);
        if (0..z.len()).all(inside) {
            return;
        }
        out.separate_hessians();
        let Quadratization { value, gradient, hessian, .. } = out;
        for k in 0..z.len() {
            value[k] += self.limits.terms(&z.at(k)[..nx], |i, excess| {
                let weight = 2.0 * self.limits.weights[i];
                add_term(i, weight * excess, weight, gradient.at_mut(k), hessian.at_mut(k));
            });
        }
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        self.inner.terminal(time, state) + self.limits.terms(state, |_, _| ())
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let inner = self.inner.quadratize_terminal(time, state, gradient, hessian);
        inner
            + self.limits.terms(state, |i, excess| {
                let weight = 2.0 * self.limits.weights[i];
                add_term(i, weight * excess, weight, gradient, hessian);
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::random::Stream;
    use crate::system::QuadraticCost;

    #[test]
    fn the_derivatives_agree_with_differences_inside_and_outside() {
        let bounds = Bounds { lower: vec![-0.2, f64::NEG_INFINITY], upper: vec![0.3, 0.1] };
        let limits = SoftLimits::new(&bounds, vec![2.0, 3.0]).unwrap();
        let inner = QuadraticCost::new([1.0, 2.0], [0.5]);
        let cost = SoftlyLimited { inner: &inner, limits: &limits };
        check::cost(&cost, 1.0, &mut Stream::root(3).rng()).unwrap();
    }
}
