//! A user-defined system from `ocorl new` to `ocorl run`, and the examples of `docs/own-system.md`.

use std::path::Path;
use std::process::{Command, Output};

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    program.args(arguments).current_dir(folder).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = ocorl(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = ocorl(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr).to_owned()
}

#[test]
fn a_new_file_is_checked_listed_solved_and_learned() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let said = succeeds(folder, &["new", "mytank"]);
    assert!(said.starts_with("wrote mytank.toml\n"), "{said}");
    let again = fails(folder, &["new", "mytank"]);
    assert!(again.starts_with("error: 'mytank.toml' is there already\n"), "{again}");
    assert_eq!(
        succeeds(folder, &["check", "mytank.toml"]),
        "ok: 2 states (level, flow), 1 input (valve 0..1), horizon 60 s; equations evaluate at x0; cost is finite\n"
    );
    let listed = succeeds(folder, &["list", "mytank.toml"]);
    assert!(listed.contains("tau") && listed.contains("level"), "{listed}");
    let solved = succeeds(folder, &["optimal", "mytank.toml", "--quiet", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&solved).expect("JSON");
    assert_eq!(document[0]["system"], "mytank");
    let learned = succeeds(folder, &["run", "mytank.toml", "--episodes", "3", "--quiet"]);
    assert!(learned.starts_with("mytank: 2 states, 1 input, horizon 60 s, 3 episodes"), "{learned}");
    assert!(folder.join("runs/mytank-0/run.json").is_file());
    let config = succeeds(folder, &["run", "mytank.toml", "--print-config"]);
    assert!(config.lines().any(|l| l.starts_with("episodes = 10") && l.ends_with("# set")), "{config}");
}

#[test]
fn a_system_without_a_known_optimum_is_learned() {
    let folder = tempfile::tempdir().expect("a folder");
    // The damping is too strong for the planner's fixed steps, so the search for the optimum fails.
    let file = "[system]\nstates = [\"x\", \"v\"]\ninputs = { u = [-2, 2] }\nx0 = [1, 0]\nhorizon = 4\n\
                [equations]\nx = \"v\"\nv = \"u - x - 1e4*v\"\n[cost]\nstate = { x = 1 }\ninput = { u = 0.1 }\n";
    std::fs::write(folder.path().join("damped.toml"), file).expect("a file");
    let small =
        ["episodes=2", "measurements=3", "plan.intervals=20", "plan.random_starts=0", "model.restarts=1"];
    let set: Vec<&str> = small.iter().flat_map(|one| ["--set", *one]).collect();
    let output = ocorl(folder.path(), &[&["run", "damped.toml"][..], &set].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (said, learned) = (text(&output.stderr), text(&output.stdout));
    assert!(said.contains("warning: the optimum is not known: no plan was found for damped"), "{said}");
    assert!(learned.contains("final cost") && !learned.contains("best known"), "{learned}");
    // A sweep takes the file too, and its text goes with the cells.
    let grid = "systems = [\"tank.toml\"]\nseeds = 1\n[set]\nepisodes = 1\nmeasurements = 3\n\"plan.intervals\" = 20\n";
    std::fs::write(folder.path().join("grid.toml"), grid).expect("a file");
    let tank = "[system]\nstates = [\"x\"]\ninputs = { u = [-1, 1] }\nx0 = [1]\nhorizon = 2\n\
                [equations]\nx = \"u - x\"\n[cost]\nstate = { x = 1 }\ninput = { u = 1 }\n";
    std::fs::write(folder.path().join("tank.toml"), tank).expect("a file");
    let swept = succeeds(folder.path(), &["sweep", "grid.toml", "--quiet"]);
    assert!(swept.contains("tank"), "{swept}");
}

#[test]
fn hardware_has_no_run_but_a_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    succeeds(folder, &["new", "rig", "--hardware"]);
    let checked = succeeds(folder, &["check", "rig.toml"]);
    assert!(checked.contains("no equations: hardware"), "{checked}");
    let said = fails(folder, &["run", "rig.toml"]);
    assert_eq!(
        said,
        "error: rig has no equations: it can only be run on hardware\n  cause   its file has no section [equations]\n\
         hint: learn on hardware, episode by episode: ocorl study new\n"
    );
}

#[test]
fn mistakes_say_where_and_what_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    succeeds(folder, &["new", "a"]);
    let file = folder.join("a.toml");
    let good = std::fs::read_to_string(&file).expect("the file");
    std::fs::write(&file, good.replace("sqrt(max", "sqrtt(max")).expect("writing");
    assert_eq!(
        fails(folder, &["check", "a.toml"]),
        "error: the expression for 'level' cannot be read\n  file    a.toml, line 17, column 21\n  key     equations.level\n  \
         cause   unknown function 'sqrtt'\nhint: did you mean 'sqrt'?\n"
    );
    std::fs::write(&file, good.replace("valve = 0.1 }", "valve = -0.1 }")).expect("writing");
    let output = ocorl(folder, &["check", "a.toml"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).starts_with("warning: the cost falls the more 'valve' is used"));
    for name in ["nothing.toml", "./nothing"] {
        assert!(fails(folder, &["run", name]).starts_with(&format!("error: cannot read '{name}'\n")));
    }
    assert!(fails(folder, &["run", "a"]).contains("did you mean 'a.toml'?"));
    let output = ocorl(folder, &["new", "no/such/folder"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

/// Every TOML block in the manual is a valid file.
#[test]
fn the_manual_is_true() {
    let manual = include_str!("../../../../docs/own-system.md");
    let folder = tempfile::tempdir().expect("a folder");
    let blocks: Vec<&str> =
        manual.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 3, "{} blocks", blocks.len());
    for block in blocks {
        std::fs::write(folder.path().join("tank.toml"), block).expect("writing");
        let checked = succeeds(folder.path(), &["check", "tank.toml"]);
        assert!(checked.starts_with("ok: "), "{block}\n{checked}");
    }
    for (name, _) in ocorl_expression::FUNCTIONS {
        assert!(manual.contains(&format!("`{name}")), "{name}");
    }
}
