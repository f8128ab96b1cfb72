//! `plan.json`: the plan of one episode, for the hardware. Any program can execute it:
//!
//! ```text
//! on [t_k, t_{k+1}):   u = clamp(u_k + K_k (x − x̄(t)))          after `valid_for`:   u = safe control
//! ```
//!
//! with x̄(t) the cubic Hermite interpolation between two nodes. The data that `ocorl` needs for MPC (the model) are in `learner`; other
//! programs can ignore them.

use crate::user_error::{Hint, Place, UserError};
use ocorl::learn::{Checkpoint, PlannedRollout, Settings};
use ocorl::linalg::Blocks;
use ocorl::plan::Plan;
use ocorl::simulate::Trajectory;
use ocorl::system::{Backup, Bounds, Quantity, RateLimit};
use serde::{Deserialize, Serialize};

/// Format identifier of the file; a reader rejects other formats.
pub const FORMAT: &str = "ocorl-plan";
/// Version of the format.
pub const VERSION: u32 = 1;

/// The plan of the next episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Format identifier, always [`FORMAT`].
    pub format: String,
    /// Version of the format, always [`VERSION`].
    pub version: u32,
    /// Name of the study the plan belongs to.
    pub study: String,
    /// Name of the system.
    pub system: String,
    /// Number of the episode, from 0.
    pub episode: usize,
    /// Names and units of the states.
    pub states: Vec<Named>,
    /// Names and units of the controls.
    pub controls: Vec<Named>,
    /// Names of the states that wrap at 2π.
    pub angles: Vec<String>,
    /// Horizon T: duration of an episode.
    pub horizon: f64,
    /// Validity of the plan, from its start; after that time the control is the safe one.
    pub valid_for: f64,
    /// Control period.
    pub period: f64,
    /// Bounds and rate limits of the controls.
    pub limits: Limits,
    /// Limits of the states; a controller that measures a state outside them does not follow the plan any more. `None` if no state has a
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_limits: Option<StateLimits>,
    /// Safe control, applied when no better one is available.
    pub safe_control: Vec<f64>,
    /// Controller that replaces the plan where it must not be followed; `None` for the safe control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// One rollout for each initial state; `legs` in the file.
    #[serde(rename = "legs")]
    pub rollouts: Vec<RolloutTable>,
    /// The learner that made the plan, from which the controller and the simulated rig restore its policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learner: Option<Learning>,
}

/// State of the learner when it made the plan: sufficient to restore its policies bit for bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learning {
    /// Text of the file that describes the system; `None` if the system is shipped with the program.
    pub file: Option<String>,
    /// Settings of the learner.
    pub settings: Settings,
    /// Root seed of all random streams.
    pub seed: u64,
    /// Data and model parameters of the learner.
    pub memory: Checkpoint,
}

/// Name and unit of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name, as in the header of a measurement file.
    pub name: String,
    /// Unit; empty for a dimensionless quantity.
    pub unit: String,
}

impl From<&Quantity> for Named {
    fn from(q: &Quantity) -> Self {
        Named { name: q.name.clone(), unit: q.unit.clone() }
    }
}

/// Limits of the controls; null where a control has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Lower bounds.
    pub lower: Vec<Option<f64>>,
    /// Upper bounds.
    pub upper: Vec<Option<f64>>,
    /// Maximum change per unit of time, for each control; `None` if no control has a rate limit.
    pub max_rate: Option<Vec<Option<f64>>>,
}

impl Limits {
    /// Limits from `bounds` and optional rate limits; infinite values mean no limit.
    pub fn new(bounds: &Bounds, max_rate: Option<Vec<f64>>) -> Self {
        let finite = |ends: &[f64]| ends.iter().map(|e| e.is_finite().then_some(*e)).collect::<Vec<_>>();
        let max_rate = max_rate.map(|rates| finite(&rates));
        Limits { lower: finite(&bounds.lower), upper: finite(&bounds.upper), max_rate }
    }

