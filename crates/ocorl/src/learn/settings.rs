//! Settings of a learner: plain data with a documented default for each.

use super::{dithering, tube};
use crate::explore::Exploration;
use crate::linalg::Dims;
use crate::model::kernels::{KernelExpression, KernelName};
use crate::model::{
    self, Confidence, Ensemble, EnsembleSettings, GaussianProcess, Lengthscales, Mean, ModelError, Noise,
    StatisticalModel, TrainingSettings,
};
use crate::plan::Transcription;
use crate::plant::MeasurementKind;
use crate::simulate::Integrator;
use crate::states::StateSettings;
use crate::system::{KnownSystem, Task};
use crate::track::Brake;
use serde::{Deserialize, Serialize};

/// Settings of a learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Number of episodes N, the exploratory one included.
    pub episodes: usize,
    /// Number of measurements M per episode and initial state.
    pub measurements: usize,
    /// Initial states of an episode, each with its own plan and its own M measurements; if empty, the task's initial state.
    pub initial_states: Vec<Vec<f64>>,
    /// Exploration method, which determines the planning problem.
    pub explore: Exploration,
    /// Weight λ of `bonus`: value of one noise standard deviation of uncertainty per unit of time, in the unit of the cost.
    pub bonus_weight: f64,
    /// Strategy that chooses the measurement times.
    pub strategy: Strategy,
    /// Continuous time (the model is of f) or discrete time (the model is of the transitions under a held control). In discrete time
    /// `strategy` must be `equidistant` or `equidistant-growing`; only the numbers of starts and iterations of `plan` apply, and `track`
    /// and `select` are not used.
    #[serde(default)]
    pub time: Time,
    /// Measured quantity: derivatives or states. Discrete time always measures transitions.
    #[serde(default)]
    pub measured: MeasurementKind,
    /// How much learning restrains itself. `moderate`: plans that are not expected to cost more than the runs so far, and runs that stop when
    /// they leave the tube of their plan. `on`: also tubes within the limits of the states, a backup controller that takes over in time, and
    /// a first excitation that grows and stops short of the limits. `off` explores as fast as possible, for simulation. The default is `on`
    /// for a system file of a real plant, which has a section `[hardware]` or no equations, and `off` otherwise.
    #[serde(default)]
    pub caution: Caution,
    /// Control of the first episode.
    pub excitation: Excitation,
    /// Statistical model of f.
    pub model: ModelSettings,
    /// Solution of the open-loop planning problem.
    pub plan: PlanSettings,
    /// Policy that follows the plan.
    pub track: TrackSettings,
    /// Choice of the measurement times.
    pub select: SelectSettings,
    /// Estimation of derivatives from measured states.
    #[serde(default)]
    pub states: StateSettings,
    /// Random disturbances of the control.
    #[serde(default)]
    pub dither: DitherSettings,
    /// Holds in discrete time.
    #[serde(default)]
    pub discrete: DiscreteSettings,
}

/// Division of the horizon into holds, with `time = "discrete"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct DiscreteSettings {
    /// `equal`, `geometric`, or the times at which the M − 1 holds end, the last of which is the horizon.
    pub holds: HoldGrid,
}

/// Lengths of the holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected `equal`, `geometric` or a list of times")]
pub enum HoldGrid {
    /// A rule for any number of holds.
    Rule(HoldRule),
    /// Explicit end times of the holds.
    Times(Vec<f64>),
}

impl Default for HoldGrid {
    fn default() -> Self {
        HoldGrid::Rule(HoldRule::Equal)
    }
}

/// Rule for the lengths of the holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HoldRule {
    /// All holds have the same length.
    Equal,
    /// Each hold is longer than the previous one by the same factor, the last ten times the first: for tasks with decisive first instants.
    Geometric,
}

