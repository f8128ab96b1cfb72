//! Standard output, standard error, colours, width, and progress output.

use crate::errors::Failure;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use terminal_size::{Height, Width, terminal_size_of};

/// A document as JSON text. The documents are plain structs and lists, whose serialization cannot fail.
pub(crate) fn json(document: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}

/// The result of a command.
pub(crate) struct Answer {
    /// Text for standard output.
    pub(crate) text: String,
    /// Remark for standard error; may be empty.
    pub(crate) remark: String,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Answer { text, remark: String::new() }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless the environment variable NO_COLOR is set (see no-color.org)
    #[default]
    Auto,
    Always,
    Never,
}

/// The choice of `--color`, as its discriminant. Messages are written in many places and by threads, so it is kept here.
static COLOR: AtomicU8 = AtomicU8::new(Color::Auto as u8);

impl Color {
    /// The value of `--color` in a command line that may be invalid elsewhere.
    pub(crate) fn searched(arguments: &[OsString]) -> Self {
        let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap_or_default()).collect();
        let after = |at: usize| words.get(at + 1).copied();
        let named = words.iter().enumerate().find_map(|(at, word)| {
            word.strip_prefix("--color=").or_else(|| after(at).filter(|_| *word == "--color"))
        });
        match named {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            _ => Color::Auto,
        }
    }
}

/// Sets when to use colours.
pub(crate) fn set_color(color: Color) {
    COLOR.store(color as u8, Ordering::Relaxed);
}

/// Whether to colour a stream; `terminal` is whether it is a terminal.
fn colored(terminal: bool) -> bool {
    let color = COLOR.load(Ordering::Relaxed);
    if color != Color::Auto as u8 {
        return color == Color::Always as u8;
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether to colour standard error.
pub(crate) fn colors() -> bool {
    colored(io::stderr().is_terminal())
}

const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const GREEN: &str = "1;32";
const CYAN: &str = "36";

/// Beginnings of lines that are coloured: success, warning, error and advice. The text is the same without colours.
const LABELS: [(&str, &str); 12] = [
    ("error:", RED),
    ("warning:", YELLOW),
    ("not within 1 %", YELLOW),
    ("hint:", CYAN),
    ("note:", CYAN),
    ("next:", CYAN),
    ("ok:", GREEN),
    ("done", GREEN),
    ("saved", GREEN),
    ("wrote", GREEN),
    ("finished:", GREEN),
    ("within 1 %", GREEN),
];

/// Colours the labels at the beginnings of lines.
fn painted(text: &str, colors: bool) -> String {
    if !colors {
        return text.to_owned();
    }
    let line = |line: &str| match LABELS.iter().find(|(label, _)| line.starts_with(label)) {
        Some((label, code)) => format!("\x1b[{code}m{label}\x1b[0m{}", &line[label.len()..]),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The text without control characters, which a name or reason that somebody recorded may contain: they would be commands to the terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_command = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_command) { text.replace(is_command, "\u{fffd}").into() } else { text.into() }
}

/// Smallest width for which output is arranged.
const NARROWEST: usize = 60;

/// Columns of standard output: those of its terminal, or the environment variable COLUMNS. Without either, lines may be of any length.
pub(crate) fn width() -> Option<usize> {
    columns(terminal_size_of(io::stdout()))
}

/// Columns of standard error, likewise.
fn message_width() -> Option<usize> {
    columns(terminal_size_of(io::stderr()))
}

fn columns(size: Option<(Width, Height)>) -> Option<usize> {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.map(|(Width(columns), _)| usize::from(columns))
        .or_else(variable)
        .map(|columns: usize| columns.max(NARROWEST))
}

/// Prose in lines of at most `width` characters. Items that are four spaces apart stay whole, if they fit.
pub(crate) fn filled(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            out += line;
        } else if line.contains("    ") && !line.starts_with(' ') {
            let items = line.split("    ").map(str::trim).filter(|item| !item.is_empty());
            out += &packed(items, "    ", ["", "  "], width);
        } else {
            let start = &line[..line.len() - line.trim_start().len()];
            let hanging = format!("{start}  ");
            out += &packed(line.split_whitespace(), " ", [start, &hanging], width);
        }
        out.push('\n');
    }
    out
}

