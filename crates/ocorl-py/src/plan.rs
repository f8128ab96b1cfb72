//! The Python classes `Plan` and `Controller`, and the planner as a function.

use crate::arrays::{Shape, list, matrices, matrix, rows, table, vector};
use crate::errors::{Answer, Failure, guard};
use crate::function::Called;
use crate::model::Model;
use crate::system::System;
use crate::values::{document, whole};
use crate::work::{self, How, lock};
use numpy::{PyArray1, PyArray2, PyArray3};
use ocorl::explore::Exploration;
use ocorl::model::StatisticalModel;
use ocorl::plan::{
    ForwardPass, PathConstraints, Plan as Found, Problem, RateConstraint, RoughToFine, Settings, Start,
    Transcription, held_grid,
};
use ocorl::random::Stream;
use ocorl::system::{Bounds, Cost, Dynamics, Task, Text};
use ocorl::track::Reference;
use ocorl_study::control::{self, Deadline, Effort, ITERATIONS, Status};
use ocorl_study::plan_file::{FORMAT, Limits, Named, PlanFile, RolloutTable, StateLimits, VERSION};
use ocorl_study::system::System as Described;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pickle representation: the function that restores the object, and its arguments.
type Reduced<'py, T> = (Bound<'py, PyAny>, T);

/// The plan of an episode, `plan.json`.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Plan {
    pub(crate) file: Arc<PlanFile>,
    /// Outcome of the optimization, if the plan was made by the planner function.
    outcome: Option<Text>,
}

impl Plan {
    /// A plan made by a study.
    pub(crate) fn new(file: Arc<PlanFile>) -> Self {
        Plan { file, outcome: None }
    }

    fn rollout(&self, number: usize) -> Answer<&RolloutTable> {
        Ok(control::rollout(&self.file, number)?)
    }

    fn first(&self) -> &RolloutTable {
        // A validated plan always has at least one rollout.
        &self.file.rollouts[0]
    }
}

#[pymethods]
impl Plan {
    /// Parses `plan.json`; `outcome` is the outcome of the optimization.
    #[staticmethod]
    #[pyo3(signature = (text, outcome=None))]
    fn parse(py: Python<'_>, text: &str, outcome: Option<String>) -> PyResult<Self> {
        guard(py, "Plan.parse", || {
            Ok(Plan { file: Arc::new(PlanFile::parse(text, "plan.json")?), outcome: outcome.map(Text::from) })
        })
    }

    #[getter]
    fn study(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Plan.study", || Ok(self.file.study.clone()))
    }

    #[getter]
    fn system(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Plan.system", || Ok(self.file.system.clone()))
    }

