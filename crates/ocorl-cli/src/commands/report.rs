//! `ocorl report`: a study or a sweep as one page, to be read, sent, printed.

use crate::Manners;
use crate::errors::Failure;
use crate::terminal::{Answer, json, say};
use ocorl_study::store::StoreError;
use ocorl_study::sweep::{Reading, ReadingError, SweepError};
use ocorl_view::report::{self, Document};
use std::fs;
use std::path::{Path, PathBuf};

/// What `ocorl report` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl report runs/pendulum-0             one page about a run, into runs/pendulum-0/report.html
  ocorl report sweeps/table1               the same of a sweep, also while it runs
  ocorl report lab --out report.html       into a file of your own, with report.json beside it

The page needs nothing else: no network, no script. Open it in a browser, send it, print it.")]
pub(crate) struct Arguments {
    /// Folder of a study, a run or a sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The page; the data behind it go beside it as .json [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What a folder holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
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

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let [folder] = arguments.folders.as_slice() else {
        return Err(Failure::usage(format!("a report is of one folder, not of {}", arguments.folders.len()))
            .hint("one after the other, as in: for d in runs/*; do ocorl report \"$d\"; done"));
    };
    let Some(kind) = Kind::of(folder) else { return Err(nothing(folder)) };
    let file = arguments.out.clone().unwrap_or_else(|| folder.join("report.html"));
    let data = beside(&file)?;
    let document = match kind {
        Kind::Study => report::study(folder, &mut |words| {
            if !manners.quiet {
                say(&format!("{words}\n"));
            }
        })?,
        Kind::Sweep => sweep(folder)?,
    };
    write(&document, &file).map_err(|failure| failure.hint("write elsewhere with --out FILE"))?;
    let text = if manners.json {
        let (file, data) = (file.display().to_string(), data.display().to_string());
        json(&serde_json::json!({ "report": file, "data": data, "kind": kind.name() }))
    } else {
        format!("{}\n", file.display())
    };
    Ok(text.into())
}

/// The report of the sweep in `folder` as `file`, after it was run.
pub(super) fn after(folder: &Path, file: &Path) -> Result<(), Failure> {
    write(&sweep(folder)?, file)
}

fn write(document: &Document, file: &Path) -> Result<(), Failure> {
    document.write(file).map(|_| ()).map_err(|error| Failure::file(file, &error))
}

fn sweep(folder: &Path) -> Result<Document, Failure> {
    let reading = Reading::open(folder).map_err(unreadable)?;
    // "." and the like have a name too.
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
        ReadingError::Files(mistake) => mistake.into(),
        other => Failure::badly(other.to_string()),
    }
}

/// Where the data behind a page go. What stands there and is no report's is not written over.
fn beside(file: &Path) -> Result<PathBuf, Failure> {
    let data = file.with_extension("json");
    if data == file {
        return Err(Failure::usage(format!("'{}' would be page and data at once", file.display()))
            .hint("name the page, as in: --out report.html; its data go beside it as .json"));
    }
    let there = fs::read(&data).unwrap_or_default();
    if there.is_empty() || there.starts_with(b"{\"title\":") {
        return Ok(data);
    }
    Err(Failure::usage(format!("'{}' is there already, and is not the data of a report", data.display()))
        .detail("note", "nothing was written")
        .hint("give the page another name with --out FILE"))
}

/// There is no report of this; what there is instead.
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
