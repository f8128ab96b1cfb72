//! How to learn, as it is said on the command line.

use crate::errors::Failure;
use crate::sweeping::assignment;
use ocorl::explore::Exploration;
use ocorl::learn::Strategy;
use ocorl_study::config::Config;
use ocorl_study::system::System;

/// How to learn.
#[derive(clap::Args)]
pub(crate) struct Choices {
    /// When to measure: max-determinant, max-kernel-distance, equidistant, equidistant-growing, receding-horizon,
    /// oracle, uncertainty-trigger
    #[arg(long, value_name = "S")]
    strategy: Option<String>,
    /// What to plan for: optimistic, mean, thompson, bonus, explore, weight-space, epsilon-greedy,
    /// boltzmann
    #[arg(long, value_name = "E")]
    explore: Option<String>,
    /// Episodes, the exploratory one included [default: the paper's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    episodes: Option<usize>,
    /// Measurements an episode [default: the paper's]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    measurements: Option<usize>,
    /// Settings: default (ours), reference (as the paper's authors' program), or a TOML file
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) settings: String,
    /// One setting, as in plan.intervals=100
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

/// Everything that was said, in the order in which it counts.
pub(crate) fn config(arguments: &Choices, system: &System) -> Result<Config, Failure> {
    let strategy =
        arguments.strategy.as_deref().map(|name| known("strategy", name, &Strategy::ALL.map(Strategy::name)));
    let explore = arguments
        .explore
        .as_deref()
        .map(|name| known("exploration", name, &Exploration::ALL.map(Exploration::name)));
    let mut config = system.config(&arguments.settings)?;
    for (path, value) in &arguments.set {
        config.set(path, value)?;
    }
    let word = |name: &str| format!("\"{name}\"");
    for (path, value) in [
        ("strategy", strategy.transpose()?.map(word)),
        ("explore", explore.transpose()?.map(word)),
        ("episodes", arguments.episodes.map(|n| n.to_string())),
        ("measurements", arguments.measurements.map(|m| m.to_string())),
    ] {
        if let Some(value) = value {
            config.set(path, &value)?;
        }
    }
    Ok(config.complete()?)
}

/// `name`, if it is one of `names`.
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
