//! Command-line options that select how to learn, shared by `run` and `study new`.

use crate::errors::Failure;
use crate::sweeping::assignment;
use ocorl::explore::Exploration;
use ocorl::learn::{Caution, Strategy};
use ocorl_study::config::Config;
use ocorl_study::system::System;

/// Options that select how to learn.
#[derive(clap::Args)]
pub(crate) struct Choices {
    /// Measurement strategy: max-determinant, max-kernel-distance, equidistant, equidistant-growing, receding-horizon, oracle,
    /// uncertainty-trigger
    #[arg(long, value_name = "S")]
    strategy: Option<String>,
    /// Exploration: optimistic, mean, thompson, bonus, explore, weight-space, epsilon-greedy, boltzmann
    #[arg(long, value_name = "E")]
    explore: Option<String>,
    /// Caution: off (explore as fast as possible), moderate (refuse expensive plans, stop runs that leave their tube), on (also a small first
    /// excitation, and tubes within the limits of the states) [default: on with [hardware] or without [equations], else off]
    #[arg(long, value_name = "C")]
    caution: Option<String>,
    /// Number of episodes, including the exploratory one [default: the paper's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    episodes: Option<usize>,
    /// Number of measurements per episode [default: the paper's]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    measurements: Option<usize>,
    /// Settings: default, reference (those of the paper's authors' program), or a TOML file
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) settings: String,
    /// Change one setting, for example plan.intervals=100
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

/// Merges all options into one configuration; later ones override earlier ones.
pub(crate) fn config(arguments: &Choices, system: &System) -> Result<Config, Failure> {
    let strategy =
        arguments.strategy.as_deref().map(|name| known("strategy", name, &Strategy::ALL.map(Strategy::name)));
    let explore = arguments
        .explore
        .as_deref()
        .map(|name| known("exploration", name, &Exploration::ALL.map(Exploration::name)));
    let caution =
        arguments.caution.as_deref().map(|name| known("caution", name, &Caution::ALL.map(Caution::name)));
    let mut config = system.config(&arguments.settings)?;
    for (path, value) in &arguments.set {
        config.set(path, value)?;
    }
    let word = |name: &str| format!("\"{name}\"");
    for (path, value) in [
        ("strategy", strategy.transpose()?.map(word)),
        ("explore", explore.transpose()?.map(word)),
        ("caution", caution.transpose()?.map(word)),
        ("episodes", arguments.episodes.map(|n| n.to_string())),
        ("measurements", arguments.measurements.map(|m| m.to_string())),
    ] {
        if let Some(value) = value {
            config.set(path, &value)?;
        }
    }
    Ok(config.complete()?)
}

/// Checks that `name` is one of `names`.
fn known<'a>(what: &str, name: &'a str, names: &[&str]) -> Result<&'a str, Failure> {
    if names.contains(&name) {
        return Ok(name);
    }
    Err(Failure::usage(format!("no {what} '{name}' (there are: {})", names.join(", "))).suggest(
        name,
        names.iter().copied(),
        "ocorl run --help",
    ))
}
