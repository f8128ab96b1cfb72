//! Standard output, standard error, and progress in between.

use crate::errors::Failure;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;

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
