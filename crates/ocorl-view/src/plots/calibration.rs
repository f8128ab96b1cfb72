//! Calibration: nominal against observed coverage of confidence bands.

use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl_study::run_snapshot::RunSnapshot;

/// Nominal levels of the bands.
const LEVELS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Nominal against observed coverage of new measurements, by models that had not seen them, from episode `from` on; one panel per
/// output. The grey band contains the observed share with probability 0.95 if the bands are exact and measurements independent.
pub fn calibration(runs: &[RunSnapshot], from: usize) -> Figure {
    let Some(first) = runs.first() else { return Figure::new("No data") };
    let b = &first.subject;
    let curves = RunSnapshot::calibration(runs, from, &LEVELS);
    let mut figure = Figure::new(format!("{}: nominal and observed coverage", b.title))
        .subtitle(format!(
            "New measurements of episodes {from} to {}, {} seed{}",
            first.snapshots.len().saturating_sub(1),
            runs.len(),
            if runs.len() == 1 { "" } else { "s" },
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
