//! A plan for those who run it without us.
//!
//! Both forms do what [`Controller`](crate::control::Controller) does without a solver.

mod c99;
mod gain_table;

pub use c99::{Source, c99};
pub use gain_table::gain_table;
