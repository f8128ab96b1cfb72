//! Tests of `ocorl report`, of the reports after sweeps, and of the live display of a run on a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GRID: &str = "\
systems = [\"cancer-treatment\", \"glucose-in-blood\"]
seeds = 2
[set]
episodes = 2
measurements = 4
[set.plan]
intervals = 20
random_starts = 1
[set.select]
candidates = 50
[vary]
strategy = [\"max-determinant\", \"equidistant\"]
";

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/results").canonicalize().expect("results")
}

#[test]
fn committed_results_become_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(studies()).expect("results") {
        let from = entry.expect("an entry").path();
        let output =
            ocorl(folder.path(), &["report", &from.to_string_lossy(), "--out", "page.html", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(said, serde_json::json!({ "report": "page.html", "data": "page.json", "kind": "sweep" }));
        let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
        assert!(page.starts_with("<!doctype html>") && page.len() <= 3_000_000, "{from:?}: {}", page.len());
        let data = fs::read(folder.path().join("page.json")).expect("data");
        let data: serde_json::Value = serde_json::from_slice(&data).expect("JSON");
        assert!(data["sections"].as_array().is_some_and(|sections| sections.len() >= 9), "{from:?}");
        // Nothing was written into the folder of the results.
        assert!(!from.join("report.html").exists());
    }
}

#[test]
fn sweeps_and_tables_leave_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("grid.toml"), GRID).expect("a grid");
    let output = ocorl(folder.path(), &["sweep", "grid.toml"]);
    assert!(text(&output.stderr).ends_with("saved sweeps/grid, see sweeps/grid/report.html\n"), "{output:?}");
    let page = folder.path().join("sweeps/grid/report.html");
    let after = fs::read_to_string(&page).expect("a page");
    assert!(after.contains("8 of 8") && after.contains("ocorl sweep grid.toml"));
    // The report is written again, from the database.
    fs::remove_file(&page).expect("it is there");
    let output = ocorl(folder.path(), &["report", "sweeps/grid"]);
    assert_eq!(text(&output.stdout), "sweeps/grid/report.html\n", "{output:?}");
    assert_eq!(fs::read_to_string(&page).expect("a page"), after);

    let set = ["--set", "episodes=2", "--set", "plan.intervals=20", "--set", "select.candidates=50"];
    let table = ["table", "--systems", "cancer-treatment", "--seeds", "1"];
    let output = ocorl(folder.path(), &[&table[..], &set].concat());
    let end = "saved tables/table1.{txt,md,csv,json,tex}, see tables/report.html\n";
    assert!(text(&output.stderr).ends_with(end), "{output:?}");
    let page = fs::read_to_string(folder.path().join("tables/report.html")).expect("a page");
    assert!(page.contains("<section id=\"table1\""));
}

#[test]
fn a_run_has_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let run =
        ["run", "cancer-treatment", "--episodes", "2", "--set", "plan.intervals=20", "--out", "run", "-q"];
    assert!(ocorl(folder.path(), &run).status.success());
    let output = ocorl(folder.path(), &["report", "run", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["kind"], "study");
    assert!(fs::read_to_string(folder.path().join("run/report.html")).expect("a page").contains("<h1>"));
}

#[test]
fn what_is_no_study_and_no_sweep_is_said_to_be_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |arguments: &[&str], code: i32, words: &[&str]| {
        let output = ocorl(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(words.iter().all(|word| text(&output.stderr).contains(word)), "{arguments:?}: {output:?}");
    };
    let all = studies().to_string_lossy().into_owned();
    let one = studies().join("states").to_string_lossy().into_owned();
    fails(&["report", "nowhere"], 2, &["there is no folder 'nowhere'", "hint: "]);
    fails(&["report", "."], 2, &["no study and no sweep in '.'", "ocorl run pendulum"]);
    fails(&["report", &all], 2, &["it holds 1", " of them", "give one of these, as in: ocorl report "]);
    fails(&["report", &one, &one], 2, &["a report covers one folder, not 2"]);
    fails(&["report"], 2, &["DIR"]);
    fails(&["report", &one, "--out", "no/such/page.html"], 5, &["cannot write", "--out FILE"]);
    // Files that are not report data are not overwritten.
    fs::write(folder.path().join("results.json"), "[1]").expect("a file");
    fails(&["report", &one, "--out", "results.html"], 2, &["'results.json' exists"]);
    assert_eq!(fs::read(folder.path().join("results.json")).expect("a file"), b"[1]");
    // A damaged database is refused, with the number of its record.
    fs::create_dir(folder.path().join("broken")).expect("a folder");
    fs::write(folder.path().join("broken/sweep.db"), vec![7_u8; 9000]).expect("a file");
    fails(&["report", "broken"], 3, &["damaged", "results.csv"]);
}

