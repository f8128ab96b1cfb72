//! The report of a study: headline numbers, cost, episodes, model, data, configuration and versions.

use super::{Block, Cell, Comparison, Document, Emphasis, Number, Picture, Section, Table};
use super::{amount, cost};
use crate::Theme;
use crate::panels::{EpisodeView, Exhibit, StudyView, Summary};
use crate::text::capital;
use ocorl_study::study::StudyError;
use std::path::Path;

/// Largest number of rows of a table; the database has all.
const MOST_ROWS: usize = 2_000;

/// The report of the study in `folder`. Missing results that take time (the optimum with known dynamics, trajectories of simulated
/// episodes) are computed and cached beside the study where it can be written. `tell` receives progress messages.
pub fn study(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Document, StudyError> {
    Ok(of_view(&StudyView::open_whole(folder, tell)?))
}

/// The report of a study that is open for reading.
pub fn of_view(view: &StudyView) -> Document {
    let (summary, overall) = (view.summary(), view.overall());
    let find = |id: &str| overall.iter().find(|exhibit| exhibit.id == id);
    let looked = looked_at(view);
    let last = looked.last().map_or(&[][..], std::slice::from_ref);
    // What was learned in the first planned episode, and what was left to learn in the last one.
    let mut ends: Vec<EpisodeView> = looked.first().into_iter().chain(looked.last()).cloned().collect();
    ends.dedup_by_key(|episode| episode.episode);
    let plots = |id: &'static str, title: &str, ids: &[&str]| {
        let blocks: Vec<Block> = ids.iter().filter_map(|id| find(id)).map(block).collect();
        (!blocks.is_empty()).then(|| Section { blocks, ..Section::new(id, title) })
    };
    let mut sections = vec![self::summary(&summary, view)];
    sections.extend(filmstrip(view));
    sections.extend(plots("cost", "Cost by episode", &["cost"]));
    sections.extend(each(last, "phase", "State space"));
    sections.extend(each(&ends, "uncertainty", "Why it measured there"));
    sections.extend(plots("times", "Measurement times", &["times"]));
    sections.push(episodes(&summary));
    let appendices = [
        each(&looked, "states", "States and controls"),
        plots("regret", "Regret", &["regret"]),
        each(last, "slices", "Model slices"),
        each(last, "field", "Learned vector field"),
        each(last, "calibration", "Calibration"),
        plots("information", "Information gain", &["information"]),
        plots("timing", "Computing time", &["timeline"]),
        each(last, "controller", "Controller performance"),
        measurements(&looked),
        Some(data(&summary)),
        Some(configuration(&summary)),
        Some(made_by(&summary)),
    ];
    sections.extend(appendices.into_iter().flatten().map(Section::folded));
    Document { title: title(&summary), subtitle: subtitle(&summary), sections }
}

fn title(summary: &Summary) -> String {
    if summary.name.is_empty() || summary.name == summary.system {
        summary.title.clone()
    } else {
        format!("{}: {}", summary.title, summary.name)
    }
}

fn subtitle(summary: &Summary) -> String {
    let parts = [
        format!("{} of {} episodes", summary.episodes, summary.of),
        format!("{} measurements", summary.measurements),
        summary.strategy.replace('-', " "),
        format!("seed {}", summary.seed),
        format!("ocorl {}", summary.version),
    ];
    parts.join(" · ")
}

/// The first planned episode, one in the middle, and the last recorded one.
fn looked_at(view: &StudyView) -> Vec<EpisodeView> {
    let last = view.study().history().next().saturating_sub(1);
    let mut numbers = vec![1.min(last), last.div_ceil(2), last];
    numbers.dedup();
    numbers.into_iter().filter_map(|number| view.episode(number)).collect()
}

