//! The table of figures: input and content of each.

use ocorl_study::results::Results;
use ocorl_study::run_snapshot::RunSnapshot;
use ocorl_view::{Figure, plots};

/// One figure.
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) shows: &'static str,
    pub(super) source: Source,
}

/// Input of a figure.
pub(super) enum Source {
    /// The results of a sweep.
    Sweep { study: &'static str, draw: fn(&Results) -> Figure },
    /// Single runs in detail.
    Run(DetailedRuns),
}

/// Draws the given episodes of runs as an animated SVG.
pub(super) type Animate = fn(&[RunSnapshot], &[usize]) -> String;

/// Runs and episodes that a figure shows in detail.
pub(super) struct DetailedRuns {
    pub(super) system: &'static str,
    pub(super) set: &'static [(&'static str, &'static str)],
    pub(super) seeds: u64,
    pub(super) at: &'static [usize],
    pub(super) draw: fn(&[RunSnapshot], &[usize]) -> Figure,
    /// Draws the SVG file instead of `draw`, which then only makes the PNG and the CSV files.
    pub(super) animate: Option<Animate>,
}

const fn sweep(
    name: &'static str,
    study: &'static str,
    shows: &'static str,
    draw: fn(&Results) -> Figure,
) -> Subject {
    Subject { name, shows, source: Source::Sweep { study, draw } }
}

const fn run(name: &'static str, shows: &'static str, runs: DetailedRuns) -> Subject {
    Subject { name, shows, source: Source::Run(runs) }
}

/// All figures, those of the paper first.
pub(super) const GALLERY: [Subject; 18] = [
    sweep("strategies", "strategies", "cost by episode for every measurement strategy", plots::strategies),
    run(
        "phase",
        "trajectories of one run, coloured by model uncertainty, with measurements",
        DetailedRuns {
            system: "pendulum",
            set: &[("excitation.scale", "1")],
            seeds: 1,
            at: &[1, 2, 3, usize::MAX],
            draw: |runs, at| plots::phase(&runs[0], at),
            animate: None,
        },
    ),
    run(
        "learning",
        "the first episodes of a run, as an animated SVG: plan, trajectory, measurements, cost",
        DetailedRuns {
            system: "pendulum",
            set: &[("episodes", "3")],
            seeds: 1,
            at: &[0, 1, 2],
            draw: |runs, at| plots::learning(&runs[0], at),
            animate: Some(|runs, at| plots::learning_animated(&runs[0], at)),
        },
    ),
    sweep("optimism", "optimism", "optimistic against greedy planning, for each strategy", plots::optimism),
    sweep("measurements", "measurements", "cost against the number of measurements", plots::measurements),
    sweep(
        "total-measurements",
        "total-measurements",
        "cost against the total number of measurements",
        plots::total_measurements,
    ),
    run(
        "uncertainty",
        "model uncertainty along the predicted trajectory, and measurement times",
        DetailedRuns {
            system: "pendulum",
            set: &[("strategy", "receding-horizon"), ("excitation.scale", "1")],
            seeds: 1,
            at: &[1, 3],
            draw: |runs, at| plots::uncertainty(&runs[0], at),
            animate: None,
        },
    ),
    sweep("gaps", "table1", "Table 1 as a plot: final cost above the optimum", plots::gaps),
    sweep("regret", "table1", "cumulative regret with its growth exponent", plots::regret),
    run(
        "calibration",
        "nominal and observed coverage of confidence bands",
        DetailedRuns {
            system: "pendulum",
            set: &[],
            seeds: 5,
            at: &[2],
            draw: |runs, at| plots::calibration(runs, at.first().copied().unwrap_or(1)),
            animate: None,
        },
    ),
    sweep("information", "confidence", "information gain, beta and model complexity", plots::information),
    run(
        "slices",
        "model slices: mean, band, true dynamics, measurements",
        DetailedRuns {
            system: "pendulum",
            set: &[("excitation.scale", "1")],
            seeds: 1,
            at: &[3],
            draw: |runs, at| plots::slices(&runs[0], at.first().copied().unwrap_or(1)),
            animate: None,
        },
    ),
    run(
        "field",
        "learned vector field, shaded by model uncertainty",
        DetailedRuns {
            system: "pendulum",
            set: &[],
            seeds: 1,
            at: &[1],
            draw: |runs, at| plots::field(&runs[0], at),
            animate: None,
        },
    ),
    sweep("theory", "theory", "receding horizon and oracle: regret, measurements, m_n", plots::theory),
    sweep("confidence", "confidence", "beta = 1 against calibrated and information gain", plots::gaps),
    sweep("exploration", "exploration", "optimistic, greedy, Thompson and bonus planning", plots::gaps),
    sweep("reference", "reference", "the authors' settings against ours", plots::strategies),
    sweep("discrete", "discrete", "learned in continuous against discrete time", plots::gaps),
];
