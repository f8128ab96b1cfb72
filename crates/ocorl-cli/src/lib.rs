//! The `ocorl` program: command line, progress output and exit codes around the crates `ocorl`, `ocorl-study`, `ocorl-view` and
//! `ocorl-watch`. It contains no numerical algorithms. It is a library so that the Python package can contain the program too.
//!
//! | module | responsibility |
//! |---|---|
//! | `checks` | checks before a computation starts |
//! | `choices` | options that select how to learn |
//! | `commands` | one file per command: its arguments and its answer |
//! | `errors` | error messages as text and JSON, and exit codes |
//! | `help` | the command line with its help texts |
//! | `machine` | machine and command line, stored with results |
//! | `signals` | Ctrl-C and termination signals |
//! | `sweeping` | sweeps: selection of cells, progress, summary |
//! | `table` | text tables |
//! | `terminal` | standard output, standard error, colours, width, progress |
//!
//! A command returns the text for standard output. Progress and warnings go to standard error.

mod checks;
mod choices;
mod commands;
mod errors;
mod help;
mod machine;
mod signals;
mod sweeping;
mod table;
mod terminal;

use clap::{FromArgMatches, Parser, Subcommand};
use commands::Command;
use errors::Failure;
use ocorl_study::threads::limit_threads;
use std::ffi::OsString;
use terminal::Color;

/// Help template: examples come first.
const HELP: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}";

/// Help template of the program, which fits on a small terminal.
const SHORT_HELP: &str = "\
{about}

{before-help}Commands, each explained by ocorl COMMAND --help:
{subcommands}
Also: bench, completions, man, results; -q, --json, --color, --version";

/// Printed if no command is given.
const WELCOME: &str = "\
Learns to control continuous-time systems from few measurements.

  ocorl run pendulum                      learn a built-in system
  ocorl open runs/pendulum-0              show its report in a browser
  ocorl study new lab --system pendulum   learn on hardware, episode by episode

All commands: ocorl --help
";

/// Learns to control continuous-time systems from few measurements, and computes their optimal control.
#[derive(Parser)]
#[command(name = "ocorl", version, color = clap::ColorChoice::Never, max_term_width = 100)]
#[command(help_template = SHORT_HELP, disable_help_subcommand = true)]
#[command(before_help = "\
Examples:
  ocorl run pendulum                      learn a built-in system
  ocorl study new lab --system pendulum   learn on hardware, episode by episode
  ocorl watch                             watch all studies in a browser")]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: GlobalArgs,
}

/// Options that every command accepts.
#[derive(clap::Args, Clone, Copy, Default)]
struct GlobalArgs {
    /// Print one JSON document, also for errors
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress, only the answer and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colours: auto (on terminals, unless NO_COLOR is set), always, never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    #[arg(hide_possible_values = true)]
    color: Color,
}

/// Runs the program with these arguments, of which the first is the program's name; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    machine::remember(&arguments);
    let given = arguments.get(1..).unwrap_or_default();
    // Searched by hand, because a command line that cannot be parsed is answered as JSON and in colours too.
    let json = given.iter().any(|argument| argument == "--json");
    terminal::set_color(Color::searched(given));
    if given.is_empty() {
        return terminal::finish(Ok(help::reflowed(WELCOME, terminal::width()).into()), false);
    }
    let named = || given.iter().filter_map(|a| a.to_str()).find(|a| Command::has_subcommand(a));
    let parsed = help::command(terminal::width())
        .try_get_matches_from(&arguments)
        .and_then(|matches| Program::from_arg_matches(&matches));
    let answer = match parsed {
        Ok(program) => {
            if let Some(limited) = limit_threads().filter(|_| !program.global.quiet) {
                terminal::say(&format!("warning: {limited}\n"));
            }
            commands::run(&program.command, program.global)
        }
        Err(error) if error.use_stderr() => Err(Failure::parsing(&error, named())),
        Err(help) => Ok(help.to_string().into()),
    };
    terminal::finish(answer, json)
}
