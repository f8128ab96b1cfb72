//! A system to learn on: its dynamics, its task, and how the paper ran it.

use super::{BENCHMARKS, Bounds, Dims, Dynamics, Task, TaskError};
use std::borrow::Cow;
use std::sync::Arc;

/// Text that comes with the program, or that somebody wrote.
pub type Text = Cow<'static, str>;

/// Makes the dynamics from the parameters' values.
pub type Build = Arc<dyn Fn(&[f64]) -> Box<dyn Dynamics> + Send + Sync>;

/// The control of episode 0: u(t, x).
pub type FirstControl = Arc<dyn Fn(f64, &[f64], &mut [f64]) + Send + Sync>;

/// A constant of the dynamics.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Lower-case name.
    pub name: Text,
    /// SI symbol; empty for a pure number.
    pub unit: Text,
    /// Its value.
    pub value: f64,
}

impl Parameter {
    /// Names with units and values, in the order in which [`Benchmark::build`] receives them.
    pub fn list<const N: usize>(list: [(&'static str, &'static str, f64); N]) -> Vec<Parameter> {
        list.map(|(name, unit, value)| Parameter { name: name.into(), unit: unit.into(), value }).into()
    }
}

/// A cell of the paper's Table 1: mean ± sample standard deviation over ten noise seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Mean final cost.
    pub mean: f64,
    /// Sample standard deviation.
    pub std: f64,
}

/// A row of the paper's Table 1, as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The table prints this multiple of the implemented cost.
    pub scale: f64,
    /// Known model, continuous-time control.
    pub continuous: f64,
    /// Known model, zero-order hold.
    pub held: f64,
    /// Learned, measurements at greatest kernel distance.
    pub max_kernel_distance: Cell,
    /// Learned, measurements of greatest determinant.
    pub max_determinant: Cell,
    /// Learned, equidistant measurements.
    pub equidistant: Cell,
}

/// How the authors' program computes its zero-order-hold column (see [`crate::baseline`]).
#[derive(Clone, Debug, PartialEq)]
pub struct HeldReference {
    /// Euler steps in each hold; the printed column mixes 50 and 300.
    pub substeps: usize,
    /// Every control the search starts from.
    pub start: f64,
    /// Weight of the last control's square in the *reported* (not the minimised) terminal cost.
    pub terminal_control_weight: f64,
}

/// How the paper ran a system.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperSettings {
    /// N, episodes.
    pub episodes: usize,
    /// M, measurements an episode; the zero-order-hold baselines have M − 1 holds.
    pub measurements: usize,
    /// T_MPC in the unit of time.
    pub tracking_horizon: f64,
    /// Time between two updates of the tracker; the paper's is 0.02.
    pub tracking_period: f64,
    /// Nodes of the reference's tracking problem, both ends included.
    pub tracking_nodes: usize,
    /// Nodes of the reference's planner, both ends included.
    pub planner_nodes: usize,
    /// The zero-order-hold column.
    pub held: HeldReference,
}

/// A system to learn on.
#[derive(Clone)]
pub struct Benchmark {
    /// Kebab-case name, as typed on the command line.
    pub name: Text,
    /// Shorter names that are understood too.
    pub aliases: &'static [&'static str],
    /// Name as printed in tables.
    pub title: Text,
    /// What is to be done, in one line.
    pub summary: Text,
    /// Constants of the dynamics.
    pub parameters: Vec<Parameter>,
    /// Makes the dynamics from the parameters' values.
    pub build: Build,
    /// What we want.
    pub task: Task,
    /// The control of the exploratory episode 0, u(t, x), in physical units.
    pub first_control: FirstControl,
    /// What is believed of f before any measurement, from the same parameters; none: nothing.
    pub prior: Option<Build>,
    /// How the paper (for the extra systems: the reference, or we) ran it.
    pub settings: PaperSettings,
    /// The paper's row, if it has one.
    pub published: Option<Published>,
}

/// No system has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no system '{name}'")]
pub struct UnknownSystem {
    /// What was asked for.
    pub name: String,
}