    #[getter]
    fn episode(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, "Plan.episode", || Ok(self.file.episode))
    }

    #[getter]
    fn states(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "Plan.states", || Ok(self.file.states.iter().map(|q| q.name.clone()).collect()))
    }

    #[getter]
    fn controls(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "Plan.controls", || Ok(self.file.controls.iter().map(|q| q.name.clone()).collect()))
    }

    /// Number of rollouts, one for each initial state.
    #[getter]
    fn rollouts(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, "Plan.rollouts", || Ok(self.file.rollouts.len()))
    }

    #[getter]
    fn horizon(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Plan.horizon", || Ok(self.file.horizon))
    }

    #[getter]
    fn valid_for(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Plan.valid_for", || Ok(self.file.valid_for))
    }

    #[getter]
    fn period(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Plan.period", || Ok(self.file.period))
    }

    #[getter]
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.lower", || Ok(vector(py, &self.file.limits.bounds().lower)))
    }

    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.upper", || Ok(vector(py, &self.file.limits.bounds().upper)))
    }

    #[getter]
    fn safe_control<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.safe_control", || Ok(vector(py, &self.file.safe_control)))
    }

    /// Initial state of the first rollout.
    #[getter]
    fn x0<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.x0", || Ok(vector(py, &self.first().initial_state)))
    }

    #[getter]
    fn t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.t", || Ok(vector(py, &self.first().times)))
    }

    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guard(py, "Plan.x", || Ok(table(py, &self.first().states, self.file.states.len())?))
    }

    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guard(py, "Plan.u", || Ok(table(py, &self.first().controls, self.file.controls.len())?))
    }

    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        guard(py, "Plan.gains", || {
            let all: Vec<f64> = self.first().gains.iter().flatten().flatten().copied().collect();
            Ok(matrices(py, &all, self.file.controls.len(), self.file.states.len())?)
        })
    }

    #[getter]
    fn measure_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Plan.measure_at", || Ok(vector(py, &self.first().measure_at)))
    }

    /// The strategy that decides further measurement times during the run; `None` if all are known in advance.
    #[getter]
    fn rule(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guard(py, "Plan.rule", || Ok(self.first().rule.as_ref().map(|rule| rule.strategy.clone())))
    }

    #[getter]
    fn planned_cost(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        guard(py, "Plan.planned_cost", || Ok(self.first().planned_cost))
    }

    /// Outcome of the optimization; `None` for a plan made by a study.
    #[getter]
    fn outcome(&self, py: Python<'_>) -> PyResult<Option<&str>> {
        guard(py, "Plan.outcome", || Ok(self.outcome.as_deref()))
    }

    /// The plan as JSON text.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Plan.text", || Ok(self.file.text()?))
    }

    /// Table of one rollout as arrays.
    #[pyo3(signature = (number=0))]
    fn rollout_table<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = whole)] number: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Plan.rollout_table", || document(py, self.rollout(number)?))
    }

    /// The pure function u = policy(t, x) of the plan's gains.
    #[getter]
    fn policy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        guard(py, "Plan.policy", || Ok(py.import("ocorl._policy")?.getattr("Policy")?.call1((slf,))?))
    }

    /// Draws states and controls over time.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(slf: &Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        guard(py, "Plan.plot", || Ok(py.import("ocorl._draw")?.getattr("plan")?.call1((slf, ax))?))
    }

    /// A control law u = controller(t, x): finite, within limits, and safe after `valid_for`. With `mpc` it solves an optimal control
    /// problem at every call, without a time limit or within `budget` seconds.
    #[pyo3(signature = (rollout=0, *, mpc=false, budget=None))]
    fn controller(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] rollout: usize,
        mpc: bool,
        budget: Option<f64>,
    ) -> PyResult<Controller> {
        guard(py, "Plan.controller", || {
            if mpc && self.file.study.is_empty() {
                return Err(Failure::invalid(
                    "'mpc' is for plans of a study; this plan has feedback gains only",
                )
                .hint("leave mpc out: plan.controller()")
                .into());
            }
            Controller::made(py, "Plan.controller", self.file.clone(), Law { rollout, mpc, budget })
        })
    }

    /// Evaluates u_k + K_k (x − x̄(t)) within limits at the rows of t and x, the safe control outside of [0, `valid_for`]: a pure function.
    #[pyo3(signature = (t, x, rollout=0))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        t: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = whole)] rollout: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guard(py, "Plan.evaluate", || {
            let (nx, nu) = (self.file.states.len(), self.file.controls.len());
            let times = list(t, "t", None)?;
            let states = rows(x, Shape { what: "x", columns: nx })?;
            if times.len() * nx != states.len() {
                let found = states.len() / nx;
                return Err(Failure::invalid(format!(
                    "'t' has {} entries, 'x' has {found} rows",
                    times.len()
                ))
                .into());
            }
            let (reference, bounds) = (control::reference(&self.file, rollout)?, self.file.limits.bounds());
            let end = self.file.valid_for.min(reference.end());
            let mut controls = vec![0.0; times.len() * nu];
            let each = times.iter().zip(states.chunks_exact(nx)).zip(controls.chunks_exact_mut(nu));
            for ((&time, state), out) in each {
                let known = (0.0..=end).contains(&time) && state.iter().all(|x| x.is_finite());
                if known {
                    reference.follow(time, state, out);
                    bounds.clamp(out);
                }
                if !known || out.iter().any(|u| !u.is_finite()) {
                    out.copy_from_slice(&self.file.safe_control);
                }
            }
            Ok(matrix(py, &controls, nu)?)
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, (String, Option<String>)>> {
        let (py, plan) = (slf.py(), slf.get());
        guard(py, "Plan.__reduce__", || {
            let outcome = plan.outcome.as_deref().map(String::from);
            Ok((slf.get_type().getattr("parse")?, (plan.file.text()?, outcome)))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Plan.__repr__", || {
            let PlanFile { system, episode, horizon, .. } = &*self.file;
            let cost =
                self.first().planned_cost.map_or(String::new(), |cost| format!(", planned cost {cost:.4}"));
            Ok(format!(
                "Plan({system}, episode {episode}, horizon {horizon}, {} measurements{cost})",
                self.file.asked()
            ))
        })
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        guard(py, "Plan._repr_html_", || Ok(py.import("ocorl._html")?.getattr("plan")?.call1((slf,))?))
    }
}

