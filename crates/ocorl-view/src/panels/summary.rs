//! A study in numbers, words and tables.

use super::StudyView;
use ocorl::learn::{Observed, Settings};
use ocorl::system::Quantity;
use ocorl_study::plan_file::Named;
use ocorl_study::study::{Study, Verdict};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A study in numbers, words and tables. Costs are in the units of the paper's table.
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
    /// Whether nobody knows its equations.
    pub hardware: bool,
    pub episodes: usize,
    pub of: usize,
    pub measurements: usize,
    pub pending: Option<usize>,
    pub over: Option<Verdict>,
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
    /// Which picture moves, if there is one.
    pub animation: Option<&'static str>,
}

/// A number that matters, beside what it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// What it is.
    pub what: &'static str,
    /// How much.
    pub value: f64,
    /// Beside what.
    pub compare: Vec<Compared>,
}

/// What a number is compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// With what.
    pub with: &'static str,
    /// How much that is.
    pub value: f64,
    /// How far the number is above it, in percent.
    pub percent: f64,
}

/// One episode in a table.
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
    pub measured: usize,
    pub asked: usize,
    pub reason: Option<String>,
    pub asked_at: String,
    pub told_at: Option<String>,
    pub planning_seconds: Option<f64>,
    pub running_seconds: Option<f64>,
}

/// A setting beside what it is if nobody says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its path.
    pub key: String,
    /// What holds.
    pub value: String,
    /// What would hold.
    pub default: String,
    /// Whether they differ.
    pub changed: bool,
}

/// Something worth knowing about the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// About what.
    pub what: &'static str,
    /// What.
    pub value: String,
}

/// The episode that is to be run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Next {
    /// Its number.
    pub episode: usize,
    /// When to measure, for each initial state.
    pub measure_at: Vec<Vec<f64>>,
    /// How further times are decided on the way.
    pub rule: Option<String>,
    /// How long it takes.
    pub horizon: f64,
    /// Whether it is expected to pay for itself.
    pub worth: Option<String>,
}

/// More data than this make what an episode is worth too slow to look up on the way.
const MOST_FOR_WORTH: usize = 500;

/// What is pending.
pub(super) fn next(study: &mut Study) -> Option<Next> {
    let pending = study.history().pending()?;
    let (episode, plan) = (pending.episode, pending.plan.clone());
    let quick = study.history().measurements() <= MOST_FOR_WORTH;
    // Not knowing it is no reason to show nothing.
    let worth = quick.then(|| study.worth().ok().flatten()).flatten();
    let rule = plan.legs.iter().find_map(|leg| leg.rule.as_ref());
    Some(Next {
        episode,
        measure_at: plan.legs.iter().map(|leg| leg.measure_at.clone()).collect(),
        rule: rule.map(|rule| format!("{}, at most {}", rule.strategy.replace('-', " "), rule.most)),
        horizon: plan.horizon,
        worth: worth.map(|worth| worth.words()),
    })
}

impl StudyView {
    /// Its system, in a title.
    pub fn name(&self) -> String {
        let system = self.study.system();
        system.truth.as_ref().map_or(system.name.clone(), |truth| truth.title.to_string())
    }

    /// In numbers, words and tables.
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
            planner: word(&created.settings.explore),
            hardware: system.truth.is_none(),
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
            numbers: self.numbers(),
            rows: self.rows(),
            configuration: configuration(study),
            notes: study.history().notes.clone(),
            health: self.health(),
            next: self.next.clone(),
            animation: animation(&created.system).filter(|_| created.file.is_none()),
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
        let number = |what, value: f64| Number { what, value, compare: compare(value) };
        let last = costs.last().map(|last| number("cost of the last episode", *last));
        let least = costs.iter().copied().reduce(f64::min).map(|least| number("least cost", least));
        let near = self.baselines.continuous.and_then(|best| {
            let within = |cost: &f64| *cost <= 1.01 * best;
            let costs = self.costs();
            let first = costs.iter().rposition(|(_, cost, _)| !within(cost)).map_or(0, |i| i + 1);
            costs.get(first).map(|(episode, ..)| Number {
                what: "within 1 % of the optimum from episode",
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
        let mut facts = vec![Fact {
            what: "database",
            value: format!(
                "{:.2} MB, {} events, the last at {}",
                size as f64 / 1e6,
                study.store().head().0,
                self.moments.last
            ),
        }];
        let checksum = study.store().head().1;
        facts.push(Fact { what: "checksum", value: checksum.chars().take(16).collect() });
        let told = history.episodes.iter().flat_map(|episode| &episode.told);
        let unusual: Vec<&str> = told.flat_map(|told| &told.notes).map(String::as_str).collect();
        if !unusual.is_empty() {
            facts.push(Fact { what: "unusual in what was told", value: unusual.join("; ") });
        }
        let imported: usize = history.imports.iter().map(|(_, import)| import.rows.len()).sum();
        if imported > 0 {
            facts.push(Fact { what: "from old logs", value: format!("{imported} measurements") });
        }
        if study.created().settings.measured == Observed::States {
            facts.push(Fact { what: "measured", value: "states, without derivatives".into() });
        }
        let rungs = self.traces.values().filter_map(|trace| trace.control.as_ref());
        let (all, fresh) = rungs.fold((0, 0), |(all, fresh), h| (all + h.updates(), fresh + h.rungs[0]));
        if all > 0 {
            let value = format!("fell back at {} of {all} updates", all - fresh);
            facts.push(Fact { what: "controller", value });
        }
        facts
    }
}

/// Every setting beside what the system's own would be.
fn configuration(study: &Study) -> Vec<Setting> {
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

/// A setting as it is written.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

/// Systems whose movement is drawn.
fn animation(system: &str) -> Option<&'static str> {
    const MOVING: [&str; 7] = [
        "pendulum",
        "cart-pole",
        "furuta-pendulum",
        "bicycle",
        "quadrotor-2d",
        "quadrotor-3d",
        "mountain-car",
    ];
    MOVING.into_iter().find(|name| *name == system)
}
