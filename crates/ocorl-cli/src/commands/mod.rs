//! The commands, one file each.

mod bench;
mod check;
mod control;
mod export;
mod figure;
mod list;
mod manual;
mod new;
mod open;
mod optimal;
mod report;
mod results;
mod rig;
mod run;
mod study;
mod sweep;
mod table;
mod watch;

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, prose};
use ocorl::system::KnownSystem;
use ocorl_study::system::System;

/// The command to run.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Learn to control a system with unknown dynamics
    Run(Box<run::Arguments>),
    /// Learn on hardware: plan an episode, run it, record the measurements
    Study(study::Arguments),
    /// Run a plan on a simulated rig
    Rig(Box<rig::Arguments>),
    /// List the systems, or show some in detail
    List(list::Arguments),
    /// Write a template that describes your own system
    New(new::Arguments),
    /// Check a file that describes a system
    Check(check::Arguments),
    /// Serve a web page that shows studies while they learn
    Watch(watch::Arguments),
    /// Reproduce the paper's Table 1
    Table(Box<table::Arguments>),
    /// Draw the figures of the paper, and others
    Figure(Box<figure::Arguments>),
    /// Write an HTML report of a study or a sweep
    Report(report::Arguments),
    /// Show the report of a study or a sweep in a browser
    Open(open::Arguments),
    /// Write the report of all studies
    #[command(hide = true)]
    Results(results::Arguments),
    /// Run a grid of systems, settings and seeds
    Sweep(Box<sweep::Arguments>),
    /// Run a plan on hardware: reads states, writes controls
    Control(control::Arguments),
    /// Write a plan as C or JSON, for use without this program
    Export(export::Arguments),
    /// Compute the optimal control of systems with known dynamics
    Optimal(Box<optimal::Arguments>),
    /// Measure speed in ratios that compare between machines
    #[command(hide = true)]
    Bench(bench::Arguments),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(manual::Completions),
    /// Write the manual pages
    #[command(hide = true)]
    Man(manual::Pages),
}

/// The system with this name, or the one that the file describes; its dynamics must be known.
fn known_system(name: &str) -> Result<KnownSystem, Failure> {
    truth(System::find(name)?)
}

/// The known dynamics of a system.
fn truth(system: System) -> Result<KnownSystem, Failure> {
    let System { name, truth, .. } = system;
    truth.ok_or_else(|| {
        Failure::usage(format!("{name} has no equations: it can only be run on hardware"))
            .detail("cause", "its file has no section [equations]")
            .hint("learn on hardware, episode by episode: ocorl study new")
    })
}

/// Runs a command.
pub(crate) fn run(command: &Command, global: GlobalArgs) -> Result<Answer, Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments, global),
        Command::Study(arguments) => study::run(arguments, global).map(|answer| fitted(answer, global)),
        Command::Rig(arguments) => rig::run(arguments, global),
        Command::Watch(arguments) => watch::run(arguments, global),
        Command::Table(arguments) => table::run(arguments, global),
        Command::Figure(arguments) => figure::run(arguments, global),
        Command::Report(arguments) => report::run(arguments, global),
        Command::Results(arguments) => results::run(arguments, global),
        Command::Sweep(arguments) => sweep::run(arguments, global),
        Command::Control(arguments) => control::run(arguments, global),
        Command::Export(arguments) => export::run(arguments, global),
        Command::New(arguments) => new::run(arguments, global),
        Command::Check(arguments) => check::run(arguments, global),
        Command::List(arguments) => list::run(arguments, global),
        Command::Optimal(arguments) => optimal::run(arguments, global),
        Command::Open(arguments) => open::run(arguments, global),
        Command::Bench(arguments) => bench::run(arguments, global),
        Command::Completions(arguments) => Ok(manual::completions(arguments)),
        Command::Man(arguments) => manual::pages(arguments, global),
    }
}

/// An answer in lines that fit; documents are left as they are.
fn fitted(answer: Answer, global: GlobalArgs) -> Answer {
    if global.json || answer.text.starts_with('{') {
        return answer;
    }
    Answer { text: prose(answer.text), ..answer }
}
