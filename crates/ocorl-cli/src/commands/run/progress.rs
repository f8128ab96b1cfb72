//! Output of a run while it lasts: table rows on standard output, messages on standard error, and on a terminal a live display or
//! one progress line.

use super::live::{State, lines};
use crate::GlobalArgs;
use crate::terminal::{Picture, hanging, say, size, tell, width, write_out};
use ocorl::learn::{Record, Settings};
use ocorl::system::KnownSystem;
use ocorl_study::cell::Cell;
use ocorl_study::estimate::remaining;
use ocorl_study::known::Known;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, stderr, stdout};
use std::time::{Duration, Instant};

/// Smallest interval between frames.
const FRAME: Duration = Duration::from_millis(100);
/// Terminal size (columns, rows) from which the live display is the default.
const LARGE: (usize, usize) = (60, 16);
/// Number of recent episodes from which the remaining time is estimated.
const RECENT: usize = 5;

/// The output of a run.
pub(super) struct Screen {
    global: GlobalArgs,
    live: Live,
    begin: Instant,
    phase: String,
    said: BTreeSet<String>,
}

/// The part that is redrawn.
enum Live {
    Nothing,
    Line,
    Picture(Box<Moving>),
}

/// The live display.
#[derive(Default)]
struct Moving {
    state: State,
    shown: Picture,
    /// Time of the last frame.
    drawn: Option<Instant>,
    /// Text for standard output if that is the same terminal; it is written with the next frame.
    held: String,
    phase_begin: Option<Instant>,
    /// End time of each episode.
    ends: Vec<Instant>,
    /// Typical duration of the whole run in seconds.
    usual: Option<f64>,
}

impl Screen {
    /// Uses the live display if it is requested, or if the terminal is large enough and nothing else is requested.
    pub(super) fn new(global: GlobalArgs, picture: Option<bool>) -> Self {
        let roomy = || size().is_some_and(|(columns, rows)| columns >= LARGE.0 && rows >= LARGE.1);
        let live = if global.quiet || !stderr().is_terminal() {
            Live::Nothing
        } else if !global.json && size().is_some() && picture.unwrap_or_else(roomy) {
            Live::Picture(Box::default())
        } else {
            Live::Line
        };
        let phase = "computing the optimum".into();
        Screen { global, live, begin: Instant::now(), phase, said: BTreeSet::new() }
    }

    /// Sets the title of the run.
    pub(super) fn begins(&mut self, b: &KnownSystem, settings: &Settings, seed: u64) {
        let Live::Picture(moving) = &mut self.live else { return };
        let names = (&b.name, settings.strategy.name(), settings.explore.name());
        moving.state.title = format!("{}, {}, {}, seed {seed}", names.0, names.1, names.2);
        moving.state.of = settings.episodes;
        moving.usual = b.published().map(|_| usual(b, settings, seed));
    }

    /// Sets the costs with known dynamics, in the units of the table.
    pub(super) fn known(&mut self, known: Option<Known>) {
        if let Live::Picture(moving) = &mut self.live {
            moving.state.known = known;
        }
    }

    /// Adds a finished episode, whose costs are in the units of the table.
    pub(super) fn learned(&mut self, record: &Record, portrait: Vec<(f64, f64)>) {
        let Live::Picture(moving) = &mut self.live else { return };
        moving.state.portrait = portrait;
        moving.state.costs.push(record.cost);
        moving.state.measurements = record.measurements;
        moving.state.uncertainty = record.uncertainty;
        moving.ends.push(Instant::now());
    }

    /// Seconds since the program started.
    pub(super) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Writes to standard output; with `--json` nothing is written before the end.
    pub(super) fn out(&mut self, text: &str) {
        if self.global.json {
            return self.tick();
        }
        match &mut self.live {
            Live::Picture(moving) if moving.drawn.is_some() && stdout().is_terminal() => moving.held += text,
            _ => {
                self.clear_line();
                // A full disk is reported with the closing lines at the latest; learning continues.
                let _ = write_out(text);
            }
        }
        self.tick();
    }

    /// Writes a row of the table, narrower on a narrow terminal.
    pub(super) fn row(&mut self, row: &str) {
        let row = width().map_or_else(|| row.to_owned(), |width| narrow(row, width));
        self.out(&row);
    }

    /// Prints a warning.
    pub(super) fn warn(&mut self, text: &str) {
        if !self.global.quiet && self.said.insert(text.into()) {
            self.clear();
            tell(&format!("warning: {text}\n"));
        }
    }

    /// Shows what is done after the last episode.
    pub(super) fn step(&mut self, step: &str) {
        step.clone_into(&mut self.phase);
        if let Live::Picture(moving) = &mut self.live {
            moving.phase_begin = Some(Instant::now());
            moving.drawn = None;
        }
        self.tick();
    }

