//! The Python functions `draw`, `exhibits` and `report`: figures made by `ocorl-view`.

use crate::errors::{Failure, guard};
use crate::work::{self, How};
use ocorl_view::panels::StudyView;
use ocorl_view::plots::{Costs, cost_curves};
use ocorl_view::{Axis, Figure, Mark, Marker, Panel, svg};
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;

/// Description of a figure, as JSON from Python.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    title: String,
    #[serde(default)]
    subtitle: String,
    /// Cost by episode, drawn in the standard form.
    costs: Option<CostsDescribed>,
    #[serde(default)]
    panels: Vec<PanelDescribed>,
    #[serde(default)]
    columns: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostsDescribed {
    strategy: String,
    episodes: Vec<f64>,
    costs: Vec<Option<f64>>,
    planned: Option<Vec<Option<f64>>>,
    best: Option<f64>,
    held: Option<f64>,
    paper: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelDescribed {
    title: String,
    /// Name and unit of the horizontal axis.
    x: (String, String),
    y: (String, String),
    /// Limits of the horizontal axis.
    range: Option<(f64, f64)>,
    marks: Vec<MarkDescribed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkDescribed {
    kind: Kind,
    x: Vec<Option<f64>>,
    y: Vec<Option<f64>>,
    /// Upper ends, if the series is a band.
    upper: Option<Vec<Option<f64>>>,
    series: usize,
    label: Option<String>,
    #[serde(default)]
    dashed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Line,
    Step,
    Crosses,
    Circles,
    Band,
}

/// Missing values become gaps (NaN).
fn gaps(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
}

impl MarkDescribed {
    fn mark(&self) -> Result<Mark, Failure> {
        let (x, y) = (gaps(&self.x), gaps(&self.y));
        let upper = self.upper.as_deref().map_or_else(|| y.clone(), gaps);
        if x.len() != y.len() || upper.len() != y.len() {
            let message = format!("a mark has {} x, {} y and {} upper ends", x.len(), y.len(), upper.len());
            return Err(Failure::invalid(message));
        }
        let mark = match self.kind {
            Kind::Line => Mark::line(x, y),
            Kind::Step => Mark::step(x, y),
            Kind::Crosses => Mark::points(x, y, Marker::Cross),
            Kind::Circles => Mark::points(x, y, Marker::Circle),
            Kind::Band => Mark::band(x, y, upper),
        };
        let mark = mark.series(self.series);
        let mark = if self.dashed { mark.dashed() } else { mark };
        Ok(match &self.label {
            Some(label) => mark.label(label),
            None => mark,
        })
    }
}

impl Described {
    fn figure(&self) -> Result<Figure, Failure> {
        if let Some(shown) = &self.costs {
            if shown.costs.len() != shown.episodes.len() {
                return Err(Failure::invalid("there must be as many costs as episodes"));
            }
            let planned = shown.planned.as_deref().map(gaps);
            return Ok(cost_curves(&Costs {
                title: &self.title,
                strategy: &shown.strategy,
                episodes: &shown.episodes,
                costs: &gaps(&shown.costs),
                planned: planned.as_deref().filter(|planned| planned.len() == shown.episodes.len()),
                best: shown.best,
                held: shown.held,
                paper: shown.paper,
            }));
        }
        let mut figure = Figure::new(&self.title).subtitle(&self.subtitle);
        for described in &self.panels {
            let axis = |(name, unit): &(String, String)| Axis::new(name, unit);
            let x = axis(&described.x);
            let x = described.range.map_or(x.clone(), |(low, high)| x.range(low, high));
            let mut panel = Panel::new(&described.title, x, axis(&described.y));
            for mark in &described.marks {
                panel = panel.mark(mark.mark()?);
            }
            figure = figure.panel(panel);
        }
        Ok(match self.columns {
            Some(columns) => figure.columns(columns),
            None => figure,
        })
    }
}

/// Draws the figure that the JSON describes: returns SVG, and its data as CSV.
#[pyfunction]
pub(crate) fn draw(py: Python<'_>, described: &str) -> PyResult<(String, String)> {
    guard(py, "draw", || {
        let wrong = |error: serde_json::Error| {
            Failure::invalid("this does not describe a figure").detail("cause", error.to_string())
        };
        let described: Described = serde_json::from_str(described).map_err(wrong)?;
        py.detach(|| {
            let figure = described.figure()?;
            Ok((svg(&figure), figure.csv()))
        })
    })
}

/// A figure: id, title, description, SVG, CSV.
type Shown = (&'static str, String, String, String, String);

/// Figures of the study in a folder, or of one of its episodes.
#[pyfunction]
#[pyo3(signature = (folder, episode=None))]
pub(crate) fn exhibits(py: Python<'_>, folder: PathBuf, episode: Option<usize>) -> PyResult<Vec<Shown>> {
    guard(py, "exhibits", || {
        work::quietly(py, How::at("exhibits"), move |_| {
            let view = StudyView::open(&folder)?;
            let all = match episode {
                None => view.overall(),
                Some(number) => {
                    let none = || Failure::invalid(format!("there is no episode {number}"));
                    view.episode(number).ok_or_else(none)?.exhibits
                }
            };
            Ok(all.into_iter().map(|e| (e.id, e.title, e.about, svg(&e.figure), e.figure.csv())).collect())
        })
    })
}

/// Writes the report of the study in a folder; returns its path.
#[pyfunction]
#[pyo3(signature = (folder, path=None))]
pub(crate) fn report(py: Python<'_>, folder: PathBuf, path: Option<PathBuf>) -> PyResult<String> {
    guard(py, "report", || {
        let path = path.unwrap_or_else(|| folder.join("report").join("index.html"));
        work::quietly(py, How::at("report"), move |_| {
            let document = ocorl_view::report::study(&folder, &mut |_: &str| ())?;
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(|error| Failure::disk(parent, &error))?;
            }
            document.write(&path).map_err(|error| Failure::disk(&path, &error))?;
            Ok(path.display().to_string())
        })
    })
}
