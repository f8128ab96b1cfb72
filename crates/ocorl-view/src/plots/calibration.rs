//! Calibration: nominal against observed coverage of confidence bands.

use super::naming::rate;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::model::{HeldOutPrediction, calibration_curve};
use ocorl::system::Task;
use ocorl_study::episode_model::EpisodeModel;
use ocorl_study::run_snapshot::RunSnapshot;

/// Nominal levels of the bands.
const LEVELS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Nominal against observed coverage of new measurements, by models that had not seen them, from episode `from` on; one panel per
/// output. The grey band contains the observed share with probability 0.95 if the bands are exact and measurements independent.
pub fn calibration(runs: &[RunSnapshot], from: usize) -> Figure {
    let Some(first) = runs.first() else { return Figure::new("No data") };
    let later = runs.iter().flat_map(|run| &run.snapshots).filter(|s| s.episode.record.episode >= from);
    let last = first.snapshots.len().saturating_sub(1);
    let plural = if runs.len() == 1 { "" } else { "s" };
    coverage(&first.subject.title, &first.subject.task, later.map(|s| &s.model))
        .subtitle(format!("New measurements of episodes {from} to {last}, {} seed{plural}", runs.len()))
}

/// Coverage of the measurements of some episodes by the models before them.
pub(crate) fn coverage<'a>(
    name: &str,
    task: &Task,
    models: impl Iterator<Item = &'a EpisodeModel>,
) -> Figure {
    let mut held_out: Vec<Vec<HeldOutPrediction>> = vec![Vec::new(); task.states.len()];
    for row in models.flat_map(|model| &model.measured) {
        for (j, held_out) in held_out.iter_mut().enumerate() {
            if let (Some(measured), Some(mean), Some(std)) =
                (row.measured.get(j), row.mean.get(j), row.std.get(j))
            {
                let noise_std = task.noise_std[j];
                held_out.push(HeldOutPrediction { measured: *measured, mean: *mean, std: *std, noise_std });
            }
        }
    }
    let mut figure =
        Figure::new(format!("{name}: nominal and observed coverage")).columns(held_out.len().clamp(1, 3));
    for (held_out, state) in held_out.iter().zip(&task.states) {
        let curve = calibration_curve(held_out, 1.0, &LEVELS);
        let levels: Vec<f64> = curve.iter().map(|p| p.level).collect();
        let band = |sign: f64| {
            curve.iter().map(|p| (p.level + sign * p.margin).clamp(0.0, 1.0)).collect::<Vec<f64>>()
        };
        let observed: Vec<f64> = curve.iter().map(|p| p.observed).collect();
        let axis = |label: &str| Axis::new(label, "").range(0.0, 1.0);
        let panel = Panel::new(rate(&state.name), axis("nominal"), axis("observed"))
            .mark(Mark::band(&*levels, band(-1.0), band(1.0)).muted().label("chance"))
            .mark(Mark::line([0.0, 1.0], [0.0, 1.0]).muted().dashed().label("exact"))
            .mark(Mark::line(&*levels, &*observed).series(0).label("observed"))
            .mark(Mark::points(levels, observed, Marker::Circle).series(0).label("observed"));
        figure = figure.panel(panel);
    }
    figure
}
