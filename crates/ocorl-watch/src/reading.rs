//! The read-only requests.

use crate::fault::Fault;
use crate::index::{Entry, Kind};
use crate::item::Item;
use crate::{Shared, assets};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use ocorl::learn::Strategy;
use ocorl::system::Benchmark;
use ocorl_study::live::Live;
use ocorl_view::panels::sweep::SweepView;
use ocorl_view::panels::{Difference, Exhibit, StudyView, Summary, compare as compare_all, differences};
use ocorl_view::report;
use ocorl_view::{Figure, PNG_SCALE, Shape, Theme, drawn as drawn_wide, pictures, png_themed, svg_themed};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock, PoisonError};

type Answer = Result<Response, Fault>;
type At = State<Arc<Shared>>;

/// Number of studies that can be compared.
const COMPARED: std::ops::RangeInclusive<usize> = 2..=20;

/// Content security policy of a report: inline styles and data images only, no script.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn page(headers: HeaderMap) -> Answer {
    assets::answer("index.html", &headers).ok_or_else(no_page)
}

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Answer {
    assets::answer(&name, &headers).ok_or_else(no_page)
}

pub(crate) async fn nothing() -> Fault {
    no_page()
}

fn no_page() -> Fault {
    Fault::missing("no page has this address").hint("start at /")
}

#[derive(Serialize)]
struct List {
    root: String,
    version: &'static str,
    writable: bool,
    /// Systems and strategies of new studies.
    systems: &'static [String],
    strategies: Vec<&'static str>,
    items: Vec<Item>,
}

/// Names of the systems that are part of the program.
static SYSTEMS: LazyLock<Vec<String>> =
    LazyLock::new(|| Benchmark::all().into_iter().map(|system| system.name.to_string()).collect());

pub(crate) async fn studies(State(shared): At) -> Answer {
    Ok(json(shared.list.get(&shared).await?))
}

/// The list as JSON bytes, for the cache.
pub(crate) fn list(shared: &Shared) -> Vec<u8> {
    let index = &shared.index;
    let (root, version, writable) = (index.title(), env!("CARGO_PKG_VERSION"), index.is_writable());
    let strategies = Strategy::ALL.map(Strategy::name).to_vec();
    text(&List { root, version, writable, systems: &SYSTEMS, strategies, items: index.list() })
}

#[derive(Serialize)]
struct Whole {
    summary: Summary,
    strip: Option<Strip>,
    exhibits: Vec<Exhibit>,
}

/// The strip of episodes, for wide and for narrow screens.
#[derive(Serialize)]
struct Strip {
    wide: String,
    narrow: String,
}

/// Widths of the strip in SVG units.
const STRIP: [f64; 2] = [1360.0, 380.0];

pub(crate) async fn study(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let make = |view: &StudyView| {
        let strip = view.strip().map(|Exhibit { mut figure, about, .. }| {
            // The page says beside it what it shows.
            figure.title.clear();
            figure.panels.iter_mut().for_each(|panel| panel.x.label.clear());
            let [wide, narrow] = STRIP.map(|width| drawn_wide(&figure, &Theme::PAGE, width, &about));
            Strip { wide, narrow }
        });
        let exhibits = view.overall().into_iter().filter(|exhibit| exhibit.id != "strip").collect();
        Ok(text(&Whole { summary: view.summary(), strip, exhibits }))
    };
    Ok(json(shared.views.answer(&shared.index, &entry, "study".into(), make).await?))
}

pub(crate) async fn episode(State(shared): At, Path((id, number)): Path<(String, String)>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let number = whole(&number)?;
    let make = move |view: &StudyView| Ok(text(&view.episode(number).ok_or_else(|| no_episode(number))?));
    Ok(json(shared.views.answer(&shared.index, &entry, format!("episode {number}"), make).await?))
}

fn no_episode(number: usize) -> Fault {
    Fault::missing(format!("there is no episode {number}"))
}

/// A non-negative whole number in an address.
fn whole(digits: &str) -> Result<usize, Fault> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = if plain { digits.parse().ok() } else { None };
    number.ok_or_else(|| Fault::missing("an episode is a whole number"))
}

pub(crate) async fn live(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let live = shared.look(move |_| text(&Live::read(&entry.folder))).await?;
    Ok(json(live.into()))
}

