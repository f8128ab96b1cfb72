//! The commands, one file each.

mod check;
mod control;
mod export;
mod figure;
mod list;
mod new;
mod optimal;
mod report;
mod results;
mod rig;
mod run;
mod study;
mod sweep;
mod table;
mod watch;

use crate::Manners;
use crate::errors::Failure;
use crate::terminal::Answer;
use ocorl::system::Benchmark;
use ocorl_study::system::System;

/// What can be asked.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Learn to control a system whose equations are not known
    Run(Box<run::Arguments>),
    /// Studies on real systems: ask for a plan, run it, tell what was measured
    Study(study::Arguments),
    /// A pretend laboratory: runs a plan on a simulated system
    Rig(rig::Arguments),
    /// Show the systems there are, or all about some of them
    List(list::Arguments),
    /// Write a file that describes a system of your own
    New(new::Arguments),
    /// Look over a file that describes a system
    Check(check::Arguments),
    /// A page that shows studies while they learn
    Watch(watch::Arguments),
    /// Reproduce the paper's Table 1
    Table(Box<table::Arguments>),
    /// Draw the paper's figures, and others
    Figure(Box<figure::Arguments>),
    /// One page about a study or a sweep
    Report(report::Arguments),
    /// Write the report of all studies
    Results(results::Arguments),
    /// Run every cell of a grid of systems, settings and seeds
    Sweep(Box<sweep::Arguments>),
    /// Run a plan on hardware: states in, controls out, line by line
    Control(control::Arguments),
    /// Write a plan as C or JSON, for those who run it without this program
    Export(export::Arguments),
    /// Find the best control of systems whose equations are known
    Optimal(Box<optimal::Arguments>),
}

/// The system that is called so, or that the file describes; its equations must be known.
fn known_system(name: &str) -> Result<Benchmark, Failure> {
    truth(System::find(name)?)
}

/// The equations of a system.
fn truth(system: System) -> Result<Benchmark, Failure> {
    let System { name, truth, .. } = system;
    truth.ok_or_else(|| {
        Failure::usage(format!("{name} has no equations: only its hardware can be run"))
            .detail("cause", "its file has no section [equations]")
            .hint("learn on hardware, episode by episode: ocorl study new")
    })
}

/// Carries out a command.
pub(crate) fn run(command: &Command, manners: Manners) -> Result<Answer, Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments, manners),
        Command::Study(arguments) => study::run(arguments, manners),
        Command::Rig(arguments) => rig::run(arguments, manners),
        Command::Watch(arguments) => watch::run(arguments, manners),
        Command::Table(arguments) => table::run(arguments, manners),
        Command::Figure(arguments) => figure::run(arguments, manners),
        Command::Report(arguments) => report::run(arguments, manners),
        Command::Results(arguments) => results::run(arguments, manners),
        Command::Sweep(arguments) => sweep::run(arguments, manners),
        Command::Control(arguments) => control::run(arguments, manners),
        Command::Export(arguments) => export::run(arguments, manners),
        Command::New(arguments) => new::run(arguments, manners),
        Command::Check(arguments) => check::run(arguments, manners),
        Command::List(arguments) => list::run(arguments, manners),
        Command::Optimal(arguments) => optimal::run(arguments, manners),
    }
}
