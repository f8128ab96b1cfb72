//! Studies under simulated faults: failing I/O calls, full disks, crashes, power cuts and a clock that jumps.
//!
//! The layer in `io_faults.c` stands between the test program and the C library. A test runs in a process of its own that is started with
//! the layer loaded ([`with_faults`]). Everything that happens there follows from one seed, so a failure can be replayed.

#![allow(
    clippy::print_stdout,
    clippy::unused_self,
    reason = "long versions say what they did; who has the faults runs below the layer"
)]

mod every_call;
mod model;
mod rounds;

use ocorl::learn::Settings;
use ocorl::linalg::Points;
use ocorl::random::Stream;
use ocorl_study::measured::Measured;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::{End, Row};
use ocorl_study::system::System;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Commands to the layer.
struct Faults;

/// What the layer did since a fault was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fired {
    /// Number of I/O calls on the watched files.
    calls: u64,
    /// Whether the fault occurred.
    fired: bool,
}

impl Faults {
    fn command(command: &str) -> Fired {
        let text = std::fs::read_to_string(format!("/ocorl-faults/{command}")).expect("the layer is loaded");
        let number = |name: &str| {
            let word = text.split_whitespace().find_map(|word| word.strip_prefix(name)).expect("an answer");
            word.parse::<u64>().expect("a number")
        };
        Fired { calls: number("calls="), fired: number("fired=") > 0 }
    }

    /// Watches the files below `folder`.
    fn watch(&self, folder: &Path) {
        Faults::command(&format!("watch{}/", folder.display()));
    }

    /// Lets the call with number `call`, counted from now on, fail as `mode` says.
    fn arm(&self, mode: &str, call: usize) {
        Faults::command(&format!("arm/{mode}/{call}"));
    }

    /// Ends all faults.
    fn calm(&self) -> Fired {
        Faults::command("calm")
    }

    /// Loses what was not synchronised. No file may be open.
    fn cut_power(&self, seed: u64) {
        Faults::command(&format!("cut/{seed}"));
    }

    /// Sets the wall clock wrong by so many seconds.
    fn move_clock(&self, seconds: i64) {
        Faults::command(&format!("clock/{seconds}"));
    }
}

/// Runs `body` in a new process of the test `name` that has the layer loaded.
fn with_faults(name: &str, body: impl FnOnce(&Faults)) {
    if std::env::var_os("OCORL_FAULTS").is_some() {
        return body(&Faults);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let layer = folder.path().join("io_faults.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/simulation/io_faults.c");
    let compiled = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([layer.as_path(), &source])
        .arg("-ldl")
        .output()
        .expect("there is a C compiler, gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([name, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", &layer)
        .env("OCORL_FAULTS", "1")
        .output()
        .expect("it starts again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // The name of the test may stand before it in the same line.
    for line in said.lines().filter_map(|line| Some(&line[line.find("simulation: ")?..])) {
        println!("{line}");
    }
}

/// A folder for files that need not survive: in memory where possible.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

fn system() -> System {
    System::find("van-der-pol").expect("a benchmark")
}

/// The least that is a study.
fn tiny(system: &System) -> Settings {
    let mut settings = Settings { episodes: 5, measurements: 3, ..system.settings.clone() };
    settings.plan.intervals = 8;
    settings.plan.random_starts = 0;
    settings.select.candidates = 20;
    settings.model.restarts = 1;
    settings
}

/// Row `i` of an episode on a rig: the same values whenever it is asked for. `version` distinguishes repeated runs.
fn row(system: &System, plan: &PlanFile, seed: u64, version: usize, i: usize) -> Row {
    let mut rng = Stream::root(seed).child("row").index(plan.episode).index(version).index(i).rng();
    let task = &system.task;
    let (x, mut u) = (vec![rng.normal(), rng.normal()], vec![rng.normal()]);
    task.control_bounds.clamp(&mut u);
    let mut slope = vec![0.0; x.len()];
    let truth = system.truth.as_ref().expect("a benchmark");
    truth.dynamics().derivative(Points::single(&[x.as_slice(), &u].concat()), &mut slope);
    for (slope, noise) in slope.iter_mut().zip(&task.noise_std) {
        *slope += noise * rng.normal();
    }
    let t = plan.rollouts[0].measure_at[i];
    Row { start: 0, t, x, u, x_dot: Some(slope), asked_t: None, interval: None }
}

/// The rows with these numbers, as a file of the rig.
fn measured(system: &System, plan: &PlanFile, seed: u64, version: usize, rows: &[usize]) -> Measured {
    let cost = 1.0 + plan.episode as f64 + version as f64;
    Measured {
        rows: rows.iter().map(|i| row(system, plan, seed, version, *i)).collect(),
        ends: vec![End { start: 0, cost: Some(cost), outcome: Some("completed".into()) }],
        ..Measured::default()
    }
}

/// Rewrites the signature in the lock file as that of a process that has ended: this process plays those that died.
fn bury(folder: &Path) {
    let path = folder.join("study.lock");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    let mine = format!("\"pid\":{}", std::process::id());
    std::fs::write(path, text.replace(&mine, "\"pid\":4194999")).expect("it can be written");
}

/// The last lines of a trace.
fn last(trace: &[String], count: usize) -> String {
    trace.iter().skip(trace.len().saturating_sub(count)).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}
