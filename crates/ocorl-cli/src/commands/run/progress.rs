//! What is seen while it runs: rows on standard output, talk on standard error, and on a terminal a picture or one line that moves.

use super::live::{State, lines};
use crate::Manners;
use crate::terminal::{Picture, say, size, write_out};
use ocorl::learn::{Record, Settings};
use ocorl::system::Benchmark;
use ocorl_study::cell::Cell;
use ocorl_study::estimate::remaining;
use ocorl_study::known::Known;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, stderr, stdout};
use std::time::{Duration, Instant};

/// A picture is drawn at most so often.
const FRAME: Duration = Duration::from_millis(100);
/// A terminal this large gets a picture without being asked.
const LARGE: (usize, usize) = (100, 20);
/// So many of the last episodes tell how long the next will take.
const RECENT: usize = 5;

/// Where a run is shown.
pub(super) struct Screen {
    manners: Manners,
    live: Live,
    begin: Instant,
    phase: String,
    said: BTreeSet<String>,
}

/// What moves.
enum Live {
    Nothing,
    Line,
    Picture(Box<Moving>),
}

/// A picture that moves.
#[derive(Default)]
struct Moving {
    state: State,
    shown: Picture,
    /// When it was drawn.
    drawn: Option<Instant>,
    /// For standard output, where that is the same terminal: goes there with the next picture.
    held: String,
    phase_begin: Option<Instant>,
    /// When each episode ended.
    ends: Vec<Instant>,
    /// Seconds that all of it usually takes.
    usual: Option<f64>,
}

impl Screen {
    /// With a picture, if that is wished for or there is room, and nobody said otherwise.
    pub(super) fn new(manners: Manners, picture: Option<bool>) -> Self {
        let roomy = || size().is_some_and(|(columns, rows)| columns >= LARGE.0 && rows >= LARGE.1);
        let live = if manners.quiet || !stderr().is_terminal() {
            Live::Nothing
        } else if !manners.json && size().is_some() && picture.unwrap_or_else(roomy) {
            Live::Picture(Box::default())
        } else {
            Live::Line
        };
        let phase = "finding the best control".into();
        Screen { manners, live, begin: Instant::now(), phase, said: BTreeSet::new() }
    }

    /// What will be run.
    pub(super) fn begins(&mut self, b: &Benchmark, settings: &Settings, seed: u64) {
        let Live::Picture(moving) = &mut self.live else { return };
        let names = (&b.name, settings.strategy.name(), settings.explore.name());
        moving.state.title = format!("{}, {}, {}, seed {seed}", names.0, names.1, names.2);
        moving.state.of = settings.episodes;
        moving.usual = b.published.map(|_| usual(b, settings, seed));
    }

    /// What is possible.
    pub(super) fn known(&mut self, known: &Known) {
        if let Live::Picture(moving) = &mut self.live {
            moving.state.known = Some(*known);
        }
    }

    /// An episode is over.
    pub(super) fn learned(&mut self, record: &Record) {
        let Live::Picture(moving) = &mut self.live else { return };
        moving.state.costs.push(record.cost);
        moving.state.measurements = record.measurements;
        moving.state.uncertainty = record.uncertainty;
        moving.ends.push(Instant::now());
    }

    /// Since the program began.
    pub(super) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// For people, to standard output; programs get one document at the end.
    pub(super) fn out(&mut self, text: &str) {
        if self.manners.json {
            return self.tick();
        }
        match &mut self.live {
            Live::Picture(moving) if moving.drawn.is_some() && stdout().is_terminal() => moving.held += text,
            _ => {
                self.clear_line();
                // A full disk is noticed at the latest by the closing words; learning goes on.
                let _ = write_out(text);
            }
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
        if let Live::Picture(moving) = &mut self.live {
            self.phase = format!("episode {episode} of {}: {phase}", moving.state.of);
            moving.phase_begin = Some(Instant::now());
        }
        self.tick();
    }

    /// Moves what moves.
    pub(super) fn tick(&mut self) {
        let seconds = self.seconds();
        match &mut self.live {
            Live::Nothing => {}
            Live::Line => say(&format!("\r\x1b[K{}, {seconds:.1} s", self.phase)),
            Live::Picture(moving) => moving.draw(&self.phase, seconds),
        }
    }

    /// Takes away what moves.
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

/// However a run ends, the terminal is in order.
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

    /// Takes the picture away, and says what was held back.
    fn end(&mut self) {
        self.shown.end();
        // As above: what cannot be written is noticed at the end.
        let _ = write_out(&std::mem::take(&mut self.held));
    }

    /// Seconds until the end: as long an episode as the last ones, or what is usual.
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

/// What a run with so many episodes usually takes.
fn usual(b: &Benchmark, settings: &Settings, seed: u64) -> f64 {
    let episodes = ocorl_study::config::value(&settings.episodes.to_string());
    let set = BTreeMap::from([("episodes".to_owned(), episodes)]);
    let cell = Cell { system: b.name.to_string(), settings: "default".into(), set, seed };
    remaining(&[cell], |_| None, &[0], 1)
}
