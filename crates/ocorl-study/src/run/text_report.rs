//! The text report of a run: opening lines, one row per episode, closing summary.

use super::numbers::{cost, difference, percent_more};
use super::printed;
use crate::known::Known;
use crate::table1;
use ocorl::learn::{Episode, Settings, Time};
use ocorl::simulate::Outcome;
use ocorl::system::{Cell, KnownSystem, Quantity};
use std::fmt::Write;

/// Relative distance to the optimum that counts as near.
const NEAR: f64 = 0.01;

/// Text report of a run.
pub struct TextReport<'a> {
    benchmark: &'a KnownSystem,
    settings: &'a Settings,
    seed: u64,
    known: Option<Known>,
    /// Cost found with known dynamics, if a learned episode was cheaper.
    missed: Option<f64>,
}

impl<'a> TextReport<'a> {
    /// Report of a run of `benchmark`.
    pub fn new(benchmark: &'a KnownSystem, settings: &'a Settings, seed: u64) -> Self {
        TextReport { benchmark, settings, seed, known: None, missed: None }
    }

    /// Adds the reference costs with known dynamics.
    #[must_use]
    pub fn with_known(self, known: Option<Known>) -> Self {
        TextReport { known, ..self }
    }

    /// Checks the episodes of a whole run against the reference costs. If one is cheaper than the optimum found with known dynamics, all
    /// regrets are recomputed relative to it, and the corrected reference costs are returned.
    pub fn correct(&mut self, episodes: &mut [Episode]) -> Option<Known> {
        let known = self.known?;
        let completed = episodes.iter().filter(|e| self.flag(e).is_none()).map(|e| e.record.cost);
        let corrected = known.corrected_by(completed)?;
        let mut sum = 0.0;
        for Episode { record, .. } in episodes {
            record.regret = record.cost - corrected.continuous;
            sum += record.regret;
            record.cumulative_regret = sum;
        }
        self.known = Some(corrected);
        self.missed = known.is_missed_by(&corrected).then_some(known.continuous);
        Some(corrected)
    }

    /// Opening lines: system, task and settings; `named` is the name of the settings.
    pub fn opening(&self, named: &str) -> String {
        let TextReport { benchmark: b, settings, seed, .. } = self;
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (states, inputs) = (count(b.task.states.len(), "state"), count(b.task.controls.len(), "input"));
        let horizon = format!("{} {}", b.task.horizon, b.time_unit());
        let learning = format!(
            "{} x {}",
            count(settings.episodes, "episode"),
            count(settings.measurements, "measurement")
        );
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
            let whose = if b.published().is_some() { "the paper's authors'" } else { "the system's own" };
            let scale = settings.excitation.scale;
            let _ =
                writeln!(text, "the control of episode 0 is {scale} x {whose} (excitation.scale = {scale})");
        }
        text
    }

    /// Table row of an episode.
    pub fn row(&self, episode: &Episode) -> String {
        let r = printed(&episode.record, self.benchmark.table_units());
        line(
            &[
                r.episode.to_string(),
                cost(r.cost),
                if r.regret.is_finite() { difference(r.regret) } else { "-".into() },
                r.measurements.to_string(),
                r.uncertainty.map_or("-".into(), difference),
                r.planned_cost.map_or("-".into(), cost),
            ],
            &self.flag(episode).unwrap_or_default(),
        )
    }

    /// Description of an episode that did not reach its horizon.
    pub fn flag(&self, episode: &Episode) -> Option<String> {
        let bad = episode.executed.iter().find(|rollout| rollout.outcome != Outcome::Completed)?;
        Some(ending(&self.benchmark.task.states, &bad.outcome))
    }

    /// First episode from which all episodes to the last are near the optimum.
    pub fn near_from(&self, episodes: &[Episode]) -> Option<usize> {
        let limit = NEAR * self.known?.continuous.abs();
        let near = |e: &&Episode| e.record.regret <= limit && self.flag(e).is_none();
        episodes.iter().rev().take_while(near).last().map(|e| e.record.episode)
    }

    /// The paper's result for this system and strategy, if there is one.
    pub fn paper(&self) -> Option<Cell> {
        let tried = self.settings.initial_states.is_empty() && self.settings.time == Time::Continuous;
        table1::published(self.benchmark.published().filter(|_| tried)?, self.settings.strategy)
    }

    /// Closing summary below the rows.
    pub fn closing(&self, episodes: &[Episode], seconds: f64) -> String {
        let units = self.benchmark.table_units();
        let last = episodes.last().map_or(f64::NAN, |last| units.cost(last.record.cost));
        let Some(Known { continuous, held, holds, .. }) = self.known.map(|known| known.printed(units)) else {
            return format!("done in {seconds:.1} s    final cost {}\n", cost(last));
        };
        // The optima of the paper's systems were confirmed by an independent program; those of other systems come from searches.
        let confirmed = self.benchmark.is_as_published() && self.missed.is_none();
        let name = if confirmed { "optimum" } else { "best known" };
        let how = match self.known.and_then(|known| known.search).filter(|_| self.missed.is_none()) {
            Some(effort) => format!(" ({effort})"),
            None => String::new(),
        };
        let mut text = format!(
            "done in {seconds:.1} s    final cost {}    {name}{how} {} ({})    {hold} ({holds}) {}\n",
            cost(last),
            cost(continuous),
            percent_more(last, continuous),
            cost(held),
            hold = if confirmed { "optimal zero-order hold" } else { "best zero-order hold" },
        );
        if let Some(missed) = self.missed {
            let _ = writeln!(
                text,
                "warning: the search with the known equations found {} only; an episode was cheaper, and regret is counted from it",
                cost(units.cost(missed))
            );
        }
        if let Some(Cell { mean, std }) = self.paper() {
            let (b, s) = (self.benchmark, self.settings);
            let usual = Settings::for_system(b);
            let same = (s.explore, s.episodes, s.measurements)
                == (usual.explore, usual.episodes, usual.measurements);
            let (n, m, explore) = (usual.episodes, usual.measurements, usual.explore.name());
            let how =
                if same { String::new() } else { format!(", {explore}, {n} episodes x {m} measurements") };
            let _ = writeln!(text, "paper {mean:.2} +- {std:.2} ({}{how})", s.strategy.name());
        }
        text + &match self.near_from(episodes) {
            Some(episode) => format!("within 1 % of the {name} from episode {episode}\n"),
            None => format!("not within 1 % of the {name} at the end\n"),
        }
    }
}

/// Header line of the table.
pub fn header() -> String {
    line(&["episode", "cost", "regret", "measured", "uncertainty", "planned"].map(String::from), "")
}

/// Description of an outcome, with the name of the state that left its limits.
pub fn ending(states: &[Quantity], outcome: &Outcome) -> String {
    let name = |state: usize| states.get(state).map_or("", |q| q.name.as_str());
    match outcome {
        Outcome::LimitHit { state, time } => format!("'{}' left its limits at t = {time:.4}", name(*state)),
        Outcome::LeftTube { state, time } => format!("'{}' left its tube at t = {time:.4}", name(*state)),
        other => other.to_string(),
    }
}

/// Formats a row with fixed column widths, because rows are printed one by one.
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
