//! The figures of the paper and further ones: each is a function from results to a [`Figure`](crate::Figure). Results are computed
//! in `ocorl-study`; drawing is elsewhere in this crate.
//!
//! | file | input | shows |
//! |---|---|---|
//! | `optimal` | baselines | the optimal control of one or several known systems |
//! | `cost` | costs | cost by episode, beside the optimum |
//! | `run` | a run | cost by episode, and some of its trajectories |
//! | `strategies` | a sweep over strategies | cost above the optimum by episode |
//! | `optimism` | a sweep over strategies and exploration | cost above the optimum, optimistic beside greedy planning |
//! | `measurements` | a sweep over M | final cost by M, and by episode |
//! | `total_measurements` | a sweep over M | gap to the optimum by the number of measurements so far |
//! | `regret` | any sweep | cumulative regret with its growth exponent |
//! | `gaps` | any sweep | final cost of each system above its optimum: Table 1 as a plot |
//! | `theory` | a sweep over strategies | regret, measurements taken and required, information gain and β |
//! | `phase` | a run snapshot | trajectory coloured by model uncertainty, with the measurements |
//! | `learning` | a run snapshot | the first episodes over time; also as an animated SVG |
//! | `uncertainty` | a run snapshot, or the stored model of an episode | model uncertainty along the plan before and after, with the measurements |
//! | `slices`, `field` | a run snapshot, or the stored model of an episode | the model beside the true dynamics |
//! | `calibration` | run snapshots | nominal and observed coverage of the model's bands |
//!
//! `curves` and `naming` are shared.

mod calibration;
mod cost;
mod curves;
mod field;
mod gaps;
mod learning;
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
pub(crate) use calibration::coverage;
pub use cost::{Costs, cost_curves};
pub(crate) use curves::{Curve, Middle};
pub use field::field;
pub use gaps::gaps;
pub use learning::{learning, learning_animated};
pub use measurements::measurements;
pub use optimal::{one_system, several_systems};
pub use optimism::optimism;
pub use phase::phase;
pub(crate) use phase::time_axis;
pub use regret::regret;
pub use run::{Run, run_cost, run_phase};
pub(crate) use slices::model_slices;
pub use slices::slices;
pub use strategies::strategies;
pub use theory::{information, theory};
pub use total_measurements::total_measurements;
pub use uncertainty::uncertainty;
pub(crate) use uncertainty::{information_panel, profiles_range, uncertainty_panel};
