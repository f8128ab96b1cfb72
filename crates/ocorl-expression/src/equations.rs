//! Expressions as [`Dynamics`] with exact Jacobians.

use super::operation::Number;
use super::tape::{Scratch, Tape};
use ocorl::linalg::{Linearization, Points};
use ocorl::real::{LANES, Lanes};
use ocorl::system::{Dims, Dynamics};
use pulp::{Arch, Simd, WithSimd};
use std::sync::Arc;

/// Dynamics ẋ = f(x, u) with one tape output per state. Four points are evaluated at a time, with the same bits as one by one.
#[derive(Clone, Debug)]
pub struct Equations {
    tape: Arc<Tape>,
    states: usize,
    one: Scratch<f64>,
    several: Scratch<Lanes>,
}

impl Equations {
    /// Dynamics from a tape whose inputs are `states` states and the controls. Panics unless the tape has one output per state.
    pub fn new(tape: impl Into<Arc<Tape>>, states: usize) -> Self {
        let tape = tape.into();
        assert!(
            tape.outputs() == states && states <= tape.inputs(),
            "{} outputs and {} inputs for {states} states",
            tape.outputs(),
            tape.inputs()
        );
        Equations { states, one: tape.scratch(), several: tape.scratch(), tape }
    }
}

impl Dynamics for Equations {
    fn dims(&self) -> Dims {
        Dims { state: self.states, control: self.tape.inputs() - self.states }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let (nx, nz) = (self.states, self.tape.inputs());
        assert_eq!(z.dim(), nz, "points have {} rows, f needs {nz}", z.dim());
        assert_eq!(out.len(), nx * z.len(), "room for {} numbers, {} needed", out.len(), nx * z.len());
        Arch::new().dispatch(Values { f: self, z, out });
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let (nx, nz) = (self.states, self.tape.inputs());
        assert_eq!(z.dim(), nz, "points have {} rows, f needs {nz}", z.dim());
        out.resize(nx, nz, z.len());
        Arch::new().dispatch(WithGradients { f: self, z, out });
    }
}

/// Evaluation of f at all points, compiled for each vector extension.
struct Values<'a> {
    f: &'a mut Equations,
    z: Points<'a>,
    out: &'a mut [f64],
}

impl WithSimd for Values<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Values { f, z, out } = self;
        let (nx, whole) = (f.states, z.len() - z.len() % LANES);
        for first in (0..whole).step_by(LANES) {
            f.tape.values(&mut f.several, 0.0, |i| gather(z, first, i));
            for j in 0..nx {
                let value = f.tape.output(&f.several, j);
                for lane in 0..LANES {
                    out[(first + lane) * nx + j] = value.0[lane];
                }
            }
        }
        for i in whole..z.len() {
            let point = z.at(i);
            f.tape.values(&mut f.one, 0.0, |i| point[i]);
            for j in 0..nx {
                out[i * nx + j] = f.tape.output(&f.one, j);
            }
        }
    }
}

/// Evaluation of f and its gradients at all points, compiled for each vector extension.
struct WithGradients<'a> {
    f: &'a mut Equations,
    z: Points<'a>,
    out: &'a mut Linearization,
}

impl WithSimd for WithGradients<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let WithGradients { f, z, out } = self;
        let whole = z.len() - z.len() % LANES;
        for first in (0..whole).step_by(LANES) {
            let point = |i: usize| gather(z, first, i);
            linearize(&f.tape, &mut f.several, point, |j, i, value| {
                for lane in 0..LANES {
                    write(out, first + lane, j, i, value.0[lane]);
                }
            });
        }
        for k in whole..z.len() {
            let point = z.at(k);
            linearize(&f.tape, &mut f.one, |i| point[i], |j, i, value| write(out, k, j, i, value));
        }
    }
}

/// Calls `write(j, None, fⱼ)` and `write(j, Some(i), ∂fⱼ/∂zᵢ)` for all outputs and inputs.
#[inline(always)]
fn linearize<R: Number>(
    tape: &Tape,
    scratch: &mut Scratch<R>,
    point: impl Fn(usize) -> R,
    mut write: impl FnMut(usize, Option<usize>, R),
) {
    tape.values_and_slopes(scratch, 0.0, point);
    for j in 0..tape.outputs() {
        write(j, None, tape.output(scratch, j));
    }
    for i in 0..tape.inputs() {
        tape.derivatives(scratch, i, |j, derivative| write(j, Some(i), derivative));
    }
}

#[inline(always)]
fn write(out: &mut Linearization, point: usize, j: usize, i: Option<usize>, value: f64) {
    match i {
        None => out.value.at_mut(point)[j] = value,
        Some(i) => {
            let inputs = out.jacobian.size() / out.value.size();
            out.jacobian.at_mut(point)[j * inputs + i] = value;
        }
    }
}

/// Row `row` of `LANES` points, starting at point `first`.
#[inline(always)]
fn gather(z: Points<'_>, first: usize, row: usize) -> Lanes {
    let data = &z.as_slice()[first * z.dim()..];
    Lanes(std::array::from_fn(|lane| data[lane * z.dim() + row]))
}
