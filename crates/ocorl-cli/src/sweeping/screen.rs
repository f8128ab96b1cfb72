//! Progress output of a sweep: on a terminal a table that is redrawn, otherwise one line per cell.

use crate::GlobalArgs;
use crate::terminal::{Line, Picture, say, size};
use ocorl_study::estimate::{duration, remaining};
use ocorl_study::run::numbers::cost;
use ocorl_study::sweep::Sweep;
use ocorl_study::threads::Update;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Largest number of rows on a terminal; rows whose cells are finished are hidden first.
const MOST_ROWS: usize = 30;
/// Largest number of seeds shown one by one.
const MOST_SEEDS: usize = 40;
/// Shortest time between two drawings, and between two estimates of the remaining time: both look at all cells.
const DRAWING: Duration = Duration::from_millis(100);
const ESTIMATE: Duration = Duration::from_secs(1);

/// The progress output of a sweep.
pub(super) struct Screen {
    quiet: bool,
    live: bool,
    jobs: usize,
    todo: BTreeSet<usize>,
    running: BTreeMap<usize, (Instant, String)>,
    /// Rows of the table: name, indices of its cells.
    rows: Vec<(String, Vec<usize>)>,
    shown: Picture,
    drawn: Option<Instant>,
    /// The last estimate of the remaining time, and when it was made.
    estimate: Option<(Instant, f64)>,
}

impl Screen {
    pub(super) fn new(sweep: &Sweep, todo: &[usize], jobs: usize, global: GlobalArgs) -> Self {
        let mut rows: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, cell) in sweep.cells().iter().enumerate() {
            let name = format!("{}, {}", cell.system, cell.variant());
            match rows.last_mut().filter(|(last, _)| *last == name) {
                Some((_, cells)) => cells.push(index),
                None => rows.push((name, vec![index])),
            }
        }
        Screen {
            quiet: global.quiet,
            live: !global.quiet && size().is_some(),
            jobs,
            todo: todo.iter().copied().collect(),
            running: BTreeMap::new(),
            rows,
            shown: Picture::default(),
            drawn: None,
            estimate: None,
        }
    }

    /// Shows an update.
    pub(super) fn update(&mut self, sweep: &Sweep, update: &Update) {
        match update {
            Update::Began(index) => {
                self.running.insert(*index, (Instant::now(), "begins".into()));
            }
            Update::Episode(index, row) => {
                if let Some((_, state)) = self.running.get_mut(index) {
                    *state = format!("episode {}, cost {}", row.episode, cost(row.cost));
                }
            }
            Update::Ended(index, result, timing) => {
                self.running.remove(index);
                self.todo.remove(index);
                if !self.live && !self.quiet {
                    let end = match (&result.failure, result.final_cost()) {
                        (Some(reason), _) => format!("failed: {reason}"),
                        (None, Some(c)) => cost(c),
                        (None, None) => "no episode".into(),
                    };
                    let done = sweep.cells().len() - self.todo.len();
                    let left = self.left(sweep);
                    say(&format!(
                        "{done} of {}: {}: {end} ({:.1} s){}\n",
                        sweep.cells().len(),
                        result.cell,
                        timing.wall,
                        left,
                    ));
                }
            }
            Update::Tick => {}
        }
        self.draw(sweep);
    }

    /// Estimated remaining time, if it is known.
    fn left(&mut self, sweep: &Sweep) -> String {
        if self.todo.is_empty() {
            return String::new();
        }
        let known = self.estimate.filter(|(made, _)| made.elapsed() < ESTIMATE);
        let (made, seconds) = known.unwrap_or_else(|| {
            let todo: Vec<usize> = self.todo.iter().copied().collect();
            (Instant::now(), remaining(sweep.cells(), |index| sweep.timing(index), &todo, self.jobs))
        });
        self.estimate = Some((made, seconds));
        format!(", about {} left", duration(seconds))
    }

    fn draw(&mut self, sweep: &Sweep) {
        let recent = self.drawn.is_some_and(|drawn| drawn.elapsed() < DRAWING) && !self.todo.is_empty();
        if !self.live || recent {
            return;
        }
        self.drawn = Some(Instant::now());
        let lines: Vec<Line> = self.picture(sweep).lines().map(Line::from).collect();
        self.shown.draw(&lines);
    }

    fn picture(&mut self, sweep: &Sweep) -> String {
        let left = self.left(sweep);
        let waiting = |cells: &[usize]| cells.iter().any(|i| self.todo.contains(i));
        // Finished rows make room for unfinished ones.
        let mut shown: Vec<&(String, Vec<usize>)> = self.rows.iter().collect();
        if shown.len() > MOST_ROWS {
            shown.retain(|(_, cells)| waiting(cells));
            shown.truncate(MOST_ROWS);
        }
        let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, cells) in shown {
            let signs: String = cells.iter().take(MOST_SEEDS).map(|&index| self.sign(sweep, index)).collect();
            let done = cells.iter().filter(|i| !self.todo.contains(i)).count();
            let _ = writeln!(text, "{name:<width$}  {signs}  {done}/{}", cells.len());
        }
        for (index, (begin, state)) in &self.running {
            let _ = writeln!(
                text,
                "> {}: {state}, {:.0} s",
                sweep.cells()[*index],
                begin.elapsed().as_secs_f64()
            );
        }
        let all = sweep.cells().len();
        let results = (0..all).filter_map(|index| sweep.result(index));
        let (failed, diverged) = results
            .fold((0, 0), |(f, d), r| (f + usize::from(r.failure.is_some()), d + usize::from(r.diverged())));
        let done = all - self.todo.len();
        let _ = writeln!(text, "{done} of {all} done, {failed} failed, {diverged} diverged{left}");
        text
    }

    /// One character per cell.
    fn sign(&self, sweep: &Sweep, index: usize) -> char {
        match sweep.result(index) {
            _ if self.running.contains_key(&index) => '>',
            _ if self.todo.contains(&index) => '.',
            Some(result) if result.failure.is_some() => 'x',
            Some(result) if result.diverged() => '!',
            _ => '#',
        }
    }

    /// Erases the table.
    pub(super) fn end(&mut self) {
        self.shown.end();
    }
}
