//! Runs the steps of `cargo xtask test`, several at a time.
//!
//! Each step is a process of its own (`cargo xtask step NAME`) that writes to a file in `target/checks`. The output appears in the order of
//! the list: of the first step that has not ended while it runs, of the others when their turn comes. After a failure no step is started,
//! and those that run are waited for, because their results are useful too.

use crate::run::root;
use crate::steps::{Outcome, Step};
use crate::tell;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Steps that run at the same time: one fills the waits and the single-threaded parts of the other.
const LANES: usize = 2;

/// Time between two looks at the running steps.
const LOOK: Duration = Duration::from_millis(100);

/// What a step's process leaves for the process that started it.
#[derive(Serialize, Deserialize)]
struct Record {
    result: Result<Outcome, String>,
    /// Processor seconds of the programs that the step ran, if the system provides them.
    processor: Option<f64>,
}

/// The state of a step.
enum State {
    Waiting,
    Running { child: Child, begin: Instant },
    Ended { seconds: f64, record: Record },
}

/// Runs all steps. With `strict`, a missing package is a failure.
pub(crate) fn run(steps: &[Step], strict: bool) -> Result<(), String> {
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    keep_program()?;
    let begin = Instant::now();
    let mut states: Vec<State> = steps.iter().map(|_| State::Waiting).collect();
    let (mut shown, mut output) = (0, None);
    while shown < steps.len() {
        for (step, state) in steps.iter().zip(&mut states) {
            update(step, state, strict)?;
        }
        while let Some(next) = startable(steps, &states) {
            states[next] = start(&steps[next])?;
        }
        match &states[shown] {
            // Nothing is started any more: this step will not run.
            State::Waiting if !states.iter().any(|state| matches!(state, State::Running { .. })) => {
                shown += 1;
            }
            State::Waiting => std::thread::sleep(LOOK),
            State::Running { .. } => {
                show(steps, shown, &mut output);
                std::thread::sleep(LOOK);
            }
            State::Ended { record, .. } => {
                show(steps, shown, &mut output);
                tell(&ending(steps, shown, record));
                (shown, output) = (shown + 1, None);
            }
        }
    }
    let summary = Summary::of(steps, &states);
    tell(&summary.times(begin.elapsed().as_secs_f64()));
    if summary.failed.is_empty() {
        tell(&format!("{}\n", summary.line()));
        return Ok(());
    }
    for (name, message) in &summary.failed {
        tell(&format!("error: {name}: {message}\n"));
    }
    Err(summary.line())
}

/// Runs one step in this process and records the result.
pub(crate) fn one(step: &Step) -> Result<(), String> {
    let result = (step.run)();
    let record = Record { result, processor: processor_seconds() };
    let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let path = folder().join(step.name).with_extension("json");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Folder of outputs and results.
fn folder() -> PathBuf {
    root().join("target/checks")
}

/// The copy of this program that runs the steps. The steps compile the workspace, and the compiler replaces the file of this process.
fn program() -> PathBuf {
    folder().join(format!("xtask{}", std::env::consts::EXE_SUFFIX))
}

fn keep_program() -> Result<(), String> {
    let copy = std::env::current_exe().and_then(|file| fs::copy(file, program()));
    copy.map_err(|error| format!("a copy of this program for the steps: {error}")).map(drop)
}

/// The first step that waits for nothing, if a lane is free and nothing has failed.
fn startable(steps: &[Step], states: &[State]) -> Option<usize> {
    let running = states.iter().filter(|state| matches!(state, State::Running { .. })).count();
    let failed = |state: &State| matches!(state, State::Ended { record, .. } if record.result.is_err());
    if running >= LANES || states.iter().any(failed) {
        return None;
    }
    let ended = |name: &&str| {
        steps
            .iter()
            .zip(states)
            .any(|(step, state)| step.name == *name && matches!(state, State::Ended { .. }))
    };
    (0..steps.len()).find(|&i| matches!(states[i], State::Waiting) && steps[i].needs.iter().all(ended))
}

fn start(step: &Step) -> Result<State, String> {
    let path = folder().join(step.name).with_extension("txt");
    let failed = |error: std::io::Error| format!("{}: {error}", step.name);
    let file = File::create(path).map_err(failed)?;
    let mut command = Command::new(program());
    command.args(["step", step.name]).stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(failed)?).stderr(file);
    // Output is compared with that of a terminal of unknown width.
    command.env_remove("COLUMNS");
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let child = command.spawn().map_err(failed)?;
    Ok(State::Running { child, begin: Instant::now() })
}

