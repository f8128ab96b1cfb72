//! `ocorl figure`: the figures of the paper and further ones, each as SVG, PDF, PNG and CSV.

mod gallery;

use crate::GlobalArgs;
use crate::checks::writable_folder;
use crate::errors::Failure;
use crate::sweeping::{self, Options, Selection, Swept};
use crate::table::{Align, Table};
use crate::terminal::{self, Answer, say};
use gallery::{DetailedRuns, GALLERY, Source, Subject};
use ocorl::learn::{Episode, Time};
use ocorl_study::cell::{Cell, Prepared};
use ocorl_study::files::write_atomically;
use ocorl_study::results::Results;
use ocorl_study::run_snapshot::RunSnapshot;
use ocorl_study::studies;
use ocorl_study::sweep::Studied;
use ocorl_view::{Figure, Theme, WIDTH, drawn, pdf, png, svg};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// PNG pixels per SVG unit.
const PIXELS: f64 = 2.0;

/// Arguments of `ocorl figure`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl figure                                 list all figures
  ocorl figure phase                           one run in detail, into figures/phase.{svg,pdf,png,csv}
  ocorl figure optimism --seeds 3              run a sweep, then draw its figure
  ocorl figure gaps --from studies/results/table1   draw existing results

Finished runs are kept in sweeps/: an interrupted sweep is continued by the same command.")]
pub(crate) struct Arguments {
    /// Name of the figure, or all
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    selection: Selection,
    /// Episodes to show in detail, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    at: Vec<usize>,
    /// Draw the results of an existing sweep, and run nothing
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Width: neurips (5.5 inches), column (3.25 inches) or slide (8.3 inches), with text of 8 points
    #[arg(long, value_name = "NAME", value_enum, default_value = "slide")]
    width: Width,
    /// Folder for the figures
    #[arg(long, value_name = "DIR", default_value = "figures")]
    out: PathBuf,
    #[command(flatten)]
    sweep: Options,
}

/// Width of a figure on paper.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Width {
    Neurips,
    Column,
    Slide,
}

impl Width {
    /// Width in SVG units, of which one is two thirds of a point.
    fn units(self) -> f64 {
        match self {
            Width::Neurips => 594.0,
            Width::Column => 351.0,
            Width::Slide => WIDTH,
        }
    }
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let Some(name) = &arguments.name else { return Ok(list(global).into()) };
    let wanted: Vec<&Subject> = match name.as_str() {
        "all" => GALLERY.iter().collect(),
        name => vec![GALLERY.iter().find(|subject| subject.name == name).ok_or_else(|| {
            let names = GALLERY.iter().map(|subject| subject.name);
            Failure::usage(format!("no figure '{name}'")).suggest(name, names, "ocorl figure")
        })?],
    };
    if arguments.from.is_some() && wanted.iter().any(|subject| matches!(subject.source, Source::Run(_))) {
        return Err(Failure::usage(format!("--from does not go with '{name}'"))
            .hint("this figure shows one run in detail, and runs it itself"));
    }
    let (mut text, mut documents) = (String::new(), Vec::new());
    for subject in wanted {
        let figure = match &subject.source {
            Source::Run(detailed) => {
                let cells = arguments.selection.cells(detailed.system, detailed.set, detailed.seeds)?;
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
                let mut tell = |message: &str| {
                    if !global.quiet {
                        say(&format!("{}: {message}", subject.name));
                    }
                };
                look(detailed, &cells, &arguments.at, &mut tell)?
            }
            Source::Sweep { study, draw } => match results(study, arguments, global)? {
                Swept::Planned(planned) => {
                    let _ = write!(text, "{}: {}", subject.name, planned.summary_line());
                    documents.push(json!({ "figure": subject.name, "planned": planned }));
                    continue;
                }
                Swept::Done(results) => Drawing::still(draw(&results)),
            },
        };
        save(&figure, &arguments.out, subject.name, arguments.width.units())?;
        let _ = writeln!(text, "{}/{}.{{svg,pdf,png,csv}}", arguments.out.display(), subject.name);
        let file =
            |ending: &str| arguments.out.join(format!("{}.{ending}", subject.name)).display().to_string();
        let [svg, pdf, png, csv] = ["svg", "pdf", "png", "csv"].map(file);
        documents.push(json!({ "figure": subject.name, "svg": svg, "pdf": pdf, "png": png, "csv": csv }));
    }
    Ok(if global.json { crate::terminal::json(&documents) } else { text }.into())
}

