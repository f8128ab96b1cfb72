//! The commands, one file each.

mod list;
mod optimal;
mod run;
mod sweep;

use crate::Manners;
use crate::errors::Failure;
use crate::terminal::Answer;

pub(crate) use list::time_unit;

/// What can be asked.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Learn to control a system whose equations are not known
    Run(Box<run::Arguments>),
    /// Show the systems there are, or all about some of them
    List(list::Arguments),
    /// Run every cell of a grid of systems, settings and seeds
    Sweep(Box<sweep::Arguments>),
    /// Find the best control of systems whose equations are known
    Optimal(Box<optimal::Arguments>),
}

/// Carries out a command.
pub(crate) fn run(command: &Command, manners: Manners) -> Result<Answer, Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments, manners),
        Command::Sweep(arguments) => sweep::run(arguments, manners),
        Command::List(arguments) => list::run(arguments, manners),
        Command::Optimal(arguments) => optimal::run(arguments, manners),
    }
}
