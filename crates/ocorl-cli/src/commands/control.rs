//! `ocorl control`: runs a plan on hardware. Reads one state per line, writes one control per line.

mod shown;

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::signals::Signals;
use crate::terminal::{Answer, say};
use ocorl_study::control::{self, Controller, Deadline, Effort, ITERATIONS, Monotonic, Session, Settings};
use ocorl_study::files::read_text;
use ocorl_study::plan_file::PlanFile;
use shown::Shown;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Interval at which signals are checked.
const TICK: Duration = Duration::from_millis(10);

/// Time for the first two solves, which touch all memory for the first time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Number of lines that may wait while one is answered; then the sender has to wait.
const QUEUE: usize = 16;

/// Largest length of a line in bytes; a longer one is not a state.
const LONGEST_LINE: u64 = 1 << 16;

/// Largest number of steps to the safe control when the program is stopped.
const LAST_STEPS: usize = 500;

/// Arguments of `ocorl control`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  echo '{\"t\": 0.0, \"x\": [3.14, 0.0]}' | ocorl control plan.json
  my-robot < pipe | ocorl control plan.json --log steps.csv > pipe

Each input line is a state, {\"t\": 0.02, \"x\": [..]} or x by names; without t the present time is used.
Each output line is a control, {\"t\": 0.02, \"u\": [..], \"level\": \"planned\", \"late\": false}.
Its \"level\" is the fallback level; \"measure\": true requests a measurement.")]
pub(crate) struct Arguments {
    /// The plan, as written by `ocorl study ask`
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Index of the initial state in the plan
    #[arg(long, alias = "leg", value_name = "N", default_value_t = 0)]
    rollout: usize,
    /// Time that a step waits for the solver, in milliseconds [default: half the period]
    #[arg(long, value_name = "MS")]
    budget: Option<f64>,
    /// Largest number of solver iterations; 0 uses the plan's feedback gains only
    #[arg(long, value_name = "N", default_value_t = ITERATIONS)]
    iterations: usize,
    /// Time without input after which the control becomes the safe one, in milliseconds [default: three periods]
    #[arg(long, value_name = "MS")]
    watchdog: Option<f64>,
    /// States in a row that may be missing or not finite before the control goes to the safe one [default: 3]
    #[arg(long, value_name = "N")]
    max_dropouts: Option<usize>,
    /// Write every step to this CSV file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Folder of the study: show the run in `ocorl watch`, and store controller performance
    #[arg(long, value_name = "DIR")]
    study: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let plan = read_plan(&arguments.plan)?;
    let mut settings = Settings::of(&plan);
    if let Some(budget) = milliseconds("--budget", arguments.budget)? {
        settings.budget = budget;
    }
    if let Some(count) = arguments.max_dropouts {
        settings.max_dropouts = count;
    }
    let three = Duration::try_from_secs_f64(3.0 * plan.period).unwrap_or(Duration::MAX);
    let watchdog = milliseconds("--watchdog", arguments.watchdog)?.unwrap_or(three);
    let mut controller = Controller::new(&plan, arguments.rollout)?.with_settings(settings);
    let make = if arguments.iterations > 0 { control::solvers(&plan, arguments.iterations)? } else { None };
    if let Some(make) = make {
        let reference = control::reference(&plan, arguments.rollout)?;
        controller = controller.with_solver(Box::new(Deadline::new(reference, Effort::default(), make)));
        controller.warm_up(PATIENCE);
    }
    let session = Session::new(&plan, arguments.rollout, controller, Monotonic::start(), watchdog)?
        .deciding(control::online(&plan, arguments.rollout)?);
    let log = arguments.log.as_deref().map(|path| Log::create(path, plan.controls.len())).transpose()?;
    let signals = Signals::catch()?;
    let shown = arguments
        .study
        .as_deref()
        .map(|folder| Shown::begin(folder, &plan, arguments.rollout))
        .transpose()?;
    let mut session_io = SessionIo { session, log, shown, text: String::new() };
    let ended = session_io.serve(&listen(), &signals);
    let summary = session_io.session.summary();
    if let Some(log) = &mut session_io.log {
        log.flush();
    }
    if let Some(shown) = session_io.shown.take() {
        shown.end(&session_io.session);
    }
    match ended {
        Ok(None) => {
            Ok(Answer { text: String::new(), remark: if global.quiet { String::new() } else { summary } })
        }
        Ok(Some(signal)) => {
            let mut failure = Failure::interrupted(signal, "interrupted; the last control is the safe one")
                .detail("steps", summary.trim_end());
            // No output may follow the last control.
            failure.output = Some(String::new());
            Err(failure)
        }
        Err(error) => {
            let mut failure = Failure::disk("to standard output", &error).detail("steps", summary.trim_end());
            failure.output = Some(String::new());
            Err(failure)
        }
    }
}

