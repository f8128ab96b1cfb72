//! Contract checks for user-defined dynamics, costs and models. Run them once in a test before learning.
//! They sample random points, so a passed check is evidence and not a proof.
//!
//! ```
//! use ocorl::{check, random::Stream, system::Benchmark};
//! let pendulum = Benchmark::find("pendulum").unwrap();
//! check::dynamics(pendulum.dynamics().as_mut(), 1.0, &mut Stream::root(0).rng()).unwrap();
//! ```

mod model;

pub use model::statistical_model;

use crate::linalg::{Linearization, Points, Quadratization};
use crate::random::Rng;
use crate::system::{Cost, Dynamics};

/// Violation of the contract of a trait by its implementation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// An analytic derivative differs from central differences.
    #[error("{what}[{row}, {column}] at {point:?} is {found}, central differences give {expected}")]
    Derivative {
        /// Name of the derivative.
        what: &'static str,
        /// Row index of the entry.
        row: usize,
        /// Column index of the entry.
        column: usize,
        /// Point of evaluation.
        point: Vec<f64>,
        /// Value of the implementation.
        found: f64,
        /// Value by central differences.
        expected: f64,
    },
    /// A batch differs in some bits from single evaluations, or a repeated call from the first one.
    #[error("{what} at {point:?} is {found} in a batch and {expected} alone")]
    NotRepeatable {
        /// Name of the function.
        what: &'static str,
        /// Point of evaluation.
        point: Vec<f64>,
        /// Value within the batch.
        found: f64,
        /// Value of the single evaluation.
        expected: f64,
    },
    /// A result has the wrong number of entries.
    #[error("{what} has {found} entries; it must have {expected}")]
    Length {
        /// Name of the result.
        what: &'static str,
        /// Length of the result.
        found: usize,
        /// Required length.
        expected: usize,
    },
    /// A value is outside its admissible range.
    #[error("{what}[{output}] at {point:?} is {value}; it must be {need}")]
    Value {
        /// Name of the function.
        what: &'static str,
        /// Index of the output.
        output: usize,
        /// Point of evaluation; empty for a value that does not depend on a point.
        point: Vec<f64>,
        /// Value of the implementation.
        value: f64,
        /// Requirement on the value.
        need: &'static str,
    },
    /// Two methods of computing the same value disagree.
    #[error("{what}[{output}] at {point:?} is {found}, but {expected} {otherwise}")]
    Inconsistent {
        /// Name of the function.
        what: &'static str,
        /// Index of the output.
        output: usize,
        /// Point of evaluation.
        point: Vec<f64>,
        /// Value by the first method.
        found: f64,
        /// Value by the second method.
        expected: f64,
        /// Description of the second method.
        otherwise: &'static str,
    },
    /// A covariance matrix has a negative eigenvalue.
    #[error(
        "the covariance matrix of output {output} is not positive semidefinite: its factorisation fails at pivot {pivot}"
    )]
    NotPositiveSemidefinite {
        /// Index of the output.
        output: usize,
        /// Pivot at which the factorisation fails.
        pivot: usize,
    },
    /// All samples are the same function although σ is not zero.
    #[error("{draws} draws with different random states are the same function, although σ is not zero")]
    SameDraws {
        /// Number of samples.
        draws: usize,
    },
    /// The spread of the samples disagrees with σ.
    #[error(
        "over {draws} draws at {point:?}, the {what} of (f[{output}] − μ)/σ is {found:.3}; it must lie \
         between {low} and {high}"
    )]
    Draws {
        /// Statistic: mean or variance.
        what: &'static str,
        /// Index of the output.
        output: usize,
        /// Point of evaluation.
        point: Vec<f64>,
        /// Number of samples.
        draws: usize,
        /// Value of the statistic.
        found: f64,
        /// Lower limit of the statistic.
        low: f64,
        /// Upper limit of the statistic.
        high: f64,
    },
}

/// Number of points per check.
const POINTS: usize = 50;

/// Tolerance of a derivative against its central difference, relative to 1 plus the magnitude of both.
const TOLERANCE: f64 = 1e-6;

/// Checks Jacobians against central differences and batches against single points, at random points of magnitude `scale`.
///
/// ```
/// use ocorl::{check, prelude::*};
///
/// /// ẋ = −x², with a slope that lacks a factor of 2.
/// struct Wrong;
///
/// impl Dynamics for Wrong {
///     fn dims(&self) -> Dims {
///         Dims { state: 1, control: 0 }
///     }
///     fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
///         z.iter().zip(out).for_each(|(z, out)| *out = -z[0] * z[0]);
///     }
///     fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
///         out.resize(1, 1, z.len());
///         self.derivative(z, out.value.as_mut_slice());
///         z.iter().zip(out.jacobian.as_mut_slice()).for_each(|(z, out)| *out = -z[0]);
///     }
/// }
/// let violation = check::dynamics(&mut Wrong, 1.0, &mut Stream::root(0).rng()).unwrap_err();
/// assert!(violation.to_string().starts_with("∂f/∂z[0, 0]"));
/// ```
pub fn dynamics(f: &mut dyn Dynamics, scale: f64, rng: &mut Rng) -> Result<(), Violation> {
    let (dims, n) = (f.dims(), f.dims().point());
    let z: Vec<f64> = (0..POINTS * n).map(|_| scale * rng.normal()).collect();
    let mut batch = vec![0.0; POINTS * dims.state];
    f.derivative(Points::new(&z, n), &mut batch);
    let mut linear = Linearization::default();
    f.linearize(Points::new(&z, n), &mut linear);
    for (i, point) in z.chunks_exact(n).enumerate() {
        let mut alone = vec![0.0; dims.state];
        f.derivative(Points::single(point), &mut alone);
        for row in 0..dims.state {
            repeatable("f", point, batch[i * dims.state + row], alone[row])?;
            repeatable("f (linearised)", point, linear.value.at(i)[row], alone[row])?;
        }
        for column in 0..n {
            let expected = central_difference(point, column, dims.state, |z, out| {
                f.derivative(Points::single(z), out);
            });
            for row in 0..dims.state {
                let found = linear.jacobian.at(i)[row * n + column];
                derivative("∂f/∂z", row, column, point, found, expected[row])?;
            }
        }
    }
    Ok(())
}

