//! A miniature of Table 1 and of every figure, from the command to the files.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Settings that make every cell short.
const SMALL: [&str; 10] = [
    "--set",
    "episodes=3",
    "--set",
    "plan.intervals=20",
    "--set",
    "plan.random_starts=1",
    "--set",
    "select.candidates=50",
    "--seeds",
    "2",
];

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs the program, asserts success, and returns standard output.
fn well(folder: &Path, arguments: &[&str]) -> String {
    let output = ocorl(folder, arguments);
    assert!(output.status.success(), "{arguments:?}\n{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn the_table_in_every_format_and_again_from_its_results() {
    let folder = temporary();
    let small = [&["table", "--systems", "cancer-treatment,pendulum", "--quiet"], &SMALL[..]].concat();
    let printed = well(folder.path(), &small);
    assert!(printed.contains("max kernel distance") && printed.contains("\nCancer treatment "), "{printed}");
    assert!(printed.contains("mean +- standard deviation over 2 seeds"), "{printed}");
    let read = |ending: &str| {
        fs::read_to_string(folder.path().join(format!("tables/table1.{ending}"))).expect(ending)
    };
    assert_eq!(read("txt"), printed);
    assert!(read("md").starts_with("| System |") && read("md").contains("**"));
    assert!(read("tex").contains("\\begin{tabular}") && read("tex").contains("\\textbf{"));
    assert_eq!(read("csv").lines().count(), 1 + 2 * 3);
    let rows: Vec<Value> = serde_json::from_str(&read("json")).expect("JSON");
    assert!(rows.iter().all(|row| row["seeds"] == 2 && row["failed"] == 0 && row["mean"].is_f64()));
    // Costs of the episodes before the last.
    assert!(rows.iter().all(|row| row["aborted"].is_u64() && row["worst_cost"].is_f64()), "{rows:?}");
    assert_eq!(printed.matches("Pendulum          max determinant ").count(), 1, "{printed}");
    assert!(read("md").contains("| aborted episodes | worst episode | × optimum |"), "{}", read("md"));
    assert!(
        read("tex").contains("Pendulum & max determinant & ") && read("tex").contains("$\\times$ optimum")
    );
    // The files of the sweep give the same table.
    for format in ["text", "markdown", "csv", "json", "latex"] {
        let (again, first) = (
            well(folder.path(), &["table", "--from", "sweeps/table1", "--no-save", "--format", format]),
            read(match format {
                "text" => "txt",
                "markdown" => "md",
                "latex" => "tex",
                other => other,
            }),
        );
        assert_eq!(again, first, "{format}");
    }
    // Finished cells are not run again.
    let dry = well(folder.path(), &[&small[..], &["--dry-run"]].concat());
    assert_eq!(dry, "12 cells, 12 already done, 0 to run\n");
    // The same results as figures.
    for name in ["gaps", "regret"] {
        well(folder.path(), &["figure", name, "--from", "sweeps/table1"]);
        assert_drawn(folder.path(), name, &["Cancer treatment", "Pendulum"]);
    }
}

/// Asserts that the three files of a figure exist, and that its SVG contains these texts.
fn assert_drawn(folder: &Path, name: &str, words: &[&str]) {
    let read = |ending: &str| fs::read(folder.join(format!("figures/{name}.{ending}"))).expect(ending);
    let svg = String::from_utf8(read("svg")).expect("SVG is text");
    assert!(svg.starts_with("<svg") && !svg.contains("NaN") && !svg.contains("no data"), "{name}");
    for word in words {
        assert!(svg.contains(word), "{name} does not say '{word}'");
    }
    let png = read("png");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 5_000, "{name}: {} bytes", png.len());
    let csv = String::from_utf8(read("csv")).expect("CSV is text");
    assert!(csv.lines().count() > 3, "{name}");
}

