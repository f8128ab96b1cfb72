//! Tests of `ocorl study` and `ocorl rig` as external processes, including kills at random moments.

#![allow(clippy::print_stdout, reason = "the long version says what it did")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Settings that make a study short.
const SMALL: [&str; 14] = [
    "--episodes",
    "4",
    "--measurements",
    "4",
    "--seed",
    "3",
    "--set",
    "plan.intervals=30",
    "--set",
    "plan.random_starts=1",
    "--set",
    "select.candidates=50",
    "--set",
    "model.restarts=1",
];

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.current_dir(folder).env("RAYON_NUM_THREADS", "2");
    command
}

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the program starts")
}

/// Standard output of a command that succeeds.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = ocorl(folder, arguments);
    assert!(output.status.success(), "{arguments:?}\n{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// Exit code and standard error of a command that fails.
fn failed(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = ocorl(folder, arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded: {}", text(&output.stdout));
    (output.status.code().unwrap_or(-1), text(&output.stderr).to_owned())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

#[test]
fn times_have_their_unit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let new = said(folder.path(), &["study", "new", "lab", "--system", "pendulum"]);
    assert!(new.contains("; horizon 10 s; "), "{new}");
    let asked = ocorl(folder.path(), &["study", "ask", "lab", "--out", "plan.json"]);
    let remark = text(&asked.stderr);
    assert!(remark.starts_with("episode 0: run it for 10 s, measure at 10 times; "), "{remark}");
    // The paper gives these quantities without units.
    let new = said(folder.path(), &["study", "new", "other", "--system", "glucose-in-blood"]);
    assert!(new.contains("; horizon 0.45; "), "{new}");
}

fn begin(folder: &Path) {
    let words = [&["study", "new", "lab", "--system", "van-der-pol"][..], &SMALL].concat();
    said(folder, &words);
}

/// One episode through files.
fn episode(folder: &Path) {
    said(folder, &["study", "ask", "lab", "--out", "plan.json"]);
    said(folder, &["rig", "van-der-pol", "plan.json", "--out", "measured.csv"]);
    said(folder, &["study", "tell", "lab", "measured.csv"]);
}

/// Checksum and number of all records.
fn checksum(folder: &Path) -> (String, u64) {
    let answer: Value =
        serde_json::from_str(&said(folder, &["study", "check", "lab", "--json"])).expect("JSON");
    (
        answer["checksum"].as_str().expect("a checksum").to_owned(),
        answer["records"].as_u64().expect("a number"),
    )
}

/// The answers of `ocorl control` to `lines` of states, with enough time for every solve.
fn controlled(folder: &Path, lines: &str) -> String {
    let mut child = program(folder)
        .args(["control", "plan.json", "--budget", "5000", "--watchdog", "60000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, lines.as_bytes()).expect("it listens");
    drop(input);
    text(&child.wait_with_output().expect("it ends").stdout).to_owned()
}

fn costs(document: &Value) -> Vec<f64> {
    document["episodes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| e["cost"].as_f64().expect("a cost"))
        .collect()
}

#[test]
fn a_study_through_files_costs_to_the_bit_what_a_run_costs() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = said(folder.path(), &[&["run", "van-der-pol", "--json", "--quiet"][..], &SMALL].concat());
    let run = costs(&serde_json::from_str(&run).expect("JSON"));
    begin(folder.path());
    for _ in 0..4 {
        episode(folder.path());
    }
    let status = said(folder.path(), &["study", "status", "lab", "--json"]);
    assert_eq!(costs(&serde_json::from_str(&status).expect("JSON")), run);
    let words = said(folder.path(), &["study", "status", "lab"]);
    assert!(
        words.contains("4 of 4 episodes, 16 measurements") && words.contains("finished: all episodes"),
        "{words}"
    );
    let (code, error) = failed(folder.path(), &["study", "ask", "lab"]);
    assert!(code == 1 && error.contains("the study is over"), "{code} {error}");
    // The run is a study in its folder, and continues if more episodes are requested.
    let status = said(folder.path(), &["study", "status", "runs/van-der-pol-3", "--json"]);
    assert_eq!(costs(&serde_json::from_str(&status).expect("JSON")), run);
    let longer: Vec<&str> = SMALL.iter().map(|w| if *w == "4" { "5" } else { w }).collect();
    let longer =
        [&["run", "van-der-pol", "--json", "--quiet", "--measurements", "4"][..], &longer[..2], &longer[4..]]
            .concat();
    let more = costs(&serde_json::from_str(&said(folder.path(), &longer)).expect("JSON"));
    assert_eq!((more.len(), &more[..4]), (5, &run[..]));
    // Other settings use another folder.
    let other =
        [&["run", "van-der-pol", "--quiet", "--set", "plan.intervals=31"][..], &SMALL[..6], &SMALL[8..]]
            .concat();
    said(folder.path(), &other);
    assert!(folder.path().join("runs/van-der-pol-3-2/study.db").exists());
}

#[test]
fn the_plan_of_a_study_is_followed_with_its_model_in_real_time() {
    let folder = tempfile::tempdir().expect("a folder");
    begin(folder.path());
    episode(folder.path());
    said(folder.path(), &["study", "ask", "lab", "--out", "plan.json"]);
    let line = |i: i32| {
        format!("{{\"t\": {}, \"x\": {{\"position\": 1.0, \"velocity\": 0.0}}}}\n", 0.05 * f64::from(i))
    };
    let lines: String = (0..20).map(line).collect();
    let output = controlled(folder.path(), &lines);
    let answers: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 20);
    let fresh = answers.iter().filter(|answer| answer["level"] == "fresh").count();
    assert!(fresh >= 18, "{fresh} of 20 fresh: {output}");
    assert!(answers.iter().all(|answer| answer["u"][0].as_f64().is_some_and(f64::is_finite)));
    // By its feedback gains alone, and as C.
    let out = said(folder.path(), &["export", "plan.json", "--format", "c", "--out", "controller"]);
    assert!(folder.path().join("controller/ocorl_controller.c").exists(), "{out}");
}

#[test]
fn times_that_are_decided_on_the_way_are_decided_by_the_controller_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let words =
        [&["study", "new", "lab", "--system", "van-der-pol", "--strategy", "receding-horizon"][..], &SMALL];
    said(folder.path(), &words.concat());
    episode(folder.path());
    said(folder.path(), &["study", "ask", "lab", "--out", "plan.json"]);
    let plan: Value =
        serde_json::from_slice(&fs::read(folder.path().join("plan.json")).expect("a plan")).expect("JSON");
    assert_eq!(plan["legs"][0]["rule"]["strategy"], "receding-horizon");
    // States of the plan itself.
    let nodes = plan["legs"][0]["times"]
        .as_array()
        .expect("times")
        .iter()
        .zip(plan["legs"][0]["states"].as_array().expect("states"));
    let lines: Vec<String> = nodes.map(|(t, x)| format!("{{\"t\": {t}, \"x\": {x}}}\n")).collect();
    let output = controlled(folder.path(), &lines.concat());
    let asked = output.matches("\"measure\":true").count();
    assert!((1..=4).contains(&asked), "{asked} measurements: {output}");
}

#[test]
fn killed_at_any_moment_it_loses_nothing_and_ends_the_same() {
    let kills: usize = std::env::var("OCORL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let whole = tempfile::tempdir().expect("a folder");
    begin(whole.path());
    for _ in 0..4 {
        episode(whole.path());
    }
    let expected = checksum(whole.path());
    let mut moment = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        moment % below
    };
    let (mut killed, mut studies) = (0, 0);
    while killed < kills {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        // Each command is repeated until it succeeds; most of the time it is killed before.
        let mut insist = |arguments: &[&str], longest: u64| {
            loop {
                let mut child = program(path)
                    .args(arguments)
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .expect("the program starts");
                let deadline = std::time::Instant::now() + Duration::from_micros(random(longest));
                let status = loop {
                    match child.try_wait().expect("a status") {
                        Some(status) => break Some(status),
                        None if killed < kills && std::time::Instant::now() >= deadline => {
                            child.kill().expect("it can be killed");
                            child.wait().expect("it has ended");
                            killed += 1;
                            break None;
                        }
                        None => std::thread::sleep(Duration::from_micros(200)),
                    }
                };
                match status {
                    Some(status) if status.success() => return,
                    Some(_) => {
                        let mut error = String::new();
                        std::io::Read::read_to_string(&mut child.stderr.take().expect("a pipe"), &mut error)
                            .expect("text");
                        // `new` was killed after it had created the study.
                        assert!(arguments[1] == "new" && error.contains("already"), "{arguments:?}: {error}");
                        return;
                    }
                    None => {}
                }
            }
        };
        insist(&[&["study", "new", "lab", "--system", "van-der-pol"][..], &SMALL].concat(), 40_000);
        let mut told = 0;
        for _ in 0..4 {
            insist(&["study", "ask", "lab", "--out", "plan.json"], 120_000);
            insist(&["rig", "van-der-pol", "plan.json", "--out", "measured.csv"], 200_000);
            insist(&["study", "tell", "lab", "measured.csv"], 40_000);
            told += 4;
            let status: Value =
                serde_json::from_str(&said(path, &["study", "status", "lab", "--json"])).expect("JSON");
            assert_eq!(status["overview"]["measurements"], told, "a told measurement was lost");
        }
        assert_eq!(checksum(path), expected, "a killed study ended otherwise");
        studies += 1;
    }
    println!("{killed} kills in {studies} studies: nothing lost, all end the same");
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let (whole, killed) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let words = [&["run", "van-der-pol", "--quiet", "--out", "lab"][..], &SMALL].concat();
    said(whole.path(), &words);
    for milliseconds in [150, 300, 500, 700, 900] {
        let mut child = program(killed.path())
            .args(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = child.kill();
        child.wait().expect("it has ended");
    }
    said(killed.path(), &words);
    assert_eq!(checksum(whole.path()), checksum(killed.path()));
    for name in ["costs.csv", "measurements.csv", "trajectories.csv", "plans.csv", "theory.csv"] {
        let [a, b] = [&whole, &killed].map(|f| fs::read(f.path().join("lab").join(name)).expect("a file"));
        assert!(a == b, "{name} differs");
    }
}

#[test]
fn what_cannot_be_done_is_said_with_its_own_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for (arguments, code, words) in [
        (&["study", "ask", "lab"][..], 2, "there is no study in 'lab'"),
        (&["study", "new", "lab", "--system", "pendulm"], 2, "did you mean 'pendulum'?"),
        (&["study", "new", "lab", "--system", "pendulum", "--budget", "-1"], 2, "the price 'budget' is -1"),
        (&["study", "tel", "lab"], 2, "unrecognized subcommand 'tel'"),
        (&["rig", "pendulum", "nowhere.json"], 2, "cannot read 'nowhere.json'"),
    ] {
        let (found, error) = failed(path, arguments);
        assert!(found == code && error.contains(words), "{arguments:?}: {found} {error}");
    }
    assert!(!path.join("lab").exists(), "a refused study left something behind");
    begin(path);
    let (code, error) = failed(path, &["study", "tell", "lab", "nothing.csv"]);
    assert!(code == 2 && error.contains("cannot read 'nothing.csv'"), "{error}");
    fs::write(path.join("m.csv"), "t,position,velocity,force,position_dot,velocity_dot\n1,1,1,0,1,1\n")
        .expect("written");
    let (code, error) = failed(path, &["study", "tell", "lab", "m.csv"]);
    assert!(
        code == 2 && error.contains("no episode is pending") && error.contains("ocorl study ask"),
        "{error}"
    );
    said(path, &["study", "ask", "lab", "--out", "plan.json"]);
    fs::write(path.join("m.csv"), "t,position,velocity,force,position_dot,velocity_dot\n1,1,nan,0,1,1\n")
        .expect("written");
    let (code, error) = failed(path, &["study", "tell", "lab", "m.csv"]);
    assert!(
        code == 2 && error.contains("'velocity' is NaN") && error.contains("line 2, column 3"),
        "{error}"
    );
    fs::write(path.join("broken.json"), "{\"format\": \"ocorl-plan\"}").expect("written");
    let (code, error) = failed(path, &["rig", "van-der-pol", "broken.json"]);
    assert!(code == 2 && error.contains("is not a plan"), "{error}");
    let (code, error) = failed(path, &["rig", "pendulum", "plan.json"]);
    assert!(code == 2 && error.contains("the plan is for 'van-der-pol'"), "{error}");
    // Another process holds the lock.
    let signature = "{\"pid\": 41172, \"host\": \"bench-2\", \"since\": \"2026-11-16T14:02:11Z\"}";
    fs::write(path.join("lab/study.lock"), signature).expect("signed");
    let lock = fs::File::open(path.join("lab/study.lock")).expect("a lock");
    lock.lock().expect("it is free");
    let (code, error) = failed(path, &["study", "ask", "lab"]);
    assert!(
        code == 4
            && error.contains("is in use by process 41172 on 'bench-2'")
            && error.contains("ocorl study status lab"),
        "{error}"
    );
    said(path, &["study", "status", "lab"]);
    drop(lock);
    // Damaged bytes.
    let file = path.join("lab/study.db");
    let mut bytes = fs::read(&file).expect("a database");
    // Everywhere in the file: SQLite pages keep old copies of moved rows.
    let places: Vec<usize> =
        (0..bytes.len() - 9).filter(|&at| &bytes[at..at + 9] == b"\"seed\":3,").collect();
    assert!(!places.is_empty(), "the seed is there");
    for at in places {
        bytes[at + 7] = b'4';
    }
    fs::write(&file, &bytes).expect("written");
    let (code, error) = failed(path, &["study", "ask", "lab"]);
    assert!(
        code == 3 && error.contains("is damaged") && error.contains("record  1: its checksum is"),
        "{error}"
    );
    assert!(
        error.contains("nothing was changed on disk") && error.contains("restore a copy of the folder"),
        "{error}"
    );
    let answer = ocorl(path, &["study", "status", "lab", "--json"]);
    let document: Value = serde_json::from_slice(&answer.stdout).expect("one document, also in the bad case");
    assert_eq!((document["exit_code"].as_u64(), answer.status.code()), (Some(3), Some(3)));
}
