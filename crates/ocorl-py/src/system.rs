//! The Python class `System`: a plant with its task.

use crate::arrays::{Shape, blocks, list, matrix, rows, vector};
use crate::errors::{Answer, Failure, Trouble, guard};
use crate::function::{Called, Function, PythonDynamics, PythonLaw};
use crate::values::config;
use crate::work::{self, How};
use numpy::{PyArray1, PyArray2};
use ocorl::learn::Strategy;
use ocorl::linalg::{Dims, Points};
use ocorl::simulate::{Experiment, Method, Run, Simulator};
use ocorl::system::{Benchmark, Bounds, Dynamics, KnownSystem, Quantity};
use ocorl_study::system::System as Described;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A plant with its task.
#[pyclass(frozen, subclass, module = "ocorl._ocorl")]
pub(crate) struct System {
    pub(crate) source: Source,
}

/// A system, and the Python function that provides its equations, if there is one.
#[derive(Clone)]
pub(crate) struct Source {
    /// The description of the system; for a Python function, without equations.
    pub(crate) inner: Described,
    function: Option<Arc<Function>>,
}

impl Source {
    /// The system with its equations, including those of a Python function; evaluation stops when `cancel` becomes true. The second value
    /// reports exceptions of the function.
    pub(crate) fn whole(&self, cancel: &Arc<AtomicBool>) -> (Described, Option<Called>) {
        let mut system = self.inner.clone();
        let Some(function) = &self.function else { return (system, None) };
        let called = Called::new(function.clone(), cancel.clone());
        let (theirs, dims) = (called.clone(), system.task.dims());
        let build =
            move |_: &[f64]| -> Box<dyn Dynamics> { Box::new(PythonDynamics::new(theirs.clone(), dims)) };
        system.truth = Some(system.with_equations(Arc::new(build)));
        (system, Some(called))
    }

    /// Whether the equations are a Python function.
    pub(crate) fn is_function(&self) -> bool {
        self.function.is_some()
    }

    /// Whether the equations are known.
    pub(crate) fn has_equations(&self) -> bool {
        self.inner.truth.is_some() || self.function.is_some()
    }

    /// Error for a system without known equations.
    pub(crate) fn without_equations(&self) -> Trouble {
        Failure::invalid(format!("the equations of '{}' are not known", self.inner.name))
            .hint(
                "give them: [equations] in its file, or System(f, ...); or learn on hardware: run(plant=...)",
            )
            .into()
    }
}

/// Optional properties of a function f(x, u).
#[derive(Default)]
struct More {
    /// Function jac(x, u).
    jacobian: Option<Py<PyAny>>,
    /// Whether it accepts many points at once.
    vectorized: bool,
}

impl System {
    fn dims(&self) -> Dims {
        self.source.inner.task.dims()
    }

    fn described(inner: Described) -> Self {
        System { source: Source { inner, function: None } }
    }

    /// A system from a Python function and a description without equations.
    fn of_function(py: Python<'_>, f: Py<PyAny>, inner: Described, more: More) -> Answer<Self> {
        if !f.bind(py).is_callable() {
            return Err(Failure::invalid("the equations must be a function f(x, u)").into());
        }
        let names: Vec<&str> = inner.task.states.iter().map(|q| q.name.as_str()).collect();
        let expected = format!("{} numbers, the time derivatives of {}", names.len(), names.join(", "));
        let function = Function::new(f, "f(x, u)", expected, names.len());
        let function = Function { vectorized: more.vectorized, jacobian: more.jacobian, ..function };
        let source = Source { inner: inner.simulated(), function: Some(Arc::new(function)) };
        let system = System { source };
        system.look(py)?;
        Ok(system)
    }

    /// Checks that the function returns finite numbers at the initial states of episodes.
    fn look(&self, py: Python<'_>) -> Answer<()> {
        let task = &self.source.inner.task;
        let point = [task.initial_state.as_slice(), &task.safe_control].concat();
        let derivative = self.derivatives(py, point)?;
        match derivative.iter().position(|d| !d.is_finite()) {
            None => Ok(()),
            Some(i) => Err(Failure::plant(format!(
                "f(x, u) gave {} for '{}' at x0 with the safe input",
                derivative[i], task.states[i].name
            ))
            .detail("x0", format!("{:?}", task.initial_state))
            .detail("u", format!("{:?}", task.safe_control))
            .into()),
        }
    }