/// Prose for standard output, in lines that fit.
pub(crate) fn prose(text: String) -> String {
    match width() {
        Some(width) => filled(&text, width),
        None => text,
    }
}

/// `text` in lines of at most `width` characters, all but the first indented by `indent` spaces.
pub(crate) fn hanging(text: &str, indent: usize, width: usize) -> String {
    packed(text.split(' '), " ", ["", &" ".repeat(indent)], width)
}

/// `items` in lines of at most `width` characters; `indents` begin the first line and the others.
fn packed<'a>(items: impl Iterator<Item = &'a str>, gap: &str, indents: [&str; 2], width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.chars().count() + gap.len() + item.chars().count() <= width => {
                line.push_str(gap);
                line.push_str(item);
            }
            before => {
                let indent = indents[usize::from(before.is_some())];
                lines.push(format!("{indent}{item}"));
            }
        }
    }
    lines.join("\n")
}

/// Writes the answer to standard output, or the failure to standard error (with `as_json` to both); returns the exit code.
pub(crate) fn finish(answer: Result<Answer, Failure>, as_json: bool) -> u8 {
    match answer {
        Ok(Answer { text, remark }) => match write_out(&text) {
            Ok(()) => {
                tell(&remark);
                0
            }
            Err(failure) => fail(&failure),
        },
        Err(mut failure) => {
            if as_json && failure.output.is_none() {
                failure.output = Some(json(&failure.json()));
            }
            match write_out(failure.output.as_deref().unwrap_or_default()) {
                Ok(()) => fail(&failure),
                Err(failure) => fail(&failure),
            }
        }
    }
}

/// Writes a message to standard error. A failure to write it is ignored.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(painted(text, colors()).as_bytes());
}

/// Writes prose to standard error, in lines that fit.
pub(crate) fn tell(text: &str) {
    let text = &harmless(text);
    match message_width() {
        Some(width) => say(&filled(text, width)),
        None => say(text),
    }
}

fn fail(failure: &Failure) -> u8 {
    tell(&failure.text());
    failure.code
}

/// Writes to standard output. A reader that closes the pipe (`| head`) is not a failure.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = painted(&harmless(text), colored(out.is_terminal()));
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::disk("to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Columns and rows of the terminal on standard error; `None` if it is not a terminal or cannot move the cursor.
pub(crate) fn size() -> Option<(usize, usize)> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb || !io::stderr().is_terminal() {
        return None;
    }
    let size = terminal_size_of(io::stderr());
    Some(size.map_or((80, 24), |(Width(columns), Height(rows))| (usize::from(columns), usize::from(rows))))
}

/// Style of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Dim,
    Bars,
    Good,
    Bad,
}

/// One styled line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Look, String)>);

impl Line {
    pub(crate) fn new() -> Self {
        Line::default()
    }

    /// Appends text in a style.
    pub(crate) fn add(mut self, look: Look, text: impl Into<String>) -> Self {
        self.0.push((look, text.into()));
        self
    }

    /// The line cut to `width` columns: a line that wraps would take two rows, and the next frame would be drawn too low.
    pub(crate) fn text(&self, width: usize, colors: bool) -> String {
        let (mut text, mut room) = (String::new(), width);
        for (look, part) in &self.0 {
            let kept: String = part.chars().take(room).collect();
            room -= kept.chars().count();
            let code = match look {
                Look::Strong => "1",
                Look::Dim => "2",
                Look::Bars => "36",
                Look::Good => "32",
                Look::Bad => "31",
                Look::Plain => "",
            };
            if !colors || code.is_empty() || kept.is_empty() {
                text += &kept;
            } else {
                text.extend(["\x1b[", code, "m", &kept, "\x1b[0m"]);
            }
        }
        text
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Line::new().add(Look::Plain, text)
    }
}

