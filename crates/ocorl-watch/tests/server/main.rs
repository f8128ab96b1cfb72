//! The server as strangers, pages of others, spreadsheets and slow networks meet it. Numbers like W-2 are those of the catalogue of tests
//! in the design notes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod guard;
mod hosts;
mod limits;
mod serving;
mod streaming;
mod support;
mod uploads;
