//! The loop of the paper: propose an episode, observe what it gave.
//!
//! | paper | code |
//! |---|---|
//! | πₙ, Sₙ = argmin over policies and plausible models | [`Learner::propose`] |
//! | Dₙ ← Sim(πₙ, Sₙ) | a [`Plant`](crate::plant::Plant), which the learner cannot reach |
//! | (μₙ, σₙ, βₙ) ← D₁:ₙ | [`Learner::observe`] |
//! | r_n, R_N, I_N, γ, Γ_n, Δ_n | [`Judge`]: who knows the truth and looks on |
//!
//! | file | holds |
//! |---|---|
//! | `settings` | every setting with its default |
//! | `learner` | the loop |
//! | `memory` | the learner made again from what was written down of it |
//! | `planning` | which searches make the plan of an episode |
//! | `weight_search` | plans over constant weights of a linear kernel |
//! | `following` | the policy that follows it |
//! | `setback` | what is planned after a run that ended early |
//! | `dithering` | random disturbances of it, for ε-greedy and Boltzmann exploration |
//! | `timing` | the schedule of its measurements |
//! | `discrete` | the variant in discrete time, with its equations |
//! | `clock` | holds of different lengths for the planner |
//! | `judge` | what an episode was worth, with the truth at hand |
//! | `trial` | a benchmark learned in simulation, from nothing to the last episode |

mod analysis;
mod clock;
mod discrete;
mod discrete_analysis;
mod dithering;
mod following;
mod judge;
mod learner;
mod memory;
mod planning;
mod setback;
mod settings;
mod spacing;
mod timing;
mod trial;
mod weight_search;

pub use analysis::Theory;
pub use discrete_analysis::DiscreteTheory;
pub use judge::{Judge, Record};
pub use learner::{Intention, LearnError, Learner, Proposal};
pub use memory::{Followed, Memory, RememberedPlan};
pub use setback::Setback;
pub use settings::{
    ConfidenceName, DiscreteSettings, DitherSettings, Excitation, Hallucinate, HoldGrid, HoldRule,
    IntegratorName, IntervalLimit, ModelKind, ModelSettings, Observed, PlanSettings, SelectSettings,
    Settings, SettingsError, Strategy, Time, TrackSettings, TrackerName,
};
pub use trial::{Episode, Trial};

pub use crate::model::kernels::{KernelExpression, KernelName};
pub use crate::system::FirstControl;