/// Disturbance of the control by `epsilon-greedy` and `boltzmann`, drawn for each `track.period`; in discrete time for each hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DitherSettings {
    /// ε of `epsilon-greedy`: probability that the control of a period is drawn uniformly instead of taken from the policy.
    pub epsilon: f64,
    /// Temperature T of `boltzmann`, as a fraction of the planned cost of a period; controls are drawn with probability ∝ exp(−Q/T).
    pub temperature: f64,
    /// Factor on ε and temperature from one episode to the next; 1 keeps them constant.
    pub decay: f64,
}

impl Default for DitherSettings {
    fn default() -> Self {
        DitherSettings { epsilon: 0.1, temperature: 0.02, decay: 0.8 }
    }
}

/// Strategy that chooses the measurement times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// M times, equally spaced over the horizon.
    Equidistant,
    /// As many equally spaced times as the number of the episode: m_n = n.
    EquidistantGrowing,
    /// M times whose measurements have the greatest joint information gain (greedy).
    MaxDeterminant,
    /// M times that are far apart in the kernel's metric (greedy).
    MaxKernelDistance,
    /// One synchronisation of the state and one measurement where σ is largest in each interval of length Δ_n, chosen online.
    RecedingHorizon,
    /// M times at which σ was largest on the executed trajectory; available only in simulation.
    Oracle,
    /// A measurement whenever the accumulated uncertainty exceeds a threshold, chosen online.
    UncertaintyTrigger,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 7] = [
        Strategy::Equidistant,
        Strategy::EquidistantGrowing,
        Strategy::MaxDeterminant,
        Strategy::MaxKernelDistance,
        Strategy::RecedingHorizon,
        Strategy::Oracle,
        Strategy::UncertaintyTrigger,
    ];

    /// Returns the name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Equidistant => "equidistant",
            Strategy::EquidistantGrowing => "equidistant-growing",
            Strategy::MaxDeterminant => "max-determinant",
            Strategy::MaxKernelDistance => "max-kernel-distance",
            Strategy::RecedingHorizon => "receding-horizon",
            Strategy::Oracle => "oracle",
            Strategy::UncertaintyTrigger => "uncertainty-trigger",
        }
    }
}

/// Time domain of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// ẋ = f(x, u), learned from derivatives; the control may change at any time.
    #[default]
    Continuous,
    /// x_{k+1} = h(x_k, u_k, τ), learned from transitions; the control changes at the sampling times.
    Discrete,
}

impl Time {
    /// Returns the name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Time::Continuous => "continuous",
            Time::Discrete => "discrete",
        }
    }
}

/// Degree of caution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Caution {
    /// Limits of the states end a run; nothing else restrains a plan.
    #[default]
    Off,
    /// Plans that are not expected to cost more than the runs so far; runs that stop when they leave the tube of their plan.
    Moderate,
    /// Also tubes within the limits of the states, a backup controller that takes over in time, and a growing excitation.
    On,
}

impl Caution {
    /// All degrees, least first.
    pub const ALL: [Caution; 3] = [Caution::Off, Caution::Moderate, Caution::On];

    /// Returns the name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Caution::Off => "off",
            Caution::Moderate => "moderate",
            Caution::On => "on",
        }
    }

    /// Returns a short description of what restrains a run.
    pub fn text(self) -> &'static str {
        match self {
            Caution::Off => "limits of the states end a run; nothing else restrains it",
            Caution::Moderate => {
                "expensive plans are made again near the data; runs stop outside the tube of their plan"
            }
            Caution::On => {
                "small first excitation; plans whose tube is within the limits; runs stop outside the tube"
            }
        }
    }
}

/// Excitation control of episode 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excitation {
    /// Factor on the difference between the system's first control and the safe control.
    pub scale: f64,
}

