//! `ocorl study exclude | include`: decides which measurements of an episode are learned from.

use super::Writing;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::study::{Cure, Notice};
use serde_json::json as document;
use std::fmt::Write;

/// Arguments of `ocorl study exclude` and `include`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study exclude lab 3 4 5 --reason \"magnet nearby\"    rows 4 and 5 of episode 3 are not learned from
  ocorl study include lab 3 4                               row 4 is right, whatever the model says")]
pub(super) struct Arguments {
    #[command(flatten)]
    to: Writing,
    /// Number of the episode
    #[arg(value_name = "EPISODE")]
    episode: usize,
    /// Numbers of the rows, from 1, in the order of their times
    #[arg(value_name = "ROW", required = true)]
    rows: Vec<usize>,
    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs, include: bool) -> Result<Answer, Failure> {
    let mut study = arguments.to.open(global)?;
    let episode = arguments.episode;
    let rows = study.select(episode, &arguments.rows, &arguments.reason, include)?;
    if global.json {
        let times: Vec<f64> = rows.iter().map(|row| row.1).collect();
        return Ok(json(&document!({ "episode": episode, "included": include, "times": times })).into());
    }
    let what = if include { "learned from" } else { "not learned from" };
    let times: Vec<String> = rows.iter().map(|row| format!("{:.4}", row.1)).collect();
    let plural = if rows.len() == 1 { "measurement is" } else { "measurements are" };
    Ok(format!("episode {episode}: {} {plural} {what} (t = {})\n", rows.len(), times.join(", ")).into())
}

/// What is wrong with the data, each with the command that cures it.
pub(super) fn notices(notices: &[Notice], folder: &str) -> String {
    let mut text = String::new();
    for Notice { text: what, cure } in notices {
        let _ = writeln!(text, "warning: {what}\n  {}", command(cure, folder));
    }
    text
}

/// The command for a cure.
fn command(cure: &Cure, folder: &str) -> String {
    match cure {
        Cure::Include { episode, row } => {
            format!("if it is right: ocorl study include {folder} {episode} {row}")
        }
        Cure::Correct { episode } => format!(
            "correct the file and replace it: ocorl study tell {folder} FILE --episode {episode} --correct"
        ),
        Cure::Discard { episode } => {
            format!("check the sensor; to use nothing of it: ocorl study discard {folder} {episode}")
        }
        Cure::DeclareNoise { state, std } => {
            format!("declare it in the system file: noise = {{ {state} = {std:.3} }}")
        }
        _ => "check the plant; if the change is intended, nothing is to be done".into(),
    }
}
