//! All tests of `ocorl-study` from outside, in one program: it is linked once.

mod constraints;
mod control;
mod corpora;
mod own_system;
#[cfg(target_os = "linux")]
mod simulation;
mod study;
mod support;
