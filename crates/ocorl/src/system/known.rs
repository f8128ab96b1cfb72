//! Systems with known equations: dynamics, task, and the control of the first episode.

use super::{Benchmark, Bounds, Dims, Dynamics, PaperSettings, Published, TableUnits, Task, TaskError};
use std::borrow::Cow;
use std::sync::Arc;

/// Static text of the program, or text of a user.
pub type Text = Cow<'static, str>;

/// Function that creates the dynamics from the values of the parameters.
pub type Build = Arc<dyn Fn(&[f64]) -> Box<dyn Dynamics> + Send + Sync>;

/// Control u(t, x) of episode 0.
pub type FirstControl = Arc<dyn Fn(f64, &[f64], &mut [f64]) + Send + Sync>;

/// A constant of the dynamics.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name in lower case.
    pub name: Text,
    /// SI symbol of the unit; empty for a dimensionless number.
    pub unit: Text,
    /// Value in that unit.
    pub value: f64,
}

impl Parameter {
    /// Creates parameters from names, units and values, in the order in which [`KnownSystem::build`] receives the values.
    pub fn list<const N: usize>(list: [(&'static str, &'static str, f64); N]) -> Vec<Parameter> {
        list.map(|(name, unit, value)| Parameter { name: name.into(), unit: unit.into(), value }).into()
    }
}

/// A system with known equations, for simulations and for baselines with the true model. A learner has access only to its task.
#[derive(Clone)]
pub struct KnownSystem {
    /// Short name: in kebab case for the benchmarks, as given by the user for others.
    pub name: Text,
    /// Name as printed in tables.
    pub title: Text,
    /// Description of the task in one line.
    pub summary: Text,
    /// Constants of the dynamics.
    pub parameters: Vec<Parameter>,
    /// Creates the dynamics from the values of the parameters.
    pub build: Build,
    /// Control task.
    pub task: Task,
    /// Control u(t, x) of the exploratory episode 0, in physical units.
    pub first_control: FirstControl,
    /// Creates the prior mean of f from the same parameters; `None` for a prior mean of zero.
    pub prior: Option<Build>,
    /// Indices of the parameters whose values in the prior mean are estimated from the measurements.
    pub unknown: Vec<usize>,
    /// Catalogue entry of a benchmark system.
    pub(super) benchmark: Option<&'static Benchmark>,
}

