//! `docs/reference/cli.md`: the program's own `--help`, of every command.

use crate::run::{output, root};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

pub(super) const FILE: &str = "docs/reference/cli.md";

const HEAD: &str = "\
# Command line

This page is written by `cargo xtask docs --update` from the program's own `--help`.
`cargo xtask docs --check` compares the two.

Results go to standard output, progress to standard error. Exit codes: 0 done, 1 the run ended badly, 2 wrong usage,
3 damaged, 4 in use, 5 disk, 130 interrupted. [Troubleshooting](../troubleshooting.md) explains each error.
";

/// Says whether the file differs from what the program prints.
pub(super) fn differences(program: &Path) -> Result<Vec<String>, String> {
    let there = std::fs::read_to_string(root().join(FILE)).unwrap_or_default();
    let differs = there != page(program)?;
    Ok(differs
        .then(|| format!("{FILE}: differs from ocorl --help; run: cargo xtask docs --update"))
        .into_iter()
        .collect())
}

pub(super) fn write(program: &Path) -> Result<(), String> {
    std::fs::write(root().join(FILE), page(program)?).map_err(|error| format!("{FILE}: {error}"))
}

fn page(program: &Path) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    let mut open = vec![Vec::<String>::new()];
    while let Some(command) = open.pop() {
        let help = help(program, &command)?;
        let name = [&["ocorl".to_owned()], command.as_slice()].concat().join(" ");
        let level = if command.len() > 1 { "###" } else { "##" };
        let _ = write!(page, "\n{level} {name}\n\n```text\n{}\n```\n", help.trim_end());
        // The last one is taken first.
        open.extend(commands(&help).into_iter().rev().map(|sub| [command.as_slice(), &[sub]].concat()));
    }
    Ok(page)
}

fn help(program: &Path, command: &[String]) -> Result<String, String> {
    let mut run = Command::new(program);
    run.args(command).arg("--help").env("COLUMNS", "80").env("NO_COLOR", "1");
    let said = String::from_utf8_lossy(&output(run)?.stdout).into_owned();
    Ok(said.lines().map(|line| line.trim_end().to_owned() + "\n").collect())
}

/// Names of the commands that a help text lists: those of the lines below "Commands", with a description each, and those after "Also:".
fn commands(help: &str) -> Vec<String> {
    let head = |line: &&str| line.starts_with("Commands") && line.ends_with(':');
    let listed = help.lines().skip_while(|line| !head(line)).skip(1);
    let indented = listed.take_while(|line| line.starts_with("  "));
    // Continued descriptions are indented further.
    let names =
        indented.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let also = help.lines().find_map(|line| line.strip_prefix("Also: ")?.split(';').next());
    let others = also.into_iter().flat_map(|names| names.split(", "));
    names.chain(others).filter(|name| *name != "help").map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_a_help_text() {
        let help = "Usage\n\nCommands:\n  run    Learn\n         more of it\n  help   Print\n\nOptions:\n  -q  Quiet\n";
        assert_eq!(commands(help), ["run"]);
        let help = "Learns.\n\nCommands, each explained by x COMMAND --help:\n  run  Learn\nAlso: man, bench; -q, --json\n";
        assert_eq!(commands(help), ["run", "man", "bench"]);
    }
}
