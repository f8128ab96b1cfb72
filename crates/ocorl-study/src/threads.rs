//! Runs cells on threads of this machine and isolates them from each other.
//!
//! Each cell has its own thread with a single rayon thread inside, so that its processor time can be measured. A panic becomes a failed
//! cell. A cell that exceeds its budget is asked to stop; if it does not react, its thread is abandoned (it ends with the program) and the
//! next cell starts.

use crate::cell::{Cell, CellResult, CellRunner, EpisodeRow};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Interval at which budgets are checked.
const TICK: Duration = Duration::from_millis(100);

/// Grace period beyond the budget: a fraction of the budget plus a number of seconds.
const GRACE: (f64, f64) = (0.1, 5.0);

/// Largest number of threads per processor for parallel computation: more of them only compete.
const THREADS_PER_PROCESSOR: usize = 16;

/// Variables of the environment that set the number of rayon's threads; the first one counts.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// The number of threads that the environment asks for beyond what the processors can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyThreads {
    variable: &'static str,
    asked: usize,
    used: usize,
}

impl fmt::Display for TooManyThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooManyThreads { variable, asked, used } = self;
        write!(f, "{variable} asks for {asked} threads, which this machine cannot use; {used} are started")
    }
}

impl TooManyThreads {
    fn of(processors: usize, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let used = THREADS_PER_PROCESSOR * processors;
        let set = VARIABLES.into_iter().find_map(|name| Some((name, variable(name)?.parse().ok()?)));
        set.filter(|(_, asked)| *asked > used).map(|(variable, asked)| TooManyThreads {
            variable,
            asked,
            used,
        })
    }
}

/// Limits the threads of this process. Without it, a process with `RAYON_NUM_THREADS=100000` starts them all, and takes minutes for what takes
/// milliseconds. Call it first, because the threads that exist stay.
pub fn limit_threads() -> Option<TooManyThreads> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let found = TooManyThreads::of(processors, |name| std::env::var(name).ok())?;
    // An error says that the threads exist already.
    rayon::ThreadPoolBuilder::new().num_threads(found.used).build_global().ok()?;
    Some(found)
}

/// Executes a cell.
pub trait Work: Send + Sync + 'static {
    /// Runs a cell; `cancel` asks it to stop soon, `watch` is called after every episode.
    fn run(&self, cell: &Cell, cancel: &Arc<AtomicBool>, watch: &mut dyn FnMut(&EpisodeRow)) -> CellResult;
}

impl Work for CellRunner {
    fn run(&self, cell: &Cell, cancel: &Arc<AtomicBool>, watch: &mut dyn FnMut(&EpisodeRow)) -> CellResult {
        CellRunner::run(self, cell, cancel, watch)
    }
}

/// Parallelism and time budget.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Number of cells that run at the same time.
    pub count: usize,
    /// Time budget of a cell.
    pub budget: Option<Duration>,
    /// Stops everything when true; unfinished cells are dropped.
    pub cancel: Arc<AtomicBool>,
}

/// Run time of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Processor time in seconds.
    pub cpu: f64,
    /// Wall-clock time in seconds.
    pub wall: f64,
}

/// A progress update. Numbers are indices in the list of cells.
#[derive(Clone, Debug)]
pub enum Update {
    /// The cell started.
    Began(usize),
    /// The cell completed an episode.
    Episode(usize, Box<EpisodeRow>),
    /// The cell finished or failed.
    Ended(usize, Box<CellResult>, Timing),
    /// No update for some time.
    Tick,
}

/// A running cell.
struct Running {
    index: usize,
    begin: Instant,
    cancel: Arc<AtomicBool>,
}

enum Message {
    Episode(usize, Box<EpisodeRow>),
    Ended(usize, Result<(Box<CellResult>, f64), String>),
}

