//! Additional data of an episode beside its recorded measurements: durations, trajectories, controller performance, and what plots
//! show of the model.
//!
//! A study does not depend on it. It is stored in separate files, `traces/<episode>.json`, which may be deleted; then figures show less.
//! The trace of a simulated episode can be reconstructed ([`crate::simulated::retrace`]).

use crate::episode_model::EpisodeModel;
use crate::files::write_atomically;
use crate::known::Known;
use crate::plan_file::{blocks, rows};
use ocorl::plant::RolloutResult;
use ocorl::simulate::Trajectory;
use ocorl::system::Bounds;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the traces within the folder of a study.
pub const FOLDER: &str = "traces";
/// Every `STRIDE`-th sample of a trajectory is kept: 201 of 1001.
const STRIDE: usize = 5;

/// Additional data of an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {
    /// Number of the episode.
    pub episode: usize,
    /// Wall-clock seconds spent on planning.
    pub planning_seconds: Option<f64>,
    /// Wall-clock seconds spent on the rollouts.
    pub running_seconds: Option<f64>,
    /// Wall-clock seconds spent on learning from the episode.
    pub learning_seconds: Option<f64>,
    /// Trajectory of each rollout.
    #[serde(with = "paths")]
    pub paths: Vec<Trajectory>,
    /// Controller performance.
    pub control: Option<Health>,
    /// Information gain I(Dₙ; f | D₁:ₙ₋₁), summed over the outputs.
    pub information_gain: Option<f64>,
    /// Model uncertainty along the trajectory: root mean square of σ relative to f*, mean over the outputs.
    pub uncertainty: Option<f64>,
    /// Whether the expected improvement of a pending episode exceeds its price, as a sentence.
    pub worth: Option<String>,
    /// What plots show of the model before and after the episode; `None` if there was no model, or if it was not computed.
    pub model: Option<EpisodeModel>,
}

/// Subsampled trajectory, up to the first sample that is not finite: the part that is stored.
pub fn thinned(trajectory: &Trajectory) -> Trajectory {
    let last = trajectory.len().saturating_sub(1);
    let finite =
        |i: usize| trajectory.states.at(i).iter().chain(trajectory.controls.at(i)).all(|v| v.is_finite());
    let kept = |i: usize| i.is_multiple_of(STRIDE) || i == last;
    let end = (0..trajectory.len()).find(|i| kept(*i) && !finite(*i)).unwrap_or(trajectory.len());
    Trajectory { costs: Vec::new(), ..trajectory.filtered(|i| i < end && kept(i)) }
}

/// A trajectory in its JSON form: one state and one control per time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathRows {
    t: Vec<f64>,
    x: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
}

impl From<&Trajectory> for PathRows {
    fn from(path: &Trajectory) -> Self {
        PathRows { t: path.times.clone(), x: rows(&path.states), u: rows(&path.controls) }
    }
}

impl TryFrom<PathRows> for Trajectory {
    type Error = &'static str;

    fn try_from(PathRows { t, x, u }: PathRows) -> Result<Self, Self::Error> {
        let size = |rows: &[Vec<f64>]| rows.first().map_or(1, Vec::len);
        let even = |rows: &[Vec<f64>]| {
            rows.len() == t.len() && size(rows) > 0 && rows.iter().all(|row| row.len() == size(rows))
        };
        if !even(&x) || !even(&u) {
            return Err("a path needs a state and a control for each time");
        }
        let (states, controls) = (blocks(&x, size(&x)), blocks(&u, size(&u)));
        Ok(Trajectory { times: t, states, controls, ..Trajectory::default() })
    }
}

/// Serializes lists of trajectories in the form of [`PathRows`].
mod paths {
    use super::{PathRows, Trajectory};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(paths: &[Trajectory], serializer: S) -> Result<S::Ok, S::Error> {
        paths.iter().map(PathRows::from).collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Trajectory>, D::Error> {
        let rows = Vec::<PathRows>::deserialize(deserializer)?;
        rows.into_iter().map(|rows| Trajectory::try_from(rows).map_err(D::Error::custom)).collect()
    }
}

/// Serializes an optional trajectory in the form of [`PathRows`].
pub mod maybe_path {
    use super::{PathRows, Trajectory};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// Serializes the trajectory.
    #[allow(clippy::ref_option, reason = "serde hands over the field as it is")]
    pub fn serialize<S: Serializer>(path: &Option<Trajectory>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_ref().map(PathRows::from).serialize(serializer)
    }

    /// Deserializes the trajectory.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Trajectory>, D::Error> {
        let rows = Option::<PathRows>::deserialize(deserializer)?;
        rows.map(|rows| Trajectory::try_from(rows).map_err(D::Error::custom)).transpose()
    }
}

/// Controller performance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Control period in seconds.
    pub period: f64,
    /// Number of updates on each fallback level: fresh, shifted, planned, safe.
    #[serde(rename = "rungs")]
    pub level_counts: [usize; 4],
    /// Histogram of solve times: entry i counts those between [`Health::edge`] i and i + 1.
    pub solve_times: Vec<usize>,
    /// Number of solves that took longer than the period.
    pub late: usize,
    /// Fraction of samples at which a control was at a bound.
    pub saturated: Option<f64>,
}

impl Health {
    /// Histogram bins per decade.
    const STEPS: f64 = 4.0;
    /// Lower edge of the first bin, in milliseconds.
    const SHORTEST: f64 = 0.01;
    /// Number of bins, from 0.01 ms to 1 s.
    const BINS: usize = 20;

    /// An empty record for a controller with this period.
    pub fn new(period: f64) -> Self {
        Health { period, solve_times: vec![0; Health::BINS], ..Health::default() }
    }

