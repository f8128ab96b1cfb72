//! Live progress of a process that works on a study: one small file, `live.json`, rewritten periodically and removed at the end. It serves
//! observers in other processes; no computation depends on it.

use crate::clock::now_exactly;
use crate::files::replace;
use crate::plan_file::PlanFile;
use crate::simulated::keep_traces;
use crate::study::{Study, StudyError};
use crate::trace::{Health, Trace, maybe_path};
use ocorl::event::{Event, Observer};
use ocorl::plant::{Plant, Rollout, RolloutResult};
use ocorl::simulate::{Law, Policy, PolicyError, Trajectory};
use ocorl::system::Dims;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Name of the file.
pub const FILE: &str = "live.json";
/// Minimum time between two writes.
const OFTEN: Duration = Duration::from_millis(100);
/// Maximum time between two writes, which signals that the process is alive.
const SELDOM: Duration = Duration::from_secs(1);
/// Age of the file after which the process counts as gone.
pub const STALE: Duration = Duration::from_secs(5);
/// Maximum number of samples of the trajectory so far.
const MOMENTS: usize = 400;

/// Phase of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The episode is being planned.
    Planning,
    /// The episode is being executed.
    Running,
    /// The model is being updated with the episode's measurements.
    Learning,
}

/// Progress of a process that works on a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Number of the episode.
    pub episode: usize,
    /// Present phase of the episode.
    pub phase: Phase,
    /// Process id.
    pub pid: u32,
    /// Time of the report (UTC).
    pub at: String,
    /// Seconds since the phase began.
    pub since: f64,
    /// Time within the rollout, during execution.
    pub t: Option<f64>,
    /// Duration of a rollout.
    pub horizon: f64,
    /// Index of the initial state of the rollout.
    pub start: Option<usize>,
    /// The trajectory so far.
    #[serde(with = "maybe_path")]
    pub path: Option<Trajectory>,
    /// Costs of the completed episodes that this process has seen.
    pub costs: Vec<f64>,
}

impl Live {
    /// The progress reported in `folder`; `None` if no process is working there.
    pub fn read(folder: &Path) -> Option<Self> {
        let file = folder.join(FILE);
        let written = std::fs::metadata(&file).ok()?.modified().ok()?;
        // If the system clock was set back, the file counts as fresh.
        if SystemTime::now().duration_since(written).unwrap_or_default() > STALE {
            return None;
        }
        serde_json::from_slice(&std::fs::read(file).ok()?).ok()
    }
}

/// Reports progress from a thread of its own.
pub struct LiveReporter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: PathBuf,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    live: Live,
    /// Time at which the phase began.
    began: Instant,
    changed: bool,
    over: bool,
}

impl LiveReporter {
    /// Starts reporting progress on the study in `folder`. Write errors are ignored.
    pub fn begin(folder: &Path, horizon: f64) -> Self {
        let live = Live {
            episode: 0,
            phase: Phase::Planning,
            pid: std::process::id(),
            at: String::new(),
            since: 0.0,
            t: None,
            horizon,
            start: None,
            path: None,
            costs: Vec::new(),
        };
        let state = State { live, began: Instant::now(), changed: false, over: false };
        let (file, state) = (folder.join(FILE), Mutex::new(state));
        let shared = Arc::new(Shared { file, state, ended: Condvar::new() });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new().name("live".into()).spawn(move || theirs.keep_reporting());
        LiveReporter { shared, thread: thread.ok() }
    }

    /// Reports a new phase of an episode.
    pub fn phase(&self, episode: usize, phase: Phase) {
        self.shared.change(|state| {
            let Live { costs, pid, horizon, .. } = &state.live;
            let (costs, pid, horizon) = (costs.clone(), *pid, *horizon);
            let (at, since, t, start, path) = (String::new(), 0.0, None, None, None);
            state.live = Live { episode, phase, pid, at, since, t, horizon, start, path, costs };
            state.began = Instant::now();
        });
    }

    /// Reports the cost of a completed episode.
    pub fn cost(&self, cost: f64) {
        self.shared.change(|state| state.live.costs.extend(cost.is_finite().then_some(cost)));
    }

    /// Reports the present time, state and control of a rollout.
    pub fn moment(&self, start: usize, t: f64, x: &[f64], u: &[f64]) {
        self.shared.change(|state| {
            let Live { t: now, start: of, path, .. } = &mut state.live;
            if *of != Some(start) || path.is_none() {
                let dims = Dims { state: x.len(), control: u.len() };
                (*of, *path) = (Some(start), Some(Trajectory::empty(dims)));
            }
            *now = Some(t);
            if let Some(path) = path.as_mut().filter(|_| x.iter().chain(u).all(|v| v.is_finite())) {
                path.push(t, x, u);
                if path.len() > MOMENTS {
                    *path = path.filtered(|i| i.is_multiple_of(2));
                }
            }
        });
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.changed = true;
    }

    fn keep_reporting(&self) {
        let mut last: Option<Instant> = None;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.over {
            if state.changed || last.is_none_or(|last| last.elapsed() >= SELDOM) {
                state.changed = false;
                let since = state.began.elapsed().as_secs_f64();
                let live = Live { at: now_exactly(), since, ..state.live.clone() };
                drop(state);
                // A failure to report must not stop the work.
                if let Ok(text) = serde_json::to_vec(&live) {
                    let _ = replace(&self.file, &text);
                }
                last = Some(Instant::now());
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            }
            let waited = self.ended.wait_timeout_while(state, OFTEN, |state| !state.over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for LiveReporter {
    fn drop(&mut self) {
        self.shared.change(|state| state.over = true);
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.shared.file);
    }
}

/// An observer that also reports progress.
pub struct ReportingObserver<'a> {
    /// The reporter of live progress.
    pub reporter: &'a LiveReporter,
    /// The observer that receives all events as well.
    pub observer: &'a mut dyn Observer,
}

impl Observer for ReportingObserver<'_> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::EpisodeBegan { episode, .. } => self.reporter.phase(*episode, Phase::Planning),
            Event::Proposed { episode } => self.reporter.phase(*episode, Phase::Running),
            Event::Executed { episode, start: 0, .. } => self.reporter.phase(*episode, Phase::Learning),
            _ => {}
        }
        self.observer.observe(event);
    }
}

