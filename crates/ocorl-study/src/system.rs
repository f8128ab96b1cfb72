//! A system to be learned: one that comes with the program, or (in time) one of somebody's own.

use crate::cell::unknown_system;
use crate::config::Config;
use crate::mistake::Mistake;
use ocorl::learn::{FirstControl, Settings};
use ocorl::system::{Benchmark, Task};
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
    /// The whole text of the file that describes it; none if it comes with the program.
    pub file: Option<String>,
}

/// How the hardware wants to be controlled.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Time between two controls.
    pub period: f64,
    /// Largest change of each control per unit of time, if limited.
    pub max_rate: Option<Vec<f64>>,
}

impl System {
    /// The system called `name`.
    pub fn find(name: &str) -> Result<Self, Mistake> {
        let benchmark = Benchmark::find(name).map_err(|error| unknown_system(&error.name))?;
        System::of(benchmark)
    }

    /// The system called `name`, or the one that the text of a file describes.
    pub fn restore(name: &str, file: Option<&str>) -> Result<Self, Mistake> {
        match file {
            None => System::find(name),
            Some(_) => Err(Mistake::new("systems in files are not read yet")),
        }
    }

    /// A system that comes with the program, with the settings shipped for it.
    pub fn of(benchmark: Benchmark) -> Result<Self, Mistake> {
        let mut config = Config::new(&benchmark)?;
        config.load("default")?;
        let first_control = benchmark.first_control;
        Ok(System {
            name: benchmark.name.to_owned(),
            task: benchmark.task.clone(),
            first_control: Arc::new(first_control),
            hardware: Hardware { period: config.settings.track.period, max_rate: None },
            settings: config.settings,
            truth: Some(benchmark),
            file: None,
        })
    }
}