#[test]
fn every_figure_of_a_sweep_in_small() {
    let folder = temporary();
    let on = |systems: &'static str| [&["--systems", systems, "--quiet"], &SMALL[..]].concat();
    for (name, systems, words) in [
        ("strategies", "cancer-treatment", &["oracle", "optimal zero-order hold", "middle 60 %"][..]),
        ("optimism", "cancer-treatment", &["optimistic", "greedy (mean)", "max kernel distance"]),
        ("measurements", "cancer-treatment", &["M = 2", "M = 20", "equidistant"]),
        ("total-measurements", "cancer-treatment", &["M = 1", "M = 10", "oracle", "1 % above the optimum"]),
        (
            "theory",
            "cancer-treatment,glucose-in-blood",
            &["measurements taken", "receding horizon", "Glucose in blood"],
        ),
        (
            "information",
            "cancer-treatment",
            &["information gain", "β from information gain", "model complexity"],
        ),
        ("confidence", "cancer-treatment", &["β = 1", "β calibrated"]),
        ("exploration", "cancer-treatment", &["Thompson sample", "bonus"]),
        ("reference", "cancer-treatment", &["ours", "authors"]),
        ("discrete", "cancer-treatment", &["continuous", "discrete", "optimal zero-order hold"]),
    ] {
        well(folder.path(), &[&["figure", name], &on(systems)[..]].concat());
        assert_drawn(folder.path(), name, words);
    }
    // The report of all results in the folder.
    well(folder.path(), &["results", "--from", "sweeps", "--out", "report", "--quiet"]);
    let report = fs::read_to_string(folder.path().join("report/results.md")).expect("the report");
    for heading in [
        "## The paper's claims",
        "## How many measurements in all?",
        "## Does optimism help?",
        "## What to plan for",
        "## Continuous against discrete time",
    ] {
        assert!(report.contains(heading), "{heading}");
    }
    assert!(
        report.contains("| Variant |") && report.contains("least final gap on ") && !report.contains("NaN"),
        "{report}"
    );
    for line in report.lines().filter_map(|line| line.strip_prefix("![")) {
        let file = line.split_once("](").expect("a link").1.trim_end_matches(')');
        assert!(folder.path().join("report").join(file).exists(), "{file}");
    }
}

#[test]
fn every_figure_of_a_run_in_small() {
    let folder = temporary();
    let small =
        ["--set", "episodes=4", "--set", "plan.intervals=30", "--set", "select.candidates=50", "--quiet"];
    for (name, words) in [
        ("phase", &["Episode 3", "measured", "equidistant", "‖σ‖"][..]),
        ("uncertainty", &["predicted (optimistic plan)", "state measured", "Episode 1"]),
        ("slices", &["μ ± βσ", "true f"]),
        ("field", &["Before episode 1", "After the last episode"]),
        ("calibration", &["nominal", "observed", "chance"]),
    ] {
        well(folder.path(), &[&["figure", name], &small[..]].concat());
        assert_drawn(folder.path(), name, words);
    }
    // Systems with one state and with several.
    for system in ["cancer-treatment", "cart-pole"] {
        for name in ["phase", "uncertainty", "slices"] {
            let arguments =
                [&["figure", name, "--systems", system, "--set", "strategy=max-determinant"], &small[..]]
                    .concat();
            well(folder.path(), &arguments);
            assert_drawn(folder.path(), name, &[]);
        }
    }
}