/// More data than this make the expected improvement of an episode too slow to compute.
const MOST_FOR_WORTH: usize = 500;

/// Asks `study` for the next episode and reports the progress of planning. The planning time, what plots show of the model, and the
/// worth of the episode are kept in its trace.
pub fn ask(study: &mut Study, observer: &mut dyn Observer) -> Result<Option<Arc<PlanFile>>, StudyError> {
    if study.history().pending().is_some() {
        return study.ask(observer);
    }
    let folder = study.store().folder().to_path_buf();
    let reporter = LiveReporter::begin(&folder, study.system().task.horizon);
    let begin = Instant::now();
    let plan = study.ask(&mut ReportingObserver { reporter: &reporter, observer })?;
    if let Some(plan) = &plan {
        let planning_seconds = Some(begin.elapsed().as_secs_f64());
        let quick = study.history().measurements() <= MOST_FOR_WORTH;
        let worth = quick.then(|| study.worth().ok().flatten()).flatten().map(|worth| worth.recommendation());
        // The trace is optional: figures only show less without it.
        let trace = Trace { episode: plan.episode, planning_seconds, worth, ..Trace::default() };
        let _ = trace.write(&folder);
        keep_traces(study);
    }
    Ok(plan)
}

/// A plant that is observed while it runs: the present state is reported in `live.json`, and the updates of the policy are timed.
pub(crate) struct WatchedPlant<P> {
    /// The plant that runs.
    pub(crate) plant: P,
    /// Whether progress is reported at present.
    pub(crate) watching: bool,
    reporter: Arc<LiveReporter>,
    controls: usize,
    period: f64,
    seen: Seen,
}

/// Observations of the rollouts of an episode.
pub(crate) struct Seen {
    /// Seconds that the rollouts took.
    pub(crate) seconds: f64,
    /// Computation times of the controller's updates.
    pub(crate) health: Arc<Mutex<Health>>,
}

impl Seen {
    fn nothing(period: f64) -> Self {
        Seen { seconds: 0.0, health: Arc::new(Mutex::new(Health::new(period))) }
    }
}

impl<P> WatchedPlant<P> {
    /// Wraps a plant with `controls` controls whose controller is updated once per `period`.
    pub(crate) fn new(plant: P, reporter: Arc<LiveReporter>, controls: usize, period: f64) -> Self {
        WatchedPlant { plant, watching: true, reporter, controls, period, seen: Seen::nothing(period) }
    }

    /// Observations since the last call.
    pub(crate) fn seen(&mut self) -> Seen {
        std::mem::replace(&mut self.seen, Seen::nothing(self.period))
    }
}

impl<P: Plant> Plant for WatchedPlant<P> {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        if !self.watching {
            return self.plant.run(rollout);
        }
        let nothing = Box::new(Law(|_: f64, _: &[f64], _: &mut [f64]| {}));
        rollout.policy = Box::new(Watched {
            inner: std::mem::replace(&mut rollout.policy, nothing),
            reporter: self.reporter.clone(),
            health: self.seen.health.clone(),
            start: rollout.start,
            control: vec![0.0; self.controls],
            updates: 0,
        });
        let begin = Instant::now();
        let result = self.plant.run(rollout);
        self.seen.seconds += begin.elapsed().as_secs_f64();
        result
    }
}

/// A policy that reports its states and times its updates.
struct Watched {
    inner: Box<dyn Policy + Send>,
    reporter: Arc<LiveReporter>,
    health: Arc<Mutex<Health>>,
    start: usize,
    control: Vec<f64>,
    updates: usize,
}

impl Policy for Watched {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let begin = Instant::now();
        let until = self.inner.prepare(time, state)?;
        let took = begin.elapsed();
        let updates = self.inner.level_counts().map_or(0, |counts| counts.iter().sum());
        if updates > self.updates {
            self.updates = updates;
            self.health.lock().unwrap_or_else(PoisonError::into_inner).solved(took);
        }
        self.inner.control(time, state, &mut self.control);
        self.reporter.moment(self.start, time, state, &self.control);
        Ok(until)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.inner.control(time, state, out);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.inner.level_counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_while_it_lasts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Live::read(folder.path()), None);
        let reporter = LiveReporter::begin(folder.path(), 10.0);
        reporter.cost(20.2);
        reporter.phase(3, Phase::Running);
        for i in 0..1000 {
            reporter.moment(0, f64::from(i), &[1.0, 2.0], &[0.5]);
        }
        let until = Instant::now() + Duration::from_secs(20);
        let live = loop {
            match Live::read(folder.path()) {
                Some(live) if live.t == Some(999.0) => break live,
                _ => assert!(Instant::now() < until, "nothing is reported"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((live.episode, live.phase, live.costs), (3, Phase::Running, vec![20.2]));
        let path = live.path.unwrap();
        assert!(path.len() <= MOMENTS && path.len() > MOMENTS / 4, "{}", path.len());
        assert!(path.times.windows(2).all(|t| t[0] < t[1]));
        drop(reporter);
        assert_eq!(Live::read(folder.path()), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