/// Time limit of a solver without a budget.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A control law u = controller(t, x): finite, within limits, and safe after `valid_for`. It keeps state between calls, so time must not
/// decrease; `reset()` starts a new run, and a controller serves one run at a time. With `mpc` the controller solves an optimal control
/// problem at every call for the plan of a study; a plan of known equations has feedback gains only.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Controller {
    file: Arc<PlanFile>,
    law: Law,
    state: Mutex<State>,
    /// Process that created the controller: its solver runs on a thread there.
    process: u32,
}

/// Pickle state of a controller: text of its plan, rollout, mpc, budget.
type PlanSource = (String, usize, bool, Option<f64>);

/// The rollout of a plan and how it is followed.
#[derive(Clone, Copy)]
struct Law {
    rollout: usize,
    mpc: bool,
    /// Time budget of a solve in seconds.
    budget: Option<f64>,
}

struct State {
    inner: control::Controller,
    last: Option<Status>,
}

impl Controller {
    /// Creates a controller on another thread, because its solver may need to be warmed up.
    fn made(py: Python<'_>, place: &'static str, file: Arc<PlanFile>, law: Law) -> Answer<Self> {
        let budget = match law.budget {
            None => PATIENCE,
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|budget| !budget.is_zero())
                .ok_or_else(|| Failure::invalid(format!("'budget' is {seconds} s; it must be positive")))?,
        };
        work::quietly(py, How::at(place), move |_| Controller::new(file, law, budget))
    }

    fn new(file: Arc<PlanFile>, law: Law, budget: Duration) -> Answer<Self> {
        let (rollout, mpc, file) = (law.rollout, law.mpc, &file);
        let settings = control::Settings { budget, ..control::Settings::of(file) };
        let mut inner = control::Controller::new(file, rollout)?.with_settings(settings);
        let make = if mpc { control::solvers(file, ITERATIONS)? } else { None };
        if let Some(make) = make {
            let reference = control::reference(file, rollout)?;
            inner = inner.with_solver(Box::new(Deadline::new(reference, Effort::default(), make)));
            inner.warm_up(PATIENCE);
        }
        let state = Mutex::new(State { inner, last: None });
        Ok(Controller { file: file.clone(), law, state, process: std::process::id() })
    }

    fn table(&self) -> &RolloutTable {
        &self.file.rollouts[self.law.rollout]
    }
}

