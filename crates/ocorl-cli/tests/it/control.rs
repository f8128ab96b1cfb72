//! Tests of `ocorl control` and `ocorl export` as external processes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn ocorl(arguments: &[&str], input: &str) -> Output {
    let mut child = start(arguments);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ocorl"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A plan in a temporary folder.
fn plan() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    std::fs::write(&path, support::plan_file("pendulum", 50).text().unwrap()).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn states_in_controls_out_until_the_input_ends() {
    let (folder, plan) = plan();
    let log = folder.path().join("steps.csv");
    let input = "{\"t\": 0.0, \"x\": [3.1, 0.2]}\nrubbish\n{\"t\": 1.0, \"x\": [null, 0]}\n{\"t\": 1.02, \"x\": [3, 0]}";
    let output = ocorl(
        &["control", &plan, "--log", log.to_str().unwrap(), "--watchdog", "60000", "--max-dropouts", "1"],
        input,
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answers = lines(&output);
    let levels: Vec<&str> = answers.iter().map(|a| a["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["planned", "planned", "safe", "planned"]);
    assert_eq!(answers[1]["error"], "line 2: expected value at column 1");
    assert_eq!(answers[2]["u"][0], 0.0);
    assert_eq!((&answers[3]["measure"], &answers[0]["measure"]), (&true.into(), &Value::Null));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "4 lines: 0 fresh, 0 shifted, 3 planned, 1 safe; 0 late, 1 malformed, 0 silences\n"
    );
    let rows = std::fs::read_to_string(log).unwrap();
    assert_eq!(rows.lines().next(), Some("t,level,late,age,step_ms,why,u0"));
    assert_eq!(rows.lines().count(), 5);
}

#[test]
fn plans_that_cannot_be_run_are_refused_with_their_reason() {
    let (folder, plan) = plan();
    let missing = folder.path().join("nothing.json").to_str().unwrap().to_owned();
    let broken = folder.path().join("broken.json").to_str().unwrap().to_owned();
    std::fs::write(&broken, "{\"format\": 3}").unwrap();
    for (arguments, message) in [
        (vec!["control", &missing], "error: cannot read '"),
        (vec!["control", &broken], "error: '"),
        (
            vec!["control", &plan, "--rollout", "1"],
            "error: the plan has no rollout 1\nhint: it has 1, numbered from 0\n",
        ),
        (
            vec!["control", &plan, "--budget", "-3"],
            "error: --budget must be a positive number of milliseconds, not -3",
        ),
        (vec!["control", &plan, "--watchdog", "0"], "error: --watchdog must be a positive number"),
        (
            vec!["export", &plan, "--format", "c", "--out", "x", "--rollout", "7"],
            "error: the plan has no rollout 7\n",
        ),
    ] {
        // A value that begins with a sign is joined to its option.
        let joined: Vec<String> = match arguments.iter().position(|a| *a == "-3") {
            Some(i) => {
                [&arguments[..i - 1], &["--budget=-3"]].concat().iter().map(ToString::to_string).collect()
            }
            None => arguments.iter().map(ToString::to_string).collect(),
        };
        let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_ocorl")).args(&joined).output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.starts_with(message), "{arguments:?}: {words}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    }
}

fn read_line(out: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn answers_come_at_once_and_silence_is_safe() {
    let (_folder, plan) = plan();
    let mut child = start(&["control", &plan, "--watchdog", "100"]);
    let (mut input, mut out) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..2 {
        input.write_all(b"{\"x\": [3.0, 0.5]}\n").unwrap();
        assert_eq!(read_line(&mut out)["level"], "planned");
        let begin = Instant::now();
        let alarm = read_line(&mut out);
        assert_eq!(
            (&alarm["watchdog"], &alarm["level"], &alarm["u"][0]),
            (&true.into(), &"safe".into(), &0.0.into())
        );
        assert!(begin.elapsed() >= Duration::from_millis(80), "{:?}", begin.elapsed());
        std::thread::sleep(Duration::from_millis(250));
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().ends_with("0 malformed, 2 silences\n"));
    let mut rest = String::new();
    out.read_line(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_the_safe_control() {
    let (_folder, plan) = plan();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = start(&["control", &plan, "--watchdog", "60000", "--json"]);
        let (mut input, mut out) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        input.write_all(b"{\"t\": 0, \"x\": [3.0, 0.5]}\n").unwrap();
        assert_eq!(read_line(&mut out)["level"], "planned");
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let last = read_line(&mut out);
        assert_eq!(
            (&last["stopped"], &last["level"], &last["u"][0]),
            (&true.into(), &"safe".into(), &0.0.into())
        );
        let mut rest = String::new();
        out.read_line(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing follows");
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(input);
    }
}

#[test]
fn a_line_without_end_and_a_reader_that_leaves_do_no_harm() {
    let (_folder, plan) = plan();
    let long = "x".repeat(1 << 20) + "\n{\"t\": 0, \"x\": [3, 0]}\n";
    let output = ocorl(&["control", &plan, "--quiet"], &long);
    let answers = lines(&output);
    assert_eq!(
        (&answers[0]["error"], &answers[1]["level"]),
        (&"line 1: it is too long".into(), &"planned".into())
    );
    assert_eq!((answers.len(), output.status.code(), output.stderr.len()), (2, Some(0), 0));

    let mut child = start(&["control", &plan, "--quiet"]);
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let line = "{\"t\": 0, \"x\": [3, 0]}\n";
    let _ = input.write_all(line.as_bytes());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn exports_are_written_where_they_are_wanted() {
    let (folder, plan) = plan();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let run = |format: &str, out: &str| {
        let output = ocorl(&["export", &plan, "--format", format, "--out", out], "");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let firmware = at("firmware");
    let words = run("c", firmware.to_str().unwrap());
    assert_eq!(words.lines().count(), 2);
    assert!(firmware.join("ocorl_controller.h").exists() && firmware.join("ocorl_controller.c").exists());
    let table = at("table.json");
    run("json", table.to_str().unwrap());
    let text = std::fs::read_to_string(&table).unwrap();
    assert_eq!(text, std::fs::read_to_string(&plan).unwrap(), "the plan has no learner section");
    run("json", firmware.to_str().unwrap());
    assert!(firmware.join("controller.json").exists());
}
