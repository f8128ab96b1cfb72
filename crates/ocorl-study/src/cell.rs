//! A cell of a sweep: plain data in, plain bytes out. Whoever can call [`Laboratory::run`] can execute one: threads here, other machines
//! elsewhere.

use crate::config::Config;
use crate::known::Known;
use crate::mistake::Mistake;
use ocorl::learn::{Record, Settings, Trial};
use ocorl::simulate::Outcome;
use ocorl::system::Benchmark;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// One run to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Which system.
    pub system: String,
    /// What it starts from: `default` or `reference`.
    pub settings: String,
    /// Settings on top of that, by path.
    pub set: BTreeMap<String, toml::Value>,
    /// Everything random is drawn below it.
    pub seed: u64,
}

/// What a cell came to. Equal cells give equal bytes, wherever they run. Costs are in the units of Table 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Of which cell.
    pub cell: Cell,
    /// Version of the program that ran it.
    pub version: String,
    /// Why there is no result, if there is none.
    pub failure: Option<String>,
    /// What is possible with the true model.
    pub known: Option<Known>,
    /// Every episode that was completed.
    pub episodes: Vec<EpisodeRow>,
}

/// An episode in numbers, rounded to ten significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRow {
    /// Its number, from 0.
    pub episode: usize,
    /// C(πₙ, f*)
    pub cost: f64,
    /// Cost above the best continuous control.
    pub regret: f64,
    /// What the plan cost in the imagination it was made for.
    pub planned_cost: Option<f64>,
    /// What the best plan on the mean model cost there.
    pub mean_cost: Option<f64>,
    /// Measurements in this episode.
    pub measured: usize,
    /// Looks at the state alone in this episode.
    pub synchronized: usize,
    /// Largest β of the outputs.
    pub beta: Option<f64>,
    /// I(y; f) of all measurements so far, in nats.
    pub information_gain: f64,
    /// How little of ẋ was known along the way.
    pub uncertainty: Option<f64>,
    /// Share of the way on which |f − μ| ≤ β σ.
    pub coverage: Option<f64>,
    /// The same for 1.96 β σ.
    pub coverage_95: Option<f64>,
    /// I_N so far: ∫‖σ‖² dt, summed over the episodes.
    pub complexity: Option<f64>,
    /// mₙ = ⌈T/Δₙ⌉ of the analysis, with slopes along the plan for Lipschitz constants.
    pub required: Option<usize>,
    /// How it ended.
    pub outcome: String,
    /// The paper's bounds beside what they bound.
    #[serde(flatten, default)]
    pub bounds: Bounds,
}

/// The paper's bounds, and what is measured of what they bound. Bounds on distance and regret are natural logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct Bounds {
    /// Which bound on I_N belongs to the strategy: `oracle`, `equidistant` or `adaptive`.
    pub complexity_bound_of: Option<String>,
    /// That bound, beside `complexity`.
    pub complexity_bound: Option<f64>,
    /// γₙ by the greedy rule, all outputs together, in nats.
    pub maximum_information_gain: Option<f64>,
    /// ln of 18 s̄ T dₓ γₙ, another bound on I_N.
    pub log_information_bound: Option<f64>,
    /// Largest distance of planned and executed state.
    pub distance: Option<f64>,
    /// ln of the distance lemma's bound there.
    pub log_distance_bound: Option<f64>,
    /// Least of ln(bound) − ln(distance) over the episode.
    pub distance_margin: Option<f64>,
    /// ln of the bound on rₙ.
    pub log_regret_bound: Option<f64>,
    /// ln of the bound on R_N.
    pub log_cumulative_regret_bound: Option<f64>,
}

impl Bounds {
    /// Of `record`, whose costs are multiplied by `scale`; in discrete time the appendix's.
    fn new(record: &Record, scale: f64) -> Self {
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite()).map(rounded);
        let scaled = |log: Option<f64>| finite(log.map(|log| log + scale.ln()));
        match (&record.theory, &record.discrete_theory) {
            (Some(t), _) => Bounds {
                complexity_bound_of: t.complexity_bound_of.map(Into::into),
                complexity_bound: finite(t.complexity_bound),
                maximum_information_gain: finite(t.maximum_information_gain),
                log_information_bound: finite(t.log_information_bound),
                distance: finite(t.distance),
                log_distance_bound: finite(t.log_distance_bound),
                distance_margin: finite(t.distance_margin),
                log_regret_bound: scaled(Some(t.log_regret_bound)),
                log_cumulative_regret_bound: scaled(Some(t.log_cumulative_regret_bound)),
            },
            (None, Some(t)) => Bounds {
                distance: finite(t.distance),
                log_distance_bound: finite(t.log_distance_bound),
                log_regret_bound: scaled(t.log_regret_bound),
                log_cumulative_regret_bound: scaled(t.log_cumulative_regret_bound),
                ..Bounds::default()
            },
            (None, None) => Bounds::default(),
        }
    }
}

