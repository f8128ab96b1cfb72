//! The controller: faults, time, limits, lines, exports.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

mod deadline;
mod export;
mod faults;
mod fuzz;
mod learned;
mod levels;
mod session;
