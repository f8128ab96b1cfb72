//! Reports: one self-contained page, whatever names and reasons contain; and the views of sweeps while they run.

use ocorl_study::cell::{Cell, CellResult, EpisodeRow};
use ocorl_study::grid::Grid;
use ocorl_study::known::Known;
use ocorl_study::store::{Access, Store};
use ocorl_study::sweep::{FORM, Reading, Sweep};
use ocorl_study::threads::{Jobs, Update, Work};
use ocorl_view::panels::sweep::{State, Status, SweepView};
use ocorl_view::report::{Block, Comparison, Document, MOST_BYTES, Number, Section, Table, html, sweep};
use ocorl_view::{Axis, Figure, Mark, Panel};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// All elements that a page may contain.
const ELEMENTS: [&str; 37] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "nav",
    "section",
    "div",
    "h1",
    "h2",
    "p",
    "ol",
    "ul",
    "li",
    "a",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "strong",
    "span",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "pre",
    "code",
    "svg",
    "g",
    "path",
    "rect",
];
const MORE: [&str; 4] = ["text", "tspan", "details", "summary"];

/// A tag: its name, and its attributes with their values.
type Tag = (String, Vec<(String, String)>);

/// Parses a page as a browser would, as far as reports need it; asserts that it is well-formed.
fn tags(page: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>\n").expect("a document type");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a bare > in {:?}", &rest[..start]);
        rest = &rest[start + 1..];
        // A tag ends at the first > outside of quotes.
        let mut quoted = false;
        let end = rest.find(|c| {
            quoted ^= c == '"';
            c == '>' && !quoted
        });
        let end = end.expect("a tag ends");
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split([' ', '\n']).next().expect("a name").to_owned();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
        let attributes = attributes(&tag[name.len()..]);
        if name == "style" {
            let end = rest.find("</style>").expect("a style sheet ends");
            assert!(!rest[..end].contains('<'), "markup in the style sheet");
            rest = &rest[end..];
        }
        if !empty && name != "meta" {
            open.push(name.clone());
        }
        tags.push((name, attributes));
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    tags
}

/// Parses attributes such as `a="b" c="d"`.
fn attributes(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.trim_start().split_once("=\"") {
        let (value, rest) = rest.split_once('"').expect("a value ends");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "attribute {name:?}");
        found.push((name.to_owned(), value.to_owned()));
        text = rest;
    }
    assert_eq!(text.trim(), "", "more in a tag");
    found
}

/// Asserts that nothing is run or fetched, and that every link points into the page.
fn assert_harmless(page: &str) {
    let mut ids = BTreeSet::new();
    let tags = tags(page);
    for (name, attributes) in &tags {
        assert!(ELEMENTS.contains(&name.as_str()) || MORE.contains(&name.as_str()), "<{name}>");
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on"), "{attribute}={value}");
            assert!(
                !["src", "srcset", "style", "action", "data"].contains(&attribute.as_str()),
                "{attribute}"
            );
            let link = attribute.contains("href");
            assert!(!link || value.starts_with('#'), "{attribute}={value}");
            let namespace = attribute == "xmlns" && value == "http://www.w3.org/2000/svg";
            // An accessible name is text that browsers never interpret.
            let words = attribute == "aria-label";
            assert!(words || namespace || !value.to_lowercase().contains("http:"), "{attribute}={value}");
            if attribute == "id" {
                assert!(ids.insert(value.clone()), "{value} twice");
            }
        }
    }
    let links =
        tags.iter().filter(|(name, _)| name == "a").flat_map(|(_, a)| a).map(|(_, value)| &value[1..]);
    for link in links {
        assert!(ids.contains(link), "no place {link}");
    }
    assert!(page.contains("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"));
    let style =
        page.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
    assert!(!style.contains("url(") && !style.contains("@import"), "the style sheet fetches something");
}

/// Injection attempts: every combination of how to break out, what to do then, and how to hide it.
fn payloads() -> Vec<String> {
    let breaks = ["", "\">", "'>", "</title>", "</style>", "-->", "]]>", "</script>", "</svg>", "\u{0}\">"];
    let acts = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "<a href=javascript:alert(1)>x</a>",
        "<iframe src=http://evil.example>",
    ];
    let ends = ["", "<!--", "\n\r\t", "\u{202e}&lt;"];
    let mut all = Vec::new();
    for start in breaks {
        for act in acts {
            for end in ends {
                all.push(format!("{start}{act}{end}"));
            }
        }
    }
    assert_eq!(all.len(), 200);
    all
}

