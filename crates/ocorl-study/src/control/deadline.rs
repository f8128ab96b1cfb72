//! A solver on its own thread with a deadline: the controller never waits longer than the time budget.

use ocorl::simulate::Trajectory;
use ocorl::track::{Reference, SolveAttempt, SolveError, SolveRequest, Solver};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// A solver with a time budget.
pub trait TimedSolver: Send {
    /// Starts solving a problem and waits for at most `budget`.
    fn solve(&mut self, request: &SolveRequest<'_>, budget: Duration, out: &mut Trajectory) -> SolveAttempt;

    /// Fetches the solution of an earlier problem that missed its budget; returns false if there is none.
    fn late(&mut self, out: &mut Trajectory) -> bool;

    /// Discards solutions of earlier problems, because another run begins.
    fn forget(&mut self);
}

/// Creates solvers: the first one, one after each panic, and a replacement for each that hangs. It runs on the solver's thread.
pub type Maker = Arc<dyn Fn() -> Box<dyn Solver> + Send + Sync>;

/// Policy for solvers that hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// A solver that works on one problem for longer than this many budgets counts as hung.
    pub patience: u32,
    /// Maximum number of replacements.
    pub restarts: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { patience: 8, restarts: 2 }
    }
}

/// Runs a solver on its own thread and waits for at most the budget.
///
/// Problem and solution travel in one box that goes to the thread and comes back, so a healthy step shares, locks and allocates nothing. A
/// solver that hangs cannot be stopped: its thread is abandoned (it ends with its answer or with the program) and another solver is
/// started, at most [`Effort::restarts`] times. A panic counts as a failed step; a new solver is created.
pub struct Deadline {
    make: Maker,
    reference: Arc<Reference>,
    effort: Effort,
    worker: Option<Worker>,
    /// The job, while no problem is being solved.
    job: Option<Box<Job>>,
    /// The job came back after its budget and its solution has not been fetched.
    late: bool,
    /// The problem being solved belongs to an earlier run; its solution will be discarded.
    stale: bool,
    /// Time at which the last problem was submitted.
    posed: Instant,
    abandoned: usize,
}

struct Worker {
    jobs: SyncSender<Box<Job>>,
    replies: Receiver<Box<Job>>,
}

/// A problem and the buffer for its solution.
struct Job {
    time: f64,
    state: Vec<f64>,
    applied: Vec<f64>,
    warm: bool,
    previous: Trajectory,
    out: Trajectory,
    result: Result<(), SolveError>,
}

impl Job {
    fn new(reference: &Reference) -> Box<Self> {
        Box::new(Job {
            time: 0.0,
            state: Vec::with_capacity(reference.plan.dims().state),
            applied: Vec::with_capacity(reference.plan.dims().control),
            warm: false,
            previous: Trajectory::with_room(reference),
            out: Trajectory::with_room(reference),
            result: Ok(()),
        })
    }

    fn pose(&mut self, request: &SolveRequest<'_>) {
        self.time = request.time;
        self.state.clear();
        self.state.extend_from_slice(request.state);
        self.applied.clear();
        self.applied.extend_from_slice(request.applied);
        self.warm = request.previous.is_some();
        if let Some(previous) = request.previous {
            copy(previous, &mut self.previous);
        }
    }
}

impl Deadline {
    /// Follows `reference` with solvers created by `make`; the first is started immediately.
    pub fn new(reference: Reference, effort: Effort, make: Maker) -> Self {
        let job = Some(Job::new(&reference));
        let reference = Arc::new(reference);
        let worker = start(&make, &reference);
        Deadline {
            make,
            reference,
            effort,
            worker,
            job,
            late: false,
            stale: false,
            posed: Instant::now(),
            abandoned: 0,
        }
    }

    /// Number of threads that were abandoned because their solver hung.
    pub fn abandoned(&self) -> usize {
        self.abandoned
    }

    /// Takes back a finished job from the solver thread.
    fn collect(&mut self) {
        let Some(worker) = self.worker.as_ref().filter(|_| self.job.is_none()) else { return };
        match worker.replies.try_recv() {
            Ok(job) => self.home(job, true),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.worker = None,
        }
    }

    fn home(&mut self, job: Box<Job>, late: bool) {
        self.late = late && !self.stale && job.result.is_ok();
        self.stale = false;
        self.job = Some(job);
    }

