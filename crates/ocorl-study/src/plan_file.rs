//! `plan.json`: what leaves for the hardware. Anybody's program can run it:
//!
//! ```text
//! on [t_k, t_{k+1}):   u = clamp(u_k + K_k (x − x̄(t)))          after `valid_for`:   u = safe control
//! ```
//!
//! with x̄(t) the cubic through the two nodes and their slopes. What `ocorl` itself needs to do better than that (the model, for MPC) stands
//! in `learner`; others need not look at it.

use crate::mistake::{Mistake, Place};
use ocorl::learn::{Intention, Memory, Settings};
use ocorl::linalg::Blocks;
use ocorl::plan::{Outcome, Plan};
use ocorl::system::{Bounds, Quantity};
use serde::{Deserialize, Serialize};

/// The form of the file; a reader of another refuses it.
pub const FORMAT: &str = "ocorl-plan";
/// Its version.
pub const VERSION: u32 = 1;

/// The next episode, as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Always [`FORMAT`].
    pub format: String,
    /// Always [`VERSION`].
    pub version: u32,
    /// Which study it belongs to.
    pub study: String,
    /// Which system.
    pub system: String,
    /// Number of the episode, from 0.
    pub episode: usize,
    /// What each state is.
    pub states: Vec<Named>,
    /// What each control is.
    pub controls: Vec<Named>,
    /// Names of the states that wrap at 2π.
    pub angles: Vec<String>,
    /// T: how long an episode takes.
    pub horizon: f64,
    /// The plan must not be followed for longer than this from its beginning; after that the control is the safe one.
    pub valid_for: f64,
    /// Time between two controls.
    pub period: f64,
    /// Where controls must stay.
    pub limits: Limits,
    /// The control for when nothing better is known.
    pub safe_control: Vec<f64>,
    /// One run for each initial state.
    pub legs: Vec<LegTable>,
    /// What `ocorl control` and `ocorl rig` need to act as the learner would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learner: Option<Learning>,
}

/// The learner as it was when it made the plan: enough to make its policies again, to the last bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learning {
    /// The text of the file that describes the system, if it does not come with the program.
    pub file: Option<String>,
    /// How it is learned.
    pub settings: Settings,
    /// Everything random is drawn below it.
    pub seed: u64,
    /// What it knew.
    pub memory: Memory,
}

/// A quantity by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// As in the header of a file of measurements.
    pub name: String,
    /// Empty for a pure number.
    pub unit: String,
}

impl From<&Quantity> for Named {
    fn from(q: &Quantity) -> Self {
        Named { name: q.name.clone(), unit: q.unit.clone() }
    }
}

/// Limits of the controls; null where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Lower ends.
    pub lower: Vec<Option<f64>>,
    /// Upper ends.
    pub upper: Vec<Option<f64>>,
    /// Largest change per unit of time.
    pub max_rate: Option<Vec<f64>>,
}

impl Limits {
    /// Of controls within `bounds`.
    pub fn new(bounds: &Bounds, max_rate: Option<Vec<f64>>) -> Self {
        let finite = |ends: &[f64]| ends.iter().map(|e| e.is_finite().then_some(*e)).collect();
        Limits { lower: finite(&bounds.lower), upper: finite(&bounds.upper), max_rate }
    }

    /// With infinity where there is none.
    pub fn bounds(&self) -> Bounds {
        let ends = |ends: &[Option<f64>], none: f64| ends.iter().map(|e| e.unwrap_or(none)).collect();
        Bounds { lower: ends(&self.lower, f64::NEG_INFINITY), upper: ends(&self.upper, f64::INFINITY) }
    }
}

/// One run: a reference with gains, and when to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LegTable {
    /// Number of the initial state.
    pub start: usize,
    /// x(0)
    pub initial_state: Vec<f64>,
    /// t_0 … t_N, strictly increasing.
    pub times: Vec<f64>,
    /// x̄ at the nodes: N + 1 rows.
    pub states: Vec<Vec<f64>>,
    /// dx̄/dt at the two ends of each interval: N pairs.
    pub slopes: Vec<[Vec<f64>; 2]>,
    /// u_k on the intervals: N rows.
    pub controls: Vec<Vec<f64>>,
    /// K_k on the intervals: N matrices, one row for each control, one column for each state.
    pub gains: Vec<Vec<Vec<f64>>>,
    /// When to measure, as far as that is known in advance.
    pub measure_at: Vec<f64>,
    /// How further times are decided on the way; none if all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// What the plan costs in the imagination it was made for; none if the system is only excited.
    pub planned_cost: Option<f64>,
    /// What the best plan on the mean model costs there.
    pub mean_cost: Option<f64>,
}