/// A document whose every text is `words`.
fn everywhere(words: &str) -> Document {
    let axis = || Axis::new(words, words);
    let panel = |name: &str| {
        Panel::new(name, axis(), Axis::categories([words, words]).label(words))
            .color(axis())
            .mark(Mark::line([0.0, 1.0], [0.0, 1.0]).label(words))
            .mark(Mark::colored_line([0.0, 1.0], [0.0, 1.0], [0.0, 1.0]).label(words))
            .mark(Mark::note(0.5, 0.5, words))
    };
    let figure = Figure::new(words).subtitle(words).columns(2).panel(panel(words)).panel(panel(words));
    let mut table = Table::new(&[words, words]);
    table.groups = vec![(2, words.into())];
    table.note = words.into();
    table.row([words.into(), words.into()]);
    let number = Number {
        what: words.into(),
        value: words.into(),
        spread: words.into(),
        note: words.into(),
        compare: vec![Comparison { with: words.into(), value: words.into(), percent: Some(f64::NAN) }],
    };
    let section = Section::new("all", words)
        .about(words)
        .block(Block::Figure { about: words.into(), figure })
        .block(Block::Table(table))
        .block(Block::Numbers { numbers: vec![number] })
        .block(Block::text(words))
        .block(Block::Facts { facts: vec![(words.into(), words.into())] })
        .block(Block::Code { text: words.into() });
    Document { title: words.into(), subtitle: words.into(), sections: vec![section] }
}

#[test]
fn foreign_texts_stay_texts() {
    for payload in payloads() {
        let page = html(&everywhere(&payload));
        assert_harmless(&page);
        let elements = |page: &str| tags(page).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        // As many elements as with harmless texts of the same length; texts that do not fit are cut.
        assert_eq!(
            elements(&page),
            elements(&html(&everywhere(&"x".repeat(payload.chars().count())))),
            "{payload:?}"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&everywhere(&payload).json()).is_ok());
    }
}

/// A worker that finishes a cell at once.
struct InstantWork;

impl Work for InstantWork {
    fn run(&self, cell: &Cell, _: &Arc<AtomicBool>, _: &mut dyn FnMut(&EpisodeRow)) -> CellResult {
        result(cell)
    }
}

/// A result with three episodes; cells with seed 2 failed.
fn result(cell: &Cell) -> CellResult {
    let mut result = CellResult::failed(cell, "it <b>rained</b> & http://evil.example");
    if cell.seed == 2 {
        return result;
    }
    result.failure = None;
    result.known = Some(Known {
        continuous: 20.0,
        tracked: 20.0,
        held_as_printed: Some(20.6),
        held: 20.5,
        holds: 9,
        search: None,
    });
    result.episodes = (0..3)
        .map(|n| {
            let cost = 20.0 + 10.0 / f64::powi(10.0, n) + 0.001 * cell.seed as f64;
            let row = serde_json::json!({
                "episode": n, "cost": cost, "regret": cost - 20.0, "measured": 10, "synchronized": 0, "beta": 1.0,
                "information_gain": 0.1, "outcome": "completed",
            });
            serde_json::from_value(row).expect("an episode")
        })
        .collect();
    result
}

const GRID: &str = "title = \"Two of them\"\nsystems = [\"pendulum\", \"bicycle\"]\nseeds = 3\n\
                    [vary]\nstrategy = [\"max-determinant\", \"equidistant\"]\n";

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/results")
}

#[test]
fn every_committed_sweep_is_a_page_of_at_most_three_megabytes() {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(studies()).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 10, "{folders:?}");
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let document = sweep(&Reading::open(&folder).unwrap(), &name);
        let page = html(&document);
        assert!(page.len() <= MOST_BYTES, "{name}: {} bytes", page.len());
        assert!(!page.contains("Omitted to limit"), "{name}");
        assert_harmless(&page);
        let ids: Vec<&str> = document.sections.iter().map(|section| section.id).collect();
        for needed in
            ["summary", "comparison", "gaps", "cost", "regret", "cells", "failures", "timings", "about"]
        {
            assert!(ids.contains(&needed), "{name}: no {needed} in {ids:?}");
        }
        // Every section is on the page and has content.
        for section in &document.sections {
            assert!(!section.blocks.is_empty() && page.contains(&format!("<section id=\"{}\"", section.id)));
        }
        let has = |id: &str| ids.contains(&id);
        assert_eq!(has("table1"), ["table1", "strategies", "theory"].contains(&&*name), "{name}");
        assert_eq!(has("measurements"), name == "measurements", "{name}");
        assert_eq!(has("optimism"), name == "optimism", "{name}");
        let json: serde_json::Value = serde_json::from_str(&document.json()).unwrap();
        assert_eq!(json["sections"].as_array().unwrap().len(), ids.len());
    }
}

