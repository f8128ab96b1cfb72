//! A system to be learned: one shipped with the program, or one described in a user's TOML file.
//!
//! | file | holds |
//! |---|---|
//! | `reader` | TOML with strict keys and the position of every value |
//! | `file` | reads a system file and builds the system |
//! | `learning`, `hardware` | the sections of the file with these names |
//! | `constraints` | comparisons that every plan satisfies |
//! | `cost` | the cost: weights, or expressions |
//! | `excitation` | the control of episode 0 |
//! | `warnings` | valid contents that are probably unintended |
//! | `template` | a template for a new file |
//!
//! The file format is documented in `docs/own-system.md`.

mod constraints;
mod cost;
mod file;
mod hardware;
mod learning;
mod reader;
mod template;
mod warnings;

pub(crate) use reader::shortened;
pub use template::template;

use crate::cell::unknown_system;
use crate::config::{Config, offset};
use crate::files::read_text;
use crate::measured::Columns;
use crate::user_error::{Hint, Place, UserError};
use ocorl::learn::{Caution, FirstControl, Settings};
use ocorl::model::{Mean, Parametric};
use ocorl::system::{Benchmark, Build, KnownSystem, Task};
use std::path::Path;
use std::sync::Arc;

/// A plant, its task, and the default settings of the learner.
#[derive(Clone)]
pub struct System {
    /// Name of the system: as given on the command line, or as stated in its file.
    pub name: String,
    /// The control task.
    pub task: Task,
    /// The control of the exploratory episode 0.
    pub first_control: FirstControl,
    /// Default settings of the learner.
    pub settings: Settings,
    /// Properties of the controller hardware.
    pub hardware: Hardware,
    /// The true dynamics; `None` if only hardware exists.
    pub truth: Option<KnownSystem>,
    /// Known physics: prior mean of f before any measurement.
    pub prior: Option<Parametric>,
    /// Names of the parameters of its file.
    pub parameters: Vec<String>,
    /// Text of the file that describes the system; `None` if the system is shipped with the program.
    pub file: Option<String>,
    config: Config,
}

/// Properties of the controller hardware.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Control period.
    pub period: f64,
    /// Maximum change of each control per unit of time, if limited; infinite where there is no limit. The task holds it too, as its rate
    /// limit.
    pub max_rate: Option<Vec<f64>>,
}

/// Maximum size of a system file in bytes.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

impl System {
    /// The shipped system called `name`, or the system of the file `name`: a name with a '/' or ending in `.toml` is a file.
    pub fn find(name: &str) -> Result<Self, UserError> {
        if !is_file(name) {
            let benchmark = Benchmark::find(name).map_err(|error| {
                let error = unknown_system(&error.name);
                let here = format!("{name}.toml");
                if Path::new(&here).is_file() { error.hint(format!("did you mean '{here}'?")) } else { error }
            })?;
            return System::of(benchmark);
        }
        let unreadable = |cause: String| {
            UserError::new(format!("cannot read '{name}'"))
                .detail("cause", cause)
                .hint(Hint::NewSystemFile { expected: true })
        };
        let text = read_text(name, MAX_FILE).map_err(unreadable)?;
        System::parse(&text, name)
    }

    /// The shipped system called `name`, or the system that the text of a file describes.
    pub fn restore(name: &str, file: Option<&str>) -> Result<Self, UserError> {
        match file {
            // A file that was accepted once is accepted for ever: newer checks must not lock a study.
            Some(text) => file::read(text, name),
            None => System::find(name),
        }
    }

    /// The system described by `text`, the contents of `file`.
    pub fn parse(text: &str, file: &str) -> Result<Self, UserError> {
        let system = file::read(text, file)?;
        if let Some(clash) = Columns::of(&system.task).clash() {
            let key = if clash.means.starts_with("the control") { "system.inputs" } else { "system.states" };
            let place = Place::at(file, text, offset(text, key));
            return Err(clash.error().detail("place", place.to_string()));
        }
        Ok(system)
    }

    /// A shipped system with its shipped settings.
    pub fn of(benchmark: KnownSystem) -> Result<Self, UserError> {
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
            parameters: Vec::new(),
            file: None,
            config: unset,
        })
    }

    /// The system with dynamics made by `build` as its true dynamics.
    pub fn with_equations(&self, build: Build) -> KnownSystem {
        if let Some(truth) = &self.truth {
            let mut known = truth.clone();
            known.build = build;
            return known;
        }
        let mut known = KnownSystem::new(self.name.clone(), self.task.clone(), build);
        known.first_control = self.first_control.clone();
        known.prior = self.prior.clone().map(|prior| Arc::new(move |_: &[f64]| prior.dynamics()) as Build);
        known
    }

    /// The system's settings with `default`, `reference` or a settings file applied.
    pub fn config(&self, settings: &str) -> Result<Config, UserError> {
        let mut config = self.config.clone();
        config.load(settings)?;
        Ok(config)
    }

    /// The system with the defaults of a simulation, whose equations are known elsewhere; the same system if its file has a section
    /// `[hardware]`.
    #[must_use]
    pub fn simulated(mut self) -> Self {
        let is_hardware = self.file.as_deref().is_some_and(|text| offset(text, "hardware").is_some());
        if !is_hardware {
            self.config.default_caution(Caution::Off);
            self.settings = self.config.settings.clone();
        }
        self
    }

    /// Known physics as the prior mean of a model.
    pub fn prior_mean(&self) -> Mean {
        self.prior.clone().map_or(Mean::Zero, Parametric::mean)
    }

    /// Warnings about valid contents of its file that are probably unintended.
    pub fn warnings(&self) -> Vec<String> {
        warnings::of(self)
    }
}

/// Whether `name` denotes a file instead of a shipped system.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"))
}