impl EpisodeRow {
    /// Of `record`, whose costs are multiplied by `scale`.
    pub fn new(record: &Record, scale: f64) -> Self {
        let cost = |c: f64| rounded(scale * c);
        let theory = record.theory.as_ref();
        EpisodeRow {
            episode: record.episode,
            cost: cost(record.cost),
            regret: cost(record.regret),
            planned_cost: record.planned_cost.map(cost),
            mean_cost: record.mean_cost.map(cost),
            measured: record.measurement_times.len(),
            synchronized: record.synchronizations.len(),
            beta: record.confidence_scale.iter().copied().reduce(f64::max).map(rounded),
            information_gain: rounded(record.total_information_gain),
            uncertainty: record.uncertainty.map(rounded),
            coverage: record.coverage.map(rounded),
            coverage_95: record.coverage_95.map(rounded),
            complexity: theory
                .map(|t| t.total_complexity)
                .or(record.discrete_theory.map(|t| t.total_complexity))
                .map(rounded),
            required: theory.map(|t| t.measurement_count),
            outcome: record.outcome.clone(),
            bounds: Bounds::new(record, scale),
        }
    }

    /// Whether it lasted to its horizon.
    pub fn completed(&self) -> bool {
        self.outcome == Outcome::Completed.to_string()
    }
}

/// Ten significant digits: more than any result has, and the same in a file and in memory. What is not finite stays so.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

impl CellResult {
    /// One that did not come to its end.
    pub fn failed(cell: &Cell, reason: impl Into<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").into();
        CellResult {
            cell: cell.clone(),
            version,
            failure: Some(reason.into()),
            known: None,
            episodes: Vec::new(),
        }
    }

    /// As it is written, and as it will be read: the same bytes wherever the cell ran. One with a number that is not finite cannot be: its
    /// cell has failed.
    pub fn written(&self) -> (String, CellResult) {
        let text = serde_json::to_string(self).unwrap_or_default();
        if let Ok(read) = serde_json::from_str(&text) {
            return (text, read);
        }
        let failed = CellResult::failed(&self.cell, "a number in its result is not finite");
        (serde_json::to_string(&failed).unwrap_or_default(), failed)
    }

    /// Cost of the last episode, if the cell came to its end.
    pub fn final_cost(&self) -> Option<f64> {
        self.last().map(|row| row.cost)
    }

    /// The last episode, if the cell came to its end.
    pub fn last(&self) -> Option<&EpisodeRow> {
        self.episodes.last().filter(|_| self.failure.is_none())
    }

    /// Whether the last episode ended before its horizon.
    pub fn diverged(&self) -> bool {
        self.last().is_some_and(|row| !row.completed())
    }

    /// Σ rₙ over all episodes, the exploratory one left out: it is the same for everybody.
    pub fn cumulative_regret(&self) -> f64 {
        self.episodes.iter().filter(|row| row.episode > 0).map(|row| row.regret).sum()
    }

    /// The first of the episodes that are all within `share` of the optimum, to the last.
    pub fn stays_within(&self, share: f64) -> Option<usize> {
        let limit = share * self.known?.continuous.abs();
        let near = |row: &&EpisodeRow| row.regret <= limit && row.completed();
        self.episodes.iter().rev().take_while(near).last().map(|row| row.episode)
    }

    /// Measurements of all episodes before this one: what its plan was made from.
    pub fn measurements_before(&self, episode: usize) -> usize {
        self.episodes.iter().filter(|row| row.episode < episode).map(|row| row.measured).sum()
    }
}

/// A cell whose settings are known to make sense.
#[derive(Clone)]
pub struct Prepared {
    /// The system.
    pub benchmark: Benchmark,
    /// The complete settings.
    pub settings: Settings,
}

