//! Learning to control unknown continuous-time systems ẋ = f(x, u) from few, costly measurements.
//!
//! The modules follow the data flow; each uses only those above it:
//!
//! | module | responsibility |
//! |---|---|
//! | [`real`], [`dual`] | number types for equations: scalar, SIMD, with derivatives |
//! | [`linalg`] | points in columns, small dense algebra |
//! | [`random`] | named random streams |
//! | [`system`] | dynamics, costs, tasks; the benchmark systems, one file each |
//! | [`simulate`] | integrators, policies, closed-loop runs with one typed outcome each |
//! | [`measurements`] | the data: states and controls with measured derivatives |
//! | [`model`] | statistical models of f: Gaussian processes with Jacobians, calibrated confidence, function samples |
//! | [`plan`] | trajectory optimisation (iLQR) for any dynamics and cost |
//! | [`explore`] | exploration: the planning problem of a model, optimistic or by another method |
//! | [`track`] | policies that follow a plan, with fallback levels |
//! | [`select`] | choice of measurement times |
//! | [`plant`] | plants on which rollouts are run |
//! | [`states`] | learning from measured states alone |
//! | [`diagnosis`] | bad rows, wrong columns and changes of the plant, judged by the evidence for a model of the data |
//! | [`theory`] | quantities of the paper's analysis |
//! | [`event`] | progress events for observers |
//! | [`learn`] | the learning loop: propose an episode, observe its results |
//! | [`baseline`] | optimal control with the true model: continuous time and zero-order hold |
//! | [`check`] | contract checks for your own dynamics, costs and models |
//! | [`prelude`] | the names that most programs need |
//!
//! # Contracts
//!
//! Invalid data return an `Err` whose message states the remedy. A violated precondition (slices of the wrong length, inconsistent
//! dimensions) panics at the public entry with both shapes. The library does not print, does not read a clock or a file, and keeps no
//! global state; equal inputs give equal bytes at any thread count.

pub mod baseline;
pub mod check;
pub mod diagnosis;
pub mod dual;
pub mod event;
pub mod explore;
pub mod learn;
pub mod linalg;
pub mod measurements;
pub mod model;
pub mod plan;
pub mod plant;
pub mod prelude;
pub mod random;
pub mod real;
pub mod select;
pub mod simulate;
pub mod states;
pub mod system;
pub mod theory;
pub mod track;

/// The code of `README.md`, compiled and run by the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
