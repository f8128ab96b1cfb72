//! `ocorl study ask | tell | import | fail | discard`: writes plans for the hardware, and records measurements.

use super::Writing;
use crate::GlobalArgs;
use crate::commands::list::with_unit;
use crate::errors::Failure;
use crate::terminal::{Answer, json, say};
use ocorl::event::{Event, Watch};
use ocorl_study::files::write_atomically;
use ocorl_study::live;
use ocorl_study::measured::Measured;
use ocorl_study::measured::recording::{Mapping, Recording};
use ocorl_study::run::numbers::cost;
use ocorl_study::simulated::keep_traces;
use ocorl_study::store::Access;
use ocorl_study::study::{Closed, CostFrom, Receipt, Study, Telling, Verdict};
use serde_json::json as document;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `ocorl study ask`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl study ask lab > plan.json        the plan as JSON
  ocorl study ask lab --out plan.json    write the plan to a file, atomically")]
pub(super) struct Ask {
    #[command(flatten)]
    to: Writing,
    /// File for the plan [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Arguments of `ocorl study tell`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl study tell lab measured.csv             columns t, states, controls, states_dot
  ocorl study tell lab first-half.csv --more    the rest follows later
  ocorl study tell lab again.csv --episode 3 --correct")]
pub(super) struct Tell {
    #[command(flatten)]
    to: Writing,
    /// File of measurements: CSV, or JSON if its name ends in .json
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of the episode [default: the pending one]
    #[arg(long, value_name = "N")]
    episode: Option<usize>,
    /// The file is a part of the episode; more will follow
    #[arg(long, conflicts_with = "correct")]
    more: bool,
    /// Replace the measurements recorded before; both stay in the history
    #[arg(long)]
    correct: bool,
}

/// Arguments of `ocorl study import`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study import lab old-1.csv old-2.csv      logs from before the study, with the columns of tell
  ocorl study import lab run.csv --map map.toml   a recording of another program")]
pub(super) struct Import {
    #[command(flatten)]
    to: Writing,
    /// Earlier logs, with the columns of `tell`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Mapping of the columns of recordings of another program; derivatives are estimated from positions and velocities
    #[arg(long, value_name = "TOML")]
    map: Option<PathBuf>,
}

/// Arguments of `ocorl study fail`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study fail lab --reason \"motor too hot\"
  ocorl study fail lab --measured half.csv        keep what was measured before the failure")]
pub(super) struct Fail {
    #[command(flatten)]
    to: Writing,
    /// Reason of the failure
    #[arg(long, value_name = "TEXT", default_value = "failed")]
    reason: String,
    /// File of measurements taken before the failure
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
}

/// Arguments of `ocorl study discard`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study discard lab 3 --dry-run             only print what would be done
  ocorl study discard lab 3 --reason \"loose cable\"")]
pub(super) struct Discard {
    #[command(flatten)]
    to: Writing,
    /// Number of the episode
    #[arg(value_name = "EPISODE")]
    episode: usize,
    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "discarded")]
    reason: String,
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Number of measurements from which `ask` says what it is doing: learning from so many takes seconds.
const MANY: usize = 500;

pub(super) fn ask(arguments: &Ask, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut study = arguments.to.open(global)?;
    let pending = study.history().pending().is_some();
    let mut observer = Watch(|event: &Event<'_>| {
        let text = match event {
            _ if global.quiet => return,
            Event::NotPlanned { episode, reason, instead, .. } => {
                format!("warning: episode {episode}: planning failed, {instead} is used instead: {reason}\n")
            }
            Event::Thinned { kept, of, .. } => {
                format!("of {of} measurements the model keeps {kept} that are far from each other\n")
            }
            Event::Updated { measurements, .. } if *measurements >= MANY => {
                format!("training on {measurements} measurements\n")
            }
            Event::EpisodeBegan { episode, measurements } if *measurements >= MANY => {
                format!("planning episode {episode}\n")
            }
            _ => return,
        };
        say(&text);
    });
    let Some(plan) = live::ask(&mut study, &mut observer)? else {
        let why = match study.over() {
            Some(Verdict::BudgetUsed) => {
                "the budget is exhausted: the next episode would cost more than what remains"
            }
            _ => "the study is over: all its episodes were run",
        };
        return Err(
            Failure::badly(why).hint(format!("see: ocorl study status {}", arguments.to.at.folder.display()))
        );
    };
    let (folder, text) = (arguments.to.at.folder.display(), plan.text()?);
    let online = plan.rollouts.iter().any(|rollout| rollout.rule.is_some());
    let when = match plan.asked() {
        _ if online => "at times chosen during the run".into(),
        1 => "once".into(),
        count => format!("at {count} times"),
    };
    let again = if pending { "still pending; " } else { "" };
    let remark = if global.quiet {
        String::new()
    } else {
        format!(
            "episode {}: {again}run it for {}, measure {when}; then: ocorl study tell {folder} measured.csv\n",
            plan.episode,
            with_unit(plan.valid_for, study.system().task.time_unit())
        )
    };
    match &arguments.out {
        Some(path) => {
            write_atomically(path, text.as_bytes()).map_err(|error| Failure::file(path, &error))?;
            Ok(Answer { text: String::new(), remark })
        }
        None => Ok(Answer { text, remark }),
    }
}

