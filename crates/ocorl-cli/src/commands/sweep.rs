//! `ocorl sweep`: runs every cell of a grid; an interrupted sweep is continued.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::sweeping::{Options, Swept, folder, summary};
use crate::terminal::Answer;
use ocorl_study::files::read_text;
use ocorl_study::grid::Grid;
use std::path::PathBuf;

/// Arguments of `ocorl sweep`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl sweep studies/optimism.toml            run every cell of the grid, into sweeps/optimism
  ocorl sweep studies/optimism.toml --dry-run  number of cells and estimated time
  ocorl sweep grid.toml --jobs 2 --budget 600  two cells at a time, at most ten minutes each

A grid lists systems, seeds, and the settings that vary:

  systems = [\"pendulum\", \"bicycle\"]
  seeds = 5
  [vary]
  strategy = [\"max-determinant\", \"equidistant\"]

An interrupted sweep is continued by the same command.")]
pub(crate) struct Arguments {
    /// The grid, a TOML file
    #[arg(value_name = "GRID")]
    grid: PathBuf,
    /// Folder for the results [default: sweeps/GRID]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sweep: Options,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let path = arguments.grid.display().to_string();
    let text = read_text(&arguments.grid, Grid::LARGEST).map_err(|cause| {
        Failure::usage(format!("cannot read '{path}'")).detail("cause", cause).hint("see: ocorl sweep --help")
    })?;
    let grid = Grid::parse(&text, &path)?;
    let name = arguments.grid.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = folder(arguments.out.as_ref(), &name);
    let results = match arguments.sweep.sweep(&grid, &folder, global)? {
        Swept::Planned(planned) => return Ok(planned.answer(global).into()),
        Swept::Done(results) => results,
    };
    let page = folder.join("report.html");
    super::report::after(&folder, &page)?;
    let text = if global.json { results.summary().json() } else { summary(&results) };
    if let Some(mut failure) = arguments.sweep.verdict(&results) {
        failure.output = Some(text);
        return Err(failure);
    }
    let remark = if global.quiet {
        String::new()
    } else {
        format!("saved {}, see {}\n", folder.display(), page.display())
    };
    Ok(Answer { text, remark })
}
