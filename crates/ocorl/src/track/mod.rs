//! Policies that follow a plan, with fallback levels.
//!
//! | policy | control law | solves online |
//! |---|---|---|
//! | [`Hold`] | u = u_k on [t_k, t_{k+1}) | no |
//! | [`Feedback`] | u = u_k + K_k (x − x̄(t)) | no |
//! | [`Sampled`] | another policy at the sampling times, held in between | no |
//! | [`Observed`] | another policy at the estimate of a [`StateObserver`], held in between | no |
//! | [`Dithered`] | another policy, disturbed at random in each period | no |
//! | [`mpc`] | the paper's: minimal deviation from the plan over the next T_MPC on a model | every period |
//! | [`replan`] | minimal cost of the task over the remaining horizon on a model | every period |
//!
//! The last two are [`Receding`] policies, which differ in the problem they pose. The [`Follower`] alone selects the control when a solve
//! fails, a state is missing or a time stamp is wrong. Simulations, the real-time controller and the Python controller run it, and it is
//! the specification of the exported C code. Every control then passes the one [`FallbackGuard`]: it is finite and obeys limits and rate
//! limit.
//!
//! The follower compares every measured state with the limits of the states and with the tube of the plan ([`Monitor`]). A crossing is
//! latched: the [`Backup`](crate::system::Backup) controller, or the safe control, then replaces the plan until the end of the run.
//!
//! Left out on purpose: threads, time budgets and communication with the plant.

mod dithered;
mod feedback;
mod follower;
mod foresight;
mod guard;
mod monitor;
mod observer;
mod receding;
mod reference;
mod sampled;
mod soft_limits;
mod solvers;

pub use dithered::{Dither, Dithered, Periods};
pub use feedback::{Feedback, Hold};
pub use follower::{FallbackReason, Follower, Solve, SolveAttempt, SolveError, SolveRequest, Status};
pub use foresight::Foresight;
pub use guard::{FallbackGuard, FallbackLevel, FallbackSettings, MAX_DROPOUTS, MAX_FALLBACKS, MAX_PERIODS};
pub use monitor::{Brake, Crossing, FILTER, Finding, Monitor, PATIENCE, RETURN, ROUNDING};
pub use observer::{Observed, StateObserver};
pub use receding::{NoSolver, Receding, Solver};
pub use reference::Reference;
pub use sampled::{Sampled, held, rate_limited};
pub use solvers::{MpcSettings, MpcSolver, ReplanSolver, TrackingCost, mpc, replan};