/// The crosses of the phase portrait are the measurements of the same run.
#[test]
fn the_points_of_the_portrait_are_the_measurements_of_the_run() {
    let folder = temporary();
    let same =
        ["--set", "episodes=3", "--set", "plan.intervals=30", "--set", "excitation.scale=1", "--quiet"];
    well(folder.path(), &[&["figure", "phase", "--at", "1,2"], &same[..]].concat());
    well(folder.path(), &[&["run", "pendulum", "--out", "run"], &same[..]].concat());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let numbers = |line: &str, columns: [usize; 2]| {
        let cells: Vec<&str> = line.split(',').collect();
        columns.map(|c| cells[c].parse::<f64>().expect("a number").to_bits())
    };
    let (portrait, run) = (read("figures/phase.csv"), read("run/measurements.csv"));
    assert!(portrait.starts_with("panel,series,mark,x,y") && run.starts_with("episode,start,t,theta,omega"));
    for episode in [1, 2] {
        let crosses = format!("Episode {episode},measured,");
        let drawn: Vec<_> =
            portrait.lines().filter(|l| l.starts_with(&crosses)).map(|l| numbers(l, [3, 4])).collect();
        let rows = format!("{episode},");
        let measured: Vec<_> =
            run.lines().filter(|l| l.starts_with(&rows)).map(|l| numbers(l, [3, 4])).collect();
        assert_eq!(measured.len(), 10);
        assert_eq!(drawn, measured, "episode {episode}");
    }
}

/// In each interval of the receding-horizon strategy the chosen time is where the predicted uncertainty is largest.
#[test]
fn the_chosen_time_is_the_highest_point_of_its_interval() {
    let folder = temporary();
    let small = ["--set", "episodes=3", "--set", "plan.intervals=30", "--at", "1,2", "--quiet"];
    well(folder.path(), &[&["figure", "uncertainty"], &small[..]].concat());
    let csv = fs::read_to_string(folder.path().join("figures/uncertainty.csv")).expect("CSV");
    let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
    let column =
        |name: &str| header.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name} in {header:?}"));
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of = |panel: &str, series: &str| -> Vec<(f64, f64)> {
        let wanted =
            rows.iter().filter(|row| row[column("panel")] == panel && row[column("series")] == series);
        wanted
            .map(|row| (row[column("x")].parse().expect("x"), row[column("y")].parse().expect("y")))
            .collect()
    };
    for panel in ["Episode 1", "Episode 2"] {
        let (foreseen, chosen) = (of(panel, "predicted (optimistic plan)"), of(panel, "measured"));
        assert_eq!(chosen.len(), 10, "{panel}");
        for (k, (time, height)) in chosen.iter().enumerate() {
            let (begin, end) = (k as f64, k as f64 + 1.0);
            let inside: Vec<f64> = foreseen
                .iter()
                .filter(|(t, _)| (begin - 1e-9..end - 1e-9).contains(t))
                .map(|(_, s)| *s)
                .collect();
            assert_eq!(inside.len(), 20, "{panel}, interval {k}");
            assert!((begin - 1e-9..end).contains(time), "{panel}: {time} is not in interval {k}");
            assert_eq!(*height, inside.iter().copied().fold(0.0, f64::max), "{panel}, interval {k}");
        }
    }
}

#[test]
fn what_is_not_there_is_named() {
    let folder = temporary();
    let list = well(folder.path(), &["figure"]);
    assert!(list.starts_with("strategies ") && list.lines().count() == 18, "{list}");
    for (arguments, code, message) in [
        (
            &["figure", "phas"][..],
            2,
            "error: no figure 'phas'\nhint: did you mean 'phase'? see: ocorl figure\n",
        ),
        (&["figure", "gaps", "--from", "nowhere"], 2, "error: cannot read 'nowhere/results.csv'\n"),
        (&["figure", "phase", "--from", "nowhere"], 2, "error: --from does not go with 'phase'\n"),
        (&["figure", "phase", "--at", "20"], 2, "error: there is no episode 20: the last is 19\n"),
        (
            &["figure", "phase", "--set", "time=discrete", "--set", "strategy=equidistant"],
            2,
            "error: this figure shows a continuous-time model\n",
        ),
        (&["table", "--systems", "pendulm"], 2, "error: no system 'pendulm'\n"),
        (&["table", "--seeds", "0"], 2, "error: the grid has no cells\n"),
        (&["results"], 2, "error: there are no results in 'studies/results'\n"),
    ] {
        let output = ocorl(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(text(&output.stderr).starts_with(message), "{arguments:?}\n{}", text(&output.stderr));
    }
}
