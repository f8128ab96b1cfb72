//! The events of a study and their JSON form.

use crate::plan_file::PlanFile;
use crate::price::Prices;
use crate::store::{Entry, StoreError, encoded};
use ocorl::learn::{Diagnosis, Settings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first event of every study, with everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// Version of the program that created the study.
    pub version: String,
    /// Name of the system.
    pub system: String,
    /// Text of the file that describes the system, if there is one.
    pub file: Option<String>,
    /// Settings of the learner.
    pub settings: Settings,
    /// Root seed of all random streams.
    pub seed: u64,
    /// Prices of episodes and measurements.
    pub prices: Prices,
}

/// Event: an episode was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// Number of the episode.
    pub episode: usize,
    /// Plan of the episode.
    pub plan: PlanFile,
}

/// Event: measurements were recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Number of the episode.
    pub episode: usize,
    /// Measurements, ordered by initial state and time.
    pub rows: Vec<Row>,
    /// Controls applied during the run, for models that learn from states alone; ordered by initial state and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Applied>,
    /// Reported ends of the rollouts.
    pub ends: Vec<End>,
    /// Source of the measurements, such as a file name.
    pub source: String,
    /// Warnings about unusual data.
    pub notes: Vec<String>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Index of the initial state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: usize,
    /// Time t.
    pub t: f64,
    /// State x.
    pub x: Vec<f64>,
    /// Control u.
    pub u: Vec<f64>,
    /// Measured derivative ẋ, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_dot: Option<Vec<f64>>,
    /// Requested measurement time, if the measurement was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_t: Option<f64>,
    /// In discrete time: duration of the transition whose mean derivative `x_dot` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<f64>,
}

/// A control that was applied from a given time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Index of the initial state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: usize,
    /// Time from which the control was applied.
    pub t: f64,
    /// Control u.
    pub u: Vec<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// End of a rollout, as reported by the user or the rig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Index of the initial state.
    pub start: usize,
    /// Cost C(π, f*) of the rollout.
    pub cost: Option<f64>,
    /// `completed`, or a description of what happened.
    pub outcome: Option<String>,
}

/// Event: measurements from outside the study were imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// Measurements, in the order of the file; `start` is the number of the import, because each log has its own time axis.
    pub rows: Vec<Row>,
    /// Source of the measurements, such as a file name.
    pub source: String,
}

/// Event: an episode failed, or is excluded from learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    /// Number of the episode.
    pub episode: usize,
    /// Reason given by the user.
    pub reason: String,
}

/// Event: rows of an episode are excluded from learning by the user, or included again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// Number of the episode.
    pub episode: usize,
    /// Initial state and time of each row.
    pub rows: Vec<(usize, f64)>,
    /// Reason given by the user.
    pub reason: String,
}

/// Event: an episode was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Number of the episode.
    pub episode: usize,
    /// How the episode ended.
    pub status: Status,
    /// Description of how its rollouts ended.
    pub outcome: String,
    /// Cost C(π, f*), mean over the initial states.
    pub cost: Option<f64>,
    /// Origin of the cost value.
    pub cost_from: CostFrom,
    /// Number of measurements recorded.
    pub measured: usize,
    /// Number of measurements requested.
    pub asked: usize,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All requested measurements were recorded.
    Complete,
    /// Fewer measurements were recorded than requested.
    Partial,
    /// The episode failed; measurements taken until then are used.
    Failed,
    /// The episode is excluded from learning.
    Discarded,
}

impl Status {
    /// Name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Partial => "partial",
            Status::Failed => "failed",
            Status::Discarded => "discarded",
        }
    }
}

/// Origin of a cost value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostFrom {
    /// The cost was reported with the measurements.
    Reported,
    /// The cost was integrated over the measured states and controls, interpolated linearly.
    Estimated,
    /// The cost is not known.
    Unknown,
}

impl CostFrom {
    /// Name in the database.
    pub fn name(self) -> &'static str {
        match self {
            CostFrom::Reported => "reported",
            CostFrom::Estimated => "estimated",
            CostFrom::Unknown => "unknown",
        }
    }
}

/// An event of a study.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The study was created.
    Created(Box<Created>),
    /// An episode was planned.
    Proposed(Box<Proposed>),
    /// Measurements were recorded.
    Told(Told),
    /// All measurements of an episode were replaced.
    Corrected(Told),
    /// Measurements from outside the study were imported.
    Imported(Imported),
    /// An episode failed.
    Failed(Marked),
    /// An episode was excluded from learning.
    Discarded(Marked),
    /// Rows are excluded from learning.
    Excluded(Selected),
    /// Rows are learned from, whatever the model says about them.
    Included(Selected),
    /// The data were judged after learning from an episode.
    Diagnosed(Diagnosis),
    /// An episode was closed.
    Closed(Closed),
    /// A note of the user.
    Note(String),
}

impl Entry for Event {
    fn kind(&self) -> &'static str {
        match self {
            Event::Created(_) => "created",
            Event::Proposed(_) => "proposed",
            Event::Told(_) => "told",
            Event::Corrected(_) => "corrected",
            Event::Imported(_) => "imported",
            Event::Failed(_) => "failed",
            Event::Discarded(_) => "discarded",
            Event::Excluded(_) => "excluded",
            Event::Included(_) => "included",
            Event::Diagnosed(_) => "diagnosed",
            Event::Closed(_) => "episode_closed",
            Event::Note(_) => "note",
        }
    }

    fn payload(&self) -> Result<String, StoreError> {
        fn json(value: &impl Serialize) -> Result<String, StoreError> {
            encoded("an event of the study", value)
        }
        match self {
            Event::Created(e) => json(e),
            Event::Proposed(e) => json(e),
            Event::Told(e) | Event::Corrected(e) => json(e),
            Event::Imported(e) => json(e),
            Event::Failed(e) | Event::Discarded(e) => json(e),
            Event::Excluded(e) | Event::Included(e) => json(e),
            Event::Diagnosed(e) => json(e),
            Event::Closed(e) => json(e),
            Event::Note(text) => json(text),
        }
    }

    fn is_read_from(&self, payload: &str) -> Result<bool, String> {
        Ok(Event::read(self.kind(), payload)? == *self)
    }
}

impl Event {
    /// Parses an event from its kind and payload.
    pub(super) fn read(kind: &str, payload: &str) -> Result<Self, String> {
        fn parse<T: DeserializeOwned>(payload: &str) -> Result<T, String> {
            serde_json::from_str(payload).map_err(|error| format!("its contents cannot be read: {error}"))
        }
        Ok(match kind {
            "created" => Event::Created(parse(payload)?),
            "proposed" => Event::Proposed(parse(payload)?),
            "told" => Event::Told(parse(payload)?),
            "corrected" => Event::Corrected(parse(payload)?),
            "imported" => Event::Imported(parse(payload)?),
            "failed" => Event::Failed(parse(payload)?),
            "discarded" => Event::Discarded(parse(payload)?),
            "excluded" => Event::Excluded(parse(payload)?),
            "included" => Event::Included(parse(payload)?),
            "diagnosed" => Event::Diagnosed(parse(payload)?),
            "episode_closed" => Event::Closed(parse(payload)?),
            "note" => Event::Note(parse(payload)?),
            other => return Err(format!("no event is called '{other}'")),
        })
    }
}
