//! `ocorl rig`: a simulated rig, to try the hardware workflow without hardware.

use super::control::read_plan;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::Answer;
use ocorl_study::files::write_atomically;
use ocorl_study::measured::Columns;
use ocorl_study::rig::{self, Faults};
use ocorl_study::system::System;
use std::path::PathBuf;

/// Arguments of `ocorl rig`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl rig pendulum plan.json > measured.csv                  run the plan, and measure at its times
  ocorl rig pendulum plan.json --drop 0.2 --late 0.1           with lost and late samples
  ocorl rig pendulum plan.json --stop-at 4 --out measured.csv  abort the run at t = 4")]
pub(crate) struct Arguments {
    /// Name of a system; see: ocorl list
    #[arg(value_name = "SYSTEM")]
    system: String,
    /// The plan, as written by `ocorl study ask`
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// File for the measurements [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of noise and faults [default: the plan's]
    #[arg(long, value_name = "K")]
    seed: Option<u64>,
    /// Factor on the measurement noise
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_hyphen_values = true)]
    noise: f64,
    /// Sensor delay, in the time unit of the system
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_hyphen_values = true)]
    delay: f64,
    /// Share of samples that are lost, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    drop: f64,
    /// Largest delay of a measurement time, in the time unit of the system
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_hyphen_values = true)]
    late: f64,
    /// Share of samples that are a thousand times too large, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    spikes: f64,
    /// Share of samples that are NaN, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    nan: f64,
    /// Time at which the run is aborted, in the time unit of the system
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop_at: Option<f64>,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let system = System::find(&arguments.system)?;
    let plan = read_plan(&arguments.plan)?;
    let faults = Faults {
        noise: arguments.noise,
        delay: arguments.delay,
        drop: arguments.drop,
        late: arguments.late,
        spikes: arguments.spikes,
        nan: arguments.nan,
        stop_at: arguments.stop_at,
    };
    if let Some(cause) = faults.error() {
        return Err(Failure::usage(cause));
    }
    let seed = arguments.seed.or(plan.learner.as_ref().map(|l| l.seed)).unwrap_or(0);
    let measured = rig::run(&system, &plan, &faults, seed)?;
    let csv = measured.csv(&Columns::of(&system.task));
    let ends: Vec<&str> = measured.ends.iter().filter_map(|end| end.outcome.as_deref()).collect();
    let remark = if global.quiet {
        String::new()
    } else {
        format!(
            "episode {}: {}, {} of {} measured\n",
            plan.episode,
            ends.join("; "),
            measured.rows.len(),
            plan.asked()
        )
    };
    match &arguments.out {
        Some(path) => {
            write_atomically(path, csv.as_bytes()).map_err(|error| Failure::file(path, &error))?;
            Ok(Answer { text: String::new(), remark })
        }
        None => Ok(Answer { text: csv, remark }),
    }
}