    fn derivatives(&self, py: Python<'_>, points: Vec<f64>) -> Answer<Vec<f64>> {
        let dims = self.dims();
        let (system, called) = self.source.whole(&Arc::default());
        let Some(truth) = system.truth else { return Err(self.source.without_equations()) };
        let mut out = vec![0.0; points.len() / dims.point() * dims.state];
        let out = py.detach(|| {
            truth.dynamics().derivative(Points::new(&points, dims.point()), &mut out);
            out
        });
        called.map_or(Ok(()), |called| called.trouble())?;
        Ok(out)
    }

    /// Points z = (x, u) from the rows of both; a single row of either is repeated.
    fn points(&self, x: &Bound<'_, PyAny>, u: &Bound<'_, PyAny>) -> Answer<Vec<f64>> {
        let dims = self.dims();
        let x = rows(x, Shape { what: "x", columns: dims.state })?;
        let u = rows(u, Shape { what: "u", columns: dims.control })?;
        let (n, m) = (x.len() / dims.state, u.len() / dims.control);
        if n != m && n != 1 && m != 1 {
            return Err(Failure::invalid(format!("'x' has {n} rows, 'u' has {m}")).into());
        }
        let count = if n.min(m) == 0 { 0 } else { n.max(m) };
        let mut points = Vec::with_capacity(count * dims.point());
        for i in 0..count {
            let (i, j) = (i.min(n - 1), i.min(m - 1));
            points.extend_from_slice(&x[i * dims.state..(i + 1) * dims.state]);
            points.extend_from_slice(&u[j * dims.control..(j + 1) * dims.control]);
        }
        Ok(points)
    }

    /// Simulates one run from x0 under a control law; it is cancelled when `cancel` becomes true.
    fn simulated(
        source: &Source,
        cancel: &Arc<AtomicBool>,
        x0: &[f64],
        times: &[f64],
        law: Law,
    ) -> Answer<Run> {
        let (system, called) = source.whole(cancel);
        let Some(truth) = &system.truth else { return Err(source.without_equations()) };
        let mut simulator = Simulator::new(1e-9);
        if matches!(law, Law::Function(_, None)) {
            simulator.tolerance.max_steps = MOST_STEPS;
        }
        let (mut policy, theirs) = law.policy(cancel, system.task.control_bounds.clone());
        let experiment = Experiment {
            initial_state: x0,
            end: times.last().copied().unwrap_or(0.0),
            cancel: Some(cancel),
            sample_times: times,
            ..Experiment::of(&system.task)
        };
        let run = simulator.run(truth.dynamics().as_mut(), policy.as_mut(), &experiment);
        called.into_iter().chain(theirs).try_for_each(|called| called.trouble())?;
        Ok(run)
    }

    /// The given initial state, or that of the episodes.
    fn start(&self, x0: Option<&Bound<'_, PyAny>>) -> Answer<Vec<f64>> {
        let Some(x0) = x0 else { return Ok(self.source.inner.task.initial_state.clone()) };
        let x0 = list(x0, "x0", Some(self.dims().state))?;
        match x0.iter().find(|x| !x.is_finite()) {
            Some(bad) => Err(Failure::invalid(format!("'x0' has the entry {bad}; it must be finite")).into()),
            None => Ok(x0),
        }
    }
}

/// Maximum number of steps of a run under a continuously evaluated Python function: a discontinuous function could need any number.
const MOST_STEPS: usize = 50_000;

/// Checks that a duration is positive.
fn positive(what: &str, value: f64) -> Answer<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Failure::invalid(format!("'{what}' is {value}; it must be positive and finite")).into())
}

/// Parses the text of a system file.
fn parsed(py: Python<'_>, text: &str, file: &str) -> Answer<Described> {
    Ok(work::brief(py, || Described::parse(text, file))??)
}

/// The built-in system called `name`, or the one described by that file.
fn found(py: Python<'_>, name: &str) -> Answer<Described> {
    Ok(work::brief(py, || Described::find(name))??)
}

