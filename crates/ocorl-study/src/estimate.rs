//! Estimates the duration of a sweep from reference times and from the cells that have finished.

use crate::cell::Cell;
use crate::threads::Timing;
use ocorl::system::Benchmark;
use std::collections::BTreeMap;

/// Processor seconds of a run with the shipped settings, mean over the strategies of Table 1 (version 0.1.0, 16 November 2026, 2 virtual
/// cores of an AMD EPYC). This first estimate is replaced by measured times as soon as a cell has finished.
const TYPICAL: [(&str, f64); 9] = [
    ("cancer-treatment", 1.0),
    ("glucose-in-blood", 2.1),
    ("pendulum", 2.4),
    ("mountain-car", 8.2),
    ("cart-pole", 43.0),
    ("bicycle", 6.1),
    ("furuta-pendulum", 52.0),
    ("quadrotor-2d", 12.0),
    ("quadrotor-3d", 109.0),
];

/// Estimate in seconds for a system without a reference time.
const UNKNOWN: f64 = 20.0;

/// Estimated seconds until the cells with indices `todo` have run, `jobs` at a time; `timing` gives the times of finished cells.
pub fn remaining(
    cells: &[Cell],
    timing: impl Fn(usize) -> Option<Timing>,
    todo: &[usize],
    jobs: usize,
) -> f64 {
    // Sums of seconds and numbers of cells: by system and base settings, and by identical settings.
    let (mut kin, mut twins) = (BTreeMap::<_, (f64, f64)>::new(), BTreeMap::<_, (f64, f64)>::new());
    for (i, cell) in cells.iter().enumerate() {
        if let Some(timing) = timing(i) {
            for sum in [kin.entry(broad(cell)).or_default(), twins.entry(narrow(cell)).or_default()] {
                sum.0 += timing.wall;
                sum.1 += 1.0;
            }
        }
    }
    let mean = |sum: &(f64, f64)| sum.0 / sum.1;
    let one = |&index: &usize| {
        let cell = &cells[index];
        let measured = twins.get(&narrow(cell)).or_else(|| kin.get(&broad(cell)));
        measured.map_or_else(|| guess(cell), mean)
    };
    todo.iter().map(one).sum::<f64>() / jobs.max(1) as f64
}

/// The system and the settings the cell starts from.
fn broad(cell: &Cell) -> (&str, &str) {
    (&cell.system, &cell.settings)
}

/// Everything except the seed.
fn narrow(cell: &Cell) -> String {
    Cell { seed: 0, ..cell.clone() }.id()
}

/// Estimate from the reference times, proportional to the number of episodes.
fn guess(cell: &Cell) -> f64 {
    let usual =
        TYPICAL.iter().find(|(name, _)| *name == cell.system).map_or(UNKNOWN, |(_, seconds)| *seconds);
    let system = Benchmark::find(&cell.system).ok();
    let Some(paper) = system.and_then(|system| system.paper()) else { return usual };
    let episodes = cell.set.get("episodes").and_then(toml::Value::as_integer);
    episodes.map_or(usual, |n| usual * n as f64 / paper.episodes as f64)
}

/// Formats seconds as a duration for display.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{:.0} s", seconds.max(1.0)),
        90.0..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn what_was_measured_counts_more_than_what_is_usual() {
        let text = "systems = [\"pendulum\", \"bicycle\"]\nseeds = 2\n[vary]\nstrategy = [\"oracle\", \"equidistant\"]\n";
        let cells = Grid::parse(text, "").unwrap().cells();
        let all: Vec<usize> = (0..cells.len()).collect();
        let usual = remaining(&cells, |_| None, &all, 1);
        assert!((usual - 4.0 * (2.4 + 6.1)).abs() < 1e-9, "{usual}");
        assert_eq!(remaining(&cells, |_| None, &all, 2), 0.5 * usual);
        // The first cell took 10 s: the same estimate applies to the cell with equal settings and to the other strategy on this system.
        let timing = |i: usize| (i == 0).then_some(Timing { cpu: 1.0, wall: 10.0 });
        assert_eq!(remaining(&cells, timing, &[1], 1), 10.0);
        assert_eq!(remaining(&cells, timing, &[2, 3], 2), 10.0);
        assert!((remaining(&cells, timing, &[4], 1) - 6.1).abs() < 1e-9);
    }

    #[test]
    fn durations_are_said_as_people_do() {
        assert_eq!([0.2, 59.6, 600.0, 9000.0].map(duration), ["1 s", "60 s", "10 min", "2.5 h"]);
    }
}
