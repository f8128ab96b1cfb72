//! Long computations on a separate thread, while the calling thread waits with the interpreter released and checks for Ctrl-C.
//!
//! An interrupted computation is asked to stop and abandoned: the caller gets the interpreter back at once. Until the abandoned computation
//! has released its folder, opening that folder in this process waits ([`settle`]).

use crate::errors::{Answer, Failure, Trouble, failpoint_at_work, internal, panic_message};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which the waiting caller checks for Ctrl-C.
const SLICE: Duration = Duration::from_millis(50);

/// Maximum number of threads; memory grows with them.
const MOST_THREADS: usize = 1_024;

/// Context of a job: cancellation flag and channel to the caller.
pub(crate) struct JobContext<M> {
    /// Becomes true when the caller has stopped waiting.
    pub(crate) cancel: Arc<AtomicBool>,
    to: Sender<FromJob<M>>,
}

impl<M> JobContext<M> {
    /// Sends a message to the caller. The message is dropped if the caller has stopped waiting.
    pub(crate) fn tell(&self, message: M) {
        let _ = self.to.send(FromJob::Message(message));
    }

    /// Whether the caller has stopped waiting.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// A message of a job, or its result.
enum FromJob<M> {
    Message(M),
    Ended,
}

type Ended<T> = Result<Answer<T>, Box<dyn Any + Send>>;

/// How a job is run.
#[derive(Clone)]
pub(crate) struct How {
    /// Name of the calling function in Python.
    pub(crate) place: &'static str,
    /// Whether the job computes: then it has its own thread pool, which is abandoned with it.
    pub(crate) computes: bool,
    /// Number of threads; `None` means one per processor.
    pub(crate) threads: Option<usize>,
    /// Folder that the job writes to.
    pub(crate) folder: Option<PathBuf>,
}

impl How {
    /// A computing job without a folder.
    pub(crate) fn at(place: &'static str) -> Self {
        How { place, computes: true, threads: None, folder: None }
    }

    /// A job that only reads or writes data.
    pub(crate) fn light(place: &'static str) -> Self {
        How { computes: false, ..How::at(place) }
    }
}

/// Runs `job` on another thread. `hear` is called on this thread with the job's messages; its error ends the wait, and so does Ctrl-C.
pub(crate) fn run<T: Send + 'static, M: Send + 'static>(
    py: Python<'_>,
    how: How,
    job: impl FnOnce(&JobContext<M>) -> Answer<T> + Send + 'static,
    mut hear: impl FnMut(Python<'_>, M) -> PyResult<()>,
) -> Answer<T> {
    let pool = if how.computes { Some(own(how.threads)?) } else { None };
    let (to, mut from) = channel();
    let cancel = Arc::new(AtomicBool::new(false));
    let context = JobContext { cancel: cancel.clone(), to: to.clone() };
    let answer: Arc<Mutex<Option<Ended<T>>>> = Arc::default();
    let theirs = answer.clone();
    let held = how.folder.as_deref().map(Held::take);
    let left = Left { cancel: &cancel, held: held.as_ref().map(|held| held.abandoned.clone()) };
    let work = move || {
        let job = || {
            failpoint_at_work(how.place);
            job(&context)
        };
        let done = catch_unwind(AssertUnwindSafe(|| match &pool {
            Some(pool) => pool.install(job),
            None => job(),
        }));
        *lock(&theirs) = Some(done);
        // If the caller has stopped waiting, the result is dropped here; only then is the folder released.
        drop(theirs);
        drop(held);
        let _ = to.send(FromJob::Ended);
    };
    let spawned = std::thread::Builder::new().name(how.place.into()).spawn(work);
    spawned.map_err(|error| internal(how.place, &format!("cannot start a thread: {error}")))?;
    loop {
        let (news, back) = py.detach(move || (from.recv_timeout(SLICE), from));
        from = back;
        match news {
            Ok(FromJob::Message(message)) => hear(py, message)?,
            Ok(FromJob::Ended) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        py.check_signals()?;
    }
    drop(left);
    let ended = lock(&answer).take();
    match ended {
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => Err(internal(how.place, panic_message(panic.as_ref())).into()),
        None => Err(internal(how.place, "it ended without an answer").into()),
    }
}

/// Runs a job that sends no messages.
pub(crate) fn quietly<T: Send + 'static>(
    py: Python<'_>,
    how: How,
    job: impl FnOnce(&JobContext<()>) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    run(py, how, job, |_, ()| Ok(()))
}

/// Guard that sets the cancellation flag of a job when the caller stops waiting for any reason.
struct Left<'a> {
    cancel: &'a AtomicBool,
    held: Option<Arc<AtomicBool>>,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        if let Some(abandoned) = &self.held {
            abandoned.store(true, Ordering::Relaxed);
        }
    }
}

