//! Contract checks for your own dynamics, costs and models: run them once in a test, before anything is
//! learned.
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

/// How an implementation breaks its contract.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// An analytic derivative differs from central differences.
    #[error("{what}[{row}, {column}] at {point:?} is {found}, central differences give {expected}")]
    Derivative {
        /// Which derivative.
        what: &'static str,
        /// Row.
        row: usize,
        /// Column.
        column: usize,
        /// Where.
        point: Vec<f64>,
        /// The implementation's value.
        found: f64,
        /// The value by differences.
        expected: f64,
    },
    /// A batch gives other bits than its points one by one, or a repeated call other bits than the first.
    #[error("{what} at {point:?} is {found} in a batch and {expected} alone")]
    NotRepeatable {
        /// Which function.
        what: &'static str,
        /// Where.
        point: Vec<f64>,
        /// Within the batch.
        found: f64,
        /// Alone.
        expected: f64,
    },
    /// A result has the wrong number of entries.
    #[error("{what} has {found} numbers, it must have {expected}")]
    Length {
        /// Which result.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A number that cannot be.
    #[error("{what}[{output}] at {point:?} is {value}; it must be {need}")]
    Value {
        /// Which function.
        what: &'static str,
        /// Which output.
        output: usize,
        /// Where; empty for what does not depend on a point.
        point: Vec<f64>,
        /// The number.
        value: f64,
        /// What it must be.
        need: &'static str,
    },
    /// Two ways to the same number that differ.
    #[error("{what}[{output}] at {point:?} is {found}, but {expected} {otherwise}")]
    Inconsistent {
        /// Which function.
        what: &'static str,
        /// Which output.
        output: usize,
        /// Where.
        point: Vec<f64>,
        /// The number one way.
        found: f64,
        /// The number the other way.
        expected: f64,
        /// Which other way.
        otherwise: &'static str,
    },
    /// A covariance matrix with a negative eigenvalue.
    #[error("the covariance matrix of output {output} is not positive semidefinite (seen at pivot {pivot})")]
    NotPositiveSemidefinite {
        /// Which output.
        output: usize,
        /// The pivot at which its factorisation fails.
        pivot: usize,
    },
    /// All draws are one function although the model does not claim to know it.
    #[error("{draws} draws with different random states are the same function, although σ is not zero")]
    SameDraws {
        /// How many were drawn.
        draws: usize,
    },
    /// Draws are not spread as the model says.
    #[error(
        "over {draws} draws at {point:?}, the {what} of (f[{output}] − μ)/σ is {found:.3}; it must lie \
         between {low} and {high}"
    )]
    Draws {
        /// Mean or variance.
        what: &'static str,
        /// Which output.
        output: usize,
        /// Where.
        point: Vec<f64>,
        /// How many were drawn.
        draws: usize,
        /// The number found.
        found: f64,
        /// The least it may be.
        low: f64,
        /// The most it may be.
        high: f64,
    },
}

/// Points per check.
const POINTS: usize = 50;

/// Allowed difference between a derivative and its central difference, relative to 1 + both.
const TOLERANCE: f64 = 1e-6;

/// Jacobians against central differences and batches against single points, at random points of size `scale`.
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

/// Gradients and Hessians against central differences, for the running and the terminal cost.
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

/// Central difference of `f` in one coordinate, with a step of ε^⅓ times the size of the point.
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
