//! The command line: `-h` prints the options, `--help` the examples as well.

use crate::{HELP, Program};
use clap::{Command, CommandFactory};

/// Spaces before the description of an example that does not fit beside it.
const INDENT: &str = "      ";

/// The command line of the program, with help texts for a terminal of this width.
pub(crate) fn command(width: Option<usize>) -> Command {
    Program::command().mut_subcommands(|command| detailed(command, width))
}

/// Shows the examples of a command, and of those below it, with `--help` only.
fn detailed(command: Command, width: Option<usize>) -> Command {
    let examples = command.get_before_help().map(ToString::to_string);
    let command = command.help_template(HELP).mut_subcommands(|below| detailed(below, width));
    match examples {
        Some(text) => command
            .before_help(None::<&'static str>)
            .before_long_help(reflowed(&text, width).trim_end().to_owned()),
        None => command,
    }
}

/// Examples for a terminal of this width. A line `  command   description` that is too long becomes two.
pub(crate) fn reflowed(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut lines = Vec::new();
    for line in text.lines() {
        let body = line.trim_start();
        let gap = body.find("  ").filter(|_| line.starts_with(' '));
        match gap {
            Some(gap) if line.chars().count() > width => {
                lines.push(line[..line.len() - body.len() + gap].to_owned());
                let description = format!("{INDENT}{}", body[gap..].trim_start());
                lines.push(crate::terminal::hanging(&description, INDENT.len(), width));
            }
            _ => lines.extend(crate::terminal::filled(line, width).lines().map(String::from)),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command(None).debug_assert();
        command(Some(60)).debug_assert();
    }

    #[test]
    fn examples_fit_sixty_columns() {
        fn check(command: &Command) {
            for line in command.get_before_long_help().map(ToString::to_string).unwrap_or_default().lines() {
                // A command itself is not broken.
                let long = line.chars().count() > 60 && !line.trim_start().starts_with("ocorl ");
                assert!(!long || line.contains('{') || line.contains('='), "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command(Some(60)));
    }
}
