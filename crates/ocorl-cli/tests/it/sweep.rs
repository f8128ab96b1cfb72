//! Tests of `ocorl sweep` as an external process, including kills at random moments.

use ocorl_study::cell::CellResult;
use ocorl_study::store::{Access, Record, Store, StoreError};
use ocorl_study::sweep::FORM;
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

/// A folder with the grid.
fn with_grid(grid: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("grid.toml"), grid).expect("the grid is written");
    folder
}

/// The events of the sweep in `folder`; empty if it has no database yet.
fn events(folder: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    let opened = Store::open(&folder.join("sweeps/grid"), FORM, Access::Read, |record| {
        records.push(record);
        Ok(())
    });
    match opened {
        // The program was killed before it had created the tables.
        Ok(_) | Err(StoreError::Missing { .. }) => {}
        Err(StoreError::Damaged { record, good: 0, .. }) if record.contains("no database") => {}
        Err(error) => panic!("{error}: {error:?}"),
    }
    records
}

/// Number of finished cells; a cell that was run twice counts twice.
fn ended(folder: &Path) -> usize {
    events(folder).iter().filter(|record| record.kind == "cell").count()
}

/// All results that must not depend on how often the sweep was interrupted: cells and summary files.
fn kept(folder: &Path) -> BTreeMap<String, String> {
    let cells = events(folder).into_iter().filter(|record| record.kind == "cell").map(|record| {
        let result: CellResult = serde_json::from_str(&record.payload).expect("a result");
        (result.cell.id(), record.payload)
    });
    let named = ["results.csv", "results.json", "episodes.csv"].map(|name| {
        let path = folder.join("sweeps/grid").join(name);
        (name.to_owned(), fs::read_to_string(path).expect("a file"))
    });
    cells.chain(named).collect()
}

