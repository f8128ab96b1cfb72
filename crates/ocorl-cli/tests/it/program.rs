//! Runs the program as an external process, and compares its complete output.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn ocorl(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.args(arguments).env_remove("COLUMNS").output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Asserts the exit code and the complete standard error; standard output must be empty.
fn assert_fails(arguments: &[&str], code: i32, stderr: &str) {
    let output = ocorl(arguments);
    assert_eq!(text(&output.stderr), stderr, "{arguments:?}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
}

/// Asserts success with empty standard error, and returns standard output.
fn quietly(arguments: &[&str]) -> String {
    let output = ocorl(&[arguments, &["--quiet"]].concat());
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert!(output.status.success(), "{arguments:?}: {:?}", output.status);
    text(&output.stdout).to_owned()
}

fn documents(arguments: &[&str]) -> Vec<Value> {
    let text = quietly(&[arguments, &["--json"]].concat());
    match serde_json::from_str(&text).expect("one JSON document") {
        Value::Array(documents) => documents,
        other => panic!("not an array: {other}"),
    }
}

#[test]
fn help_fits_a_small_terminal_and_leads_with_examples() {
    let help = quietly(&["--help"]);
    assert!(help.lines().count() <= 24, "{} lines", help.lines().count());
    let lines: Vec<&str> = help.lines().skip(2).take(4).collect();
    assert_eq!(lines[0], "Examples:");
    assert!(lines[1..].iter().all(|line| line.starts_with("  ocorl ")), "{lines:?}");
    assert!(quietly(&["--version"]).starts_with("ocorl 0."));
}

#[test]
fn an_absurd_number_of_threads_is_limited() {
    for arguments in [&["list"][..], &["optimal", "pendulum"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
        let output =
            command.args(arguments).env("RAYON_NUM_THREADS", "100000").output().expect("the program starts");
        let said = text(&output.stderr);
        assert!(said.contains("warning: RAYON_NUM_THREADS asks for 100000 threads"), "{said}");
        assert!(output.status.success());
    }
}

#[test]
fn list_shows_every_system_within_100_columns() {
    let list = quietly(&["list"]);
    assert!(list.lines().all(|line| line.chars().count() <= 100 && line == line.trim_end()), "{list}");
    assert_eq!(
        list.lines().filter(|line| line.starts_with("* ")).count(),
        9 + 1,
        "nine systems and the legend"
    );
    for b in ocorl::system::Benchmark::all() {
        let mark = if b.published().is_some() { '*' } else { ' ' };
        let line = format!("{mark} {:<16}  {}: {}", b.name, b.title, b.summary);
        assert!(list.lines().any(|l| l == line), "{line}\n{list}");
        assert!(b.task.states.iter().chain(&b.task.controls).all(|q| list.contains(&q.name)));
    }
    let pendulum = "* pendulum          Pendulum: swing a pendulum up from hanging and balance it\n    \
                    T 10 s   N 20  M 10   states theta [rad], omega [rad/s]; inputs torque [rad/s²]\n";
    assert!(list.contains(pendulum), "{list}");
}

#[test]
fn list_tells_all_about_one_system() {
    let expected = "\
Pendulum (pendulum)
swing a pendulum up from hanging and balance it

                name     unit      value  lower limit  upper limit
start of state  theta    rad     3.14159         -100          100
                omega    rad/s         0          -50           50
safe input      torque   rad/s²        0         none         none
parameter       gravity  m/s²       9.81
                length   m             5
horizon         T        s            10

ocorl optimal changes them: --start theta=VALUE, --limit torque=LOW:HIGH, --set gravity=VALUE, --horizon T
";
    assert_eq!(quietly(&["list", "pendulum"]), expected);
    assert!(quietly(&["list", "cancer", "quadrotor-3d"]).contains("inertia_xz"));
}

#[test]
fn list_as_json_names_every_system() {
    let all = documents(&["list"]);
    let names: Vec<&str> = all.iter().map(|d| d["system"].as_str().expect("a name")).collect();
    let benchmarks = ocorl::system::Benchmark::all();
    let known: Vec<&str> = benchmarks.iter().map(|b| &*b.name).collect();
    assert_eq!(names, known);
    assert_eq!(all[2]["states"][0]["unit"], "rad");
    assert_eq!(all[2]["inputs"][0]["limits"], serde_json::json!([null, null]));
    assert_eq!(all[2]["parameters"][1]["value"], 5.0);
}

#[test]
fn optimal_prints_its_table_beside_the_paper() {
    let expected = "          \
          continuous-time control             zero-order hold
          open loop  tracked  paper     diff  as paper  paper     diff  optimal
Pendulum    20.1604  20.1604  20.16  +0.00 %   20.5933  20.59  +0.02 %  20.5494

open loop, tracked  the optimal plan's cost on the true system: open loop, and tracked by MPC
as paper, optimal   zero-order hold: computed as in the authors' program, and the optimum
paper, diff         Table 1 (known model) in its units, and how much more ours is; - if not comparable
";
    assert_eq!(quietly(&["optimal", "pendulum"]), expected);
    let output = ocorl(&["optimal", "pendulum"]);
    assert_eq!(text(&output.stdout), expected);
    assert!(text(&output.stderr).starts_with("done in "), "{output:?}");
}

#[test]
fn optimal_as_json_is_one_array_in_the_units_of_table_1() {
    let found = documents(&["optimal", "glucose", "mountain-car", "van-der-pol"]);
    let text = quietly(&["optimal", "glucose", "--json"]);
    let keys = ["system", "open_loop", "tracked", "zoh_reference", "zoh", "paper_continuous", "paper_zoh"];
    let places: Vec<usize> = keys.iter().map(|k| text.find(&format!("\"{k}\":")).expect("the key")).collect();
    assert!(places.is_sorted() && places[6] < text.find("\"title\"").expect("extras"), "{text}");
    let number = |i: usize, key: &str| found[i][key].as_f64().unwrap_or(f64::NAN);
    assert_eq!(found[0]["system"], "glucose-in-blood");
    assert!((number(0, "tracked") - 15.2412).abs() < 1e-3 && number(0, "paper_continuous") == 15.23);
    assert!((number(1, "zoh_reference") - 35.0368).abs() < 1e-3 && number(1, "paper_zoh") == 35.04);
    assert!(found[2]["paper_continuous"].is_null() && found[2]["paper_zoh"].is_null());
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let run = |jobs: &str| {
        let mut found = documents(&["optimal", "pendulum", "bicycle", "--intervals", "100", "--jobs", jobs]);
        for document in &mut found {
            document["seconds"] = Value::Null;
        }
        found
    };
    assert_eq!(run("1"), run("2"));
    assert_eq!(run("1"), run("4"));
}

#[test]
fn a_changed_problem_is_not_compared_with_the_paper() {
    let solve = |options: &[&str]| {
        let coarse = ["optimal", "pendulum", "--intervals", "100"];
        documents(&[&coarse, options].concat()).remove(0)
    };
    let paper = |d: &Value| (d["paper_continuous"].as_f64(), d["paper_zoh"].as_f64());
    assert_eq!(paper(&solve(&["--set", "length=5"])), (Some(20.16), Some(20.59)), "it is the paper's length");
    assert_eq!(paper(&solve(&["--holds", "20"])), (Some(20.16), None));
    for options in
        [["--set", "length=4"], ["--horizon", "9"], ["--start", "theta=3"], ["--limit", "torque=-3:3"]]
    {
        assert_eq!(paper(&solve(&options)), (None, None), "{options:?}");
    }
    let weak = solve(&["--limit", "torque=:2", "--limit", "torque=-2:"]);
    assert!(weak["tracked"].as_f64() > Some(20.1));
    // Later options override earlier ones, and the order of start and limits is free.
    solve(&["--start", "theta=120", "--limit", "theta=:300", "--start", "theta=1"]);
}

#[test]
fn every_tracker_follows_the_plan() {
    for tracker in ["mpc", "feedback", "replan"] {
        let found = documents(&["optimal", "pendulum", "--intervals", "100", "--tracker", tracker]).remove(0);
        let tracked = found["tracked"].as_f64().expect("a cost");
        assert!((tracked - 20.16).abs() < 0.02, "{tracker}: {tracked}");
    }
}

#[test]
fn a_plan_that_cannot_be_optimal_is_warned_of() {
    let output = ocorl(&["optimal", "pendulum", "--intervals", "5"]);
    let warning = text(&output.stderr).lines().next().unwrap_or_default();
    assert!(warning.starts_with("warning: pendulum: planned "), "{warning}");
    assert!(warning.ends_with("the grid is too coarse, try more --intervals"), "{warning}");
}

#[test]
fn unknown_names_are_answered_with_a_suggestion() {
    assert_fails(
        &["optimal", "pendulm"],
        2,
        "error: no system 'pendulm'\nhint: did you mean 'pendulum'? see: ocorl list\n",
    );
    assert_fails(&["list", "rocket"], 2, "error: no system 'rocket'\nhint: see: ocorl list\n");
    assert_fails(
        &["optimal", "pendulum", "--set", "lenght=3"],
        2,
        "error: pendulum has no parameter 'lenght' (it has: gravity, length)\n\
         hint: did you mean 'length'? see: ocorl list pendulum\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--limit", "torqe=-1:1"],
        2,
        "error: pendulum has no state or control 'torqe' (it has: theta, omega, torque)\n\
         hint: did you mean 'torque'? see: ocorl list pendulum\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--set", "theta=1"],
        2,
        "error: 'theta' is no parameter of pendulum, but a state or an input\n\
         hint: a start: --start theta=VALUE; limits: --limit theta=LOW:HIGH\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--start", "torque=1"],
        2,
        "error: 'torque' is an input of pendulum; only states have a start\n\
         hint: limits of an input: --limit torque=LOW:HIGH\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--start", "tetha=1"],
        2,
        "error: pendulum has no state 'tetha' (it has: theta, omega)\n\
         hint: did you mean 'theta'? see: ocorl list pendulum\n",
    );
}

