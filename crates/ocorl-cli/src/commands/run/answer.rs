//! The answer of `ocorl run`: table rows and closing lines, or one JSON document. Costs are in the units of Table 1.

use crate::errors::Failure;
use cpu_time::ProcessTime;
use ocorl::learn::{Episode, Record, Settings};
use ocorl::plan::Effort;
use ocorl::system::{Cell, KnownSystem};
use ocorl_study::known::Known;
use ocorl_study::run::printed;
use ocorl_study::run::text_report::TextReport;
use serde::Serialize;

/// The episodes so far.
pub(super) struct Learned<'a> {
    pub(super) benchmark: &'a KnownSystem,
    pub(super) settings: &'a Settings,
    seed: u64,
    pub(super) known: Option<Known>,
    pub(super) report: TextReport<'a>,
    pub(super) episodes: Vec<Episode>,
    seconds: f64,
    cpu_seconds: f64,
}

/// The run as JSON.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    system: &'a str,
    strategy: &'a str,
    explore: &'a str,
    seed: u64,
    optimum: Option<f64>,
    /// Searches behind `optimum`; absent where it was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<Effort>,
    final_cost: Option<f64>,
    cpu_seconds: f64,
    elapsed_seconds: f64,
    version: &'static str,
    exact_zoh: Option<f64>,
    holds: Option<usize>,
    paper: Option<PaperCell>,
    table_scale: f64,
    stays_within_1_percent_from: Option<usize>,
    episodes: Vec<Record>,
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

impl<'a> Learned<'a> {
    /// A run without episodes.
    pub(super) fn new(
        benchmark: &'a KnownSystem,
        settings: &'a Settings,
        seed: u64,
        known: Option<Known>,
    ) -> Self {
        let report = TextReport::new(benchmark, settings, seed).with_known(known);
        let episodes = Vec::new();
        Learned { benchmark, settings, seed, known, report, episodes, seconds: 0.0, cpu_seconds: 0.0 }
    }

    /// Adds an episode, and returns its table row.
    pub(super) fn add(&mut self, episode: Episode) -> String {
        let row = self.report.row(&episode);
        self.episodes.push(episode);
        row
    }

    /// Sets the duration at the end. Regret is counted from the cheapest episode, if one costs less than the computed optimum.
    pub(super) fn timed(mut self, seconds: f64) -> Self {
        if let Some(known) = self.report.correct(&mut self.episodes) {
            self.known = Some(known);
        }
        self.took(seconds);
        self
    }

    /// Sets the duration, which includes everything until now.
    pub(super) fn took(&mut self, seconds: f64) {
        self.seconds = seconds;
        self.cpu_seconds = ProcessTime::now().as_duration().as_secs_f64();
    }

    /// The records of its episodes as they are shown: costs in the units of Table 1.
    pub(super) fn printed(&self) -> Vec<Record> {
        self.episodes.iter().map(|e| printed(&e.record, self.benchmark.table_units())).collect()
    }

    /// The failure of the run, if it was interrupted or its last episode did not complete.
    pub(super) fn failure(&self, signal: Option<usize>) -> Option<Failure> {
        let (done, all) = (self.episodes.len(), self.settings.episodes);
        if let Some(signal) = signal.filter(|_| done < all) {
            return Some(Failure::interrupted(signal, format!("interrupted after {done} of {all} episodes")));
        }
        let end = self.report.flag(self.episodes.last()?)?;
        Some(Failure::badly(format!("the last episode did not complete: {end}")))
    }

    /// The lines below the table.
    pub(super) fn closing(&self) -> String {
        self.report.closing(&self.episodes, self.seconds)
    }

    /// The run as JSON, with its failure.
    pub(super) fn document(&'a self, failure: Option<&'a Failure>) -> Document<'a> {
        let units = self.benchmark.table_units();
        let (known, episodes) = (self.known.map(|known| known.printed(units)), self.printed());
        Document {
            system: &self.benchmark.name,
            strategy: self.settings.strategy.name(),
            explore: self.settings.explore.name(),
            seed: self.seed,
            optimum: known.map(|known| known.continuous),
            search: known.and_then(|known| known.search),
            final_cost: episodes.last().map(|last| last.cost),
            cpu_seconds: self.cpu_seconds,
            elapsed_seconds: self.seconds,
            version: env!("CARGO_PKG_VERSION"),
            exact_zoh: known.map(|known| known.held),
            holds: known.map(|known| known.holds),
            paper: self.report.paper().map(|Cell { mean, std }| PaperCell { mean, std }),
            table_scale: units.scale(),
            stays_within_1_percent_from: self.report.near_from(&self.episodes),
            episodes,
            settings: self.settings,
            error: failure.map(Failure::message),
            exit_code: failure.map(|f| f.code),
        }
    }
}
