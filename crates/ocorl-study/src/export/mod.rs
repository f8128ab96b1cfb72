//! Exports of a plan for controllers that run without this program: JSON and C99.
//!
//! Both implement [`Follower`](ocorl::track::Follower) without a solver; the C code reproduces it bit for bit.

mod c99;
mod gain_table;

pub use c99::{Source, c99};
pub use gain_table::gain_table;
