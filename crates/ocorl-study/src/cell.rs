//! One cell of a sweep: a complete run described by plain data, whose result is plain bytes. [`CellRunner::run`] executes a cell; whether
//! it is called on a thread of this process or on another machine makes no difference to the result. Scheduling and storage are left to
//! `threads` and `sweep`.

use crate::known::Known;
use crate::store::{StoreError, encoded};
use crate::system::System;
use crate::user_error::{Catalogue, UserError};
use ocorl::learn::{Record, Settings, Trial};
use ocorl::simulate::Outcome;
use ocorl::system::{BENCHMARKS, KnownSystem, TableUnits};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A run to be executed: system, settings and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the system.
    pub system: String,
    /// Text of the file that describes the system; `None` if it is shipped with the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The settings the cell starts from: `default` or `reference`.
    pub settings: String,
    /// Settings changed relative to those, by path.
    pub set: BTreeMap<String, toml::Value>,
    /// Root seed of all random streams of the run.
    pub seed: u64,
}

/// Result of a cell. Equal cells give equal bytes on every machine. Costs are in the units of Table 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// The cell that was run.
    pub cell: Cell,
    /// Version of the program that ran the cell.
    pub version: String,
    /// Reason why the cell has no result; `None` if it succeeded.
    pub failure: Option<String>,
    /// Reference costs computed with the known dynamics.
    pub known: Option<Known>,
    /// All completed episodes, in order.
    pub episodes: Vec<EpisodeRow>,
}

/// Summary of one episode; numbers are rounded to ten significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRow {
    /// Number of the episode, from 0.
    pub episode: usize,
    /// C(πₙ, f*)
    pub cost: f64,
    /// Regret: cost above the continuous-time optimum (known dynamics).
    pub regret: f64,
    /// Cost of the plan as predicted by the planning problem it solves (for optimism, the hallucinated dynamics).
    pub planned_cost: Option<f64>,
    /// Cost of the best plan on the mean model, as predicted by that model.
    pub mean_cost: Option<f64>,
    /// Number of measurements taken in this episode.
    pub measured: usize,
    /// Number of state-only readings (synchronization) in this episode.
    pub synchronized: usize,
    /// Largest confidence scale β over the outputs.
    pub beta: Option<f64>,
    /// I(y; f) of all measurements so far, in nats.
    pub information_gain: f64,
    /// Model uncertainty along the trajectory: root mean square of σ relative to f*.
    pub uncertainty: Option<f64>,
    /// Fraction of the trajectory on which |f − μ| ≤ β σ.
    pub coverage: Option<f64>,
    /// Fraction of the trajectory on which |f − μ| ≤ 1.96 β σ.
    pub coverage_95: Option<f64>,
    /// Model complexity I_N so far: ∫‖σ‖² dt, summed over the episodes.
    pub complexity: Option<f64>,
    /// mₙ = ⌈T/Δₙ⌉ of the analysis, where slopes along the plan replace the Lipschitz constants.
    pub required: Option<usize>,
    /// How the episode ended.
    pub outcome: Outcome,
    /// The paper's theoretical bounds together with the quantities they bound.
    #[serde(flatten, default)]
    pub bounds: Bounds,
}

/// The paper's theoretical bounds and the measured values of the bounded quantities. Bounds on distance and regret are natural logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct Bounds {
    /// Strategy whose bound on I_N applies: `oracle`, `equidistant` or `adaptive`.
    pub complexity_bound_of: Option<String>,
    /// Bound on the model complexity I_N, to be compared with `complexity`.
    pub complexity_bound: Option<f64>,
    /// Maximum information gain γₙ (greedy approximation), summed over the outputs, in nats.
    pub maximum_information_gain: Option<f64>,
    /// Natural logarithm of 18 s̄ T dₓ γₙ, an alternative bound on I_N.
    pub log_information_bound: Option<f64>,
    /// Largest distance between planned and executed state.
    pub distance: Option<f64>,
    /// Natural logarithm of the distance lemma's bound where the distance is largest.
    pub log_distance_bound: Option<f64>,
    /// Smallest value of ln(bound) − ln(distance) over the episode.
    pub distance_margin: Option<f64>,
    /// Natural logarithm of the bound on the regret rₙ of this episode.
    pub log_regret_bound: Option<f64>,
    /// Natural logarithm of the bound on the cumulative regret R_N.
    pub log_cumulative_regret_bound: Option<f64>,
}