/// Closes a resource in `folder`. After an interruption the caller does not wait for abandoned jobs.
pub(crate) fn close<T: Send + 'static>(
    py: Python<'_>,
    place: &'static str,
    folder: &Path,
    opened: &Arc<Mutex<Option<T>>>,
) -> Answer<()> {
    let opened = opened.clone();
    let close = move || drop(lock(&opened).take());
    if is_given_up(folder) {
        return afterwards(place, folder, close);
    }
    quietly(py, How { folder: Some(folder.into()), ..How::light(place) }, move |_| {
        close();
        Ok(())
    })
}

/// Runs a short operation after an abandoned job has finished; only a caller that opens the folder waits for it.
fn afterwards(place: &'static str, folder: &Path, job: impl FnOnce() + Send + 'static) -> Answer<()> {
    let held = Held::take(folder);
    held.abandoned.store(true, Ordering::Relaxed);
    let work = move || {
        let _ = catch_unwind(AssertUnwindSafe(job));
        drop(held);
    };
    let spawned = std::thread::Builder::new().name(place.into()).spawn(work);
    spawned.map_err(|error| internal(place, &format!("cannot start a thread: {error}")))?;
    Ok(())
}

/// A folder in use by a job.
struct Worked {
    number: usize,
    folder: PathBuf,
    /// Whether the caller of that job has stopped waiting.
    abandoned: Arc<AtomicBool>,
    /// Process of the job: a forked process does not wait for it.
    process: u32,
}

/// Folders in use by jobs.
static HELD: Mutex<Vec<Worked>> = Mutex::new(Vec::new());
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Guard that marks a folder as in use until it is dropped.
struct Held {
    number: usize,
    abandoned: Arc<AtomicBool>,
}

impl Held {
    fn take(folder: &Path) -> Self {
        let (number, abandoned) = (NUMBER.fetch_add(1, Ordering::Relaxed), Arc::new(AtomicBool::new(false)));
        let (folder, process) = (whole(folder), std::process::id());
        lock(&HELD).push(Worked { number, folder, abandoned: abandoned.clone(), process });
        Held { number, abandoned }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&HELD).retain(|worked| worked.number != self.number);
    }
}

/// Waits until abandoned jobs have released `folder`.
pub(crate) fn settle(py: Python<'_>, folder: &Path) -> PyResult<()> {
    while is_given_up(folder) {
        py.detach(|| std::thread::sleep(Duration::from_millis(5)));
        py.check_signals()?;
    }
    Ok(())
}

/// Whether an abandoned job still works in `folder`.
pub(crate) fn is_given_up(folder: &Path) -> bool {
    let (folder, process) = (whole(folder), std::process::id());
    let ours = |worked: &Worked| worked.process == process && worked.folder == folder;
    lock(&HELD).iter().any(|worked| ours(worked) && worked.abandoned.load(Ordering::Relaxed))
}

/// The canonical path of a folder, for comparisons.
fn whole(folder: &Path) -> PathBuf {
    std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.into())
}

/// Runs a short operation with the interpreter released, on the shared thread pool.
pub(crate) fn brief<T: Send>(py: Python<'_>, act: impl FnOnce() -> T + Send) -> Answer<T> {
    let pool = shared()?;
    Ok(py.detach(|| pool.install(act)))
}

/// The shared thread pool and the process it belongs to.
static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The shared thread pool. A forked process creates its own, because threads do not survive a fork.
fn shared() -> Answer<Arc<ThreadPool>> {
    let mut shared = lock(&SHARED);
    match &*shared {
        Some((process, pool)) if *process == std::process::id() => Ok(pool.clone()),
        _ => {
            let pool = Arc::new(made(0)?);
            // The parent's threads do not exist in this process, so the pool must not be dropped.
            std::mem::forget(shared.replace((std::process::id(), pool.clone())));
            Ok(pool)
        }
    }
}

/// A thread pool for one job.
fn own(threads: Option<usize>) -> Answer<ThreadPool> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        let message = format!("threads must be between 1 and {MOST_THREADS}, not {threads}");
        return Err(Failure::invalid(message).into());
    }
    made(threads.unwrap_or(0))
}

fn made(threads: usize) -> Answer<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Trouble::from(internal("threads", &format!("cannot start threads: {error}"))))
}

/// Locks a mutex and ignores poisoning: every protected value is changed in a single step, so it is always consistent.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
