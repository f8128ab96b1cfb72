//! The `ocorl` program: words, progress and exit codes around the mathematics of the `ocorl` crate.
//!
//! | module | holds |
//! |---|---|
//! | `checks` | what is found out before the work |
//! | `choices` | how to learn, as it is said on the command line |
//! | `commands` | one file for each command: what it accepts and what it answers |
//! | `errors` | what went wrong, for people and for programs, and the exit code |
//! | `machine` | where and when, for the record of results |
//! | `signals` | the wish to stop |
//! | `sweeping` | sweeps as a person sees them |
//! | `table` | text in columns |
//! | `terminal` | standard output and standard error, progress |
//!
//! A command answers with the text for standard output; everything said on the way goes to standard error.

mod checks;
mod choices;
mod commands;
mod errors;
mod machine;
mod signals;
mod sweeping;
mod table;
mod terminal;

use clap::{Parser, Subcommand};
use commands::Command;
use errors::Failure;
use std::process::ExitCode;

/// Help leads with examples.
const HELP: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}";

/// The first page fits a small terminal.
const SHORT_HELP: &str = "\
{about}

{before-help}Commands:
{subcommands}
Options: --json (one document, errors included), -q (no progress), --version; ocorl COMMAND --help";

/// Learns to control continuous-time systems from few measurements, and finds their best control.
#[derive(Parser)]
#[command(name = "ocorl", version, color = clap::ColorChoice::Never, max_term_width = 100)]
#[command(help_template = SHORT_HELP, disable_help_subcommand = true)]
#[command(before_help = "\
Examples:
  ocorl run pendulum                      learn to swing it up, from ten measurements an episode
  ocorl study new lab --system pendulum   the same on hardware: ask, run, tell
  ocorl watch                             look at all of it, while it learns")]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    manners: Manners,
}

/// What every command understands.
#[derive(clap::Args, Clone, Copy)]
struct Manners {
    /// Answer with one JSON document, errors included
    #[arg(long, global = true)]
    json: bool,
    /// No progress, only the answer and errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

fn main() -> ExitCode {
    // Looked for by hand, because a command line that cannot be parsed is answered too.
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let named = || arguments.iter().filter_map(|a| a.to_str()).find(|a| Command::has_subcommand(a));
    let answer = match Program::try_parse() {
        Ok(program) => commands::run(&program.command, program.manners),
        Err(error) if error.use_stderr() => Err(Failure::parsing(&error, named())),
        Err(help) => Ok(help.to_string().into()),
    };
    terminal::finish(answer, json)
}
