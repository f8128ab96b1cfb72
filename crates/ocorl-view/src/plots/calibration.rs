//! Whether bands hold what they promise.

use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl_study::portrait::Portrait;

/// Nominal levels of the bands.
const LEVELS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Nominal against observed coverage of new measurements by the model that had not seen them, from episode `from` on: one panel an output. The
/// grey band is where the share would lie 19 times out of 20 if the bands were exact and measurements independent.
pub fn calibration(portraits: &[Portrait], from: usize) -> Figure {
    let Some(first) = portraits.first() else { return Figure::new("Nothing was run") };
    let b = &first.subject;
    let curves = Portrait::calibration(portraits, from, &LEVELS);
    let mut figure = Figure::new(format!("{}: nominal and observed coverage", b.title))
        .subtitle(format!(
            "New measurements of episodes {from} to {}, {} seed{}",
            first.snapshots.len().saturating_sub(1),
            portraits.len(),
            if portraits.len() == 1 { "" } else { "s" },
        ))
        .columns(curves.len().clamp(1, 3));
    for (curve, state) in curves.iter().zip(&b.task.states) {
        let levels: Vec<f64> = curve.iter().map(|p| p.level).collect();
        let band = |sign: f64| {
            curve.iter().map(|p| (p.level + sign * p.margin).clamp(0.0, 1.0)).collect::<Vec<f64>>()
        };
        let observed: Vec<f64> = curve.iter().map(|p| p.observed).collect();
        let axis = |label: &str| Axis::new(label, "").range(0.0, 1.0);
        let panel = Panel::new(format!("d{}/dt", state.name), axis("nominal"), axis("observed"))
            .mark(Mark::band(&*levels, band(-1.0), band(1.0)).muted().label("chance"))
            .mark(Mark::line([0.0, 1.0], [0.0, 1.0]).muted().dashed().label("exact"))
            .mark(Mark::line(&*levels, &*observed).series(0).label("observed"))
            .mark(Mark::points(levels, observed, Marker::Circle).series(0).label("observed"));
        figure = figure.panel(panel);
    }
    figure
}
