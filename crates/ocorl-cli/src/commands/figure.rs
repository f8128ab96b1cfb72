//! `ocorl figure`: the paper's figures and ours, each as SVG, PNG and the numbers behind it.

mod gallery;

use crate::Manners;
use crate::checks::writable_folder;
use crate::errors::Failure;
use crate::sweeping::{self, Options, Selection, Swept};
use crate::table::{Align, Table};
use crate::terminal::{Answer, say};
use gallery::{GALLERY, Portraits, Source, Subject};
use ocorl::learn::{Episode, Time};
use ocorl_study::cell::{Cell, Prepared};
use ocorl_study::files::write_atomically;
use ocorl_study::portrait::Portrait;
use ocorl_study::report::Studied;
use ocorl_study::results::Results;
use ocorl_study::studies;
use ocorl_view::{Figure, png, svg};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Pixels of the PNG for one of the SVG.
const PIXELS: f64 = 2.0;

/// What `ocorl figure` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl figure                                 which figures there are
  ocorl figure phase                           one run looked at closely, into figures/phase.{svg,png,csv}
  ocorl figure optimism --seeds 3              a sweep, then its figure
  ocorl figure gaps --from studies/results/table1   from results that are there

Finished runs are kept in sweeps/: stop it at any moment, the same command goes on where it was.")]
pub(crate) struct Arguments {
    /// Its name, or all
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    selection: Selection,
    /// Episodes to look at closely, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    at: Vec<usize>,
    /// Draw the results of a sweep that is there, and run nothing
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Folder for the figures
    #[arg(long, value_name = "DIR", default_value = "figures")]
    out: PathBuf,
    #[command(flatten)]
    sweep: Options,
}

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let Some(name) = &arguments.name else { return Ok(list(manners).into()) };
    let wanted: Vec<&Subject> = match name.as_str() {
        "all" => GALLERY.iter().collect(),
        name => vec![GALLERY.iter().find(|subject| subject.name == name).ok_or_else(|| {
            let names = GALLERY.iter().map(|subject| subject.name);
            Failure::usage(format!("no figure '{name}'")).suggest(name, names, "ocorl figure")
        })?],
    };
    if arguments.from.is_some() && wanted.iter().any(|subject| matches!(subject.source, Source::Run(_))) {
        return Err(Failure::usage(format!("--from does not go with '{name}'"))
            .hint("it looks at one run closely, and makes that run itself"));
    }
    let (mut text, mut documents) = (String::new(), Vec::new());
    for subject in wanted {
        let figure = match &subject.source {
            Source::Run(portraits) => {
                let cells = arguments.selection.cells(portraits.system, portraits.set, portraits.seeds)?;
                if arguments.sweep.dry_run {
                    let _ = writeln!(
                        text,
                        "{}: {} to run, for this figure alone",
                        subject.name,
                        runs(cells.len())
                    );
                    documents.push(json!({ "figure": subject.name, "runs": cells.len() }));
                    continue;
                }
                let mut tell = |words: &str| {
                    if !manners.quiet {
                        say(&format!("{}: {words}", subject.name));
                    }
                };
                look(portraits, &cells, &arguments.at, &mut tell)?
            }
            Source::Sweep { study, draw } => match results(study, arguments, manners)? {
                Swept::Planned(planned) => {
                    let _ = write!(text, "{}: {}", subject.name, planned.words());
                    documents.push(json!({ "figure": subject.name, "planned": planned }));
                    continue;
                }
                Swept::Done(results) => draw(&results),
            },
        };
        save(&figure, &arguments.out, subject.name)?;
        let _ = writeln!(text, "{}/{}.{{svg,png,csv}}", arguments.out.display(), subject.name);
        let file =
            |ending: &str| arguments.out.join(format!("{}.{ending}", subject.name)).display().to_string();
        let (svg, png, csv) = (file("svg"), file("png"), file("csv"));
        documents.push(json!({ "figure": subject.name, "svg": svg, "png": png, "csv": csv }));
    }
    Ok(if manners.json { crate::terminal::json(&documents) } else { text }.into())
}

