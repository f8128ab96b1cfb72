//! `cargo xtask test`: everything that must hold, in the order in which failures are cheapest to find.

use crate::run::{build, cargo, output_within, pass, root};
use crate::{browser, gate, python, readme, tell};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a step ended, if it did not fail.
pub(crate) enum Outcome {
    Passed,
    /// Why it could not be done here.
    Skipped(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Passed => write!(f, "ok"),
            Outcome::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

type Step = (&'static str, fn() -> Result<Outcome, String>);

const STEPS: [Step; 11] = [
    ("format", format),
    ("lints", lints),
    ("tests", tests),
    ("features", features),
    ("documentation tests", doc_tests),
    ("examples", examples),
    ("README", readme::check),
    ("browser", browser::run),
    ("documentation", documentation),
    ("Python", python::test),
    ("instruction counts", || gate::run(false)),
];

/// An example that takes longer is not an example.
const EXAMPLE_LIMIT: Duration = Duration::from_mins(1);

/// All steps, up to the first that fails; the last line sums up.
pub(crate) fn test() -> Result<(), String> {
    let (mut passed, mut skipped) = (0, 0);
    for (i, (name, step)) in STEPS.iter().enumerate() {
        tell(&format!("[{}/{}] {name}\n", i + 1, STEPS.len()));
        let begin = Instant::now();
        match step() {
            Ok(outcome) => {
                let seconds = begin.elapsed().as_secs_f64();
                tell(&format!("[{}/{}] {name}: {outcome} ({seconds:.1} s)\n\n", i + 1, STEPS.len()));
                if matches!(outcome, Outcome::Passed) { passed += 1 } else { skipped += 1 }
            }
            Err(message) => {
                tell(&format!("\nerror: {name}: {message}\n"));
                let left = STEPS.len() - i - 1;
                return Err(format!("{passed} passed, {skipped} skipped, 1 failed ({name}), {left} not run"));
            }
        }
    }
    tell(&format!("{passed} passed, {skipped} skipped, 0 failed\n"));
    Ok(())
}

fn format() -> Result<Outcome, String> {
    pass(cargo(&["fmt", "--all", "--check"]))
        .map_err(|error| format!("{error}; mend it by: cargo fmt --all"))?;
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
        // Not `--all-targets`: that would run the benchmarks, which have a main of their own.
        pass(cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--examples"]))?;
    }
    Ok(Outcome::Passed)
}

/// What is off by default.
fn features() -> Result<Outcome, String> {
    pass(cargo(&["test", "--package", "ocorl-study", "--features", "parquet", "--lib", "parquet"]))?;
    Ok(Outcome::Passed)
}

fn doc_tests() -> Result<Outcome, String> {
    pass(cargo(&["test", "--doc", "--workspace"]))?;
    Ok(Outcome::Passed)
}

/// Every file in `examples/` is built and run.
fn examples() -> Result<Outcome, String> {
    let built = release()?;
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
            return Err(format!("examples/{name}.rs says nothing"));
        }
        tell(&format!("  {name}: {:.1} s\n", begin.elapsed().as_secs_f64()));
    }
    Ok(Outcome::Passed)
}

fn documentation() -> Result<Outcome, String> {
    // The programs are left out: the pages of the `ocorl` program would overwrite those of the library.
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

/// The program and the examples, built for use. Together, so that the library is compiled once.
pub(crate) fn release() -> Result<Vec<(String, PathBuf)>, String> {
    build(&["build", "--release", "--package", "ocorl-cli", "--package", "ocorl", "--bins", "--examples"])
}
