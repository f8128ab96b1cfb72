//! What `ocorl run` answers: rows and closing words for people, one document for programs. Costs are in the units of Table 1.

use crate::errors::Failure;
use cpu_time::ProcessTime;
use ocorl::learn::{Episode, Record, Settings};
use ocorl::system::{Benchmark, Cell};
use ocorl_study::known::Known;
use ocorl_study::run::words::Words;
use serde::Serialize;

/// What was learned so far.
pub(super) struct Learned<'a> {
    pub(super) benchmark: &'a Benchmark,
    pub(super) settings: &'a Settings,
    seed: u64,
    pub(super) known: Known,
    pub(super) words: Words<'a>,
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

impl<'a> Learned<'a> {
    /// Nothing yet. `known` is in the units of the table.
    pub(super) fn new(benchmark: &'a Benchmark, settings: &'a Settings, seed: u64, known: Known) -> Self {
        let words = Words::new(benchmark, settings, seed).with_known(Some(known));
        let episodes = Vec::new();
        Learned { benchmark, settings, seed, known, words, episodes, seconds: 0.0, cpu_seconds: 0.0 }
    }

    /// Takes an episode in, and returns its row.
    pub(super) fn add(&mut self, episode: Episode) -> String {
        let row = self.words.row(&episode);
        self.episodes.push(episode);
        row
    }

    /// It is over, and took so long. Regrets are counted from an episode that is cheaper than the optimum, should there be one.
    pub(super) fn timed(mut self, seconds: f64) -> Self {
        if let Some(known) = self.words.correct(&mut self.episodes) {
            self.known = known;
        }
        self.seconds = seconds;
        self.cpu_seconds = ProcessTime::now().as_duration().as_secs_f64();
        self
    }

    fn final_cost(&self) -> f64 {
        self.episodes.last().map_or(f64::NAN, |last| last.record.cost)
    }

    /// The end that is none, if it is: a signal, or a last episode that did not complete.
    pub(super) fn failure(&self, signal: Option<usize>) -> Option<Failure> {
        let (done, all) = (self.episodes.len(), self.settings.episodes);
        if let Some(signal) = signal.filter(|_| done < all) {
            return Some(Failure::interrupted(signal, format!("interrupted after {done} of {all} episodes")));
        }
        let end = self.words.flag(self.episodes.last()?)?;
        Some(Failure::badly(format!("the last episode did not complete: {end}")))
    }

    /// For people, below the rows.
    pub(super) fn closing(&self) -> String {
        self.words.closing(&self.episodes, self.seconds)
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
            paper: self.words.paper().map(|Cell { mean, std }| PaperCell { mean, std }),
            table_scale: self.benchmark.table_scale(),
            stays_within_1_percent_from: self.words.near_from(&self.episodes),
            episodes: self.episodes.iter().map(|e| &e.record).collect(),
            settings: self.settings,
            error: failure.map(Failure::message),
            exit_code: failure.map(|f| f.code),
        }
    }
}
