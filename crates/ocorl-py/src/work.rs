//! Long work: on a thread of its own, while the calling one waits with the interpreter set free and looks for Ctrl-C.
//!
//! Work that is given up is asked to stop, and left: the caller has the interpreter back at once. Until it has let go of the folder it works
//! on, whoever opens that folder here waits ([`settle`]).

use crate::errors::{Answer, Failure, Trouble, failpoint_at_work, internal, said};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the caller waits before it looks for Ctrl-C.
const SLICE: Duration = Duration::from_millis(50);

/// More threads are refused rather than tried: memory grows with them.
const MOST_THREADS: usize = 1_024;

/// What work has at hand.
pub(crate) struct Desk<M> {
    /// True when nobody waits any more.
    pub(crate) cancel: Arc<AtomicBool>,
    to: Sender<Said<M>>,
}

impl<M> Desk<M> {
    /// Tells the caller something. Who has left hears nothing.
    pub(crate) fn tell(&self, message: M) {
        let _ = self.to.send(Said::Message(message));
    }

    /// Whether the caller has left.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// What comes from work.
enum Said<M> {
    Message(M),
    Ended,
}

type Ended<T> = Result<Answer<T>, Box<dyn Any + Send>>;

/// How work is done.
#[derive(Clone)]
pub(crate) struct How {
    /// Its name in Python.
    pub(crate) place: &'static str,
    /// Whether it computes: then it has threads of its own for that, which nobody waits for if it is given up.
    pub(crate) computes: bool,
    /// How many; none: one for each processor.
    pub(crate) threads: Option<usize>,
    /// The folder that it writes to.
    pub(crate) folder: Option<PathBuf>,
}

impl How {
    /// Work that computes, in no folder.
    pub(crate) fn at(place: &'static str) -> Self {
        How { place, computes: true, threads: None, folder: None }
    }

    /// Work that only looks up or writes down.
    pub(crate) fn light(place: &'static str) -> Self {
        How { computes: false, ..How::at(place) }
    }
}

/// Does `job` on another thread. `hear` is called here, with what the job tells; its error ends the wait, and so does Ctrl-C.
pub(crate) fn run<T: Send + 'static, M: Send + 'static>(
    py: Python<'_>,
    how: How,
    job: impl FnOnce(&Desk<M>) -> Answer<T> + Send + 'static,
    mut hear: impl FnMut(Python<'_>, M) -> PyResult<()>,
) -> Answer<T> {
    let pool = if how.computes { Some(own(how.threads)?) } else { None };
    let (to, mut from) = channel();
    let cancel = Arc::new(AtomicBool::new(false));
    let desk = Desk { cancel: cancel.clone(), to: to.clone() };
    let answer: Arc<Mutex<Option<Ended<T>>>> = Arc::default();
    let theirs = answer.clone();
    let held = how.folder.as_deref().map(Held::take);
    let left = Left { cancel: &cancel, held: held.as_ref().map(|held| held.abandoned.clone()) };
    let work = move || {
        let job = || {
            failpoint_at_work(how.place);
            job(&desk)
        };
        let done = catch_unwind(AssertUnwindSafe(|| match &pool {
            Some(pool) => pool.install(job),
            None => job(),
        }));
        *lock(&theirs) = Some(done);
        // If nobody waits any more, what was done is let go of here; only then the folder is free.
        drop(theirs);
        drop(held);
        let _ = to.send(Said::Ended);
    };
    let spawned = std::thread::Builder::new().name(how.place.into()).spawn(work);
    spawned.map_err(|error| internal(how.place, &format!("cannot start a thread: {error}")))?;
    loop {
        let (news, back) = py.detach(move || (from.recv_timeout(SLICE), from));
        from = back;
        match news {
            Ok(Said::Message(message)) => hear(py, message)?,
            Ok(Said::Ended) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        py.check_signals()?;
    }
    drop(left);
    let ended = lock(&answer).take();
    match ended {
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => Err(internal(how.place, said(panic.as_ref())).into()),
        None => Err(internal(how.place, "it ended without an answer").into()),
    }
}

/// The same for work that tells nothing on the way.
pub(crate) fn quietly<T: Send + 'static>(
    py: Python<'_>,
    how: How,
    job: impl FnOnce(&Desk<()>) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    run(py, how, job, |_, ()| Ok(()))
}

/// On the way out, whichever it is, the work is told that nobody waits.
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

/// Lets go of what is open in `folder`. Who was interrupted is not made to wait now for what was given up.
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

/// Does something short after work that was given up. Nobody waits for it but who opens the folder.
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

/// A folder that is worked on.
struct Worked {
    number: usize,
    folder: PathBuf,
    /// Whether nobody waits for that work any more.
    abandoned: Arc<AtomicBool>,
    /// Who works: a process that was forked meanwhile has nothing to wait for.
    process: u32,
}

/// Folders that are worked on.
static HELD: Mutex<Vec<Worked>> = Mutex::new(Vec::new());
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A folder that is worked on, until this is dropped.
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

/// Waits until work that was given up has let go of `folder`.
pub(crate) fn settle(py: Python<'_>, folder: &Path) -> PyResult<()> {
    while is_given_up(folder) {
        py.detach(|| std::thread::sleep(Duration::from_millis(5)));
        py.check_signals()?;
    }
    Ok(())
}

/// Whether work in `folder` goes on that nobody waits for.
pub(crate) fn is_given_up(folder: &Path) -> bool {
    let (folder, process) = (whole(folder), std::process::id());
    let ours = |worked: &Worked| worked.process == process && worked.folder == folder;
    lock(&HELD).iter().any(|worked| ours(worked) && worked.abandoned.load(Ordering::Relaxed))
}

/// The same folder has the same name.
fn whole(folder: &Path) -> PathBuf {
    std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.into())
}

/// Does something short with the interpreter set free, on the threads that all share.
pub(crate) fn brief<T: Send>(py: Python<'_>, act: impl FnOnce() -> T + Send) -> Answer<T> {
    let pool = shared()?;
    Ok(py.detach(|| pool.install(act)))
}

/// The threads that all share, and the process they belong to.
static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The threads that all share. A process that was forked has none of its parent's: it makes its own.
fn shared() -> Answer<Arc<ThreadPool>> {
    let mut shared = lock(&SHARED);
    match &*shared {
        Some((process, pool)) if *process == std::process::id() => Ok(pool.clone()),
        _ => {
            let pool = Arc::new(made(0)?);
            // The threads of the parent are not here to be ended.
            std::mem::forget(shared.replace((std::process::id(), pool.clone())));
            Ok(pool)
        }
    }
}

/// Threads of one's own.
fn own(threads: Option<usize>) -> Answer<ThreadPool> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        let message = format!("threads must be between 1 and {MOST_THREADS}, not {threads}");
        return Err(Failure::mistake(message).into());
    }
    made(threads.unwrap_or(0))
}

fn made(threads: usize) -> Answer<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Trouble::from(internal("threads", &format!("cannot start threads: {error}"))))
}

/// Whoever held it and panicked has left it whole: nothing here changes in two steps.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
