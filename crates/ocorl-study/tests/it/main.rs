//! All tests of `ocorl-study` from outside, in one program: it is linked once.

mod control;
mod own_system;
mod study;
mod support;
