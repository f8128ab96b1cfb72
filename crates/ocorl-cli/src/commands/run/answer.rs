//! What `ocorl run` answers: rows and closing words for people, one document for programs. Costs are in the units of Table 1.

use crate::errors::{Failure, ending};
use crate::table::{cost, difference, percent_more};
use cpu_time::ProcessTime;
use ocorl::learn::{Episode, Record, Settings, Time};
use ocorl::simulate::Outcome;
use ocorl::system::{Benchmark, Cell};
use ocorl_study::known::Known;
use ocorl_study::table1;
use serde::Serialize;
use std::fmt::Write;

/// As near as this to the optimum is near.
const NEAR: f64 = 0.01;

/// What was learned so far.
pub(super) struct Learned<'a> {
    pub(super) benchmark: &'a Benchmark,
    pub(super) settings: &'a Settings,
    seed: u64,
    pub(super) known: Known,
    /// Their records in the units of the table, all else in those of the task.
    pub(super) episodes: Vec<Episode>,
    seconds: f64,
    cpu_seconds: f64,
}

/// For programs.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    system: &'a str,
    strategy: &'a str,
    explore: &'a str,
    seed: u64,
    optimum: f64,
    final_cost: f64,
    cpu_seconds: f64,
    elapsed_seconds: f64,
    version: &'static str,
    exact_zoh: f64,
    holds: usize,
    paper: Option<PaperCell>,
    table_scale: f64,
    stays_within_1_percent_from: Option<usize>,
    episodes: Vec<&'a Record>,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
}

#[derive(Serialize)]
struct PaperCell {
    mean: f64,
    std: f64,
}

/// What is going to be done.
pub(super) fn opening(b: &Benchmark, settings: &Settings, seed: u64, named: &str) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (states, inputs) = (count(b.task.states.len(), "state"), count(b.task.controls.len(), "input"));
    let unit = b.time_unit();
    let horizon = format!("{} {unit}", b.task.horizon);
    let learning =
        format!("{} x {}", count(settings.episodes, "episode"), count(settings.measurements, "measurement"));
    let mut text = format!(
        "{}: {states}, {inputs}, horizon {}, {learning}, strategy {}, explore {}, seed {seed}",
        b.name,
        horizon.trim_end(),
        settings.strategy.name(),
        settings.explore.name(),
    );
    if settings.time == Time::Discrete {
        text.push_str(", in discrete time");
    }
    if named != "default" {
        let _ = write!(text, ", settings {named}");
    }
    text.push('\n');
    if settings.excitation.scale != 1.0 {
        let whose = if b.published.is_some() { "the paper's authors'" } else { "the system's own" };
        let scale = settings.excitation.scale;
        let _ = writeln!(text, "the control of episode 0 is {scale} x {whose} (excitation.scale = {scale})");
    }
    text
}

/// One line above the rows.
pub(super) fn header() -> String {
    line(&["episode", "cost", "regret", "measured", "uncertainty", "planned"].map(String::from), "")
}

/// Cells in the widths of the table: rows come one by one, so these cannot follow from them.
fn line(cells: &[String; 6], flag: &str) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip([8, 12, 12, 10, 13, 12]) {
        let _ = write!(text, "{cell:>width$}");
    }
    if !flag.is_empty() {
        let _ = write!(text, "  {flag}");
    }
    text + "\n"
}

impl<'a> Learned<'a> {
    /// Nothing yet. `known` is in the units of the table.
    pub(super) fn new(benchmark: &'a Benchmark, settings: &'a Settings, seed: u64, known: Known) -> Self {
        Learned { benchmark, settings, seed, known, episodes: Vec::new(), seconds: 0.0, cpu_seconds: 0.0 }
    }

    /// Takes an episode in, and returns its row.
    pub(super) fn add(&mut self, mut episode: Episode) -> String {
        scale(&mut episode.record, self.benchmark.table_scale());
        let flag = self.flag(&episode).unwrap_or_default();
        let r = &episode.record;
        let row = line(
            &[
                r.episode.to_string(),
                cost(r.cost),
                difference(r.regret),
                r.measurements.to_string(),
                r.uncertainty.map_or("-".into(), |u| format!("{u:.4}")),
                r.planned_cost.map_or("-".into(), cost),
            ],
            &flag,
        );
        self.episodes.push(episode);
        row
    }