/// Runs a command line on a pseudo-terminal of this size; returns what it shows and what goes to the file `out`. `None` without
/// the program `script`.
fn on_a_terminal(
    folder: &Path,
    size: (u16, u16),
    environment: &str,
    arguments: &str,
) -> Option<(String, String)> {
    let program = env!("CARGO_BIN_EXE_ocorl");
    let (columns, rows) = size;
    let line = format!("stty cols {columns} rows {rows}; {environment} {program} {arguments} > out");
    let script = Command::new("script")
        .current_dir(folder)
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .output();
    let shown = script.ok()?;
    Some((String::from_utf8_lossy(&shown.stdout).into_owned(), fs::read_to_string(folder.join("out")).ok()?))
}

/// Long enough for several frames of the live display, which is redrawn ten times per second.
const RUN: &str = "run pendulum --episodes 15 --set plan.intervals=20 --no-save";

/// The output without the seconds.
fn untimed(text: &str) -> String {
    let (start, rest) = text.split_once("done in ").expect("closing words");
    start.to_owned() + rest.split_once(" s ").expect("seconds").1
}

#[test]
fn a_large_terminal_shows_a_picture_that_leaves_standard_output_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = ocorl(folder.path(), &RUN.split(' ').collect::<Vec<_>>());
    let expected = untimed(text(&plain.stdout));
    let Some((shown, out)) = on_a_terminal(folder.path(), (120, 40), "", RUN) else { return };
    assert_eq!(untimed(&out), expected);
    for words in [
        "cost above the optimum 20.1604, log scale",
        "from optimal zero-order hold",
        "measurements",
        "█",
        "\x1b[36m",
    ] {
        assert!(shown.contains(words), "{words}: {shown:?}");
    }
    // Redrawn in place, without an alternate screen or a hidden cursor; nothing is left at the end.
    assert!(!shown.contains("\x1b[?"), "{shown:?}");
    assert!(shown.trim_end().ends_with("A\r\x1b[J"), "{shown:?}");

    let without_colors =
        on_a_terminal(folder.path(), (120, 40), "NO_COLOR=1", RUN).expect("there is script").0;
    assert!(without_colors.contains('█') && !without_colors.contains("\x1b[36m"), "{without_colors:?}");
    for (size, arguments) in [((59, 24), RUN.to_owned()), ((120, 40), format!("{RUN} --no-live"))] {
        let (shown, out) = on_a_terminal(folder.path(), size, "", &arguments).expect("there is script");
        assert!(shown.contains("\r\x1b[Kepisode") && !shown.contains('█'), "{shown:?}");
        assert_eq!(untimed(&out), expected);
    }
    let (shown, _) =
        on_a_terminal(folder.path(), (60, 24), "", &format!("{RUN} --live")).expect("there is script");
    assert!(shown.contains('█'), "{shown:?}");
    let (shown, _) = on_a_terminal(folder.path(), (120, 40), "", &format!("{RUN} --live --quiet"))
        .expect("there is script");
    assert_eq!(shown, "");
    // Without a terminal nothing is redrawn, whatever the options are.
    let output = ocorl(folder.path(), &format!("{RUN} --live").split(' ').collect::<Vec<_>>());
    assert!(!text(&output.stderr).contains('\x1b'), "{output:?}");
}
