//! How to learn: plain settings with a documented default for each.

use super::dithering;
use crate::explore::Exploration;
use crate::linalg::Dims;
use crate::model::kernels::{KernelExpression, KernelName};
use crate::model::{
    self, Confidence, Ensemble, EnsembleSettings, GaussianProcess, Lengthscales, Mean, ModelError, Noise,
    StatisticalModel, TrainingSettings,
};
use crate::simulate::Integrator;
use crate::states::StateSettings;
use crate::system::{Benchmark, PaperSettings, Task};
use serde::{Deserialize, Serialize};

/// How to learn one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// N: episodes, the exploratory one included.
    pub episodes: usize,
    /// M: measurements an episode (and initial state).
    pub measurements: usize,
    /// Where episodes begin, each with its own plan and its own M measurements; empty: the task's initial state.
    pub initial_states: Vec<Vec<f64>>,
    /// What to plan for.
    pub explore: Exploration,
    /// λ of `bonus`: what one standard deviation of the noise is worth for a unit of time, in the unit of the cost.
    pub bonus_weight: f64,
    /// When to measure.
    pub strategy: Strategy,
    /// Whether f is learned, or what a held control makes of the state. In discrete time `strategy` must be `equidistant` or
    /// `equidistant-growing`; of `plan` only the numbers of starts and iterations count, `track` and `select` have no part.
    #[serde(default)]
    pub time: Time,
    /// What is measured.
    #[serde(default)]
    pub measured: Observed,
    /// The first episode.
    pub excitation: Excitation,
    /// What f is taken to be.
    pub model: ModelSettings,
    /// How the open-loop problem is solved.
    pub plan: PlanSettings,
    /// Who follows the plan.
    pub track: TrackSettings,
    /// How measurement times are chosen.
    pub select: SelectSettings,
    /// Measured states, and what is made of them.
    #[serde(default)]
    pub states: StateSettings,
    /// Random disturbances of the control.
    #[serde(default)]
    pub dither: DitherSettings,
    /// Discrete time.
    #[serde(default)]
    pub discrete: DiscreteSettings,
}

/// How a horizon is cut into holds, with `time = "discrete"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct DiscreteSettings {
    /// `equal`, `geometric`, or the times at which the M − 1 holds end, the last of them the horizon.
    pub holds: HoldGrid,
}

/// How long holds are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected `equal`, `geometric` or a list of times")]
pub enum HoldGrid {
    /// By a rule, for any number of them.
    Rule(HoldRule),
    /// Until these times.
    Times(Vec<f64>),
}

impl Default for HoldGrid {
    fn default() -> Self {
        HoldGrid::Rule(HoldRule::Equal)
    }
}

/// A rule for the lengths of holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldRule {
    /// All the same.
    Equal,
    /// Each longer than the one before by the same factor, the last ten times the first: for tasks that are decided at their beginning.
    Geometric,
}

/// How `epsilon-greedy` and `boltzmann` disturb the control, anew for each `track.period`; in discrete time for each hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DitherSettings {
    /// ε of `epsilon-greedy`: probability that a period has a uniformly drawn control instead of the policy's.
    pub epsilon: f64,
    /// Temperature of `boltzmann`, as a fraction of the planned cost of a period; controls are drawn with probability ∝ exp(−Q/T).
    pub temperature: f64,
    /// Factor on both from one episode to the next; 1: they stay.
    pub decay: f64,
}

impl Default for DitherSettings {
    fn default() -> Self {
        DitherSettings { epsilon: 0.1, temperature: 0.02, decay: 0.8 }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Observed {
    /// ẋ, with the noise that the task states; in discrete time transitions.
    #[default]
    Derivatives,
    /// x alone, with the noise that `states` states.
    States,
}

/// When to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// M times, spread evenly over the horizon.
    Equidistant,
    /// As many times as the episode's number: m_n = n.
    EquidistantGrowing,
    /// M times whose measurements tell the most together (greedy).
    MaxDeterminant,
    /// M times that are far apart in the kernel's metric (greedy).
    MaxKernelDistance,
    /// In each interval of length Δ_n one look at the state and one measurement where σ is largest, decided online.
    RecedingHorizon,
    /// Where σ was largest on the executed trajectory: only in simulation.
    Oracle,
    /// Whenever enough uncertainty has been passed through, decided online.
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

    /// As typed on the command line.
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

/// What is learned of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// ẋ = f(x, u), from measured derivatives; the control may change at any time.
    #[default]
    Continuous,
    /// x_{k+1} = h(x_k, u_k, τ), from transitions; the control changes where the system is sampled.
    Discrete,
}

impl Time {
    /// As typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Time::Continuous => "continuous",
            Time::Discrete => "discrete",
        }
    }
}

/// The control of episode 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excitation {
    /// Factor on the system's own first control (its difference from the safe control).
    pub scale: f64,
}