#[derive(Deserialize)]
pub(crate) struct Drawing {
    episode: Option<usize>,
    theme: Option<String>,
    /// One panel, drawn as on the page, with these ends of its axes.
    panel: Option<usize>,
    x: Option<String>,
    y: Option<String>,
}

impl Drawing {
    /// The figure with only the panel that was asked for, in the range that was asked for.
    fn part(&self, mut figure: Figure) -> Result<Figure, Fault> {
        let Some(number) = self.panel else { return Ok(figure) };
        if number >= figure.panels.len() {
            return Err(no_figure());
        }
        let panel = &mut figure.panels[number];
        for (axis, ends) in [(&mut panel.x, &self.x), (&mut panel.y, &self.y)] {
            axis.range = ends.as_deref().map(ends_of).transpose()?.or(axis.range);
        }
        Ok(figure)
    }
}

/// The ends of an axis, written as `0.5:2`.
fn ends_of(text: &str) -> Result<(f64, f64), Fault> {
    let ends = text.split_once(':').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    ends.filter(|(low, high): &(f64, f64)| low < high && (high - low).is_finite())
        .ok_or_else(|| Fault::malformed("the ends of an axis are two numbers: x=LOW:HIGH"))
}

pub(crate) async fn figure(
    State(shared): At,
    Path((id, name)): Path<(String, String)>,
    drawing: Result<Query<Drawing>, QueryRejection>,
) -> Answer {
    let Ok(Query(drawing)) = drawing else {
        return Err(Fault::malformed("'episode' and 'panel' are whole numbers, 'theme' is light or dark"));
    };
    let episode = drawing.episode;
    let dark = match drawing.theme.as_deref() {
        None | Some("light") => false,
        Some("dark") => true,
        Some(_) => return Err(Fault::malformed("'theme' is light or dark")),
    };
    let entry = shared.find(&id, Kind::Study).await?;
    let kind = match name.rsplit_once('.') {
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "png")) => "image/png",
        Some((_, "csv")) => "text/csv; charset=utf-8",
        _ => return Err(Fault::missing("a figure is a file that ends in .svg, .png or .csv")),
    };
    let (panel, form) = name.rsplit_once('.').unwrap_or_default();
    let (panel, form) = (panel.to_owned(), form.to_owned());
    // Checked before a file name is built from it: identifiers have letters, digits and hyphens only.
    let safe = panel.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !safe {
        return Err(no_figure());
    }
    let of = episode.map_or(String::new(), |n| format!("-episode-{n}"));
    let file = format!("{panel}{of}.{form}");
    let what = format!("figure {file} {dark} {:?} {:?} {:?}", drawing.panel, drawing.x, drawing.y);
    let make = move |view: &StudyView| {
        let exhibits = match episode {
            Some(number) => view.episode(number).ok_or_else(|| no_episode(number))?.exhibits,
            None => view.overall(),
        };
        let exhibit = exhibits.into_iter().find(|exhibit| exhibit.id == panel).ok_or_else(no_figure)?;
        let figure = drawing.part(exhibit.figure)?;
        match drawing.panel {
            Some(number) if form == "svg" => {
                Ok(pictures(&figure, &Theme::PAGE).1.swap_remove(number).into_bytes())
            }
            _ => drawn(figure, &form, dark),
        }
    };
    let bytes = shared.views.answer(&shared.index, &entry, what, make).await?;
    Ok(attached(bytes, kind, &file))
}

fn no_figure() -> Fault {
    Fault::missing("there is no such figure")
}

fn drawn(figure: Figure, form: &str, dark: bool) -> Result<Vec<u8>, Fault> {
    let theme = if dark { Theme::DARK } else { Theme::LIGHT };
    Ok(match form {
        "svg" => svg_themed(&figure, &theme).into_bytes(),
        "csv" => harmless(figure).csv().into_bytes(),
        _ => png_themed(&figure, &theme, PNG_SCALE).map_err(|error| Fault::missing(error.to_string()))?,
    })
}

