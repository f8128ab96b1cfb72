//! The controller: faults, time, limits, lines, exports.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

#[path = "../support/mod.rs"]
mod support;

mod deadline;
mod export;
mod faults;
mod ladder;
mod session;
