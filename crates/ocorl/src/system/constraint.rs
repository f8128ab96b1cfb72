//! Inequality and equality constraints of a task: g(t, x, u) ≤ 0 along the trajectory, or at its end.

use super::Dims;
use crate::linalg::{Linearization, Points};

/// Part of the trajectory on which a constraint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Extent {
    /// At every time, the end included; g does not depend on u.
    #[default]
    Always,
    /// While a control is applied, which is at every time except the end.
    WhileControlled,
    /// At the end of the horizon alone; g does not depend on u.
    End,
}

/// Description of one constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Text that names the constraint in messages, such as "x^2 + y^2 >= 1".
    pub name: String,
    /// Part of the trajectory on which it holds.
    pub extent: Extent,
    /// Whether g = 0 is required instead of g ≤ 0.
    pub equality: bool,
    /// Typical size of g, positive: the unit in which a planner measures the violation.
    pub scale: f64,
}

impl Constraint {
    /// Creates the constraint g ≤ 0 with values of g around 1.
    pub fn new(name: impl Into<String>, extent: Extent) -> Self {
        Constraint { name: name.into(), extent, equality: false, scale: 1.0 }
    }
}

/// The constraints of a task, evaluated in batches of points z = (x, u).
///
/// At the end of the horizon no control is applied; there u = 0 is passed, and constraints with [`Extent::WhileControlled`] are ignored.
pub trait Constraints: Send + Sync {
    /// Returns the dimensions of x and u.
    fn dims(&self) -> Dims;

    /// Returns one description for each constraint, in the order of the values.
    fn list(&self) -> &[Constraint];

    /// Writes g(tᵢ, zᵢ) into the `i`-th column of `out`.
    fn values(&self, times: &[f64], z: Points<'_>, out: &mut [f64]);

    /// Computes g and ∂g/∂z at all points.
    fn linearize(&self, times: &[f64], z: Points<'_>, out: &mut Linearization);
}

/// Constraints given as a function `g(t, x, u, out)`, with Jacobians by central differences.
///
/// ```
/// use ocorl::prelude::*;
///
/// let circle = FunctionConstraints::new(
///     Dims { state: 2, control: 1 },
///     [Constraint::new("x^2 + y^2 >= 1", Extent::Always)],
///     |_t, x, _u, g| g[0] = 1.0 - x[0] * x[0] - x[1] * x[1],
/// );
/// let mut g = [0.0];
/// circle.values(&[0.0], Points::single(&[2.0, 0.0, 0.0]), &mut g);
/// assert_eq!(g, [-3.0]);
/// ```
pub struct FunctionConstraints<G> {
    dims: Dims,
    list: Vec<Constraint>,
    g: G,
}

/// Step of the central differences relative to max(1, |zᵢ|).
const STEP: f64 = 6e-6;

impl<G: Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync> FunctionConstraints<G> {
    /// Creates constraints from their descriptions and a function that writes one value for each.
    pub fn new(dims: Dims, list: impl Into<Vec<Constraint>>, g: G) -> Self {
        FunctionConstraints { dims, list: list.into(), g }
    }

    fn at(&self, time: f64, z: &[f64], out: &mut [f64]) {
        (self.g)(time, &z[..self.dims.state], &z[self.dims.state..], out);
    }
}

impl<G: Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync> Constraints for FunctionConstraints<G> {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn list(&self) -> &[Constraint] {
        &self.list
    }

    fn values(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.list.len()).enumerate() {
            self.at(times[i], z.at(i), out);
        }
    }

    fn linearize(&self, times: &[f64], z: Points<'_>, out: &mut Linearization) {
        let (count, dim) = (self.list.len(), z.dim());
        out.resize(count, dim, z.len());
        let (mut above, mut below) = (vec![0.0; count], vec![0.0; count]);
        for i in 0..z.len() {
            let mut point = z.at(i).to_vec();
            self.at(times[i], &point, out.value.at_mut(i));
            for j in 0..dim {
                let (at, step) = (point[j], STEP * point[j].abs().max(1.0));
                point[j] = at + step;
                self.at(times[i], &point, &mut above);
                point[j] = at - step;
                self.at(times[i], &point, &mut below);
                point[j] = at;
                for (r, (above, below)) in above.iter().zip(&below).enumerate() {
                    out.jacobian.at_mut(i)[r * dim + j] = (above - below) / (2.0 * step);
                }
            }
        }
    }
}