/// Settings of the statistical model of f.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// Kind of the model. An ensemble uses `confidence` with `beta` and `level`, and the settings in `ensemble`; a Gaussian process uses
    /// all settings except those in `ensemble`.
    #[serde(default)]
    pub kind: ModelKind,
    /// Covariance function: a name, or an expression such as `rbf + linear`.
    pub kernel: KernelExpression,
    /// Whether all outputs share their lengthscales.
    pub shared_lengthscales: bool,
    /// Whether the noise is learned, as a factor on the stated standard deviation.
    pub learn_noise: bool,
    /// Whether data are screened: outliers are set aside, wrong columns corrected, earlier data converted when the plant changes, and a
    /// noise far above the declared one replaces it. Only for derivatives in continuous time with a Gaussian process.
    #[serde(default = "yes")]
    pub robust: bool,
    /// Rule for the confidence scale β.
    pub confidence: ConfidenceName,
    /// Value of β for `constant`.
    pub beta: f64,
    /// Failure probability δ of `information-gain`.
    pub delta: f64,
    /// Bound B on the RKHS norm of f for `information-gain`.
    pub norm: f64,
    /// Coverage level of `calibrated`.
    pub level: f64,
    /// Number of additional training starts, drawn from the hyper-prior.
    pub restarts: usize,
    /// Maximum number of likelihood evaluations for each training start.
    pub max_evaluations: usize,
    /// Largest number of measurements that a Gaussian process keeps; of more, those farthest from each other are kept.
    pub exact_limit: usize,
    /// Settings of the networks for kind `ensemble`.
    #[serde(default)]
    pub ensemble: EnsembleSettings,
}

/// Default of switches that are on.
fn yes() -> bool {
    true
}

/// Kind of statistical model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelKind {
    /// Gaussian process, the paper's model.
    #[default]
    Gp,
    /// Ensemble of neural networks with recalibrated standard deviations.
    Ensemble,
}

/// Rule for the confidence scale β.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ConfidenceName {
    /// A constant β.
    Constant,
    /// β from the information gain, as in the paper's theory.
    InformationGain,
    /// β calibrated on held-out measurements.
    Calibrated,
}

/// Settings of the open-loop planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSettings {
    /// Number of intervals of the time grid.
    pub intervals: usize,
    /// Numerical integration of an interval.
    pub integrator: IntegratorName,
    /// Number of random starts in addition to the last plan and the safe control.
    pub random_starts: usize,
    /// Number of stages in which the horizon of the first searches grows; 1 uses the whole horizon. Long tasks that end at an unstable
    /// equilibrium need several.
    #[serde(default = "at_once")]
    pub stages: usize,
    /// Search effort. With 0 there is one kind of search; with 1 or more a portfolio of searches competes on the mean model, and ends
    /// when this many kinds of searches have confirmed the best plan. Settings files without this entry use 0.
    #[serde(default)]
    pub effort: usize,
    /// Maximum number of iterations of each search.
    pub max_iterations: usize,
    /// Time for which the plant holds a control; 0 if a control can change at any time. The nodes of the plan are then multiples of it, of
    /// which `intervals` limits the number, and simulations hold the control as well.
    #[serde(default)]
    pub hold: f64,
}

/// Default number of stages, 1: settings files without this entry plan over the whole horizon.
fn at_once() -> usize {
    1
}

impl PlanSettings {
    /// Returns the transcription of a plan with this number of intervals. If the plant's holds make it smaller than `intervals`, each
    /// interval has several integration steps, so that f is evaluated about as often as by Heun's method on `intervals` intervals.
    pub(super) fn transcription(&self, intervals: usize) -> Transcription {
        let single = Transcription::single(self.integrator.into());
        let wanted = if self.hold > 0.0 { 2 * self.intervals } else { 1 };
        Transcription { substeps: wanted.div_ceil(single.stages() * intervals), ..single }
    }
}

/// Fixed-step integration method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IntegratorName {
    /// Explicit Euler method, order 1.
    Euler,
    /// Heun's method, order 2.
    Heun,
    /// Classical Runge–Kutta method, order 4.
    Rk4,
}