/// Lines on standard error that are redrawn in place. The cursor stays below them and is never hidden, so that the terminal is
/// usable however the program ends.
#[derive(Default)]
pub(crate) struct Picture {
    /// Number of lines on the terminal now.
    drawn: usize,
}

impl Picture {
    /// Redraws all lines with one write.
    pub(crate) fn draw(&mut self, lines: &[Line]) {
        let width = size().map_or(80, |(columns, _)| columns).max(2) - 1;
        let colors = colors();
        let up = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
        let body = lines.iter().fold(up, |text, line| text + "\r" + &line.text(width, colors) + "\x1b[K\n");
        say(&(body + "\x1b[J"));
        self.drawn = lines.len();
    }

    /// Erases the lines.
    pub(crate) fn end(&mut self) {
        if self.drawn > 0 {
            say(&format!("\x1b[{}A\r\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }
}

/// Progress of a list of tasks: on a terminal one line that is redrawn, otherwise one line per task.
pub(crate) struct Progress {
    quiet: bool,
    total: usize,
    done: Mutex<usize>,
}

impl Progress {
    /// A progress output of `total` tasks; prints nothing if `quiet`.
    pub(crate) fn new(total: usize, quiet: bool) -> Self {
        Progress { quiet, total, done: Mutex::new(0) }
    }

    /// Reports that one more task has finished.
    pub(crate) fn finished(&self, name: &str) {
        let Ok(mut done) = self.done.lock() else { return };
        *done += 1;
        if self.quiet || self.total < 2 {
            return;
        }
        if !io::stderr().is_terminal() {
            say(&format!("{done} of {}: {name}\n", self.total));
        } else if *done < self.total {
            say(&format!("\r\x1b[K{done} of {}: {name}", self.total));
        } else {
            say("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words_and_items_stay_whole() {
        assert_eq!(filled("a bb ccc\nshort\n", 5), "a bb\n  ccc\nshort\n");
        let closing = "done in 3.4 s    final cost 20.1613    optimum 20.1604 (+0.00 %)";
        assert_eq!(filled(closing, 40), "done in 3.4 s    final cost 20.1613\n  optimum 20.1604 (+0.00 %)\n");
        assert_eq!(filled("  cause   no room left", 14), "  cause no\n    room left\n");
        assert_eq!(hanging("alpha beta gamma", 3, 10), "alpha beta\n   gamma");
    }

    #[test]
    fn labels_are_coloured_and_nothing_else_is_changed() {
        let text = "ok: 2 states\nthe error: is inside\nwarning: late\n";
        assert_eq!(painted(text, false), text);
        let colored = painted(text, true);
        assert!(
            colored.starts_with("\x1b[1;32mok:\x1b[0m 2 states\nthe error: is inside\n\x1b[1;33mwarning:")
        );
        let codes = [RED, YELLOW, GREEN, CYAN, "0"].map(|code| format!("\x1b[{code}m"));
        assert_eq!(codes.iter().fold(colored, |text, code| text.replace(code, "")), text);
    }

    #[test]
    fn the_choice_of_colours_is_found_in_any_command_line() {
        let searched =
            |words: &[&str]| Color::searched(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(searched(&["list", "--color", "always"]), Color::Always);
        assert_eq!(searched(&["--color=never", "lst"]), Color::Never);
        assert_eq!(searched(&["list", "--color"]), Color::Auto);
    }

    #[test]
    fn recorded_text_is_no_command_to_the_terminal() {
        assert_eq!(harmless("a\tb\n"), "a\tb\n");
        assert_eq!(harmless("\u{1b}[31mred\u{7}\r\u{9b}2J"), "\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}2J");
    }
}
