//! Standard output, standard error, and progress in between.

use crate::errors::Failure;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use terminal_size::{Height, Width, terminal_size_of};

/// A document as text. Our documents are plain structs and lists, which always have one.
pub(crate) fn json(document: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}

/// What a command came to.
pub(crate) struct Answer {
    /// For standard output.
    pub(crate) text: String,
    /// Said to people afterwards, on standard error; may be empty.
    pub(crate) remark: String,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Answer { text, remark: String::new() }
    }
}

/// Writes the answer to standard output, or the failure to standard error (with `as_json` to both), and ends.
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

/// Says something to people. Talk that cannot be heard is no reason to stop.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn fail(failure: &Failure) -> ExitCode {
    say(&failure.text());
    ExitCode::from(failure.code)
}

/// Writes to standard output. A reader that has seen enough (`| head`) is not a failure.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::disk("to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Columns and rows of the terminal on standard error; none if it is no terminal, or one that can only go forward.
pub(crate) fn size() -> Option<(usize, usize)> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb || !io::stderr().is_terminal() {
        return None;
    }
    let size = terminal_size_of(io::stderr());
    Some(size.map_or((80, 24), |(Width(columns), Height(rows))| (usize::from(columns), usize::from(rows))))
}

/// Whether colours are welcome, see no-color.org.
pub(crate) fn colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How words look on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Dim,
    Bars,
}

/// A line of a picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Look, String)>);

impl Line {
    pub(crate) fn new() -> Self {
        Line::default()
    }

    /// More words at its end.
    pub(crate) fn add(mut self, look: Look, words: impl Into<String>) -> Self {
        self.0.push((look, words.into()));
        self
    }

    /// At most `width` columns of it: a line that wraps would be two, and the next picture stand one too low.
    pub(crate) fn text(&self, width: usize, colors: bool) -> String {
        let (mut text, mut room) = (String::new(), width);
        for (look, words) in &self.0 {
            let kept: String = words.chars().take(room).collect();
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
    fn from(words: &str) -> Self {
        Line::new().add(Look::Plain, words)
    }
}

/// Lines on standard error that are written over in place. The cursor stands below them and is never hidden, so that whatever ends the
/// program leaves a terminal in order.
#[derive(Default)]
pub(crate) struct Picture {
    /// Lines that stand on the terminal now.
    drawn: usize,
}

impl Picture {
    /// Writes over what was drawn before, in one go.
    pub(crate) fn draw(&mut self, lines: &[Line]) {
        let width = size().map_or(80, |(columns, _)| columns).max(2) - 1;
        let colors = colors();
        let up = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
        let body = lines.iter().fold(up, |text, line| text + "\r" + &line.text(width, colors) + "\x1b[K\n");
        say(&(body + "\x1b[J"));
        self.drawn = lines.len();
    }

    /// Takes it away.
    pub(crate) fn end(&mut self) {
        if self.drawn > 0 {
            say(&format!("\x1b[{}A\r\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }
}

/// Tells how far a list of tasks is: on a terminal one line that is written over, else a plain line for each.
pub(crate) struct Progress {
    quiet: bool,
    total: usize,
    done: Mutex<usize>,
}

impl Progress {
    /// Silent if asked to be.
    pub(crate) fn new(total: usize, quiet: bool) -> Self {
        Progress { quiet, total, done: Mutex::new(0) }
    }

    /// One task more is done.
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