    /// Rate limit of controls that are updated every `period`; `None` if no control has one.
    pub fn rate_limit(&self, period: f64) -> Option<RateLimit> {
        let rates = self.max_rate.as_ref()?.iter().map(|rate| rate.unwrap_or(f64::INFINITY));
        Some(RateLimit { max_rate: rates.collect(), period })
    }

    /// The bounds, with infinity where a control has no limit.
    pub fn bounds(&self) -> Bounds {
        let ends = |ends: &[Option<f64>], none: f64| ends.iter().map(|e| e.unwrap_or(none)).collect();
        Bounds { lower: ends(&self.lower, f64::NEG_INFINITY), upper: ends(&self.upper, f64::INFINITY) }
    }
}

/// Limits of the states; null where a state has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateLimits {
    /// Lower limits.
    pub lower: Vec<Option<f64>>,
    /// Upper limits.
    pub upper: Vec<Option<f64>>,
}

impl StateLimits {
    /// Limits from `bounds`; `None` if none is finite.
    pub fn new(bounds: &Bounds) -> Option<Self> {
        let Limits { lower, upper, .. } = Limits::new(bounds, None);
        bounds.is_limiting().then_some(StateLimits { lower, upper })
    }

    /// The bounds, with infinity where a state has no limit.
    fn bounds(&self) -> Bounds {
        Limits { lower: self.lower.clone(), upper: self.upper.clone(), max_rate: None }.bounds()
    }
}

/// Look-ahead with which a controller stops an excitation short of the limits of the states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrakeTable {
    /// Time over which a state is extrapolated.
    pub ahead: f64,
    /// Part of the width of the limits within which no state may be extrapolated.
    pub margin: f64,
}

/// One rollout: a reference trajectory with gains, and measurement times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutTable {
    /// Index of the initial state.
    pub start: usize,
    /// Initial state x(0).
    pub initial_state: Vec<f64>,
    /// Node times t_0 … t_N, strictly increasing.
    pub times: Vec<f64>,
    /// Reference states x̄ at the nodes: N + 1 rows.
    pub states: Vec<Vec<f64>>,
    /// Derivatives dx̄/dt at the two ends of each interval: N pairs.
    pub slopes: Vec<[Vec<f64>; 2]>,
    /// Feedforward controls u_k on the intervals: N rows.
    pub controls: Vec<Vec<f64>>,
    /// Feedback gains K_k on the intervals: N matrices with one row per control and one column per state.
    pub gains: Vec<Vec<Vec<f64>>>,
    /// Largest deviation of each state from the reference, at the nodes: N + 1 rows. A controller that measures a larger one does not follow
    /// the plan any more. `None` if the plan has no tube.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tube: Option<Vec<Vec<f64>>>,
    /// Look-ahead of an excitation; `None` for a plan that was made on a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brake: Option<BrakeTable>,
    /// Measurement times that are known in advance.
    pub measure_at: Vec<f64>,
    /// Rule for further measurement times, decided during the run; `None` if all are known in advance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Cost of the plan as predicted by the planning problem it solves; `None` in the exploratory episode.
    pub planned_cost: Option<f64>,
    /// Cost of the best plan on the mean model, as predicted by that model.
    pub mean_cost: Option<f64>,
}

/// A strategy whose measurement times depend on the course of the episode. The controller and the simulated rig apply it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the strategy.
    pub strategy: String,
    /// Maximum number of measurements it requests.
    pub most: usize,
}

impl PlanFile {
    /// Maximum size of a plan in bytes.
    pub const LARGEST: u64 = 1 << 28;

    /// Parses and validates a plan; `name` is its name in errors.
    pub fn parse(text: &str, name: &str) -> Result<Self, UserError> {
        let plan: PlanFile = serde_json::from_str(text).map_err(|error| {
            let at = (error.line() > 0).then(|| (error.line(), error.column()));
            UserError::new(format!("'{name}' is not a plan"))
                .detail("place", Place { file: name.into(), at }.to_string())
                .detail("cause", error.to_string())
                .hint(Hint::AskForPlan)
        })?;
        plan.check().map_err(|cause| {
            UserError::new(format!("the plan in '{name}' cannot be run"))
                .detail("cause", cause)
                .hint("ask for it again")
        })?;
        Ok(plan)
    }