    /// How long it took.
    pub(super) fn timed(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self.cpu_seconds = ProcessTime::now().as_duration().as_secs_f64();
        self
    }

    /// What an episode ended with, if not with its horizon.
    fn flag(&self, episode: &Episode) -> Option<String> {
        let bad = episode.executed.iter().find(|leg| leg.outcome != Outcome::Completed)?;
        Some(ending(&self.benchmark.task.states, &bad.outcome))
    }

    fn final_cost(&self) -> f64 {
        self.episodes.last().map_or(f64::NAN, |last| last.record.cost)
    }

    /// The first of the episodes that are all near the optimum, to the last.
    fn near_from(&self) -> Option<usize> {
        let near =
            |e: &&Episode| e.record.regret <= NEAR * self.known.continuous.abs() && self.flag(e).is_none();
        self.episodes.iter().rev().take_while(near).last().map(|e| e.record.episode)
    }

    /// What the paper got, if it tried this.
    pub(super) fn paper(&self) -> Option<Cell> {
        let tried = self.settings.initial_states.is_empty() && self.settings.time == Time::Continuous;
        let published = self.benchmark.published.filter(|_| tried)?;
        table1::published(&published, self.settings.strategy)
    }

    /// The end that is none, if it is: a signal, or a last episode that did not complete.
    pub(super) fn failure(&self, signal: Option<usize>) -> Option<Failure> {
        let (done, all) = (self.episodes.len(), self.settings.episodes);
        if let Some(signal) = signal.filter(|_| done < all) {
            return Some(Failure::interrupted(signal, format!("interrupted after {done} of {all} episodes")));
        }
        let end = self.flag(self.episodes.last()?)?;
        Some(Failure::badly(format!("the last episode did not complete: {end}")))
    }

    /// For people, below the rows.
    pub(super) fn closing(&self) -> String {
        let Known { continuous, held, holds, .. } = self.known;
        let mut text = format!(
            "done in {:.1} s    final cost {}    best possible {} ({})    best with {holds} holds {}\n",
            self.seconds,
            cost(self.final_cost()),
            cost(continuous),
            percent_more(self.final_cost(), continuous),
            cost(held),
        );
        if let Some(Cell { mean, std }) = self.paper() {
            let (b, s) = (self.benchmark, self.settings);
            let usual = Settings::for_benchmark(b);
            let same = (s.explore, s.episodes, s.measurements)
                == (usual.explore, usual.episodes, usual.measurements);
            let (n, m, explore) = (usual.episodes, usual.measurements, usual.explore.name());
            let how =
                if same { String::new() } else { format!(", {explore}, {n} episodes x {m} measurements") };
            let _ = writeln!(text, "paper {mean:.2} +- {std:.2} ({}{how})", s.strategy.name());
        }
        text + &match self.near_from() {
            Some(episode) => format!("within 1 % of the optimum from episode {episode}\n"),
            None => "not within 1 % of the optimum at the end\n".into(),
        }
    }

    /// For programs, with what went wrong.
    pub(super) fn document(&'a self, failure: Option<&'a Failure>) -> Document<'a> {
        Document {
            system: &self.benchmark.name,
            strategy: self.settings.strategy.name(),
            explore: self.settings.explore.name(),
            seed: self.seed,
            optimum: self.known.continuous,
            final_cost: self.final_cost(),
            cpu_seconds: self.cpu_seconds,
            elapsed_seconds: self.seconds,
            version: env!("CARGO_PKG_VERSION"),
            exact_zoh: self.known.held,
            holds: self.known.holds,
            paper: self.paper().map(|Cell { mean, std }| PaperCell { mean, std }),
            table_scale: self.benchmark.table_scale(),
            stays_within_1_percent_from: self.near_from(),
            episodes: self.episodes.iter().map(|e| &e.record).collect(),
            settings: self.settings,
            error: failure.map(Failure::message),
            exit_code: failure.map(|f| f.code),
        }
    }
}

/// All costs of a record times `scale`.
fn scale(record: &mut Record, scale: f64) {
    record.cost *= scale;
    record.regret *= scale;
    record.cumulative_regret *= scale;
    record.planned_cost = record.planned_cost.map(|c| scale * c);
    record.mean_cost = record.mean_cost.map(|c| scale * c);
    if let Some(theory) = &mut record.theory {
        theory.lipschitz_cost *= scale;
        theory.log_regret_bound += scale.ln();
        theory.log_cumulative_regret_bound += scale.ln();
    }
}