/// Why a benchmark's setting cannot be changed as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkError {
    /// No parameter has this name.
    #[error("{system} has no parameter '{name}' (it has: {known})")]
    UnknownParameter {
        /// The system.
        system: Text,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A parameter that is NaN or infinite.
    #[error("parameter '{name}' of {system} is {value}; it must be finite")]
    NotFinite {
        /// The system.
        system: Text,
        /// Which parameter.
        name: Text,
        /// Its value.
        value: f64,
    },
    /// No state or control has this name.
    #[error("{system} has no state or control '{name}' (it has: {known})")]
    UnknownQuantity {
        /// The system.
        system: Text,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No state has this name.
    #[error("{system} has no state '{name}' (it has: {known})")]
    UnknownState {
        /// The system.
        system: Text,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// f is not finite at the start: the parameters or the start leave its domain.
    #[error(
        "the dynamics of {system} are not finite at the start x = {state:?}, u = {control:?}: ẋ = {derivative:?}"
    )]
    NotFiniteAtStart {
        /// The system.
        system: Text,
        /// x(0)
        state: Vec<f64>,
        /// The safe control.
        control: Vec<f64>,
        /// f there.
        derivative: Vec<f64>,
    },
    /// The task itself is not sound.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl Benchmark {
    /// All benchmark systems, the paper's nine first.
    pub fn all() -> Vec<Benchmark> {
        BENCHMARKS.iter().map(|make| make()).collect()
    }

    /// The nine systems of the paper's Table 1, in its order.
    pub fn of_the_paper() -> Vec<Benchmark> {
        Benchmark::all().into_iter().filter(|b| b.published.is_some()).collect()
    }

    /// The system called `name`.
    pub fn find(name: &str) -> Result<Benchmark, UnknownSystem> {
        Benchmark::all()
            .into_iter()
            .find(|b| b.name == name || b.aliases.contains(&name))
            .ok_or_else(|| UnknownSystem { name: name.into() })
    }

    /// Dimensions of x and u.
    pub fn dims(&self) -> Dims {
        self.task.dims()
    }

    /// The true dynamics f*.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        let values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        (self.build)(&values)
    }

    /// What is believed of f before any measurement.
    pub fn prior_dynamics(&self) -> Option<Box<dyn Dynamics>> {
        let values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        self.prior.as_ref().map(|build| build(&values))
    }

    /// Seconds, unless nothing of the system has a unit: then its time has none either.
    pub fn time_unit(&self) -> &'static str {
        self.task.time_unit()
    }

    /// The factor between the implemented cost and what the paper's table prints.
    pub fn table_scale(&self) -> f64 {
        self.published.map_or(1.0, |p| p.scale)
    }

    /// Replaces a constant of the dynamics.
    pub fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), BenchmarkError> {
        let known = self.parameters.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
        match self.parameters.iter_mut().find(|p| p.name == name) {
            Some(parameter) => parameter.value = value,
            None => {
                return Err(BenchmarkError::UnknownParameter {
                    system: self.name.clone(),
                    name: name.into(),
                    known,
                });
            }
        }
        self.validate()
    }

    /// Replaces the limits of the state or control called `name`.
    pub fn set_limits(&mut self, name: &str, lower: f64, upper: f64) -> Result<(), BenchmarkError> {
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

    /// Replaces one coordinate of x(0).
    pub fn set_start(&mut self, name: &str, value: f64) -> Result<(), BenchmarkError> {
        let Some(i) = self.task.states.iter().position(|q| q.name == name) else {
            let known = self.task.states.iter().map(|q| q.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(BenchmarkError::UnknownState { system: self.name.clone(), name: name.into(), known });
        };
        self.task.initial_state[i] = value;
        self.validate()
    }

    /// Checks the parameters, the task, and that f is finite at the start.
    pub fn validate(&self) -> Result<(), BenchmarkError> {
        if let Some(p) = self.parameters.iter().find(|p| !p.value.is_finite()) {
            return Err(BenchmarkError::NotFinite {
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
            return Err(BenchmarkError::NotFiniteAtStart {
                system: self.name.clone(),
                state: self.task.initial_state.clone(),
                control: self.task.safe_control.clone(),
                derivative,
            });
        }
        Ok(())
    }

    fn unknown_quantity(&self, name: &str) -> BenchmarkError {
        let known = self.task.states.iter().chain(&self.task.controls);
        BenchmarkError::UnknownQuantity {
            system: self.name.clone(),
            name: name.into(),
            known: known.map(|q| q.name.as_str()).collect::<Vec<_>>().join(", "),
        }
    }
}
