//! `ocorl new`: writes a template that describes a system.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::system::{System, template};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Arguments of `ocorl new`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl new mytank              write mytank.toml: a system with equations, to be edited
  ocorl new mytank --hardware   a system without equations, for hardware")]
pub(crate) struct Arguments {
    /// Name of the system; the file is NAME.toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Without equations, for hardware
    #[arg(long)]
    hardware: bool,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let name = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let path = PathBuf::from(format!("{name}.toml"));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let comment = format!("Check it: ocorl check {stem}.toml      Learn it: ocorl run {stem}.toml");
    let text = template(stem, &comment, arguments.hardware);
    // This also rejects an invalid name.
    System::parse(&text, &path.display().to_string())?;
    let written = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!("'{}' is there already", path.display()))
            .detail("note", "nothing was changed on disk")
            .hint("choose another name, or check the existing file: ocorl check"),
        _ => Failure::file(&path, &error),
    })?;
    if global.json {
        return Ok(json(&serde_json::json!({ "file": path.display().to_string() })).into());
    }
    let next = if arguments.hardware { "ocorl study new lab --system" } else { "ocorl run" };
    let file = path.display();
    Ok(format!("wrote {file}\nnext: edit it, then: ocorl check {file}; then: {next} {file}\n").into())
}