/// Prefixes texts that a spreadsheet would take for a formula.
fn harmless(mut figure: Figure) -> Figure {
    let mend = |words: &mut String| {
        if words.starts_with(['=', '+', '-', '@', '\t', '\r']) && words.parse::<f64>().is_err() {
            words.insert(0, '\'');
        }
    };
    for panel in &mut figure.panels {
        mend(&mut panel.title);
        for mark in &mut panel.marks {
            mark.label.iter_mut().for_each(mend);
            if let Shape::Note { text, .. } = &mut mark.shape {
                mend(text);
            }
        }
    }
    figure
}

pub(crate) async fn plan(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let make = |view: &StudyView| match view.study().history().pending() {
        Some(pending) => Ok(pending.plan.text()?.into_bytes()),
        None => Err(Fault::missing("no episode is pending").hint("plan the next one: ocorl study ask STUDY")),
    };
    let bytes = shared.views.answer(&shared.index, &entry, "plan".into(), make).await?;
    Ok(attached(bytes, "application/json", "plan.json"))
}

pub(crate) async fn report(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let make = |view: &StudyView| Ok(report::html(&report::of_view(view)).into_bytes());
    let bytes = shared.views.answer(&shared.index, &entry, "report".into(), make).await?;
    let mut response = typed(bytes, "text/html; charset=utf-8");
    let policy = HeaderValue::from_static(REPORT_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

#[derive(Deserialize)]
pub(crate) struct Compared {
    ids: String,
}

#[derive(Serialize)]
struct Comparison {
    exhibits: Vec<Exhibit>,
    studies: Vec<Item>,
    settings: Vec<Difference>,
}

pub(crate) async fn compare(State(shared): At, compared: Result<Query<Compared>, QueryRejection>) -> Answer {
    let few = || Fault::malformed("2 to 20 studies can be compared: ids=A,B,…");
    let Ok(Query(Compared { ids })) = compared else { return Err(few()) };
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    for id in ids.split(',').take(COMPARED.end() + 1) {
        let entry = shared.find(id, Kind::Study).await?;
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    if !COMPARED.contains(&entries.len()) {
        return Err(few());
    }
    let mut views = Vec::new();
    for entry in &entries {
        views.push(shared.views.view(&shared.index, entry).await?);
    }
    let index = shared.index.clone();
    let made = shared.views.run(move || {
        let held: Vec<_> =
            views.iter().map(|view| view.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let held: Vec<&StudyView> = held.iter().map(|view| &**view).collect();
        let studies = entries.iter().filter_map(|entry| index.item(entry)).collect();
        text(&Comparison { exhibits: compare_all(&held), settings: differences(&held), studies })
    });
    Ok(json(made.await?.into()))
}

pub(crate) async fn sweep(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Sweep).await?;
    let made = shared.views.run(move || sweep_view(&entry));
    Ok(json(text(&made.await??).into()))
}

fn sweep_view(entry: &Entry) -> Result<SweepView, Fault> {
    let view = SweepView::open(&entry.folder).map_err(|error| Fault::missing(error.to_string()))?;
    Ok(SweepView { id: entry.id.clone(), name: entry.name.clone(), ..view })
}

/// A document as JSON bytes. The documents are plain structs and lists, whose serialization cannot fail; values that are not
/// finite are `null`.
pub(crate) fn text(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
}

pub(crate) fn json(bytes: Bytes) -> Response {
    typed(bytes, "application/json")
}

fn typed(bytes: Bytes, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn attached(bytes: Bytes, kind: &'static str, name: &str) -> Response {
    let mut response = typed(bytes, kind);
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl_view::{Axis, Mark, Panel};

    #[test]
    fn no_cell_of_a_table_is_a_formula() {
        for (words, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("\tx", "'\tx"),
            ("-1.5", "-1.5"),
            ("+3e2", "+3e2"),
            ("plain", "plain"),
        ] {
            let panel = Panel::new(words, Axis::new("x", ""), Axis::new("y", ""))
                .mark(Mark::line([0.0, -1.0], [-2.0, 3.0]).label(words));
            let bytes = drawn(Figure::new("").panel(panel), "csv", false).unwrap();
            let table = String::from_utf8(bytes).unwrap();
            let line = table.lines().nth(2).unwrap();
            assert_eq!(line, format!("{cell},{cell},line,-1.0,3.0"), "{table}");
        }
    }
}