/// What f is taken to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// Which kind of model. Of the settings below an ensemble takes `confidence` with `beta` and `level`, and those in `ensemble`; a
    /// Gaussian process all but those.
    #[serde(default)]
    pub kind: ModelKind,
    /// Covariance function: a name, or an expression such as `rbf + linear`.
    pub kernel: KernelExpression,
    /// Whether outputs have lengthscales of their own.
    pub shared_lengthscales: bool,
    /// Whether the noise is learned (a factor on what is stated).
    pub learn_noise: bool,
    /// How β is chosen.
    pub confidence: ConfidenceName,
    /// β of `constant`.
    pub beta: f64,
    /// δ of `information-gain`.
    pub delta: f64,
    /// B of `information-gain`.
    pub norm: f64,
    /// Level of `calibrated`.
    pub level: f64,
    /// Starts of training drawn from the prior.
    pub restarts: usize,
    /// Evaluations of the likelihood for each start.
    pub max_evaluations: usize,
    /// Beyond so many distinct inputs, inducing points take over.
    pub exact_limit: usize,
    /// The networks of kind `ensemble`.
    #[serde(default)]
    pub ensemble: EnsembleSettings,
}

/// A kind of statistical model by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// A Gaussian process: the paper's model.
    #[default]
    Gp,
    /// An ensemble of networks with recalibrated standard deviations.
    Ensemble,
}

/// A schedule of β by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceName {
    /// Always the same.
    Constant,
    /// The theory's.
    InformationGain,
    /// From left-out measurements.
    Calibrated,
}

/// How the open-loop problem is solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSettings {
    /// Intervals of the grid.
    pub intervals: usize,
    /// How an interval is integrated.
    pub integrator: IntegratorName,
    /// Random starts beside the last plan and the safe control.
    pub random_starts: usize,
    /// Stages in which the horizon of the first searches grows; 1: all of it at once. Long tasks that end in balance need some.
    #[serde(default = "at_once")]
    pub stages: usize,
    /// Iterations of each search.
    pub max_iterations: usize,
}

/// As all plans were made before there were stages.
fn at_once() -> usize {
    1
}

/// A fixed-step method by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntegratorName {
    /// Order 1.
    Euler,
    /// Order 2.
    Heun,
    /// Order 4.
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

/// Who follows the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackSettings {
    /// The policy.
    pub policy: TrackerName,
    /// Time between two updates of `mpc` and `replan`; the paper's is 0.02.
    pub period: f64,
    /// T_MPC of `mpc`.
    pub horizon: f64,
    /// Nodes of `mpc`, both ends included; 0: the plan's own.
    pub nodes: usize,
    /// How an interval is integrated.
    pub integrator: IntegratorName,
    /// Iterations of each update.
    pub max_iterations: usize,
    /// Between two updates of `mpc` and `replan`: follow the state by the solution's gains, or hold each control.
    pub gains: bool,
}

/// A policy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackerName {
    /// The paper's: least deviation from the plan on the mean model, at every period.
    Mpc,
    /// The plan with its gains.
    Feedback,
    /// The rest of the task planned anew on the mean model, at every period.
    Replan,
}

/// How measurement times are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectSettings {
    /// Times to choose from.
    pub candidates: usize,
    /// Where the episode is expected to lead.
    pub hallucinate: Hallucinate,
    /// Whether `max-determinant` counts the noise of the measurements it chooses.
    pub noise: bool,
    /// (L_f, L_π, L_σ) of `receding-horizon`; none: the largest slopes along the plan.
    pub lipschitz: Option<[f64; 3]>,
    /// How many intervals `receding-horizon` has, one measurement and one look at the state in each: as many as the analysis asks for,
    /// with or without M as their limit.
    #[serde(default)]
    pub intervals: IntervalLimit,
    /// Most intervals of `receding-horizon`; 0: M with `intervals = "measurements"`, 1000 with `intervals = "analysis"`.
    pub max_intervals: usize,
    /// As the authors' program: nothing in the last hundredth (`equidistant`: tenth) of the horizon, one more measurement at its beginning,
    /// outputs in units of their spread, its first pick of `max-kernel-distance`.
    pub as_reference: bool,
}

/// What limits mₙ = ⌈T/Δₙ⌉, the number of intervals of `receding-horizon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalLimit {
    /// M: mₙ where the analysis asks for fewer, M where it asks for more. What all strategies are compared with.
    #[default]
    Measurements,
    /// Nothing but a safety maximum: mₙ, hundreds in the first episodes. What the analysis is about.
    Analysis,
}

/// Where an episode is expected to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hallucinate {
    /// The plan: fₙ under πₙ, as the paper has it.
    Plan,
    /// The policy on the mean model, as the authors' program has it.
    Mean,
}

/// What `weight-space` needs of a model.
pub(super) const NEEDS_WEIGHTS: &str = "it needs a model of finitely many features: model.kernel made of linear and constant, as in \"linear + constant\"";

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path} is {value}; {need}")]
pub struct SettingsError {
    /// Which setting.
    pub path: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub need: &'static str,
}