pub(super) fn tell(arguments: &Tell, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut study = arguments.to.open(global)?;
    let measured = Measured::load(&arguments.file, &study.columns())?;
    let how = match (arguments.more, arguments.correct) {
        (true, _) => Telling::More,
        (_, true) => Telling::Correct,
        _ => Telling::Whole,
    };
    let before = study.overview().last_cost;
    let source = arguments.file.display().to_string();
    let receipt = study.tell(arguments.episode, measured, &source, how)?;
    let (strange, notices) = (study.strange(receipt.episode)?, study.notices());
    keep_traces(&study);
    if global.json {
        let closed = receipt.closed.as_ref();
        return Ok(json(&document!({
            "episode": receipt.episode,
            "stored": receipt.stored,
            "known": receipt.known,
            "on_time": receipt.against.on_time,
            "late": receipt.against.late,
            "missed": receipt.against.missed,
            "extra": receipt.against.extra,
            "closed": closed,
            "far_from_the_model": strange.map(|s| s.far),
            "data_problems": notices,
            "notes": receipt.notes,
        }))
        .into());
    }
    let mut remark = String::new();
    if !global.quiet {
        for note in &receipt.notes {
            let _ = writeln!(remark, "note: {note}");
        }
        // A count of far points is of interest only if nothing explains them.
        match strange.and_then(|strange| strange.warning()).filter(|_| notices.is_empty()) {
            Some(warning) => writeln!(remark, "warning: {warning}").unwrap_or_default(),
            None => {
                remark += &super::select::notices(&notices, &arguments.to.at.folder.display().to_string());
            }
        }
    }
    Ok(Answer { text: receipt_line(&arguments.to.at.folder, &receipt, before), remark })
}

/// The receipt of recorded measurements as one line.
fn receipt_line(folder: &Path, receipt: &Receipt, before: Option<f64>) -> String {
    let Receipt { episode, stored, known, against, closed, .. } = receipt;
    let folder = folder.display();
    let mut text = format!("episode {episode}: ");
    let measurements = |n: usize| if n == 1 { "1 measurement".into() } else { format!("{n} measurements") };
    let were = |n: usize| if n == 1 { "was" } else { "were" };
    let _ = match (*stored, *known) {
        (0, known) => {
            let (what, were) = (measurements(known), were(known));
            write!(text, "nothing was changed, {what} {were} recorded before")
        }
        (stored, 0) => write!(text, "{} stored", measurements(stored)),
        (stored, known) => {
            let (what, were) = (measurements(stored), were(known));
            write!(text, "{what} stored, {known} {were} recorded before")
        }
    };
    // What an open episode lacks may still come.
    let missed = if closed.is_some() { "missed" } else { "to come" };
    let unlike = [("late", against.late), (missed, against.missed), ("not requested", against.extra)];
    let unlike: Vec<String> =
        unlike.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if !unlike.is_empty() {
        let _ = write!(text, " ({})", unlike.join(", "));
    }
    let Some(closed) = closed else {
        let next = if against.missed > 0 {
            "record the rest"
        } else {
            "to end the episode, record the last file without --more"
        };
        return text + &format!("; {next}: ocorl study tell {folder} FILE\n");
    };
    text += &costs(closed);
    if let Some(before) = before.filter(|_| *stored > 0) {
        let _ = write!(text, " (previous {})", cost(before));
    }
    text + &format!("; next: ocorl study ask {folder}\n")
}

fn costs(closed: &Closed) -> String {
    match (closed.cost, closed.cost_from) {
        (Some(value), CostFrom::Reported) => format!(", cost {}", cost(value)),
        (Some(value), _) => format!(", cost about {} (estimated from the measurements)", cost(value)),
        (None, _) => ", cost unknown".into(),
    }
}

pub(super) fn import(arguments: &Import, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut study = arguments.to.open(global)?;
    let mut all = Vec::new();
    let mapping = arguments.map.as_deref().map(Mapping::load).transpose()?;
    for file in &arguments.files {
        let measured = match &mapping {
            Some(mapping) => Recording::load(file, mapping, &study.system().task)?.measured(),
            None => Measured::load(file, &study.columns())?,
        };
        all.push((file.display().to_string(), measured));
    }
    let read: usize = all.iter().map(|(_, measured)| measured.rows.len()).sum();
    let new = study.import_all(all)?;
    if global.json {
        return Ok(json(&document!({ "read": read, "new": new })).into());
    }
    let known = study.history().measurements();
    Ok(format!("{new} of {read} measurements are new; {known} are used in total\n").into())
}

pub(super) fn fail(arguments: &Fail, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut study = arguments.to.open(global)?;
    if let Some(file) = &arguments.measured {
        let measured = Measured::load(file, &study.columns())?;
        study.tell(None, measured, &file.display().to_string(), Telling::More)?;
    }
    let closed = study.fail(None, &arguments.reason)?;
    Ok(marked(&closed, global, "failed; its measurements count"))
}

pub(super) fn discard(arguments: &Discard, global: GlobalArgs) -> Result<Answer, Failure> {
    if arguments.dry_run {
        let study = Study::open(&arguments.to.at.folder, Access::Read)?;
        let Some(episode) = study.history().episodes.get(arguments.episode) else {
            return Err(Failure::usage(format!("there is no episode {}", arguments.episode)));
        };
        let n = episode.rows.len();
        return Ok(
            format!("episode {}: {n} measurements would no longer be used\n", arguments.episode).into()
        );
    }
    let closed = arguments.to.open(global)?.discard(arguments.episode, &arguments.reason)?;
    Ok(marked(&closed, global, "discarded; its measurements are stored, but not used"))
}

fn marked(closed: &Closed, global: GlobalArgs, what: &str) -> Answer {
    if global.json {
        return json(closed).into();
    }
    format!("episode {} {what}: {} measurements\n", closed.episode, closed.measured).into()
}
