//! What a process that works on a study tells about itself while it does: one small file, `live.json`, written over and over, removed at the
//! end. For whoever looks on from another process; nothing depends on it.

use crate::clock::now_exactly;
use crate::files::replace;
use crate::plan_file::PlanFile;
use crate::study::{Study, StudyError};
use crate::trace::{Health, Trace, Way};
use ocorl::event::{Event, Observer};
use ocorl::plant::Leg;
use ocorl::simulate::{Policy, PolicyError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// The file.
pub const FILE: &str = "live.json";
/// It is written at most this often.
const OFTEN: Duration = Duration::from_millis(100);
/// And at least this often, as a sign of life.
const SELDOM: Duration = Duration::from_secs(1);
/// Without a sign for so long, nobody is at work any more.
pub const STALE: Duration = Duration::from_secs(5);
/// Most moments of the way so far.
const MOMENTS: usize = 400;

/// What is being done for an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It is being planned.
    Planning,
    /// It is under way.
    Running,
    /// It is being learned from.
    Learning,
}

/// What a process at work tells about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Number of the episode.
    pub episode: usize,
    /// What is done for it.
    pub phase: Phase,
    /// Who.
    pub pid: u32,
    /// When it said so (UTC).
    pub at: String,
    /// Seconds since the phase began.
    pub since: f64,
    /// Time in the run, while it is under way.
    pub t: Option<f64>,
    /// How long a run takes.
    pub horizon: f64,
    /// Number of the initial state of the run.
    pub start: Option<usize>,
    /// The way so far.
    pub path: Option<Way>,
    /// Costs of the episodes that are over, as far as this process has seen them.
    pub costs: Vec<f64>,
}

impl Live {
    /// What is told in `folder` now; none if nobody is at work there.
    pub fn read(folder: &Path) -> Option<Self> {
        let file = folder.join(FILE);
        let written = std::fs::metadata(&file).ok()?.modified().ok()?;
        // A clock that was set back makes it fresh, not stale.
        if SystemTime::now().duration_since(written).unwrap_or_default() > STALE {
            return None;
        }
        serde_json::from_slice(&std::fs::read(file).ok()?).ok()
    }
}

/// Tells, on a thread of its own, what it is told.
pub struct Teller {
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
    /// When the phase began.
    began: Instant,
    changed: bool,
    over: bool,
}