impl Settings {
    /// Ours, with the paper's numbers of episodes and measurements and its tracking horizon.
    pub fn for_benchmark(b: &Benchmark) -> Self {
        Settings::for_task(&b.task, &b.settings)
    }

    /// The same for a task and how it is run.
    pub fn for_task(task: &Task, run: &PaperSettings) -> Self {
        Settings {
            episodes: run.episodes,
            measurements: run.measurements,
            initial_states: Vec::new(),
            explore: Exploration::Optimistic,
            bonus_weight: 0.1,
            strategy: Strategy::MaxDeterminant,
            time: Time::Continuous,
            measured: Observed::Derivatives,
            excitation: Excitation { scale: 1.0 },
            model: ModelSettings {
                kind: ModelKind::Gp,
                kernel: KernelName::Rbf.into(),
                shared_lengthscales: false,
                learn_noise: false,
                confidence: ConfidenceName::Constant,
                beta: 1.0,
                delta: 0.1,
                norm: 1.0,
                level: 0.95,
                restarts: 2,
                max_evaluations: 100,
                exact_limit: 2000,
                ensemble: EnsembleSettings::default(),
            },
            plan: PlanSettings {
                intervals: 200,
                integrator: IntegratorName::Heun,
                random_starts: 3,
                stages: at_once(),
                max_iterations: 100,
            },
            track: TrackSettings {
                policy: TrackerName::Mpc,
                period: task.horizon / 100.0,
                horizon: run.tracking_horizon,
                nodes: 0,
                integrator: IntegratorName::Heun,
                max_iterations: 10,
                gains: true,
            },
            select: SelectSettings {
                candidates: 1000,
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
}

impl Settings {
    /// Checks every number; call it once, before anything is computed. Counts that time or memory could not bear are refused rather than
    /// tried. The model's own settings are checked when it is built.
    pub fn validate(&self, task: &Task) -> Result<(), SettingsError> {
        let error = |path, value: String, need| Err(SettingsError { path, value, need });
        let counts = [
            ("episodes", self.episodes, 1..=10_000, "it must be between 1 and 10000"),
            ("measurements", self.measurements, 1..=1_000, "it must be between 1 and 1000"),
            ("plan.intervals", self.plan.intervals, 1..=10_000, "it must be between 1 and 10000"),
            ("plan.max_iterations", self.plan.max_iterations, 1..=100_000, "it must be between 1 and 100000"),
            ("plan.random_starts", self.plan.random_starts, 0..=1_000, "it must be at most 1000"),
            ("plan.stages", self.plan.stages, 1..=100, "it must be between 1 and 100"),
            (
                "track.max_iterations",
                self.track.max_iterations,
                1..=100_000,
                "it must be between 1 and 100000",
            ),
            ("track.nodes", self.track.nodes, 0..=10_000, "it must be at most 10000"),
            ("select.candidates", self.select.candidates, 2..=100_000, "it must be between 2 and 100000"),
            ("select.max_intervals", self.select.max_intervals, 0..=10_000, "it must be at most 10000"),
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
        dithering::validate(&self.dither)
            .or_else(|(path, value, need)| error(path, value.to_string(), need))?;
        let positive = "it must be a positive, finite time";
        for (path, value) in [("track.period", self.track.period), ("track.horizon", self.track.horizon)] {
            if !(value > 0.0 && value.is_finite()) {
                return error(path, value.to_string(), positive);
            }
        }
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

/// Most intervals of `receding-horizon` if only the analysis limits them: the largest M there may be.
const SAFETY_INTERVALS: usize = 1_000;

impl Settings {
    /// Measurements of an episode (and initial state) at most, looks at the state alone not counted: M, with `receding-horizon` the
    /// limit of its intervals. `equidistant-growing` has its own rule.
    pub fn most_measurements(&self) -> usize {
        match (self.strategy, self.select.max_intervals, self.select.intervals) {
            (Strategy::RecedingHorizon, 0, IntervalLimit::Analysis) => SAFETY_INTERVALS,
            (Strategy::RecedingHorizon, most, _) if most > 0 => most,
            _ => self.measurements,
        }
    }

    /// With measured states: the standard deviation that a mean derivative between two of M equidistant ones has.
    pub(super) fn derivative_noise(&self, task: &Task) -> Vec<f64> {
        let width = task.horizon / self.measurements as f64;
        let noise = self.states.noise_std(task.states.len());
        noise.iter().map(|s| std::f64::consts::SQRT_2 * s / width).collect()
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
        if self.measured == Observed::States && self.time == Time::Discrete {
            let need =
                "with measured = states it must be continuous: discrete time is learned from transitions";
            return error("time", self.time.name().into(), need);
        }
        Ok(())
    }
}

impl ModelSettings {
    /// The model without data, of the kind that is asked for; `mean` is what is believed before any.
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

    /// What the Gaussian process takes.
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
