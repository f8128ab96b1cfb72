//! Python functions as dynamics and as control laws. They are called with the interpreter attached, from any thread.
//!
//! An exception does not propagate through the numerical code: it is stored, the computation is cancelled, and the calling function raises
//! it unchanged.

use crate::arrays::{matrix, numbers, shape_text, vector};
use crate::errors::{Answer, Failure, Trouble, guard};
use crate::work::lock;
use numpy::{PyArray1, PyArrayMethods};
use ocorl::linalg::{Dims, Linearization, Points};
use ocorl::simulate::{Policy, PolicyError};
use ocorl::system::{Bounds, Dynamics};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A callable provided by the user.
pub(crate) struct Function {
    /// The callable.
    pub(crate) call: Py<PyAny>,
    /// Name of the callable in error messages.
    pub(crate) name: &'static str,
    /// Description of the expected return value.
    pub(crate) expected: String,
    /// Expected number of return values.
    pub(crate) length: usize,
    /// Whether f(x, u) accepts many points at once, one per row.
    pub(crate) vectorized: bool,
    /// Function jac(x, u) that returns ∂f/∂(x, u).
    pub(crate) jacobian: Option<Py<PyAny>>,
}

impl Function {
    /// A function of one point or moment.
    pub(crate) fn new(call: Py<PyAny>, name: &'static str, expected: String, length: usize) -> Self {
        Function { call, name, expected, length, vectorized: false, jacobian: None }
    }

    /// Calls f or its Jacobian with all points at once, one per row, and checks the number of values.
    fn all(&self, py: Python<'_>, jacobian: bool, z: Points<'_>, out: &mut [f64]) -> Answer<()> {
        let (nx, n) = (self.length, z.len());
        let nu = z.dim() - nx;
        let part =
            |from: usize, to: usize| (0..n).flat_map(|i| z.at(i)[from..to].to_vec()).collect::<Vec<f64>>();
        let x = matrix(py, &part(0, nx), nx)?;
        let u = PyArray1::from_vec(py, part(nx, z.dim())).reshape([n, nu])?;
        let (call, name) = match &self.jacobian {
            Some(jac) if jacobian => (jac, "jac(x, u)"),
            _ => (&self.call, self.name),
        };
        let value = call.bind(py).call1((x, u))?;
        self.fill(py, &value, name, if jacobian { Some(nu) } else { None }, out)
    }

    /// Calls the Jacobian at one point.
    fn jacobian(&self, py: Python<'_>, x: &[f64], u: &[f64], out: &mut [f64]) -> Answer<()> {
        let Some(jac) = &self.jacobian else { return Ok(()) };
        let value = jac.bind(py).call1((vector(py, x), vector(py, u)))?;
        self.fill(py, &value, "jac(x, u)", Some(u.len()), out)
    }

    /// Copies values of f, or Jacobians for `controls`: one array, or the pair of ∂f/∂x and ∂f/∂u.
    fn fill(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        name: &str,
        controls: Option<usize>,
        out: &mut [f64],
    ) -> Answer<()> {
        let mut value = value.clone();
        if let (Some(_), Ok(pair)) = (controls, value.cast::<PyTuple>()) {
            value = py.import("numpy")?.call_method1("concatenate", (pair, -1))?;
        }
        let (nx, dim) = (self.length, self.length + controls.unwrap_or(0));
        let expected = match controls {
            None => format!("(n, {nx})"),
            Some(_) => format!("(..., {nx}, {dim}), or the pair of ∂f/∂x and ∂f/∂u"),
        };
        let wrong = |what: String| {
            let what = format!("{name} returned {what}");
            Failure::plant(what).detail("expected", format!("an array of shape {expected}"))
        };
        let Ok((found, shape)) = numbers(&value, "") else {
            let kind = value.get_type().name().map_or_else(|_| "something".into(), |name| name.to_string());
            return Err(wrong(format!("a {kind}")).into());
        };
        let ends = match controls {
            None => shape.last() == Some(&nx) || nx == 1,
            Some(_) => shape.ends_with(&[nx, dim]) || (nx == 1 && shape.ends_with(&[dim])),
        };
        if found.len() != out.len() || !ends {
            return Err(wrong(format!("an array of shape {}", shape_text(&shape))).into());
        }
        out.copy_from_slice(&found);
        Ok(())
    }

