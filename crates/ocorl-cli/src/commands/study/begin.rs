//! `ocorl study new`: creates a study.

use super::Folder;
use crate::GlobalArgs;
use crate::choices::{Choices, config};
use crate::commands::list::with_unit;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::price::Prices;
use ocorl_study::study::Study;
use ocorl_study::system::System;

/// Arguments of `ocorl study new`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl study new lab --system pendulum --seed 3
  ocorl study new lab --system pendulum --episodes 8 --set model.learn_noise=true
  ocorl study new lab --system pendulum --price-measurement 0.02 --budget 5")]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Folder,
    /// Name of a system (see: ocorl list), or a file that describes one
    #[arg(long, value_name = "SYSTEM")]
    system: String,
    #[command(flatten)]
    choices: Choices,
    /// Random seed
    #[arg(long, value_name = "K", default_value_t = 0)]
    seed: u64,
    /// Price of a measurement, in the unit of the cost
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    price_measurement: f64,
    /// Price of an episode without its measurements, in the unit of the cost
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    price_episode: f64,
    /// Total budget, in the unit of the cost
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    budget: Option<f64>,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let system = System::find(&arguments.system)?;
    let settings = config(&arguments.choices, &system)?.settings;
    let prices = Prices {
        measurement: arguments.price_measurement,
        episode: arguments.price_episode,
        budget: arguments.budget,
    };
    let folder = &arguments.at.folder;
    let study = Study::create(folder, &system, settings, arguments.seed, prices)?;
    if global.json {
        return Ok(json(&study.overview()).into());
    }
    let (task, created, folder) = (&system.task, study.created(), folder.display());
    let names = |list: &[ocorl::system::Quantity]| {
        list.iter().map(|q| q.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    Ok(Answer {
        text: format!(
            "study of {}: states {}; controls {}; horizon {}; {} episodes x {} measurements; caution {}; seed {}\n",
            system.name,
            names(&task.states),
            names(&task.controls),
            with_unit(task.horizon, task.time_unit()),
            created.settings.episodes,
            created.settings.measurements,
            created.settings.caution.name(),
            created.seed,
        ),
        remark: format!("next: ocorl study ask {folder} --out plan.json\n"),
    })
}