    /// Shows the phase of an episode.
    pub(super) fn phase(&mut self, episode: usize, phase: &str) {
        self.phase = format!("episode {episode}: {phase}");
        if let Live::Picture(moving) = &mut self.live {
            self.phase = format!("episode {episode} of {}: {phase}", moving.state.of);
            moving.phase_begin = Some(Instant::now());
        }
        self.tick();
    }

    /// Redraws the live part.
    pub(super) fn tick(&mut self) {
        let seconds = self.seconds();
        match &mut self.live {
            Live::Nothing => {}
            Live::Line => say(&format!("\r\x1b[K{}, {seconds:.1} s", self.phase)),
            Live::Picture(moving) => moving.draw(&self.phase, seconds),
        }
    }

    /// Erases the live part.
    pub(super) fn clear(&mut self) {
        self.clear_line();
        if let Live::Picture(moving) = &mut self.live {
            moving.end();
        }
    }

    fn clear_line(&self) {
        if matches!(self.live, Live::Line) {
            say("\r\x1b[K");
        }
    }
}

/// Restores the terminal however the run ends.
impl Drop for Screen {
    fn drop(&mut self) {
        if let Live::Picture(moving) = &mut self.live {
            moving.end();
        }
    }
}

impl Moving {
    fn draw(&mut self, phase: &str, seconds: f64) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < FRAME) {
            return;
        }
        self.drawn = Some(Instant::now());
        self.state.seconds = seconds;
        self.state.left = self.left(seconds);
        self.state.phase_seconds = self.phase_begin.map_or(seconds, |begin| begin.elapsed().as_secs_f64());
        phase.clone_into(&mut self.state.phase);
        if !self.held.is_empty() {
            self.end();
        }
        let width = size().map_or(80, |(columns, _)| columns).max(2) - 1;
        self.shown.draw(&lines(&self.state, width));
    }

    /// Erases the live display, and writes the text that was held back.
    fn end(&mut self) {
        self.shown.end();
        // As above: a failure to write is reported at the end.
        let _ = write_out(&std::mem::take(&mut self.held));
    }

    /// Estimated seconds until the end, from the last episodes or the typical duration.
    fn left(&self, seconds: f64) -> Option<f64> {
        let (done, all) = (self.ends.len(), self.state.of);
        let recent = &self.ends[done.saturating_sub(RECENT + 1)..];
        let (Some(first), Some(last)) = (recent.first(), recent.last()) else {
            return self.usual.map(|usual| (usual - seconds).max(0.0));
        };
        if recent.len() < 2 {
            return self.usual.map(|usual| (usual - seconds).max(0.0));
        }
        let each = (*last - *first).as_secs_f64() / (recent.len() - 1) as f64;
        Some((each * all.saturating_sub(done) as f64 - last.elapsed().as_secs_f64()).max(0.0))
    }
}

/// A row of the table of episodes for a terminal of `width` columns. The columns are closer together if they do not fit, and the remark at
/// the end gets a line of its own.
fn narrow(row: &str, width: usize) -> String {
    /// Widths of the columns, whose sum is the smallest width of a terminal.
    const COLUMNS: [usize; 6] = [7, 11, 10, 9, 12, 11];
    if row.trim_end().chars().count() <= width {
        return row.to_owned();
    }
    let mut rest = row;
    let mut cells: Vec<&str> = Vec::new();
    while let (Some(cell), true) = (rest.split_whitespace().next(), cells.len() < COLUMNS.len()) {
        cells.push(cell);
        rest = &rest.trim_start()[cell.len()..];
    }
    let padded: Vec<String> =
        cells.iter().zip(COLUMNS).map(|(cell, width)| format!("{cell:>width$}")).collect();
    let line = padded.concat();
    match rest.trim() {
        "" => line + "\n",
        remark => format!("{line}\n{:9}{}\n", "", hanging(remark, 9, width - 9)),
    }
}

/// Typical duration of a run with this many episodes, in seconds.
fn usual(b: &KnownSystem, settings: &Settings, seed: u64) -> f64 {
    let episodes = ocorl_study::config::value(&settings.episodes.to_string());
    let set = BTreeMap::from([("episodes".to_owned(), episodes)]);
    let cell = Cell { system: b.name.to_string(), file: None, settings: "default".into(), set, seed };
    remaining(&[cell], |_| None, &[0], 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_sixty_columns() {
        let row = "       3     20.1618      0.0014        40       0.0072     20.0468  'omega' left its limits at t = 0.37\n";
        let expected = "      3    20.1618    0.0014       40      0.0072    20.0468\n         'omega' left its limits at t = 0.37\n";
        assert_eq!(narrow(row, 60), expected);
        assert_eq!(narrow(row, 120), row);
    }
}
