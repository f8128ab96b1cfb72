//! `ocorl study predict`: how well the learned model predicts recordings that it has not seen.

use super::Folder;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::measured::recording::{Mapping, Recording};
use ocorl_study::predict::{self, PredictionErrors};
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use serde_json::json as document;
use std::fmt::Write;
use std::path::PathBuf;

/// Arguments of `ocorl study predict`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study predict lab test.csv --map columns.toml                 after one sample and after 0.5
  ocorl study predict lab test-*.csv --map columns.toml --length 1    after 1, in the time unit of the system")]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Folder,
    /// Recordings that were not imported
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Mapping of the columns, as for `ocorl study import`
    #[arg(long, value_name = "TOML")]
    map: PathBuf,
    /// Length of the long predictions
    #[arg(long, value_name = "T", default_value_t = 0.5)]
    length: f64,
    /// Time between the beginnings of two predictions
    #[arg(long, value_name = "T", default_value_t = 0.1)]
    every: f64,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    if !(arguments.length > 0.0 && arguments.every > 0.0 && (arguments.length + arguments.every).is_finite())
    {
        return Err(Failure::usage("--length and --every must be positive and finite"));
    }
    let mut study = Study::open(&arguments.at.folder, Access::Read)?;
    let (task, mapping) = (study.system().task.clone(), Mapping::load(&arguments.map)?);
    let rows = study.history().measurements();
    let model = study.learner()?.model().clone();
    let values = model.as_gaussian_process().map_or(&[][..], |process| process.estimated_parameters());
    let estimated =
        values.iter().filter_map(|&(k, value)| Some((study.system().parameters.get(k)?.clone(), value)));
    let estimated: Vec<(String, f64)> = estimated.collect();
    let mut all = Vec::new();
    for file in &arguments.files {
        let recording = Recording::load(file, &mapping, &task)?;
        let sample = (recording.times()[recording.times().len() - 1] - recording.times()[0])
            / (recording.times().len() - 1) as f64;
        let of = |length: f64| predict::errors(&model, &task, &recording, length, arguments.every);
        all.push((file.display().to_string(), [of(sample), of(arguments.length)]));
    }
    if global.json {
        let files: Vec<_> = all.iter().map(|(file, e)| document!({ "file": file, "errors": e })).collect();
        let mut answer = document!({ "measurements": rows, "recordings": files });
        if !estimated.is_empty() {
            answer["parameters"] = estimated
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect::<serde_json::Map<_, _>>()
                .into();
        }
        return Ok(json(&answer).into());
    }
    let mut text =
        format!("model of {rows} measurements; root mean square error (median of the absolute error)\n");
    if !estimated.is_empty() {
        let each: Vec<String> =
            estimated.iter().map(|(name, value)| format!("{name} = {value:.4}")).collect();
        let _ = writeln!(text, "estimated parameters: {}", each.join(", "));
    }
    for (file, errors) in &all {
        let _ = writeln!(text, "{file}");
        for PredictionErrors { length, count, rms, median, unchanged } in errors {
            let _ = write!(text, "  after {length:.4}, {count} predictions:");
            for (j, quantity) in task.states.iter().enumerate() {
                if let (Some(rms), Some(median), Some(still)) = (rms[j], median[j], unchanged[j]) {
                    let _ = write!(text, "  {} {rms:.4} ({median:.4}), unchanged {still:.4}", quantity.name);
                }
            }
            text.push('\n');
        }
    }
    Ok(text.into())
}