/// Reason for which a system cannot be used or modified.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// No parameter has the given name.
    #[error("{system} has no parameter '{name}' (it has: {known})")]
    UnknownParameter {
        /// Name of the system.
        system: Text,
        /// Name that was not found.
        name: String,
        /// Names of all parameters.
        known: String,
    },
    /// A parameter is NaN or infinite.
    #[error("parameter '{name}' of {system} is {value}; it must be finite")]
    NotFinite {
        /// Name of the system.
        system: Text,
        /// Name of the parameter.
        name: Text,
        /// Value of the parameter.
        value: f64,
    },
    /// No state or control has the given name.
    #[error("{system} has no state or control '{name}' (it has: {known})")]
    UnknownQuantity {
        /// Name of the system.
        system: Text,
        /// Name that was not found.
        name: String,
        /// Names of all states and controls.
        known: String,
    },
    /// No state has the given name.
    #[error("{system} has no state '{name}' (it has: {known})")]
    UnknownState {
        /// Name of the system.
        system: Text,
        /// Name that was not found.
        name: String,
        /// Names of all states.
        known: String,
    },
    /// f is not finite at the initial state: the parameters or the initial state are outside its domain.
    #[error(
        "the dynamics of {system} are not finite at the start x = {state:?}, u = {control:?}: ẋ = {derivative:?}"
    )]
    NotFiniteAtStart {
        /// Name of the system.
        system: Text,
        /// Initial state x(0).
        state: Vec<f64>,
        /// Safe control.
        control: Vec<f64>,
        /// Derivative f at that point.
        derivative: Vec<f64>,
    },
    /// The task is inconsistent.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl KnownSystem {
    /// Creates a system from equations and a task. Episode 0 applies the task's safe control, and the prior mean of f is zero.
    ///
    /// ```
    /// use ocorl::system::{Bounds, ExactJacobian, KnownSystem, QuadraticCost, Quantity, Task, VectorField};
    /// use std::sync::Arc;
    ///
    /// struct Tank;
    /// impl VectorField<1, 1> for Tank {
    ///     fn derivative<R: ocorl::real::Real>(&self, [level]: [R; 1], [inflow]: [R; 1]) -> [R; 1] {
    ///         [inflow - level * 0.5]
    ///     }
    /// }
    ///
    /// let task = Task {
    ///     states: Quantity::list([("level", "m")]),
    ///     controls: Quantity::list([("inflow", "m/s")]),
    ///     initial_state: vec![0.0],
    ///     horizon: 10.0,
    ///     cost: Arc::new(QuadraticCost::new([1.0], [0.1]).state_target([1.0])),
    ///     angles: vec![],
    ///     control_bounds: Bounds::symmetric([2.0]),
    ///     state_bounds: Bounds::none(1),
    ///     safe_control: vec![0.0],
    ///     rate_limit: None,
    ///     backup: None,
    ///     constraints: None,
    ///     noise_std: vec![0.01],
    /// };
    /// let tank = KnownSystem::new("tank", task, Arc::new(|_| Box::new(ExactJacobian(Tank))));
    /// assert!(tank.validate().is_ok() && tank.benchmark().is_none());
    /// ```
    pub fn new(name: impl Into<Text>, task: Task, build: Build) -> Self {
        let (name, safe) = (name.into(), task.safe_control.clone());
        KnownSystem {
            title: name.clone(),
            name,
            summary: "".into(),
            parameters: Vec::new(),
            build,
            task,
            first_control: Arc::new(move |_, _, u| u.copy_from_slice(&safe)),
            prior: None,
            unknown: Vec::new(),
            benchmark: None,
        }
    }

    /// Returns the catalogue entry of a benchmark system, also with modified parameters or limits; `None` for other systems.
    pub fn benchmark(&self) -> Option<&'static Benchmark> {
        self.benchmark
    }

    /// Returns the paper's settings of a benchmark system; `None` for other systems.
    pub fn paper(&self) -> Option<&'static PaperSettings> {
        self.benchmark.map(|entry| &entry.paper)
    }

    /// Returns the row of the paper's Table 1; `None` if the system is not in it.
    pub fn published(&self) -> Option<&'static Published> {
        self.benchmark.and_then(|entry| entry.published.as_ref())
    }

    /// Returns whether the problem is one of the paper's Table 1 without any change. The optima of these were confirmed by collocation with
    /// another program; for all other problems the best plan is only the best known.
    pub fn is_as_published(&self) -> bool {
        let Some(original) = self.published().and(self.benchmark).map(|entry| (entry.system)()) else {
            return false;
        };
        let (a, b) = (&self.task, &original.task);
        self.parameters == original.parameters
            && (a.horizon, &a.initial_state) == (b.horizon, &b.initial_state)
            && (&a.control_bounds, &a.state_bounds) == (&b.control_bounds, &b.state_bounds)
            && a.constraints.is_none()
            && (&a.rate_limit, &a.safe_control) == (&b.rate_limit, &b.safe_control)
    }

    /// Returns the dimensions of x and u.
    pub fn dims(&self) -> Dims {
        self.task.dims()
    }

    /// Creates the true dynamics f*.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        let values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        (self.build)(&values)
    }

    /// Creates the prior mean of f; `None` if there is none.
    pub fn prior_dynamics(&self) -> Option<Box<dyn Dynamics>> {
        let values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        self.prior.as_ref().map(|build| build(&values))
    }

    /// Returns the unit of time: seconds, or none if no quantity of the system has a unit.
    pub fn time_unit(&self) -> &'static str {
        self.task.time_unit()
    }

    /// Returns the units in which costs are displayed and exported: those of the paper's table.
    pub fn table_units(&self) -> TableUnits {
        TableUnits::of(self.published())
    }

    /// Sets a constant of the dynamics.
    pub fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), SystemError> {
        let known = self.parameters.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
        match self.parameters.iter_mut().find(|p| p.name == name) {
            Some(parameter) => parameter.value = value,
            None => {
                return Err(SystemError::UnknownParameter {
                    system: self.name.clone(),
                    name: name.into(),
                    known,
                });
            }
        }
        self.validate()
    }

    /// Sets the limits of the state or control `name`.
    pub fn set_limits(&mut self, name: &str, lower: f64, upper: f64) -> Result<(), SystemError> {
        let task = &mut self.task;
        let set = |bounds: &mut Bounds, i: usize| {
            bounds.lower[i] = lower;
            bounds.upper[i] = upper;
        };
        if let Some(i) = task.states.iter().position(|q| q.name == name) {
            set(&mut task.state_bounds, i);
        } else if let Some(i) = task.controls.iter().position(|q| q.name == name) {
            set(&mut task.control_bounds, i);
        } else {
            return Err(self.unknown_quantity(name));
        }
        self.validate()
    }

    /// Sets one component of x(0).
    pub fn set_start(&mut self, name: &str, value: f64) -> Result<(), SystemError> {
        let Some(i) = self.task.states.iter().position(|q| q.name == name) else {
            let known = self.task.states.iter().map(|q| q.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(SystemError::UnknownState { system: self.name.clone(), name: name.into(), known });
        };
        self.task.initial_state[i] = value;
        self.validate()
    }

    /// Checks the parameters and the task, and that f is finite at the initial state.
    pub fn validate(&self) -> Result<(), SystemError> {
        if let Some(p) = self.parameters.iter().find(|p| !p.value.is_finite()) {
            return Err(SystemError::NotFinite {
                system: self.name.clone(),
                name: p.name.clone(),
                value: p.value,
            });
        }
        self.task.validate()?;
        let point = [self.task.initial_state.as_slice(), &self.task.safe_control].concat();
        let mut derivative = vec![0.0; self.dims().state];
        self.dynamics().derivative(crate::linalg::Points::single(&point), &mut derivative);
        if derivative.iter().any(|d| !d.is_finite()) {
            return Err(SystemError::NotFiniteAtStart {
                system: self.name.clone(),
                state: self.task.initial_state.clone(),
                control: self.task.safe_control.clone(),
                derivative,
            });
        }
        Ok(())
    }

    fn unknown_quantity(&self, name: &str) -> SystemError {
        let known = self.task.states.iter().chain(&self.task.controls);
        SystemError::UnknownQuantity {
            system: self.name.clone(),
            name: name.into(),
            known: known.map(|q| q.name.as_str()).collect::<Vec<_>>().join(", "),
        }
    }
}
