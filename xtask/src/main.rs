//! Development commands: `cargo xtask test` runs all checks, `cargo xtask gate` compares instruction counts, and others.

mod browser;
mod docs;
mod fuzz;
mod gate;
mod graph;
mod lines;
mod python;
mod readme;
mod run;
mod schedule;
mod shape;
mod soak;
mod steps;

use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
The project's own commands

Usage: cargo xtask <COMMAND>

Commands:
  test            Format, lints, tests, examples, README, browser, documentation, Python, instruction counts
  python          Only the Python package: pytest and mypy in target/python
  dist            The Python wheel, into target/dist, tried in an environment of its own
  readme          Only the commands and the code of README and the other documents
  readme --slow   The commands that CI runs with --dry-run, such as the slow figures of the gallery
  docs            Build the documentation site, into target/site/html
  docs --check    Check the documents: line length, links, spelling, terms, command-line reference
  docs --update   Write the command-line reference anew, docs/reference/cli.md
  docs --words    List the words of the documents that xtask/words.txt does not contain
  browser         Only the dashboard and the reports, in a browser
  soak NAME [N]   The long version of a test: kills, bytes, simulation, io, readers, files, systems, controller, dashboard, python, all
  fuzz NAME [S]   Coverage-guided fuzzing of one kind of input, or of all, for S seconds each
  gate            Compare the instructions of fixed problems with tests/golden/instructions.toml
  gate --update   Write that file anew
  oldest          Check the workspace with the oldest Rust that Cargo.toml states
  graph           Draw crates and modules with who uses whom: docs/figures/modules.svg
  lines           Count the lines of each crate, source and tests apart
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => steps::test(),
        ["step", name] => steps::step(name),
        ["python"] => python::test().map(|outcome| tell(&format!("{outcome}\n"))),
        ["dist"] => python::dist(),
        ["readme"] => readme::check(false).map(|outcome| tell(&format!("{outcome}\n"))),
        ["readme", "--slow"] => readme::check(true).map(|outcome| tell(&format!("{outcome}\n"))),
        ["docs"] => docs::build(),
        ["docs", "--check"] => docs::check().map(|outcome| tell(&format!("{outcome}\n"))),
        ["docs", "--update"] => docs::update(),
        ["docs", "--words"] => docs::words(),
        ["browser"] => browser::run().map(|outcome| tell(&format!("{outcome}\n"))),
        ["gate"] => gate::run(false).map(|outcome| tell(&format!("{outcome}\n"))),
        ["gate", "--update"] => gate::run(true).map(|outcome| tell(&format!("{outcome}\n"))),
        ["oldest"] => steps::oldest(),
        ["graph"] => graph::write(),
        ["lines"] => lines::print(),
        ["fuzz", target] => fuzz::run(target, "60"),
        ["fuzz", target, seconds] => fuzz::run(target, seconds),
        ["soak", name] => soak::run(name, None),
        ["soak", name, size] => soak::run(name, Some(size)),
        [] | ["help" | "--help" | "-h"] => {
            tell(HELP);
            Ok(())
        }
        other => Err(format!("no command '{}'; see: cargo xtask --help", other.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            tell(&format!("error: {message}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Prints and flushes a text. Output errors are ignored, because the exit code still reports the result.
fn tell(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
