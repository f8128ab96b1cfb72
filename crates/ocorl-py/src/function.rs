//! Python functions as dynamics and as laws. They are called with the interpreter held, from whichever thread needs them.
//!
//! An exception does not go through the mathematics: it is kept, the work is asked to stop, and whoever started the work raises it as it is.

use crate::arrays::{numbers, shape_text, vector};
use crate::errors::{Answer, Failure, Trouble, guard};
use crate::work::lock;
use ocorl::linalg::{Dims, Linearization, Points};
use ocorl::simulate::{Policy, PolicyError};
use ocorl::system::{Bounds, Dynamics};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A function of somebody's own.
pub(crate) struct Function {
    /// The callable.
    pub(crate) call: Py<PyAny>,
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// What it must return, in words.
    pub(crate) expected: String,
    /// How many numbers that are.
    pub(crate) length: usize,
}

impl Function {
    /// Calls it; what comes back must be as many numbers as expected. They need not be finite.
    fn values(&self, py: Python<'_>, arguments: Arguments<'_>, out: &mut [f64]) -> Answer<()> {
        let call = self.call.bind(py);
        let value = match arguments {
            Arguments::Point(x, u) => call.call1((vector(py, x), vector(py, u)))?,
            Arguments::Moment(t, x) => call.call1((t, vector(py, x)))?,
        };
        let wrong = |what: String| {
            Failure::plant(format!("{} returned {what}", self.name)).detail("expected", self.expected.clone())
        };
        if value.is_none() {
            return Err(wrong("None".into()).hint("is there a 'return'?").into());
        }
        let described = || {
            let kind = value.get_type().name().map_or_else(|_| "something".into(), |name| name.to_string());
            format!(
                "a {kind}: {}",
                value.repr().map_or_else(|_| "...".into(), |repr| shortened(&repr.to_string()))
            )
        };
        let (found, shape) = match numbers(&value, "") {
            Ok(found) => found,
            Err(Trouble::Failure(_)) => return Err(wrong(described()).into()),
            Err(raised) => return Err(raised),
        };
        if found.len() != self.length || shape.len() > 2 {
            return Err(wrong(format!("an array of shape {}", shape_text(&shape))).into());
        }
        out.copy_from_slice(&found);
        Ok(())
    }
}

/// The beginning of a long text, in one line.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// What a function is called with.
#[derive(Clone, Copy)]
enum Arguments<'a> {
    /// (x, u)
    Point(&'a [f64], &'a [f64]),
    /// (t, x)
    Moment(f64, &'a [f64]),
}

/// A function in the course of some work.
#[derive(Clone)]
pub(crate) struct Called {
    function: Arc<Function>,
    trouble: Arc<Mutex<Option<Trouble>>>,
    /// True when the work is to end.
    cancel: Arc<AtomicBool>,
}

impl Called {
    /// For work that ends when `cancel` becomes true.
    pub(crate) fn new(function: Arc<Function>, cancel: Arc<AtomicBool>) -> Self {
        Called { function, trouble: Arc::default(), cancel }
    }

    /// What went wrong first, if something did. Ask when the work has ended.
    pub(crate) fn trouble(&self) -> Answer<()> {
        lock(&self.trouble).take().map_or(Ok(()), Err)
    }

    /// Calls it, unless the work is to end: then what comes out is not a number.
    fn call(&self, arguments: &[Arguments<'_>], out: &mut [f64]) {
        let each = arguments.iter().zip(out.chunks_exact_mut(self.function.length));
        let called = |py: Python<'_>| {
            for (arguments, out) in each {
                if self.cancel.load(Ordering::Relaxed)
                    || self.function.values(py, *arguments, out).map_err(|t| self.fail(t)).is_err()
                {
                    return false;
                }
            }
            true
        };
        let inside = Inside::enter();
        let ends = self.cancel.load(Ordering::Relaxed) || ENDING.load(Ordering::SeqCst);
        // There is no interpreter any more when the program ends.
        if ends || Python::try_attach(called) != Some(true) {
            out.fill(f64::NAN);
        }
        drop(inside);
    }