/// Measurement times that depend on how the episode goes. `ocorl control` and `ocorl rig` apply them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The strategy.
    pub strategy: String,
    /// Most measurements it will ask for.
    pub most: usize,
}

impl PlanFile {
    /// Reads and checks a file called `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self, Mistake> {
        let plan: PlanFile = serde_json::from_str(text).map_err(|error| {
            let at = (error.line() > 0).then(|| (error.line(), error.column()));
            Mistake::new(format!("'{name}' is not a plan"))
                .detail("place", Place { file: name.into(), at }.to_string())
                .detail("cause", error.to_string())
                .hint("a plan is what `ocorl study ask` writes")
        })?;
        plan.check().map_err(|cause| {
            Mistake::new(format!("the plan in '{name}' cannot be run"))
                .detail("cause", cause)
                .hint("ask for it again")
        })?;
        Ok(plan)
    }

    /// The file's text: numbers in their shortest exact form.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Every shape and every number.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("its format is '{}', not '{FORMAT}'", self.format));
        }
        if self.version != VERSION {
            return Err(format!("its version is {}, this program reads {VERSION}", self.version));
        }
        let (nx, nu) = (self.states.len(), self.controls.len());
        if nx == 0 || nu == 0 || self.legs.is_empty() {
            return Err("it has no states, no controls or no legs".into());
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
        if max_rate.iter().flatten().any(|r| !(*r >= 0.0)) {
            return Err("max_rate must not be negative".into());
        }
        if let Some(name) = self.angles.iter().find(|a| self.states.iter().all(|s| s.name != **a)) {
            return Err(format!("the angle '{name}' is no state"));
        }
        self.legs
            .iter()
            .enumerate()
            .try_for_each(|(i, leg)| leg.check(nx, nu).map_err(|cause| format!("leg {i}: {cause}")))
    }

    /// Measurements it asks for, of all legs; of times that are decided on the way, the most.
    pub fn asked(&self) -> usize {
        self.legs.iter().map(|leg| leg.measure_at.len() + leg.rule.as_ref().map_or(0, |rule| rule.most)).sum()
    }

    /// Mean over the legs of what is planned; none if one only excites.
    pub fn planned_cost(&self) -> Option<f64> {
        self.mean_over_legs(|leg| leg.planned_cost)
    }

    /// The same for the best plans on the mean model.
    pub fn mean_cost(&self) -> Option<f64> {
        self.mean_over_legs(|leg| leg.mean_cost)
    }

    fn mean_over_legs(&self, of: impl Fn(&LegTable) -> Option<f64>) -> Option<f64> {
        let each: Option<Vec<f64>> = self.legs.iter().map(of).collect();
        each.map(|each| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// Numbers of the states that are angles.
    pub fn angle_indices(&self) -> Vec<usize> {
        let is = |name: &str| self.angles.iter().any(|a| a == name);
        (0..self.states.len()).filter(|&i| is(&self.states[i].name)).collect()
    }
}

impl LegTable {
    /// What is to be done, as the learner has it; none if the system is only excited.
    pub fn intention(&self) -> Option<Intention> {
        let planned_cost = self.planned_cost?;
        let (nx, nu) = (self.initial_state.len(), self.controls.first()?.len());
        let gains: Vec<f64> = self.gains.iter().flatten().flatten().copied().collect();
        let slopes: Vec<f64> = self.slopes.iter().flatten().flatten().copied().collect();
        let plan = Plan {
            times: self.times.clone(),
            states: blocks(&self.states, nx),
            controls: blocks(&self.controls, nu),
            gains: Blocks::from_vec(gains, nx * nu),
            cost: planned_cost,
            outcome: Outcome::Converged,
            gradient_norm: 0.0,
            trace: Vec::new(),
        };
        Some(Intention {
            plan,
            planned_cost,
            mean_cost: self.mean_cost.unwrap_or(f64::NAN),
            slopes: Blocks::from_vec(slopes, 2 * nx),
            measurement_times: self.measure_at.clone(),
        })
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
        ];
        if let Some((what, _)) = shapes.iter().find(|(_, right)| !right) {
            return Err(format!("'{what}' has the wrong shape for {nx} states, {nu} controls and its times"));
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

/// Blocks as rows.
pub(crate) fn rows(blocks: &Blocks) -> Vec<Vec<f64>> {
    blocks.iter().map(<[f64]>::to_vec).collect()
}

/// Rows as blocks of `size` numbers.
pub(crate) fn blocks(rows: &[Vec<f64>], size: usize) -> Blocks {
    Blocks::from_vec(rows.iter().flatten().copied().collect(), size)
}
