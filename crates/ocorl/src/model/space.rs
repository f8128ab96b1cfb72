//! The map from physical coordinates to the kernel's coordinates, and the chain rule back.
//!
//! ```text
//! z = (x, u)  →  e: each angle is replaced by (sin, cos)  →  (e − m)/s, standardised with mean m and standard deviation s of the
//! data
//! ```

use crate::linalg::{Dims, Points};
use crate::real::sin_cos;

/// Shift and scale of one or more coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaling {
    pub(crate) shift: Vec<f64>,
    pub(crate) scale: Vec<f64>,
    /// Coordinates that are constant in the data; their scale is one.
    pub(crate) flat: Vec<usize>,
}

/// A standard deviation below this fraction of the coordinate's magnitude is treated as rounding, so the coordinate counts as
/// constant.
const FLAT: f64 = 1e-12;

impl Scaling {
    pub(crate) fn identity(dim: usize) -> Self {
        Scaling { shift: vec![0.0; dim], scale: vec![1.0; dim], flat: Vec::new() }
    }

    /// Computes mean and population standard deviation of each row of `points`; `offset` is added to the latter (the reference
    /// program does so).
    pub(crate) fn of(points: Points<'_>, offset: f64) -> Self {
        let (dim, n) = (points.dim(), points.len().max(1) as f64);
        let mut scaling = Scaling::identity(dim);
        for d in 0..dim {
            let column = || (0..points.len()).map(|i| points.at(i)[d]);
            let size = column().fold(0.0, |size: f64, v| size.max(v.abs()));
            // Values are divided by the largest one, so that no sum can overflow.
            let unit = if size > 0.0 { size } else { 1.0 };
            let mean = column().map(|v| v / unit).sum::<f64>() / n;
            let variance = column().map(|v| (v / unit - mean).powi(2)).sum::<f64>() / n;
            scaling.shift[d] = mean * unit;
            if variance.sqrt() > FLAT {
                scaling.scale[d] = variance.sqrt() * unit + offset;
            } else {
                scaling.flat.push(d);
            }
        }
        scaling
    }
}

/// The map from points in physical units to the kernel's coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Space {
    pub(crate) dims: Dims,
    /// For each coordinate of z whether it is an angle.
    angle: Vec<bool>,
    pub(crate) scaling: Scaling,
}

impl Space {
    pub(crate) fn new(dims: Dims, angles: &[usize]) -> Self {
        let angle: Vec<bool> = (0..dims.point()).map(|d| angles.contains(&d)).collect();
        let embedded = dims.point() + angle.iter().filter(|a| **a).count();
        Space { dims, angle, scaling: Scaling::identity(embedded) }
    }

    /// Number of the kernel's coordinates.
    pub(crate) fn dim(&self) -> usize {
        self.scaling.shift.len()
    }

    /// The coordinate of z from which embedded coordinate `e` is computed, and whether `e` is its sine or cosine.
    pub(crate) fn origin(&self, e: usize) -> (usize, Part) {
        let mut next = 0;
        for (d, angle) in self.angle.iter().enumerate() {
            match (angle, e - next) {
                (false, 0) => return (d, Part::Whole),
                (true, 0) => return (d, Part::Sine),
                (true, 1) => return (d, Part::Cosine),
                (angle, _) => next += 1 + usize::from(*angle),
            }
        }
        unreachable!("embedded coordinate {e} of {}", self.dim())
    }

    /// Computes e(z), not standardised.
    fn embed(&self, z: &[f64], out: &mut [f64]) {
        let mut next = 0;
        for (value, angle) in z.iter().zip(&self.angle) {
            if *angle {
                (out[next], out[next + 1]) = sin_cos(*value);
                next += 2;
            } else {
                out[next] = *value;
                next += 1;
            }
        }
    }

    /// Fits shift and scale to points in physical units.
    pub(crate) fn standardize(&mut self, points: Points<'_>, offset: f64) {
        let dim = self.dim();
        let mut embedded = vec![0.0; dim * points.len()];
        for (i, out) in embedded.chunks_exact_mut(dim).enumerate() {
            self.embed(points.at(i), out);
        }
        self.scaling = Scaling::of(Points::new(&embedded, dim), offset);
    }

    /// Maps z to the kernel's coordinates.
    pub(crate) fn map(&self, z: &[f64], out: &mut [f64]) {
        self.embed(z, out);
        for ((out, shift), scale) in out.iter_mut().zip(&self.scaling.shift).zip(&self.scaling.scale) {
            *out = (*out - shift) / scale;
        }
    }

    /// Chain rule: converts a gradient with respect to the kernel's coordinates to one with respect to z, and adds it times
    /// `factor`.
    pub(crate) fn add_pull_back(&self, z: &[f64], gradient: &[f64], factor: f64, out: &mut [f64]) {
        let (mut next, scale) = (0, &self.scaling.scale);
        for ((out, value), angle) in out.iter_mut().zip(z).zip(&self.angle) {
            if *angle {
                let (sin, cos) = sin_cos(*value);
                *out += factor
                    * (gradient[next] * cos / scale[next] - gradient[next + 1] * sin / scale[next + 1]);
                next += 2;
            } else {
                *out += factor * gradient[next] / scale[next];
                next += 1;
            }
        }
    }
}

/// The function of a physical coordinate that an embedded coordinate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The coordinate itself.
    Whole,
    /// The sine of an angle.
    Sine,
    /// The cosine of an angle.
    Cosine,
}
