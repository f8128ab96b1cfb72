//! The arguments of `ocorl run`, and what follows from them.

use crate::choices::Choices;
use ocorl::learn::Settings;
use ocorl::system::KnownSystem;
use std::path::PathBuf;

/// Arguments of `ocorl run`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl run pendulum                                  learn a swing-up, into runs/pendulum-0
  ocorl run bicycle --strategy equidistant --seed 3   measure at equidistant times, with another seed
  ocorl run cart-pole --set model.kernel=matern-5/2 --set plan.intervals=100")]
pub(crate) struct Arguments {
    /// Name of a system (see: ocorl list), or a file that describes one (see: ocorl new)
    #[arg(value_name = "SYSTEM")]
    pub(super) system: String,
    #[command(flatten)]
    pub(super) choices: Choices,
    /// Random seed
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(super) seed: u64,
    /// Number of threads; results do not depend on it [default: number of processors]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) threads: Option<usize>,
    /// Folder for the results [default: runs/SYSTEM-SEED]
    #[arg(long, value_name = "DIR", conflicts_with = "no_save")]
    out: Option<PathBuf>,
    /// Write no files
    #[arg(long)]
    no_save: bool,
    /// Also log every episode for a tracker, into the same folder
    #[arg(long, value_name = "TRACKER", conflicts_with = "no_save")]
    pub(super) log: Option<Tracker>,
    #[command(flatten)]
    picture: Picture,
    /// Print all settings as TOML, and exit
    #[arg(long)]
    pub(super) print_config: bool,
}

/// A tracker that logs every episode.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Tracker {
    /// TensorBoard event files, in the subfolder tensorboard/
    Tensorboard,
}

/// Whether to show the live display.
#[derive(clap::Args)]
struct Picture {
    /// Show a live display [default: on terminals of at least 60 columns and 16 rows]
    #[arg(long, conflicts_with = "no_live")]
    live: bool,
    /// Show one progress line instead
    #[arg(long)]
    no_live: bool,
}

impl Arguments {
    /// Whether the output folder was left to the program.
    pub(super) fn is_free(&self) -> bool {
        self.out.is_none()
    }

    /// Whether to show the live display, if the user has decided.
    pub(super) fn picture(&self) -> Option<bool> {
        if self.picture.live { Some(true) } else { self.picture.no_live.then_some(false) }
    }
}

/// The output folder; its name contains the settings that are not defaults.
pub(super) fn folder(arguments: &Arguments, b: &KnownSystem, settings: &Settings) -> Option<PathBuf> {
    if arguments.no_save {
        return None;
    }
    let usual = Settings::for_system(b);
    let mut name = vec![&*b.name];
    if arguments.choices.settings == "reference" {
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
