//! What `ocorl run` accepts, and what its options come to.

use crate::choices::Choices;
use ocorl::learn::Settings;
use ocorl::system::Benchmark;
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
    /// A system by name, see: ocorl list; or a file that describes one, see: ocorl new
    #[arg(value_name = "SYSTEM")]
    pub(super) system: String,
    #[command(flatten)]
    pub(super) choices: Choices,
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
    /// Numbers of every episode for a tracker too, into the same folder
    #[arg(long, value_name = "TRACKER", conflicts_with = "no_save")]
    pub(super) log: Option<Tracker>,
    #[command(flatten)]
    picture: Picture,
    /// Print all settings as TOML, and end
    #[arg(long)]
    pub(super) print_config: bool,
}

/// Who else is told of every episode.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Tracker {
    /// Event files, below tensorboard/
    Tensorboard,
}

/// Whether there is to be a picture.
#[derive(clap::Args)]
struct Picture {
    /// A picture of the run while it lasts [default: on terminals of 100 columns and 20 rows or more]
    #[arg(long, conflicts_with = "no_live")]
    live: bool,
    /// One line instead
    #[arg(long)]
    no_live: bool,
}

impl Arguments {
    /// Whether nobody said where the results go.
    pub(super) fn is_free(&self) -> bool {
        self.out.is_none()
    }

    /// Whether there is to be a picture, if anything was said.
    pub(super) fn picture(&self) -> Option<bool> {
        if self.picture.live { Some(true) } else { self.picture.no_live.then_some(false) }
    }
}

/// Where the results go; the name says what is not as usual.
pub(super) fn folder(arguments: &Arguments, b: &Benchmark, settings: &Settings) -> Option<PathBuf> {
    if arguments.no_save {
        return None;
    }
    let usual = Settings::for_benchmark(b);
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
