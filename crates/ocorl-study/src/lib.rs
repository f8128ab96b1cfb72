//! Studies: what is run, kept and summed up around the mathematics of the `ocorl` crate.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the settings of a run: defaults, shipped files, a file, single values; every mistake with its place |
//! | [`cell`] | one run as plain data in and plain bytes out |
//! | [`grid`] | which cells a sweep has |
//! | [`studies`] | the grids that come with the program |
//! | [`threads`] | cells on threads: panics, budgets |
//! | [`sweep`] | a sweep on disk, which goes on after any stop |
//! | [`results`] | what a sweep gave, as tidy files |
//! | [`progress`] | learning progress: what the episodes before the last one cost |
//! | [`claims`] | the paper's claims, each with a verdict from the results |
//! | [`report`] | all studies in words |
//! | [`table1`] | Table 1 of the paper beside ours |
//! | [`portrait`] | one run looked at closely, with the model before each episode |
//! | [`system`] | what is to be learned: a system that comes with the program, or one of somebody's own |
//! | [`control`] | the controller in real time: budget, fallbacks, limits, watchdog |
//! | [`export`] | a plan for those who run it without us: JSON, C99 |
//! | [`plan_file`] | `plan.json`: what leaves for the hardware |
//! | [`study`] | ask, run, tell: a learner with a memory that survives |
//! | [`measured`] | files of measurements |
//! | [`simulated`] | a study of a simulated system, judged by who knows the truth |
//! | [`rig`] | a pretend laboratory that runs `plan.json` |
//! | [`trace`] | what was seen of an episode beside what was told of it |
//! | [`run`] | one run from its first episode to its last, and how it is told |
//! | [`event_file`] | numbers for TensorBoard |
//! | [`live`] | what a process at work tells about itself |
//! | [`price`] | what measuring costs |
//! | [`store`] | memory that survives: events in SQLite, chained by checksums |
//! | [`known`] | what is possible with the true model |
//! | [`estimate`], [`statistics`], [`tidy`], [`files`], [`mistake`] | smaller things |
//!
//! Nothing here draws or prints.

pub mod cell;
pub mod claims;
pub mod clock;
pub mod config;
pub mod control;
pub mod estimate;
pub mod event_file;
pub mod export;
pub mod files;
pub mod grid;
pub mod known;
pub mod live;
pub mod measured;
pub mod mistake;
pub mod plan_file;
pub mod portrait;
pub mod price;
pub mod progress;
mod prose;
pub mod report;
pub mod results;
pub mod rig;
pub mod run;
pub mod simulated;
pub mod statistics;
pub mod store;
pub mod studies;
pub mod study;
pub mod sweep;
pub mod system;
pub mod table1;
#[cfg(test)]
mod testing;
pub mod threads;
pub mod tidy;
pub mod trace;