impl From<IntegratorName> for Integrator {
    fn from(name: IntegratorName) -> Self {
        match name {
            IntegratorName::Euler => Integrator::Euler,
            IntegratorName::Heun => Integrator::Heun,
            IntegratorName::Rk4 => Integrator::Rk4,
        }
    }
}

/// Settings of the policy that follows the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackSettings {
    /// Kind of policy.
    pub policy: TrackerName,
    /// Time between two updates of `mpc` and `replan`; the paper uses 0.02.
    pub period: f64,
    /// Prediction horizon T_MPC of `mpc`.
    pub horizon: f64,
    /// Number of nodes of `mpc`, both ends included; 0 uses those of the plan.
    pub nodes: usize,
    /// Numerical integration of an interval.
    pub integrator: IntegratorName,
    /// Maximum number of iterations of each update.
    pub max_iterations: usize,
    /// Whether `mpc` and `replan` apply the gains of their solution between two updates; otherwise each control is held.
    pub gains: bool,
}

/// Policy that follows a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TrackerName {
    /// The paper's model predictive controller: minimises the deviation from the plan on the mean model at every period.
    Mpc,
    /// Linear feedback with the gains of the plan.
    Feedback,
    /// Plans the remaining task again on the mean model at every period.
    Replan,
}

/// Settings of the choice of measurement times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectSettings {
    /// Number of candidate times.
    pub candidates: usize,
    /// Length of the steps of a sampled plant, which gives at most one measurement in each, in its middle; 0 if it can be measured at any
    /// time. Strategies that decide during an episode do not use it.
    #[serde(default)]
    pub spacing: f64,
    /// Predicted trajectory on which the times are chosen.
    pub hallucinate: Hallucinate,
    /// Whether `max-determinant` includes the noise of the measurements it chooses.
    pub noise: bool,
    /// (L_f, L_π, L_σ) of `receding-horizon`; `None` uses the largest slopes along the plan.
    pub lipschitz: Option<[f64; 3]>,
    /// Limit on the number of intervals of `receding-horizon`, each of which has one measurement and one synchronisation. The number is
    /// that of the analysis, limited by M or not.
    #[serde(default)]
    pub intervals: IntervalLimit,
    /// Maximum number of intervals of `receding-horizon`; 0 means M with `intervals = "measurements"`, 1000 with `intervals = "analysis"`.
    pub max_intervals: usize,
    /// Whether to reproduce the authors' program: no measurement in the last hundredth (`equidistant`: tenth) of the horizon, one
    /// additional measurement at its start, outputs in units of their spread, and its first choice of `max-kernel-distance`.
    pub as_reference: bool,
}

/// Limit on mₙ = ⌈T/Δₙ⌉, the number of intervals of `receding-horizon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IntervalLimit {
    /// At most M intervals: min(mₙ, M). This allows a comparison with the other strategies.
    #[default]
    Measurements,
    /// mₙ intervals, limited only by a safety maximum; hundreds in the first episodes. This is the case that the analysis covers.
    Analysis,
}

/// Predicted trajectory of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hallucinate {
    /// The plan: fₙ under πₙ, as in the paper.
    Plan,
    /// The policy on the mean model, as in the authors' program.
    Mean,
}

/// Requirement of `weight-space` on the model.
pub(super) const NEEDS_WEIGHTS: &str = "it needs a model of finitely many features: model.kernel made of linear \
    and constant, as in \"linear + constant\"";

/// A setting with an invalid value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path} is {value}; {need}")]
pub struct SettingsError {
    /// Path of the setting.
    pub path: &'static str,
    /// Invalid value.
    pub value: String,
    /// Requirement on the value.
    pub need: &'static str,
}

