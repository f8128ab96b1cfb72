//! Transcription of a continuous-time problem to stages. Each interval is integrated by `substeps` Runge–Kutta steps. The running cost is
//! integrated with the weights of the method (those of the state, except for the trapezoidal rule of discrete time).
//!
//! Every point at which f is evaluated, stage s of interval k, is one column of a batch. One call of f therefore gives the
//! Jacobians of the whole horizon, which the chain rule composes:
//!
//! ```text
//! X₁ = [I 0],  Xₛ = X + h Σⱼ aₛⱼ Kⱼ,  Kₛ = Aₛ Xₛ + [0 Bₛ],  X ← X + h Σₛ bₛ Kₛ     (Xₛ = ∂xₛ/∂(x_k, u_k))
//! ∇l = Σₛ wₛ Gₛᵀ ∇cₛ,   ∇²l ≈ Σₛ wₛ Gₛᵀ ∇²cₛ Gₛ,   Gₛ = [Xₛ; 0 I]
//! ```
//!
//! The Hessian omits ∂²xₛ/∂z² (Gauss–Newton), as iLQR does for the dynamics.

use crate::linalg::small::{Shape, axpy};
use crate::linalg::{Points, Quadratization};
use crate::simulate::{Integrator, Tableau};
use crate::system::Dynamics;

/// Quadrature rule for the running cost of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Quadrature {
    /// Evaluates the cost at every stage, with the weights of the integrator: the cost integral to the integrator's order.
    #[default]
    Integrated,
    /// Evaluates the cost once, at the start of the interval, times its length: the rule of the reference's zero-order-hold baseline.
    AtStart,
}

/// Discretisation of ẋ = f(x, u) and of the running cost on an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcription {
    /// Runge–Kutta method.
    pub integrator: Integrator,
    /// Number of equal integration steps in each interval.
    pub substeps: usize,
    /// Quadrature rule for the running cost.
    pub quadrature: Quadrature,
}

impl Default for Transcription {
    fn default() -> Self {
        Transcription { integrator: Integrator::Rk4, substeps: 1, quadrature: Quadrature::Integrated }
    }
}

impl Transcription {
    /// Creates a transcription with one step of `integrator` per interval and the cost integrated to the same order.
    pub fn single(integrator: Integrator) -> Self {
        Transcription { integrator, ..Transcription::default() }
    }

    /// Returns a more accurate transcription: the method of order 4, or twice the steps. `None` for discrete time, which is exact.
    #[must_use]
    pub fn finer(&self) -> Option<Self> {
        match self.integrator {
            Integrator::Euler | Integrator::Heun => {
                Some(Transcription { integrator: Integrator::Rk4, ..*self })
            }
            Integrator::Rk4 => Some(Transcription { substeps: 2 * self.substeps, ..*self }),
            Integrator::EulerTrapezoid => None,
        }
    }

    /// Returns the number of evaluations of f per interval.
    pub fn stages(&self) -> usize {
        self.substeps * self.integrator.tableau().b.len()
    }

    /// Returns the time of stage `s` as a fraction of its interval.
    pub fn fraction(&self, s: usize) -> f64 {
        let c = self.integrator.tableau().c;
        ((s / c.len()) as f64 + c[s % c.len()]) / self.substeps as f64
    }

    /// Integrates `x` over an interval of the given length under the control `u`.
    pub(super) fn advance(&self, f: &mut dyn Dynamics, x: &mut [f64], u: &[f64], length: f64) {
        let (Tableau { a, b, .. }, step) = (self.integrator.tableau(), length / self.substeps as f64);
        let mut slopes = vec![vec![0.0; x.len()]; b.len()];
        for _ in 0..self.substeps {
            for (stage, row) in a.iter().enumerate() {
                let mut z = [&*x, u].concat();
                for (j, &a) in row.iter().enumerate() {
                    axpy(step * a, &slopes[j], &mut z[..x.len()]);
                }
                f.derivative(Points::single(&z), &mut slopes[stage]);
            }
            for (slope, &b) in slopes.iter().zip(*b) {
                axpy(step * b, slope, x);
            }
        }
    }

