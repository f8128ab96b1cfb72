//! `cargo xtask test`: all checks, ordered such that failures are found as cheaply as possible.

use crate::run::{build, cargo, output_within, pass, root};
use crate::shape::stated_rust_version;
use crate::{browser, docs, gate, python, readme, schedule, tell};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Outcome of a step that did not fail.
#[derive(Serialize, Deserialize)]
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

/// A check of `cargo xtask test`.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Names of the steps that must have ended before.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn() -> Result<Outcome, String>,
}

/// All steps. The order is that of the output, and of the starts, as far as needs and free lanes permit.
const STEPS: [Step; 13] = [
    Step { name: "format", needs: &[], run: format },
    Step { name: "tools", needs: &[], run: || Ok(tools()) },
    Step { name: "lints", needs: &["format"], run: lints },
    Step { name: "build", needs: &["lints"], run: compile },
    Step { name: "documents", needs: &["build"], run: docs::check },
    Step { name: "documentation", needs: &["build"], run: documentation },
    Step { name: "tests", needs: &["build"], run: tests },
    Step { name: "Python", needs: &["build", "tools"], run: python::test },
    Step { name: "README", needs: &["build"], run: || readme::check(false) },
    Step { name: "browser", needs: &["build", "tools"], run: browser::run },
    Step { name: "examples", needs: &["build"], run: examples },
    Step { name: "documentation tests", needs: &["build"], run: doc_tests },
    Step { name: "instruction counts", needs: &["build", "tools"], run: || gate::run(false) },
];

/// Time limit of an example.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(60);

/// Runs all steps up to the first failure, then prints the duration of each and a summary line.
pub(crate) fn test() -> Result<(), String> {
    let strict = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    schedule::run(&STEPS, strict)
}

/// Runs one step in this process, for [`test`].
pub(crate) fn step(name: &str) -> Result<(), String> {
    let step = STEPS.iter().find(|step| step.name == name).ok_or(format!("no step '{name}'"))?;
    schedule::one(step)
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

/// Installs what later steps need, while the compiler works. A tool that cannot be installed is reported by the step that needs it.
fn tools() -> Outcome {
    for (tool, problem) in
        [("browser", browser::prepare()), ("valgrind", gate::prepare()), ("Python", python::prepare())]
    {
        if let Err(problem) = problem {
            tell(&format!("  {tool}: {problem}\n"));
        }
    }
    Outcome::Passed
}

/// Compiles all tests, programs and examples.
fn compile() -> Result<Outcome, String> {
    pass(test_command(&["--no-run"]))?;
    programs()?;
    Ok(Outcome::Passed)
}

fn tests() -> Result<Outcome, String> {
    pass(test_command(&[]))?;
    Ok(Outcome::Passed)
}

/// Runs the tests of the workspace, with nextest if it is installed.
fn test_command(options: &[&str]) -> Command {
    let mut probe = cargo(&["nextest", "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    let test: &[&str] = if probe.status().is_ok_and(|status| status.success()) {
        &["nextest", "run", "--workspace"]
    } else {
        // Not `--all-targets`: that would run the benchmarks, which have their own main function.
        &["test", "--workspace", "--lib", "--bins", "--tests", "--examples"]
    };
    cargo(&[test, options].concat())
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

/// Checks the workspace with the oldest compiler that `Cargo.toml` states. Not a part of [`test`], because nothing that is compiled there
/// can be used.
pub(crate) fn oldest() -> Result<(), String> {
    let toolchain = format!("{}.0", stated_rust_version()?);
    let mut check = Command::new("rustup");
    check.args([
        "run",
        "--install",
        &toolchain,
        "cargo",
        "check",
        "--workspace",
        "--target-dir",
        "target/oldest",
    ]);
    check.current_dir(root()).env_remove("RUSTUP_TOOLCHAIN");
    pass(check)
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
