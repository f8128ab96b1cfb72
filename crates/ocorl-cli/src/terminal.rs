//! Standard output, standard error, and progress output.

use crate::errors::Failure;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
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

/// Writes the answer to standard output, or the failure to standard error (with `as_json` to both); returns the exit code.
pub(crate) fn finish(answer: Result<Answer, Failure>, as_json: bool) -> ExitCode {
    match answer {
        Ok(Answer { text, remark }) => match write_out(&text) {
            Ok(()) => {
                say(&remark);
                ExitCode::SUCCESS
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
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn fail(failure: &Failure) -> ExitCode {
    say(&failure.text());
    ExitCode::from(failure.code)
}

/// Writes to standard output. A reader that closes the pipe (`| head`) is not a failure.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
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

/// Whether colours are allowed, see no-color.org.
pub(crate) fn colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Style of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Dim,
    Bars,
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
