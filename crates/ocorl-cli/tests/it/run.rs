//! Tests of `ocorl run` as an external process, with settings that make it short.

use ocorl_study::known::Known;
use ocorl_study::price::Prices;
use ocorl_study::run::Run;
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use ocorl_study::system::System;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

/// Settings that make a run short.
const SMALL: [&str; 8] =
    ["--episodes", "3", "--measurements", "4", "--set", "plan.intervals=20", "--set", "select.candidates=50"];

/// All files that are saved.
const FILES: [&str; 13] = [
    "cost.svg",
    "costs.csv",
    "measurements.csv",
    "phase.svg",
    "plans.csv",
    "report.html",
    "report.json",
    "run.json",
    "study.db",
    "study.lock",
    "theory.csv",
    "traces",
    "trajectories.csv",
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ocorl"))
}

fn ocorl(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Asserts the exit code and the complete standard error; standard output must be empty.
fn assert_fails(arguments: &[&str], code: i32, stderr: &str) {
    let arguments = [&["run"], arguments].concat();
    let output = ocorl(&arguments);
    assert_eq!(text(&output.stderr), stderr, "{arguments:?}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
}

/// The JSON document of a run, whose standard error must be empty.
fn document(arguments: &[&str]) -> Value {
    let output = ocorl(&[&["run"], arguments, &["--json", "--quiet"]].concat());
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert!(output.status.success(), "{arguments:?}: {:?}", output.status);
    serde_json::from_str(text(&output.stdout)).expect("one JSON document")
}

/// The JSON document of a short run.
fn small(arguments: &[&str]) -> Value {
    document(&[arguments, &SMALL].concat())
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn a_run_prints_a_row_an_episode_and_saves_everything_beside_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        let arguments = [&["run", "pendulum", "--strategy", "equidistant"][..], &SMALL].concat();
        let output =
            program().current_dir(folder.path()).args(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{output:?}");
        output
    };
    let output = run();
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[..3],
        [
            "pendulum: 2 states, 1 input, horizon 10 s, 3 episodes x 4 measurements, strategy equidistant, \
             explore optimistic, seed 0",
            "the control of episode 0 is 100 x the paper's authors' (excitation.scale = 100)",
            " episode        cost      regret  measured  uncertainty     planned",
        ]
    );
    for (i, line) in lines[3..6].iter().enumerate() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            (cells.len(), cells[0], cells[3]),
            (6, &*i.to_string(), &*(4 * (i + 1)).to_string()),
            "{line}"
        );
    }
    assert!(lines[6].starts_with("done in ") && lines[6].contains("    optimum 20.1604 ("), "{}", lines[6]);
    assert!(lines[6].ends_with("    optimal zero-order hold (9) 20.5494"), "{}", lines[6]);
    assert_eq!(lines[7], "paper 20.29 +- 0.03 (equidistant, optimistic, 20 episodes x 10 measurements)");
    assert!(lines[8].contains("within 1 % of the optimum"), "{}", lines[8]);
    assert_eq!(lines.len(), 9);
    assert!(text(&output.stderr).ends_with("saved runs/pendulum-equidistant-0\n"), "{output:?}");
    assert!(output.stderr.iter().chain(&output.stdout).all(|c| *c == b'\n' || !c.is_ascii_control()));

    assert_eq!(names(folder.path()), ["runs"]);
    let saved = folder.path().join("runs").join("pendulum-equidistant-0");
    assert_eq!(names(&saved), FILES);
    let rows = |name: &str| read(&saved, name).lines().count() - 1;
    assert_eq!((rows("costs.csv"), rows("theory.csv")), (3, 2));
    assert_eq!(
        (rows("trajectories.csv"), rows("plans.csv"), rows("measurements.csv")),
        (3 * 201, 2 * 21, 3 * 4)
    );
    assert!(
        read(&saved, "measurements.csv")
            .starts_with("episode,start,t,theta,omega,torque,theta_dot,omega_dot,chosen\n")
    );
    // All times were chosen ahead, including the one at the end of the horizon, and measured there.
    let chosen =
        |label: &str| read(&saved, "measurements.csv").lines().filter(|l| l.ends_with(label)).count();
    assert_eq!((chosen(",excitation"), chosen(",ahead"), chosen(",online")), (4, 8, 0));
    let last = read(&saved, "measurements.csv").lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("2,0,10.0,"), "{last}");
    for name in ["costs.csv", "theory.csv", "trajectories.csv", "plans.csv", "measurements.csv"] {
        let table = read(&saved, name);
        let columns = |line: &str| line.split(',').count();
        assert!(
            table.lines().all(|line| columns(line) == columns(table.lines().next().unwrap_or_default())),
            "{name}"
        );
    }
    for name in ["cost.svg", "phase.svg"] {
        let picture = read(&saved, name);
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{name}");
    }
    // Run again into the same folder: the same bytes, except for times.
    let timed = ["report.html", "report.json", "run.json", "study.db", "study.lock", "traces"];
    let texts = FILES.iter().filter(|name| !timed.contains(name));
    let before: Vec<String> = texts.clone().map(|name| read(&saved, name)).collect();
    run();
    for (name, before) in texts.zip(before) {
        assert_eq!(read(&saved, name), before, "{name}");
    }
}