#[pymethods]
impl Controller {
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Controller.__call__", || {
            if self.law.mpc && self.process != std::process::id() {
                return Err(Failure::invalid("this controller was made by another process")
                    .hint("after a fork, make it again: plan.controller(mpc=True)")
                    .into());
            }
            let x = list(x, "x", Some(self.file.states.len()))?;
            let mut control = vec![0.0; self.file.controls.len()];
            let control = py.detach(|| {
                let mut state = lock(&self.state);
                let status = state.inner.step(t, &x, &mut control);
                state.last = Some(status);
                control
            });
            Ok(vector(py, &control))
        })
    }

    /// Fallback level of the last control: fresh, shifted, planned or safe.
    #[getter]
    fn level(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        guard(py, "Controller.level", || {
            Ok(py.detach(|| lock(&self.state).last.map(|status| status.level.name())))
        })
    }

    /// Reason why the last control is not on the best fallback level.
    #[getter]
    fn why(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        guard(py, "Controller.why", || {
            Ok(py.detach(|| {
                lock(&self.state).last.and_then(|status| status.reason).map(control::FallbackReason::text)
            }))
        })
    }

    /// Number of steps on each fallback level so far: fresh, shifted, planned, safe.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<[usize; 4]> {
        guard(py, "Controller.counts", || Ok(py.detach(|| lock(&self.state).inner.counts().levels)))
    }

    /// Restores a pickled controller: the same plan, at its beginning.
    #[staticmethod]
    fn restored(
        py: Python<'_>,
        text: &str,
        rollout: usize,
        mpc: bool,
        budget: Option<f64>,
    ) -> PyResult<Self> {
        guard(py, "Controller.restored", || {
            let file = Arc::new(PlanFile::parse(text, "plan.json")?);
            Controller::made(py, "Controller.restored", file, Law { rollout, mpc, budget })
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, PlanSource>> {
        let (py, controller) = (slf.py(), slf.get());
        guard(py, "Controller.__reduce__", || {
            let Law { rollout, mpc, budget } = controller.law;
            Ok((slf.get_type().getattr("restored")?, (controller.file.text()?, rollout, mpc, budget)))
        })
    }

    /// Prepares for a new run.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, "Controller.reset", || {
            py.detach(|| {
                let mut state = lock(&self.state);
                state.inner.reset();
                state.last = None;
            });
            Ok(())
        })
    }

    /// Cost of the plan; `None` for the plan of a study, which includes a bonus for exploration.
    #[getter]
    fn planned_cost(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        guard(py, "Controller.planned_cost", || {
            Ok(self.table().planned_cost.filter(|_| self.file.study.is_empty()))
        })
    }

    #[getter]
    fn rollout(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, "Controller.rollout", || Ok(self.law.rollout))
    }

    #[getter]
    fn x0<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Controller.x0", || Ok(vector(py, &self.table().initial_state)))
    }

    #[getter]
    fn horizon(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Controller.horizon", || Ok(self.file.horizon))
    }

    #[getter]
    fn period(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Controller.period", || Ok(self.file.period))
    }

    #[getter]
    fn valid_for(&self, py: Python<'_>) -> PyResult<f64> {
        guard(py, "Controller.valid_for", || Ok(self.file.valid_for))
    }

    #[getter]
    fn measure_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Controller.measure_at", || Ok(vector(py, &self.table().measure_at)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Controller.__repr__", || {
            let PlanFile { system, episode, .. } = &*self.file;
            Ok(format!("Controller({system}, episode {episode}, rollout {})", self.law.rollout))
        })
    }
}

/// A planning problem and the settings of its solver.
struct Search {
    system: Described,
    intervals: usize,
    random_starts: usize,
    stages: usize,
    max_iterations: usize,
    seed: u64,
    /// Time for which the plant holds a control; 0 if it can change at any time.
    hold: f64,
}

impl Search {
    /// Starts from the safe control and some random controls on a coarse grid, and refines the best solution on the fine grid.
    fn best(
        &self,
        dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
        cost: &dyn Cost,
        bounds: &Bounds,
        forward: ForwardPass,
    ) -> Answer<Found> {
        let task = &self.system.task;
        let mut safe = task.safe_control.clone();
        safe.resize(bounds.dim(), 0.0);
        let stream = Stream::root(self.seed).child("plan");
        let starts = |count: usize| Start::around(&safe, 0.1, self.random_starts, count, &stream);
        let settings = Settings { max_iterations: self.max_iterations, forward, ..Settings::default() };
        let grid = |intervals: usize| held_grid(task.horizon, self.hold, intervals);
        let times = grid(self.intervals);
        // As in a study: f is evaluated about as often as on `intervals` intervals by Heun's method.
        let substeps = if self.hold > 0.0 { self.intervals.div_ceil(2 * (times.len() - 1)) } else { 1 };
        let search = RoughToFine {
            coarse: &grid(self.intervals.div_ceil(4)),
            rough: settings.clone(),
            fine: settings,
            stages: self.stages,
            rest: &safe,
        };
        let rates = task.rate_limit.clone().map(|mut limit| {
            limit.max_rate.resize(bounds.dim(), f64::INFINITY);
            limit
        });
        let problem = Problem {
            cost,
            initial_state: &task.initial_state,
            times: &times,
            control_bounds: bounds,
            rate_limit: rates.as_ref().map(|limit| RateConstraint::new(limit, &safe)),
            state_bounds: Some(&task.state_bounds),
            constraints: PathConstraints { constraints: task.constraints.as_deref(), margins: None },
            transcription: Transcription { substeps, ..Transcription::default() },
        };
        Ok(search.search(dynamics, &problem, &starts)?)
    }

