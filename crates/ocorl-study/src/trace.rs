//! What was seen of an episode beside what was told of it: how long it took, the way it went, how its controller fared, how far the
//! measurements lay from what was expected.
//!
//! A study does not need it: it stands in files of its own, `traces/<episode>.json`, may be deleted, and then pictures show less. Of a
//! simulated episode it can be made again ([`crate::simulated::retrace`]).

use crate::files::write_atomically;
use crate::known::Known;
use ocorl::plant::Executed;
use ocorl::simulate::Trajectory;
use ocorl::system::Bounds;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of traces in that of a study.
pub const FOLDER: &str = "traces";
/// Every so many-th moment of a run is kept: 201 of 1001.
const STRIDE: usize = 5;

/// What was seen of an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {
    /// Which.
    pub episode: usize,
    /// Seconds on the clock that planning took.
    pub planning_seconds: Option<f64>,
    /// The same for the runs.
    pub running_seconds: Option<f64>,
    /// The same for learning from it.
    pub learning_seconds: Option<f64>,
    /// Where each run went.
    pub paths: Vec<Way>,
    /// How the controller fared.
    pub control: Option<Health>,
    /// I(Dₙ; f | D₁:ₙ₋₁), summed over the outputs.
    pub information_gain: Option<f64>,
    /// Root mean square of σ relative to f* along the way, mean over the outputs.
    pub uncertainty: Option<f64>,
}

/// Where a run went: a state and a control for each time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Times.
    pub t: Vec<f64>,
    /// States.
    pub x: Vec<Vec<f64>>,
    /// Controls.
    pub u: Vec<Vec<f64>>,
}

impl Way {
    /// Some moments of a trajectory, up to the first that is not finite.
    pub fn of(trajectory: &Trajectory) -> Self {
        let mut way = Way::default();
        let last = trajectory.times.len().saturating_sub(1);
        for i in (0..trajectory.times.len()).filter(|i| i.is_multiple_of(STRIDE) || *i == last) {
            let (x, u) = (trajectory.states.at(i), trajectory.controls.at(i));
            if !x.iter().chain(u).all(|v| v.is_finite()) {
                break;
            }
            way.push(trajectory.times[i], x, u);
        }
        way
    }

    /// One moment more.
    pub fn push(&mut self, t: f64, x: &[f64], u: &[f64]) {
        self.t.push(t);
        self.x.push(x.to_vec());
        self.u.push(u.to_vec());
    }

    /// Leaves out every second moment.
    pub fn thin(&mut self) {
        fn half<T>(list: &mut Vec<T>) {
            let mut i = 0;
            list.retain(|_| {
                i += 1;
                i % 2 == 1
            });
        }
        half(&mut self.t);
        half(&mut self.x);
        half(&mut self.u);
    }
}

/// How a controller fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Time between two controls, in seconds.
    pub period: f64,
    /// How often each rung was used: fresh, shifted, planned, safe.
    pub rungs: [usize; 4],
    /// How many solutions took how long: entry i counts those between [`Health::edge`] i and i + 1.
    pub solve_times: Vec<usize>,
    /// How many took longer than the period.
    pub late: usize,
    /// Share of the moments at which a control was at a limit.
    pub saturated: Option<f64>,
}

impl Health {
    /// Steps of a decade of solve times.
    const STEPS: f64 = 4.0;
    /// The shortest solve time that is told apart, in milliseconds.
    const SHORTEST: f64 = 0.01;
    /// From 0.01 ms to 1 s.
    const BINS: usize = 20;

    /// Nothing happened yet.
    pub fn new(period: f64) -> Self {
        Health { period, solve_times: vec![0; Health::BINS], ..Health::default() }
    }

    /// The lower end of a count of solve times, in milliseconds.
    pub fn edge(i: usize) -> f64 {
        Health::SHORTEST * 10_f64.powf(i as f64 / Health::STEPS)
    }

    /// Counts a solution that took so long.
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

    /// Updates in all.
    pub fn updates(&self) -> usize {
        self.rungs.iter().sum()
    }
}

/// Share of the moments of some runs at which a control was at a limit; none if there are no limits or no moments.
pub fn saturated(executed: &[Executed], bounds: &Bounds) -> Option<f64> {
    let limited = bounds.lower.iter().chain(&bounds.upper).any(|b| b.is_finite());
    let at = |u: &[f64]| {
        (0..u.len()).any(|j| {
            let near = |b: f64| b.is_finite() && (u[j] - b).abs() <= 1e-9 * (1.0 + b.abs());
            near(bounds.lower[j]) || near(bounds.upper[j])
        })
    };
    let all = || executed.iter().flat_map(|leg| leg.trajectory.controls.iter());
    let count = all().count();
    (limited && count > 0).then(|| all().filter(|u| at(u)).count() as f64 / count as f64)
}

impl Trace {
    /// What was seen of an episode of the study in `folder`; none if nobody kept it.
    pub fn read(folder: &Path, episode: usize) -> Option<Self> {
        read(&file(folder, episode))
    }

    /// Keeps it.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write(&file(folder, self.episode), self)
    }
}

/// What is possible with the true model, if somebody found that out for the study in `folder`.
pub fn known(folder: &Path) -> Option<Known> {
    read(&folder.join(FOLDER).join("known.json"))
}

/// Keeps what is possible with the true model.
pub fn keep_known(folder: &Path, known: &Known) -> io::Result<()> {
    write(&folder.join(FOLDER).join("known.json"), known)
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
    fn half_of_a_way_is_every_second_moment() {
        let mut way = Way::default();
        (0..5).for_each(|i| way.push(f64::from(i), &[0.0], &[1.0]));
        way.thin();
        assert_eq!(way.t, [0.0, 2.0, 4.0]);
        assert_eq!((way.x.len(), way.u.len()), (3, 3));
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