    /// Lower edge of bin `i` of the solve times, in milliseconds.
    pub fn edge(i: usize) -> f64 {
        Health::SHORTEST * 10_f64.powf(i as f64 / Health::STEPS)
    }

    /// Adds a solve time to the histogram.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number, cut off at zero"
    )]
    pub fn solved(&mut self, took: Duration) {
        let place = (took.as_secs_f64() * 1e3 / Health::SHORTEST).log10() * Health::STEPS;
        let bin = (place.max(0.0) as usize).min(Health::BINS - 1);
        if let Some(count) = self.solve_times.get_mut(bin) {
            *count += 1;
        }
        self.late += usize::from(took.as_secs_f64() > self.period);
    }

    /// Total number of updates.
    pub fn updates(&self) -> usize {
        self.level_counts.iter().sum()
    }
}

/// Fraction of samples of the given rollouts at which a control was at a bound; `None` without bounds or samples.
pub fn saturated(executed: &[RolloutResult], bounds: &Bounds) -> Option<f64> {
    let limited = bounds.lower.iter().chain(&bounds.upper).any(|b| b.is_finite());
    let at = |u: &[f64]| {
        (0..u.len()).any(|j| {
            let near = |b: f64| b.is_finite() && (u[j] - b).abs() <= 1e-9 * (1.0 + b.abs());
            near(bounds.lower[j]) || near(bounds.upper[j])
        })
    };
    let all = || executed.iter().flat_map(|rollout| rollout.trajectory.controls.iter());
    let count = all().count();
    (limited && count > 0).then(|| all().filter(|u| at(u)).count() as f64 / count as f64)
}

impl Trace {
    /// Reads the trace of an episode of the study in `folder`; `None` if there is none.
    pub fn read(folder: &Path, episode: usize) -> Option<Self> {
        read(&file(folder, episode))
    }

    /// Writes the trace into the study's folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write(&file(folder, self.episode), self)
    }
}

/// Reads the reference costs of the study in `folder`, in the units of the paper's table, if they were stored.
pub fn known(folder: &Path) -> Option<Known> {
    read(&folder.join(FOLDER).join("known.json"))
}

/// Stores reference costs with known dynamics, in the units of the paper's table.
pub fn keep_known(folder: &Path, known: &Known) -> io::Result<()> {
    write(&folder.join(FOLDER).join("known.json"), known)
}

/// Reads the optimal trajectories with known dynamics, one for each initial state; empty if they were not stored.
pub fn optimum(folder: &Path) -> Vec<Trajectory> {
    let rows: Option<Vec<PathRows>> = read(&folder.join(FOLDER).join("optimum.json"));
    rows.into_iter().flatten().filter_map(|rows| Trajectory::try_from(rows).ok()).collect()
}

/// Stores the optimal trajectories with known dynamics.
pub fn keep_optimum(folder: &Path, paths: &[Trajectory]) -> io::Result<()> {
    let rows: Vec<PathRows> = paths.iter().map(PathRows::from).collect();
    write(&folder.join(FOLDER).join("optimum.json"), &rows)
}

fn file(folder: &Path, episode: usize) -> PathBuf {
    folder.join(FOLDER).join(format!("{episode:04}.json"))
}

fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn write(file: &Path, value: &impl Serialize) -> io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    write_atomically(file, &serde_json::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl::system::Dims;

    #[test]
    fn solve_times_fall_between_their_edges() {
        let mut health = Health::new(0.02);
        for (milliseconds, bin) in [(0.0, 0), (0.0101, 0), (0.11, 4), (1.05, 8), (5e4, Health::BINS - 1)] {
            health.solved(Duration::from_secs_f64(milliseconds / 1e3));
            assert!(health.solve_times[bin] > 0, "{milliseconds} ms");
            assert!(milliseconds < Health::edge(bin + 1) || bin == Health::BINS - 1);
        }
        assert_eq!((health.solve_times.iter().sum::<usize>(), health.late), (5, 1));
    }

    #[test]
    fn a_path_keeps_its_form_in_files() {
        let mut whole = Trajectory::empty(Dims { state: 2, control: 1 });
        (0..8).for_each(|i| whole.push_with_cost(f64::from(i), &[1.0, f64::from(i)], &[0.5], 3.0));
        whole.push_with_cost(8.0, &[f64::NAN, 0.0], &[0.5], 3.0);
        let path = thinned(&whole);
        assert_eq!(path.times, [0.0, 5.0]);
        let trace = Trace { paths: vec![path], ..Trace::default() };
        let text = serde_json::to_string(&trace).unwrap();
        assert!(
            text.contains(r#""paths":[{"t":[0.0,5.0],"x":[[1.0,0.0],[1.0,5.0]],"u":[[0.5],[0.5]]}]"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Trace>(&text).unwrap(), trace);
        assert!(serde_json::from_str::<Trace>(&text.replace("[1.0,5.0]", "[1.0]")).is_err());
        let empty = text
            .replace("[0.0,5.0]", "[]")
            .replace("[[1.0,0.0],[1.0,5.0]]", "[]")
            .replace("[[0.5],[0.5]]", "[]");
        assert!(serde_json::from_str::<Trace>(&empty).unwrap().paths[0].is_empty());
    }

    #[test]
    fn what_is_kept_is_read_back_and_what_is_not_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Trace::read(folder.path(), 3), None);
        let trace = Trace { episode: 3, control: Some(Health::new(0.02)), ..Trace::default() };
        trace.write(folder.path()).unwrap();
        assert_eq!(Trace::read(folder.path(), 3), Some(trace));
        std::fs::write(file(folder.path(), 3), b"{ half").unwrap();
        assert_eq!(Trace::read(folder.path(), 3), None);
    }
}
