//! A system to be learned: one that comes with the program, or one of somebody's own, described in a file.
//!
//! | file | holds |
//! |---|---|
//! | `reader` | TOML whose every value knows its place |
//! | `file` | what a file of a system may say, and what it comes to |
//! | `learning`, `hardware` | the parts of the file about these |
//! | `cost` | its cost: weights, or expressions |
//! | `excitation` | the control of episode 0 |
//! | `warnings` | what is allowed, but probably not meant |
//! | `template` | a file to begin with |
//!
//! The whole file is described in `docs/own-system.md`.

mod cost;
mod excitation;
mod file;
mod hardware;
mod learning;
mod reader;
mod template;
mod warnings;

pub use template::template;

use crate::cell::unknown_system;
use crate::config::Config;
use crate::mistake::Mistake;
use ocorl::learn::{FirstControl, Settings};
use ocorl::model::{Mean, Physics};
use ocorl::system::{Benchmark, Dynamics, Task};
use std::path::Path;
use std::sync::Arc;

/// What is to be controlled, what is wanted of it, and how it is learned unless somebody says otherwise.
#[derive(Clone)]
pub struct System {
    /// As typed on the command line; of a system of one's own, the name in its file.
    pub name: String,
    /// What we want.
    pub task: Task,
    /// The control of the exploratory episode 0.
    pub first_control: FirstControl,
    /// How it is learned.
    pub settings: Settings,
    /// The controller on the hardware.
    pub hardware: Hardware,
    /// The equations, if they are known; none: only the hardware knows.
    pub truth: Option<Benchmark>,
    /// Known physics: what is believed of f before any measurement.
    pub prior: Option<MakeDynamics>,
    /// The whole text of the file that describes it; none if it comes with the program.
    pub file: Option<String>,
    config: Config,
}

/// Makes dynamics, as often as they are needed.
pub type MakeDynamics = Arc<dyn Fn() -> Box<dyn Dynamics> + Send + Sync>;

/// How the hardware wants to be controlled.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Time between two controls.
    pub period: f64,
    /// Largest change of each control per unit of time, if limited.
    pub max_rate: Option<Vec<f64>>,
}

/// Files beyond this are not read.
const MAX_FILE: u64 = 1024 * 1024;

impl System {
    /// The system called `name`, or the one that the file `name` describes: whatever has a '/' or ends in `.toml` is a file.
    pub fn find(name: &str) -> Result<Self, Mistake> {
        if !is_file(name) {
            let benchmark = Benchmark::find(name).map_err(|error| {
                let mistake = unknown_system(&error.name);
                let here = format!("{name}.toml");
                if Path::new(&here).is_file() {
                    mistake.hint(format!("did you mean '{here}'?"))
                } else {
                    mistake
                }
            })?;
            return System::of(benchmark);
        }
        let unreadable = |cause: String| {
            Mistake::new(format!("cannot read '{name}'"))
                .detail("cause", cause)
                .hint("a file that describes a system; to begin one: ocorl new NAME")
        };
        let length = std::fs::metadata(name).map_err(|error| unreadable(error.to_string()))?.len();
        if length > MAX_FILE {
            return Err(unreadable(format!("it has {length} bytes; at most {MAX_FILE} are read")));
        }
        let text = std::fs::read_to_string(name).map_err(|error| unreadable(error.to_string()))?;
        System::parse(&text, name)
    }

    /// The system called `name` that comes with the program, or the one that the text of a file describes.
    pub fn restore(name: &str, file: Option<&str>) -> Result<Self, Mistake> {
        match file {
            Some(text) => System::parse(text, name),
            None => System::find(name),
        }
    }

    /// The system that `text` describes, which stands in the file `file`.
    pub fn parse(text: &str, file: &str) -> Result<Self, Mistake> {
        file::read(text, file)
    }

    /// A system that comes with the program, with the settings shipped for it.
    pub fn of(benchmark: Benchmark) -> Result<Self, Mistake> {
        let mut config = Config::new(&benchmark)?;
        let unset = config.clone();
        config.load("default")?;
        Ok(System {
            name: benchmark.name.to_string(),
            task: benchmark.task.clone(),
            first_control: benchmark.first_control.clone(),
            hardware: Hardware { period: config.settings.track.period, max_rate: None },
            settings: config.settings,
            truth: Some(benchmark),
            prior: None,
            file: None,
            config: unset,
        })
    }

    /// Its settings with what `default`, `reference` or a file of settings says, ready for more.
    pub fn config(&self, settings: &str) -> Result<Config, Mistake> {
        let mut config = self.config.clone();
        config.load(settings)?;
        Ok(config)
    }

    /// Known physics as the mean of a model.
    pub fn prior_mean(&self) -> Mean {
        self.prior.as_ref().map_or(Mean::Zero, |make| Mean::Physics(Physics::new(make())))
    }

    /// What its file says that is allowed, but probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        warnings::of(self)
    }
}

/// Whether this names a file, not a system that comes with the program.
fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"))
}
