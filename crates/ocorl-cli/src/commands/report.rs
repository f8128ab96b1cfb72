//! `ocorl report`: writes a study or a sweep as one HTML file.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json, say};
use ocorl_study::store::StoreError;
use ocorl_study::sweep::{Reading, ReadingError, SweepError};
use ocorl_view::report::{self, Document};
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of `ocorl report`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl report runs/pendulum-0             report of a run, into runs/pendulum-0/report.html
  ocorl report sweeps/table1               report of a sweep, also while it runs
  ocorl report lab --out report.html       into this file, with report.json beside it

The report is one HTML file without scripts or external files: open it in a browser, send it, print it.")]
pub(crate) struct Arguments {
    /// Folder of a study, a run or a sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Output file; its data are written beside it as .json [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What a folder contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Study,
    Sweep,
}

impl Kind {
    fn of(folder: &Path) -> Option<Self> {
        if folder.join("study.db").is_file() {
            Some(Kind::Study)
        } else {
            Reading::is_in(folder).then_some(Kind::Sweep)
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Study => "study",
            Kind::Sweep => "sweep",
        }
    }
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let [folder] = arguments.folders.as_slice() else {
        return Err(Failure::usage(format!("a report covers one folder, not {}", arguments.folders.len()))
            .hint("one after the other, as in: for d in runs/*; do ocorl report \"$d\"; done"));
    };
    let file = arguments.out.clone().unwrap_or_else(|| folder.join("report.html"));
    let (kind, data) = write_for(folder, &file, global)?;
    let text = if global.json {
        let (file, data) = (file.display().to_string(), data.display().to_string());
        json(&serde_json::json!({ "report": file, "data": data, "kind": kind.name() }))
    } else {
        format!("{}\n", file.display())
    };
    Ok(text.into())
}

/// Writes the report of the study or sweep in `folder` to `file`; returns its kind and the path of its data.
pub(super) fn write_for(folder: &Path, file: &Path, global: GlobalArgs) -> Result<(Kind, PathBuf), Failure> {
    let Some(kind) = Kind::of(folder) else { return Err(nothing(folder)) };
    let data = beside(file)?;
    let document = match kind {
        Kind::Study => report::study(folder, &mut |message| {
            if !global.quiet {
                say(&format!("{message}\n"));
            }
        })?,
        Kind::Sweep => sweep(folder)?,
    };
    write(&document, file)
        .map_err(|failure| failure.hint("write elsewhere with: ocorl report DIR --out FILE"))?;
    Ok((kind, data))
}

/// Writes the report of the sweep in `folder` to `file`, after the sweep was run.
pub(super) fn after(folder: &Path, file: &Path) -> Result<(), Failure> {
    write(&sweep(folder)?, file)
}

fn write(document: &Document, file: &Path) -> Result<(), Failure> {
    document.write(file).map(|_| ()).map_err(|error| Failure::file(file, &error))
}

fn sweep(folder: &Path) -> Result<Document, Failure> {
    let reading = Reading::open(folder).map_err(unreadable)?;
    // Relative paths such as "." get a name too.
    let place = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(report::sweep(&reading, &name))
}

fn unreadable(error: ReadingError) -> Failure {
    match error {
        ReadingError::Sweep(SweepError::Store(error @ StoreError::Damaged { .. })) => Failure::from(error)
            .hint("move sweep.db away: results.csv and episodes.csv of a sweep that has ended are enough"),
        ReadingError::Sweep(SweepError::Store(error)) => error.into(),
        ReadingError::Sweep(error) => error.into(),
        ReadingError::Files(error) => error.into(),
        other => Failure::badly(other.to_string()),
    }
}

/// Path of the data file beside a report. An existing file that is not the data of a report is not overwritten.
fn beside(file: &Path) -> Result<PathBuf, Failure> {
    let data = file.with_extension("json");
    if data == file {
        return Err(Failure::usage(format!("'{}' would be report and data at once", file.display()))
            .hint("name the report, as in: --out report.html; its data are written beside it as .json"));
    }
    let there = fs::read(&data).unwrap_or_default();
    if there.is_empty() || there.starts_with(b"{\"title\":") {
        return Ok(data);
    }
    Err(Failure::usage(format!("'{}' exists and is not the data of a report", data.display()))
        .detail("note", "nothing was written")
        .hint("choose another name with --out FILE"))
}

/// The failure for a folder without a study or sweep, with a suggestion.
fn nothing(folder: &Path) -> Failure {
    let shown = folder.display();
    if !folder.is_dir() {
        return Failure::usage(format!("there is no folder '{shown}'"))
            .hint("give the folder of a study or a sweep, as in: ocorl report runs/pendulum-0");
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| Kind::of(path).is_some())
        .collect();
    inside.sort();
    let failure = Failure::usage(format!("there is no study and no sweep in '{shown}'"));
    match inside.as_slice() {
        [] => failure.hint("make one: ocorl run pendulum, ocorl study new, ocorl sweep GRID"),
        [first, ..] => failure
            .detail("cause", format!("it holds {} of them, each in a folder of its own", inside.len()))
            .hint(format!("give one of these, as in: ocorl report {}", first.display())),
    }
}