#[test]
fn the_document_is_the_saved_one_and_the_number_of_threads_changes_no_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |threads: &str| {
        let out = folder.path().join(threads);
        let mut said = small(&["glucose", "--threads", threads, "--out", out.to_str().expect("UTF-8")]);
        let saved: Value = serde_json::from_str(&read(&out, "run.json")).expect("JSON");
        assert_eq!(said, saved);
        for time in ["cpu_seconds", "elapsed_seconds"] {
            assert!(said[time].as_f64() > Some(0.0), "{time}");
            said[time] = Value::Null;
        }
        said
    };
    let found = run("1");
    assert_eq!(found, run("2"));
    assert_eq!(found, run("1"));

    assert_eq!(found["system"], "glucose-in-blood");
    assert_eq!(
        (&found["strategy"], &found["explore"], &found["seed"]),
        (&"max-determinant".into(), &"optimistic".into(), &0.into())
    );
    assert_eq!(found["paper"], serde_json::json!({ "mean": 15.24, "std": 0.01 }));
    assert_eq!(found["settings"]["plan"]["intervals"], 20);
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!((number(&found["optimum"]) - 15.2412).abs() < 1e-3, "in the units of the table");
    assert!((number(&found["exact_zoh"]) - 15.2413).abs() < 1e-3);
    let episodes = found["episodes"].as_array().expect("a list");
    assert_eq!(episodes.len(), 3);
    let last = &episodes[2];
    assert_eq!(last["cost"], found["final_cost"]);
    assert!((number(&last["cost"]) - number(&found["optimum"]) - number(&last["regret"])).abs() < 1e-9);
    assert_eq!((&last["measurements"], &last["outcome"]), (&12.into(), &"completed".into()));
    assert_eq!(last["measurement_times"].as_array().map(Vec::len), Some(4));
    for key in
        ["planned_cost", "mean_cost", "information_gain", "cumulative_regret", "uncertainty", "coverage"]
    {
        assert!(last[key].is_f64(), "{key}");
    }
    assert!(last["theory"]["interval"].is_f64() && last["confidence_scale"].is_array());
}

#[test]
fn systems_with_and_without_a_row_in_the_paper_are_run_alike() {
    for name in ["cancer", "van-der-pol", "lotka-volterra"] {
        let found = document(&[name, "--no-save", "--episodes", "1"]);
        assert_eq!(found["paper"].is_object(), name == "cancer", "{name}");
    }
}

