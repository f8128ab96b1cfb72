//! Diagnosis of measured data: what contradicts the model, and why.
//!
//! Sensors fail, cables are swapped, actuators wear. A model that believes every row with the declared noise is ruined by one bad number.
//! This module compares hypotheses about the data and names the one that the data support, with the evidence in nats.
//!
//! | file | hypothesis |
//! |---|---|
//! | `outliers` | a few rows are wrong, the others are right |
//! | `noise` | the noise is larger than declared, or has heavy tails |
//! | `episode` | a column of the new episode is scaled, has the wrong sign, or is stuck; the gain of a control changed; the plant changed |
//!
//! Each hypothesis must explain the data better than plain ignorance of f, that is, than a model that is trained on all rows. Therefore a
//! surprising row that a smooth f can explain is kept.
//!
//! Deliberately left out: what to do about it. [`learn`](crate::learn) sets rows aside, corrects columns and ages data.

mod episode;
mod noise;
mod outliers;
pub(crate) mod robust;

pub use episode::{ColumnFactor, Contradiction, EpisodeData, column_factor, contradiction, stuck};
pub(crate) use episode::{commanded_factor, divide};
pub use noise::{NoiseEstimate, estimate_noise, noise_is_doubtful};
pub use outliers::{Screening, screen};

use serde::{Deserialize, Serialize};

/// A column of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// The state with this index.
    State(usize),
    /// The control with this index.
    Control(usize),
    /// The derivative of the state with this index.
    Derivative(usize),
    /// The state with this index and its derivative.
    StateAndDerivative(usize),
    /// The derivatives of all states.
    Derivatives,
}

/// What is wrong with data, or with the plant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// Single rows contradict the model and all other rows.
    Outliers,
    /// The numbers of a column are `factor` times what the model and the other rows support; −1: the sign is wrong.
    Scaled {
        /// The column.
        column: Column,
        /// The factor.
        factor: f64,
    },
    /// A column keeps one value while the system moves.
    Stuck {
        /// The column.
        column: Column,
    },
    /// A control acts `factor` times as strongly as in earlier episodes.
    GainChanged {
        /// Index of the control.
        control: usize,
        /// The factor.
        factor: f64,
    },
    /// The plant differs from that of earlier episodes in a way that no other cause describes.
    PlantChanged,
    /// The noise of an output is `factor` times the declared standard deviation.
    Noise {
        /// Index of the output.
        output: usize,
        /// The factor.
        factor: f64,
    },
    /// The noise of an output has heavy tails: most rows agree with the declared noise, some do not.
    HeavyTails {
        /// Index of the output.
        output: usize,
    },
}

/// What was done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// The rows are not used for learning.
    SetAside,
    /// The rows are used after a correction.
    Corrected,
    /// Earlier rows were converted to the present plant.
    Converted,
    /// Earlier rows have a larger noise than declared.
    Aged,
    /// All rows of the output have the estimated noise.
    NoiseRaised,
    /// The rows count less.
    Reduced,
    /// Nothing was changed.
    None,
}

/// A finding about the data of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Number of the episode.
    pub episode: usize,
    /// Index of the initial state.
    #[serde(default)]
    pub start: usize,
    /// The most likely cause.
    pub cause: Cause,
    /// Number of rows that support it.
    pub rows: usize,
    /// How much better this cause explains the data than none, in nats.
    pub nats: f64,
    /// What was done about it.
    pub treatment: Treatment,
}

/// A row that is not used for learning, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Number of the episode.
    pub episode: usize,
    /// Index of the initial state.
    #[serde(default)]
    pub start: usize,
    /// Time of the measurement.
    pub time: f64,
    /// Index of the output that deviates most.
    pub output: usize,
    /// Deviation from the model of the other rows, in standard deviations; 0 if another reason than its deviation set it aside.
    pub deviation: f64,
    /// Weight of the row: 0 if it is not used, 1 if it counts in full.
    pub weight: f64,
}