/// Reads the result of a step that has ended.
fn update(step: &Step, state: &mut State, strict: bool) -> Result<(), String> {
    let State::Running { child, begin } = state else { return Ok(()) };
    let Some(status) = child.try_wait().map_err(|error| format!("{}: {error}", step.name))? else {
        return Ok(());
    };
    let path = folder().join(step.name).with_extension("json");
    let record = fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok());
    let mut record: Record = record.unwrap_or_else(|| Record {
        result: Err(format!("the step ended with {status} and left no result")),
        processor: None,
    });
    if let (true, Ok(Outcome::Missing(reason))) = (strict, &record.result) {
        record.result = Err(format!("skipped, which CI does not accept: {reason}"));
    }
    *state = State::Ended { seconds: begin.elapsed().as_secs_f64(), record };
    Ok(())
}

/// Prints what the step has written since the last call.
fn show(steps: &[Step], step: usize, output: &mut Option<File>) {
    if output.is_none() {
        tell(&format!("[{}/{}] {}\n", step + 1, steps.len(), steps[step].name));
        *output = File::open(folder().join(steps[step].name).with_extension("txt")).ok();
    }
    let mut new = Vec::new();
    if output.as_mut().is_some_and(|file| file.read_to_end(&mut new).is_ok()) {
        tell(&String::from_utf8_lossy(&new));
    }
}

/// The line that ends the output of a step.
fn ending(steps: &[Step], step: usize, record: &Record) -> String {
    match &record.result {
        Ok(outcome) => format!("[{}/{}] {}: {outcome}\n\n", step + 1, steps.len(), steps[step].name),
        Err(message) => format!("\nerror: {}: {message}\n\n", steps[step].name),
    }
}

/// Results of the steps.
#[derive(Default)]
struct Summary {
    passed: usize,
    skipped: Vec<String>,
    failed: Vec<(String, String)>,
    not_run: usize,
    /// Name, wall-clock seconds and, if known, processor seconds of each step that ran.
    times: Vec<(String, f64, Option<f64>)>,
}

impl Summary {
    fn of(steps: &[Step], states: &[State]) -> Self {
        let mut summary = Self::default();
        for (step, state) in steps.iter().zip(states) {
            match state {
                State::Ended { seconds, record } => summary.ended(step.name, *seconds, record),
                State::Waiting | State::Running { .. } => summary.not_run += 1,
            }
        }
        summary
    }

    fn ended(&mut self, name: &str, seconds: f64, record: &Record) {
        self.times.push((name.into(), seconds, record.processor));
        match &record.result {
            Ok(Outcome::Passed) => self.passed += 1,
            Ok(Outcome::Impossible(reason) | Outcome::Missing(reason)) => {
                self.skipped.push(format!("{name}: {reason}"));
            }
            Err(message) => self.failed.push((name.into(), message.clone())),
        }
    }

    /// A table of the times. Steps overlap, so their seconds add up to more than `total`.
    fn times(&self, total: f64) -> String {
        let used: Option<f64> = self.times.iter().map(|(_, _, used)| *used).sum();
        let rows = self.times.iter().map(|(name, seconds, used)| (name.as_str(), *seconds, *used));
        let line = |(name, seconds, used): (&str, f64, Option<f64>)| {
            let used = used.map_or("-".into(), |used| format!("{used:.0}"));
            format!("{name:<20} {seconds:>8.0} {used:>12}\n")
        };
        let head = format!("{:<20} {:>8} {:>12}\n", "step", "seconds", "processor s");
        head + &rows.chain([("all, two at a time", total, used)]).map(line).collect::<String>() + "\n"
    }