#[test]
fn every_strategy_and_every_exploration_can_be_asked_for() {
    let help = ocorl(&["run", "--help"]);
    let help: Vec<&str> = text(&help.stdout).split([' ', ',', '\n']).collect();
    // The result on such a coarse grid does not matter: pure exploration may leave the limits.
    let try_it = |option: &str, name: &str| {
        let kernel =
            if name == "weight-space" { "model.kernel=linear + constant" } else { "model.kernel=rbf" };
        let arguments = ["run", "pendulum", "--no-save", "--json", option, name, "--set", kernel];
        let output = ocorl(&[&arguments[..], &SMALL].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let document: Value = serde_json::from_str(text(&output.stdout)).expect("one JSON document");
        assert_eq!(document[&option[2..]], name);
        assert_eq!(document["episodes"].as_array().map(Vec::len), Some(3), "{name}");
    };
    for strategy in ocorl::learn::Strategy::ALL {
        assert!(help.contains(&strategy.name()), "{help:?}");
        try_it("--strategy", strategy.name());
    }
    for explore in ocorl::explore::Exploration::ALL {
        assert!(help.contains(&explore.name()), "{help:?}");
        try_it("--explore", explore.name());
    }
}

#[test]
fn discrete_time_is_measured_by_the_clock_unless_one_asks_otherwise() {
    let discrete =
        ["run", "pendulum", "--set", "time=discrete", "--episodes", "2", "--set", "measurements=5"];
    let printed = ocorl(&[&discrete[..], &["--print-config"]].concat());
    for line in ["time = \"discrete\"                # set", "strategy = \"equidistant\"         # set"] {
        assert!(text(&printed.stdout).lines().any(|l| l == line), "{line}\n{printed:?}");
    }
    assert!(text(&ocorl(&["run", "pendulum", "--print-config"]).stdout).contains("time = \"continuous\" "));
    let output = ocorl(&[&discrete[..], &["--no-save"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains("strategy equidistant, explore optimistic, seed 0, in discrete time\n"), "{said}");
    // The number of intervals follows the settings; the paper has no such cell. τ is the same in all measurements by design.
    assert!(said.contains("optimal zero-order hold (4)") && !said.contains("\npaper "), "{said}");
    assert!(!text(&output.stderr).contains("is the same in all measurements"), "{output:?}");
    assert_fails(
        &["pendulum", "--set", "time=discrete", "--strategy", "oracle"],
        2,
        "error: strategy is oracle; with time = discrete it must be equidistant or equidistant-growing: controls change \
         where it is measured\n",
    );
}

#[test]
fn settings_come_from_files_and_options_and_the_later_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "episodes = 7\n[plan]\nintervals = 30\nintegrator = 'rk4'\n").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let print = |arguments: &[&str]| {
        let output = ocorl(&[&["run", "pendulum", "--print-config"], arguments].concat());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
        text(&output.stdout).to_owned()
    };
    let printed =
        print(&["--settings", file, "--set", "plan.intervals=40", "--set", "episodes=8", "--episodes", "9"]);
    for line in [
        "episodes = 9                     # set",
        "measurements = 10                # default",
        "intervals = 40                   # set",
        "integrator = \"rk4\"               # set",
        "scale = 1.0                      # default",
    ] {
        assert!(printed.lines().any(|l| l == line), "{line}\n{printed}");
    }
    assert!(print(&[]).contains("scale = 100.0                    # set\n"));
    let combined = print(&["--set", "model.kernel=linear*(rbf+constant)"]);
    assert!(combined.contains("kernel = \"linear * (rbf + constant)\" # set\n"), "{combined}");
    let reference = print(&["--settings", "reference"]);
    assert!(reference.contains("kernel = \"reference\"             # set\n"), "{reference}");
    assert!(reference.contains("as_reference = true              # set\n"), "{reference}");
    let again = folder.path().join("again.toml");
    std::fs::write(&again, &reference).expect("a file");
    let again = print(&["--settings", again.to_str().expect("UTF-8")]);
    assert_eq!(again.replace("# default", "# set"), reference.replace("# default", "# set"));
}

#[test]
fn unknown_names_are_answered_with_a_suggestion() {
    assert_fails(
        &["pendulm"],
        2,
        "error: no system 'pendulm'\nhint: did you mean 'pendulum'? see: ocorl list\n",
    );
    assert_fails(
        &["pendulum", "--strategy", "max-determinnt"],
        2,
        "error: no strategy 'max-determinnt' (there are: equidistant, equidistant-growing, max-determinant, \
         max-kernel-distance, receding-horizon, oracle, uncertainty-trigger)\n\
         hint: did you mean 'max-determinant'? see: ocorl run --help\n",
    );
    assert_fails(
        &["pendulum", "--explore", "optimist"],
        2,
        "error: no exploration 'optimist' (there are: optimistic, mean, thompson, bonus, explore, weight-space, \
         epsilon-greedy, boltzmann)\n\
         hint: did you mean 'optimistic'? see: ocorl run --help\n",
    );
    assert_fails(
        &["pendulum", "--set", "plan.intervls=3"],
        2,
        "error: no setting 'plan.intervls'\n\
         hint: did you mean 'plan.intervals'? see: ocorl run pendulum --print-config\n",
    );
    assert_fails(
        &["pendulum", "--set", "kernel=rbf"],
        2,
        "error: no setting 'kernel'\n\
         hint: did you mean 'model.kernel'? see: ocorl run pendulum --print-config\n",
    );
    assert_fails(
        &["pendulum", "--set", "model.kernel=matern-5"],
        2,
        "error: setting 'model.kernel' cannot be \"matern-5\"\n  \
         cause   unknown kernel `matern-5` at character 1, expected one of `rbf`, `matern-5/2`, `matern-3/2`, `linear`, \
         `constant`, `periodic`, `reference`\n\
         hint: did you mean 'matern-5/2'?\n",
    );
    assert_fails(
        &[],
        2,
        "error: the following required arguments were not provided: <SYSTEM>\nhint: see: ocorl run --help\n",
    );
    assert_fails(
        &["acrobot", "--settings", "reference"],
        2,
        "error: acrobot has no settings of the paper's authors\n\
         hint: only the systems of the paper's Table 1 have; see: ocorl list\n",
    );
}

#[test]
fn settings_that_make_no_sense_are_refused_before_the_work() {
    for (arguments, message) in [
        (["--episodes", "0"], "episodes is 0; it must be between 1 and 10000"),
        (["--measurements", "0"], "measurements is 0; it must be between 1 and 1000"),
        (["--threads", "0"], "--threads must be between 1 and 1024, not 0"),
        (["--set", "plan.intervals=0"], "plan.intervals is 0; it must be between 1 and 10000"),
        (
            ["--set", "track.period=nan"],
            "track.period is NaN; it must be a positive, finite time, with at most 1e9 periods in the horizon",
        ),
    ] {
        assert_fails(&[&["pendulum"], &arguments[..]].concat(), 2, &format!("error: {message}\n"));
    }
    assert_fails(
        &["pendulum", "--set", "plan.intervals=many"],
        2,
        "error: setting 'plan.intervals' cannot be \"many\"\n  \
         cause   invalid type: string \"many\", expected usize\n",
    );
    assert_fails(
        &["pendulum", "--set", "plan=3"],
        2,
        "error: 'plan' is a section of settings, not one\nhint: as in: plan.effort\n",
    );
    assert_fails(
        &["pendulum", "--set", "plan.intervals"],
        2,
        "error: invalid value 'plan.intervals' for '--set <PATH=VALUE>': \
         it must be PATH=VALUE, as in plan.intervals=100\nhint: see: ocorl run --help\n",
    );
}

#[test]
fn mistakes_in_a_file_are_shown_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let path = file.to_str().expect("UTF-8");
    for (contents, stderr) in [
        (
            "[plan]\nintervals = = 3\n",
            format!(
                "error: '{path}' is not TOML\n  place   {path}, line 2, column 13\n  \
                 cause   extra `=`, expected nothing\n"
            ),
        ),
        (
            "episodes = 3\n\n[plan]\n  intervls = 3\n",
            format!(
                "error: no setting 'plan.intervls'\n  file    {path}, line 4, column 3\n\
                 hint: did you mean 'plan.intervals'? see: ocorl run pendulum --print-config\n"
            ),
        ),
        (
            "[plan]\nintervals = true\n",
            format!(
                "error: setting 'plan.intervals' cannot be true\n  file    {path}, line 2, column 1\n  \
                 cause   invalid type: boolean `true`, expected usize\n"
            ),
        ),
    ] {
        std::fs::write(&file, contents).expect("a file");
        assert_fails(&["pendulum", "--settings", path], 2, &stderr);
    }
    assert_fails(
        &["pendulum", "--settings", "no-such-file.toml"],
        2,
        "error: cannot read 'no-such-file.toml'\n  cause   No such file or directory (os error 2)\n\
         hint: --settings takes default, reference or a TOML file\n",
    );
}

