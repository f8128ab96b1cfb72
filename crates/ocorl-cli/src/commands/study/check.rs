//! `ocorl study check`: verifies every byte of a study, and saves the intact records of a damaged one.

use super::Folder;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use serde_json::json as document;
use std::path::PathBuf;

/// Arguments of `ocorl study check`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study check lab                       read every record and compare its checksum
  ocorl study check lab --salvage lab-2       write the intact records into a new study")]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Folder,
    /// Write every intact record into a new study in this folder
    #[arg(long, value_name = "DIR")]
    salvage: Option<PathBuf>,
    /// Rebuild the tables from the events
    #[arg(long)]
    rebuild: bool,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let folder = &arguments.at.folder;
    if let Some(out) = &arguments.salvage {
        let saved = Study::salvage(folder, out)?;
        if global.json {
            return Ok(json(&document!({ "saved": saved, "study": out.display().to_string() })).into());
        }
        return Ok(format!(
            "{saved} intact records saved in '{}'; '{}' was not changed\n",
            out.display(),
            folder.display()
        )
        .into());
    }
    if arguments.rebuild {
        Study::open(folder, Access::Write)?.rebuild()?;
    }
    let study = Study::open(folder, Access::Read)?;
    super::interrupted(&study, global);
    let stale = study.stale_tables()?;
    if !stale.is_empty() {
        return Err(Failure::damaged(format!(
            "the tables of '{}' differ from its events: {}",
            folder.display(),
            stale.join(", ")
        ))
        .detail("note", "the events are intact; nothing is lost")
        .hint(format!("rebuild the tables: ocorl study check {} --rebuild", folder.display())));
    }
    let (records, checksum) = study.store().head();
    let measurements = study.history().measurements();
    if global.json {
        let interruption = study.store().interruption().map(ToString::to_string);
        return Ok(json(&document!({
            "records": records,
            "checksum": checksum,
            "measurements": measurements,
            "interruption": interruption,
        }))
        .into());
    }
    Ok(format!("ok: {records} records, {measurements} measurements used, checksum {checksum}\n").into())
}
