//! A study in numbers and tables, as the report and the live page show it.

use super::{StudyView, Verdict, Warning};
use crate::report::brief;
use ocorl::learn::{MeasurementKind, Settings};
use ocorl::system::Quantity;
use ocorl_study::plan_file::Named;
use ocorl_study::simulated::SOURCE;
use ocorl_study::study::{History, Study, Verdict as Over};
use ocorl_study::trace::Trace;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A study in numbers and tables. Costs are in the units of the paper's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it; docs/dashboard.md describes the document")]
pub struct Summary {
    pub name: String,
    pub title: String,
    pub system: String,
    pub seed: u64,
    pub version: String,
    pub began: String,
    pub updated: String,
    pub strategy: String,
    pub planner: String,
    /// Whether the data come from hardware or an external simulator: the true dynamics are unknown, or somebody else than the simulation
    /// of this program records the measurements.
    pub hardware: bool,
    pub episodes: usize,
    pub of: usize,
    pub measurements: usize,
    pub pending: Option<usize>,
    pub over: Option<Over>,
    pub verdict: Verdict,
    pub warnings: Vec<Warning>,
    pub spent: f64,
    pub budget: Option<f64>,
    pub horizon: f64,
    pub time_unit: &'static str,
    pub states: Vec<Named>,
    pub controls: Vec<Named>,
    pub angles: Vec<usize>,
    pub numbers: Vec<Number>,
    pub rows: Vec<EpisodeRow>,
    pub configuration: Vec<Setting>,
    pub notes: Vec<String>,
    pub health: Vec<Fact>,
    pub next: Option<Next>,
}

/// A headline number with its reference values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// Name of the number.
    pub what: &'static str,
    /// Its value.
    pub value: f64,
    /// Reference values to compare it with.
    pub compare: Vec<Compared>,
}

/// A reference value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Name of the reference.
    pub with: &'static str,
    /// Value of the reference.
    pub value: f64,
    /// How far the number is above the reference, in percent of the reference.
    pub percent: f64,
}

/// One episode as a table row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EpisodeRow {
    pub episode: usize,
    pub status: &'static str,
    pub outcome: String,
    pub planned_cost: Option<f64>,
    pub cost: Option<f64>,
    pub cost_from: Option<&'static str>,
    pub regret: Option<f64>,
    /// Cost above the optimum, in percent of the optimum.
    pub percent: Option<f64>,
    pub measured: usize,
    pub asked: usize,
    pub reason: Option<String>,
    pub asked_at: String,
    pub told_at: Option<String>,
    pub planning_seconds: Option<f64>,
    pub running_seconds: Option<f64>,
}

/// A setting and its default.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Path of the setting, with dots between levels.
    pub key: String,
    /// Value in this study.
    pub value: String,
    /// Default value for this system.
    pub default: String,
    /// Whether the value differs from the default.
    pub changed: bool,
}

/// A named detail about the stored data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Name of the detail.
    pub what: &'static str,
    /// Its value, as text.
    pub value: String,
}

/// The pending episode: planned, not recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Next {
    /// Number of the episode.
    pub episode: usize,
    /// Measurement times for each initial state.
    pub measure_at: Vec<Vec<f64>>,
    /// Rule that chooses further measurement times during the run, if there is one.
    pub rule: Option<String>,
    /// Duration of the episode, in the time unit of the system.
    pub horizon: f64,
    /// Whether the expected improvement exceeds the cost of the episode, as a sentence.
    pub worth: Option<String>,
    /// What to look at before the plan is run.
    pub checks: Vec<Check>,
}

/// One thing to look at before a plan is run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// The result.
    pub value: String,
    /// Whether nothing is wrong with it.
    pub fine: bool,
}

/// The pending episode of a study, if there is one.
pub(super) fn next(study: &Study, traces: &BTreeMap<usize, Trace>) -> Option<Next> {
    let pending = study.history().pending()?;
    let (episode, plan) = (pending.episode, pending.plan.clone());
    let worth =
        traces.get(&episode).and_then(|trace| trace.worth.as_ref()).map(|worth| worth.replace("+-", "±"));
    let rule = plan.rollouts.iter().find_map(|rollout| rollout.rule.as_ref());
    Some(Next {
        episode,
        measure_at: plan.rollouts.iter().map(|rollout| rollout.measure_at.clone()).collect(),
        rule: rule.map(|rule| format!("{}, at most {}", rule.strategy.replace('-', " "), rule.most)),
        horizon: plan.horizon,
        checks: checks(study, traces, episode),
        worth,
    })
}

/// Share of the time at a control limit above which a plan deserves a look.
const SATURATED: f64 = 0.5;