#[test]
fn a_folder_that_cannot_be_written_fails_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").expect("a file");
    for (out, cause) in
        [(taken.clone(), "not a directory"), (taken.join("run"), "Not a directory (os error 20)")]
    {
        let out = out.to_str().expect("UTF-8");
        let stderr =
            format!("error: cannot write '{out}'\n  cause   {cause}\n  note    nothing was computed\n");
        assert_fails(&["pendulum", "--out", out], 5, &stderr);
    }
}

#[test]
fn a_run_that_ends_badly_says_so_and_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("wild");
    let out = out.to_str().expect("UTF-8");
    let arguments = ["run", "pendulum", "--episodes", "1", "--set", "excitation.scale=1e5", "--out", out];
    let output = ocorl(&[&arguments[..], &["--quiet"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let row = text(&output.stdout).lines().nth(3).unwrap_or_default();
    assert!(row.contains("  'theta' left its limits at t = ") || row.contains("  'omega' left"), "{row}");
    let error = text(&output.stderr);
    assert!(error.starts_with("error: the last episode did not complete: '"), "{error}");
    assert!(error.ends_with(&format!("  saved   {out}\n")), "{error}");
    assert_eq!(names(Path::new(out)), FILES);
    let output = ocorl(&[&arguments[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(text(&output.stdout)).expect("one document");
    assert_eq!(document["exit_code"], 1);
    assert_eq!(document["episodes"].as_array().map(Vec::len), Some(1));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_was_learned() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = tempfile::tempdir().expect("a folder");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let out = folder.path().join(signal);
        let mut child = program()
            .args(["run", "pendulum", "--out", out.to_str().expect("UTF-8")])
            .args(["--episodes", "1000", "--measurements", "4", "--set", "plan.intervals=20", "--quiet"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let row = |line: &String| line.trim_start().starts_with("1 ");
        lines.by_ref().map(|line| line.expect("a line")).find(row).expect("the row of episode 1");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        let mut said = String::new();
        child.stderr.take().expect("its talk").read_to_string(&mut said).expect("text");
        let document: Value = serde_json::from_str(&read(&out, "run.json")).expect("JSON");
        let done = document["episodes"].as_array().map_or(0, Vec::len);
        assert!(done >= 2, "{rest:?}");
        assert_eq!(
            said,
            format!("error: interrupted after {done} of 1000 episodes\n  saved   {}\n", out.display())
        );
        // An interrupted program does not wait for its store: the SQLite log may still exist.
        let log =
            |name: &String| name.ends_with("-shm") || name.ends_with("-wal") || name.contains("live.json");
        assert_eq!(names(&out).into_iter().filter(|name| !log(name)).collect::<Vec<_>>(), FILES);
    }
}

#[test]
fn the_program_and_the_library_keep_the_same_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
    small(&["pendulum", "--seed", "3", "--out", theirs.to_str().expect("UTF-8")]);

    let system = System::find("pendulum").expect("a system");
    let benchmark = system.truth.clone().expect("its equations");
    let mut config = system.config("default").expect("settings");
    for (path, value) in
        [("episodes", "3"), ("measurements", "4"), ("plan.intervals", "20"), ("select.candidates", "50")]
    {
        config.set(path, value).expect(path);
    }
    let settings = &config.settings;
    let known = Known::of(&benchmark, settings).expect("what is possible");
    let study = Study::open_or_create(&ours, &system, settings, 3, Prices::default()).expect("a study");
    let mut run = Run::begin(&benchmark, settings, 3, Some(&known), Some(study), &Arc::default())
        .expect("a run that begins");
    while run.next_episode(&mut ()).expect("an episode").is_some() {}
    drop(run);

    let head = |folder: &Path| {
        let study = Study::open(folder, Access::Read).expect("a study");
        let (count, checksum) = study.store().head();
        (count, checksum.to_owned())
    };
    assert_eq!(head(&ours), head(&theirs));
}

#[test]
fn a_log_has_every_episode_once_and_its_failure_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("logged");
    let path = out.to_str().expect("UTF-8");
    let arguments = [&["run", "pendulum", "--log", "tensorboard", "--out", path][..], &SMALL].concat();
    // Run again, the episodes and the log are written again.
    for _ in 0..2 {
        let output = ocorl(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let files = names(&out.join("tensorboard"));
        assert!(files.len() == 1 && files[0].starts_with("events.out.tfevents."), "{files:?}");
        let bytes = std::fs::read(out.join("tensorboard").join(&files[0])).expect("the log");
        let tags = |tag: &[u8]| bytes.windows(tag.len()).filter(|window| *window == tag).count();
        // A tag follows its length, so the planned cost is counted separately.
        assert_eq!((tags(b"\x0a\x04cost"), tags(b"\x0a\x0cplanned_cost")), (3, 2));
    }
    std::fs::remove_dir_all(out.join("tensorboard")).expect("a folder that can go");
    std::fs::write(out.join("tensorboard"), "in the way").expect("a file");
    let output = ocorl(&arguments);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr).matches("logging for TensorBoard stopped").count(), 1);

    let refused = ocorl(&["run", "pendulum", "--no-save", "--log", "tensorboard"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = ocorl(&["run", "pendulum", "--log", "paper"]);
    assert!(text(&refused.stderr).contains("tensorboard"), "{}", text(&refused.stderr));
}