impl Settings {
    /// Returns the defaults for any task: 20 episodes of 10 measurements, optimistic exploration, measurement times by `max-determinant`,
    /// and MPC over half the task's horizon.
    ///
    /// ```
    /// use ocorl::learn::Settings;
    /// use ocorl::system::Benchmark;
    ///
    /// let task = Benchmark::find("pendulum")?.task;
    /// let settings = Settings { episodes: 5, ..Settings::new(&task) };
    /// assert_eq!((settings.measurements, settings.track.horizon), (10, 0.5 * task.horizon));
    /// settings.validate(&task)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(task: &Task) -> Self {
        Settings {
            episodes: 20,
            measurements: 10,
            initial_states: Vec::new(),
            explore: Exploration::Optimistic,
            bonus_weight: 0.1,
            strategy: Strategy::MaxDeterminant,
            time: Time::Continuous,
            measured: MeasurementKind::Derivatives,
            caution: Caution::Off,
            excitation: Excitation { scale: 1.0 },
            model: ModelSettings {
                kind: ModelKind::Gp,
                kernel: KernelName::Rbf.into(),
                shared_lengthscales: false,
                learn_noise: false,
                robust: yes(),
                confidence: ConfidenceName::Constant,
                beta: 1.0,
                delta: 0.1,
                norm: 1.0,
                level: 0.95,
                restarts: 2,
                max_evaluations: 100,
                exact_limit: 1000,
                ensemble: EnsembleSettings::default(),
            },
            plan: PlanSettings {
                intervals: 200,
                integrator: IntegratorName::Heun,
                random_starts: 3,
                stages: at_once(),
                effort: 1,
                max_iterations: 100,
                hold: 0.0,
            },
            track: TrackSettings {
                policy: TrackerName::Mpc,
                period: task.horizon / 100.0,
                horizon: 0.5 * task.horizon,
                nodes: 0,
                integrator: IntegratorName::Heun,
                max_iterations: 10,
                gains: true,
            },
            select: SelectSettings {
                candidates: 1000,
                spacing: 0.0,
                hallucinate: Hallucinate::Plan,
                noise: true,
                lipschitz: None,
                intervals: IntervalLimit::Measurements,
                max_intervals: 0,
                as_reference: false,
            },
            states: StateSettings::default(),
            dither: DitherSettings::default(),
            discrete: DiscreteSettings::default(),
        }
    }

    /// Returns the settings for a plant that holds each control for `period`. If that is longer than an interval of the default grid, planner
    /// and tracker integrate with a method of higher order.
    #[must_use]
    pub fn held(mut self, task: &Task, period: f64) -> Self {
        self.plan.hold = period;
        if period * self.plan.intervals as f64 > task.horizon {
            self.plan.integrator = IntegratorName::Rk4;
            self.track.integrator = IntegratorName::Rk4;
        }
        self.track.period = self.track.period.max(period);
        self
    }

    /// Returns the defaults for a system: those of [`Settings::new`]. A benchmark system has the paper's numbers of episodes and
    /// measurements, and its tracking horizon.
    pub fn for_system(system: &KnownSystem) -> Self {
        let mut settings = Settings::new(&system.task);
        if let Some(paper) = system.paper() {
            settings.episodes = paper.episodes;
            settings.measurements = paper.measurements;
            settings.track.horizon = paper.tracking_horizon;
        }
        if system.is_as_published() {
            // One kind of search finds the confirmed optima of these tasks.
            settings.plan.effort = 0;
        }
        settings
    }
}