/// The system in episodes 0, 1, 2 and the last recorded one; `None` if it has no drawing.
fn filmstrip(view: &StudyView) -> Option<Section> {
    const SIZE: (f64, f64) = (260.0, 220.0);
    let costs = view.costs();
    let last = view.study().history().next().checked_sub(1)?;
    let mut numbers = vec![0, 1.min(last), 2.min(last), last];
    numbers.dedup();
    let picture = |number: usize| {
        let cost = costs.get(number).map_or(f64::NAN, |(_, cost, _)| *cost);
        let cost = if cost.is_finite() { format!(": cost {}", self::cost(cost)) } else { String::new() };
        let svg = view.strobe(number, &Theme::PAGE, SIZE)?;
        Some(Picture { caption: format!("Episode {number}{cost}"), svg })
    };
    let pictures: Vec<Picture> = numbers.into_iter().filter_map(picture).collect();
    let about = "The system at even intervals of each episode, the last position darkest; orange: the path of its tip.";
    let section = Section::new("filmstrip", "How it learned").about(about);
    (!pictures.is_empty()).then(|| section.block(Block::Filmstrip { pictures }))
}

fn block(exhibit: &Exhibit) -> Block {
    Block::Figure { about: exhibit.about.clone(), figure: exhibit.figure.clone() }
}

/// One section with the same plot of several episodes.
fn each(looked: &[EpisodeView], id: &'static str, title: &str) -> Option<Section> {
    let found = looked.iter().filter_map(|episode| episode.exhibits.iter().find(|exhibit| exhibit.id == id));
    let found: Vec<&Exhibit> = found.collect();
    let about = found.first().map(|exhibit| exhibit.about.clone())?;
    let blocks = found.iter().map(|exhibit| Block::figure(exhibit.figure.clone())).collect();
    Some(Section { blocks, ..Section::new(id, title).about(about) })
}

fn summary(summary: &Summary, view: &StudyView) -> Section {
    let compare = |number: &crate::panels::Number| {
        let beside = number.compare.iter().map(|compared| Comparison {
            with: compared.with.into(),
            value: cost(compared.value),
            percent: Some(compared.percent),
        });
        beside.collect()
    };
    let mut numbers: Vec<Number> = summary
        .numbers
        .iter()
        .map(|number| Number {
            what: capital(number.what),
            // Numbers with reference values are costs; the others are counts.
            value: if number.compare.is_empty() && number.value.fract() == 0.0 {
                format!("{:.0}", number.value)
            } else {
                cost(number.value)
            },
            compare: compare(number),
            ..Number::default()
        })
        .collect();
    numbers.push(Number {
        what: "Measurements".into(),
        value: summary.measurements.to_string(),
        note: format!("in {} of {} episodes", summary.episodes, summary.of),
        ..Number::default()
    });
    if summary.budget.is_some() || summary.spent > 0.0 {
        let note = summary.budget.map_or(String::new(), |budget| format!("of {}", amount(budget)));
        numbers.push(Number {
            what: "Spent".into(),
            value: amount(summary.spent),
            note,
            ..Number::default()
        });
    }
    let mut section = Section::new("summary", "Result")
        .block(Block::Verdict(summary.verdict.clone()))
        .block(Block::Numbers { numbers });
    for warning in &summary.warnings {
        section = section.block(Block::text(format!("{}. {}", capital(&warning.text), warning.action)));
    }
    if !view.baselines().computed && view.baselines().continuous.is_some() {
        section = section.block(Block::text(
            "The optimum and the optimal zero-order hold are the values that the paper prints; they were not computed for this study.",
        ));
    }
    if summary.numbers.is_empty() {
        section = section.block(Block::text("No episode has been recorded yet."));
    }
    if let Some(next) = &summary.next {
        let times: usize = next.measure_at.iter().map(Vec::len).sum();
        let worth = next.worth.as_ref().map_or(String::new(), |worth| format!(" {}.", capital(worth)));
        let text = format!("Episode {} is pending, with {times} measurement times.{worth}", next.episode);
        section = section.block(Block::text(text));
    }
    section
}

