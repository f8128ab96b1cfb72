//! How long cells will take, before any has run.

use crate::cell::Cell;
use crate::sweep::Sweep;
use ocorl::system::Benchmark;

/// Seconds of one processor that a run with the shipped settings took, mean over the strategies of Table 1 (version 0.1.0, 16 November 2026, 2
/// virtual cores of an AMD EPYC): a first guess, replaced by what is measured here as soon as a cell has ended.
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

/// Of a system nothing is known of.
const UNKNOWN: f64 = 20.0;

/// Seconds the cells at the places `todo` will take, `jobs` at a time.
pub fn remaining(sweep: &Sweep, todo: &[usize], jobs: usize) -> f64 {
    let total: f64 = todo.iter().map(|&index| one(sweep, index)).sum();
    total / jobs.max(1) as f64
}

/// As its kin did: the same but for the seed, or the same system; else as usual.
fn one(sweep: &Sweep, index: usize) -> f64 {
    let cell = &sweep.cells()[index];
    let measured = |kin: &dyn Fn(&Cell) -> bool| {
        let all = sweep.cells().iter().enumerate().filter(|(_, other)| kin(other));
        let times: Vec<f64> = all.filter_map(|(i, _)| sweep.timing(i)).map(|t| t.wall).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    let twin = |other: &Cell| {
        other.system == cell.system && other.settings == cell.settings && other.set == cell.set
    };
    measured(&twin)
        .or_else(|| measured(&|other: &Cell| other.system == cell.system && other.settings == cell.settings))
        .unwrap_or_else(|| guess(cell))
}

/// From the table above; the time of a run grows a little faster than its episodes.
fn guess(cell: &Cell) -> f64 {
    let usual =
        TYPICAL.iter().find(|(name, _)| *name == cell.system).map_or(UNKNOWN, |(_, seconds)| *seconds);
    let Ok(b) = Benchmark::find(&cell.system) else { return usual };
    let episodes = cell.set.get("episodes").and_then(toml::Value::as_integer);
    episodes.map_or(usual, |n| usual * n as f64 / b.settings.episodes as f64)
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{:.0} s", seconds.max(1.0)),
        90.0..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
