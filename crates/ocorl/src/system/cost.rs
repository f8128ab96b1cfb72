//! Cost of a trajectory: J = ∫₀ᵀ c(t, x, u) dt + c_T(x(T)).

use super::Dims;
use crate::linalg::small::{Kernel, Shape, specialized};
use crate::linalg::{Points, Quadratization};

/// A running cost c(t, x, u) and a terminal cost c_T(t, x).
///
/// The cost depends on time because tracking of a reference is a cost too. A control at the single instant T does not contribute in
/// continuous time, so the terminal cost depends on the state alone.
pub trait Cost: Send + Sync {
    /// Returns the dimensions of x and u.
    fn dims(&self) -> Dims;

    /// Writes c(tᵢ, zᵢ) into `out[i]`.
    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]);

    /// Computes c, its gradient and its Hessian at each (tᵢ, zᵢ); resizes `out`.
    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization);

    /// Returns the terminal cost c_T(t, x).
    fn terminal(&self, time: f64, state: &[f64]) -> f64;

    /// Computes the gradient and the Hessian (dim(x) × dim(x), symmetric) of c_T; both are overwritten.
    fn quadratize_terminal(&self, time: f64, state: &[f64], gradient: &mut [f64], hessian: &mut [f64])
    -> f64;
}

/// Quadratic cost c = Σ qᵢ (xᵢ − x̂ᵢ)² + Σ rⱼ (uⱼ − ûⱼ)² (no factor ½) and c_T = Σ fᵢ (xᵢ − x̂ᵢ)².
///
/// ```
/// use ocorl::system::{Cost, QuadraticCost};
/// let cost = QuadraticCost::new([1.0, 1.0], [1.0]).terminal_weights([2.0, 0.0]).state_target([0.5, 0.0]);
/// assert_eq!(cost.terminal(0.0, &[1.5, 3.0]), 2.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticCost {
    states: usize,
    /// Running weights (q, r).
    weights: Vec<f64>,
    /// Target (x̂, û).
    target: Vec<f64>,
    /// Terminal weights f.
    terminal: Vec<f64>,
}

impl QuadraticCost {
    /// Creates a cost with weights q and r around the target zero, without a terminal cost.
    pub fn new(state_weights: impl AsRef<[f64]>, control_weights: impl AsRef<[f64]>) -> Self {
        let (q, r) = (state_weights.as_ref(), control_weights.as_ref());
        QuadraticCost {
            states: q.len(),
            weights: [q, r].concat(),
            target: vec![0.0; q.len() + r.len()],
            terminal: vec![0.0; q.len()],
        }
    }

    /// Sets the terminal weights f.
    #[must_use]
    pub fn terminal_weights(mut self, weights: impl AsRef<[f64]>) -> Self {
        assert_eq!(weights.as_ref().len(), self.states, "one terminal weight for each state");
        self.terminal = weights.as_ref().to_vec();
        self
    }

    /// Sets the target state x̂.
    #[must_use]
    pub fn state_target(mut self, target: impl AsRef<[f64]>) -> Self {
        assert_eq!(target.as_ref().len(), self.states, "one target for each state");
        self.target[..self.states].copy_from_slice(target.as_ref());
        self
    }

    /// Sets the target control û.
    #[must_use]
    pub fn control_target(mut self, target: impl AsRef<[f64]>) -> Self {
        assert_eq!(target.as_ref().len(), self.target.len() - self.states, "one target for each control");
        self.target[self.states..].copy_from_slice(target.as_ref());
        self
    }

    /// Returns the target state x̂.
    pub fn target_state(&self) -> &[f64] {
        &self.target[..self.states]
    }

    /// Returns the target control û.
    pub fn target_control(&self) -> &[f64] {
        &self.target[self.states..]
    }
}

impl Cost for QuadraticCost {
    fn dims(&self) -> Dims {
        Dims { state: self.states, control: self.weights.len() - self.states }
    }

    fn running(&self, _times: &[f64], z: Points<'_>, out: &mut [f64]) {
        specialized(self.dims(), Running { cost: self, z: z.as_slice(), out });
    }

    fn quadratize(&self, _times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        out.resize_shared(self.weights.len(), z.len());
        specialized(self.dims(), Quadratize { cost: self, z: z.as_slice(), out });
    }

    fn terminal(&self, _time: f64, state: &[f64]) -> f64 {
        weighted_squares(&self.terminal, state, &self.target)
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        squares_gradient(&self.terminal, state, &self.target, gradient);
        squares_hessian(&self.terminal, hessian);
        self.terminal(time, state)
    }
}

/// Adds the gradient `slope` and the Hessian `curvature` of a term that depends on coordinate `i` alone.
pub(crate) fn add_term(i: usize, slope: f64, curvature: f64, gradient: &mut [f64], hessian: &mut [f64]) {
    gradient[i] += slope;
    hessian[i * gradient.len() + i] += curvature;
}

/// Computes the weighted sum of squares Σ wᵢ (zᵢ − tᵢ)².
#[inline(always)]
pub(crate) fn weighted_squares(weights: &[f64], z: &[f64], target: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..z.len() {
        sum += weights[i] * (z[i] - target[i]) * (z[i] - target[i]);
    }
    sum
}

/// Computes the gradient of [`weighted_squares`].
#[inline(always)]
pub(crate) fn squares_gradient(weights: &[f64], z: &[f64], target: &[f64], gradient: &mut [f64]) {
    for i in 0..z.len() {
        gradient[i] = 2.0 * weights[i] * (z[i] - target[i]);
    }
}

/// Computes the Hessian of [`weighted_squares`].
pub(crate) fn squares_hessian(weights: &[f64], hessian: &mut [f64]) {
    let n = weights.len();
    hessian.fill(0.0);
    for i in 0..n {
        hessian[i * n + i] = 2.0 * weights[i];
    }
}

struct Running<'a> {
    cost: &'a QuadraticCost,
    z: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Running<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) {
        let nz = shape.nz();
        let (weights, target) = (&self.cost.weights[..nz], &self.cost.target[..nz]);
        for (z, out) in self.z.chunks_exact(nz).zip(self.out) {
            *out = weighted_squares(weights, z, target);
        }
    }
}

struct Quadratize<'a> {
    cost: &'a QuadraticCost,
    z: &'a [f64],
    out: &'a mut Quadratization,
}

impl Kernel for Quadratize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Shape>(self, shape: S) {
        let nz = shape.nz();
        let Quadratize { cost, z, out } = self;
        Running { cost, z, out: &mut out.value }.run(shape);
        let (weights, target) = (&cost.weights[..nz], &cost.target[..nz]);
        for (z, gradient) in z.chunks_exact(nz).zip(out.gradient.as_mut_slice().chunks_exact_mut(nz)) {
            squares_gradient(weights, z, target, gradient);
        }
        squares_hessian(weights, out.hessian.as_mut_slice());
    }
}
