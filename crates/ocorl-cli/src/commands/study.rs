//! `ocorl study`: ask, run, tell; for days, across crashes.

mod answers;
mod begin;
mod check;
mod exchange;
mod status;

use crate::Manners;
use crate::errors::Failure;
use crate::terminal::Answer;
use std::path::PathBuf;

/// What `ocorl study` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl study new lab --system pendulum     begin, in the folder lab
  ocorl study ask lab > plan.json           the next plan, and when to measure
  ocorl study tell lab measured.csv         what was measured; then ask again")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Begin a study of a system
    New(Box<begin::Arguments>),
    /// The next plan; the same one until its episode is over
    Ask(exchange::Ask),
    /// Keep what was measured
    Tell(exchange::Tell),
    /// Learn from old logs too
    Import(exchange::Import),
    /// The pending episode failed; what was measured until then counts
    Fail(exchange::Fail),
    /// An episode is not to be learned from
    Discard(exchange::Discard),
    /// What the study knows, and what is pending
    Status(status::Arguments),
    /// Look at every byte of it; save what is good of a damaged one
    Check(check::Arguments),
}

/// Where the study is.
#[derive(clap::Args)]
struct Folder {
    /// Folder of the study
    #[arg(value_name = "STUDY")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    match &arguments.verb {
        Verb::New(arguments) => begin::run(arguments, manners),
        Verb::Ask(arguments) => exchange::ask(arguments, manners),
        Verb::Tell(arguments) => exchange::tell(arguments, manners),
        Verb::Import(arguments) => exchange::import(arguments, manners),
        Verb::Fail(arguments) => exchange::fail(arguments, manners),
        Verb::Discard(arguments) => exchange::discard(arguments, manners),
        Verb::Status(arguments) => status::run(arguments, manners),
        Verb::Check(arguments) => check::run(arguments, manners),
    }
}
