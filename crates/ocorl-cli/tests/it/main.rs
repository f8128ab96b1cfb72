//! All tests of the program, in one program: it is linked once.

mod control;
mod own;
mod paper;
mod program;
mod report;
mod run;
mod study;
#[path = "../../../ocorl-study/tests/it/support/mod.rs"]
mod support;
mod sweep;
mod terminal;
mod watch;
