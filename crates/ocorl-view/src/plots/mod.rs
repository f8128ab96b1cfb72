//! What the plots of the paper show, and ours: each a function from results to a [`Figure`](crate::Figure).
//!
//! | file | from | shows |
//! |---|---|---|
//! | `optimal` | baselines | the best control of a known system, or of several |
//! | `cost` | costs | cost by episode, beside what is possible |
//! | `run` | a run | cost by episode, and some of its trajectories |
//! | `strategies` | a sweep over strategies | cost above the optimum by episode |
//! | `optimism` | a sweep over strategies and planners | the same, optimistic beside greedy |
//! | `measurements` | a sweep over M | final cost by M, and by episode |
//! | `total_measurements` | a sweep over M | gap to the optimum by the number of measurements so far |
//! | `regret` | any sweep | cumulative regret with its exponent of growth |
//! | `gaps` | any sweep | how far each system ends from its optimum: Table 1 as a picture |
//! | `theory` | a sweep over strategies | regret, measurements taken and required, information gain and β |
//! | `phase` | a portrait | a trajectory coloured by what was unknown, and where it was measured |
//! | `uncertainty` | a portrait | what was unknown along the hallucinated trajectory, and the chosen times |
//! | `slices`, `field` | a portrait | what the model says, beside the truth |
//! | `calibration` | portraits | whether bands hold what they promise |
//!
//! `curves` and `naming` are shared.

mod calibration;
mod cost;
mod curves;
mod field;
mod gaps;
mod measurements;
pub(crate) mod naming;
mod optimal;
mod optimism;
mod phase;
mod regret;
mod run;
mod slices;
mod strategies;
mod theory;
mod total_measurements;
mod uncertainty;

pub use calibration::calibration;
pub use cost::{Costs, cost_curves};
pub(crate) use curves::{Curve, Middle};
pub use field::field;
pub use gaps::gaps;
pub use measurements::measurements;
pub use optimal::{one_system, several_systems};
pub use optimism::optimism;
pub use phase::phase;
pub(crate) use phase::time_axis;
pub use regret::regret;
pub use run::{Run, run_cost, run_phase};
pub use slices::slices;
pub use strategies::strategies;
pub use theory::{information, theory};
pub use total_measurements::total_measurements;
pub use uncertainty::uncertainty;
