//! Help texts, colours, line widths, completions, manual pages, and the report in a browser.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// The program without settings of the surrounding terminal.
fn ocorl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.args(arguments);
    for name in ["COLUMNS", "NO_COLOR", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(name);
    }
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

/// Standard output of a command that succeeds.
fn stdout(command: &mut Command) -> String {
    let output = output(command);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

const COMMANDS: [&str; 19] = [
    "run",
    "list",
    "new",
    "check",
    "study",
    "rig",
    "watch",
    "table",
    "figure",
    "report",
    "open",
    "results",
    "sweep",
    "control",
    "export",
    "optimal",
    "bench",
    "completions",
    "man",
];

#[test]
fn without_a_command_the_three_that_matter_are_shown() {
    let text = stdout(&mut ocorl(&[]));
    let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("  ocorl ")).collect();
    assert_eq!(shown.len(), 3, "{text}");
    for (line, command) in shown.iter().zip(["run pendulum", "open runs/pendulum-0", "study new lab"]) {
        assert!(line.starts_with(&format!("  ocorl {command}")), "{line}");
    }
    assert!(text.lines().count() <= 8 && text.ends_with("ocorl --help\n"), "{text}");
}

#[test]
fn examples_are_in_the_long_help_only() {
    let verbs = ["new", "ask", "tell", "import", "fail", "discard", "status", "check"]
        .map(|verb| vec!["study", verb]);
    for command in COMMANDS.map(|command| vec![command]).into_iter().chain(verbs) {
        let help = |option| stdout(&mut ocorl(&[&command[..], &[option]].concat()));
        let (short, long, command) = (help("-h"), help("--help"), command.join(" "));
        // An example may begin with a program that writes into a pipe.
        let example = long.split_once("Examples:\n").and_then(|(_, examples)| examples.lines().next());
        let shown = example.is_some_and(|line| line.contains(&format!("ocorl {command}")));
        assert!(shown, "{command} has no examples:\n{long}");
        assert!(!short.contains("Examples:"), "{command}:\n{short}");
        assert!(short.contains("Usage: ocorl"), "{command}:\n{short}");
        assert!(short.len() < long.len(), "{command}");
    }
}

#[test]
fn every_command_is_named_in_the_help() {
    let help = stdout(&mut ocorl(&["--help"]));
    for command in COMMANDS {
        assert!(help.split(|c: char| !c.is_alphanumeric()).any(|word| word == command), "{command}:\n{help}");
    }
}

#[test]
fn colours_are_for_terminals_or_on_request() {
    let typo = |options: &[&str], no_color: Option<&str>| {
        let mut command = ocorl(&[&["list", "pendulm"], options].concat());
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        String::from_utf8(output(&mut command).stderr).expect("UTF-8")
    };
    let plain = "error: no system 'pendulm'\nhint: did you mean 'pendulum'? see: ocorl list\n";
    assert_eq!(typo(&[], None), plain, "standard error is not a terminal");
    assert_eq!(typo(&["--color", "never"], None), plain);
    let colored = "\x1b[1;31merror:\x1b[0m no system 'pendulm'\n\
                   \x1b[36mhint:\x1b[0m did you mean 'pendulum'? see: ocorl list\n";
    assert_eq!(typo(&["--color=always"], None), colored);
    assert_eq!(typo(&["--color", "always"], Some("1")), colored, "an option overrides the environment");
    let unknown = output(&mut ocorl(&["list", "--color", "sometimes"]));
    assert_eq!(unknown.status.code(), Some(2));
}

