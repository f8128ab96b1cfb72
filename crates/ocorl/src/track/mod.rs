//! Policies that follow a plan, behind a ladder of fallbacks.
//!
//! | policy | law | solves online |
//! |---|---|---|
//! | [`Hold`] | u = u_k on [t_k, t_{k+1}) | no |
//! | [`Feedback`] | u = u_k + K_k (x − x̄(t)) | no |
//! | [`Sampled`] | another law at the sampling times, held in between | no |
//! | [`Dithered`] | another law, disturbed at random in each period | no |
//! | [`mpc`] | the paper's: least deviation from the plan over the next T_MPC on a model | every period |
//! | [`replan`] | least cost of the task over the rest of the horizon on a model | every period |
//!
//! The last two policies are [`Receding`] policies; they differ in the problem they pose. Whatever a solver does, the
//! control is finite, within its limits and within its rate limit ([`Ladder`]).

mod dithered;
mod feedback;
mod ladder;
mod receding;
mod reference;
mod sampled;
mod solvers;

pub use dithered::{Dither, Dithered, Periods};
pub use feedback::{Feedback, Hold};
pub use ladder::{Ladder, LadderSettings, Rung};
pub use receding::{Receding, Segment, SolveError, Solver};
pub use reference::Reference;
pub use sampled::Sampled;
pub use solvers::{MpcSettings, MpcSolver, ReplanSolver, TrackingCost, mpc, replan};