impl Teller {
    /// Begins to tell about the study in `folder`. What cannot be written is not told.
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
        let thread = std::thread::Builder::new().name("live".into()).spawn(move || theirs.keep_telling());
        Teller { shared, thread: thread.ok() }
    }

    /// A new phase of an episode.
    pub fn phase(&self, episode: usize, phase: Phase) {
        self.shared.change(|state| {
            let Live { costs, pid, horizon, .. } = &state.live;
            let (costs, pid, horizon) = (costs.clone(), *pid, *horizon);
            let (at, since, t, start, path) = (String::new(), 0.0, None, None, None);
            state.live = Live { episode, phase, pid, at, since, t, horizon, start, path, costs };
            state.began = Instant::now();
        });
    }

    /// An episode is over.
    pub fn cost(&self, cost: f64) {
        self.shared.change(|state| state.live.costs.extend(cost.is_finite().then_some(cost)));
    }

    /// Where a run is.
    pub fn moment(&self, start: usize, t: f64, x: &[f64], u: &[f64]) {
        self.shared.change(|state| {
            let Live { t: now, start: of, path, .. } = &mut state.live;
            if *of != Some(start) || path.is_none() {
                (*of, *path) = (Some(start), Some(Way::default()));
            }
            *now = Some(t);
            if let Some(way) = path.as_mut().filter(|_| x.iter().chain(u).all(|v| v.is_finite())) {
                way.push(t, x, u);
                if way.t.len() > MOMENTS {
                    way.thin();
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

    fn keep_telling(&self) {
        let mut last: Option<Instant> = None;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.over {
            if state.changed || last.is_none_or(|last| last.elapsed() >= SELDOM) {
                state.changed = false;
                let since = state.began.elapsed().as_secs_f64();
                let live = Live { at: now_exactly(), since, ..state.live.clone() };
                drop(state);
                // Who cannot be heard works on.
                let _ = replace(&self.file, &serde_json::to_vec(&live).unwrap_or_default());
                last = Some(Instant::now());
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            }
            let waited = self.ended.wait_timeout_while(state, OFTEN, |state| !state.over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.shared.change(|state| state.over = true);
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.shared.file);
    }
}

/// Tells what an observer hears.
pub struct Heard<'a> {
    /// Who tells it on.
    pub teller: &'a Teller,
    /// Who hears it too.
    pub observer: &'a mut dyn Observer,
}

impl Observer for Heard<'_> {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::EpisodeBegan { episode, .. } => self.teller.phase(*episode, Phase::Planning),
            Event::Proposed { episode } => self.teller.phase(*episode, Phase::Running),
            Event::Executed { episode, start: 0, .. } => self.teller.phase(*episode, Phase::Learning),
            _ => {}
        }
        self.observer.observe(event);
    }
}

/// Asks `study` for the next episode and tells what is done for that; how long planning took is kept in its trace.
pub fn ask(study: &mut Study, observer: &mut dyn Observer) -> Result<Option<Arc<PlanFile>>, StudyError> {
    if study.history().pending().is_some() {
        return study.ask(observer);
    }
    let folder = study.store().folder().to_path_buf();
    let teller = Teller::begin(&folder, study.system().task.horizon);
    let begin = Instant::now();
    let plan = study.ask(&mut Heard { teller: &teller, observer })?;
    if let Some(plan) = &plan {
        let planning_seconds = Some(begin.elapsed().as_secs_f64());
        // Pictures can do without it.
        let _ = Trace { episode: plan.episode, planning_seconds, ..Trace::default() }.write(&folder);
    }
    Ok(plan)
}

/// A policy that is looked at while it acts: its moments are told, its updates timed.
pub(crate) struct Watched {
    inner: Box<dyn Policy + Send>,
    teller: Arc<Teller>,
    health: Arc<Mutex<Health>>,
    start: usize,
    control: Vec<f64>,
    updates: usize,
}

impl Watched {
    /// Looks at the policy of `leg`, which has so many controls; what its updates take is counted in `health`.
    pub(crate) fn leg(leg: Leg, controls: usize, teller: &Arc<Teller>, health: &Arc<Mutex<Health>>) -> Leg {
        let watched = Watched {
            inner: leg.policy,
            teller: teller.clone(),
            health: health.clone(),
            start: leg.start,
            control: vec![0.0; controls],
            updates: 0,
        };
        Leg { policy: Box::new(watched), ..leg }
    }
}

impl Policy for Watched {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let begin = Instant::now();
        let until = self.inner.prepare(time, state)?;
        let took = begin.elapsed();
        let updates = self.inner.rungs().map_or(0, |rungs| rungs.iter().sum());
        if updates > self.updates {
            self.updates = updates;
            self.health.lock().unwrap_or_else(PoisonError::into_inner).solved(took);
        }
        self.inner.control(time, state, &mut self.control);
        self.teller.moment(self.start, time, state, &self.control);
        Ok(until)
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.inner.control(time, state, out);
    }

    fn rungs(&self) -> Option<[usize; 4]> {
        self.inner.rungs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_while_it_lasts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Live::read(folder.path()), None);
        let teller = Teller::begin(folder.path(), 10.0);
        teller.cost(20.2);
        teller.phase(3, Phase::Running);
        for i in 0..1000 {
            teller.moment(0, f64::from(i), &[1.0, 2.0], &[0.5]);
        }
        let until = Instant::now() + Duration::from_secs(20);
        let live = loop {
            match Live::read(folder.path()) {
                Some(live) if live.t == Some(999.0) => break live,
                _ => assert!(Instant::now() < until, "nothing is told"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((live.episode, live.phase, live.costs), (3, Phase::Running, vec![20.2]));
        let way = live.path.unwrap();
        assert!(way.t.len() <= MOMENTS && way.t.len() > MOMENTS / 4, "{}", way.t.len());
        assert!(way.t.windows(2).all(|t| t[0] < t[1]));
        drop(teller);
        assert_eq!(Live::read(folder.path()), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