/// Name of a function's description in error messages.
const FUNCTION: &str = "system";

/// The control law of a simulation.
enum Law {
    /// A Python function, held for a period or evaluated continuously.
    Function(Arc<Function>, Option<f64>),
    /// A constant control.
    Held(Vec<f64>),
}

impl Law {
    fn policy(
        self,
        cancel: &Arc<AtomicBool>,
        bounds: Bounds,
    ) -> (Box<dyn ocorl::simulate::Policy>, Option<Called>) {
        match self {
            Law::Function(function, period) => {
                let called = Called::new(function, cancel.clone());
                (Box::new(PythonLaw::new(called.clone(), bounds, period)), Some(called))
            }
            Law::Held(mut control) => {
                bounds.clamp(&mut control);
                let law =
                    ocorl::simulate::Law(move |_: f64, _: &[f64], u: &mut [f64]| u.copy_from_slice(&control));
                (Box::new(law), None)
            }
        }
    }
}

#[pymethods]
impl System {
    /// A built-in system or a file (`name`), or the text of a file (`text`); `function` provides the equations.
    #[new]
    #[pyo3(signature = (name=None, *, text=None, file="system.toml", function=None, jac=None, vectorized=false))]
    fn new(
        py: Python<'_>,
        name: Option<String>,
        text: Option<String>,
        file: &str,
        function: Option<Py<PyAny>>,
        jac: Option<Py<PyAny>>,
        vectorized: bool,
    ) -> PyResult<Self> {
        let more = More { jacobian: jac, vectorized };
        guard(py, "System", || match (name, text, function) {
            (Some(name), None, None) => Ok(System::described(found(py, &name)?)),
            (None, Some(text), None) => Ok(System::described(parsed(py, &text, file)?)),
            (None, Some(text), Some(function)) => {
                System::of_function(py, function, parsed(py, &text, file)?, more)
            }
            (Some(name), None, Some(function)) => System::of_function(py, function, found(py, &name)?, more),
            _ => {
                Err(Failure::invalid("a system is a name, a text, or a function with its description").into())
            }
        })
    }

    /// A built-in system by name, or the system of a file.
    #[staticmethod]
    fn find(py: Python<'_>, name: &str) -> PyResult<Self> {
        guard(py, "System.find", || Ok(System::described(found(py, name)?)))
    }

    /// The system described by the text of a file.
    #[staticmethod]
    #[pyo3(signature = (text, file="system.toml"))]
    fn parse(py: Python<'_>, text: &str, file: &str) -> PyResult<Self> {
        guard(py, "System.parse", || Ok(System::described(parsed(py, text, file)?)))
    }

