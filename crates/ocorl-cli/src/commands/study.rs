//! `ocorl study`: learning on hardware, one episode at a time, over days and across crashes.

mod answers;
mod begin;
mod check;
mod exchange;
mod predict;
mod select;
mod status;

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, say};
use ocorl_study::study::Study;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `ocorl study`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl study new lab --system pendulum     create a study in the folder lab
  ocorl study ask lab > plan.json           plan the next episode and its measurement times
  ocorl study tell lab measured.csv         record the measurements; then ask again")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Create a study of a system
    New(Box<begin::Arguments>),
    /// Plan the next episode; prints the same plan until it is recorded
    Ask(exchange::Ask),
    /// Record measurements
    Tell(exchange::Tell),
    /// Record measurements from earlier logs
    Import(exchange::Import),
    /// Mark the pending episode as failed; its measurements count
    Fail(exchange::Fail),
    /// Exclude an episode from learning
    Discard(exchange::Discard),
    /// Compare predictions of the learned model with recordings
    Predict(predict::Arguments),
    /// Exclude single measurements of an episode from learning
    Exclude(select::Arguments),
    /// Learn from single measurements, whatever the model says about them
    Include(select::Arguments),
    /// Show the episodes, and what is pending
    Status(status::Arguments),
    /// Verify every byte of a study; save the intact records of a damaged one
    Check(check::Arguments),
}

/// The folder of a study.
#[derive(clap::Args)]
struct Folder {
    /// Folder of the study
    #[arg(value_name = "STUDY")]
    folder: PathBuf,
}

/// The folder of a study that is written to.
#[derive(clap::Args)]
struct Writing {
    #[command(flatten)]
    at: Folder,
    /// Wait up to this time while another process writes to the study
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds)]
    wait: f64,
}

/// A time to wait.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (0.0..=1e6).contains(&seconds) { Ok(seconds) } else { Err("it must be between 0 and 1000000".into()) }
}

impl Writing {
    /// Opens the study for continuing it, and says what a writer that died has left behind.
    fn open(&self, global: GlobalArgs) -> Result<Study, Failure> {
        let study = Study::open_within(&self.at.folder, Duration::from_secs_f64(self.wait))?;
        interrupted(&study, global);
        Ok(study)
    }
}

/// Says what a writer that died has left behind.
fn interrupted(study: &Study, global: GlobalArgs) {
    if let Some(interruption) = study.store().interruption().filter(|_| !global.quiet) {
        say(&format!("warning: {interruption}\n"));
    }
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    match &arguments.verb {
        Verb::New(arguments) => begin::run(arguments, global),
        Verb::Ask(arguments) => exchange::ask(arguments, global),
        Verb::Tell(arguments) => exchange::tell(arguments, global),
        Verb::Import(arguments) => exchange::import(arguments, global),
        Verb::Fail(arguments) => exchange::fail(arguments, global),
        Verb::Discard(arguments) => exchange::discard(arguments, global),
        Verb::Predict(arguments) => predict::run(arguments, global),
        Verb::Exclude(arguments) => select::run(arguments, global, false),
        Verb::Include(arguments) => select::run(arguments, global, true),
        Verb::Status(arguments) => status::run(arguments, global),
        Verb::Check(arguments) => check::run(arguments, global),
    }
}
