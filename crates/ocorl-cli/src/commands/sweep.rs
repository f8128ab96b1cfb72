//! `ocorl sweep`: every cell of a grid, on threads, going on after any stop.

use crate::Manners;
use crate::errors::Failure;
use crate::sweeping::{Options, Swept, folder, summary};
use crate::terminal::Answer;
use ocorl_study::grid::Grid;
use std::path::PathBuf;

/// What `ocorl sweep` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl sweep studies/optimism.toml            every cell of the grid, into sweeps/optimism
  ocorl sweep studies/optimism.toml --dry-run  how many cells, and about how long
  ocorl sweep grid.toml --jobs 2 --budget 600  two at a time, ten minutes each at most

A grid names systems and seeds, and what is set and varied:

  systems = [\"pendulum\", \"bicycle\"]
  seeds = 5
  [vary]
  strategy = [\"max-determinant\", \"equidistant\"]

Stop it at any moment: the same command goes on where it was.")]
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

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let path = arguments.grid.display().to_string();
    let text = std::fs::read_to_string(&arguments.grid).map_err(|error| {
        Failure::usage(format!("cannot read '{path}'"))
            .detail("cause", error.to_string())
            .hint("see: ocorl sweep --help")
    })?;
    let grid = Grid::parse(&text, &path)?;
    let name = arguments.grid.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = folder(arguments.out.as_ref(), &name);
    let results = match arguments.sweep.sweep(&grid, &folder, manners)? {
        Swept::Planned(planned) => return Ok(planned.answer(manners).into()),
        Swept::Done(results) => results,
    };
    let page = folder.join("report.html");
    super::report::after(&folder, &page)?;
    let text = if manners.json { results.summary().json() } else { summary(&results) };
    if let Some(mut failure) = arguments.sweep.verdict(&results) {
        failure.output = Some(text);
        return Err(failure);
    }
    let remark = if manners.quiet {
        String::new()
    } else {
        format!("saved {}, see {}\n", folder.display(), page.display())
    };
    Ok(Answer { text, remark })
}
