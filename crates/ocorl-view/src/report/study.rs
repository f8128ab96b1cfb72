//! The report of a study: the numbers that matter, what each episode did, what is believed now, and how it was made.

use super::{Block, Cell, Comparison, Document, Mood, Number, Section, Table};
use super::{amount, cost};
use crate::panels::{EpisodeView, Exhibit, StudyView, Summary};
use crate::words::capital;
use ocorl_study::study::StudyError;
use std::path::Path;

/// Rows of a table at most; the database has all.
const MOST_ROWS: usize = 2_000;

/// The report of the study in `folder`. What takes a while to find out (the best control with the true model, the ways of simulated episodes
/// that nobody kept) is found out, and kept beside the study where that is possible; `tell` hears of it.
pub fn study(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Document, StudyError> {
    Ok(of_view(&StudyView::open_whole(folder, tell)?))
}

/// The report of what is to be seen of a study.
pub fn of_view(view: &StudyView) -> Document {
    let (summary, overall) = (view.summary(), view.overall());
    let find = |id: &str| overall.iter().find(|exhibit| exhibit.id == id);
    let looked = looked_at(view);
    let mut sections = vec![self::summary(&summary, view)];
    let plots = |id: &'static str, title: &str, ids: &[&str]| {
        let blocks: Vec<Block> = ids.iter().filter_map(|id| find(id)).map(block).collect();
        (!blocks.is_empty()).then(|| Section { blocks, ..Section::new(id, title) })
    };
    sections.extend(plots("cost", "Cost and regret", &["cost", "regret"]));
    sections.extend(each(&looked, "states", "States and controls"));
    sections.extend(each(&looked, "phase", "Phase portraits"));
    sections.extend(each(&looked, "uncertainty", "What was unknown"));
    let last = looked.last().map_or(&[][..], std::slice::from_ref);
    sections.extend(each(last, "slices", "The model"));
    sections.extend(each(last, "calibration", "Calibration"));
    sections.extend(plots("times", "When it was measured", &["times"]));
    sections.extend(plots("information", "What was learned", &["information"]));
    sections.extend(plots("timing", "Time spent", &["timeline"]));
    sections.extend(each(last, "controller", "Controller health"));
    sections.push(episodes(&summary));
    sections.extend(measurements(&looked));
    sections.push(data(&summary));
    sections.push(configuration(&summary));
    sections.push(made_by(&summary));
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

/// The first planned episode, one in the middle, and the last that is over.
fn looked_at(view: &StudyView) -> Vec<EpisodeView> {
    let last = view.study().history().next().saturating_sub(1);
    let mut numbers = vec![1.min(last), last.div_ceil(2), last];
    numbers.dedup();
    numbers.into_iter().filter_map(|number| view.episode(number)).collect()
}

fn block(exhibit: &Exhibit) -> Block {
    Block::Figure { about: exhibit.about.clone(), figure: exhibit.figure.clone() }
}

/// The same plot of several episodes.
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
            // What is compared is a cost; what is not, a count.
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
    let mut section = Section::new("summary", "Summary").block(Block::Numbers { numbers });
    if !view.baselines().computed && view.baselines().continuous.is_some() {
        section = section.block(Block::text(
            "The best continuous and held costs are as the paper prints them; for this study they were not computed.",
        ));
    }
    if summary.numbers.is_empty() {
        section = section.block(Block::text("No episode is over yet."));
    }
    if let Some(next) = &summary.next {
        let times: usize = next.measure_at.iter().map(Vec::len).sum();
        let worth = next.worth.as_ref().map_or(String::new(), |worth| format!(" {}.", capital(worth)));
        let text =
            format!("Episode {} is pending: it is to be measured at {times} times.{worth}", next.episode);
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
        "#above the best",
        "#measured",
        "#asked",
        "#planning s",
        "told",
    ];
    let mut table = Table { long: true, ..Table::new(&columns) };
    for row in summary.rows.iter().take(MOST_ROWS) {
        let number =
            |value: Option<f64>, write: fn(f64) -> String| Cell::from(value.map_or("–".into(), write));
        let words = [Some(row.outcome.as_str()).filter(|o| !o.is_empty()), row.reason.as_deref()];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        let ended = if words.is_empty() {
            row.status.into()
        } else {
            format!("{}: {}", row.status, words.join("; "))
        };
        let mood = match row.status {
            "complete" => Mood::Plain,
            "pending" => Mood::Quiet,
            _ => Mood::Bad,
        };
        let about = if row.cost_from == Some("estimated") { "≈ " } else { "" };
        table.row([
            row.episode.to_string().into(),
            Cell::new(ended, mood),
            row.cost.map_or("–".into(), |value| format!("{about}{}", cost(value))).into(),
            number(row.planned_cost, cost),
            number(row.regret, amount),
            row.measured.to_string().into(),
            row.asked.to_string().into(),
            number(row.planning_seconds, |s| format!("{s:.2}")),
            row.told_at.clone().unwrap_or_default().into(),
        ]);
    }
    Section::new("episodes", "Episodes").block(Block::Table(table))
}

/// What was measured in the last episode that is looked at.
fn measurements(looked: &[EpisodeView]) -> Option<Section> {
    let episode = looked.last().filter(|episode| !episode.measurements.rows.is_empty())?;
    let columns: Vec<String> = episode.measurements.columns.iter().map(|name| format!("#{name}")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table { long: true, ..Table::new(&columns) };
    table.note =
        "sigmas: how many standard deviations the measurement lay from what the model expected.".into();
    for row in episode.measurements.rows.iter().take(MOST_ROWS) {
        table.row(row.iter().map(|value| Cell::from(value.map_or("–".into(), |v| format!("{v:.5}")))));
    }
    let about = format!("Of episode {}; the database has all.", episode.episode);
    Some(Section::new("measurements", "Measurements").about(about).block(Block::Table(table)))
}

fn data(summary: &Summary) -> Section {
    let facts = summary.health.iter().map(|fact| (fact.what.to_owned(), fact.value.clone())).collect();
    let section = Section::new("data", "Data").block(Block::Facts { facts });
    summary.notes.iter().fold(section, |section, note| section.block(Block::text(format!("Note: {note}"))))
}

fn configuration(summary: &Summary) -> Section {
    let mut table = Table::new(&["setting", "here", "usually"]);
    for setting in summary.configuration.iter().filter(|setting| setting.changed) {
        table.row([
            setting.key.clone().into(),
            Cell::new(&setting.value, Mood::Good),
            Cell::new(&setting.default, Mood::Quiet),
        ]);
    }
    let section = Section::new("configuration", "Configuration");
    let section = if table.rows.is_empty() {
        section.block(Block::text("Everything is as it usually is for this system."))
    } else {
        section.about("What differs from what is usual for this system.").block(Block::Table(table))
    };
    let all = summary.configuration.iter().map(|setting| format!("{} = {}", setting.key, setting.value));
    section.block(Block::Code { text: all.collect::<Vec<_>>().join("\n") })
}

fn made_by(summary: &Summary) -> Section {
    let facts = [
        ("system", summary.system.clone()),
        ("seed", summary.seed.to_string()),
        ("begun", summary.began.clone()),
        ("last change", summary.updated.clone()),
        ("study made by", format!("ocorl {}", summary.version)),
        ("report made by", format!("ocorl {}", env!("CARGO_PKG_VERSION"))),
    ];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Section::new("versions", "Versions and seed").block(Block::Facts { facts })
}