/// Draws every figure for which `studies` (or a run of its own) has data, as SVG into `folder`; `tell` receives the names.
pub(super) fn draw_all(
    studies: &BTreeMap<String, Studied>,
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    writable_folder(folder)?;
    for subject in &GALLERY {
        let figure = match &subject.source {
            Source::Sweep { study, draw } => match studies.get(*study) {
                Some(studied) => Drawing::still(draw(&studied.results)),
                None => continue,
            },
            Source::Run(detailed) => {
                let cells = Selection::default().cells(detailed.system, detailed.set, detailed.seeds)?;
                look(detailed, &cells, &[], &mut |_| ())?
            }
        };
        tell(subject.name);
        let path = folder.join(format!("{}.svg", subject.name));
        write_atomically(&path, figure.svg.as_bytes()).map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}

/// The list of figures.
fn list(global: GlobalArgs) -> String {
    if global.json {
        let all: Vec<_> = GALLERY.iter().map(|s| json!({ "name": s.name, "shows": s.shows })).collect();
        return crate::terminal::json(&all);
    }
    let mut table = Table::new([Align::Left, Align::Left]);
    for subject in &GALLERY {
        table.row([subject.name, subject.shows]);
    }
    table.text(terminal::width())
}

/// The results of a sweep: read from a folder, or run now.
fn results(study: &str, arguments: &Arguments, global: GlobalArgs) -> Result<Swept, Failure> {
    if let Some(folder) = &arguments.from {
        return Ok(Swept::Done(Results::load(folder)?));
    }
    let mut grid = studies::grid(study)?;
    arguments.selection.apply(&mut grid)?;
    let folder = sweeping::folder(arguments.selection.sweep_out.as_ref(), study);
    arguments.sweep.sweep(&grid, &folder, global)
}

/// A figure and its SVG file, which may be animated.
struct Drawing {
    figure: Figure,
    svg: String,
}

impl Drawing {
    fn still(figure: Figure) -> Self {
        Drawing { svg: svg(&figure), figure }
    }
}

/// A figure of single runs in detail, at the episodes `at` or at its defaults; `tell` receives progress messages.
fn look(
    detailed: &DetailedRuns,
    cells: &[Cell],
    at: &[usize],
    tell: &mut dyn FnMut(&str),
) -> Result<Drawing, Failure> {
    let mut prepared = Vec::new();
    for cell in cells {
        prepared.push((cell, cell.prepare()?));
    }
    // All arguments are checked before anything is run.
    let last = prepared.iter().map(|(_, p)| p.settings.episodes).min().unwrap_or(1) - 1;
    if let Some(beyond) = at.iter().find(|&&episode| episode > last) {
        return Err(Failure::usage(format!("there is no episode {beyond}: the last is {last}")));
    }
    if prepared.iter().any(|(_, p)| p.settings.time == Time::Discrete) {
        return Err(Failure::usage("this figure shows a continuous-time model")
            .hint("for learning in discrete time: ocorl figure discrete"));
    }
    let at: Vec<usize> = match at {
        [] => detailed.at.iter().map(|&episode| episode.min(last)).collect(),
        given => given.to_vec(),
    };
    let mut learned = Vec::new();
    for (cell, Prepared { benchmark, settings }) in &prepared {
        let mut watch = |episode: &Episode| tell(&format!("{cell}: episode {}\n", episode.record.episode));
        learned.push(RunSnapshot::learn(benchmark, settings, cell.seed, &mut watch)?);
    }
    let figure = (detailed.draw)(&learned, &at);
    Ok(match detailed.animate {
        Some(animate) => Drawing { svg: animate(&learned, &at), figure },
        None => Drawing::still(figure),
    })
}

/// A number of runs as text: "1 run".
fn runs(count: usize) -> String {
    if count == 1 { "1 run".into() } else { format!("{count} runs") }
}

/// Writes the figure as SVG, PDF and PNG, and its data as CSV.
fn save(drawing: &Drawing, folder: &Path, name: &str, width: f64) -> Result<(), Failure> {
    writable_folder(folder)?;
    let Drawing { figure, svg } = drawing;
    let badly = |error: String| Failure::badly(format!("'{name}' cannot be drawn: {error}"));
    let pixels = png(figure, PIXELS).map_err(|error| badly(error.to_string()))?;
    let page = pdf(figure, width).map_err(badly)?;
    // An animated drawing has a width of its own.
    let narrow = (width - WIDTH).abs() > 1.0;
    let svg = if narrow { &drawn(figure, &Theme::LIGHT, width, &figure.title) } else { svg };
    for (ending, contents) in [
        ("svg", svg.clone().into_bytes()),
        ("pdf", page),
        ("png", pixels),
        ("csv", figure.csv().into_bytes()),
    ] {
        let path = folder.join(format!("{name}.{ending}"));
        write_atomically(&path, &contents).map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}