    /// The plan file of a solution. Its controller sets each control once per hold, or per interval: the gains are designed for that.
    fn file(&self, found: Found, dynamics: &mut dyn Dynamics) -> PlanFile {
        let Task { controls, angles, .. } = &self.system.task;
        let reference = Reference::new(found, dynamics, angles).with_controls(controls.len());
        let interval = reference.times[1] - reference.times[0];
        let period = if self.hold > 0.0 { self.hold } else { interval };
        plan_file(&self.system, 0, period, &[(&self.system.task.initial_state, &reference.plan, &[])])
    }
}

/// The plan file of solutions, one for each initial state, with measurement times.
pub(crate) fn plan_file(
    system: &Described,
    episode: usize,
    period: f64,
    solutions: &[(&[f64], &Found, &[f64])],
) -> PlanFile {
    let task = &system.task;
    let Task { states, controls, angles, .. } = task;
    let nx = states.len();
    let rows = |blocks: &ocorl::linalg::Blocks| blocks.iter().map(<[f64]>::to_vec).collect();
    let rollout =
        |(start, (initial_state, plan, measure_at)): (usize, &(&[f64], &Found, &[f64]))| RolloutTable {
            start,
            initial_state: initial_state.to_vec(),
            times: plan.times.clone(),
            states: rows(&plan.states),
            slopes: plan.slopes.iter().map(|s| [s[..nx].to_vec(), s[nx..].to_vec()]).collect(),
            controls: rows(&plan.controls),
            gains: plan.gains.iter().map(|k| k.chunks_exact(nx).map(<[f64]>::to_vec).collect()).collect(),
            tube: None,
            brake: None,
            measure_at: measure_at.to_vec(),
            rule: None,
            planned_cost: plan.cost.is_finite().then_some(plan.cost),
            mean_cost: None,
        };
    PlanFile {
        format: FORMAT.into(),
        version: VERSION,
        study: String::new(),
        system: system.name.clone(),
        episode,
        states: states.iter().map(Named::from).collect(),
        controls: controls.iter().map(Named::from).collect(),
        angles: angles.iter().map(|&a| states[a].name.clone()).collect(),
        horizon: task.horizon,
        valid_for: task.horizon,
        period,
        limits: Limits::new(&task.control_bounds, system.hardware.max_rate.clone()),
        state_limits: StateLimits::new(&task.state_bounds),
        safe_control: task.safe_control.clone(),
        backup: task.backup.clone(),
        rollouts: solutions.iter().enumerate().map(rollout).collect(),
        learner: None,
    }
}

