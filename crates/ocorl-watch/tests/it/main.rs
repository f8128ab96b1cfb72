//! Tests of the server over real sockets: access control, limits, answers, events, uploads. Numbers like W-2 refer to the test
//! catalogue in the design notes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod guard;
mod hosts;
mod limits;
mod serving;
mod streaming;
mod support;
mod uploads;
