//! Studies: running, recording and evaluating experiments with the algorithms of the `ocorl` crate.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the settings of a run: defaults, shipped files, a file, single values; errors carry their position |
//! | [`cell`] | one run of a sweep, with plain data in and plain bytes out |
//! | [`grid`] | the set of cells of a sweep |
//! | [`studies`] | the grids shipped with the program |
//! | [`threads`] | runs cells on threads and handles panics and time budgets |
//! | [`sweep`] | a sweep on disk, which can be resumed after any interruption |
//! | [`results`] | the results of a sweep as tidy files |
//! | [`progress`] | learning progress: the costs of all episodes, not only the last |
//! | [`table1`] | Table 1 of the paper with the results of this program |
//! | [`run_snapshot`] | one run in detail, with the model before each episode |
//! | [`system`] | the system to be learned: shipped with the program, or described by a user's file |
//! | [`control`] | the real-time controller: time budget, fallback levels, limits, watchdog |
//! | [`export`] | exports of a plan for other programs: JSON, C99 |
//! | [`plan_file`] | `plan.json`: the plan of an episode for the hardware |
//! | [`study`] | a persistent learner with the ask/tell interface |
//! | [`measured`] | measurement files |
//! | [`study_loop`] | the episode loop over a study, with live progress |
//! | [`simulated`] | a study of a simulated system, evaluated against the true dynamics |
//! | [`planned_episodes`] | a journal of episodes that already have plans |
//! | [`rig`] | a simulated rig that runs `plan.json` |
//! | [`field`] | the learned vector field of a system with two states |
//! | [`episode_model`] | what plots show of the model around an episode: predictions, uncertainty, slices |
//! | [`trace`] | additional data of an episode: durations, trajectories, controller performance |
//! | [`run`] | one run from its first episode to its last, and its text output |
//! | [`event_file`] | scalars for TensorBoard |
//! | [`live`] | progress of a running process, for observers in other processes |
//! | [`price`] | prices of episodes and measurements, and the budget |
//! | [`store`] | persistent storage: an append-only event log in SQLite, chained by checksums |
//! | [`known`] | reference costs with known dynamics |
//! | [`estimate`], [`statistics`], [`tidy`], [`files`], [`user_error`] | estimates, statistics, tables, files, user errors |
//! | [`testing`] | synthetic results, for tests |
//!
//! Nothing here draws or prints; that is left to the view crate and the front ends.

pub mod cell;
pub mod clock;
pub mod config;
pub mod control;
pub mod episode_model;
pub mod estimate;
pub mod event_file;
pub mod export;
pub mod field;
pub mod files;
pub mod grid;
pub mod known;
pub mod live;
pub mod measured;
pub mod plan_file;
pub mod planned_episodes;
pub mod predict;
pub mod price;
pub mod progress;
pub mod results;
pub mod rig;
pub mod run;
pub mod run_snapshot;
pub mod simulated;
pub mod statistics;
pub mod store;
pub mod studies;
pub mod study;
pub mod study_loop;
pub mod sweep;
pub mod system;
pub mod table1;
pub mod testing;
pub mod threads;
pub mod tidy;
pub mod trace;
pub mod user_error;
