//! `ocorl export`: writes a plan as C or JSON, for use without this program.

use super::control::read_plan;
use crate::GlobalArgs;
use crate::checks::writable_folder;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::export::{c99, gain_table};
use ocorl_study::files::write_atomically;
use std::path::{Path, PathBuf};

/// Arguments of `ocorl export`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl export plan.json --format c --out firmware       ocorl_controller.h and .c, without dependencies
  ocorl export plan.json --format json --out table.json  the plan as a table, for any language")]
pub(crate) struct Arguments {
    /// The plan, as written by `ocorl study ask`
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Output format
    #[arg(long, value_enum)]
    format: Format,
    /// Output folder; for JSON also a file name
    #[arg(long, value_name = "DIR_OR_FILE")]
    out: PathBuf,
    /// Index of the initial state in the plan [default: c: 0; json: all]
    #[arg(long, alias = "leg", value_name = "N")]
    rollout: Option<usize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// The plan as a table that any language can read
    Json,
    /// C99 source
    C,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let plan = read_plan(&arguments.plan)?;
    let out = &arguments.out;
    let files: Vec<(PathBuf, String)> = match arguments.format {
        Format::C => {
            let source = c99(&plan, arguments.rollout.unwrap_or(0))?;
            let files = [("ocorl_controller.h", source.header), ("ocorl_controller.c", source.code)];
            writable_folder(out)?;
            files.into_iter().map(|(name, text)| (out.join(name), text)).collect()
        }
        Format::Json => {
            let text = gain_table(&plan, arguments.rollout)?.text()?;
            let path = if names_a_folder(out) {
                writable_folder(out)?;
                out.join("controller.json")
            } else {
                out.clone()
            };
            vec![(path, text)]
        }
    };
    let mut written = Vec::new();
    for (path, text) in &files {
        write_atomically(path, text.as_bytes()).map_err(|error| Failure::file(path, &error))?;
        written.push(path.display().to_string());
    }
    Ok(if global.json { json(&serde_json::json!({ "files": written })) } else { written.join("\n") + "\n" }
        .into())
}

/// Whether `path` is an existing folder or ends like one.
fn names_a_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
}