#[test]
fn killed_twenty_times_it_gives_the_same_bytes() {
    let (whole, killed) = (with_grid(GRID), with_grid(GRID));
    let done = ocorl(whole.path(), &["sweep", "grid.toml", "--jobs", "2", "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    // The duration on this machine, so that kills are spread over the whole sweep.
    let begin = std::time::Instant::now();
    let again = with_grid(GRID);
    assert!(ocorl(again.path(), &["sweep", "grid.toml", "--jobs", "1", "--quiet"]).status.success());
    let length = begin.elapsed().as_secs_f64();
    let mut moment = 0x9e37_79b9_u64;
    let (mut interrupted, mut told) = (0, 0);
    for _ in 0..20 {
        let words = killed.path().join("words");
        let mut child = program(killed.path())
            .args(["sweep", "grid.toml", "--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(fs::File::create(&words).expect("a file"))
            .spawn()
            .expect("the program starts");
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (moment >> 40) as f64 / f64::from(1 << 24);
        std::thread::sleep(Duration::from_secs_f64(0.35 * length * share));
        interrupted += usize::from(child.try_wait().expect("a status").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        // Every cell that was reported is stored.
        let words = fs::read_to_string(&words).expect("words");
        told += words.lines().filter(|line| line.contains(" of 12: ")).count();
        let there = ended(killed.path());
        assert!(there >= told, "{told} cells were told of, {there} are there");
    }
    assert!(interrupted >= 3, "only {interrupted} of 20 were still at work: the test says nothing");
    let output = ocorl(killed.path(), &["sweep", "grid.toml", "--jobs", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("12 cells, "), "{}", text(&output.stderr));
    let (expected, found) = (kept(whole.path()), kept(killed.path()));
    assert_eq!(expected.len(), 12 + 3);
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (name, contents) in &expected {
        assert_eq!(contents, &found[name], "{name}");
    }
    // Finished cells were not run again.
    assert_eq!(ended(killed.path()), 12);
    // With one job or two, in one run or in several: every cell is counted once.
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
    // Finished cells are not repeated unless requested.
    let dry = ocorl(folder.path(), &["sweep", "grid.toml", "--dry-run"]);
    assert_eq!(text(&dry.stdout), "4 cells, 4 already done, 0 to run\n");
    let dry = ocorl(folder.path(), &["sweep", "grid.toml", "--dry-run", "--again"]);
    assert!(text(&dry.stdout).starts_with("4 cells, 2 already done, 2 to run"), "{}", text(&dry.stdout));
    let strict = ocorl(folder.path(), &["sweep", "grid.toml", "--strict", "--quiet"]);
    assert_eq!(strict.status.code(), Some(1));
    assert_eq!(text(&strict.stderr), "error: 2 of 4 cells failed\n");
    assert_eq!(text(&strict.stdout), said);
}

/// One short cell.
const ONE: &str = "systems = \"cancer-treatment\"\nseeds = 1\n[set]\nepisodes = 2\nmeasurements = 3\n\
                   [set.plan]\nintervals = 20\n[set.select]\ncandidates = 20\n";

#[test]
fn a_damaged_database_is_refused_and_not_touched() {
    let folder = with_grid(ONE);
    assert!(ocorl(folder.path(), &["sweep", "grid.toml", "--quiet"]).status.success());
    let file = folder.path().join("sweeps/grid/sweep.db");
    let mut bytes = fs::read(&file).expect("a database");
    let part = b"\"system\":\"cancer-treatment\"";
    let place = bytes.windows(part.len()).position(|window| window == part).expect("the cell");
    bytes[place + part.len() - 2] = b's';
    fs::write(&file, &bytes).expect("written");
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    let (start, end) = (
        "error: the sweep in 'sweeps/grid' is damaged\n  file    sweeps/grid/sweep.db\n  record  2: its checksum is ",
        "\n  good    records 1-1\n  note    nothing was changed on disk\n\
         hint: give another folder with --out, or move the database away: then all cells are run again\n",
    );
    assert!(said.starts_with(start) && said.ends_with(end), "{said}");
    assert_eq!(fs::read(&file).expect("a database"), bytes);
}

#[test]
fn a_database_that_cannot_be_written_is_the_disks_fault() {
    let folder = with_grid(ONE);
    fs::create_dir_all(folder.path().join("sweeps/grid/sweep.db")).expect("a folder in its place");
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("error: cannot use 'sweeps/grid/sweep.db': "));
}

#[test]
fn cells_in_files_of_their_own_are_taken_over_and_another_versions_are_not_mixed_in() {
    let folder = with_grid(ONE);
    assert!(ocorl(folder.path(), &["sweep", "grid.toml", "--quiet"]).status.success());
    let before = kept(folder.path());
    let sweep = folder.path().join("sweeps/grid");
    // The format before there was a database.
    let (id, result) = before.iter().find(|(name, _)| name.starts_with("cancer")).expect("the cell");
    let cell = sweep.join("cells").join(format!("{id}.json"));
    fs::create_dir(sweep.join("cells")).expect("a folder");
    let as_before = |contents: &str| {
        fs::remove_file(sweep.join("sweep.db")).expect("removed");
        fs::write(&cell, contents).expect("written");
    };
    as_before(&format!("{result}\n"));
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).starts_with("1 cell, 1 already done, 0 to run\n"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(kept(folder.path()), before);
    assert_eq!(fs::read_to_string(&cell).expect("the old file"), format!("{result}\n"));
    as_before(&result[..result.len() / 2]);
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    let said = text(&output.stderr);
    assert!(said.contains("cannot be read; its cell is run again"), "{said}");
    assert_eq!(kept(folder.path()), before);
    as_before(&result.replace(env!("CARGO_PKG_VERSION"), "0.0.1"));
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.starts_with("error: a cell in 'sweeps/grid/sweep.db' was made by version 0.0.1"), "{said}");
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
    // The sweep is running as soon as the database has its first event.
    for _ in 0..500 {
        if !events(folder.path()).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    let pid = first.id();
    first.kill().expect("it can be killed");
    first.wait().expect("it ends");
    assert_eq!(output.status.code(), Some(4));
    let said = text(&output.stderr);
    let start = format!("error: 'sweeps/grid' is in use by process {pid} on '");
    let end =
        "\n  note    nothing was changed on disk\nhint: wait for it, or give another folder with --out\n";
    assert!(said.starts_with(&start) && said.ends_with(end), "{said}");
    // The lock of a killed process is free.
    let dry = ocorl(folder.path(), &["sweep", "grid.toml", "--dry-run"]);
    assert!(dry.status.success(), "{}", text(&dry.stderr));
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
