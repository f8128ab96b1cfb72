//! What is seen while it runs: rows on standard output, talk on standard error, and on a terminal one line that moves.

use crate::Manners;
use crate::terminal::{say, write_out};
use std::collections::BTreeSet;
use std::io::{IsTerminal, stderr};
use std::time::Instant;

/// Where a run is shown.
pub(super) struct Screen {
    manners: Manners,
    live: bool,
    begin: Instant,
    phase: String,
    said: BTreeSet<String>,
}

impl Screen {
    pub(super) fn new(manners: Manners) -> Self {
        let live = !manners.quiet && stderr().is_terminal();
        Screen {
            manners,
            live,
            begin: Instant::now(),
            phase: "finding the best control".into(),
            said: BTreeSet::new(),
        }
    }

    /// Since the program began.
    pub(super) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// For people, to standard output; programs get one document at the end.
    pub(super) fn out(&self, text: &str) {
        self.clear();
        if !self.manners.json {
            // A full disk is noticed at the latest by the closing words; learning goes on.
            let _ = write_out(text);
        }
        self.tick();
    }

    /// Says something once.
    pub(super) fn warn(&mut self, text: &str) {
        if !self.manners.quiet && self.said.insert(text.into()) {
            self.clear();
            say(&format!("warning: {text}\n"));
        }
    }

    pub(super) fn phase(&mut self, episode: usize, phase: &str) {
        self.phase = format!("episode {episode}: {phase}");
        self.tick();
    }

    /// Moves the line.
    pub(super) fn tick(&self) {
        if self.live {
            say(&format!("\r\x1b[K{}, {:.1} s", self.phase, self.seconds()));
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.live {
            say("\r\x1b[K");
        }
    }
}