/// Runs the cells with indices `todo`, in that order. `tell` receives every update on the calling thread; the first error it returns stops
/// the work. Returns whether all cells were run.
pub fn run<E>(
    cells: &[Cell],
    todo: &[usize],
    jobs: &Jobs,
    work: &Arc<dyn Work>,
    tell: &mut dyn FnMut(Update) -> Result<(), E>,
) -> Result<bool, E> {
    let (sender, receiver) = channel();
    let mut waiting = todo.iter().copied();
    let mut running: Vec<Running> = Vec::new();
    loop {
        while running.len() < jobs.count.max(1) && !jobs.cancel.load(Ordering::Relaxed) {
            let Some(index) = waiting.next() else { break };
            let cancel = Arc::new(AtomicBool::new(false));
            tell(Update::Began(index))?;
            start(index, cells[index].clone(), cancel.clone(), work.clone(), sender.clone());
            running.push(Running { index, begin: Instant::now(), cancel });
        }
        if running.is_empty() {
            return Ok(waiting.next().is_none());
        }
        if jobs.cancel.load(Ordering::Relaxed) {
            for cell in &running {
                cell.cancel.store(true, Ordering::Relaxed);
            }
            return Ok(false);
        }
        let place = |index: usize| running.iter().position(|r| r.index == index);
        match receiver.recv_timeout(TICK).ok() {
            Some(Message::Episode(index, row)) if place(index).is_some() => {
                tell(Update::Episode(index, row))?;
            }
            Some(Message::Ended(index, ended)) => {
                // An abandoned cell is not in the list any more.
                if let Some(place) = place(index) {
                    let cell = running.swap_remove(place);
                    tell(cell.ended(&cells[index], ended, jobs.budget))?;
                }
            }
            _ => tell(Update::Tick)?,
        }
        let Some(budget) = jobs.budget else { continue };
        for place in (0..running.len()).rev() {
            if running[place].is_deaf(budget) {
                let cell = running.swap_remove(place);
                tell(cell.ended(&cells[cell.index], Err(String::new()), jobs.budget))?;
            }
        }
    }
}

impl Running {
    /// Asks the cell to stop when its budget is used up; returns whether it has ignored that beyond the grace period.
    fn is_deaf(&self, budget: Duration) -> bool {
        let over = self.begin.elapsed().as_secs_f64() - budget.as_secs_f64();
        if over > 0.0 {
            self.cancel.store(true, Ordering::Relaxed);
        }
        over > GRACE.0 * budget.as_secs_f64() + GRACE.1
    }

    /// Result of a cell that has ended.
    fn ended(
        &self,
        cell: &Cell,
        ended: Result<(Box<CellResult>, f64), String>,
        budget: Option<Duration>,
    ) -> Update {
        let wall = self.begin.elapsed().as_secs_f64();
        let (mut result, cpu) =
            ended.unwrap_or_else(|reason| (Box::new(CellResult::failed(cell, reason)), wall));
        // A cell that finished before it noticed the request to stop has a result.
        if let Some(budget) =
            budget.filter(|_| self.cancel.load(Ordering::Relaxed) && result.failure.is_some())
        {
            result.failure = Some(format!("out of time: it took more than {} s", budget.as_secs_f64()));
            // The number of completed episodes depends on the speed of the machine.
            result.episodes.clear();
        }
        Update::Ended(self.index, result, Timing { cpu, wall })
    }
}

