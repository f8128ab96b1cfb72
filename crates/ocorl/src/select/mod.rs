//! When to measure.
//!
//! A [`Schedule`] is a state machine that is asked while the episode runs, so that strategies that decide online work on hardware too.

mod schedule;

pub use schedule::{Purpose, Request, Schedule, Times};