impl Settings {
    /// Checks every value, also of settings that are not in use; call it once before any computation. Every number must be finite, and
    /// counts that would exceed reasonable time or memory are rejected.
    pub fn validate(&self, task: &Task) -> Result<(), SettingsError> {
        let error = |path, value: String, need| Err(SettingsError { path, value, need });
        let counts = [
            ("episodes", self.episodes, 1..=10_000, "it must be between 1 and 10000"),
            ("measurements", self.measurements, 1..=1_000, "it must be between 1 and 1000"),
            ("plan.intervals", self.plan.intervals, 1..=10_000, "it must be between 1 and 10000"),
            ("plan.max_iterations", self.plan.max_iterations, 1..=100_000, "it must be between 1 and 100000"),
            ("plan.random_starts", self.plan.random_starts, 0..=1_000, "it must be at most 1000"),
            ("plan.stages", self.plan.stages, 1..=100, "it must be between 1 and 100"),
            ("plan.effort", self.plan.effort, 0..=100, "it must be at most 100"),
            (
                "track.max_iterations",
                self.track.max_iterations,
                1..=100_000,
                "it must be between 1 and 100000",
            ),
            ("track.nodes", self.track.nodes, 0..=10_000, "it must be at most 10000"),
            ("select.candidates", self.select.candidates, 2..=100_000, "it must be between 2 and 100000"),
            ("select.max_intervals", self.select.max_intervals, 0..=10_000, "it must be at most 10000"),
            ("model.restarts", self.model.restarts, 0..=10_000, "it must be at most 10000"),
            (
                "model.max_evaluations",
                self.model.max_evaluations,
                1..=100_000,
                "it must be between 1 and 100000",
            ),
            ("states.rounds", self.states.rounds, 0..=100, "it must be at most 100"),
        ];
        for (path, value, range, need) in counts {
            if !range.contains(&value) {
                return error(path, value.to_string(), need);
            }
        }
        if self.time == Time::Discrete {
            if !matches!(self.strategy, Strategy::Equidistant | Strategy::EquidistantGrowing) {
                let need = "with time = discrete it must be equidistant or equidistant-growing: controls change where it is measured";
                return error("strategy", self.strategy.name().into(), need);
            }
            if self.measurements < 2 {
                let need = "with time = discrete it must be at least 2: a transition has two ends";
                return error("measurements", self.measurements.to_string(), need);
            }
        }
        if self.explore == Exploration::WeightSpace && !self.model.kernel.has_finite_features() {
            return error("explore", self.explore.name().into(), NEEDS_WEIGHTS);
        }
        self.validate_holds(task)?;
        self.validate_states(task)?;
        self.model.validate()?;
        dithering::validate(&self.dither)
            .or_else(|(path, value, need)| error(path, value.to_string(), need))?;
        self.validate_times(task.horizon)?;
        for (path, value) in
            [("excitation.scale", self.excitation.scale), ("bonus_weight", self.bonus_weight)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return error(path, value.to_string(), "it must be zero or positive, and finite");
            }
        }
        if let Some(l) = self.select.lipschitz
            && l.iter().any(|l| !(*l >= 0.0 && l.is_finite()))
        {
            return error("select.lipschitz", format!("{l:?}"), "each must be zero or positive, and finite");
        }
        for x in &self.initial_states {
            let inside = x.len() == task.states.len() && task.state_bounds.violated_by(x).is_none();
            if !inside || x.iter().any(|x| !x.is_finite()) {
                let need = "each must have one finite number for every state, within its limits";
                return error("initial_states", format!("{x:?}"), need);
            }
        }
        Ok(())
    }
}

/// Largest number of control periods, and of holds, in an episode.
const MOST_PERIODS: f64 = 1e9;

impl Settings {
    fn validate_times(&self, horizon: f64) -> Result<(), SettingsError> {
        let (period, hold, spacing) = (self.track.period, self.plan.hold, self.select.spacing);
        let finite = |value: f64| value > 0.0 && value.is_finite();
        let countable = |value: f64| finite(value) && horizon / value <= MOST_PERIODS;
        for (path, value, fine, need) in [
            (
                "track.period",
                period,
                countable(period),
                "it must be a positive, finite time, with at most 1e9 periods in the horizon",
            ),
            (
                "track.horizon",
                self.track.horizon,
                finite(self.track.horizon),
                "it must be a positive, finite time",
            ),
            (
                "plan.hold",
                hold,
                hold == 0.0 || countable(hold),
                "it must be zero or a positive, finite time, with at most 1e9 holds in the horizon",
            ),
            (
                "select.spacing",
                spacing,
                (0.0..=horizon).contains(&spacing),
                "it must be between zero and the horizon",
            ),
        ] {
            if !fine {
                return Err(SettingsError { path, value: format!("{value:?}"), need });
            }
        }
        Ok(())
    }
}

