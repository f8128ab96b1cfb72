//! The `ocorl` program: command line, progress output and exit codes around the crates `ocorl`, `ocorl-study`, `ocorl-view` and
//! `ocorl-watch`. It contains no numerical algorithms.
//!
//! | module | responsibility |
//! |---|---|
//! | `checks` | checks before a computation starts |
//! | `choices` | options that select how to learn |
//! | `commands` | one file per command: its arguments and its answer |
//! | `errors` | error messages as text and JSON, and exit codes |
//! | `machine` | machine and command line, stored with results |
//! | `signals` | Ctrl-C and termination signals |
//! | `sweeping` | sweeps: selection of cells, progress, summary |
//! | `table` | text tables |
//! | `terminal` | standard output, standard error, progress |
//!
//! A command returns the text for standard output. Progress and warnings go to standard error.

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

/// Help template: examples come first.
const HELP: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}";

/// Short help, which fits on a small terminal.
const SHORT_HELP: &str = "\
{about}

{before-help}Commands:
{subcommands}
Options: --json (one document, errors included), -q (no progress), --version; ocorl COMMAND --help";

/// Learns to control continuous-time systems from few measurements, and computes their optimal control.
#[derive(Parser)]
#[command(name = "ocorl", version, color = clap::ColorChoice::Never, max_term_width = 100)]
#[command(help_template = SHORT_HELP, disable_help_subcommand = true)]
#[command(before_help = "\
Examples:
  ocorl run pendulum                      learn a swing-up from ten measurements per episode
  ocorl study new lab --system pendulum   learn on hardware, one episode at a time
  ocorl watch                             watch all studies in a browser")]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: GlobalArgs,
}

/// Options that every command accepts.
#[derive(clap::Args, Clone, Copy)]
struct GlobalArgs {
    /// Print one JSON document, also for errors
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress, only the answer and errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

fn main() -> ExitCode {
    // Searched by hand, because a command line that cannot be parsed is answered as JSON too.
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let named = || arguments.iter().filter_map(|a| a.to_str()).find(|a| Command::has_subcommand(a));
    let answer = match Program::try_parse() {
        Ok(program) => commands::run(&program.command, program.global),
        Err(error) if error.use_stderr() => Err(Failure::parsing(&error, named())),
        Err(help) => Ok(help.to_string().into()),
    };
    terminal::finish(answer, json)
}