    /// A system from a function f(x, u) and the text of a file without [equations].
    #[staticmethod]
    fn from_function(py: Python<'_>, f: Py<PyAny>, description: &str) -> PyResult<Self> {
        guard(py, "System.from_function", || {
            System::of_function(py, f, parsed(py, description, FUNCTION)?, More::default())
        })
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "System.name", || Ok(self.source.inner.name.clone()))
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "System.title", || {
            Ok(self
                .source
                .inner
                .truth
                .as_ref()
                .map_or(self.source.inner.name.clone(), |truth| truth.title.to_string()))
        })
    }

    #[getter]
    fn states(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "System.states", || {
            Ok(self.source.inner.task.states.iter().map(|q| q.name.clone()).collect())
        })
    }

    #[getter]
    fn controls(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "System.controls", || {
            Ok(self.source.inner.task.controls.iter().map(|q| q.name.clone()).collect())
        })
    }

    #[getter]
    fn state_units(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "System.state_units", || {
            Ok(self.source.inner.task.states.iter().map(|q| q.unit.clone()).collect())
        })
    }

    #[getter]
    fn control_units(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "System.control_units", || {
            Ok(self.source.inner.task.controls.iter().map(|q| q.unit.clone()).collect())
        })
    }

    #[getter]
    fn horizon(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "System.horizon", || Ok(self.source.inner.task.horizon))
    }

    #[getter]
    fn x0<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.x0", || Ok(vector(py, &self.source.inner.task.initial_state)))
    }

    #[getter]
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.lower", || Ok(vector(py, &self.source.inner.task.control_bounds.lower)))
    }

    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.upper", || Ok(vector(py, &self.source.inner.task.control_bounds.upper)))
    }

    #[getter]
    fn state_lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.state_lower", || Ok(vector(py, &self.source.inner.task.state_bounds.lower)))
    }

    #[getter]
    fn state_upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.state_upper", || Ok(vector(py, &self.source.inner.task.state_bounds.upper)))
    }

    #[getter]
    fn angles(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        guard(py, "System.angles", || Ok(self.source.inner.task.angles.clone()))
    }

    #[getter]
    fn safe_control<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.safe_control", || Ok(vector(py, &self.source.inner.task.safe_control)))
    }

    #[getter]
    fn noise_std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.noise_std", || Ok(vector(py, &self.source.inner.task.noise_std)))
    }

    #[getter]
    fn period(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "System.period", || Ok(self.source.inner.hardware.period))
    }

    /// Time for which the plant holds a control; 0 if a control can change at any time.
    #[getter]
    fn hold(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "System.hold", || Ok(self.source.inner.settings.plan.hold))
    }

    /// The function jac(x, u) that belongs to `function`.
    #[getter]
    fn jac(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        guard(py, "System.jac", || {
            let function = self.source.function.as_ref();
            Ok(function.and_then(|f| f.jacobian.as_ref()).map(|jac| jac.clone_ref(py)))
        })
    }

    /// Whether `function` accepts many points at once.
    #[getter]
    fn vectorized(&self, py: Python<'_>) -> PyResult<bool> {
        guard(py, "System.vectorized", || Ok(self.source.function.as_ref().is_some_and(|f| f.vectorized)))
    }

    #[getter]
    fn time_unit(&self, py: Python<'_>) -> PyResult<&'static str> {
        guard(py, "System.time_unit", || Ok(self.source.inner.task.time_unit()))
    }

    /// Factor between the task's cost and the cost printed in the paper's table.
    #[getter]
    fn table_scale(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "System.table_scale", || {
            Ok(self.source.inner.truth.as_ref().map_or(1.0, |truth| truth.table_units().scale()))
        })
    }

    #[getter]
    fn has_equations(&self, py: Python<'_>) -> PyResult<bool> {
        guard(py, "System.has_equations", || Ok(self.source.has_equations()))
    }

    /// The Python function that provides the equations, if there is one.
    #[getter]
    fn function(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        guard(py, "System.function", || Ok(self.source.function.as_ref().map(|f| f.call.clone_ref(py))))
    }

    /// The text of the file that describes the system; `None` for a built-in system.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guard(py, "System.text", || Ok(self.source.inner.file.clone()))
    }

    /// Warnings about valid contents of the file that are probably unintended.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "System.warnings", || Ok(self.source.inner.warnings()))
    }

    /// Derivatives f(x, u), row by row.
    fn derivative<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guard(py, "System.derivative", || {
            let points = self.points(x, u)?;
            Ok(matrix(py, &self.derivatives(py, points)?, self.dims().state)?)
        })
    }

    /// Running cost c(t, x, u), row by row.
    fn cost<'py>(
        &self,
        py: Python<'py>,
        t: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "System.cost", || {
            let points = self.points(x, u)?;
            let points = Points::new(&points, self.dims().point());
            let mut times = list(t, "t", None)?;
            if times.len() == 1 {
                times = vec![times[0]; points.len()];
            }
            if times.len() != points.len() {
                let message =
                    format!("'t' has {} entries, 'x' and 'u' have {} rows", times.len(), points.len());
                return Err(Failure::invalid(message).into());
            }
            let mut out = vec![0.0; points.len()];
            self.source.inner.task.cost.running(&times, points, &mut out);
            Ok(vector(py, &out))
        })
    }

    /// Terminal cost c_T(x) at the horizon.
    fn terminal_cost(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        guard(py, "System.terminal_cost", || {
            let task = &self.source.inner.task;
            Ok(task.cost.terminal(task.horizon, &list(x, "x", Some(task.states.len()))?))
        })
    }

    /// Simulates u = controller(t, x) on the true equations; the result contains t, x, u, costs, cost and outcome.
    #[pyo3(signature = (controller, x0=None, horizon=None, dt=0.02, period=None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        controller: Py<PyAny>,
        x0: Option<&Bound<'py, PyAny>>,
        horizon: Option<f64>,
        dt: f64,
        period: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "System.simulate", || {
            let (dt, period) =
                (positive("dt", dt)?, period.map(|period| positive("period", period)).transpose()?);
            let horizon = positive("horizon", horizon.unwrap_or(self.source.inner.task.horizon))?;
            let names: Vec<&str> = self.source.inner.task.controls.iter().map(|q| q.name.as_str()).collect();
            let expected = format!("{} numbers: {}", names.len(), names.join(", "));
            let law = Function::new(controller, "controller(t, x)", expected, names.len());
            let (x0, source) = (self.start(x0)?, self.source.clone());
            let run = work::quietly(py, How::light("System.simulate"), move |context| {
                let law = Law::Function(Arc::new(law), period);
                System::simulated(&source, &context.cancel, &x0, &moments(dt, horizon), law)
            })?;
            simulation(py, &run)
        })
    }

    /// State after `dt` from x under the constant control u, with the cost of the step and its outcome.
    fn step<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        dt: f64,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, String)> {
        guard(py, "System.step", || {
            let (x, u) = (self.start(Some(x))?, list(u, "u", Some(self.dims().control))?);
            let dt = positive("dt", dt)?;
            // The computation is too short for a thread of its own.
            let run =
                py.detach(|| System::simulated(&self.source, &Arc::default(), &x, &[dt], Law::Held(u)))?;
            Ok((vector(py, run.final_state()), run.running_cost(), run.outcome.to_string()))
        })
    }

    /// All settings as TOML, with the given changes.
    #[pyo3(signature = (settings="default", **set))]
    fn settings(&self, py: Python<'_>, settings: &str, set: Option<Bound<'_, PyDict>>) -> PyResult<String> {
        guard(py, "System.settings", || {
            let config = config(&self.source.inner, settings, &set.unwrap_or_else(|| PyDict::new(py)))?;
            let comment = format!("How ocorl.run('{}') learns; a file for settings=.", config.system());
            Ok(config.text(&comment)?)
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "System.__repr__", || {
            let (name, task) = (&self.source.inner.name, &self.source.inner.task);
            let names = |all: &[Quantity]| all.iter().map(|q| q.name.as_str()).collect::<Vec<_>>().join(", ");
            let (states, inputs) = (names(&task.states), names(&task.controls));
            Ok(format!("System('{name}': {states}; {inputs}; horizon {})", task.horizon))
        })
    }
}

