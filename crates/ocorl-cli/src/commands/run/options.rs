//! What `ocorl run` accepts, and what its options come to.

use crate::errors::Failure;
use crate::sweeping::assignment;
use ocorl::explore::Exploration;
use ocorl::learn::{Settings, Strategy, Time};
use ocorl::system::Benchmark;
use ocorl_study::config::Config;
use std::path::PathBuf;

/// What `ocorl run` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl run pendulum                                  learn to swing it up, into runs/pendulum-0
  ocorl run bicycle --strategy equidistant --seed 3   measured at even times, with other noise
  ocorl run cart-pole --set model.kernel=matern-5/2 --set plan.intervals=100")]
pub(crate) struct Arguments {
    /// A system by name; see: ocorl list
    #[arg(value_name = "SYSTEM")]
    pub(super) system: String,
    /// When to measure: max-determinant, max-kernel-distance, equidistant, equidistant-growing, receding-horizon,
    /// oracle, uncertainty-trigger
    #[arg(long, value_name = "S")]
    strategy: Option<String>,
    /// What to plan for: optimistic, mean, thompson, bonus, explore
    #[arg(long, value_name = "E")]
    explore: Option<String>,
    /// Episodes, the exploratory one included [default: the paper's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    episodes: Option<usize>,
    /// Measurements an episode [default: the paper's]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    measurements: Option<usize>,
    /// Seed of everything random
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(super) seed: u64,
    /// Threads; they do not change the answer [default: all processors]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) threads: Option<usize>,
    /// Folder for the results [default: runs/SYSTEM-SEED]
    #[arg(long, value_name = "DIR", conflicts_with = "no_save")]
    out: Option<PathBuf>,
    /// Write no files
    #[arg(long)]
    no_save: bool,
    /// Settings: default (ours), reference (as the paper's authors' program), or a TOML file
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) settings: String,
    /// One setting, as in plan.intervals=100
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Print all settings as TOML, and end
    #[arg(long)]
    pub(super) print_config: bool,
}

/// Everything that was said, in the order in which it counts.
pub(super) fn config(arguments: &Arguments, b: &Benchmark) -> Result<Config, Failure> {
    let strategy =
        arguments.strategy.as_deref().map(|name| known("strategy", name, &Strategy::ALL.map(Strategy::name)));
    let explore = arguments
        .explore
        .as_deref()
        .map(|name| known("exploration", name, &Exploration::ALL.map(Exploration::name)));
    let mut config = Config::new(b)?;
    config.load(&arguments.settings)?;
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
    // Where controls change is where it is measured: if nobody asked for anything else, by the clock.
    if config.settings.time == Time::Discrete && !config.is_set("strategy") {
        config.set("strategy", &word(Strategy::Equidistant.name()))?;
    }
    Ok(config)
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

/// Where the results go; the name says what is not as usual.
pub(super) fn folder(arguments: &Arguments, b: &Benchmark, settings: &Settings) -> Option<PathBuf> {
    if arguments.no_save {
        return None;
    }
    let usual = Settings::for_benchmark(b);
    let mut name = vec![b.name];
    if arguments.settings == "reference" {
        name.push("reference");
    }
    if settings.strategy != usual.strategy {
        name.push(settings.strategy.name());
    }
    if settings.explore != usual.explore {
        name.push(settings.explore.name());
    }
    if settings.time != usual.time {
        name.push(settings.time.name());
    }
    let name = format!("{}-{}", name.join("-"), arguments.seed);
    Some(arguments.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(name)))
}