impl Bounds {
    /// Bounds of `record` in the given units; in discrete time, those of the paper's appendix.
    fn new(record: &Record, units: TableUnits) -> Self {
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite()).map(rounded);
        let scaled = |log: Option<f64>| finite(log.map(|log| units.log_cost(log)));
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
    /// Summary of `record` with costs in the given units.
    pub fn new(record: &Record, units: TableUnits) -> Self {
        let cost = |c: f64| rounded(units.cost(c));
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
            bounds: Bounds::new(record, units),
        }
    }

    /// Whether the episode reached its horizon.
    pub fn completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

/// Rounds to ten significant digits, so that a value is the same in a file and in memory. Values that are not finite are returned
/// unchanged.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

impl CellResult {
    /// Result of a cell that did not finish, with the reason.
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

    /// The result as JSON and as read back from that JSON: the same bytes wherever the cell ran. A result with a number that is not finite
    /// cannot be written; its cell counts as failed.
    pub fn written(&self) -> Result<(String, CellResult), StoreError> {
        let text = encoded("the result of a cell", self)?;
        if let Ok(read) = serde_json::from_str(&text) {
            return Ok((text, read));
        }
        let failed = CellResult::failed(&self.cell, "a number in its result is not finite");
        Ok((encoded("the result of a cell", &failed)?, failed))
    }

    /// Cost of the last episode; `None` if the cell failed.
    pub fn final_cost(&self) -> Option<f64> {
        self.last().map(|row| row.cost)
    }

    /// The last episode; `None` if the cell failed.
    pub fn last(&self) -> Option<&EpisodeRow> {
        self.episodes.last().filter(|_| self.failure.is_none())
    }

    /// Whether the last episode ended before its horizon.
    pub fn diverged(&self) -> bool {
        self.last().is_some_and(|row| !row.completed())
    }

    /// Cumulative regret Σ rₙ without the exploratory episode 0, which is the same for all strategies.
    pub fn cumulative_regret(&self) -> f64 {
        self.episodes.iter().filter(|row| row.episode > 0).map(|row| row.regret).sum()
    }

    /// First episode from which all episodes to the last cost at most `1 + share` times the optimum.
    pub fn stays_within(&self, share: f64) -> Option<usize> {
        let limit = share * self.known?.continuous.abs();
        let near = |row: &&EpisodeRow| row.regret <= limit && row.completed();
        self.episodes.iter().rev().take_while(near).last().map(|row| row.episode)
    }

    /// Number of measurements taken in all episodes before `episode`, which are the data its plan is based on.
    pub fn measurements_before(&self, episode: usize) -> usize {
        self.episodes.iter().filter(|row| row.episode < episode).map(|row| row.measured).sum()
    }
}

/// A cell whose settings have been validated.
#[derive(Clone)]
pub struct Prepared {
    /// The system with its equations.
    pub benchmark: KnownSystem,
    /// The complete settings of the run.
    pub settings: Settings,
}

