//! `ocorl rig`: a simulated rig, to try the hardware workflow without hardware.

use super::control::read_plan;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::Answer;
use ocorl_study::files::write_atomically;
use ocorl_study::measured::Columns;
use ocorl_study::rig::{self, ActuatorFault, ColumnFault, ColumnFaultKind, Faults};
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
    /// Share of samples with heavy-tailed (Cauchy) noise, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    tails: f64,
    /// Multiply a column by a factor: a wrong unit, or with -1 a wrong sign (repeatable)
    #[arg(long, value_name = "COLUMN=FACTOR", value_parser = named)]
    scale: Vec<(String, f64)>,
    /// Keep the value of a column from a time on (repeatable)
    #[arg(long, value_name = "COLUMN=T", value_parser = named)]
    stuck: Vec<(String, f64)>,
    /// Round a column to multiples of a step (repeatable)
    #[arg(long, value_name = "COLUMN=STEP", value_parser = named)]
    quantise: Vec<(String, f64)>,
    /// Add an error to a column that grows by this rate per unit of time (repeatable)
    #[arg(long, value_name = "COLUMN=RATE", value_parser = named)]
    sensor_drift: Vec<(String, f64)>,
    /// Factor between the command of a control and what the plant receives (repeatable)
    #[arg(long, value_name = "CONTROL=FACTOR", value_parser = named)]
    gain: Vec<(String, f64)>,
    /// Dead band of a control: smaller commands have no effect (repeatable)
    #[arg(long, value_name = "CONTROL=SIZE", value_parser = named)]
    dead_band: Vec<(String, f64)>,
    /// Time between the command of a control and its effect (repeatable)
    #[arg(long, value_name = "CONTROL=T", value_parser = named)]
    actuator_delay: Vec<(String, f64)>,
    /// Time constant with which a control follows its command (repeatable)
    #[arg(long, value_name = "CONTROL=T", value_parser = named)]
    lag: Vec<(String, f64)>,
    /// Share of samples that are NaN, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    nan: f64,
    /// Time at which the run is aborted, in the time unit of the system
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop_at: Option<f64>,
}

/// A name with a number, as NAME=NUMBER.
fn named(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
    let value = value.trim().parse::<f64>().map_err(|error| error.to_string())?;
    Ok((name.trim().to_owned(), value))
}

fn columns(arguments: &Arguments) -> Vec<ColumnFault> {
    type Kind = fn(f64) -> ColumnFaultKind;
    let all: [(&[(String, f64)], Kind); 4] = [
        (&arguments.quantise, ColumnFaultKind::Quantised),
        (&arguments.sensor_drift, ColumnFaultKind::Drift),
        (&arguments.scale, ColumnFaultKind::Scale),
        (&arguments.stuck, ColumnFaultKind::Stuck),
    ];
    let each = all.iter().flat_map(|(list, kind)| list.iter().map(move |(name, value)| (name, kind(*value))));
    each.map(|(column, kind)| ColumnFault { column: column.clone(), kind }).collect()
}

fn actuators(arguments: &Arguments) -> Vec<ActuatorFault> {
    type Set = fn(&mut ActuatorFault, f64);
    let all: [(&[(String, f64)], Set); 4] = [
        (&arguments.gain, |fault, value| fault.gain = value),
        (&arguments.dead_band, |fault, value| fault.dead_band = value),
        (&arguments.actuator_delay, |fault, value| fault.delay = value),
        (&arguments.lag, |fault, value| fault.lag = value),
    ];
    let each =
        all.iter().flat_map(|(list, set)| list.iter().map(move |(control, value)| (control, set, *value)));
    each.map(|(control, set, value)| {
        let mut fault = ActuatorFault::none(control);
        set(&mut fault, value);
        fault
    })
    .collect()
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
        tails: arguments.tails,
        columns: columns(arguments),
        actuators: actuators(arguments),
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