#[test]
fn wrong_usage_is_answered_with_the_way_to_help() {
    assert_fails(
        &["lst"],
        2,
        "error: unrecognized subcommand 'lst'\n\
         hint: a similar subcommand exists: 'list'; see: ocorl --help\n",
    );
    assert_fails(
        &["optimal"],
        2,
        "error: no system given\n\
         hint: as in: ocorl optimal pendulum, or: ocorl optimal --all; see: ocorl list\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--horizn", "3"],
        2,
        "error: unexpected argument '--horizn' found\n\
         hint: a similar argument exists: '--horizon'; see: ocorl optimal --help\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--all"],
        2,
        "error: the argument '[SYSTEM]...' cannot be used with '--all'\nhint: see: ocorl optimal --help\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--set", "length"],
        2,
        "error: invalid value 'length' for '--set <NAME=VALUE>': it must be NAME=VALUE, as in gravity=9.81\n\
         hint: see: ocorl optimal --help\n",
    );
    assert_fails(
        &["optimal", "pendulum", "--limit", "torque=2"],
        2,
        "error: invalid value 'torque=2' for '--limit <NAME=LOW:HIGH>': \
         it must be NAME=LOW:HIGH, as in torque=-2:2 or torque=:2\nhint: see: ocorl optimal --help\n",
    );
    assert_fails(
        &["optimal", "pendulum", "bicycle", "--horizon", "3"],
        2,
        "error: --horizon changes one system, but 2 are asked for\n\
         hint: as in: ocorl optimal pendulum --horizon ...\n",
    );
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for (options, message) in [
        (["--horizon", "-1"], "the horizon must be a positive, finite time, not -1"),
        (["--horizon", "0"], "the horizon must be a positive, finite time, not 0"),
        (["--horizon", "nan"], "the horizon must be a positive, finite time, not NaN"),
        (["--horizon", "-inf"], "the horizon must be a positive, finite time, not -inf"),
        (["--intervals", "0"], "--intervals must be between 1 and 10000, not 0"),
        (["--intervals", "10001"], "--intervals must be between 1 and 10000, not 10001"),
        (["--holds", "0"], "--holds must be between 1 and 1000, not 0"),
        (["--jobs", "0"], "--jobs must be between 1 and 1024, not 0"),
        (["--set", "length=nan"], "parameter 'length' of pendulum is NaN; it must be finite"),
        (["--set", "length=inf"], "parameter 'length' of pendulum is inf; it must be finite"),
        (["--start", "theta=inf"], "initial state 'theta' is inf; it must be finite"),
        (["--start", "theta=200"], "initial state 'theta' = 200 lies outside its limits [-100, 100]"),
        (
            ["--limit", "theta=-1:1"],
            "initial state 'theta' = 3.141592653589793 lies outside its limits [-1, 1]",
        ),
        (["--limit", "torque=2:1"], "the limits of 'torque' are empty: [2, 1]"),
        (["--limit", "torque=nan:1"], "the limits of 'torque' are empty: [NaN, 1]"),
    ] {
        let arguments = [["optimal", "pendulum"], options].concat();
        assert_fails(&arguments, 2, &format!("error: {message}\n"));
    }
    assert_fails(
        &["optimal", "pendulum", "--intervals", "-4"],
        2,
        "error: invalid value '-4' for '--intervals <N>': invalid digit found in string\n\
         hint: see: ocorl optimal --help\n",
    );
    assert_fails(
        &["optimal", "cancer", "--start", "tumour=-1"],
        2,
        "error: the dynamics of cancer-treatment are not finite at the start x = [-1.0], u = [0.0]: ẋ = [NaN]\n",
    );
}

