//! [`Dynamics`] with exact Jacobians from equations that are written once for any number type.

use super::{Dims, Dynamics};
use crate::dual::Dual;
use crate::linalg::{Linearization, Points};
use crate::real::{LANES, Lanes, Real};
use pulp::{Arch, Simd, WithSimd};

/// The right-hand side f(x, u) of ẋ = f(x, u), written for any number type.
///
/// ```
/// use ocorl::{real::Real, system::VectorField};
///
/// struct Pendulum;
/// impl VectorField<2, 1> for Pendulum {
///     fn derivative<R: Real>(&self, [theta, omega]: [R; 2], [u]: [R; 1]) -> [R; 2] {
///         [omega, theta.sin() * 1.962 + u]
///     }
/// }
/// ```
pub trait VectorField<const NX: usize, const NU: usize>: Send {
    /// Evaluates f(x, u). Mark it `#[inline(always)]`: it is compiled for each number type and vector extension.
    fn derivative<R: Real>(&self, state: [R; NX], control: [R; NU]) -> [R; NX];
}

/// A [`VectorField`] as [`Dynamics`]: values in plain numbers, Jacobians by forward-mode automatic differentiation.
///
/// Four points are evaluated at a time, or with more than eight inputs one point with its gradients in parallel,
/// whichever fills the registers. The vector instructions are selected at run time and do not change any bit
/// of the result. A Jacobian costs about (1 + NX + NU) / 4 evaluations of f.
#[derive(Clone, Debug)]
pub struct ExactJacobian<F, const NX: usize, const NU: usize>(pub F);

impl<F: VectorField<NX, NU>, const NX: usize, const NU: usize> ExactJacobian<F, NX, NU> {
    /// Evaluates f at the column `z` = (x, u).
    #[inline(always)]
    fn single(&self, z: &[f64], out: &mut [f64]) {
        let x = std::array::from_fn(|i| z[i]);
        let u = std::array::from_fn(|i| z[NX + i]);
        out[..NX].copy_from_slice(&self.0.derivative::<f64>(x, u));
    }

    /// Evaluates f and its gradients at one column.
    #[inline(always)]
    fn single_with_gradients(&self, z: &[f64], value: &mut [f64], gradients: &mut [f64]) {
        let x = std::array::from_fn(|i| Dual::state(z[i], i));
        let u = std::array::from_fn(|i| Dual::control(z[NX + i], i));
        let f: [Dual<f64, NX, NU>; NX] = self.0.derivative(x, u);
        for (j, fj) in f.iter().enumerate() {
            value[j] = fj.value;
            let gradient = &mut gradients[j * (NX + NU)..(j + 1) * (NX + NU)];
            gradient[..NX].copy_from_slice(&fj.state);
            gradient[NX..].copy_from_slice(&fj.control);
        }
    }

    /// Evaluates f at `LANES` columns.
    #[inline(always)]
    fn several(&self, z: &[f64], out: &mut [f64]) {
        let x = std::array::from_fn(|i| gather(z, NX + NU, i));
        let u = std::array::from_fn(|i| gather(z, NX + NU, NX + i));
        let f: [Lanes; NX] = self.0.derivative(x, u);
        for (j, fj) in f.iter().enumerate() {
            for lane in 0..LANES {
                out[lane * NX + j] = fj.0[lane];
            }
        }
    }

    /// Evaluates f and its gradients at `LANES` columns.
    #[inline(always)]
    fn several_with_gradients(&self, z: &[f64], value: &mut [f64], gradients: &mut [f64]) {
        let x = std::array::from_fn(|i| Dual::state(gather(z, NX + NU, i), i));
        let u = std::array::from_fn(|i| Dual::control(gather(z, NX + NU, NX + i), i));
        let f: [Dual<Lanes, NX, NU>; NX] = self.0.derivative(x, u);
        for (j, fj) in f.iter().enumerate() {
            for lane in 0..LANES {
                value[lane * NX + j] = fj.value.0[lane];
                let start = lane * NX * (NX + NU) + j * (NX + NU);
                let gradient = &mut gradients[start..start + NX + NU];
                for i in 0..NX {
                    gradient[i] = fj.state[i].0[lane];
                }
                for i in 0..NU {
                    gradient[NX + i] = fj.control[i].0[lane];
                }
            }
        }
    }
}