/// Checks gradients and Hessians of the running and the terminal cost against central differences.
///
/// ```
/// use ocorl::{check, prelude::*};
///
/// let cost = QuadraticCost::new([1.0, 0.1], [0.01]).terminal_weights([10.0, 1.0]);
/// check::cost(&cost, 1.0, &mut Stream::root(0).rng())?;
/// # Ok::<(), check::Violation>(())
/// ```
pub fn cost(c: &dyn Cost, scale: f64, rng: &mut Rng) -> Result<(), Violation> {
    let (dims, n) = (c.dims(), c.dims().point());
    let z: Vec<f64> = (0..POINTS * n).map(|_| scale * rng.normal()).collect();
    let times: Vec<f64> = (0..POINTS).map(|_| rng.unit()).collect();
    let mut values = vec![0.0; POINTS];
    c.running(&times, Points::new(&z, n), &mut values);
    let mut quadratic = Quadratization::default();
    c.quadratize(&times, Points::new(&z, n), &mut quadratic);
    for (i, point) in z.chunks_exact(n).enumerate() {
        let time = [times[i]];
        repeatable("c (quadratised)", point, quadratic.value[i], values[i])?;
        for column in 0..n {
            let value = central_difference(point, column, 1, |z, out| {
                c.running(&time, Points::single(z), out);
            });
            derivative("∇c", 0, column, point, quadratic.gradient.at(i)[column], value[0])?;
            let gradient = central_difference(point, column, n, |z, out| {
                let mut q = Quadratization::default();
                c.quadratize(&time, Points::single(z), &mut q);
                out.copy_from_slice(q.gradient.at(0));
            });
            for row in 0..n {
                let found = quadratic.hessian_at(i)[column * n + row];
                derivative("∇²c", row, column, point, found, gradient[row])?;
            }
        }
        terminal(c, time[0], &point[..dims.state])?;
    }
    Ok(())
}

fn terminal(c: &dyn Cost, time: f64, state: &[f64]) -> Result<(), Violation> {
    let n = state.len();
    let (mut gradient, mut hessian) = (vec![f64::NAN; n], vec![f64::NAN; n * n]);
    let value = c.quadratize_terminal(time, state, &mut gradient, &mut hessian);
    repeatable("c_T (quadratised)", state, value, c.terminal(time, state))?;
    for column in 0..n {
        let value = central_difference(state, column, 1, |x, out| out[0] = c.terminal(time, x));
        derivative("∇c_T", 0, column, state, gradient[column], value[0])?;
        let slope = central_difference(state, column, n, |x, out| {
            c.quadratize_terminal(time, x, out, &mut vec![0.0; n * n]);
        });
        for row in 0..n {
            derivative("∇²c_T", row, column, state, hessian[column * n + row], slope[row])?;
        }
    }
    Ok(())
}

/// Computes the central difference of `f` in one coordinate, with a step of ε^⅓ times the magnitude of the point.
fn central_difference(
    point: &[f64],
    coordinate: usize,
    outputs: usize,
    mut f: impl FnMut(&[f64], &mut [f64]),
) -> Vec<f64> {
    let h = f64::EPSILON.cbrt() * point[coordinate].abs().max(1.0);
    let mut z = point.to_vec();
    let (mut high, mut low) = (vec![0.0; outputs], vec![0.0; outputs]);
    z[coordinate] = point[coordinate] + h;
    f(&z, &mut high);
    z[coordinate] = point[coordinate] - h;
    f(&z, &mut low);
    high.iter().zip(&low).map(|(a, b)| (a - b) / (2.0 * h)).collect()
}

fn derivative(
    what: &'static str,
    row: usize,
    column: usize,
    point: &[f64],
    found: f64,
    expected: f64,
) -> Result<(), Violation> {
    let both_undefined = !found.is_finite() && !expected.is_finite();
    if both_undefined || (found - expected).abs() <= TOLERANCE * (1.0 + found.abs() + expected.abs()) {
        return Ok(());
    }
    Err(Violation::Derivative { what, row, column, point: point.to_vec(), found, expected })
}

fn repeatable(what: &'static str, point: &[f64], found: f64, expected: f64) -> Result<(), Violation> {
    if found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()) {
        return Ok(());
    }
    Err(Violation::NotRepeatable { what, point: point.to_vec(), found, expected })
}
