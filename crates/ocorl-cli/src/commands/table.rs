//! `ocorl table`: the paper's Table 1 beside the results of this program.

use crate::GlobalArgs;
use crate::checks::writable_folder;
use crate::errors::Failure;
use crate::sweeping::{self, Options, Selection, Swept};
use crate::table::{Align, Table};
use crate::terminal::{self, Answer};
use ocorl_study::files::write_atomically;
use ocorl_study::results::Results;
use ocorl_study::studies;
use ocorl_study::table1::{PROGRESS, Table1};
use std::path::PathBuf;

/// Systems that `--quick` selects.
const QUICK_SYSTEMS: [&str; 3] = ["cancer-treatment", "pendulum", "mountain-car"];
const QUICK_SEEDS: u64 = 3;

/// Arguments of `ocorl table`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl table --quick                            three systems, three seeds
  ocorl table                                    nine systems, three strategies, ten seeds
  ocorl table --systems pendulum,bicycle --seeds 5 --format markdown

Finished runs are kept in sweeps/table1: an interrupted sweep is continued by the same command.")]
pub(crate) struct Arguments {
    /// Three systems and three seeds only
    #[arg(long, conflicts_with_all = ["systems", "seeds"])]
    quick: bool,
    #[command(flatten)]
    selection: Selection,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Summarize the results of an existing sweep, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "sweep_out"])]
    from: Option<PathBuf>,
    /// Folder for the table in all formats
    #[arg(long, value_name = "DIR", default_value = "tables")]
    out: PathBuf,
    /// Write no files except those of the sweep
    #[arg(long)]
    no_save: bool,
    #[command(flatten)]
    sweep: Options,
}

/// Output format of the table.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Markdown,
    Csv,
    Json,
    Latex,
}

impl Format {
    const ALL: [(Format, &'static str); 5] = [
        (Format::Text, "txt"),
        (Format::Markdown, "md"),
        (Format::Csv, "csv"),
        (Format::Json, "json"),
        (Format::Latex, "tex"),
    ];

    fn write(self, table: &Table1, width: Option<usize>) -> String {
        match self {
            Format::Text => text(table, width),
            Format::Markdown => format!("{}\n{}", table.markdown(), table.progress_markdown()),
            Format::Csv => table.tidy().csv(),
            Format::Json => table.tidy().json(),
            Format::Latex => format!("{}\n{}", table.latex(), table.progress_latex()),
        }
    }
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let results = match results(arguments, global)? {
        Swept::Planned(planned) => return Ok(planned.answer(global).into()),
        Swept::Done(results) => results,
    };
    let table = Table1::new(&results);
    if !arguments.no_save {
        writable_folder(&arguments.out)?;
        for (format, ending) in Format::ALL {
            let path = arguments.out.join(format!("table1.{ending}"));
            write_atomically(&path, format.write(&table, None).as_bytes())
                .map_err(|error| Failure::file(&path, &error))?;
        }
        super::report::after(&folder(arguments), &arguments.out.join("report.html"))?;
    }
    let format = if global.json { Format::Json } else { arguments.format };
    let text = format.write(&table, terminal::width());
    if let Some(mut failure) = arguments.sweep.verdict(&results) {
        failure.output = Some(text);
        return Err(failure);
    }
    let out = arguments.out.display();
    let saved = format!("saved {out}/table1.{{txt,md,csv,json,tex}}, see {out}/report.html\n");
    let remark = if global.quiet || arguments.no_save { String::new() } else { saved };
    Ok(Answer { text, remark })
}

fn results(arguments: &Arguments, global: GlobalArgs) -> Result<Swept, Failure> {
    if let Some(folder) = &arguments.from {
        return Ok(Swept::Done(Results::load(folder)?));
    }
    let mut grid = studies::grid("table1")?;
    if arguments.quick {
        grid.systems = QUICK_SYSTEMS.map(String::from).into();
        grid.seeds = (0..QUICK_SEEDS).collect();
    }
    arguments.selection.apply(&mut grid)?;
    arguments.sweep.sweep(&grid, &folder(arguments), global)
}

/// Folder of the results.
fn folder(arguments: &Arguments) -> PathBuf {
    let kept = || sweeping::folder(arguments.selection.sweep_out.as_ref(), "table1");
    arguments.from.clone().unwrap_or_else(kept)
}

/// The table as text.
fn text(table: &Table1, width: Option<usize>) -> String {
    let columns = [Align::Left].into_iter().chain([Align::Right; 11]).collect::<Vec<_>>();
    let mut lines = Table::new(columns);
    for (first, title) in [
        (1, "optimum"),
        (3, "ZOH as printed"),
        (5, "optimal"),
        (6, "max kernel distance"),
        (8, "max determinant"),
        (10, "equidistant"),
    ] {
        lines.group(first, title);
    }
    lines.row([
        "", "paper", "ours", "paper", "ours", "ZOH", "paper", "ours", "paper", "ours", "paper", "ours",
    ]);
    for line in table.printed("+-", |best| format!("*{best}")) {
        lines.row(line);
    }
    let (reached, all) = table.reached();
    let seeds =
        table.rows.iter().flat_map(|row| row.learned.iter().map(|l| l.costs.len())).max().unwrap_or(0);
    let plural = if seeds == 1 { "" } else { "s" };
    let legend = format!(
        "ZOH: zero-order hold. Final cost, mean +- standard deviation over {seeds} seed{plural}; * the lowest of each row.\n\
         {reached} of {all} learned cells are at most the paper's (or within 0.3 % of the optimum, where it prints even known models below that).\n"
    );
    format!("{}\n{}{}", lines.text(width), prose(&legend, width), progress(table, width))
}

/// Text below a table, in lines that fit.
fn prose(text: &str, width: Option<usize>) -> String {
    width.map_or_else(|| text.to_owned(), |width| terminal::filled(text, width))
}

/// Costs of the episodes before the last; empty if there are none.
fn progress(table: &Table1, width: Option<usize>) -> String {
    let rows = table.progress();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [Align::Left, Align::Left].into_iter().chain([Align::Right; PROGRESS.len() - 2]);
    let mut lines = Table::new(columns.collect::<Vec<_>>());
    for (first, title) in [(2, "aborted"), (3, "worst"), (5, "cumulative regret"), (7, "gap: last")] {
        lines.group(first, title);
    }
    lines.row(["", "", "episodes", "episode", "x optimum", "median", "x optimum", "episode", "last five"]);
    for row in rows {
        lines.row(row);
    }
    let legend = "From episode 1 on. Aborted: a state left its limits or diverged; worst: over all seeds; the others are medians.\n";
    format!("\n{}\n{}", lines.text(width), prose(legend, width))
}