#[test]
fn a_run_that_leaves_its_limits_ends_badly() {
    assert_fails(
        &["optimal", "pendulum", "--limit", "omega=-1:1", "--intervals", "10"],
        1,
        "error: the run of pendulum ended early: 'omega' left its limits at t = 8.6395\n  \
         note    the plan keeps the states within the limits at its nodes; the run that follows it left them\n",
    );
}

#[test]
fn errors_are_one_json_document_too() {
    for (arguments, code, error, hint) in [
        (
            &["optimal", "pendulm"][..],
            2,
            "no system 'pendulm'",
            Some("did you mean 'pendulum'? see: ocorl list"),
        ),
        (
            &["lst"],
            2,
            "unrecognized subcommand 'lst'",
            Some("a similar subcommand exists: 'list'; see: ocorl --help"),
        ),
        (
            &["optimal", "pendulum", "--horizon", "0"],
            2,
            "the horizon must be a positive, finite time, not 0",
            None,
        ),
        (
            &["optimal", "pendulum", "--plot", "no/such/folder/p.svg"],
            5,
            "cannot write 'no/such/folder/p.svg'",
            None,
        ),
    ] {
        let output = ocorl(&[arguments, &["--json"]].concat());
        let document: Value = serde_json::from_str(text(&output.stdout)).expect("one JSON document");
        assert_eq!(document["error"], error);
        assert_eq!(document["hint"].as_str(), hint);
        assert_eq!(document["exit_code"], code);
        assert_eq!(output.status.code(), Some(code));
        assert!(text(&output.stderr).starts_with(&format!("error: {error}\n")), "{output:?}");
    }
}

