//! Runs `ocorl sweep` as a person would, and stops it as a power cut would.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Twelve small cells.
const GRID: &str = r#"
systems = ["cancer-treatment", "glucose-in-blood"]
seeds = 3
[set]
episodes = 2
measurements = 4
[set.plan]
intervals = 20
random_starts = 1
[set.select]
candidates = 50
[vary]
strategy = ["max-determinant", "equidistant"]
"#;

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.current_dir(folder);
    command
}

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// A folder with the grid in it.
fn with_grid(grid: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("grid.toml"), grid).expect("the grid is written");
    folder
}

/// Everything that must not depend on how often the sweep was stopped.
fn kept(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let sweep = folder.join("sweeps/grid");
    let cells = fs::read_dir(sweep.join("cells")).expect("cells").map(|file| file.expect("a cell").path());
    let named = ["results.csv", "results.json", "episodes.csv"].map(|name| sweep.join(name));
    cells
        .chain(named)
        .map(|path| {
            (
                path.display().to_string().replace(&folder.display().to_string(), ""),
                fs::read(&path).expect("a file"),
            )
        })
        .collect()
}

#[test]
fn killed_twenty_times_it_gives_the_same_bytes() {
    let (whole, killed) = (with_grid(GRID), with_grid(GRID));
    let done = ocorl(whole.path(), &["sweep", "grid.toml", "--jobs", "2", "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    // How long it takes here, so that the moments are spread over all of it.
    let begin = std::time::Instant::now();
    let again = with_grid(GRID);
    assert!(ocorl(again.path(), &["sweep", "grid.toml", "--jobs", "1", "--quiet"]).status.success());
    let length = begin.elapsed().as_secs_f64();
    let mut moment = 0x9e37_79b9_u64;
    let mut interrupted = 0;
    for _ in 0..20 {
        let mut child = program(killed.path())
            .args(["sweep", "grid.toml", "--jobs", "2", "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (moment >> 40) as f64 / f64::from(1 << 24);
        std::thread::sleep(Duration::from_secs_f64(0.35 * length * share));
        interrupted += usize::from(child.try_wait().expect("a status").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    assert!(interrupted >= 3, "only {interrupted} of 20 were still at work: the test says nothing");
    let output = ocorl(killed.path(), &["sweep", "grid.toml", "--jobs", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("12 cells, "), "{}", text(&output.stderr));
    let (expected, found) = (kept(whole.path()), kept(killed.path()));
    assert_eq!(expected.len(), 12 + 3);
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (name, bytes) in &expected {
        assert_eq!(text(bytes), text(&found[name]), "{name}");
    }
    // One job or two, once or in pieces: every cell is counted once.
    assert_eq!(kept(again.path()), expected);
    let timings = fs::read_to_string(killed.path().join("sweeps/grid/timings.csv")).expect("timings");
    assert_eq!(timings.lines().count(), 1 + 12);
}

#[test]
fn cells_that_fail_are_named_and_do_not_stop_the_others() {
    let grid = r#"
systems = ["cancer-treatment"]
seeds = 2
[set]
episodes = 2
measurements = 4
plan = { random_starts = 0 }
[[variants]]
"plan.intervals" = 20
[[variants]]
"plan.intervals" = 10000
"plan.max_iterations" = 100000
episodes = 200
"#;
    let folder = with_grid(grid);
    let arguments = ["sweep", "grid.toml", "--jobs", "2", "--budget", "4"];
    let output = ocorl(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("2 of 4 cells failed:"), "{said}");
    assert_eq!(said.matches("out of time: it took more than 4 s").count(), 2, "{said}");
    // They are finished: nothing is repeated, unless somebody asks.
    let dry = ocorl(folder.path(), &["sweep", "grid.toml", "--dry-run"]);
    assert_eq!(text(&dry.stdout), "4 cells, 4 already done, 0 to run\n");
    let dry = ocorl(folder.path(), &["sweep", "grid.toml", "--dry-run", "--again"]);
    assert!(text(&dry.stdout).starts_with("4 cells, 2 already done, 2 to run"), "{}", text(&dry.stdout));
    let strict = ocorl(folder.path(), &["sweep", "grid.toml", "--strict", "--quiet"]);
    assert_eq!(strict.status.code(), Some(1));
    assert_eq!(text(&strict.stderr), "error: 2 of 4 cells failed\n");
    assert_eq!(text(&strict.stdout), said);
}

/// One cell, quick to run.
const ONE: &str = "systems = \"cancer-treatment\"\nseeds = 1\n[set]\nepisodes = 2\nmeasurements = 3\n\
                   [set.plan]\nintervals = 20\n[set.select]\ncandidates = 20\n";

#[test]
fn a_damaged_cell_is_run_again_and_another_versions_is_not_mixed_in() {
    let folder = with_grid(ONE);
    assert!(ocorl(folder.path(), &["sweep", "grid.toml", "--quiet"]).status.success());
    let before = kept(folder.path());
    let cells = folder.path().join("sweeps/grid/cells");
    let cell = fs::read_dir(&cells).expect("cells").next().expect("one").expect("a cell").path();
    let contents = fs::read_to_string(&cell).expect("a cell");
    fs::write(&cell, &contents[..contents.len() / 2]).expect("written");
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert!(
        text(&output.stderr).contains("cannot be read; its cell is run again"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(kept(folder.path()), before);
    fs::write(&cell, contents.replace(env!("CARGO_PKG_VERSION"), "0.0.1")).expect("written");
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("was made by version 0.0.1"), "{}", text(&output.stderr));
}

#[test]
fn two_programs_do_not_work_in_one_folder() {
    let folder = with_grid(&ONE.replace("episodes = 2", "episodes = 200"));
    let mut first = program(folder.path())
        .args(["sweep", "grid.toml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let lock = folder.path().join("sweeps/grid/.lock");
    for _ in 0..200 {
        if lock.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    first.kill().expect("it can be killed");
    first.wait().expect("it ends");
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(
        text(&output.stderr),
        "error: the sweep in 'sweeps/grid' is in use by another program\n  \
         note    nothing was changed on disk\n\
         hint: wait for it, or give another folder with --out\n"
    );
}

#[test]
fn mistakes_are_found_before_anything_is_computed() {
    for (grid, arguments, message) in [
        ("systems = \"pendulum\"\n", &["sweep", "grid.toml"][..], "error: 'grid.toml' is not a grid\n"),
        (ONE, &["sweep", "no.toml"], "error: cannot read 'no.toml'\n"),
        (ONE, &["sweep", "grid.toml", "--jobs", "0"], "error: --jobs must be between 1 and 256, not 0\n"),
        (
            ONE,
            &["sweep", "grid.toml", "--budget", "-1"],
            "error: --budget must be a positive number of seconds, not -1\n",
        ),
        (&ONE.replace("episodes", "episods"), &["sweep", "grid.toml"], "error: no setting 'episods'\n"),
    ] {
        let folder = with_grid(grid);
        let output = ocorl(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with(message), "{arguments:?}\n{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
        assert!(!folder.path().join("sweeps").exists(), "{arguments:?}");
    }
}
