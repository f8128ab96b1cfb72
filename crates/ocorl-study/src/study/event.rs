//! What can happen to a study, as it is written down.

use crate::plan_file::PlanFile;
use crate::price::Prices;
use ocorl::learn::Settings;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first event of every study: all that it takes to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// Version of the program.
    pub version: String,
    /// Which system.
    pub system: String,
    /// The text of the file that describes it, if there is one.
    pub file: Option<String>,
    /// How it is learned.
    pub settings: Settings,
    /// Everything random is drawn below it.
    pub seed: u64,
    /// What measuring costs.
    pub prices: Prices,
}

/// An episode was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// Its number.
    pub episode: usize,
    /// What was answered.
    pub plan: PlanFile,
}

/// Measurements came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Of which episode.
    pub episode: usize,
    /// In order of start and time.
    pub rows: Vec<Row>,
    /// Controls along the way, for whoever learns from states; in order of start and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Applied>,
    /// How each run ended, where that was said.
    pub ends: Vec<End>,
    /// Where they came from.
    pub source: String,
    /// What was unusual about them.
    pub notes: Vec<String>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Number of the initial state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: usize,
    /// When.
    pub t: f64,
    /// The state.
    pub x: Vec<f64>,
    /// The control.
    pub u: Vec<f64>,
    /// The derivative, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_dot: Option<Vec<f64>>,
    /// The time it was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_t: Option<f64>,
    /// In discrete time: how long the transition took whose mean derivative `x_dot` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<f64>,
}

/// A control that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Number of the initial state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: usize,
    /// From when on.
    pub t: f64,
    /// The control.
    pub u: Vec<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// How a run ended, as whoever ran it says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Number of the initial state.
    pub start: usize,
    /// C(π, f*).
    pub cost: Option<f64>,
    /// `completed`, or what happened.
    pub outcome: Option<String>,
}

/// Old logs came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// Where they came from.
    pub source: String,
}

/// An episode failed, or is not to be learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    /// Which.
    pub episode: usize,
    /// Why.
    pub reason: String,
}

/// An episode is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Which.
    pub episode: usize,
    /// How.
    pub status: Status,
    /// How its runs ended, in words.
    pub outcome: String,
    /// C(π, f*), mean over the initial states.
    pub cost: Option<f64>,
    /// Where the cost comes from.
    pub cost_from: CostFrom,
    /// Measurements it gave.
    pub measured: usize,
    /// Measurements it was asked for.
    pub asked: usize,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// As asked.
    Complete,
    /// With fewer measurements than asked.
    Partial,
    /// It failed; what was measured until then counts.
    Failed,
    /// It is not learned from.
    Discarded,
}

impl Status {
    /// As written in the database.
    pub fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Partial => "partial",
            Status::Failed => "failed",
            Status::Discarded => "discarded",
        }
    }
}

/// Where a cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostFrom {
    /// Whoever ran it said so.
    Reported,
    /// From the measured states and controls, on straight lines between them.
    Estimated,
    /// It is not known.
    Unknown,
}

impl CostFrom {
    /// As written in the database.
    pub fn name(self) -> &'static str {
        match self {
            CostFrom::Reported => "reported",
            CostFrom::Estimated => "estimated",
            CostFrom::Unknown => "unknown",
        }
    }
}

/// Something that happened to a study.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It began.
    Created(Box<Created>),
    /// An episode was asked for.
    Proposed(Box<Proposed>),
    /// Measurements came.
    Told(Told),
    /// All measurements of an episode were replaced.
    Corrected(Told),
    /// Old logs came.
    Imported(Imported),
    /// An episode failed.
    Failed(Marked),
    /// An episode is not to be learned from.
    Discarded(Marked),
    /// An episode is over.
    Closed(Closed),
    /// Somebody wrote something down.
    Note(String),
}

impl Event {
    /// Kind and payload, as the store has them.
    pub(super) fn written(&self) -> (&'static str, String) {
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).unwrap_or_default()
        }
        match self {
            Event::Created(e) => ("created", json(e)),
            Event::Proposed(e) => ("proposed", json(e)),
            Event::Told(e) => ("told", json(e)),
            Event::Corrected(e) => ("corrected", json(e)),
            Event::Imported(e) => ("imported", json(e)),
            Event::Failed(e) => ("failed", json(e)),
            Event::Discarded(e) => ("discarded", json(e)),
            Event::Closed(e) => ("episode_closed", json(e)),
            Event::Note(text) => ("note", json(text)),
        }
    }

    /// An event as it was written.
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
            "episode_closed" => Event::Closed(parse(payload)?),
            "note" => Event::Note(parse(payload)?),
            other => return Err(format!("no event is called '{other}'")),
        })
    }
}
