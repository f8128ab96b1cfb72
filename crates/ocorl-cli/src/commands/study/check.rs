//! `ocorl study check`: every byte of a study, and what can be saved of a damaged one.

use super::Folder;
use crate::Manners;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use serde_json::json as document;
use std::path::PathBuf;

/// What `ocorl study check` accepts.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Folder,
    /// Write every good record into a new study in this folder
    #[arg(long, value_name = "DIR")]
    salvage: Option<PathBuf>,
    /// Make the tables anew from the events
    #[arg(long)]
    rebuild: bool,
}

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let folder = &arguments.at.folder;
    if let Some(out) = &arguments.salvage {
        let saved = Study::salvage(folder, out)?;
        if manners.json {
            return Ok(json(&document!({ "saved": saved, "study": out.display().to_string() })).into());
        }
        return Ok(format!(
            "{saved} good records saved in '{}'; '{}' was not changed\n",
            out.display(),
            folder.display()
        )
        .into());
    }
    if arguments.rebuild {
        Study::open(folder, Access::Write)?.rebuild()?;
    }
    let study = Study::open(folder, Access::Read)?;
    let stale = study.stale_tables()?;
    if !stale.is_empty() {
        return Err(Failure::damaged(format!(
            "tables of '{}' are not what its events say: {}",
            folder.display(),
            stale.join(", ")
        ))
        .detail("note", "the events are whole; nothing is lost")
        .hint(format!("make the tables anew: ocorl study check {} --rebuild", folder.display())));
    }
    let (records, checksum) = study.store().head();
    let measurements = study.history().measurements();
    if manners.json {
        return Ok(json(
            &document!({ "records": records, "checksum": checksum, "measurements": measurements }),
        )
        .into());
    }
    Ok(format!("ok: {records} records, {measurements} measurements learned from, checksum {checksum}\n")
        .into())
}