impl Cell {
    /// Validates everything that can be validated without computing.
    pub fn prepare(&self) -> Result<Prepared, UserError> {
        let system = System::restore(&self.system, self.file.as_deref())?;
        if !["default", "reference"].contains(&self.settings.as_str()) {
            return Err(UserError::new(format!("no settings '{}'", self.settings))
                .hint("the settings of a cell are 'default' or 'reference'"));
        }
        let mut config = system.config(&self.settings)?;
        for (path, value) in &self.set {
            config.set_value(path, value.clone())?;
        }
        let settings = config.settings;
        let benchmark = system.truth.ok_or_else(|| {
            UserError::new(format!("'{}' has no equations, so it cannot be simulated", self.system))
        })?;
        Trial::new(&benchmark, settings.clone(), self.seed, 0.0)
            .map_err(|error| UserError::new(error.to_string()).detail("system", &*benchmark.name))?;
        Ok(Prepared { benchmark, settings })
    }

    /// Unique name of the cell, usable as a file name.
    pub fn id(&self) -> String {
        // Plain data always serializes to JSON; if it did not, the debug representation would distinguish cells as well.
        let text = serde_json::to_string(self).unwrap_or_else(|_| format!("{self:?}"));
        // FNV-1a hash: short and platform-independent.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}-{}-{hash:016x}", self.system, self.seed)
    }

    /// Short description of the cell's settings: everything except the system and the seed.
    pub fn variant(&self) -> String {
        let mut parts = Vec::new();
        if self.settings != "default" {
            parts.push(format!("{} settings", self.settings));
        }
        for (path, value) in &self.set {
            parts.push(match (path.as_str(), value) {
                ("strategy" | "explore", toml::Value::String(name)) => name.replace('-', " "),
                ("measurements", value) => format!("M = {value}"),
                (path, toml::Value::String(word)) => format!("{path} {word}"),
                (path, value) => format!("{path} = {value}"),
            });
        }
        if parts.is_empty() { "as shipped".into() } else { parts.join(", ") }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, seed {}", self.system, self.variant(), self.seed)
    }
}

/// Error for an unknown system name; suggests the nearest known name.
pub fn unknown_system(name: &str) -> UserError {
    let names = BENCHMARKS.iter().flat_map(|b| [b.name].into_iter().chain(b.aliases.iter().copied()));
    UserError::new(format!("no system '{name}'")).suggest(name, names, Catalogue::Systems)
}

/// A value shared by several cells, computed once.
type Shared = Arc<OnceLock<Result<Known, String>>>;

/// Runs cells and caches the reference costs (known dynamics) of each system, which cells share.
#[derive(Default)]
pub struct CellRunner {
    known: Mutex<HashMap<String, Shared>>,
}

impl CellRunner {
    /// Runs one cell. `cancel` stops it at the next check; `watch` is called after every episode.
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
        let Prepared { benchmark, settings } = cell.prepare().map_err(|error| error.to_string())?;
        let (units, known) = (benchmark.table_units(), self.known(&cell, &benchmark, &settings)?);
        let (optimum, known) = (known.continuous, known.printed(units));
        result.known = Some(known);
        let trial =
            Trial::new(&benchmark, settings, cell.seed, optimum).map_err(|error| error.to_string())?;
        let mut trial = trial.cancelled_by(cancel.clone());
        while let Some(episode) = trial.next_episode(&mut ()) {
            let row = EpisodeRow::new(&episode.record, units);
            watch(&row);
            result.episodes.push(row);
        }
        if cancel.load(Ordering::Relaxed) {
            return Err("cancelled".into());
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

    /// Reference costs of a system: computed by the first caller, while other callers wait.
    fn known(&self, cell: &Cell, benchmark: &KnownSystem, settings: &Settings) -> Result<Known, String> {
        let mut key = format!("{} {}", cell.system, cell.file.as_deref().unwrap_or_default());
        let _ = write!(key, " {:?} {:?}", settings.initial_states, settings.holds(settings.episodes - 1));
        let entry = match self.known.lock() {
            Ok(mut all) => all.entry(key).or_default().clone(),
            // The thread that held the lock panicked; the map holds finished values only, so it remains valid.
            Err(poisoned) => poisoned.into_inner().entry(key).or_default().clone(),
        };
        entry.get_or_init(|| Known::of(benchmark, settings).map_err(|error| error.to_string())).clone()
    }
}