#[test]
fn plots_are_written_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (picture, numbers, several) = (path("one.svg"), path("one.csv"), path("several.svg"));
    std::fs::write(&picture, "old").expect("a file");
    quietly(&["optimal", "pendulum", "--intervals", "50", "--plot", &picture]);
    quietly(&["optimal", "pendulum", "--intervals", "50", "--plot", &numbers]);
    quietly(&["optimal", "pendulum", "bicycle", "--intervals", "50", "--plot", &several]);
    let read = |path: &str| std::fs::read_to_string(path).expect("the plot");
    for name in ["theta", "omega", "torque", "Phase portrait", "optimal zero-order hold", "tracked", "plan"] {
        assert!(read(&picture).contains(name), "{name}");
    }
    assert!(read(&picture).starts_with("<svg") && read(&picture).ends_with("</svg>\n"));
    assert!(read(&several).contains("Bicycle"));
    assert!(
        read(&numbers)
            .starts_with("panel,series,mark,x,y\ntheta,optimal zero-order hold,line,0.0,3.14159265")
    );
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 3, "nothing else is left");
}

#[test]
fn a_plot_that_cannot_be_written_fails_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing").join("plot.svg");
    let missing = missing.to_str().expect("UTF-8");
    // This plan takes far longer than the two seconds of processor time that the program gets: the answer must come without it.
    let limited = "ulimit -t 2 && exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_ocorl")])
        .args(["optimal", "quadrotor-3d", "--intervals", "10000", "--plot", missing])
        .output()
        .expect("a shell");
    let expected = format!(
        "error: cannot write '{missing}'\n  cause   No such file or directory (os error 2)\n  \
         note    nothing was computed\n"
    );
    assert_eq!((text(&output.stderr), output.status.code()), (expected.as_str(), Some(5)));
    let taken = folder.path().join("folder.svg");
    std::fs::create_dir(&taken).expect("a folder");
    assert_fails(
        &["optimal", "pendulum", "--plot", taken.to_str().expect("UTF-8")],
        5,
        &format!(
            "error: cannot write '{}'\n  cause   is a directory\n  note    nothing was computed\n",
            taken.display()
        ),
    );
    assert_fails(
        &["optimal", "pendulum", "--plot", "plot.png"],
        2,
        "error: --plot cannot write 'plot.png'\nhint: plots are .svg files, their data .csv files\n",
    );
}

#[test]
fn progress_is_plain_lines_where_nobody_watches() {
    let output = ocorl(&["optimal", "pendulum", "glucose", "--intervals", "50"]);
    let talk = text(&output.stderr);
    assert_eq!(talk.lines().filter(|line| line.contains(" of 2: ")).count(), 2, "{talk}");
    assert!(talk.chars().all(|c| c == '\n' || !c.is_control()), "{talk:?}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ocorl"))
        .args(["optimal", "pendulum", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let output = Command::new(env!("CARGO_BIN_EXE_ocorl"))
        .arg("list")
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("the program starts");
    assert_eq!(
        text(&output.stderr),
        "error: cannot write to standard output\n  cause   No space left on device (os error 28)\n"
    );
    assert_eq!(output.status.code(), Some(5));
}
