//! `ocorl completions` and `ocorl man`: files for shells and for the manual, made from the command line itself.

use crate::GlobalArgs;
use crate::checks::writable_folder;
use crate::errors::Failure;
use crate::help;
use crate::terminal::{Answer, json};
use clap_complete::Shell;
use ocorl_study::files::write_atomically;
use std::path::PathBuf;

/// Arguments of `ocorl completions`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl completions bash > ~/.local/share/bash-completion/completions/ocorl
  ocorl completions zsh > ~/.zfunc/_ocorl            with ~/.zfunc in fpath
  ocorl completions fish > ~/.config/fish/completions/ocorl.fish")]
pub(crate) struct Completions {
    /// Shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", value_enum, hide_possible_values = true)]
    shell: Shell,
}

/// Arguments of `ocorl man`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl man --out ~/.local/share/man/man1     then: man ocorl, man ocorl-run")]
pub(crate) struct Pages {
    /// Folder for the pages, one per command
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// The program with all its commands, also those that its help does not list.
fn program() -> clap::Command {
    help::command(None).mut_subcommands(|command| command.hide(false))
}

pub(super) fn completions(arguments: &Completions) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program(), "ocorl", &mut script);
    String::from_utf8_lossy(&script).into_owned().into()
}

pub(super) fn pages(arguments: &Pages, global: GlobalArgs) -> Result<Answer, Failure> {
    writable_folder(&arguments.out)?;
    let mut program = program();
    // Gives each command its full name, such as `ocorl-study-ask`.
    program.build();
    let mut names = Vec::new();
    write(&program, "ocorl", arguments, &mut names)?;
    let (count, out) = (names.len(), arguments.out.display());
    Ok(if global.json {
        json(&serde_json::json!({ "files": names }))
    } else {
        format!("wrote {count} manual pages into {out}; as in: man {out}/ocorl.1\n")
    }
    .into())
}

/// Writes the page of a command and of those below it.
fn write(
    command: &clap::Command,
    name: &str,
    arguments: &Pages,
    names: &mut Vec<String>,
) -> Result<(), Failure> {
    let path = arguments.out.join(format!("{name}.1"));
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    if let Some(text) = command.get_before_long_help().or(command.get_before_help()) {
        page.extend(examples(&text.to_string()).as_bytes());
    }
    rendered.and_then(|()| write_atomically(&path, &page)).map_err(|error| Failure::file(&path, &error))?;
    names.push(path.display().to_string());
    for below in command.get_subcommands() {
        write(below, &format!("{name}-{}", below.get_name()), arguments, names)?;
    }
    Ok(())
}

/// The examples of a command as a section of its page, line by line as they are.
fn examples(text: &str) -> String {
    let body = text.strip_prefix("Examples:\n").unwrap_or(text);
    let lines: String = body.lines().map(|line| roff(line) + "\n").collect();
    format!(".SH EXAMPLES\n.nf\n{lines}.fi\n")
}

/// A line of text in the language of manual pages, in which `\` and, at the beginning, `.` and `'` are commands.
fn roff(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_command_of_a_manual_page() {
        assert_eq!(roff(".TH a\\b --out"), "\\&.TH a\\eb \\-\\-out");
        assert_eq!(examples("Examples:\n  ocorl run\n"), ".SH EXAMPLES\n.nf\n  ocorl run\n.fi\n");
    }
}
