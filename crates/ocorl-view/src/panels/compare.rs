//! Compares several studies on the same axes.

use super::summary::configuration;
use super::{Exhibit, StudyView};
use crate::plots::{Curve, Middle};
use crate::{Axis, Figure, Mark, Marker, Panel};
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of colours that readers can distinguish; further studies reuse them, dashed.
const COLORS: usize = 7;
/// From this many studies that differ only in their seed, their median and band are drawn instead of each curve.
const MANY: usize = 3;

/// Cost of each study by episode, by measurements, and above the optimum; one panel per system. Several studies that differ only
/// in their seed are drawn as median and band.
pub fn compare(views: &[&StudyView]) -> Vec<Exhibit> {
    let mut systems: BTreeMap<String, Vec<&StudyView>> = BTreeMap::new();
    for view in views {
        systems.entry(view.name()).or_default().push(view);
    }
    let figure = |title: &str, draw: &dyn Fn(&str, &[&StudyView]) -> Panel| {
        let figure = Figure::new(title).columns(systems.len().clamp(1, 2));
        systems.iter().fold(figure, |figure, (name, views)| figure.panel(draw(name, views)))
    };
    let episode = || Axis::new("episode", "").whole();
    let mut exhibits = vec![
        Exhibit::new(
            "cost",
            "Cost by episode",
            "Cost of each study on the same axes; studies that differ only in their seed as median and 20 to 80 % band.",
            figure("Cost by episode", &|name, views| {
                by_episode(Panel::new(name, episode(), Axis::new("cost", "").log()), views, &|_, cost| cost)
            }),
        ),
        Exhibit::new(
            "measurements",
            "Cost by measurements",
            "Cost of each episode against the number of measurements taken before it.",
            figure("Cost by measurements", &|name, views| {
                by_measurements(
                    Panel::new(name, Axis::new("measurements", "").whole(), Axis::new("cost", "").log()),
                    views,
                )
            }),
        ),
    ];
    if views.iter().all(|view| view.baselines.continuous.is_some()) {
        exhibits.push(Exhibit::new(
            "gap",
            "Cost above the optimum",
            "Cost of each episode above the optimum with known dynamics, in percent of the optimum.",
            figure("Cost above the optimum (known dynamics)", &|name, views| {
                let panel = Panel::new(name, episode(), Axis::new("above optimum", "%").log());
                by_episode(panel, views, &|view, cost| {
                    view.baselines.continuous.map_or(f64::NAN, |best| 100.0 * (cost / best - 1.0))
                })
            }),
        ));
    }
    if views.iter().any(|view| view.last_path().is_some()) {
        exhibits.push(Exhibit::new(
            "paths",
            "Last trajectories",
            "The last executed trajectory of each study, beside the optimum.",
            paths(&systems),
        ));
    }
    exhibits
}

/// A setting that is not the same in all of the compared studies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Path of the setting.
    pub key: String,
    /// Its value in each study; `None` if the study has no such setting.
    pub values: Vec<Option<String>>,
}

/// The settings that differ between studies.
pub fn differences(views: &[&StudyView]) -> Vec<Difference> {
    let mut all: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for (i, view) in views.iter().enumerate() {
        for setting in configuration(&view.study) {
            all.entry(setting.key).or_insert_with(|| vec![None; views.len()])[i] = Some(setting.value);
        }
    }
    let differing = all.into_iter().filter(|(_, values)| values.iter().any(|value| *value != values[0]));
    differing.map(|(key, values)| Difference { key, values }).collect()
}

/// The last trajectory of each study, in the plane in which it is naturally seen; one panel per system.
fn paths(systems: &BTreeMap<String, Vec<&StudyView>>) -> Figure {
    let figure = Figure::new("Last trajectories").columns(2).height(300.0);
    systems.values().fold(figure, |figure, views| {
        let draw = |panel: Panel, (i, view): (usize, &&StudyView)| {
            let Some(path) = view.last_path() else { return panel };
            let line = view.in_first_plane(path).series(i % COLORS).label(label(view));
            panel.mark(if i >= COLORS { line.dashed() } else { line })
        };
        figure.panel(views.iter().enumerate().fold(views[0].first_plane(), draw))
    })
}

/// Groups the studies that differ only in their seed, by their common name.
fn kinds<'a>(views: &[&'a StudyView]) -> BTreeMap<String, Vec<&'a StudyView>> {
    let mut kinds: BTreeMap<String, Vec<&StudyView>> = BTreeMap::new();
    for view in views {
        kinds.entry(kind(view)).or_default().push(view);
    }
    kinds
}

/// Strategy and exploration of a study, as readers see them.
fn kind(view: &StudyView) -> String {
    let settings = &view.study.created().settings;
    let explore = super::summary::setting_text(&settings.explore);
    format!("{}, {explore}", settings.strategy.name().replace('-', " "))
}

/// Name of a study among those that are compared.
fn label(view: &StudyView) -> String {
    format!("{}, seed {}", kind(view), view.study.created().seed)
}

fn by_episode(panel: Panel, views: &[&StudyView], value: &dyn Fn(&StudyView, f64) -> f64) -> Panel {
    lines(panel, views, &|view| {
        let each = view.costs().into_iter().map(|(n, cost, _)| (n, value(view, cost)));
        each.filter(|(_, value)| value.is_finite()).collect()
    })
}

fn by_measurements(panel: Panel, views: &[&StudyView]) -> Panel {
    lines(panel, views, &|view| {
        let mut known = 0;
        let each = view.study.history().episodes.iter().zip(view.costs()).map(|(episode, (_, cost, _))| {
            // An episode can use only what was measured before it.
            let before = known;
            known += if episode.is_used() { episode.rows.len() } else { 0 };
            (before, cost)
        });
        each.filter(|(_, cost)| cost.is_finite()).collect()
    })
}

/// Draws one curve per study, or a median and a band for several studies that differ only in their seed.
fn lines(mut panel: Panel, views: &[&StudyView], values: &dyn Fn(&StudyView) -> Vec<(usize, f64)>) -> Panel {
    let mut number = 0;
    for (kind, views) in kinds(views) {
        if views.len() >= MANY {
            let mut all: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for (n, value) in views.iter().flat_map(|view| values(view)) {
                all.entry(n).or_default().push(value);
            }
            let label = format!("{kind} ({} seeds)", views.len());
            panel = Curve::new(&all, Middle::Median).draw(panel, number % COLORS, number >= COLORS, &label);
            number += 1;
            continue;
        }
        for view in views {
            let (x, y): (Vec<f64>, Vec<f64>) = values(view).into_iter().map(|(n, v)| (n as f64, v)).unzip();
            let label = label(view);
            let line = Mark::line(&*x, &*y).series(number % COLORS).label(&label);
            panel = panel
                .mark(if number >= COLORS { line.dashed() } else { line })
                .mark(Mark::points(x, y, Marker::Dot).series(number % COLORS).label(label));
            number += 1;
        }
    }
    let rules = views.first().map(|view| view.baselines);
    match rules.and_then(|b| b.continuous).filter(|_| panel.y.label == "cost") {
        Some(best) => panel.mark(Mark::horizontal(best).muted().dashed().label("optimum (known dynamics)")),
        None => panel,
    }
}