/// Predicted ranges of the states against their limits, controls at their limits, and the change from the last plan.
fn checks(study: &Study, traces: &BTreeMap<usize, Trace>, episode: usize) -> Vec<Check> {
    let (task, episodes) = (&study.system().task, &study.history().episodes);
    let mut found = Vec::new();
    let model = traces.get(&episode).and_then(|trace| trace.model.as_ref());
    for prediction in model.into_iter().flat_map(|model| &model.predicted).filter(|p| !p.draws.is_empty()) {
        for (i, quantity) in task.states.iter().enumerate() {
            let (lower, upper) = (task.state_bounds.lower[i], task.state_bounds.upper[i]);
            if !lower.is_finite() && !upper.is_finite() {
                continue;
            }
            let (low, high) = prediction.band(i);
            let low = low.into_iter().fold(f64::INFINITY, f64::min);
            let high = high.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let leaves = |draw: &&Vec<Vec<f64>>| draw.iter().any(|x| x[i] < lower || x[i] > upper);
            let leaving = prediction.draws.iter().filter(leaves).count();
            let outside = if leaving == 0 {
                String::new()
            } else {
                format!("; {leaving} of {} predicted trajectories leave it", prediction.draws.len())
            };
            let unit = if quantity.unit.is_empty() { String::new() } else { format!(" {}", quantity.unit) };
            found.push(Check {
                what: format!(
                    "{} stays within [{}, {}]{unit}",
                    quantity.name,
                    brief(lower, 3),
                    brief(upper, 3)
                ),
                value: format!("predicted {} to {}{outside}", brief(low, 3), brief(high, 3)),
                fine: leaving == 0,
            });
        }
    }
    let Some(plan) = episodes.get(episode).and_then(|episode| episode.plan.rollouts.first()) else {
        return found;
    };
    let bounds = &task.control_bounds;
    let limited =
        (0..task.controls.len()).any(|j| bounds.lower[j].is_finite() || bounds.upper[j].is_finite());
    if limited && !plan.controls.is_empty() {
        let near = |a: f64, b: f64| b.is_finite() && (a - b).abs() <= 1e-6 * (1.0 + b.abs());
        let at =
            |u: &&Vec<f64>| (0..u.len()).any(|j| near(u[j], bounds.lower[j]) || near(u[j], bounds.upper[j]));
        let share = plan.controls.iter().filter(at).count() as f64 / plan.controls.len() as f64;
        found.push(Check {
            what: "controls at a limit".into(),
            value: format!("{:.0} % of the plan", 100.0 * share),
            fine: share <= SATURATED,
        });
    }
    let before = episode.checked_sub(1).and_then(|last| episodes[last].plan.rollouts.first());
    if let Some(before) = before.filter(|before| before.controls.len() == plan.controls.len() && episode > 1)
    {
        let values = || before.controls.iter().flatten().chain(plan.controls.iter().flatten());
        let (low, high) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), u| (l.min(*u), h.max(*u)));
        let pairs = before.controls.iter().flatten().zip(plan.controls.iter().flatten());
        let count = plan.controls.iter().flatten().count().max(1) as f64;
        let change =
            (pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>() / count).sqrt() / (high - low).max(1e-12);
        found.push(Check {
            what: "change from the last plan".into(),
            value: format!("{:.0} % of the range of the controls (rms)", 100.0 * change),
            fine: true,
        });
    }
    found
}

/// Whether the simulation of this program recorded all measurements, and there are some.
fn is_simulated(history: &History) -> bool {
    let mut told = history.episodes.iter().flat_map(|episode| &episode.told).peekable();
    told.peek().is_some() && told.all(|told| told.source == SOURCE)
}

impl StudyView {
    /// Title of the system.
    pub fn name(&self) -> String {
        let system = self.study.system();
        system.truth.as_ref().map_or(system.name.clone(), |truth| truth.title.to_string())
    }

    /// The study in numbers and tables.
    pub fn summary(&self) -> Summary {
        let (study, overview) = (&self.study, self.study.overview());
        let (created, system) = (study.created(), study.system());
        let folder = std::fs::canonicalize(study.store().folder());
        let name = folder.ok().and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
        let named = |quantities: &[Quantity]| quantities.iter().map(Named::from).collect();
        Summary {
            name: name.unwrap_or_default(),
            title: self.name(),
            system: created.system.clone(),
            seed: created.seed,
            version: created.version.clone(),
            began: self.moments.began.clone(),
            updated: self.moments.last.clone(),
            strategy: created.settings.strategy.name().into(),
            planner: setting_text(&created.settings.explore),
            hardware: system.truth.is_none() || !is_simulated(study.history()),
            episodes: overview.episodes,
            of: overview.of,
            measurements: overview.measurements,
            pending: overview.pending,
            over: overview.over,
            spent: overview.spent,
            budget: overview.budget,
            horizon: system.task.horizon,
            time_unit: system.task.time_unit(),
            states: named(&system.task.states),
            controls: named(&system.task.controls),
            angles: system.task.angles.clone(),
            verdict: self.verdict(),
            warnings: self.warnings(),
            numbers: self.numbers(),
            rows: self.rows(),
            configuration: configuration(study),
            notes: study.history().notes.clone(),
            health: self.health(),
            next: self.next.clone(),
        }
    }