/// Gathers row `row` of `LANES` columns of length `dim`.
#[inline(always)]
fn gather(z: &[f64], dim: usize, row: usize) -> Lanes {
    Lanes(std::array::from_fn(|lane| z[lane * dim + row]))
}

impl<F: VectorField<NX, NU>, const NX: usize, const NU: usize> Dynamics for ExactJacobian<F, NX, NU> {
    fn dims(&self) -> Dims {
        Dims { state: NX, control: NU }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        assert_eq!(z.dim(), NX + NU, "points have {} rows, f needs {NX} + {NU}", z.dim());
        assert_eq!(out.len(), NX * z.len(), "room for {} numbers, {} needed", out.len(), NX * z.len());
        if z.len() == 1 {
            self.single(z.as_slice(), out);
        } else {
            Arch::new().dispatch(Values { field: self, z: z.as_slice(), out });
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        assert_eq!(z.dim(), NX + NU, "points have {} rows, f needs {NX} + {NU}", z.dim());
        out.resize(NX, NX + NU, z.len());
        let (values, gradients) = (out.value.as_mut_slice(), out.jacobian.as_mut_slice());
        Arch::new().dispatch(WithGradients { field: self, z: z.as_slice(), values, gradients });
    }
}

/// Evaluation of f at many columns, compiled for each vector extension.
struct Values<'a, F, const NX: usize, const NU: usize> {
    field: &'a ExactJacobian<F, NX, NU>,
    z: &'a [f64],
    out: &'a mut [f64],
}

impl<F: VectorField<NX, NU>, const NX: usize, const NU: usize> WithSimd for Values<'_, F, NX, NU> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let mut columns = self.z.chunks_exact(LANES * (NX + NU));
        let mut results = self.out.chunks_exact_mut(LANES * NX);
        for (z, out) in columns.by_ref().zip(results.by_ref()) {
            self.field.several(z, out);
        }
        let rest = columns.remainder().chunks_exact(NX + NU);
        for (z, out) in rest.zip(results.into_remainder().chunks_exact_mut(NX)) {
            self.field.single(z, out);
        }
    }
}

/// Evaluation of f and its gradients at many columns, compiled for each vector extension.
struct WithGradients<'a, F, const NX: usize, const NU: usize> {
    field: &'a ExactJacobian<F, NX, NU>,
    z: &'a [f64],
    values: &'a mut [f64],
    gradients: &'a mut [f64],
}

impl<F: VectorField<NX, NU>, const NX: usize, const NU: usize> WithSimd for WithGradients<'_, F, NX, NU> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let size = NX * (NX + NU);
        if NX + NU > 8 {
            let outputs = self.values.chunks_exact_mut(NX).zip(self.gradients.chunks_exact_mut(size));
            for (z, (value, gradient)) in self.z.chunks_exact(NX + NU).zip(outputs) {
                self.field.single_with_gradients(z, value, gradient);
            }
            return;
        }
        let mut columns = self.z.chunks_exact(LANES * (NX + NU));
        let mut values = self.values.chunks_exact_mut(LANES * NX);
        let mut gradients = self.gradients.chunks_exact_mut(LANES * size);
        for ((z, value), gradient) in columns.by_ref().zip(values.by_ref()).zip(gradients.by_ref()) {
            self.field.several_with_gradients(z, value, gradient);
        }
        let rest = columns.remainder().chunks_exact(NX + NU);
        let values = values.into_remainder().chunks_exact_mut(NX);
        let gradients = gradients.into_remainder().chunks_exact_mut(size);
        for ((z, value), gradient) in rest.zip(values).zip(gradients) {
            self.field.single_with_gradients(z, value, gradient);
        }
    }
}