    fn fail(&self, trouble: Trouble) {
        self.cancel.store(true, Ordering::Relaxed);
        let late = {
            let mut first = lock(&self.trouble);
            if first.is_none() { first.replace(trouble) } else { Some(trouble) }
        };
        // Out of the lock: letting go of an exception may run anybody's code.
        drop(late);
    }
}

/// Threads of work that are in a Python function, and whether no more may go there because the interpreter ends: it cannot take back a thread
/// that is inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long the end of the interpreter waits for a function of work that was given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// A thread in a Python function, until this is dropped.
struct Inside;

impl Inside {
    fn enter() -> Self {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Called when the interpreter is about to end: no function is called any more, and those that are being called may return.
#[pyfunction]
#[pyo3(name = "_rest")]
pub(crate) fn rest(py: Python<'_>) -> PyResult<()> {
    guard(py, "_rest", || {
        ENDING.store(true, Ordering::SeqCst);
        let begin = Instant::now();
        while INSIDE.load(Ordering::SeqCst) > 0 && begin.elapsed() < PATIENCE {
            py.detach(|| std::thread::sleep(Duration::from_millis(2)));
        }
        Ok(())
    })
}

/// ẋ = f(x, u) by a Python function; Jacobians by central differences.
pub(crate) struct PythonDynamics {
    called: Called,
    dims: Dims,
}

impl PythonDynamics {
    /// Of a system of these dimensions.
    pub(crate) fn new(called: Called, dims: Dims) -> Self {
        PythonDynamics { called, dims }
    }
}

impl Dynamics for PythonDynamics {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let split = |i: usize| {
            let (x, u) = z.at(i).split_at(self.dims.state);
            Arguments::Point(x, u)
        };
        self.called.call(&(0..z.len()).map(split).collect::<Vec<_>>(), out);
    }

    /// h = ε^⅓ max(1, |z|), where truncation and rounding weigh the same.
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let (nx, dim) = (self.dims.state, self.dims.point());
        out.resize(nx, dim, z.len());
        self.derivative(z, out.value.as_mut_slice());
        let mut around = Vec::with_capacity(2 * dim * dim);
        let mut values = vec![0.0; 2 * dim * nx];
        for i in 0..z.len() {
            around.clear();
            let step = |d: usize| f64::EPSILON.cbrt() * z.at(i)[d].abs().max(1.0);
            for d in 0..dim {
                for sign in [1.0, -1.0] {
                    let first = around.len();
                    around.extend_from_slice(z.at(i));
                    around[first + d] += sign * step(d);
                }
            }
            self.derivative(Points::new(&around, dim), &mut values);
            let jacobian = out.jacobian.at_mut(i);
            for d in 0..dim {
                for j in 0..nx {
                    let (above, below) = (values[2 * d * nx + j], values[(2 * d + 1) * nx + j]);
                    jacobian[j * dim + d] = (above - below) / (2.0 * step(d));
                }
            }
        }
    }
}

/// u = π(t, x) by a Python function: at every moment, or held for a period. What it says is moved into the limits.
pub(crate) struct PythonLaw {
    called: Called,
    bounds: Bounds,
    period: Option<f64>,
    held: Vec<f64>,
}

impl PythonLaw {
    /// Within `bounds`.
    pub(crate) fn new(called: Called, bounds: Bounds, period: Option<f64>) -> Self {
        let held = vec![0.0; bounds.dim()];
        PythonLaw { called, bounds, period, held }
    }
}

impl Policy for PythonLaw {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let Some(period) = self.period else { return Ok(f64::INFINITY) };
        self.called.call(&[Arguments::Moment(time, state)], &mut self.held);
        clamp(&self.bounds, &mut self.held);
        // The next of the multiples of the period; rounding must not make a piece of no length.
        Ok(period * ((time / period + 1e-9).floor() + 1.0))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        if self.period.is_some() {
            out.copy_from_slice(&self.held);
        } else {
            self.called.call(&[Arguments::Moment(time, state)], out);
            clamp(&self.bounds, out);
        }
    }
}

/// Into the limits; what is not a number stays so, and ends the run.
fn clamp(bounds: &Bounds, control: &mut [f64]) {
    if control.iter().all(|u| !u.is_nan()) {
        bounds.clamp(control);
    }
}