    fn numbers(&self) -> Vec<Number> {
        let costs: Vec<f64> =
            self.costs().into_iter().map(|(_, cost, _)| cost).filter(|c| c.is_finite()).collect();
        let compare = |value: f64| {
            let beside = self.baselines.each().map(|(with, other)| Compared {
                with,
                value: other,
                percent: 100.0 * (value / other - 1.0),
            });
            beside.collect()
        };
        let last = costs.last().map(|last| Number {
            what: "cost of the last episode",
            value: *last,
            compare: compare(*last),
        });
        let least = costs.iter().copied().reduce(f64::min).map(|least| Number {
            what: "lowest cost",
            value: least,
            compare: Vec::new(),
        });
        let near = self.baselines.continuous.and_then(|best| {
            let within = |cost: &f64| *cost <= 1.01 * best;
            let costs = self.costs();
            let first = costs.iter().rposition(|(_, cost, _)| !within(cost)).map_or(0, |i| i + 1);
            costs.get(first).map(|(episode, ..)| Number {
                what: "first episode from which all are within 1 % of the optimum",
                value: *episode as f64,
                compare: Vec::new(),
            })
        });
        last.into_iter().chain(least).chain(near).collect()
    }

    fn rows(&self) -> Vec<EpisodeRow> {
        let costs = self.costs();
        let finite = |value: f64| value.is_finite().then_some(value);
        let each =
            self.study.history().episodes.iter().zip(costs).map(|(episode, (number, cost, planned))| {
                let (closed, trace) = (episode.closed.as_ref(), self.traces.get(&number));
                let (asked_at, told_at) = self.moments.episodes.get(number).cloned().unwrap_or_default();
                EpisodeRow {
                    episode: number,
                    status: closed.map_or("pending", |closed| closed.status.name()),
                    outcome: closed.map_or(String::new(), |closed| closed.outcome.clone()),
                    planned_cost: finite(planned),
                    cost: finite(cost),
                    cost_from: closed.map(|closed| closed.cost_from.name()),
                    regret: self.baselines.continuous.and_then(|best| finite(cost - best)),
                    percent: self.baselines.continuous.and_then(|best| finite(100.0 * (cost / best - 1.0))),
                    measured: episode.rows.len(),
                    asked: episode.plan.asked(),
                    reason: episode.reason.clone(),
                    asked_at,
                    told_at,
                    planning_seconds: trace.and_then(|trace| trace.planning_seconds),
                    running_seconds: trace.and_then(|trace| trace.running_seconds),
                }
            });
        each.collect()
    }

    fn health(&self) -> Vec<Fact> {
        let (study, history) = (&self.study, self.study.history());
        let size = std::fs::metadata(study.store().file()).map_or(0, |file| file.len());
        let mut details = vec![Fact {
            what: "database",
            value: format!(
                "{:.2} MB, {} events, the last at {}",
                size as f64 / 1e6,
                study.store().head().0,
                self.moments.last
            ),
        }];
        let checksum = study.store().head().1;
        details.push(Fact { what: "checksum", value: checksum.chars().take(16).collect() });
        let told = history.episodes.iter().flat_map(|episode| &episode.told);
        let unusual: Vec<&str> = told.flat_map(|told| &told.notes).map(String::as_str).collect();
        if !unusual.is_empty() {
            details.push(Fact { what: "warnings about recorded data", value: unusual.join("; ") });
        }
        let imported: usize = history.imports.iter().map(|(_, import)| import.rows.len()).sum();
        if imported > 0 {
            details.push(Fact { what: "imported", value: format!("{imported} measurements") });
        }
        if study.created().settings.measured == MeasurementKind::States {
            details.push(Fact { what: "measured", value: "states, without derivatives".into() });
        }
        let caution = study.created().settings.caution;
        details.push(Fact { what: "caution", value: format!("{}: {}", caution.name(), caution.text()) });
        let controls = self.traces.values().filter_map(|trace| trace.control.as_ref());
        let (all, fresh) =
            controls.fold((0, 0), |(all, fresh), h| (all + h.updates(), fresh + h.level_counts[0]));
        if all > 0 {
            let value = format!("fallback at {} of {all} updates", all - fresh);
            details.push(Fact { what: "controller", value });
        }
        details
    }
}

/// Every setting with its default for this system.
pub(super) fn configuration(study: &Study) -> Vec<Setting> {
    let leaves = |settings: &Settings| {
        let mut out = BTreeMap::new();
        flatten("", &serde_json::to_value(settings).unwrap_or_default(), &mut out);
        out
    };
    let (ours, usual) = (leaves(&study.created().settings), leaves(&study.system().settings));
    let each = ours.into_iter().map(|(key, value)| {
        let default = usual.get(&key).cloned().unwrap_or_default();
        let changed = default != value;
        Setting { key, value, default, changed }
    });
    each.collect()
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                flatten(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, out);
            }
        }
        Value::String(text) => {
            out.insert(path.into(), text.clone());
        }
        Value::Null => {
            out.insert(path.into(), "not set".into());
        }
        other => {
            out.insert(path.into(), other.to_string());
        }
    }
}

/// A setting value as text.
pub(super) fn setting_text(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}
