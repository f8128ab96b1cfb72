//! `cargo xtask test`: all checks, ordered such that failures are found as cheaply as possible.

use crate::run::{build, cargo, output_within, pass, root};
use crate::{browser, gate, python, readme, tell};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Outcome of a step that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// The machine cannot run the step, with the reason. Always accepted.
    Impossible(String),
    /// A package that could be installed is missing. With `CI` set this is a failure.
    Missing(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Passed => write!(f, "ok"),
            Outcome::Impossible(reason) | Outcome::Missing(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

type Step = (&'static str, fn() -> Result<Outcome, String>);

const STEPS: [Step; 10] = [
    ("format", format),
    ("lints", lints),
    ("tests", tests),
    ("documentation tests", doc_tests),
    ("examples", examples),
    ("README", readme::check),
    ("browser", browser::run),
    ("documentation", documentation),
    ("Python", python::test),
    ("instruction counts", || gate::run(false)),
];

/// Time limit of an example.
const EXAMPLE_LIMIT: Duration = Duration::from_mins(1);

/// Runs all steps up to the first failure, then prints the duration of each and a summary line.
pub(crate) fn test() -> Result<(), String> {
    let strict = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    let mut summary = Summary::default();
    let begin = Instant::now();
    for (i, (name, step)) in STEPS.iter().enumerate() {
        tell(&format!("[{}/{}] {name}\n", i + 1, STEPS.len()));
        let (start, before) = (Instant::now(), processor_seconds());
        let outcome = match step() {
            Ok(Outcome::Missing(reason)) if strict => {
                Err(format!("skipped, which CI does not accept: {reason}"))
            }
            other => other,
        };
        let used = processor_seconds().zip(before).map(|(after, before)| after - before);
        summary.took(name, start.elapsed().as_secs_f64(), used);
        match outcome {
            Ok(outcome) => {
                tell(&format!("[{}/{}] {name}: {outcome}\n\n", i + 1, STEPS.len()));
                summary.ended(name, &outcome);
            }
            Err(message) => {
                tell(&format!("\nerror: {name}: {message}\n\n"));
                tell(&summary.times(begin.elapsed().as_secs_f64()));
                return Err(summary.line(&format!("1 failed ({name}), {} not run", STEPS.len() - i - 1)));
            }
        }
    }
    tell(&summary.times(begin.elapsed().as_secs_f64()));
    tell(&format!("{}\n", summary.line("0 failed")));
    Ok(())
}

/// Results of the steps, for the summary.
#[derive(Default)]
struct Summary {
    passed: usize,
    skipped: Vec<String>,
    /// Name, wall-clock seconds and, if known, processor seconds of each step.
    times: Vec<(String, f64, Option<f64>)>,
}

impl Summary {
    fn took(&mut self, name: &str, seconds: f64, processor: Option<f64>) {
        self.times.push((name.into(), seconds, processor));
    }

    fn ended(&mut self, name: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Impossible(reason) | Outcome::Missing(reason) => {
                self.skipped.push(format!("{name}: {reason}"));
            }
        }
    }

    fn times(&self, total: f64) -> String {
        let used: Option<f64> = self.times.iter().map(|(_, _, used)| *used).sum();
        let rows = self.times.iter().map(|(name, seconds, used)| (name.as_str(), *seconds, *used));
        let line = |(name, seconds, used): (&str, f64, Option<f64>)| {
            let used = used.map_or("-".into(), |used| format!("{used:.0}"));
            format!("{name:<20} {seconds:>8.0} {used:>12}\n")
        };
        let head = format!("{:<20} {:>8} {:>12}\n", "step", "seconds", "processor s");
        head + &rows.chain([("all", total, used)]).map(line).collect::<String>() + "\n"
    }

    /// The summary line, which names skipped steps with their reasons.
    fn line(&self, failed: &str) -> String {
        let names =
            if self.skipped.is_empty() { String::new() } else { format!(" ({})", self.skipped.join("; ")) };
        format!("{} passed, {} skipped{names}, {failed}", self.passed, self.skipped.len())
    }
}

/// Processor time of terminated child processes, if the system provides it.
fn processor_seconds() -> Option<f64> {
    let said = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, in parentheses, may contain blanks. Of those after it, the 14th and 15th count hundredths of seconds.
    let fields: Vec<&str> = said.rsplit(')').next()?.split_whitespace().collect();
    let hundredths = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((hundredths(13)? + hundredths(14)?) / 100.0)
}

fn format() -> Result<Outcome, String> {
    pass(cargo(&["fmt", "--all", "--check"]))
        .map_err(|error| format!("{error}; fix it with: cargo fmt --all"))?;
    Ok(Outcome::Passed)
}

fn lints() -> Result<Outcome, String> {
    pass(cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

fn tests() -> Result<Outcome, String> {
    let mut probe = cargo(&["nextest", "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        pass(cargo(&["nextest", "run", "--workspace"]))?;
    } else {
        // Not `--all-targets`: that would run the benchmarks, which have their own main function.
        pass(cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--examples"]))?;
    }
    Ok(Outcome::Passed)
}

fn doc_tests() -> Result<Outcome, String> {
    pass(cargo(&["test", "--doc", "--workspace"]))?;
    Ok(Outcome::Passed)
}

/// Builds and runs every file in `examples/`.
fn examples() -> Result<Outcome, String> {
    let built = programs()?;
    let files = std::fs::read_dir(root().join("examples")).map_err(|error| format!("examples/: {error}"))?;
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.path().file_name()?.to_str()?.strip_suffix(".rs").map(String::from))
        .collect();
    names.sort();
    for name in names {
        let Some((_, path)) = built.iter().find(|(built, _)| *built == name) else {
            return Err(format!("examples/{name}.rs has no [[example]] entry in crates/ocorl/Cargo.toml"));
        };
        let begin = Instant::now();
        let said = output_within(EXAMPLE_LIMIT, Command::new(path))?.stdout;
        if said.is_empty() {
            return Err(format!("examples/{name}.rs prints nothing"));
        }
        tell(&format!("  {name}: {:.1} s\n", begin.elapsed().as_secs_f64()));
    }
    Ok(Outcome::Passed)
}

fn documentation() -> Result<Outcome, String> {
    // Binaries are left out: the documentation of the `ocorl` program would overwrite that of the library.
    let mut command = cargo(&[
        "doc",
        "--no-deps",
        "--workspace",
        "--exclude",
        "ocorl-cli",
        "--exclude",
        "ocorl-py",
        "--exclude",
        "xtask",
    ]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    pass(command)?;
    Ok(Outcome::Passed)
}

/// Program and examples in the test profile. The whole workspace is built, so that features are the same and nothing is compiled twice.
pub(crate) fn programs() -> Result<Vec<(String, PathBuf)>, String> {
    build(&["build", "--workspace", "--bins", "--examples"])
}

/// The program in the test profile.
pub(crate) fn program() -> Result<PathBuf, String> {
    named(programs()?)
}

/// The program in the release profile.
pub(crate) fn released() -> Result<PathBuf, String> {
    named(build(&["build", "--release"])?)
}

fn named(built: Vec<(String, PathBuf)>) -> Result<PathBuf, String> {
    let found = built.into_iter().find(|(name, _)| name == "ocorl");
    Ok(found.ok_or("cargo built no program called ocorl")?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_what_was_skipped() {
        let mut summary = Summary::default();
        summary.ended("format", &Outcome::Passed);
        assert_eq!(summary.line("0 failed"), "1 passed, 0 skipped, 0 failed");
        summary.ended("browser", &Outcome::Impossible("no Chromium".into()));
        summary.ended("Python", &Outcome::Missing("no python3".into()));
        assert_eq!(
            summary.line("0 failed"),
            "1 passed, 2 skipped (browser: no Chromium; Python: no python3), 0 failed"
        );
    }

    #[test]
    fn times_are_a_table_with_a_sum() {
        let mut summary = Summary::default();
        summary.took("format", 1.4, Some(0.6));
        summary.took("tests", 100.0, Some(180.0));
        let table = summary.times(101.4);
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(words(table.lines().nth(2).unwrap()), ["tests", "100", "180"]);
        assert_eq!(words(table.lines().nth(3).unwrap()), ["all", "101", "181"]);
        summary.took("lints", 1.0, None);
        assert_eq!(words(summary.times(102.4).lines().nth(4).unwrap()), ["all", "102", "-"]);
    }

    #[test]
    fn processor_time_grows_with_what_programs_use() {
        let Some(before) = processor_seconds() else { return };
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", work]).status().is_ok_and(|status| status.success()));
        assert!(processor_seconds().is_some_and(|after| after > before), "{before}");
    }
}