/// Every figure that `studies` (or a run of its own) can give, as SVG into `folder`; `tell` hears which.
pub(super) fn draw_all(
    studies: &BTreeMap<String, Studied>,
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    writable_folder(folder)?;
    for subject in &GALLERY {
        let figure = match &subject.source {
            Source::Sweep { study, draw } => match studies.get(*study) {
                Some(studied) => draw(&studied.results),
                None => continue,
            },
            Source::Run(portraits) => {
                let cells = Selection::default().cells(portraits.system, portraits.set, portraits.seeds)?;
                look(portraits, &cells, &[], &mut |_| ())?
            }
        };
        tell(subject.name);
        let path = folder.join(format!("{}.svg", subject.name));
        write_atomically(&path, svg(&figure).as_bytes()).map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}

/// What there is.
fn list(manners: Manners) -> String {
    if manners.json {
        let all: Vec<_> = GALLERY.iter().map(|s| json!({ "name": s.name, "shows": s.shows })).collect();
        return crate::terminal::json(&all);
    }
    let mut table = Table::new([Align::Left, Align::Left]);
    for subject in &GALLERY {
        table.row([subject.name, subject.shows]);
    }
    table.text()
}

/// The results of a study: from a folder, or run.
fn results(study: &str, arguments: &Arguments, manners: Manners) -> Result<Swept, Failure> {
    if let Some(folder) = &arguments.from {
        return Ok(Swept::Done(Results::load(folder)?));
    }
    let mut grid = studies::grid(study)?;
    arguments.selection.apply(&mut grid)?;
    let folder = sweeping::folder(arguments.selection.sweep_out.as_ref(), study);
    arguments.sweep.sweep(&grid, &folder, manners)
}

/// A figure that looks at runs closely, at the episodes `at` or at its own; `tell` hears how far it is.
fn look(
    portraits: &Portraits,
    cells: &[Cell],
    at: &[usize],
    tell: &mut dyn FnMut(&str),
) -> Result<Figure, Failure> {
    let mut prepared = Vec::new();
    for cell in cells {
        prepared.push((cell, cell.prepare()?));
    }
    // Everything that can be wrong, before anything is run.
    let last = prepared.iter().map(|(_, p)| p.settings.episodes).min().unwrap_or(1) - 1;
    if let Some(beyond) = at.iter().find(|&&episode| episode > last) {
        return Err(Failure::usage(format!("there is no episode {beyond}: the last is {last}")));
    }
    if prepared.iter().any(|(_, p)| p.settings.time == Time::Discrete) {
        return Err(Failure::usage("this figure shows a model of continuous time")
            .hint("what is learned in discrete time is in: ocorl figure discrete"));
    }
    let at: Vec<usize> = match at {
        [] => portraits.at.iter().map(|&episode| episode.min(last)).collect(),
        given => given.to_vec(),
    };
    let mut learned = Vec::new();
    for (cell, Prepared { benchmark, settings }) in &prepared {
        let mut watch = |episode: &Episode| tell(&format!("{cell}: episode {}\n", episode.record.episode));
        learned.push(Portrait::learn(benchmark, settings, cell.seed, &mut watch)?);
    }
    Ok((portraits.draw)(&learned, &at))
}

/// "1 run"
fn runs(count: usize) -> String {
    if count == 1 { "1 run".into() } else { format!("{count} runs") }
}

/// The picture twice, and its numbers.
fn save(figure: &Figure, folder: &Path, name: &str) -> Result<(), Failure> {
    writable_folder(folder)?;
    let pixels =
        png(figure, PIXELS).map_err(|error| Failure::badly(format!("'{name}' cannot be drawn: {error}")))?;
    for (ending, contents) in
        [("svg", svg(figure).into_bytes()), ("png", pixels), ("csv", figure.csv().into_bytes())]
    {
        let path = folder.join(format!("{name}.{ending}"));
        write_atomically(&path, &contents).map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}
