//! The learning loop of the paper: propose an episode, run it, observe its results.
//!
//! | paper | code |
//! |---|---|
//! | for n = 1, …, N | [`EpisodeLoop`]: ask a [`Journal`], run on a [`Plant`](crate::plant::Plant), tell the journal |
//! | πₙ, Sₙ = argmin over policies and plausible models | [`Learner::propose`] |
//! | Dₙ ← Sim(πₙ, Sₙ) | [`Plant::run`](crate::plant::Plant::run), which the learner cannot reach |
//! | (μₙ, σₙ, βₙ) ← D₁:ₙ | [`Learner::observe`] |
//! | r_n, R_N, I_N, γ, Γ_n, Δ_n | [`Evaluator`]: has access to the true system, outside the loop |
//!
//! | file | responsibility |
//! |---|---|
//! | `settings` | every setting with its default |
//! | `episode_loop` | ask, run, tell: the one loop over episodes |
//! | `learner` | proposal of episodes, learning from their results |
//! | `builder` | a learner with the caller's own parts |
//! | `checkpoint` | storing and restoring the learner |
//! | `planning` | the searches that make the plan of an episode |
//! | `weight_search` | plans over constant weights of a linear kernel |
//! | `following` | the policy that follows the plan |
//! | `screening` | which rows are learned from: outliers, wrong columns, changes of the plant |
//! | `setback` | planning after a run that ended early |
//! | `tube` | the tube of a plan, the trust in the model, the growth of the first excitation |
//! | `dithering` | random disturbances of the control, for ε-greedy and Boltzmann exploration |
//! | `timing` | the schedule of the measurements |
//! | `discrete` | the discrete-time variant, with its equations |
//! | `clock` | holds of unequal length for the planner |
//! | `evaluator` | evaluation of an episode on the true system |
//! | `trial` | a benchmark learned in simulation, from the first episode to the last |
//!
//! Left out on purpose: storage on disk, communication with hardware, and all output; other crates provide them.

mod analysis;
mod builder;
mod caution;
mod checkpoint;
mod clock;
mod discrete;
mod discrete_analysis;
mod dithering;
mod episode_loop;
mod evaluator;
mod following;
mod learner;
mod planning;
mod rehearsal;
mod screening;
mod setback;
mod settings;
mod spacing;
mod thinning;
mod timing;
mod trial;
mod tube;
mod weight_search;

pub use analysis::Theory;
pub use builder::{LearnerBuilder, MakePolicy, MakeSchedule, PlanContext};
pub use checkpoint::{Checkpoint, PlanSource};
pub use discrete_analysis::DiscreteTheory;
pub use episode_loop::{EpisodeLoop, EpisodeRun, Journal};
pub use evaluator::{Episode, Evaluator, Record};
pub use learner::{LearnError, Learner, PlannedRollout, Proposal};
pub use screening::{Diagnosis, Screening, TrustedRow};
pub use setback::Setback;
pub use settings::{
    Caution, ConfidenceName, DiscreteSettings, DitherSettings, Excitation, Hallucinate, HoldGrid, HoldRule,
    IntegratorName, IntervalLimit, ModelKind, ModelSettings, PlanSettings, SelectSettings, Settings,
    SettingsError, Strategy, Time, TrackSettings, TrackerName,
};
pub use trial::Trial;
pub use tube::Trust;

pub use crate::model::kernels::{KernelExpression, KernelName};
pub use crate::plant::MeasurementKind;
pub use crate::system::FirstControl;