/// On a terminal, which `script` provides: colours, unless NO_COLOR is set to anything but nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colours_unless_no_color_is_set() {
    let program = format!("{} list pendulm", env!("CARGO_BIN_EXE_ocorl"));
    let on_terminal = |no_color: &str| {
        let found = Command::new("script")
            .args(["-qec", &program, "/dev/null"])
            .env("NO_COLOR", no_color)
            .env("TERM", "xterm")
            .output();
        found.ok().map(|output| String::from_utf8_lossy(&output.stdout).contains("\x1b[1;31merror:"))
    };
    // `script` is part of util-linux, which a minimal system may lack.
    if let Some(colored) = on_terminal("") {
        assert!(colored);
        assert_eq!(on_terminal("1"), Some(false));
    }
}

#[test]
fn output_fits_sixty_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &[][..],
        &["list"],
        &["list", "pendulum"],
        &["list", "quadrotor-3d"],
        &["figure"],
        &["optimal", "pendulum", "--intervals", "50"],
        &["run", "pendulum", "--episodes", "1"],
        &["run", "--help"],
        &["study", "--help"],
    ] {
        let mut command = ocorl(arguments);
        let output = output(command.env("COLUMNS", "60").current_dir(folder.path()));
        assert!(output.status.success(), "{output:?}");
        for stream in [&output.stdout, &output.stderr] {
            for line in String::from_utf8_lossy(stream).lines() {
                // A command to be copied stays in one line.
                let copied = line.trim_start().starts_with("ocorl ");
                assert!(line.chars().count() <= 60 || copied, "{arguments:?}: {line}");
            }
        }
    }
}

#[test]
fn a_narrow_table_has_the_same_numbers() {
    let words = |columns: Option<&str>| {
        let mut command = ocorl(&["optimal", "pendulum", "--intervals", "50"]);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let text = stdout(&mut command);
        let mut numbers: Vec<String> =
            text.split_whitespace().filter(|word| word.contains('.')).map(String::from).collect();
        numbers.sort();
        numbers
    };
    let wide = words(None);
    assert!(wide.len() > 6, "{wide:?}");
    assert_eq!(words(Some("60")), wide);
}