impl Cell {
    /// Checks everything that can be checked without computing.
    pub fn prepare(&self) -> Result<Prepared, Mistake> {
        let benchmark = Benchmark::find(&self.system).map_err(|error| unknown_system(&error.name))?;
        if !["default", "reference"].contains(&self.settings.as_str()) {
            return Err(Mistake::new(format!("no settings '{}'", self.settings))
                .hint("the settings of a cell are 'default' or 'reference'"));
        }
        let mut config = Config::new(&benchmark)?;
        config.load(&self.settings)?;
        for (path, value) in &self.set {
            config.set_value(path, value.clone())?;
        }
        let settings = config.settings;
        Trial::new(&benchmark, settings.clone(), self.seed, 0.0)
            .map_err(|error| Mistake::new(error.to_string()).detail("system", &*benchmark.name))?;
        Ok(Prepared { benchmark, settings })
    }

    /// A name that no other cell has, for a file.
    pub fn id(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        // FNV-1a: short, and the same everywhere.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}-{}-{hash:016x}", self.system, self.seed)
    }

    /// What is special about it, in a few words: everything but the system and the seed.
    pub fn variant(&self) -> String {
        let mut words = Vec::new();
        if self.settings != "default" {
            words.push(format!("{} settings", self.settings));
        }
        for (path, value) in &self.set {
            words.push(match (path.as_str(), value) {
                ("strategy" | "explore", toml::Value::String(name)) => name.replace('-', " "),
                ("measurements", value) => format!("M = {value}"),
                (path, toml::Value::String(word)) => format!("{path} {word}"),
                (path, value) => format!("{path} = {value}"),
            });
        }
        if words.is_empty() { "as shipped".into() } else { words.join(", ") }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, seed {}", self.system, self.variant(), self.seed)
    }
}

/// Nobody knows this system; the nearest name is.
pub fn unknown_system(name: &str) -> Mistake {
    let known = Benchmark::all();
    let names = known.iter().flat_map(|b| [&*b.name].into_iter().chain(b.aliases.iter().copied()));
    Mistake::new(format!("no system '{name}'")).suggest(name, names, "ocorl list")
}

/// What several cells share, once it is computed.
type Shared = Arc<OnceLock<Result<Known, String>>>;

/// Runs cells, and remembers what they share: the known-model costs of each system.
#[derive(Default)]
pub struct Laboratory {
    known: Mutex<HashMap<String, Shared>>,
}

impl Laboratory {
    /// Runs one cell. `cancel` ends it at the next chance; `watch` is told of every episode.
    pub fn run(
        &self,
        cell: &Cell,
        cancel: &Arc<AtomicBool>,
        watch: &mut dyn FnMut(&EpisodeRow),
    ) -> CellResult {
        let mut result = CellResult::failed(cell, "");
        result.failure = self.fill(&mut result, cancel, watch).err();
        result
    }

    fn fill(
        &self,
        result: &mut CellResult,
        cancel: &Arc<AtomicBool>,
        watch: &mut dyn FnMut(&EpisodeRow),
    ) -> Result<(), String> {
        let cell = result.cell.clone();
        let Prepared { benchmark, settings } = cell.prepare().map_err(|mistake| mistake.to_string())?;
        let (scale, known) = (benchmark.table_scale(), self.known(&benchmark, &settings)?);
        result.known = Some(known);
        let optimum = known.continuous / scale;
        let trial =
            Trial::new(&benchmark, settings, cell.seed, optimum).map_err(|error| error.to_string())?;
        let mut trial = trial.cancelled_by(cancel.clone());
        while let Some(episode) = trial.next_episode(&mut ()) {
            if cancel.load(Ordering::Relaxed) {
                return Err("cancelled".into());
            }
            let row = EpisodeRow::new(&episode.record, scale);
            watch(&row);
            result.episodes.push(row);
        }
        let completed = result.episodes.iter().filter(|row| row.completed()).map(|row| row.cost);
        if let Some(corrected) = known.corrected_by(completed) {
            for row in &mut result.episodes {
                row.regret = rounded(row.cost - corrected.continuous);
            }
            result.known = Some(corrected);
        }
        Ok(())
    }

    /// Computed by the first who asks; others wait for it.
    fn known(&self, benchmark: &Benchmark, settings: &Settings) -> Result<Known, String> {
        let mut key = benchmark.name.to_string();
        let _ = write!(key, " {:?} {:?}", settings.initial_states, settings.holds(settings.episodes - 1));
        let entry = match self.known.lock() {
            Ok(mut all) => all.entry(key).or_default().clone(),
            // Whoever held the lock panicked; what it guards is a map of finished values.
            Err(poisoned) => poisoned.into_inner().entry(key).or_default().clone(),
        };
        entry.get_or_init(|| Known::of(benchmark, settings).map_err(|error| error.to_string())).clone()
    }
}