    /// Replaces `at` and `weights` by the time and the quadrature weight of every stage on the grid `times`, in order.
    pub(super) fn sample(&self, times: &[f64], at: &mut Vec<f64>, weights: &mut Vec<f64>) {
        at.clear();
        weights.clear();
        for t in times.windows(2) {
            for s in 0..self.stages() {
                at.push(t[0] + self.fraction(s) * (t[1] - t[0]));
                weights.push(self.weight(s) * (t[1] - t[0]));
            }
        }
    }

    /// Returns the quadrature weight of stage `s` as a fraction of the interval's length; the weights sum to one.
    pub fn weight(&self, s: usize) -> f64 {
        match self.quadrature {
            Quadrature::Integrated => {
                let w = self.integrator.tableau().w;
                w[s % w.len()] / self.substeps as f64
            }
            Quadrature::AtStart => f64::from(s == 0),
        }
    }
}

/// Linearisations and quadratic expansions at the stages of one interval, as the batch evaluations returned them.
#[derive(Clone, Copy)]
pub(super) struct Stages<'a> {
    pub(super) tableau: &'static Tableau,
    pub(super) substeps: usize,
    /// Length of the interval.
    pub(super) length: f64,
    /// Quadrature weights as fractions of the length.
    pub(super) weights: &'a [f64],
    /// Gradients ∇fⱼ at each stage.
    pub(super) jacobian: &'a [f64],
    /// Gradient ∇c at each stage.
    pub(super) gradient: &'a [f64],
    /// Quadratic expansion of c at all stages of all intervals; source of ∇²c.
    pub(super) cost: &'a Quadratization,
    /// Index of this interval's first stage in `cost`.
    pub(super) first: usize,
}

impl<'a> Stages<'a> {
    /// Returns the Hessian ∇²c at stage `s`.
    #[inline(always)]
    pub(super) fn hessian(&self, s: usize) -> &'a [f64] {
        self.cost.hessian_at(self.first + s)
    }
}

/// Linear-quadratic model of one interval: x⁺ = F(z), l(z), with z = (x_k, u_k).
#[derive(Clone, Debug, Default)]
pub(super) struct IntervalModel {
    /// Gradients ∇Fⱼ, one after another.
    pub(super) jacobian: Vec<f64>,
    /// Gradient ∇l of the interval's cost.
    pub(super) gradient: Vec<f64>,
    /// Hessian ∇²l of the interval's cost.
    pub(super) hessian: Vec<f64>,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Sensitivity Xₛ of the stage's state.
    point: Vec<f64>,
    /// Sensitivities Kₛ of the derivatives at all stages of a step.
    slopes: Vec<f64>,
    /// Product ∇²cₛ Gₛ.
    product: Vec<f64>,
}

impl IntervalModel {
    pub(super) fn resize(&mut self, nx: usize, nz: usize, stages: usize) {
        self.jacobian.resize(nx * nz, 0.0);
        self.gradient.resize(nz, 0.0);
        self.hessian.resize(nz * nz, 0.0);
        self.scratch.point.resize(nx * nz, 0.0);
        self.scratch.slopes.resize(stages * nx * nz, 0.0);
        self.scratch.product.resize(nz * nz, 0.0);
    }

