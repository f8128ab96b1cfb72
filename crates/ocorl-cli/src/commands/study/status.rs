//! `ocorl study status`: the episodes of a study, what is pending, and the next command.

use super::Folder;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use ocorl_study::run::numbers::cost;
use ocorl_study::store::Access;
use ocorl_study::study::{CostFrom, EpisodeHistory, Study, Verdict};
use serde_json::json as document;
use std::fmt::Write;

/// Arguments of `ocorl study status`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl study status lab            episodes, costs, and what to do next
  ocorl study status lab --json     for programs")]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Folder,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut study = Study::open(&arguments.at.folder, Access::Read)?;
    super::interrupted(&study, global);
    let worth = study.worth()?;
    let (overview, folder) = (study.overview(), arguments.at.folder.display().to_string());
    if global.json {
        let closed: Vec<_> = study.history().episodes.iter().filter_map(|e| e.closed.as_ref()).collect();
        let pending = study.history().pending().map(|p| &p.plan.rollouts);
        let times = pending
            .map(|rollouts| rollouts.iter().map(|rollout| rollout.measure_at.clone()).collect::<Vec<_>>());
        return Ok(json(&document!({
            "study": folder,
            "overview": overview,
            "episodes": closed,
            "pending_measure_at": times,
            "worth": worth,
            "data_problems": study.notices(),
            "notes": study.history().notes,
            "interruption": study.store().interruption().map(ToString::to_string),
        }))
        .into());
    }
    let mut text = format!(
        "study of {}, seed {}: {} of {} episodes, {} measurements",
        overview.system, overview.seed, overview.episodes, overview.of, overview.measurements
    );
    if let Some(best) = overview.best_cost {
        let _ = write!(text, ", lowest cost {}", cost(best));
    }
    text.push('\n');
    let prices = study.created().prices;
    if prices != ocorl_study::price::Prices::default() {
        let budget = overview.budget.map_or("no limit".into(), |b| format!("{b}"));
        let _ = writeln!(text, "spent {:.4} of {budget}", overview.spent);
    }
    text += &table(&study);
    let imports = &study.history().imports;
    if !imports.is_empty() {
        let rows: usize = imports.iter().map(|(_, i)| i.rows.len()).sum();
        let _ = writeln!(text, "{rows} imported measurements");
    }
    text += &super::select::notices(&study.notices(), &folder);
    if let Some(worth) = &worth {
        let _ = writeln!(text, "{}", worth.recommendation());
    }
    text += &next(&study, &folder);
    Ok(text.into())
}

fn table(study: &Study) -> String {
    let episodes = &study.history().episodes;
    if episodes.is_empty() {
        return String::new();
    }
    let mut text =
        format!("{:>8}{:>12}{:>12}{:>12}  {}\n", "episode", "cost", "planned", "measured", "ended");
    for episode in episodes {
        let EpisodeHistory { plan, rows, closed, .. } = episode;
        let planned = plan.planned_cost();
        let about = |c: &ocorl_study::study::Closed| match (c.cost, c.cost_from) {
            (Some(value), CostFrom::Reported) => cost(value),
            (Some(value), _) => format!("~{}", cost(value)),
            (None, _) => "-".into(),
        };
        let ended =
            closed.as_ref().map_or("pending".into(), |c| format!("{}: {}", c.status.name(), c.outcome));
        let _ = writeln!(
            text,
            "{:>8}{:>12}{:>12}{:>12}  {ended}",
            episode.episode,
            closed.as_ref().map_or("-".into(), about),
            planned.map_or("-".into(), cost),
            format!("{} of {}", rows.len(), plan.asked()),
        );
    }
    text
}

/// The next command to run.
fn next(study: &Study, folder: &str) -> String {
    if let Some(pending) = study.history().pending() {
        let mut text = String::new();
        for rollout in &pending.plan.rollouts {
            let times: Vec<String> = rollout.measure_at.iter().map(|t| format!("{t:.4}")).collect();
            let start = if pending.plan.rollouts.len() > 1 {
                format!(" (start {})", rollout.start)
            } else {
                String::new()
            };
            let when =
                if rollout.rule.is_some() { "as chosen during the run".into() } else { times.join(", ") };
            let _ = writeln!(text, "episode {} is pending{start}: measure at {when}", pending.episode);
        }
        return text
            + &format!(
                "next: ocorl study ask {folder} --out plan.json, run it, ocorl study tell {folder} measured.csv\n"
            );
    }
    match study.over() {
        None => format!("next: ocorl study ask {folder} --out plan.json\n"),
        Some(Verdict::EpisodesUsed) => "finished: all episodes were run\n".into(),
        Some(Verdict::BudgetUsed) => "finished: the next episode would cost more than what remains\n".into(),
    }
}