/// Times from 0 to `end` with spacing `dt`, including `end`.
fn moments(dt: f64, end: f64) -> Vec<f64> {
    let before = |t: &f64| *t < end - 1e-9 * dt;
    (0..MOST_MOMENTS).map(|k| dt * k as f64).take_while(before).chain([end]).collect()
}

/// A simulated run as a dictionary, at its sample times.
fn simulation<'py>(py: Python<'py>, run: &Run) -> Answer<Bound<'py, PyAny>> {
    let made = py.import("ocorl._simulation")?.getattr("Simulation")?;
    let samples = &run.samples;
    Ok(made.call1((
        vector(py, &samples.times),
        blocks(py, &samples.states)?,
        blocks(py, &samples.controls)?,
        vector(py, &samples.costs),
        run.cost(),
        run.outcome.to_string(),
        run.method != Method::Fixed,
    ))?)
}

/// Maximum number of samples of a returned run.
const MOST_MOMENTS: usize = 10_000_000;

/// The built-in systems: name, title, summary.
#[pyfunction]
pub(crate) fn systems(py: Python<'_>) -> PyResult<Vec<(String, String, String)>> {
    guard(py, "systems", || {
        let each = |b: KnownSystem| (b.name.into_owned(), b.title.into_owned(), b.summary.into_owned());
        Ok(Benchmark::all().into_iter().map(each).collect())
    })
}

/// Names of the measurement strategies.
#[pyfunction]
pub(crate) fn strategies(py: Python<'_>) -> PyResult<Vec<&'static str>> {
    guard(py, "strategies", || Ok(Strategy::ALL.map(Strategy::name).to_vec()))
}