/// Runs one cell on its own thread.
fn start(index: usize, cell: Cell, cancel: Arc<AtomicBool>, work: Arc<dyn Work>, to: Sender<Message>) {
    let answer = to.clone();
    let run = move || {
        let mut watch = |row: &EpisodeRow| {
            let _ = to.send(Message::Episode(index, Box::new(row.clone())));
        };
        let timed = || {
            let clock = ThreadTime::now();
            let result = Box::new(work.run(&cell, &cancel, &mut watch));
            (result, clock.elapsed().as_secs_f64())
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| format!("cannot start a thread: {error}"));
        let ended = pool.and_then(|pool| {
            catch_unwind(AssertUnwindSafe(|| pool.install(timed)))
                .map_err(|panic| format!("panicked: {}", message(panic.as_ref())))
        });
        // The receiver may be gone; then the result is dropped.
        let _ = to.send(Message::Ended(index, ended));
    };
    if let Err(error) = std::thread::Builder::new().name(format!("cell {index}")).spawn(run) {
        let _ = answer.send(Message::Ended(index, Err(format!("cannot start a thread: {error}"))));
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let word = panic.downcast_ref::<&str>().copied();
    word.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_number_of_threads_is_limited() {
        let found = |first: Option<&str>, second: Option<&str>| {
            let value = |name: &str| if name == VARIABLES[0] { first } else { second };
            TooManyThreads::of(2, |name| value(name).map(str::to_owned)).map(|found| found.to_string())
        };
        for few in [None, Some("0"), Some("32"), Some("many"), Some("-1")] {
            assert_eq!(found(few, None), None, "{few:?}");
        }
        let said = found(Some("100000"), Some("1")).unwrap();
        assert_eq!(
            said,
            "RAYON_NUM_THREADS asks for 100000 threads, which this machine cannot use; 32 are started"
        );
        assert!(found(None, Some("33")).unwrap().starts_with("RAYON_RS_NUM_CPUS asks for 33 threads"));
        assert_eq!(found(Some("4"), Some("33")), None);
    }
    use crate::grid::Grid;

    /// A worker whose behaviour is selected by the seed.
    struct Pretend;

    impl Work for Pretend {
        fn run(&self, cell: &Cell, cancel: &Arc<AtomicBool>, _: &mut dyn FnMut(&EpisodeRow)) -> CellResult {
            match cell.seed {
                1 => panic!("cell {} is broken", cell.seed),
                2 => {
                    while !cancel.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    CellResult::failed(cell, "cancelled")
                }
                // Ignores the request to stop.
                3 => {
                    std::thread::sleep(Duration::from_secs(3600));
                    CellResult::failed(cell, "never")
                }
                _ => CellResult { failure: None, ..CellResult::failed(cell, "") },
            }
        }
    }

    #[test]
    fn broken_slow_and_deaf_cells_do_not_stop_the_others() {
        let cells = Grid::parse("systems = \"pendulum\"\nseeds = 8\n", "").unwrap().cells();
        let todo: Vec<usize> = (0..cells.len()).collect();
        let budget = Some(Duration::from_millis(200));
        let jobs = Jobs { count: 2, budget, cancel: Arc::default() };
        let mut ended: Vec<Option<Option<String>>> = vec![None; cells.len()];
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let work: Arc<dyn Work> = Arc::new(Pretend);
        let all = run::<()>(&cells, &todo, &jobs, &work, &mut |update| {
            if let Update::Ended(index, result, timing) = update {
                assert!(ended[index].replace(result.failure).is_none(), "cell {index} is counted twice");
                assert!(timing.wall < 60.0);
            }
            Ok(())
        });
        std::panic::set_hook(hook);
        assert_eq!(all, Ok(true));
        for (index, ended) in ended.into_iter().enumerate() {
            let failure = ended.expect("every cell ends");
            match index {
                1 => assert_eq!(failure.as_deref(), Some("panicked: cell 1 is broken")),
                2 | 3 => assert_eq!(failure.as_deref(), Some("out of time: it took more than 0.2 s")),
                _ => assert_eq!(failure, None),
            }
        }
    }

    #[test]
    fn an_error_of_whoever_listens_ends_the_work() {
        let cells = Grid::parse("systems = \"pendulum\"\nseeds = [0, 4, 5, 6]\n", "").unwrap().cells();
        let jobs = Jobs { count: 1, budget: None, cancel: Arc::default() };
        let work: Arc<dyn Work> = Arc::new(Pretend);
        let mut heard = 0;
        let ended = run(&cells, &[0, 1, 2, 3], &jobs, &work, &mut |update| {
            heard += usize::from(matches!(update, Update::Ended(..)));
            if heard == 2 { Err("disk full") } else { Ok(()) }
        });
        assert_eq!((ended, heard), (Err("disk full"), 2));
    }
}
