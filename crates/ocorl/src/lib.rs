//! Learning to control unknown continuous-time systems ẋ = f(x, u) from few, costly measurements.
//!
//! The modules are the data flow, each using only those above it:
//!
//! | module | holds |
//! |---|---|
//! | [`real`], [`dual`] | the numbers equations are written in: single, several at once, with derivatives |
//! | [`linalg`] | points in columns, small dense algebra |
//! | [`random`] | named random streams |
//! | [`system`] | dynamics, costs, tasks; the benchmark systems, one file each |
//! | [`expression`] | equations and costs as text, with exact derivatives |
//! | [`simulate`] | integrators, policies, closed-loop runs with one typed outcome each |
//! | [`measurements`] | the data: states and controls with measured derivatives |
//! | [`model`] | what is known of f: Gaussian processes with Jacobians, calibrated confidence, function samples |
//! | [`plan`] | iLQR over any dynamics and cost |
//! | [`explore`] | what a model lets one plan for: optimism and its rivals |
//! | [`track`] | policies that follow a plan, behind a ladder of fallbacks |
//! | [`select`] | when to measure |
//! | [`plant`] | what can be run |
//! | [`states`] | learning from measured states alone |
//! | [`theory`] | the numbers of the paper's analysis |
//! | [`event`] | what happened, for whoever watches |
//! | [`learn`] | the loop: propose an episode, observe what it gave |
//! | [`baseline`] | what is attainable with the true model: best continuous control, best zero-order hold |
//! | [`check`] | contract checks for your own dynamics, costs and models |
//!
//! # Contracts
//!
//! Bad data give an `Err` that says what to do. A broken contract of a function (slices of the wrong length,
//! dimensions that do not fit) panics at the public entry with both shapes. Nothing here prints, reads a clock
//! or a file, or keeps global state; equal inputs give equal bytes at any thread count.

pub mod baseline;
pub mod check;
pub mod dual;
pub mod event;
pub mod explore;
pub mod expression;
pub mod learn;
pub mod linalg;
pub mod measurements;
pub mod model;
pub mod plan;
pub mod plant;
pub mod random;
pub mod real;
pub mod select;
pub mod simulate;
pub mod states;
pub mod system;
pub mod theory;
pub mod track;
