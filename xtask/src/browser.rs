//! Runs the tests of the dashboard and the reports in a real browser: `tests/browser`, executed by node.

use crate::run::{is_root, pass, root};
use crate::steps::{Outcome, program, released};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of browser executables.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The tests that depend on timing.
const TIMED: &str = "speed.test.js";

/// Runs all tests except the timing-dependent ones, with the program of the test profile.
pub(crate) fn run() -> Result<Outcome, String> {
    tested(|name| name != TIMED, "--test-concurrency=2", program)
}

/// Runs the timing-dependent tests alone, with the release program.
pub(crate) fn timed() -> Result<Outcome, String> {
    tested(|name| name == TIMED, "--test-concurrency=1", released)
}

/// Installs the browser and the packages of the tests, if they are missing and that is permitted.
pub(crate) fn prepare() -> Result<(), String> {
    if !answers("node") || !answers("npm") {
        return Err("node 20 or later with npm is not installed".into());
    }
    browser()?;
    packages(&folder())
}

/// Folder of the tests.
fn folder() -> PathBuf {
    root().join("tests/browser")
}

fn tested(
    chosen: impl Fn(&str) -> bool,
    beside: &str,
    built: fn() -> Result<PathBuf, String>,
) -> Result<Outcome, String> {
    let folder = folder();
    if !answers("node") || !answers("npm") {
        return Ok(Outcome::Missing("node 20 or later with npm is not installed".into()));
    }
    let browser = match browser() {
        Ok(browser) => browser,
        Err(reason) => return Ok(Outcome::Impossible(reason)),
    };
    packages(&folder)?;
    let program = built()?;
    let mut files = tests(&folder)?;
    files.retain(|name| chosen(name));
    let mut node = Command::new("node");
    node.args(["--test", beside]).args(files).current_dir(&folder);
    node.env("OCORL_BIN", program).env("CHROMIUM", &browser);
    pass(node)?;
    Ok(Outcome::Passed)
}

/// Test files, sorted.
fn tests(folder: &Path) -> Result<Vec<String>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("tests/browser: {error}"))?;
    let mut names: Vec<String> = files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".test.js"));
    names.sort();
    Ok(names)
}

/// The browser named by `CHROMIUM`, or an installed one; it is installed first if permitted.
fn browser() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = installed() {
        return Ok(found);
    }
    if !is_root() {
        return Err("there is no Chromium, and only root can install it; set CHROMIUM to its path".into());
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).stdin(Stdio::null()).env("DEBIAN_FRONTEND", "noninteractive");
        pass(command)
    };
    let install = || apt(&["install", "--yes", "--no-install-recommends", "chromium"]);
    // The package lists of a fresh machine may be empty.
    let outcome = install().or_else(|_| apt(&["update"]).and_then(|()| install()));
    installed().ok_or_else(|| {
        let reason = outcome.err().unwrap_or_else(|| "apt-get did not install chromium".into());
        format!("there is no Chromium, and it could not be installed ({reason}); set CHROMIUM to its path")
    })
}

fn installed() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    let places = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Installs the packages of package-lock.json, unless they are up to date.
fn packages(folder: &Path) -> Result<(), String> {
    let changed = |file: &str| fs::metadata(folder.join(file)).and_then(|file| file.modified()).ok();
    let (lock, done) = (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
    if done.is_some() && done >= lock {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
    pass(command)
}

fn answers(program: &str) -> bool {
    let mut probe = Command::new(program);
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