    /// The summary line, which names failed steps, and skipped steps with their reasons.
    fn line(&self) -> String {
        let names = |names: &[String], separator: &str| {
            if names.is_empty() { String::new() } else { format!(" ({})", names.join(separator)) }
        };
        let failed: Vec<String> = self.failed.iter().map(|(name, _)| name.clone()).collect();
        let not_run = if self.not_run == 0 { String::new() } else { format!(", {} not run", self.not_run) };
        format!(
            "{} passed, {} skipped{}, {} failed{}{not_run}",
            self.passed,
            self.skipped.len(),
            names(&self.skipped, "; "),
            failed.len(),
            names(&failed, ", "),
        )
    }
}

/// Processor time of terminated child processes, if the system provides it.
fn processor_seconds() -> Option<f64> {
    let said = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, in parentheses, may contain blanks. Of those after it, the 14th and 15th count hundredths of seconds.
    let fields: Vec<&str> = said.rsplit(')').next()?.split_whitespace().collect();
    let hundredths = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((hundredths(13)? + hundredths(14)?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [Step; 4] = [
        Step { name: "format", needs: &[], run: || Ok(Outcome::Passed) },
        Step { name: "build", needs: &["format"], run: || Ok(Outcome::Passed) },
        Step { name: "tools", needs: &[], run: || Ok(Outcome::Passed) },
        Step { name: "tests", needs: &["build", "tools"], run: || Ok(Outcome::Passed) },
    ];

    fn ended(result: Result<Outcome, String>) -> State {
        State::Ended { seconds: 1.0, record: Record { result, processor: Some(2.0) } }
    }

    fn waiting() -> Vec<State> {
        STEPS.iter().map(|_| State::Waiting).collect()
    }

    #[test]
    fn a_step_starts_when_what_it_needs_has_ended() {
        let mut states = waiting();
        assert_eq!(startable(&STEPS, &states), Some(0));
        states[0] = ended(Ok(Outcome::Passed));
        assert_eq!(startable(&STEPS, &states), Some(1));
        states[1] = ended(Ok(Outcome::Passed));
        assert_eq!(startable(&STEPS, &states), Some(2));
        states[2] = ended(Ok(Outcome::Missing("no npm".into())));
        assert_eq!(startable(&STEPS, &states), Some(3));
        states[0] = ended(Err("not formatted".into()));
        assert_eq!(startable(&STEPS, &states), None, "nothing starts after a failure");
    }

    #[test]
    fn the_last_line_names_what_failed_and_what_was_skipped() {
        let mut states = waiting();
        for state in &mut states {
            *state = ended(Ok(Outcome::Passed));
        }
        assert_eq!(Summary::of(&STEPS, &states).line(), "4 passed, 0 skipped, 0 failed");
        states[0] = ended(Ok(Outcome::Impossible("no Chromium".into())));
        states[1] = ended(Err("two tests".into()));
        states[3] = State::Waiting;
        assert_eq!(
            Summary::of(&STEPS, &states).line(),
            "1 passed, 1 skipped (format: no Chromium), 1 failed (build), 1 not run"
        );
    }

    #[test]
    fn times_are_a_table_with_a_sum() {
        let mut states = waiting();
        (states[0], states[1]) = (ended(Ok(Outcome::Passed)), ended(Err("broken".into())));
        let mut summary = Summary::of(&STEPS, &states);
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let table = summary.times(1.4);
        assert_eq!(words(table.lines().nth(2).unwrap()), ["build", "1", "2"]);
        assert_eq!(words(table.lines().nth(3).unwrap()).last().unwrap(), "4");
        summary.times.push(("lints".into(), 1.0, None));
        assert_eq!(words(summary.times(102.4).lines().nth(4).unwrap()).last().unwrap(), "-");
    }

    #[test]
    fn processor_time_grows_with_what_programs_use() {
        let Some(before) = processor_seconds() else { return };
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", work]).status().is_ok_and(|status| status.success()));
        assert!(processor_seconds().is_some_and(|after| after > before), "{before}");
    }
}