/// Maximum number of intervals of `receding-horizon` if only the analysis limits them: the largest admissible M.
const SAFETY_INTERVALS: usize = 1_000;

impl Settings {
    /// Returns the maximum number of measurements per episode and initial state, without synchronisations: M, or with `receding-horizon`
    /// the limit of its intervals. It does not apply to `equidistant-growing`, which has its own rule.
    pub fn most_measurements(&self) -> usize {
        match (self.strategy, self.select.max_intervals, self.select.intervals) {
            (Strategy::RecedingHorizon, 0, IntervalLimit::Analysis) => SAFETY_INTERVALS,
            (Strategy::RecedingHorizon, most, _) if most > 0 => most,
            _ => self.measurements,
        }
    }

    /// With measured states, returns the standard deviation of a mean derivative between two of M equidistant states.
    pub(super) fn derivative_noise(&self, task: &Task) -> Vec<f64> {
        let width = task.horizon / self.measurements as f64;
        let noise = self.states.noise_std(task.states.len());
        let mut std: Vec<f64> = noise.iter().map(|s| std::f64::consts::SQRT_2 * s / width).collect();
        for &[velocity, position] in &self.states.velocities {
            // That of a second difference.
            std[velocity] = 6_f64.sqrt() * noise[position] / (width * width);
        }
        std
    }

    fn validate_states(&self, task: &Task) -> Result<(), SettingsError> {
        let error = |path, value: String, need| Err(SettingsError { path, value, need });
        let states = &self.states;
        if !(states.noise >= 0.0 && states.noise.is_finite()) {
            let need = "a standard deviation must be zero or positive, and finite";
            return error("states.noise", states.noise.to_string(), need);
        }
        let counted = states.scale.is_empty() || states.scale.len() == task.states.len();
        if !counted || states.scale.iter().any(|s| !(*s > 0.0 && s.is_finite())) {
            let need = "there must be one positive, finite unit for every state, or none at all";
            return error("states.scale", format!("{:?}", states.scale), need);
        }
        if !(0.0..=1.0).contains(&states.motion) {
            let need = "it must be between 0 (by the clock) and 1 (by how far the plan moves)";
            return error("states.motion", states.motion.to_string(), need);
        }
        let (n, hidden) = (task.states.len(), &states.velocities);
        let position = |p: usize| p < n && states.is_measured(p);
        let once =
            |i: usize| hidden[..i].iter().all(|other| other[0] != hidden[i][0] && other[1] != hidden[i][1]);
        if hidden.iter().enumerate().any(|(i, &[v, p])| v >= n || !position(p) || !once(i)) {
            let need =
                "each pair names a state that is not measured and the measured state whose velocity it is";
            return error("states.velocities", format!("{hidden:?}"), need);
        }
        if !hidden.is_empty()
            && (self.measured != MeasurementKind::States
                || states.method != crate::states::Method::Increments)
        {
            let need = "velocities are left out only with measured = states and states.method = increments";
            return error("states.velocities", format!("{hidden:?}"), need);
        }
        if self.measured == MeasurementKind::Transitions {
            let need = "it must be derivatives or states; transitions are measured where time is discrete";
            return error("measured", "transitions".into(), need);
        }
        if self.measured == MeasurementKind::States && self.time == Time::Discrete {
            let need =
                "with measured = states it must be continuous: discrete time is learned from transitions";
            return error("time", self.time.name().into(), need);
        }
        Ok(())
    }
}

impl Settings {
    /// Returns the look-ahead with which the first excitation of `task` stops short of the limits of the states; `None` without caution or
    /// without limits.
    pub fn brake(&self, task: &Task) -> Option<Brake> {
        let limited = self.caution == Caution::On && task.state_bounds.is_limiting();
        (limited && self.time == Time::Continuous).then(|| tube::brake(task))
    }