/// The optimal control of a system, based on its equations or on a model.
#[pyfunction]
#[pyo3(signature = (system, *, model=None, explore="mean", x0=None, horizon=None, intervals=200, random_starts=3,
                    stages=1, max_iterations=200, seed=0, period=None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    system: &Bound<'py, System>,
    model: Option<&Bound<'py, Model>>,
    explore: &str,
    x0: Option<&Bound<'py, PyAny>>,
    horizon: Option<f64>,
    #[pyo3(from_py_with = whole)] intervals: usize,
    #[pyo3(from_py_with = whole)] random_starts: usize,
    #[pyo3(from_py_with = whole)] stages: usize,
    #[pyo3(from_py_with = whole)] max_iterations: usize,
    #[pyo3(from_py_with = whole)] seed: u64,
    period: Option<f64>,
) -> PyResult<Plan> {
    guard(py, "plan", || {
        let mut source = system.get().source.clone();
        let Some(explore) = Exploration::ALL.into_iter().find(|way| way.name() == explore) else {
            let names = Exploration::ALL.map(Exploration::name).join(", ");
            return Err(Failure::invalid(format!("no exploration '{explore}' (there are: {names})")).into());
        };
        if explore == Exploration::WeightSpace {
            let hint =
                "constant weights are chosen by ocorl.run and Study; plan has mean, optimistic and thompson";
            return Err(Failure::invalid("no plan for explore 'weight-space'").hint(hint).into());
        }
        for (what, value, most) in [("intervals", intervals, 10_000), ("stages", stages, 100)] {
            if !(1..=most).contains(&value) {
                return Err(
                    Failure::invalid(format!("'{what}' must be between 1 and {most}, not {value}")).into()
                );
            }
        }
        let hold = period.unwrap_or(source.inner.settings.plan.hold);
        if !(hold >= 0.0 && hold.is_finite()) {
            return Err(Failure::invalid(format!(
                "'period' is {hold}; it must be positive and finite, or 0"
            ))
            .into());
        }
        let task = &mut source.inner.task;
        if let Some(x0) = x0 {
            task.initial_state = list(x0, "x0", Some(task.states.len()))?;
        }
        task.horizon = horizon.unwrap_or(task.horizon);
        task.validate().map_err(|error| Failure::invalid(error.to_string()))?;
        let model: Option<Arc<dyn StatisticalModel>> = model.map(|model| model.get().shared());
        if let Some(model) = model.as_ref().filter(|model| model.dims() != task.dims()) {
            let (theirs, ours) = (model.dims(), task.dims());
            return Err(Failure::invalid(format!(
                "the model has {} states and {} inputs, the system {} and {}",
                theirs.state, theirs.control, ours.state, ours.control
            ))
            .into());
        }
        if model.is_none() && !source.has_equations() {
            return Err(source.without_equations());
        }
        work::quietly(py, How::at("plan"), move |context| {
            let (system, called) = source.whole(&context.cancel);
            let truth = system.truth.clone();
            let search = Search { system, intervals, random_starts, stages, max_iterations, seed, hold };
            let (found, file) = if let Some(model) = model {
                let task = &search.system.task;
                let planning_problem = |explore: Exploration| {
                    explore.planning_problem(&model, task, 0.1, Stream::root(seed).child("planning_problem"))
                };
                let mut problem = planning_problem(explore);
                if problem.hallucinated_controls() > 0 {
                    let mean = planning_problem(Exploration::Mean);
                    let (make, forward) = (|| mean.dynamics(), ForwardPass::Rollout);
                    if let Ok(plan) = search.best(&make, mean.cost.as_ref(), &mean.bounds, forward) {
                        problem = problem.with_cost_rate(task, plan.cost.abs() / task.horizon);
                    }
                }
                let forward = if problem.hallucinated_controls() > 0 {
                    ForwardPass::Batch
                } else {
                    ForwardPass::Rollout
                };
                let make = || problem.dynamics();
                let found = search.best(&make, problem.cost.as_ref(), &problem.bounds, forward)?;
                (found.outcome, search.file(found, make().as_mut()))
            } else {
                let Some(truth) = truth else { return Err(source.without_equations()) };
                let task = &search.system.task;
                let make = || truth.dynamics();
                let found =
                    search.best(&make, task.cost.as_ref(), &task.control_bounds, ForwardPass::Rollout);
                // An exception of the user's function takes precedence.
                called.as_ref().map_or(Ok(()), Called::trouble)?;
                let found = found?;
                (found.outcome, search.file(found, make().as_mut()))
            };
            Ok(Plan { file: Arc::new(file), outcome: Some(found.name().into()) })
        })
    })
}
