//! `ocorl check`: checks a file that describes a system.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{self, Answer, json};
use ocorl::learn::Caution;
use ocorl::system::Quantity;
use ocorl_study::system::System;
use std::fmt::Write;

/// Arguments of `ocorl check`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl check mytank.toml       summarize the system, or report errors
  ocorl new mytank              create such a file")]
pub(crate) struct Arguments {
    /// A file that describes a system
    #[arg(value_name = "FILE")]
    file: String,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let system = System::find(&arguments.file)?;
    let warnings = system.warnings();
    if global.json {
        let names = |of: &[Quantity]| of.iter().map(|q| q.name.clone()).collect::<Vec<_>>();
        return Ok(json(&serde_json::json!({
            "system": system.name,
            "states": names(&system.task.states),
            "inputs": names(&system.task.controls),
            "horizon": system.task.horizon,
            "equations": system.truth.is_some(),
            "prior": system.prior.is_some(),
            "caution": system.settings.caution.name(),
            "warnings": warnings,
        }))
        .into());
    }
    let mut remark = String::new();
    for warning in warnings.iter().filter(|_| !global.quiet) {
        let _ = writeln!(remark, "warning: {warning}");
    }
    Ok(Answer { text: terminal::prose(summary(&system)), remark })
}

/// The system in one line.
fn summary(system: &System) -> String {
    let task = &system.task;
    let states: Vec<&str> = task.states.iter().map(|q| q.name.as_str()).collect();
    let end = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    let input = |(i, q): (usize, &Quantity)| {
        let (low, high) = (end(task.control_bounds.lower[i]), end(task.control_bounds.upper[i]));
        if low.is_empty() && high.is_empty() { q.name.clone() } else { format!("{} {low}..{high}", q.name) }
    };
    let inputs: Vec<String> = task.controls.iter().enumerate().map(input).collect();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let equations = match (&system.truth, &system.prior) {
        (Some(_), None) => "equations evaluate at x0",
        (Some(_), Some(_)) => "equations and prior evaluate at x0",
        (None, None) => "no equations: hardware",
        (None, Some(_)) => "no equations: hardware, with a prior",
    };
    let caution = match system.settings.caution {
        Caution::Off => String::new(),
        caution => format!("\ncaution: {}: {}", caution.name(), caution.text()),
    };
    format!(
        "ok: {} state{} ({}), {} input{} ({}), horizon {} s; {equations}; cost is finite{caution}\n",
        states.len(),
        plural(states.len()),
        states.join(", "),
        inputs.len(),
        plural(inputs.len()),
        inputs.join(", "),
        task.horizon
    )
}