    /// Returns the kind of measurement that a rollout takes.
    pub fn measurement_kind(&self) -> MeasurementKind {
        match self.time {
            Time::Continuous => self.measured,
            Time::Discrete => MeasurementKind::Transitions,
        }
    }
}

/// The path of a setting of the ensemble, from its name there.
fn ensemble_path(what: &str) -> &'static str {
    match what {
        "ensemble.members" => "model.ensemble.members",
        "ensemble.hidden" => "model.ensemble.hidden",
        "ensemble.layers" => "model.ensemble.layers",
        "ensemble.steps" => "model.ensemble.steps",
        "ensemble.batch" => "model.ensemble.batch",
        "ensemble.rate" => "model.ensemble.rate",
        "ensemble.prior" => "model.ensemble.prior",
        "ensemble.held_out" => "model.ensemble.held_out",
        _ => "model.ensemble",
    }
}

impl ModelSettings {
    /// Checks every number, whatever the kind of the model and its rule for β.
    fn validate(&self) -> Result<(), SettingsError> {
        let positive = "it must be zero or positive, and finite";
        let fraction = "it must lie between 0 and 1";
        let (zero_or_more, inside) = (|v: f64| v >= 0.0 && v.is_finite(), |v: f64| v > 0.0 && v < 1.0);
        for (path, value, fine, need) in [
            ("model.beta", self.beta, zero_or_more(self.beta), positive),
            ("model.norm", self.norm, zero_or_more(self.norm), positive),
            ("model.delta", self.delta, inside(self.delta), fraction),
            ("model.level", self.level, inside(self.level), fraction),
        ] {
            if !fine {
                return Err(SettingsError { path, value: value.to_string(), need });
            }
        }
        self.ensemble.validate().map_err(|error| match error {
            ModelError::Setting { what, value, need } => {
                SettingsError { path: ensemble_path(what), value, need }
            }
            other => {
                SettingsError { path: "model.ensemble", value: other.to_string(), need: "it must be valid" }
            }
        })
    }

    /// Creates the model without data, of the configured kind; `mean` is its prior mean.
    pub fn model(
        &self,
        dims: Dims,
        angles: &[usize],
        mean: Mean,
    ) -> Result<Box<dyn StatisticalModel>, ModelError> {
        let settings = self.build();
        Ok(match self.kind {
            ModelKind::Gp => {
                Box::new(GaussianProcess::new(dims, angles, model::Settings { mean, ..settings })?)
            }
            ModelKind::Ensemble => {
                let networks = self.ensemble.clone();
                Box::new(Ensemble::new(dims, angles, networks, mean, settings.confidence)?)
            }
        })
    }

    /// Returns the largest number of measurements that the model keeps.
    pub fn data_limit(&self) -> usize {
        match self.kind {
            ModelKind::Gp => self.exact_limit,
            ModelKind::Ensemble => usize::MAX,
        }
    }

    /// Returns the settings of the Gaussian process.
    pub fn build(&self) -> model::Settings {
        let reference = self.kernel == KernelName::Reference.into();
        let base = if reference { model::Settings::reference() } else { model::Settings::default() };
        model::Settings {
            kernel: if reference { base.kernel.clone() } else { self.kernel.build().into() },
            noise: if self.learn_noise { Noise::Learned } else { base.noise },
            lengthscales: if self.shared_lengthscales {
                Lengthscales::Shared
            } else {
                Lengthscales::PerOutput
            },
            confidence: match self.confidence {
                ConfidenceName::Constant => Confidence::Constant(self.beta),
                ConfidenceName::InformationGain => {
                    Confidence::InformationGain { delta: self.delta, norm: self.norm }
                }
                ConfidenceName::Calibrated => Confidence::Calibrated { level: self.level },
            },
            training: TrainingSettings {
                restarts: self.restarts,
                max_evaluations: self.max_evaluations,
                ..base.training.clone()
            },
            exact_limit: self.exact_limit,
            ..base
        }
    }
}