#[test]
fn a_report_says_what_the_results_say() {
    let cells = Grid::parse(GRID, "").unwrap().cells();
    let cells = cells.into_iter().map(|cell| (cell.clone(), Some(result(&cell)))).collect();
    let reading = Reading {
        title: "<i>title</i>".into(),
        cells,
        timings: [].into(),
        about: None,
        running: false,
        head: 0,
    };
    let document = sweep(&reading, "mine");
    let page = html(&document);
    assert_harmless(&page);
    assert!(page.contains("<h1>&lt;i&gt;title&lt;/i&gt;</h1>"));
    // Mean of 20.1 and 20.101, half a percent above the optimum.
    assert!(page.contains("20.1005 ± 0.0007") && page.contains("+0.50 %"), "{page}");
    assert!(
        page.contains("4 of 12 cells failed")
            && page.contains("it &lt;b&gt;rained&lt;/b&gt; &amp; http://evil.example")
    );
    // The CPU times were not recorded.
    assert!(document.sections.iter().all(|section| section.id != "timings"));
    assert!(document.sections.iter().any(|section| section.id == "table1"));
}

#[test]
fn a_page_that_would_be_too_large_says_what_it_leaves_out() {
    let mut table = Table::new(&["a"]);
    (0..200_000).for_each(|n| table.row([format!("{n} of many").into()]));
    let section = Section::new("large", "Large").block(Block::Table(table)).block(Block::text("the end"));
    let page = html(&Document { sections: vec![section], ..Document::default() });
    assert!(page.len() <= MOST_BYTES && page.contains("report.json has it") && page.contains("the end"));
    assert_harmless(&page);
}

#[test]
fn a_sweep_is_seen_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::parse(GRID, "").unwrap();
    let mut running = Sweep::open(folder.path(), &grid).unwrap();
    let todo = running.todo(false);
    let jobs = Jobs { count: 1, budget: None, cancel: Arc::default() };
    let work: Arc<dyn Work> = Arc::new(InstantWork);
    let mut seen = Vec::new();
    let all = running.run(&todo, &jobs, &work, &mut |_, update| {
        if let Update::Ended(..) = update {
            // Opened as another process would, while this one holds the lock.
            seen.push(SweepView::open(folder.path()).unwrap());
        }
    });
    assert!(all.unwrap());
    assert_eq!(seen.len(), 12);
    for (view, ended) in seen.iter().zip(1..) {
        // Results that arrive together are stored together: those that were announced are there, and maybe more.
        assert_eq!((view.status, view.of), (Status::Running, 12));
        assert!((ended..=12).contains(&view.cells), "{} of {ended}", view.cells);
        let seeds = || view.rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.seeds);
        assert_eq!(seeds().count(), 12);
        assert_eq!(seeds().filter(|seed| seed.state == State::Waiting).count(), 12 - view.cells);
        let failed = seeds().filter(|seed| seed.state == State::Failed);
        assert!(failed.clone().all(|seed| seed.seed == 2 && seed.reason.is_some() && seed.cost.is_none()));
    }
    drop(running);
    let view = SweepView::open(folder.path()).unwrap();
    assert_eq!((view.status, view.title.as_str()), (Status::Done, "Two of them"));

    // The JSON format that the page relies on.
    let json = serde_json::to_value(&view).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["cells", "columns", "exhibits", "id", "name", "of", "rows", "status"]);
    assert_eq!(json["columns"], serde_json::json!(["max-determinant", "equidistant"]));
    assert_eq!(json["status"], "done");
    let row = &json["rows"][0];
    assert_eq!(keys(row), ["best", "cells", "held", "system", "title"]);
    assert_eq!((&row["title"], &row["best"]), (&"Pendulum".into(), &20.0.into()));
    assert_eq!(row["cells"][0]["paper"], "20.20 ± 0.02");
    let seed = &row["cells"][0]["seeds"][0];
    assert_eq!(keys(seed), ["cost", "costs", "percent", "reason", "seed", "state"]);
    assert_eq!((&seed["state"], &seed["reason"]), (&"done".into(), &serde_json::Value::Null));
    assert!((seed["percent"].as_f64().unwrap() - 0.5).abs() < 1e-9);

    // A larger grid in the same folder is shown only once its sweep has started.
    let more = Grid::parse(&GRID.replace("seeds = 3", "seeds = 5"), "").unwrap();
    let mut again = Sweep::open(folder.path(), &more).unwrap();
    assert_eq!(SweepView::open(folder.path()).unwrap().of, 12);
    assert!(again.run(&[], &jobs, &work, &mut |_, _| ()).unwrap());
    drop(again);
    let view = SweepView::open(folder.path()).unwrap();
    assert_eq!((view.status, view.cells, view.of), (Status::Idle, 12, 20));
    // Reading has changed nothing.
    assert!(Store::open(folder.path(), FORM, Access::Write, |_| Ok(())).is_ok());
}

#[test]
fn a_sweep_without_a_database_is_seen_too() {
    let view = SweepView::open(&studies().join("table1")).unwrap();
    assert_eq!(
        (view.status, view.cells, view.of, view.rows.len(), view.columns.len()),
        (Status::Done, 270, 270, 9, 3)
    );
    assert_eq!(view.exhibits.len(), 3);
    assert!(SweepView::open(&studies()).is_err());
}
