//! `ocorl study`: learning on hardware, one episode at a time, over days and across crashes.

mod answers;
mod begin;
mod check;
mod exchange;
mod status;

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::Answer;
use std::path::PathBuf;

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

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    match &arguments.verb {
        Verb::New(arguments) => begin::run(arguments, global),
        Verb::Ask(arguments) => exchange::ask(arguments, global),
        Verb::Tell(arguments) => exchange::tell(arguments, global),
        Verb::Import(arguments) => exchange::import(arguments, global),
        Verb::Fail(arguments) => exchange::fail(arguments, global),
        Verb::Discard(arguments) => exchange::discard(arguments, global),
        Verb::Status(arguments) => status::run(arguments, global),
        Verb::Check(arguments) => check::run(arguments, global),
    }
}
