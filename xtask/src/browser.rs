//! The tests of the dashboard and the reports in a real browser: `tests/browser`, run by node.

use crate::run::{pass, root};
use crate::steps::{Outcome, release};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which the browser is installed.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The tests that look at the clock.
const TIMED: &str = "speed.test.js";

/// Runs all of them with the program as it is built for use.
pub(crate) fn run() -> Result<Outcome, String> {
    let folder = root().join("tests/browser");
    if !answers("node") || !answers("npm") {
        return Err("the browser tests need node 20 or later with npm; install nodejs".into());
    }
    let browser = browser()?;
    packages(&folder)?;
    let built = release()?;
    let Some((_, program)) = built.iter().find(|(name, _)| name == "ocorl") else {
        return Err("the program was not built".into());
    };
    // What is timed runs alone.
    let (timed, others): (Vec<_>, Vec<_>) = tests(&folder)?.into_iter().partition(|name| name == TIMED);
    for (files, beside) in [(others, "--test-concurrency=2"), (timed, "--test-concurrency=1")] {
        let mut node = Command::new("node");
        node.args(["--test", beside]).args(files).current_dir(&folder);
        node.env("OCORL_BIN", program).env("CHROMIUM", &browser);
        pass(node)?;
    }
    Ok(Outcome::Passed)
}

/// The files of tests, sorted.
fn tests(folder: &Path) -> Result<Vec<String>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("tests/browser: {error}"))?;
    let mut names: Vec<String> = files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".test.js"));
    names.sort();
    Ok(names)
}

/// The browser that `CHROMIUM` names or that is installed; where we may, it is installed.
fn browser() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = installed() {
        return Ok(found);
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).stdin(Stdio::null()).env("DEBIAN_FRONTEND", "noninteractive");
        pass(command)
    };
    let install = || apt(&["install", "--yes", "--no-install-recommends", "chromium"]);
    // A fresh machine may not know yet which packages there are.
    let outcome = install().or_else(|_| apt(&["update"]).and_then(|()| install()));
    installed().ok_or_else(|| {
        let reason = outcome.err().unwrap_or_else(|| "apt-get left no chromium behind".into());
        format!("the browser tests need Chromium, which could not be installed ({reason}); install it, or set CHROMIUM to its path")
    })
}

fn installed() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    let places = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Installs what package-lock.json says, unless that was done since it last changed.
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