    /// Composes the model of an interval from its stages by the chain rule.
    #[inline(always)]
    pub(super) fn compose<S: Shape>(&mut self, shape: S, stages: &Stages<'_>) {
        let (nx, nz) = (shape.nx(), shape.nz());
        let size = nx * nz;
        let jacobian = &mut self.jacobian[..size];
        let gradient = &mut self.gradient[..nz];
        let hessian = &mut self.hessian[..nz * nz];

        // The first stage is at z itself: Gₛ = I.
        let weight = stages.weights[0] * stages.length;
        for (out, c) in gradient.iter_mut().zip(&stages.gradient[..nz]) {
            *out = weight * c;
        }
        for (out, c) in hessian.iter_mut().zip(stages.hessian(0)) {
            *out = weight * c;
        }
        jacobian.fill(0.0);
        for j in 0..nx {
            jacobian[j * nz + j] = 1.0;
        }
        if stages.weights.len() == 1 {
            axpy(stages.length, &stages.jacobian[..size], jacobian);
            return;
        }

        let step = stages.length / stages.substeps as f64;
        let count = stages.tableau.b.len();
        for substep in 0..stages.substeps {
            for stage in 0..count {
                let s = substep * count + stage;
                let point = &mut self.scratch.point[..size];
                point.copy_from_slice(jacobian);
                for (j, &a) in stages.tableau.a[stage].iter().enumerate() {
                    if a != 0.0 {
                        axpy(step * a, &self.scratch.slopes[j * size..(j + 1) * size], point);
                    }
                }
                let slope = &mut self.scratch.slopes[stage * size..(stage + 1) * size];
                slope_sensitivity(shape, &stages.jacobian[s * size..(s + 1) * size], point, slope);
                let weight = stages.weights[s] * stages.length;
                if s > 0 && weight != 0.0 {
                    let c_gradient = &stages.gradient[s * nz..(s + 1) * nz];
                    let c_hessian = stages.hessian(s);
                    pull_back_gradient(shape, weight, c_gradient, point, gradient);
                    pull_back_hessian(shape, weight, c_hessian, point, &mut self.scratch.product, hessian);
                }
            }
            for (stage, &b) in stages.tableau.b.iter().enumerate() {
                axpy(step * b, &self.scratch.slopes[stage * size..(stage + 1) * size], jacobian);
            }
        }
    }
}

/// Computes K = A X + [0 B], gradient by gradient. Zeros of A, which are frequent in mechanical systems, are skipped.
#[inline(always)]
fn slope_sensitivity<S: Shape>(shape: S, jacobian: &[f64], point: &[f64], out: &mut [f64]) {
    let (nx, nz) = (shape.nx(), shape.nz());
    for i in 0..nx {
        let row = &jacobian[i * nz..(i + 1) * nz];
        let out = &mut out[i * nz..(i + 1) * nz];
        out[..nx].fill(0.0);
        out[nx..].copy_from_slice(&row[nx..]);
        for l in 0..nx {
            if row[l] != 0.0 {
                axpy(row[l], &point[l * nz..(l + 1) * nz], out);
            }
        }
    }
}

/// Adds the gradient of a stage: ∇l += w Gᵀ ∇c.
#[inline(always)]
fn pull_back_gradient<S: Shape>(shape: S, weight: f64, c: &[f64], point: &[f64], out: &mut [f64]) {
    let (nx, nz) = (shape.nx(), shape.nz());
    for i in 0..nx {
        axpy(weight * c[i], &point[i * nz..(i + 1) * nz], out);
    }
    axpy(weight, &c[nx..nz], &mut out[nx..nz]);
}

/// Adds the Hessian of a stage: ∇²l += w Gᵀ ∇²c G. Zeros of ∇²c, which is diagonal for most costs, are skipped.
#[inline(always)]
fn pull_back_hessian<S: Shape>(
    shape: S,
    weight: f64,
    c: &[f64],
    point: &[f64],
    product: &mut [f64],
    out: &mut [f64],
) {
    let (nx, nz) = (shape.nx(), shape.nz());
    for i in 0..nz {
        let column = &mut product[i * nz..(i + 1) * nz];
        column.fill(0.0);
        for j in 0..nz {
            let c = weight * c[i * nz + j];
            if c == 0.0 {
                continue;
            }
            if j < nx {
                axpy(c, &point[j * nz..(j + 1) * nz], column);
            } else {
                column[j] += c;
            }
        }
    }
    for i in 0..nz {
        let column = &product[i * nz..(i + 1) * nz];
        if i < nx {
            let g = &point[i * nz..(i + 1) * nz];
            for m in 0..nz {
                if g[m] != 0.0 {
                    axpy(g[m], column, &mut out[m * nz..(m + 1) * nz]);
                }
            }
        } else {
            axpy(1.0, column, &mut out[i * nz..(i + 1) * nz]);
        }
    }
}