    /// Starts a replacement for a solver that hangs or whose thread has ended; returns false when no replacements are left.
    fn replace(&mut self) -> bool {
        self.worker = None;
        if self.abandoned >= self.effort.restarts {
            return false;
        }
        self.abandoned += 1;
        (self.late, self.stale) = (false, false);
        self.worker = start(&self.make, &self.reference);
        self.job = Some(Job::new(&self.reference));
        self.worker.is_some()
    }
}

impl TimedSolver for Deadline {
    fn solve(&mut self, request: &SolveRequest<'_>, budget: Duration, out: &mut Trajectory) -> SolveAttempt {
        self.collect();
        let hung = || self.posed.elapsed() > budget.saturating_mul(self.effort.patience);
        if self.worker.is_some() && self.job.is_none() && !hung() {
            return SolveAttempt::Busy;
        }
        let ready = self.worker.is_some() && self.job.is_some();
        if !ready && !self.replace() {
            return SolveAttempt::Gone;
        }
        let (Some(worker), Some(mut job)) = (&self.worker, self.job.take()) else {
            return SolveAttempt::Gone;
        };
        self.late = false;
        job.pose(request);
        self.posed = Instant::now();
        if worker.jobs.try_send(job).is_err() {
            // The solver thread has ended; the next step replaces it.
            self.worker = None;
            return SolveAttempt::Failed(SolveError("the solver's thread has ended".into()));
        }
        match worker.replies.recv_timeout(budget) {
            Ok(mut job) => {
                let result = std::mem::replace(&mut job.result, Ok(()));
                std::mem::swap(&mut job.out, out);
                self.home(job, false);
                result.map_or_else(SolveAttempt::Failed, |()| SolveAttempt::Solved)
            }
            Err(RecvTimeoutError::Timeout) => SolveAttempt::Late,
            Err(RecvTimeoutError::Disconnected) => {
                self.worker = None;
                SolveAttempt::Failed(SolveError("the solver's thread has ended".into()))
            }
        }
    }

    fn late(&mut self, out: &mut Trajectory) -> bool {
        self.collect();
        let job = self.job.as_mut().filter(|_| self.late);
        self.late = false;
        job.map(|job| std::mem::swap(&mut job.out, out)).is_some()
    }

    fn forget(&mut self) {
        (self.late, self.stale) = (false, self.job.is_none());
    }
}

/// Starts a thread that solves problems until the request channel is closed.
fn start(make: &Maker, reference: &Arc<Reference>) -> Option<Worker> {
    let (jobs, inbox) = sync_channel::<Box<Job>>(1);
    let (outbox, replies) = sync_channel(1);
    let (make, reference) = (make.clone(), reference.clone());
    let work = move || {
        let mut solver = None;
        while serve(&mut solver, &make, &reference, &inbox, &outbox) {}
    };
    thread::Builder::new().name("ocorl-solver".into()).spawn(work).ok()?;
    Some(Worker { jobs, replies })
}

/// Solves one problem; returns false if the receiver of the solution is gone.
fn serve(
    solver: &mut Option<Box<dyn Solver>>,
    make: &Maker,
    reference: &Reference,
    inbox: &Receiver<Box<Job>>,
    outbox: &SyncSender<Box<Job>>,
) -> bool {
    let Ok(mut job) = inbox.recv() else { return false };
    let solved = catch_unwind(AssertUnwindSafe(|| {
        let solver = solver.get_or_insert_with(|| make());
        let Job { time, state, applied, warm, previous, out, .. } = &mut *job;
        let request = SolveRequest { time: *time, state, applied, previous: warm.then_some(&*previous) };
        solver.solve(reference, &request, out)
    }));
    job.result = solved.unwrap_or_else(|panic| {
        // After a panic the solver's state is undefined.
        *solver = None;
        Err(panicked(panic.as_ref()))
    });
    outbox.send(job).is_ok()
}

/// The message of a panic, as a solve error.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> SolveError {
    let word = panic.downcast_ref::<&str>().copied();
    let word = word.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    SolveError(format!("the solver panicked: {}", word.unwrap_or("without a word")))
}

/// Copies a solution and reuses the memory of the target.
fn copy(from: &Trajectory, to: &mut Trajectory) {
    to.times.clone_from(&from.times);
    to.states.copy_from(&from.states);
    to.controls.copy_from(&from.controls);
    to.gains.copy_from(&from.gains);
}