#[test]
fn completions_know_commands_systems_of_options_and_shells() {
    for (shell, mark) in [
        ("bash", "complete -F _ocorl"),
        ("zsh", "#compdef ocorl"),
        ("fish", "complete -c ocorl"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[ocorl]"),
    ] {
        let script = stdout(&mut ocorl(&["completions", shell]));
        assert!(script.contains(mark), "{shell}");
        for word in ["optimal", "completions", "discard", "measurements", "quiet"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(output(&mut ocorl(&["completions", "tcsh"])).status.code(), Some(2));
}

/// The shell itself accepts the script, and completes a command with it.
#[test]
fn bash_completes_with_them() {
    let script = stdout(&mut ocorl(&["completions", "bash"]));
    let ask = "COMP_WORDS=(ocorl opt); COMP_CWORD=1; _ocorl ocorl opt ocorl; echo \"${COMPREPLY[@]}\"";
    let Ok(found) = Command::new("bash").args(["-c", &format!("{script}\n{ask}")]).output() else { return };
    assert_eq!(String::from_utf8_lossy(&found.stdout), "optimal\n", "{found:?}");
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("man1");
    let told = stdout(ocorl(&["man", "--out"]).arg(&out));
    let page = |name: &str| std::fs::read_to_string(out.join(format!("{name}.1"))).expect(name);
    for command in COMMANDS {
        let text = page(&format!("ocorl-{command}"));
        assert!(text.contains(&format!("ocorl\\-{command}")), "{command}:\n{text}");
        let example =
            text.split_once(".SH EXAMPLES\n.nf\n").and_then(|(_, examples)| examples.lines().next());
        let shown = example.is_some_and(|line| line.contains(&format!("ocorl {command}")));
        assert!(shown, "{command}:\n{text}");
    }
    assert!(page("ocorl").contains("ocorl\\-run(1)"));
    assert!(page("ocorl-study-tell").contains("ocorl\\-study\\-tell"));
    let count = std::fs::read_dir(&out).expect("the folder").count();
    assert!(told.starts_with(&format!("wrote {count} manual pages")), "{told}");
}

/// A browser that writes down what it was asked to show.
fn browser(folder: &Path, status: u8) -> std::path::PathBuf {
    let (program, seen) = (folder.join(format!("browser{status}")), folder.join("seen"));
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{}'\nexit {status}\n", seen.display());
    std::fs::write(&program, script).expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    program
}

#[test]
fn open_shows_the_report_in_the_browser() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    stdout(ocorl(&["run", "pendulum", "--episodes", "1", "--quiet", "--out"]).arg(&run));
    let report = run.join("report.html");
    std::fs::remove_file(&report).expect("the report of the run");

    let browser_ok = browser(folder.path(), 0);
    let shown = output(ocorl(&["open"]).arg(&run).env("BROWSER", &browser_ok));
    assert_eq!(String::from_utf8_lossy(&shown.stdout), format!("{}\n", report.display()), "{shown:?}");
    assert!(String::from_utf8_lossy(&shown.stderr).ends_with("opened in the browser\n"), "{shown:?}");
    let seen = std::fs::read_to_string(folder.path().join("seen")).expect("the browser ran");
    assert_eq!(Path::new(&seen), report.canonicalize().expect("the report was written again"));

    let document = |command: &mut Command| {
        let text = stdout(command.args(["--json", "--quiet"]));
        serde_json::from_str::<serde_json::Value>(&text).expect("one JSON document")
    };
    let fails = browser(folder.path(), 3);
    assert_eq!(document(ocorl(&["open"]).arg(&run).env("BROWSER", fails))["opened"], false);
    assert_eq!(document(ocorl(&["open"]).arg(&run))["opened"], false, "there is no display");

    // What is there is shown as it is, unless it is to be written again.
    std::fs::write(&report, "old").expect("a file");
    stdout(ocorl(&["open"]).arg(&run));
    assert_eq!(std::fs::read_to_string(&report).expect("the report"), "old");
    stdout(ocorl(&["open", "--update"]).arg(&run));
    assert!(std::fs::read_to_string(&report).expect("the report").starts_with("<!"));

    let missing = output(ocorl(&["open"]).arg(folder.path().join("nothing")));
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}

#[test]
fn the_time_of_a_run_is_that_of_the_whole_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = std::time::Instant::now();
    let text = stdout(ocorl(&["run", "pendulum", "--episodes", "2", "--out"]).arg(folder.path().join("run")));
    let whole = begin.elapsed().as_secs_f64();
    let told: f64 = text
        .lines()
        .find_map(|line| line.strip_prefix("done in ")?.split_once(" s")?.0.parse().ok())
        .unwrap_or_else(|| panic!("no time in:\n{text}"));
    // A busy machine may delay the start and the end of the process, which are not included.
    assert!(told > 0.0 && told <= whole + 0.1, "{told} s of {whole} s");
    let document = std::fs::read_to_string(folder.path().join("run/run.json")).expect("run.json");
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let kept = document["elapsed_seconds"].as_f64().expect("a time");
    assert!((kept - told).abs() < 0.2, "{kept} s kept, {told} s printed");
}

#[test]
fn bench_counts_work_and_compares_times() {
    let text = stdout(&mut ocorl(&["bench", "--json", "--quiet"]));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("an array");
    assert!(rows.len() >= 9, "{text}");
    for row in &rows {
        assert!(row["seconds"].as_f64() > Some(0.0) && row["ratio"].as_f64() > Some(0.0), "{row}");
        assert!(row["relative_to"].is_string(), "{row}");
    }
    // The times of a test machine are noise; `cargo xtask gate` compares instruction counts.
    for task in ["append", "mean, std", "mean and its", "train"] {
        let named = |row: &serde_json::Value| row["task"].as_str().is_some_and(|name| name.starts_with(task));
        assert!(rows.iter().any(named), "no task '{task}': {text}");
    }
}
