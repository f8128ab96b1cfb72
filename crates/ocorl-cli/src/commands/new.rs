//! `ocorl new`: a file that describes a system, to begin with.

use crate::Manners;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::system::{System, template};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// What `ocorl new` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl new mytank              writes mytank.toml: a system with equations, to be changed into yours
  ocorl new mytank --hardware   the same without equations: only the hardware knows")]
pub(crate) struct Arguments {
    /// What it is called; the file is NAME.toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Without equations
    #[arg(long)]
    hardware: bool,
}

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let name = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let path = PathBuf::from(format!("{name}.toml"));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = template(stem, arguments.hardware);
    // A name that cannot be one is found here.
    System::parse(&text, &path.display().to_string())?;
    let written = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!("'{}' is there already", path.display()))
            .detail("note", "nothing was changed on disk")
            .hint("take another name, or look it over: ocorl check"),
        _ => Failure::file(&path, &error),
    })?;
    if manners.json {
        return Ok(json(&serde_json::json!({ "file": path.display().to_string() })).into());
    }
    let next = if arguments.hardware { "ocorl study new" } else { "ocorl run" };
    let file = path.display();
    Ok(format!("wrote {file}\nnext: change it, then: ocorl check {file}; then: {next}\n").into())
}