    /// The plan as JSON; numbers are written in their shortest exact form.
    pub fn text(&self) -> Result<String, UserError> {
        let text = serde_json::to_string(self)
            .map_err(|error| UserError::new(format!("the plan cannot be written as JSON: {error}")))?;
        Ok(text + "\n")
    }

    /// Validates the shape of every table and every number.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("its format is '{}', not '{FORMAT}'", self.format));
        }
        if self.version != VERSION {
            return Err(format!("its version is {}, this program reads {VERSION}", self.version));
        }
        let (nx, nu) = (self.states.len(), self.controls.len());
        if nx == 0 || nu == 0 || self.rollouts.is_empty() {
            return Err("it has no states, no controls or no rollouts".into());
        }
        for (what, value) in
            [("horizon", self.horizon), ("valid_for", self.valid_for), ("period", self.period)]
        {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!("{what} is {value}; it must be positive and finite"));
            }
        }
        let Limits { lower, upper, max_rate } = &self.limits;
        let rates = max_rate.as_ref().map_or(nu, Vec::len);
        if lower.len() != nu || upper.len() != nu || rates != nu || self.safe_control.len() != nu {
            return Err(format!("limits and safe_control must have {nu} entries"));
        }
        let bounds = self.limits.bounds();
        if let Some(i) = (0..nu).find(|&i| !(bounds.lower[i] <= bounds.upper[i])) {
            return Err(format!("the limits of '{}' are empty", self.controls[i].name));
        }
        if let Some(i) = bounds.violated_by(&self.safe_control) {
            return Err(format!("the safe control of '{}' lies outside its limits", self.controls[i].name));
        }
        let states = self.state_bounds();
        if states.lower.len() != nx || states.upper.len() != nx {
            return Err(format!("state_limits must have {nx} entries"));
        }
        if let Some(i) = (0..nx).find(|&i| !(states.lower[i] <= states.upper[i])) {
            return Err(format!("the limits of '{}' are empty", self.states[i].name));
        }
        if let Some(cause) = self.backup.as_ref().and_then(|backup| backup.error(nx, nu)) {
            return Err(cause);
        }
        if max_rate.iter().flatten().flatten().any(|r| !(*r >= 0.0)) {
            return Err("max_rate must not be negative".into());
        }
        if let Some(name) = self.angles.iter().find(|a| self.states.iter().all(|s| s.name != **a)) {
            return Err(format!("the angle '{name}' is not a state"));
        }
        self.rollouts.iter().enumerate().try_for_each(|(i, rollout)| {
            rollout.check(nx, nu).map_err(|cause| format!("rollout {i}: {cause}"))
        })
    }

    /// Limits of the states, with infinity where a state has none.
    pub fn state_bounds(&self) -> Bounds {
        self.state_limits.as_ref().map_or_else(|| Bounds::none(self.states.len()), StateLimits::bounds)
    }

    /// Number of requested measurements, summed over the rollouts; for times decided during the run, the maximum.
    pub fn asked(&self) -> usize {
        self.rollouts
            .iter()
            .map(|rollout| rollout.measure_at.len() + rollout.rule.as_ref().map_or(0, |rule| rule.most))
            .sum()
    }

    /// Planned cost, mean over the rollouts; `None` if a rollout is exploratory.
    pub fn planned_cost(&self) -> Option<f64> {
        self.mean_over_rollouts(|rollout| rollout.planned_cost)
    }

    /// Cost of the best plans on the mean model, mean over the rollouts.
    pub fn mean_cost(&self) -> Option<f64> {
        self.mean_over_rollouts(|rollout| rollout.mean_cost)
    }

    fn mean_over_rollouts(&self, of: impl Fn(&RolloutTable) -> Option<f64>) -> Option<f64> {
        let each: Option<Vec<f64>> = self.rollouts.iter().map(of).collect();
        each.map(|each| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// Indices of the states that are angles.
    pub fn angle_indices(&self) -> Vec<usize> {
        let is = |name: &str| self.angles.iter().any(|a| a == name);
        (0..self.states.len()).filter(|&i| is(&self.states[i].name)).collect()
    }
}

impl RolloutTable {
    /// The planned rollout as the learner represents it; `None` in the exploratory episode.
    pub fn planned_rollout(&self) -> Option<PlannedRollout> {
        let planned_cost = self.planned_cost?;
        Some(PlannedRollout {
            plan: Plan::given(self.trajectory(), planned_cost),
            planned_cost,
            mean_cost: self.mean_cost,
            measurement_times: self.measure_at.clone(),
            tube: self.tube.as_ref().map(|tube| blocks(tube, self.initial_state.len())),
        })
    }

    /// The reference trajectory with gains and derivatives; the table must have been validated.
    pub fn trajectory(&self) -> Trajectory {
        let (nx, nu) = (self.initial_state.len(), self.controls.first().map_or(0, Vec::len));
        let flat = |rows: &mut dyn Iterator<Item = &f64>| rows.copied().collect::<Vec<f64>>();
        Trajectory {
            times: self.times.clone(),
            states: blocks(&self.states, nx),
            controls: blocks(&self.controls, nu),
            gains: Blocks::from_vec(flat(&mut self.gains.iter().flatten().flatten()), nx * nu),
            slopes: Blocks::from_vec(flat(&mut self.slopes.iter().flatten().flatten()), 2 * nx),
            costs: Vec::new(),
        }
    }

    fn check(&self, nx: usize, nu: usize) -> Result<(), String> {
        let n = self.controls.len();
        let rows = |rows: &[Vec<f64>], count: usize, width: usize| {
            rows.len() == count && rows.iter().all(|row| row.len() == width)
        };
        let shapes = [
            ("times", n > 0 && self.times.len() == n + 1),
            ("initial_state", self.initial_state.len() == nx),
            ("states", rows(&self.states, n + 1, nx)),
            ("slopes", self.slopes.len() == n && self.slopes.iter().flatten().all(|s| s.len() == nx)),
            ("controls", rows(&self.controls, n, nu)),
            ("gains", self.gains.len() == n && self.gains.iter().all(|k| rows(k, nu, nx))),
            ("tube", self.tube.as_ref().is_none_or(|tube| rows(tube, n + 1, nx))),
        ];
        if let Some((what, _)) = shapes.iter().find(|(_, right)| !right) {
            return Err(format!("'{what}' has the wrong shape for {nx} states, {nu} controls and its times"));
        }
        if self.tube.iter().flatten().flatten().any(|r| !(*r >= 0.0)) {
            return Err("a radius of 'tube' is negative or not a number".into());
        }
        if self
            .brake
            .is_some_and(|b| !(b.ahead > 0.0 && b.ahead.is_finite() && (0.0..=0.5).contains(&b.margin)))
        {
            return Err("'brake' needs a positive, finite time ahead and a margin between 0 and 0.5".into());
        }
        if !self.times.windows(2).all(|t| t[1] > t[0]) {
            return Err("'times' must increase".into());
        }
        let mut numbers = self.states.iter().chain(&self.controls).flatten();
        let finite =
            self.times.iter().chain(&self.initial_state).chain(&self.measure_at).all(|v| v.is_finite())
                && numbers.all(|v| v.is_finite())
                && self.slopes.iter().flatten().flatten().all(|v| v.is_finite())
                && self.gains.iter().flatten().flatten().all(|v| v.is_finite());
        if finite { Ok(()) } else { Err("a number is not finite".into()) }
    }
}

/// Converts blocks to rows.
pub(crate) fn rows(blocks: &Blocks) -> Vec<Vec<f64>> {
    blocks.iter().map(<[f64]>::to_vec).collect()
}

/// Converts rows to blocks of `size` numbers.
pub(crate) fn blocks(rows: &[Vec<f64>], size: usize) -> Blocks {
    Blocks::from_vec(rows.iter().flatten().copied().collect(), size)
}