    /// Calls the function and checks the number of values it returns. They need not be finite.
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

/// A long text, truncated to one line.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Arguments of a call.
#[derive(Clone, Copy)]
enum Arguments<'a> {
    /// Arguments (x, u).
    Point(&'a [f64], &'a [f64]),
    /// Arguments (t, x).
    Moment(f64, &'a [f64]),
}

/// A callable used by a computation that can be cancelled.
#[derive(Clone)]
pub(crate) struct Called {
    function: Arc<Function>,
    trouble: Arc<Mutex<Option<Trouble>>>,
    /// Becomes true when the computation is to be cancelled.
    cancel: Arc<AtomicBool>,
}

impl Called {
    /// Wraps a function for a computation that is cancelled when `cancel` becomes true.
    pub(crate) fn new(function: Arc<Function>, cancel: Arc<AtomicBool>) -> Self {
        Called { function, trouble: Arc::default(), cancel }
    }

    /// The first exception, if one was raised. To be called after the computation.
    pub(crate) fn trouble(&self) -> Answer<()> {
        lock(&self.trouble).take().map_or(Ok(()), Err)
    }

    /// Calls the function; returns NaN if the computation is cancelled.
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
        // When the program ends, the interpreter cannot be attached any more.
        if ends || Python::try_attach(called) != Some(true) {
            out.fill(f64::NAN);
        }
        drop(inside);
    }

    /// Calls `act` with the interpreter attached; fills `out` with NaN if it fails or the computation is cancelled.
    fn attached(&self, out: &mut [f64], act: impl FnOnce(Python<'_>, &mut [f64]) -> Answer<()>) {
        let inside = Inside::enter();
        let ends = self.cancel.load(Ordering::Relaxed) || ENDING.load(Ordering::SeqCst);
        let done = !ends
            && Python::try_attach(|py| act(py, out).map_err(|trouble| self.fail(trouble)).is_ok())
                == Some(true);
        if !done {
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
        // Dropped outside the lock, because destroying an exception may run arbitrary code.
        drop(late);
    }
}

/// Number of worker threads inside a Python function, and whether further calls are forbidden because the interpreter shuts down: a thread
/// that is inside Python then could not return.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// Maximum time that interpreter shutdown waits for functions of abandoned computations.
const PATIENCE: Duration = Duration::from_secs(10);

/// Guard that counts a thread inside a Python function until it is dropped.
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

/// Called at interpreter shutdown: forbids further calls and waits for those in progress.
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

/// Dynamics ẋ = f(x, u) given by a Python function. Jacobians are those of the function `jac`, or computed by central differences.
pub(crate) struct PythonDynamics {
    called: Called,
    dims: Dims,
}

impl PythonDynamics {
    /// Dynamics with the given dimensions.
    pub(crate) fn new(called: Called, dims: Dims) -> Self {
        PythonDynamics { called, dims }
    }
}

impl Dynamics for PythonDynamics {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        if self.called.function.vectorized && !z.is_empty() {
            let function = self.called.function.clone();
            return self.called.attached(out, |py, out| function.all(py, false, z, out));
        }
        let split = |i: usize| {
            let (x, u) = z.at(i).split_at(self.dims.state);
            Arguments::Point(x, u)
        };
        self.called.call(&(0..z.len()).map(split).collect::<Vec<_>>(), out);
    }

    /// Step size h = ε^⅓ max(1, |z|), at which truncation and rounding errors are balanced.
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let (nx, dim) = (self.dims.state, self.dims.point());
        out.resize(nx, dim, z.len());
        self.derivative(z, out.value.as_mut_slice());
        let function = self.called.function.clone();
        if function.jacobian.is_some() && !z.is_empty() {
            return self.called.attached(out.jacobian.as_mut_slice(), |py, all| {
                if function.vectorized {
                    return function.all(py, true, z, all);
                }
                for (i, part) in all.chunks_exact_mut(nx * dim).enumerate() {
                    let (x, u) = z.at(i).split_at(nx);
                    function.jacobian(py, x, u, part)?;
                }
                Ok(())
            });
        }
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

/// Control law u = π(t, x) given by a Python function, evaluated continuously or held for a period. Its values are clamped to the bounds.
pub(crate) struct PythonLaw {
    called: Called,
    bounds: Bounds,
    period: Option<f64>,
    held: Vec<f64>,
}

impl PythonLaw {
    /// A law whose values are clamped to `bounds`.
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
        // The next multiple of the period; the tolerance prevents an interval of length zero by rounding.
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

/// Clamps to the bounds; NaN is kept and aborts the run.
fn clamp(bounds: &Bounds, control: &mut [f64]) {
    if control.iter().all(|u| !u.is_nan()) {
        bounds.clamp(control);
    }
}