fn episodes(summary: &Summary) -> Section {
    let columns = [
        "#episode",
        "ended",
        "#cost",
        "#planned",
        "#above optimum %",
        "#measured",
        "#requested",
        "#planning s",
        "recorded",
    ];
    let mut table = Table { long: true, ..Table::new(&columns) };
    for row in summary.rows.iter().take(MOST_ROWS) {
        let number =
            |value: Option<f64>, write: fn(f64) -> String| Cell::from(value.map_or("–".into(), write));
        let parts = [Some(row.outcome.as_str()).filter(|o| !o.is_empty()), row.reason.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        let ended = if parts.is_empty() {
            row.status.into()
        } else {
            format!("{}: {}", row.status, parts.join("; "))
        };
        let emphasis = match row.status {
            "complete" => Emphasis::Plain,
            "pending" => Emphasis::Quiet,
            _ => Emphasis::Bad,
        };
        let about = if row.cost_from == Some("estimated") { "≈ " } else { "" };
        table.row([
            row.episode.to_string().into(),
            Cell::new(ended, emphasis),
            row.cost.map_or("–".into(), |value| format!("{about}{}", cost(value))).into(),
            number(row.planned_cost, cost),
            number(row.percent, amount),
            row.measured.to_string().into(),
            row.asked.to_string().into(),
            number(row.planning_seconds, |s| format!("{s:.2}")),
            row.told_at.clone().unwrap_or_default().into(),
        ]);
    }
    Section::new("episodes", "Episodes").block(Block::Table(table))
}

/// The measurements of the last episode of the report.
fn measurements(looked: &[EpisodeView]) -> Option<Section> {
    let episode = looked.last().filter(|episode| !episode.measurements.rows.is_empty())?;
    let columns: Vec<String> = episode.measurements.columns.iter().map(|name| format!("#{name}")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table { long: true, ..Table::new(&columns) };
    table.note =
        "residual [σ]: distance of the measurement from the prediction, in standard deviations of model and noise.".into();
    for row in episode.measurements.rows.iter().take(MOST_ROWS) {
        table.row(row.iter().map(|value| Cell::from(value.map_or("–".into(), |v| format!("{v:.5}")))));
    }
    let about =
        format!("Measurements of episode {}; the database has those of all episodes.", episode.episode);
    Some(Section::new("measurements", "Measurements").about(about).block(Block::Table(table)))
}

fn data(summary: &Summary) -> Section {
    let facts = summary.health.iter().map(|fact| (fact.what.to_owned(), fact.value.clone())).collect();
    let section = Section::new("data", "Data").block(Block::Facts { facts });
    summary.notes.iter().fold(section, |section, note| section.block(Block::text(format!("Note: {note}"))))
}

fn configuration(summary: &Summary) -> Section {
    let mut table = Table::new(&["setting", "value", "default"]);
    for setting in summary.configuration.iter().filter(|setting| setting.changed) {
        table.row([
            setting.key.clone().into(),
            Cell::new(&setting.value, Emphasis::Good),
            Cell::new(&setting.default, Emphasis::Quiet),
        ]);
    }
    let section = Section::new("configuration", "Configuration");
    let section = if table.rows.is_empty() {
        section.block(Block::text("All settings are defaults."))
    } else {
        section.about("Settings that differ from the defaults for this system.").block(Block::Table(table))
    };
    let all = summary.configuration.iter().map(|setting| format!("{} = {}", setting.key, setting.value));
    section.block(Block::Code { text: all.collect::<Vec<_>>().join("\n") })
}

fn made_by(summary: &Summary) -> Section {
    let facts = [
        ("system", summary.system.clone()),
        ("seed", summary.seed.to_string()),
        ("created", summary.began.clone()),
        ("last update", summary.updated.clone()),
        ("study made by", format!("ocorl {}", summary.version)),
        ("report made by", format!("ocorl {}", env!("CARGO_PKG_VERSION"))),
    ];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Section::new("versions", "Versions and seed").block(Block::Facts { facts })
}
