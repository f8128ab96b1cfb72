//! A solver on a thread of its own, for which nobody waits longer than agreed.

use ocorl::track::{Reference, Segment, SolveError, Solver};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// One problem.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Now.
    pub time: f64,
    /// x, its angles moved near the plan.
    pub state: &'a [f64],
    /// The last verified solution, to start from.
    pub previous: Option<&'a Segment>,
}

impl Request<'_> {
    /// An empty segment with memory for a solution on the plan's own nodes.
    pub(super) fn room(reference: &Reference) -> Segment {
        let (dims, n) = (reference.plan.dims(), reference.plan.times.len() + 2);
        let mut segment = Segment { times: Vec::with_capacity(n), ..Segment::default() };
        segment.states.resize(dims.state, n);
        segment.controls.resize(dims.control, n);
        segment.gains.resize(dims.state * dims.control, n);
        segment
    }
}

/// What became of a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The solution is in `out`; nobody has looked at it.
    Solved,
    /// There is none.
    Failed(SolveError),
    /// There is none yet.
    Late,
    /// An earlier problem is not solved yet; this one was not posed.
    Busy,
    /// Nobody is left to solve it.
    Gone,
}

/// Solves within a time budget.
pub trait TimedSolver: Send {
    /// Poses a problem and waits for at most `budget`.
    fn solve(&mut self, request: &Request<'_>, budget: Duration, out: &mut Segment) -> Reply;

    /// Hands over the solution of a problem for which nobody waited any more; false if there is none.
    fn late(&mut self, out: &mut Segment) -> bool;

    /// Never hands over solutions of problems posed before: another run begins.
    fn forget(&mut self);
}

/// Makes solvers: the first, one after each panic, and one in place of each that hangs. It runs on the solver's thread.
pub type Maker = Arc<dyn Fn() -> Box<dyn Solver> + Send + Sync>;

/// What is done about solvers that hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// A solver that is at one problem for longer than so many budgets counts as hung.
    pub patience: u32,
    /// How often another is started in its place.
    pub restarts: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { patience: 8, restarts: 2 }
    }
}

/// Runs a solver on its own thread and waits for at most the budget.
///
/// Problem and solution travel in one box that goes to the thread and comes back, so nothing is shared, locked or allocated in a
/// healthy step. A solver that hangs cannot be stopped: it is left alone (its thread ends with its answer, or with the program), and
/// another is started, [`Effort::restarts`] times at most. A panic is a failed step; the solver is made anew.
pub struct Deadline {
    make: Maker,
    reference: Arc<Reference>,
    effort: Effort,
    worker: Option<Worker>,
    /// Here while nothing is being solved.
    job: Option<Box<Job>>,
    /// The job came back after its budget, and nobody has asked for it.
    late: bool,
    /// What the solver is at is of no interest any more.
    stale: bool,
    /// When the last problem was posed.
    posed: Instant,
    abandoned: usize,
}

struct Worker {
    jobs: SyncSender<Box<Job>>,
    replies: Receiver<Box<Job>>,
}

/// A problem, and room for its solution.
struct Job {
    time: f64,
    state: Vec<f64>,
    warm: bool,
    previous: Segment,
    out: Segment,
    result: Result<(), SolveError>,
}

impl Job {
    fn new(reference: &Reference) -> Box<Self> {
        Box::new(Job {
            time: 0.0,
            state: Vec::with_capacity(reference.plan.dims().state),
            warm: false,
            previous: Request::room(reference),
            out: Request::room(reference),
            result: Ok(()),
        })
    }

    fn pose(&mut self, request: &Request<'_>) {
        self.time = request.time;
        self.state.clear();
        self.state.extend_from_slice(request.state);
        self.warm = request.previous.is_some();
        if let Some(previous) = request.previous {
            copy(previous, &mut self.previous);
        }
    }
}

impl Deadline {
    /// Follows `reference` with the solvers that `make` makes. The first is started at once.
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

    /// How many threads were left alone because their solver hung.
    pub fn abandoned(&self) -> usize {
        self.abandoned
    }

    /// Takes back a job that has come home.
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

    /// Another solver in place of one that hangs or whose thread has ended; false if there were enough.
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
    fn solve(&mut self, request: &Request<'_>, budget: Duration, out: &mut Segment) -> Reply {
        self.collect();
        let hung = || self.posed.elapsed() > budget.saturating_mul(self.effort.patience);
        if self.worker.is_some() && self.job.is_none() && !hung() {
            return Reply::Busy;
        }
        let ready = self.worker.is_some() && self.job.is_some();
        if !ready && !self.replace() {
            return Reply::Gone;
        }
        let (Some(worker), Some(mut job)) = (&self.worker, self.job.take()) else { return Reply::Gone };
        self.late = false;
        job.pose(request);
        self.posed = Instant::now();
        if worker.jobs.try_send(job).is_err() {
            // The thread has ended: the next step replaces it.
            self.worker = None;
            return Reply::Failed(SolveError("the solver's thread has ended".into()));
        }
        match worker.replies.recv_timeout(budget) {
            Ok(mut job) => {
                let result = std::mem::replace(&mut job.result, Ok(()));
                std::mem::swap(&mut job.out, out);
                self.home(job, false);
                result.map_or_else(Reply::Failed, |()| Reply::Solved)
            }
            Err(RecvTimeoutError::Timeout) => Reply::Late,
            Err(RecvTimeoutError::Disconnected) => {
                self.worker = None;
                Reply::Failed(SolveError("the solver's thread has ended".into()))
            }
        }
    }

    fn late(&mut self, out: &mut Segment) -> bool {
        self.collect();
        let job = self.job.as_mut().filter(|_| self.late);
        self.late = false;
        job.map(|job| std::mem::swap(&mut job.out, out)).is_some()
    }

    fn forget(&mut self) {
        (self.late, self.stale) = (false, self.job.is_none());
    }
}

/// Starts a thread that solves until nobody poses problems any more.
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

/// One problem; false if nobody wants its answer any more.
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
        let Job { time, state, warm, previous, out, .. } = &mut *job;
        solver.solve(reference, *time, state, warm.then_some(&*previous), out)
    }));
    job.result = solved.unwrap_or_else(|panic| {
        // Who knows what it left behind.
        *solver = None;
        Err(panicked(panic.as_ref()))
    });
    outbox.send(job).is_ok()
}

/// What a panic said.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> SolveError {
    let word = panic.downcast_ref::<&str>().copied();
    let word = word.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    SolveError(format!("the solver panicked: {}", word.unwrap_or("without a word")))
}

/// Copies without giving back memory.
fn copy(from: &Segment, to: &mut Segment) {
    to.times.clear();
    to.times.extend_from_slice(&from.times);
    for (from, to) in
        [(&from.states, &mut to.states), (&from.controls, &mut to.controls), (&from.gains, &mut to.gains)]
    {
        to.resize(from.size(), from.len());
        to.as_mut_slice().copy_from_slice(from.as_slice());
    }
}