/// Reads a plan from a file.
pub(super) fn read_plan(path: &Path) -> Result<PlanFile, Failure> {
    let name = path.display().to_string();
    let text = read_text(path, PlanFile::LARGEST).map_err(|cause| {
        Failure::usage(format!("cannot read '{name}'"))
            .detail("cause", cause)
            .hint("`ocorl study ask` writes plans")
    })?;
    Ok(PlanFile::parse(&text, &name)?)
}

fn milliseconds(option: &str, value: Option<f64>) -> Result<Option<Duration>, Failure> {
    let Some(value) = value else { return Ok(None) };
    let time = Duration::try_from_secs_f64(value * 1e-3).ok().filter(|time| !time.is_zero());
    time.map(Some).ok_or_else(|| {
        Failure::usage(format!("{option} must be a positive number of milliseconds, not {value}"))
    })
}

/// An input event.
enum Input {
    Line(Vec<u8>),
    TooLong,
}

/// Reads lines in a thread of its own, because reading cannot be interrupted.
fn listen() -> Receiver<Input> {
    let (sender, lines) = sync_channel(QUEUE);
    std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(Some(line)) = next_line(&mut input) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The next line without its line break; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Input>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Input::Line(line)));
    }
    if (line.len() as u64) < LONGEST_LINE {
        // The last line has no line break.
        return Ok(Some(Input::Line(line)));
    }
    input.skip_until(b'\n')?;
    Ok(Some(Input::TooLong))
}

/// A control session with its input and output.
struct SessionIo<'a> {
    session: Session<'a, Monotonic>,
    log: Option<Log>,
    shown: Option<Shown>,
    text: String,
}

impl SessionIo<'_> {
    /// Answers states until the input ends (`None`) or a signal arrives (its number).
    fn serve(&mut self, lines: &Receiver<Input>, signals: &Signals) -> io::Result<Option<usize>> {
        loop {
            if let Some(signal) = signals.caught() {
                self.ramp_to_safe()?;
                return Ok(Some(signal));
            }
            let wait = self.session.wait().unwrap_or(TICK).min(TICK);
            match lines.recv_timeout(wait) {
                Ok(Input::Line(line)) => self.session.line(&line, &mut self.text),
                Ok(Input::TooLong) => self.session.too_long(&mut self.text),
                Err(RecvTimeoutError::Timeout) => {
                    self.session.idle(&mut self.text);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            if !self.flush_output()? {
                return Ok(None);
            }
        }
    }

    /// Writes the safe control; with a rate limit, the steps towards it.
    fn ramp_to_safe(&mut self) -> io::Result<()> {
        for _ in 0..LAST_STEPS {
            let reached = self.session.stop(&mut self.text);
            if !self.flush_output()? || reached {
                break;
            }
            std::thread::sleep(self.session.period());
        }
        Ok(())
    }

    /// Writes pending output at once. Returns false if the reader is gone.
    fn flush_output(&mut self) -> io::Result<bool> {
        if self.text.is_empty() {
            return Ok(true);
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(self.text.as_bytes()).and_then(|()| out.flush());
        self.text.clear();
        if let Some(log) = &mut self.log {
            log.write(&self.session);
        }
        if let Some(shown) = &mut self.shown {
            shown.step(&self.session);
        }
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// A log with one row per step. A failure to write it does not stop the session.
struct Log {
    file: BufWriter<File>,
    rows: usize,
    broken: bool,
}

impl Log {
    /// Number of rows that may be lost if the process is killed.
    const UNWRITTEN: usize = 100;

    fn create(path: &Path, controls: usize) -> Result<Self, Failure> {
        let mut file = File::create(path).map(BufWriter::new).map_err(|error| Failure::file(path, &error))?;
        let names: Vec<String> = (0..controls).map(|j| format!("u{j}")).collect();
        writeln!(file, "t,level,late,age,step_ms,why,{}", names.join(","))
            .and_then(|()| file.flush())
            .map_err(|error| Failure::file(path, &error))?;
        Ok(Log { file, rows: 0, broken: false })
    }

    fn write(&mut self, session: &Session<'_, Monotonic>) {
        let event = session.event();
        let (status, took) = (event.status, event.took.as_secs_f64() * 1e3);
        let (level, why) = (status.level.name(), status.reason.map_or("", |reason| reason.text()));
        let controls: Vec<String> = session.control().iter().map(|u| format!("{u:?}")).collect();
        let row = format!(
            "{:?},{level},{},{:?},{took:.4},{why},{}\n",
            event.time,
            status.missed,
            status.age,
            controls.join(",")
        );
        self.rows += 1;
        let written = self.file.write_all(row.as_bytes());
        let flushed = if self.rows.is_multiple_of(Log::UNWRITTEN) { self.file.flush() } else { Ok(()) };
        self.complain(&written.and(flushed));
    }

    fn flush(&mut self) {
        let flushed = self.file.flush();
        self.complain(&flushed);
    }

    fn complain(&mut self, written: &io::Result<()>) {
        if let (Err(error), false) = (written, self.broken) {
            self.broken = true;
            say(&format!("warning: the log can no longer be written: {error}\n"));
        }
    }
}
