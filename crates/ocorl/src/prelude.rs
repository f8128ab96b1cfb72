//! The names that most programs use: `use ocorl::prelude::*;`
//!
//! It contains the traits to implement ([`Dynamics`], [`VectorField`], [`Cost`], [`StatisticalModel`], [`Explore`], [`Schedule`],
//! [`Policy`], [`Plant`], [`Observer`]), the data they exchange ([`Points`], [`Blocks`], [`Linearization`], [`Quadratization`],
//! [`Measurements`]), and the main types. [`Settings`] are those of the learner; those of the planner and of the model are in
//! [`plan`](crate::plan) and [`model`](crate::model).
//!
//! ```
//! use ocorl::prelude::*;
//!
//! let pendulum = Benchmark::find("pendulum")?;
//! let times = uniform_grid(pendulum.task.horizon, 50);
//! let problem = Problem::of(&pendulum.task, &times);
//! let start = Start::constant(&[0.0], 50);
//! let plan = Ilqr::default().plan(pendulum.dynamics().as_mut(), &problem, start.guess())?;
//! assert!(plan.cost > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::event::{Event, Observer, Watch};
pub use crate::explore::{Exploration, Explore, PlanningProblem};
pub use crate::learn::{
    Evaluator, FirstControl, Learner, LearnerBuilder, PlanContext, Proposal, Settings, Strategy, Trial,
};
pub use crate::linalg::{Blocks, Dims, Linearization, Points, Quadratization};
pub use crate::measurements::Measurements;
pub use crate::model::{
    Ensemble, GaussianProcess, Mean, ModelError, Physics, Posterior, Query, StatisticalModel,
};
pub use crate::plan::{
    Guess, Ilqr, PathConstraints, Plan, PlanError, Problem, Start, Transcription, best_of, uniform_grid,
};
pub use crate::plant::{Plant, Reading, Rollout, RolloutResult, SimulatedPlant};
pub use crate::random::{Rng, Stream};
pub use crate::real::Real;
pub use crate::select::{Purpose, Request, Schedule, Times, equidistant};
pub use crate::simulate::{
    Experiment, Integrator, Law, Outcome, Policy, PolicyError, Run, Simulator, Trajectory,
};
pub use crate::system::{
    Benchmark, Bounds, Constraint, Constraints, Cost, Dynamics, ExactJacobian, Extent, FunctionConstraints,
    KnownSystem, NumericJacobian, QuadraticCost, Quantity, Task, VectorField,
};
pub use crate::track::Reference;
